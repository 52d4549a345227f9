//! Operations, with the locals that they read and set. Reading a local of type
//! [`Ty::Linear`](super::Ty::Linear) clears it. Setting one that is not null traps.

use super::{BlockId, FunctionId, Local, TagId};
use std::slice::from_ref;

#[derive(Clone, Debug)]
pub enum Op {
    /// Sets a number.
    Const { to: Local, value: i64 },
    /// `to := a * 31 + b`.
    Mix { to: Local, a: Local, b: Local },
    /// Moves or copies a value.
    Copy { to: Local, from: Local },
    /// Whether a reference is null; a linear one is dropped by that.
    IsNull { to: Local, from: Local },
    /// Drops a linear reference.
    Drop { from: Local },
    /// Passes a number to the host.
    Log { from: Local },
    /// Mixes a number into the program's digest, without calling the host.
    Note { from: Local },
    /// Reads a global.
    GlobalGet { to: Local, global: usize },
    /// Sets a global.
    GlobalSet { global: usize, from: Local },
    /// Reads an element of a table.
    TableGet { to: Local, table: usize, index: i64 },
    /// Sets an element of a table.
    TableSet { table: usize, index: i64, from: Local },
    /// A struct of a number and an object.
    NewStruct { to: Local, number: Local, object: Local },
    /// An array of this many equal numbers.
    NewArray { to: Local, number: Local, length: i64 },
    /// An `i31`.
    NewI31 { to: Local, number: Local },
    /// The number in an object, whatever it is.
    Number { to: Local, object: Local },
    /// A struct with a reference in it.
    Wrap { to: Local, from: Local },
    /// The reference in such a struct; anything else traps. A linear one is null
    /// there then.
    Unwrap { to: Local, object: Local },
    /// Puts a linear reference into such a struct; traps if one is there.
    Refill { object: Local, from: Local },
    /// Whether a linear reference is in such a struct.
    IsCleared { to: Local, object: Local },

    /// Reads the next number of the program's script; 0 after its end.
    Next { to: Local },
    /// Runs the block with a number, if it exists.
    Choose { number: Local, arms: Vec<BlockId> },
    /// Runs one block or the other.
    If { condition: Local, then: BlockId, otherwise: BlockId },
    /// Runs a block as often as the counter says, at least once.
    Loop { counter: Local, body: BlockId },
    /// Runs a block with catches around it.
    Try { body: BlockId, catches: Vec<Catch> },
    /// Throws an exception.
    Throw { tag: TagId, args: Vec<Local> },
    /// Throws an exception again.
    ThrowRef { exn: Local },
    /// Leaves the function.
    Return,
    /// Traps.
    Unreachable,
    /// Calls a function.
    Call { function: FunctionId, args: Vec<Local>, to: Vec<Local> },
    /// Calls a function in place of this one.
    ReturnCall { function: FunctionId, args: Vec<Local> },

    /// Calls the host, which calls a function of type
    /// [`Signature::entry`](super::Signature::entry). If that fails, the host function fails too,
    /// unless `swallow` is set: then it returns -1 for a trap and -2 for an exception.
    Enter { function: FunctionId, argument: Local, swallow: bool, to: Local },
    /// Calls the host, which throws tag 0.
    HostThrow { number: Local },
    /// Calls the host, which fails.
    HostFail,

    /// Of typed continuations.
    Typed(Typed),
    /// Of the bag of stacks.
    Bag(Bag),
    /// Of tasks.
    Task(Task),
    /// Of fibers.
    Fiber(Fiber),
    /// Of first-class stacks.
    FirstClass(FirstClass),
}

impl Op {
    /// The locals for its results.
    pub fn results(&self) -> &[Local] {
        match self {
            Op::Const { to, .. } | Op::Mix { to, .. } | Op::Copy { to, .. } => from_ref(to),
            Op::IsNull { to, .. } | Op::GlobalGet { to, .. } => from_ref(to),
            Op::TableGet { to, .. } | Op::NewStruct { to, .. } => from_ref(to),
            Op::NewArray { to, .. } | Op::NewI31 { to, .. } => from_ref(to),
            Op::Number { to, .. } | Op::Wrap { to, .. } | Op::Unwrap { to, .. } => from_ref(to),
            Op::IsCleared { to, .. } | Op::Next { to } | Op::Enter { to, .. } => from_ref(to),
            Op::Call { to, .. } => to,
            Op::Typed(op) => match op {
                Typed::New { to, .. } | Typed::Bind { to, .. } => from_ref(to),
                Typed::Clone { to, .. } => from_ref(to),
                Typed::Suspend { to, .. } | Typed::Resume { to, .. } => to,
                Typed::Switch { to, .. } => to,
            },
            Op::Bag(op) => match op {
                Bag::New { to, .. } | Bag::Bind { to, .. } | Bag::Clone { to, .. } => from_ref(to),
                Bag::Switch { to, .. } | Bag::Throw { to, .. } => to,
                _ => &[],
            },
            Op::Task(op) => match op {
                Task::New { to, .. } => from_ref(to),
                Task::Resume { to, .. } | Task::Suspend { to, .. } => to,
                Task::SwitchTo { to, .. } => to,
                Task::Retire { .. } | Task::Release { .. } => &[],
            },
            Op::Fiber(Fiber::New { to, .. }) => from_ref(to),
            Op::Fiber(Fiber::Start { to, .. }) => to,
            Op::FirstClass(op) => match op {
                FirstClass::NewStack { to } | FirstClass::Extend { to, .. } => from_ref(to),
                FirstClass::Clone { to, .. } => to,
                FirstClass::CallStack { to, .. } => to,
                _ => &[],
            },
            _ => &[],
        }
    }

    /// Whether it burns fuel. A rout cannot burn fuel before `stack.start`, so its `stack.extend`
    /// does.
    pub fn burns_fuel(&self) -> bool {
        match self {
            Op::Typed(Typed::Clone { .. }) | Op::Bag(Bag::Clone { .. }) => true,
            Op::FirstClass(op) => matches!(
                op,
                FirstClass::Clone { .. } | FirstClass::Extend { .. } | FirstClass::CallStack { .. }
            ),
            _ => false,
        }
    }
}

/// A catch of a `try_table`.
#[derive(Clone, Debug)]
pub struct Catch {
    /// The tag; `None` catches all.
    pub tag: Option<TagId>,
    /// The locals for the values; with `with_ref` the exception is the last.
    pub to: Vec<Local>,
    /// Whether it is a `catch_ref` or `catch_all_ref`.
    pub with_ref: bool,
    /// The code that runs then.
    pub handler: BlockId,
}

/// A clause with a label: `(on $tag $label)`.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The tag.
    pub tag: TagId,
    /// The locals for the values.
    pub to: Vec<Local>,
    /// The code that runs then.
    pub handler: BlockId,
}

/// A clause of `resume`.
#[derive(Clone, Debug)]
pub enum Handler {
    /// `(on $tag $label)`; the continuation is the last value.
    Label(Clause),
    /// `(on $tag switch)`.
    Switch(TagId),
}

/// The operands of a resumption.
#[derive(Clone, Debug)]
pub enum With {
    /// Values.
    Values(Vec<Local>),
    /// A new exception: `resume_throw`.
    Throw(TagId, Vec<Local>),
    /// An existing exception: `resume_throw_ref`.
    ThrowRef(Local),
}

/// Operations of typed continuations. `ty` numbers continuation types.
#[derive(Clone, Debug)]
#[rustfmt::skip]
pub enum Typed {
    /// `cont.new`
    New { to: Local, ty: usize, function: FunctionId },
    /// `cont.bind`
    Bind { to: Local, ty: usize, into: usize, args: Vec<Local>, cont: Local },
    /// `cont.clone`
    Clone { to: Local, ty: usize, cont: Local },
    /// `suspend`
    Suspend { tag: TagId, args: Vec<Local>, to: Vec<Local> },
    /// `resume`, `resume_throw`, `resume_throw_ref`
    Resume { ty: usize, with: With, cont: Local, handlers: Vec<Handler>, to: Vec<Local> },
    /// `switch`
    Switch { ty: usize, tag: TagId, args: Vec<Local>, cont: Local, to: Vec<Local> },
}

/// Operations of the bag of stacks. `ty` numbers stack types.
#[derive(Clone, Debug)]
#[rustfmt::skip]
pub enum Bag {
    /// `stack.new`, or `stack.new_ref`
    New { to: Local, ty: usize, function: FunctionId, by_reference: bool },
    /// `stack.bind`
    Bind { to: Local, ty: usize, into: usize, args: Vec<Local>, stack: Local },
    /// `stack.clone`, with a type
    Clone { to: Local, ty: usize, stack: Local },
    /// `switch`
    Switch { ty: usize, args: Vec<Local>, stack: Local, to: Vec<Local> },
    /// `switch_retire`
    Retire { ty: usize, args: Vec<Local>, stack: Local },
    /// `switch_throw`
    Throw { ty: usize, tag: TagId, args: Vec<Local>, stack: Local, to: Vec<Local> },
    /// `return_switch`
    ReturnSwitch { ty: usize, args: Vec<Local>, stack: Local, function: FunctionId },
    /// `return_switch_throw`
    ReturnThrow { ty: usize, tag: TagId, args: Vec<Local>, stack: Local, function: FunctionId },
}

/// Operations of tasks. `ty` numbers task types.
#[derive(Clone, Debug)]
#[rustfmt::skip]
pub enum Task {
    /// `task.new`
    New { to: Local, ty: usize, function: FunctionId, args: Vec<Local> },
    /// `task.resume`
    Resume { ty: usize, task: Local, args: Vec<Local>, to: Vec<Local> },
    /// `task.suspend`
    Suspend { ty: usize, task: Local, args: Vec<Local>, to: Vec<Local> },
    /// `task.switchto`
    SwitchTo { ty: usize, from: Local, into: usize, target: Local, args: Vec<Local>, to: Vec<Local> },
    /// `task.retire`
    Retire { ty: usize, task: Local, args: Vec<Local> },
    /// `task.release`
    Release { ty: usize, task: Local },
}

/// Operations of fibers.
#[derive(Clone, Debug)]
#[rustfmt::skip]
pub enum Fiber {
    /// `fiber.new`
    New { to: Local, returns: Option<TagId>, clauses: Vec<(TagId, FunctionId)>, args: Vec<Local> },
    /// `fiber.mount`
    Mount { event: TagId, args: Vec<Local>, fiber: Local, clauses: Vec<Clause> },
    /// `fiber.switch`
    Switch { event: TagId, args: Vec<Local>, from: Local, fiber: Local, clauses: Vec<Clause> },
    /// `fiber.dismount`
    Dismount { event: TagId, args: Vec<Local>, from: Local, clauses: Vec<Clause> },
    /// `fiber.release`
    Release { fiber: Local },
    /// `fiber.mount_new`, and with a fiber to suspend `fiber.switch_new`. `to` has the
    /// fiber first, and so have the clauses.
    Start { returns: TagId, function: FunctionId, args: Vec<Local>, from: Option<Local>, clauses: Vec<Clause>, to: Vec<Local> },
    /// `fiber.dismount_release`
    DismountRelease { event: TagId, args: Vec<Local>, from: Local },
    /// `fiber.switch_release`
    SwitchRelease { event: TagId, args: Vec<Local>, from: Local, fiber: Local },
}

/// Operations of first-class stacks.
#[derive(Clone, Debug)]
#[rustfmt::skip]
pub enum FirstClass {
    /// The host's `new_stack`
    NewStack { to: Local },
    /// `stack.clone`: the stack goes to the first of these, and its copy to the second
    Clone { to: [Local; 2], stack: Local },
    /// `stack.switch`
    Switch { event: TagId, args: Vec<Local>, stack: Local },
    /// `stack.switch_call`
    SwitchCall { function: FunctionId, event: Option<TagId>, args: Vec<Local>, stack: Local },
    /// `stack.switch_drop`
    SwitchDrop { event: TagId, args: Vec<Local>, stack: Local },
    /// `stack.extend`
    Extend { to: Local, rout: FunctionId, event: Option<TagId>, args: Vec<Local>, stack: Local },
    /// `stack.start`
    Start,
    /// `stack.redirect`
    Redirect { local: Local, body: BlockId },
    /// `stack.redirect_to`: the first part leaves its stack in `ask_to`, the second
    /// gets it in `give_to`
    RedirectTo { ask: BlockId, ask_to: Local, give_to: Local, give: BlockId, body: BlockId },
    /// `answer`
    Answer { tag: usize, params: Vec<Local>, code: BlockId, results: Vec<Local>, body: BlockId },
    /// `call_stack`
    CallStack { tag: usize, args: Vec<Local>, to: Vec<Local> },
}
