//! Builtins that are pending until a limiter decides.
//!
//! A [builtin](crate::builtins) that needs the limiter's decision has not changed anything yet. Its
//! call is suspended like a call of a host function. When there is a decision, the builtin is called
//! again with the same operands, and finds the decision when it asks.

use crate::embedder::{Answers, Limiter, Question, Undecided};
use crate::heap::OwnedRoot;
use crate::os::try_box::try_box;
use crate::store::Store;
use crate::store::pending::{AnyHostFuture, HostFuture, PendingCall, Scope};
use crate::store::pending_activations::PendingCause;
use crate::store::running::Ending;
use ropewalk_abi::builtin::{CONTINUE, Outcome, SUSPEND};
use ropewalk_abi::transfer::ValueClass;
use ropewalk_abi::{Builtin, InstanceHeader, LeftCall, RawVal, TrapCode, TypeInfo, ValType};
use std::task::{Context, Poll};

#[derive(Clone, Copy)]
pub(crate) struct BuiltinCall {
    pub builtin: Builtin,
    pub instance: *mut InstanceHeader,
    pub words: [u64; 4],
}

impl BuiltinCall {
    pub fn new(builtin: Builtin, instance: *mut InstanceHeader, operands: &[u64]) -> BuiltinCall {
        let mut words = [0; 4];
        words[..operands.len()].copy_from_slice(operands);
        BuiltinCall { builtin, instance, words }
    }
}

/// The operands that can change while a builtin is pending: references can move, and others use the
/// transfer area.
struct SavedOperands {
    /// The first value of the transfer area.
    transferred: RawVal,
    reference: Option<OwnedRoot>,
}

/// A builtin that is called again when the limiter has decided.
struct PendingBuiltin {
    call: BuiltinCall,
    saved: SavedOperands,
    question: Question,
    answers: Answers,
    /// The limiter's error, if it failed.
    failure: Option<anyhow::Error>,
}

// SAFETY: the instance is only used together with its store, with which this is sent.
unsafe impl Send for PendingBuiltin {}

impl HostFuture for PendingBuiltin {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.question.poll(context).map(|answer| match answer {
            Ok(answer) => self.answers.add(self.question.growth, answer),
            Err(error) => self.failure = Some(error),
        })
    }

    fn finish(self, store: &mut Store) -> Outcome {
        let PendingBuiltin { call, saved, answers, failure, .. } = self;
        if let Some(error) = failure {
            return store.end_with(Ending::Error(error));
        }
        let words = store.restore_operands(&call, saved);
        store.expect_answers(answers);
        // SAFETY: generated code has called the builtin with these operands, and is not running.
        let outcome =
            unsafe { (store.entry_points.call_again)(call.builtin, call.instance, words) };
        store.forget_answers();
        match outcome.ended {
            CONTINUE => {
                store.set_tag(0, ValueClass::of(ValType::I64));
                store.transfer(0, RawVal::from_u64(outcome.value));
                Outcome::returned(0)
            }
            // It is pending again, and was already left.
            SUSPEND => Outcome::END,
            _ => outcome,
        }
    }
}

impl Store {
    /// Begins a builtin that can be suspended if the limiter has to wait.
    pub(crate) fn begin_asking(&mut self) {
        let can_wait = !self.running.poller().is_null();
        if let Limiter::Async(limiter) = &mut self.embedder.limiter {
            let question = limiter.let_wait(can_wait);
            self.embedder.drop_value(question);
        }
    }

    /// Ends the builtin. If it has failed because the limiter has not decided, suspends its call.
    pub(crate) fn end_asking(&mut self, call: BuiltinCall, has_failed: bool) -> Option<Outcome> {
        let Limiter::Async(limiter) = &mut self.embedder.limiter else { return None };
        let question = limiter.let_wait(false)?;
        let answers = limiter.take_answers();
        if !has_failed || self.embedder.has_panicked() {
            self.embedder.drop_value((question, answers));
            return None;
        }
        self.heap.refusal = None;
        self.stacks.take_refusal();
        let saved = self.save_operands(&call);
        let pending = saved.and_then(|saved| {
            try_box(PendingBuiltin { call, saved, question, answers, failure: None }).ok()
        });
        let Some(pending) = pending else {
            return Some(self.end_with(TrapCode::OutOfMemory));
        };
        let pending = AnyHostFuture::new(pending);
        let left = LeftCall { results: 1, array: 0 };
        Some(self.leave_pending(
            PendingCall::polled(pending, Scope::NONE),
            PendingCause::Unknown,
            left,
        ))
    }

    /// Saves the operands. Returns `None` if there is no memory.
    fn save_operands(&mut self, call: &BuiltinCall) -> Option<SavedOperands> {
        let transferred = self.transferred(0);
        let reference = match call.builtin {
            Builtin::table_grow => {
                // SAFETY: instances live as long as the store.
                let instance = &self.objects.instances[unsafe { (*call.instance).index }];
                let table = instance.table(call.words[0] as u32);
                self.objects.tables[table].is_collected().then_some(call.words[1])
            }
            Builtin::array_new => {
                // SAFETY: generated code passes types of its instance.
                let ty = unsafe { &*(call.words[0] as *const TypeInfo) };
                ty.elements_are_collected.then_some(transferred.u64())
            }
            _ => None,
        };
        let reference = match reference {
            Some(word) => Some(self.heap.roots.own(word)?),
            None => None,
        };
        Some(SavedOperands { transferred, reference })
    }

    /// Restores the saved operands. Returns the current ones.
    fn restore_operands(&mut self, call: &BuiltinCall, saved: SavedOperands) -> [u64; 4] {
        let SavedOperands { mut transferred, reference } = saved;
        let mut words = call.words;
        if let Some(reference) = reference {
            match call.builtin {
                Builtin::table_grow => words[1] = reference.reference(),
                _ => transferred = RawVal::from_u64(reference.reference()),
            }
        }
        self.transfer(0, transferred);
        words
    }
}

impl Undecided {
    /// The detail of a trap with this cause.
    pub(crate) const DETAIL: &str = "the limiter of the store has not decided yet, and cannot be \
                                     waited for here";
}
