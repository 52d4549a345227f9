//! Stacks, and the chains that they form.
//!
//! ```text
//!   running -> parent -> ... -> base             the running stacks
//!   innermost -> parent -> ... -> outermost      a suspended group, named by its outermost stack
//! ```

use super::walk::OnReturn;
use super::{Frame, Machine, StackId, Step, Trap, Value};
use crate::designs::program::{FunctionId, TagId};

/// The kind of a stack. Roots, coroutines and first-class stacks are bases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackKind {
    /// The stack of a call from the host, with the number of the call.
    Root(usize),
    /// Created by `cont.new`.
    Continuation,
    /// Created by `stack.new`.
    Coroutine,
    Task,
    /// A fiber, with its return event.
    Fiber(Option<TagId>),
    FirstClass,
}

/// The task of a stack that has not started.
#[derive(Clone, Debug)]
pub enum Fresh {
    /// Call a function with the values that arrive.
    Function(FunctionId),
    /// Call a function with the task, the values that arrive, and these values.
    Task(FunctionId, Vec<Value>),
    /// Call the function of the event that arrives, with these values, the fiber, and the payload.
    Fiber(Vec<(TagId, FunctionId)>, Vec<Value>),
}

#[derive(Clone, Debug)]
pub struct Stack {
    pub kind: StackKind,
    /// The frames, the innermost last.
    pub frames: Vec<Frame>,
    /// The stack that resumed it.
    pub parent: Option<StackId>,
    /// Whether it is the outermost stack of a suspended group.
    pub suspended: bool,
    /// If so, the innermost stack of the group.
    pub innermost: StackId,
    /// The number of suspensions, which tells valid references from stale ones.
    pub epoch: u64,
    /// Whether it has ended: moribund, used up, or returned.
    pub dead: bool,
    pub fresh: Option<Fresh>,
    pub bound: Vec<Value>,
}

impl Machine {
    /// Creates a suspended stack.
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

    /// A reference to a suspended stack, which works once.
    pub(super) fn once(&self, stack: StackId) -> Value {
        Value::Once { stack, epoch: self.stacks[stack].epoch }
    }

    /// The stack of a reference, if the reference is still valid.
    pub fn valid(&self, reference: Value) -> Option<StackId> {
        match reference {
            Value::Once { stack, epoch } => {
                let found = &self.stacks[stack];
                (found.suspended && !found.dead && found.epoch == epoch).then_some(stack)
            }
            _ => None,
        }
    }

    /// Whether searches in parents end at a stack.
    pub fn is_base(&self, stack: StackId) -> bool {
        matches!(
            self.stacks[stack].kind,
            StackKind::Root(_) | StackKind::Coroutine | StackKind::FirstClass
        )
    }

    /// The base of the running stack.
    pub fn base(&self) -> StackId {
        *self.chain().last().expect("a chain has a stack")
    }

    pub fn chain(&self) -> Vec<StackId> {
        let mut chain = vec![self.running];
        while let Some(&last) = chain.last()
            && !self.is_base(last)
        {
            chain.push(self.stacks[last].parent.expect("only bases have no parent"));
        }
        chain
    }

    /// Suspends the stacks from the running one to its ancestor `outermost`, and returns the parent
    /// of that.
    pub(super) fn suspend(&mut self, outermost: StackId) -> Option<StackId> {
        let innermost = self.running;
        let stack = &mut self.stacks[outermost];
        stack.suspended = true;
        stack.innermost = innermost;
        stack.epoch += 1;
        stack.parent.take()
    }

    /// Resumes a suspended chain, as the child of a parent.
    pub(super) fn resume(&mut self, outermost: StackId, parent: Option<StackId>) {
        let stack = &mut self.stacks[outermost];
        stack.suspended = false;
        stack.parent = parent;
        self.running = stack.innermost;
    }

    /// Delivers values to the running stack: to the operation in which it waits, or to its function
    /// if it has not started.
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

    pub(super) fn enter(&mut self, function: FunctionId, args: Vec<Value>, then: OnReturn) -> Step {
        self.locals.push(args);
        let locals = self.locals.len() - 1;
        let body = self.program.functions[function].body;
        self.push(Frame::new(function, locals, body, then));
        // A rout starts with its openings, so it burns fuel later.
        if self.program.functions[function].rout { Ok(()) } else { self.burn() }
    }

    pub(super) fn push(&mut self, frame: Frame) {
        let frames = &mut self.stacks[self.running].frames;
        frames.push(frame);
        self.depth = self.depth.max(frames.len());
    }

    pub(super) fn burn(&mut self) -> Step {
        self.fuel -= 1;
        if self.fuel <= 0 { Err(Trap("unreachable")) } else { Ok(()) }
    }

    /// Ends a stack: its tasks and fibers become moribund, references stale, and what it owns ends
    /// too.
    pub(super) fn end(&mut self, stack: StackId) {
        self.end_all(vec![stack]);
    }

    /// Frees a suspended group.
    pub(super) fn free(&mut self, outermost: StackId) {
        self.end_all(self.group(outermost));
    }

    /// Frees the running stacks up to an ancestor, inclusive, and returns the parent of that.
    pub(super) fn free_running(&mut self, outermost: StackId) -> Option<StackId> {
        let parent = self.suspend(outermost);
        self.free(outermost);
        parent
    }

    /// The stack of a reference that works once, with the checks that the bag of stacks and
    /// first-class stacks share.
    pub(super) fn check_once(&self, reference: Value) -> Result<StackId, Trap> {
        if reference.is_null() {
            return Err(Trap("null stack reference"));
        }
        self.valid(reference).ok_or(Trap("stack reference already used"))
    }

    /// Like `check_once`, for a stack that will get control.
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
