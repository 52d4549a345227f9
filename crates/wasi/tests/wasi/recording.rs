//! Recording and replaying calls.

use crate::program::{
    CREAT, FD_READ, FD_WRITE, FUNCTIONS, PREVIEW1, Program, RESULT, ROOT, source_with, values, with,
};
use ropewalk::{Engine, Linker, Module, Store, Val};
use ropewalk_wasi::WasiCtxBuilder;
use ropewalk_wasi::{DirPerms, FilePerms, I32Exit, MemoryInputPipe, MemoryOutputPipe, WasiCtx};
use std::io::{Cursor, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

/// A recording in memory.
#[derive(Clone, Default)]
struct SharedFile(Arc<Mutex<Vec<u8>>>);

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl SharedFile {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

/// Calls most functions of WASI; returns the results and the memory.
fn uses(program: &mut Program) -> Vec<(i32, Vec<u8>)> {
    let mut seen = Vec::new();
    let mut see = |program: &mut Program, act: &dyn Fn(&mut Program) -> i32| {
        let result = act(program);
        seen.push((result, program.bytes(0, 1 << 16)));
        result
    };
    let result = i64::from(RESULT);
    for name in ["args_sizes_get", "environ_sizes_get"] {
        see(program, &|p| p.call(name, &[result, result + 8]));
    }
    for name in ["args_get", "environ_get"] {
        see(program, &|p| p.call(name, &[0x4000, 0x5000]));
    }
    for clock in 0..5 {
        see(program, &|p| p.call("clock_time_get", &[clock, 1, result]));
    }
    see(program, &|p| p.call("random_get", &[0x6000, 100]));
    see(program, &|p| p.call("random_get", &[(4 << 16) - 8, 16]));
    // Creates, writes, reads and lists a file.
    let fd = see(program, &|p| p.open("file", CREAT, FD_READ | FD_WRITE).unwrap());
    see(program, &|p| p.write(fd, "what was there").unwrap() as i32);
    let [vectors, count] = program.vector(0x7000, 64);
    see(program, &|p| p.call("fd_pread", &[fd.into(), vectors, count, 5, result]));
    see(program, &|p| p.call("fd_readdir", &[ROOT.into(), 0x8000, 4096, 0, result]));
    see(program, &|p| p.call("fd_filestat_get", &[fd.into(), 0x9000]));
    see(program, &|p| p.open("missing", 0, FD_READ).unwrap_err());
    // Reads from the standard input, and receives from a socket.
    let [vectors, count] = program.vector(0xA000, 16);
    see(program, &|p| p.call("fd_read", &[0, vectors, count, result]));
    see(program, &|p| p.call("sock_recv", &[4, vectors, count, 0, result, result + 8]));
    // Writes to the standard streams, also after they are moved.
    for (fd, text) in [(1, "out"), (2, "error"), (fd, "file")] {
        see(program, &|p| p.write(fd, text).unwrap() as i32);
    }
    see(program, &|p| p.call("fd_renumber", &[1, fd.into()]));
    see(program, &|p| p.write(fd, ", moved").unwrap() as i32);
    let again = program.open("again", CREAT, FD_WRITE).unwrap();
    assert_eq!(again, 1, "the number is free");
    see(program, &|p| p.write(again, "to a file").unwrap() as i32);
    seen
}

fn output() -> MemoryOutputPipe {
    MemoryOutputPipe::new(1000)
}

#[test]
fn a_replay_repeats_all_results() {
    let scratch = tempfile::tempdir().unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    (&theirs).write_all(b"received").unwrap();
    let (recording, out, error) = (SharedFile::default(), output(), output());
    let mut builder = WasiCtx::builder();
    builder.args(&["program", "argument"]).env("NAME", "value");
    builder.stdin(MemoryInputPipe::new("typed")).stdout(out.clone()).stderr(error.clone());
    builder.preopened_dir(scratch.path(), "/", DirPerms::all(), FilePerms::all()).unwrap();
    builder.preopened_socket(ours).unwrap();
    let seen = uses(&mut with(builder.record(recording.clone()).unwrap()));
    let texts = (out.text(), error.text());
    assert_eq!((&*texts.0, &*texts.1), ("out, moved", "error"));

    // The replay has none of these files and streams.
    drop(scratch);
    let (out, error) = (output(), output());
    let mut builder = WasiCtx::builder();
    builder.stdout(out.clone()).stderr(error.clone());
    let mut program = with(builder.replay(Cursor::new(recording.bytes())).unwrap());
    for ((errno, memory), (again, memory_again)) in seen.iter().zip(uses(&mut program)) {
        assert_eq!(*errno, again);
        assert!(*memory == memory_again);
    }
    assert_eq!((out.text(), error.text()), texts);
    let end = program.try_call("sched_yield", &[]).unwrap_err();
    assert!(end.to_string().starts_with("the recording ends here, after "), "{end}");
}

#[test]
fn a_program_that_differs_from_the_recording_is_ended() {
    let recording = SharedFile::default();
    let mut program = with(WasiCtx::builder().record(recording.clone()).unwrap());
    assert_eq!(program.call("random_get", &[0x6000, 4]), 0);
    drop(program);
    let replay = || with(WasiCtx::builder().replay(Cursor::new(recording.bytes())).unwrap());
    let error = replay().try_call("random_get", &[0x6000, 5]).unwrap_err();
    let says = "the program differs from the recording: \
                call 1 was random_get(24576, 4), but is random_get(24576, 5)";
    assert!(error.to_string().starts_with(says), "{error}");
    let error = replay().try_call("sched_yield", &[]).unwrap_err();
    assert!(error.to_string().contains("but is sched_yield()"), "{error}");
}

#[test]
fn the_end_of_a_program_is_recorded() {
    let recording = SharedFile::default();
    let mut program = with(WasiCtx::builder().record(recording.clone()).unwrap());
    assert!(program.try_call("proc_raise", &[6]).unwrap_err().is::<I32Exit>());
    let mut program = with(WasiCtx::builder().replay(Cursor::new(recording.bytes())).unwrap());
    let error = program.try_call("proc_raise", &[6]).unwrap_err();
    assert_eq!(error.downcast_ref::<I32Exit>(), Some(&I32Exit(134)));
}

#[test]
fn damaged_recordings_are_errors() {
    let bytes = something();
    for i in 0..bytes.len() {
        replay_something(bytes[..i].to_vec()).expect_err("it is cut off");
    }
    let error = WasiCtx::builder().replay(Cursor::new("something else")).unwrap_err();
    assert!(error.to_string().contains("this is not a recording"), "{error}");
}

#[test]
fn a_changed_bit_is_detected() {
    let bytes = something();
    replay_something(bytes.clone()).unwrap();
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let error = replay_something(damaged).expect_err("it is damaged").to_string();
        // The first bytes contain the version.
        let says =
            if bit / 8 < 16 { "this is not a recording" } else { "the recording is damaged" };
        assert!(error.contains(says), "bit {bit}: {error}");
    }
}

#[test]
fn a_context_reports_the_end_of_its_recording() {
    let recording = SharedFile::default();
    let mut program = with(WasiCtx::builder().record(recording.clone()).unwrap());
    assert_eq!(program.call("sched_yield", &[]), 0);
    assert!(!program.context().has_replayed_all(), "it replays nothing");
    let mut program = with(WasiCtx::builder().replay(Cursor::new(recording.bytes())).unwrap());
    assert!(!program.context().has_replayed_all());
    assert_eq!(program.call("sched_yield", &[]), 0);
    assert!(program.context().has_replayed_all());
}

#[test]
fn reordered_calls_are_detected() {
    let bytes = something();
    let (beginning, calls) = bytes.split_at(16);
    let (first, second) = calls.split_at(calls.len() / 2);
    for swapped in [[second, first], [first, first], [second, second]] {
        let error = replay_something([beginning, &swapped.concat()].concat()).unwrap_err();
        assert!(error.to_string().contains("the recording is damaged"), "{error}");
    }
}

/// A recording of two calls.
fn something() -> Vec<u8> {
    let recording = SharedFile::default();
    let mut program = with(WasiCtx::builder().record(recording.clone()).unwrap());
    for _ in 0..2 {
        assert_eq!(program.call("random_get", &[0x6000, 40]), 0);
    }
    drop(program);
    recording.bytes()
}

/// Repeats these calls.
fn replay_something(bytes: Vec<u8>) -> ropewalk::Result<()> {
    let mut builder = WasiCtx::builder();
    let mut program = with(builder.replay(Cursor::new(bytes))?);
    program.try_call("random_get", &[0x6000, 40])?;
    program.try_call("random_get", &[0x6000, 40])?;
    Ok(())
}

/// An output that fails after its first bytes.
struct Full(SharedFile, usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match bytes.len().min(self.1 - self.0.bytes().len()) {
            0 if !bytes.is_empty() => Err(std::io::ErrorKind::StorageFull.into()),
            room => self.0.write(&bytes[..room]),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_write_error_of_a_recording_does_not_affect_the_program() {
    let run = |room: usize| {
        let recording = SharedFile::default();
        let mut builder = WasiCtx::builder();
        let random = |bytes: &mut [u8]| bytes.fill(7);
        let full = Full(recording.clone(), room);
        let mut program = with(builder.stdout(output()).random(random).record(full).unwrap());
        for _ in 0..100 {
            assert_eq!(program.call("random_get", &[0x6000, 1000]), 0);
            assert_eq!(program.call("sched_yield", &[]), 0);
        }
        assert_eq!(program.write(1, "out"), Ok(3));
        let end = program.try_call("proc_raise", &[9]).unwrap_err();
        assert_eq!(end.downcast_ref::<I32Exit>(), Some(&I32Exit(128 + 9)));
        (program.context().finish_recording(), recording.bytes())
    };
    let (finished, whole) = run(1 << 20);
    finished.unwrap();
    for room in [16, 17, 1000, 50_000, whole.len() - 1] {
        let (finished, bytes) = run(room);
        let error = finished.unwrap_err();
        let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        assert_eq!(kind, Some(std::io::ErrorKind::StorageFull), "{room}: {error:#}");
        // The recording can be replayed up to the failure.
        assert!(bytes == whole[..room]);
        let mut program = with(WasiCtx::builder().replay(Cursor::new(bytes)).unwrap());
        let mut calls = (0..100).flat_map(|_| {
            let random = program.try_call("random_get", &[0x6000, 1000]);
            let random = random.map(|_| assert_eq!(program.bytes(0x6000, 1000), [7; 1000]));
            [random, program.try_call("sched_yield", &[]).map(drop)]
        });
        match calls.find_map(Result::err) {
            Some(end) => assert!(end.to_string().starts_with("the recording ends here"), "{end}"),
            None => assert_eq!(room, whole.len() - 1),
        }
    }
}

#[test]
fn finishing_a_recording_writes_buffered_calls() {
    let recording = SharedFile::default();
    let mut program = with(WasiCtx::builder().record(recording.clone()).unwrap());
    let before = recording.bytes().len();
    assert_eq!(program.call("random_get", &[0x6000, 4]), 0);
    assert_eq!(recording.bytes().len(), before);
    program.context().finish_recording().unwrap();
    let len = recording.bytes().len();
    assert!(len > before);
    // Later calls are not recorded.
    assert_eq!(program.call("sched_yield", &[]), 0);
    program.context().finish_recording().unwrap();
    assert_eq!(recording.bytes().len(), len);
}

/// Only the written part of a buffer is recorded.
#[test]
fn only_written_bytes_are_recorded() {
    let scratch = tempfile::tempdir().unwrap();
    let recording = SharedFile::default();
    let mut builder = WasiCtx::builder();
    builder.preopened_dir(scratch.path(), "/", DirPerms::all(), FilePerms::all()).unwrap();
    let mut program =
        with(builder.stdin(MemoryInputPipe::new("typed")).record(recording.clone()).unwrap());
    let [vectors, count] = program.vector(0x8000, 0x8000);
    // Two entries; one event of a thousand subscriptions.
    let mut subscriptions = vec![0; 1000 * 48];
    for (i, subscription) in subscriptions.chunks_exact_mut(48).enumerate() {
        subscription[24] = u8::from(i > 0);
        subscription[31] = u8::from(i > 0);
    }
    let result = i64::from(RESULT);
    let calls = [
        ("fd_read", vec![0, vectors, count, result]),
        ("fd_readdir", vec![ROOT.into(), 0x8000, 0x18000, 0, result]),
        ("poll_oneoff", vec![0x20000, 0x8000, 1000, result]),
        ("path_readlink", vec![ROOT.into(), 0x100, 4, 0x8000, 0x8000, result]),
        ("fd_prestat_dir_name", vec![ROOT.into(), 0x8000, 0x8000]),
    ];
    for (name, arguments) in calls {
        let before = recording.bytes().len();
        if name == "poll_oneoff" {
            program.write_at(0x20000, &subscriptions);
        }
        program.call(name, &arguments);
        let len = recording.bytes().len() - before;
        assert!(len < 200, "{name}: {len} bytes");
    }
}

#[test]
fn large_writes_are_recorded_in_parts() {
    const MUCH: i64 = 10 << 20;
    let engine = Engine::default();
    let module = source_with(PREVIEW1, "(memory (export \"memory\") 200)", "");
    let module = Module::new(&engine, module).unwrap();
    let mut linker = Linker::new(&engine);
    ropewalk_wasi::add_to_linker(&mut linker, |ctx| ctx).unwrap();
    let run = |builder: &mut WasiCtxBuilder| {
        let mut store = Store::new(&engine, builder.build());
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        let func = instance.get_func(&mut store, "random_get").unwrap();
        let mut results = [Val::I32(0)];
        let ended = func.call(&mut store, &values("random_get", &[5, MUCH]), &mut results);
        store.data_mut().finish_recording().unwrap();
        ended.map(|()| memory.data(&store).unwrap().to_vec())
    };
    let recording = SharedFile::default();
    let seen = run(WasiCtx::builder().record(recording.clone()).unwrap()).unwrap();
    let bytes = recording.bytes();
    assert!(bytes.len() < MUCH as usize + 2000, "{}", bytes.len());
    assert!(run(WasiCtx::builder().replay(Cursor::new(bytes.clone())).unwrap()).unwrap() == seen);
    // A truncated recording is detected.
    for cut in [bytes.len() - 1, bytes.len() / 2, 2000] {
        let recording = Cursor::new(bytes[..cut].to_vec());
        let end = run(WasiCtx::builder().replay(recording).unwrap()).unwrap_err();
        assert!(end.to_string().starts_with("the recording ends here, after 0 calls"), "{end}");
    }
}

#[test]
fn every_function_is_recorded() {
    // Functions that do not return are excluded.
    for (name, parameters) in FUNCTIONS.iter().filter(|(name, _)| *name != "proc_exit") {
        let recording = SharedFile::default();
        let mut program = with(WasiCtx::builder().record(recording.clone()).unwrap());
        let before = recording.bytes().len();
        let arguments = vec![77; parameters.len()];
        let errno = program.try_call(name, &arguments).ok();
        drop(program);
        assert!(recording.bytes().len() > before, "{name}");
        let mut program = with(WasiCtx::builder().replay(Cursor::new(recording.bytes())).unwrap());
        assert_eq!(program.try_call(name, &arguments).ok(), errno, "{name}");
    }
}

#[test]
fn calls_with_side_effects_are_written_immediately() {
    let recording = SharedFile::default();
    let out = output();
    let mut builder = WasiCtx::builder();
    let mut program = with(builder.stdout(out.clone()).record(recording.clone()).unwrap());
    let before = recording.bytes().len();
    for _ in 0..100 {
        assert_eq!(program.call("clock_time_get", &[0, 1, RESULT.into()]), 0);
    }
    assert_eq!(recording.bytes().len(), before, "asking for the time writes nothing");
    program.write(1, "out").unwrap();
    // The recording would be complete if the program were killed now.
    let mut replay = with(WasiCtx::builder().replay(Cursor::new(recording.bytes())).unwrap());
    for _ in 0..100 {
        assert_eq!(replay.call("clock_time_get", &[0, 1, RESULT.into()]), 0);
    }
    replay.write(1, "out").unwrap();
    let end = replay.try_call("sched_yield", &[]).unwrap_err();
    assert!(end.to_string().starts_with("the recording ends here, after 101 calls"), "{end}");
}
