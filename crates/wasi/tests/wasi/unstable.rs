//! The older version, which differs in three layouts and in the numbers of `whence`.

use crate::program::errno::*;
use crate::program::*;
use ropewalk_wasi::{DirPerms, FilePerms, WasiCtx};

fn program() -> (Program, tempfile::TempDir) {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("file"), "0123456789").unwrap();
    let mut builder = WasiCtx::builder();
    builder.preopened_dir(scratch.path(), "/", DirPerms::all(), FilePerms::all()).unwrap();
    (Program::new(UNSTABLE, &mut builder), scratch)
}

#[test]
fn whence_has_other_numbers() {
    let (mut program, _scratch) = program();
    let fd = i64::from(program.open("file", 0, FD_READ).unwrap());
    for (offset, whence, position) in [(4, 2, 4), (2, 0, 6), (-1, 1, 9)] {
        assert_eq!(program.call("fd_seek", &[fd, offset, whence, RESULT.into()]), SUCCESS);
        assert_eq!(program.u64(RESULT), position);
    }
    assert_eq!(program.call("fd_seek", &[fd, 0, 3, RESULT.into()]), INVAL);
}

#[test]
fn the_number_of_links_is_shorter() {
    let (mut program, _scratch) = program();
    let fd = program.open("file", 0, FD_READ).unwrap();
    let [path, len] = program.string("file");
    let by_path = [ROOT.into(), 0, path, len, RESULT.into()];
    assert_eq!(program.call("path_filestat_get", &by_path), SUCCESS);
    let stat = program.bytes(RESULT, 56);
    assert_eq!((program.u32(RESULT + 20), program.u64(RESULT + 24)), (1, 10));
    assert_eq!(program.call("fd_filestat_get", &[fd.into(), RESULT.into()]), SUCCESS);
    assert_eq!(program.bytes(RESULT, 56), stat);
    assert_eq!(program.bytes(RESULT + 56, 8), [0; 8]);
}

#[test]
fn clock_subscriptions_have_an_additional_field() {
    let (mut program, _scratch) = program();
    let mut subscription = 7u64.to_le_bytes().to_vec();
    subscription.extend([0; 8]);
    for word in [99u64, 1, 1000, 0, 0] {
        subscription.extend(word.to_le_bytes());
    }
    assert_eq!(subscription.len(), 56);
    let at = program.put(&subscription);
    assert_eq!(program.result("poll_oneoff", &[at, 0x8000, 1, RESULT.into()]), Ok(1));
    assert_eq!((program.u64(0x8000), program.bytes(0x8008, 3)), (7, vec![0; 3]));
}

#[test]
fn the_rest_is_the_same() {
    let (mut program, _scratch) = program();
    program.create("new", "rope");
    let fd = program.open("new", 0, FD_READ).unwrap();
    assert_eq!(program.read(fd, 9), Ok("rope".into()));
}
