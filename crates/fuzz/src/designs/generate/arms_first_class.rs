//! The operations on first-class stacks that scripts choose from.

use super::scripted_program::ProgramBuilder;
use crate::designs::program::{Catch, FirstClass, Op, Signature, TagId, Ty};

impl ProgramBuilder {
    pub fn first_class(&mut self) -> Option<Vec<Op>> {
        let stack = self.local(Ty::Linear);
        let first_class = match self.choice.below(20) {
            18 | 19 => {
                let copy = self.other_local(Ty::Linear);
                FirstClass::Clone { to: [stack, copy], stack }
            }
            0 | 1 => FirstClass::NewStack { to: stack },
            2..=5 => {
                let event = self.event_with_stack();
                let mut params = self.params_of(event);
                params.pop();
                let args = self.locals(&params);
                return self.caught(FirstClass::Switch { event, args, stack });
            }
            6..=8 => {
                let event = self.choice.percent(50).then(|| self.event());
                let results = event.map(|event| self.params_of(event)).unwrap_or_default();
                let function = self.function_of(&Signature::new(&[Ty::Linear], &results))?;
                let args = vec![];
                return self.caught(FirstClass::SwitchCall { function, event, args, stack });
            }
            9 => {
                let event = self.event();
                let params = self.params_of(event);
                FirstClass::SwitchDrop { event, args: self.locals(&params), stack }
            }
            10..=12 => return self.extend(stack),
            13 => {
                let call = self.call();
                FirstClass::Redirect { local: stack, body: self.noted(vec![call]) }
            }
            14 => {
                let call = self.call();
                let (ask, give) = (self.noted(vec![]), self.noted(vec![]));
                let body = self.noted(vec![call]);
                FirstClass::RedirectTo { ask, ask_to: stack, give_to: stack, give, body }
            }
            15 => {
                let call = self.call();
                let body = self.noted(vec![call]);
                return Some(vec![self.answer(body)]);
            }
            _ => {
                let tag = self.choice.below(2);
                let signature = self.program.call_tags[tag].clone();
                let (args, to) = (self.locals(&signature.params), self.locals(&signature.results));
                let op = FirstClass::CallStack { tag, args, to: to.clone() };
                return Some(self.shown(Op::FirstClass(op), &to));
            }
        };
        Some(vec![Op::FirstClass(first_class)])
    }

    fn event_with_stack(&mut self) -> TagId {
        self.tag(|tag| tag.params.last() == Some(&Ty::Linear)).unwrap_or_default()
    }

    fn answer(&mut self, body: usize) -> Op {
        let tag = self.choice.below(2);
        let signature = self.program.call_tags[tag].clone();
        let (params, results) = (self.locals(&signature.params), self.locals(&signature.results));
        let call = self.call();
        let code = if self.choice.percent(50) { vec![call] } else { vec![] };
        let code = self.noted(code);
        Op::FirstClass(FirstClass::Answer { tag, params, code, results, body })
    }

    /// Puts catches around an operation that does not return.
    fn caught(&mut self, op: FirstClass) -> Option<Vec<Op>> {
        let catches = self.stack_catches();
        let body = self.block(vec![Op::FirstClass(op)]);
        Some(vec![Op::Try { body, catches }])
    }

    fn stack_catches(&mut self) -> Vec<Catch> {
        let mut catches = Vec::new();
        for _ in 0..1 + self.choice.below(3) {
            let tag = if self.choice.percent(75) { self.event_with_stack() } else { self.event() };
            let mut catch = self.catch(Some(tag));
            if catch.with_ref && self.choice.percent(60) {
                catch.with_ref = false;
                catch.to.pop();
            }
            catches.push(catch);
        }
        catches
    }

    fn extend(&mut self, stack: usize) -> Option<Vec<Op>> {
        let own: &[Ty] = [&[][..], &[Ty::Linear]][self.choice.below(2)];
        let event = self.choice.percent(70).then(|| self.event());
        let results = event.map(|event| self.params_of(event)).unwrap_or_default();
        let signature = Signature::new(own, &results);
        let module = self.program.functions[self.function].module;
        let functions = self.program.functions.iter().enumerate();
        let routs = functions.filter(|(_, function)| {
            function.rout && function.module == module && function.signature == signature
        });
        let routs: Vec<_> = routs.map(|(id, _)| id).collect();
        let rout = match self.choice.one(&routs) {
            Some(rout) => rout,
            None => self.new_function(module, &signature, true),
        };
        let (args, to) = (self.locals(own), self.local(Ty::Linear));
        Some(vec![Op::FirstClass(FirstClass::Extend { to, rout, event, args, stack })])
    }

    /// The openings of the current rout, and its `stack.start`.
    pub fn openings(&mut self) -> Op {
        let start = self.block(vec![Op::FirstClass(FirstClass::Start)]);
        let catches = self.stack_catches();
        let mut opening = Op::Try { body: start, catches };
        for _ in 0..self.choice.below(3) {
            // Only openings are allowed before `stack.start`, so nothing is recorded here.
            let body = self.block(vec![opening]);
            opening = match self.choice.below(3) {
                0 => Op::FirstClass(FirstClass::Redirect { local: self.local(Ty::Linear), body }),
                1 => self.answer(body),
                _ => Op::Try { body, catches: self.stack_catches() },
            };
        }
        opening
    }
}
