//! The marks that `answer` and the redirections leave on stacks.
//!
//! A mark knows how deep in its stack the function was that left it, so that an
//! exception that leaves the function removes it.

use ropewalk_abi::{FuncRef, TagDef};

/// A mark on a stack.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// How far the stack pointer was below the highest address.
    pub depth: usize,
    /// Tells it from all other marks that there ever were in the store. Newer
    /// ones have greater numbers.
    pub serial: u64,
    pub kind: MarkKind,
}

#[derive(Clone, Debug)]
pub(crate) enum MarkKind {
    /// A function returns a call tag.
    Answer { tag: *const TagDef, function: *const FuncRef, env: u64 },
    /// Walks continue in the stack that is the first field of a structure.
    Redirect { boxed: u64 },
    /// Walks continue in the stack that a function tells; afterwards another
    /// function gets it.
    RedirectTo { function: *const FuncRef, taker: *const FuncRef, env: u64 },
    /// A walk that began here is going on.
    Walk(Walk),
}

/// How far a walk has come, and what it has taken on the way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    /// The serial number of the mark at which it has stopped, to run a function.
    pub at: Option<u64>,
    pub taken: Vec<Taken>,
}

/// A stack that a walk went through.
#[derive(Clone, Debug)]
pub(crate) enum Taken {
    /// It belongs into the first field of a structure.
    FromBox { boxed: u64, stack: u64 },
    /// It is handed back to a function, whose mark has this serial number.
    FromFunction { taker: *const FuncRef, env: u64, stack: u64, mark: u64 },
}

// SAFETY: what the pointers refer to lives as long as the store that has the
// marks.
unsafe impl Send for Mark {}
// SAFETY: as above.
unsafe impl Sync for Mark {}

impl Taken {
    /// The stack.
    pub fn stack(&self) -> u64 {
        match self {
            Taken::FromBox { stack, .. } | Taken::FromFunction { stack, .. } => *stack,
        }
    }
}

impl Mark {
    /// The stacks that a walk has taken.
    pub fn taken(&self) -> impl Iterator<Item = u64> {
        let taken = match &self.kind {
            MarkKind::Walk(walk) => walk.taken.as_slice(),
            _ => &[],
        };
        taken.iter().map(Taken::stack)
    }

    /// The structure with locals of the function that has left the mark, if there is one.
    pub fn locals(&self) -> Option<u64> {
        match self.kind {
            MarkKind::Answer { env, .. } | MarkKind::RedirectTo { env, .. } => Some(env),
            MarkKind::Redirect { boxed } => Some(boxed),
            MarkKind::Walk(_) => None,
        }
    }

    /// Gives the mark, and those that a walk knows, other serial numbers.
    pub fn renumber(&mut self, serial_of: impl Fn(u64) -> u64) {
        self.serial = serial_of(self.serial);
        let MarkKind::Walk(walk) = &mut self.kind else { return };
        walk.at = walk.at.map(&serial_of);
        for taken in &mut walk.taken {
            if let Taken::FromFunction { mark, .. } = taken {
                *mark = serial_of(*mark);
            }
        }
    }

    /// Calls a function with each reference in the mark.
    pub fn visit(&mut self, mut visit: impl FnMut(&mut u64)) {
        match &mut self.kind {
            MarkKind::Answer { env, .. } | MarkKind::RedirectTo { env, .. } => visit(env),
            MarkKind::Redirect { boxed } => visit(boxed),
            MarkKind::Walk(walk) => walk.taken.iter_mut().for_each(|taken| match taken {
                Taken::FromBox { boxed, stack } => [boxed, stack].into_iter().for_each(&mut visit),
                Taken::FromFunction { env, stack, .. } => {
                    [env, stack].into_iter().for_each(&mut visit);
                }
            }),
        }
    }
}
