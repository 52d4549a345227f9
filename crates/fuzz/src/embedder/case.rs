//! Cases: the embedder's actions on its stores, and the acts of its callbacks. Numbers choose
//! among the existing items.

use crate::turns::{List, Turns};
use arbitrary::{Arbitrary, Result, Unstructured};

/// A case: turns of its stores.
pub type Case = Turns<Turn, 23>;

/// An action while no store is borrowed. The first number chooses a store.
#[derive(Clone, Debug, Arbitrary)]
pub enum Turn {
    Borrow(u8, Act),
    /// An action that needs the store itself.
    OwnedAction(u8, Due, OwnedAction),
    OwnOnAnotherThread(u8, Due, OwnedAction),
    Swap(u8, u8),
    /// Replaces the store by a new one.
    Replace(u8, Due),
}

/// An action on a borrowed store.
#[derive(Clone, Debug, Arbitrary)]
pub struct Act {
    /// What callbacks do during the action.
    pub due: Due,
    pub action: Action,
}

/// Acts for callbacks.
pub type Due = List<DueAct, 0, 4>;

/// The act of a callback at a site, or of the next callback at any site.
#[derive(Clone, Debug)]
pub struct DueAct {
    pub place: Option<CallbackSite>,
    /// The number of callbacks at the site that do nothing before.
    pub after: u8,
    pub act: CallbackAct,
}

impl<'a> Arbitrary<'a> for DueAct {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        // Most acts happen soon.
        let after = u.int_in_range(0_u8..=15)?.saturating_sub(8);
        Ok(DueAct { place: u.arbitrary()?, after, act: u.arbitrary()? })
    }

    fn size_hint(_: usize) -> (usize, Option<usize>) {
        (3, None)
    }
}

/// A place where the engine calls the embedder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Arbitrary)]
pub enum CallbackSite {
    HostFunction,
    Poll,
    DropFuture,
    IntoValues,
    Accessor,
    Wake,
    DropWaker,
    Memory,
    MemoryFailed,
    Table,
    Stacks,
    Stack,
    Heap,
    HostValues,
    Handles,
    Counts,
    DropAnswer,
    DropLimiter,
    OutOfFuel,
    Snapshot,
    WriteValue,
    ReadValue,
    StackEvent,
    TraceWrite,
    DropValue,
    DropClosure,
    DropData,
    Display,
    Source,
}

/// The act of a callback.
#[derive(Clone, Debug, Arbitrary)]
pub enum CallbackAct {
    Panic,
    /// Panics with a value that panics when it is dropped.
    PanicWithBomb,
    /// Returns an error; a limiter denies the request.
    Fail,
    /// Throws an exception, if it is a host function.
    Throw,
    /// Suspends its caller, if it is a host function.
    Suspend,
    /// Takes a snapshot and resumes it, if it is a host function.
    Snapshot,
    /// Stays pending for a number of polls, if it is a future.
    Wait(u8),
    /// Uses its store if it has one, or else another one.
    Act(Act),
    /// Does so on another thread, and waits for it.
    ActOnAnotherThread(Act),
    /// Uses another store.
    ActOnAnother(u8, Act),
    ActOnAnotherOnAnotherThread(u8, Act),
    /// Swaps its store with another one, and uses both.
    SwapContexts(u8, Act),
    OwnAnother(u8, Due, OwnedAction),
    /// Swaps two stores that are not in use.
    SwapStores(u8, u8),
    DropStore(u8),
    /// Drops handles.
    DropHandles(u8),
    Interrupt(u8),
    RequestSnapshot,
    /// Uses a large part of its stack.
    UseStack,
}

/// An action on a borrowed store.
#[derive(Clone, Debug, Arbitrary)]
pub enum Action {
    /// A call that reaches a host function.
    Call(Call),
    /// Such a call in a future.
    Poll(Call, Manner),
    /// Several short operations.
    Busy(u8),
    Spin(u8),
    Objects(u8),
    Suspended(u8),
    GrowMemory {
        by_host: bool,
        too_far: bool,
    },
    GrowTable {
        by_host: bool,
    },
    Trap,
    Value,
    Gc,
    Park,
    Fuel(u8),
    Deadline,
    Inspect,
    Instantiate,
    InstantiateAsync(Manner),
    /// Resumes a continuation of the host some times before it is kept.
    Continue(u8, u8),
    Keep(u8),
    Use(u8),
    UseAll,
    Drop(u8),
    Scope(Box<Act>, bool),
    GrowAsync(Manner),
    /// A stack of another design, which the embedder continues and keeps.
    Stack(Design, Call),
    StackAsync(Design, Call, Manner),
}

/// A design other than typed continuations.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Design {
    Task,
    Fiber,
    Bag,
    FirstClass,
}

impl Design {
    pub const ALL: [Design; 4] = [Design::Task, Design::Fiber, Design::Bag, Design::FirstClass];
}

/// A call that reaches a host function.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub struct Call {
    pub kind: HostFunctionKind,
    pub path: Path,
    pub x: i16,
}

/// The kind of a host function: its index in the table of the module.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum HostFunctionKind {
    Plain,
    Caller,
    Dynamic,
    Values,
    Later,
    Boxed,
    AsyncFn,
    DynamicAsync,
    Concurrent,
}

/// The path to the host function: its number in the module.
#[derive(Clone, Copy, Debug, Arbitrary, PartialEq, Eq)]
pub enum Path {
    Direct,
    Continuation,
    Handled,
    Caught,
    Deep,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
pub struct Manner {
    /// The number of polls, if it is abandoned.
    pub polls: u8,
    pub end: End,
    pub elsewhere: bool,
    /// Whether the methods of its wakers are callbacks.
    pub wakes: bool,
}

/// When a future is abandoned.
#[derive(Clone, Copy, Debug, Arbitrary, PartialEq, Eq)]
pub enum End {
    Ready,
    Drop,
    Forget,
}

/// An action that needs the store itself.
#[derive(Clone, Debug, Arbitrary)]
pub enum OwnedAction {
    Limiter,
    LimiterAsync,
    NoLimiter,
    OutOfFuel(u8),
    FuelInterval(u8),
    OnSnapshot,
    RequestSnapshot,
    OnEvent,
    AtEvent(u8),
    Stream,
    FinishTrace,
    TimeSlice(bool),
    /// Restores a snapshot, and uses its calls and names, perhaps with another's store. The
    /// restored store may replace this one.
    Restore {
        exchange: bool,
        replace: bool,
    },
    /// Makes concurrent calls.
    Many {
        calls: Calls,
        threads: bool,
        limit: u8,
    },
    Profile,
    Stacks,
}

/// Concurrent calls.
pub type Calls = List<(Call, Manner), 1, 5>;
