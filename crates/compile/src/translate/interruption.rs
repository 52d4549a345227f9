//! Check points: where a function looks whether it is to stop.
//!
//! The instance has a word with its own address in it, until somebody wants its
//! functions to stop and writes another. So a check point is one comparison of memory
//! with a register that the function needs anyway, and a branch that is not taken:
//!
//! ```text
//!     cmp context, [context + go_on]
//!     jne stop                            ...
//!                                         stop:  call pause
//!                                                jmp back
//! ```
//!
//! The stub that is called then preserves every register, so that values need not be
//! kept out of any. It is a call like any other for the collector.
//!
//! There is a check point at the head of every loop, and at the beginning of every
//! function but those that do [little](crate::brief) and that the host cannot call. One that
//! calls very many of these looks [in between](super::unseen). So nothing runs for long without
//! coming to one: between two of them lies no more than the straight line of a function, not
//! much of the functions that it calls and that do little, and the instructions of the runtime,
//! which look by themselves.

use super::Translator;
use super::call::Callee;
use crate::emit::record::{Records, instance, store};
use crate::handlers::Contents;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use wasmparser::FunctionBody;

/// How many bytes the body of a function has at most that does not look when it begins in any
/// case, since it calls nothing.
pub(super) const SHORT: usize = 64;

impl Translator<'_> {
    /// A check point at the beginning of a function, if it needs one.
    pub(crate) fn check_point_at_entry(
        &mut self,
        function: u32,
        contents: &Contents,
        body: &FunctionBody<'_>,
    ) {
        let calls = contents.calls || contents.switches;
        let is_short = !calls && body.as_bytes().len() <= SHORT;
        if !is_short && !self.is_brief(function) {
            self.look_for_interruption();
        }
        if !is_short {
            self.look_for_fuel();
        }
    }

    /// Whether a function does little, and nobody but functions that look calls it. The host,
    /// which may call it if it is a value, does not look.
    fn is_brief(&self, function: u32) -> bool {
        let info = self.env.info;
        let number = function.checked_sub(info.imported_functions);
        let work = number.and_then(|number| *self.env.brief.get(number as usize)?);
        work.is_some() && info.func_refs[function as usize] == u32::MAX
    }

    /// Looks whether the function is to stop, if it can be interrupted, and whether it
    /// has fuel, if that is counted.
    pub(crate) fn check_point(&mut self) {
        self.look_for_interruption();
        self.look_for_fuel();
    }

    pub(super) fn look_for_interruption(&mut self) {
        if self.env.interruption {
            let context = self.running_context();
            let word = self.get(context, instance::GO_ON);
            // In this order the load is a part of the comparison.
            let stops = self.builder.ins().icmp(IntCC::NotEqual, context, word);
            self.pause_if(stops);
        }
    }

    pub(super) fn look_for_fuel(&mut self) {
        if self.env.fuel {
            let stops = self.is_out_of_fuel();
            self.pause_if(stops);
        }
    }

    fn pause_if(&mut self, stops: Value) {
        let [stop, next] = [self.cold_block(), self.builder.create_block()];
        self.builder.ins().brif(stops, stop, &[], next, &[]);
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
        self.plain_call(Callee::Indirect(signature, stub), &[store]);
        self.find_fuel();
    }
}
