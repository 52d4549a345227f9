//! What is written of a store.
//!
//! References are words of which the lowest bits say what they are, as in a store: but that of
//! an object is where it lies in the heap plus eight, and that of a function is the number of
//! a [`Symbol`], shifted, with the third bit set.

use super::symbol::Symbol;
use crate::heap::OwnedRoot;
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{FuncRef, MemoryType, RefType, ValType};
use serde::{Deserialize, Serialize};
use std::ptr::NonNull;

/// Everything but memories, tables, objects and stacks.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Image {
    /// The modules of the instances.
    pub modules: Vec<ModuleImage>,
    pub instances: Vec<InstanceImage>,
    pub memories: Vec<MemoryImage>,
    pub tables: Vec<TableImage>,
    /// Those that belong to no instance.
    pub globals: Vec<(TypeOfValue, bool, [u8; 16])>,
    /// For each tag, the type, if it belongs to no instance.
    pub tags: Vec<Option<TypeName>>,
    /// The values of the host, by number.
    pub host_values: Vec<Option<Vec<u8>>>,
    /// The types that objects name by number.
    pub types: Vec<TypeName>,
    /// What words name by number.
    pub symbols: Vec<Symbol>,
    /// How many bytes single stacks may have, by the numbers of their blocks, and under which
    /// reference the host held the continuations that they are of.
    pub limits: Vec<(usize, usize, u64)>,
    pub calls: Vec<CallImage>,
    /// In the call that ran: the base of the stack that extends another, while the rout of that
    /// begins.
    pub extending: usize,
    pub names: Vec<(String, Named)>,
    pub captures: u64,
    pub newest_mark: u64,
    /// Which instance makes first-class stacks.
    pub stacks_instance: Option<usize>,
}

/// A module, by the hash of its code and of what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ModuleImage {
    pub hash: [u8; 32],
    /// Its name, for messages.
    pub name: Option<String>,
    /// Whether it is the engine's own.
    pub is_engines: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InstanceImage {
    pub module: usize,
    /// What each import is.
    pub imports: Vec<ImportImage>,
    /// The values of its own globals.
    pub globals: Vec<[u8; 16]>,
    /// The numbers of its memories and tables in the store.
    pub memories: Vec<usize>,
    pub tables: Vec<usize>,
    /// Its element segments; dropped ones are empty.
    pub elements: Vec<Vec<u64>>,
    pub dropped_data: Vec<bool>,
}

/// What an import is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum ImportImage {
    /// A function of an instance, by the number of its record.
    Func(usize, u32),
    /// A function of the host, found by the name of the import. If there is none, it is the
    /// one that another instance imports, by the number of the import there.
    Host(Option<(usize, usize)>),
    Table(usize),
    Memory(usize),
    /// A global of an instance, by its index there.
    Global(usize, u32),
    /// A global that belongs to no instance.
    OwnGlobal(usize),
    Tag(usize),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MemoryImage {
    pub pages: u64,
    /// Its type, if it belongs to no instance.
    pub own: Option<MemoryType>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TableImage {
    /// How many elements it has.
    pub len: usize,
    /// Its type, if it belongs to no instance: of its elements, and its limits.
    pub own: Option<(TypeOfValue, bool, u64, Option<u64>)>,
}

/// A type of values, for what belongs to no instance.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum TypeOfValue {
    /// One that names no other type.
    Plain(ValType),
    /// A reference to a defined type.
    Defined(TypeName, bool),
}

impl TypeOfValue {
    /// The reference type of elements.
    pub fn reference(ty: ValType) -> Option<RefType> {
        match ty {
            ValType::Ref(ty) => Some(ty),
            _ => None,
        }
    }
}

/// A type: a module that has it, and its index there. Or that of host values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum TypeName {
    /// The type of a module.
    OfModule(usize, u32),
    /// That of host values.
    Extern,
}

/// A block of the table of stacks. It is written as a [record](super::blocks).
#[derive(Debug)]
pub(super) enum BlockImage {
    /// It has no stack, and is used again with this reference.
    Vacant(u64),
    /// It has no stack, and no reference may be valid for it.
    Retired,
    /// A task or fiber that will never continue.
    Lost { purpose: Purpose, reference: u64 },
    /// The root of a call, which was freed, while tasks and fibers that will never continue wait
    /// for its end: these, by their numbers, the innermost first.
    Spent { reference: u64, inside: Vec<usize> },
    /// It has a stack.
    Stack(Box<StackImage>),
}

#[derive(Debug)]
pub(super) struct StackImage {
    pub purpose: Purpose,
    pub reference: u64,
    /// Others, by their numbers; zero is null, and `NO_PARENT` the parent of bases.
    pub parent: usize,
    pub innermost: usize,
    pub through: usize,
    pub extender: usize,
    pub is_grouped: u32,
    pub sought: u64,
    pub owns: bool,
    /// The symbols of these, or `NOTHING`.
    pub handlers: u32,
    pub function: u32,
    pub entry: u32,
    /// Whether it is a stack of an activation: it runs, or waits.
    pub is_active: bool,
    /// Whether the host has it.
    pub is_held: bool,
    /// How far its newest link is below the end of its frames, or zero.
    pub fp: u32,
    /// What lies on it.
    pub frames: Frames,
    pub marks: Vec<MarkImage>,
}

/// The bytes of frames: a part of a section of the snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames {
    pub start: u64,
    pub len: u32,
}

/// Stands for the parent of bases.
pub(super) const NO_PARENT: usize = usize::MAX;
/// Stands for no symbol.
pub(super) const NOTHING: u32 = u32::MAX;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MarkImage {
    /// How far the stack pointer was below the end of the frames.
    pub depth: u64,
    pub serial: u64,
    pub kind: MarkKindImage,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum MarkKindImage {
    Answer { tag: u32, function: u32, env: u64 },
    Redirect { boxed: u64 },
    RedirectTo { function: u32, taker: u32, env: u64 },
    Walk { at: Option<u64>, taken: Vec<TakenImage> },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum TakenImage {
    FromBox { boxed: u64, stack: u64 },
    FromFunction { taker: u32, env: u64, stack: u64, mark: u64 },
}

/// An activation that waits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CallImage {
    /// The numbers of its root, of the stack that runs, and of the base of that.
    pub root: usize,
    pub stack: usize,
    pub base: usize,
    /// The host function that it waits for, as the instance and the number of the import there;
    /// none if it was stopped at a check point.
    pub import: Option<(usize, usize)>,
    /// What that function was called with, if that is known: values that are no references.
    pub arguments: Option<Vec<[u8; 16]>>,
    /// A type with the results of the call, if it can return.
    pub results: Option<TypeName>,
    pub to: CallTo,
}

/// Where a call returns to.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum CallTo {
    /// To whoever has called a function. Perhaps its results are in an array.
    Call { has_array: bool },
    /// To nobody: its root was freed, and it ends by a trap.
    Nobody,
    /// To whoever has resumed a continuation, which has this reference, with clauses, as symbols.
    Resume { reference: u64, clauses: Vec<u32> },
}

/// An import, by its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportName {
    /// The module that is imported from.
    pub module: String,
    /// The name of the import there.
    pub name: String,
}

/// What the host has a name for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Named {
    /// An instance, by its number.
    Instance(usize),
    /// A continuation that the host holds: a reference to a stack. If that is known, what it takes
    /// and what it returns: the parameters of a function type, or its results.
    Continuation(u64, Option<[(TypeName, bool); 2]>),
    /// A stack of another design that the host holds, and its type, if that is known.
    Stack(u64, Option<TypeOfValue>),
    /// A reference that the host owns, and its type.
    Reference(u64, TypeOfValue),
    /// A function of an instance, as a symbol.
    Func(u32),
}

/// What the host gives a name, or has under one; types are those of the engine.
#[derive(Clone, Debug)]
pub enum Handle {
    /// An instance, by its number.
    Instance(usize),
    /// A continuation that the host holds: its reference, and what it takes and returns, if that
    /// is known. Each is a type, and whether its results are meant.
    Continuation(u64, Option<[(u32, bool); 2]>),
    /// A stack of another design that the host holds: its reference and its type.
    Stack(u64, Option<ValType>),
    /// A reference that the host owns.
    Reference(OwnedRoot, ValType),
    /// A function.
    Func(NonNull<FuncRef>),
}

// SAFETY: a function is used only together with its store, and can be sent with it.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}
