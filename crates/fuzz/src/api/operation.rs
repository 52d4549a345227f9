//! The operations of a case. Numbers in them choose among the existing items.

use crate::turns::{List, Turns};
use arbitrary::Arbitrary;

/// A case: turns of its stores.
pub type Case = Turns<Turn, 15>;

/// A turn of one store.
#[derive(Clone, Debug, Arbitrary)]
pub enum Turn {
    /// Operations on this thread.
    Here(u8, Operations),
    /// Operations on another thread, to which the store is sent.
    Elsewhere(u8, Operations),
    /// Replaces the store by a new one.
    Drop(u8),
    /// Collects garbage.
    Collect(u8),
}

/// A sequence of operations.
pub type Operations = List<Operation, 0, 12>;

/// Chooses a value.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Choice {
    /// A number of the required type.
    Number(u64),
    Null,
    /// A small number in place of an object.
    I31(u8),
    /// A kept item of the model.
    Kept(u8),
    /// A recorded reference, whose scope may have ended.
    Handle(u8),
    /// An item of any type.
    Any(u8),
    /// An item of another store.
    Foreign(u8),
}

/// A type of values that the host can create.
#[derive(Clone, Copy, Debug, Arbitrary, PartialEq, Eq)]
pub enum ValueKind {
    I32,
    I64,
    F32,
    F64,
    V128,
    Func,
    Extern,
    Any,
    Exn,
}

/// An operation of the host.
#[derive(Clone, Debug, Arbitrary)]
pub enum Operation {
    NewGlobal {
        kind: ValueKind,
        mutable: bool,
        value: Choice,
    },
    SetGlobal(u8, Choice),
    NewTable {
        kind: ValueKind,
        size: u8,
        maximum: Option<u8>,
        value: Choice,
    },
    SetTable(u8, u8, Choice),
    GrowTable(u8, u8, Choice),
    NewMemory {
        pages: u8,
        maximum: Option<u8>,
    },
    WriteMemory(u8, u32, u8),
    GrowMemory(u8, u8),
    NewNode(Choice, Choice, Choice),
    NewArray(Vec<Choice>),
    /// Sets a field or an element of an object.
    SetField(u8, u8, Choice),
    NewExtern(Extra),
    NewException(Choice, Choice),
    /// Drops the host's own reference to an object.
    Forget(u8),
    NewFunc,
    Instantiate {
        right: bool,
    },
    /// Uses an item of another store, which must fail.
    Foreign(u8, u8),
    /// Uses all handles, including those whose scope has ended.
    UseHandles,
    /// Misuse that fails in every state.
    Wrong(u8),
    /// Operations in a scope of references.
    Scope(Operations),
    Call(Call),
    /// Compares everything with the model.
    Verify,
}

/// What a host value does when it is dropped.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Extra {
    Nothing,
    /// Drops a store of its own.
    HoldsStore,
    /// Keeps a reference of the same store.
    HoldsReference(u8),
    Panics,
}

/// A call into WebAssembly that calls the host.
#[derive(Clone, Debug, Arbitrary)]
pub struct Call {
    pub instance: u8,
    pub path: Path,
    pub argument: Choice,
    /// The operations of the host function.
    pub operations: Operations,
    pub end: End,
    /// Whether the call is typed in Rust.
    pub typed: bool,
}

/// The path from the call to the host function.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Path {
    Wrapped,
    Dynamic,
    Continued,
    Task,
    Caught,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum End {
    Return(Choice),
    Fail,
    Throw(Choice),
    Panic,
}
