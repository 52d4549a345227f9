//! What runs, in a function that switches between stacks.

use super::Translator;
use crate::emit::check_room;
use crate::emit::record::{Field, Records, block, instance, store};
use crate::emit::transfer::Transfer;
use crate::handlers::Contents;
use cranelift_codegen::ir::{
    InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value, types::*,
};
use cranelift_frontend::Variable;
use ropewalk_abi::StoreContext;
use std::collections::HashMap;

/// What runs, in a function that switches: variables, since every switch leaves
/// them in registers, where the next one finds them sooner than in memory. After a
/// call nobody knows what they have; they are loaded where a switch needs them.
pub(crate) struct Running {
    /// The context of the instance, if there is a loop: as a value that no switch
    /// changes it would be stored into the frame again and again.
    pub(super) context: Option<StackSlot>,
    /// How much of the following is known where code is being emitted.
    known: Known,
    /// The loops around which it stays known, each by the offset of its `loop`.
    loops: HashMap<u32, Known>,
    /// The context of the store.
    pub(super) store: Variable,
    /// The stack. It may get another block whenever it is suspended.
    pub(super) stack: Variable,
    /// The reference under which the stack will be suspended the next time, if
    /// the function suspends.
    pub(super) reference: Option<Variable>,
}

/// How much of what runs is in its variables. Where ways meet, it is the least of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Known {
    Nothing,
    /// The store and the stack.
    Stack,
    /// The reference too.
    Reference,
}

impl<'a> Translator<'a> {
    /// Prepares for switching in a function that does so.
    pub(crate) fn declare_running(&mut self, contents: &Contents) {
        if !contents.switches {
            return;
        }
        // A switch pushes a word when the links of the stacks have changed already, and
        // must not fail then.
        check_room(&mut self.builder);
        let [store, stack] = [I64; 2].map(|ty| self.builder.declare_var(ty));
        let reference = contents.suspends.then(|| self.builder.declare_var(I64));
        // Where pointers are listed, it has a slot anyway.
        let context = (contents.has_loops && !self.env.snapshots).then(|| {
            let word = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
            let slot = self.builder.create_sized_stack_slot(word);
            self.builder.ins().stack_store(I64, self.context, slot, 0);
            slot
        });
        let (known, loops) = (Known::Nothing, contents.loops.clone());
        self.running = Some(Running { context, known, loops, store, stack, reference });
    }

    /// How much is known here.
    pub(crate) fn known(&self) -> Known {
        self.running.as_ref().map_or(Known::Nothing, |running| running.known)
    }

    /// Notes how much is known here.
    pub(crate) fn set_known(&mut self, known: Known) {
        if let Some(running) = &mut self.running {
            running.known = known;
        }
    }

    /// Notes that something may have switched, or used fuel.
    pub(crate) fn forget_running(&mut self) {
        self.find_fuel();
        self.set_known(Known::Nothing);
    }

    /// Loads what is needed and not known, for a switch.
    pub(crate) fn know_running(&mut self, needed: Known) {
        let known = self.known();
        if known >= needed {
            return;
        }
        if known < Known::Stack {
            let store = self.store_context();
            self.load_stack(store);
        }
        if needed == Known::Reference {
            self.load_reference();
        }
        self.set_known(needed);
    }

    /// How much must be known where a loop begins.
    pub(crate) fn known_in_loop(&self) -> Known {
        let offset = self.builder.srcloc().bits();
        let known = self.running.as_ref().and_then(|running| running.loops.get(&offset));
        known.copied().unwrap_or(Known::Nothing)
    }

    /// Loads all of it anew, where the runtime was called on an uncommon way: the others
    /// have it in registers where they meet.
    pub(crate) fn reload_running(&mut self) {
        self.find_fuel();
        let store = self.store_context();
        self.load_stack(store);
        self.load_reference();
    }

    /// Loads all of it anew where an exception was caught. An event may go on at the same
    /// place, and has it in registers.
    pub(crate) fn find_running(&mut self) {
        if self.running.is_none() {
            return;
        }
        // The store too: as the value that is loaded once and for all, it would be kept
        // in the frame for this alone.
        let context = self.running_context();
        let store = self.get(context, instance::STORE);
        self.load_stack(store);
        self.load_reference();
        self.set_known(Known::Reference);
    }

    fn load_stack(&mut self, context: Value) {
        let Some(Running { store, stack, .. }) = self.running else { return };
        self.builder.def_var(store, context);
        let running = self.get(context, store::STACK);
        self.builder.def_var(stack, running);
    }

    fn load_reference(&mut self) {
        let Some(Running { stack, reference: Some(reference), .. }) = self.running else { return };
        let stack = self.builder.use_var(stack);
        let next = self.get(stack, block::REFERENCE);
        self.builder.def_var(reference, next);
    }

    /// The reference under which the running stack will be suspended if it is
    /// suspended alone.
    pub(crate) fn current_reference(&mut self) -> Value {
        match self.running {
            Some(Running { known: Known::Reference, reference: Some(reference), .. }) => {
                self.builder.use_var(reference)
            }
            _ => {
                let current = self.current_stack();
                self.get(current, block::REFERENCE)
            }
        }
    }

    pub(crate) fn current_stack(&mut self) -> Value {
        match &self.running {
            Some(running) if running.known >= Known::Stack => self.builder.use_var(running.stack),
            _ => self.get_from_store(store::STACK),
        }
    }

    /// The context of the instance, where it is least in the way.
    pub(crate) fn running_context(&mut self) -> Value {
        match self.running {
            Some(Running { context: Some(slot), .. }) => {
                self.builder.ins().stack_load(I64, I64, slot, 0)
            }
            _ => self.context,
        }
    }

    /// The context of the store, out of the register where the last switch left
    /// it.
    pub(crate) fn running_store(&mut self) -> Value {
        match &self.running {
            Some(running) if running.known >= Known::Stack => self.builder.use_var(running.store),
            _ => self.store_context(),
        }
    }

    /// The transfer area, reached by way of a register where the last switch has
    /// left the store.
    pub(crate) fn running_transfer(&mut self) -> Transfer<'_, 'a> {
        let store = self.running_store();
        Transfer::of(self.env, &mut self.builder, store)
    }

    pub(crate) fn get_from_store(&mut self, field: Field<StoreContext>) -> Value {
        let store = self.running_store();
        self.get(store, field)
    }

    pub(crate) fn set_in_store(&mut self, field: Field<StoreContext>, value: Value) {
        let store = self.running_store();
        self.set(store, field, value);
    }
}
