//! A limiter that may wait before it decides.
//!
//! It is shared, and may be asked several things at the same time: a call that waits for an
//! answer keeps no other from asking. Where somebody polls the call, what has asked is left,
//! and [called again](crate::run::waiting_builtin) when the answer is there; a host that asks in a future
//! asks [before](AsyncLimiter::ask_first) it does anything. The answers are kept until then.

use super::{Decision, Growth};
use anyhow::Result;
use std::fmt;
use std::future::{self, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What a limiter decides, perhaps later.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Decides how much a store may have, and may wait before it does: for a budget that other
/// stores share, for memory to become free, for somebody to agree.
///
/// It is asked what a [`ResourceLimiter`](crate::ResourceLimiter) is asked, and its answers
/// mean the same. Those that are futures are waited for where the call can wait:
///
/// | question | can wait |
/// | --- | --- |
/// | an instance and its memories and tables | in `instantiate_async`, which asks all of it before it makes anything |
/// | `memory.grow`, `table.grow`; the same by the host | in calls that are polled, such as `call_async`; in `grow_async`, `new_async` |
/// | stacks, in the instructions that make one | in calls that are polled |
/// | bytes of the heap, in `struct.new`, `array.new`, `throw` and the like | in calls that are polled |
/// | the same where the runtime needs them in the middle of something: an event that becomes an exception, a stack that is continued and has no memory; and what the host makes | no |
/// | a stack that grows; values of the host; references that it owns; numbers | no, they are no futures |
///
/// A call that waits is like one that waits for a host function: its future is pending,
/// others run in the same store meanwhile, and dropping it leaves the store usable. Where
/// nobody can wait, a future must be ready when it is first polled. If it is not, it is
/// dropped, and the call fails with an error that says so.
///
/// Several questions may be open at the same time, one for each call that waits, so all
/// methods share the limiter. If what was asked about has changed meanwhile, because another
/// call has grown the same memory, a growth that was allowed is taken back
/// ([`memory_grow_failed`](Self::memory_grow_failed)), and it is asked anew. If a future is
/// dropped, the growth does not happen.
pub trait ResourceLimiterAsync: Send + Sync {
    /// Whether a linear memory may grow from so many bytes to so many. A new one grows
    /// from nothing. The maximum is what its type allows, if that says something.
    fn memory_growing(
        &self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Answer<'_, Result<bool>>;

    /// A memory that was allowed to grow could not, or does not need to any more.
    fn memory_grow_failed(&self, _current: usize, _desired: usize) {}

    /// Whether a table may grow from so many elements to so many.
    fn table_growing(
        &self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Answer<'_, Result<bool>>;

    /// Whether there may be so many instances instead of fewer.
    fn instances_growing(&self, _current: usize, _desired: usize) -> Answer<'_, Result<bool>> {
        Box::pin(future::ready(Ok(true)))
    }

    /// Whether there may be so many stacks, but roots, instead of fewer; all stacks have
    /// `bytes` bytes together then.
    fn stacks_growing(&self, _current: usize, _desired: usize, _bytes: usize) -> Answer<'_, bool> {
        Box::pin(future::ready(true))
    }

    /// Whether the objects of the heap may take so many bytes instead of fewer.
    fn heap_growing(&self, _current: usize, _desired: usize) -> Answer<'_, bool> {
        Box::pin(future::ready(true))
    }

    /// Whether one stack may grow, as
    /// [`ResourceLimiter::stack_growing`](crate::ResourceLimiter::stack_growing) says. It
    /// cannot wait: WebAssembly is in the middle of an instruction.
    fn stack_growing(&self, _current: usize, _desired: usize, _bytes: usize) -> bool {
        true
    }

    /// Whether there may be so many values of the host.
    fn host_values_growing(&self, _current: usize, _desired: usize) -> bool {
        true
    }

    /// Whether the host may own so many references instead of fewer.
    fn handles_growing(&self, _current: usize, _desired: usize) -> bool {
        true
    }

    /// How many instances there may be.
    fn instances(&self) -> usize {
        usize::MAX
    }

    /// How many memories there may be.
    fn memories(&self) -> usize {
        usize::MAX
    }

    /// How many tables there may be.
    fn tables(&self) -> usize {
        usize::MAX
    }
}

impl Growth {
    /// Asks a limiter that may wait. The future keeps it alive.
    pub(crate) fn ask_shared(
        self,
        limiter: Arc<dyn ResourceLimiterAsync>,
    ) -> Answer<'static, Result<bool>> {
        Box::pin(async move {
            match self {
                Growth::Instances { from, to } => limiter.instances_growing(from, to).await,
                Growth::Memory { from, to, maximum } => {
                    limiter.memory_growing(from, to, maximum).await
                }
                Growth::Table { from, to, maximum } => {
                    limiter.table_growing(from, to, maximum).await
                }
                Growth::Stacks { from, to, bytes } => {
                    Ok(limiter.stacks_growing(from, to, bytes).await)
                }
                Growth::Heap { from, to } => Ok(limiter.heap_growing(from, to).await),
            }
        })
    }
}

/// A question that is not answered yet.
pub(crate) struct Question {
    pub growth: Growth,
    answer: Answer<'static, Result<bool>>,
}

impl Question {
    fn new(growth: Growth, limiter: &Arc<dyn ResourceLimiterAsync>) -> Question {
        Question { growth, answer: growth.ask_shared(limiter.clone()) }
    }

    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<bool>> {
        self.answer.as_mut().poll(context)
    }
}

/// Answers that are kept until somebody asks. A memory that may grow and does not is told.
pub struct Answers {
    pub(crate) limiter: Option<Arc<dyn ResourceLimiterAsync>>,
    known: Vec<(Growth, bool)>,
}

impl Answers {
    pub(crate) fn none(limiter: Option<Arc<dyn ResourceLimiterAsync>>) -> Answers {
        Answers { limiter, known: Vec::new() }
    }

    pub(crate) fn add(&mut self, growth: Growth, answer: bool) {
        self.known.push((growth, answer));
    }

    /// The answer to a question, if it is known.
    fn find(&mut self, growth: &Growth) -> Option<bool> {
        let answers = |(other, answer): &(_, bool)| growth.is_answered_by(other, *answer);
        let place = self.known.iter().position(answers)?;
        let (_, answer) = self.known[place];
        if growth.is_used_once() {
            self.known.remove(place);
        }
        Some(answer)
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        let Some(limiter) = &self.limiter else { return };
        for (growth, answer) in &self.known {
            if let (Growth::Memory { from, to, .. }, true) = (growth, answer) {
                limiter.memory_grow_failed(*from, *to);
            }
        }
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("known", &self.known).finish_non_exhaustive()
    }
}

/// A limiter that may wait, as the limiter of a store.
pub(crate) struct AsyncLimiter {
    pub limiter: Arc<dyn ResourceLimiterAsync>,
    /// What it has answered before it is asked.
    pub answers: Answers,
    /// Whether whoever asks can be left and do it again.
    can_wait: bool,
    /// What it was asked and has not answered, since then.
    question: Option<Question>,
}

impl AsyncLimiter {
    pub fn new(limiter: Arc<dyn ResourceLimiterAsync>) -> AsyncLimiter {
        let answers = Answers::none(Some(limiter.clone()));
        AsyncLimiter { limiter, answers, can_wait: false, question: None }
    }

    pub fn ask(&mut self, growth: Growth, context: &mut Context<'_>) -> Decision {
        if let Some(answer) = self.answers.find(&growth) {
            return Ok(answer).into();
        }
        if self.question.is_some() {
            return Decision::Undecided;
        }
        let mut question = Question::new(growth, &self.limiter);
        match question.poll(context) {
            Poll::Ready(answer) => answer.into(),
            Poll::Pending => {
                self.question = self.can_wait.then_some(question);
                Decision::Undecided
            }
        }
    }

    pub fn is_open(&self) -> bool {
        self.question.is_some()
    }

    /// From now on whoever asks can be left, or cannot any more. Returns what was asked
    /// meanwhile and not answered.
    pub fn let_wait(&mut self, can_wait: bool) -> Option<Question> {
        self.can_wait = can_wait;
        self.question.take()
    }

    /// What was known, and is known to others from now on.
    pub fn take_answers(&mut self) -> Answers {
        let none = Answers::none(Some(self.limiter.clone()));
        std::mem::replace(&mut self.answers, none)
    }
}
