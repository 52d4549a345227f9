//! Arbitrary arguments access only the memory of the program, and never cause a panic.

use crate::program::errno::*;
use crate::program::*;
use ropewalk::{Engine, Linker, Module, Store, Val};
use ropewalk_wasi::{DirPerms, FilePerms, WasiCtx};

/// The size of the memory of the program.
const SIZE: i64 = 4 << 16;

#[test]
fn results_outside_of_memory_are_a_fault_without_effects() {
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

/// Pointers have 32 bits, but a memory with 64-bit addresses can be larger.
#[test]
fn memory_beyond_32_bit_pointers_is_not_accessed() {
    const PAGES: u64 = (1 << 16) + 1;
    let engine = Engine::default();
    let text = source_with(PREVIEW1, &format!("(memory (export \"memory\") i64 {PAGES})"), "");
    let module = Module::new(&engine, text).unwrap();
    let mut linker = Linker::new(&engine);
    ropewalk_wasi::add_to_linker(&mut linker, |ctx| ctx).unwrap();
    let mut builder = WasiCtx::builder();
    builder.args(&["program", "argument"]).env("NAME", "value");
    let scratch = tempfile::tempdir().unwrap();
    let all = (DirPerms::all(), FilePerms::all());
    builder.preopened_dir(scratch.path(), "/", all.0, all.1).unwrap();
    let tape = std::io::sink();
    let mut store = Store::new(&engine, builder.record(tape).unwrap().build());
    let instance = linker.instantiate(&mut store, &module).unwrap();
    let memory = instance.get_memory(&mut store, "memory").unwrap();
    let mut call = |name: &str, arguments: &[i64]| {
        let func = instance.get_func(&mut store, name).unwrap();
        let mut results = [Val::I32(0)];
        func.call(&mut store, &values(name, arguments), &mut results).unwrap();
        results[0].unwrap_i32()
    };
    let root = i64::from(ROOT);
    for (name, arguments) in [
        // The last string does not fit.
        ("args_get", vec![0x100, -16]),
        ("args_get", vec![-7, 0x100]),
        ("environ_get", vec![0x100, -10]),
        ("environ_get", vec![-3, 0x100]),
        ("args_sizes_get", vec![-3, 0x100]),
        ("args_sizes_get", vec![0x100, -3]),
        ("clock_time_get", vec![0, 0, -7]),
        ("clock_res_get", vec![0, -7]),
        ("random_get", vec![-7, 8]),
        ("fd_fdstat_get", vec![0, -23]),
        ("fd_filestat_get", vec![0, -63]),
        ("fd_prestat_get", vec![root, -7]),
        ("fd_prestat_dir_name", vec![root, -7, 8]),
        ("fd_read", vec![0, -7, 1, 0x100]),
        ("fd_write", vec![1, 0x100, 1, -3]),
        ("fd_pread", vec![0, -15, 2, 0, 0x100]),
        ("fd_pwrite", vec![1, 0x100, 1, 0, -3]),
        ("fd_readdir", vec![root, -99, 100, 0, 0x100]),
        ("fd_readdir", vec![root, 0x200, 100, 0, -3]),
        ("fd_seek", vec![0, 0, 0, -7]),
        ("fd_tell", vec![0, -7]),
        ("path_create_directory", vec![root, -3, 4]),
        ("path_filestat_get", vec![root, 0, 0x100, 1, -63]),
        ("path_filestat_set_times", vec![root, 0, -3, 4, 0, 0, 0]),
        ("path_link", vec![root, 0, -3, 4, root, 0x100, 1]),
        ("path_open", vec![root, 0, 0x100, 1, 0, 0, 0, 0, -3]),
        ("path_readlink", vec![root, 0x100, 1, -7, 8, 0x200]),
        ("path_remove_directory", vec![root, -3, 4]),
        ("path_rename", vec![root, 0x100, 1, root, -3, 4]),
        ("path_symlink", vec![-3, 4, root, 0x100, 1]),
        ("path_unlink_file", vec![root, -3, 4]),
        ("poll_oneoff", vec![-47, 0x200, 1, 0x100]),
        ("poll_oneoff", vec![0x200, -31, 1, 0x100]),
        ("poll_oneoff", vec![0x200, 0x300, 1, -3]),
        ("sock_accept", vec![0, 0, -3]),
        ("sock_recv", vec![0, 0x100, 1, 0, -3, 0x200]),
        ("sock_send", vec![0, -7, 1, 0, 0x100]),
    ] {
        assert_eq!(call(name, &arguments), FAULT, "{name} {arguments:?}");
    }
    // Arguments that just fit are accepted.
    assert_eq!(call("args_get", &[0x100, -17]), SUCCESS);
    assert_eq!(call("random_get", &[-8, 8]), SUCCESS);
    let bytes = &memory.data(&store).unwrap()[(1 << 32) - 8..];
    assert!(bytes[..8].iter().any(|byte| *byte != 0));
    assert!(bytes[8..].iter().all(|byte| *byte == 0));
}

/// A pseudorandom number generator.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// An argument, usually near a boundary.
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
fn no_arguments_cause_a_panic() {
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
                // The program has ended.
                "proc_exit" | "proc_raise" => continue,
                // The call may wait forever.
                "poll_oneoff" => program.call_once(name, &arguments).unwrap_or(SUCCESS),
                "fd_allocate" => {
                    // Such files would be too large for a test.
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
fn a_program_without_a_memory_is_an_error() {
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
fn each_instance_gets_results_in_its_own_memory() {
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
