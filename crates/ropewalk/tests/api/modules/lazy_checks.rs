//! The code of a compiled file is checked at its first execution.

use super::folder;
use crate::common::*;
use ropewalk::*;
use std::fmt::Write as _;
use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};

const COUNT: u64 = 1200;

/// A constant that no other function has.
fn marker(function: u64) -> u64 {
    0x1234_5678_9ABC_0000 + function
}

/// A module of several hundred kilobytes of code, with constants and tables of jumps in it.
fn large() -> String {
    let mut text = String::from("(module $large\n(table funcref (elem");
    (0..COUNT).for_each(|i| write!(text, " $f{i}").unwrap());
    text.push_str("))\n(type $f (func (param i64) (result i64)))\n");
    for i in 0..COUNT {
        let cases: String = (1..8).fold(String::new(), |mut cases, case| {
            let value = 3.25 * case as f64 + i as f64;
            let add = "(local.set $x (f64.add (local.get $x)";
            write!(cases, ") {add} (f64.mul (f64.const {value}) (f64.const 0.{i}1))))").unwrap();
            cases
        });
        writeln!(
            text,
            "(func $f{i} (export \"f{i}\") (type $f) (local $x f64) (block (block (block (block \
             (block (block (block (br_table 0 1 2 3 4 5 6 (i32.wrap_i64 (local.get 0))) \
             {cases} (i64.xor (i64.const {}) (i64.trunc_sat_f64_s (local.get $x))))",
            marker(i)
        )
        .unwrap();
    }
    text.push_str(
        "(func (export \"call\") (param i32 i64) (result i64)
           (call_indirect (type $f) (local.get 1) (local.get 0))))",
    );
    text
}

/// The large module, compiled.
fn compiled() -> &'static [u8] {
    static COMPILED: OnceLock<Vec<u8>> = OnceLock::new();
    COMPILED.get_or_init(|| Engine::default().precompile_module(large().as_bytes()).unwrap())
}

/// The compiled module with a changed bit in a function.
fn damaged(function: u64) -> Vec<u8> {
    let mut bytes = compiled().to_vec();
    let at = bytes.windows(8).position(|bytes| bytes == marker(function).to_le_bytes()).unwrap();
    bytes[at] ^= 1;
    bytes
}

fn map(path: &Path) -> Module {
    // SAFETY: the engine just made the file, or it has damaged code, which is found.
    unsafe { Module::deserialize_file(&Engine::default(), path).unwrap() }
}

fn instance(module: &Module) -> (Store<()>, Instance) {
    start(module)
}

fn call(store: &mut Store<()>, instance: Instance, function: u64, argument: i64) -> Result<i64> {
    let name = format!("f{function}");
    instance.get_typed_func::<i64, i64>(&mut *store, &name)?.call(store, argument)
}

/// Fails unless the error is damaged code. It has no backtrace.
#[track_caller]
fn is_damaged(error: &Error) {
    let trap = error.downcast_ref::<Trap>().unwrap();
    assert_eq!(trap.code(), TrapCode::DamagedCode);
    assert!(trap.backtrace().frames().is_empty());
}

/// Fails unless the store is unusable.
#[track_caller]
fn is_unusable(store: &mut Store<()>, instance: Instance) {
    let error = call(store, instance, 0, 1).unwrap_err().to_string();
    assert!(error.starts_with("the store is unusable"), "{error}");
    store.gc();
}

#[test]
fn lazily_checked_code_gives_the_same_results() {
    let path = folder("whole-code").join("large.cwasm");
    fs::write(&path, compiled()).unwrap();
    let mapped = map(&path);
    // SAFETY: the engine just made the bytes.
    let copied = unsafe { Module::deserialize(&Engine::default(), compiled()).unwrap() };
    let (mut store, instance_of_file) = instance(&mapped);
    let (mut other, copy) = instance(&copied);
    for function in (0..COUNT).rev().step_by(3) {
        for argument in 0..3 {
            let argument = (argument * 5 + function as i64) % 9;
            let found = call(&mut store, instance_of_file, function, argument).unwrap();
            assert_eq!(found, call(&mut other, copy, function, argument).unwrap());
        }
    }
    mapped.check().unwrap();
    assert!(mapped.serialize().unwrap() == compiled());
}

#[test]
fn damaged_code_is_not_executed() {
    let path = folder("damaged-code").join("large.cwasm");
    let bytes = damaged(900);
    fs::write(&path, &bytes).unwrap();
    let module = map(&path);
    let (mut store, instance) = instance(&module);
    call(&mut store, instance, 0, 1).unwrap();
    let error = call(&mut store, instance, 900, 1).unwrap_err();
    is_damaged(&error);
    assert_eq!(
        error.to_string(),
        "wasm trap: compiled code is damaged: the code of the module \"large\" is not \
         the compiled code; compile it again. This store is unusable now"
    );
    // Other stores continue until they execute the code too.
    is_unusable(&mut store, instance);
    let (mut store, other) = self::instance(&module);
    call(&mut store, other, 0, 1).unwrap();
    is_damaged(&invoke::<(i32, i64), i64>(&mut store, other, "call", (900, 1)).unwrap_err());
    is_unusable(&mut store, other);
    // `check` finds the damage earlier.
    let error = module.check().unwrap_err().to_string();
    assert_eq!(error, "it is damaged: the checksum of its code does not match");
    assert!(module.serialize().is_err());
    // SAFETY: the engine refuses the bytes.
    assert!(unsafe { Module::deserialize(module.engine(), &bytes) }.is_err());
}

#[test]
fn damage_where_nothing_is_executed_does_no_harm() {
    let path = folder("unused-code").join("large.cwasm");
    fs::write(&path, damaged(1000)).unwrap();
    let (mut store, instance) = instance(&map(&path));
    call(&mut store, instance, 0, 1).unwrap();
    call(&mut store, instance, 300, 1).unwrap();
}

#[test]
fn damaged_code_ends_a_call_in_a_continuation() {
    let ty = "(type $f (func (param i64) (result i64)))";
    let continued = "(type $c (cont $f)) (func (export \"continued\") (param i64) (result i64)
        (resume $c (local.get 0) (cont.new $c (ref.func $f900))))";
    let text = large().replacen(ty, &format!("{ty} {continued}"), 1);
    let mut bytes = Engine::default().precompile_module(text.as_bytes()).unwrap();
    let at = bytes.windows(8).position(|bytes| bytes == marker(900).to_le_bytes()).unwrap();
    bytes[at] ^= 1;
    let path = folder("damaged-continuation").join("large.cwasm");
    fs::write(&path, &bytes).unwrap();
    let (mut store, instance) = instance(&map(&path));
    is_damaged(&invoke::<i64, i64>(&mut store, instance, "continued", 1).unwrap_err());
    is_unusable(&mut store, instance);
}

/// A task that is suspended and resumed in code with little else, so that checked pieces end in the
/// middle of a switch.
fn switches(count: u64) -> String {
    let mut text = String::from(
        "(module $switches
           (import \"host\" \"call\" (func $call))
           (type $t (taskref () ()))
           (global $n (export \"n\") (mut i64) (i64.const 0))
           (global $t (mut (ref null $t)) (ref.null $t))
           (func $body (param $me (ref null $t))\n",
    );
    for i in 0..count {
        let add = "(global.set $n (i64.xor (global.get $n)";
        let suspend = "(task.suspend $t (local.get $me))".repeat(4);
        writeln!(text, "{add} (i64.const {}))) {suspend}", marker(i)).unwrap();
    }
    text.push_str(
        ")
           (func (export \"f0\") (param i64) (result i64) (local.get 0))
           (func $run (export \"run\")
             (global.set $t (task.new $t $body))
             (loop $again (task.resume $t (global.get $t)) (br $again)))
           (func (export \"outer\") (call $call)
             (loop $again (task.resume $t (global.get $t)) (br $again))))",
    );
    text
}

#[test]
fn damage_in_the_middle_of_a_switch_ends_the_use_of_the_store() {
    const COUNT: u64 = 800;
    let engine = Engine::new(Config::new().stress(|stress| stress.check_stacks = true)).unwrap();
    let whole = engine.precompile_module(switches(COUNT).as_bytes()).unwrap();
    let path = folder("damaged-switch").join("switches.cwasm");
    let mut linker = Linker::new(&engine);
    // Ignores the outcome of the inner call.
    linker.host("call", |mut caller: Caller<'_, ()>| {
        is_damaged(&call_export::<_, _, ()>(&mut caller, "run", ()).unwrap_err());
    });
    // The same, but then waits.
    let mut waits = Linker::new(&engine);
    waits.host_async("call", |mut caller: Caller<'_, ()>, (): ()| {
        Box::new(async move {
            is_damaged(&call_export::<_, _, ()>(&mut caller, "run", ()).unwrap_err());
            std::future::pending::<()>().await
        })
    });
    let mut halfway = 0;
    for damaged in (0..COUNT).step_by(100) {
        let marker = marker(damaged).to_le_bytes();
        let at = whole.windows(8).position(|bytes| bytes == marker).unwrap();
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        let _ = fs::remove_file(&path);
        fs::write(&path, &bytes).unwrap();
        // SAFETY: the file has damaged code, which is found.
        let Ok(module) = (unsafe { Module::deserialize_file(&engine, &path) }) else {
            // The first piece is checked at once.
            assert!(damaged < COUNT / 2);
            continue;
        };
        for (name, expected) in [("run", "damaged"), ("outer", "is unusable")] {
            let (mut store, instance) = start_with(&linker, (), &module);
            fails_with(invoke::<(), ()>(&mut store, instance, name, ()), expected);
            is_unusable(&mut store, instance);
            let n = instance.get_global(&mut store, "n").unwrap().get(&mut store).unwrap();
            // The piece may be that of `run`.
            halfway += u32::from(n.i64() != Some(0));
        }
        let (mut store, instance) = start_with(&waits, (), &module);
        let outer = instance.get_typed_func::<(), ()>(&mut store, "outer").unwrap();
        let polled = pin!(outer.call_async(&mut store, ()))
            .poll(&mut Context::from_waker(Waker::noop()))
            .map(|ended| ended.unwrap_err().to_string());
        assert!(matches!(&polled, Poll::Ready(error) if error.contains("is unusable")));
        is_unusable(&mut store, instance);
    }
    assert!(halfway > 4, "pieces end where it switches");
}

#[test]
fn many_threads_execute_code_for_the_first_time() {
    let path = folder("threads-code").join("large.cwasm");
    fs::write(&path, compiled()).unwrap();
    for _ in 0..5 {
        let module = map(&path);
        let sums: Vec<i64> = std::thread::scope(|scope| {
            let run = || {
                let (mut store, instance) = instance(&module);
                let functions = (0..COUNT).step_by(7);
                functions.map(|f| call(&mut store, instance, f, 2).unwrap() >> 8).sum()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(sums.iter().all(|sum| *sum == sums[0]));
    }
}

/// The only file of a cache that has a compiled module.
fn kept(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.is_file()).collect();
    assert_eq!(files.len(), 1);
    files.pop().unwrap()
}

#[test]
fn a_modified_cache_file_is_replaced_before_it_runs() {
    let folder = folder("written-to");
    let cache = Cache::open(&folder).unwrap();
    let engine = Engine::new(Config::new().cache(cache)).unwrap();
    let whole = Module::new(&engine, large()).unwrap().serialize().unwrap();
    let file = kept(&folder);
    assert!(fs::read(&file).unwrap() == whole);
    fs::write(&file, damaged(900)).unwrap();
    let (mut store, instance) = instance(&Module::new(&engine, large()).unwrap());
    call(&mut store, instance, 900, 1).unwrap();
    assert!(fs::read(&file).unwrap() == whole);
}

/// Damages a file as a disk does, without a write that changes its time.
#[test]
fn a_file_of_the_cache_that_is_damaged_unseen_is_removed_when_that_is_found() {
    let folder = folder("unseen-damage");
    let cache = Cache::open(&folder).unwrap();
    let engine = Engine::new(Config::new().cache(cache)).unwrap();
    let module = Module::new(&engine, large()).unwrap();
    let (mut store, whole) = instance(&module);
    let expected = call(&mut store, whole, 900, 1).unwrap();
    drop((store, module));
    let file = kept(&folder);
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, damaged(900)).unwrap();
    fs::File::open(&file).unwrap().set_modified(modified).unwrap();
    let module = Module::new(&engine, large()).unwrap();
    let (mut store, damaged) = instance(&module);
    let error = call(&mut store, damaged, 900, 1).unwrap_err();
    is_damaged(&error);
    assert!(
        error.to_string().contains("its file was removed from the cache, so load it again"),
        "{error}"
    );
    // The file is removed at once, so that the next process does not find it.
    assert!(!file.exists());
    let (mut store, again) = instance(&Module::new(&engine, large()).unwrap());
    assert_eq!(call(&mut store, again, 900, 1).unwrap(), expected);
    assert!(file.exists());
    // The file is not the damaged one anymore.
    drop(module);
    assert!(file.exists());
}
