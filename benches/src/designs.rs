//! Rows about the other designs, mostly against the same work with continuations.

use crate::programs::{Program, program};
use crate::ropewalk::Ropewalk;
use crate::row::{Row, Size, ours};

/// The rows, in the order of the table.
pub fn rows() -> Vec<Row> {
    let mut rows = bags_of_stacks();
    rows.extend(tasks());
    rows.extend(fibers());
    rows.extend(lives_of_fibers());
    rows.extend(first_class_stacks());
    rows.extend(nested());
    rows
}

#[rustfmt::skip]
fn bags_of_stacks() -> Vec<Row> {
    vec![
        compared("bag: switch", "a switch", 20_000_000, program!("bag_switch"), CONT_SWITCH),
        compared("bag: round trip", "a switch, a switch back", 20_000_000, program!("bag_round_trip"), CONT_ROUND_TRIP),
        compared("bag: create, retire", "a stack.new, a switch", 10_000_000, program!("bag_create", "finish"), CONT_FINISH),
    ]
}

#[rustfmt::skip]
fn tasks() -> Vec<Row> {
    vec![
        compared("task: round trip", "a suspend, a resume", 20_000_000, program!("task_round_trip"), CONT_ROUND_TRIP),
        compared("task: create, finish", "a task.new, a resume", 10_000_000, program!("task_create", "finish"), CONT_FINISH),
    ]
}

#[rustfmt::skip]
fn fibers() -> Vec<Row> {
    const ONE: Program = program!("fiber_events", "one");
    const FIRST: Program = program!("fiber_events", "first");
    const FOURTH: Program = program!("fiber_events", "fourth");
    const REFUSED: Program = program!("fiber_events", "refused");
    vec![
        compared("fiber: switch", "a fiber.switch", 20_000_000, program!("fiber_switch"), CONT_SWITCH),
        compared("fiber: round trip", "a mount, a dismount", 20_000_000, ONE, CONT_ROUND_TRIP),
        compared("fiber: 1st of 4 events", "a mount, a dismount", 20_000_000, FIRST, CONT_ROUND_TRIP),
        compared("fiber: 4th of 4 events", "a mount, a dismount", 20_000_000, FOURTH, Peer("the 1st of 4", FIRST)),
        compared("fiber: refused event", "a mount that falls through", 30_000_000, REFUSED, Peer("round trip", ONE)),
    ]
}

#[rustfmt::skip]
fn lives_of_fibers() -> Vec<Row> {
    const ENTERED: Program = program!("fiber_create", "entered");
    const MOUNTED: Program = program!("fiber_create", "mounted");
    const CALLED: Program = program!("fiber_create", "called");
    vec![
        compared("fiber: create, finish", "a fiber.new, a mount", 10_000_000, MOUNTED, CONT_FINISH),
        compared("fiber: mount_new", "a fiber.mount_new", 10_000_000, program!("fiber_enter", "mount_new"), Peer("new, mount", program!("fiber_enter", "new_mount"))),
        compared("fiber: mount_new", "a fiber.mount_new", 10_000_000, ENTERED, Peer("the argument sent", MOUNTED)),
        compared("fiber: mount_new", "a fiber.mount_new", 10_000_000, ENTERED, Peer("a call", CALLED)).with_peer_size(Size::of(60_000_000)),
    ]
}

#[rustfmt::skip]
fn first_class_stacks() -> Vec<Row> {
    const CAUGHT: Program = program!("first_class_switch", "caught");
    const CALLED: Program = program!("first_class_switch", "called");
    const THROWN: Program = program!("first_class_switch", "thrown");
    const ANSWERED: Program = program!("call_stack", "answered");
    const INDIRECT: Program = program!("call_stack", "indirect");
    vec![
        compared("first-class: switch", "a stack.switch", 20_000_000, CAUGHT, CONT_SWITCH),
        compared("first-class: switch_call", "a stack.switch_call", 20_000_000, CALLED, CONT_SWITCH),
        compared("first-class: thrown", "a stack.switch, an exception", 1_000_000, THROWN, Peer("caught in place", CAUGHT)).with_peer_size(Size::of(10_000_000)),
        compared("first-class: free chains of 100", "a stack that holds another", 1_000_000, program!("freeing", "hundreds"), Peer("one by one", program!("freeing", "each"))),
        compared("first-class: free a chain of 20,000", "a stack that holds another", 20_000, program!("freeing", "chain"), Peer("live, 20,000", program!("live", "finish"))),
        compared("first-class: call_stack", "a call_stack", 3_000_000, ANSWERED, Peer("call_indirect", INDIRECT)).with_peer_size(Size::of(30_000_000)),
    ]
}

/// Suspending and continuing stacks together with others.
#[rustfmt::skip]
fn nested() -> Vec<Row> {
    macro_rules! depths {
        ($name:literal, $operation:literal, $file:literal) => {
            [
                compared(concat!($name, " at depth 1"), $operation, 20_000_000, program!($file, "depth_1"), Peer("depth 0", program!($file, "depth_0"))),
                compared(concat!($name, " at depth 10"), $operation, 20_000_000, program!($file, "depth_10"), Peer("depth 0", program!($file, "depth_0"))),
                compared(concat!($name, " at depth 100"), $operation, 20_000_000, program!($file, "depth_100"), Peer("depth 0", program!($file, "depth_0"))),
                compared(concat!($name, " at depth 1,000"), $operation, 20_000_000, program!($file, "depth_1000"), Peer("depth 0", program!($file, "depth_0"))),
            ]
        };
    }
    [
        depths!("bag:", "a switch, a switch back", "bag_nested"),
        depths!("first-class:", "two stack.switches", "first_class_nested"),
        depths!("task:", "a suspend, a resume", "task_nested"),
        depths!("fiber:", "a mount, a dismount", "fiber_nested"),
    ].into_iter().flatten().collect()
}

/// What Ropewalk does on the other side, and its name in the table.
struct Peer(&'static str, Program);

const CONT_SWITCH: Peer = Peer("continuations", program!("symmetric"));
const CONT_ROUND_TRIP: Peer = Peer("continuations", program!("round_trip"));
const CONT_FINISH: Peer = Peer("continuations", program!("create", "finish"));

/// A row of this many operations, against Ropewalk itself.
fn compared(
    name: &'static str,
    operation: &'static str,
    operations: i64,
    program: Program,
    Peer(peer, other): Peer,
) -> Row {
    ours(name, operation, Size::of(operations), program).against_engine::<Ropewalk>(peer, other)
}
