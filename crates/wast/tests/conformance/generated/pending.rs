//! Pending arguments and payloads: bound to a continuation or a coroutine, passed to a new task or
//! fiber, or in flight in a switch. Each of them arrives, whatever their number, and the collector
//! finds the references among them.

use super::repeat;
use ropewalk::stress::{self, Mode};
use ropewalk::{Config, Engine, Instance, Module, Store, TrapCode, Val};
use ropewalk_wast::WastRunner;

/// Numbers of values that travel in registers, on the stack, and through the transfer area.
const COUNTS: &[usize] = &[1, 2, 3, 4, 7, 64, 65, 300, 998];

/// A module with functions of all designs. Each creates `count` structs, which are pending while
/// garbage is created.
fn module(count: usize) -> String {
    let refs = "(ref null $s) ".repeat(count);
    let rest = "(ref null $s) ".repeat(count - count / 2);
    let (first, second) = (structs(0..count / 2), structs(count / 2..count));
    let all = structs(0..count);
    let locals = repeat(count, |i| format!("(local.get {i})"));
    let locals_from_1 = repeat(count, |i| format!("(local.get {})", i + 1));
    format!(
        r#"(module
  (type $s (struct (field i32)))
  (type $sum (func (param {refs}) (result i64)))
  (type $rest (func (param {rest}) (result i64)))
  (type $none (func (result i64)))
  (type $give (func (result {refs})))
  (type $nothing (func))
  (type $k (cont $sum)) (type $k-rest (cont $rest)) (type $k-none (cont $none))
  (type $k-give (cont $give)) (type $k-nothing (cont $nothing))
  (tag $ask (result {refs}))
  (tag $given (param {refs}))
  (elem declare func $sum $asks $gives $hands)

  (func $garbage (local $i i32)
    (loop $more
      (drop (struct.new $s (i32.const -1)))
      (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1)))
        (i32.const 3)))))
  ;; Returns the sum of each struct's number times its position.
  (func $sum (type $sum) (local $sum i64)
    (call $garbage)
    {sum}
    (local.get $sum))
  (func $asks (type $none) (call $sum (suspend $ask)))
  (func $gives (type $give) {all} (call $garbage))
  (func $hands (type $nothing) (suspend $given {all}))

  (func $new (result (ref $k)) (cont.new $k (ref.func $sum)))
  (func $suspended (result (ref $k))
    (block $h (result (ref $k))
      (resume $k-none (on $ask $h) (cont.new $k-none (ref.func $asks)))
      (unreachable)))
  (func $all-bound (param (ref $k)) (result i64)
    (cont.bind $k $k-none {all} (local.get 0))
    (call $garbage)
    (resume $k-none))
  (func $some-bound (param (ref $k)) (result i64) (local $r (ref null $k-rest))
    (local.set $r (cont.bind $k $k-rest {first} (local.get 0)))
    (call $garbage)
    (local.set $r (cont.bind $k-rest $k-rest (local.get $r)))
    (resume $k-rest {second} (local.get $r)))
  (func $bound-twice (param (ref $k)) (result i64)
    (cont.bind $k-rest $k-none {second}
      (cont.bind $k $k-rest {first} (local.get 0)))
    (call $garbage)
    (resume $k-none))
  (func (export "continuations") (result i64 i64 i64 i64 i64 i64 i64 i64)
    (call $all-bound (call $new)) (call $all-bound (call $suspended))
    (call $some-bound (call $new)) (call $some-bound (call $suspended))
    (call $bound-twice (call $new)) (call $bound-twice (call $suspended))
    (call $sum (resume $k-give (cont.new $k-give (ref.func $gives))))
    (call $handed))
  (func $handed (result i64) (local $k (ref null $k-nothing))
    (block $h (result {refs} (ref $k-nothing))
      (resume $k-nothing (on $given $h) (cont.new $k-nothing (ref.func $hands)))
      (unreachable))
    (local.set $k)
    (call $garbage)
    (call $sum))

  ;; Bag of stacks.
  (type $end (stack (ref null $end)))
  (type $back (stack (param i64) (ref null $end)))
  (type $c (stack (param {refs}) (ref null $back)))
  (type $c-rest (stack (param {rest}) (ref null $back)))
  (type $c-none (stack (ref null $back)))
  (func $body (param {refs}) (param $back (ref null $back))
    (switch_retire $back (call $sum {locals}) (local.get $back)))
  (func (export "coroutines") (result i64 i64 i64)
    (local $c-none (ref null $c-none)) (local $c-rest (ref null $c-rest))
    (switch $c {all} (stack.new $c $body)) (drop)
    (local.set $c-none (stack.bind $c $c-none {all} (stack.new $c $body)))
    (call $garbage)
    (switch $c-none (local.get $c-none)) (drop)
    (local.set $c-rest (stack.bind $c $c-rest {first} (stack.new $c $body)))
    (call $garbage)
    (switch $c-rest {second} (local.get $c-rest)) (drop))

  ;; Tasks.
  (type $t (task (result i64)))
  (type $u (task (param {refs}) (result {refs})))
  (func $task (param (ref null $t)) (param {refs}) (result i64) (call $sum {locals_from_1}))
  (func $echo (param $me (ref null $u)) (param {refs}) (result {refs})
    (call $garbage)
    (task.suspend $u (local.get $me) {locals_from_1})
    (call $garbage))
  (func (export "tasks") (result i64 i64 i64)
    (local $t (ref null $t)) (local $u (ref null $u))
    (local.set $t (task.new $t $task {all}))
    (call $garbage)
    (task.resume $t (local.get $t))
    (local.set $u (task.new $u $echo))
    (call $sum (task.resume $u (local.get $u) {all}))
    (call $sum (task.resume $u (local.get $u) {all})))

  ;; Fibers.
  (tag $go) (tag $done (param i64))
  (func $fiber (param {refs}) (param fiberref) (result i64) (call $sum {locals}))
  (func $hander (param fiberref)
    (fiber.dismount $given {all} (local.get 0))
    (unreachable))
  (func (export "fibers") (result i64 i64) (local $f fiberref)
    (local.set $f (fiber.new $done (on $go $fiber) {all}))
    (call $garbage)
    (block $done (result i64)
      (fiber.mount $go (on $done $done) (local.get $f))
      (unreachable))
    (call $fiber-hands))
  (func $fiber-hands (result i64)
    (block $given (result {refs})
      (fiber.mount $go (on $given $given) (fiber.new (on $go $hander)))
      (unreachable))
    (call $garbage)
    (call $sum)))
"#,
        sum = repeat(count, |i| {
            format!(
                "(local.set $sum (i64.add (local.get $sum) (i64.mul (i64.const {}) \
                 (i64.extend_i32_s (struct.get $s 0 (local.get {i}))))))\n",
                i + 1
            )
        }),
    )
}

fn structs(numbers: std::ops::Range<usize>) -> String {
    numbers.map(|i| format!("(struct.new $s (i32.const {})) ", 7 * i + 5)).collect()
}

/// The result of `$sum` for the structs in order.
fn expected(count: usize) -> i64 {
    (0..count as i64).map(|i| (i + 1) * (7 * i + 5)).sum()
}

const EXPORTS: [(&str, usize); 4] =
    [("continuations", 8), ("coroutines", 3), ("tasks", 3), ("fibers", 2)];

fn check_count(mode: Mode, count: usize) {
    let engine = Engine::new(&mode.config()).expect("the configuration is supported");
    let sum = format!("(i64.const {}) ", expected(count));
    let assertions = EXPORTS.map(|(name, results)| {
        format!("(assert_return (invoke \"{name}\") {})\n", sum.repeat(results))
    });
    let script = module(count) + &assertions.concat();
    let report = WastRunner::new(&engine).run_script(&format!("{count} pending"), &script);
    assert!(report.failures.is_empty(), "{report}");
}

#[test]
fn every_one_arrives() {
    for &count in COUNTS {
        check_count(stress::DEFAULT, count);
    }
}

#[test]
fn every_one_arrives_while_stacks_move_and_every_allocation_collects() {
    for &count in &COUNTS[..6] {
        check_count(stress::COLLECT_AND_MOVE, count);
    }
}

#[test]
fn every_one_arrives_while_every_allocation_collects() {
    check_count(stress::COLLECT, 300);
}

#[test]
fn so_many_that_a_stack_does_not_hold_them_exhaust_it() {
    for (size, counts) in [(8 << 10, &[300, 998][..]), (16 << 10, &[300]), (24 << 10, &[998])] {
        let mut config = Config::new();
        config.stack_size(size).stress(|stress| stress.fail_to_grow = true);
        let engine = Engine::new(&config).expect("the size is supported");
        for &count in counts {
            let binary = ropewalk_text::Text::parse(&module(count)).expect("well-formed");
            let module = Module::new(&engine, binary.binary()).expect("valid");
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &module, &[]).expect("no imports");
            for (name, results) in EXPORTS {
                let func = instance.get_func(&mut store, name).expect("exported");
                for _ in 0..3 {
                    let mut values = vec![Val::I64(0); results];
                    match func.call(&mut store, &[], &mut values) {
                        Ok(()) => {
                            let sums = values.iter().map(|value| value.i64());
                            assert!(sums.into_iter().all(|sum| sum == Some(expected(count))));
                        }
                        Err(error) => {
                            let trap = error.downcast_ref::<ropewalk::Trap>();
                            let code = trap.map(|trap| trap.code());
                            assert_eq!(code, Some(TrapCode::CallStackExhausted), "{name}");
                        }
                    }
                }
            }
        }
    }
}
