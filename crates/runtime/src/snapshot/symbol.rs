//! Symbols: names of addresses that are valid in every process.

use super::error::SnapshotError;
use super::image::TypeName;
use crate::arch::stubs;
use crate::code::{CodeMemory, LoadedModule};
use crate::inspect::address_map::AddressMap;
use crate::store::Store;
use anyhow::Result;
use ropewalk_abi::code::TrampolineKind;
use ropewalk_abi::{ControlBlock, FuncRef, StoreContext, TagDef, TypeInfo, TypeKind};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

/// An address as an object and an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Symbol {
    /// A number, not an address.
    Number(u64),
    Instance(usize, u64),
    Store(u64),
    /// Its transfer area.
    Transfer(u64),
    Block(usize, u64),
    /// The parent of bases.
    NoParent(u64),
    /// The empty list of clauses.
    NoClauses,
    Memory(usize, u64),
    Table(usize, u64),
    Type(TypeName, u64),
    /// A tag; the offset is the kind of its clause.
    Tag(usize, u64),
    /// The inverted word of a tag.
    NotTag(usize, u64),
    Code(usize, u64),
    /// Code of the runtime.
    Stub(u8, u64),
    Trampoline(TrampolineKind, TypeName, u64),
    /// The array with the results of an activation.
    Values,
    /// The list of clauses that has only a tag, as an event.
    EventClauses(usize),
}

/// A trampoline of an engine.
#[derive(Clone, Debug)]
pub struct LoadedTrampoline {
    /// Its kind.
    pub kind: TrampolineKind,
    /// The number of its type.
    pub type_id: u32,
    /// Its code, and no other.
    pub code: Arc<CodeMemory>,
}

/// The trampolines of an engine.
pub trait Trampolines {
    /// All existing ones.
    fn all(&self) -> Vec<LoadedTrampoline>;

    /// The address of a trampoline, which is made if necessary.
    fn address(&self, kind: TrampolineKind, type_id: u32) -> Result<usize>;
}

/// Trampolines, sorted by their addresses.
pub(super) struct TrampolineMap(Vec<LoadedTrampoline>);

impl TrampolineMap {
    pub fn new(trampolines: &dyn Trampolines) -> TrampolineMap {
        let mut all = trampolines.all();
        all.sort_by_key(|trampoline| trampoline.code.start());
        TrampolineMap(all)
    }

    /// The trampoline at an address, and the offset there. A call may be its last instruction.
    pub fn at(&self, address: usize) -> Option<(&LoadedTrampoline, u32)> {
        let after = self.0.partition_point(|trampoline| trampoline.code.start() <= address);
        let found = &self.0[after.checked_sub(1)?];
        let offset = address - found.code.start();
        (address <= found.code.end()).then_some((found, offset as u32))
    }
}

/// The stubs whose addresses lie on stacks, by indices of the format. Those of roots come first.
fn stub(number: usize) -> Option<usize> {
    let all: [*const (); 14] = [
        stubs::enter as *const (),
        stubs::enter_words as *const (),
        stubs::enter_words_for_float as *const (),
        stubs::begin_words as *const (),
        stubs::begin_words_for_float as *const (),
        stubs::start as *const (),
        stubs::continue_call as *const (),
        stubs::continue_paused as *const (),
        stubs::ground as *const (),
        stubs::deliver as *const (),
        stubs::deliver_checked as *const (),
        stubs::end_restored as *const (),
        stubs::end_restored_for_float as *const (),
        stubs::come_back as *const (),
    ];
    all.get(number).map(|address| *address as usize)
}

/// The stub to which a restored root returns instead, depending on whether the result is a float.
fn restored(number: usize) -> Option<usize> {
    match number {
        0 | 1 | 3 => Some(stubs::end_restored as *const () as usize),
        2 | 4 => Some(stubs::end_restored_for_float as *const () as usize),
        _ => None,
    }
}

/// Whether a root returns to this code when it was entered by a call.
pub(super) fn ends_call(symbol: Symbol) -> bool {
    matches!(symbol, Symbol::Stub(0..5, 1..) | Symbol::Stub(11 | 12, 0))
}

/// Whether a root continues at this code when the host resumed a stack from it.
pub(super) fn comes_back(symbol: Symbol) -> bool {
    matches!(symbol, Symbol::Stub(13, 0))
}

/// The length of the longest stub with addresses on stacks that are not its start.
const LONGEST_STUB: usize = 160;

/// The number of clause kinds of a tag, which are offsets of its word.
const CLAUSE_KINDS: u64 = 8;

/// The objects of a store by their addresses.
pub(super) struct Symbols<'a> {
    store: &'a Store,
    pub modules: Vec<Arc<LoadedModule>>,
    trampolines: TrampolineMap,
    /// Sorted.
    ranges: Vec<(Range<usize>, Symbol)>,
    /// The name of each module type.
    types: HashMap<*const TypeInfo, TypeName>,
    tags: HashMap<usize, usize>,
    /// The lists of clauses that have only a tag.
    event_clauses: HashMap<usize, usize>,
    pub named: Vec<Symbol>,
    numbers: HashMap<Symbol, u32>,
    /// The results of earlier lookups: a million stacks have the same addresses.
    looked_for: AddressMap<usize, Option<u32>>,
}

impl<'a> Symbols<'a> {
    /// The symbols of a store. Some may have numbers already.
    pub fn of(store: &'a Store, trampolines: &dyn Trampolines, named: Vec<Symbol>) -> Symbols<'a> {
        let mut modules: Vec<Arc<LoadedModule>> = Vec::new();
        for instance in store.objects.instances() {
            if !modules.iter().any(|module| Arc::ptr_eq(module, instance.module())) {
                modules.push(instance.module().clone());
            }
        }
        let mut types = HashMap::new();
        types.insert(store.options.types.extern_info(), TypeName::Extern);
        for (number, module) in modules.iter().enumerate() {
            for (index, info) in (0..).zip(&module.type_infos) {
                types.entry(info.0).or_insert(TypeName::OfModule(number, index));
            }
        }
        let tags = store.objects.tags().iter().enumerate();
        let event_clauses = tags.clone();
        let event_clauses =
            event_clauses.map(|(number, tag)| (tag.event_clauses() as usize, number)).collect();
        let tags = tags.map(|(number, tag)| (tag.place().addr().get(), number)).collect();
        let mut symbols = Symbols {
            store,
            modules,
            trampolines: TrampolineMap::new(trampolines),
            ranges: Vec::new(),
            types,
            tags,
            event_clauses,
            numbers: named.iter().copied().zip(0..).collect(),
            named,
            looked_for: AddressMap::default(),
        };
        symbols.ranges = symbols.ranges();
        symbols
    }

    /// The addresses of objects and code, sorted.
    fn ranges(&self) -> Vec<(Range<usize>, Symbol)> {
        let store = self.store;
        let mut ranges = Vec::new();
        let mut add = |start: usize, len: usize, symbol: Symbol| {
            if len > 0 {
                ranges.push((start..start + len, symbol));
            }
        };
        for (number, instance) in store.objects.instances().iter().enumerate() {
            let size = instance.module().layout.size();
            add(instance.header().as_ptr() as usize, size, Symbol::Instance(number, 0));
        }
        let context = store.context();
        add(ptr::from_ref(context) as usize, size_of::<StoreContext>(), Symbol::Store(0));
        let blocks = (store.stacks.len() + 1) * size_of::<ControlBlock>();
        if !store.stacks.base().is_null() {
            add(store.stacks.base() as usize, blocks, Symbol::Block(0, 0));
            add(
                context.transfer as usize,
                ropewalk_abi::transfer::TRANSFER_SIZE,
                Symbol::Transfer(0),
            );
        }
        add(store.running.no_parent() as usize, size_of::<ControlBlock>(), Symbol::NoParent(0));
        for (number, memory) in store.objects.memories().iter().enumerate() {
            let (start, len) = memory.reserved();
            add(start, len, Symbol::Memory(number, 0));
        }
        for (number, table) in store.objects.tables.iter().enumerate() {
            let elements = table.elements();
            add(elements.as_ptr() as usize, size_of_val(elements), Symbol::Table(number, 0));
        }
        for (number, module) in self.modules.iter().enumerate() {
            let code = &module.code;
            // A call may be the last instruction.
            add(code.start(), code.end() - code.start() + 1, Symbol::Code(number, 0));
        }
        for trampoline in &self.trampolines.0 {
            let ty = store.options.types.try_get(trampoline.type_id);
            if let Some(name) = ty.and_then(|ty| self.type_name(ty.info())) {
                let (code, symbol) =
                    (&trampoline.code, Symbol::Trampoline(trampoline.kind, name, 0));
                add(code.start(), code.end() - code.start() + 1, symbol);
            }
        }
        for (range, number) in ranges_of_stubs() {
            add(range.start, range.len(), Symbol::Stub(number, 0));
        }
        ranges.sort_by_key(|(range, _)| range.start);
        ranges
    }

    /// The symbol of an address, if it is known.
    pub fn find(&self, address: usize) -> Option<Symbol> {
        let after = self.ranges.partition_point(|(range, _)| range.start <= address);
        if let Some((range, symbol)) = after.checked_sub(1).map(|last| &self.ranges[last])
            && range.contains(&address)
        {
            return Some(symbol.at((address - range.start) as u64));
        }
        let tag = self.tag_word(address as u64).map(|(number, kind)| Symbol::Tag(number, kind));
        let not_tag = || self.tag_word(!address as u64);
        let ty = || self.types.get(&(address as *const TypeInfo));
        let no_clauses = ptr::eq(address as *const u64, ropewalk_abi::clauses::no_clauses());
        tag.or_else(|| not_tag().map(|(number, kind)| Symbol::NotTag(number, kind)))
            .or_else(|| ty().map(|name| Symbol::Type(*name, 0)))
            .or_else(|| no_clauses.then_some(Symbol::NoClauses))
            .or_else(|| self.event_clauses.get(&address).copied().map(Symbol::EventClauses))
    }

    /// The number of an address's symbol, if it is known.
    pub fn number_at(&mut self, address: usize) -> Option<u32> {
        if let Some(number) = self.looked_for.get(&address) {
            return *number;
        }
        let number = self.find(address).map(|symbol| self.number(symbol));
        self.looked_for.insert(address, number);
        number
    }

    fn tag_word(&self, word: u64) -> Option<(usize, u64)> {
        let offset = word % CLAUSE_KINDS;
        let number = self.tags.get(&((word - offset) as usize))?;
        Some((*number, offset))
    }

    pub fn type_name(&self, ty: *const TypeInfo) -> Option<TypeName> {
        self.types.get(&ty).copied()
    }

    /// The name of a type. Fails if no module has it.
    pub fn known_type(&self, ty: *const TypeInfo) -> Result<TypeName, SnapshotError> {
        self.type_name(ty).ok_or(SnapshotError::ForeignType)
    }

    pub fn tag(&self, tag: *const TagDef) -> Result<usize, SnapshotError> {
        let number = self.tags.get(&(tag as usize)).copied();
        number.ok_or(SnapshotError::Unknown("a tag", tag as usize))
    }

    pub fn number(&mut self, symbol: Symbol) -> u32 {
        *self.numbers.entry(symbol).or_insert_with(|| {
            self.named.push(symbol);
            self.named.len() as u32 - 1
        })
    }

    pub fn trampolines(&self) -> &TrampolineMap {
        &self.trampolines
    }

    pub fn store(&self) -> &'a Store {
        self.store
    }
}

impl Symbol {
    /// The same object at another offset.
    fn at(self, offset: u64) -> Symbol {
        match self {
            Symbol::Instance(number, _) => Symbol::Instance(number, offset),
            Symbol::Store(_) => Symbol::Store(offset),
            Symbol::Transfer(_) => Symbol::Transfer(offset),
            Symbol::Block(..) => {
                let size = size_of::<ControlBlock>() as u64;
                Symbol::Block((offset / size) as usize, offset % size)
            }
            Symbol::NoParent(_) => Symbol::NoParent(offset),
            Symbol::Memory(number, _) => Symbol::Memory(number, offset),
            Symbol::Table(number, _) => Symbol::Table(number, offset),
            Symbol::Code(number, _) => Symbol::Code(number, offset),
            Symbol::Stub(number, _) => Symbol::Stub(number, offset),
            Symbol::Trampoline(kind, name, _) => Symbol::Trampoline(kind, name, offset),
            other => other,
        }
    }
}

/// The addresses of stubs that lie on stacks.
fn ranges_of_stubs() -> Vec<(Range<usize>, u8)> {
    let mut starts: Vec<(usize, u8)> = (0..).map_while(stub).zip(0..).collect();
    starts.sort_unstable();
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([usize::MAX]);
    let range = |((start, number), next): (&(usize, u8), usize)| {
        // Of these only the start lies on stacks.
        let longest = if *number >= 8 { 1 } else { LONGEST_STUB };
        (*start..next.min(*start + longest), *number)
    };
    starts.iter().zip(ends).map(range).collect()
}

/// The addresses of symbols in a store.
pub(super) struct Addresses<'a> {
    pub store: &'a Store,
    pub modules: &'a [Arc<LoadedModule>],
    pub trampolines: &'a dyn Trampolines,
}

impl Addresses<'_> {
    /// The address of a symbol. `values` is the array for [`Symbol::Values`].
    pub fn address(&self, symbol: Symbol, values: Option<usize>) -> Result<usize> {
        let store = self.store;
        let damaged = || SnapshotError::Damaged("a symbol names a missing item");
        let (start, offset) = match symbol {
            Symbol::Number(number) => (number as usize, 0),
            Symbol::Instance(number, offset) => {
                let instance = store.objects.instances().get(number).ok_or_else(damaged)?;
                (instance.header().as_ptr() as usize, offset)
            }
            Symbol::Store(offset) => (store.context_ptr() as usize, offset),
            Symbol::Transfer(offset) => (store.context().transfer as usize, offset),
            Symbol::Block(number, offset) => (self.block(number)? as usize, offset),
            Symbol::NoParent(offset) => (store.running.no_parent() as usize, offset),
            Symbol::NoClauses => (ropewalk_abi::clauses::no_clauses() as usize, 0),
            Symbol::Memory(number, offset) => {
                (store.objects.memories().get(number).ok_or_else(damaged)?.reserved().0, offset)
            }
            Symbol::Table(number, offset) => {
                let table = store.objects.tables.get(number).ok_or_else(damaged)?;
                (table.elements().as_ptr() as usize, offset)
            }
            Symbol::Type(name, offset) => (self.type_info(name)? as usize, offset),
            Symbol::Tag(number, offset) => (self.tag(number)? as usize, offset),
            Symbol::NotTag(number, offset) => {
                return Ok(!(self.tag(number)? as usize).wrapping_add(offset as usize));
            }
            Symbol::Code(number, offset) => {
                (self.modules.get(number).ok_or_else(damaged)?.code.start(), offset)
            }
            Symbol::Stub(number, offset) => match restored(number.into()) {
                Some(restored) if offset != 0 => (restored, 0),
                _ => (stub(number.into()).ok_or_else(damaged)?, offset),
            },
            Symbol::Trampoline(kind, name, offset) => {
                (self.trampolines.address(kind, self.func_type(name)?.id)?, offset)
            }
            Symbol::EventClauses(number) => {
                let tag = store.objects.tags().get(number).ok_or_else(damaged)?;
                (tag.event_clauses() as usize, 0)
            }
            Symbol::Values => (values.ok_or_else(damaged)?, 0),
        };
        Ok(start.checked_add(offset as usize).ok_or_else(damaged)?)
    }

    pub fn function(&self, symbol: Symbol) -> Result<*const FuncRef, SnapshotError> {
        let found = || {
            let Symbol::Instance(number, _) = symbol else { return None };
            let instance = self.store.objects.instances().get(number)?;
            let first = instance.func_ref_by_number(0).as_ptr() as usize;
            let distance = self.address(symbol, None).ok()?.checked_sub(first)?;
            let number = u32::try_from(distance / size_of::<FuncRef>()).ok()?;
            let is_there = number < instance.module().info.func_ref_count;
            let is_one = is_there && distance.is_multiple_of(size_of::<FuncRef>());
            is_one.then(|| instance.func_ref_by_number(number).as_ptr().cast_const())
        };
        found().ok_or(SnapshotError::Damaged("a function is missing"))
    }

    pub fn func_type(&self, name: TypeName) -> Result<&TypeInfo, SnapshotError> {
        // SAFETY: types live as long as the engine.
        let info = unsafe { &*self.type_info(name)? };
        match info.kind {
            TypeKind::Func => Ok(info),
            _ => Err(SnapshotError::Damaged("a type is not of a function")),
        }
    }

    pub fn type_info(&self, name: TypeName) -> Result<*const TypeInfo, SnapshotError> {
        match name {
            TypeName::Extern => Ok(self.store.options.types.extern_info()),
            TypeName::OfModule(module, index) => {
                let module = self.modules.get(module);
                let info = module.and_then(|module| module.type_infos.get(index as usize));
                Ok(info.ok_or(SnapshotError::Damaged("a type is missing"))?.0)
            }
        }
    }

    pub fn tag(&self, number: usize) -> Result<*const TagDef, SnapshotError> {
        let tag = self.store.objects.tags().get(number);
        Ok(ptr::from_ref(&**tag.ok_or(SnapshotError::Damaged("a tag is missing"))?))
    }

    pub fn block(&self, number: usize) -> Result<*mut ControlBlock, SnapshotError> {
        match number <= self.store.stacks.len() {
            true => Ok(self.store.stacks.block(number)),
            false => Err(SnapshotError::Damaged("a stack is missing")),
        }
    }
}
