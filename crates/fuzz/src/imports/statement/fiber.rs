//! Generates statements of fibers.

use crate::imports::generate::Generator;
use crate::imports::vocabulary::{EVENTS, Ty, each};
use arbitrary::Result;

use Ty::*;

impl Generator<'_, '_> {
    pub(super) fn fiber_new(&mut self) -> Result<String> {
        let arguments: &[Ty] = self.pick(&[&[][..], &[], &[Sub, I64]])?;
        Ok(format!("{}\n{}", self.new_fiber(arguments)?, self.take(Fiber)?))
    }

    pub(super) fn fiber_go(&mut self) -> Result<String> {
        let (name, fibers) = self.pick(&[
            ("mount", 1),
            ("mount", 1),
            ("dismount", 1),
            ("dismount", 1),
            ("switch", 2),
            ("dismount_release", 1),
            ("switch_release", 2),
        ])?;
        let event = self.pick(&EVENTS)?;
        let takes = [event.values, &vec![Fiber; fibers]].concat();
        let import = self.import("fiber", name, each(&takes), vec![]);
        let most = if name.ends_with("release") { 0 } else { 3 };
        let tags = self.some(&EVENTS, most)?;
        self.with_clauses(&tags, |this, clauses| {
            this.tagged(&import, &takes, &[], &[], event, clauses)
        })
    }
}
