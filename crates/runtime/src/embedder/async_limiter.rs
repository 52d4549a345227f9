//! A limiter that may wait before it decides.
//!
//! It is shared, and can have several questions pending: a waiting call does not keep others from
//! asking. In a call that is polled, the builtin that asked is suspended, and [called
//! again](crate::run::pending_builtin) once there is a decision. A host function that is a future
//! asks [first](AsyncLimiter::ask_first). Decisions are kept until they are used.

use super::{Decision, Growth};
use anyhow::Result;
use std::fmt;
use std::future::{self, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The future of a limiter's decision.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Decides how much a store may have, and can wait before it does: for a budget that stores share,
/// for free memory, for the consent of a user.
///
/// It decides the same questions as a [`ResourceLimiter`](crate::ResourceLimiter), with the same
/// meaning. The decisions that are futures can wait in these cases:
///
/// | question | can wait |
/// | --- | --- |
/// | an instance and its memories and tables | in `instantiate_async`, which asks everything before it makes anything |
/// | `memory.grow` and `table.grow`, also by the host | in calls that are polled, such as `call_async`; in `grow_async` and `new_async` |
/// | stacks, in instructions that make one | in calls that are polled |
/// | bytes of the heap, in `struct.new`, `array.new`, `throw` and similar ones | in calls that are polled |
/// | stacks or heap in the middle of an operation: an event that becomes an exception, a parked stack that is continued, objects that the host makes | no |
/// | the growth of a stack, host values, owned references, maximum numbers | no, these are not futures |
///
/// A waiting call is like one that waits for a host function. Its future is pending, other calls
/// run in the same store, and dropping it leaves the store usable. In a call that cannot wait, the
/// decision must be ready on its first poll. Otherwise it is dropped, and the call fails with an
/// error.
///
/// Each waiting call can have a question pending, so all methods share the limiter. If another call
/// has grown the same memory while the question was pending, an allowed growth is taken back
/// ([`memory_grow_failed`](Self::memory_grow_failed)), and the limiter is asked again. Dropping the
/// future cancels the growth.
pub trait ResourceLimiterAsync: Send + Sync {
    /// Whether a linear memory may grow, in bytes. A new memory grows from zero. `maximum` is that
    /// of its type, if it has one.
    fn memory_growing(
        &self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Answer<'_, Result<bool>>;

    /// A memory could not grow, or need not anymore, although it was allowed to.
    fn memory_grow_failed(&self, _current: usize, _desired: usize) {}

    /// Whether a table may grow, in elements.
    fn table_growing(
        &self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Answer<'_, Result<bool>>;

    /// Whether the number of instances may grow.
    fn instances_growing(&self, _current: usize, _desired: usize) -> Answer<'_, Result<bool>> {
        Box::pin(future::ready(Ok(true)))
    }

    /// Whether the number of stacks may grow. Roots do not count. `bytes` is the resulting size of
    /// all stacks.
    fn stacks_growing(&self, _current: usize, _desired: usize, _bytes: usize) -> Answer<'_, bool> {
        Box::pin(future::ready(true))
    }

    /// Whether the objects of the heap may grow, in bytes.
    fn heap_growing(&self, _current: usize, _desired: usize) -> Answer<'_, bool> {
        Box::pin(future::ready(true))
    }

    /// Whether one stack may grow, as in
    /// [`ResourceLimiter::stack_growing`](crate::ResourceLimiter::stack_growing). It cannot wait:
    /// WebAssembly is in the middle of an instruction.
    fn stack_growing(&self, _current: usize, _desired: usize, _bytes: usize) -> bool {
        true
    }

    /// Whether there may be more host values.
    fn host_values_growing(&self, _current: usize, _desired: usize) -> bool {
        true
    }

    /// Whether the host may own more references.
    fn handles_growing(&self, _current: usize, _desired: usize) -> bool {
        true
    }

    /// The maximum number of instances.
    fn instances(&self) -> usize {
        usize::MAX
    }

    /// The maximum number of memories.
    fn memories(&self) -> usize {
        usize::MAX
    }

    /// The maximum number of tables.
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

/// A question without a decision.
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

/// Decisions that were not used yet. When they are dropped, the limiter is told of memories that
/// were allowed to grow and did not.
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

    /// The decision about a growth, if there is one.
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

/// The code that asks, and whether it can wait.
enum Asking {
    /// It cannot wait. A question without a decision is dropped.
    MustDecide,
    /// It can be suspended and ask again.
    CanWait,
    /// It must be suspended, because its question is pending.
    Pending(Question),
}

pub(crate) struct AsyncLimiter {
    pub limiter: Arc<dyn ResourceLimiterAsync>,
    /// Decisions made before the question is asked again.
    pub answers: Answers,
    asking: Asking,
}

impl AsyncLimiter {
    pub fn new(limiter: Arc<dyn ResourceLimiterAsync>) -> AsyncLimiter {
        let answers = Answers::none(Some(limiter.clone()));
        AsyncLimiter { limiter, answers, asking: Asking::MustDecide }
    }

    pub fn ask(&mut self, growth: Growth, context: &mut Context<'_>) -> Decision {
        if let Some(answer) = self.answers.find(&growth) {
            return Ok(answer).into();
        }
        if self.is_open() {
            return Decision::Undecided;
        }
        let mut question = Question::new(growth, &self.limiter);
        match question.poll(context) {
            Poll::Ready(answer) => answer.into(),
            Poll::Pending => {
                if self.can_wait() {
                    self.asking = Asking::Pending(question);
                }
                Decision::Undecided
            }
        }
    }

    /// Whether a question is pending.
    pub fn is_open(&self) -> bool {
        matches!(self.asking, Asking::Pending(_))
    }

    /// Whether the code that asks can be suspended.
    pub fn can_wait(&self) -> bool {
        !matches!(self.asking, Asking::MustDecide)
    }

    /// Sets whether the code that asks can be suspended. Returns the pending question.
    pub fn let_wait(&mut self, can_wait: bool) -> Option<Question> {
        let asking = if can_wait { Asking::CanWait } else { Asking::MustDecide };
        match std::mem::replace(&mut self.asking, asking) {
            Asking::Pending(question) => Some(question),
            Asking::MustDecide | Asking::CanWait => None,
        }
    }

    /// Takes all decisions.
    pub fn take_answers(&mut self) -> Answers {
        let none = Answers::none(Some(self.limiter.clone()));
        std::mem::replace(&mut self.answers, none)
    }
}
