//! Rows about clause lists of different lengths: the first, middle and last clause against a list
//! of one. The programs differ only in the list, and are generated here.

use crate::programs::Program;
use crate::ropewalk::Ropewalk;
use crate::row::{Row, Size, ours};

/// Numbers of clauses.
const LENGTHS: [usize; 3] = [4, 64, 256];

/// The rows, in the order of the table.
pub fn rows() -> Vec<Row> {
    let kinds: [(&str, &str, Source); 3] = [
        ("resume", "a suspend, a resume", resume),
        ("fiber", "a mount, a dismount", fiber),
        ("first-class", "two stack.switches", first_class),
    ];
    kinds
        .into_iter()
        .flat_map(|(name, operation, source)| of_kind(name, operation, source))
        .collect()
}

/// The text of a program with this many clauses that takes the one at an index.
type Source = fn(usize, usize) -> String;

fn of_kind(name: &str, operation: &'static str, source: Source) -> Vec<Row> {
    let only = program(source, 1, 0);
    let places = LENGTHS.iter().flat_map(|length| {
        let places =
            [("1st".into(), 0), (nth(length / 2), length / 2 - 1), (nth(*length), length - 1)];
        places.map(|(place, index)| (place, index, *length))
    });
    let row = |(place, index, length)| {
        let name = String::leak(format!("{name}: {place} of {length}"));
        ours(name, operation, Size::of(10_000_000), program(source, length, index))
            .against_engine::<Ropewalk>("the only one", only)
    };
    places.map(row).collect()
}

fn nth(number: usize) -> String {
    let ending = if matches!(number, 2 | 32) { "nd" } else { "th" };
    format!("{number}{ending}")
}

/// A program whose text lives as long as the process.
fn program(source: Source, length: usize, index: usize) -> Program {
    Program { source: String::leak(source(length, index)), export: "run" }
}

/// Clauses for this many tags. One branches to a label, the others to `$never`.
fn clauses(word: &str, length: usize, index: usize, label: &str) -> String {
    let target = |i| if i == index { label } else { "$never" };
    (0..length).map(|i| format!("({word} $t{i} {}) ", target(i))).collect()
}

fn tags(length: usize, params: &str) -> String {
    (0..length).map(|i| format!("(tag $t{i} (param {params})) ")).collect()
}

/// The generator of `round_trip.wat`.
fn resume(length: usize, index: usize) -> String {
    format!(
        r#"(module
  (type $body (func))
  (type $k (cont $body))
  {tags}
  (elem declare func $count)
  (func $count
    (local $i i64)
    (loop $next
      (suspend $t{index} (local.get $i))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))
  (func (export "run") (param $n i64) (result i64)
    (local $generator (ref null $k))
    (local $sum i64)
    (local.set $generator (cont.new $k (ref.func $count)))
    (block $never (result i64 (ref $k))
      (block $done
        (loop $next
          (br_if $done (i64.eqz (local.get $n)))
          (block $yielded (result i64 (ref $k))
            (resume $k {clauses} (local.get $generator))
            (unreachable))
          (local.set $generator)
          (local.set $sum (i64.add (local.get $sum)))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (br $next)))
      (return (local.get $sum)))
    (unreachable)))"#,
        tags = tags(length, "i64"),
        clauses = clauses("on", length, index, "$yielded"),
    )
}

/// Like `fiber_events.wat`: both sides wait for all events, and one event is sent in both directions.
fn fiber(length: usize, index: usize) -> String {
    format!(
        r#"(module
  (rec
    (type $fiber (cont $fiber.func))
    (type $fiber.func (func (param (ref null $fiber)))))
  (type $body (func (param (ref null $fiber) i64)))
  (import "ropewalk:fiber" "new" (func $new (param (ref $body)) (result (ref $fiber))))
  (import "ropewalk:fiber" "mount" (func $mount (param i64 (ref null $fiber))))
  (import "ropewalk:fiber" "dismount" (func $dismount (param i64 (ref null $fiber))))
  {tags}
  (elem declare func $count)
  (func $count (type $body) (param $self (ref null $fiber)) (param $i i64)
    (block $never (result i64)
      (loop $next
        (block $continue (result i64)
          (local.get $i)
          (local.get $self)
          (block $sent (param i64 (ref null $fiber)) (result i64)
            (try_table (param i64 (ref null $fiber)) (catch $t{index} $sent) {received}
              (call $dismount))
            (unreachable))
          (unreachable))
        (local.set $i (i64.add (local.get $i)))
        (br $next))
      (unreachable))
    (unreachable))
  (func (export "run") (param $n i64) (result i64)
    (local $generator (ref null $fiber))
    (local $sum i64)
    (block $sent (result i64)
      (try_table (result (ref $fiber)) (catch $t{index} $sent) (ref.func $count) (call $new))
      (local.set $generator)
      (i64.const 0))
    (drop)
    (block $never (result i64)
      (block $done
        (loop $next
          (br_if $done (i64.eqz (local.get $n)))
          (block $yielded (result i64)
            (i64.const 1)
            (local.get $generator)
            (block $sent (param i64 (ref null $fiber)) (result i64)
              (try_table (param i64 (ref null $fiber)) (catch $t{index} $sent) {answered}
                (call $mount))
              (unreachable))
            (unreachable))
          (local.set $sum (i64.add (local.get $sum)))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (br $next)))
      (return (local.get $sum)))
    (unreachable)))"#,
        tags = tags(length, "i64"),
        received = clauses("catch", length, index, "$continue"),
        answered = clauses("catch", length, index, "$yielded"),
    )
}

/// The same with first-class stacks.
fn first_class(length: usize, index: usize) -> String {
    format!(
        r#"(module
  (rec
    (type $stack (cont $stack.func))
    (type $stack.func (func (param (ref null $stack) (ref null $stack)))))
  (type $begin (func (param (ref null $stack))))
  (import "host" "new_stack" (func $new_stack (result (ref null $stack))))
  (import "ropewalk:first-class" "check_cleared" (func $check_cleared (param (ref null $stack))))
  (import "ropewalk:first-class" "switch" (func $switch (param i64 (ref null $stack))))
  (import "ropewalk:first-class" "switch_call_trap"
    (func $begin (param (ref null $stack) (ref $begin))))
  {tags}
  (elem declare func $count)
  (func $count (type $begin) (param $from (ref null $stack))
    (local $i i64)
    (block $never (result i64 (ref null $stack))
      (loop $next
        (block $continue (result i64 (ref null $stack))
          (try_table {received}
            (local.get $i)
            (local.get $from)
            (local.set $from (ref.null $stack))
            (block $sent (param i64 (ref null $stack)) (result i64 (ref null $stack))
              (try_table (param i64 (ref null $stack)) (catch $t{index} $sent) (call $switch))
              (unreachable))
            (unreachable))
          (unreachable))
        (call $check_cleared (local.get $from))
        (local.set $from)
        (local.set $i (i64.add (local.get $i)))
        (br $next))
      (unreachable))
    (unreachable))
  (func (export "run") (param $n i64) (result i64)
    (local $generator (ref null $stack))
    (local $sum i64)
    (block $begun (result i64 (ref null $stack))
      (try_table (catch $t{index} $begun)
        (call $begin (call $new_stack) (ref.func $count)))
      (unreachable))
    (local.set $generator)
    (drop)
    (block $never (result i64 (ref null $stack))
      (block $done
        (loop $next
          (br_if $done (i64.eqz (local.get $n)))
          (block $yielded (result i64 (ref null $stack))
            (try_table {answered}
              (i64.const 1)
              (local.get $generator)
              (local.set $generator (ref.null $stack))
              (block $sent (param i64 (ref null $stack)) (result i64 (ref null $stack))
                (try_table (param i64 (ref null $stack)) (catch $t{index} $sent) (call $switch))
                (unreachable))
              (unreachable))
            (unreachable))
          (call $check_cleared (local.get $generator))
          (local.set $generator)
          (local.set $sum (i64.add (local.get $sum)))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (br $next)))
      (return (local.get $sum)))
    (unreachable)))"#,
        tags = tags(length, "i64 (ref null $stack)"),
        received = clauses("catch", length, index, "$continue"),
        answered = clauses("catch", length, index, "$yielded"),
    )
}
