//! Rights of descriptors, which are only dropped and never regained.

use crate::program::errno::*;
use crate::program::*;
use ropewalk_wasi::{DirPerms, FilePerms, WasiCtx};

#[track_caller]
fn drop_rights(program: &mut Program, fd: i32, base: u64, inheriting: u64) {
    let (_, _, old_base, old_inheriting) = program.fdstat(fd).unwrap();
    let (base, inheriting) = (old_base & !base, old_inheriting & !inheriting);
    let arguments = [fd.into(), base as i64, inheriting as i64];
    assert_eq!(program.call("fd_fdstat_set_rights", &arguments), SUCCESS);
}

#[test]
fn dropped_rights_cannot_be_regained() {
    let mut program = in_scratch();
    let fd = program.open("file", CREAT, FD_READ | FD_WRITE).unwrap();
    let (_, _, before, _) = program.fdstat(fd).unwrap();
    drop_rights(&mut program, fd, FD_READ | FD_WRITE, 0);
    let (_, _, after, _) = program.fdstat(fd).unwrap();
    assert_eq!(after, before & !(FD_READ | FD_WRITE));
    assert_eq!(program.read(fd, 1), Err(BADF));
    assert_eq!(program.write(fd, "x"), Err(BADF));
    let again = [fd.into(), before as i64, 0];
    assert_eq!(program.call("fd_fdstat_set_rights", &again), NOTCAPABLE);
    assert_eq!(program.call("fd_fdstat_set_rights", &[fd.into(), 0, -1]), NOTCAPABLE);
    drop_rights(&mut program, fd, FD_SEEK, 0);
    assert_eq!(program.call("fd_seek", &[fd.into(), 1, 0, RESULT.into()]), NOTCAPABLE);
    assert_eq!(program.call("fd_seek", &[fd.into(), 0, 1, RESULT.into()]), SUCCESS);
}

#[test]
fn files_get_no_more_rights_than_their_directory() {
    let mut program = in_scratch();
    program.create("file", "rope");
    let dir = program.open(".", DIRECTORY, 0).unwrap();
    drop_rights(&mut program, dir, 0, FD_WRITE);
    assert_eq!(program.open_with(dir, 0, "file", 0, FD_WRITE, 0), Err(NOTCAPABLE));
    assert!(program.open_with(dir, 0, "file", 0, FD_READ, 0).is_ok());
    let below = program.open_with(dir, 0, ".", DIRECTORY, 0, 0).unwrap();
    assert_eq!(program.open_with(below, 0, "file", 0, FD_WRITE, 0), Err(NOTCAPABLE));
}

#[test]
fn truncating_a_file_needs_a_right() {
    let mut program = in_scratch();
    program.create("file", "rope");
    let (_, _, base, _) = program.fdstat(ROOT).unwrap();
    assert_eq!(base & FD_FILESTAT_SET_SIZE, 0);
    drop_rights(&mut program, ROOT, 0, FD_FILESTAT_SET_SIZE);
    assert!(program.open("file", TRUNC, 0).is_ok());
    program.create("file", "rope");
    drop_rights(&mut program, ROOT, PATH_FILESTAT_SET_SIZE, 0);
    assert_eq!(program.open("file", TRUNC, 0), Err(NOTCAPABLE));
    assert_eq!(program.path_stat(0, "file").unwrap().size, 4);
}

#[test]
fn a_read_only_directory_is_not_changed() {
    let prepare = |path: &std::path::Path| {
        std::fs::write(path.join("file"), "rope").unwrap();
        std::fs::create_dir(path.join("dir")).unwrap();
        std::fs::write(path.join("dir/file"), "rope").unwrap();
    };
    let mut program = in_scratch_with(DirPerms::READ, FilePerms::READ, prepare);
    let fd = program.open("file", 0, FD_READ).unwrap();
    assert_eq!(program.read(fd, 9), Ok("rope".into()));
    assert_eq!(program.call("fd_filestat_set_times", &[fd.into(), 0, 0, 4]), NOTCAPABLE);
    assert_eq!(program.call("fd_filestat_set_size", &[fd.into(), 0]), BADF);
    assert_eq!(program.call("fd_allocate", &[fd.into(), 0, 9]), BADF);

    // Rust programs request all rights of a file.
    assert!(program.open("file", 0, !(FD_WRITE)).is_ok());
    for path in ["file", "dir/file"] {
        assert_eq!(program.open(path, 0, FD_READ | FD_WRITE), Err(NOTCAPABLE));
        assert_eq!(program.open(path, TRUNC, 0), Err(NOTCAPABLE));
        assert_eq!(program.open(path, CREAT, FD_READ), Err(NOTCAPABLE));
        assert_eq!(program.path("path_unlink_file", path), NOTCAPABLE);
        assert_eq!(program.rename(path, "new"), NOTCAPABLE);
        assert_eq!(program.link(0, path, "new"), NOTCAPABLE);
    }
    assert_eq!(program.open("new", CREAT, 0), Err(NOTCAPABLE));
    assert_eq!(program.path("path_create_directory", "new"), NOTCAPABLE);
    assert_eq!(program.path("path_remove_directory", "dir"), NOTCAPABLE);
    assert_eq!(program.symlink("file", "new"), NOTCAPABLE);
    let [path, len] = program.string("file");
    let times = [ROOT.into(), 0, path, len, 0, 0, 4];
    assert_eq!(program.call("path_filestat_set_times", &times), NOTCAPABLE);

    // The same holds for its subdirectories.
    let dir = program.open("dir", DIRECTORY, 0).unwrap();
    assert_eq!(program.open_with(dir, 0, "new", CREAT, 0, 0), Err(NOTCAPABLE));
    assert_eq!(program.open_with(dir, 0, "file", 0, FD_WRITE, 0), Err(NOTCAPABLE));
    assert_eq!(program.call("fd_filestat_set_times", &[dir.into(), 0, 0, 4]), NOTCAPABLE);
    assert_eq!(std::fs::read_dir(program.host("")).unwrap().count(), 2);
}

#[test]
fn files_can_be_written_where_none_can_be_created() {
    let prepare = |path: &std::path::Path| std::fs::write(path.join("file"), "rope").unwrap();
    let mut program = in_scratch_with(DirPerms::READ, FilePerms::all(), prepare);
    let fd = program.open("file", TRUNC, FD_WRITE).unwrap();
    assert_eq!(program.write(fd, "x"), Ok(1));
    assert_eq!(program.open("new", CREAT, FD_WRITE), Err(NOTCAPABLE));
    assert_eq!(program.path("path_unlink_file", "file"), NOTCAPABLE);
}

#[test]
fn a_directory_can_be_opened_again_with_the_rights_it_has() {
    let mut program = in_scratch();
    let (_, _, base, _) = program.fdstat(ROOT).unwrap();
    let again = program.open(".", 0, base).unwrap();
    assert_eq!(program.fdstat(again), program.fdstat(ROOT));
}

#[test]
fn a_file_cannot_move_to_a_directory_with_more_rights() {
    let (kept, open) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(kept.path().join("file"), "rope").unwrap();
    std::fs::create_dir(kept.path().join("dir")).unwrap();
    let mut builder = WasiCtx::builder();
    builder.preopened_dir(kept.path(), "/kept", DirPerms::all(), FilePerms::READ).unwrap();
    builder.preopened_dir(open.path(), "/open", DirPerms::all(), FilePerms::all()).unwrap();
    let mut program = with(&mut builder);
    let (kept, open) = (i64::from(ROOT), i64::from(ROOT + 1));
    for name in ["file", "dir"] {
        let ([old, old_len], [new, new_len]) = (program.string(name), program.string("new"));
        let link = [kept, 0, old, old_len, open, new, new_len];
        assert_eq!(program.call("path_link", &link), NOTCAPABLE);
        let ([old, old_len], [new, new_len]) = (program.string(name), program.string("new"));
        let rename = [kept, old, old_len, open, new, new_len];
        assert_eq!(program.call("path_rename", &rename), NOTCAPABLE);
    }
    // Moves within it, and from a directory with more rights, are allowed.
    assert_eq!(program.rename("file", "dir/file"), SUCCESS);
    assert!(program.open_with(ROOT + 1, 0, "written", CREAT, FD_WRITE, 0).is_ok());
    let ([old, old_len], [new, new_len]) = (program.string("written"), program.string("new"));
    assert_eq!(program.call("path_rename", &[open, old, old_len, kept, new, new_len]), SUCCESS);
    assert_eq!(program.open("new", 0, FD_WRITE), Err(NOTCAPABLE));
}
