//! The objects of a store: instances, memories, tables, globals, tags, host functions.

use super::{Store, StoreOptions};
use crate::code::LoadedModule;
use crate::code::types::TypeRegistry;
use crate::vm::const_value::ConstValue;
use crate::vm::global::{GlobalItem, GlobalPlace};
use crate::vm::host_function::HostFunction;
use crate::vm::instance::Instance;
use crate::vm::memory::{Memory, MemoryError};
use crate::vm::table::{Table, TableError};
use crate::vm::totals::Totals;
use ropewalk_abi::clauses::List;
use ropewalk_abi::code::FunctionCode;
use ropewalk_abi::stack::{ClauseKind, handler_word};
use ropewalk_abi::{FuncRef, GlobalType, HostContext, RawVal, TagDef, TypeInfo, ValType};
use std::cell::UnsafeCell;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// The objects of a store. Those that generated code knows never move.
pub struct Objects {
    pub(crate) instances: Vec<Instance>,
    pub(crate) memories: Vec<Memory>,
    pub(crate) tables: Vec<Table>,
    #[expect(clippy::vec_box, reason = "generated code knows their addresses")]
    globals: Vec<Box<UnsafeCell<RawVal>>>,
    /// The types of `globals`.
    global_types: Vec<GlobalType>,
    #[expect(clippy::vec_box, reason = "generated code knows their addresses")]
    host_functions: Vec<Box<StoredHostFunction>>,
    /// Functions that host contexts inside instances point to.
    shared_host_functions: Vec<Arc<HostFunction>>,
    #[expect(clippy::vec_box, reason = "generated code knows their addresses")]
    tags: Vec<Box<StoredTag>>,
    /// The globals whose values the collector follows.
    collected_globals: Vec<GlobalPlace>,
    /// The operands of constant expressions that are being evaluated.
    pub(crate) const_stack: Vec<ConstValue>,
    /// The modules whose code may run, sorted by address.
    modules: Vec<Arc<LoadedModule>>,
    totals: Totals,
    /// The limit on the bytes of all memories and tables together.
    max_bytes: u64,
    /// The limit on the elements of all tables together.
    max_elements: u64,
    /// The types of the engine.
    types: Arc<TypeRegistry>,
    /// The number of the instance that makes first-class stacks, if there is one.
    stacks_instance: Option<usize>,
    /// Whether a module has the type of first-class stacks.
    has_stackrefs: bool,
}

/// A host function that belongs to no instance.
struct StoredHostFunction {
    func_ref: FuncRef,
    context: HostContext,
}

/// A tag of a store, with a list of clauses that has only the tag, as an event: for fibers that a
/// host function has dismounted.
#[repr(C)]
pub(crate) struct StoredTag {
    def: TagDef,
    events: List<[u64; 5]>,
}

impl StoredTag {
    pub fn place(&self) -> NonNull<TagDef> {
        NonNull::from(self).cast()
    }

    pub fn event_clauses(&self) -> *const u64 {
        self.events.as_ptr()
    }
}

impl Deref for StoredTag {
    type Target = TagDef;

    fn deref(&self) -> &TagDef {
        &self.def
    }
}

/// How many objects there are before an instance is made.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    pub instances: usize,
    memories: usize,
    tables: usize,
    collected_globals: usize,
}

impl Objects {
    pub(crate) fn new(options: &StoreOptions) -> Objects {
        Objects {
            instances: Vec::new(),
            memories: Vec::new(),
            tables: Vec::new(),
            globals: Vec::new(),
            global_types: Vec::new(),
            host_functions: Vec::new(),
            shared_host_functions: Vec::new(),
            tags: Vec::new(),
            collected_globals: Vec::new(),
            const_stack: Vec::new(),
            modules: Vec::new(),
            totals: Totals::default(),
            max_bytes: options.max_total_memory,
            max_elements: options.tables.total,
            types: options.types.clone(),
            stacks_instance: None,
            has_stackrefs: false,
        }
    }

    // ---- code

    /// Registers the code of a module for traps and backtraces.
    pub(crate) fn add_module(&mut self, module: &Arc<LoadedModule>) {
        self.has_stackrefs |= module.code.tables().has_stackrefs;
        let start = module.code.start();
        let place = self.modules.partition_point(|m| m.code.start() < start);
        if self.modules.get(place).is_none_or(|m| m.code.start() != start) {
            self.modules.insert(place, module.clone());
        }
    }

    /// The modules whose code may run.
    pub(crate) fn modules(&self) -> impl Iterator<Item = &LoadedModule> {
        self.modules.iter().map(|module| &**module)
    }

    /// The module whose code contains an address, and the offset there.
    pub(crate) fn module_at(&self, address: usize) -> Option<(&Arc<LoadedModule>, u32)> {
        let after = self.modules.partition_point(|m| m.code.start() <= address);
        let module = &self.modules[after.checked_sub(1)?];
        module.code.offset_of(address).map(|offset| (module, offset))
    }

    /// The function whose code contains an address, with its module and the offset there.
    pub(crate) fn function_at(
        &self,
        address: usize,
    ) -> Option<(&Arc<LoadedModule>, u32, FunctionCode)> {
        let (module, offset) = self.module_at(address)?;
        let tables = module.code.tables();
        Some((module, offset, tables.functions[tables.function_at(offset)? as usize]))
    }

    /// Whether a module has the type of first-class stacks.
    pub(crate) fn has_stackrefs(&self) -> bool {
        self.has_stackrefs
    }

    // ---- instances, memories and tables

    /// The instances, in the order of their creation.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// The memories, by their numbers.
    pub fn memories(&self) -> &[Memory] {
        &self.memories
    }

    /// An instance.
    pub fn instance(&self, index: usize) -> &Instance {
        &self.instances[index]
    }

    /// A memory.
    pub fn memory(&self, index: usize) -> &Memory {
        &self.memories[index]
    }

    /// A memory, to change it.
    pub fn memory_mut(&mut self, index: usize) -> &mut Memory {
        &mut self.memories[index]
    }

    /// A table.
    pub fn table(&self, index: usize) -> &Table {
        &self.tables[index]
    }

    /// A table, to change it.
    pub fn table_mut(&mut self, index: usize) -> &mut Table {
        &mut self.tables[index]
    }

    pub(crate) fn memory_may_fault_at(&self, address: usize) -> bool {
        self.memories.iter().any(|memory| memory.may_fault_at(address))
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            instances: self.instances.len(),
            memories: self.memories.len(),
            tables: self.tables.len(),
            collected_globals: self.collected_globals.len(),
        }
    }

    /// Removes the parts of an instance that could not be made. Returns its memories.
    pub(crate) fn truncate(&mut self, counts: Counts) -> impl Iterator<Item = Memory> {
        self.instances.truncate(counts.instances);
        self.tables.truncate(counts.tables);
        self.collected_globals.truncate(counts.collected_globals);
        self.memories.drain(counts.memories..)
    }

    /// The number of the instance that makes first-class stacks, if there is one.
    pub fn stacks_instance(&self) -> Option<usize> {
        self.stacks_instance
    }

    /// Sets the number of the instance that makes first-class stacks.
    pub fn set_stacks_instance(&mut self, number: Option<usize>) {
        self.stacks_instance = number;
    }

    // ---- globals, tags and host functions

    /// Makes a global that belongs to no instance.
    pub fn add_global(&mut self, ty: GlobalType, value: RawVal) -> GlobalPlace {
        let global = Box::new(UnsafeCell::new(value));
        let place = GlobalPlace(NonNull::new(global.get()).expect("boxes are not null"));
        self.globals.push(global);
        self.global_types.push(ty);
        self.note_global(place, ty.content);
        place
    }

    /// The globals that belong to no instance.
    pub(crate) fn own_globals(&self) -> impl Iterator<Item = GlobalItem> {
        self.globals.iter().zip(&self.global_types).map(|(global, ty)| {
            let place = NonNull::new(global.get()).expect("boxes are not null");
            GlobalItem { place: GlobalPlace(place), ty: *ty }
        })
    }

    /// Adds a global to those that the collector follows, if its type requires that.
    pub(crate) fn note_global(&mut self, place: GlobalPlace, ty: ValType) {
        if self.types.is_collected(ty) {
            self.collected_globals.push(place);
        }
    }

    /// Makes a tag.
    pub fn add_tag(&mut self, ty: *const TypeInfo) -> NonNull<TagDef> {
        let mut tag = Box::new(StoredTag { def: TagDef { ty }, events: List::of_one(0) });
        let word = handler_word(tag.place().addr().get(), ClauseKind::Event);
        tag.events = List::of_one(word);
        let place = tag.place();
        self.tags.push(tag);
        place
    }

    /// The tags, by their numbers.
    pub(crate) fn tags(&self) -> &[Box<StoredTag>] {
        &self.tags
    }

    /// The list of clauses that has only a tag, as an event. It lives as long as the store.
    ///
    /// # Safety
    ///
    /// The tag must belong to the store.
    pub(crate) unsafe fn event_clauses(&self, tag: NonNull<TagDef>) -> *const u64 {
        // SAFETY: the tags of a store are all stored in this way.
        unsafe { tag.cast::<StoredTag>().as_ref() }.event_clauses()
    }

    /// Keeps a function alive that a host context inside an instance points to.
    pub(crate) fn share_host_function(&mut self, function: Arc<HostFunction>) {
        self.shared_host_functions.push(function);
    }

    /// Visits all references in objects, except those in the heap.
    pub(crate) fn visit_references(&mut self, mut visit: impl FnMut(&mut u64)) {
        for table in self.tables.iter_mut().filter(|table| table.is_collected()) {
            table.elements_mut().iter_mut().for_each(&mut visit);
        }
        for place in &self.collected_globals {
            // SAFETY: globals live as long as the store, and generated code does not run.
            unsafe { visit(&mut *place.0.as_ptr().cast::<u64>()) };
        }
        for value in &mut self.const_stack {
            if let ConstValue::Reference(reference) = value {
                visit(reference);
            }
        }
        for instance in &mut self.instances {
            instance.visit_elements(&mut visit);
        }
    }

    // ---- totals

    /// Totals of all memories and tables.
    fn totals(&mut self) -> &mut Totals {
        self.totals.update(&self.memories, &self.tables);
        &mut self.totals
    }

    /// Fails unless the memories may have this many more pages.
    pub(crate) fn check_more_pages(&mut self, pages: u64) -> Result<(), MemoryError> {
        let limit = self.max_bytes;
        match self.totals().fits_bytes(pages, 0, limit) {
            true => Ok(()),
            false => Err(MemoryError::beyond_total(pages, limit)),
        }
    }

    /// Fails unless the tables may have this many more elements.
    pub(crate) fn check_more_elements(&mut self, elements: u64) -> Result<(), TableError> {
        let (limit, bytes) = (self.max_elements, self.max_bytes);
        let totals = self.totals();
        if !totals.fits_elements(elements, limit) {
            return Err(TableError::TooManyElements { elements, limit });
        }
        match totals.fits_bytes(0, elements, bytes) {
            true => Ok(()),
            false => Err(TableError::BeyondTotal { elements, limit: bytes }),
        }
    }

    /// Grows a memory within the limit of all memories. Returns the old size in pages.
    pub(crate) fn grow_memory(&mut self, index: usize, delta: u64) -> Option<u64> {
        let limit = self.max_bytes;
        if !self.totals().fits_bytes(delta, 0, limit) {
            return None;
        }
        let grown = self.memories[index].grow(delta)?;
        self.totals.memory_has_grown(delta);
        Some(grown)
    }

    /// Grows a table within the limit of all tables. Returns the old size.
    pub(crate) fn grow_table(&mut self, index: usize, delta: u64, init: u64) -> Option<u64> {
        self.check_more_elements(delta).ok()?;
        let grown = self.tables[index].grow(delta, init)?;
        self.totals.table_has_grown(delta);
        Some(grown)
    }
}

impl Store {
    /// Makes a host function a value of this store.
    pub fn add_host_function(&mut self, function: Arc<HostFunction>) -> NonNull<FuncRef> {
        let context = function.context(self.context_ptr());
        let func_ref = FuncRef {
            code: function.code(),
            context: ptr::null_mut(),
            ty: function.ty,
            is_host: true,
        };
        let mut stored = Box::new(StoredHostFunction { func_ref, context });
        stored.func_ref.context = ptr::from_mut(&mut stored.context).cast();
        let place = NonNull::from(&stored.func_ref);
        self.objects.host_functions.push(stored);
        self.objects.share_host_function(function);
        place
    }
}

impl GlobalPlace {
    /// Its value.
    ///
    /// # Safety
    ///
    /// The place must belong to the store.
    pub unsafe fn get(self, _store: &Store) -> RawVal {
        // SAFETY: places live as long as their store, whose generated code does not run now.
        unsafe { self.0.read() }
    }

    /// Sets its value.
    ///
    /// # Safety
    ///
    /// The place must belong to the store, and the value have its type.
    pub unsafe fn set(self, _store: &mut Store, value: RawVal) {
        // SAFETY: as in `get`.
        unsafe { self.0.write(value) }
    }
}
