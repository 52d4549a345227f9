//! What modules may use.

use crate::CompileError;

bitflags::bitflags! {
    /// Designs of stack switching.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Designs: u8 {
        /// Typed continuations, the standard proposal.
        const CONTINUATIONS = 1;
        /// Bag of stacks.
        const BAG = 1 << 1;
        /// Tasks.
        const TASKS = 1 << 2;
        /// Fibers.
        const FIBERS = 1 << 3;
        /// First-class stacks.
        const FIRST_CLASS = 1 << 4;
    }
}

/// What a module may import and use.
#[derive(Clone, Copy)]
pub(crate) struct Permission {
    pub designs: Designs,
    /// Whether the module is the engine's own, and may import operations that others may not.
    pub for_engine: bool,
}

impl Permission {
    /// Fails if the design to which an item belongs is off.
    pub fn check(self, design: Designs, item: &str, offset: u64) -> Result<(), CompileError> {
        if self.designs.contains(design) {
            return Ok(());
        }
        let mut names = design.iter_names();
        let name = names.next().map_or("", |(name, _)| name);
        let message = format!("{item} is not allowed: Config::designs lacks Designs::{name}");
        Err(CompileError::Refused { offset, message })
    }
}
