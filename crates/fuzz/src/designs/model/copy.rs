//! Copies of suspended groups.
//!
//! The copy has its own stacks, frames and locals. All other state is shared: parts of a function
//! whose frame is not copied use its original locals. Objects and exceptions are shared, and
//! references in frames keep their meaning.

use super::stack::StackKind;
use super::walk::OnReturn;
use super::{Frame, Machine, StackId, Trap, Value};

/// The copied stacks and locals, with their copies.
#[derive(Default)]
pub struct Copied {
    stacks: Vec<(StackId, StackId)>,
    locals: Vec<(usize, usize)>,
}

impl Copied {
    /// The copy of a stack, or the stack itself if it was not copied.
    pub fn stack(&self, stack: StackId) -> StackId {
        stand_in(&self.stacks, stack)
    }

    /// The copy of a frame's locals, or the same locals.
    pub fn locals(&self, locals: usize) -> usize {
        stand_in(&self.locals, locals)
    }
}

fn stand_in(pairs: &[(usize, usize)], id: usize) -> usize {
    pairs.iter().find(|(original, _)| *original == id).map_or(id, |(_, copy)| *copy)
}

impl Machine {
    /// Whether a suspended group can be copied: it must hold nothing that has a single owner.
    pub fn can_copy(&self, outermost: StackId) -> bool {
        self.group(outermost).into_iter().all(|stack| {
            let kind = self.stacks[stack].kind;
            matches!(kind, StackKind::Continuation | StackKind::Coroutine | StackKind::FirstClass)
                && !self.holds_stacks(stack)
        })
    }

    /// Whether a suspended group has run, so that it consists of more than arguments.
    pub fn has_begun(&self, outermost: StackId) -> bool {
        self.group(outermost).into_iter().any(|stack| !self.stacks[stack].frames.is_empty())
    }

    /// Copies a suspended group, and returns the outermost stack of the copy.
    pub(super) fn copy(&mut self, outermost: StackId) -> Result<StackId, Trap> {
        if !self.can_copy(outermost) {
            return Err(Trap("stack cannot be copied"));
        }
        let group = self.group(outermost);
        let mut copied = Copied::default();
        for &stack in &group {
            copied.stacks.push((stack, self.stacks.len()));
            self.stacks.push(self.stacks[stack].clone());
            self.copy_locals(stack, &mut copied);
        }
        for &(stack, copy) in &copied.stacks {
            let copy = &mut self.stacks[copy];
            copy.innermost = copied.stack(copy.innermost);
            copy.parent = copy.parent.filter(|_| stack != outermost);
            copy.parent = copy.parent.map(|parent| copied.stack(parent));
            copy.frames.iter_mut().for_each(|frame| frame.become_copy(&copied));
        }
        self.copies += 1;
        Ok(copied.stack(outermost))
    }

    fn copy_locals(&mut self, stack: StackId, copied: &mut Copied) {
        let frames = self.stacks[stack].frames.iter();
        let whole = frames.filter(|frame| !matches!(frame.then, OnReturn::Part(_)));
        for locals in whole.map(|frame| frame.locals) {
            copied.locals.push((locals, self.locals.len()));
            self.locals.push(self.locals[locals].clone());
        }
    }

    /// Whether the frames of a stack, or its bound arguments, hold a first-class stack.
    fn holds_stacks(&self, stack: StackId) -> bool {
        let taken = self.stacks[stack].frames.iter().flat_map(|frame| match &frame.then {
            OnReturn::Part(part) => part.taken(),
            _ => Vec::new(),
        });
        let mut held = self.owned(stack).into_iter().chain(taken);
        held.any(|value| value != Value::Zero)
    }
}

impl Frame {
    fn become_copy(&mut self, copied: &Copied) {
        self.locals = copied.locals(self.locals);
        if let OnReturn::Part(part) = &mut self.then {
            part.become_copy(copied);
        }
    }
}
