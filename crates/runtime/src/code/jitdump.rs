//! `jit-PID.dump`: the file from which `perf` reads the code and the source lines of functions.
//!
//! ```text
//!   header   { lines of a function?   the function } ...   close
//! ```
//!
//! Numbers are little-endian. `perf record` finds the file because a page of it is mapped as
//! executable; `perf inject --jit` makes an object file of each function.

use crate::code::lines::{Line, lines_of, lines_of_function};
use crate::code::perf_map::name_of;
use crate::code::{CodeMemory, LoadedModule};
use ropewalk_abi::code::{FunctionCode, NO_INDEX};
use rustix::mm::{MapFlags, ProtFlags};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const MAGIC: u32 = 0x4a69_5444;
const VERSION: u32 = 1;
const HEAD: u32 = 40;
const X86_64: u32 = 62;

/// Kinds of records.
const LOAD: u32 = 0;
const LINES: u32 = 2;
const CLOSE: u32 = 3;

/// The length of a record's header.
const RECORD: usize = 16;

/// A handle to the file. The last one writes the closing record.
#[derive(Debug)]
pub struct JitDump(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    users: usize,
    /// The number of the next function.
    next: u64,
}

/// The files of this process, one for each folder. They stay open, to list all modules.
static FILES: Mutex<Option<HashMap<PathBuf, Arc<Shared>>>> = Mutex::new(None);

impl JitDump {
    /// Opens the file in a folder, which may exist already in this process.
    pub fn open(folder: &Path) -> io::Result<JitDump> {
        let path = folder.canonicalize()?.join(format!("jit-{}.dump", std::process::id()));
        let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        let files = files.get_or_insert_default();
        if let Some(shared) = files.get(&path) {
            let mut state = shared.state();
            if state.users == 0 {
                // Remove the closing record.
                let end = state.file.seek(SeekFrom::End(-(RECORD as i64)))?;
                state.file.set_len(end)?;
            }
            state.users += 1;
            drop(state);
            return Ok(JitDump(shared.clone()));
        }
        let state = Mutex::new(State { file: create(&path)?, users: 1, next: 0 });
        let shared = Arc::new(Shared { path: path.clone(), state });
        files.insert(path, shared.clone());
        Ok(JitDump(shared))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Adds the functions of a module, with their lines if these are known.
    pub fn add(&self, module: &LoadedModule) -> io::Result<()> {
        let lines = lines_of(module);
        let name = |code: &FunctionCode| name_of(module, code);
        self.0.state().add(&module.code, module.code.tables().functions, name, &lines)
    }

    /// Adds parts of code that belongs to no module.
    pub fn add_code(
        &self,
        code: &CodeMemory,
        name: &str,
        parts: &[Range<usize>],
    ) -> io::Result<()> {
        let function = |part: &Range<usize>| {
            let (start, end) = (part.start as u32, part.end as u32);
            FunctionCode { start, end, function: NO_INDEX, body: 0 }
        };
        let functions: Vec<FunctionCode> = parts.iter().map(function).collect();
        self.0.state().add(code, &functions, |_| name.to_string(), &[])
    }
}

impl Drop for JitDump {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.users -= 1;
        if state.users == 0 {
            let mut record = Vec::new();
            begin(&mut record, CLOSE);
            finish(&mut record, 0);
            // If writing fails, the file looks as if the process had been killed.
            let _ = state.file.write_all(&record);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(
        &mut self,
        code: &CodeMemory,
        functions: &[FunctionCode],
        name: impl Fn(&FunctionCode) -> String,
        lines: &[Line],
    ) -> io::Result<()> {
        let mut records = Vec::new();
        for function in functions {
            push_lines(&mut records, code, function, lines);
            self.push_function(&mut records, code, function, &name(function));
        }
        self.file.write_all(&records)
    }

    fn push_function(
        &mut self,
        records: &mut Vec<u8>,
        code: &CodeMemory,
        function: &FunctionCode,
        name: &str,
    ) {
        let start = records.len();
        let bytes = &code.bytes()[function.start as usize..function.end as usize];
        let address = (code.start() + function.start as usize) as u64;
        begin(records, LOAD);
        records.extend(std::process::id().to_le_bytes());
        // SAFETY: `gettid` has no preconditions.
        records.extend(unsafe { libc::gettid() }.to_le_bytes());
        records.extend(
            [address, address, bytes.len() as u64, self.next].map(u64::to_le_bytes).concat(),
        );
        push_name(records, name);
        records.extend_from_slice(bytes);
        finish(records, start);
        self.next += 1;
    }
}

fn push_lines(records: &mut Vec<u8>, code: &CodeMemory, function: &FunctionCode, lines: &[Line]) {
    let lines = lines_of_function(lines, function);
    if lines.clone().next().is_none() {
        return;
    }
    let start = records.len();
    let address = |offset: u32| (code.start() + offset as usize) as u64;
    begin(records, LINES);
    records.extend(address(function.start).to_le_bytes());
    records.extend((lines.clone().count() as u64).to_le_bytes());
    for (offset, line) in lines {
        records.extend(address(offset).to_le_bytes());
        records.extend(line.line.to_le_bytes());
        records.extend(0_u32.to_le_bytes()); // which of several on the line
        push_name(records, &line.file);
    }
    finish(records, start);
}

fn create(path: &Path) -> io::Result<File> {
    // An earlier process's file of this name is replaced. Another user's link is not followed.
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)?;
    let mut head = Vec::new();
    head.extend(
        [MAGIC, VERSION, HEAD, X86_64, 0, std::process::id()].map(u32::to_le_bytes).concat(),
    );
    head.extend([now(), 0].map(u64::to_le_bytes).concat());
    file.write_all(&head)?;
    mark(&file)?;
    Ok(file)
}

/// Makes the kernel report the file to `perf record`. The map is not used otherwise.
fn mark(file: &File) -> io::Result<()> {
    let (protection, flags) = (ProtFlags::READ | ProtFlags::EXEC, MapFlags::PRIVATE);
    // SAFETY: a new map, which is never unmapped.
    unsafe { rustix::mm::mmap(std::ptr::null_mut(), HEAD as usize, protection, flags, file, 0)? };
    Ok(())
}

/// The clock of `perf record -k mono`.
fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it only writes the record, and this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Begins a record, whose length is not known yet.
fn begin(records: &mut Vec<u8>, kind: u32) {
    records.extend([kind, 0].map(u32::to_le_bytes).concat());
    records.extend(now().to_le_bytes());
}

/// Sets the length of the record that begins at `start`.
fn finish(records: &mut [u8], start: usize) {
    let length = (records.len() - start) as u32;
    records[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
}

fn push_name(records: &mut Vec<u8>, name: &str) {
    records.extend(name.bytes().filter(|byte| *byte != 0));
    records.push(0);
}
