//! Locals and globals.

use super::{Local, LocalLocation, Translator};
use crate::emit::{clif_type, program_value};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};

impl Translator<'_> {
    pub(super) fn local_get(&mut self, local: u32) {
        let Local { location, ty } = self.locals[local as usize];
        let value = match location {
            LocalLocation::Variable(variable) => self.builder.use_var(variable),
            LocalLocation::Memory(place) => {
                let value = self.load_local(place, ty);
                if self.env.is_listed(ty) {
                    self.builder.declare_value_needs_stack_map(value);
                }
                value
            }
            LocalLocation::Unused => unreachable!("the survey reads all uses"),
        };
        if self.env.is_listed(ty) {
            self.references.insert(value);
        }
        if self.env.is_stackref(ty) {
            self.own_value(value);
        }
        self.push(value);
    }

    pub(super) fn local_set(&mut self, local: u32) {
        let value = self.pop();
        self.define_local(local, value);
    }

    pub(super) fn define_local(&mut self, local: u32, value: Value) {
        match self.locals[local as usize].location {
            LocalLocation::Variable(variable) => self.builder.def_var(variable, value),
            LocalLocation::Memory(place) => self.store_local(place, value),
            LocalLocation::Unused => {}
        }
        self.keep_local(local, value);
    }

    pub(super) fn local_tee(&mut self, local: u32) {
        self.local_set(local);
        self.local_get(local);
    }

    pub(super) fn global_get(&mut self, global: u32) {
        let ty = self.env.info.globals[global as usize];
        let (base, offset) = self.global_place(global);
        let mut flags = program_value(MemFlagsData::trusted());
        // A collection may change a reference.
        if !ty.mutable && !self.env.info.is_collected(ty.content) {
            flags = flags.with_readonly();
        }
        let value = self.ins().load(clif_type(ty.content), flags, base, offset);
        self.push_typed(value, ty.content);
    }

    pub(super) fn global_set(&mut self, global: u32) {
        let value = self.pop();
        let (base, offset) = self.global_place(global);
        self.ins().store(MemFlagsData::trusted(), value, base, offset);
    }

    fn global_place(&mut self, global: u32) -> (Value, i32) {
        if global < self.env.info.imported_globals {
            let offset = self.env.layout.imported_global(global);
            return (self.load_constant(self.context, offset), 0);
        }
        (self.context, self.env.layout.defined_global(global))
    }
}
