//! Generates operations on numbers, objects and variables.

use super::block_writer::BlockWriter;
use crate::designs::program::{Op, TABLE_LENGTH, Ty};

impl BlockWriter<'_> {
    pub fn basic(&mut self) {
        match self.choice.below(12) {
            0 => {
                let (to, value) = (self.any(Ty::I64), self.choice.below(1000) as i64 - 3);
                self.add(Op::Const { to, value });
            }
            1 => {
                let (to, a, b) = (self.any(Ty::I64), self.any(Ty::I64), self.any(Ty::I64));
                self.add(Op::Mix { to, a, b });
                self.show(&[to]);
            }
            2 => self.copy(),
            3 | 4 => self.object(),
            5..=8 => self.store(),
            9 => self.load(),
            10 => self.ask_null(),
            _ => {
                let from = self.any(Ty::I64);
                self.add(Op::Log { from });
            }
        }
    }

    fn types(&self) -> Vec<Ty> {
        self.machine.program.functions[self.machine.function()].locals.clone()
    }

    fn copy(&mut self) {
        let types = self.types();
        let Some(ty) = self.choice.one(&types) else { return };
        let from = self.any(ty);
        let to = match ty {
            Ty::I64 if self.choice.percent(30) => self.any(Ty::V128),
            Ty::V128 => self.any(Ty::I64),
            _ => self.place(ty),
        };
        self.add(Op::Copy { to, from });
        if ty == Ty::Linear && self.choice.percent(5) {
            self.add(Op::Drop { from: to });
        }
    }

    fn object(&mut self) {
        let to = self.any(Ty::Any);
        let number = self.any(Ty::I64);
        match self.choice.below(6) {
            0 | 1 => {
                let object = self.any(Ty::Any);
                self.add(Op::NewStruct { to, number, object });
            }
            2 => {
                let length = 1 + self.choice.below(40) as i64;
                self.add(Op::NewArray { to, number, length });
            }
            3 => self.add(Op::NewI31 { to, number }),
            4 => self.wrap(),
            _ => {
                let object = self.any(Ty::Any);
                self.add(Op::Number { to: number, object });
                self.show(&[number]);
            }
        }
    }

    /// Wraps a reference in a struct, or reads it from one.
    fn wrap(&mut self) {
        let references = self.machine.program.types.wrapped();
        let Some(ty) = self.choice.one(&references) else { return };
        let fitting = self.machine.wrapped(ty);
        let objects = self.locals(Ty::Any).into_iter();
        let objects: Vec<_> =
            objects.filter(|&local| fitting.contains(&self.machine.peek(local))).collect();
        match self.choice.one(&objects) {
            Some(object) if ty == Ty::Linear => self.use_linear(object),
            Some(object) => {
                let to = self.any(ty);
                self.add(Op::Unwrap { to, object });
            }
            None if self.choice.percent(2) => {
                let (to, object) = (self.any(ty), self.any(Ty::Any));
                self.add(Op::Unwrap { to, object });
            }
            None => {
                let (to, from) = (self.any(Ty::Any), self.any(ty));
                self.add(Op::Wrap { to, from });
            }
        }
    }

    /// Moves a first-class stack out of a struct or into one, or tests for one.
    fn use_linear(&mut self, object: usize) {
        match self.choice.below(4) {
            0 | 1 => {
                let to = self.place(Ty::Linear);
                self.add(Op::Unwrap { to, object });
            }
            2 => {
                let from = self.any(Ty::Linear);
                self.add(Op::Refill { object, from });
            }
            _ => {
                let to = self.any(Ty::I64);
                self.add(Op::IsCleared { to, object });
                self.show(&[to]);
            }
        }
    }

    /// Stores a reference in a variable, mostly one that is empty.
    fn store(&mut self) {
        let types = self.types();
        let held: Vec<usize> = (0..types.len())
            .filter(|&local| types[local].is_reference() && !self.machine.peek(local).is_null())
            .collect();
        let Some(from) = self.choice.one(&held) else { return self.load() };
        let ty = types[from];
        let careful = ty == Ty::Linear && !self.choice.percent(3);
        if self.choice.percent(60) {
            let mut globals = self.machine.globals_of(ty);
            globals.retain(|(_, value)| !careful || value.is_null());
            if let Some((global, _)) = self.choice.one(&globals) {
                self.add(Op::GlobalSet { global, from });
            }
        } else {
            let mut elements = self.machine.elements_of(ty);
            elements.retain(|(_, _, value)| !careful || value.is_null());
            if let Some((table, mut index, _)) = self.choice.one(&elements) {
                if self.choice.percent(1) {
                    index = TABLE_LENGTH;
                }
                self.add(Op::TableSet { table, index, from });
            }
        }
    }

    fn load(&mut self) {
        let globals = self.machine.program.globals.len();
        let global = self.choice.below(globals);
        let ty = self.machine.program.globals[global];
        let to = self.place(ty);
        self.add(Op::GlobalGet { to, global });
    }

    fn ask_null(&mut self) {
        let mut types = self.types();
        types.retain(|ty| ty.is_reference() && (*ty != Ty::Linear || self.choice.percent(5)));
        let Some(ty) = self.choice.one(&types) else { return };
        let (to, from) = (self.any(Ty::I64), self.any(ty));
        self.add(Op::IsNull { to, from });
        self.show(&[to]);
    }
}
