//! Typed continuations: the operations that generated code does not inline.

use crate::store::Store;
use crate::store::running::Ending;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::stack::{ClauseKind, EVERY_TAG, StackKind, tag_of_handler};
use ropewalk_abi::{ControlBlock, TagDef, TrapCode, clauses};

impl Store {
    /// Searches outward for the clause of a handler word. Returns its signal, and leaves the
    /// outermost captured stack in the context. The values of a `suspend` are in the transfer area.
    /// The running stack remembers the result, so that generated code finds it the next time.
    pub(crate) fn find_clause(&mut self, word: u64) -> Result<u64, Ending> {
        let mut stack = self.context().stack;
        loop {
            // SAFETY: running stacks and their parents are alive. The last parent is a block
            // without handlers, and has no parent.
            unsafe {
                let parent = (*stack).parent;
                if parent == self.running.no_parent() {
                    return Err(self.unhandled(word));
                }
                if let Some(signal) = self.signal_of(&*parent, word) {
                    (*self.context().stack).remember(word, stack);
                    self.context_mut().found = stack;
                    return Ok(signal);
                }
                stack = parent;
            }
        }
    }

    /// The signal of the clause for a word on a waiting stack.
    ///
    /// # Safety
    ///
    /// The stack must wait for another.
    unsafe fn signal_of(&mut self, stack: &ControlBlock, word: u64) -> Option<u64> {
        // SAFETY: a waiting stack has a list of clauses.
        let signal = unsafe { clauses::find(stack.handlers, word) };
        if signal.is_some() || ClauseKind::of(word) != ClauseKind::Suspend {
            return signal;
        }
        // SAFETY: as above.
        let signal = unsafe { clauses::find(stack.handlers, EVERY_TAG) }?;
        self.running.suspended_with = word;
        Some(signal)
    }

    /// The error of a suspension without a clause.
    #[cold]
    fn unhandled(&self, word: u64) -> Ending {
        // The values of a `switch` are the continuation's. Its tag has none.
        let tag = tag_of_handler(word) as *const TagDef;
        let mut detail = self.describe_tag(tag, Store::transferred);
        if self.is_handled_outside(word) {
            detail += "; its clause is outside of a host call, and a suspension cannot cross a host \
                       call";
        }
        Ending::DetailedTrap(TrapCode::UnhandledTag, detail)
    }

    /// Whether an outer activation has the clause.
    fn is_handled_outside(&self, word: u64) -> bool {
        self.running.outer_stacks().any(|stack| {
            let mut parents = self.running.with_parents(stack).skip(1);
            let is_any = ClauseKind::of(word) == ClauseKind::Suspend;
            parents.any(|parent| {
                // SAFETY: a waiting stack has a list of clauses.
                let has = |word: u64| unsafe { clauses::find(parent.handlers, word) }.is_some();
                has(word) || is_any && has(EVERY_TAG)
            })
        })
    }

    /// Resumes a continuation by throwing an exception in it.
    pub(crate) fn resume_throw(
        &mut self,
        reference: u64,
        exception: u64,
        handlers: *const u64,
    ) -> Outcome {
        let consumed = self.consume(reference, StackKind::Continuation).and_then(|block| {
            // SAFETY: a valid reference named the outermost of suspended stacks.
            unsafe { self.unpark_group(block) }.map(|()| block)
        });
        let block = match consumed {
            Ok(block) => block,
            Err(code) => return self.end_with(code),
        };
        let current = self.context().stack;
        // SAFETY: both blocks are alive.
        unsafe {
            (*current).handlers = handlers;
            (*current).wait(self.context().captures);
            (*block).parent = current;
            self.drop_bound((*block).innermost);
            self.trace_switch((*block).innermost, 0, std::ptr::null());
            self.context_mut().stack = (*block).ungroup();
        }
        self.throw(exception)
    }
}
