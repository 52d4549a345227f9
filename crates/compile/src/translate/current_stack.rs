//! The running stack, cached in variables of a function that switches between stacks.

use super::Translator;
use super::contents::Contents;
use crate::emit::check_room;
use crate::emit::record::{Field, Records, block, instance, store};
use crate::emit::transfer::Transfer;
use cranelift_codegen::ir::{
    InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value, types::*,
};
use cranelift_frontend::Variable;
use ropewalk_abi::{StoreContext, ValType};
use std::collections::HashMap;

/// The running stack and its store, in variables. Every switch leaves them in registers, where the
/// next switch finds them faster than in memory. A call invalidates them, and the next switch loads
/// them again.
pub(crate) struct CurrentStack {
    /// The context of the instance, if there is a loop. As a value that no switch changes, it would
    /// be stored to the frame in every iteration.
    pub(super) context: Option<StackSlot>,
    /// Which of the variables are valid at the current position.
    cached: Cached,
    /// The loops throughout which variables stay valid, by offset.
    loops: HashMap<u32, Cached>,
    pub(super) store: Variable,
    /// The stack. It may get another block each time it is suspended.
    pub(super) stack: Variable,
    /// The reference for the stack's next suspension, if the function suspends.
    pub(super) reference: Option<Variable>,
}

/// Which variables of the running stack are valid. Where paths meet, the least of them applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cached {
    Nothing,
    /// The store and the stack.
    Stack,
    /// The reference too.
    Reference,
}

impl<'a> Translator<'a> {
    /// Prepares a function that switches between stacks.
    pub(super) fn declare_running(&mut self, contents: &Contents) {
        if !contents.switches {
            return;
        }
        // A switch pushes a word after it has changed the links of the stacks, and must not fail
        // then.
        check_room(&mut self.builder);
        let [store, stack] = [I64; 2].map(|ty| self.builder.declare_var(ty));
        let reference = contents.suspends.then(|| self.builder.declare_var(I64));
        // With snapshots, the context has a slot anyway.
        let context = (contents.has_loops && !self.env.modes.snapshots).then(|| {
            let word = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
            let slot = self.builder.create_sized_stack_slot(word);
            self.builder.ins().stack_store(I64, self.context, slot, 0);
            slot
        });
        let (cached, loops) = (Cached::Nothing, contents.loops.clone());
        self.running = Some(CurrentStack { context, cached, loops, store, stack, reference });
    }

    /// Which variables are valid here.
    pub(crate) fn cached(&self) -> Cached {
        self.running.as_ref().map_or(Cached::Nothing, |running| running.cached)
    }

    /// Sets which variables are valid here.
    pub(crate) fn set_cached(&mut self, cached: Cached) {
        if let Some(running) = &mut self.running {
            running.cached = cached;
        }
    }

    /// Invalidates the variables after a call, which may have switched or used fuel.
    pub(super) fn forget_running(&mut self) {
        self.reload_fuel();
        self.set_cached(Cached::Nothing);
    }

    /// Loads the variables that a switch needs.
    pub(crate) fn cache_running(&mut self, needed: Cached) {
        let cached = self.cached();
        if cached >= needed {
            return;
        }
        if cached < Cached::Stack {
            let store = self.store_context();
            self.load_stack(store);
        }
        if needed == Cached::Reference {
            self.load_reference();
        }
        self.set_cached(needed);
    }

    /// Sets the variables to what a switch back delivers.
    pub(crate) fn cache_delivered(&mut self, store: Value, stack: Value, reference: Value) {
        if let Some(running) = &self.running {
            self.builder.def_var(running.store, store);
            self.builder.def_var(running.stack, stack);
            if let Some(variable) = running.reference {
                self.builder.def_var(variable, reference);
            }
            self.set_cached(Cached::Reference);
        }
    }

    /// Which variables must be valid at the start of a loop.
    pub(super) fn cached_in_loop(&self) -> Cached {
        let offset = self.builder.srcloc().bits();
        let cached = self.running.as_ref().and_then(|running| running.loops.get(&offset));
        cached.copied().unwrap_or(Cached::Nothing)
    }

    /// Reloads all variables after a cold call of the runtime: the other paths have them in
    /// registers where they meet.
    pub(crate) fn reload_running(&mut self) {
        self.reload_fuel();
        let store = self.store_context();
        self.load_stack(store);
        self.load_reference();
    }

    /// Loads all variables at the start of an exception handler. Events may continue at the same
    /// place, with the variables in registers.
    pub(super) fn reload_at_landing(&mut self) {
        if self.running.is_none() {
            return;
        }
        // The store is reloaded too: otherwise it would be kept in the frame for this alone.
        let context = self.running_context();
        let store = self.get(context, instance::STORE);
        self.load_stack(store);
        self.load_reference();
        self.set_cached(Cached::Reference);
    }

    fn load_stack(&mut self, context: Value) {
        let Some(CurrentStack { store, stack, .. }) = self.running else { return };
        self.builder.def_var(store, context);
        let running = self.get(context, store::STACK);
        self.builder.def_var(stack, running);
    }

    fn load_reference(&mut self) {
        let Some(CurrentStack { stack, reference: Some(reference), .. }) = self.running else {
            return;
        };
        let stack = self.builder.use_var(stack);
        let next = self.get(stack, block::REFERENCE);
        self.builder.def_var(reference, next);
    }

    /// The reference for the next suspension of the running stack, if it is suspended alone.
    pub(crate) fn current_reference(&mut self) -> Value {
        match self.running {
            Some(CurrentStack {
                cached: Cached::Reference, reference: Some(reference), ..
            }) => self.builder.use_var(reference),
            _ => {
                let current = self.current_stack();
                self.get(current, block::REFERENCE)
            }
        }
    }

    pub(crate) fn current_stack(&mut self) -> Value {
        match &self.running {
            Some(running) if running.cached >= Cached::Stack => self.builder.use_var(running.stack),
            _ => self.get_from_store(store::STACK),
        }
    }

    /// The context of the instance, from the cheapest place.
    pub(crate) fn running_context(&mut self) -> Value {
        match self.running {
            Some(CurrentStack { context: Some(slot), .. }) => {
                self.ins().stack_load(I64, I64, slot, 0)
            }
            _ => self.context,
        }
    }

    /// The context of the store, from the register where the last switch left it.
    pub(crate) fn running_store(&mut self) -> Value {
        match &self.running {
            Some(running) if running.cached >= Cached::Stack => self.builder.use_var(running.store),
            _ => self.store_context(),
        }
    }

    /// The transfer area, through [`running_store`](Self::running_store).
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

    /// Writes the values of a switch, as [`Transfer::carry`] does.
    pub(crate) fn carry(&mut self, values: &[Value], types: &[ValType]) -> Vec<Value> {
        self.trace_values(types);
        self.running_transfer().carry(values, types)
    }

    /// Writes values for the runtime, as [`Transfer::put_all`] does.
    pub(crate) fn put_all(&mut self, values: &[Value], types: &[ValType]) {
        self.trace_values(types);
        self.running_transfer().put_all(values, types);
    }
}
