//! A small interpreter of the five designs.
//!
//! It shares no code with the engine, and it is simple. A stack is a list of frames. A frame has
//! locals and positions in blocks of code. Each operation changes these lists as `docs/DESIGNS.md`
//! describes. Each design has a file; [`stack`] has what they share, the chains of stacks.
//!
//! There is no collector. Unreachable stacks stay, and no program may observe this, with one
//! exception: the tasks and fibers on a first-class stack become moribund when it is collected, at
//! an unspecified time.

mod activation;
mod bag;
mod basic;
mod copy;
mod exception;
mod fiber;
mod first_class;
mod owned;
mod stack;
mod step;
mod task;
mod typed;
mod value;
mod walk;

pub use activation::Outcome;
pub use stack::{Stack, StackKind};
pub use step::Author;
pub use typed::Sought;
pub use value::{Shape, Value};
pub use walk::{MarkKind, OnReturn};

use super::program::{BlockId, FunctionId, Local, Op, Program, Ty};
use activation::Activation;
use std::rc::Rc;
use value::{Exception, Object};
use walk::Mark;

/// The number of a stack. Numbers are never reused.
pub type StackId = usize;

/// A trap, by its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap(pub &'static str);

/// The result of one operation.
pub type Step = Result<(), Trap>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A number that the program passed to the host.
    Log(i64),
    /// The outcome of a call from the host, and the digest at that time.
    End(Outcome, i64),
}

/// One step of a script: an operation that a scripted program was told to run.
#[derive(Clone, Debug)]
pub struct ScriptStep {
    pub stack: StackId,
    /// The function that read the number.
    pub function: FunctionId,
    pub number: i64,
    pub op: Option<Rc<Op>>,
}

/// A frame of a function, or of a part of one that runs for a walk.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The function.
    pub function: FunctionId,
    /// Its locals. Parts of the same function share them.
    pub locals: usize,
    /// Its positions in blocks, the innermost last.
    pub cursors: Vec<Cursor>,
    /// The current operation.
    pub op: Option<Rc<Op>>,
    pub then: OnReturn,
    /// The function that replaces this frame when control returns, after `return_switch`.
    pub replaced_by: Option<FunctionId>,
    /// The fiber that its operation created.
    pub created: Value,
}

impl Frame {
    fn new(function: FunctionId, locals: usize, block: BlockId, then: OnReturn) -> Frame {
        let cursors = vec![Cursor { block, next: 0, kind: CursorKind::Plain }];
        let (op, replaced_by, created) = (None, None, Value::Zero);
        Frame { function, locals, cursors, op, then, replaced_by, created }
    }
}

/// A position in a block.
#[derive(Clone, Debug)]
pub struct Cursor {
    pub block: BlockId,
    pub next: usize,
    pub kind: CursorKind,
}

/// The role of a block in its function.
#[derive(Clone, Debug)]
pub enum CursorKind {
    /// Runs once.
    Plain,
    /// Runs again while this counter is positive.
    Loop(Local),
    /// The body of a `try_table`.
    Try(Rc<Op>),
    /// The body of an `answer` or a redirection.
    Mark(Mark),
}

/// A store, in which a program runs.
#[derive(Default)]
pub struct Machine {
    pub program: Program,
    /// All stacks, including dead ones.
    pub stacks: Vec<Stack>,
    pub running: StackId,
    pub seen: Vec<Seen>,
    /// The maximum depth of any stack, in frames.
    pub depth: usize,
    /// The number of executed operations.
    pub steps: usize,
    /// The steps of the script, recorded while it is written.
    pub script_steps: Vec<ScriptStep>,
    /// Whether unspecified behavior occurred; see [`walk`]. Later observations are not compared.
    pub unspecified: bool,
    /// The number of copies of suspended groups.
    pub copies: usize,
    /// The stacks that the operation took from linear locals.
    in_flight: Vec<Value>,
    pub(super) globals: Vec<Value>,
    pub(super) tables: Vec<Vec<Value>>,
    locals: Vec<Vec<Value>>,
    pub(super) objects: Vec<Object>,
    exceptions: Vec<Exception>,
    activations: Vec<Activation>,
    pub(super) fuel: i64,
    digest: i64,
    read: usize,
}

impl Machine {
    /// A new store with an instance of each module.
    pub fn new(program: Program) -> Machine {
        Machine { program, ..Machine::default() }
    }

    /// Runs a complete program.
    pub fn run(program: Program) -> Machine {
        let calls = program.calls.clone();
        let mut machine = Machine::new(program);
        for call in calls {
            machine.call(call, &mut None);
            if machine.unspecified {
                break;
            }
        }
        machine
    }

    pub fn frame(&mut self) -> &mut Frame {
        self.stacks[self.running].frames.last_mut().expect("a stack that runs has a frame")
    }

    pub fn function(&self) -> FunctionId {
        self.stacks[self.running].frames.last().expect("a stack that runs has a frame").function
    }

    pub fn type_of(&self, local: Local) -> Ty {
        self.program.functions[self.function()].locals[local]
    }

    /// The value of a local, which stays there.
    pub fn peek(&self, local: Local) -> Value {
        let frame = self.stacks[self.running].frames.last().expect("a stack that runs has a frame");
        self.local_of(frame, local)
    }

    pub fn local_of(&self, frame: &Frame, local: Local) -> Value {
        self.locals[frame.locals].get(local).copied().unwrap_or_default()
    }

    /// Reads a local, and clears a linear one.
    fn take(&mut self, local: Local) -> Value {
        let value = self.peek(local);
        if self.type_of(local) == Ty::Linear {
            *self.place(local) = Value::default();
            self.in_flight.push(value);
        }
        value
    }

    /// Reads locals from left to right.
    fn take_all(&mut self, locals: &[Local]) -> Vec<Value> {
        locals.iter().map(|&local| self.take(local)).collect()
    }

    /// Sets a local. A linear one must be null.
    fn set(&mut self, local: Local, value: Value) -> Step {
        if self.type_of(local) == Ty::Linear && !self.peek(local).is_null() {
            return Err(Trap("linear slot is not empty"));
        }
        *self.place(local) = value;
        Ok(())
    }

    /// Sets locals, the last one first, as they are popped from an operand stack.
    fn set_all(&mut self, locals: &[Local], values: &[Value]) -> Step {
        assert_eq!(locals.len(), values.len(), "as many values as places for them");
        let mut pairs = locals.iter().zip(values).rev();
        pairs.try_for_each(|(&local, &value)| self.set(local, value))
    }

    pub fn place(&mut self, local: Local) -> &mut Value {
        let locals = self.frame().locals;
        let locals = &mut self.locals[locals];
        if locals.len() <= local {
            locals.resize(local + 1, Value::default());
        }
        &mut locals[local]
    }
}
