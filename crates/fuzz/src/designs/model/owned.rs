//! Ownership of stacks. A stack owns the first-class stacks in the linear locals of its frames,
//! those that its walks have taken, and its initial and bound arguments. They end with it.

use super::stack::{Fresh, Stack, StackKind};
use super::walk::OnReturn;
use super::{Machine, StackId, Value};
use crate::designs::program::Ty;

impl Machine {
    /// The stacks that a stack owns; some may be null or stale.
    pub(super) fn owned(&self, stack: StackId) -> Vec<Value> {
        let Stack { frames, fresh, bound, .. } = &self.stacks[stack];
        let mut owned = Vec::new();
        for frame in frames {
            match &frame.then {
                OnReturn::Part(part) => owned.extend(self.first_class_among(&part.held())),
                _ => owned.extend(self.linear_locals(frame.function, frame.locals)),
            }
        }
        if let Some(Fresh::Task(_, values) | Fresh::Fiber(_, values)) = fresh {
            owned.extend(self.first_class_among(values));
        }
        owned.extend(self.first_class_among(bound));
        owned
    }

    fn linear_locals(&self, function: usize, locals: usize) -> Vec<Value> {
        let types = &self.program.functions[function].locals;
        let values = self.locals[locals].iter().zip(types);
        values.filter(|(_, ty)| **ty == Ty::Linear).map(|(value, _)| *value).collect()
    }

    fn first_class_among(&self, values: &[Value]) -> Vec<Value> {
        let is_first_class = |value: &&Value| match value {
            Value::Once { stack, .. } => self.stacks[*stack].kind == StackKind::FirstClass,
            _ => false,
        };
        values.iter().filter(is_first_class).copied().collect()
    }

    /// The stacks suspended under an outermost stack, the innermost first.
    pub(super) fn group(&self, outermost: StackId) -> Vec<StackId> {
        let mut group = vec![self.stacks[outermost].innermost];
        while let Some(&last) = group.last()
            && last != outermost
        {
            let parent = self.stacks[last].parent;
            group.push(parent.expect("a chain leads to its outermost stack"));
        }
        group
    }

    /// Ends stacks and all that they own, recursively.
    pub(super) fn end_all(&mut self, mut stacks: Vec<StackId>) {
        while let Some(stack) = stacks.pop() {
            let owned = self.owned(stack);
            let ended = &mut self.stacks[stack];
            ended.dead = true;
            ended.suspended = false;
            ended.frames.clear();
            ended.bound.clear();
            ended.fresh = None;
            for reference in owned {
                if let Some(outermost) = self.valid(reference) {
                    stacks.extend(self.group(outermost));
                    self.stacks[outermost].epoch += 1;
                }
            }
        }
    }

    pub(super) fn drop_locals_of(&mut self, function: usize, locals: usize) {
        for value in self.linear_locals(function, locals) {
            self.drop_stack(value);
        }
    }

    /// Whether a task or fiber may have been collected: it is suspended on a first-class stack
    /// without a certain owner. The time of a collection is unspecified.
    pub(super) fn may_be_collected(&self, stack: StackId) -> bool {
        let mut base = stack;
        while let Some(parent) = self.stacks[base].parent
            && !self.is_base(base)
        {
            base = parent;
        }
        let found = &self.stacks[base];
        found.kind == StackKind::FirstClass && found.suspended && !self.is_owned(base)
    }

    /// Whether the running stacks, a linear global or a linear table own a stack, directly or
    /// indirectly.
    fn is_owned(&self, wanted: StackId) -> bool {
        let globals = self.globals.iter().zip(&self.program.globals);
        let globals = globals.filter(|(_, ty)| **ty == Ty::Linear).map(|(value, _)| *value);
        let tables = self.tables.iter().zip(&self.program.tables);
        let tables = tables.filter(|(_, ty)| **ty == Ty::Linear).flat_map(|(table, _)| table);
        let mut pending: Vec<Value> = globals.chain(tables.copied()).collect();
        for stack in self.all_running() {
            pending.extend(self.owned(stack));
        }
        let mut seen = vec![false; self.stacks.len()];
        while let Some(reference) = pending.pop() {
            let Some(outermost) = self.valid(reference) else { continue };
            if outermost == wanted {
                return true;
            }
            if !std::mem::replace(&mut seen[outermost], true) {
                let group = self.group(outermost);
                pending.extend(group.into_iter().flat_map(|stack| self.owned(stack)));
            }
        }
        false
    }
}
