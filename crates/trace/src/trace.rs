//! What happened in a store: tables of names and places, and events that refer to them.

use serde::{Deserialize, Serialize};

use crate::{FramesId, FunctionId, PositionId, StackId, TagId};

/// What happened in a store, in the order of time.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Trace {
    /// The name of the program.
    pub name: String,
    /// Functions that ran, or were called.
    pub functions: Vec<Function>,
    /// Where instructions stand.
    pub positions: Vec<Position>,
    /// Tags of suspensions, switches and exceptions.
    pub tags: Vec<Tag>,
    /// Every stack that an event names.
    pub stacks: Vec<Stack>,
    /// A tree of frames, whose leaves are the places where events happened.
    pub frames: Vec<Frame>,
    /// What happened.
    pub events: Vec<Event>,
    /// How many events were lost because a limit was reached: the oldest.
    pub dropped: u64,
}

/// The name of what stands for all calls of a stack that are left out, since it is too deep. It
/// is a function of no module, and has no position.
pub const LEFT_OUT: &str = "(calls left out)";

/// A function of a module or of the host.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Function {
    /// The name of its module; empty if it has none.
    pub module: String,
    /// Its name, or its number if it has none.
    pub name: String,
}

/// Where an instruction stands.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Position {
    /// The file of its source; empty if that is not known.
    pub file: String,
    /// The line in that file, from 1; 0 if it is not known.
    pub line: u32,
    /// The column in that line, from 1; 0 if it is not known.
    pub column: u32,
    /// Its offset in the binary.
    pub offset: u32,
    /// The text of the line; empty if it is not known.
    pub source: String,
}

/// A tag, or an event of the design of fibers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Tag {
    /// Its name, or its number if it has none.
    pub name: String,
}

/// To which design a stack belongs.
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
    /// Where in that function, if it is known.
    pub position: Option<PositionId>,
}

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Nanoseconds since the start of the trace.
    pub time: u64,
    /// The stack on which it happened.
    pub stack: StackId,
    /// Where that stack was: its innermost frame.
    pub frames: Option<FramesId>,
    /// What it was.
    pub what: What,
}

/// What happened. Values are printed already, in at most 40 characters; they are empty where
/// there are none, and where they are not known.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum What {
    /// The host calls: an activation begins on this root.
    Enter,
    /// That activation ends.
    Leave,
    /// A stack is created, and does not run yet.
    Create {
        /// The new stack.
        created: StackId,
    },
    /// A stack is created as the copy of one that is suspended or new: `cont.clone`,
    /// `stack.clone`. If several stacks were suspended together, each has a copy and an event,
    /// the outermost first.
    Clone {
        /// The copy.
        created: StackId,
        /// What it is a copy of.
        origin: StackId,
        /// Its parent, a copy too; none if it is the outermost.
        parent: Option<StackId>,
        /// The last of the stacks that were copied together: its copy.
        outermost: StackId,
    },
    /// Another stack runs, and this one becomes its parent: `resume`, `task.resume`,
    /// `fiber.mount`. If several stacks were suspended together, the innermost of them runs, and
    /// this one becomes the parent of the outermost.
    Resume {
        /// Which runs now.
        target: StackId,
        /// What it is given.
        values: String,
    },
    /// This stack and its parents up to `outermost` stop, and the parent of that one runs:
    /// `suspend`, `task.suspend`, `fiber.dismount`.
    Suspend {
        /// Which runs now.
        to: StackId,
        /// The last of the stacks that stop.
        outermost: StackId,
        /// What handles it.
        tag: Option<TagId>,
        /// What it is given.
        values: String,
    },
    /// This stack and its parents up to `outermost` stop, and another runs in their place: it
    /// gets the parent that `outermost` had.
    Switch {
        /// Which runs now.
        target: StackId,
        /// The last of the stacks that stop.
        outermost: StackId,
        /// The tag of the switch, in designs that have one.
        tag: Option<TagId>,
        /// What it is given.
        values: String,
    },
    /// The function of this stack returns: the stack is gone, and another runs.
    Return {
        /// Which runs now.
        to: StackId,
        /// What it is given.
        values: String,
    },
    /// An exception leaves this stack, which is gone.
    Throw {
        /// Which stack it comes to; none if it comes to the host.
        to: Option<StackId>,
        /// Its tag, if that is known.
        tag: Option<TagId>,
    },
    /// A trap ends the activation.
    Trap {
        /// What it says.
        message: String,
    },
    /// This stack is freed, though its function has not returned.
    Drop,
    /// The collector ran.
    Collect {
        /// For how long.
        nanoseconds: u64,
        /// How many stacks nobody could reach.
        stacks_freed: u64,
    },
    /// The memory of this stack grew.
    Grow {
        /// How large it is now.
        bytes: u64,
    },
    /// The frames of this stack are put aside, and its memory is used for others.
    Park,
    /// They are put back.
    Unpark,
    /// A function of the host is called.
    HostCall {
        /// Which.
        function: FunctionId,
    },
    /// It returned.
    HostReturn,
}

impl Function {
    /// Whether it stands for calls that are left out.
    pub fn is_left_out(&self) -> bool {
        self.module.is_empty() && self.name == LEFT_OUT
    }
}

impl Trace {
    /// The frames of a stack at an event, the innermost first. Of a deep stack the last one
    /// [stands](Function::is_left_out) for those that are left out.
    pub fn frames(&self, innermost: Option<FramesId>) -> impl Iterator<Item = &Frame> {
        let frame = |id: FramesId| self.frames.get(id.index());
        // Only what stands before its callee is a caller, so this ends whatever the table has.
        let caller = move |id: &FramesId| frame(*id)?.caller.filter(|caller| caller < id);
        std::iter::successors(innermost, caller).map_while(frame)
    }
}
