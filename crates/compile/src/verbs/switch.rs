//! The switch from the running stack to another.
//!
//! To Cranelift a switch is a call, which the [linker](crate::codegen::image) turns into a jump to
//! its own copy of the switching code. So it has a stack map and exception edges. With an exception
//! table, even an empty one, every register counts as lost. The first values travel in registers,
//! as [`carry`](crate::emit::carry) describes.
//!
//! The call returns when another stack switches back, with a [`Delivery`].

use crate::emit::carry::CARRIED;
use crate::emit::code_ref::{ImageCode, code_ref};
use crate::emit::signature::{self, SWITCH_WORDS};
use crate::translate::call::CallTarget;
use crate::translate::{Cached, Translator};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, JumpTableData, Value, types::*};
use cranelift_codegen::isa::CallConv;
use ropewalk_abi::{Builtin, ValType};

/// Up to this many signals are compared one after the other. With more, only the first is compared,
/// and a jump table has the others.
const COMPARED: usize = 4;

/// What a switch brings.
pub(crate) struct Delivery {
    /// Zero, or the number of a clause, counted from one.
    pub signal: Value,
    /// The reference to the suspended stacks. With signal zero, the reference for this stack's next
    /// suspension.
    pub reference: Value,
    /// The values that travel in registers.
    carried: Vec<Value>,
}

impl Translator<'_> {
    /// Calls a builtin that continues another stack; returns what the switch back brings.
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

    /// Calls a builtin that continues another stack. The switch back arrives at `back`.
    pub(crate) fn leave_by(&mut self, builtin: Builtin, operands: &[Value], back: Block) {
        let (stub, args) = self.builtin_call(builtin, operands);
        let mut signature = signature::builtin_stub(CallConv::Tail);
        let delivered = self.builder.block_params(back).len() - SWITCH_WORDS;
        signature.returns = signature::switch_stub(&[], delivered).returns;
        let signature = self.builder.import_signature(signature);
        self.guarded_call_to(CallTarget::Indirect(signature, stub), &args, back);
    }

    /// Switches to another stack, with a signal, a reference and values. The switch back arrives at
    /// `back`.
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

    /// The same, but with a thunk the other stack continues in that, as if it had called the thunk.
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
        if self.env.modes.trace {
            self.trace_switch(to, carried);
        }
        if self.env.modes.move_stacks {
            self.call_builtin(Builtin::move_stack, &[to]);
        }
        let store = self.running_store();
        let dfg = &self.builder.func.dfg;
        let sent: Vec<_> = carried.iter().map(|value| dfg.value_type(*value)).collect();
        let delivered = dfg.block_params(back).len() - SWITCH_WORDS;
        let signature = signature::switch_stub(&sent, delivered);
        let signature = self.builder.import_signature(signature);
        let switch = code_ref(&mut self.builder, ImageCode::Switch(thunk), signature);
        let mut args = vec![from, to, signal, reference, store];
        args.extend(carried);
        self.guarded_call_to(CallTarget::Direct(switch), &args, back);
        self.set_freed(false);
    }

    /// Switches in the general case: the code that leads to `back` is cold too.
    pub(crate) fn switch_cold(
        &mut self,
        to: Value,
        signal: Value,
        reference: Value,
        carried: &[Value],
        back: Block,
    ) {
        let cold = self.cold_back(back);
        self.switch_to(to, signal, reference, carried, cold);
        self.rejoin(cold, back);
    }

    /// A cold block with the parameters of `back`.
    pub(crate) fn cold_back(&mut self, back: Block) -> Block {
        let delivered = self.builder.block_params(back).len() - SWITCH_WORDS;
        let cold = self.back(delivered);
        self.builder.set_cold_block(cold);
        cold
    }

    /// Continues from a [`cold_back`](Self::cold_back) at the other block.
    pub(crate) fn rejoin(&mut self, cold: Block, back: Block) {
        self.enter_sealed(cold);
        let results = self.builder.block_params(cold).to_vec();
        self.jump(back, &results);
    }

    /// Makes a block for the switch back, with this many values.
    pub(crate) fn back(&mut self, delivered: usize) -> Block {
        let returns = signature::switch_stub(&[], delivered.min(CARRIED)).returns;
        let back = self.builder.create_block();
        for result in returns {
            self.builder.append_block_param(back, result.value_type);
        }
        back
    }

    /// Continues after the switch back.
    pub(crate) fn come_back(&mut self, back: Block) -> Delivery {
        self.enter_sealed(back);
        let params = self.builder.block_params(back).to_vec();
        let &[_, reference, signal, stack, _, store, ref carried @ ..] = params.as_slice() else {
            unreachable!("the results of a switch");
        };
        self.pointers.extend([params[3], params[4], params[5]]);
        self.cache_delivered(store, stack, reference);
        self.reload_fuel();
        self.traced = Default::default();
        if self.env.modes.park_always {
            self.call_builtin(Builtin::park_stacks, &[]);
        }
        if self.env.modes.check_stacks {
            self.call_builtin(Builtin::check_stacks, &[]);
        }
        Delivery { signal, reference, carried: carried.to_vec() }
    }

    /// The same, if this stack may have been suspended together with others.
    pub(crate) fn come_back_regrouped(&mut self, back: Block) -> Delivery {
        let delivery = self.come_back(back);
        self.set_cached(Cached::Stack);
        delivery
    }

    /// Loads the values of a switch that travel in registers, after a call of the runtime.
    pub(crate) fn load_carried(&mut self, count: usize) -> Vec<Value> {
        self.running_transfer().load_carried(count)
    }

    /// Continues at the block of the signal that came, or at `otherwise`. The signals are in order.
    pub(crate) fn branch_by_signal(
        &mut self,
        signal: Value,
        blocks: &[(u32, Block)],
        otherwise: Block,
    ) {
        let compared = if blocks.len() <= COMPARED { blocks.len() } else { 1 };
        for (number, block) in &blocks[..compared] {
            let number = i64::from(*number);
            let is_this = self.ins().icmp_imm_u(IntCC::Equal, signal, number);
            let next = self.builder.create_block();
            self.ins().brif(is_this, *block, &[], next, &[]);
            self.enter_sealed(next);
        }
        match &blocks[compared..] {
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
        let index = self.ins().ireduce(I32, signal);
        self.ins().br_table(index, table);
    }

    /// Pushes the values that a switch brought.
    pub(crate) fn receive(&mut self, types: &[ValType], delivery: &Delivery) {
        let values = self.running_transfer().receive(&delivery.carried, types);
        for (value, &ty) in values.into_iter().zip(types) {
            self.push_typed(value, ty);
        }
    }
}
