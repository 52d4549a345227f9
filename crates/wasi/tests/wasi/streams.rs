//! Standard streams: in memory, files, pipes and terminals.

use crate::program::errno::*;
use crate::program::*;
use ropewalk_wasi::{MemoryInputPipe, MemoryOutputPipe, WasiCtx};
use std::io::{Read as _, Seek as _, Write as _};

#[test]
fn streams_in_memory_work() {
    let (input, output) = (MemoryInputPipe::new("line\nrest"), MemoryOutputPipe::new(6));
    let mut builder = WasiCtx::builder();
    builder.stdin(input.clone()).stdout(output.clone()).stderr(output.clone());
    let mut program = with(&mut builder);
    assert_eq!(program.read(0, 5), Ok("line\n".into()));
    assert_eq!(input.unread(), 4);
    assert_eq!(program.read(0, 100), Ok("rest".into()));
    assert_eq!(program.read(0, 100), Ok(String::new()));
    assert_eq!(program.write(1, "out"), Ok(3));
    assert_eq!(program.write(2, "error"), Ok(3));
    assert_eq!(program.write(1, "more"), Err(PIPE));
    assert_eq!(output.text(), "outerr");
}

#[test]
fn streams_have_one_direction_and_no_position() {
    let mut program = with(&mut WasiCtx::builder());
    assert_eq!(program.read(0, 1), Ok(String::new()));
    assert_eq!(program.write(0, "x"), Err(BADF));
    for fd in [1, 2] {
        assert_eq!(program.write(fd, "this is dropped!"), Ok(16));
        assert_eq!(program.read(fd, 1), Err(BADF));
        assert_eq!(program.call("fd_seek", &[fd.into(), 0, 0, RESULT.into()]), SPIPE);
        assert_eq!(program.call("fd_tell", &[fd.into(), RESULT.into()]), SPIPE);
        assert_eq!(program.fd_stat(fd).unwrap().filetype, 0);
    }
    assert_eq!(program.call("fd_filestat_set_size", &[1, 0]), SPIPE);
}

#[test]
fn a_file_can_be_a_stream() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"rope").unwrap();
    file.rewind().unwrap();
    let mut builder = WasiCtx::builder();
    builder.stdin(file.try_clone().unwrap());
    let mut program = with(&mut builder);
    assert_eq!(program.read(0, 2), Ok("ro".into()));
    assert_eq!(program.fdstat(0).unwrap().0, 4);
    assert_eq!(program.call("fd_seek", &[0, 0, 0, RESULT.into()]), SUCCESS);
    assert_eq!(program.read(0, 9), Ok("rope".into()));
    // The program can only read it.
    assert_eq!(program.write(0, "x"), Err(BADF));
    assert_eq!(program.call("fd_filestat_set_size", &[0, 0]), BADF);
    assert_eq!(program.call("fd_allocate", &[0, 0, 9]), BADF);
    assert_eq!(program.call("fd_filestat_set_times", &[0, 0, 0, 4]), NOTCAPABLE);
}

#[test]
fn an_output_file_cannot_be_truncated_or_dated() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"rope").unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    let mut builder = WasiCtx::builder();
    builder.stdout(file.try_clone().unwrap());
    let mut program = with(&mut builder);
    assert_eq!(program.call("fd_filestat_set_size", &[1, 0]), BADF);
    assert_eq!(program.call("fd_allocate", &[1, 0, 4096]), BADF);
    assert_eq!(program.call("fd_filestat_set_times", &[1, 0, 0, 4]), NOTCAPABLE);
    assert_eq!(file.metadata().unwrap().len(), 4);
    assert_eq!(file.metadata().unwrap().modified().unwrap(), before);
    assert_eq!(program.write(1, "walk"), Ok(4));
    file.rewind().unwrap();
    assert_eq!(std::io::read_to_string(file).unwrap(), "ropewalk");
}

#[test]
fn streams_without_a_position_are_not_seekable() {
    let (reader, writer) = std::io::pipe().unwrap();
    let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut builder = WasiCtx::builder();
    builder.stdin(std::os::fd::OwnedFd::from(reader)).stdout(std::os::fd::OwnedFd::from(writer));
    builder.stderr(MemoryOutputPipe::new(9)).preopened_socket(socket).unwrap();
    let mut program = with(&mut builder);
    for fd in 0..4 {
        for whence in 0..3 {
            assert_eq!(program.call("fd_seek", &[fd, 1, whence, RESULT.into()]), SPIPE, "{fd}");
        }
        assert_eq!(program.call("fd_tell", &[fd, RESULT.into()]), SPIPE, "{fd}");
        let [vectors, count] = program.vector(0x2000, 1);
        for name in ["fd_pread", "fd_pwrite"] {
            let errno = program.call(name, &[fd, vectors, count, 0, RESULT.into()]);
            assert_eq!(errno, SPIPE, "{name} {fd}");
        }
    }
}

#[test]
fn a_pipe_waits_unless_it_is_nonblocking() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut builder = WasiCtx::builder();
    builder.stdin(std::os::fd::OwnedFd::from(reader));
    let mut program = with(&mut builder);
    assert_eq!(program.call("fd_fdstat_set_flags", &[0, NONBLOCK.into()]), SUCCESS);
    assert_eq!(program.read(0, 9), Err(AGAIN));
    assert_eq!(program.call("fd_fdstat_set_flags", &[0, 0]), SUCCESS);
    let thread = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        writer.write_all(b"late").unwrap();
    });
    assert_eq!(program.read(0, 9), Ok("late".into()));
    thread.join().unwrap();
    assert_eq!(program.read(0, 9), Ok(String::new()));
}

#[test]
fn a_broken_pipe_is_an_error() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut builder = WasiCtx::builder();
    builder.stdout(std::os::fd::OwnedFd::from(writer));
    let mut program = with(&mut builder);
    assert_eq!(program.write(1, "x"), Ok(1));
    let mut byte = [0];
    reader.read_exact(&mut byte).unwrap();
    drop(reader);
    assert_eq!(program.write(1, "x"), Err(PIPE));
}

#[test]
fn a_terminal_is_recognized() {
    // A terminal is a character device without a position.
    let seek_and_tell = FD_SEEK | 1 << 5;
    let is_terminal = |program: &mut Program, fd| {
        let (filetype, _, base, _) = program.fdstat(fd).unwrap();
        filetype == 2 && base & seek_and_tell == 0
    };
    let Ok(master) = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR) else { return };
    let mut builder = WasiCtx::builder();
    builder.stdout(master).stdin(std::fs::File::open("/dev/null").unwrap());
    let mut program = with(&mut builder);
    assert!(is_terminal(&mut program, 1));
    assert!(!is_terminal(&mut program, 0));
    assert!(!is_terminal(&mut program, 2));
}
