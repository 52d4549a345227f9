//! Whatever numbers a program passes, nothing but its own memory is touched, and
//! nothing panics.

use crate::program::errno::*;
use crate::program::*;
use ropewalk::{Engine, Linker, Module, Store};
use ropewalk_wasi::WasiCtx;

/// The bytes of memory that the program has.
const SIZE: i64 = 4 << 16;

#[test]
fn results_outside_of_memory_are_a_fault_and_nothing_is_done() {
    let mut program = in_scratch();
    let [path, len] = program.string("new");
    let outside = SIZE - 3;
    let open = [ROOT.into(), 0, path, len, CREAT.into(), 0, 0, 0, outside];
    assert_eq!(program.call("path_open", &open), FAULT);
    assert!(!program.host("new").exists());

    program.create("file", "rope");
    let fd = i64::from(program.open("file", 0, FD_READ | FD_WRITE).unwrap());
    let [vectors, count] = program.vector(0x200, 4);
    assert_eq!(program.call("fd_write", &[fd, vectors, count, outside]), FAULT);
    let [vectors, count] = program.vector(0x200, 4);
    assert_eq!(program.call("fd_read", &[fd, vectors, count, outside]), FAULT);
    assert_eq!(program.call("fd_tell", &[fd, RESULT.into()]), SUCCESS);
    assert_eq!(program.u64(RESULT), 0);
    assert_eq!(std::fs::read(program.host("file")).unwrap(), b"rope");
    for (name, arguments) in [
        ("fd_fdstat_get", vec![fd, SIZE - 23]),
        ("fd_filestat_get", vec![fd, SIZE - 63]),
        ("fd_prestat_get", vec![ROOT.into(), SIZE - 7]),
        ("fd_seek", vec![fd, 0, 0, SIZE - 7]),
        ("fd_tell", vec![fd, SIZE - 7]),
        ("clock_time_get", vec![0, 0, SIZE - 7]),
        ("clock_res_get", vec![0, -1]),
        ("args_sizes_get", vec![0, SIZE]),
        ("random_get", vec![SIZE, 1]),
        ("fd_readdir", vec![ROOT.into(), SIZE - 1, 2, 0, 0]),
    ] {
        assert_eq!(program.call(name, &arguments), FAULT, "{name}");
    }
}

#[test]
fn buffers_outside_of_memory_or_too_long_are_refused() {
    let mut program = in_scratch();
    let fd = i64::from(program.open("file", CREAT, FD_READ | FD_WRITE).unwrap());
    let mut call = |words: &[u32], count: i64| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let at = program.put(&bytes);
        let read = program.call("fd_read", &[fd, at, count, RESULT.into()]);
        let at = program.put(&bytes);
        let write = program.call("fd_write", &[fd, at, count, RESULT.into()]);
        assert_eq!(read, write);
        read
    };
    assert_eq!(call(&[SIZE as u32 - 1, 2], 1), FAULT);
    assert_eq!(call(&[u32::MAX, u32::MAX], 1), FAULT);
    assert_eq!(call(&[0, SIZE as u32, 0, u32::MAX - 1], 2), INVAL);
    assert_eq!(call(&[0, 4], 1 << 29), FAULT);
    assert_eq!(call(&[0, 4], -1), FAULT);
    assert_eq!(call(&[SIZE as u32, 0], 1), SUCCESS);
    assert_eq!(call(&[], 0), SUCCESS);
}

/// A small generator of numbers: the tests need no others.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Mostly numbers at which something begins or ends.
    fn argument(&mut self) -> i64 {
        let interesting =
            [0, 1, 2, 3, 4, 5, 8, 16, 0x100, 0x1000, SIZE - 8, SIZE - 1, SIZE, -1, i64::MIN];
        match self.next() % 8 {
            0 => self.next() as i64,
            1 => i64::from(self.next() as i32),
            _ => interesting[self.next() as usize % interesting.len()],
        }
    }
}

#[test]
fn no_numbers_make_a_function_panic() {
    let mut numbers = Numbers(0x1234_5678);
    for _ in 0..40 {
        let mut program = in_scratch();
        program.create("file", "rope");
        let noise: Vec<u8> = (0..0x800).map(|_| (numbers.next() % 5) as u8).collect();
        program.put(&noise);
        for _ in 0..200 {
            let (name, parameters) = FUNCTIONS[numbers.next() as usize % FUNCTIONS.len()];
            let mut arguments: Vec<i64> = parameters.chars().map(|_| numbers.argument()).collect();
            let errno = match name {
                // The end of the program is the end.
                "proc_exit" | "proc_raise" => continue,
                // It may wait for ever.
                "poll_oneoff" => program.call_once(name, &arguments).unwrap_or(SUCCESS),
                "fd_allocate" => {
                    // The host has these bytes, but not for a test.
                    for number in &mut arguments {
                        *number = if (1 << 20..1 << 45).contains(number) { SIZE } else { *number };
                    }
                    program.call(name, &arguments)
                }
                _ => program.call(name, &arguments),
            };
            assert!((0..=76).contains(&errno), "{name} {errno}");
        }
    }
}

#[test]
fn a_program_without_a_memory_is_told_so() {
    let engine = Engine::default();
    let module = r#"(module
        (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
        (func (export "run") (drop (call $yield))))"#;
    let module = Module::new(&engine, module).unwrap();
    let mut linker = Linker::new(&engine);
    ropewalk_wasi::add_to_linker(&mut linker, |ctx| ctx).unwrap();
    let mut store = Store::new(&engine, WasiCtx::builder().build());
    let instance = linker.instantiate(&mut store, &module).unwrap();
    let run = instance.get_typed_func::<(), ()>(&mut store, "run").unwrap();
    let error = run.call(&mut store, ()).unwrap_err();
    assert!(format!("{error:#}").contains("must export its memory"), "{error:#}");
}

#[test]
fn each_of_several_instances_finds_its_results_in_its_own_memory() {
    let engine = Engine::default();
    let module = r#"(module
        (import "wasi_snapshot_preview1" "args_sizes_get"
          (func $sizes (param i32 i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "run") (param i32) (result i32)
          (drop (call $sizes (local.get 0) (i32.const 64)))
          (i32.load (local.get 0))))"#;
    let module = Module::new(&engine, module).unwrap();
    let mut linker = Linker::new(&engine);
    ropewalk_wasi::add_to_linker(&mut linker, |ctx| ctx).unwrap();
    let mut store = Store::new(&engine, WasiCtx::builder().arg("a").arg("b").build());
    let instances = [(); 2].map(|()| linker.instantiate(&mut store, &module).unwrap());
    for at in [0, 8, 16] {
        for instance in instances {
            let run = instance.get_typed_func::<i32, i32>(&mut store, "run").unwrap();
            assert_eq!(run.call(&mut store, at).unwrap(), 2);
        }
    }
    // The same context in another store.
    let mut other = Store::new(&engine, store.into_data());
    let instance = linker.instantiate(&mut other, &module).unwrap();
    let run = instance.get_typed_func::<i32, i32>(&mut other, "run").unwrap();
    assert_eq!(run.call(&mut other, 0).unwrap(), 2);
}
