//! The objects of a store: instances, memories, tables, globals, tags, host functions.

use super::Store;
use crate::code::LoadedModule;
use crate::heap::Object;
use crate::vm::const_value::ConstValue;
use crate::vm::global::{GlobalItem, GlobalPlace};
use crate::vm::host_function::HostFunction;
use crate::vm::instance::Instance;
use crate::vm::memory::Memory;
use crate::vm::table::Table;
use crate::vm::totals::Totals;
use ropewalk_abi::code::FunctionCode;
use ropewalk_abi::{FuncRef, GlobalType, HostContext, RawVal, TagDef, TypeInfo, TypeKind, ValType};
use std::any::Any;
use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Objects {
    pub instances: Vec<Instance>,
    pub memories: Vec<Memory>,
    pub tables: Vec<Table>,
    #[expect(clippy::vec_box, reason = "generated code knows their addresses")]
    globals: Vec<Box<UnsafeCell<RawVal>>>,
    /// The types of `globals`.
    global_types: Vec<GlobalType>,
    #[expect(clippy::vec_box, reason = "generated code knows their addresses")]
    host_functions: Vec<Box<StoredHostFunction>>,
    /// Functions that host contexts inside instances point to.
    pub shared_host_functions: Vec<Arc<HostFunction>>,
    #[expect(clippy::vec_box, reason = "generated code knows their addresses")]
    pub tags: Vec<Box<TagDef>>,
    /// The globals whose values the collector follows.
    pub collected_globals: Vec<GlobalPlace>,
    /// The operands of constant expressions that are being evaluated.
    pub const_stack: Vec<ConstValue>,
    /// The modules whose code may run, sorted by address.
    modules: Vec<Arc<LoadedModule>>,
    pub totals: Totals,
    /// The number of the instance that makes first-class stacks, if there is one.
    pub stacks_instance: Option<usize>,
    /// Whether a module has the type of first-class stacks.
    pub has_stackrefs: bool,
}

/// A host function that belongs to no instance.
struct StoredHostFunction {
    func_ref: FuncRef,
    context: HostContext,
}

impl Store {
    /// Registers the code of a module for traps and backtraces.
    pub(crate) fn add_module(&mut self, module: &Arc<LoadedModule>) {
        self.objects.has_stackrefs |= module.code.tables().has_stackrefs;
        let start = module.code.start();
        let place = self.objects.modules.partition_point(|m| m.code.start() < start);
        if self.objects.modules.get(place).is_none_or(|m| m.code.start() != start) {
            self.objects.modules.insert(place, module.clone());
        }
    }

    /// The modules whose code may run.
    pub(crate) fn modules(&self) -> impl Iterator<Item = &LoadedModule> {
        self.objects.modules.iter().map(|module| &**module)
    }

    /// The module whose code contains an address, and the offset there.
    pub(crate) fn module_at(&self, address: usize) -> Option<(&Arc<LoadedModule>, u32)> {
        let after = self.objects.modules.partition_point(|m| m.code.start() <= address);
        let module = &self.objects.modules[after.checked_sub(1)?];
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

    pub(crate) fn memory_may_fault_at(&self, address: usize) -> bool {
        self.objects.memories.iter().any(|memory| memory.may_fault_at(address))
    }

    /// The instances, in the order of their creation.
    pub fn instances(&self) -> &[Instance] {
        &self.objects.instances
    }

    /// The memories, by their numbers.
    pub fn memories(&self) -> &[Memory] {
        &self.objects.memories
    }

    /// An instance.
    pub fn instance(&self, index: usize) -> &Instance {
        &self.objects.instances[index]
    }

    /// A memory.
    pub fn memory(&self, index: usize) -> &Memory {
        &self.objects.memories[index]
    }

    /// A memory, to change it.
    pub fn memory_mut(&mut self, index: usize) -> &mut Memory {
        &mut self.objects.memories[index]
    }

    /// A table.
    pub fn table(&self, index: usize) -> &Table {
        &self.objects.tables[index]
    }

    /// A table, to change it.
    pub fn table_mut(&mut self, index: usize) -> &mut Table {
        &mut self.objects.tables[index]
    }

    /// Makes a global that belongs to no instance.
    pub fn add_global(&mut self, ty: GlobalType, value: RawVal) -> GlobalPlace {
        let global = Box::new(UnsafeCell::new(value));
        let place = GlobalPlace(NonNull::new(global.get()).expect("boxes are not null"));
        self.objects.globals.push(global);
        self.objects.global_types.push(ty);
        self.note_global(place, ty.content);
        place
    }

    /// The globals that belong to no instance.
    pub(crate) fn own_globals(&self) -> impl Iterator<Item = GlobalItem> {
        self.objects.globals.iter().zip(&self.objects.global_types).map(|(global, ty)| {
            let place = NonNull::new(global.get()).expect("boxes are not null");
            GlobalItem { place: GlobalPlace(place), ty: *ty }
        })
    }

    /// Adds a global to those that the collector follows, if its type requires that.
    pub(crate) fn note_global(&mut self, place: GlobalPlace, ty: ValType) {
        if self.options.types.is_collected(ty) {
            self.objects.collected_globals.push(place);
        }
    }

    /// Makes a tag.
    pub fn add_tag(&mut self, ty: *const TypeInfo) -> NonNull<TagDef> {
        let tag = Box::new(TagDef { ty });
        let place = NonNull::from(&*tag);
        self.objects.tags.push(tag);
        place
    }

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
        self.objects.shared_host_functions.push(function);
        place
    }

    /// The host value that a reference refers to.
    ///
    /// # Safety
    ///
    /// The reference must be of the store.
    pub unsafe fn extern_value(&self, reference: u64) -> Option<&(dyn Any + Send + Sync)> {
        // SAFETY: the caller's promise.
        let object = unsafe { Object::from_reference(reference) }?;
        match object.ty().kind {
            TypeKind::Extern => self.heap.externs.get(object.extern_number()),
            _ => None,
        }
    }

    /// The number of the instance that makes first-class stacks, if there is one.
    pub fn stacks_instance(&self) -> Option<usize> {
        self.objects.stacks_instance
    }

    /// Sets the number of the instance that makes first-class stacks.
    pub fn set_stacks_instance(&mut self, number: Option<usize>) {
        self.objects.stacks_instance = number;
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
