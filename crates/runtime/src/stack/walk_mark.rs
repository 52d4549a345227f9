//! Marks on stacks, which `answer` and the redirections leave for `call_stack`.
//!
//! A mark records how deep in the stack its function is. An exception that leaves the function
//! removes the mark.

use ropewalk_abi::{FuncRef, TagDef};

#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// The distance from the stack pointer to the highest address.
    pub depth: usize,
    /// Unique among all marks that the store ever had. Newer marks have greater numbers.
    pub serial: u64,
    pub kind: MarkKind,
}

#[derive(Clone, Debug)]
pub(crate) enum MarkKind {
    /// The function returns a call tag.
    Answer { tag: *const TagDef, function: *const FuncRef, env: u64 },
    /// The walk continues in the stack in the first field of a structure.
    Redirect { boxed: u64 },
    /// The walk continues in the stack that `function` returns. Afterwards `taker` gets it.
    RedirectTo { function: *const FuncRef, taker: *const FuncRef, env: u64 },
    /// A walk that began here has not ended.
    Walk(Walk),
}

/// The state of a walk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    /// The serial number of the mark where it has stopped to run a function.
    pub at: Option<u64>,
    pub taken: Vec<EnteredStack>,
}

/// A stack that a walk has entered. It goes back to where it came from.
#[derive(Clone, Debug)]
pub(crate) enum EnteredStack {
    /// To the first field of a structure.
    FromBox { boxed: u64, stack: u64 },
    /// To the function of the mark with this serial number.
    FromFunction { taker: *const FuncRef, env: u64, stack: u64, mark: u64 },
}

// SAFETY: the pointers are valid as long as the store that has the marks.
unsafe impl Send for Mark {}
// SAFETY: as above.
unsafe impl Sync for Mark {}

impl EnteredStack {
    pub fn stack(&self) -> u64 {
        match self {
            EnteredStack::FromBox { stack, .. } | EnteredStack::FromFunction { stack, .. } => {
                *stack
            }
        }
    }
}

impl Mark {
    /// The stacks that a walk has entered.
    pub fn taken(&self) -> impl Iterator<Item = u64> {
        let taken = match &self.kind {
            MarkKind::Walk(walk) => walk.taken.as_slice(),
            _ => &[],
        };
        taken.iter().map(EnteredStack::stack)
    }

    /// The structure with the locals of the function that left the mark.
    pub fn locals(&self) -> Option<u64> {
        match self.kind {
            MarkKind::Answer { env, .. } | MarkKind::RedirectTo { env, .. } => Some(env),
            MarkKind::Redirect { boxed } => Some(boxed),
            MarkKind::Walk(_) => None,
        }
    }

    /// Replaces all serial numbers in the mark.
    pub fn renumber(&mut self, serial_of: impl Fn(u64) -> u64) {
        self.serial = serial_of(self.serial);
        let MarkKind::Walk(walk) = &mut self.kind else { return };
        walk.at = walk.at.map(&serial_of);
        for taken in &mut walk.taken {
            if let EnteredStack::FromFunction { mark, .. } = taken {
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
                EnteredStack::FromBox { boxed, stack } => {
                    [boxed, stack].into_iter().for_each(&mut visit)
                }
                EnteredStack::FromFunction { env, stack, .. } => {
                    [env, stack].into_iter().for_each(&mut visit);
                }
            }),
        }
    }
}
