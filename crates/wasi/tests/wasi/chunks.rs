//! Large calls, which run in chunks and end after a chunk when the program is interrupted.

use crate::program::errno::*;
use crate::program::*;
use ropewalk::{Caller, Config, Engine, Error, InterruptHandle, Linker, Memory, Module, Store};
use ropewalk::{Trap, TrapCode, Val};
use ropewalk_wasi::{DirPerms, FilePerms, MemoryInputPipe, MemoryOutputPipe, WasiCtx};
use ropewalk_wasi::{WasiCtxBuilder, add_to_linker};
use std::cell::OnceCell;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

/// The size of a chunk.
const PIECE: usize = 4 << 20;

/// The size of the buffer: more than three chunks.
const MUCH: usize = 3 * PIECE + 5;

/// The address of the buffer.
const BUFFER: usize = 0x10000;

/// The data of a store.
struct Data {
    wasi: WasiCtx,
    /// Interrupts the program before a call of WASI.
    handle: Option<InterruptHandle>,
}

/// A program with large memory that can be interrupted just before it calls a function.
struct Long {
    store: Store<Data>,
    instance: ropewalk::Instance,
    memory: Memory,
}

impl Long {
    fn new(builder: &mut WasiCtxBuilder) -> Long {
        thread_local! {
            static MODULE: OnceCell<Module> = const { OnceCell::new() };
        }
        let module = MODULE.with(|module| {
            let compiled = module.get_or_init(|| {
                let engine = Engine::new(Config::new().interruption(true)).unwrap();
                let text =
                    source_with(PREVIEW1, "(memory (export \"memory\") 260)", "(call $before)");
                Module::new(&engine, text).unwrap()
            });
            compiled.clone()
        });
        let mut linker = Linker::new(module.engine());
        add_to_linker(&mut linker, |data: &mut Data| &mut data.wasi).unwrap();
        let before = |caller: Caller<'_, Data>| {
            if let Some(handle) = &caller.data().handle {
                handle.interrupt();
            }
        };
        linker.func_wrap("host", "before", before).unwrap();
        let mut store = Store::new(module.engine(), Data { wasi: builder.build(), handle: None });
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        Long { store, instance, memory }
    }

    fn try_call(&mut self, name: &str, arguments: &[i64]) -> Result<i32, Error> {
        let mut results = [Val::I32(0)];
        let func = self.instance.get_func(&mut self.store, name).unwrap();
        func.call(&mut self.store, &values(name, arguments), &mut results)?;
        Ok(results[0].unwrap_i32())
    }

    fn call(&mut self, name: &str, arguments: &[i64]) -> i32 {
        self.try_call(name, arguments).unwrap()
    }

    /// Calls a function after an interruption.
    #[track_caller]
    fn is_interrupted(&mut self, name: &str, arguments: &[i64]) {
        self.store.data_mut().handle = Some(self.store.interrupt_handle().unwrap());
        let error = self.try_call(name, arguments).unwrap_err();
        self.store.data_mut().handle = None;
        let code = error.downcast_ref::<Trap>().map(Trap::code);
        assert_eq!(code, Some(TrapCode::Interrupt), "{name}: {error:?}");
    }

    fn put(&mut self, at: usize, bytes: &[u8]) -> i64 {
        self.memory.write(&mut self.store, at, bytes).unwrap();
        at as i64
    }

    /// An array of two `iovec`s for the whole buffer.
    fn vectors(&mut self) -> [i64; 2] {
        let half = MUCH / 2;
        let words = [BUFFER, half, BUFFER + half, MUCH - half];
        let bytes: Vec<u8> = words.iter().flat_map(|word| (*word as u32).to_le_bytes()).collect();
        [self.put(0x1000, &bytes), 2]
    }

    /// The buffer and the bytes after it.
    fn buffer(&mut self) -> &mut [u8] {
        &mut self.memory.data_mut(&mut self.store).unwrap()[BUFFER..BUFFER + MUCH + 100]
    }

    fn result(&mut self) -> usize {
        let at = RESULT as usize;
        let bytes = &self.memory.data(&self.store).unwrap()[at..at + 4];
        u32::from_le_bytes(bytes.try_into().unwrap()) as usize
    }

    fn open(&mut self, path: &str, oflags: i32) -> i64 {
        let at = self.put(0x2000, path.as_bytes());
        let rights = (FD_READ | FD_WRITE) as i64;
        let (root, result) = (ROOT.into(), RESULT.into());
        let open = [root, 0, at, path.len() as i64, oflags.into(), rights, 0, 0, result];
        assert_eq!(self.call("path_open", &open), SUCCESS);
        self.result() as i64
    }
}

/// A program with a directory.
fn in_folder() -> (Long, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = WasiCtx::builder();
    builder.preopened_dir(folder.path(), "/", DirPerms::all(), FilePerms::all()).unwrap();
    (Long::new(&mut builder), folder)
}

/// Bytes that are not zero and differ between chunks.
fn pattern() -> Vec<u8> {
    (0..MUCH).map(|i| (i % 251) as u8 + 1).collect()
}

/// The number of bytes before the first zero.
fn filled(bytes: &[u8]) -> usize {
    let count = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    assert!(bytes[count..].iter().all(|byte| *byte == 0));
    count
}

#[test]
fn random_bytes_are_generated_in_chunks() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let mut builder = WasiCtx::builder();
    builder.random(move |bytes| {
        counter.fetch_add(1, Ordering::Relaxed);
        bytes.fill(1);
    });
    let mut program = Long::new(&mut builder);
    let arguments = [BUFFER as i64, MUCH as i64];
    program.is_interrupted("random_get", &arguments);
    assert_eq!(calls.swap(0, Ordering::Relaxed), 1);
    assert_eq!(filled(program.buffer()), PIECE);
    assert_eq!(program.call("random_get", &arguments), SUCCESS);
    assert_eq!(calls.load(Ordering::Relaxed), 4);
    assert_eq!(filled(program.buffer()), MUCH);
    // The host's generator.
    let mut program = Long::new(&mut WasiCtx::builder());
    assert_eq!(program.call("random_get", &arguments), SUCCESS);
    let end = program.buffer()[MUCH - 16..].to_vec();
    assert!(end[..16].iter().any(|byte| *byte != 0) && filled(&end[16..]) == 0);
}

#[test]
fn files_are_read_and_written_in_chunks() {
    let (mut program, folder) = in_folder();
    let path = folder.path().join("file");
    let (vectors, result) = (program.vectors(), i64::from(RESULT));
    let [at, count] = vectors;
    for name in ["fd_write", "fd_pwrite"] {
        program.buffer()[..MUCH].copy_from_slice(&pattern());
        let fd = program.open("file", CREAT | TRUNC);
        let (offset, arguments) = match name {
            "fd_write" => (0, vec![fd, at, count, result]),
            _ => (7, vec![fd, at, count, 7, result]),
        };
        program.is_interrupted(name, &arguments);
        assert_eq!(fs::metadata(&path).unwrap().len() as usize, offset + PIECE, "{name}");
        let fd = program.open("file", TRUNC);
        let arguments = [&[fd], &arguments[1..]].concat();
        assert_eq!(program.call(name, &arguments), SUCCESS, "{name}");
        assert_eq!(program.result(), MUCH, "{name}");
        assert!(fs::read(&path).unwrap()[offset..] == pattern(), "{name}");
    }
    for name in ["fd_read", "fd_pread"] {
        fs::write(&path, [&[0; 7][..], &pattern()].concat()).unwrap();
        let fd = program.open("file", 0);
        let arguments = match name {
            "fd_read" => vec![fd, at, count, result],
            _ => vec![fd, at, count, 7, result],
        };
        if name == "fd_read" {
            assert_eq!(program.call("fd_seek", &[fd, 7, 0, result]), SUCCESS);
        }
        program.buffer().fill(0);
        program.is_interrupted(name, &arguments);
        assert_eq!(filled(program.buffer()), PIECE, "{name}");
        program.buffer().fill(0);
        if name == "fd_read" {
            assert_eq!(program.call("fd_seek", &[fd, 7, 0, result]), SUCCESS);
        }
        assert_eq!(program.call(name, &arguments), SUCCESS, "{name}");
        assert_eq!(program.result(), MUCH, "{name}");
        assert!(program.buffer()[..MUCH] == pattern(), "{name}");
        assert_eq!(filled(program.buffer()), MUCH, "{name}");
    }
}

#[test]
fn a_file_that_ends_between_chunks_is_a_short_read() {
    let (mut program, folder) = in_folder();
    let [at, count] = program.vectors();
    for len in [PIECE - 1, PIECE, PIECE + 1, 2 * PIECE] {
        fs::write(folder.path().join("file"), vec![1; len]).unwrap();
        let fd = program.open("file", 0);
        program.buffer().fill(0);
        assert_eq!(program.call("fd_read", &[fd, at, count, RESULT.into()]), SUCCESS);
        assert_eq!((program.result(), filled(program.buffer())), (len, len));
    }
}

#[test]
fn a_read_may_overwrite_its_iovecs() {
    let (mut program, folder) = in_folder();
    fs::write(folder.path().join("file"), vec![0xFF; MUCH]).unwrap();
    let fd = program.open("file", 0);
    let words = [BUFFER as u32, MUCH as u32].map(u32::to_le_bytes).concat();
    let at = program.put(BUFFER + 1000, &words);
    assert_eq!(program.call("fd_read", &[fd, at, 1, RESULT.into()]), SUCCESS);
    assert_eq!((program.result(), filled(program.buffer())), (MUCH, MUCH));
}

#[test]
fn pipes_in_memory_transfer_all_bytes() {
    let output = MemoryOutputPipe::new(2 * PIECE);
    let mut builder = WasiCtx::builder();
    builder.stdin(MemoryInputPipe::new(pattern())).stdout(output.clone());
    let mut program = Long::new(&mut builder);
    let ([at, count], result) = (program.vectors(), RESULT.into());
    program.is_interrupted("fd_read", &[0, at, count, result]);
    assert_eq!(filled(program.buffer()), PIECE);
    program.buffer().fill(0);
    assert_eq!(program.call("fd_read", &[0, at, count, result]), SUCCESS);
    assert_eq!(program.result(), MUCH - PIECE);
    // A full pipe causes a short write, then an error.
    assert_eq!(program.call("fd_write", &[1, at, count, result]), SUCCESS);
    assert_eq!((program.result(), output.contents().len()), (2 * PIECE, 2 * PIECE));
    assert_eq!(program.call("fd_write", &[1, at, count, result]), PIPE);
}

#[test]
fn a_pipe_that_is_empty_after_a_chunk_is_a_short_read() {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut builder = WasiCtx::builder();
    builder.preopened_socket(theirs).unwrap();
    let mut program = Long::new(&mut builder);
    let writer = std::thread::spawn(move || {
        std::io::Write::write_all(&mut &ours, &pattern()).unwrap();
        ours
    });
    let [at, count] = program.vectors();
    let mut read = 0;
    while read < MUCH {
        assert_eq!(program.call("fd_read", &[3, at, count, RESULT.into()]), SUCCESS);
        assert!(program.result() > 0);
        read += program.result();
    }
    assert_eq!(read, MUCH);
    drop(writer.join().unwrap());
}

#[test]
fn a_large_directory_is_read_in_chunks() {
    let (mut program, folder) = in_folder();
    for i in 0..5000 {
        fs::write(folder.path().join(i.to_string()), "").unwrap();
    }
    let list = [ROOT.into(), BUFFER as i64, MUCH as i64, 0, RESULT.into()];
    program.is_interrupted("fd_readdir", &list);
    assert_eq!(filled(program.buffer()), 0);
    assert_eq!(program.call("fd_readdir", &list), SUCCESS);
    let used = program.result();
    let bytes = program.buffer()[..used].to_vec();
    let (mut at, mut names) = (0, 0);
    while at < used {
        at += 24 + u32::from_le_bytes(bytes[at + 16..at + 20].try_into().unwrap()) as usize;
        names += 1;
    }
    assert_eq!(names, 5002);
}

#[test]
fn short_calls_finish_despite_an_interruption() {
    // The program ends when the call returns.
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let mut builder = WasiCtx::builder();
    builder.random(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let mut program = Long::new(&mut builder);
    program.store.data_mut().handle = Some(program.store.interrupt_handle().unwrap());
    let _ = program.try_call("random_get", &[BUFFER as i64, PIECE as i64]);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[test]
fn excessive_counts_are_refused_immediately() {
    let (mut program, _folder) = in_folder();
    let (fd, result) = (program.open("file", CREAT), i64::from(RESULT));
    for (count, expected) in [(1 << 16, SUCCESS), ((1 << 16) + 1, INVAL)] {
        for name in ["fd_read", "fd_write"] {
            let found = program.call(name, &[fd, BUFFER as i64, count, result]);
            assert_eq!(found, expected, "{name} with {count} vectors");
        }
    }
    // Clocks whose times have all passed.
    for (count, expected) in [(1 << 16, SUCCESS), ((1 << 16) + 1, INVAL)] {
        let poll = [BUFFER as i64, BUFFER as i64 + (8 << 20), count, result];
        assert_eq!(program.call("poll_oneoff", &poll), expected, "{count} subscriptions");
    }
    let path = |len: usize| format!("{}a", "./".repeat(len / 2));
    for (len, expected) in [(4095, NOENT), (4097, NAMETOOLONG), (PIECE + 1, NAMETOOLONG)] {
        let path = path(len);
        let at = program.put(BUFFER, path.as_bytes());
        for name in ["path_unlink_file", "path_remove_directory"] {
            let found = program.call(name, &[ROOT.into(), at, path.len() as i64]);
            assert_eq!(found, expected, "{name} with {len} bytes");
        }
        let link = program.put(BUFFER + PIECE + 8, b"link");
        let symlink = [at, path.len() as i64, ROOT.into(), link, 4];
        let linked = if expected == NOENT { SUCCESS } else { expected };
        assert_eq!(program.call("path_symlink", &symlink), linked, "{len} bytes");
    }
}
