//! Check points between calls of functions that do little.
//!
//! Functions that do [little](crate::brief) do not look whether they are to stop, so a function
//! that calls very many of them has to. While it is translated, it is known how much those may
//! have done that were called since it has looked: on no path to here more than *unseen*. Where
//! that would become [much](MUCH), it looks.
//!
//! ```text
//!   call $f              unseen grows by what $f does
//!   if
//!     call $f            much: it looks here, and unseen is nothing
//!   else                 who comes here has not looked: unseen may be all that is allowed
//!     call $f            it looks here too
//!   end                  some who come here have not looked, so it looks
//! ```
//!
//! A look holds for what follows in the same block, and in blocks inside of that.

use super::Translator;
use super::interruption::SHORT;
use crate::handlers;
use wasmparser::Operator;

/// How much functions that do not look may do between two check points of their caller.
const MUCH: usize = 256 << 10;

/// What was called since a function has looked.
#[derive(Default)]
pub(super) struct Unseen {
    /// How much it does at most.
    work: usize,
    /// How many blocks deep the function has looked, or zero if that was where it began.
    looked_at: usize,
}

impl Translator<'_> {
    /// A check point before a call, if it is time for one.
    pub(super) fn look_before(&mut self, operator: &Operator<'_>) {
        if !self.env.interruption {
            return;
        }
        if let Operator::Else = operator
            && self.unseen.looked_at >= self.controls.len()
        {
            self.unseen = Unseen { work: MUCH, looked_at: 0 };
        }
        if !self.is_reachable() || !handlers::calls(operator) {
            return;
        }
        let work = self.does_unseen(operator);
        if self.unseen.work + work > MUCH {
            self.look_now();
        }
        self.unseen.work += work;
    }

    /// A check point after the end of a block, if the function has looked only inside.
    pub(super) fn look_after(&mut self, operator: &Operator<'_>) {
        let is_left = self.unseen.looked_at > self.controls.len();
        if !matches!(operator, Operator::End) || !is_left || self.controls.is_empty() {
            return;
        }
        match self.is_reachable() {
            true => self.look_now(),
            false => self.unseen = Unseen { work: MUCH, looked_at: 0 },
        }
    }

    fn look_now(&mut self) {
        self.look_for_interruption();
        self.unseen = Unseen { work: 0, looked_at: self.controls.len() };
    }

    /// How much is done at most before what an operator calls looks, or returns.
    fn does_unseen(&self, operator: &Operator<'_>) -> usize {
        let (Operator::Call { function_index } | Operator::ReturnCall { function_index }) =
            operator
        else {
            return SHORT;
        };
        match function_index.checked_sub(self.env.info.imported_functions) {
            // One that does not look by itself has a number.
            Some(number) => self.env.brief.get(number as usize).copied().flatten().unwrap_or(0),
            None => SHORT,
        }
    }
}
