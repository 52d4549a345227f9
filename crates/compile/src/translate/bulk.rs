//! Copying and filling ranges of memories.
//!
//! The bounds are checked in line. A small constant number of bytes is also moved in line.
//! Otherwise, few bytes are moved by a routine that uses no stack, and many by the host.

use super::Translator;
use super::memory::pair;
use crate::emit::record::{Field, Records, store};
use crate::emit::{program_value, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, InstBuilder, InstructionData, MemFlagsData, Opcode, SigRef, Signature, Value,
    ValueDef, types::*,
};
use cranelift_codegen::isa::CallConv;
use ropewalk_abi::{Builtin, FEW_BYTES, StoreContext, TrapCode};

/// The most bytes that are copied in line: as many as fit into registers.
const MAX_INLINE: u64 = 128;
/// The bytes that the host moves at once in a function that can be interrupted. That takes some
/// tenths of a millisecond if the kernel has to allocate them.
const PIECE: i64 = 1 << 20;
/// The most bytes that are filled in line.
const MAX_INLINE_FILL: u64 = 256;

impl Translator<'_> {
    pub(super) fn memory_copy(&mut self, to: u32, from: u32) {
        let (target, source, count) = self.pop3();
        let constant = self.constant(count);
        let [target, source, count] = [target, source, count].map(|value| self.widen(value));
        let source_address = self.range(from, source, count);
        let target_address = self.range(to, target, count);
        if let Some(count) = constant.filter(|count| *count <= MAX_INLINE) {
            return self.copy_inline(target_address, source_address, count as u32);
        }
        let few = store::COPY_BYTES;
        let indices = self.index(pair(to, from));
        let few_args = [target_address, source_address, count];
        self.few_or_many(few, &few_args, |this| {
            // A copy must not overwrite bytes that it copies later.
            let is_forward = this.ins().icmp(IntCC::UnsignedLessThanOrEqual, target, source);
            this.in_pieces(count, Some(is_forward), |this, at, piece| {
                let [target, source] = [target, source].map(|start| this.ins().iadd(start, at));
                this.call_builtin(Builtin::memory_copy, &[indices, target, source, piece]);
            });
        });
    }

    pub(super) fn memory_fill(&mut self, memory: u32) {
        let (target, byte, count) = self.pop3();
        let constant = self.constant(count);
        let [target, byte, count] = [target, byte, count].map(|value| self.widen(value));
        let address = self.range(memory, target, count);
        let in_line = |count: &u64| (16..=MAX_INLINE_FILL).contains(count);
        if let Some(count) = constant.filter(in_line) {
            return self.fill_inline(address, byte, count as u32);
        }
        let few = store::FILL_BYTES;
        let index = self.index(u64::from(memory));
        self.few_or_many(few, &[address, byte, count], |this| {
            this.in_pieces(count, None, |this, at, piece| {
                let target = this.ins().iadd(target, at);
                this.call_builtin(Builtin::memory_fill, &[index, target, byte, piece]);
            });
        });
    }

    /// The address of a range of a memory. Traps if it is out of bounds.
    fn range(&mut self, memory: u32, start: Value, count: Value) -> Value {
        let code = trap(TrapCode::MemoryOutOfBounds);
        let end = match self.env.info.memories[memory as usize].memory64 {
            true => self.ins().uadd_overflow_trap(start, count, code),
            false => self.ins().iadd(start, count),
        };
        let len = self.memory_len(memory);
        let outside = self.ins().icmp(IntCC::UnsignedGreaterThan, end, len);
        self.ins().trapnz(outside, code);
        let base = self.memory_base(memory);
        self.ins().iadd(base, start)
    }

    /// The value of an operand that is a constant.
    pub(super) fn constant(&self, value: Value) -> Option<u64> {
        let dfg = &self.builder.func.dfg;
        let ValueDef::Result(inst, _) = dfg.value_def(dfg.resolve_aliases(value)) else {
            return None;
        };
        match dfg.insts[inst] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => {
                let bits = dfg.value_type(value).bits();
                Some(imm.bits() as u64 & (u64::MAX >> (64 - bits)))
            }
            _ => None,
        }
    }

    /// Loads everything before it stores anything, since the ranges may overlap.
    fn copy_inline(&mut self, to: Value, from: Value, count: u32) {
        let flags = program_value(MemFlagsData::new().with_notrap());
        let loads: Vec<_> = pieces(count)
            .into_iter()
            .map(|(ty, at)| (self.ins().load(ty, flags, from, at), at))
            .collect();
        for (value, at) in loads {
            self.ins().store(flags, value, to, at);
        }
    }

    fn fill_inline(&mut self, to: Value, byte: Value, count: u32) {
        let byte = self.ins().ireduce(I8, byte);
        let bytes = self.ins().splat(I8X16, byte);
        let flags = MemFlagsData::new().with_notrap();
        for (_, at) in pieces(count) {
            self.ins().store(flags, bytes, to, at);
        }
    }

    /// Emits work on many bytes, at once. In a function that can be interrupted, emits it piece by
    /// piece, with a poll after each. `work` gets the start and the length of a piece. The pieces
    /// come in order, or the last one first if `is_forward` is false.
    fn in_pieces(
        &mut self,
        count: Value,
        is_forward: Option<Value>,
        work: impl FnOnce(&mut Self, Value, Value),
    ) {
        if !self.env.modes.interruption {
            let beginning = self.ins().iconst(I64, 0);
            return work(self, beginning, count);
        }
        let [next_piece, done] = [self.builder.create_block(), self.builder.create_block()];
        let [left] = self.words(next_piece);
        self.jump(next_piece, &[count]);
        self.builder.switch_to_block(next_piece);
        let most = self.ins().iconst(I64, PIECE);
        let piece = self.ins().umin(left, most);
        let rest = self.ins().isub(left, piece);
        let before = self.ins().isub(count, left);
        let at = match is_forward {
            Some(is_forward) => self.ins().select(is_forward, before, rest),
            None => before,
        };
        work(self, at, piece);
        self.poll();
        self.ins().brif(rest, next_piece, &[rest.into()], done, &[]);
        self.builder.seal_block(next_piece);
        self.enter_sealed(done);
    }

    /// Calls a routine of the store for few bytes, and emits other code for many.
    pub(super) fn few_or_many(
        &mut self,
        few: Field<StoreContext>,
        args: &[Value],
        many: impl FnOnce(&mut Self),
    ) {
        let count = *args.last().expect("the number of bytes");
        let limit = FEW_BYTES as i64;
        let is_few = self.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, count, limit);
        let [small, large, next] = std::array::from_fn(|_| self.builder.create_block());
        self.ins().brif(is_few, small, &[], large, &[]);
        self.enter_sealed(small);
        let store = self.store_context();
        let routine = self.get_constant(store, few);
        let signature = self.routine_signature();
        self.ins().call_indirect(signature, routine, args);
        self.jump(next, &[]);
        self.enter_sealed(large);
        many(self);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }

    fn routine_signature(&mut self) -> SigRef {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params = vec![AbiParam::new(I64); 3];
        self.builder.import_signature(signature)
    }
}

/// Splits a number of bytes into pieces. The last may overlap the one before.
fn pieces(count: u32) -> Vec<(cranelift_codegen::ir::Type, i32)> {
    let mut pieces = Vec::new();
    let mut at = 0;
    for ty in [I8X16, I64, I32, I16, I8] {
        while count - at >= ty.bytes() {
            pieces.push((ty, at as i32));
            at += ty.bytes();
        }
        if ty == I8X16 && count > 16 && at < count {
            pieces.push((ty, (count - 16) as i32));
            return pieces;
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_every_byte() {
        for count in 0..=MAX_INLINE as u32 {
            let mut covered = vec![false; count as usize];
            for (ty, at) in pieces(count) {
                covered[at as usize..at as usize + ty.bytes() as usize].fill(true);
            }
            assert!(covered.iter().all(|byte| *byte), "{count}");
        }
    }
}
