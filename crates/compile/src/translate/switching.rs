//! Leaving the running stack and continuing another, and the values that go
//! along.
//!
//! One call switches stacks; [`image`](crate::image) makes it a jump to code of
//! its own. It is a call like any other to Cranelift, so it has a stack map and
//! exception edges; with the exception table, even if that is empty, every
//! register counts as lost. The first values travel in registers, as
//! [`carry`](crate::carry) says.
//!
//! The call returns when somebody switches back, with what a [`Delivery`] says.

use super::call::Callee;
use super::trace::Traced;
use super::{Known, Translator};
use crate::emit::carry::CARRIED;
use crate::emit::same_image::code_ref;
use crate::function::SWITCH;
use crate::signature::{self, SWITCH_WORDS};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, JumpTableData, Value, types::*};
use cranelift_codegen::isa::CallConv;
use ropewalk_abi::{Builtin, ValType};

/// Up to how many signals are compared one after the other. With more, only the first
/// is, and a table has the others.
const COMPARED: usize = 4;

/// What comes with a switch.
pub(crate) struct Delivery {
    /// Zero, or the number of a clause plus one.
    pub signal: Value,
    /// The reference to what was suspended; with signal zero, that under which
    /// this stack will be suspended the next time.
    pub reference: Value,
    /// The values that travel in registers.
    carried: Vec<Value>,
}

impl Translator<'_> {
    /// Has the runtime continue another stack; returns what somebody switches
    /// back with.
    pub(crate) fn switch_by(
        &mut self,
        builtin: Builtin,
        operands: &[Value],
        delivered: usize,
    ) -> Delivery {
        let back = self.back(delivered);
        self.leave_by(builtin, operands, back);
        self.come_back_regrouped(back)
    }

    /// Calls a builtin that continues another stack. What somebody switches back
    /// with arrives at `back`.
    pub(crate) fn leave_by(&mut self, builtin: Builtin, operands: &[Value], back: Block) {
        let (stub, args) = self.builtin_call(builtin, operands);
        let mut signature = signature::builtin_stub(CallConv::Tail);
        let delivered = self.builder.block_params(back).len() - SWITCH_WORDS;
        signature.returns = signature::switch_stub(&[], delivered).returns;
        let signature = self.builder.import_signature(signature);
        self.guarded_call_to(Callee::Indirect(signature, stub), &args, back);
    }

    /// Leaves the running stack and continues another with a signal, a reference
    /// and values. What somebody switches back with arrives at `back`.
    pub(crate) fn switch_to(
        &mut self,
        to: Value,
        signal: Value,
        reference: Value,
        carried: &[Value],
        back: Block,
    ) {
        self.switch_into(None, to, signal, reference, carried, back);
    }

    /// As `switch_to`, but the other stack continues in a thunk, if the number of
    /// one is given, which is called as if from where that stack was left.
    pub(crate) fn switch_into(
        &mut self,
        thunk: Option<u32>,
        to: Value,
        signal: Value,
        reference: Value,
        carried: &[Value],
        back: Block,
    ) {
        let from = self.current_stack();
        if self.env.trace {
            self.trace_switch(to, carried);
        }
        if self.env.move_stacks {
            self.call_builtin(Builtin::move_stack, &[to]);
        }
        let store = self.running_store();
        let dfg = &self.builder.func.dfg;
        let sent: Vec<_> = carried.iter().map(|value| dfg.value_type(*value)).collect();
        let delivered = dfg.block_params(back).len() - SWITCH_WORDS;
        let signature = signature::switch_stub(&sent, delivered);
        let signature = self.builder.import_signature(signature);
        let index = thunk.map_or(0, |number| number + 1);
        let switch = code_ref(&mut self.builder, SWITCH, index, signature);
        let mut args = vec![from, to, signal, reference, store];
        args.extend(carried);
        self.guarded_call_to(Callee::Direct(switch), &args, back);
        self.set_freed(false);
    }

    /// As `switch_to`, in the uncommon case: what leads to `back` from here
    /// lies apart as well.
    pub(crate) fn switch_cold(
        &mut self,
        to: Value,
        signal: Value,
        reference: Value,
        carried: &[Value],
        back: Block,
    ) {
        let apart = self.apart(back);
        self.switch_to(to, signal, reference, carried, apart);
        self.rejoin(apart, back);
    }

    /// A block like another, for coming back in an uncommon case.
    pub(crate) fn apart(&mut self, back: Block) -> Block {
        let delivered = self.builder.block_params(back).len() - SWITCH_WORDS;
        let apart = self.back(delivered);
        self.builder.set_cold_block(apart);
        apart
    }

    /// Continues at the other.
    pub(crate) fn rejoin(&mut self, apart: Block, back: Block) {
        self.enter_sealed(apart);
        let results = self.builder.block_params(apart).to_vec();
        self.jump(back, &results);
    }

    /// The block where somebody switches back to with this many values.
    pub(crate) fn back(&mut self, delivered: usize) -> Block {
        let returns = signature::switch_stub(&[], delivered.min(CARRIED)).returns;
        let back = self.builder.create_block();
        for result in returns {
            self.builder.append_block_param(back, result.value_type);
        }
        back
    }

    /// Continues where somebody has switched back.
    pub(crate) fn come_back(&mut self, back: Block) -> Delivery {
        self.enter_sealed(back);
        let params = self.builder.block_params(back).to_vec();
        let &[_, reference, signal, stack, _, store, ref carried @ ..] = params.as_slice() else {
            unreachable!("the results of a switch");
        };
        self.pointers.extend([params[3], params[4], params[5]]);
        if let Some(running) = &self.running {
            self.builder.def_var(running.store, store);
            self.builder.def_var(running.stack, stack);
            if let Some(variable) = running.reference {
                self.builder.def_var(variable, reference);
            }
            self.set_known(Known::Reference);
        }
        self.find_fuel();
        self.traced = Traced::default();
        if self.env.park_always {
            self.call_builtin(Builtin::park_stacks, &[]);
        }
        if self.env.check_stacks {
            self.call_builtin(Builtin::check_stacks, &[]);
        }
        Delivery { signal, reference, carried: carried.to_vec() }
    }

    /// As `come_back`, when this stack may have been suspended with others.
    pub(crate) fn come_back_regrouped(&mut self, back: Block) -> Delivery {
        let delivery = self.come_back(back);
        self.set_known(Known::Stack);
        delivery
    }

    /// As [`Transfer::carry`].
    pub(crate) fn carry(&mut self, values: &[Value], types: &[ValType]) -> Vec<Value> {
        self.note_values(types);
        self.running_transfer().carry(values, types)
    }

    /// As [`Transfer::put_all`].
    pub(crate) fn put_all(&mut self, values: &[Value], types: &[ValType]) {
        self.note_values(types);
        self.running_transfer().put_all(values, types);
    }

    /// As [`Transfer::load_carried`].
    pub(crate) fn load_carried(&mut self, count: usize) -> Vec<Value> {
        self.running_transfer().load_carried(count)
    }

    /// Continues at the block of the signal that came, or at another. The signals are in
    /// order.
    pub(crate) fn branch_by_signal(
        &mut self,
        signal: Value,
        blocks: &[(u32, Block)],
        otherwise: Block,
    ) {
        let few = if blocks.len() <= COMPARED { blocks.len() } else { 1 };
        for (number, block) in &blocks[..few] {
            let number = i64::from(*number);
            let is_this = self.builder.ins().icmp_imm_u(IntCC::Equal, signal, number);
            let next = self.builder.create_block();
            self.builder.ins().brif(is_this, *block, &[], next, &[]);
            self.enter_sealed(next);
        }
        match &blocks[few..] {
            [] => self.jump(otherwise, &[]),
            many => self.branch_by_table(signal, many, otherwise),
        }
    }

    fn branch_by_table(&mut self, signal: Value, blocks: &[(u32, Block)], otherwise: Block) {
        let most = blocks.last().map_or(0, |(number, _)| *number as usize);
        let dfg = &mut self.builder.func.dfg;
        let default = dfg.block_call(otherwise, &[]);
        let mut targets = vec![default; most + 1];
        for (number, block) in blocks {
            targets[*number as usize] = dfg.block_call(*block, &[]);
        }
        let table = self.builder.create_jump_table(JumpTableData::new(default, &targets));
        let index = self.builder.ins().ireduce(I32, signal);
        self.builder.ins().br_table(index, table);
    }

    /// Pushes the values that somebody has switched with.
    pub(crate) fn receive(&mut self, types: &[ValType], delivery: &Delivery) {
        let values = self.running_transfer().receive(&delivery.carried, types);
        for (value, &ty) in values.into_iter().zip(types) {
            self.push_typed(value, ty);
        }
    }
}
