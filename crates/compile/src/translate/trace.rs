//! Telling the runtime of each switch, in code that is traced.
//!
//! Every switch is emitted by one function, which does not know what it is for. So whoever
//! puts together what travels with it, a tag and values, notes that here, and the switch
//! tells it. What kind of switch it is, the runtime sees by the links between the stacks.

use super::Translator;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types::I64};
use ropewalk_abi::trace::traced_word;
use ropewalk_abi::{Builtin, ValType};

/// What travels with the next switch.
#[derive(Clone, Copy, Default)]
pub(crate) struct Traced {
    /// Its tag or event.
    tag: Option<u32>,
    /// What the values are.
    values: u64,
}

impl Translator<'_> {
    /// Notes the tag of the next switch.
    pub(super) fn note_tag(&mut self, tag: u32) {
        self.traced.tag = Some(tag);
    }

    /// Notes what values travel with the next switch.
    pub(super) fn note_values(&mut self, types: &[ValType]) {
        self.traced.values = traced_word(types, |ty| self.env.info.type_kind(ty));
    }

    /// Tells of a switch to a stack, with values of which the first travel in registers. They
    /// are put into the transfer area, where their places are free.
    pub(super) fn trace_switch(&mut self, to: Value, carried: &[Value]) {
        for (slot, value) in (0..).zip(carried) {
            self.running_transfer().put_word(slot, *value);
        }
        let values = self.builder.ins().iconst(I64, self.traced.values as i64);
        let tag = match self.traced.tag.take() {
            Some(tag) => {
                let offset = self.env.layout.tag(tag);
                let context = self.running_context();
                self.builder.ins().load(I64, MemFlagsData::trusted(), context, offset)
            }
            None => self.builder.ins().iconst(I64, 0),
        };
        self.call_builtin(Builtin::trace_switch, &[to, values, tag]);
    }

    /// Tells of a stack that was made.
    pub(crate) fn trace_create(&mut self, block: Value) {
        if self.env.trace {
            self.call_builtin(Builtin::trace_create, &[block]);
        }
    }
}
