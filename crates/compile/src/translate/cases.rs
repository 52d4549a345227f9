//! Blocks for what is common and for what is not, and words in memory.

use super::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types::*};

impl Translator<'_> {
    pub(crate) fn cold_block(&mut self) -> Block {
        let cold = self.builder.create_block();
        self.builder.set_cold_block(cold);
        cold
    }

    /// A block for what is uncommon, and the one where it and the rest meet.
    pub(crate) fn cold_and_next(&mut self) -> [Block; 2] {
        [self.cold_block(), self.next_block()]
    }

    /// A block for what follows, which is as common as what comes before it.
    pub(crate) fn next_block(&mut self) -> Block {
        let current = self.builder.current_block();
        let is_cold = current.is_some_and(|block| self.builder.func.layout.is_cold(block));
        match is_cold {
            true => self.cold_block(),
            false => self.builder.create_block(),
        }
    }

    pub(crate) fn go_on_if(&mut self, condition: Value, cold: Block) {
        let next = self.next_block();
        self.builder.ins().brif(condition, next, &[], cold, &[]);
        self.enter_sealed(next);
    }

    pub(crate) fn go_on_unless(&mut self, condition: Value, cold: Block) {
        let next = self.next_block();
        self.builder.ins().brif(condition, cold, &[], next, &[]);
        self.enter_sealed(next);
    }

    /// Parameters of a block.
    pub(crate) fn words<const N: usize>(&mut self, block: Block) -> [Value; N] {
        std::array::from_fn(|_| self.builder.append_block_param(block, I64))
    }

    pub(crate) fn load_word(&mut self, base: Value, offset: usize) -> Value {
        self.builder.ins().load(I64, MemFlagsData::trusted(), base, offset as i32)
    }

    pub(crate) fn store_word(&mut self, value: Value, base: Value, offset: usize) {
        self.builder.ins().store(MemFlagsData::trusted(), value, base, offset as i32);
    }

    /// Stores a word unless it is there already: a store costs more than a load.
    pub(crate) fn store_other(&mut self, value: Value, base: Value, offset: usize) {
        let present = self.load_word(base, offset);
        let is_other = self.builder.ins().icmp(IntCC::NotEqual, value, present);
        let [cold, next] = self.cold_and_next();
        self.builder.ins().brif(is_other, cold, &[], next, &[]);
        self.enter_sealed(cold);
        self.store_word(value, base, offset);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }
}
