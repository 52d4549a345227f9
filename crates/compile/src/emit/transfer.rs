//! Putting values into the [transfer area](ropewalk_abi::transfer) of a store, and
//! taking them out.

use crate::emit::carry::{CARRIED, from_carrier, to_carrier, to_vector};
use crate::emit::record::store;
use crate::pointers::program_value;
use crate::target::Target;
use crate::translate::{clif_type, constant_flags, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types::*};
use cranelift_frontend::FunctionBuilder;
use ropewalk_abi::signature::Passing;
use ropewalk_abi::transfer::{ValueClass, tag_offset, transfer_offset};
use ropewalk_abi::{TrapCode, ValType};

/// The transfer area, in the code of a function.
pub(crate) struct Transfer<'b, 'f> {
    builder: &'b mut FunctionBuilder<'f>,
    /// Where the area begins.
    area: Value,
    /// Whether tags say what was put there.
    is_tagged: bool,
}

impl<'b, 'f> Transfer<'b, 'f> {
    /// The area of a store.
    pub fn of(target: &Target, builder: &'b mut FunctionBuilder<'f>, store: Value) -> Self {
        let offset = store::TRANSFER.offset;
        let area = builder.ins().load(I64, constant_flags(), store, offset);
        Transfer { builder, area, is_tagged: target.check_stacks }
    }

    // ---- calls

    /// Puts the parameters or results of a function into their places; returns the
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

    /// Takes the parameters or results of a function out of their places, of which
    /// the direct ones are given.
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

    /// Puts the values that do not travel in registers into the area; returns the
    /// others as they travel.
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

    /// The values of a switch, of which those that travelled in registers are given.
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

    /// Puts all values into the area, for the runtime's use or because it loses the
    /// registers. They fill their places, since what is loaded in one piece should
    /// have been stored in one.
    pub fn put_all(&mut self, values: &[Value], types: &[ValType]) {
        assert_eq!(values.len(), types.len());
        for (slot, (&value, &ty)) in (0..).zip(values.iter().zip(types)) {
            let value = to_vector(self.builder, value);
            self.put(slot, value, ty);
        }
    }

    /// Those of this many values in the area that travel in registers.
    pub fn load_carried(&mut self, count: usize) -> Vec<Value> {
        let slots = 0..count.min(CARRIED) as u32;
        slots.map(|slot| self.load(I8X16, slot)).collect()
    }

    // ---- places

    /// Puts a value into a place.
    pub fn put(&mut self, slot: u32, value: Value, ty: ValType) {
        self.put_word(slot, value);
        self.tag(slot, ty);
    }

    /// Puts a reference into a place, which it fills, as in `put_all`.
    pub fn put_reference(&mut self, slot: u32, value: Value) {
        let value = to_vector(self.builder, value);
        self.put_word(slot, value);
        self.tag_class(slot, ValueClass::Ref);
    }

    /// Keeps a word in a place that no value needs.
    pub fn put_word(&mut self, slot: u32, word: Value) {
        let flags = MemFlagsData::trusted();
        self.builder.ins().store(flags, word, self.area, transfer_offset(slot));
    }

    /// Takes a word of the engine out of a place.
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
