//! The operations that scripts choose from, for each design.

use super::scripted_program::{CONTS, ProgramBuilder, STACKS, TASKS};
use crate::designs::program::{Bag, Fiber, Handler, Op, Signature, Task, Ty, Typed, With};

impl ProgramBuilder {
    pub fn typed(&mut self) -> Option<Vec<Op>> {
        let ty = self.choice.one(&CONTS)?;
        let signature = self.program.types.conts[ty].clone();
        Some(match self.choice.below(18) {
            16 | 17 => {
                let (cont, to) = (self.local(Ty::Cont(ty)), self.other_local(Ty::Cont(ty)));
                vec![Op::Typed(Typed::Clone { to, ty, cont })]
            }
            0 | 1 => {
                let function = self.function_of(&signature)?;
                vec![Op::Typed(Typed::New { to: self.local(Ty::Cont(ty)), ty, function })]
            }
            2 => {
                let pairs = [(1, 0), (5, 6), (5, 0), (6, 0), (0, 0)];
                let (ty, into) = self.choice.one(&pairs)?;
                let conts = &self.program.types.conts;
                let count = conts[ty].params.len() - conts[into].params.len();
                let bound = conts[ty].params[..count].to_vec();
                let args = self.locals(&bound);
                let (cont, to) = (self.local(Ty::Cont(ty)), self.local(Ty::Cont(into)));
                vec![Op::Typed(Typed::Bind { to, ty, into, args, cont })]
            }
            3..=9 => return self.resume(ty, &signature),
            10..=13 => {
                let tag = self.tag(|_| true)?;
                let signature = self.program.tags[tag].signature.clone();
                let (args, to) = (self.locals(&signature.params), self.locals(&signature.results));
                self.shown(Op::Typed(Typed::Suspend { tag, args, to: to.clone() }), &to)
            }
            _ => {
                let results = self.setup.results.clone();
                let tag = self.tag(|tag| tag.params.is_empty() && tag.results == results);
                let tag = tag?;
                let ty = 5 + self.choice.below(2);
                let params = self.program.types.conts[ty].params.clone();
                let args = self.locals(&params[..params.len() - 1]);
                let to = self.program.types.conts[5].params.clone();
                let (cont, to) = (self.local(Ty::Cont(ty)), self.locals(&to));
                self.shown(Op::Typed(Typed::Switch { ty, tag, args, cont, to: to.clone() }), &to)
            }
        })
    }

    fn resume(&mut self, ty: usize, signature: &Signature) -> Option<Vec<Op>> {
        let with = match self.choice.below(12) {
            0 => {
                let tag = self.event();
                let params = self.params_of(tag);
                With::Throw(tag, self.locals(&params))
            }
            1 => With::ThrowRef(self.local(Ty::Exn)),
            _ => With::Values(self.locals(&signature.params)),
        };
        let mut handlers = Vec::new();
        for _ in 0..self.choice.below(4) {
            let Some(tag) = self.tag(|_| true) else { continue };
            let found = self.program.tags[tag].signature.clone();
            let switches = found.params.is_empty() && found.results == self.setup.results;
            let rest = Signature::new(&found.results, &signature.results);
            match self.program.types.function_type(&rest) {
                _ if switches && self.choice.percent(60) => handlers.push(Handler::Switch(tag)),
                Some(rest) if rest < 7 => {
                    let clause = self.clause(tag, &[], &[Ty::Cont(rest)]);
                    handlers.push(Handler::Label(clause));
                }
                _ => {}
            }
        }
        let (cont, to) = (self.local(Ty::Cont(ty)), self.locals(&signature.results));
        Some(self.shown(Op::Typed(Typed::Resume { ty, with, cont, handlers, to: to.clone() }), &to))
    }

    pub fn bag(&mut self) -> Option<Vec<Op>> {
        let ty = self.choice.one(&STACKS)?;
        let params = self.program.types.stacks[ty].clone();
        let Some(Ty::Stack(returned)) = params.last().copied() else { return None };
        let back = self.program.types.stacks[returned].clone();
        let stack = self.local(Ty::Stack(ty));
        let args = self.locals(&params[..params.len() - 1]);
        let results = self.program.functions[self.function].signature.results.clone();
        let last = Some(Ty::Stack(returned));
        let thrown = self.tag(|tag| tag.results.is_empty() && tag.params.last().copied() == last);
        let thrown = thrown.map(|tag| {
            let params = self.params_of(tag);
            (tag, self.locals(&params[..params.len() - 1]))
        });
        Some(match self.choice.below(14) {
            12 | 13 => {
                let to = self.other_local(Ty::Stack(ty));
                vec![Op::Bag(Bag::Clone { to, ty, stack })]
            }
            0 | 1 => {
                let function = self.function_of(&Signature::new(&params, &[]))?;
                let by_reference = self.choice.percent(20);
                let to = self.local(Ty::Stack(ty));
                vec![Op::Bag(Bag::New { to, ty, function, by_reference })]
            }
            2 => {
                let pairs = [(2, 2)];
                let (ty, into) = self.choice.one(&pairs)?;
                let stacks = &self.program.types.stacks;
                let bound = stacks[ty][..stacks[ty].len() - stacks[into].len()].to_vec();
                let args = self.locals(&bound);
                let (stack, to) = (self.local(Ty::Stack(ty)), self.local(Ty::Stack(into)));
                vec![Op::Bag(Bag::Bind { to, ty, into, args, stack })]
            }
            3 => vec![Op::Bag(Bag::Retire { ty, args, stack })],
            4 | 5 => {
                let (tag, args) = thrown?;
                let to = self.locals(&back);
                let op = Op::Bag(Bag::Throw { ty, tag, args, stack, to: to.clone() });
                self.shown(op, &to)
            }
            6 => {
                let function = self.function_of(&Signature::new(&back, &results))?;
                vec![Op::Bag(Bag::ReturnSwitch { ty, args, stack, function })]
            }
            7 => {
                let (tag, args) = thrown?;
                let function = self.function_of(&Signature::new(&back, &results))?;
                vec![Op::Bag(Bag::ReturnThrow { ty, tag, args, stack, function })]
            }
            _ => {
                let to = self.locals(&back);
                self.shown(Op::Bag(Bag::Switch { ty, args, stack, to: to.clone() }), &to)
            }
        })
    }

    pub fn task(&mut self) -> Option<Vec<Op>> {
        let ty = self.choice.one(&TASKS)?;
        let signature = self.program.types.tasks[ty].clone();
        let task = self.local(Ty::Task(ty));
        let (received, given) = (self.locals(&signature.params), self.locals(&signature.results));
        Some(match self.choice.below(14) {
            0 | 1 => {
                let own: &[Ty] = [&[][..], &[Ty::I64]][self.choice.below(2)];
                let params = [&[Ty::Task(ty)], &signature.params[..], own].concat();
                let function = self.function_of(&Signature::new(&params, &signature.results))?;
                let args = self.locals(own);
                vec![Op::Task(Task::New { to: task, ty, function, args })]
            }
            2..=5 => {
                let to = given;
                let op = Task::Resume { ty, task, args: received, to: to.clone() };
                self.shown(Op::Task(op), &to)
            }
            6..=9 => {
                let to = received;
                let op = Task::Suspend { ty, task, args: given, to: to.clone() };
                self.shown(Op::Task(op), &to)
            }
            10 | 11 => {
                let into = ty;
                let args = self.program.types.tasks[into].params.clone();
                let (args, target) = (self.locals(&args), self.local(Ty::Task(into)));
                let to = received;
                let op = Task::SwitchTo { ty, from: task, into, target, args, to: to.clone() };
                self.shown(Op::Task(op), &to)
            }
            12 => vec![Op::Task(Task::Retire { ty, task, args: given })],
            _ => vec![Op::Task(Task::Release { ty, task })],
        })
    }

    pub fn fiber(&mut self) -> Option<Vec<Op>> {
        let event = self.event();
        let params = self.params_of(event);
        let args = self.locals(&params);
        let (fiber, from) = (self.local(Ty::Fiber), self.local(Ty::Fiber));
        let new = self.choice.below(16);
        let before: &[Ty] = if matches!(new, 13 | 14) { &[Ty::Fiber] } else { &[] };
        let mut clauses = Vec::new();
        for _ in 0..self.choice.below(4) {
            let tag = self.event();
            clauses.push(self.clause(tag, before, &[]));
        }
        Some(vec![Op::Fiber(match new {
            0 | 1 => return self.new_fiber(),
            2..=5 => Fiber::Mount { event, args, fiber, clauses },
            6..=8 => Fiber::Dismount { event, args, from, clauses },
            9 | 10 => Fiber::Switch { event, args, from, fiber, clauses },
            11 => Fiber::DismountRelease { event, args, from },
            12 => Fiber::SwitchRelease { event, args, from, fiber },
            13 | 14 => {
                let function = self.function_of(&Signature::new(&[Ty::Fiber], &params))?;
                let to = self.locals(&[&[Ty::Fiber], &params[..]].concat());
                let from = (new == 14).then_some(from);
                Fiber::Start { returns: event, function, args: vec![], from, clauses, to }
            }
            _ => Fiber::Release { fiber },
        })])
    }

    fn new_fiber(&mut self) -> Option<Vec<Op>> {
        let returns = self.choice.percent(80).then(|| self.event());
        let results = returns.map(|tag| self.params_of(tag)).unwrap_or_default();
        let mut clauses = Vec::new();
        for _ in 0..1 + self.choice.below(2) {
            let tag = self.event();
            let params = [&[Ty::Fiber], &self.params_of(tag)[..]].concat();
            clauses.push((tag, self.function_of(&Signature::new(&params, &results))?));
        }
        let to = self.local(Ty::Fiber);
        Some(vec![Op::Fiber(Fiber::New { to, returns, clauses, args: vec![] })])
    }

    /// Operations on calls, exceptions, the host and objects.
    pub fn other(&mut self) -> Option<Vec<Op>> {
        Some(match self.choice.below(14) {
            0 | 1 => vec![self.call()],
            2..=4 => {
                let mut catches = Vec::new();
                for _ in 0..1 + self.choice.below(2) {
                    let tag = (!self.choice.percent(25)).then(|| self.event());
                    catches.push(self.catch(tag));
                }
                let call = self.call();
                let body = self.noted(vec![call]);
                vec![Op::Try { body, catches }]
            }
            5 => {
                let tag = self.event();
                let params = self.params_of(tag);
                vec![Op::Throw { tag, args: self.locals(&params) }]
            }
            6 => vec![Op::ThrowRef { exn: self.local(Ty::Exn) }],
            7 | 8 => {
                let function = self.function_of(&Signature::entry())?;
                let (argument, to) = (self.local(Ty::I64), self.local(Ty::I64));
                let swallow = self.choice.percent(80);
                self.shown(Op::Enter { function, argument, swallow, to }, &[to])
            }
            9 => vec![Op::HostThrow { number: self.local(Ty::I64) }],
            10 | 11 => {
                let (to, number) = (self.local(Ty::Any), self.local(Ty::I64));
                let object = self.local(Ty::Any);
                vec![Op::NewStruct { to, number, object }]
            }
            _ => {
                let (to, object) = (self.local(Ty::I64), self.local(Ty::Any));
                vec![Op::Number { to, object }, Op::Note { from: to }]
            }
        })
    }
}
