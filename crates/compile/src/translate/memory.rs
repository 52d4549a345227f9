//! Linear memory: addresses, loads and stores, and the bulk operations.
//!
//! A 32-bit memory has a reservation of 4 GiB, followed by a guard. So an access needs no check if
//! its static offset is below the size of the guard. For a 64-bit memory, and for a 32-bit one with
//! a smaller reservation, the index is compared with the length; the guard covers small offsets.
//! Such a memory may move when it grows.

use super::Translator;
use crate::emit::{constant_flags, program_value, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, Value, types::*};
use ropewalk_abi::{Builtin, MEMORY_GUARD, MemoryDef, MemoryType, TrapCode};
use std::mem::offset_of;
use wasmparser::{MemArg, MemArgTarget};

/// A checked address: the access is at `base + offset`.
#[derive(Clone, Copy)]
pub(super) struct Address {
    pub base: Value,
    pub offset: i32,
    pub flags: MemFlagsData,
}

impl Translator<'_> {
    /// Pops an index, and returns the address of an access of `size` bytes there.
    pub(super) fn address(&mut self, memarg: &MemArg, size: u32) -> Address {
        let index = self.pop();
        self.address_at(index, memarg, size)
    }

    /// The address of an access of `size` bytes at an index.
    pub(super) fn address_at(&mut self, index: Value, memarg: &MemArg, size: u32) -> Address {
        let memory = target(memarg);
        let ty = self.env.info.memories[memory as usize];
        let index = self.widen(index);
        let small_offset = memarg.offset.saturating_add(u64::from(size)) <= MEMORY_GUARD;
        if !small_offset {
            self.check_end(memarg, size, index, ty.memory64);
        } else if self.is_checked(memory) {
            self.check_index(memory, index);
        }
        let start = self.memory_base(memory);
        let base = self.ins().iadd(start, index);
        let (base, offset) = if small_offset {
            (base, memarg.offset as i32)
        } else {
            let offset = self.ins().iconst(I64, memarg.offset as i64);
            (self.ins().iadd(base, offset), 0)
        };
        let flags = MemFlagsData::new()
            .with_endianness(ir::Endianness::Little)
            .with_trap_code(Some(trap(TrapCode::MemoryOutOfBounds)));
        Address { base, offset, flags }
    }

    /// Whether indices of a memory are compared with its length.
    fn is_checked(&self, memory: u32) -> bool {
        self.env.modes.small_memories || self.env.info.memories[memory as usize].memory64
    }

    /// Traps unless the index is in the memory.
    fn check_index(&mut self, memory: u32, index: Value) {
        let len = self.memory_len(memory);
        let outside = self.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
        self.ins().trapnz(outside, trap(TrapCode::MemoryOutOfBounds));
    }

    /// Traps unless the end of an access with a large static offset is in the memory.
    fn check_end(&mut self, memarg: &MemArg, size: u32, index: Value, memory64: bool) {
        let code = trap(TrapCode::MemoryOutOfBounds);
        let Some(distance) = memarg.offset.checked_add(u64::from(size)) else {
            // The offset alone is out of bounds.
            let never = self.ins().iconst(I8, 1);
            self.ins().trapnz(never, code);
            return;
        };
        let distance = self.ins().iconst(I64, distance as i64);
        let end = if memory64 {
            self.ins().uadd_overflow_trap(index, distance, code)
        } else {
            self.ins().iadd(index, distance)
        };
        let len = self.memory_len(target(memarg));
        let outside = self.ins().icmp(IntCC::UnsignedGreaterThan, end, len);
        self.ins().trapnz(outside, code);
    }

    /// The record of a memory, as a base and an offset from it.
    fn memory_def(&mut self, memory: u32) -> (Value, i32) {
        if memory < self.env.info.imported_memories {
            let offset = self.env.layout.imported_memory(memory);
            return (self.load_constant(self.context, offset), 0);
        }
        (self.context, self.env.layout.defined_memory(memory))
    }

    pub(super) fn memory_base(&mut self, memory: u32) -> Value {
        let (def, offset) = self.memory_def(memory);
        // A memory without checks grows in place.
        let flags = match self.is_checked(memory) {
            false => constant_flags(),
            true => MemFlagsData::trusted(),
        };
        let offset = offset + offset_of!(MemoryDef, base) as i32;
        self.ins().load(I64, flags, def, offset)
    }

    pub(super) fn memory_len(&mut self, memory: u32) -> Value {
        let (def, offset) = self.memory_def(memory);
        let offset = offset + offset_of!(MemoryDef, len) as i32;
        self.ins().load(I64, program_value(MemFlagsData::trusted()), def, offset)
    }

    // ---- loads and stores of whole values

    pub(super) fn load(&mut self, ty: ir::Type, memarg: &MemArg) {
        let at = self.address(memarg, ty.bytes());
        let value = self.ins().load(ty, program_value(at.flags), at.base, at.offset);
        self.push(value);
    }

    pub(super) fn store(&mut self, memarg: &MemArg) {
        let value = self.pop();
        let size = self.builder.func.dfg.value_type(value).bytes();
        let at = self.address(memarg, size);
        self.ins().store(at.flags, value, at.base, at.offset);
    }

    /// Loads `narrow`, extended to `ty`.
    pub(super) fn load_extend(
        &mut self,
        ty: ir::Type,
        narrow: ir::Type,
        signed: bool,
        memarg: &MemArg,
    ) {
        let at = self.address(memarg, narrow.bytes());
        let (flags, base, offset) = (at.flags, at.base, at.offset);
        let ins = self.ins();
        let value = match (narrow, signed) {
            (I8, false) => ins.uload8(ty, flags, base, offset),
            (I8, true) => ins.sload8(ty, flags, base, offset),
            (I16, false) => ins.uload16(ty, flags, base, offset),
            (I16, true) => ins.sload16(ty, flags, base, offset),
            (I32, false) => ins.uload32(flags, base, offset),
            (I32, true) => ins.sload32(flags, base, offset),
            _ => unreachable!("no load narrows to {narrow}"),
        };
        self.push(value);
    }

    /// Stores the low bits of an integer.
    pub(super) fn store_narrow(&mut self, narrow: ir::Type, memarg: &MemArg) {
        let value = self.pop();
        let at = self.address(memarg, narrow.bytes());
        let (flags, base, offset) = (at.flags, at.base, at.offset);
        let ins = self.ins();
        match narrow {
            I8 => ins.istore8(flags, value, base, offset),
            I16 => ins.istore16(flags, value, base, offset),
            I32 => ins.istore32(flags, value, base, offset),
            _ => unreachable!("no store narrows to {narrow}"),
        };
    }

    // ---- size and bulk operations

    fn is_memory32(&self, memory: u32) -> bool {
        !self.env.info.memories[memory as usize].memory64
    }

    pub(super) fn memory_size(&mut self, memory: u32) {
        let len = self.memory_len(memory);
        let pages = self.ins().ushr_imm_u(len, i64::from(MemoryType::PAGE_SIZE.trailing_zeros()));
        let pages = self.narrow_if(self.is_memory32(memory), pages);
        self.push(pages);
    }

    pub(super) fn memory_grow(&mut self, memory: u32) {
        let pages = self.pop();
        let pages = self.widen(pages);
        let index = self.index(u64::from(memory));
        let size = self.call_builtin(Builtin::memory_grow, &[index, pages]);
        let size = self.narrow_if(self.is_memory32(memory), size);
        self.push(size);
    }

    /// Drops a data or element segment.
    pub(super) fn drop_segment(&mut self, builtin: Builtin, segment: u32) {
        let segment = self.index(u64::from(segment));
        self.call_builtin(builtin, &[segment]);
    }

    /// An index, or two as one word, as an argument of a builtin.
    pub(crate) fn index(&mut self, index: u64) -> Value {
        self.ins().iconst(I64, index as i64)
    }

    /// Calls a builtin that takes the three topmost operands.
    pub(super) fn bulk(&mut self, builtin: Builtin, indices: u64) {
        let (a, b, c) = self.pop3();
        let indices = self.index(indices);
        let operands = [indices, self.widen(a), self.widen(b), self.widen(c)];
        self.call_builtin(builtin, &operands);
    }
}

/// The memory of an access.
fn target(memarg: &MemArg) -> u32 {
    match memarg.target {
        MemArgTarget::Memory(memory) => memory,
        MemArgTarget::Array(_) => unreachable!("the engine's features admit only memories"),
    }
}

/// Two indices as one word.
pub(crate) fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
