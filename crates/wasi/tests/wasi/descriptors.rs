//! Opening, closing and renumbering descriptors, and bad descriptors.

use crate::program::errno::*;
use crate::program::*;
use ropewalk_wasi::{DirPerms, FilePerms, WasiCtx};

#[test]
fn a_program_finds_its_directories_from_3_on() {
    let mut builder = WasiCtx::builder();
    for name in ["/", "data"] {
        builder.preopened_dir(".", name, DirPerms::all(), FilePerms::all()).unwrap();
    }
    let mut program = with(&mut builder);
    for (fd, name) in [(3, "/"), (4, "data")] {
        assert_eq!(program.call("fd_prestat_get", &[fd, RESULT.into()]), SUCCESS);
        assert_eq!((program.u32(RESULT), program.u32(RESULT + 4)), (0, name.len() as u32));
        let len = name.len() as i64;
        assert_eq!(program.call("fd_prestat_dir_name", &[fd, 0x200, len + 1]), SUCCESS);
        assert_eq!(program.bytes(0x200, name.len()), name.as_bytes());
        let short = program.call("fd_prestat_dir_name", &[fd, 0x200, len - 1]);
        assert_eq!(short, NAMETOOLONG);
    }
    for fd in [0, 5, -1] {
        assert_eq!(program.call("fd_prestat_get", &[fd, RESULT.into()]), BADF);
        assert_eq!(program.call("fd_prestat_dir_name", &[fd, 0x200, 10]), BADF);
    }
}

#[test]
fn a_missing_directory_is_an_error() {
    let mut builder = WasiCtx::builder();
    let error = builder.preopened_dir("no/such", "/", DirPerms::all(), FilePerms::all());
    let error = format!("{:#}", error.unwrap_err());
    assert!(error.starts_with("cannot open the directory no/such: "), "{error}");
}

#[test]
fn a_closed_descriptor_is_bad_and_its_number_is_reused() {
    let mut program = in_scratch();
    let first = program.open("file", CREAT, FD_READ).unwrap();
    let second = program.open("file", 0, FD_READ).unwrap();
    assert_eq!((first, second), (4, 5));
    program.close(first);
    assert_eq!(program.call("fd_close", &[first.into()]), BADF);
    assert_eq!(program.read(first, 1), Err(BADF));
    assert_eq!(program.fdstat(first), Err(BADF));
    assert_eq!(program.open("file", 0, FD_READ), Ok(first));
    assert_eq!(program.call("fd_close", &[-1]), BADF);
}

#[test]
fn the_number_of_descriptors_is_limited() {
    let scratch = tempfile::tempdir().unwrap();
    let mut builder = WasiCtx::builder();
    builder.preopened_dir(scratch.path(), "/", DirPerms::all(), FilePerms::all()).unwrap();
    let mut program = with(builder.max_descriptors(6));
    assert_eq!(program.open("a", CREAT, FD_READ), Ok(4));
    assert_eq!(program.open("b", CREAT, FD_READ), Ok(5));
    assert_eq!(program.open("c", CREAT, FD_READ), Err(MFILE));
    assert!(!scratch.path().join("c").exists(), "the file was created");
    program.close(4);
    assert_eq!(program.open("c", CREAT, FD_READ), Ok(4));
    assert_eq!(program.open("d", CREAT, FD_READ), Err(MFILE));
    // The limit does not apply to the initial descriptors.
    builder.preopened_dir(scratch.path(), "/", DirPerms::all(), FilePerms::all()).unwrap();
    let mut program = with(builder.max_descriptors(0));
    assert_eq!(program.call("fd_prestat_get", &[ROOT.into(), RESULT.into()]), SUCCESS);
    assert_eq!(program.open("a", 0, FD_READ), Err(MFILE));
}

#[test]
fn a_preopened_directory_can_be_closed() {
    let mut program = in_scratch();
    let other = program.open(".", DIRECTORY, 0).unwrap();
    program.close(ROOT);
    assert_eq!(program.call("fd_prestat_get", &[ROOT.into(), RESULT.into()]), BADF);
    assert!(program.open_with(other, 0, "file", CREAT, 0, 0).is_ok());
}

#[test]
fn renumbering_moves_a_descriptor() {
    let mut program = in_scratch();
    let from = program.open("from", CREAT, FD_READ | FD_WRITE).unwrap();
    let to = program.open("to", CREAT, FD_READ).unwrap();
    let stat = program.fdstat(from);
    assert_eq!(program.call("fd_renumber", &[from.into(), to.into()]), SUCCESS);
    assert_eq!(program.fdstat(to), stat);
    assert_eq!(program.fdstat(from), Err(BADF));
    assert_eq!(program.call("fd_renumber", &[to.into(), from.into()]), BADF);
    assert_eq!(program.call("fd_renumber", &[from.into(), to.into()]), BADF);
    assert_eq!(program.call("fd_renumber", &[to.into(), to.into()]), SUCCESS);
    program.write(to, "x").unwrap();
    assert_eq!(std::fs::read(program.host("from")).unwrap(), b"x");
    // To a preopened directory, and from a standard stream.
    let dir = program.open(".", DIRECTORY, 0).unwrap();
    assert_eq!(program.call("fd_renumber", &[dir.into(), ROOT.into()]), SUCCESS);
    assert_eq!(program.call("fd_prestat_get", &[ROOT.into(), RESULT.into()]), BADF);
    assert_eq!(program.call("fd_renumber", &[0, to.into()]), SUCCESS);
    assert_eq!(program.fdstat(0), Err(BADF));
}

#[test]
fn a_file_lives_as_long_as_it_is_open() {
    let mut program = in_scratch();
    let fd = program.open("file", CREAT, FD_READ | FD_WRITE).unwrap();
    assert_eq!(program.path("path_unlink_file", "file"), SUCCESS);
    assert_eq!(program.write(fd, "x"), Ok(1));
    assert_eq!(program.fd_stat(fd).unwrap().nlink, 0);
    program.path("path_create_directory", "dir");
    let dir = program.open("dir", DIRECTORY, 0).unwrap();
    assert_eq!(program.path("path_remove_directory", "dir"), SUCCESS);
    assert_eq!(program.open_with(dir, 0, "file", CREAT, 0, 0), Err(NOENT));
}

#[test]
fn many_files_can_be_opened_one_after_the_other() {
    let mut program = in_scratch();
    program.create("file", "");
    for _ in 0..5000 {
        let fd = program.open("file", 0, FD_READ).unwrap();
        program.close(fd);
    }
}

/// Every function with a descriptor, with otherwise valid arguments; the descriptor is `None`.
/// Paths are at 0x300 and have one byte.
const WITH_DESCRIPTORS: &[(&str, &[Option<i64>])] = {
    const FD: Option<i64> = None;
    const AT: Option<i64> = Some(0x200);
    const PATH: Option<i64> = Some(0x300);
    const ZERO: Option<i64> = Some(0);
    const ONE: Option<i64> = Some(1);
    const OPEN: Option<i64> = Some(3);
    &[
        ("fd_advise", &[FD, ZERO, ZERO, ZERO]),
        ("fd_allocate", &[FD, ZERO, ONE]),
        ("fd_close", &[FD]),
        ("fd_datasync", &[FD]),
        ("fd_fdstat_get", &[FD, AT]),
        ("fd_fdstat_set_flags", &[FD, ZERO]),
        ("fd_fdstat_set_rights", &[FD, ZERO, ZERO]),
        ("fd_filestat_get", &[FD, AT]),
        ("fd_filestat_set_size", &[FD, ZERO]),
        ("fd_filestat_set_times", &[FD, ZERO, ZERO, ZERO]),
        ("fd_pread", &[FD, AT, ZERO, ZERO, AT]),
        ("fd_prestat_dir_name", &[FD, AT, ONE]),
        ("fd_prestat_get", &[FD, AT]),
        ("fd_pwrite", &[FD, AT, ZERO, ZERO, AT]),
        ("fd_read", &[FD, AT, ZERO, AT]),
        ("fd_readdir", &[FD, AT, ONE, ZERO, AT]),
        ("fd_renumber", &[FD, OPEN]),
        ("fd_renumber", &[OPEN, FD]),
        ("fd_seek", &[FD, ZERO, ZERO, AT]),
        ("fd_sync", &[FD]),
        ("fd_tell", &[FD, AT]),
        ("fd_write", &[FD, AT, ZERO, AT]),
        ("path_create_directory", &[FD, PATH, ONE]),
        ("path_filestat_get", &[FD, ZERO, PATH, ONE, AT]),
        ("path_filestat_set_times", &[FD, ZERO, PATH, ONE, ZERO, ZERO, ZERO]),
        ("path_link", &[FD, ZERO, PATH, ONE, OPEN, PATH, ONE]),
        ("path_link", &[OPEN, ZERO, PATH, ONE, FD, PATH, ONE]),
        ("path_open", &[FD, ZERO, PATH, ONE, ZERO, ZERO, ZERO, ZERO, AT]),
        ("path_readlink", &[FD, PATH, ONE, AT, ONE, AT]),
        ("path_remove_directory", &[FD, PATH, ONE]),
        ("path_rename", &[FD, PATH, ONE, OPEN, PATH, ONE]),
        ("path_rename", &[OPEN, PATH, ONE, FD, PATH, ONE]),
        ("path_symlink", &[PATH, ONE, FD, PATH, ONE]),
        ("path_unlink_file", &[FD, PATH, ONE]),
        ("sock_accept", &[FD, ZERO, AT]),
        ("sock_recv", &[FD, AT, ZERO, ZERO, AT, AT]),
        ("sock_send", &[FD, AT, ZERO, ZERO, AT]),
        ("sock_shutdown", &[FD, ONE]),
    ]
};

#[test]
fn every_function_refuses_bad_descriptors() {
    for (name, _) in FUNCTIONS
        .iter()
        .filter(|(name, _)| ["fd_", "path_", "sock_"].iter().any(|prefix| name.starts_with(prefix)))
    {
        assert!(WITH_DESCRIPTORS.iter().any(|(listed, _)| listed == name), "{name} is missing");
    }
    let mut program = in_scratch();
    let closed = program.open("file", CREAT, FD_READ).unwrap();
    program.close(closed);
    for (name, arguments) in WITH_DESCRIPTORS {
        for fd in [i64::from(closed), 99, 1 << 20, i64::from(i32::MAX), i64::from(i32::MIN), -1] {
            let arguments: Vec<i64> = arguments.iter().map(|it| it.unwrap_or(fd)).collect();
            assert_eq!(program.call(name, &arguments), BADF, "{name} {arguments:?}");
        }
    }
}
