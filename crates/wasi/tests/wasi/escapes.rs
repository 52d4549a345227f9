//! Programs cannot access files outside of their directories.

use crate::program::errno::*;
use crate::program::*;
use ropewalk_wasi::{DirPerms, FilePerms, WasiCtx};
use rustix::fs::CWD;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

/// A program in a directory with links to a secret next to the directory.
fn program() -> (Program, tempfile::TempDir) {
    let outside = tempfile::tempdir().unwrap();
    let inside = outside.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    symlink(outside.path(), inside.join("absolute")).unwrap();
    symlink("../secret", inside.join("relative")).unwrap();
    symlink("..", inside.join("up")).unwrap();
    symlink("/", inside.join("root")).unwrap();
    std::fs::write(inside.join("file"), "").unwrap();
    std::fs::create_dir(inside.join("dir")).unwrap();
    let mut builder = WasiCtx::builder();
    builder.preopened_dir(&inside, "/", DirPerms::all(), FilePerms::all()).unwrap();
    (with(&mut builder), outside)
}

const OUTSIDE: [&str; 9] = [
    "..",
    "../secret",
    "dir/../../secret",
    "/etc/passwd",
    "/",
    "absolute/secret",
    "up/secret",
    "root/etc/passwd",
    "dir/../up/secret",
];

#[test]
fn no_path_opens_files_outside() {
    let (mut program, _outside) = program();
    for path in OUTSIDE {
        for (lookup, oflags) in [(0, 0), (FOLLOW, 0), (FOLLOW, CREAT), (FOLLOW, TRUNC)] {
            let opened = program.open_with(ROOT, lookup, path, oflags, FD_READ, 0);
            assert_eq!(opened, Err(PERM), "{path} {lookup} {oflags}");
        }
    }
    for link in ["relative", "up", "root", "absolute"] {
        assert_eq!(program.open_with(ROOT, FOLLOW, link, 0, FD_READ, 0), Err(PERM), "{link}");
        assert_eq!(program.open(link, 0, FD_READ), Err(LOOP), "{link}");
    }
}

#[test]
fn no_path_changes_files_outside() {
    let (mut program, outside) = program();
    for path in OUTSIDE {
        assert_eq!(program.path_stat(FOLLOW, path), Err(PERM), "{path}");
        for name in ["path_create_directory", "path_remove_directory", "path_unlink_file"] {
            let errno = program.path(name, path);
            assert!([PERM, INVAL, NOTEMPTY].contains(&errno), "{name} {path} {errno}");
        }
        assert_eq!(program.rename(path, "stolen"), PERM, "{path}");
        assert_eq!(program.rename("file", path), PERM, "{path}");
        assert_eq!(program.link(0, path, "stolen"), PERM, "{path}");
        assert_eq!(program.link(0, "file", path), PERM, "{path}");
        assert_eq!(program.symlink("file", path), PERM, "{path}");
    }
    assert_eq!(std::fs::read(outside.path().join("secret")).unwrap(), b"secret");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 2);
}

#[test]
fn a_program_cannot_create_a_way_out() {
    let (mut program, outside) = program();
    assert_eq!(program.symlink("/etc", "new"), PERM);
    // Relative links can be created, but not followed.
    assert_eq!(program.symlink("../secret", "new"), SUCCESS);
    assert_eq!(program.open_with(ROOT, FOLLOW, "new", 0, FD_READ, 0), Err(PERM));
    assert_eq!(program.open_with(ROOT, FOLLOW, "new", CREAT | TRUNC, FD_WRITE, 0), Err(PERM));
    // Neither does moving an open directory.
    assert_eq!(program.path("path_create_directory", "dir/deep"), SUCCESS);
    let deep = program.open("dir/deep", DIRECTORY, 0).unwrap();
    assert_eq!(program.rename("dir/deep", "deep"), SUCCESS);
    assert_eq!(program.open_with(deep, 0, "..", 0, 0, 0), Err(PERM));
    assert_eq!(program.open_with(deep, 0, "../file", 0, 0, 0), Err(PERM));
    assert_eq!(std::fs::read(outside.path().join("secret")).unwrap(), b"secret");
}

#[test]
fn subdirectories_are_confined_as_well() {
    let (mut program, _outside) = program();
    let dir = program.open("dir", DIRECTORY, 0).unwrap();
    assert_eq!(program.open_with(dir, 0, "../file", 0, 0, 0), Err(PERM));
    assert_eq!(program.open_with(dir, 0, "..", 0, 0, 0), Err(PERM));
}

#[test]
fn a_link_to_an_absolute_path_is_not_read() {
    let (mut program, _outside) = program();
    for (link, expected) in [("absolute", PERM), ("root", PERM), ("relative", SUCCESS)] {
        let [path, len] = program.string(link);
        let arguments = [ROOT.into(), path, len, 0x200, 100, RESULT.into()];
        assert_eq!(program.call("path_readlink", &arguments), expected, "{link}");
    }
}

#[test]
fn the_inode_of_the_parent_is_hidden() {
    let (mut program, _outside) = program();
    let arguments = [ROOT.into(), 0x200, 0x400, 0, RESULT.into()];
    program.result("fd_readdir", &arguments).unwrap();
    // After the entry of the directory itself.
    let parent = 0x200 + 25;
    assert_eq!(program.bytes(parent + 24, 2), b"..");
    assert_eq!(program.u64(parent + 8), 0);
}

/// Stops a thread on drop, also if the test fails.
struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn replacing_a_directory_by_a_link_gives_no_access() {
    let (mut program, outside) = program();
    let inside = outside.path().join("inside");
    std::fs::write(inside.join("dir/secret"), "rope").unwrap();
    symlink("..", inside.join("link")).unwrap();
    let ended = AtomicBool::new(false);
    let mut found = [0; 2];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (dir, link) = (inside.join("dir"), inside.join("link"));
            let exchange = rustix::fs::RenameFlags::EXCHANGE;
            while !ended.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &dir, CWD, &link, exchange).unwrap();
            }
        });
        let _end = SetWhenDropped(&ended);
        for _ in 0..4000 {
            match program.open_with(ROOT, FOLLOW, "dir/secret", 0, FD_READ, 0) {
                Ok(fd) => {
                    assert_eq!(program.read(fd, 9), Ok("rope".into()));
                    program.close(fd);
                    found[0] += 1;
                }
                // The path changed during the call, or led outside.
                Err(errno) => {
                    assert!([PERM, NOENT, LOOP, NOTDIR, AGAIN].contains(&errno), "{errno}");
                    found[1] += 1;
                }
            }
            let stat = program.path_stat(FOLLOW, "dir/secret");
            assert!(stat.is_err() || stat.is_ok_and(|stat| stat.size == 4));
            program.path("path_unlink_file", "dir/../../secret");
        }
    });
    assert!(found[0] > 0 && found[1] > 0, "both were seen: {found:?}");
    assert_eq!(std::fs::read(outside.path().join("secret")).unwrap(), b"secret");
}
