//! Rows about `cont.bind` and `stack.bind`, each against the same work without it.

use crate::programs::{Program, program};
use crate::ropewalk::Ropewalk;
use crate::row::{Row, Size, ours};

/// Numbers of parameters. A function may have at most the last.
const MANY: [(usize, &str); 4] =
    [(4, "bind 4"), (16, "bind 16"), (64, "bind 64"), (1000, "bind 1,000")];

/// The rows, in the order of the table.
#[rustfmt::skip]
pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        compared("bind", "a cont.new, bound, a resume", 10_000_000, program!("bind", "bound"), ("create, finish", program!("bind", "plain"))),
        compared("bind a reference", "a cont.new, bound, a resume", 10_000_000, program!("bind", "bound_references"), ("create, finish", program!("bind", "plain_references"))),
        compared("bind a suspended one", "a resume of one partly bound, a suspend", 10_000_000, program!("bind", "partly"), ("round trip", program!("bind", "resumed"))),
        compared("bag: bind", "a stack.new, bound, a switch", 10_000_000, program!("bag_bind", "bound"), ("two switches", program!("bag_bind", "switched"))),
    ];
    rows.extend(MANY.map(|(count, name)| {
        let [bound, plain] = ["bound", "plain"].map(|export| Program { source: many(count), export });
        compared(name, "a cont.new, bound, a resume", 40_000_000 / count as i64, bound, ("create, finish", plain))
    }));
    rows
}

fn compared(
    name: &'static str,
    operation: &'static str,
    operations: i64,
    program: Program,
    (peer, other): (&'static str, Program),
) -> Row {
    ours(name, operation, Size::of(operations), program).against_engine::<Ropewalk>(peer, other)
}

/// A program like `bind.wat` with this many arguments.
fn many(count: usize) -> &'static str {
    let params = "i64 ".repeat(count);
    let arguments = "(local.get $n) ".repeat(count);
    let sum: String = (1..count).map(|i| format!("(i64.add (local.get {i})) ")).collect();
    let run = |export: &str, resume: &str| {
        format!(
            r#"
  (func (export "{export}") (param $n i64) (result i64)
    (local $sum i64)
    (loop $next
      (local.set $sum (i64.add (local.get $sum) {resume}))
      (br_if $next (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum))"#
        )
    };
    let new = "(cont.new $fresh (ref.func $sum))";
    let plain = run("plain", &format!("(resume $fresh {arguments} {new})"));
    let bound =
        run("bound", &format!("(resume $ready (cont.bind $fresh $ready {arguments} {new}))"));
    let source = format!(
        r#"(module
  (type $all (func (param {params}) (result i64))) (type $fresh (cont $all))
  (type $none (func (result i64))) (type $ready (cont $none))
  (elem declare func $sum)
  (func $sum (type $all) (local.get 0) {sum})
{plain}{bound})"#
    );
    // It is made once, for the life of the process.
    source.leak()
}
