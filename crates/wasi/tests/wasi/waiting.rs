//! Asynchronous calls, which wait without blocking their thread.
//!
//! All calls of a test run on its thread, without an executor.

use crate::poll::{MILLISECOND, MONOTONIC, clock, readable, writable};
use crate::program::errno::*;
use crate::program::*;
use ropewalk::{Accessor, Instance, Val};
use ropewalk_wasi::{DirPerms, FilePerms, WasiCtx, WasiCtxBuilder};
use std::cell::RefCell;
use std::future::Future;
use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// The address of the buffers of tests, of one kilobyte each.
const BUFFERS: i64 = 0x10000;

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future each time that it is woken.
fn block_on<R>(future: impl Future<Output = R>) -> R {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        std::thread::park_timeout(Duration::from_secs(60));
    }
}

type Boxed<'a, R> = Pin<Box<dyn Future<Output = R> + 'a>>;

/// Polls futures together until all are ready.
async fn all<R>(mut futures: Vec<Boxed<'_, R>>) -> Vec<R> {
    let mut results: Vec<Option<R>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(move |context| {
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *result = Some(ready);
            }
        }
        match results.iter().all(Option::is_some) {
            true => Poll::Ready(results.iter_mut().filter_map(Option::take).collect()),
            false => Poll::Pending,
        }
    })
    .await
}

/// Calls a function of a program in its own store.
async fn call(program: &mut Program, name: &str, arguments: &[i64]) -> i32 {
    let (store, instance) = program.parts();
    let func = instance.get_func(&mut *store, name).unwrap();
    let mut results = [Val::I32(0)];
    func.call_async(store, &values(name, arguments), &mut results).await.unwrap();
    results[0].i32().unwrap()
}

/// One of several concurrent calls of a program, with its own buffer.
struct Calls<'a> {
    accessor: &'a Accessor<WasiCtx>,
    instance: Instance,
    at: i64,
}

impl Calls<'_> {
    async fn call(&self, name: &str, arguments: &[i64]) -> i32 {
        let func = self.accessor.with(|store| self.instance.get_func(store, name).unwrap());
        let mut results = [Val::I32(0)];
        let values = values(name, arguments);
        func.call_concurrent(self.accessor, &values, &mut results).await.unwrap();
        results[0].i32().unwrap()
    }

    fn put(&self, at: i64, bytes: &[u8]) {
        self.accessor.with(|mut store| {
            let memory = self.instance.get_memory(&mut store, "memory").unwrap();
            memory.write(&mut store, (self.at + at) as usize, bytes).unwrap();
        });
    }

    fn get(&self, at: i64, len: usize) -> Vec<u8> {
        self.accessor.with(|mut store| {
            let memory = self.instance.get_memory(&mut store, "memory").unwrap();
            memory.data(&store).unwrap()[(self.at + at) as usize..][..len].to_vec()
        })
    }

    fn number(&self, at: i64) -> u32 {
        u32::from_le_bytes(self.get(at, 4).try_into().unwrap())
    }

    /// An array with one `iovec`, for the bytes from 64 on.
    fn vector(&self, len: usize) -> [i64; 2] {
        let at = (self.at + 64) as u32;
        self.put(16, &[at.to_le_bytes(), (len as u32).to_le_bytes()].concat());
        [self.at + 16, 1]
    }

    async fn read(&self, fd: i64, len: usize) -> Result<String, i32> {
        let [vectors, count] = self.vector(len);
        match self.call("fd_read", &[fd, vectors, count, self.at]).await {
            0 => Ok(String::from_utf8(self.get(64, self.number(0) as usize)).unwrap()),
            errno => Err(errno),
        }
    }

    async fn write(&self, fd: i64, text: &str) -> Result<u32, i32> {
        self.put(64, text.as_bytes());
        let [vectors, count] = self.vector(text.len());
        match self.call("fd_write", &[fd, vectors, count, self.at]).await {
            0 => Ok(self.number(0)),
            errno => Err(errno),
        }
    }

    /// The numbers of the events that have occurred.
    async fn poll(&self, subscriptions: &[Vec<u8>]) -> Vec<u64> {
        self.put(64, &subscriptions.concat());
        let count = subscriptions.len() as i64;
        let arguments = [self.at + 64, self.at + 512, count, self.at];
        assert_eq!(self.call("poll_oneoff", &arguments).await, SUCCESS);
        let userdata = |i: i64| u64::from_le_bytes(self.get(512 + 32 * i, 8).try_into().unwrap());
        (0..self.number(0).into()).map(userdata).collect()
    }
}

/// Runs calls of a program concurrently.
fn together<R>(program: &mut Program, body: impl AsyncFnOnce([Calls<'_>; 4]) -> R) -> R {
    let (store, instance) = program.parts();
    let result = block_on(store.run_concurrent(async |accessor| {
        let calls = |i: i64| Calls { accessor, instance, at: BUFFERS + 1024 * i };
        body([0, 1, 2, 3].map(calls)).await
    }));
    assert_eq!(program.parts().0.pending_calls(), 0);
    result
}

fn piped(builder: &mut WasiCtxBuilder) -> PipeWriter {
    let (reader, writer) = std::io::pipe().unwrap();
    builder.stdin(OwnedFd::from(reader));
    writer
}

/// A program with a pipe from its standard output to its standard input.
fn with_itself() -> Program {
    let mut builder = WasiCtx::builder();
    let writer = piped(&mut builder);
    builder.stdout(OwnedFd::from(writer));
    with(&mut builder)
}

#[test]
fn sleeps_of_several_programs_overlap() {
    const COUNT: usize = 20;
    let mut programs: Vec<Program> = (0..COUNT).map(|_| with(&mut WasiCtx::builder())).collect();
    let before = Instant::now();
    let sleeps = programs.iter_mut().map(|program| -> Boxed<'_, i32> {
        let at = program.put(&clock(7, MONOTONIC, 100 * MILLISECOND, 0));
        Box::pin(async move { call(program, "poll_oneoff", &[at, 0x8000, 1, RESULT.into()]).await })
    });
    let results = block_on(all(sleeps.collect()));
    assert_eq!(results, [SUCCESS; COUNT]);
    let elapsed = before.elapsed();
    assert!(elapsed >= Duration::from_millis(100), "{elapsed:?}");
    assert!(elapsed < Duration::from_millis(100 * COUNT as u64 / 2), "{elapsed:?}");
    for program in &programs {
        assert_eq!((program.u32(RESULT), program.u64(0x8000)), (1, 7));
    }
}

#[test]
fn sleeps_in_one_store_overlap() {
    let mut program = with(&mut WasiCtx::builder());
    let before = Instant::now();
    let order = RefCell::new(Vec::new());
    together(&mut program, async |[a, b, c, d]| {
        let sleep = |calls, time: u64| -> Boxed<'_, ()> {
            let calls: Calls<'_> = calls;
            let order = &order;
            Box::pin(async move {
                let events = calls.poll(&[clock(time, MONOTONIC, time * MILLISECOND, 0)]).await;
                order.borrow_mut().extend(events);
            })
        };
        all(vec![sleep(a, 200), sleep(b, 50), sleep(c, 350), sleep(d, 0)]).await;
    });
    assert_eq!(order.into_inner(), [0, 50, 200, 350]);
    assert!(before.elapsed() >= Duration::from_millis(350));
}

#[test]
fn a_program_reads_a_pipe_while_another_runs() {
    let mut builder = WasiCtx::builder();
    let writer = piped(&mut builder);
    let mut reading = with(&mut builder);
    let mut builder = WasiCtx::builder();
    builder.stdout(OwnedFd::from(writer));
    let mut writing = with(&mut builder);

    let at = reading.put(&[0; 16]);
    let [to, _] = reading.vector(at, 16);
    let text = writing.put(b"hello");
    let [from, _] = writing.vector(text, 5);
    let read = async { call(&mut reading, "fd_read", &[0, to, 1, RESULT.into()]).await };
    let write = async { call(&mut writing, "fd_write", &[1, from, 1, RESULT.into()]).await };
    // The call that must wait is polled first.
    assert_eq!(block_on(all(vec![Box::pin(read), Box::pin(write)])), [SUCCESS, SUCCESS]);
    assert_eq!(reading.u32(RESULT), 5);
    assert_eq!(reading.bytes(at as i32, 5), b"hello");
}

#[test]
fn a_call_reads_what_another_of_its_program_writes() {
    let mut program = with_itself();
    together(&mut program, async |[a, b, ..]| {
        let read: Boxed<'_, _> = Box::pin(async { a.read(0, 9).await });
        let write: Boxed<'_, _> = Box::pin(async {
            assert_eq!(b.write(1, "late").await, Ok(4));
            Ok(String::new())
        });
        assert_eq!(all(vec![read, write]).await[0], Ok("late".into()));
    });
}

#[test]
fn several_calls_wait_for_the_same_descriptor() {
    let mut program = with_itself();
    let mut read = together(&mut program, async |[a, b, c, d]| {
        let read = |calls| -> Boxed<'_, _> {
            let calls: Calls<'_> = calls;
            Box::pin(async move { calls.read(0, 1).await.unwrap() })
        };
        let write: Boxed<'_, _> = Box::pin(async {
            for letter in ["x", "y", "z"] {
                d.write(1, letter).await.unwrap();
                d.poll(&[clock(0, MONOTONIC, 5 * MILLISECOND, 0)]).await;
            }
            String::new()
        });
        all(vec![read(a), read(b), read(c), write]).await
    });
    read.sort();
    assert_eq!(read, ["", "x", "y", "z"]);
}

#[test]
fn a_wait_for_times_and_descriptors() {
    let mut builder = WasiCtx::builder();
    let mut writer = piped(&mut builder);
    let mut program = with(&mut builder);
    together(&mut program, async |[calls, ..]| {
        let long = clock(1, MONOTONIC, 60_000 * MILLISECOND, 0);
        let short = clock(2, MONOTONIC, 5 * MILLISECOND, 0);
        let never = clock(3, MONOTONIC, u64::MAX, 0);
        let over = clock(4, MONOTONIC, 1, 1);
        let all = [readable(5, 0), long.clone(), short, never.clone()];
        assert_eq!(calls.poll(&all).await, [2]);
        assert_eq!(calls.poll(&[readable(5, 0), over, long.clone()]).await, [4]);
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            writer.write_all(b"late").unwrap();
            writer
        });
        let two = [never, readable(5, 0), long, readable(6, 0)];
        assert_eq!(calls.poll(&two).await, [5, 6]);
        assert_eq!(calls.read(0, 9).await, Ok("late".into()));
        // The end of the file is an event too.
        let end = async {
            drop(thread.join().unwrap());
            Vec::new()
        };
        let both: Vec<Boxed<'_, _>> = vec![Box::pin(calls.poll(&two[1..2])), Box::pin(end)];
        assert_eq!(self::all(both).await[0], [5]);
        assert_eq!(calls.read(0, 9).await, Ok(String::new()));
        // Sources that are ready are reported immediately.
        assert_eq!(calls.poll(&[writable(7, 1), writable(8, 2)]).await, [7, 8]);
    });
}

#[test]
fn a_descriptor_may_have_more_subscriptions_than_the_host_has_descriptors() {
    let (inside, outside) = UnixStream::pair().unwrap();
    let mut builder = WasiCtx::builder();
    builder.preopened_socket(inside).unwrap();
    let mut program = with(&mut builder);
    let count = 1000;
    let subscriptions: Vec<u8> = (0..count).flat_map(|i| readable(i, 3)).collect();
    let at = program.put(&subscriptions);
    let before = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let arguments = [at, 0x20000, count as i64, RESULT.into()];
    let mut future = Box::pin(call(&mut program, "poll_oneoff", &arguments));
    for _ in 0..2 {
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    // Other tests have open descriptors too.
    let during = std::fs::read_dir("/proc/self/fd").unwrap().count();
    assert!(during < before + 500, "{before} {during}");
    drop(outside);
    assert_eq!(block_on(future), SUCCESS);
    assert_eq!(program.u32(RESULT), count as u32);
}

#[test]
fn a_waiting_call_can_be_canceled() {
    let mut builder = WasiCtx::builder();
    let mut writer = piped(&mut builder);
    let mut program = with(&mut builder);
    let at = program.put(&[0; 8]);
    let [to, _] = program.vector(at, 8);
    let subscriptions = [readable(1, 0), clock(2, MONOTONIC, 60_000 * MILLISECOND, 0)].concat();
    let subscriptions = program.put(&subscriptions);
    let waits: [(&str, &[i64]); 2] = [
        ("fd_read", &[0, to, 1, RESULT as i64]),
        ("poll_oneoff", &[subscriptions, 0x8000, 2, RESULT as i64]),
    ];
    for (name, arguments) in waits {
        for polls in 1..4 {
            let mut future = Box::pin(call(&mut program, name, arguments));
            for _ in 0..polls {
                let mut context = Context::from_waker(Waker::noop());
                assert!(future.as_mut().poll(&mut context).is_pending());
            }
            drop(future);
            assert_eq!(program.parts().0.pending_calls(), 0);
        }
    }
    // No data is lost, and no descriptor leaks.
    writer.write_all(b"rope").unwrap();
    assert_eq!(block_on(call(&mut program, "fd_read", &[0, to, 1, RESULT.into()])), SUCCESS);
    assert_eq!(program.bytes(at as i32, 4), b"rope");
    assert_eq!(program.u32(RESULT), 4);
}

/// A program in a directory with a named pipe, and the path of the pipe.
fn with_named_pipe() -> (Program, std::path::PathBuf) {
    let program = in_scratch_with(DirPerms::all(), FilePerms::all(), |path| {
        let ty = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path.join("pipe"), ty, 0o600.into(), 0).unwrap();
        UnixListener::bind(path.join("socket")).unwrap();
    });
    let pipe = program.host("pipe");
    (program, pipe)
}

/// The arguments of `path_open`.
fn opening(program: &mut Program, path: &str, rights: u64, flags: i32) -> [i64; 9] {
    let [path, len] = program.string(path);
    let (root, result) = (i64::from(ROOT), i64::from(RESULT));
    [root, 0, path, len, 0, rights as i64, 0, flags.into(), result]
}

#[test]
fn opening_a_named_pipe_for_writing_waits_for_a_reader() {
    let (mut program, pipe) = with_named_pipe();
    let arguments = opening(&mut program, "pipe", FD_WRITE, 0);
    // The call can be canceled.
    {
        let mut future = pin!(call(&mut program, "path_open", &arguments));
        let mut context = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
    }
    let reader = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        std::fs::read_to_string(pipe).unwrap()
    });
    assert_eq!(block_on(call(&mut program, "path_open", &arguments)), SUCCESS);
    let fd = program.u32(RESULT) as i32;
    assert_eq!(program.write(fd, "rope"), Ok(4));
    program.close(fd);
    assert_eq!(reader.join().unwrap(), "rope");
}

#[test]
fn a_write_to_a_named_pipe_is_complete() {
    let (mut program, pipe) = with_named_pipe();
    // More bytes than fit into a pipe.
    let text = "x".repeat(100_000);
    let reader = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        std::fs::read_to_string(pipe).unwrap()
    });
    let fd = program.open("pipe", 0, FD_WRITE).unwrap();
    assert_eq!(program.write(fd, &text), Ok(100_000));
    program.close(fd);
    assert_eq!(reader.join().unwrap(), text);
}

#[test]
fn reading_from_a_named_pipe_waits_for_a_writer() {
    let (mut program, pipe) = with_named_pipe();
    let fd = program.open("pipe", 0, FD_READ).unwrap();
    let at = program.put(&[0; 8]);
    let [to, _] = program.vector(at, 8);
    let arguments = [i64::from(fd), to, 1, RESULT.into()];
    {
        let mut future = pin!(call(&mut program, "fd_read", &arguments));
        let mut context = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
    }
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        std::fs::write(pipe, "rope").unwrap();
    });
    assert_eq!(block_on(call(&mut program, "fd_read", &arguments)), SUCCESS);
    assert_eq!(program.bytes(at as i32, 4), b"rope");
    writer.join().unwrap();
    // Without a writer the pipe is at its end.
    assert_eq!(program.read(fd, 9), Ok(String::new()));
}

#[test]
fn opening_sockets_and_nonblocking_pipes_without_a_reader_fails() {
    let (mut program, _) = with_named_pipe();
    const NXIO: i32 = 60;
    let arguments = opening(&mut program, "pipe", FD_WRITE, NONBLOCK);
    assert_eq!(block_on(call(&mut program, "path_open", &arguments)), NXIO);
    let arguments = opening(&mut program, "socket", FD_WRITE, 0);
    assert_eq!(block_on(call(&mut program, "path_open", &arguments)), NXIO);
}

#[test]
fn a_write_to_a_full_pipe_waits() {
    let mut program = with_itself();
    let text = "0123456789abcdef".repeat(32);
    let total = 300 * text.len();
    let read = together(&mut program, async |[a, b, ..]| {
        let write: Boxed<'_, _> = Box::pin(async {
            for _ in 0..300 {
                assert_eq!(a.write(1, &text).await, Ok(text.len() as u32));
            }
            String::new()
        });
        let read: Boxed<'_, _> = Box::pin(async {
            let mut read = String::new();
            while read.len() < total {
                read += &b.read(0, 777).await.unwrap();
            }
            read
        });
        all(vec![write, read]).await.pop().unwrap()
    });
    assert!(read == text.repeat(300));
}

#[test]
fn a_nonblocking_write_is_partial() {
    let (mut reader, writer): (PipeReader, PipeWriter) = std::io::pipe().unwrap();
    let mut builder = WasiCtx::builder();
    builder.stdout(OwnedFd::from(writer));
    let mut program = with(&mut builder);
    assert_eq!(program.call("fd_fdstat_set_flags", &[1, NONBLOCK.into()]), SUCCESS);
    let at = program.put(&[b'x'; 0x18000]);
    let [from, _] = program.vector(at, 0x18000);
    let mut total = 0;
    let errno = loop {
        match program.call("fd_write", &[1, from, 1, RESULT.into()]) {
            0 => total += u64::from(program.u32(RESULT)),
            errno => break errno,
        }
    };
    assert_eq!(errno, AGAIN);
    drop(program);
    assert_eq!(reader.read_to_end(&mut Vec::new()).unwrap() as u64, total);
}

#[test]
fn sockets_wait() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let mut builder = WasiCtx::builder();
    builder.preopened_socket(UnixListener::bind(&path).unwrap()).unwrap();
    let (inside, mut outside) = UnixStream::pair().unwrap();
    builder.preopened_socket(inside).unwrap();
    let mut program = with(&mut builder);
    together(&mut program, async |[a, b, ..]| {
        // Accepts a connection, and waits for a complete message.
        let server: Boxed<'_, _> = Box::pin(async {
            assert_eq!(a.call("sock_accept", &[3, 0, a.at]).await, SUCCESS);
            let connection = a.number(0).into();
            let [to, count] = a.vector(9);
            let arguments = [connection, to, count, 2, a.at, a.at + 8];
            assert_eq!(a.call("sock_recv", &arguments).await, SUCCESS);
            assert_eq!((a.number(0), a.get(64, 9)), (9, b"onetwosix".to_vec()));
            let [from, count] = a.vector(9);
            let arguments = [connection, from, count, 0, a.at];
            assert_eq!(a.call("sock_send", &arguments).await, SUCCESS);
        });
        // Each call has its own progress.
        let other: Boxed<'_, _> = Box::pin(async {
            let [to, count] = b.vector(4);
            assert_eq!(b.call("sock_recv", &[4, to, count, 2, b.at, b.at + 8]).await, SUCCESS);
            assert_eq!((b.number(0), b.get(64, 4)), (4, b"rope".to_vec()));
        });
        let client = std::thread::spawn(move || {
            let mut stream = UnixStream::connect(path).unwrap();
            for (part, letters) in [("one", "r"), ("two", "op"), ("six", "e")] {
                std::thread::sleep(Duration::from_millis(10));
                stream.write_all(part.as_bytes()).unwrap();
                outside.write_all(letters.as_bytes()).unwrap();
            }
            let mut echo = [0; 9];
            stream.read_exact(&mut echo).unwrap();
            echo
        });
        all(vec![server, other]).await;
        assert_eq!(&client.join().unwrap(), b"onetwosix");
    });
}

#[test]
fn closing_a_descriptor_ends_a_wait_for_it_with_an_error() {
    let (inside, mut outside) = UnixStream::pair().unwrap();
    let mut builder = WasiCtx::builder();
    builder.preopened_socket(inside).unwrap();
    let mut program = with(&mut builder);
    together(&mut program, async |[a, b, ..]| {
        let read: Boxed<'_, _> = Box::pin(async { a.read(3, 9).await });
        let close: Boxed<'_, _> = Box::pin(async {
            assert_eq!(b.call("fd_close", &[3]).await, SUCCESS);
            outside.write_all(b"late").unwrap();
            Ok(String::new())
        });
        assert_eq!(all(vec![read, close]).await[0], Err(BADF));
    });
}

#[test]
fn yielding_lets_other_calls_run() {
    let mut program = with(&mut WasiCtx::builder());
    let order = RefCell::new(String::new());
    together(&mut program, async |[a, b, ..]| {
        let run = |calls, name| -> Boxed<'_, ()> {
            let calls: Calls<'_> = calls;
            let order = &order;
            Box::pin(async move {
                for _ in 0..3 {
                    order.borrow_mut().push(name);
                    assert_eq!(calls.call("sched_yield", &[]).await, SUCCESS);
                }
            })
        };
        all(vec![run(a, 'a'), run(b, 'b')]).await;
    });
    assert_eq!(order.into_inner(), "ababab");
}
