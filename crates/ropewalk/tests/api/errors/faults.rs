//! Faults that the code does not expect end the process, and other signals reach their handlers.
//!
//! Each test runs itself again as a child.

use crate::common::*;
use ropewalk::*;
use std::os::unix::process::ExitStatusExt;
use std::process::Output;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Fails unless the process reported a bug in the engine and aborted.
fn reports_a_bug(output: &Output, parts: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{output:?}");
    for part in ["WebAssembly caused a fault that is not a trap", "Please report it"] {
        assert!(said.contains(part), "{said}");
    }
    for part in parts {
        assert!(said.contains(part), "expected {part:?} in: {said}");
    }
}

/// A function that the engine never makes: its store is somewhere else.
fn forged(func: Func, address: u64) -> Func {
    // SAFETY: both types are two plain words, and using the result ends the process.
    unsafe {
        let mut words: [u64; 2] = std::mem::transmute(func);
        let place = usize::from(words[0] < 1 << 32);
        words[place] = address;
        std::mem::transmute(words)
    }
}

const FUNCTIONS: &str = r#"(module $m
    (type $f (func))
    (table $t 1 funcref)
    (func $nop (export "nop"))
    (func (export "call") (param funcref)
      (table.set $t (i32.const 0) (local.get 0))
      (call_indirect $t (type $f) (i32.const 0))))"#;

/// Calls a function at an address where nothing is mapped.
fn call_at(address: u64) {
    let (mut store, instance) = instantiate(FUNCTIONS);
    // Null is a trap, and any other address is not.
    traps(
        call(&mut store, instance, "call", &[Val::FuncRef(None)]),
        TrapCode::UninitializedElement,
    );
    let func = instance.get_func(&mut store, "nop").unwrap();
    call(&mut store, instance, "call", &[func.into()]).unwrap();
    let _ = call(&mut store, instance, "call", &[forged(func, address).into()]);
}

#[test]
fn a_fault_without_an_address_is_not_taken_for_null() {
    let output = child(|| call_at(0x4141_4141_4141_4140));
    reports_a_bug(&output, &["SIGSEGV", "exception 13", "function 1 + 0x", "of the module m"]);
}

#[test]
fn a_fault_at_any_other_address_is_not_taken_for_null() {
    let output = child(|| call_at(0x1234_5678_9000));
    reports_a_bug(&output, &["SIGSEGV", "address 0x123456789010"]);
}

#[test]
fn a_fault_at_another_small_address_is_not_taken_for_null() {
    let output = child(|| call_at(0x20));
    reports_a_bug(&output, &["SIGSEGV", "address 0x30"]);
}

#[test]
fn a_jump_to_nowhere_is_no_trap() {
    let output = child(|| {
        let (mut store, instance) = instantiate(FUNCTIONS);
        let func = instance.get_func(&mut store, "nop").unwrap();
        // SAFETY: as in `forged`. This overwrites the address of its code.
        unsafe {
            let words: [u64; 2] = std::mem::transmute(func);
            let place = words[usize::from(words[0] < 1 << 32)] as *mut u64;
            *place = 0x1234_5678_9000;
        }
        let _ = call(&mut store, instance, "call", &[func.into()]);
    });
    reports_a_bug(&output, &["SIGSEGV", "address 0x123456789000", "not in generated code"]);
}

#[test]
fn a_fault_inside_of_a_memory_is_not_taken_for_one_after_its_end() {
    let output = child(|| {
        let text = r#"(module (memory (export "m") 2)
                (func (export "load") (param i32) (drop (i32.load (local.get 0)))))"#;
        let (mut store, instance) = instantiate(text);
        traps(
            call(&mut store, instance, "load", &[Val::I32(131_070)]),
            TrapCode::MemoryOutOfBounds,
        );
        let memory = instance.get_memory(&mut store, "m").unwrap();
        let base = memory.data(&store).unwrap().as_ptr();
        // SAFETY: only the module reads the inaccessible page.
        let closed = unsafe { libc::mprotect(base.cast_mut().cast(), 4096, libc::PROT_NONE) };
        assert_eq!(closed, 0);
        let _ = call(&mut store, instance, "load", &[Val::I32(16)]);
    });
    reports_a_bug(&output, &["SIGSEGV", "function 0 + 0x"]);
}

#[test]
fn a_fault_of_a_host_function_is_not_ours() {
    let output = child(|| {
        run_in_host(|| {
            // SAFETY: none. This is the fault under test.
            unsafe { std::ptr::read_volatile(std::ptr::without_provenance::<u8>(64)) };
        });
    });
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{output:?}");
    assert!(!stderr(&output).contains("ropewalk"), "{}", stderr(&output));
}

/// Runs a closure in a host function, called on a continuation.
fn run_in_host(body: impl Fn() + Send + Sync + 'static) {
    let engine = Engine::default();
    let text = r#"(module (import "host" "body" (func $body))
        (type $f (func)) (type $c (cont $f))
        (func (export "run") (resume $c (cont.new $c (ref.func $body))))
        (elem declare func $body)
        (func (export "trap") unreachable))"#;
    let mut linker = Linker::new(&engine);
    linker.host("body", body);
    let (mut store, instance) = link(&linker, (), text);
    call(&mut store, instance, "run", &[]).unwrap();
    traps(call(&mut store, instance, "trap", &[]), TrapCode::Unreachable);
}

/// How often `note` was called, and its last signal code.
static NOTED: AtomicU32 = AtomicU32::new(0);
static CODE: AtomicI32 = AtomicI32::new(0);

extern "C" fn note(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes valid information.
    CODE.store(unsafe { (*info).si_code }, Ordering::Relaxed);
    NOTED.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn end_with_42(_: i32) {
    // SAFETY: the function is async-signal-safe.
    unsafe { libc::_exit(42) };
}

fn install(signal: i32, handler: *const (), flags: i32) {
    // SAFETY: an action may be all zeroes, and the handlers match the flags.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

#[test]
fn a_fault_of_a_host_function_goes_to_the_handler_before() {
    let output = child(|| {
        install(libc::SIGSEGV, end_with_42 as *const (), libc::SA_ONSTACK);
        run_in_host(|| {
            // SAFETY: none. This is the fault under test.
            unsafe { std::ptr::read_volatile(std::ptr::without_provenance::<u8>(64)) };
        });
    });
    assert_eq!(output.status.code(), Some(42), "{output:?}");
}

#[test]
fn a_signal_that_is_sent_goes_to_the_handler_before() {
    alone(|| {
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE] {
            install(signal, note as *const (), libc::SA_ONSTACK | libc::SA_SIGINFO);
        }
        run_in_host(|| {
            for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE] {
                // SAFETY: there is a handler.
                unsafe { libc::raise(signal) };
            }
        });
        assert_eq!(NOTED.load(Ordering::Relaxed), 4);
        assert!(CODE.load(Ordering::Relaxed) <= 0);
    });
}

#[test]
fn a_sent_signal_without_a_handler_ends_the_process() {
    let output = child(|| {
        // Replaces the handler of Rust's runtime.
        install(libc::SIGSEGV, std::ptr::null(), 0);
        run_in_host(|| {
            // SAFETY: the test expects that this ends the process.
            unsafe { libc::raise(libc::SIGSEGV) };
        });
    });
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{output:?}");
    assert!(!stderr(&output).contains("ropewalk"), "{}", stderr(&output));
}

#[test]
fn a_signal_that_is_sent_and_ignored_changes_nothing() {
    alone(|| {
        install(libc::SIGSEGV, std::ptr::without_provenance(libc::SIG_IGN), 0);
        run_in_host(|| {
            // SAFETY: the signal is ignored.
            unsafe { libc::raise(libc::SIGSEGV) };
        });
        call_traps();
    });
}

/// Fails unless faults of every signal are still traps.
fn call_traps() {
    let text = r#"(module (memory 1) (global $zero (mut i32) (i32.const 0))
            (func (export "load") (drop (i32.load (i32.const -1))))
            (func (export "divide") (drop (i32.div_u (i32.const 1) (global.get $zero))))
            (func (export "unreachable") unreachable)
            (func $forever (export "forever") (call $forever)))"#;
    let (mut store, instance) = instantiate(text);
    use TrapCode::*;
    for (name, expected) in [
        ("load", MemoryOutOfBounds),
        ("divide", IntegerDivideByZero),
        ("unreachable", Unreachable),
        ("forever", CallStackExhausted),
    ] {
        assert_eq!(code(call(&mut store, instance, name, &[])), expected, "{name}");
    }
}

/// Sends a signal to the current thread again and again until `body` ends.
fn while_signals_arrive(signal: i32, body: impl FnOnce()) {
    // SAFETY: the function is async-signal-safe.
    let thread = unsafe { libc::pthread_self() };
    let (done, is_done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while is_done.recv_timeout(Duration::from_micros(50)).is_err() {
                // SAFETY: the thread waits for this one.
                unsafe { libc::pthread_kill(thread, signal) };
            }
        });
        body();
        done.send(()).unwrap();
    });
}

/// Switches between continuations on small stacks, calls, loads and traps.
const SWITCHING: &str = r#"(module
    (type $f (func (result i32))) (type $c (cont $f)) (tag $yield (param i32))
    (type $k (func (param i32) (result i32)))
    (memory 1)
    (func $generate (result i32) (local $i i32)
      (loop $again
        (suspend $yield (local.get $i))
        (i32.store (i32.const 0) (local.get $i))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $again (i32.lt_u (local.get $i) (i32.const 1000))))
      (local.get $i))
    (elem declare func $generate $overflow)
    (func (export "run") (result i32) (local $sum i32) (local $k (ref null $c))
      (local.set $k (cont.new $c (ref.func $generate)))
      (loop $next
        (block $on (result i32 (ref $c))
          (return (i32.add (local.get $sum) (resume $c (on $yield $on) (local.get $k)))))
        (local.set $k)
        (local.set $sum (i32.add (local.get $sum))) (br $next))
      (unreachable))
    (func $overflow (result i32) (i32.add (i32.const 1) (call $overflow)))
    (func (export "overflow") (result i32) (resume $c (cont.new $c (ref.func $overflow))))
    (func (export "load") (result i32) (i32.load (i32.const -1))))"#;

fn switch_while_signals_arrive(signal: i32) {
    let mut config = Config::new();
    let engine = Engine::new(config.stack_size(8 << 10).max_wasm_stack(16 << 10)).unwrap();
    let (mut store, instance) = instantiate_in(&engine, SWITCHING);
    while_signals_arrive(signal, || {
        let begin = Instant::now();
        while NOTED.load(Ordering::Relaxed) < 300 {
            assert!(begin.elapsed() < Duration::from_secs(60), "signals arrive");
            assert_eq!(call_i32(&mut store, instance, "run"), 500_500);
            traps(call(&mut store, instance, "overflow", &[]), TrapCode::CallStackExhausted);
            traps(call(&mut store, instance, "load", &[]), TrapCode::MemoryOutOfBounds);
        }
    });
}

#[test]
fn signals_on_the_alternate_stack_do_not_disturb_switches_on_small_stacks() {
    alone(|| {
        install(libc::SIGUSR1, note as *const (), libc::SA_ONSTACK | libc::SA_SIGINFO);
        switch_while_signals_arrive(libc::SIGUSR1);
    });
}

#[test]
fn signals_of_faults_that_are_sent_do_not_disturb_switches_on_small_stacks() {
    alone(|| {
        install(libc::SIGSEGV, note as *const (), libc::SA_ONSTACK | libc::SA_SIGINFO);
        switch_while_signals_arrive(libc::SIGSEGV);
    });
}

/// Raises SIGSEGV in a handler.
extern "C" fn raise_inside(_: i32) {
    // SAFETY: there is a handler.
    unsafe { libc::raise(libc::SIGSEGV) };
}

#[test]
fn handlers_may_nest_while_webassembly_runs() {
    alone(|| {
        install(libc::SIGSEGV, note as *const (), libc::SA_ONSTACK | libc::SA_SIGINFO);
        install(libc::SIGUSR1, raise_inside as *const (), libc::SA_ONSTACK);
        switch_while_signals_arrive(libc::SIGUSR1);
        call_traps();
    });
}

/// Recurses to a depth, and then loops without a call until a word of memory changes.
const DEEP: &str = r#"(module (memory (export "m") 1)
    (func $spin (loop $again (br_if $again (i32.eqz (i32.load (i32.const 0))))))
    (func $deep (export "deep") (param i32)
      (if (local.get 0)
        (then (call $deep (i32.sub (local.get 0) (i32.const 1))))
        (else (call $spin)))))"#;

#[test]
fn a_handler_that_finds_no_room_on_a_stack_exhausts_it() {
    alone(|| {
        install(libc::SIGUSR1, note as *const (), libc::SA_SIGINFO);
        let engine = Engine::new(Config::new().max_wasm_stack(32 << 10)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, DEEP);
        let memory = instance.get_memory(&mut store, "m").unwrap();
        let deep = instance.get_typed_func::<u32, ()>(&mut store, "deep").unwrap();
        memory.data_mut(&mut store).unwrap()[0] = 1;
        let (mut fits, mut overflows) = (0, 100_000);
        while overflows - fits > 1 {
            let middle = (fits + overflows) / 2;
            match deep.call(&mut store, middle) {
                Ok(()) => fits = middle,
                Err(_) => overflows = middle,
            }
        }
        memory.data_mut(&mut store).unwrap()[0] = 0;
        // SAFETY: the function is async-signal-safe.
        let thread = unsafe { libc::pthread_self() };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(100));
                // SAFETY: the thread runs until the signal has arrived.
                unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
            });
            traps(deep.call(&mut store, fits - 1), TrapCode::CallStackExhausted);
        });
        assert_eq!(NOTED.load(Ordering::Relaxed), 0, "the handler had no room");
        call_traps();
    });
}

static DEPTH: AtomicUsize = AtomicUsize::new(0);

#[test]
fn values_of_host_calls_do_not_step_over_the_end_of_the_hosts_stack() {
    let output = child(|| {
        let mut config = Config::new();
        let engine = Engine::new(config.max_activations(100_000)).unwrap();
        let many = FuncType::new(vec![ValType::I64; 1000], vec![ValType::I64; 1000]);
        let types = "i64 ".repeat(1000);
        let text = format!(
            r#"(module
                (import "host" "again" (func $again (param {types}) (result {types})))
                (func (export "run") {} (call $again) {}))"#,
            "(i64.const 7) ".repeat(1000),
            "(drop) ".repeat(1000)
        );
        let mut linker = Linker::new(&engine);
        let again = |mut caller: Caller<'_, ()>, _: &[Val], _: &mut [Val]| -> Result<()> {
            DEPTH.fetch_add(1, Ordering::Relaxed);
            call_export::<_, _, ()>(&mut caller, "run", ())
        };
        linker.host_new("again", many, again);
        let (mut store, instance) = link(&linker, (), text);
        let small = std::thread::Builder::new().stack_size(256 << 10);
        let thread = small.spawn(move || drop(call(&mut store, instance, "run", &[])));
        thread.unwrap().join().unwrap();
    });
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{output:?}");
    let said = stderr(&output);
    assert!(said.contains("has overflowed its stack"), "{said}");
    assert!(!said.contains("ropewalk:"), "{said}");
}
