//! Interrupted calls: by a handle, by a deadline and by time slices.
//!
//! In loops, recursion, switches of every design and long instructions.

use crate::common::endless::{ENDLESS, PROGRAMS};
use crate::common::*;
use ropewalk::*;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// An engine whose functions can be interrupted.
fn interruptible(mode: Mode) -> Engine {
    Engine::new(mode.config().interruption(true)).unwrap()
}

const MODES: [Mode; 5] = [DEFAULT, MOVE, COLLECT, COLLECT_AND_MOVE, CHECK];

const TWO: &str = "(func (export \"two\") (result i32) (i32.const 2))";

/// An instance with a function that never returns and one that does.
fn endless(engine: &Engine, text: &str) -> (Store<()>, TypedFunc<(), ()>, TypedFunc<(), i32>) {
    let (mut store, instance) = instantiate_in(engine, format!("(module {text} {TWO})"));
    let run = instance.get_typed_func(&mut store, "run").unwrap();
    let two = instance.get_typed_func(&mut store, "two").unwrap();
    (store, run, two)
}

#[test]
fn a_deadline_ends_any_call_and_the_store_stays_usable() {
    for mode in [DEFAULT, COLLECT_AND_MOVE] {
        let engine = interruptible(mode);
        for (name, text) in ENDLESS {
            let (mut store, run, two) = endless(&engine, text);
            for _ in 0..2 {
                store.set_timeout(Duration::from_millis(15)).unwrap();
                assert_eq!(code(run.call(&mut store, ())), TrapCode::Interrupt, "{name}");
                store.set_deadline(None).unwrap();
                assert_eq!(two.call(&mut store, ()).unwrap(), 2, "{name}");
            }
        }
    }
}

#[test]
fn a_handle_ends_any_call_once() {
    let engine = interruptible(DEFAULT);
    for (name, text) in ENDLESS {
        let (mut store, run, two) = endless(&engine, text);
        let handle = store.interrupt_handle().unwrap();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            handle.clone().interrupt();
        });
        assert_eq!(code(run.call(&mut store, ())), TrapCode::Interrupt, "{name}");
        other.join().unwrap();
        assert_eq!(two.call(&mut store, ()).unwrap(), 2, "{name}");
    }
}

#[test]
fn an_interruption_while_nothing_runs_ends_the_next_call() {
    let (mut store, run, _) = endless(&interruptible(DEFAULT), ENDLESS[0].1);
    let handle = store.interrupt_handle().unwrap();
    handle.interrupt();
    traps(run.call(&mut store, ()), TrapCode::Interrupt);
    drop(store);
    handle.interrupt();
}

#[test]
fn a_deadline_that_has_passed_ends_every_call_until_it_is_taken_back() {
    let text = "(func $id (param i32) (result i32) (local.get 0))
                (func (export \"run\") (drop (call $id (i32.const 1))))";
    let (mut store, run, _) = endless(&interruptible(DEFAULT), text);
    store.set_deadline(Some(Instant::now())).unwrap();
    for _ in 0..3 {
        traps(run.call(&mut store, ()), TrapCode::Interrupt);
    }
    store.set_timeout(Duration::from_secs(1000)).unwrap();
    run.call(&mut store, ()).unwrap();
    // A deadline beyond all clocks.
    store.set_timeout(Duration::MAX).unwrap();
    run.call(&mut store, ()).unwrap();
}

/// The host interrupts a function, which then calls others. They record that they ran.
#[test]
fn leaf_functions_do_not_poll_and_all_others_do() {
    let engine = interruptible(DEFAULT);
    let long = "(nop)".repeat(600);
    let circle = "(if (global.get $never) (then (call $g)))";
    let reference = "(if (global.get $never) (then (call_indirect (i32.const 0))))";
    for (body, looks) in [
        ("(call $leaf) (call $leaf)", false),
        ("(if (global.get $never) (then (loop (br 0))))", false),
        ("(drop (memory.grow (i32.const 0)))", false),
        (&*long, true),
        (circle, true),
        (reference, true),
        ("(if (global.get $never) (then (call $f)))", true),
        ("(loop)", true),
    ] {
        let text = format!(
            "(import \"host\" \"f\" (func $f)) (memory 1) (table 1 funcref)
             (global $never (mut i32) (i32.const 0))
             (global $ran (export \"ran\") (mut i32) (i32.const 0))
             (func $leaf) (func $g {body} (global.set $ran (i32.const 1)))
             (func (export \"run\") (call $f) (call $g) (loop (br 0)))"
        );
        let handle: Arc<OnceLock<InterruptHandle>> = Arc::default();
        let given = handle.clone();
        let (mut store, instance) = with_host(&engine, &text, move |_: Caller<'_, ()>| {
            given.get().unwrap().interrupt();
        });
        handle.set(store.interrupt_handle().unwrap()).unwrap();
        traps(invoke::<(), ()>(&mut store, instance, "run", ()), TrapCode::Interrupt);
        let ran = instance.get_global(&mut store, "ran").unwrap().get(&mut store).unwrap();
        assert_eq!(ran.i32(), Some(i32::from(!looks)), "{body}");
    }
}

/// A long sequence of calls of leaf functions, which do not poll, mostly in branches that are not
/// taken. The first callee requests an interruption.
#[test]
fn a_long_sequence_of_leaf_calls_is_interrupted_soon() {
    let count = "(global.set $n (i32.add (global.get $n) (i32.const 1)))";
    let slow = "(drop (i64.div_u (i64.const 7) (global.get $d)))".repeat(60);
    let nops = "(nop)".repeat(40);
    let once = [
        ("(call $long)", 1000),
        ("(call $short)", 6000),
        ("(call_indirect (i32.const 0))", 6000),
        ("(call_ref $f (ref.func $short))", 6000),
        ("(if (global.get $n) (then (call $short) (call $long)) (else (call $long)))", 1000),
        ("(try_table (call $long))", 1000),
    ];
    for ((once, calls), mode) in
        once.into_iter().zip([DEFAULT, MOVE, COLLECT, CHECK].iter().cycle())
    {
        let text = format!(
            r#"(module
              (type $f (func))
              (import "host" "f" (func $interrupt))
              (global $n (export "n") (mut i32) (i32.const 0)) (global $d (mut i64) (i64.const 3))
              (table 1 funcref) (elem (i32.const 0) $short)
              (func $short (type $f) {count} {nops})
              (func $long {slow} {count})
              (func (export "run") (call $interrupt) {}))"#,
            once.repeat(calls)
        );
        let handle: Arc<OnceLock<InterruptHandle>> = Arc::default();
        let it = handle.clone();
        let (mut store, instance) = with_host(&interruptible(*mode), &text, move || {
            it.get().unwrap().interrupt();
        });
        handle.set(store.interrupt_handle().unwrap()).unwrap();
        assert_eq!(code(run_it(&mut store, instance)), TrapCode::Interrupt, "{once}");
        let n = instance.get_global(&mut store, "n").unwrap().get(&mut store).unwrap();
        assert!((1..calls as i32).contains(&n.i32().unwrap()), "{once}: {n:?}");
    }
}

/// Calls `run`.
fn run_it(store: &mut Store<()>, instance: Instance) -> Result<()> {
    instance.get_typed_func::<(), ()>(&mut *store, "run")?.call(store, ())
}

#[test]
fn without_the_setting_there_is_nothing_to_interrupt_by() {
    let mut store = Store::new(&Engine::default(), ());
    let expected = "the functions of this engine cannot be interrupted: set `Config::interruption`";
    assert_eq!(store.interrupt_handle().unwrap_err().to_string(), expected);
    assert_eq!(store.set_deadline(None).unwrap_err().to_string(), expected);
    assert_eq!(store.set_timeout(Duration::ZERO).unwrap_err().to_string(), expected);
    assert_eq!(store.set_time_slice(None).unwrap_err().to_string(), expected);
}

#[test]
fn calls_within_each_other_all_end_even_if_a_host_function_ignores_it() {
    let text = "(import \"host\" \"f\" (func $f))
                (func (export \"inner\") (loop (br 0)))
                (func (export \"outer\") (call $f) (loop (br 0)))";
    let engine = interruptible(DEFAULT);
    let ends = Arc::new(AtomicUsize::new(0));
    let count = ends.clone();
    let (mut store, instance) = with_host(&engine, text, move |mut caller: Caller<'_, ()>| {
        traps(call_export::<_, (), ()>(&mut caller, "inner", ()), TrapCode::Interrupt);
        count.fetch_add(1, Ordering::Relaxed);
    });
    let handle = store.interrupt_handle().unwrap();
    handle.interrupt();
    let outer = instance.get_typed_func::<(), ()>(&mut store, "outer").unwrap();
    // The first call ends at its beginning.
    traps(outer.call(&mut store, ()), TrapCode::Interrupt);
    assert_eq!(ends.load(Ordering::Relaxed), 0);
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(10));
        handle.interrupt();
    });
    traps(outer.call(&mut store, ()), TrapCode::Interrupt);
    assert_eq!(ends.load(Ordering::Relaxed), 1);
    other.join().unwrap();
}

#[test]
fn a_host_function_that_polls_ends_between_two_pieces_of_its_work() {
    let text = "(import \"host\" \"f\" (func $f)) (func (export \"run\") (call $f))";
    for mode in [DEFAULT, COLLECT_AND_MOVE] {
        let engine = interruptible(mode);
        let pieces = Arc::new(AtomicUsize::new(0));
        let (count, handle) = (pieces.clone(), Arc::new(OnceLock::<InterruptHandle>::new()));
        let interrupts = handle.clone();
        let work = move |caller: Caller<'_, ()>| -> Result<()> {
            for _ in 0..10 {
                if count.fetch_add(1, Ordering::Relaxed) == 3 {
                    interrupts.get().unwrap().interrupt();
                }
                caller.check_interruption()?;
            }
            Ok(())
        };
        let (mut store, instance) = with_host(&engine, text, work);
        handle.set(store.interrupt_handle().unwrap()).unwrap();
        let run = instance.get_typed_func::<(), ()>(&mut store, "run").unwrap();
        let error = run.call(&mut store, ()).unwrap_err();
        assert_eq!(trap(&error).code(), TrapCode::Interrupt);
        assert_eq!(trap(&error).backtrace().frames().len(), 1);
        assert_eq!(pieces.load(Ordering::Relaxed), 4);
        // The interruption is over: the next call does all of its work.
        run.call(&mut store, ()).unwrap();
        assert_eq!(pieces.load(Ordering::Relaxed), 14);
        // The check also passes outside of calls, before the deadline.
        store.as_context().check_interruption().unwrap();
        store.set_deadline(Some(Instant::now())).unwrap();
        while store.as_context().check_interruption().is_ok() {
            std::thread::yield_now();
        }
        store.set_deadline(None).unwrap();
        store.as_context_mut().check_interruption().unwrap();
    }
}

#[test]
fn no_handler_catches_an_interruption() {
    let text = "(func (export \"run\") (block (try_table (catch_all 0) (loop (br 0)))))";
    let (mut store, run, _) = endless(&interruptible(DEFAULT), text);
    store.set_timeout(Duration::from_millis(5)).unwrap();
    let error = run.call(&mut store, ()).unwrap_err();
    assert_eq!(trap(&error).code(), TrapCode::Interrupt);
    assert!(error.to_string().starts_with("wasm trap: interrupt\n"), "{error}");
    assert_eq!(trap(&error).backtrace().frames().len(), 1);
}

/// A function that stops at its entry has the line where it begins.
#[test]
fn a_function_that_is_interrupted_at_its_beginning_has_a_line() {
    // The module begins on the second line.
    let text = "\n\
        (func $a (export \"run\")\n\
          (return_call $b))\n\
        (func $b (export \"other\")\n\
          (return_call $a))";
    let (mut store, run, _) = endless(&interruptible(DEFAULT), text);
    store.set_timeout(Duration::from_millis(5)).unwrap();
    let error = run.call(&mut store, ()).unwrap_err();
    let [frame] = trap(&error).backtrace().frames() else { panic!("one frame: {error}") };
    let line = if frame.function_name() == Some("a") { 2 } else { 4 };
    assert_eq!(frame.line(), Some(line), "{error}");
    assert_eq!(frame.function_offset(), Some(0));
}

/// Long instructions are done in pieces. The functions are too short to poll at their entry.
#[test]
fn long_instructions_end_after_a_piece() {
    let text = "(module
       (memory $m 64) (memory $n 64) (table $t 400000 externref) (table $u 400000 externref)
       (type $a (array (mut i64))) (type $b (array (mut i8)))
       (global $a (mut (ref null $a)) (ref.null $a)) (global $b (mut (ref null $a)) (ref.null $a))
       (func (export \"make\")
         (global.set $a (array.new_default $a (i32.const 400000)))
         (global.set $b (array.new_default $a (i32.const 400000))))
       (func (export \"fill\") (memory.fill (i32.const 0) (i32.const 1) (i32.const 4194304)))
       (func (export \"filled\") (result i32)
         (i32.add (i32.load8_u (i32.const 1048575)) (i32.load8_u (i32.const 1048576))))
       (func (export \"copy\") (memory.copy (i32.const 0) (i32.const 9) (i32.const 4194000)))
       (func (export \"copy up\") (memory.copy (i32.const 9) (i32.const 0) (i32.const 4194000)))
       (func (export \"copy across\")
         (memory.copy $n $m (i32.const 9) (i32.const 0) (i32.const 4194000)))
       (func (export \"table.fill\")
         (table.fill $t (i32.const 0) (ref.null extern) (i32.const 400000)))
       (func (export \"table.copy\")
         (table.copy $t $t (i32.const 1) (i32.const 0) (i32.const 399999)))
       (func (export \"table.copy across\")
         (table.copy $t $u (i32.const 1) (i32.const 0) (i32.const 399999)))
       (func (export \"array.new\") (drop (array.new $b (i32.const 1) (i32.const 4000000))))
       (func (export \"array.fill\")
         (array.fill $a (global.get $a) (i32.const 0) (i64.const 7) (i32.const 400000)))
       (func (export \"array.copy\")
         (array.copy $a $a (global.get $a) (i32.const 0) (global.get $b) (i32.const 0)
           (i32.const 400000)))
       (func (export \"array.copy within\")
         (array.copy $a $a (global.get $a) (i32.const 1) (global.get $a) (i32.const 0)
           (i32.const 399999))))";
    let (mut store, instance) = instantiate_in(&interruptible(DEFAULT), text);
    let handle = store.interrupt_handle().unwrap();
    call(&mut store, instance, "make", &[]).unwrap();
    let exports = instance.exports(&mut store).unwrap();
    for name in exports
        .iter()
        .map(|(name, _)| name)
        .filter(|name| !matches!(name.as_str(), "make" | "filled"))
    {
        handle.interrupt();
        assert_eq!(code(call(&mut store, instance, name, &[])), TrapCode::Interrupt, "{name}");
        if name == "fill" {
            assert_eq!(call_i32(&mut store, instance, "filled"), 1);
        }
        call(&mut store, instance, name, &[]).unwrap();
    }
}

// ---- letting others run

/// Counts how often a task is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls a future until it is ready, but only when it has woken its task. Also returns the number
/// of polls.
fn block_on<R>(future: impl Future<Output = R>) -> (R, usize) {
    let mut future = pin!(future);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    for polls in 1.. {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return (result, polls);
        }
        assert_eq!(woken.0.load(Ordering::Relaxed), polls, "it has woken its task");
    }
    unreachable!()
}

#[test]
fn a_call_that_yields_everywhere_has_the_same_results() {
    for (name, export, text, steps) in PROGRAMS {
        let (mut store, instance) = instantiate(text);
        let func = instance.get_typed_func::<i64, i64>(&mut store, export).unwrap();
        let expected = func.call(&mut store, *steps).unwrap();
        for mode in MODES {
            let engine =
                Engine::new(mode.config().stress(|stress| stress.stop_always = true)).unwrap();
            let (mut store, instance) = instantiate_in(&engine, text);
            let func = instance.get_typed_func::<i64, i64>(&mut store, export).unwrap();
            let (found, polls) = block_on(func.call_async(&mut store, *steps));
            assert_eq!(found.unwrap(), expected, "{name} {export}, {}", mode.name);
            assert!(polls > *steps as usize, "{name} {export}: {polls} polls");
            assert_eq!(func.call(&mut store, *steps).unwrap(), expected, "{name} {export}");
        }
    }
}

#[test]
fn a_time_slice_lets_other_calls_run_and_repeats() {
    let (mut store, run, two) = endless(&interruptible(DEFAULT), ENDLESS[0].1);
    // The first slice begins here.
    let begin = Instant::now();
    store.set_time_slice(Some(Duration::from_millis(2))).unwrap();
    let mut polls = 0;
    {
        let mut future = pin!(run.call_async(&mut store, ()));
        while polls < 5 {
            assert!(poll_once(future.as_mut()).is_pending());
            polls += 1;
        }
    }
    assert!(begin.elapsed() >= Duration::from_millis(10), "{:?}", begin.elapsed());
    // The call was dropped.
    assert_eq!(store.pending_calls(), 0);
    assert_eq!(two.call(&mut store, ()).unwrap(), 2);
    // A synchronous call continues until something ends it.
    store.set_timeout(Duration::from_millis(20)).unwrap();
    traps(run.call(&mut store, ()), TrapCode::Interrupt);
}

#[test]
fn a_sliced_call_ends_by_its_deadline() {
    let (mut store, run, two) = endless(&interruptible(DEFAULT), ENDLESS[0].1);
    store.set_time_slice(Some(Duration::from_millis(1))).unwrap();
    store.set_timeout(Duration::from_millis(300)).unwrap();
    let (ended, polls) = block_on(run.call_async(&mut store, ()));
    traps(ended, TrapCode::Interrupt);
    assert!(polls > 2, "{polls} polls");
    store.set_time_slice(None).unwrap();
    store.set_deadline(None).unwrap();
    assert_eq!(two.call(&mut store, ()).unwrap(), 2);
}

#[test]
fn concurrent_calls_take_turns() {
    let text = "(func (export \"run\") (param $n i64) (result i64) (local $sum i64)
        (loop $next
          (local.set $sum (i64.add (local.get $sum) (local.get $n)))
          (br_if $next (i64.ne (i64.const 0)
            (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
        (local.get $sum))";
    for mode in MODES {
        let engine = Engine::new(mode.config().stress(|stress| stress.stop_always = true)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, text);
        let run = instance.get_typed_func::<i64, i64>(&mut store, "run").unwrap();
        let order = std::sync::Mutex::new(Vec::new());
        let both = store.run_concurrent(async |accessor| {
            let call = async |n: i64| {
                let sum = run.call_concurrent(accessor, n).await.unwrap();
                order.lock().unwrap().push(n);
                sum
            };
            // The longer call begins first.
            tokio::join!(call(300), call(20))
        });
        assert_eq!(crate::common::block_on(both), (300 * 301 / 2, 20 * 21 / 2), "{}", mode.name);
        assert_eq!(*order.lock().unwrap(), [20, 300], "{}", mode.name);
    }
}

/// Gibibytes would take a second, so a call yields after each mebibyte.
#[test]
fn long_fills_and_copies_yield() {
    let text = "(memory 128) (memory $other 128)
        (func (export \"run\") (param $to i64) (result i64)
          (memory.fill (i32.const 1) (i32.const 7) (i32.const 3200000))
          (memory.fill (i32.const 100000) (i32.const 9) (i32.const 1200000))
          (i64.store (i32.const 2000001) (i64.const 77))
          (memory.copy (i32.wrap_i64 (local.get $to)) (i32.const 1) (i32.const 3200000))
          (memory.copy $other 0 (i32.const 5) (i32.const 3) (i32.const 3200000))
          (i64.add
            (i64.load (i32.add (i32.wrap_i64 (local.get $to)) (i32.const 2000000)))
            (i64.mul (i64.load $other (i32.const 99999)) (i64.load $other (i32.const 1300005)))))";
    for to in [0, 1, 9, 400_000, 4_000_000] {
        let (mut store, instance) = instantiate(text);
        let run = instance.get_typed_func::<i64, i64>(&mut store, "run").unwrap();
        let expected = run.call(&mut store, to).unwrap();
        for mode in [DEFAULT, COLLECT_AND_MOVE] {
            let engine =
                Engine::new(mode.config().stress(|stress| stress.stop_always = true)).unwrap();
            let (mut store, instance) = instantiate_in(&engine, text);
            let run = instance.get_typed_func::<i64, i64>(&mut store, "run").unwrap();
            let (found, polls) = block_on(run.call_async(&mut store, to));
            assert_eq!(found.unwrap(), expected, "to {to}, {}", mode.name);
            // The first poll, and one for each piece.
            assert_eq!(polls, 1 + 1 + 4 + 2 + 4 + 4, "to {to}");
        }
    }
}

#[test]
fn objects_survive_that_only_a_stopped_function_has() {
    let text = "(type $list (struct (field i64) (field (ref null $list))))
        (func (export \"run\") (param $n i64) (result i64)
          (local $l (ref null $list)) (local $sum i64)
          (loop $next
            (local.set $l (struct.new $list (local.get $n) (local.get $l)))
            (br_if $next (i64.ne (i64.const 0)
              (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
          (loop $next
            (local.set $sum (i64.add (local.get $sum) (struct.get $list 0 (local.get $l))))
            (local.set $l (struct.get $list 1 (local.get $l)))
            (br_if $next (i32.eqz (ref.is_null (local.get $l)))))
          (local.get $sum))";
    for mode in MODES {
        let engine = Engine::new(mode.config().stress(|stress| stress.stop_always = true)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, text);
        let run = instance.get_typed_func::<i64, i64>(&mut store, "run").unwrap();
        assert_eq!(block_on(run.call_async(&mut store, 50)).0.unwrap(), 1275, "{}", mode.name);
        assert_eq!(run.call(&mut store, 50).unwrap(), 1275, "{}", mode.name);
        // Other calls allocate while one has stopped.
        let sums = crate::common::block_on(store.run_concurrent(async |accessor| {
            tokio::join!(run.call_concurrent(accessor, 40), run.call_concurrent(accessor, 30))
        }));
        assert_eq!((sums.0.unwrap(), sums.1.unwrap()), (820, 465), "{}", mode.name);
    }
}

#[test]
fn every_register_is_as_before() {
    // More values of each kind than there are registers.
    let ints: Vec<String> = (0..12).map(|i| format!("(local $i{i} i64)")).collect();
    let floats: Vec<String> = (0..14).map(|i| format!("(local $f{i} f64)")).collect();
    let vectors: Vec<String> = (0..14).map(|i| format!("(local $v{i} v128)")).collect();
    let mut steps = String::new();
    for i in 0..12 {
        let add = i * 7 + 1;
        steps += &format!("(local.set $i{i} (i64.add (local.get $i{i}) (i64.const {add})))");
    }
    for i in 0..14 {
        steps += &format!("(local.set $f{i} (f64.add (local.get $f{i}) (f64.const {i}.5)))");
        steps += &format!(
            "(local.set $v{i} (i64x2.add (local.get $v{i}) (i64x2.splat (i64.const {i}))))"
        );
    }
    let mut sum = "(i64.const 0)".to_string();
    for i in 0..12 {
        sum = format!("(i64.add {sum} (local.get $i{i}))");
    }
    for i in 0..14 {
        sum = format!("(i64.add {sum} (i64.trunc_f64_s (local.get $f{i})))");
        sum = format!("(i64.add {sum} (i64x2.extract_lane 1 (local.get $v{i})))");
    }
    let text = format!(
        "(func (export \"run\") (param $n i64) (result i64) {} {} {}
           (loop $next {steps}
             (br_if $next (i64.ne (i64.const 0)
               (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
           {sum})",
        ints.concat(),
        floats.concat(),
        vectors.concat()
    );
    let (mut store, instance) = instantiate(&text);
    let run = instance.get_typed_func::<i64, i64>(&mut store, "run").unwrap();
    let expected = run.call(&mut store, 20).unwrap();
    for mode in [DEFAULT, MOVE, SINGLE_PASS, NOT_OPTIMIZED] {
        let engine = Engine::new(mode.config().stress(|stress| stress.stop_always = true)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, &text);
        let run = instance.get_typed_func::<i64, i64>(&mut store, "run").unwrap();
        assert_eq!(run.call(&mut store, 20).unwrap(), expected, "{}", mode.name);
        let (found, _) = block_on(run.call_async(&mut store, 20));
        assert_eq!(found.unwrap(), expected, "{}", mode.name);
    }
}

/// Polls a future only when it is woken. Fails after a long wait.
fn block_until_woken<R>(future: impl Future<Output = R>) -> R {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let (mut future, begin) = (pin!(future), Instant::now());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        std::thread::park_timeout(Duration::from_secs(60));
        assert!(begin.elapsed() < Duration::from_secs(50), "the task was not woken");
    }
}

/// A function `run` that waits forever on a continuation.
struct WaitsForEver {
    store: Store<()>,
    run: TypedFunc<(), ()>,
    two: TypedFunc<(), i32>,
    /// How many of its futures were dropped.
    dropped: Arc<AtomicUsize>,
}

fn waits_for_ever(engine: &Engine) -> WaitsForEver {
    let text = r#"(module
        (import "host" "wait" (func $wait))
        (type $f (func)) (type $k (cont $f)) (elem declare func $body)
        (func $body (call $wait))
        (func (export "run") (resume $k (cont.new $k (ref.func $body))))
        (func (export "two") (result i32) (i32.const 2)))"#;
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut linker = Linker::new(engine);
    let count = dropped.clone();
    linker.host_concurrent("wait", move |_: &Accessor<()>, (): ()| {
        let dropped = CountsDrop(count.clone());
        Box::pin(async move {
            std::future::pending::<()>().await;
            drop(dropped);
        })
    });
    let mut store = Store::new(engine, ());
    let instance = linker.instantiate(&mut store, &Module::new(engine, text).unwrap()).unwrap();
    let run = instance.get_typed_func(&mut store, "run").unwrap();
    let two = instance.get_typed_func(&mut store, "two").unwrap();
    WaitsForEver { store, run, two, dropped }
}

#[test]
fn a_deadline_wakes_a_call_that_waits_and_ends_it() {
    for mode in MODES {
        let WaitsForEver { mut store, run, two, dropped } = waits_for_ever(&interruptible(mode));
        for times in 1..=2 {
            store.set_timeout(Duration::from_millis(10)).unwrap();
            let ended = block_until_woken(run.call_async(&mut store, ()));
            assert_eq!(code(ended), TrapCode::Interrupt, "{}", mode.name);
            assert_eq!(dropped.load(Ordering::Relaxed), times, "{}", mode.name);
            store.set_deadline(None).unwrap();
            assert_eq!(two.call(&mut store, ()).unwrap(), 2, "{}", mode.name);
            assert_eq!(store.pending_calls(), 0, "{}", mode.name);
        }
    }
}

#[test]
fn a_handle_wakes_a_call_that_waits_and_ends_it() {
    let WaitsForEver { mut store, run, two, dropped } = waits_for_ever(&interruptible(DEFAULT));
    let handle = store.interrupt_handle().unwrap();
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(10));
        handle.interrupt();
    });
    let ended = block_until_woken(run.call_async(&mut store, ()));
    other.join().unwrap();
    traps(ended, TrapCode::Interrupt);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    assert_eq!(two.call(&mut store, ()).unwrap(), 2);
}

#[test]
fn a_deadline_ends_every_call_that_waits_in_a_store() {
    let WaitsForEver { mut store, run, two, dropped } = waits_for_ever(&interruptible(DEFAULT));
    store.set_timeout(Duration::from_millis(10)).unwrap();
    let ended = block_until_woken(store.run_concurrent(async |accessor| {
        tokio::join!(run.call_concurrent(accessor, ()), run.call_concurrent(accessor, ()))
    }));
    for ended in [ended.0, ended.1] {
        traps(ended, TrapCode::Interrupt);
    }
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
    store.set_deadline(None).unwrap();
    assert_eq!(two.call(&mut store, ()).unwrap(), 2);
}
