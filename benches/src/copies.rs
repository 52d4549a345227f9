//! Rows about copies of continuations: the cost of a copy by the size of its frames, and programs
//! with copies against the same programs without.

use ::ropewalk as rw;
use anyhow::{Context as _, Result};

use crate::programs::{Program, program};
use crate::resident::resident;
use crate::ropewalk::Ropewalk;
use crate::row::{Prepare, Row, Run, Size, Unit, ours};

/// The rows, in the order of the table.
#[rustfmt::skip]
pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        compared("clone: new", "a cont.clone, a resume", 10_000_000, program!("clone", "new"), ("cont.new, resume", program!("clone", "made"))),
        compared("clone: suspended", "a cont.clone, a resume", 10_000_000, program!("clone", "suspended"), ("cont.new, resume", program!("clone", "made"))),
        compared("clone: suspended", "a cont.clone, a resume", 10_000_000, program!("clone", "suspended"), ("run there again", program!("clone", "begun"))),
    ];
    rows.extend(DEPTHS.map(|(depth, name, operations)| {
        compared(name, "a stack.clone, a drop", operations, deep(depth), ("no frames more", deep("0"))).with_peer_size(Size::of(3_000_000))
    }));
    rows.extend(PROGRAMS.map(|Written { name, operation, example, copies, without, operations }| {
        let [copies, without] = [copies, without].map(|call| repeated(example, call));
        compared(name, operation, operations, copies, ("without copies", without))
    }));
    rows.push(kept("clone: kept", "a copy that waits", 0));
    rows.push(kept("clone: kept, 100 frames more", "a copy that waits", 100));
    rows
}

/// The memory of a parked copy of a continuation with this many more frames.
fn kept(name: &'static str, operation: &'static str, depth: usize) -> Row {
    let size = Size::of(100_000);
    let ours = keeps(depth);
    Row { name, operation, unit: Unit::Bytes, size, ours, peer: None, apart: true }
}

fn keeps(depth: usize) -> Prepare {
    Box::new(move || {
        let mut store = rw::Store::new(&rw::Engine::default(), ());
        let source = include_str!("../programs/clone_kept.wat");
        let module = rw::Module::new(store.engine(), source)?;
        let instance = rw::Instance::new(&mut store, &module, &[])?;
        let body = instance.get_func(&mut store, "body").context("exported")?;
        let begun = rw::Continuation::new(&mut store, body)?;
        let resumed = begun.resume(&mut store, &[rw::Val::I32(depth as i32)])?;
        let rw::Resumed::Suspended { continuation, .. } = resumed else {
            anyhow::bail!("it suspends");
        };
        Ok(Box::new(move |_, times| {
            let before = resident()?;
            let copy = |_| continuation.try_clone(&mut store);
            let all = (0..times).map(copy).collect::<Result<Vec<_>>>()?;
            store.park_idle();
            Ok(Run { cost: resident()? - before, result: all.len() as i64 })
        }))
    })
}

/// The number of suspended frames, and of copies.
const DEPTHS: [(&str, &str, i64); 4] = [
    ("10", "clone: 10 frames more", 2_000_000),
    ("100", "clone: 100 frames more", 500_000),
    ("1000", "clone: 1,000 frames more", 50_000),
    ("10000", "clone: 10,000 frames more", 5_000),
];

fn deep(depth: &str) -> Program {
    let source = include_str!("../programs/clone_bytes.wat").replace("DEPTH", depth);
    Program { source: String::leak(source), export: "run" }
}

/// An example program, with and without copies.
struct Written {
    name: &'static str,
    operation: &'static str,
    example: &'static str,
    copies: &'static str,
    without: &'static str,
    operations: i64,
}

macro_rules! example {
    ($file:literal) => {
        include_str!(concat!("../../examples/", $file, ".wat"))
    };
}

const PROGRAMS: [Written; 5] = [
    Written {
        name: "clone: queens",
        operation: "6 queens, all ways",
        example: example!("clone-queens"),
        copies: "(call $ways (i32.const 6))",
        without: "(call $placed (i32.const 6))",
        operations: 2_000,
    },
    Written {
        name: "clone: search",
        operation: "all ways of 3 steps",
        example: example!("clone-search"),
        copies: "(call $reach (i32.const 3))",
        without: "(call $walked (i32.const 3))",
        operations: 100_000,
    },
    Written {
        name: "clone: probability",
        operation: "3 coins, all throws",
        example: example!("clone-probability"),
        copies: "(call $exact)",
        without: "(call $loop)",
        operations: 200_000,
    },
    Written {
        name: "clone: parser",
        operation: "8 letters, all readings",
        example: example!("clone-parser"),
        copies: "(call $readings (i32.const 8))",
        without: "(call $counted (i32.const 8))",
        operations: 2_000,
    },
    Written {
        name: "clone: retry",
        operation: "100 steps, some fail",
        example: example!("clone-retry"),
        copies: "(call $run)",
        without: "(call $begin-anew)",
        operations: 20_000,
    },
];

/// A program that repeats a call of an example, and adds up the results.
fn repeated(example: &str, call: &str) -> Program {
    let module = example.trim_end().strip_suffix(')').expect("a module ends with a parenthesis");
    let source = format!(
        r#"{module}

  (func (export "run") (param $n i64) (result i64)
    (local $sum i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $sum (i64.add (local.get $sum) (i64.extend_i32_u {call})))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum)))"#
    );
    Program { source: String::leak(source), export: "run" }
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
