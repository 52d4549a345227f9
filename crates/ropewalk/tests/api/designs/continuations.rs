//! Continuations and the host: calls in both directions, errors and garbage.
//!
//! Also while stacks move and while every allocation collects.

use crate::common::*;
use ropewalk::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

// ---- calls in both directions

/// `run n x` calls the host n stacks deep, with a handler for `$yield` on each. `yield` suspends,
/// `sum n` runs a generator.
const CALLS: &str = r#"(module
    (import "host" "f" (func $f (param i32) (result i32)))
    (type $n (func (param i32 i32) (result i32))) (type $k (cont $n))
    (type $back (func (result i32))) (type $kback (cont $back))
    (tag $yield (export "yield tag") (param i32)) (elem declare func $nested $generate $f)
    (memory (export "memory") 1)
    (func $nested (param $n i32) (param $x i32) (result i32)
      (if (i32.eqz (local.get $n)) (then (return (call $f (local.get $x)))))
      (block $h (result i32 (ref $kback))
        (return (i32.add (i32.const 1)
          (resume $k (on $yield $h) (i32.sub (local.get $n) (i32.const 1)) (local.get $x)
            (cont.new $k (ref.func $nested))))))
      (drop) (drop)
      (i32.const -1))
    (func (export "run") (param i32 i32) (result i32) (call $nested (local.get 0) (local.get 1)))
    (func $yield (export "yield") (param i32) (suspend $yield (local.get 0)))

    (type $g (func (param i32))) (type $kg (cont $g)) (type $u (func)) (type $ku (cont $u))
    (func $generate (param $n i32)
      (loop $next
        (call $yield (local.get $n))
        (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "sum") (param $n i32) (result i32) (local $k (ref $ku)) (local $sum i32)
      (local.set $k (cont.bind $kg $ku (local.get $n) (cont.new $kg (ref.func $generate))))
      (loop $next
        (block $h (result i32 (ref $ku))
          (resume $ku (on $yield $h) (local.get $k))
          (return (local.get $sum)))
        (local.set $k)
        (local.set $sum (i32.add (local.get $sum))) (br $next))
      (unreachable))

    (type $i (func (param i32) (result i32))) (type $ki (cont $i))
    (func (export "host as a body") (param i32) (result i32)
      (resume $ki (local.get 0) (cont.new $ki (ref.func $f)))))"#;

#[test]
fn a_continuation_can_call_the_host() {
    let host = |mut caller: Caller<'_, ()>, x: i32| -> Result<i32> {
        let memory = caller.get_export("memory").and_then(Extern::into_memory).unwrap();
        memory.write(&mut caller, 0, b"seen")?;
        Ok(x * 100)
    };
    for (mut store, instance) in instances_with_host(CALLS, host) {
        for depth in [0, 1, 2, 3, 50] {
            assert_eq!(number(&mut store, instance, "run", &[depth, 7]).unwrap(), 700 + depth);
        }
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        assert_eq!(&memory.data(&store).unwrap()[..4], b"seen");
    }
}

#[test]
fn a_host_function_in_a_continuation_can_run_continuations_of_its_own() {
    let host = |mut caller: Caller<'_, ()>, x: i32| -> Result<i32> {
        if x == 0 {
            return Ok(0);
        }
        let sum = call_back(&mut caller, "sum", x)?;
        Ok(sum * 1000 + call_export::<_, (i32, i32), i32>(&mut caller, "run", (x, x - 1))?)
    };
    for (mut store, instance) in instances_with_host(CALLS, host) {
        // Sums 1, 3, 6, 10 times 1000, and 4 + 3 + 2 + 1 stacks inside, 5 outside.
        assert_eq!(number(&mut store, instance, "run", &[5, 4]).unwrap(), 20_015);
    }
}

#[test]
fn a_host_function_can_be_the_body_of_a_continuation() {
    let host = |mut caller: Caller<'_, ()>, x: i32| -> Result<i32> {
        anyhow::ensure!(x != 13, "thirteen");
        call_back(&mut caller, "sum", x)
    };
    for (mut store, instance) in instances_with_host(CALLS, host) {
        assert_eq!(number(&mut store, instance, "host as a body", &[10]).unwrap(), 55);
        let error = number(&mut store, instance, "host as a body", &[13]).unwrap_err();
        assert_eq!(host_message(&error), "thirteen");
        assert_eq!(names(&error), ["host as a body"]);
        assert_eq!(number(&mut store, instance, "host as a body", &[10]).unwrap(), 55);
    }
}

#[test]
fn a_suspension_does_not_cross_a_host_frame() {
    let host = |mut caller: Caller<'_, ()>, x: i32| -> Result<i32> {
        let error = call_export::<_, _, ()>(&mut caller, "yield", x).unwrap_err();
        assert_eq!(trap(&error).code(), TrapCode::UnhandledTag);
        // The host propagates the trap or ignores it.
        if x == 0 { Err(error) } else { Ok(x) }
    };
    for (mut store, instance) in instances_with_host(CALLS, host) {
        for depth in 0..4 {
            assert_eq!(number(&mut store, instance, "run", &[depth, 1]).unwrap(), 1 + depth);
            let error = number(&mut store, instance, "run", &[depth, 0]).unwrap_err();
            assert_eq!(trap(&error).code(), TrapCode::UnhandledTag);
            let mut expected = vec!["yield"];
            expected.extend(vec!["nested"; depth as usize + 1]);
            expected.push("run");
            assert_eq!(names(&error), expected);
        }
    }
}

/// `make` makes a suspended continuation and calls the host. `resume` resumes the one in the global.
const KEPT: &str = r#"(module
    (import "host" "f" (func $f))
    (type $b (func (param i32) (result i32))) (type $k (cont $b)) (tag $yield (result i32))
    (tag $x (export "x") (param i32)) (global $kept (mut (ref null $k)) (ref.null $k))
    (elem declare func $body $calls)
    (func $body (param $n i32) (result i32) (i32.add (local.get $n) (suspend $yield)))
    (func $make (export "make") (param $n i32)
      (block $h (result (ref $k))
        (drop (resume $k (on $yield $h) (local.get $n) (cont.new $k (ref.func $body))))
        (unreachable))
      (global.set $kept))
    (func (export "resume") (param i32) (result i32) (resume $k (local.get 0) (global.get $kept)))
    (func (export "take") (result (ref null $k)) (global.get $kept))
    (func (export "give") (param $k (ref null $k)) (param $n i32) (result i32)
      (resume $k (local.get $n) (local.get $k)))
    (func $calls (param i32) (result i32)
      (block $h (result i32)
        (try_table (catch $x $h) (call $f))
        (return (local.get 0))))
    ;; Calls the host in a continuation, and returns its argument, or the value of the exception
    ;; that the host throws.
    (func (export "call the host") (param i32) (result i32)
      (resume $k (local.get 0) (cont.new $k (ref.func $calls))))
    (func (export "throw") (param i32) (result i32)
      (resume_throw $k $x (local.get 0) (global.get $kept))))"#;

#[test]
fn another_activation_can_resume_a_suspended_stack() {
    for engine in engines() {
        let (mut store, instance) =
            with_host(&engine, KEPT, |mut caller: Caller<'_, ()>| -> Result<()> {
                call_export::<_, _, ()>(&mut caller, "make", 40)
            });
        // A later activation resumes it.
        call(&mut store, instance, "make", &[Val::I32(1)]).unwrap();
        assert_eq!(number(&mut store, instance, "resume", &[5]).unwrap(), 6);
        // The activation outside of the one that made it resumes it.
        assert_eq!(number(&mut store, instance, "call the host", &[3]).unwrap(), 3);
        assert_eq!(number(&mut store, instance, "resume", &[2]).unwrap(), 42);
        traps(number(&mut store, instance, "resume", &[2]), TrapCode::ContinuationConsumed);
        // An inner activation resumes it.
        let (mut store, instance) =
            with_host(&engine, KEPT, |mut caller: Caller<'_, ()>| -> Result<()> {
                let found = call_back(&mut caller, "resume", 4)?;
                anyhow::ensure!(found == 11);
                Ok(())
            });
        call(&mut store, instance, "make", &[Val::I32(7)]).unwrap();
        assert_eq!(number(&mut store, instance, "call the host", &[3]).unwrap(), 3);
    }
}

#[test]
fn exceptions_cross_host_frames_and_stacks() {
    for engine in engines() {
        // The inner activation throws into a continuation that does not catch. The host propagates
        // the exception, and the outer continuation catches it.
        let (mut store, instance) =
            with_host(&engine, KEPT, |mut caller: Caller<'_, ()>| -> Result<()> {
                call_export::<_, _, ()>(&mut caller, "make", 40)?;
                call_back(&mut caller, "throw", 77).map(|_| ())
            });
        for _ in 0..100 {
            assert_eq!(number(&mut store, instance, "call the host", &[3]).unwrap(), 77);
        }
        // Uncaught, the exception is an error with the functions of all stacks.
        call(&mut store, instance, "make", &[Val::I32(1)]).unwrap();
        let error = number(&mut store, instance, "throw", &[5]).unwrap_err();
        assert_eq!(names(&error), ["body", "throw"]);
        let exception = error.downcast_ref::<Exception>().unwrap();
        assert_eq!(exception.values(&mut store).unwrap()[0].i32(), Some(5));
    }
}

#[test]
fn the_host_can_hold_a_continuation() {
    for engine in engines() {
        let (mut store, instance) = with_host(&engine, KEPT, || {});
        call(&mut store, instance, "make", &[Val::I32(30)]).unwrap();
        let held = call(&mut store, instance, "take", &[]).unwrap()[0];
        assert!(matches!(held, Val::ContRef(Some(_))));
        // Nothing else refers to the value while others are made.
        for i in 0..100 {
            call(&mut store, instance, "make", &[Val::I32(i)]).unwrap();
        }
        store.gc();
        let found = call(&mut store, instance, "give", &[held, Val::I32(3)]).unwrap();
        assert_eq!(found[0].i32(), Some(33));
        traps(
            call(&mut store, instance, "give", &[held, Val::I32(3)]),
            TrapCode::ContinuationConsumed,
        );
        let null = [Val::ContRef(None), Val::I32(3)];
        traps(call(&mut store, instance, "give", &null), TrapCode::NullContinuation);
        // An exception of another store is refused.
        let (mut other, its_instance) = with_host(&engine, KEPT, || {});
        call(&mut other, its_instance, "make", &[Val::I32(30)]).unwrap();
        fails_because(
            call(&mut other, its_instance, "give", &[held, Val::I32(3)]),
            "store that it does not belong to",
        );
    }
}

#[test]
fn suspended_continuations_go_with_their_store_to_another_thread() {
    for (mut store, instance) in engines().iter().map(|engine| with_host(engine, KEPT, || {})) {
        for i in 0..4 {
            call(&mut store, instance, "make", &[Val::I32(i)]).unwrap();
            store = std::thread::spawn(move || {
                assert_eq!(number(&mut store, instance, "resume", &[10]).unwrap(), 10 + i);
                store
            })
            .join()
            .unwrap();
        }
    }
}

// ---- errors, panics, traps

#[test]
fn an_error_in_a_continuation_reaches_the_caller_as_itself() {
    #[derive(Debug, thiserror::Error)]
    #[error("the host's own error {0}")]
    struct OwnError(i32);
    let host = |x: i32| match x {
        0 => Ok(0),
        _ => Err(OwnError(x)),
    };
    for (mut store, instance) in instances_with_host(CALLS, host) {
        for i in 0..100 {
            let depth = i % 4;
            let error = number(&mut store, instance, "run", &[depth, 7]).unwrap_err();
            assert_eq!(error.downcast_ref::<OwnError>().unwrap().0, 7);
            let mut expected = vec!["nested"; depth as usize + 1];
            expected.push("run");
            assert_eq!(names(&error), expected);
            assert_eq!(number(&mut store, instance, "run", &[depth, 0]).unwrap(), depth);
        }
    }
}

#[test]
fn a_panic_in_a_continuation_reaches_the_caller_as_that_panic() {
    let host = |x: i32| -> i32 {
        if x == 1 {
            std::panic::panic_any(String::from("from the host"));
        }
        x
    };
    for (mut store, instance) in instances_with_host(CALLS, host) {
        for depth in (0..4).cycle().take(40) {
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _ = number(&mut store, instance, "run", &[depth, 1]);
            }));
            assert_eq!(panic.unwrap_err().downcast_ref::<String>().unwrap(), "from the host");
            assert_eq!(number(&mut store, instance, "run", &[depth, 2]).unwrap(), 2 + depth);
        }
    }
}

/// `trap n kind` traps n stacks deep, beside two suspended stacks.
const TRAPS: &str = r#"(module
    (type $b (func (param i32 i32) (result i32))) (type $k (cont $b))
    (type $f (func (param i32) (result i32))) (type $kf (cont $f)) (tag $yield (result i32))
    (tag $x) (elem declare func $nested $waits) (global $kept (mut (ref null $kf)) (ref.null $kf))
    (memory 1)
    (func $waits (param i32) (result i32) (i32.add (local.get 0) (suspend $yield)))
    (func (export "wait") (param i32)
      (block $h (result (ref $kf))
        (drop (resume $kf (on $yield $h) (local.get 0) (cont.new $kf (ref.func $waits))))
        (unreachable))
      (global.set $kept))
    (func (export "resume") (param i32) (result i32) (resume $kf (local.get 0) (global.get $kept)))
    (func $end (param $kind i32) (result i32)
      (block $5 (block $4 (block $3 (block $2 (block $1 (block $0
        (br_table $0 $1 $2 $3 $4 $5 (local.get $kind)))
        (unreachable))
        (return (i32.load (i32.const 0x10000))))
        (return (call $forever (local.get $kind))))
        (return (suspend $yield)))
        (throw $x))
      (resume $kf (i32.const 0) (ref.null $kf)))
    (func $forever (param i32) (result i32) (i32.add (i32.const 1) (call $forever (local.get 0))))
    (func $nested (param $n i32) (param $kind i32) (result i32)
      (if (i32.eqz (local.get $n)) (then (return (call $end (local.get $kind)))))
      (resume $k (i32.sub (local.get $n) (i32.const 1)) (local.get $kind)
        (cont.new $k (ref.func $nested))))
    (func (export "trap") (param i32 i32) (result i32) (call $nested (local.get 0) (local.get 1))))"#;

const KINDS: [Option<TrapCode>; 6] = [
    Some(TrapCode::Unreachable),
    Some(TrapCode::MemoryOutOfBounds),
    Some(TrapCode::CallStackExhausted),
    Some(TrapCode::UnhandledTag),
    None, // an exception
    Some(TrapCode::NullContinuation),
];

#[test]
fn a_store_survives_any_number_of_traps_in_continuations() {
    for (mut store, instance) in instances(TRAPS) {
        for round in 0..20 {
            call(&mut store, instance, "wait", &[Val::I32(round)]).unwrap();
            for (kind, expected) in KINDS.iter().enumerate() {
                for depth in 0..4 {
                    let result = number(&mut store, instance, "trap", &[depth, kind as i32]);
                    let error = result.unwrap_err();
                    assert_eq!(error.downcast_ref::<Trap>().map(Trap::code), *expected);
                }
            }
            assert_eq!(number(&mut store, instance, "resume", &[1]).unwrap(), round + 1);
        }
    }
}

#[test]
fn backtraces_name_the_functions_of_all_stacks() {
    for (mut store, instance) in instances(TRAPS) {
        for kind in [0, 1, 3, 4, 5] {
            let error = number(&mut store, instance, "trap", &[3, kind]).unwrap_err();
            let expected = ["end", "nested", "nested", "nested", "nested", "trap"];
            assert_eq!(names(&error), expected, "kind {kind}");
        }
        let error = number(&mut store, instance, "trap", &[3, 2]).unwrap_err();
        let backtrace = trap(&error).backtrace();
        assert_eq!(names(&error)[0], "forever");
        assert!(backtrace.omitted() > 500, "{}", backtrace.omitted());
    }
}

#[test]
fn a_trap_leaves_no_stacks() {
    for mode in [DEFAULT, MOVE] {
        let engine = Engine::new(mode.config().max_stacks(21)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, TRAPS);
        call(&mut store, instance, "wait", &[Val::I32(2)]).unwrap();
        for kind in (0..6).cycle().take(600) {
            let error = number(&mut store, instance, "trap", &[20, kind]).unwrap_err();
            assert_eq!(error.downcast_ref::<Trap>().map(Trap::code), KINDS[kind as usize]);
        }
        assert_eq!(number(&mut store, instance, "resume", &[1]).unwrap(), 3);
    }
}

// ---- garbage

/// `hold x` suspends a continuation whose frames and payload have the only references to some
/// objects. `check` resumes it.
const HOLDS: &str = r#"(module
    (type $s (struct (field (mut i32)) (field (mut externref)))) (type $a (array (mut i32)))
    (type $f (func (param externref i32) (result externref i32))) (type $k (cont $f))
    (type $cycle (struct (field (mut (ref null $k))) (field externref)))
    (type $u (func (result externref i32))) (type $ku (cont $u)) (tag $yield)
    (elem declare func $outer $inner $cycle $tied)
    (global $kept (mut (ref null $ku)) (ref.null $ku))
    (func $inner (param $x externref) (param $n i32) (result externref i32)
      (local $s (ref $s)) (local $a (ref $a))
      (local.set $s (struct.new $s (local.get $n) (local.get $x)))
      (local.set $a (array.new $a (local.get $n) (i32.const 10)))
      (array.set $a (local.get $a) (i32.const 9) (i32.const 1000))
      (suspend $yield)
      (struct.get $s 1 (local.get $s))
      (i32.add (struct.get $s 0 (local.get $s))
        (i32.add (array.get $a (local.get $a) (i32.const 0))
          (array.get $a (local.get $a) (i32.const 9)))))
    ;; The inner one runs on a stack of its own, which is captured too.
    (func $outer (param $x externref) (param $n i32) (result externref i32) (local $s (ref $s))
      (local.set $s (struct.new $s (i32.const 10000) (ref.null extern)))
      (resume $k (local.get $x) (local.get $n) (cont.new $k (ref.func $inner)))
      (i32.add (struct.get $s 0 (local.get $s))))
    (func $suspend (param $k (ref $ku)) (result (ref $ku))
      (block $h (result (ref $ku)) (resume $ku (on $yield $h) (local.get $k)) (unreachable)))
    (func $bound (param externref i32) (result (ref $ku))
      (cont.bind $k $ku (local.get 0) (local.get 1) (cont.new $k (ref.func $outer))))
    (func (export "hold") (param externref i32)
      (global.set $kept (call $suspend (call $bound (local.get 0) (local.get 1)))))
    (func (export "bind") (param externref i32)
      (global.set $kept (call $bound (local.get 0) (local.get 1))))
    (func (export "resume") (result externref i32) (resume $ku (global.get $kept)))
    (func (export "forget") (global.set $kept (ref.null $ku)))
    (func (export "garbage") (param $n i32)
      (loop $next
        (drop (struct.new $s (i32.const -1) (ref.null extern)))
        (drop (array.new $a (i32.const -1) (i32.const 10)))
        (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    ;; A struct that refers to a continuation whose frame refers to the struct.
    (type $c (func (param (ref $cycle)) (result externref i32))) (type $kc (cont $c))
    (func $cycle (param $c (ref $cycle)) (result externref i32)
      (suspend $yield)
      (struct.get $cycle 1 (local.get $c)) (i32.const 0))
    (func (export "cycle") (param $x externref) (local $c (ref $cycle))
      (local.set $c (struct.new $cycle (ref.null $k) (local.get $x)))
      (global.set $kept (call $suspend
        (cont.bind $kc $ku (local.get $c) (cont.new $kc (ref.func $cycle)))))
      (call $tie (local.get $c)))
    ;; The struct refers to a continuation to which the struct's is bound.
    (type $t (func (param (ref null $ku) externref i32) (result externref i32)))
    (type $kt (cont $t))
    (func $tied (param (ref null $ku) externref i32) (result externref i32)
      (local.get 1) (local.get 2))
    (func $tie (param $c (ref $cycle))
      (struct.set $cycle 0 (local.get $c)
        (cont.bind $kt $k (global.get $kept) (cont.new $kt (ref.func $tied))))))"#;

/// A store with the module of references, and how many host values are alive.
fn holding(engine: &Engine) -> (Store<()>, Instance, Arc<AtomicUsize>) {
    let (store, instance) = instantiate_in(engine, HOLDS);
    (store, instance, Arc::default())
}

/// Calls a function with a new host value that only WebAssembly keeps.
fn give(store: &mut Store<()>, instance: Instance, name: &str, value: impl Into<Option<i32>>) {
    let live = Arc::<AtomicUsize>::default();
    give_counted(store, instance, name, value.into(), &live);
}

fn give_counted(
    store: &mut Store<()>,
    instance: Instance,
    name: &str,
    value: Option<i32>,
    live: &Arc<AtomicUsize>,
) {
    let func = instance.get_func(&mut *store, name).unwrap();
    let mut scope = RootScope::new(store);
    let counted = ExternRef::new(&mut scope, Counted::new(live)).unwrap();
    let mut arguments = vec![Val::ExternRef(Some(counted))];
    arguments.extend(value.map(Val::I32));
    func.call(&mut scope, &arguments, &mut []).unwrap();
}

/// Resumes the kept continuation. Returns the number if the host value is still there.
fn resume(store: &mut Store<()>, instance: Instance) -> Option<i32> {
    let func = instance.get_func(&mut *store, "resume").unwrap();
    let mut scope = RootScope::new(store);
    let mut results = [Val::I32(0); 2];
    func.call(&mut scope, &[], &mut results).unwrap();
    let Val::ExternRef(Some(value)) = results[0] else { return None };
    value.data(&scope).unwrap().downcast_ref::<Counted>()?;
    results[1].i32()
}

#[test]
fn references_in_suspended_frames_survive_and_move() {
    for (mut store, instance, live) in engines().iter().map(holding) {
        for round in 1..5 {
            give_counted(&mut store, instance, "hold", Some(round), &live);
            for _ in 0..3 {
                number(&mut store, instance, "garbage", &[1000]).unwrap();
                store.gc();
                assert_eq!(live.load(Ordering::Relaxed), 1);
            }
            assert_eq!(resume(&mut store, instance), Some(11_000 + 2 * round));
            store.gc();
            assert_eq!(live.load(Ordering::Relaxed), 0, "it is over");
        }
    }
}

#[test]
fn bound_references_survive_and_move() {
    for (mut store, instance, live) in engines().iter().map(holding) {
        give_counted(&mut store, instance, "bind", Some(3), &live);
        for _ in 0..3 {
            number(&mut store, instance, "garbage", &[1000]).unwrap();
            store.gc();
            assert_eq!(live.load(Ordering::Relaxed), 1);
        }
        give(&mut store, instance, "hold", 4);
        assert_eq!(resume(&mut store, instance), Some(11_008), "the newer one");
        store.gc();
        assert_eq!(live.load(Ordering::Relaxed), 0, "the older one was forgotten");
        give_counted(&mut store, instance, "bind", Some(5), &live);
        store.gc();
        // It suspends again, unhandled.
        traps(call(&mut store, instance, "resume", &[]), TrapCode::UnhandledTag);
        store.gc();
        assert_eq!(live.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn values_of_abandoned_continuations_are_garbage() {
    for (mut store, instance, live) in engines().iter().map(holding) {
        for name in ["hold", "bind"] {
            for i in 0..100 {
                give_counted(&mut store, instance, name, Some(i), &live);
            }
            store.gc();
            assert_eq!(live.load(Ordering::Relaxed), 1, "{name}: the last one is kept");
            call(&mut store, instance, "forget", &[]).unwrap();
            store.gc();
            assert_eq!(live.load(Ordering::Relaxed), 0, "{name}");
        }
    }
}

#[test]
fn cycles_through_continuations_are_reclaimed() {
    for (mut store, instance, live) in engines().iter().map(holding) {
        for _ in 0..100 {
            give_counted(&mut store, instance, "cycle", None, &live);
        }
        store.gc();
        assert_eq!(live.load(Ordering::Relaxed), 1, "the last one is kept");
        number(&mut store, instance, "garbage", &[1000]).unwrap();
        assert_eq!(resume(&mut store, instance), Some(0));
        call(&mut store, instance, "forget", &[]).unwrap();
        store.gc();
        assert_eq!(live.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_dropped_store_drops_the_values_of_its_continuations() {
    for (mut store, instance, live) in engines().iter().map(holding) {
        for name in ["hold", "bind", "hold"] {
            give_counted(&mut store, instance, name, Some(1), &live);
        }
        assert!(live.load(Ordering::Relaxed) > 0);
        drop(store);
        assert_eq!(live.load(Ordering::Relaxed), 0);
    }
}

/// References of a running chain of stacks stay alive while the host runs.
#[test]
fn references_in_the_frames_of_running_stacks_survive_host_calls() {
    let text = r#"(module
        (import "host" "f" (func $f (param externref) (result externref)))
        (type $s (struct (field i32))) (type $n (func (param i32 externref) (result i32)))
        (type $k (cont $n)) (elem declare func $nested)
        (func $nested (param $n i32) (param $x externref) (result i32) (local $s (ref $s))
          (local.set $s (struct.new $s (local.get $n)))
          (if (i32.eqz (local.get $n))
            (then (drop (call $f (local.get $x))) (return (struct.get $s 0 (local.get $s)))))
          (drop (call $f (local.get $x)))
          (i32.add
            (resume $k (i32.sub (local.get $n) (i32.const 1)) (local.get $x)
              (cont.new $k (ref.func $nested)))
            (struct.get $s 0 (local.get $s))))
        (func (export "run") (param i32 externref) (result i32)
          (call $nested (local.get 0) (local.get 1))))"#;
    let host =
        |mut caller: Caller<'_, ()>, value: Option<ExternRef>| -> Result<Option<ExternRef>> {
            for i in 0..100 {
                ExternRef::new(&mut caller, i)?;
            }
            let value = value.unwrap();
            let data = value.data(&caller)?.downcast_ref::<&str>();
            anyhow::ensure!(data == Some(&"hello"));
            Ok(Some(value))
        };
    for (mut store, instance) in instances_with_host(text, host) {
        let value = ExternRef::new(&mut store, "hello").unwrap();
        let arguments = [Val::I32(10), Val::ExternRef(Some(value))];
        let found = call(&mut store, instance, "run", &arguments).unwrap();
        assert_eq!(found[0].i32(), Some(55));
    }
}
