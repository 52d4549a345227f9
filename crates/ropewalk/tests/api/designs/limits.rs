//! The limit of stacks, and the memory of many stacks, in each design whose stacks WebAssembly makes.

use crate::common::*;
use ropewalk::*;

/// A design, its program, and the trap of a reference to a stack that has ended.
///
/// `make at` puts a suspended stack into a table, `next` continues it until it is suspended again,
/// `finish` until it ends. `forget` drops the reference. `abandon n` makes and drops n stacks, and
/// `use n` makes and ends n stacks.
const PROGRAMS: [(&str, &str, TrapCode); 4] = [
    ("continuations", CONTINUATIONS, TrapCode::ContinuationConsumed),
    ("bag", BAG, TrapCode::StackUsed),
    ("tasks", TASKS, TrapCode::TaskMoribund),
    ("fibers", FIBERS, TrapCode::FiberMoribund),
];

/// The exports, for a program with the table and the functions `$new`, `$next` and `$finish`. The
/// last entry of the table is always null.
const EXPORTS: &str = r#"
    (func (export "make") (param $at i32) (table.set $t (local.get $at) (call $new)))
    (func (export "next") (param $at i32)
      (table.set $t (local.get $at) (call $next (table.get $t (local.get $at)))))
    (func (export "finish") (param $at i32) (call $finish (table.get $t (local.get $at))))
    (func (export "forget") (param $at i32) (table.set $t (local.get $at) (table.get $t (i32.const 199))))
    (func (export "abandon") (param $n i32)
      (loop $more
        (drop (call $new))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "use") (param $n i32)
      (loop $more
        (call $finish (call $new))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))"#;

const CONTINUATIONS: &str = r#"
    (type $f (func)) (type $k (cont $f)) (type $rf (func (param i32))) (type $r (cont $rf))
    (tag $yield (result i32)) (elem declare func $body) (table $t 200 (ref null $r))
    (func $body (loop $more (br_if $more (suspend $yield))))
    (func $new (result (ref null $r))
      (block $h (result (ref $r))
        (resume $k (on $yield $h) (cont.new $k (ref.func $body))) (unreachable)))
    (func $next (param (ref null $r)) (result (ref null $r))
      (block $h (result (ref $r))
        (resume $r (on $yield $h) (i32.const 1) (local.get 0)) (unreachable)))
    (func $finish (param (ref null $r)) (resume $r (i32.const 0) (local.get 0)))"#;

const BAG: &str = r#"
    (type $c (stack (param i32) (ref null $c))) (table $t 200 (ref null $c))
    (func $body (param $more i32) (param $from (ref null $c))
      (loop $next
        (if (i32.eqz (local.get $more))
          (then (switch_retire $c (i32.const 0) (local.get $from))))
        (switch $c (i32.const 1) (local.get $from)) (local.set $from) (local.set $more)
        (br $next)))
    (func $new (result (ref null $c)) (call $next (stack.new $c $body)))
    (func $next (param (ref null $c)) (result (ref null $c)) (local $c (ref null $c))
      (switch $c (i32.const 1) (local.get 0)) (local.set $c) (drop) (local.get $c))
    (func $finish (param (ref null $c)) (switch $c (i32.const 0) (local.get 0)) (drop) (drop))"#;

const TASKS: &str = r#"
    (type $k (task)) (table $t 200 (ref null $k))
    (func $body (param $me (ref null $k)) (loop $more (task.suspend $k (local.get $me)) (br $more)))
    (func $new (result (ref null $k)) (call $next (task.new $k $body)))
    (func $next (param (ref null $k)) (result (ref null $k))
      (task.resume $k (local.get 0)) (local.get 0))
    (func $finish (param (ref null $k)) (task.release $k (local.get 0)))"#;

const FIBERS: &str = r#"
    (tag $go) (tag $stop) (tag $out) (tag $done) (table $t 200 fiberref)
    (func $body (param $me fiberref)
      (block $stop
        (loop $more (fiber.dismount $out (on $go $more) (on $stop $stop) (local.get $me)))))
    (func $new (result fiberref) (call $next (fiber.new $done (on $go $body))))
    (func $next (param fiberref) (result fiberref)
      (block $out (fiber.mount $go (on $out $out) (local.get 0)) (unreachable)) (local.get 0))
    (func $finish (param fiberref)
      (block $done (fiber.mount $stop (on $done $done) (local.get 0)) (unreachable)))"#;

/// Runs a check with a function that calls an export, in each design.
fn each(
    engines: &[Engine],
    check: impl Fn(&str, TrapCode, &mut dyn FnMut(&str, i32) -> Result<i32>),
) {
    for (design, program, stale) in PROGRAMS {
        for engine in engines {
            let text = format!("(module {program} {EXPORTS})");
            let (mut store, instance) = instantiate_in(engine, text);
            check(design, stale, &mut |name, n| number(&mut store, instance, name, &[n]));
        }
    }
}

#[test]
fn too_many_stacks_is_a_trap_and_the_store_stays_usable() {
    each(&engines_with_max_stacks(100), |design, stale, run| {
        // The test does not assume whether a root counts.
        let count = (0..).find(|at| run("make", *at).is_err()).unwrap();
        assert!((99..=100).contains(&count), "{design}: {count}");
        let mut replace = |end: &str, old: std::ops::Range<i32>, new: std::ops::Range<i32>| {
            for _ in 0..3 {
                let full = run("make", 150).unwrap_err();
                assert_eq!(trap(&full).code(), TrapCode::TooManyStacks, "{design}");
                assert_eq!(names(&full).last(), Some(&"make"), "{design}");
            }
            for (name, at) in old.map(|at| (end, at)).chain(new.map(|at| ("make", at))) {
                run(name, at).unwrap();
            }
        };
        // Ended stacks make room even if referenced, and so do forgotten ones.
        replace("finish", 0..20, 100..120);
        replace("forget", 20..70, 20..70);
        replace("next", 20..count, 0..0);
        for at in 0..20 {
            assert_eq!(code(run("next", at)), stale, "{design}");
        }
        for at in (20..count).chain(100..120) {
            run("next", at).unwrap();
        }
    });
}

#[test]
fn abandoned_and_ended_stacks_do_not_count() {
    each(&engines_with_max_stacks(100), |_, _, run| {
        (0..90).for_each(|at| assert!(run("make", at).is_ok()));
        run("abandon", 10_000).unwrap();
        run("use", 10_000).unwrap();
        (0..90).for_each(|at| assert!(run("next", at).is_ok()));
    });
}

#[test]
fn a_million_abandoned_and_ended_stacks_take_bounded_memory() {
    alone(|| {
        each(&[Engine::default()], |design, _, run| {
            let before = memory("VmRSS:");
            run("abandon", 1_000_000).unwrap();
            run("use", 1_000_000).unwrap();
            let grown = memory("VmRSS:").saturating_sub(before);
            assert!(grown < 300 << 10, "{design}: {grown} KiB");
        });
    });
}
