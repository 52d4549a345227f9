//! Proposes operations of first-class stacks.

use super::bag::can_switch;
use super::proposer::Proposer;
use crate::designs::model::OnReturn;
use crate::designs::program::{
    BlockId, Catch, FirstClass, FunctionId, Local, Op, Signature, TagId, Ty,
};

/// The kind of operations that switch to another stack and free the running one.
pub const SWITCH_AWAY: usize = 14;

impl Proposer<'_> {
    pub fn first_class(&mut self, kind: usize) -> Option<Vec<Op>> {
        Some(match kind {
            0 => vec![self.new_stack().0],
            1..=4 => {
                let (before, stack) = self.stack()?;
                let own: &[Ty] = [&[][..], &[Ty::I64], &[Ty::Any, Ty::I64]][self.choice.below(3)];
                let (event, results) = self.results(before.is_some(), 50);
                let params = [own, &[Ty::Linear]].concat();
                let function = self.function_of(&Signature::new(&params, &results), false)?;
                let args = self.args(own);
                let op = FirstClass::SwitchCall { function, event, args, stack };
                before.into_iter().chain([self.caught(op)]).collect()
            }
            5..=8 => {
                let (before, stack) = self.stack()?;
                let own: &[Ty] = [&[][..], &[Ty::I64], &[Ty::Linear]][self.choice.below(3)];
                let (event, results) = self.results(before.is_some(), 80);
                let rout = self.rout(&Signature::new(own, &results))?;
                let (args, to) = (self.args(own), self.place(Ty::Linear));
                let op = FirstClass::Extend { to, rout, event, args, stack };
                before.into_iter().chain([Op::FirstClass(op)]).collect()
            }
            9..=13 => {
                let stack = self.seek_stack()?;
                vec![self.switch(stack)]
            }
            SWITCH_AWAY => {
                let (stack, (event, args)) = (self.seek_stack()?, self.message());
                vec![Op::FirstClass(FirstClass::SwitchDrop { event, args, stack })]
            }
            15 | 16 => {
                let (local, body) = (self.seek_stack()?, self.body());
                let redirect = match self.choice.percent(60) {
                    true => FirstClass::Redirect { local, body },
                    false => self.redirect_to(local, body),
                };
                vec![Op::FirstClass(redirect)]
            }
            17..=20 => {
                let body = self.body();
                vec![self.answer(body)]
            }
            21..=23 => {
                let tag = self.choice.below(self.program().call_tags.len());
                let Signature { params, results } = self.program().call_tags[tag].clone();
                let (args, to) = (self.args(&params), self.places(&results));
                let op = FirstClass::CallStack { tag, args, to: to.clone() };
                self.shown(Op::FirstClass(op), &to)
            }
            _ => {
                let copied = self.copied();
                let (_, stack) = self.seek(&[Ty::Linear], copied)?;
                let given = if self.choice.percent(70) { stack } else { self.place(Ty::Linear) };
                let copy = self.place_beside(Ty::Linear, given);
                let op = FirstClass::Clone { to: [given, copy], stack };
                let mut ops = vec![Op::FirstClass(op)];
                for one in [copy, given] {
                    if self.choice.percent(50) {
                        ops.push(self.switch(one));
                    }
                }
                ops
            }
        })
    }

    /// Whether the function is on top of a stack, so that returning would trap.
    pub fn is_on_top(&self) -> bool {
        self.running().is_some_and(|frame| matches!(frame.then, OnReturn::Event(None, _)))
    }

    fn seek_stack(&mut self) -> Option<Local> {
        self.seek(&[Ty::Linear], can_switch).map(|(_, stack)| stack)
    }

    fn new_stack(&mut self) -> (Op, Local) {
        let to = self.place(Ty::Linear);
        (Op::FirstClass(FirstClass::NewStack { to }), to)
    }

    /// An existing stack, or a new one with the operation that creates it.
    fn stack(&mut self) -> Option<(Option<Op>, Local)> {
        let found = if self.choice.percent(50) { self.seek_stack() } else { None };
        Some(match found {
            Some(stack) => (None, stack),
            None => {
                let (op, stack) = self.new_stack();
                (Some(op), stack)
            }
        })
    }

    /// An event for the results of a function on top of a stack, and their types. A new stack
    /// accepts no event.
    fn results(&mut self, is_new: bool, percent: usize) -> (Option<TagId>, Vec<Ty>) {
        let event = (!is_new && self.choice.percent(percent)).then(|| self.event());
        (event, event.map(|event| self.params_of(event)).unwrap_or_default())
    }

    fn event_with_stack(&mut self) -> TagId {
        self.tag(|tag| tag.params.last() == Some(&Ty::Linear)).unwrap_or_default()
    }

    fn switch(&mut self, stack: Local) -> Op {
        let event = self.event_with_stack();
        let params = self.params_of(event);
        let args = self.args(&params[..params.len() - 1]);
        self.caught(FirstClass::Switch { event, args, stack })
    }

    /// Mostly puts catches around an operation that does not return.
    fn caught(&mut self, op: FirstClass) -> Op {
        if self.choice.percent(8) {
            return Op::FirstClass(op);
        }
        let catches = self.stack_catches();
        let body = self.block(vec![Op::FirstClass(op)]);
        self.machine.program.blocks[body].closed = true;
        Op::Try { body, catches }
    }

    /// Catches for events that may arrive at a switch, mostly events with a stack.
    fn stack_catches(&mut self) -> Vec<Catch> {
        let mut catches = Vec::new();
        for _ in 0..1 + self.choice.below(3) {
            let tag = if self.choice.percent(75) { self.event_with_stack() } else { self.event() };
            let mut catch = self.catch(Some(tag));
            // The engine has a fast path for plain catches.
            if catch.with_ref && self.choice.percent(70) {
                catch.with_ref = false;
                catch.to.pop();
            }
            catches.push(catch);
        }
        if self.choice.percent(15) {
            catches.push(self.catch(None));
        }
        catches
    }

    fn redirect_to(&mut self, ask_to: Local, body: BlockId) -> FirstClass {
        let (ask, give) = (self.noted(vec![]), self.noted(vec![]));
        let give_to = if self.choice.percent(90) { ask_to } else { self.new_local(Ty::Linear) };
        FirstClass::RedirectTo { ask, ask_to, give_to, give, body }
    }

    fn answer(&mut self, body: BlockId) -> Op {
        let tag = self.choice.below(self.program().call_tags.len());
        let Signature { params, results } = self.program().call_tags[tag].clone();
        let (params, results) = (self.places(&params), self.places(&results));
        let code = self.noted(vec![]);
        Op::FirstClass(FirstClass::Answer { tag, params, code, results, body })
    }

    /// A rout of this module: an existing or a new one.
    fn rout(&mut self, signature: &Signature) -> Option<FunctionId> {
        let module = self.program().functions[self.function].module;
        let functions = self.program().functions.iter().enumerate();
        let routs = functions.filter(|(_, function)| {
            function.rout && function.module == module && function.signature == *signature
        });
        let routs: Vec<_> = routs.map(|(id, _)| id).collect();
        match self.choice.one(&routs) {
            Some(rout) if self.setup.is_scripted || self.choice.percent(50) => Some(rout),
            _ => Some(self.new_function(module, signature, true)),
        }
    }

    /// The openings of the current rout, and its `stack.start`.
    pub fn openings(&mut self) -> Op {
        let start = self.block(vec![Op::FirstClass(FirstClass::Start)]);
        self.machine.program.blocks[start].closed = true;
        let mut opening = Op::Try { body: start, catches: self.stack_catches() };
        for _ in 0..self.choice.below(3) {
            // Only openings are allowed before `stack.start`, so the block records nothing.
            let body = self.block(vec![opening]);
            let local = self.any(Ty::Linear);
            opening = match self.choice.below(8) {
                0 | 1 => self.answer(body),
                2 => Op::FirstClass(FirstClass::Redirect { local, body }),
                3 => Op::FirstClass(self.redirect_to(local, body)),
                _ => Op::Try { body, catches: self.stack_catches() },
            };
        }
        opening
    }
}
