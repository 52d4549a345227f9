//! Proposes operations of fibers.

use super::proposer::Proposer;
use super::task::{is_running, is_suspended};
use crate::designs::model::{Machine, Value};
use crate::designs::program::{Clause, Fiber, Local, Op, Signature, Ty};

impl Proposer<'_> {
    pub fn fiber(&mut self, kind: usize) -> Option<Vec<Op>> {
        Some(vec![Op::Fiber(match kind {
            0..=2 => return self.new_fiber(),
            3..=7 => {
                let fiber = self.seek_fiber(is_suspended)?;
                let ((event, args), clauses) = (self.message(), self.event_clauses(&[]));
                Fiber::Mount { event, args, fiber, clauses }
            }
            8..=10 => {
                let from = self.seek_fiber(is_running)?;
                let ((event, args), clauses) = (self.message(), self.event_clauses(&[]));
                Fiber::Dismount { event, args, from, clauses }
            }
            11..=13 => {
                let from = self.seek_fiber(is_running)?;
                let to_itself = self.choice.percent(10);
                let fiber = if to_itself { from } else { self.seek_fiber(is_suspended)? };
                let ((event, args), clauses) = (self.message(), self.event_clauses(&[]));
                Fiber::Switch { event, args, from, fiber, clauses }
            }
            14 | 15 => return self.start_fiber(),
            16 => {
                let (from, (event, args)) = (self.seek_fiber(is_running)?, self.message());
                match self.choice.percent(50) {
                    true => Fiber::DismountRelease { event, args, from },
                    false => {
                        let fiber = self.seek_fiber(is_suspended)?;
                        Fiber::SwitchRelease { event, args, from, fiber }
                    }
                }
            }
            _ => Fiber::Release {
                fiber: self.seek_fiber(|machine, value| {
                    matches!(value, Value::Named(stack)
                        if machine.stacks[stack].suspended || machine.stacks[stack].dead)
                })?,
            },
        })])
    }

    fn seek_fiber(&mut self, will_do: impl Fn(&Machine, Value) -> bool) -> Option<Local> {
        self.seek(&[Ty::Fiber], will_do).map(|(_, fiber)| fiber)
    }

    fn event_clauses(&mut self, before: &[Ty]) -> Vec<Clause> {
        let count = self.choice.below(4);
        let tags: Vec<_> = (0..count).map(|_| self.event()).collect();
        tags.into_iter().map(|tag| self.clause(tag, before, &[])).collect()
    }

    fn new_fiber(&mut self) -> Option<Vec<Op>> {
        let returns = self.choice.percent(75).then(|| self.event());
        let results = returns.map(|tag| self.params_of(tag)).unwrap_or_default();
        let own: &[Ty] = [&[][..], &[Ty::I64], &[Ty::Any, Ty::I64]][self.choice.below(3)];
        let mut clauses = Vec::new();
        for _ in 0..1 + self.choice.below(3) {
            let tag = self.event();
            let params = [own, &[Ty::Fiber], &self.params_of(tag)[..]].concat();
            clauses.push((tag, self.function_of(&Signature::new(&params, &results), false)?));
        }
        let (args, to) = (self.args(own), self.any(Ty::Fiber));
        Some(vec![Op::Fiber(Fiber::New { to, returns, clauses, args })])
    }

    fn start_fiber(&mut self) -> Option<Vec<Op>> {
        let returns = self.event();
        let results = self.params_of(returns);
        let own: &[Ty] = [&[][..], &[Ty::I64, Ty::Any]][self.choice.below(2)];
        let params = [own, &[Ty::Fiber]].concat();
        let function = self.function_of(&Signature::new(&params, &results), false)?;
        let args = self.args(own);
        let from = match self.choice.percent(35) {
            true => Some(self.seek_fiber(is_running)?),
            false => None,
        };
        let clauses = self.event_clauses(&[Ty::Fiber]);
        let to = self.places(&[&[Ty::Fiber], &results[..]].concat());
        let start = Fiber::Start { returns, function, args, from, clauses, to: to.clone() };
        Some(self.shown(Op::Fiber(start), &to[1..]))
    }
}
