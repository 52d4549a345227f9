//! A program whose functions of WASI a test calls one by one.

use ropewalk::{Engine, Instance, Linker, Memory, Module, Result, Store, Val};
use ropewalk_wasi::{DirPerms, FilePerms, WasiCtx, WasiCtxBuilder, add_to_linker};
use std::fmt::Write as _;
use std::future::Future as _;
use std::path::Path;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};
use tempfile::TempDir;

/// Every function, with its parameters: `w` is an `i32` and `d` an `i64`.
pub const FUNCTIONS: [(&str, &str); 46] = [
    ("args_get", "ww"),
    ("args_sizes_get", "ww"),
    ("clock_res_get", "ww"),
    ("clock_time_get", "wdw"),
    ("environ_get", "ww"),
    ("environ_sizes_get", "ww"),
    ("fd_advise", "wddw"),
    ("fd_allocate", "wdd"),
    ("fd_close", "w"),
    ("fd_datasync", "w"),
    ("fd_fdstat_get", "ww"),
    ("fd_fdstat_set_flags", "ww"),
    ("fd_fdstat_set_rights", "wdd"),
    ("fd_filestat_get", "ww"),
    ("fd_filestat_set_size", "wd"),
    ("fd_filestat_set_times", "wddw"),
    ("fd_pread", "wwwdw"),
    ("fd_prestat_dir_name", "www"),
    ("fd_prestat_get", "ww"),
    ("fd_pwrite", "wwwdw"),
    ("fd_read", "wwww"),
    ("fd_readdir", "wwwdw"),
    ("fd_renumber", "ww"),
    ("fd_seek", "wdww"),
    ("fd_sync", "w"),
    ("fd_tell", "ww"),
    ("fd_write", "wwww"),
    ("path_create_directory", "www"),
    ("path_filestat_get", "wwwww"),
    ("path_filestat_set_times", "wwwwddw"),
    ("path_link", "wwwwwww"),
    ("path_open", "wwwwwddww"),
    ("path_readlink", "wwwwww"),
    ("path_remove_directory", "www"),
    ("path_rename", "wwwwww"),
    ("path_symlink", "wwwww"),
    ("path_unlink_file", "www"),
    ("poll_oneoff", "wwww"),
    ("proc_exit", "w"),
    ("proc_raise", "w"),
    ("random_get", "ww"),
    ("sched_yield", ""),
    ("sock_accept", "www"),
    ("sock_recv", "wwwwww"),
    ("sock_send", "wwwww"),
    ("sock_shutdown", "ww"),
];

pub const PREVIEW1: &str = "wasi_snapshot_preview1";
pub const UNSTABLE: &str = "wasi_unstable";

/// The names of the error numbers that tests expect.
pub mod errno {
    pub const SUCCESS: i32 = 0;
    pub const AGAIN: i32 = 6;
    pub const BADF: i32 = 8;
    pub const EXIST: i32 = 20;
    pub const FAULT: i32 = 21;
    pub const ILSEQ: i32 = 25;
    pub const INVAL: i32 = 28;
    pub const ISDIR: i32 = 31;
    pub const LOOP: i32 = 32;
    pub const MFILE: i32 = 33;
    pub const NAMETOOLONG: i32 = 37;
    pub const NOENT: i32 = 44;
    pub const NOTDIR: i32 = 54;
    pub const NOTEMPTY: i32 = 55;
    pub const NOTSOCK: i32 = 57;
    pub const NOTSUP: i32 = 58;
    pub const PERM: i32 = 63;
    pub const PIPE: i32 = 64;
    pub const SPIPE: i32 = 70;
    pub const NOTCAPABLE: i32 = 76;
}

pub const FD_READ: u64 = 1 << 1;
pub const FD_SEEK: u64 = 1 << 2;
pub const FD_WRITE: u64 = 1 << 6;
pub const PATH_FILESTAT_SET_SIZE: u64 = 1 << 19;
pub const FD_FILESTAT_SET_SIZE: u64 = 1 << 22;

pub const CREAT: i32 = 1;
pub const DIRECTORY: i32 = 2;
pub const EXCL: i32 = 4;
pub const TRUNC: i32 = 8;

pub const APPEND: i32 = 1;
pub const NONBLOCK: i32 = 4;
pub const SYNC: i32 = 16;

pub const FOLLOW: i32 = 1;

/// The first directory that a program finds.
pub const ROOT: i32 = 3;

/// The addresses of arguments and results.
const ARGUMENTS: usize = 0x1000;
pub const RESULT: i32 = 0x100;

/// A module that exports the functions that it imports.
fn source(version: &str) -> String {
    source_with(version, "(memory (export \"memory\") 4)", "")
}

/// Like `source`, with another memory. `before` is code that runs before each call; it can call the
/// import `host before`.
pub fn source_with(version: &str, memory: &str, before: &str) -> String {
    let mut imports = match before {
        "" => String::new(),
        _ => "(import \"host\" \"before\" (func $before))\n".to_string(),
    };
    let mut functions = format!("{memory}\n");
    for (name, parameters) in FUNCTIONS {
        if version == UNSTABLE && name == "sock_accept" {
            continue;
        }
        let types = parameters.replace('w', " i32").replace('d', " i64");
        let result = if name == "proc_exit" { "" } else { "(result i32)" };
        let gets: String = (0..parameters.len()).map(|i| format!(" (local.get {i})")).collect();
        let ty = format!("(param{types}) {result}");
        writeln!(imports, "(import \"{version}\" \"{name}\" (func ${name} {ty}))").unwrap();
        writeln!(functions, "(func (export \"{name}\") {ty} {before} (call ${name}{gets}))")
            .unwrap();
    }
    format!("(module {imports}{functions})")
}

fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(Engine::default)
}

fn module(version: &str) -> Module {
    static MODULES: [OnceLock<Module>; 2] = [OnceLock::new(), OnceLock::new()];
    let compiled = &MODULES[usize::from(version == UNSTABLE)];
    compiled.get_or_init(|| Module::new(engine(), source(version)).unwrap()).clone()
}

pub struct Program {
    store: Store<WasiCtx>,
    instance: Instance,
    memory: Memory,
    used: usize,
    /// The host directory of the program.
    scratch: Option<TempDir>,
}

/// A program with the context of a builder.
pub fn with(builder: &mut WasiCtxBuilder) -> Program {
    Program::new(PREVIEW1, builder)
}

/// A program in an empty directory.
pub fn in_scratch() -> Program {
    in_scratch_with(DirPerms::all(), FilePerms::all(), |_| {})
}

/// A program in a prepared directory, with these permissions.
pub fn in_scratch_with(dir: DirPerms, file: FilePerms, prepare: impl FnOnce(&Path)) -> Program {
    let scratch = tempfile::tempdir().unwrap();
    prepare(scratch.path());
    let mut builder = WasiCtx::builder();
    builder.preopened_dir(scratch.path(), "/", dir, file).unwrap();
    Program { scratch: Some(scratch), ..with(&mut builder) }
}

/// Arguments of a function by its types.
pub fn values(name: &str, arguments: &[i64]) -> Vec<Val> {
    let (_, parameters) = FUNCTIONS.iter().find(|(other, _)| *other == name).unwrap();
    assert_eq!(parameters.len(), arguments.len(), "{name}");
    let values = parameters.chars().zip(arguments).map(|(ty, argument)| match ty {
        'w' => Val::I32(*argument as i32),
        _ => Val::I64(*argument),
    });
    values.collect()
}

impl Program {
    pub fn new(version: &str, builder: &mut WasiCtxBuilder) -> Program {
        Program::from_ctx(version, builder.build())
    }

    pub fn from_ctx(version: &str, ctx: WasiCtx) -> Program {
        let mut linker = Linker::new(engine());
        add_to_linker(&mut linker, |ctx| ctx).unwrap();
        let mut store = Store::new(engine(), ctx);
        let instance = linker.instantiate(&mut store, &module(version)).unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        Program { store, instance, memory, used: ARGUMENTS, scratch: None }
    }

    /// The host path of a path below `/`.
    pub fn host(&self, path: &str) -> std::path::PathBuf {
        self.scratch.as_ref().unwrap().path().join(path)
    }

    /// The store and the instance, for other calls.
    pub fn parts(&mut self) -> (&mut Store<WasiCtx>, Instance) {
        (&mut self.store, self.instance)
    }

    /// Calls a function, which may end the program.
    pub fn try_call(&mut self, name: &str, arguments: &[i64]) -> Result<i32> {
        self.used = ARGUMENTS;
        let values = values(name, arguments);
        let func = self.instance.get_func(&mut self.store, name).unwrap();
        let mut results = [Val::I32(0)];
        let count = usize::from(name != "proc_exit");
        func.call(&mut self.store, &values, &mut results[..count])?;
        match results[0] {
            Val::I32(errno) => Ok(errno),
            _ => unreachable!(),
        }
    }

    /// Calls a function and cancels it if it waits; otherwise returns its error number.
    #[track_caller]
    pub fn call_once(&mut self, name: &str, arguments: &[i64]) -> Option<i32> {
        let values = values(name, arguments);
        let func = self.instance.get_func(&mut self.store, name).unwrap();
        let mut results = [Val::I32(0)];
        let mut call = Box::pin(func.call_async(&mut self.store, &values, &mut results));
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(ended) => ended.unwrap(),
            Poll::Pending => return None,
        }
        drop(call);
        results[0].i32()
    }

    /// Calls a function that returns; returns its error number.
    #[track_caller]
    pub fn call(&mut self, name: &str, arguments: &[i64]) -> i32 {
        self.try_call(name, arguments).unwrap()
    }

    /// Calls a function that stores a number at [`RESULT`].
    #[track_caller]
    pub fn result(&mut self, name: &str, arguments: &[i64]) -> Result<u32, i32> {
        match self.call(name, arguments) {
            0 => Ok(self.u32(RESULT)),
            errno => Err(errno),
        }
    }

    /// Puts bytes into the program's memory.
    pub fn put(&mut self, bytes: &[u8]) -> i64 {
        let at = self.used;
        self.used = (at + bytes.len()).next_multiple_of(8);
        self.memory.write(&mut self.store, at, bytes).unwrap();
        at as i64
    }

    /// Writes bytes at an address.
    pub fn write_at(&mut self, at: usize, bytes: &[u8]) {
        self.memory.write(&mut self.store, at, bytes).unwrap();
    }

    /// The address and the length of a string.
    pub fn string(&mut self, string: impl AsRef<[u8]>) -> [i64; 2] {
        [self.put(string.as_ref()), string.as_ref().len() as i64]
    }

    /// The address and the length of an array with one `iovec`.
    pub fn vector(&mut self, at: i64, len: usize) -> [i64; 2] {
        let words = [(at as u32).to_le_bytes(), (len as u32).to_le_bytes()].concat();
        [self.put(&words), 1]
    }

    pub fn context(&mut self) -> &mut WasiCtx {
        self.store.data_mut()
    }

    pub fn bytes(&self, at: i32, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.memory.read(&self.store, at as usize, &mut bytes).unwrap();
        bytes
    }

    pub fn u32(&self, at: i32) -> u32 {
        u32::from_le_bytes(self.bytes(at, 4).try_into().unwrap())
    }

    pub fn u64(&self, at: i32) -> u64 {
        u64::from_le_bytes(self.bytes(at, 8).try_into().unwrap())
    }

    // Operations on files.

    #[track_caller]
    pub fn open_with(
        &mut self,
        fd: i32,
        lookup: i32,
        path: &str,
        oflags: i32,
        rights: u64,
        flags: i32,
    ) -> Result<i32, i32> {
        let [path, len] = self.string(path);
        let (fd, lookup, oflags) = (fd.into(), lookup.into(), oflags.into());
        let (rights, flags, result) = (rights as i64, flags.into(), RESULT.into());
        let arguments = [fd, lookup, path, len, oflags, rights, 0, flags, result];
        self.result("path_open", &arguments).map(|fd| fd as i32)
    }

    /// Opens a path of the first directory.
    #[track_caller]
    pub fn open(&mut self, path: &str, oflags: i32, rights: u64) -> Result<i32, i32> {
        self.open_with(ROOT, 0, path, oflags, rights, 0)
    }

    #[track_caller]
    pub fn close(&mut self, fd: i32) {
        assert_eq!(self.call("fd_close", &[fd.into()]), 0);
    }

    /// Makes a file with these contents.
    #[track_caller]
    pub fn create(&mut self, path: &str, contents: &str) {
        let fd = self.open(path, CREAT, FD_WRITE).unwrap();
        assert_eq!(self.write(fd, contents), Ok(contents.len() as u32));
        self.close(fd);
    }

    #[track_caller]
    pub fn write(&mut self, fd: i32, text: &str) -> Result<u32, i32> {
        let at = self.put(text.as_bytes());
        let [vectors, count] = self.vector(at, text.len());
        self.result("fd_write", &[fd.into(), vectors, count, RESULT.into()])
    }

    #[track_caller]
    pub fn read(&mut self, fd: i32, len: usize) -> Result<String, i32> {
        let at = self.put(&vec![0; len]);
        let [vectors, count] = self.vector(at, len);
        let read = self.result("fd_read", &[fd.into(), vectors, count, RESULT.into()])?;
        Ok(String::from_utf8(self.bytes(at as i32, read as usize)).unwrap())
    }

    /// Calls a function that takes a directory and a path.
    #[track_caller]
    pub fn path(&mut self, name: &str, path: &str) -> i32 {
        let [path, len] = self.string(path);
        self.call(name, &[ROOT.into(), path, len])
    }

    #[track_caller]
    pub fn rename(&mut self, old: &str, new: &str) -> i32 {
        let ([old, old_len], [new, new_len]) = (self.string(old), self.string(new));
        self.call("path_rename", &[ROOT.into(), old, old_len, ROOT.into(), new, new_len])
    }

    #[track_caller]
    pub fn symlink(&mut self, target: &str, link: &str) -> i32 {
        let ([old, old_len], [new, new_len]) = (self.string(target), self.string(link));
        self.call("path_symlink", &[old, old_len, ROOT.into(), new, new_len])
    }

    #[track_caller]
    pub fn link(&mut self, lookup: i32, old: &str, new: &str) -> i32 {
        let ([old, old_len], [new, new_len]) = (self.string(old), self.string(new));
        let root = ROOT.into();
        self.call("path_link", &[root, lookup.into(), old, old_len, root, new, new_len])
    }

    /// The `filestat` of a path.
    #[track_caller]
    pub fn path_stat(&mut self, lookup: i32, path: &str) -> Result<Stat, i32> {
        let [path, len] = self.string(path);
        let arguments = [ROOT.into(), lookup.into(), path, len, RESULT.into()];
        self.result("path_filestat_get", &arguments)?;
        Ok(self.stat_at_result())
    }

    #[track_caller]
    pub fn fd_stat(&mut self, fd: i32) -> Result<Stat, i32> {
        self.result("fd_filestat_get", &[fd.into(), RESULT.into()])?;
        Ok(self.stat_at_result())
    }

    fn stat_at_result(&self) -> Stat {
        Stat {
            ino: self.u64(RESULT + 8),
            filetype: self.bytes(RESULT + 16, 1)[0],
            nlink: self.u64(RESULT + 24),
            size: self.u64(RESULT + 32),
            atim: self.u64(RESULT + 40),
            mtim: self.u64(RESULT + 48),
        }
    }

    /// File type, flags, and both sets of rights.
    #[track_caller]
    pub fn fdstat(&mut self, fd: i32) -> Result<(u8, u16, u64, u64), i32> {
        self.result("fd_fdstat_get", &[fd.into(), RESULT.into()])?;
        let head = self.bytes(RESULT, 4);
        let flags = u16::from_le_bytes([head[2], head[3]]);
        Ok((head[0], flags, self.u64(RESULT + 8), self.u64(RESULT + 16)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    pub ino: u64,
    pub filetype: u8,
    pub nlink: u64,
    pub size: u64,
    pub atim: u64,
    pub mtim: u64,
}
