//! The serialized form of a store.
//!
//! The lowest bits of a reference say what it refers to, as in a store. But a reference to an
//! object is its offset in the heap plus eight, and a reference to a function is the shifted number
//! of a [`Symbol`] with the third bit set.

use super::symbol::Symbol;
use crate::heap::OwnedRoot;
use ropewalk_abi::{FuncRef, MemoryType, ValType};
use serde::{Deserialize, Serialize};
use std::ptr::NonNull;

/// Everything but memories, tables, objects and stacks.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Image {
    pub modules: Vec<ModuleImage>,
    pub instances: Vec<InstanceImage>,
    pub memories: Vec<MemoryImage>,
    pub tables: Vec<TableImage>,
    /// The globals that belong to no instance.
    pub globals: Vec<(TypeOfValue, bool, [u8; 16])>,
    /// The type of each tag that belongs to no instance.
    pub tags: Vec<Option<TypeName>>,
    pub host_values: Vec<Option<Vec<u8>>>,
    /// The types whose numbers objects contain.
    pub types: Vec<TypeName>,
    /// The symbols whose numbers words contain.
    pub symbols: Vec<Symbol>,
    /// The size limits of stacks: block, bytes, and the reference that the host held.
    pub limits: Vec<(usize, usize, u64)>,
    pub calls: Vec<CallImage>,
    /// In the running activation: the base of the stack that extends another while its rout begins.
    pub extending: usize,
    pub names: Vec<(String, Named)>,
    pub captures: u64,
    pub newest_mark: u64,
    /// The instance that makes first-class stacks.
    pub stacks_instance: Option<usize>,
}

/// A module, by the hash of its code and of its description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ModuleImage {
    pub hash: [u8; 32],
    /// The name, for messages.
    pub name: Option<String>,
    /// Whether it is the engine's own module.
    pub is_engines: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InstanceImage {
    pub module: usize,
    pub imports: Vec<ImportImage>,
    /// The values of the globals that it defines.
    pub globals: Vec<[u8; 16]>,
    /// The numbers of its memories and tables in the store.
    pub memories: Vec<usize>,
    pub tables: Vec<usize>,
    /// The element segments; dropped ones are empty.
    pub elements: Vec<Vec<u64>>,
    pub dropped_data: Vec<bool>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum ImportImage {
    /// A function of an instance, by the number of its record.
    Func(usize, u32),
    /// A host function with the name of the import, or else the import of an earlier instance.
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
    /// The type, if it belongs to no instance.
    pub own: Option<MemoryType>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TableImage {
    pub len: usize,
    /// The type of the elements and the limits, if it belongs to no instance.
    pub own: Option<(TypeOfValue, bool, u64, Option<u64>)>,
}

/// A type of values outside of instances.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum TypeOfValue {
    /// A type that names no other.
    Plain(ValType),
    /// A reference to a defined type; whether it is nullable.
    Defined(TypeName, bool),
}

/// A type: its index in a module, or the type of host values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum TypeName {
    OfModule(usize, u32),
    /// The type of host values.
    Extern,
}

/// Stands for no symbol.
pub(super) const NOTHING: u32 = u32::MAX;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MarkImage {
    /// The distance of the stack pointer from the end of the frames.
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

/// A pending activation.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CallImage {
    /// The numbers of its root, of the stack that runs, and of the base of that.
    pub root: usize,
    pub stack: usize,
    pub base: usize,
    /// The pending host function, as an instance and an import; none for a safepoint.
    pub import: Option<(usize, usize)>,
    /// The arguments of that function, if they are known and contain no references.
    pub arguments: Option<Vec<[u8; 16]>>,
    /// A type with the results of the activation, if it can return.
    pub results: Option<TypeName>,
    pub to: CallTo,
}

/// The caller of an activation.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum CallTo {
    /// The caller of a function, perhaps with an array for the results.
    Call { has_array: bool },
    /// None: its root was freed, and it ends by a trap.
    Nobody,
    /// The host, which resumed the continuation with this reference, with these clauses as symbols.
    Resume { reference: u64, clauses: Vec<u32> },
}

/// An import, by its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportName {
    /// The name of the module.
    pub module: String,
    /// The name in the module.
    pub name: String,
}

/// An object that the host named.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Named {
    Instance(usize),
    /// A held continuation: its reference and, if known, what it takes and returns, as the
    /// parameters or the results of function types.
    Continuation(u64, Option<[(TypeName, bool); 2]>),
    /// A held stack of another design, and its type if known.
    Stack(u64, Option<TypeOfValue>),
    /// An owned reference, and its type.
    Reference(u64, TypeOfValue),
    /// A function of an instance, as a symbol.
    Func(u32),
}

/// An object that the host names, with types of the engine.
#[derive(Clone, Debug)]
pub enum Handle {
    /// An instance, by its number.
    Instance(usize),
    /// A held continuation: its reference and, if known, the types of what it takes and returns.
    /// Each is a function type, and whether its results are meant.
    Continuation(u64, Option<[(u32, bool); 2]>),
    /// A held stack of another design: its reference and its type.
    Stack(u64, Option<ValType>),
    /// An owned reference.
    Reference(OwnedRoot, ValType),
    /// A function.
    Func(NonNull<FuncRef>),
}

// SAFETY: a function is used only together with its store, and can be sent with it.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}
