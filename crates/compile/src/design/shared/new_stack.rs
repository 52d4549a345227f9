//! New stacks.

use crate::design::call::OperationCall;
use crate::function::THUNKS;
use crate::near::near_function;
use crate::translate::{Translator, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::*};
use ropewalk_abi::signature::DIRECT_PARAMS;
use ropewalk_abi::stack::{NEXT_GENERATION, Purpose, StackKind, kind_bits};
use ropewalk_abi::transfer::transfer_offset;
use ropewalk_abi::{Builtin, ControlBlock, RawVal, StoreContext, TrapCode};
use std::mem::offset_of;

impl Translator<'_> {
    /// A new stack: what it is for, where it begins, its function, and the
    /// values that it is made with. Answers its block.
    pub(crate) fn new_stack(
        &mut self,
        kind: StackKind,
        call: &OperationCall,
        function: Value,
        values: &[Value],
    ) -> Value {
        let block = match kind {
            StackKind::Task | StackKind::Fiber => self.free_stack_for_life(),
            _ => self.free_stack(),
        };
        // What can trap comes first: until then the stack stays on the list.
        let sp = self.put_on_new_stack(block, values);
        let next = self.load_word(block, offset_of!(ControlBlock, next_free));
        self.store_to_store(next, offset_of!(StoreContext, free_stacks));
        let state = match kind {
            StackKind::Continuation => Purpose::Continuation,
            StackKind::Bag => Purpose::Bag,
            StackKind::Task => Purpose::Task,
            StackKind::Fiber => Purpose::Fiber,
            StackKind::FirstClass => Purpose::FirstClass,
        };
        let parent = match kind {
            StackKind::Task | StackKind::Fiber => self.builder.ins().iconst(I64, 0),
            _ => self.no_parent(),
        };
        let entry = self.thunk_address(call);
        let zero = self.builder.ins().iconst(I64, 0);
        let none = self.builder.ins().iconst(I32, 0);
        let state = self.builder.ins().iconst(I32, state as i64);
        self.store_word(sp, block, offset_of!(ControlBlock, sp));
        self.store_word(zero, block, offset_of!(ControlBlock, fp));
        self.store_word(function, block, offset_of!(ControlBlock, function));
        self.store_word(entry, block, offset_of!(ControlBlock, entry));
        self.store_word(parent, block, offset_of!(ControlBlock, parent));
        self.store_word(zero, block, offset_of!(ControlBlock, sought));
        self.store_word(none, block, offset_of!(ControlBlock, bound));
        self.store_word(state, block, offset_of!(ControlBlock, purpose));
        block
    }

    /// The reference of a block, as one of a kind.
    pub(crate) fn reference_of_kind(&mut self, block: Value, kind: StackKind) -> Value {
        let reference = self.load_word(block, offset_of!(ControlBlock, reference));
        self.builder.ins().bor_imm_u(reference, kind_bits(kind) as i64)
    }

    /// The first free stack, as [`free_stack`](Self::free_stack), whose present
    /// generation is not the last: it is for one that is made stale in the end.
    pub(crate) fn free_stack_for_life(&mut self) -> Value {
        let first = self.free_stack();
        let reference = self.load_word(first, offset_of!(ControlBlock, reference));
        let one = self.builder.ins().iconst(I64, NEXT_GENERATION as i64);
        let (_, overflow) = self.builder.ins().uadd_overflow(reference, one);
        let [cold, next] = [self.builder.create_block(), self.builder.create_block()];
        let block = self.builder.append_block_param(next, I64);
        self.builder.set_cold_block(cold);
        self.builder.ins().brif(overflow, cold, &[], next, &[first.into()]);
        self.enter_sealed(cold);
        let renewed = self.call_builtin(Builtin::renew_free, &[]);
        self.jump(next, &[renewed]);
        self.enter_sealed(next);
        block
    }

    /// Puts the address where stacks begin on top of a new one, and values
    /// behind it; answers the stack pointer.
    pub(crate) fn put_on_new_stack(&mut self, block: Value, values: &[Value]) -> Value {
        let size = values.len() * size_of::<RawVal>();
        let top = self.load_word(block, offset_of!(ControlBlock, top));
        let sp = self.builder.ins().iadd_imm_s(top, -(size as i64));
        if values.len() > DIRECT_PARAMS {
            let limit = self.load_word(block, offset_of!(ControlBlock, limit));
            let fits = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, sp, limit);
            self.builder.ins().trapz(fits, trap(TrapCode::CallStackExhausted));
        }
        let store = self.store_context();
        let start = self.load_constant(store, offset_of!(StoreContext, start) as i32);
        self.store_word(start, sp, 0);
        let values_at = self.builder.ins().iadd_imm_s(sp, size_of::<usize>() as i64);
        for (i, &value) in (0..).zip(values) {
            self.store_word(value, values_at, transfer_offset(i) as usize);
        }
        sp
    }

    /// The number of the code in which the stacks or functions of a call begin.
    pub(crate) fn thunk_number(&self, call: &OperationCall) -> u32 {
        let thunk = call.operation.thunk.expect("the call needs one")(call);
        self.env.thunks.get(&thunk).expect("collected before")
    }

    /// The code in which the stacks that a call makes begin.
    pub(crate) fn thunk_address(&mut self, call: &OperationCall) -> Value {
        let number = self.thunk_number(call);
        let signature = self.builder.import_signature(crate::signature::thunk());
        let function = near_function(&mut self.builder, THUNKS, number, signature);
        self.builder.ins().func_addr(I64, function)
    }

    pub(crate) fn put_on_free_list(&mut self, block: Value) {
        let free = self.load_from_store(offset_of!(StoreContext, free_stacks));
        let state = self.builder.ins().iconst(I32, Purpose::Free as i64);
        self.store_word(free, block, offset_of!(ControlBlock, next_free));
        self.store_word(state, block, offset_of!(ControlBlock, purpose));
        self.store_to_store(block, offset_of!(StoreContext, free_stacks));
    }
}
