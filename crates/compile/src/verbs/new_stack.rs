//! New stacks.

use crate::emit::code_ref::{ImageCode, code_ref};
use crate::emit::record::{Records, block, store};
use crate::emit::signature;
use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::*};
use ropewalk_abi::signature::DIRECT_PARAMS;
use ropewalk_abi::stack::{NEW_STACK_ARGUMENTS, NEXT_GENERATION, Purpose, StackKind, kind_bits};
use ropewalk_abi::transfer::transfer_offset;
use ropewalk_abi::{Builtin, RawVal};

/// The contents of a new stack's block.
pub(crate) struct NewStack {
    /// The stack pointer. The word there is where the stack starts.
    pub sp: Value,
    pub function: Value,
    /// The code that calls the function, if there is one.
    pub entry: Option<Value>,
    /// The parent, if it has meaning while the stack is new.
    pub parent: Option<Value>,
    pub purpose: Purpose,
}

impl Translator<'_> {
    /// Makes a new stack of a kind, which begins in a thunk, with a function and values. Returns
    /// its block.
    pub(crate) fn new_stack(
        &mut self,
        kind: StackKind,
        thunk: u32,
        function: Value,
        values: &[Value],
    ) -> Value {
        let block = match kind {
            StackKind::Task | StackKind::Fiber => self.free_stack_for_life(),
            _ => self.free_stack(),
        };
        let parent = match kind {
            StackKind::Task | StackKind::Fiber => self.ins().iconst(I64, 0),
            _ => self.no_parent(),
        };
        // The code that can trap comes first: until then the stack stays on the list.
        let sp = self.put_on_new_stack(block, values);
        let entry = self.thunk_address(thunk);
        let purpose = Purpose::of(kind);
        let new = NewStack { sp, function, entry: Some(entry), parent: Some(parent), purpose };
        self.begin_stack(block, new);
        block
    }

    /// Takes the first stack off the free list, and initializes its block. None of this can trap.
    pub(crate) fn begin_stack(&mut self, block: Value, new: NewStack) {
        let next = self.get(block, block::NEXT_FREE);
        self.set_in_store(store::FREE_STACKS, next);
        let zero = self.ins().iconst(I64, 0);
        let none = self.ins().iconst(I32, 0);
        let purpose = self.ins().iconst(I32, new.purpose as i64);
        self.set(block, block::SP, new.sp);
        self.set(block, block::FP, zero);
        self.set(block, block::FUNCTION, new.function);
        if let Some(entry) = new.entry {
            self.set(block, block::ENTRY, entry);
        }
        if let Some(parent) = new.parent {
            self.set(block, block::PARENT, parent);
        }
        self.set(block, block::SOUGHT, zero);
        self.set(block, block::IS_GROUPED, none);
        self.set(block, block::PURPOSE_AND_MARKS, purpose);
        self.trace_create(block);
    }

    /// The reference to a block, with a kind.
    pub(crate) fn reference_of_kind(&mut self, block: Value, kind: StackKind) -> Value {
        let reference = self.get(block, block::REFERENCE);
        self.ins().bor_imm_u(reference, kind_bits(kind) as i64)
    }

    /// The first free stack, which stays on the list. The runtime makes one if there is none.
    pub(crate) fn free_stack(&mut self) -> Value {
        let first = self.get_from_store(store::FREE_STACKS);
        let [cold, next] = [self.builder.create_block(), self.builder.create_block()];
        let block = self.builder.append_block_param(next, I64);
        self.builder.set_cold_block(cold);
        self.ins().brif(first, next, &[first.into()], cold, &[]);
        self.enter_sealed(cold);
        let made = self.call_builtin(Builtin::new_stack, &[]);
        self.jump(next, &[made]);
        self.enter_sealed(next);
        block
    }

    /// The first [free stack](Self::free_stack), with a generation that is not the last: the
    /// reference to a task or fiber becomes stale when it ends.
    fn free_stack_for_life(&mut self) -> Value {
        let first = self.free_stack();
        let reference = self.get(first, block::REFERENCE);
        let one = self.ins().iconst(I64, NEXT_GENERATION as i64);
        let (_, overflow) = self.ins().uadd_overflow(reference, one);
        let [cold, next] = [self.builder.create_block(), self.builder.create_block()];
        let block = self.builder.append_block_param(next, I64);
        self.builder.set_cold_block(cold);
        self.ins().brif(overflow, cold, &[], next, &[first.into()]);
        self.enter_sealed(cold);
        let renewed = self.call_builtin(Builtin::renew_free, &[]);
        self.jump(next, &[renewed]);
        self.enter_sealed(next);
        block
    }

    /// Puts values on a new stack, and on top of them the address where stacks start. Returns the
    /// stack pointer.
    fn put_on_new_stack(&mut self, block: Value, values: &[Value]) -> Value {
        let size = values.len() * size_of::<RawVal>();
        let top = self.get(block, block::TOP);
        let mut sp = self.ins().iadd_imm_s(top, -(size as i64));
        if values.len() > DIRECT_PARAMS {
            sp = self.make_room_on_new_stack(block, sp, size);
        }
        let store = self.store_context();
        let start = self.get_constant(store, store::START);
        self.store_word(start, sp, 0);
        let values_at = self.ins().iadd_imm_s(sp, NEW_STACK_ARGUMENTS as i64);
        for (i, &value) in (0..).zip(values) {
            self.store_word(value, values_at, transfer_offset(i));
        }
        sp
    }

    /// Makes room for `size` bytes on a new stack, if there is none above `sp`. Returns the stack
    /// pointer below them.
    fn make_room_on_new_stack(&mut self, block: Value, sp: Value, size: usize) -> Value {
        let limit = self.get(block, block::LIMIT);
        let fits = self.ins().icmp(IntCC::UnsignedGreaterThan, sp, limit);
        let [cold, next] = self.cold_and_next();
        let [place] = self.words(next);
        self.ins().brif(fits, next, &[sp.into()], cold, &[]);
        self.enter_sealed(cold);
        let size = self.index(size as u64);
        let moved = self.call_builtin(Builtin::make_room, &[block, size]);
        self.jump(next, &[moved]);
        self.enter_sealed(next);
        place
    }

    fn thunk_address(&mut self, thunk: u32) -> Value {
        let signature = self.builder.import_signature(signature::thunk());
        let function = code_ref(&mut self.builder, ImageCode::Thunk(thunk), signature);
        self.ins().func_addr(I64, function)
    }

    pub(crate) fn put_on_free_list(&mut self, block: Value) {
        let free = self.get_from_store(store::FREE_STACKS);
        let purpose = self.ins().iconst(I32, Purpose::Free as i64);
        self.set(block, block::NEXT_FREE, free);
        self.set(block, block::PURPOSE_AND_MARKS, purpose);
        self.set_in_store(store::FREE_STACKS, block);
    }
}
