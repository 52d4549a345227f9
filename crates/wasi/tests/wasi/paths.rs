//! Functions that take paths: metadata, creating, removing, renaming, links.

use crate::program::errno::*;
use crate::program::*;

const MTIM: i64 = 4;

#[test]
fn paths_have_metadata() {
    let mut program = in_scratch();
    program.create("file", "rope");
    assert_eq!(program.path("path_create_directory", "dir"), SUCCESS);
    assert_eq!(program.symlink("file", "link"), SUCCESS);
    let file = program.path_stat(0, "file").unwrap();
    assert_eq!((file.filetype, file.size, file.nlink), (4, 4, 1));
    assert_eq!(program.path_stat(0, "dir").unwrap().filetype, 3);
    assert_eq!(program.path_stat(0, "link").unwrap().filetype, 7);
    assert_eq!(program.path_stat(FOLLOW, "link").unwrap(), file);
    assert_eq!(program.path_stat(0, "missing"), Err(NOENT));
    assert_eq!(program.path_stat(0, ""), Err(NOENT));
    assert_eq!(program.path_stat(0, "file/"), Err(NOTDIR));
    assert_eq!(program.path_stat(2, "file"), Err(INVAL));
}

#[test]
fn directories_are_created_and_removed() {
    let mut program = in_scratch();
    assert_eq!(program.path("path_create_directory", "dir"), SUCCESS);
    assert_eq!(program.path("path_create_directory", "dir"), EXIST);
    assert_eq!(program.path("path_create_directory", "dir/"), EXIST);
    assert_eq!(program.path("path_create_directory", "a/b"), NOENT);
    assert_eq!(program.path("path_create_directory", "dir/in/"), SUCCESS);
    assert_eq!(program.path("path_remove_directory", "dir"), NOTEMPTY);
    assert_eq!(program.path("path_remove_directory", "dir/in/"), SUCCESS);
    assert_eq!(program.path("path_remove_directory", "dir"), SUCCESS);
    assert_eq!(program.path("path_remove_directory", "dir"), NOENT);
    program.create("file", "");
    assert_eq!(program.path("path_remove_directory", "file"), NOTDIR);
    assert_eq!(program.path("path_remove_directory", "file/"), NOTDIR);
}

#[test]
fn files_are_removed_and_directories_are_not() {
    let mut program = in_scratch();
    assert_eq!(program.path("path_create_directory", "dir"), SUCCESS);
    assert_eq!(program.path("path_unlink_file", "dir"), ISDIR);
    assert_eq!(program.path("path_unlink_file", "dir/"), ISDIR);
    program.create("file", "");
    assert_eq!(program.path("path_unlink_file", "file/"), NOTDIR);
    assert_eq!(program.path("path_unlink_file", "file"), SUCCESS);
    assert_eq!(program.path("path_unlink_file", "file"), NOENT);
    assert_eq!(program.symlink("dir", "link"), SUCCESS);
    assert_eq!(program.path("path_unlink_file", "link"), SUCCESS);
    assert_eq!(program.path_stat(0, "dir").unwrap().filetype, 3);
}

#[test]
fn renaming_replaces_only_the_same_kind() {
    let mut program = in_scratch();
    for name in ["dir", "empty", "full", "full/in"] {
        assert_eq!(program.path("path_create_directory", name), SUCCESS);
    }
    program.create("file", "1");
    program.create("other", "2");
    assert_eq!(program.rename("dir", "full"), NOTEMPTY);
    assert_eq!(program.rename("dir", "file"), NOTDIR);
    assert_eq!(program.rename("file", "dir"), ISDIR);
    assert_eq!(program.rename("dir", "dir/in"), INVAL);
    assert_eq!(program.rename("missing", "x"), NOENT);
    assert_eq!(program.rename("dir", "empty"), SUCCESS);
    assert_eq!(program.path_stat(0, "dir"), Err(NOENT));
    assert_eq!(program.rename("file", "other"), SUCCESS);
    assert_eq!(std::fs::read(program.host("other")).unwrap(), b"1");
    // A trailing slash after the name of a directory has no effect.
    assert_eq!(program.rename("empty/", "new"), SUCCESS);
    assert_eq!(program.rename("new", "old/"), SUCCESS);
    assert_eq!(program.rename("old/", "last/"), SUCCESS);
    // After the name of a file it requires a directory.
    assert_eq!(program.rename("other/", "x"), NOTDIR);
    assert_eq!(program.rename("other", "x/"), NOTDIR);
    assert_eq!(program.rename("other/", "x/"), NOTDIR);
    assert_eq!(program.symlink("last", "link"), SUCCESS);
    assert_eq!(program.rename("link", "x/"), NOTDIR);
    assert_eq!(program.rename("missing", "x/"), NOENT);
}

#[test]
fn a_link_is_the_same_file() {
    let mut program = in_scratch();
    program.create("file", "rope");
    assert_eq!(program.link(0, "file", "link"), SUCCESS);
    let (file, link) = (program.path_stat(0, "file"), program.path_stat(0, "link"));
    assert_eq!(file, link);
    assert_eq!(file.unwrap().nlink, 2);
    assert_eq!(program.link(0, "file", "link"), EXIST);
    assert_eq!(program.link(0, "file", "file"), EXIST);
    assert_eq!(program.link(0, "file", "new/"), NOENT);
    assert_eq!(program.link(0, "missing", "new"), NOENT);
    assert_eq!(program.link(FOLLOW, "file", "new"), INVAL);
    assert_eq!(program.path("path_create_directory", "dir"), SUCCESS);
    assert_eq!(program.link(0, "dir", "new"), PERM);
    // A hard link to a dangling or cyclic link can be created.
    assert_eq!(program.symlink("nowhere", "dangling"), SUCCESS);
    assert_eq!(program.link(0, "dangling", "another"), SUCCESS);
    assert_eq!(program.symlink("loop", "loop"), SUCCESS);
    assert_eq!(program.link(0, "loop", "another loop"), SUCCESS);
    assert_eq!(program.link(0, "file", "dangling"), EXIST);
}

#[test]
fn symbolic_links_are_followed_on_request() {
    let mut program = in_scratch();
    assert_eq!(program.path("path_create_directory", "dir"), SUCCESS);
    program.create("dir/file", "rope");
    assert_eq!(program.symlink("dir/file", "link"), SUCCESS);
    assert_eq!(program.symlink("dir", "to dir"), SUCCESS);
    assert_eq!(program.symlink("nowhere", "dangling"), SUCCESS);
    assert_eq!(program.symlink("loop", "loop"), SUCCESS);
    assert_eq!(program.open("link", 0, FD_READ), Err(LOOP));
    assert_eq!(program.open("dangling", 0, FD_READ), Err(LOOP));
    assert!(matches!(program.open("dangling", DIRECTORY, 0), Err(LOOP | NOTDIR)));
    assert!(matches!(program.open("to dir", DIRECTORY, 0), Err(LOOP | NOTDIR)));
    let fd = program.open_with(ROOT, FOLLOW, "link", 0, FD_READ, 0).unwrap();
    assert_eq!(program.read(fd, 9), Ok("rope".into()));
    assert!(program.open_with(ROOT, FOLLOW, "to dir", DIRECTORY, 0, 0).is_ok());
    assert_eq!(program.open_with(ROOT, FOLLOW, "link", DIRECTORY, 0, 0), Err(NOTDIR));
    assert_eq!(program.open_with(ROOT, FOLLOW, "dangling", 0, 0, 0), Err(NOENT));
    assert_eq!(program.open_with(ROOT, FOLLOW, "loop", 0, 0, 0), Err(LOOP));
    assert_eq!(program.path_stat(FOLLOW, "loop"), Err(LOOP));
    // Links within the path are always followed.
    assert!(program.open("to dir/file", 0, FD_READ).is_ok());
    for path in ["to dir/", "to dir/.", "to dir//."] {
        assert_eq!(program.path_stat(0, path).unwrap().filetype, 3);
    }
    assert_eq!(program.path_stat(0, "link/."), Err(NOTDIR));
    assert_eq!(program.path_stat(0, "dangling/."), Err(NOENT));
}

#[test]
fn creating_a_symbolic_link_replaces_nothing() {
    let mut program = in_scratch();
    assert_eq!(program.symlink("source", "target/"), NOENT);
    assert_eq!(program.symlink("source", "target"), SUCCESS);
    assert_eq!(program.symlink("source", "target"), EXIST);
    assert_eq!(program.path("path_create_directory", "dir"), SUCCESS);
    assert_eq!(program.symlink("source", "dir"), EXIST);
    assert_eq!(program.symlink("source", "dir/"), EXIST);
    program.create("file", "");
    assert_eq!(program.symlink("source", "file"), EXIST);
    assert!(matches!(program.symlink("source", "file/"), NOTDIR | EXIST));
    assert_eq!(program.symlink("", "x"), NOENT);
}

#[track_caller]
fn readlink(program: &mut Program, path: &str, room: i64) -> Result<Vec<u8>, i32> {
    let [path, len] = program.string(path);
    let arguments = [ROOT.into(), path, len, 0x200, room, RESULT.into()];
    let used = program.result("path_readlink", &arguments)?;
    Ok(program.bytes(0x200, used as usize))
}

#[test]
fn reading_a_symbolic_link_truncates_to_the_buffer() {
    let mut program = in_scratch();
    program.create("file", "");
    assert_eq!(program.symlink("target", "link"), SUCCESS);
    assert_eq!(readlink(&mut program, "link", 10), Ok(b"target".into()));
    assert_eq!(program.bytes(0x206, 4), [0; 4]);
    assert_eq!(readlink(&mut program, "link", 4), Ok(b"targ".into()));
    assert_eq!(readlink(&mut program, "link", 0), Ok(vec![]));
    assert_eq!(readlink(&mut program, "file", 10), Err(INVAL));
    assert_eq!(readlink(&mut program, "missing", 10), Err(NOENT));
}

#[track_caller]
fn set_mtim(program: &mut Program, lookup: i32, path: &str, mtim: i64, which: i64) -> i32 {
    let [path, len] = program.string(path);
    let arguments = [ROOT.into(), lookup.into(), path, len, 0, mtim, which];
    program.call("path_filestat_set_times", &arguments)
}

#[test]
fn times_of_a_link_or_its_target_are_set() {
    let mut program = in_scratch();
    program.create("file", "");
    assert_eq!(program.symlink("file", "link"), SUCCESS);
    let file = program.path_stat(0, "file").unwrap();
    assert_eq!(set_mtim(&mut program, 0, "link", 1000, MTIM), SUCCESS);
    assert_eq!(program.path_stat(0, "link").unwrap().mtim, 1000);
    assert_eq!(program.path_stat(0, "file").unwrap(), file);
    assert_eq!(set_mtim(&mut program, FOLLOW, "link", 2000, MTIM), SUCCESS);
    assert_eq!(program.path_stat(0, "file").unwrap().mtim, 2000);
    assert_eq!(set_mtim(&mut program, 0, "file", 0, 4 | 8), INVAL);
    for lookup in [0, FOLLOW] {
        for which in [MTIM, 0] {
            assert_eq!(set_mtim(&mut program, lookup, "missing", 0, which), NOENT, "{which}");
        }
        assert_eq!(set_mtim(&mut program, lookup, "../file", 0, 0), PERM);
        assert_eq!(set_mtim(&mut program, lookup, "link", 0, 0), SUCCESS);
    }
}

#[test]
fn paths_may_be_written_in_many_ways() {
    let mut program = in_scratch();
    assert_eq!(program.path("path_create_directory", "dir"), SUCCESS);
    assert_eq!(program.path("path_create_directory", "dir/nested"), SUCCESS);
    program.create("dir/nested/file", "");
    let around = "dir/.//nested/../../dir/nested/../nested///./file";
    assert!(program.open(around, 0, 0).is_ok());
    assert!(program.open("dir/nested/", 0, 0).is_ok());
    assert!(program.open("dir/nested///", 0, 0).is_ok());
    assert!(program.open(".", 0, 0).is_ok());
    assert_eq!(program.open("dir/nested/file/", 0, 0), Err(NOTDIR));
    assert_eq!(program.open("dir/nested/file///", 0, 0), Err(NOTDIR));
    assert_eq!(program.open("dir/nested/file\0", 0, 0), Err(INVAL));
    assert_eq!(program.open("", 0, 0), Err(NOENT));
    program.create("Действие", "");
    assert!(program.host("Действие").exists());
}

#[test]
fn a_path_must_be_utf_8() {
    let mut program = in_scratch();
    let [path, len] = program.string(b"a\xff");
    assert_eq!(program.call("path_unlink_file", &[ROOT.into(), path, len]), ILSEQ);
}
