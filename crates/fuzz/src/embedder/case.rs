//! A case: what the embedder does with its stores, and what its callbacks do meanwhile. Numbers
//! choose among what is there.

use arbitrary::{Arbitrary, Result, Unstructured};

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The modes of two engines.
    pub modes: [u8; 2],
    /// What is done, one after the other.
    pub turns: Vec<Turn>,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let (modes, count) = (u.arbitrary()?, u.int_in_range(0..=23)?);
        let turns = (0..count).map(|_| u.arbitrary()).collect::<Result<_>>()?;
        Ok(Case { modes, turns })
    }
}

/// What is done while no store is borrowed. The first number chooses a store.
#[derive(Clone, Debug, Arbitrary)]
pub enum Turn {
    Borrow(u8, Act),
    /// Something that needs the store itself.
    OwnedAction(u8, Due, OwnedAction),
    OwnOnAnotherThread(u8, Due, OwnedAction),
    Swap(u8, u8),
    /// Another store takes its place.
    Replace(u8, Due),
}

/// Something that is done with a borrowed store.
#[derive(Clone, Debug, Arbitrary)]
pub struct Act {
    /// What callbacks do meanwhile.
    pub due: Due,
    pub action: Action,
}

/// What callbacks are to do.
#[derive(Clone, Debug)]
pub struct Due(pub Vec<DueDeed>);

impl<'a> Arbitrary<'a> for Due {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let count = u.int_in_range(0..=4)?;
        Ok(Due((0..count).map(|_| u.arbitrary()).collect::<Result<_>>()?))
    }

    fn size_hint(_: usize) -> (usize, Option<usize>) {
        (1, None)
    }
}

/// What the callback of a place does, or the next callback of any place.
#[derive(Clone, Debug)]
pub struct DueDeed {
    pub place: Option<CallbackSite>,
    /// How many callbacks of the place do nothing before.
    pub after: u8,
    pub deed: Deed,
}

impl<'a> Arbitrary<'a> for DueDeed {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        // Most are done soon.
        let after = u.int_in_range(0_u8..=15)?.saturating_sub(8);
        Ok(DueDeed { place: u.arbitrary()?, after, deed: u.arbitrary()? })
    }

    fn size_hint(_: usize) -> (usize, Option<usize>) {
        (3, None)
    }
}

/// Where the engine calls the embedder.
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

/// What a callback does.
#[derive(Clone, Debug, Arbitrary)]
pub enum Deed {
    Panic,
    /// Panics with a value that panics when it is dropped.
    PanicWithBomb,
    /// Returns an error; a limiter refuses.
    Fail,
    /// Throws an exception, if it is a host function.
    Throw,
    /// Suspends its caller, if it is a host function.
    Suspend,
    /// Takes a snapshot and continues it, if it is a host function.
    Snapshot,
    /// Is not ready the next times, if it is a future.
    Wait(u8),
    /// Uses the store, if it has it; else another one.
    Act(Act),
    /// The same on another thread, for which it waits.
    ActOnAnotherThread(Act),
    /// Uses another store.
    ActOnAnother(u8, Act),
    ActOnAnotherOnAnotherThread(u8, Act),
    /// Exchanges the store that it has with another one, and uses both.
    SwapContexts(u8, Act),
    OwnAnother(u8, Due, OwnedAction),
    /// Exchanges two stores that nobody uses.
    SwapStores(u8, u8),
    DropStore(u8),
    /// Drops handles.
    DropHandles(u8),
    Interrupt(u8),
    RequestSnapshot,
    /// Uses a good part of the stack on which it runs.
    UseStack,
}

/// What is done with a borrowed store.
#[derive(Clone, Debug, Arbitrary)]
pub enum Action {
    /// A call that leads to a host function.
    Call(Call),
    /// The same in a future.
    Poll(Call, Manner),
    /// A little of everything.
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
    /// A continuation of the host, which is resumed some times before it is kept.
    Continue(u8, u8),
    Keep(u8),
    Use(u8),
    UseAll,
    Drop(u8),
    /// A scope, which may be forgotten.
    Scope(Box<Act>, bool),
    GrowAsync(Manner),
}

/// A call that leads to a host function.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub struct Call {
    pub kind: HostFunctionKind,
    pub path: Path,
    pub x: i16,
}

/// The kind of a host function: its place in the table of the module.
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

/// The way to the host function: its number in the module.
#[derive(Clone, Copy, Debug, Arbitrary, PartialEq, Eq)]
pub enum Path {
    Direct,
    Continuation,
    /// On a continuation that suspends before and after.
    Handled,
    Caught,
    Deep,
}

/// How a future is polled.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub struct Manner {
    /// How often, if it is not polled until it is ready.
    pub polls: u8,
    pub end: End,
    /// Whether every other poll is on another thread.
    pub elsewhere: bool,
    /// Whether its wakers have code of their own.
    pub wakes: bool,
}

/// When a future is not polled any more.
#[derive(Clone, Copy, Debug, Arbitrary, PartialEq, Eq)]
pub enum End {
    Ready,
    Drop,
    Forget,
}

/// What needs the store itself.
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
    /// A snapshot is restored, and calls and names of it used, perhaps with another's store.
    /// The restored store may take the place of this one.
    Restore {
        exchange: bool,
        replace: bool,
    },
    /// Many calls at once.
    Many {
        calls: Calls,
        threads: bool,
        limit: u8,
    },
    Profile,
    Stacks,
}

/// Calls that are made at once.
#[derive(Clone, Debug)]
pub struct Calls(pub Vec<(Call, Manner)>);

impl<'a> Arbitrary<'a> for Calls {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let count = u.int_in_range(1..=5)?;
        Ok(Calls((0..count).map(|_| u.arbitrary()).collect::<Result<_>>()?))
    }

    fn size_hint(_: usize) -> (usize, Option<usize>) {
        (1, None)
    }
}
