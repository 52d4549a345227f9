//! Restoring a store from a snapshot.

mod calls;
mod stacks;
mod tracking;

pub(super) use stacks::ABOVE_ROOT;

use super::error::SnapshotError;
use super::format::Bytes;
use super::image::{
    Handle, Image, ImportImage, ImportName, InstanceImage, NOTHING, Named, TypeName, TypeOfValue,
};
use super::layouts::Layouts;
use super::objects::{get, note_first, put};
use super::symbol::{Addresses, Symbol, Trampolines};
use super::take::{BLOCKS, FIRST_MEMORY, FRAMES, HEAP, IMAGE, SETTINGS};
use crate::code::LoadedModule;
use crate::heap::Object;
use crate::stack::RootStack;
use crate::store::Store;
use crate::store::pending::PendingCall;
use crate::store::pending_activations::CallerPlaces;
use crate::vm::import::ImportValue;
use anyhow::{Context as _, Result};
use ropewalk_abi::heap::{ARRAY_ELEMENTS, EXCEPTION_TAG};
use ropewalk_abi::module::Import;
use ropewalk_abi::stack::block_number;
use ropewalk_abi::{GlobalType, HeapType, RawVal, RefType, TableType, TypeKind, ValType};
use std::any::Any;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// What the host provides for restoring a store.
pub trait Host {
    /// The module with a hash, if the host has it, or else the engine's own if that is asked for.
    fn module(&self, hash: &[u8; 32], is_engines: bool) -> Result<Option<Arc<LoadedModule>>>;

    /// The value of an import of a module, if the host defines it.
    fn import(
        &self,
        store: &mut Store,
        module: &Arc<LoadedModule>,
        number: usize,
    ) -> Result<Option<ImportValue>>;

    /// The trampolines of the engine.
    fn trampolines(&self) -> &dyn Trampolines;

    /// The settings of the engine.
    fn settings(&self) -> Vec<u8>;

    /// The error for differing settings in a snapshot.
    fn difference(&self, settings: &[u8]) -> SnapshotError;

    /// Restores a host value.
    fn host_value(&self, bytes: &[u8]) -> Result<Box<dyn Any + Send + Sync>>;
}

/// A restored store, apart from the store itself.
#[derive(Debug)]
pub struct RestoredStore {
    /// The pending calls.
    pub calls: Vec<RestoredCall>,
    /// What the host named.
    pub names: Vec<(String, Handle)>,
}

/// A pending call.
#[derive(Debug)]
pub struct RestoredCall {
    /// The import of its host function; none if it stopped at a safepoint.
    pub import: Option<ImportName>,
    /// The arguments of that function, if they are known.
    pub arguments: Option<Vec<(RawVal, ValType)>>,
    /// The result types of that function.
    pub awaited: Vec<ValType>,
    /// The result types of the activation.
    pub results: Vec<ValType>,
    /// Where the results are put, if not in a register, and the clauses of the host.
    pub places: Arc<CallerPlaces>,
    /// The continuation that the host resumed, if it called no function.
    pub resumed: Option<ResumedByHost>,
    /// Continues the activation.
    pub pending: PendingCall,
}

/// A continuation that the host has resumed.
#[derive(Clone, Copy, Debug)]
pub struct ResumedByHost {
    /// The reference that it had.
    pub reference: u64,
    /// The number of a type with its results.
    pub results: u32,
}

/// Restores a snapshot in a new store. With `watch`, later snapshots can be based on it.
pub fn restore(
    store: &mut Store,
    bytes: &Bytes,
    host: &dyn Host,
    watch: bool,
) -> Result<RestoredStore> {
    if bytes.is_based() {
        return Err(SnapshotError::NeedsBase.into());
    }
    if !store.options.snapshots {
        return Err(SnapshotError::Disabled.into());
    }
    let section = |number| bytes.section(number)?.ok_or(SnapshotError::Damaged("it is cut off"));
    let settings = section(SETTINGS)?;
    if settings != host.settings() {
        return Err(host.difference(&settings).into());
    }
    let image: Image = postcard::from_bytes(&section(IMAGE)?)
        .map_err(|_| SnapshotError::Damaged("it cannot be read"))?;
    let mut modules = Vec::new();
    for module in &image.modules {
        let found = host.module(&module.hash, module.is_engines)?;
        modules.push(found.ok_or_else(|| SnapshotError::MissingModule(module.name.clone()))?);
    }
    let (objects, first_objects, roots) = (0..0, Vec::new(), Vec::new());
    let mut reader = Reader { store, image, modules, host, objects, first_objects, roots };
    reader.instances()?;
    let heap = section(HEAP)?;
    reader.heap(heap)?;
    reader.contents(bytes)?;
    let (blocks, frames) = (section(BLOCKS)?, section(FRAMES)?);
    reader.stacks(&blocks, &frames)?;
    let restored = reader.finish()?;
    if watch {
        reader.track(bytes, &blocks, &frames);
    }
    Ok(restored)
}

struct Reader<'a> {
    store: &'a mut Store,
    image: Image,
    modules: Vec<Arc<LoadedModule>>,
    host: &'a dyn Host,
    /// The addresses of the heap.
    objects: Range<u64>,
    /// For each page of the heap, the start of the object that the page begins in.
    first_objects: Vec<usize>,
    roots: Vec<RestoredRoot>,
}

/// A root, until its activation is restored.
struct RestoredRoot {
    number: usize,
    root: RootStack,
    /// The array with the results of the activation, if it has one.
    values: Option<Box<[UnsafeCell<RawVal>]>>,
}

fn damaged(what: &'static str) -> SnapshotError {
    SnapshotError::Damaged(what)
}

impl Reader<'_> {
    fn addresses(&self) -> Addresses<'_> {
        Addresses {
            store: self.store,
            modules: &self.modules,
            trampolines: self.host.trampolines(),
        }
    }

    // ---- words

    fn symbol(&self, number: u32) -> Result<Symbol, SnapshotError> {
        let symbol = self.image.symbols.get(number as usize).copied();
        symbol.ok_or(damaged("a symbol is missing"))
    }

    fn address(&self, number: u32) -> Result<usize> {
        self.addresses().address(self.symbol(number)?, None)
    }

    fn address_or_null(&self, number: u32) -> Result<usize> {
        match number {
            NOTHING => Ok(0),
            number => self.address(number),
        }
    }

    fn reference(&self, word: u64) -> Result<u64> {
        match word {
            0 => Ok(0),
            _ if word & 3 != 0 => Ok(word),
            _ if word & 7 == 4 => Ok(self.address((word >> 3) as u32)? as u64),
            _ => {
                let place = self.objects.start.checked_add(word - 8);
                let place = place.filter(|place| *place < self.objects.end);
                Ok(place.ok_or(damaged("an object is missing"))?)
            }
        }
    }

    fn value(&self, bytes: [u8; 16], ty: ValType) -> Result<RawVal> {
        let word = u128::from_le_bytes(bytes);
        match ty {
            ValType::Ref(_) => Ok(RawVal::from_u64(self.reference(word as u64)?)),
            _ => Ok(RawVal::from_u128(word)),
        }
    }

    fn type_of_value(&self, ty: TypeOfValue) -> Result<ValType> {
        Ok(match ty {
            TypeOfValue::Plain(ty) => ty,
            TypeOfValue::Defined(name, nullable) => {
                // SAFETY: types live as long as the engine.
                let id = unsafe { (*self.addresses().type_info(name)?).id };
                ValType::Ref(RefType { nullable, heap: HeapType::Concrete(id) })
            }
        })
    }

    // ---- instances

    /// Makes the instances, and before each one the objects of the host that are older.
    fn instances(&mut self) -> Result<()> {
        let images = std::mem::take(&mut self.image.instances);
        let mut resolved: Vec<Vec<ImportValue>> = Vec::new();
        for (number, instance) in images.iter().enumerate() {
            let module = self.modules.get(instance.module).cloned();
            let module = module.ok_or(damaged("a module is missing"))?;
            self.make_before(instance, &module)?;
            let imports = self.imports(instance, &module, &resolved)?;
            let index = self.store.instantiate_blank(&module, &imports)?;
            let made = &self.store.objects.instances()[index];
            if index != number
                || made.memories != instance.memories
                || made.tables != instance.tables
            {
                return Err(damaged("instances are not in order").into());
            }
            resolved.push(imports);
            // The next instance may import what had grown by then.
            self.grow()?;
        }
        self.image.instances = images;
        self.make_until(usize::MAX, usize::MAX)?;
        self.grow()
    }

    /// Grows the memories and tables made so far to their saved sizes.
    fn grow(&mut self) -> Result<()> {
        let there = self.store.objects.memories.len();
        for (index, image) in self.image.memories.iter().enumerate().take(there) {
            let missing = image.pages.checked_sub(self.store.objects.memories[index].size());
            missing
                .and_then(|missing| self.store.objects.grow_memory(index, missing))
                .with_context(|| format!("cannot restore a memory of {} pages", image.pages))?;
        }
        let there = self.store.objects.tables.len();
        for (index, image) in self.image.tables.iter().enumerate().take(there) {
            let len = image.len;
            let missing = len.checked_sub(self.store.objects.tables[index].elements().len());
            missing
                .and_then(|missing| self.store.objects.grow_table(index, missing as u64, 0))
                .with_context(|| format!("cannot restore a table of {len} elements"))?;
        }
        Ok(())
    }

    /// Makes the objects outside of instances that an instance needs: those before its own memories
    /// and tables, and those that it imports.
    fn make_before(&mut self, instance: &InstanceImage, module: &LoadedModule) -> Result<()> {
        let info = &module.info;
        let end = |numbers: &[usize], imported: u32| {
            let own = numbers.get(imported as usize).copied();
            let imported = numbers.iter().take(imported as usize);
            own.max(imported.map(|number| number.saturating_add(1)).max()).unwrap_or(0)
        };
        let memories = end(&instance.memories, info.imported_memories);
        self.make_until(memories, end(&instance.tables, info.imported_tables))
    }

    /// Makes memories and tables outside of instances up to a number, and all next tags and
    /// globals.
    fn make_until(&mut self, memories: usize, tables: usize) -> Result<()> {
        while self.store.objects.memories.len() < memories
            && let Some(image) = self.image.memories.get(self.store.objects.memories.len())
            && let Some(ty) = image.own
        {
            self.store.add_memory(ty)?;
        }
        while self.store.objects.tables.len() < tables
            && let Some(image) = self.image.tables.get(self.store.objects.tables.len())
            && let Some((element, table64, minimum, maximum)) = image.own
        {
            let ValType::Ref(element) = self.type_of_value(element)? else {
                return Err(damaged("a table of no references").into());
            };
            self.store.add_table(TableType { element, table64, minimum, maximum }, 0)?;
        }
        while let Some(Some(name)) = self.image.tags.get(self.store.objects.tags().len()) {
            let ty = self.addresses().type_info(*name)?;
            self.store.objects.add_tag(ty);
        }
        let made = self.store.objects.own_globals().count();
        for (ty, mutable, _) in self.image.globals.get(made..).unwrap_or_default().to_vec() {
            let content = self.type_of_value(ty)?;
            self.store.objects.add_global(GlobalType { content, mutable }, RawVal::ZERO);
        }
        Ok(())
    }

    fn imports(
        &mut self,
        instance: &InstanceImage,
        module: &Arc<LoadedModule>,
        resolved: &[Vec<ImportValue>],
    ) -> Result<Vec<ImportValue>> {
        if instance.imports.len() != module.info.imports.len() {
            return Err(damaged("an instance has other imports than its module").into());
        }
        let imports = instance.imports.iter().enumerate();
        imports.map(|(number, image)| self.import(image, module, number, resolved)).collect()
    }

    fn import(
        &mut self,
        image: &ImportImage,
        module: &Arc<LoadedModule>,
        number: usize,
        resolved: &[Vec<ImportValue>],
    ) -> Result<ImportValue> {
        if let ImportImage::Host(same) = *image {
            let found = self.host.import(self.store, module, number)?;
            let same = || {
                let (instance, import) = same?;
                resolved.get(instance)?.get(import).cloned()
            };
            let Import { module, name, .. } = &module.info.imports[number];
            let missing = || {
                SnapshotError::MissingImport { module: module.clone(), name: name.clone() }.into()
            };
            return found.or_else(same).ok_or_else(missing);
        }
        let objects = &self.store.objects;
        let found = match *image {
            ImportImage::Func(owner, function) => objects
                .instances
                .get(owner)
                .filter(|owner| function < owner.module().info.func_ref_count)
                .map(|owner| ImportValue::Func(owner.func_ref_by_number(function))),
            ImportImage::Table(number) => {
                (number < objects.tables.len()).then_some(ImportValue::Table(number))
            }
            ImportImage::Memory(number) => {
                (number < objects.memories.len()).then_some(ImportValue::Memory(number))
            }
            ImportImage::Tag(number) => {
                objects.tags().get(number).map(|tag| ImportValue::Tag(tag.place()))
            }
            ImportImage::Global(owner, index) => objects
                .instances
                .get(owner)
                .filter(|owner| (index as usize) < owner.module().info.globals.len())
                .map(|owner| ImportValue::Global(owner.global(index))),
            ImportImage::OwnGlobal(number) => {
                self.store.objects.own_globals().nth(number).map(ImportValue::Global)
            }
            ImportImage::Host(_) => None,
        };
        found.ok_or_else(|| damaged("an import is missing").into())
    }

    // ---- the heap

    fn heap(&mut self, mut bytes: Vec<u8>) -> Result<()> {
        for value in std::mem::take(&mut self.image.host_values) {
            let value = value.map(|bytes| self.host.host_value(&bytes)).transpose();
            let value = value.context("cannot read a value of the host")?;
            self.store.heap.externs.restore(value);
        }
        let base = self.store.restore_space(bytes.len())?;
        self.objects = base..base + bytes.len() as u64;
        let (mut at, mut layouts) = (0, Layouts::default());
        while at < bytes.len() {
            let has_room = |bytes: &[u8], len| bytes.len() - at >= len;
            if !has_room(&bytes, size_of::<u64>()) {
                return Err(damaged("an object is cut off").into());
            }
            let number = get(&bytes, at) as usize;
            let name = self.image.types.get(number).copied();
            let ty = self.addresses().type_info(name.ok_or(damaged("a type is missing"))?)?;
            // SAFETY: types live as long as the engine.
            let is_cut_off = match unsafe { (*ty).kind } {
                TypeKind::Array => !has_room(&bytes, ARRAY_ELEMENTS as usize),
                TypeKind::Cont => true,
                TypeKind::Struct | TypeKind::Func | TypeKind::Extern => false,
            };
            if is_cut_off {
                return Err(damaged("an object is cut off").into());
            }
            put(&mut bytes, at, ty as u64);
            // SAFETY: the bytes are those of an object, whose first word is its type.
            let object = unsafe { Object::from_reference(bytes[at..].as_ptr() as u64) };
            let object = object.ok_or(damaged("objects are not aligned"))?;
            let size = object.size();
            let end = at.checked_add(size).filter(|end| *end <= bytes.len());
            let end = end.ok_or(damaged("an object is too large"))?;
            note_first(&mut self.first_objects, at, end);
            layouts.of(self.store, object.ty()).visit(object, &(0..size), |place| {
                let word = self.reference(get(&bytes, at + place))?;
                put(&mut bytes, at + place, word);
                Ok(())
            })?;
            if object.ty().kind == TypeKind::Func {
                let tag = self.addresses().tag(get(&bytes, at + EXCEPTION_TAG as usize) as usize)?;
                put(&mut bytes, at + EXCEPTION_TAG as usize, tag as u64);
            }
            at = end;
        }
        self.store.fill_space(&bytes);
        Ok(())
    }

    // ---- memories, tables and globals

    fn contents(&mut self, bytes: &Bytes) -> Result<()> {
        let has_all = self.image.memories.len() == self.store.objects.memories.len()
            && self.image.tables.len() == self.store.objects.tables.len();
        if !has_all {
            return Err(damaged("a memory or table is missing").into());
        }
        for number in 0..self.image.memories.len() {
            let memory = self.store.objects.memory_mut(number);
            let section = FIRST_MEMORY + number;
            if section >= bytes.count() || bytes.len(section) as usize != memory.data().len() {
                return Err(damaged("a memory has another size").into());
            }
            bytes.fill(section, memory.data_mut());
        }
        for number in 0..self.image.tables.len() {
            let section = FIRST_MEMORY + self.image.memories.len() + number;
            let words = bytes.section(section)?.ok_or(damaged("a table is missing"))?;
            let (words, []) = words.as_chunks() else {
                return Err(damaged("a table has half an element").into());
            };
            let words = words.iter().map(|word| self.reference(u64::from_le_bytes(*word)));
            let words = words.collect::<Result<Vec<_>>>()?;
            let elements = self.store.objects.table_mut(number).elements_mut();
            if words.len() != elements.len() {
                return Err(damaged("a table has another size").into());
            }
            elements.copy_from_slice(&words);
        }
        let globals: Vec<_> = self.store.objects.own_globals().collect();
        for (global, (ty, _, value)) in globals.into_iter().zip(self.image.globals.clone()) {
            let value = self.value(value, self.type_of_value(ty)?)?;
            // SAFETY: the global is of the store, and the value of its type.
            unsafe { global.place.set(self.store, value) };
        }
        for (number, instance) in std::mem::take(&mut self.image.instances).into_iter().enumerate()
        {
            self.instance_contents(number, instance)?;
        }
        Ok(())
    }

    fn instance_contents(&mut self, number: usize, image: InstanceImage) -> Result<()> {
        let info = &self.store.objects.instances()[number].module().info;
        let imported = info.imported_globals;
        if image.globals.len() != info.globals.len() - imported as usize
            || image.elements.len() != info.elements.len()
        {
            return Err(damaged("an instance has other contents than its module").into());
        }
        for (index, value) in (imported..).zip(image.globals) {
            let item = self.store.objects.instances()[number].global(index);
            let value = self.value(value, item.ty.content)?;
            // SAFETY: the global is of the store, and the value of its type.
            unsafe { item.place.set(self.store, value) };
        }
        let mut elements = Vec::new();
        for segment in &image.elements {
            let words = segment.iter().map(|word| self.reference(*word));
            elements.push(words.collect::<Result<Vec<_>>>()?);
        }
        self.store.restore_segments(number, elements, image.dropped_data);
        Ok(())
    }

    // ---- the end

    fn finish(&mut self) -> Result<RestoredStore> {
        self.store.objects.set_stacks_instance(self.image.stacks_instance);
        self.store.context_mut().extending = self.block(self.image.extending)?;
        let mut calls = Vec::new();
        for call in std::mem::take(&mut self.image.calls) {
            calls.push(self.call(call)?);
        }
        let mut names = Vec::new();
        for (name, named) in std::mem::take(&mut self.image.names) {
            names.push((name, self.named(named)?));
        }
        Ok(RestoredStore { calls, names })
    }

    fn named(&mut self, named: Named) -> Result<Handle> {
        Ok(match named {
            Named::Instance(number) if number < self.store.objects.instances().len() => {
                Handle::Instance(number)
            }
            Named::Instance(_) => return Err(damaged("an instance is missing").into()),
            Named::Continuation(reference, _) | Named::Stack(reference, _)
                if self.store.stacks.valid(reference).is_none()
                    || !self.store.stacks.host_owned.contains(block_number(reference)) =>
            {
                return Err(damaged("a named stack is missing").into());
            }
            Named::Continuation(reference, types) => {
                let number = |(ty, is_results)| Ok((type_number(&self.modules, ty)?, is_results));
                let types = types.map(|[params, results]| {
                    Ok::<_, SnapshotError>([number(params)?, number(results)?])
                });
                Handle::Continuation(reference, types.transpose()?)
            }
            Named::Stack(reference, ty) => {
                Handle::Stack(reference, ty.map(|ty| self.type_of_value(ty)).transpose()?)
            }
            Named::Reference(word, ty) => {
                let (word, ty) = (self.reference(word)?, self.type_of_value(ty)?);
                let root = self.store.own(word).context("no memory for a reference")?;
                Handle::Reference(root, ty)
            }
            Named::Func(symbol) => {
                let function = self.addresses().function(self.symbol(symbol)?)?;
                let function = NonNull::new(function.cast_mut());
                Handle::Func(function.ok_or(damaged("a function is missing"))?)
            }
        })
    }
}

/// The engine's number of a type of a module.
fn type_number(modules: &[Arc<LoadedModule>], name: TypeName) -> Result<u32, SnapshotError> {
    let number = match name {
        TypeName::OfModule(module, index) => {
            modules.get(module).and_then(|module| module.type_ids.get(index as usize))
        }
        TypeName::Extern => None,
    };
    number.copied().ok_or(damaged("a type is missing"))
}
