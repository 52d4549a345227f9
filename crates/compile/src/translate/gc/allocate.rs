//! Allocation of objects.
//!
//! Two addresses in the store's context delimit the free part of the heap. An object that fits
//! takes the first bytes of it. Otherwise the runtime allocates it, which may collect.

use super::access::HeapRegion;
use crate::emit::record::{Records, store};
use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use ropewalk_abi::Builtin;

/// The free part of the heap: its start now, and after a new object.
struct Free {
    next: Value,
    rest: Value,
    /// Whether the object does not fit.
    full: Value,
}

impl Translator<'_> {
    /// Allocates an object of a type and a size in bytes. Only its header is written; the caller
    /// must initialize the rest before anything can collect.
    pub(in crate::translate) fn allocate(&mut self, ty: u32, size: u32) -> Value {
        let ty = self.type_info(ty);
        let free = self.free(size);
        let [fast, slow, done] = [(); 3].map(|()| self.builder.create_block());
        let object = self.builder.append_block_param(done, I64);
        self.builder.declare_value_needs_stack_map(object);
        self.builder.set_cold_block(slow);
        self.ins().brif(free.full, slow, &[], fast, &[]);
        self.allocate_fast(fast, ty, &free, done);
        self.allocate_slow(slow, ty, size, done);
        self.enter_sealed(done);
        object
    }

    fn free(&mut self, size: u32) -> Free {
        let store = self.store_context();
        let [next, end] = [store::HEAP_NEXT, store::HEAP_END].map(|field| self.get(store, field));
        let rest = self.ins().iadd_imm_u(next, i64::from(size));
        let full = self.ins().icmp(IntCC::UnsignedGreaterThan, rest, end);
        Free { next, rest, full }
    }

    fn allocate_fast(&mut self, block: Block, ty: Value, free: &Free, done: Block) {
        self.enter_sealed(block);
        let store = self.store_context();
        self.set(store, store::HEAP_NEXT, free.rest);
        let flags = self.heap_flags(HeapRegion::Head, None);
        self.ins().store(flags, ty, free.next, 0);
        self.jump(done, &[free.next]);
    }

    fn allocate_slow(&mut self, block: Block, ty: Value, size: u32, done: Block) {
        self.enter_sealed(block);
        let size = self.index(u64::from(size));
        let object = self.call_builtin(Builtin::heap_allocate, &[ty, size]);
        self.jump(done, &[object]);
    }
}
