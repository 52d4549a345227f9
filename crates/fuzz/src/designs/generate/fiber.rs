//! Generates operations of fibers.

use super::block_writer::BlockWriter;
use super::task::{is_running, is_suspended};
use crate::designs::model::{StackId, Value};
use crate::designs::program::{Clause, Fiber, Op, Signature, TagId, Ty};

impl BlockWriter<'_> {
    pub fn fiber(&mut self) -> Option<()> {
        match self.choice.below(18) {
            0..=2 => self.new_fiber(),
            3..=7 => self.mount(),
            8..=10 => self.dismount(),
            11..=13 => self.switch_fiber(),
            14 | 15 => self.start_fiber(),
            16 => self.release_and_go(),
            _ => self.release_fiber(),
        }
    }

    fn events(&self) -> Vec<TagId> {
        self.tags(|tag| tag.results.is_empty())
    }

    fn event_clauses(&mut self, before: &[Ty]) -> Vec<Clause> {
        let events = self.events();
        let count = self.choice.below(4);
        let tags: Vec<_> = (0..count).filter_map(|_| self.tag(&events)).collect();
        tags.into_iter().map(|tag| self.clause(tag, before, &[])).collect()
    }

    /// An event with its payload, mostly one that the stack accepts where it waits.
    fn message_for(&mut self, stack: Option<StackId>) -> Option<(TagId, Vec<usize>)> {
        let events = self.events();
        let accepted = stack.map(|stack| self.machine.accepts(stack)).unwrap_or_default();
        let fitting: Vec<_> =
            events.iter().copied().filter(|event| accepted.contains(event)).collect();
        let event = match self.choice.one(&fitting) {
            Some(event) if !self.choice.percent(12) => event,
            _ => self.tag(&events)?,
        };
        let params = self.params_of(event);
        Some((event, self.args(&params)))
    }

    fn stack_of(&self, local: usize) -> Option<StackId> {
        match self.machine.peek(local) {
            Value::Named(stack) => Some(stack),
            _ => None,
        }
    }

    fn new_fiber(&mut self) -> Option<()> {
        let events = self.events();
        let returns = if self.choice.percent(75) { self.tag(&events) } else { None };
        let results = match returns {
            Some(returns) => self.params_of(returns),
            None => vec![],
        };
        let own: &[Ty] = [&[][..], &[Ty::I64], &[Ty::Any, Ty::I64]][self.choice.below(3)];
        let mut clauses = Vec::new();
        for _ in 0..1 + self.choice.below(3) {
            let tag = self.tag(&events)?;
            let params = [own, &[Ty::Fiber], &self.params_of(tag)[..]].concat();
            clauses.push((tag, self.function(&Signature::new(&params, &results), false)));
        }
        let args = self.args(own);
        let to = self.any(Ty::Fiber);
        self.add(Op::Fiber(Fiber::New { to, returns, clauses, args }));
        Some(())
    }

    fn mount(&mut self) -> Option<()> {
        let (_, fiber) = self.seek(&[Ty::Fiber], is_suspended)?;
        let innermost = self.stack_of(fiber).map(|stack| self.machine.stacks[stack].innermost);
        let (event, args) = self.message_for(innermost)?;
        let clauses = self.event_clauses(&[]);
        self.add(Op::Fiber(Fiber::Mount { event, args, fiber, clauses }));
        Some(())
    }

    fn dismount(&mut self) -> Option<()> {
        let (_, from) = self.seek(&[Ty::Fiber], is_running)?;
        let parent = self.stack_of(from).and_then(|stack| self.machine.stacks[stack].parent);
        let (event, args) = self.message_for(parent)?;
        let clauses = self.event_clauses(&[]);
        self.add(Op::Fiber(Fiber::Dismount { event, args, from, clauses }));
        Some(())
    }

    fn switch_fiber(&mut self) -> Option<()> {
        let (_, from) = self.seek(&[Ty::Fiber], is_running)?;
        let (_, fiber) = match self.choice.percent(10) {
            true => (Ty::Fiber, from),
            false => self.seek(&[Ty::Fiber], is_suspended)?,
        };
        let innermost = self.stack_of(fiber).map(|stack| self.machine.stacks[stack].innermost);
        let (event, args) = self.message_for(innermost)?;
        let clauses = self.event_clauses(&[]);
        self.add(Op::Fiber(Fiber::Switch { event, args, from, fiber, clauses }));
        Some(())
    }

    fn start_fiber(&mut self) -> Option<()> {
        let events = self.events();
        let returns = self.tag(&events)?;
        let results = self.params_of(returns);
        let own: &[Ty] = [&[][..], &[Ty::I64, Ty::Any]][self.choice.below(2)];
        let params = [own, &[Ty::Fiber]].concat();
        let function = self.function(&Signature::new(&params, &results), false);
        let args = self.args(own);
        let from = match self.choice.percent(35) {
            true => Some(self.seek(&[Ty::Fiber], is_running)?.1),
            false => None,
        };
        let clauses = self.event_clauses(&[Ty::Fiber]);
        let to = self.places(&[&[Ty::Fiber], &results[..]].concat());
        self.add(Op::Fiber(Fiber::Start { returns, function, args, from, clauses, to }));
        Some(())
    }

    fn release_and_go(&mut self) -> Option<()> {
        let (_, from) = self.seek(&[Ty::Fiber], is_running)?;
        if self.choice.percent(50) {
            let parent = self.stack_of(from).and_then(|stack| self.machine.stacks[stack].parent);
            let (event, args) = self.message_for(parent)?;
            self.add(Op::Fiber(Fiber::DismountRelease { event, args, from }));
        } else {
            let (_, fiber) = self.seek(&[Ty::Fiber], is_suspended)?;
            let innermost = self.stack_of(fiber).map(|stack| self.machine.stacks[stack].innermost);
            let (event, args) = self.message_for(innermost)?;
            self.add(Op::Fiber(Fiber::SwitchRelease { event, args, from, fiber }));
        }
        Some(())
    }

    fn release_fiber(&mut self) -> Option<()> {
        let (_, fiber) = self.seek(&[Ty::Fiber], |machine, value| {
            matches!(value, Value::Named(stack)
                if machine.stacks[stack].suspended || machine.stacks[stack].dead)
        })?;
        self.add(Op::Fiber(Fiber::Release { fiber }));
        Some(())
    }
}
