//! Generates control flow inside a stack, exceptions, and calls of the host.

use super::block_writer::BlockWriter;
use crate::designs::program::{Op, Signature, Ty};

impl BlockWriter<'_> {
    pub fn control(&mut self) {
        match self.choice.below(20) {
            0 | 1 => {
                let condition = self.any(Ty::I64);
                let (then, otherwise) = (self.new_block(), self.new_block());
                self.add(Op::If { condition, then, otherwise });
            }
            2 | 3 => {
                let counter = self.new_local(Ty::I64);
                let value = 1 + self.choice.below(4) as i64;
                self.add(Op::Const { to: counter, value });
                let body = self.new_block();
                self.add(Op::Loop { counter, body });
            }
            4..=7 => self.try_something(),
            8 | 9 => self.throw(),
            10..=13 => self.call(),
            14..=16 => self.enter(),
            17 => self.host_throws(),
            18 => self.leave(),
            _ if self.choice.percent(10) => self.add_last(Op::HostFail),
            _ => self.basic(),
        }
    }

    fn try_something(&mut self) {
        let tags = self.tags(|tag| tag.results.is_empty());
        let mut catches = Vec::new();
        for _ in 0..1 + self.choice.below(3) {
            let tag = if self.choice.percent(12) { None } else { self.tag(&tags) };
            let catch = self.catch(tag);
            catches.push(catch);
        }
        let body = self.new_block();
        self.add(Op::Try { body, catches });
    }

    /// Throws an exception, mostly one that this function catches.
    fn throw(&mut self) {
        if self.choice.percent(25)
            && let Some((_, exn)) = self.seek(&[Ty::Exn], |_, value| !value.is_null())
        {
            return self.add_last(Op::ThrowRef { exn });
        }
        let mut tags = self.tags(|tag| tag.results.is_empty());
        let caught = self.machine.caught_here();
        if !self.choice.percent(15) {
            tags.retain(|tag| caught.contains(tag));
        }
        let Some(tag) = self.tag(&tags) else { return self.basic() };
        let params = self.params_of(tag);
        let args = self.args(&params);
        self.add_last(Op::Throw { tag, args });
    }

    fn call(&mut self) {
        let mut signatures = vec![
            Signature::new(&[], &[]),
            Signature::new(&[Ty::I64, Ty::Any], &[Ty::Any]),
            Signature::entry(),
        ];
        if self.setup.first_class {
            signatures.push(Signature::new(&[Ty::Linear], &[Ty::Linear]));
            signatures.push(Signature::new(&[Ty::I64, Ty::Linear], &[Ty::I64]));
        }
        if self.setup.typed {
            signatures.push(Signature::new(&[Ty::Cont(0)], &[Ty::I64, Ty::Cont(1)]));
        }
        let chosen = self.choice.below(signatures.len());
        let signature = &signatures[chosen];
        let function = self.function(signature, true);
        let args = self.args(&signature.params);
        let results = &self.machine.program.functions[self.machine.function()].signature.results;
        if *results == signature.results && !self.is_part() && self.choice.percent(25) {
            return self.add_last(Op::ReturnCall { function, args });
        }
        let to = self.places(&signature.results);
        self.add(Op::Call { function, args, to: to.clone() });
        self.show(&to);
    }

    /// Calls the host, which calls a function.
    fn enter(&mut self) {
        if self.machine.nesting() > 3 {
            return self.basic();
        }
        let function = self.function(&Signature::entry(), true);
        let (argument, to) = (self.any(Ty::I64), self.any(Ty::I64));
        let swallow = self.choice.percent(70);
        self.add(Op::Enter { function, argument, swallow, to });
        self.show(&[to]);
    }

    fn host_throws(&mut self) {
        if self.machine.caught_here().contains(&0) || self.choice.percent(20) {
            let number = self.any(Ty::I64);
            return self.add_last(Op::HostThrow { number });
        }
        self.basic();
    }

    fn leave(&mut self) {
        if !self.is_part() && self.choice.percent(50) {
            return self.add_last(Op::Return);
        }
        if self.choice.percent(10) {
            return self.add_last(Op::Unreachable);
        }
        self.basic();
    }
}
