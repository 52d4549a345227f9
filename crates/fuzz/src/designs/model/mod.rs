//! The five designs as a small interpreter.
//!
//! It is independent of the engine: no code is shared, and nothing is clever.
//! A stack is a list of frames, a frame has its locals and places in blocks of
//! code, and every operation changes these lists as `docs/DESIGNS.md` says. One
//! file for each design; [`stack`] has what they share, the chains.
//!
//! There is no collector. What cannot be reached any more stays as it was, and
//! no program may notice the difference, but for one: the tasks and fibers on a
//! first-class stack that is collected are moribund, and nobody says when.

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

/// The number of a stack. Stacks of the model are never reused.
pub type StackId = usize;

/// A trap, by its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap(pub &'static str);

/// What one operation does.
pub type Step = Result<(), Trap>;

/// Something that the host can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A number that the program script_steps the host.
    Log(i64),
    /// How a call from the host ended, and the digest then.
    End(Outcome, i64),
}

/// What a program was script_steps to do by a number of its script.
#[derive(Clone, Debug)]
pub struct ScriptStep {
    /// The stack that ran.
    pub stack: StackId,
    /// The function that read the number.
    pub function: FunctionId,
    /// The number.
    pub number: i64,
    /// The operation, or the first of several.
    pub op: Option<Rc<Op>>,
}

/// A frame of a function, or of a part of one that runs for a walk.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Whose code it is.
    pub function: FunctionId,
    /// Its locals, which parts of the same function share.
    pub locals: usize,
    /// Where it is, the innermost block last.
    pub cursors: Vec<Cursor>,
    /// The operation that it is in.
    pub op: Option<Rc<Op>>,
    /// What becomes of its results.
    pub then: OnReturn,
    /// The function that takes this frame's place when control comes back: it
    /// was left by `return_switch`.
    pub replaced_by: Option<FunctionId>,
    /// The fiber that its operation has made.
    pub created: Value,
}

/// A place in a block.
#[derive(Clone, Debug)]
pub struct Cursor {
    /// The block.
    pub block: BlockId,
    /// The number of the next operation.
    pub next: usize,
    /// What the block is to the function.
    pub kind: CursorKind,
}

/// What a block is to its function.
#[derive(Clone, Debug)]
pub enum CursorKind {
    /// It is run once.
    Plain,
    /// It is run again while this counter says so.
    Loop(Local),
    /// It is the body of a `try_table`.
    Try(Rc<Op>),
    /// It is the body of an `answer` or a redirection.
    Mark(Mark),
}

/// A store in which a program runs.
pub struct Machine {
    /// The program.
    pub program: Program,
    /// All stacks that ever were.
    pub stacks: Vec<Stack>,
    /// The stack that runs.
    pub running: StackId,
    /// What the host and others can see.
    pub seen: Vec<Seen>,
    /// The deepest that any stack has been, in frames.
    pub depth: usize,
    /// How much was executed.
    pub steps: usize,
    /// What a program with a script was script_steps to do, while that was written.
    pub script_steps: Vec<ScriptStep>,
    /// Something happened of which nobody says what it does; see
    /// [`walk`]. What is seen after that is not to be compared.
    pub unspecified: bool,
    /// How many copies were made of what is suspended.
    pub copies: usize,
    /// The stacks that the operation has taken out of linear locals.
    in_flight: Vec<Value>,
    pub(super) globals: Vec<Value>,
    pub(super) tables: Vec<Vec<Value>>,
    locals: Vec<Vec<Value>>,
    pub(super) objects: Vec<Object>,
    exceptions: Vec<Exception>,
    activations: Vec<Activation>,
    pub(super) fuel: i64,
    digest: i64,
    /// How many numbers of the script were read.
    read: usize,
}

impl Machine {
    /// A store with an instance of each module, in which nothing has run yet.
    pub fn new(program: Program) -> Machine {
        Machine {
            program,
            stacks: Vec::new(),
            running: 0,
            seen: Vec::new(),
            depth: 0,
            steps: 0,
            script_steps: Vec::new(),
            unspecified: false,
            copies: 0,
            in_flight: Vec::new(),
            globals: Vec::new(),
            tables: Vec::new(),
            locals: Vec::new(),
            objects: Vec::new(),
            exceptions: Vec::new(),
            activations: Vec::new(),
            fuel: 0,
            digest: 0,
            read: 0,
        }
    }

    /// Runs all of a program that is complete; returns what the host saw.
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

    /// The running frame.
    pub fn frame(&mut self) -> &mut Frame {
        self.stacks[self.running].frames.last_mut().expect("a stack that runs has a frame")
    }

    /// The function of the running frame.
    pub fn function(&self) -> FunctionId {
        self.stacks[self.running].frames.last().expect("a stack that runs has a frame").function
    }

    /// The type of a local of the running frame.
    pub fn type_of(&self, local: Local) -> Ty {
        self.program.functions[self.function()].locals[local]
    }

    /// The value of a local, as it is.
    pub fn peek(&self, local: Local) -> Value {
        let frame = self.stacks[self.running].frames.last().expect("a stack that runs has a frame");
        self.locals[frame.locals].get(local).copied().unwrap_or_default()
    }

    /// A local of any frame.
    pub fn local_of(&self, frame: &Frame, local: Local) -> Value {
        self.locals[frame.locals].get(local).copied().unwrap_or_default()
    }

    /// Reads a local; a linear one is null then.
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

    /// Sets a local; a linear one must be null.
    fn set(&mut self, local: Local, value: Value) -> Step {
        if self.type_of(local) == Ty::Linear && !self.peek(local).is_null() {
            return Err(Trap("linear slot is not empty"));
        }
        *self.place(local) = value;
        Ok(())
    }

    /// Sets locals, the last first, as values are taken off a stack.
    fn set_all(&mut self, locals: &[Local], values: &[Value]) -> Step {
        assert_eq!(locals.len(), values.len(), "as many values as places for them");
        let mut pairs = locals.iter().zip(values).rev();
        pairs.try_for_each(|(&local, &value)| self.set(local, value))
    }

    fn place(&mut self, local: Local) -> &mut Value {
        let locals = self.frame().locals;
        let locals = &mut self.locals[locals];
        if locals.len() <= local {
            locals.resize(local + 1, Value::default());
        }
        &mut locals[local]
    }
}
