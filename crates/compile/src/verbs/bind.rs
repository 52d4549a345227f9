//! Binding arguments to a suspended or new stack.
//!
//! The values are put [on the stack](ropewalk_abi::bound) that will continue. The stub `deliver`
//! passes them on, so a switch to the stack needs no code for them.

use crate::emit::carry::to_vector;
use crate::emit::record::{Records, block, store};
use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use ropewalk_abi::Builtin;
use ropewalk_abi::bound::{BoundEnd, BoundHead, bind_more, bound_size, first_bound};
use ropewalk_abi::stack::{StackKind, kind_bits};
use ropewalk_abi::transfer::transfer_offset;
use std::mem::offset_of;

impl Translator<'_> {
    /// Binds values to the stack that a reference of a kind names. They are the first parameters of
    /// the function type that the stack expects. Returns the reference of the next generation.
    pub(crate) fn bind(
        &mut self,
        reference: Value,
        values: &[Value],
        function: u32,
        kind: StackKind,
    ) -> Value {
        let block = self.check_reference(reference, kind);
        let innermost = self.get(block, block::INNERMOST);
        let [cold, done] = self.cold_and_next();
        let [bound] = self.words(done);
        let sp = self.check_room_to_bind(innermost, values.len(), cold);
        self.check_generation(reference, cold);
        if !values.is_empty() {
            self.put_bound(innermost, sp, values, function);
        }
        let next = self.take_generation(block, reference, kind);
        let next = match kind_bits(kind) as i64 {
            0 => next,
            kind => self.ins().bor_imm_u(next, kind),
        };
        self.jump(done, &[next]);
        self.enter_sealed(cold);
        let params = self.env.info.func_type(function).params();
        self.put_all(values, &params[..values.len()]);
        let info = self.type_info(function);
        let kind_and_count = self.index((kind as u64) << 32 | values.len() as u64);
        let renewed = self.call_builtin(Builtin::bind, &[reference, info, kind_and_count]);
        self.jump(done, &[renewed]);
        self.enter_sealed(done);
        bound
    }

    /// Continues at `otherwise` unless a stack has room for `count` values. A parked stack has
    /// none. Returns the stack pointer.
    fn check_room_to_bind(&mut self, stack: Value, count: usize, otherwise: Block) -> Value {
        let sp = self.get(stack, block::SP);
        let limit = self.get(stack, block::LIMIT);
        let lowest = self.ins().iadd_imm_s(sp, -(bound_size(count) as i64));
        let is_full = self.ins().icmp(IntCC::UnsignedLessThan, lowest, limit);
        self.continue_unless(is_full, otherwise);
        sp
    }

    /// Puts values on a stack, which has room for them.
    fn put_bound(&mut self, stack: Value, sp: Value, values: &[Value], function: u32) {
        let store = self.running_store();
        let deliver = self.get_constant(store, store::DELIVER);
        let top = self.load_word(sp, 0);
        let has_bound = self.ins().icmp(IntCC::Equal, top, deliver);
        let [more, first, next] = [self.cold_block(), self.next_block(), self.next_block()];
        // The end of the values, and the numbers of bound and of further values.
        let [end, numbers] = self.words(next);
        self.ins().brif(has_bound, more, &[], first, &[]);
        self.enter_sealed(first);
        let above = self.ins().iadd_imm_s(sp, -(size_of::<BoundEnd>() as i64));
        let info = self.type_info(function);
        self.store_word(info, above, offset_of!(BoundEnd, ty) as i32);
        let expected = self.env.info.func_type(function).params().len();
        let numbers_now = self.index(first_bound(expected, values.len()));
        self.jump(next, &[above, numbers_now]);
        self.enter_sealed(more);
        let above = self.ins().iadd_imm_s(sp, size_of::<BoundHead>() as i64);
        let before = self.load_word(sp, NUMBERS);
        let difference = self.index(bind_more(values.len()));
        let numbers_now = self.ins().iadd(before, difference);
        self.jump(next, &[above, numbers_now]);
        self.enter_sealed(next);
        for (i, &value) in (1..).zip(values) {
            // It fills its place, since `deliver` loads it in one piece.
            let value = to_vector(&mut self.builder, value);
            self.store_word(value, end, -transfer_offset(i));
        }
        let size = transfer_offset(values.len() as u32) + size_of::<BoundHead>() as i32;
        self.store_word(deliver, end, DELIVER - size);
        self.store_word(numbers, end, NUMBERS - size);
        let sp = self.ins().iadd_imm_s(end, -i64::from(size));
        self.set(stack, block::SP, sp);
    }
}

const DELIVER: i32 = offset_of!(BoundHead, deliver) as i32;
/// The offset of both numbers in the head.
const NUMBERS: i32 = offset_of!(BoundHead, rest) as i32;
const _: () = assert!(offset_of!(BoundHead, further) == offset_of!(BoundHead, rest) + 4);
