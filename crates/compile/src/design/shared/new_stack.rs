//! New stacks.

use crate::design::call::OperationCall;
use crate::emit::record::{Records, block, store};
use crate::emit::same_image::code_ref;
use crate::function::THUNKS;
use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::*};
use ropewalk_abi::signature::DIRECT_PARAMS;
use ropewalk_abi::stack::{NEW_STACK_ARGUMENTS, NEXT_GENERATION, Purpose, StackKind, kind_bits};
use ropewalk_abi::transfer::transfer_offset;
use ropewalk_abi::{Builtin, RawVal};

/// What a new stack has in its block.
pub(crate) struct NewStack {
    /// The stack pointer: what lies there says where it starts.
    pub sp: Value,
    /// Its function, or null.
    pub function: Value,
    /// The code that calls the function; none if there is no function.
    pub entry: Option<Value>,
    /// Its parent, if that has meaning while it is new.
    pub parent: Option<Value>,
    pub purpose: Purpose,
}

impl Translator<'_> {
    /// A new stack: what it is for, where it begins, its function, and the
    /// values that it is made with. Returns its block.
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
        let parent = match kind {
            StackKind::Task | StackKind::Fiber => self.builder.ins().iconst(I64, 0),
            _ => self.no_parent(),
        };
        // What can trap comes first: until then the stack stays on the list.
        let sp = self.put_on_new_stack(block, values);
        let entry = self.thunk_address(call);
        let purpose = Purpose::of(kind);
        let new = NewStack { sp, function, entry: Some(entry), parent: Some(parent), purpose };
        self.begin_stack(block, new);
        block
    }

    /// Takes the first free stack off the list, and writes into its block what a new
    /// stack has there. Nothing of this can trap.
    pub(crate) fn begin_stack(&mut self, block: Value, new: NewStack) {
        let next = self.get(block, block::NEXT_FREE);
        self.set_in_store(store::FREE_STACKS, next);
        let zero = self.builder.ins().iconst(I64, 0);
        let none = self.builder.ins().iconst(I32, 0);
        let purpose = self.builder.ins().iconst(I32, new.purpose as i64);
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

    /// The reference of a block, as one of a kind.
    pub(crate) fn reference_of_kind(&mut self, block: Value, kind: StackKind) -> Value {
        let reference = self.get(block, block::REFERENCE);
        self.builder.ins().bor_imm_u(reference, kind_bits(kind) as i64)
    }

    /// The first free stack, as [`free_stack`](Self::free_stack), whose present
    /// generation is not the last: it is for one that is made stale in the end.
    pub(crate) fn free_stack_for_life(&mut self) -> Value {
        let first = self.free_stack();
        let reference = self.get(first, block::REFERENCE);
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
    /// after it; returns the stack pointer.
    pub(crate) fn put_on_new_stack(&mut self, block: Value, values: &[Value]) -> Value {
        let size = values.len() * size_of::<RawVal>();
        let top = self.get(block, block::TOP);
        let mut sp = self.builder.ins().iadd_imm_s(top, -(size as i64));
        if values.len() > DIRECT_PARAMS {
            sp = self.make_room_on_new_stack(block, sp, size);
        }
        let store = self.store_context();
        let start = self.get_constant(store, store::START);
        self.store_word(start, sp, 0);
        let values_at = self.builder.ins().iadd_imm_s(sp, NEW_STACK_ARGUMENTS as i64);
        for (i, &value) in (0..).zip(values) {
            self.store_word(value, values_at, transfer_offset(i));
        }
        sp
    }

    /// The stack pointer of a new stack below this many bytes, for which there may be no
    /// room yet at the one that is given.
    fn make_room_on_new_stack(&mut self, block: Value, sp: Value, size: usize) -> Value {
        let limit = self.get(block, block::LIMIT);
        let fits = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, sp, limit);
        let [cold, next] = self.cold_and_next();
        let [place] = self.words(next);
        self.builder.ins().brif(fits, next, &[sp.into()], cold, &[]);
        self.enter_sealed(cold);
        let size = self.index(size as u64);
        let moved = self.call_builtin(Builtin::make_room, &[block, size]);
        self.jump(next, &[moved]);
        self.enter_sealed(next);
        place
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
        let function = code_ref(&mut self.builder, THUNKS, number, signature);
        self.builder.ins().func_addr(I64, function)
    }

    pub(crate) fn put_on_free_list(&mut self, block: Value) {
        let free = self.get_from_store(store::FREE_STACKS);
        let purpose = self.builder.ins().iconst(I32, Purpose::Free as i64);
        self.set(block, block::NEXT_FREE, free);
        self.set(block, block::PURPOSE_AND_MARKS, purpose);
        self.set_in_store(store::FREE_STACKS, block);
    }
}
