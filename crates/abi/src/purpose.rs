//! The designs of stack switching, and the purposes of stacks.

/// The designs of stack switching, as a part of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StackKind {
    /// Typed continuations.
    Continuation = 0,
    /// Bag of stacks.
    Bag = 1,
    /// Tasks.
    Task = 2,
    /// Fibers.
    Fiber = 3,
    /// First-class stacks.
    FirstClass = 4,
}

/// The purpose of a stack. Its state is a [`Life`](crate::life::Life).
///
/// A root has the highest number: all others are freed when they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum Purpose {
    /// It is free.
    Free = 0,
    /// A continuation.
    Continuation = 1,
    /// A stack of the bag of stacks: a base.
    Bag = 2,
    /// A task.
    Task = 3,
    /// A fiber.
    Fiber = 4,
    /// A first-class stack: a base.
    FirstClass = 5,
    /// The root of an activation, or of a later one: a base.
    Root = 6,
}

impl Purpose {
    /// The purpose of the stacks that references of a kind name.
    pub const fn of(kind: StackKind) -> Purpose {
        match kind {
            StackKind::Continuation => Purpose::Continuation,
            StackKind::Bag => Purpose::Bag,
            StackKind::Task => Purpose::Task,
            StackKind::Fiber => Purpose::Fiber,
            StackKind::FirstClass => Purpose::FirstClass,
        }
    }

    /// The kind of references to stacks with this purpose. None if there is no kind, or more than
    /// one.
    pub fn kind(self) -> Option<StackKind> {
        match self {
            Purpose::Free | Purpose::Root => None,
            Purpose::Continuation => Some(StackKind::Continuation),
            Purpose::Bag => Some(StackKind::Bag),
            Purpose::Task => Some(StackKind::Task),
            Purpose::Fiber => Some(StackKind::Fiber),
            Purpose::FirstClass => Some(StackKind::FirstClass),
        }
    }

    /// Whether the reference stays the same for the whole life of the stack.
    pub fn has_identity(self) -> bool {
        matches!(self, Purpose::Task | Purpose::Fiber)
    }
}
