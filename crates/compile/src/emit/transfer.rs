//! Writes values to the [transfer area](ropewalk_abi::transfer) of a store, and reads them.

use super::carry::{CARRIED, from_carrier, to_carrier, to_vector};
use super::record::store;
use super::{clif_type, constant_flags, program_value, trap};
use crate::target::Target;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types::*};
use cranelift_frontend::FunctionBuilder;
use ropewalk_abi::signature::Passing;
use ropewalk_abi::transfer::{ValueClass, tag_offset, transfer_offset};
use ropewalk_abi::{TrapCode, ValType};

/// The transfer area, in the code of a function.
pub(crate) struct Transfer<'b, 'f> {
    builder: &'b mut FunctionBuilder<'f>,
    area: Value,
    /// Whether tags record the class of each value.
    is_tagged: bool,
}

impl<'b, 'f> Transfer<'b, 'f> {
    pub fn of(target: &Target, builder: &'b mut FunctionBuilder<'f>, store: Value) -> Self {
        let offset = store::TRANSFER.offset;
        let area = builder.ins().load(I64, constant_flags(), store, offset);
        Transfer { builder, area, is_tagged: target.modes.check_stacks }
    }

    // ---- calls

    /// Writes the parameters or results of a function that do not travel directly; returns the
    /// direct ones.
    pub fn scatter(
        &mut self,
        values: &[Value],
        types: &[ValType],
        places: impl Iterator<Item = Passing>,
    ) -> Vec<Value> {
        let mut direct = Vec::with_capacity(values.len());
        for ((&value, &ty), place) in values.iter().zip(types).zip(places) {
            match place {
                Passing::Direct => direct.push(value),
                Passing::Transfer(slot) => self.put(slot, value, ty),
            }
        }
        direct
    }

    /// Returns the parameters or results of a function, given the direct ones.
    pub fn gather(
        &mut self,
        direct: &[Value],
        types: &[ValType],
        places: impl Iterator<Item = Passing>,
    ) -> Vec<Value> {
        let mut direct = direct.iter();
        let value = |(&ty, place)| match place {
            Passing::Direct => *direct.next().expect("as many as there are direct places"),
            Passing::Transfer(slot) => self.take(slot, ty),
        };
        types.iter().zip(places).map(value).collect()
    }

    // ---- switches

    /// Writes the values of a switch that do not travel in registers; returns the others as they
    /// travel.
    pub fn carry(&mut self, values: &[Value], types: &[ValType]) -> Vec<Value> {
        assert_eq!(values.len(), types.len());
        let mut carried = Vec::new();
        for (slot, (&value, &ty)) in values.iter().zip(types).enumerate() {
            if slot >= CARRIED {
                self.put(slot as u32, value, ty);
                continue;
            }
            self.tag(slot as u32, ty);
            carried.push(to_carrier(self.builder, value));
        }
        carried
    }

    /// Returns the values of a switch, given those that traveled in registers.
    pub fn receive(&mut self, carried: &[Value], types: &[ValType]) -> Vec<Value> {
        let value = |(slot, &ty): (usize, &ValType)| {
            if slot >= CARRIED {
                return self.take(slot as u32, ty);
            }
            self.check_tag(slot as u32, ty);
            from_carrier(self.builder, carried[slot], clif_type(ty))
        };
        types.iter().enumerate().map(value).collect()
    }

    /// Writes all values, for a call of the runtime, which uses them or loses the registers. Each
    /// fills its place: a load of a whole place is fast only after a store of a whole place.
    pub fn put_all(&mut self, values: &[Value], types: &[ValType]) {
        assert_eq!(values.len(), types.len());
        for (slot, (&value, &ty)) in (0..).zip(values.iter().zip(types)) {
            let value = to_vector(self.builder, value);
            self.put(slot, value, ty);
        }
    }

    /// Loads those of this many values that travel in registers.
    pub fn load_carried(&mut self, count: usize) -> Vec<Value> {
        let slots = 0..count.min(CARRIED) as u32;
        slots.map(|slot| self.load(I8X16, slot)).collect()
    }

    // ---- places

    /// Writes a value to a place.
    pub fn put(&mut self, slot: u32, value: Value, ty: ValType) {
        self.put_word(slot, value);
        self.tag(slot, ty);
    }

    /// Writes a reference so that it fills its place, as in `put_all`.
    pub fn put_reference(&mut self, slot: u32, value: Value) {
        let value = to_vector(self.builder, value);
        self.put_word(slot, value);
        self.tag_class(slot, ValueClass::Ref);
    }

    /// Keeps a word in a place that no value uses.
    pub fn put_word(&mut self, slot: u32, word: Value) {
        let flags = MemFlagsData::trusted();
        self.builder.ins().store(flags, word, self.area, transfer_offset(slot));
    }

    /// Reads a pointer of the engine from a place.
    pub fn take_word(&mut self, slot: u32) -> Value {
        let flags = MemFlagsData::trusted();
        self.builder.ins().load(I64, flags, self.area, transfer_offset(slot))
    }

    fn take(&mut self, slot: u32, ty: ValType) -> Value {
        self.check_tag(slot, ty);
        self.load(clif_type(ty), slot)
    }

    fn load(&mut self, ty: Type, slot: u32) -> Value {
        let flags = program_value(MemFlagsData::trusted());
        self.builder.ins().load(ty, flags, self.area, transfer_offset(slot))
    }

    // ---- tags

    fn tag(&mut self, slot: u32, ty: ValType) {
        self.tag_class(slot, ValueClass::of(ty));
    }

    fn tag_class(&mut self, slot: u32, class: ValueClass) {
        if self.is_tagged {
            let class = self.builder.ins().iconst(I32, class as i64);
            let flags = MemFlagsData::trusted();
            self.builder.ins().istore8(flags, class, self.area, tag_offset(slot));
        }
    }

    fn check_tag(&mut self, slot: u32, ty: ValType) {
        if self.is_tagged {
            let flags = MemFlagsData::trusted();
            let tag = self.builder.ins().uload8(I32, flags, self.area, tag_offset(slot));
            let class = ValueClass::of(ty) as i64;
            let is_other = self.builder.ins().icmp_imm_u(IntCC::NotEqual, tag, class);
            self.builder.ins().trapnz(is_other, trap(TrapCode::MistypedTransfer));
        }
    }
}
