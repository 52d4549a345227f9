//! Stacks, and the chains that they form.
//!
//! ```text
//!   running -> parent -> ... -> base       what runs
//!   innermost -> parent -> ... -> outermost    what is suspended together, named by the outermost
//! ```

use super::walk::OnReturn;
use super::{Cursor, CursorKind, Frame, Machine, StackId, Step, Trap, Value};
use crate::designs::program::{FunctionId, TagId};

/// What a stack is. Roots, coroutines and first-class stacks are bases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackKind {
    /// That on which a call from the host begins, with the number of the call.
    Root(usize),
    /// Made by `cont.new`.
    Continuation,
    /// Made by `stack.new`.
    Coroutine,
    /// A task.
    Task,
    /// A fiber, with its return event.
    Fiber(Option<TagId>),
    /// A first-class stack.
    FirstClass,
}

/// What a stack that has not started will do.
#[derive(Clone, Debug)]
pub enum Fresh {
    /// Call a function with what arrives.
    Function(FunctionId),
    /// Call a function with the task, what arrives, and these.
    Task(FunctionId, Vec<Value>),
    /// Call the function of the event that arrives, with these, the fiber, and
    /// the payload.
    Fiber(Vec<(TagId, FunctionId)>, Vec<Value>),
}

/// A stack.
#[derive(Clone, Debug)]
pub struct Stack {
    /// What it is.
    pub kind: StackKind,
    /// Its frames, the innermost last.
    pub frames: Vec<Frame>,
    /// Who resumed it.
    pub parent: Option<StackId>,
    /// Whether it is the outermost of something suspended.
    pub suspended: bool,
    /// If so, the innermost.
    pub innermost: StackId,
    /// How often it was suspended: tells valid references from stale ones.
    pub epoch: u64,
    /// It has ended: moribund, used up, or returned.
    pub dead: bool,
    /// What it does when it starts.
    pub fresh: Option<Fresh>,
    /// Arguments that were bound to it.
    pub bound: Vec<Value>,
}

impl Machine {
    /// A new stack, suspended.
    pub(super) fn new_stack(&mut self, kind: StackKind, fresh: Option<Fresh>) -> StackId {
        let id = self.stacks.len();
        self.stacks.push(Stack {
            kind,
            frames: Vec::new(),
            parent: None,
            suspended: true,
            innermost: id,
            epoch: 0,
            dead: false,
            fresh,
            bound: Vec::new(),
        });
        id
    }

    /// The reference under which a suspended stack can be continued once.
    pub(super) fn once(&self, stack: StackId) -> Value {
        Value::Once { stack, epoch: self.stacks[stack].epoch }
    }

    /// Whether a reference still works, and to what.
    pub fn valid(&self, reference: Value) -> Option<StackId> {
        match reference {
            Value::Once { stack, epoch } => {
                let found = &self.stacks[stack];
                (found.suspended && !found.dead && found.epoch == epoch).then_some(stack)
            }
            _ => None,
        }
    }

    /// Whether looking for something outwards ends at a stack.
    pub fn is_base(&self, stack: StackId) -> bool {
        matches!(
            self.stacks[stack].kind,
            StackKind::Root(_) | StackKind::Coroutine | StackKind::FirstClass
        )
    }

    /// The base of what runs.
    pub fn base(&self) -> StackId {
        *self.chain().last().expect("a chain has a stack")
    }

    /// The running stack, its parent, and so on up to the base.
    pub fn chain(&self) -> Vec<StackId> {
        let mut chain = vec![self.running];
        while let Some(&last) = chain.last()
            && !self.is_base(last)
        {
            chain.push(self.stacks[last].parent.expect("only bases have no parent"));
        }
        chain
    }

    /// Suspends everything from the running stack to `outermost`, an ancestor of
    /// it or itself. Answers who was the parent.
    pub(super) fn suspend(&mut self, outermost: StackId) -> Option<StackId> {
        let innermost = self.running;
        let stack = &mut self.stacks[outermost];
        stack.suspended = true;
        stack.innermost = innermost;
        stack.epoch += 1;
        stack.parent.take()
    }

    /// Makes a suspended chain run, as the child of a parent.
    pub(super) fn resume(&mut self, outermost: StackId, parent: Option<StackId>) {
        let stack = &mut self.stacks[outermost];
        stack.suspended = false;
        stack.parent = parent;
        self.running = stack.innermost;
    }

    /// Gives values to what runs now: to the operation in which it waits, or, if
    /// it has not started, to its function.
    pub(super) fn deliver(&mut self, outermost: StackId, values: Vec<Value>) -> Step {
        let mut all = std::mem::take(&mut self.stacks[outermost].bound);
        all.extend(values);
        match self.stacks[self.running].fresh.take() {
            None => self.complete(all),
            Some(Fresh::Function(function)) => self.enter(function, all, OnReturn::Bottom),
            Some(Fresh::Task(function, arguments)) => {
                all.insert(0, Value::Named(self.running));
                all.extend(arguments);
                self.enter(function, all, OnReturn::Bottom)
            }
            Some(Fresh::Fiber(..)) => unreachable!("fibers are started by events"),
        }
    }

    /// Adds a frame to the running stack.
    pub(super) fn enter(&mut self, function: FunctionId, args: Vec<Value>, then: OnReturn) -> Step {
        self.locals.push(args);
        let locals = self.locals.len() - 1;
        let body = self.program.functions[function].body;
        let cursors = vec![Cursor { block: body, next: 0, kind: CursorKind::Plain }];
        self.push(Frame {
            function,
            locals,
            cursors,
            op: None,
            then,
            replaced_by: None,
            created: Value::Zero,
        });
        // A rout begins with its openings, and has no room for this.
        if self.program.functions[function].rout { Ok(()) } else { self.burn() }
    }

    pub(super) fn push(&mut self, frame: Frame) {
        let frames = &mut self.stacks[self.running].frames;
        frames.push(frame);
        self.depth = self.depth.max(frames.len());
    }

    /// Uses some of the program's fuel.
    pub(super) fn burn(&mut self) -> Step {
        self.fuel -= 1;
        if self.fuel <= 0 { Err(Trap("unreachable")) } else { Ok(()) }
    }

    /// Ends a stack: its tasks and fibers are moribund, references used up, and what it
    /// owns ends too.
    pub(super) fn end(&mut self, stack: StackId) {
        self.end_all(vec![stack]);
    }

    /// Frees what is suspended under its outermost stack.
    pub(super) fn free(&mut self, outermost: StackId) {
        self.end_all(self.group(outermost));
    }

    /// Frees what runs, up to an ancestor and with it. Answers who was the parent.
    pub(super) fn free_running(&mut self, outermost: StackId) -> Option<StackId> {
        let parent = self.suspend(outermost);
        self.free(outermost);
        parent
    }

    /// The stack of a reference that works once: the checks that bag of stacks
    /// and first-class stacks share.
    pub(super) fn check_once(&self, reference: Value) -> Result<StackId, Trap> {
        if reference.is_null() {
            return Err(Trap("null stack reference"));
        }
        self.valid(reference).ok_or(Trap("stack reference already used"))
    }

    /// Likewise, if control is to go there.
    pub(super) fn check_target(&self, reference: Value) -> Result<StackId, Trap> {
        let stack = self.check_once(reference)?;
        match self.stacks[stack].kind {
            StackKind::Root(call) if call != self.newest() => {
                Err(Trap("switch across a host frame"))
            }
            _ => Ok(stack),
        }
    }
}
