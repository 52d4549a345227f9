//! Polls between calls of functions that do not poll themselves.
//!
//! Functions with [bounded work](crate::driver::bounded_work) do not poll, so a function that calls
//! very many of them must. The translation tracks an upper bound of the work that callees have done
//! on any path since the last poll: the *unpolled work*. Where the next call would exceed [`MOST`],
//! the function polls.
//!
//! ```text
//!   call $f              the unpolled work grows by that of $f
//!   if
//!     call $f            too much: poll here, and start again from zero
//!   else                 this path has not polled, so assume the maximum
//!     call $f            poll here too
//!   end                  some paths have not polled, so poll
//! ```
//!
//! A poll counts for the rest of its block, and for the blocks nested in that.

use super::Translator;
use super::contents::calls;
use super::interruption::SHORT;
use wasmparser::Operator;

/// The most work that callees may do between two polls of their caller.
const MOST: usize = 256 << 10;

/// The calls since the last poll.
#[derive(Default)]
pub(super) struct Unpolled {
    /// An upper bound of their work.
    work: usize,
    /// The nesting depth of the last poll, or zero for a poll on entry.
    polled_at: usize,
}

impl Translator<'_> {
    /// Polls before a call that would exceed the limit.
    pub(super) fn poll_before(&mut self, operator: &Operator<'_>) {
        if !self.env.modes.interruption {
            return;
        }
        if let Operator::Else = operator
            && self.unpolled.polled_at >= self.controls.len()
        {
            self.unpolled = Unpolled { work: MOST, polled_at: 0 };
        }
        if !self.is_reachable() || !calls(operator) {
            return;
        }
        let work = self.unpolled_work(operator);
        if self.unpolled.work + work > MOST {
            self.poll_now();
        }
        self.unpolled.work += work;
    }

    /// Polls after the end of a block if the last poll was inside it.
    pub(super) fn poll_after(&mut self, operator: &Operator<'_>) {
        let is_left = self.unpolled.polled_at > self.controls.len();
        if !matches!(operator, Operator::End) || !is_left || self.controls.is_empty() {
            return;
        }
        match self.is_reachable() {
            true => self.poll_now(),
            false => self.unpolled = Unpolled { work: MOST, polled_at: 0 },
        }
    }

    fn poll_now(&mut self) {
        self.poll_interruption();
        self.unpolled = Unpolled { work: 0, polled_at: self.controls.len() };
    }

    /// The most work that the callee of an operator does before it polls or returns.
    fn unpolled_work(&self, operator: &Operator<'_>) -> usize {
        let (Operator::Call { function_index } | Operator::ReturnCall { function_index }) =
            operator
        else {
            return SHORT;
        };
        match function_index.checked_sub(self.env.info.imported_functions) {
            // A function without a number polls itself.
            Some(number) => {
                self.env.bounded_work.get(number as usize).copied().flatten().unwrap_or(0)
            }
            None => SHORT,
        }
    }
}
