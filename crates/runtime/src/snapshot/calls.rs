//! Saving activations: pending ones, and the running one.

use super::error::SnapshotError;
use super::image::{CallImage, CallTo, TypeName};
use super::stacks::end_of_frames;
use super::symbol::{Symbol, comes_back, ends_call};
use super::take::{Running, Writer};
use crate::arch::stubs;
use crate::inspect::frames::{Frame, Frames};
use crate::store::Store;
use crate::store::pending_activations::{PendingActivation, PendingCause};
use anyhow::Result;
use ropewalk_abi::code::TrampolineKind;
use ropewalk_abi::module::{Import, Item};
use ropewalk_abi::stack::{EVERY_TAG, Purpose};
use ropewalk_abi::{ControlBlock, HostContext, RawVal, StoreContext};
use std::ptr;

/// An activation that does not run, and how it was left.
struct LeftActivation<'a> {
    root: *mut ControlBlock,
    stack: *mut ControlBlock,
    base: *mut ControlBlock,
    /// The host function of its pending call.
    host: Option<*const HostContext>,
    arguments: Option<&'a [RawVal]>,
}

impl Writer<'_> {
    /// Saves the pending activations; then the running one, if there is one.
    pub fn calls(&mut self) -> Result<()> {
        let store = self.symbols.store();
        let mut calls = Vec::new();
        for pending in store.running.pending.iter() {
            let (host, arguments) = match &pending.cause {
                PendingCause::Host { context, arguments } => (Some(*context), arguments.as_deref()),
                PendingCause::Turn | PendingCause::Unknown => (None, None),
            };
            let &PendingActivation { ref root, stack, base, .. } = pending;
            calls.push(LeftActivation { root: root.block, stack, base, host, arguments });
        }
        if let Some(running) = self.take.running {
            let host = match running {
                Running::InHostCall(host) => Some(host),
                Running::Paused(_) => None,
            };
            let root = store.running.roots.newest().expect("an activation runs");
            let &StoreContext { stack, base, extending, .. } = store.context();
            self.image.extending = store.stacks.number_of(extending).unwrap_or(0);
            calls.push(LeftActivation { root, stack, base, host, arguments: None });
        }
        for left in calls {
            let call = self.call(&left)?;
            self.image.calls.push(call);
        }
        Ok(())
    }

    fn call(&mut self, left: &LeftActivation<'_>) -> Result<CallImage> {
        let store = self.symbols.store();
        let number = |block: *const ControlBlock| {
            store.stacks.number_of(block).expect("blocks lie in the table")
        };
        let (import, mut results) = match left.host {
            None => (None, None),
            // SAFETY: the host function was called with this context.
            Some(host) => unsafe {
                let awaited = self.symbols.known_type((*host).ty)?;
                (Some(self.import_of(&*host)?), Some(awaited))
            },
        };
        // SAFETY: the root of the activation is alive.
        let root = unsafe { &*left.root };
        let (to, found) = match root.is_spent() {
            true => (CallTo::Nobody, None),
            false => self.returns_to(left)?,
        };
        results = found.or(results);
        if results.is_none() && !root.is_spent() {
            return Err(SnapshotError::Unknown("a call", 0).into());
        }
        let arguments = left.arguments.map(|arguments| {
            arguments.iter().map(|argument| argument.u128().to_le_bytes()).collect()
        });
        Ok(CallImage {
            root: number(root),
            stack: number(left.stack),
            base: number(left.base),
            import,
            arguments,
            results,
            to,
        })
    }

    /// The caller of an activation, and a type with its results if its frames determine one.
    fn returns_to(&mut self, left: &LeftActivation<'_>) -> Result<(CallTo, Option<TypeName>)> {
        // SAFETY: the root of the activation is alive.
        let root = unsafe { &*left.root };
        // SAFETY: the return address of the stub that entered a root lies at its end.
        let entered = unsafe { *((end_of_frames(root) - size_of::<usize>()) as *const usize) };
        let entered = self.symbols.find(entered);
        if entered.is_some_and(comes_back) {
            let (reference, ty) = self.resumed(left)?;
            let clauses = self.clauses(root)?;
            return Ok((CallTo::Resume { reference, clauses }, Some(ty)));
        }
        if !entered.is_some_and(ends_call) {
            let root = ptr::from_ref(root) as usize;
            return Err(SnapshotError::Unknown("a root", root).into());
        }
        let Some(frame) = outermost_function(self.symbols.store(), root) else {
            return Ok((CallTo::Call { has_array: false }, None));
        };
        let results = self.results_of(&frame)?;
        let trampoline = self.symbols.trampolines().at(frame.pc());
        let has_array = trampoline.is_some_and(|(found, _)| found.kind == TrampolineKind::Entry);
        Ok((CallTo::Call { has_array }, Some(results)))
    }

    /// The continuation that the host resumed from a root, and a type with its results.
    fn resumed(&self, left: &LeftActivation<'_>) -> Result<(u64, TypeName)> {
        let store = self.store();
        // SAFETY: stacks of activations are alive, and so are the stacks suspended with a root.
        let (stack, innermost) = unsafe { (&*left.stack, &*(*left.root).innermost) };
        // The resumed stack runs, or is suspended with the root. Others may name a former parent.
        let running =
            store.running.with_extender(stack).chain(store.running.with_extender(innermost));
        let child = running.into_iter().find(|stack| ptr::eq(stack.parent, left.root));
        let Some(child) = child.filter(|child| child.purpose == Purpose::Continuation) else {
            return Err(SnapshotError::Resumed(match child.map(|child| child.purpose) {
                Some(Purpose::Task) => "a task",
                Some(Purpose::Fiber) => "a fiber",
                _ => "a stack",
            })
            .into());
        };
        let outermost = outermost_function(self.store(), child);
        let outermost = outermost.ok_or(SnapshotError::Unknown("a continuation", 0))?;
        Ok((child.reference, self.results_of(&outermost)?))
    }

    /// The clauses with which a root waits, as symbols.
    fn clauses(&mut self, root: &ControlBlock) -> Result<Vec<u32>> {
        let mut symbols = Vec::new();
        for number in 0.. {
            // SAFETY: the host keeps the clauses as long as the root waits; a zero ends them.
            let word = unsafe { *root.handlers.add(number) };
            let symbol = match word {
                0 => break,
                EVERY_TAG => Symbol::Number(word),
                word => self.symbols.find(word as usize).unwrap_or(Symbol::Number(0)),
            };
            if !matches!(symbol, Symbol::Tag(..) | Symbol::Number(1..)) {
                return Err(SnapshotError::Unknown("a clause", word as usize).into());
            }
            symbols.push(self.symbols.number(symbol));
        }
        Ok(symbols)
    }

    /// A type with the results of a frame's function.
    fn results_of(&self, frame: &Frame<'_>) -> Result<TypeName, SnapshotError> {
        let pc = frame.pc();
        if let Some((trampoline, _)) = self.symbols.trampolines().at(pc) {
            let info = self.store().options.types.get(trampoline.type_id).info();
            return self.symbols.known_type(info);
        }
        let found = self.store().objects.function_at(pc - 1).and_then(|(module, _, code)| {
            let ty = *module.info.functions.get(code.function as usize)?;
            Some(module.type_infos[ty as usize].0)
        });
        self.symbols.known_type(found.ok_or(SnapshotError::Unknown("a function", pc))?)
    }

    /// The import by which a host function was called.
    fn import_of(&self, host: &HostContext) -> Result<(usize, usize), SnapshotError> {
        for (number, instance) in self.symbols.store().objects.instances().iter().enumerate() {
            let is_host = |import: &Import| match import.item {
                Item::Func(function) => {
                    instance.host_context_place(function).is_some_and(|place| ptr::eq(place, host))
                }
                _ => false,
            };
            if let Some(import) = instance.module().info.imports.iter().position(is_host) {
                return Ok((number, import));
            }
        }
        Err(SnapshotError::HostFunction)
    }
}

fn outermost_function<'a>(store: &'a Store, stack: &ControlBlock) -> Option<Frame<'a>> {
    // The stub that continues a left call is not a function.
    let continues = stubs::continue_call as *const () as usize;
    Frames::of_host_call(store, stack).filter(|frame| frame.pc() != continues).last()
}
