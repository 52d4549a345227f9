//! A failed allocation of the host during a call is an error or a trap, and the store stays usable.
//!
//! Each allocation fails in turn, in a process of its own. Allocations for errors succeed.

use crate::allocator::{fail_once_after, has_failed};
use crate::common::process::{rerun, told_by_parent};
use crate::sample::sample_or_all;
use ropewalk::*;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Structures of the host that grow with the program.
const STRUCTURES: &str = r#"(module
    (import "host" "keep" (func $keep (param i32) (result externref)))
    (type $f (func)) (type $k (cont $f))
    (type $node (struct (field (ref null $node)) (field (ref null $k)))) (tag $yield)
    (tag $e (param i32))
    (memory 1) (table $t 1 externref) (global $nodes (mut (ref null $node)) (ref.null $node))
    (elem declare func $body)
    (func $body (suspend $yield))
    (func (export "memory") (param i32) (drop (memory.grow (i32.const 1))))
    (func (export "table") (param i32) (drop (table.grow $t (ref.null extern) (i32.const 100))))
    (func (export "stacks") (param $n i32) (local $k (ref null $k))
      (loop $more
        (block $yielded (result (ref $k))
          (resume $k (on $yield $yielded) (cont.new $k (ref.func $body))) (return))
        (local.set $k)
        (global.set $nodes (struct.new $node (global.get $nodes) (local.get $k)))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "objects") (param $n i32)
      (loop $more
        (global.set $nodes (struct.new $node (global.get $nodes) (ref.null $k)))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "values") (param $n i32)
      (loop $more
        (drop (table.grow $t (call $keep (local.get $n)) (i32.const 1)))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "exceptions") (param $n i32)
      (loop $more
        (block $caught (result i32)
          (try_table (catch $e $caught) (throw $e (i32.const 1)))
          (i32.const 0))
        (drop)
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "forget") (param i32)
      (global.set $nodes (ref.null $node))
      (table.fill $t (i32.const 0) (ref.null extern) (table.size $t))))"#;

/// Stacks that grow, stay deep, and become garbage.
const GROWING: &str = r#"(module
    (type $f (func (param i32))) (type $k (cont $f)) (type $g (func)) (type $rest (cont $g))
    (tag $yield)
    (table $kept 20 (ref null $rest)) (elem declare func $down)
    (func $down (export "root") (param $n i32)
      (if (local.get $n)
        (then (call $down (i32.sub (local.get $n) (i32.const 1))))
        (else (suspend $yield))))
    (func $deep (param $n i32) (param $place i32) (local $rest (ref null $rest))
      (block $yielded (result (ref $rest))
        (resume $k (on $yield $yielded) (local.get $n) (cont.new $k (ref.func $down)))
        (return))
      (local.set $rest)
      (table.set $kept (i32.rem_u (local.get $place) (i32.const 20)) (local.get $rest)))
    (func (export "keep") (param $n i32) (local $i i32)
      (loop $more
        (call $deep (local.get $n) (local.get $i))
        (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1)))
          (i32.const 40)))))
    (func (export "forget") (param i32)
      (table.fill $kept (i32.const 0) (ref.null $rest) (i32.const 20))))"#;

/// Stacks that are used until they need other blocks.
const RENEWED: &str = r#"(module
    (type $s (struct (field i32))) (type $f (func (param (ref null $s) i32))) (type $k (cont $f))
    (type $g (func)) (type $rest (cont $g)) (tag $yield)
    (table $kept 100 (ref null $rest)) (elem declare func $body)
    (func $body (param $s (ref null $s)) (param $n i32)
      (loop $more
        (suspend $yield)
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func $begin (param $i i32) (local $rest (ref null $rest))
      (block $yielded (result (ref $rest))
        (resume $rest (on $yield $yielded)
          (cont.bind $k $rest (struct.new $s (i32.const 1)) (i32.const 100)
            (cont.new $k (ref.func $body))))
        (return))
      (local.set $rest)
      (table.set $kept (local.get $i) (local.get $rest)))
    (func $step (param $i i32) (local $rest (ref null $rest))
      (block $yielded (result (ref $rest))
        (resume $rest (on $yield $yielded) (table.get $kept (local.get $i))) (return))
      (local.set $rest)
      (table.set $kept (local.get $i) (local.get $rest)))
    (func (export "begin") (param $n i32)
      (loop $more
        (call $begin (local.tee $n (i32.sub (local.get $n) (i32.const 1))))
        (br_if $more (local.get $n))))
    (func (export "step") (param $n i32)
      (loop $more
        (call $step (local.tee $n (i32.sub (local.get $n) (i32.const 1))))
        (br_if $more (local.get $n))))
    (func (export "garbage") (param $n i32)
      (table.fill $kept (i32.const 0) (ref.null $rest) (i32.const 100))
      (loop $more
        (drop (struct.new $s (local.get $n)))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;

/// Stacks that own others, and end in several ways.
const OWNED: &str = r#"(module
    (import "host" "new_stack" (func $new (result stackref)))
    (type $t (task)) (tag $x)
    (rout $link (param $s stackref) (stack.start))
    (func $chain (param $n i32) (result stackref) (local $s stackref)
      (loop $next
        (local.set_cleared $s (stack.extend $link (local.get_clear $s) (call $new)))
        (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (local.get_clear $s))
    (func (export "drop") (param $n i32) (drop (call $chain (local.get $n))))
    (func $throws (param $n i32) (call $chain (local.get $n)) (throw $x))
    (func (export "catch") (param $n i32)
      (block $l (try_table (catch $x $l) (call $throws (local.get $n)))))
    (func $holds (param $me (ref null $t)) (param $s stackref) (task.suspend $t (local.get $me)))
    (func (export "release") (param $n i32) (local $t (ref null $t))
      (local.set $t (task.new $t $holds (call $chain (local.get $n))))
      (task.resume $t (local.get $t))
      (task.release $t (local.get $t))))"#;

/// Stacks with answers, walks through them, and copies.
const WALKED: &str = r#"(module
    (import "host" "new_stack" (func $new (result stackref)))
    (call_tag $ask (param i32) (result i32))
    (event $done (param i32)) (event $go (param i32 stackref)) (event $told (param i32 stackref))
    (global $kept (mut stackref) (ref.null stack)) (global $copy (mut stackref) (ref.null stack))
    (global $back (mut stackref) (ref.null stack))
    (func $nests (param $n i32) (result i32)
      (answer $ask (result i32) (i32.add (local.get $n)) within
        (if (result i32) (local.get $n)
          (then (call $nests (i32.sub (local.get $n) (i32.const 1))))
          (else (call_stack $ask (i32.const 1))))))
    (func (export "answers") (param $n i32) (drop (call $nests (local.get $n))))
    ;; A walk goes through n stacks. Each redirects to the one before.
    (func $finish (param $n i32) (param $main stackref)
      (stack.switch_drop $done (local.get $n) (local.get_clear $main)))
    (func $redirects (param $n i32) (param $below stackref)
      (if (i32.eqz (local.get $n))
        (then
          (stack.redirect $below (result i32) (call_stack $ask (i32.const 1)))
          (call $finish (local.get_clear $below))))
      (stack.redirect $below (result i32)
        (block $done (result i32)
          (try
            (stack.switch_call $redirects (i32.sub (local.get $n) (i32.const 1)) (call $new))
            catch $done $done)
          (unreachable)))
      (call $finish (local.get_clear $below)))
    (func (export "redirects") (param $n i32)
      (drop
        (answer $ask (result i32) (i32.add (local.get $n)) within
          (block $done (result i32)
            (try (stack.switch_call $redirects (local.get $n) (call $new)) catch $done $done)
            (unreachable)))))
    ;; A stack with many answers waits, and is copied.
    (func $send (param $to stackref)
      (block $told (result i32 stackref)
        (try (stack.switch $go (i32.const 40) (local.get_clear $to)) catch $told $told)
        (unreachable))
      (global.set_cleared $kept)
      (drop))
    (func $waits
      (block $went (result i32 stackref)
        (try (stack.switch $told (i32.const 0) (global.get_clear $back)) catch $go $went)
        (unreachable))
      (global.set_cleared $back)
      (drop))
    (func $many (param $n i32)
      (answer $ask (i32.add (local.get $n)) within
        (if (local.get $n)
          (then (call $many (i32.sub (local.get $n) (i32.const 1))))
          (else (call $waits)))))
    (rout $body
      (block $went (result i32 stackref)
        (try (stack.start) catch $go $went) (unreachable))
      (global.set_cleared $back)
      (call $many) (unreachable))
    (func (export "copies") (param $n i32) (local $c stackref)
      (drop (global.get_clear $back))
      (drop (global.get_clear $kept))
      (drop (global.get_clear $copy))
      (call $send (stack.extend $body (call $new)))
      (stack.clone (global.get_clear $kept)) (local.set_cleared $c)
      (global.set_cleared $kept) (global.set_cleared $copy (local.get_clear $c))
      (drop (global.get_clear $copy))
      (drop (global.get_clear $kept))))"#;

/// References that the host owns, and uncaught exceptions.
const HANDED_OUT: &str = r#"(module
    (import "host" "keep" (func $keep (param i32) (result externref)))
    (import "host" "own" (func $own (param externref)))
    (import "host" "fail" (func $fail))
    (import "host" "value" (func $value))
    (tag $e (param i32))
    (func (export "throws") (throw $e (i32.const 1)))
    (func (export "value") (param i32) (result (ref extern))
      (ref.as_non_null (call $keep (local.get 0))))
    (func (export "own") (param $n i32)
      (loop $more
        (call $own (call $keep (i32.const 9)))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "result") (param $n i32)
      (loop $more
        (call $value)
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "fail") (param $n i32)
      (loop $more
        (call $fail)
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;

/// A call that lets others run.
const SLICED: &str = r#"(module
    (func (export "loop") (param $n i32)
      (loop $more (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;

/// A program that makes the host's structures grow. Each function takes a number and returns.
struct Guest {
    text: &'static str,
    configure: fn(&mut Config) -> &mut Config,
    calls: &'static [(&'static str, i32)],
}

const GUESTS: [Guest; 7] = [
    Guest {
        text: STRUCTURES,
        configure: |config| config,
        calls: &[
            ("memory", 0),
            ("table", 0),
            ("stacks", 3000),
            ("objects", 100_000),
            ("values", 3000),
            ("exceptions", 10_000),
            // Makes garbage of the previous objects, which is collected.
            ("forget", 0),
            ("objects", 200_000),
            ("values", 100),
            ("forget", 0),
        ],
    },
    Guest {
        text: GROWING,
        configure: |config| config.stack_pool(1),
        calls: &[("keep", 3000), ("keep", 10), ("forget", 0), ("keep", 5000), ("forget", 0)],
    },
    Guest {
        text: RENEWED,
        configure: |config| {
            config.stress(|stress| stress.first_generation = stress::LAST_GENERATION - 2)
        },
        calls: &[
            ("begin", 100),
            ("step", 100),
            ("step", 100),
            ("step", 100),
            ("garbage", 200_000),
            ("begin", 100),
            ("step", 100),
        ],
    },
    Guest {
        text: OWNED,
        configure: |config| config,
        calls: &[("drop", 40), ("catch", 40), ("release", 40)],
    },
    Guest {
        text: WALKED,
        configure: |config| config,
        calls: &[("answers", 40), ("redirects", 20), ("copies", 40)],
    },
    Guest {
        text: HANDED_OUT,
        configure: |config| config,
        calls: &[("own", 70), ("result", 2), ("fail", 2)],
    },
    Guest {
        text: SLICED,
        configure: |config| config.interruption(true).consume_fuel(true),
        calls: &[("loop", 10_000)],
    },
];

/// The data of host functions.
#[derive(Default)]
struct Data {
    owned: Vec<Owned<ExternRef>>,
    throws: Option<TypedFunc<(), ()>>,
    value: Option<TypedFunc<i32, Owned<ExternRef>>>,
}

/// Keeps a reference, with some others.
fn own(mut caller: Caller<'_, Data>, reference: Option<ExternRef>) -> Result<()> {
    let owned = reference.unwrap().own(&mut caller)?;
    let all = &mut caller.data_mut().owned;
    if all.len() == 20 {
        all.clear();
    }
    all.try_reserve(1)?;
    all.push(owned);
    Ok(())
}

/// Calls a function whose result is owned.
fn value(mut caller: Caller<'_, Data>) -> Result<()> {
    let value = caller.data().value.clone().unwrap();
    value.call(&mut caller, 9)?.get(&mut caller)?;
    Ok(())
}

/// Calls a function that throws.
fn fail(mut caller: Caller<'_, Data>) -> Result<()> {
    let throws = caller.data().throws.clone().unwrap();
    match throws.call(&mut caller, ()) {
        Err(error) if error.is::<Exception>() => Ok(()),
        other => other,
    }
}

/// A guest with its functions, ready to be called without an allocation.
struct Running {
    store: Store<Data>,
    calls: Vec<(TypedFunc<i32, ()>, i32)>,
}

impl Guest {
    fn start(&self) -> Result<Running> {
        let engine = Engine::new((self.configure)(&mut Config::new()))?;
        let module = Module::new(&engine, self.text)?;
        let mut store = Store::new(&engine, Data::default());
        if store.set_fuel(1 << 40).is_ok() {
            store.fuel_async_yield_interval(Some(1000))?;
        }
        let mut linker = Linker::new(&engine);
        // The first few values need a box, whose allocation may fail.
        linker.func_wrap("host", "keep", |mut caller: Caller<'_, Data>, n: i32| match n {
            1..5 => ExternRef::new(&mut caller, n).map(Some),
            _ => ExternRef::new(&mut caller, ()).map(Some),
        })?;
        linker.func_wrap("host", "own", own)?;
        linker.func_wrap("host", "value", value)?;
        linker.func_wrap("host", "fail", fail)?;
        let instance = linker.instantiate(&mut store, &module)?;
        store.data_mut().throws = instance.get_typed_func(&mut store, "throws").ok();
        store.data_mut().value = instance.get_typed_func(&mut store, "value").ok();
        let calls = self.calls.iter();
        let calls =
            calls.map(|(name, count)| Ok((instance.get_typed_func(&mut store, name)?, *count)));
        let calls = calls.collect::<Result<_>>()?;
        Ok(Running { store, calls })
    }
}

impl Running {
    fn run(&mut self) -> Result<()> {
        for (function, count) in &self.calls {
            let mut call = pin!(function.call_async(&mut self.store, *count));
            let mut context = Context::from_waker(Waker::noop());
            loop {
                if let Poll::Ready(result) = call.as_mut().poll(&mut context) {
                    result?;
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Runs a guest while its allocation with this number fails; returns whether it has one.
fn with_failure(guest: &Guest, after: usize) -> bool {
    let mut running = guest.start().unwrap();
    fail_once_after(after);
    let result = running.run();
    let failed = has_failed();
    if let Err(error) = &result {
        assert!(failed && error.is::<Trap>() || error.is::<HostError>(), "{error:?}");
    }
    running.run().unwrap();
    failed
}

/// What a child prints before each failure.
const NEXT: &str = "fails next: ";

/// The exit code of a child that left allocations for the next one.
const MORE: i32 = 10;

/// A child tries one allocation after another. When it dies, another child continues with the next
/// allocation. A full run has a process for each allocation.
#[test]
fn an_allocation_that_fails_is_an_error() {
    if let Some(told) = told_by_parent() {
        let (guest, first) = told.split_once(' ').unwrap();
        let guest = &GUESTS[guest.parse::<usize>().unwrap()];
        let first: usize = first.parse().unwrap();
        let fails = |after: &usize| {
            println!("{NEXT}{after}");
            with_failure(guest, *after)
        };
        // Only the first runs of a process try the allocations that it makes once.
        let count = sample_or_all(usize::MAX, 1);
        let tried = (first..).take_while(fails).take(count).count();
        std::process::exit(if tried == count { MORE } else { 0 });
    }
    let mut died = vec![];
    for number in 0..GUESTS.len() {
        let mut first = 0;
        loop {
            let mut child = rerun(&format!("{number} {first}"));
            let output = child.env("RUST_BACKTRACE", "0").output().unwrap();
            match output.status.code() {
                Some(0) => break,
                Some(MORE) => {
                    first += 1;
                    continue;
                }
                _ => {}
            }
            let stdout = String::from_utf8_lossy(&output.stdout);
            let last = stdout.lines().rev().find_map(|line| line.strip_prefix(NEXT));
            let last = last.unwrap_or_else(|| panic!("{output:?}"));
            first = last.parse::<usize>().unwrap() + 1;
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            died.push(format!("guest {number}, allocation {last}: {stderr}"));
            assert!(died.len() < 10, "{died:#?}");
        }
    }
    assert!(died.is_empty(), "{died:#?}");
}
