//! Polls for interruption and for fuel.
//!
//! Each instance has a word that holds its own address, until another thread wants its functions to
//! stop and writes zero. A poll compares this word with a register that the function needs anyway,
//! and has a branch that is rarely taken:
//!
//! ```text
//!     cmp context, [context + keep_running]
//!     jne stop                            ...
//!                                         stop:  call pause
//!                                                jmp back
//! ```
//!
//! The stub `pause` preserves every register, so values can stay in all of them. For the collector
//! it is a call like any other.
//!
//! Every loop polls at its head. Every function polls on entry, except those with [bounded
//! work](crate::driver::bounded_work) that the host cannot call. A function that calls very many of
//! these polls [between the calls](super::unpolled_calls). So nothing runs for long without a poll.
//! Between two polls there is at most a straight line of code, a bounded amount of work in callees,
//! and builtins of the runtime, which poll themselves.

use super::Translator;
use super::call::CallTarget;
use super::contents::Contents;
use crate::emit::record::{Records, instance, store};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use wasmparser::FunctionBody;

/// A function with a body of at most this many bytes never polls on entry if it calls nothing.
pub(super) const SHORT: usize = 64;

impl Translator<'_> {
    /// Polls on entry to a function that needs it.
    pub(super) fn poll_at_entry(
        &mut self,
        function: u32,
        contents: &Contents,
        body: &FunctionBody<'_>,
    ) {
        let calls = contents.calls || contents.switches;
        let is_short = !calls && body.as_bytes().len() <= SHORT;
        if !is_short && !self.has_bounded_work(function) {
            self.poll_interruption();
        }
        if !is_short {
            self.poll_fuel();
        }
    }

    /// Whether the work of a function is bounded, and all its callers poll. The host does not poll,
    /// and may call any function that is a value.
    fn has_bounded_work(&self, function: u32) -> bool {
        let info = self.env.info;
        let number = function.checked_sub(info.imported_functions);
        let work = number.and_then(|number| *self.env.bounded_work.get(number as usize)?);
        work.is_some() && info.func_refs[function as usize] == u32::MAX
    }

    /// Polls for interruption and for fuel, as far as the target has them enabled.
    pub(super) fn poll(&mut self) {
        self.poll_interruption();
        self.poll_fuel();
    }

    pub(super) fn poll_interruption(&mut self) {
        if self.env.modes.interruption {
            let context = self.running_context();
            let word = self.get(context, instance::KEEP_RUNNING);
            // In this order, Cranelift folds the load into the comparison.
            let stops = self.ins().icmp(IntCC::NotEqual, context, word);
            self.pause_if(stops);
        }
    }

    pub(super) fn poll_fuel(&mut self) {
        if self.env.modes.fuel {
            let stops = self.is_out_of_fuel();
            self.pause_if(stops);
        }
    }

    fn pause_if(&mut self, stops: Value) {
        let [stop, next] = [self.cold_block(), self.builder.create_block()];
        self.ins().brif(stops, stop, &[], next, &[]);
        self.enter_sealed(stop);
        self.pause();
        self.jump(next, &[]);
        self.enter_sealed(next);
    }

    fn pause(&mut self) {
        let context = self.running_context();
        let store = self.get(context, instance::STORE);
        let stub = self.get(store, store::PAUSE);
        let signature = self.pause_signature();
        self.plain_call(CallTarget::Indirect(signature, stub), &[store]);
        self.reload_fuel();
    }
}
