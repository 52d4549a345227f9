//! `ropewalk run --jitdump`: parses the file as `perf` does.

use crate::process::{absent, command, file, ropewalk};
use std::process::Stdio;

/// Parses numbers and names.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn name(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap();
        let name = self.take(end).to_vec();
        self.take(1);
        String::from_utf8(name).unwrap()
    }
}

/// A function with its line table, which precedes it in the file.
#[derive(Debug)]
struct Function {
    name: String,
    address: u64,
    code: Vec<u8>,
    number: u64,
    lines: Vec<(u64, u32, String)>,
}

#[derive(Debug)]
struct Dump {
    process: u32,
    functions: Vec<Function>,
    is_closed: bool,
}

fn read(bytes: &[u8]) -> Dump {
    let mut head = Bytes(bytes);
    assert_eq!([head.u32(), head.u32()], [0x4a69_5444, 1]); // "JiTD", version
    assert_eq!([head.u32(), head.u32(), head.u32()], [40, 62, 0]); // length, x86-64, padding
    let process = head.u32();
    let mut time = head.u64();
    assert_eq!(head.u64(), 0);
    let mut dump = Dump { process, functions: Vec::new(), is_closed: false };
    let mut lines = Vec::new();
    let mut rest = Bytes(&bytes[40..]);
    while !rest.0.is_empty() {
        assert!(!dump.is_closed, "no record follows the last one");
        let mut record = Bytes(rest.0);
        let (kind, length, at) = (record.u32(), record.u32(), record.u64());
        let mut record = Bytes(&rest.take(length as usize)[16..]);
        assert!(at >= time);
        time = at;
        match kind {
            0 => dump.functions.push(function(&mut record, process, std::mem::take(&mut lines))),
            2 => lines = read_lines(&mut record),
            3 => dump.is_closed = true,
            other => panic!("a record of kind {other}"),
        }
        assert!(record.0.is_empty(), "the length of a record matches its contents");
    }
    dump
}

fn function(record: &mut Bytes<'_>, process: u32, lines: Vec<(u64, u32, String)>) -> Function {
    assert_eq!(record.u32(), process);
    assert_ne!(record.u32(), 0); // the thread
    let (address, again, length, number) = (record.u64(), record.u64(), record.u64(), record.u64());
    assert_eq!(address, again);
    let name = record.name();
    let code = record.take(length as usize).to_vec();
    Function { name, address, code, number, lines }
}

fn read_lines(record: &mut Bytes<'_>) -> Vec<(u64, u32, String)> {
    let (_, count) = (record.u64(), record.u64());
    let mut one = || {
        let (address, line, discriminator) = (record.u64(), record.u32(), record.u32());
        assert_eq!(discriminator, 0);
        (address, line, record.name())
    };
    (0..count).map(|_| one()).collect()
}

const PROGRAM: &str = "\
(module $m
  (type $f (func)) (type $c (cont $f))
  (elem declare func $body)
  (func $body
    (drop (i32.div_u (i32.const 1)
      (global.get $g))))
  (global $g (mut i32) (i32.const 1))
  (func (export \"run\")
    (resume $c (cont.new $c (ref.func $body))))
  (func $spin (export \"spin\") (loop $l (br $l))))";

#[test]
fn the_file_has_functions_with_code_and_lines() {
    let path = file("jitdump.wat", PROGRAM);
    let folder = absent("jitdump");
    std::fs::create_dir_all(&folder).unwrap();
    let mut run = command(&["run", "--invoke", "run", "--jitdump", &folder, &path]);
    let child = run.stdout(Stdio::null()).spawn().unwrap();
    let process = child.id();
    assert!(child.wait_with_output().unwrap().status.success());
    let dump = std::path::Path::new(&folder).join(format!("jit-{process}.dump"));
    let dump = read(&std::fs::read(dump).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((dump.process, dump.is_closed), (process, true));
    let numbers: Vec<u64> = dump.functions.iter().map(|function| function.number).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    let named = |name: &str| dump.functions.iter().find(|f| f.name == name).unwrap();
    let lines = |name: &str| {
        let Function { address, code, lines, .. } = named(name);
        let range = *address..*address + code.len() as u64;
        assert!(lines.iter().all(|(at, _, in_file)| range.contains(at) && *in_file == path));
        assert!(lines.is_sorted_by_key(|(at, ..)| *at));
        assert_eq!(lines[0].0, *address, "the line table begins at the first instruction");
        let mut lines: Vec<u32> = lines.iter().map(|(_, line, _)| *line).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    };
    assert_eq!(lines("wasm m!body"), [5, 6]);
    assert_eq!(lines("wasm m!run"), [9]);
    assert!(named("wasm trampoline").lines.is_empty());
    // All functions begin with `push rbp` and `mov rbp, rsp`.
    assert!(dump.functions.iter().all(|f| f.code.starts_with(&[0x55, 0x48, 0x89, 0xe5])));
}

#[test]
fn a_missing_folder_is_an_error() {
    let path = file("jitdump-nowhere.wat", PROGRAM);
    let outcome = ropewalk(&["run", "--invoke", "run", "--jitdump", "/nowhere", &path]);
    outcome.fails(1, &["cannot write to the folder /nowhere"]);
}
