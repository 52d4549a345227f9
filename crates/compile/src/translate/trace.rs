//! Reports each switch to the runtime, in traced code.
//!
//! One function emits every switch, without knowing its purpose. So the code that prepares the tag
//! and the values of a switch records them here, and the switch reports them. The runtime infers
//! the kind of switch from the links between the stacks.

use super::Translator;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types::I64};
use ropewalk_abi::trace::traced_word;
use ropewalk_abi::{Builtin, ValType};

/// What travels with the next switch.
#[derive(Clone, Copy, Default)]
pub(crate) struct Traced {
    /// Its tag or event.
    tag: Option<u32>,
    /// The classes of the values.
    values: u64,
}

impl Translator<'_> {
    /// Records the tag of the next switch.
    pub(crate) fn trace_tag(&mut self, tag: u32) {
        self.traced.tag = Some(tag);
    }

    /// Records the types of the values that travel with the next switch.
    pub(super) fn trace_values(&mut self, types: &[ValType]) {
        self.traced.values = traced_word(types, |ty| self.env.info.type_kind(ty));
    }

    /// Reports a switch to a stack. The values that travel in registers are also written to the
    /// transfer area, where their places are free.
    pub(crate) fn trace_switch(&mut self, to: Value, carried: &[Value]) {
        for (slot, value) in (0..).zip(carried) {
            self.running_transfer().put_word(slot, *value);
        }
        let values = self.builder.ins().iconst(I64, self.traced.values as i64);
        let tag = match self.traced.tag.take() {
            Some(tag) => self.tag_definition(tag),
            None => self.ins().iconst(I64, 0),
        };
        self.call_builtin(Builtin::trace_switch, &[to, values, tag]);
    }

    /// Reports that a stack has no clause for an event.
    pub(crate) fn trace_refuse(&mut self, by: Value, tag: u32) {
        let tag = self.tag_definition(tag);
        self.call_builtin(Builtin::trace_refuse, &[by, tag]);
    }

    fn tag_definition(&mut self, tag: u32) -> Value {
        let offset = self.env.layout.tag(tag);
        let context = self.running_context();
        self.ins().load(I64, MemFlagsData::trusted(), context, offset)
    }

    /// Reports a new stack.
    pub(crate) fn trace_create(&mut self, block: Value) {
        if self.env.modes.trace {
            self.call_builtin(Builtin::trace_create, &[block]);
        }
    }
}
