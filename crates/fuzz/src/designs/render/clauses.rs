//! Renders an instruction with clauses or catches inside a block for each of their labels.
//!
//! ```text
//!   (block $after
//!     (block $on1 (result ...)
//!       (block $on0 (result ...)
//!         the instruction
//!         (br $after))
//!       handler 0
//!       (br $after))
//!     handler 1)
//! ```

use super::Writer;
use super::module::list;
use crate::designs::program::{BlockId, Local, Ty};

/// The target of a clause: the locals for its values, and the code that runs then.
pub(super) struct Landing<'a> {
    pub to: &'a [Local],
    pub handler: BlockId,
}

impl Writer<'_> {
    /// Writes an instruction inside the blocks of its labels, whose names `inner` receives.
    pub(super) fn landings(
        &mut self,
        landings: &[Landing<'_>],
        inner: impl FnOnce(&mut Self, &[String]),
    ) {
        if landings.is_empty() {
            return inner(self, &[]);
        }
        let labels: Vec<_> = landings.iter().map(|_| self.label("on")).collect();
        let after = self.label("after");
        self.line(format!("(block {after}"));
        self.depth += 1;
        for (landing, label) in landings.iter().zip(&labels).rev() {
            let types: Vec<Ty> = landing.to.iter().map(|&local| self.ty(local)).collect();
            self.line(format!("(block {label}{}", list("result", &types)));
            self.depth += 1;
        }
        inner(self, &labels);
        for landing in landings {
            self.line(format!("(br {after})"));
            self.depth -= 1;
            self.line(")");
            self.set_all(landing.to);
            self.block(landing.handler);
        }
        self.depth -= 1;
        self.line(")");
    }
}
