//! Copies of suspended groups.
//!
//! The copy has its own stacks, frames and locals, and copies of the first-class stacks that it owns.
//! All other state is shared: parts of a function whose frame is not copied use its original locals.
//! Objects and exceptions are shared, and other references in frames keep their meaning.

use super::stack::StackKind;
use super::walk::OnReturn;
use super::{Frame, Machine, StackId, Trap, Value};

/// The copied stacks and locals, with their copies.
#[derive(Default)]
pub struct Copied {
    stacks: Vec<(StackId, StackId)>,
    locals: Vec<(usize, usize)>,
    /// The outermost ones of the groups, if they are first-class stacks.
    owned: Vec<(StackId, StackId)>,
}

impl Copied {
    /// The copy of a stack, or the stack itself if it was not copied.
    pub fn stack(&self, stack: StackId) -> StackId {
        stand_in(&self.stacks, stack)
    }

    /// The reference to the copy of a first-class stack, or the same value.
    pub fn value(&self, value: Value) -> Value {
        match value {
            Value::Once { stack, epoch } => {
                Value::Once { stack: stand_in(&self.owned, stack), epoch }
            }
            value => value,
        }
    }

    pub fn replace_values<'a>(&self, values: impl IntoIterator<Item = &'a mut Value>) {
        values.into_iter().for_each(|value| *value = self.value(*value));
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
    /// Whether a suspended group can be copied, with all that it owns.
    pub fn can_copy(&self, outermost: StackId) -> bool {
        let groups = self.copied_groups(outermost).into_iter();
        groups.flat_map(|group| self.group(group)).all(|stack| {
            let kind = self.stacks[stack].kind;
            matches!(kind, StackKind::Continuation | StackKind::Coroutine | StackKind::FirstClass)
        })
    }

    /// The outermost stacks of a group and of the groups that it owns.
    fn copied_groups(&self, outermost: StackId) -> Vec<StackId> {
        let (mut groups, mut next) = (Vec::new(), vec![outermost]);
        while let Some(group) = next.pop() {
            if groups.contains(&group) {
                continue;
            }
            groups.push(group);
            for stack in self.group(group) {
                next.extend(
                    self.held_stacks(stack).into_iter().filter_map(|held| self.valid(held)),
                );
            }
        }
        groups
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
        let groups = self.copied_groups(outermost);
        let mut copied = Copied::default();
        for stack in groups.iter().flat_map(|group| self.group(*group)).collect::<Vec<_>>() {
            copied.stacks.push((stack, self.stacks.len()));
            self.stacks.push(self.stacks[stack].clone());
            self.copy_locals(stack, &mut copied);
        }
        let is_owned = |group: &&StackId| self.stacks[**group].kind == StackKind::FirstClass;
        copied.owned = groups.iter().filter(is_owned).map(|id| (*id, copied.stack(*id))).collect();
        for &(stack, copy) in &copied.stacks {
            let copy = &mut self.stacks[copy];
            copy.innermost = copied.stack(copy.innermost);
            copy.parent = copy.parent.filter(|_| !groups.contains(&stack));
            copy.parent = copy.parent.map(|parent| copied.stack(parent));
            copied.replace_values(&mut copy.bound);
            copy.frames.iter_mut().for_each(|frame| frame.become_copy(&copied));
        }
        for &(_, copy) in &copied.locals {
            copied.replace_values(&mut self.locals[copy]);
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

    /// The first-class stacks in the frames of a stack and in its bound arguments.
    fn held_stacks(&self, stack: StackId) -> Vec<Value> {
        let taken = self.stacks[stack].frames.iter().flat_map(|frame| match &frame.then {
            OnReturn::Part(part) => part.taken(),
            _ => Vec::new(),
        });
        self.owned(stack).into_iter().chain(taken).collect()
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
