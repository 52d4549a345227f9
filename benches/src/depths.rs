//! Rows about switches out of and into nested resumes, against the same switches without nesting.
//! Neither side should need a search.

use crate::programs::Program;
use crate::ropewalk::Ropewalk;
use crate::row::{Row, Size, ours};

/// The number of nested resumes around each suspended stack.
const DEPTHS: [(&str, &str); 4] = [("1", "1"), ("10", "10"), ("100", "100"), ("1000", "1,000")];

/// A program in which `DEPTH` stands for the depth.
macro_rules! deep {
    ($file:literal) => {
        include_str!(concat!("../programs/", $file, ".wat"))
    };
}

const BAG: &str = deep!("bag_depths");
const FIRST_CLASS: &str = deep!("first_class_depths");
const TASK: &str = deep!("task_depths");
const FIBER: &str = deep!("fiber_depths");

/// The rows, in the order of the table.
#[rustfmt::skip]
pub fn rows() -> Vec<Row> {
    [
        by_depth("bag: switch_throw", "two switch_throws", 300_000, BAG, "switch_throw"),
        by_depth("bag: switch_retire", "a stack.new, which retires", 5_000_000, BAG, "switch_retire"),
        by_depth("bag: bind", "a switch, a bound switch back", 5_000_000, BAG, "bind"),
        by_depth("bag: return_switch", "a return_switch, a switch back", 5_000_000, BAG, "return_switch"),
        by_depth("first-class: switch_call", "two stack.switch_calls", 5_000_000, FIRST_CLASS, "switch_call"),
        by_depth("first-class: switch_drop", "a new stack, which is dropped", 5_000_000, FIRST_CLASS, "switch_drop"),
        by_depth("first-class: extend", "a stack.extend from inside", 1_000_000, FIRST_CLASS, "extend"),
        by_depth("first-class: extended", "a stack.extend of the inner stack", 1_000_000, FIRST_CLASS, "extended"),
        by_depth("first-class: thrown", "two stack.switches, an exception", 500_000, FIRST_CLASS, "thrown"),
        by_depth("first-class: redirect", "a new stack, an exception moves", 300_000, FIRST_CLASS, "redirect"),
        by_depth("task: switchto", "two task.switchtos", 5_000_000, TASK, "switchto"),
        by_depth("task: between", "two round trips", 5_000_000, TASK, "between"),
        by_depth("fiber: switch", "two fiber.switches", 5_000_000, FIBER, "switch"),
        by_depth("fiber: between", "two round trips", 5_000_000, FIBER, "between"),
    ].into_iter().flatten().collect()
}

fn by_depth(
    name: &str,
    operation: &'static str,
    operations: i64,
    source: &'static str,
    export: &'static str,
) -> Vec<Row> {
    let outside = program(source, "0", export);
    let row = |(depth, written): (&str, &str)| {
        let name = String::leak(format!("{name} at depth {written}"));
        ours(name, operation, Size::of(operations), program(source, depth, export))
            .against_engine::<Ropewalk>("depth 0", outside)
    };
    DEPTHS.into_iter().map(row).collect()
}

/// A program whose text lives as long as the process.
fn program(source: &str, depth: &str, export: &'static str) -> Program {
    Program { source: String::leak(source.replace("DEPTH", depth)), export }
}
