//! Sending, receiving and accepting connections.

use crate::program::errno::*;
use crate::program::*;
use ropewalk_wasi::WasiCtx;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The first descriptor after the standard streams.
const SOCKET: i32 = 3;

fn connected() -> (Program, UnixStream) {
    let (inside, outside) = UnixStream::pair().unwrap();
    let mut builder = WasiCtx::builder();
    builder.preopened_socket(inside).unwrap();
    (with(&mut builder), outside)
}

#[track_caller]
fn receive(program: &mut Program, fd: i32, len: usize, flags: i64) -> Result<String, i32> {
    let at = program.put(&vec![0; len]);
    let [vectors, count] = program.vector(at, len);
    let arguments = [fd.into(), vectors, count, flags, RESULT.into(), i64::from(RESULT) + 4];
    let read = program.result("sock_recv", &arguments)?;
    Ok(String::from_utf8(program.bytes(at as i32, read as usize)).unwrap())
}

#[track_caller]
fn send(program: &mut Program, fd: i32, text: &str, flags: i64) -> Result<u32, i32> {
    let at = program.put(text.as_bytes());
    let [vectors, count] = program.vector(at, text.len());
    program.result("sock_send", &[fd.into(), vectors, count, flags, RESULT.into()])
}

#[test]
fn a_program_sends_and_receives() {
    let (mut program, mut outside) = connected();
    assert_eq!(send(&mut program, SOCKET, "hello", 0), Ok(5));
    assert_eq!(program.write(SOCKET, "!"), Ok(1));
    let mut buffer = [0; 6];
    outside.read_exact(&mut buffer).unwrap();
    assert_eq!(&buffer, b"hello!");
    outside.write_all(b"world").unwrap();
    assert_eq!(receive(&mut program, SOCKET, 3, 1), Ok("wor".into()));
    assert_eq!(receive(&mut program, SOCKET, 3, 0), Ok("wor".into()));
    assert_eq!(program.read(SOCKET, 9), Ok("ld".into()));
    assert_eq!(program.fdstat(SOCKET).unwrap().0, 6);
    assert_eq!(send(&mut program, SOCKET, "x", 1), Err(INVAL));
    assert_eq!(receive(&mut program, SOCKET, 1, 4), Err(INVAL));
}

#[test]
fn receiving_waits_and_can_wait_for_all() {
    let (mut program, mut outside) = connected();
    let thread = std::thread::spawn(move || {
        for part in ["one", "two", "three"] {
            std::thread::sleep(Duration::from_millis(10));
            outside.write_all(part.as_bytes()).unwrap();
        }
        outside
    });
    assert_eq!(receive(&mut program, SOCKET, 9, 2), Ok("onetwothr".into()));
    assert_eq!(receive(&mut program, SOCKET, 9, 0), Ok("ee".into()));
    drop(thread.join().unwrap());
    assert_eq!(receive(&mut program, SOCKET, 9, 2), Ok(String::new()));
    assert_eq!(send(&mut program, SOCKET, "x", 0), Err(PIPE));
}

#[test]
fn nonblocking_sockets_do_not_wait() {
    let (mut program, _outside) = connected();
    let set = [SOCKET.into(), NONBLOCK.into()];
    assert_eq!(program.call("fd_fdstat_set_flags", &set), SUCCESS);
    assert_eq!(receive(&mut program, SOCKET, 1, 0), Err(AGAIN));
    assert_eq!(program.read(SOCKET, 1), Err(AGAIN));
}

#[test]
fn connections_are_accepted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut builder = WasiCtx::builder();
    builder.preopened_socket(listener).unwrap();
    let mut program = with(&mut builder);
    let set = |flags: i32| [SOCKET.into(), flags.into()];
    let accept = |flags: i32| [SOCKET.into(), flags.into(), RESULT.into()];
    assert_eq!(program.call("fd_fdstat_set_flags", &set(NONBLOCK)), SUCCESS);
    assert_eq!(program.call("sock_accept", &accept(0)), AGAIN);
    assert_eq!(program.call("fd_fdstat_set_flags", &set(0)), SUCCESS);
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(10));
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"hello").unwrap();
        stream
    });
    assert_eq!(program.call("sock_accept", &accept(APPEND)), INVAL);
    let connection = program.result("sock_accept", &accept(NONBLOCK)).unwrap() as i32;
    assert_eq!(program.fdstat(connection).unwrap().1, NONBLOCK as u16);
    let mut stream = thread.join().unwrap();
    let set = [connection.into(), 0];
    assert_eq!(program.call("fd_fdstat_set_flags", &set), SUCCESS);
    assert_eq!(program.read(connection, 9), Ok("hello".into()));
    assert_eq!(program.call("sock_shutdown", &[connection.into(), 2]), SUCCESS);
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    let accept = [connection.into(), 0, RESULT.into()];
    assert_eq!(program.call("sock_accept", &accept), INVAL);
}

#[test]
fn other_descriptors_are_not_sockets() {
    let mut program = in_scratch();
    for fd in [0, 1, ROOT] {
        assert_eq!(receive(&mut program, fd, 1, 0), Err(NOTSOCK));
        assert_eq!(send(&mut program, fd, "x", 0), Err(NOTSOCK));
        assert_eq!(program.call("sock_shutdown", &[fd.into(), 1]), NOTSOCK);
        assert_eq!(program.call("sock_accept", &[fd.into(), 0, RESULT.into()]), NOTSOCK);
    }
    assert_eq!(program.call("sock_shutdown", &[99, 1]), BADF);
    assert_eq!(receive(&mut program, 99, 1, 0), Err(BADF));
    let (mut program, _outside) = connected();
    for how in [0, 4] {
        assert_eq!(program.call("sock_shutdown", &[SOCKET.into(), how]), INVAL);
    }
    assert_eq!(program.call("sock_shutdown", &[SOCKET.into(), 3]), SUCCESS);
    assert_eq!(program.read(SOCKET, 1), Ok(String::new()));
    assert_eq!(program.call("fd_seek", &[SOCKET.into(), 0, 0, RESULT.into()]), SPIPE);
}
