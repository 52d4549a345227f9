//! Reading, writing, seeking and resizing files.

use crate::program::errno::*;
use crate::program::*;
use ropewalk_wasi::{DirPerms, FilePerms};
use std::io::Write as _;

const READ_WRITE: u64 = FD_READ | FD_WRITE;
const SET: i64 = 0;
const CURRENT: i64 = 1;
const END: i64 = 2;

#[track_caller]
fn seek(program: &mut Program, fd: i32, offset: i64, whence: i64) -> Result<u64, i32> {
    match program.call("fd_seek", &[fd.into(), offset, whence, RESULT.into()]) {
        SUCCESS => Ok(program.u64(RESULT)),
        errno => Err(errno),
    }
}

#[test]
fn written_bytes_are_read() {
    let mut program = in_scratch();
    let fd = program.open("file", CREAT, READ_WRITE).unwrap();
    assert_eq!(program.write(fd, "rope"), Ok(4));
    assert_eq!(program.read(fd, 10), Ok(String::new()));
    assert_eq!(seek(&mut program, fd, 0, SET), Ok(0));
    assert_eq!(program.read(fd, 3), Ok("rop".into()));
    assert_eq!(program.read(fd, 3), Ok("e".into()));
    assert_eq!(std::fs::read(program.host("file")).unwrap(), b"rope");
}

#[test]
fn several_buffers_are_used_in_order() {
    let mut program = in_scratch();
    let fd = program.open("file", CREAT, READ_WRITE).unwrap();
    let text = program.put(b"abcdef");
    let words = [text as u32 + 3, 3, text as u32, 0, text as u32, 2];
    let vectors = program.put(&words.map(u32::to_le_bytes).concat());
    assert_eq!(program.result("fd_write", &[fd.into(), vectors, 3, RESULT.into()]), Ok(5));
    assert_eq!(std::fs::read(program.host("file")).unwrap(), b"defab");

    let words: [u32; 6] = [0x400, 2, 0x300, 0, 0x200, 8];
    let vectors = program.put(&words.map(u32::to_le_bytes).concat());
    let read = program.result("fd_pread", &[fd.into(), vectors, 3, 1, RESULT.into()]);
    assert_eq!(read, Ok(4));
    assert_eq!((program.bytes(0x400, 2), program.bytes(0x200, 2)), (b"ef".into(), b"ab".into()));
}

#[test]
fn reading_and_writing_at_an_offset_keep_the_position() {
    let mut program = in_scratch();
    program.create("file", "0123456789");
    let fd = program.open("file", 0, READ_WRITE).unwrap();
    let text = program.put(b"xy");
    let [vectors, count] = program.vector(text, 2);
    let write = [fd.into(), vectors, count, 4, RESULT.into()];
    assert_eq!(program.result("fd_pwrite", &write), Ok(2));
    let [vectors, count] = program.vector(0x200, 4);
    let read = [fd.into(), vectors, count, 3, RESULT.into()];
    assert_eq!(program.result("fd_pread", &read), Ok(4));
    assert_eq!(program.bytes(0x200, 4), b"3xy6");
    assert_eq!(program.call("fd_tell", &[fd.into(), RESULT.into()]), SUCCESS);
    assert_eq!(program.u64(RESULT), 0);
    let [vectors, count] = program.vector(0x200, 4);
    let read = [fd.into(), vectors, count, -1, RESULT.into()];
    assert_eq!(program.call("fd_pread", &read), INVAL);
}

#[test]
fn seeking_before_the_beginning_is_an_error() {
    let mut program = in_scratch();
    program.create("file", "0123456789");
    let fd = program.open("file", 0, READ_WRITE).unwrap();
    assert_eq!(seek(&mut program, fd, 4, SET), Ok(4));
    assert_eq!(seek(&mut program, fd, 2, CURRENT), Ok(6));
    assert_eq!(seek(&mut program, fd, -1, END), Ok(9));
    assert_eq!(seek(&mut program, fd, 1000, END), Ok(1010));
    assert_eq!(seek(&mut program, fd, -2000, CURRENT), Err(INVAL));
    assert_eq!(seek(&mut program, fd, -1, SET), Err(INVAL));
    assert_eq!(seek(&mut program, fd, 0, 3), Err(INVAL));
    assert_eq!(seek(&mut program, 99, 0, SET), Err(BADF));
    assert_eq!(program.call("fd_tell", &[fd.into(), RESULT.into()]), SUCCESS);
    assert_eq!(program.u64(RESULT), 1010);
}

#[test]
fn appending_ignores_the_position_until_it_is_turned_off() {
    let mut program = in_scratch();
    let fd = program.open_with(ROOT, 0, "file", CREAT | TRUNC, READ_WRITE, APPEND).unwrap();
    assert_eq!(program.fdstat(fd).unwrap().1, APPEND as u16);
    program.write(fd, "ab").unwrap();
    seek(&mut program, fd, 0, SET).unwrap();
    program.write(fd, "cd").unwrap();
    assert_eq!(seek(&mut program, fd, 0, CURRENT), Ok(4));
    // Another descriptor has written to the file.
    let mut host = std::fs::File::options().append(true).open(program.host("file")).unwrap();
    host.write_all(b"!").unwrap();
    program.write(fd, "ef").unwrap();
    // A write at an offset does not append or move the position.
    let at = program.put(b"X");
    let [vectors, count] = program.vector(at, 1);
    let arguments = [fd.into(), vectors, count, 1, RESULT.into()];
    assert_eq!(program.result("fd_pwrite", &arguments), Ok(1));
    assert_eq!(std::fs::read(program.host("file")).unwrap(), b"aXcd!ef");
    assert_eq!(seek(&mut program, fd, 0, CURRENT), Ok(7));
    assert_eq!(program.call("fd_fdstat_set_flags", &[fd.into(), 0]), SUCCESS);
    seek(&mut program, fd, 0, SET).unwrap();
    program.write(fd, "e").unwrap();
    assert_eq!(std::fs::read(program.host("file")).unwrap(), b"eXcd!ef");
    assert_eq!(program.fdstat(fd).unwrap().1, 0);
    assert_eq!(program.call("fd_fdstat_set_flags", &[fd.into(), APPEND.into()]), SUCCESS);
    program.write(fd, "g").unwrap();
    assert_eq!(std::fs::read(program.host("file")).unwrap(), b"eXcd!efg");
}

#[test]
fn synchronization_is_set_when_a_file_is_opened() {
    let mut program = in_scratch();
    let fd = program.open_with(ROOT, 0, "file", CREAT, READ_WRITE, SYNC).unwrap();
    assert_eq!(program.fdstat(fd).unwrap().1, SYNC as u16);
    assert_eq!(program.call("fd_fdstat_set_flags", &[fd.into(), 0]), NOTSUP);
    assert_eq!(program.call("fd_fdstat_set_flags", &[fd.into(), i64::from(SYNC)]), SUCCESS);
    assert_eq!(program.call("fd_fdstat_set_flags", &[fd.into(), 32]), INVAL);
    assert_eq!(program.call("fd_sync", &[fd.into()]), SUCCESS);
    assert_eq!(program.call("fd_datasync", &[fd.into()]), SUCCESS);
    assert_eq!(program.call("fd_sync", &[99]), BADF);
}

#[test]
fn a_file_has_the_size_that_is_set() {
    let mut program = in_scratch();
    let fd = program.open("file", CREAT, READ_WRITE).unwrap();
    assert_eq!(program.call("fd_filestat_set_size", &[fd.into(), 100]), SUCCESS);
    assert_eq!(program.fd_stat(fd).unwrap().size, 100);
    assert_eq!(program.call("fd_filestat_set_size", &[fd.into(), 3]), SUCCESS);
    assert_eq!(program.fd_stat(fd).unwrap().size, 3);
    assert_eq!(program.call("fd_filestat_set_size", &[fd.into(), -1]), INVAL);
    let read_only = program.open("file", 0, FD_READ).unwrap();
    assert_eq!(program.call("fd_filestat_set_size", &[read_only.into(), 0]), BADF);
}

#[test]
fn allocating_never_shrinks_a_file() {
    let mut program = in_scratch();
    let fd = program.open("file", CREAT, READ_WRITE).unwrap();
    for (offset, len, size) in [(0, 100, 100), (10, 10, 100), (90, 20, 110)] {
        assert_eq!(program.call("fd_allocate", &[fd.into(), offset, len]), SUCCESS);
        assert_eq!(program.fd_stat(fd).unwrap().size, size);
    }
    assert_eq!(program.call("fd_allocate", &[fd.into(), i64::MAX, 1]), INVAL);
    assert_eq!(program.call("fd_allocate", &[fd.into(), -1, 1]), INVAL);
    assert_eq!(program.call("fd_allocate", &[fd.into(), 0, 0]), INVAL);
}

#[test]
fn advice_changes_nothing() {
    let mut program = in_scratch();
    program.create("file", "rope");
    let fd = program.open("file", 0, FD_READ).unwrap();
    for advice in 0..6 {
        assert_eq!(program.call("fd_advise", &[fd.into(), 0, 0, advice]), SUCCESS);
    }
    assert_eq!(program.call("fd_advise", &[fd.into(), 0, 0, 6]), INVAL);
    assert_eq!(program.call("fd_advise", &[fd.into(), i64::MAX, 1, 0]), INVAL);
    assert_eq!(program.call("fd_advise", &[1, 0, 0, 0]), SPIPE);
    assert_eq!(program.fd_stat(fd).unwrap().size, 4);
}

#[test]
fn times_are_set_left_alone_or_now() {
    const ATIM: i64 = 1;
    const MTIM: i64 = 4;
    const MTIM_NOW: i64 = 8;
    let mut program = in_scratch();
    let fd = program.open("file", CREAT, READ_WRITE).unwrap();
    let before = program.fd_stat(fd).unwrap();
    let time = 1_234_567_890_123_456_789;
    assert_eq!(program.call("fd_filestat_set_times", &[fd.into(), 0, time, MTIM]), SUCCESS);
    let stat = program.fd_stat(fd).unwrap();
    assert_eq!((stat.atim, stat.mtim), (before.atim, time as u64));
    let set = [fd.into(), time, 0, ATIM | MTIM_NOW];
    assert_eq!(program.call("fd_filestat_set_times", &set), SUCCESS);
    let stat = program.fd_stat(fd).unwrap();
    assert_eq!(stat.atim, time as u64);
    assert!(stat.mtim > time as u64);
    for twice in [1 | 2, 4 | 8, 16] {
        let set = [fd.into(), 0, 0, twice];
        assert_eq!(program.call("fd_filestat_set_times", &set), INVAL);
    }
    assert_eq!(program.fd_stat(fd).unwrap(), stat);
}

#[test]
fn open_flags_apply() {
    let mut program = in_scratch();
    assert_eq!(program.open("file", 0, FD_READ), Err(NOENT));
    program.create("file", "rope");
    assert_eq!(program.open("file", CREAT | EXCL, FD_WRITE), Err(EXIST));
    assert_eq!(program.open("file", DIRECTORY, FD_READ), Err(NOTDIR));
    assert_eq!(program.open("file", DIRECTORY | CREAT, 0), Err(INVAL));
    assert_eq!(program.open("file", 16, 0), Err(INVAL));
    assert_eq!(program.open_with(ROOT, 2, "file", 0, 0, 0), Err(INVAL));
    assert_eq!(program.open_with(ROOT, 0, "file", 0, 0, 32), Err(INVAL));
    let fd = program.open("file", TRUNC, 0).unwrap();
    assert_eq!(program.fd_stat(fd).unwrap().size, 0);
    let new = program.open("new", CREAT | EXCL, 0).unwrap();
    assert_eq!(program.fd_stat(new).unwrap().filetype, 4);
    assert_eq!(program.open("new/x", 0, 0), Err(NOTDIR));
    assert_eq!(program.open("missing/x", CREAT, 0), Err(NOENT));
    assert_eq!(program.open_with(new, 0, "x", CREAT, 0, 0), Err(NOTDIR));
    assert_eq!(program.open(&"x".repeat(300), CREAT, 0), Err(NAMETOOLONG));
}

#[test]
fn access_is_limited_to_the_opened_mode() {
    let mut program = in_scratch();
    program.create("file", "rope");
    let reader = program.open("file", 0, FD_READ).unwrap();
    assert_eq!(program.write(reader, "x"), Err(BADF));
    let writer = program.open("file", 0, FD_WRITE).unwrap();
    assert_eq!(program.read(writer, 1), Err(BADF));
    let neither = program.open("file", 0, 0).unwrap();
    assert_eq!(program.read(neither, 1), Err(BADF));
    assert_eq!(program.write(neither, "x"), Err(BADF));
    assert_eq!(program.fd_stat(neither).unwrap().size, 4);
}

#[test]
fn a_device_is_not_a_regular_file() {
    let prepare = |path: &std::path::Path| {
        std::os::unix::fs::symlink("/dev/null", path.join("outside")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path.join("pipe"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
    };
    let mut program = in_scratch_with(DirPerms::all(), FilePerms::all(), prepare);
    let pipe = program.open_with(ROOT, 0, "pipe", 0, READ_WRITE, NONBLOCK).unwrap();
    assert_eq!(program.fdstat(pipe).unwrap().0, 0);
    assert_eq!(program.read(pipe, 1), Err(AGAIN));
    assert_eq!(program.write(pipe, "ab"), Ok(2));
    assert_eq!(program.read(pipe, 5), Ok("ab".into()));
    assert_eq!(seek(&mut program, pipe, 1, SET), Err(SPIPE));
    assert_eq!(program.call("fd_tell", &[pipe.into(), RESULT.into()]), SPIPE);
    assert_eq!(program.open_with(ROOT, FOLLOW, "outside", 0, FD_READ, 0), Err(PERM));
}
