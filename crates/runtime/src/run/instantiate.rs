//! Instantiates modules.
//!
//! As in the specification, everything is allocated first. Then globals are evaluated, then element
//! segments are copied, then data segments. The caller runs the start function. A trap does not
//! undo earlier steps.

use crate::code::LoadedModule;
use crate::embedder::Growth;
use crate::report::trap::Trap;
use crate::run::link::{self, LinkError};
use crate::store::Store;
use crate::vm::global::GlobalItem;
use crate::vm::host_function::HostFunction;
use crate::vm::import::ImportValue;
use crate::vm::instance::{ExportPlace, Instance, range};
use crate::vm::memory::{Memory, MemoryError};
use crate::vm::table::{Table, TableError};
use ropewalk_abi::clauses::{ListHead, SLOTS_END};
use ropewalk_abi::module::{ConstExpr, ElementItems, Item, SegmentMode};
use ropewalk_abi::stack::handler_word;
use ropewalk_abi::{
    FuncImport, FuncRef, HostContext, InstanceHeader, MemoryDef, TableDef, TrapCode, TypeInfo,
    ValType,
};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Why a module could not be instantiated.
#[derive(Debug, thiserror::Error)]
pub enum InstantiateError {
    /// An import is missing or has the wrong type.
    #[error(transparent)]
    Link(#[from] Box<LinkError>),
    /// A memory could not be made.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A table could not be made.
    #[error(transparent)]
    Table(#[from] TableError),
    /// An active segment is out of bounds, or an expression traps.
    #[error(transparent)]
    Trap(#[from] Trap),
    /// The store's limiter refused or failed.
    #[error(transparent)]
    Limiter(anyhow::Error),
}

impl Store {
    /// The questions to the limiter for an instance of a module.
    pub fn instance_growths(&self, module: &LoadedModule) -> Vec<Growth> {
        let info = &module.info;
        let memories = info.memories.iter().skip(info.imported_memories as usize);
        let tables = info.tables.iter().skip(info.imported_tables as usize);
        let from = self.objects.instances.len();
        let mut growths = vec![Growth::Instances { from, to: from + 1 }];
        growths.extend(memories.map(|ty| Growth::of_memory(ty, 0, ty.minimum)));
        growths.extend(tables.map(|ty| Growth::of_table(ty, 0, ty.minimum)));
        growths
    }

    /// Makes an instance and returns its number. Does not run the start function.
    ///
    /// The instance stays in the store even if an active segment traps, because its functions may
    /// already be in other tables.
    pub fn instantiate(
        &mut self,
        module: &Arc<LoadedModule>,
        imports: &[ImportValue],
    ) -> Result<usize, InstantiateError> {
        link::check(self, module, imports)?;
        let info = &module.info;
        if !module.can_use(self, imports) {
            return Err(MemoryError::unchecked(info.memories[0].minimum).into());
        }
        self.embedder.check_counts(
            self.objects.instances.len() + 1,
            self.objects.memories.len() + info.memories.len() - info.imported_memories as usize,
            self.objects.tables.len() + info.tables.len() - info.imported_tables as usize,
        )?;
        self.check_new_instance().map_err(InstantiateError::Limiter)?;
        let counts = self.objects.counts();
        if let Err(error) = self.allocate_instance(module, imports) {
            for memory in self.objects.truncate(counts) {
                self.embedder.memory_grow_failed(0, memory.pages());
            }
            return Err(error);
        }
        let index = counts.instances;
        self.initialize_tables(index)?;
        self.initialize_memories(index)?;
        Ok(index)
    }

    /// Makes an instance whose contents the caller restores. No segment is copied.
    pub(crate) fn instantiate_blank(
        &mut self,
        module: &Arc<LoadedModule>,
        imports: &[ImportValue],
    ) -> Result<usize, InstantiateError> {
        link::check(self, module, imports)?;
        let index = self.objects.instances.len();
        self.allocate_instance(module, imports)?;
        Ok(index)
    }

    /// Sets the segments of an instance.
    pub(crate) fn restore_segments(
        &mut self,
        index: usize,
        elements: Vec<Vec<u64>>,
        dropped_data: Vec<bool>,
    ) {
        let instance = &mut self.objects.instances[index];
        (instance.elements, instance.dropped_data) = (elements, dropped_data);
    }

    /// Makes an instance without the contents of tables and memories.
    fn allocate_instance(
        &mut self,
        module: &Arc<LoadedModule>,
        imports: &[ImportValue],
    ) -> Result<(), InstantiateError> {
        self.objects.add_module(module);
        let index = self.objects.instances.len();
        let place = ExportPlace::new(module.layout.size());
        let keep_running = AtomicUsize::new(place.header().as_ptr() as usize);
        place.write(0, InstanceHeader { store: self.context_ptr(), index, keep_running });
        let mut instance = Instance {
            place,
            module: module.clone(),
            memories: Vec::with_capacity(module.info.memories.len()),
            tables: Vec::with_capacity(module.info.tables.len()),
            imported_globals: Vec::with_capacity(module.info.imported_globals as usize),
            elements: vec![Vec::new(); module.info.elements.len()],
            dropped_data: vec![false; module.info.data.len()],
        };
        place_types(&instance);
        let imported_functions = self.place_imports(&mut instance, imports);
        self.place_tags(&instance);
        place_clauses(&instance);
        place_functions(&instance, &imported_functions);
        self.place_memories(&mut instance)?;
        // From here on expressions are evaluated. The collector must see the instance.
        self.objects.instances.push(instance);
        self.place_globals(index)?;
        self.place_tables(index)?;
        self.evaluate_elements(index)?;
        if self.options.interruption {
            self.budget.interrupts.add(self.objects.instances[index].header());
        }
        Ok(())
    }

    fn place_tags(&mut self, instance: &Instance) {
        let module = &instance.module;
        let defined = module.info.tags.iter().enumerate();
        for (i, ty) in defined.skip(module.info.imported_tags as usize) {
            let tag = self.objects.add_tag(module.type_infos[*ty as usize].0);
            instance.place.write(module.layout.tag(i as u32), tag);
        }
    }

    fn place_globals(&mut self, index: usize) -> Result<(), Trap> {
        let module = self.objects.instances[index].module.clone();
        for (i, init) in module.info.global_inits.iter().enumerate() {
            let value = self.evaluate(index, init).map_err(Trap::from_code)?;
            let instance = &self.objects.instances[index];
            let global = module.info.imported_globals + i as u32;
            instance.place.write(module.layout.defined_global(global), value);
            let GlobalItem { place, ty } = instance.global(global);
            self.objects.note_global(place, ty.content);
        }
        Ok(())
    }

    fn evaluate_elements(&mut self, index: usize) -> Result<(), Trap> {
        let module = self.objects.instances[index].module.clone();
        for (i, segment) in module.info.elements.iter().enumerate() {
            if matches!(segment.mode, SegmentMode::Declared) {
                continue;
            }
            match &segment.items {
                ElementItems::Functions(functions) => {
                    let instance = &mut self.objects.instances[index];
                    let functions = functions.iter();
                    let items = functions.map(|f| instance.func_ref(*f).as_ptr() as u64).collect();
                    instance.elements[i] = items;
                }
                ElementItems::Expressions(items) => {
                    for expr in items {
                        let value = self.evaluate(index, expr).map_err(Trap::from_code)?;
                        self.objects.instances[index].elements[i].push(value.u64());
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the imports into the instance. Returns the types of the imported functions.
    ///
    /// An import can be declared with a supertype. A function keeps its own type, which casts
    /// and indirect calls compare. A function of the host that was made for no store is called
    /// through code for the declared type, so it gets that type.
    fn place_imports(
        &mut self,
        instance: &mut Instance,
        imports: &[ImportValue],
    ) -> Vec<*const TypeInfo> {
        let module = instance.module.clone();
        let layout = &module.layout;
        // Reserved imports keep their declared types.
        let imported = 0..module.info.imported_functions;
        let mut functions: Vec<_> = imported.map(|i| declared_type(&module, i)).collect();
        for (import, value) in module.info.imports.iter().zip(imports) {
            match (import.item, value) {
                (Item::Func(function), ImportValue::Func(func_ref)) => {
                    self.place_func_ref(instance, function, *func_ref);
                    // SAFETY: functions live as long as the store.
                    functions[function as usize] = unsafe { func_ref.as_ref() }.ty;
                }
                (Item::Func(function), ImportValue::Host(host)) => {
                    self.place_host(instance, function, host);
                }
                (Item::Table(table), ImportValue::Table(number)) => {
                    let def = self.objects.tables[*number].def();
                    instance.place.write(layout.imported_table(table), def);
                    instance.tables.push(*number);
                }
                (Item::Memory(memory), ImportValue::Memory(number)) => {
                    let def = self.objects.memories[*number].def();
                    instance.place.write(layout.imported_memory(memory), def);
                    instance.memories.push(*number);
                }
                (Item::Global(global), ImportValue::Global(item)) => {
                    instance.place.write(layout.imported_global(global), item.place.0);
                    instance.imported_globals.push(item.ty);
                }
                (Item::Tag(tag), ImportValue::Tag(def)) => {
                    instance.place.write(layout.tag(tag), *def);
                }
                _ => unreachable!("`link::check` has compared the kinds"),
            }
        }
        functions
    }

    /// Imports a function that is a value of the store. A host function gets a new context, which
    /// records the importer.
    fn place_func_ref(&self, instance: &Instance, function: u32, func_ref: NonNull<FuncRef>) {
        // SAFETY: functions live as long as the store.
        let FuncRef { code, mut context, is_host, .. } = unsafe { func_ref.read() };
        if is_host {
            // SAFETY: `is_host` says that the context is of this type.
            let host = unsafe { context.cast::<HostContext>().read() };
            context = place_host_context(instance, function, host);
        }
        let offset = instance.module.layout.imported_function(function);
        instance.place.write(offset, FuncImport { code, context });
    }

    fn place_host(&mut self, instance: &Instance, function: u32, host: &Arc<HostFunction>) {
        let ty = declared_type(&instance.module, function);
        let context = HostContext { ty, ..host.context(self.context_ptr()) };
        let context = place_host_context(instance, function, context);
        let import = FuncImport { code: host.code(), context };
        instance.place.write(instance.module.layout.imported_function(function), import);
        self.objects.share_host_function(host.clone());
    }

    fn place_memories(&mut self, instance: &mut Instance) -> Result<(), InstantiateError> {
        let module = instance.module.clone();
        let imported = module.info.imported_memories;
        for (i, ty) in module.info.memories.iter().enumerate().skip(imported as usize) {
            let def = instance.place.at::<MemoryDef>(module.layout.defined_memory(i as u32));
            self.check_new_memory(ty).map_err(InstantiateError::Limiter)?;
            let pool = &self.options.memories;
            // SAFETY: instances live as long as the store, which owns the memory.
            let memory = unsafe { Memory::new(*ty, def, pool, module.checks_memories) };
            let memory = memory.inspect_err(|_| self.embedder.memory_grow_failed(0, ty.minimum))?;
            self.objects.memories.push(memory);
            instance.memories.push(self.objects.memories.len() - 1);
        }
        Ok(())
    }

    fn place_tables(&mut self, index: usize) -> Result<(), InstantiateError> {
        let module = self.objects.instances[index].module.clone();
        let info = &module.info;
        let defined = info.tables.iter().enumerate().skip(info.imported_tables as usize);
        let limits = self.options.tables;
        let mut filled: u64 = 0;
        for ((i, ty), init) in defined.zip(&info.table_inits) {
            let init = match init {
                Some(expr) => self.evaluate(index, expr).map_err(Trap::from_code)?.u64(),
                None => 0,
            };
            if init != 0 {
                filled = filled.saturating_add(ty.minimum);
            }
            if filled > limits.filled {
                let (elements, limit) = (filled, limits.filled);
                return Err(TableError::TooFull { elements, limit }.into());
            }
            let is_collected = info.is_collected(ValType::Ref(ty.element));
            let ty = module.engine_table_type(*ty);
            self.check_new_table(&ty).map_err(InstantiateError::Limiter)?;
            let instance = &mut self.objects.instances[index];
            let def = instance.place.at::<TableDef>(module.layout.defined_table(i as u32));
            // SAFETY: instances live as long as the store, which owns the table.
            let table = unsafe { Table::new(ty, is_collected, init, limits.elements, def) }?;
            self.objects.tables.push(table);
            instance.tables.push(self.objects.tables.len() - 1);
        }
        Ok(())
    }

    /// Copies the active element segments in order, and drops them.
    fn initialize_tables(&mut self, index: usize) -> Result<(), Trap> {
        let module = self.objects.instances[index].module.clone();
        for (i, segment) in module.info.elements.iter().enumerate() {
            match &segment.mode {
                SegmentMode::Passive => continue,
                SegmentMode::Declared => {}
                SegmentMode::Active { target, offset } => {
                    let is_64 = module.info.tables[*target as usize].table64;
                    let offset = self.evaluate_offset(index, offset, is_64)?;
                    let instance = &self.objects.instances[index];
                    let items = &instance.elements[i];
                    let elements =
                        self.objects.tables[instance.tables[*target as usize]].elements_mut();
                    let to = range(offset, items.len() as u64, elements.len())
                        .ok_or_else(|| Trap::from_code(TrapCode::TableOutOfBounds))?;
                    elements[to].copy_from_slice(items);
                }
            }
            self.objects.instances[index].elements[i] = Vec::new();
        }
        Ok(())
    }

    fn evaluate_offset(
        &mut self,
        index: usize,
        offset: &ConstExpr,
        is_64: bool,
    ) -> Result<u64, Trap> {
        let offset = self.evaluate(index, offset).map_err(Trap::from_code)?;
        Ok(if is_64 { offset.u64() } else { offset.u32().into() })
    }

    /// Maps the images of memories that have one. Returns the indices of these memories.
    fn map_images(&mut self, index: usize, module: &LoadedModule) -> Vec<u32> {
        let images = module.memory_images().iter();
        let mapped = images.filter(|image| {
            let memory = self.objects.instances[index].memories[image.memory as usize];
            self.objects.memories[memory].map_image(image)
        });
        mapped.map(|image| image.memory).collect()
    }

    /// Copies the active data segments in order, and drops them. Images already contain the
    /// segments of their memories.
    fn initialize_memories(&mut self, index: usize) -> Result<(), Trap> {
        let module = self.objects.instances[index].module.clone();
        let mapped = self.map_images(index, &module);
        for (i, segment) in module.info.data.iter().enumerate() {
            let SegmentMode::Active { target, offset } = &segment.mode else { continue };
            if mapped.contains(target) {
                self.objects.instances[index].drop_data(i);
                continue;
            }
            let is_64 = module.info.memories[*target as usize].memory64;
            let offset = self.evaluate_offset(index, offset, is_64)?;
            let instance = &self.objects.instances[index];
            let bytes = &module.code.tables().data[segment.bytes.clone()];
            let data = self.objects.memories[instance.memories[*target as usize]].data_mut();
            let to = range(offset, bytes.len() as u64, data.len())
                .ok_or_else(|| Trap::from_code(TrapCode::MemoryOutOfBounds))?;
            data[to].copy_from_slice(bytes);
            self.objects.instances[index].drop_data(i);
        }
        Ok(())
    }
}

fn place_host_context(
    instance: &Instance,
    function: u32,
    context: HostContext,
) -> *mut std::ffi::c_void {
    let offset = instance.module.layout.host_context(function);
    instance.place.write(offset, HostContext { importer: instance.header().as_ptr(), ..context });
    instance.place.at::<HostContext>(offset).as_ptr().cast()
}

fn place_types(instance: &Instance) {
    for (i, info) in instance.module.type_infos.iter().enumerate() {
        instance.place.write(instance.module.layout.type_info(i as u32), info.0);
    }
}

/// Writes the lists of clauses.
fn place_clauses(instance: &Instance) {
    let module = &instance.module;
    for (number, list) in module.info.handler_tables.iter().enumerate() {
        let word = |(tag, kind): &_| handler_word(instance.tag(*tag).as_ptr() as usize, *kind);
        let clauses: Vec<_> = list.iter().map(word).collect();
        let (head, slots) = ListHead::new(&clauses);
        let start = module.layout.handler_table(number as u32);
        let end_of_slots = start + SLOTS_END;
        instance.place.write_all(end_of_slots - size_of_val(&*slots) as i32, &slots);
        instance.place.write(end_of_slots, head);
        instance.place.write_all(start, &clauses);
        // The zero after the last one is already there.
    }
}

/// The type that a module declares for a function.
fn declared_type(module: &LoadedModule, function: u32) -> *const TypeInfo {
    module.type_infos[module.info.functions[function as usize] as usize].0
}

/// Writes the records of functions that are used as values.
fn place_functions(instance: &Instance, imported: &[*const TypeInfo]) {
    let module = &instance.module;
    for (function, number) in module.info.func_refs.iter().enumerate() {
        if *number == u32::MAX {
            continue;
        }
        let function = function as u32;
        let func_ref = match function.checked_sub(module.info.imported_functions) {
            Some(defined) => FuncRef {
                code: module.code.function(defined),
                context: instance.header().as_ptr().cast(),
                ty: declared_type(module, function),
                is_host: false,
            },
            None => imported_func_ref(instance, function, imported[function as usize]),
        };
        instance.place.write(module.layout.func_ref(*number), func_ref);
    }
}

fn imported_func_ref(instance: &Instance, function: u32, ty: *const TypeInfo) -> FuncRef {
    let layout = &instance.module.layout;
    let import = instance.place.at::<FuncImport>(layout.imported_function(function));
    // SAFETY: imports are in place before functions.
    let FuncImport { code, context } = unsafe { import.read() };
    let host = instance.place.at::<HostContext>(layout.host_context(function));
    let is_host = ptr::eq(host.as_ptr().cast(), context);
    FuncRef { code, context, ty, is_host }
}
