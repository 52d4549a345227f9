//! Proposes operations on numbers, objects and variables, control flow inside a stack, exceptions,
//! and calls of the host.

use super::proposer::Proposer;
use crate::designs::program::{Op, Signature, TABLE_LENGTH, Ty};

/// The number of kinds of [`Proposer::basic`].
pub const BASIC: usize = 24;

/// The number of kinds of [`Proposer::control`].
pub const CONTROL: usize = 20;

impl Proposer<'_> {
    /// Operations on numbers, objects and variables.
    pub fn basic(&mut self, kind: usize) -> Option<Vec<Op>> {
        let number = self.any(Ty::I64);
        Some(vec![match kind {
            0 | 1 => Op::Const { to: number, value: self.choice.below(1000) as i64 - 3 },
            2 | 3 => {
                let (a, b) = (self.any(Ty::I64), self.any(Ty::I64));
                return Some(self.shown(Op::Mix { to: number, a, b }, &[number]));
            }
            4 | 5 => return self.copy(),
            6 => {
                let (to, object) = (self.any(Ty::Any), self.any(Ty::Any));
                Op::NewStruct { to, number, object }
            }
            7 => {
                let length = 1 + self.choice.below(40) as i64;
                Op::NewArray { to: self.any(Ty::Any), number, length }
            }
            8 => Op::NewI31 { to: self.any(Ty::Any), number },
            9 => {
                let object = self.any(Ty::Any);
                return Some(self.shown(Op::Number { to: number, object }, &[number]));
            }
            10 | 11 => self.wrap()?,
            12..=17 => self.store()?,
            18 | 19 => {
                let global = self.choice.below(self.program().globals.len());
                Op::GlobalGet { to: self.place(self.program().globals[global]), global }
            }
            20 | 21 => {
                let ty = self.choice.one(&self.program().globals.clone())?;
                if !ty.is_reference() || ty == Ty::Linear && !self.choice.percent(5) {
                    return None;
                }
                let from = self.any(ty);
                return Some(self.shown(Op::IsNull { to: number, from }, &[number]));
            }
            _ => Op::Log { from: number },
        }])
    }

    fn copy(&mut self) -> Option<Vec<Op>> {
        let ty = self.choice.one(&self.program().functions[self.function].locals.clone())?;
        let from = self.any(ty);
        let to = match ty {
            Ty::I64 if self.choice.percent(30) => self.any(Ty::V128),
            Ty::V128 => self.any(Ty::I64),
            _ => self.place(ty),
        };
        let is_dropped = ty == Ty::Linear && self.choice.percent(5);
        let drop = is_dropped.then_some(Op::Drop { from: to });
        Some([Op::Copy { to, from }].into_iter().chain(drop).collect())
    }

    /// Wraps a reference in a struct, or uses one that a struct wraps.
    fn wrap(&mut self) -> Option<Op> {
        let ty = self.choice.one(&self.program().types.wrapped())?;
        let object = self.with(Ty::Any, |machine, _, value| machine.wraps(value).is_some());
        let object = object.filter(|_| self.choice.percent(50));
        let Some(object) = object else {
            return Some(Op::Wrap { to: self.any(Ty::Any), from: self.arg(ty) });
        };
        let known = self.running().map(|frame| self.machine.local_of(frame, object));
        let ty = known.and_then(|value| self.machine.wraps(value)).unwrap_or(ty);
        Some(match self.choice.below(4) {
            0 if ty == Ty::Linear => Op::Refill { object, from: self.any(ty) },
            1 if ty == Ty::Linear => Op::IsCleared { to: self.any(Ty::I64), object },
            _ => Op::Unwrap { to: self.place(ty), object },
        })
    }

    /// Stores a value in a variable.
    fn store(&mut self) -> Option<Op> {
        if self.choice.percent(60) {
            let global = self.choice.below(self.program().globals.len());
            return Some(Op::GlobalSet { global, from: self.arg(self.program().globals[global]) });
        }
        let table = self.choice.below(self.program().tables.len());
        let out_of_bounds = self.choice.percent(1);
        let index = self.choice.below(TABLE_LENGTH as usize) as i64;
        let index = if out_of_bounds { TABLE_LENGTH } else { index };
        Some(Op::TableSet { table, index, from: self.arg(self.program().tables[table]) })
    }

    /// Control flow, exceptions, and calls of functions and of the host.
    pub fn control(&mut self, kind: usize) -> Option<Vec<Op>> {
        Some(vec![match kind {
            0 | 1 => {
                let condition = self.any(Ty::I64);
                Op::If { condition, then: self.body(), otherwise: self.body() }
            }
            2 | 3 => {
                let (counter, value) = (self.new_local(Ty::I64), self.choice.below(4) as i64 + 1);
                let body = self.body();
                return Some(vec![Op::Const { to: counter, value }, Op::Loop { counter, body }]);
            }
            4..=7 => {
                let mut catches = Vec::new();
                for _ in 0..1 + self.choice.below(3) {
                    let tag = (!self.choice.percent(12)).then(|| self.event());
                    catches.push(self.catch(tag));
                }
                Op::Try { body: self.body(), catches }
            }
            8 | 9 if self.choice.percent(25) => {
                Op::ThrowRef { exn: self.seek(&[Ty::Exn], |_, value| !value.is_null())?.1 }
            }
            8 | 9 => {
                let (tag, args) = self.message();
                Op::Throw { tag, args }
            }
            10..=13 => return self.call(),
            14..=16 => {
                let function = self.function_of(&Signature::entry(), true)?;
                let (argument, to) = (self.any(Ty::I64), self.any(Ty::I64));
                let swallow = self.choice.percent(70);
                return Some(self.shown(Op::Enter { function, argument, swallow, to }, &[to]));
            }
            17 => Op::HostThrow { number: self.any(Ty::I64) },
            18 if !self.is_part() && self.choice.percent(50) => Op::Return,
            19 if self.choice.percent(50) => Op::HostFail,
            19 => Op::Unreachable,
            _ => return None,
        }])
    }

    fn call(&mut self) -> Option<Vec<Op>> {
        let mut signatures = vec![
            Signature::new(&[], &[]),
            Signature::new(&[Ty::I64, Ty::Any], &[Ty::Any]),
            Signature::entry(),
        ];
        let types = &self.program().types;
        if types.first_class {
            signatures.push(Signature::new(&[Ty::Linear], &[Ty::Linear]));
            signatures.push(Signature::new(&[Ty::I64, Ty::Linear], &[Ty::I64]));
        }
        if !types.conts.is_empty() {
            signatures.push(Signature::new(&[Ty::Cont(0)], &[Ty::I64, Ty::Cont(1)]));
        }
        let signature = signatures.swap_remove(self.choice.below(signatures.len()));
        let function = self.function_of(&signature, true)?;
        let args = self.args(&signature.params);
        let results = &self.program().functions[self.function].signature.results;
        if *results == signature.results && !self.is_part() && self.choice.percent(25) {
            return Some(vec![Op::ReturnCall { function, args }]);
        }
        let to = self.places(&signature.results);
        Some(self.shown(Op::Call { function, args, to: to.clone() }, &to))
    }
}
