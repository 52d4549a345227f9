//! What a host does with a store. Numbers choose among what is there, whatever
//! that is.

use arbitrary::{Arbitrary, Result, Unstructured};

/// A case: what is done with each of its stores, in turns.
#[derive(Clone, Debug)]
pub struct Case {
    /// The modes of two engines.
    pub modes: [u8; 2],
    /// For each turn, the store, and what is done with it.
    pub turns: Vec<Turn>,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let (modes, count) = (u.arbitrary()?, u.int_in_range(0..=15)?);
        let turns = (0..count).map(|_| u.arbitrary()).collect::<Result<_>>()?;
        Ok(Case { modes, turns })
    }
}

/// What is done with one store before another has its turn.
#[derive(Clone, Debug, Arbitrary)]
pub enum Turn {
    /// On this thread.
    Here(u8, Operations),
    /// On another thread, to which the store is sent.
    Elsewhere(u8, Operations),
    /// The store is dropped, and a new one takes its place.
    Drop(u8),
    /// Garbage is collected.
    Collect(u8),
}

/// Operations, one after the other.
#[derive(Clone, Debug)]
pub struct Operations(pub Vec<Operation>);

impl<'a> Arbitrary<'a> for Operations {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let count = u.int_in_range(0..=12)?;
        Ok(Operations((0..count).map(|_| u.arbitrary()).collect::<Result<_>>()?))
    }

    fn size_hint(_: usize) -> (usize, Option<usize>) {
        (1, None)
    }
}

/// A value to use where one is needed.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Choice {
    /// A number, of the type that is needed.
    Number(u64),
    Null,
    /// Small, in place of an object.
    I31(u8),
    /// Something of the model that was kept.
    Kept(u8),
    /// A reference as it was once given, perhaps in a scope that has ended.
    Handle(u8),
    /// Of whatever type.
    Any(u8),
    /// Something of another store.
    Foreign(u8),
}

/// A type of values that the host can make.
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

/// Something that a host does.
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
    /// A struct or array: which, which field or element, the value.
    SetField(u8, u8, Choice),
    NewExtern(Extra),
    NewException(Choice, Choice),
    /// The host has no reference of its own to an object any more.
    Forget(u8),
    NewFunc,
    Instantiate {
        right: bool,
    },
    /// An operation with something of another store, which must fail.
    Foreign(u8, u8),
    /// Handles are used, those whose scope has ended too.
    UseHandles,
    /// Items that are wrong in any case.
    Wrong(u8),
    /// A scope of references, and what is done in it.
    Scope(Operations),
    Call(Call),
    /// Everything is compared with the model.
    Verify,
}

/// What a value of the host does when it is dropped.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Extra {
    Nothing,
    /// It has a store of its own.
    HoldsStore,
    /// It keeps a reference of the same store.
    HoldsReference(u8),
    /// It panics.
    Panics,
}

/// A call into WebAssembly that comes back to the host.
#[derive(Clone, Debug, Arbitrary)]
pub struct Call {
    pub instance: u8,
    pub path: Path,
    pub argument: Choice,
    /// What the host function does.
    pub operations: Operations,
    /// How it ends.
    pub end: End,
    /// Whether Rust's types are used for the call.
    pub typed: bool,
}

/// The way from the call to the host function.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Path {
    Wrapped,
    Dynamic,
    /// On the stack of a continuation.
    Continued,
    /// In a task.
    Task,
    /// In a `try_table`.
    Caught,
}

/// How a host function ends.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum End {
    Return(Choice),
    Fail,
    Throw(Choice),
    Panic,
}
