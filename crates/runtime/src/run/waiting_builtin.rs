//! Instructions that wait for a limiter.
//!
//! A [builtin](crate::builtins) that cannot go on before the limiter has decided has changed
//! nothing yet. Its call is left like that of a host function that waits. When the answer is
//! there, the builtin is called again, with the same operands, and finds it when it asks.

use crate::embedder::{Answers, Limiter, Question, Undecided};
use crate::heap::OwnedRoot;
use crate::os::try_box::try_box;
use crate::store::Store;
use crate::store::pending::PendingCall;
use crate::store::pending::PendingCause;
use crate::store::pending::Scope;
use crate::store::pending::{AnyHostFuture, HostFuture};
use crate::store::running::Ending;
use ropewalk_abi::builtin::{GO_ON, Outcome, SUSPEND};
use ropewalk_abi::transfer::ValueClass;
use ropewalk_abi::{Builtin, InstanceHeader, LeftCall, RawVal, TrapCode, TypeInfo, ValType};
use std::task::{Context, Poll};

/// A builtin and its operands.
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

/// What a builtin that waits needs beside its operands: they may move meanwhile, and
/// others use the transfer area.
struct Kept {
    /// What the transfer area begins with.
    transferred: RawVal,
    /// The reference among the operands, if there is one.
    reference: Option<OwnedRoot>,
}

/// A builtin that waits.
struct Again {
    call: BuiltinCall,
    kept: Kept,
    question: Question,
    answers: Answers,
    /// The limiter has failed instead of answering.
    failure: Option<anyhow::Error>,
}

// SAFETY: the instance is used only together with its store, with which this is sent.
unsafe impl Send for Again {}

impl HostFuture for Again {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.question.poll(context).map(|answer| match answer {
            Ok(answer) => self.answers.add(self.question.growth, answer),
            Err(error) => self.failure = Some(error),
        })
    }

    fn finish(self, store: &mut Store) -> Outcome {
        let Again { call, kept, answers, failure, .. } = self;
        if let Some(error) = failure {
            store.set_ending(Ending::Error(error));
            return Outcome::END;
        }
        let words = store.put_operands_back(&call, kept);
        store.expect_answers(answers);
        // SAFETY: generated code has called it with these operands, and does not run.
        let outcome =
            unsafe { (store.entry_points.call_again)(call.builtin, call.instance, words) };
        store.forget_answers();
        match outcome.ended {
            GO_ON => {
                store.set_tag(0, ValueClass::of(ValType::I64));
                store.transfer(0, RawVal::from_u64(outcome.value));
                Outcome::returned(0)
            }
            // It waits again, and was left already.
            SUSPEND => Outcome::END,
            _ => outcome,
        }
    }
}

impl Store {
    /// A builtin begins that can be left if the limiter has to wait.
    pub(crate) fn begin_asking(&mut self) {
        self.budget.is_asking = true;
        let can_wait = !self.poller().is_null();
        if let Limiter::Waits(limiter) = &mut self.embedder.limiter {
            let question = limiter.let_wait(can_wait);
            self.embedder.drop_value(question);
        }
    }

    /// It has ended. If it has failed because the limiter has not decided, its call is left.
    pub(crate) fn end_asking(&mut self, call: BuiltinCall, has_failed: bool) -> Option<Outcome> {
        self.budget.is_asking = false;
        let Limiter::Waits(limiter) = &mut self.embedder.limiter else { return None };
        let question = limiter.let_wait(false)?;
        let answers = limiter.take_answers();
        if !has_failed || self.embedder.has_panicked() {
            self.embedder.drop_value((question, answers));
            return None;
        }
        self.heap.refusal = None;
        self.stacks.take_refusal();
        let kept = self.keep_operands(&call);
        let rest = kept
            .and_then(|kept| try_box(Again { call, kept, question, answers, failure: None }).ok());
        let Some(rest) = rest else {
            self.set_ending(Ending::Trap(TrapCode::OutOfMemory));
            return Some(Outcome::END);
        };
        let rest = AnyHostFuture::new(rest);
        let left = LeftCall { results: 1, array: 0 };
        Some(self.wait(PendingCall::polled(rest, Scope::NONE), PendingCause::Unknown, left))
    }

    /// None if there is no memory for it.
    fn keep_operands(&mut self, call: &BuiltinCall) -> Option<Kept> {
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
        Some(Kept { transferred, reference })
    }

    /// Puts back what was kept; returns the operands as they are now.
    fn put_operands_back(&mut self, call: &BuiltinCall, kept: Kept) -> [u64; 4] {
        let Kept { mut transferred, reference } = kept;
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
    /// What it says where a trap has it as its detail.
    pub(crate) const DETAIL: &str = "the limiter of the store has not decided yet, and cannot be \
                                     waited for here";
}
