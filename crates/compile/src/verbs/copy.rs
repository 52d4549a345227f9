//! Copies of suspended stacks.
//!
//! In the common case the stack is alone, and has only small frames. Then it is copied in line:
//!
//! ```text
//!   the stack               the first free stack
//!   | first frame | top      | first frame  | top'        d = top' - top
//!   |   0         |          |   0          |
//!   | frame       |   ---->  | frame        |             16 bytes at a time, from the stack
//!   |   link      | fp       |   link + d   | fp + d      pointer up; above the first frame
//!   | continues   | sp       | continues    | sp + d      some bytes are unused
//! ```

use super::NewStack;
use crate::emit::record::{Records, block, store};
use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types::*};
use ropewalk_abi::Builtin;
use ropewalk_abi::life::COPIED_IN_LINE;
use ropewalk_abi::stack::{Purpose, StackKind, kind_bits};

impl Translator<'_> {
    /// Copies what a reference of a kind names; returns the reference to the copy.
    pub(crate) fn copy_stack(&mut self, reference: Value, kind: StackKind) -> Value {
        let block = self.check_reference(reference, kind);
        if self.env.modes.trace {
            return self.copy_by_runtime(reference, kind);
        }
        let [cold, done] = self.cold_and_next();
        let [copied] = self.words(done);
        let sp = self.check_small(block, Purpose::of(kind), cold);
        let free = self.get_from_store(store::FREE_STACKS);
        self.continue_if(free, cold);
        self.copy_frames(block, sp, free, Purpose::of(kind));
        let copy = self.get(free, block::REFERENCE);
        let copy = match kind_bits(kind) as i64 {
            0 => copy,
            kind => self.ins().bor_imm_u(copy, kind),
        };
        self.jump(done, &[copy]);
        self.enter_sealed(cold);
        let copy = self.copy_by_runtime(reference, kind);
        self.jump(done, &[copy]);
        self.enter_sealed(done);
        copied
    }

    /// Copies in any case. The runtime also records the copy if stacks are traced.
    fn copy_by_runtime(&mut self, reference: Value, kind: StackKind) -> Value {
        let kind = self.index(kind as u64);
        self.call_builtin(Builtin::copy_stack, &[reference, kind])
    }

    /// Continues at `cold` unless a stack can be copied in line. Returns its stack pointer.
    fn check_small(&mut self, block: Value, purpose: Purpose, cold: Block) -> Value {
        let is_grouped = self.load_grouped(block);
        self.continue_unless(is_grouped, cold);
        // Its frames own nothing, and it has no marks.
        let purpose_and_marks = self.get(block, block::PURPOSE_AND_MARKS);
        let is_plain = self.ins().icmp_imm_u(IntCC::Equal, purpose_and_marks, purpose as i64);
        self.continue_if(is_plain, cold);
        let sp = self.get(block, block::SP);
        let top = self.get(block, block::TOP);
        let below = self.ins().isub(top, sp);
        // The stack pointer of a parked stack is never near its top.
        let limit = COPIED_IN_LINE as i64;
        let is_small = self.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, below, limit);
        self.continue_if(is_small, cold);
        let store = self.running_store();
        let continues = self.load_word(sp, 0);
        for stub in [store::DELIVER, store::CONTINUE_CALL] {
            let stub = self.get_constant(store, stub);
            let is_stub = self.ins().icmp(IntCC::Equal, continues, stub);
            self.continue_unless(is_stub, cold);
        }
        sp
    }

    /// Makes the first free stack a copy of another, in line.
    fn copy_frames(&mut self, block: Value, sp: Value, free: Value, purpose: Purpose) {
        let [top, free_top] = [block, free].map(|block| self.get(block, block::TOP));
        let distance = self.ins().isub(free_top, top);
        let copied_sp = self.ins().iadd(sp, distance);
        self.copy_bytes_up(sp, top, distance);
        let [function, entry, parent] =
            [block::FUNCTION, block::ENTRY, block::PARENT].map(|field| self.get(block, field));
        let (entry, parent) = (Some(entry), Some(parent));
        self.begin_stack(free, NewStack { sp: copied_sp, function, entry, parent, purpose });
        let handlers = self.get(block, block::HANDLERS);
        self.set(free, block::HANDLERS, handlers);
        let fp = self.get(block, block::FP);
        self.copy_links(free, fp, distance);
    }

    /// Copies the words from one address up to and including another by a distance, and possibly
    /// one more.
    fn copy_bytes_up(&mut self, from: Value, to: Value, distance: Value) {
        // Some stack pointers are not multiples of 16.
        let flags = MemFlagsData::new().with_notrap();
        let [copying, copied] = [self.next_block(), self.next_block()];
        let [place] = self.words(copying);
        self.jump(copying, &[from]);
        self.builder.switch_to_block(copying);
        let bytes = self.ins().load(I8X16, flags, place, 0);
        let copy = self.ins().iadd(place, distance);
        self.ins().store(flags, bytes, copy, 0);
        let next = self.ins().iadd_imm_s(place, 16);
        let is_more = self.ins().icmp(IntCC::UnsignedLessThanOrEqual, next, to);
        self.ins().brif(is_more, copying, &[next.into()], copied, &[]);
        self.builder.seal_block(copying);
        self.enter_sealed(copied);
    }

    /// Adjusts the links of copied frames by a distance. `fp` is the frame pointer of the original,
    /// or zero if it has no frames.
    fn copy_links(&mut self, copy: Value, fp: Value, distance: Value) {
        let [first, linking, moving, linked] = [(); 4].map(|()| self.next_block());
        let [place] = self.words(linking);
        self.ins().brif(fp, first, &[], linked, &[]);
        self.enter_sealed(first);
        let fp = self.ins().iadd(fp, distance);
        self.set(copy, block::FP, fp);
        self.jump(linking, &[fp]);
        self.builder.switch_to_block(linking);
        let link = self.load_word(place, 0);
        self.ins().brif(link, moving, &[], linked, &[]);
        self.enter_sealed(moving);
        let next = self.ins().iadd(link, distance);
        self.store_word(next, place, 0);
        self.jump(linking, &[next]);
        self.builder.seal_block(linking);
        self.enter_sealed(linked);
    }
}
