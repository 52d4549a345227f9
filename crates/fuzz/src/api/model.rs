//! The expected contents of a store.

use super::operation::{Operations, ValueKind};
use ropewalk::{
    AnyRef, ExnRef, ExternRef, Func, Global, Instance, Memory, Owned, Table, Tag, Val, ValType,
};
use ropewalk::{HeapType, RefType};
use std::sync::{Arc, Mutex};

/// An expected value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    I32(i32),
    I64(i64),
    F32(u32),
    F64(u64),
    V128(u128),
    Null(ValueKind),
    I31(u32),
    /// An object, a struct or an array, by its number.
    Object(usize),
    Extern(usize),
    Func(usize),
    Exn(usize),
}

impl Expected {
    /// The kind of places that can hold it.
    pub fn kind(self) -> ValueKind {
        match self {
            Expected::I32(_) => ValueKind::I32,
            Expected::I64(_) => ValueKind::I64,
            Expected::F32(_) => ValueKind::F32,
            Expected::F64(_) => ValueKind::F64,
            Expected::V128(_) => ValueKind::V128,
            Expected::Null(kind) => kind,
            Expected::I31(_) | Expected::Object(_) => ValueKind::Any,
            Expected::Extern(_) => ValueKind::Extern,
            Expected::Func(_) => ValueKind::Func,
            Expected::Exn(_) => ValueKind::Exn,
        }
    }

    pub fn default_of(kind: ValueKind) -> Expected {
        match kind {
            ValueKind::I32 => Expected::I32(0),
            ValueKind::I64 => Expected::I64(0),
            ValueKind::F32 => Expected::F32(0),
            ValueKind::F64 => Expected::F64(0),
            ValueKind::V128 => Expected::V128(0),
            _ => Expected::Null(kind),
        }
    }
}

impl ValueKind {
    pub fn ty(self) -> ValType {
        let reference = |heap| ValType::Ref(RefType { nullable: true, heap });
        match self {
            ValueKind::I32 => ValType::I32,
            ValueKind::I64 => ValType::I64,
            ValueKind::F32 => ValType::F32,
            ValueKind::F64 => ValType::F64,
            ValueKind::V128 => ValType::V128,
            ValueKind::Func => reference(HeapType::Func),
            ValueKind::Extern => reference(HeapType::Extern),
            ValueKind::Any => reference(HeapType::Any),
            ValueKind::Exn => reference(HeapType::Exn),
        }
    }

    /// The kind of a type, if the host can create values of it.
    pub fn of(ty: ValType) -> Option<ValueKind> {
        use ValueKind::*;
        [I32, I64, F32, F64, V128, Func, Extern, Any, Exn].into_iter().find(|kind| kind.ty() == ty)
    }
}

/// An object: its fields or elements, and a reference to it if the host has one. Field 0 of a
/// struct is its number.
pub struct Object {
    pub is_array: bool,
    pub slots: Vec<Expected>,
    pub owned: Option<Owned<AnyRef>>,
}

pub struct GlobalModel {
    pub global: Global,
    pub kind: ValueKind,
    pub mutable: bool,
    pub value: Expected,
}

pub struct TableModel {
    pub table: Table,
    pub kind: ValueKind,
    pub maximum: Option<u64>,
    pub elements: Vec<Expected>,
}

pub struct MemoryModel {
    pub memory: Memory,
    pub pages: u64,
    pub maximum: Option<u64>,
    /// The written bytes; all others are zero.
    pub bytes: Vec<(usize, u8)>,
}

pub struct Marked(pub usize);

/// A reference as the engine returned it, its expected value, and its scope.
#[derive(Clone, Copy)]
pub struct Handle {
    pub value: Val,
    pub expected: Expected,
    pub scope: u64,
}

/// The task of a host function once it is called.
pub struct HostFrame {
    pub argument: Expected,
    pub numbers: (i64, f32),
    pub operations: Operations,
    pub end: FrameEnd,
}

#[derive(Clone, Copy)]
pub enum FrameEnd {
    Return(Expected),
    Fail,
    Throw(usize),
    Panic,
}

/// An item of a store.
#[derive(Clone, Copy)]
pub enum Item {
    Value(Val),
    Global(Global),
    Table(Table),
    Memory(Memory),
    Func(Func),
    Tag(Tag),
    Instance(Instance),
}

/// Items of all stores of a case, alive or not, with the number of the store. Other stores try to
/// use them.
pub type Foreign = Vec<(u64, Item)>;

/// The data of a store: its model.
#[derive(Default)]
pub struct Model {
    pub globals: Vec<GlobalModel>,
    pub tables: Vec<TableModel>,
    pub memories: Vec<MemoryModel>,
    pub objects: Vec<Object>,
    pub externs: Vec<Owned<ExternRef>>,
    pub exceptions: Vec<(Owned<ExnRef>, Expected, Expected)>,
    pub funcs: Vec<Func>,
    pub instances: Vec<Instance>,
    pub handles: Vec<Handle>,
    /// The open scopes, by number.
    pub scopes: Vec<u64>,
    pub last_scope: u64,
    pub frames: Vec<HostFrame>,
    /// The depth of nested calls.
    pub depth: usize,
    /// The number of the store. Items with another number are foreign.
    pub number: u64,
    pub foreign: Arc<Mutex<Foreign>>,
    /// A problem that a host function found.
    pub wrong: Option<String>,
}

impl Model {
    pub fn new(number: u64, foreign: Arc<Mutex<Foreign>>) -> Model {
        Model { scopes: vec![0], number, foreign, ..Model::default() }
    }

    /// Opens a scope, and returns the number of open ones before.
    pub fn begin_scope(&mut self) -> usize {
        self.last_scope += 1;
        self.scopes.push(self.last_scope);
        self.scopes.len() - 1
    }

    /// The numbers of open scopes and calls.
    pub fn position(&self) -> (usize, usize, usize) {
        (self.scopes.len(), self.frames.len(), self.depth)
    }

    /// Closes the scopes and calls that were opened since.
    pub fn go_back(&mut self, (scopes, frames, depth): (usize, usize, usize)) {
        self.scopes.truncate(scopes);
        self.frames.truncate(frames);
        self.depth = depth;
    }

    pub fn scope(&self) -> u64 {
        *self.scopes.last().expect("that of the store never ends")
    }

    /// Offers an item to other stores.
    pub fn lend(&self, thing: Item) {
        let mut foreign = self.foreign.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if foreign.len() < 300 {
            foreign.push((self.number, thing));
        }
    }

    /// An item of another store.
    pub fn borrowed(&self, choice: u8) -> Option<Item> {
        let foreign = self.foreign.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let others: Vec<Item> =
            foreign.iter().filter(|(of, _)| *of != self.number).map(|(_, thing)| *thing).collect();
        let index = (choice as usize).checked_rem(others.len())?;
        Some(others[index])
    }

    /// Records a reference that the engine returned in the current scope.
    pub fn note(&mut self, value: Val, expected: Expected) {
        let scope = self.scope();
        // Null and numbers belong to no scope or store.
        let is_handle = matches!(
            value,
            Val::AnyRef(Some(_))
                | Val::ExternRef(Some(_))
                | Val::ExnRef(Some(_))
                | Val::FuncRef(Some(_))
        );
        if is_handle && self.handles.len() < 200 {
            self.handles.push(Handle { value, expected, scope });
            self.lend(Item::Value(value));
        }
    }
}
