//! [`Trace`]: events, and the tables of names and positions that they refer to.

use serde::{Deserialize, Serialize};

use crate::{FramesId, FunctionId, PositionId, StackId, TagId};

/// The events of a store, in the order of time.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Trace {
    /// The name of the program.
    pub name: String,
    /// Functions that ran, or were called.
    pub functions: Vec<Function>,
    /// Positions of instructions.
    pub positions: Vec<Position>,
    /// Tags of suspensions, switches and exceptions.
    pub tags: Vec<Tag>,
    /// Every stack that an event names.
    pub stacks: Vec<Stack>,
    /// A tree of frames. Its leaves are the frames in which events happened.
    pub frames: Vec<Frame>,
    /// The events.
    pub events: Vec<Event>,
    /// The number of oldest events that were dropped because of a limit.
    pub dropped: u64,
}

/// The name of the entry that replaces omitted calls of a deep stack. It belongs to no module and
/// has no position.
pub const LEFT_OUT: &str = "(calls left out)";

/// A function of a module or of the host.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Function {
    /// The name of its module; empty if it has none.
    pub module: String,
    /// Its name, or its number if it has none.
    pub name: String,
}

/// The position of an instruction.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Position {
    /// The file of its source; empty if it is unknown.
    pub file: String,
    /// The line in that file, from 1; 0 if it is unknown.
    pub line: u32,
    /// The column in that line, from 1; 0 if it is unknown.
    pub column: u32,
    /// Its offset in the binary.
    pub offset: u32,
    /// The text of the line; empty if it is unknown.
    pub source: String,
}

/// A tag, or an event of the design of fibers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Tag {
    /// Its name, or its number if it has none.
    pub name: String,
}

/// The design of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Design {
    /// The first stack of an activation, which the host entered.
    Root,
    /// Typed continuations, the standard's proposal.
    Continuation,
    /// The bag of stacks.
    Bag,
    /// Tasks.
    Task,
    /// Fibers.
    Fiber,
    /// First-class stacks.
    FirstClass,
}

impl Design {
    /// All designs, in the order of their numbers in files.
    pub const ALL: [Design; 6] = [
        Design::Root,
        Design::Continuation,
        Design::Bag,
        Design::Task,
        Design::Fiber,
        Design::FirstClass,
    ];

    /// The name that pictures show.
    pub fn name(self) -> &'static str {
        match self {
            Design::Root => "root",
            Design::Continuation => "continuation",
            Design::Bag => "bag of stacks",
            Design::Task => "task",
            Design::Fiber => "fiber",
            Design::FirstClass => "first-class stack",
        }
    }
}

/// A stack.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stack {
    /// The design that made it.
    pub design: Design,
    /// The function that it began with, if that is known.
    pub function: Option<FunctionId>,
}

/// A frame, with those that called it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// The frame that called it, on the same stack. It stands before this one in the table.
    pub caller: Option<FramesId>,
    /// Its function.
    pub function: FunctionId,
    /// The position in that function, if it is known.
    pub position: Option<PositionId>,
}

/// An event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Nanoseconds since the start of the trace.
    pub time: u64,
    /// The stack on which it happened.
    pub stack: StackId,
    /// The innermost frame of that stack.
    pub frames: Option<FramesId>,
    /// The kind of event.
    pub what: EventKind,
}

/// The kind of an event, with its data. Values are already printed, in at most 40 characters; they
/// are empty if there are none or they are unknown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum EventKind {
    /// The host calls: an activation begins on this root.
    Enter,
    /// The activation ends.
    Leave,
    /// A stack is created, but does not run yet.
    Create {
        /// The new stack.
        created: StackId,
    },
    /// A stack is created as a copy of a suspended or new one: `cont.clone`, `stack.clone`. If
    /// several stacks were suspended together, each has a copy and an event, the outermost first.
    Clone {
        /// The copy.
        created: StackId,
        /// The stack that was copied.
        origin: StackId,
        /// Its parent, which is a copy too; `None` for the outermost copy.
        parent: Option<StackId>,
        /// The outermost of the copies made together.
        outermost: StackId,
    },
    /// Another stack runs, and this one becomes its parent: `resume`, `task.resume`,
    /// `fiber.mount`. If several stacks were suspended together, the innermost of them runs, and
    /// this one becomes the parent of the outermost.
    Resume {
        /// The stack that runs now.
        target: StackId,
        /// The event, in designs that have one.
        tag: Option<TagId>,
        /// The values that it receives.
        values: String,
    },
    /// This stack and its parents up to `outermost` stop, and the parent of that one runs:
    /// `suspend`, `task.suspend`, `fiber.dismount`.
    Suspend {
        /// The stack that runs now.
        to: StackId,
        /// The outermost of the stacks that stop.
        outermost: StackId,
        /// The tag that handles it.
        tag: Option<TagId>,
        /// The values that it receives.
        values: String,
    },
    /// This stack and its parents up to `outermost` stop, and another runs in their place: it
    /// gets the parent that `outermost` had.
    Switch {
        /// The stack that runs now.
        target: StackId,
        /// The outermost of the stacks that stop.
        outermost: StackId,
        /// The tag of the switch, in designs that have one.
        tag: Option<TagId>,
        /// The values that it receives.
        values: String,
    },
    /// The function of this stack returns: the stack is gone, and another runs.
    Return {
        /// The stack that runs now.
        to: StackId,
        /// The return event, in designs that have one.
        tag: Option<TagId>,
        /// The values that it receives.
        values: String,
    },
    /// This stack leaves for good: it is freed, and another runs. `switch_retire`, `task.retire`,
    /// `fiber.switch_release`, `fiber.dismount_release`, `stack.switch_drop`.
    Retire {
        /// The stack that runs now.
        to: StackId,
        /// The tag of the switch, in designs that have one.
        tag: Option<TagId>,
        /// The values that it receives.
        values: String,
    },
    /// A stack has no clause for an event, so this one keeps running: `fiber.mount`,
    /// `fiber.switch`, `fiber.dismount`.
    Refuse {
        /// The stack without a clause.
        by: StackId,
        /// The event.
        tag: Option<TagId>,
    },
    /// An exception leaves this stack, which is gone.
    Throw {
        /// The stack that receives it; `None` if the host does.
        to: Option<StackId>,
        /// Its tag, if it is known.
        tag: Option<TagId>,
    },
    /// A trap ends the activation.
    Trap {
        /// The message of the trap.
        message: String,
    },
    /// This stack is freed before its function returns.
    Drop,
    /// The collector ran.
    Collect {
        /// The duration.
        nanoseconds: u64,
        /// The number of unreachable stacks that it freed.
        stacks_freed: u64,
    },
    /// The memory of this stack grew.
    Grow {
        /// Its new size.
        bytes: u64,
    },
    /// The frames of this stack are packed, and other stacks use its memory.
    Park,
    /// The frames of this stack are unpacked.
    Unpark,
    /// A function of the host is called.
    HostCall {
        /// The function.
        function: FunctionId,
    },
    /// It returned.
    HostReturn,
}

impl Function {
    /// Whether this replaces omitted calls.
    pub fn is_left_out(&self) -> bool {
        self.module.is_empty() && self.name == LEFT_OUT
    }
}

impl Trace {
    /// The frames of a stack at an event, innermost first. For a deep stack the last one
    /// [replaces](Function::is_left_out) the omitted ones.
    pub fn frames(&self, innermost: Option<FramesId>) -> impl Iterator<Item = &Frame> {
        let frame = |id: FramesId| self.frames.get(id.index());
        // A caller must precede its callee in the table, so the walk ends for any table.
        let caller = move |id: &FramesId| frame(*id)?.caller.filter(|caller| caller < id);
        std::iter::successors(innermost, caller).map_while(frame)
    }
}
