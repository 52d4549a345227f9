//! Taking a snapshot of a store.

use super::error::SnapshotError;
use super::format::Bytes;
use super::image::{
    Handle, Image, ImportImage, InstanceImage, MemoryImage, ModuleImage, Named, TableImage,
    TypeName, TypeOfValue,
};
use super::layouts::Layouts;
use super::ranges::Ranges;
use super::section::Section;
use super::stack_words::FrameShapes;
use super::symbol::{Symbol, Symbols, Trampolines};
use super::tracking::Tracking;
use crate::code::LoadedModule;
use crate::embedder::text;
use crate::inspect::address_map::AddressMap;
use crate::os::dirty_pages::Region;
use crate::report::backtrace::Backtrace;
use crate::report::trap::Trap;
use crate::stack::TopFrame;
use crate::store::Store;
use crate::store::pending_activations::PendingCause;
use crate::vm::global::GlobalItem;
use anyhow::Result;
use ropewalk_abi::heap::is_object;
use ropewalk_abi::module::Item;
use ropewalk_abi::stack::block_number;
use ropewalk_abi::{
    FuncImport, HeapType, HostContext, PausedRegisters, RawVal, RefType, TableType, ValType,
};
use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::ptr;

/// What the host provides for a snapshot.
pub struct Take<'a> {
    /// The trampolines of the engine.
    pub trampolines: &'a dyn Trampolines,
    /// The hash of a module, and whether it is the engine's own.
    pub module: &'a dyn Fn(&LoadedModule) -> ([u8; 32], bool),
    /// The settings of the engine.
    pub settings: Vec<u8>,
    /// The names of objects.
    pub names: Vec<(String, Handle)>,
    /// Saves a host value.
    pub host_value: &'a dyn Fn(&(dyn Any + Send + Sync)) -> Result<Vec<u8>>,
    /// The base.
    pub base: Base<'a>,
    /// Whether later snapshots can be based on this one.
    pub watch: bool,
    /// The running activation, if there is one.
    pub running: Option<Running<'a>>,
}

/// The base of a snapshot.
#[derive(Clone, Copy, Debug)]
pub enum Base<'a> {
    /// No base.
    Nothing,
    /// This snapshot.
    Snapshot(&'a Bytes),
    /// The last snapshot of the store, if the changes since it are known.
    Last,
}

/// Where the running activation stopped.
#[derive(Clone, Copy, Debug)]
pub enum Running<'a> {
    /// In a host function, called with this context.
    InHostCall(*const HostContext),
    /// At a safepoint, with these registers.
    Paused(&'a PausedRegisters),
}

/// Takes a snapshot; only of the changes, if those since the base are known.
pub fn take(store: &mut Store, take: &Take<'_>) -> Result<Bytes> {
    // Stacks that the host has dropped are not held.
    store.free_released();
    check(store, take)?;
    if let Some(tracking) = store.snapshots.last.take::<Tracking>()
        && let Some(base) = tracking.base(store, take.base)
        && let Ok(bytes) = write(store, take, *tracking, Some(base))
    {
        return Ok(bytes);
    }
    // Garbage is not saved.
    store.collect_garbage(0).map_err(Trap::from_code)?;
    write(store, take, Tracking::new(store), None)
}

/// Takes a snapshot, or saves the changes since one of the bases.
fn write(
    store: &mut Store,
    take: &Take<'_>,
    mut tracking: Tracking,
    base: Option<usize>,
) -> Result<Bytes> {
    tracking.is_enabled = take.watch && Tracking::is_possible(store);
    let writer = Writer {
        symbols: Symbols::of(store, take.trampolines, std::mem::take(&mut tracking.symbols)),
        objects: store.object_addresses(),
        image: Image::default(),
        types: tracking.types.iter().copied().zip(0..).collect(),
        codes: AddressMap::default(),
        shapes: FrameShapes::default(),
        layouts: Layouts::default(),
        bytes: Vec::new(),
        take,
        tracking,
        base,
    };
    let (bytes, tracking) = writer.write()?;
    store.snapshots.last.set(tracking.is_enabled.then(|| Box::new(tracking)));
    Ok(bytes)
}

fn check(store: &Store, take: &Take<'_>) -> Result<(), SnapshotError> {
    if !store.options.snapshots {
        return Err(SnapshotError::Disabled);
    }
    if store.running.is_poisoned() {
        return Err(SnapshotError::Poisoned);
    }
    if store.running.depth() > usize::from(take.running.is_some()) {
        return Err(SnapshotError::Nested(caller_of_host(store, take)));
    }
    let unsaid = store
        .running
        .pending
        .iter()
        .filter(|pending| matches!(pending.cause, PendingCause::Unknown));
    match unsaid.count() {
        0 => {}
        count => return Err(SnapshotError::Limiter(count)),
    }
    let named = held_by_name(store, take)?;
    match store.stacks.host_owned.numbers().filter(|number| !named.contains_key(number)).count() {
        0 => Ok(()),
        count => Err(SnapshotError::Unnamed(count)),
    }
}

/// The blocks that the host holds under a name, and the names.
fn held_by_name<'a>(
    store: &Store,
    take: &'a Take<'_>,
) -> Result<HashMap<usize, &'a str>, SnapshotError> {
    let mut names = HashMap::new();
    for (name, named) in &take.names {
        let (reference, what) = match named {
            Handle::Continuation(reference, _) => (*reference, "continuation"),
            Handle::Stack(reference, _) => (*reference, "stack"),
            _ => continue,
        };
        let number = block_number(reference);
        if store.stacks.valid(reference).is_none() || !store.stacks.host_owned.contains(number) {
            return Err(SnapshotError::Gone { what, name: name.clone() });
        }
        if let Some(before) = names.insert(number, name.as_str()) {
            return Err(SnapshotError::NamedTwice { name: name.clone(), before: before.into() });
        }
    }
    Ok(names)
}

/// The name of the function that called the innermost host function that is in the way.
fn caller_of_host(store: &Store, take: &Take<'_>) -> Option<String> {
    // SAFETY: the running stack's block is alive.
    let newest = unsafe { store.context().stack.as_ref() };
    let newest = newest.filter(|_| take.running.is_none());
    let stack = newest.into_iter().chain(store.running.outer_stacks()).next()?;
    // SAFETY: the stack is in a call of the host.
    let backtrace = unsafe { Backtrace::capture(store, &TopFrame::in_host_call(stack)) };
    Some(backtrace.frames().first()?.function_name()?.to_string())
}

pub(super) struct Writer<'a> {
    pub symbols: Symbols<'a>,
    /// The addresses of the heap.
    pub objects: Range<u64>,
    pub image: Image,
    pub types: HashMap<TypeName, u32>,
    /// The numbers of code addresses: a million stacks have few of them.
    pub codes: AddressMap<usize, u32>,
    pub shapes: FrameShapes,
    pub layouts: Layouts,
    /// The frames of the current stack.
    pub bytes: Vec<u8>,
    pub take: &'a Take<'a>,
    /// The record of the last snapshot. It becomes the record of this one.
    pub tracking: Tracking,
    /// The base, if the changes since it are known.
    pub base: Option<usize>,
}

/// The numbers of the sections. The memories are followed by the tables.
pub(super) const SETTINGS: usize = 0;
pub(super) const IMAGE: usize = 1;
pub(super) const HEAP: usize = 2;
pub(super) const BLOCKS: usize = 3;
pub(super) const FRAMES: usize = 4;
pub(super) const FIRST_MEMORY: usize = 5;

impl<'a> Writer<'a> {
    pub fn store(&self) -> &Store {
        self.symbols.store()
    }

    fn write(mut self) -> Result<(Bytes, Tracking)> {
        let store = self.symbols.store();
        for module in self.symbols.modules.clone() {
            let (hash, is_engines) = (self.take.module)(&module);
            let name = module.info.name.clone();
            self.image.modules.push(ModuleImage { hash, name, is_engines });
        }
        for number in 0..store.objects.instances().len() {
            let instance = self.instance(number)?;
            self.image.instances.push(instance);
        }
        self.standalone()?;
        self.host_values()?;
        let (region, len) =
            (store.heap.region(store.context()), self.objects.end - self.objects.start);
        let heap = self.section(HEAP, region, len as usize, |writer, parts| writer.heap(parts))?;
        self.calls()?;
        let [blocks, frames] = self.stacks()?;
        let contents = self.memories_and_tables()?;
        let [settings, image] = self.image()?;
        let mut sections = vec![settings, image, heap, blocks, frames];
        sections.extend(contents);
        let base = match (self.take.base, self.base) {
            (Base::Snapshot(bytes), _) => Some(bytes.into()),
            (_, base) => base.map(|base| self.tracking.based_on(base)),
        };
        let bytes = Bytes::new(&mut sections, base.as_ref());
        self.tracking.finish(&bytes, self.base);
        Ok((bytes, self.tracking))
    }

    /// Saves a section of some length, made of a region: its changes since the base, or all of it.
    pub fn section(
        &mut self,
        number: usize,
        region: Option<Region>,
        len: usize,
        mut write: impl FnMut(&mut Self, &Ranges) -> Result<Section<'a>>,
    ) -> Result<Section<'a>> {
        if let Some(written) = self.tracking.written(number, region.as_ref()) {
            let parts = self.tracking.note(number, &written, len, self.base);
            let section = write(self, &parts)?;
            self.tracking.track(number, region.as_ref(), len, None);
            return Ok(section);
        }
        let section = write(self, &Ranges::all(len))?;
        Ok(self.differences(number, region, section))
    }

    /// The differences of a section from the base, or all of it.
    pub fn differences(
        &mut self,
        number: usize,
        region: Option<Region>,
        section: Section<'a>,
    ) -> Section<'a> {
        let fresh = self.tracking.differences(number, &section);
        let parts = self.tracking.note(number, &fresh, section.len, self.base);
        self.tracking.track(number, region.as_ref(), section.len, Some(&section));
        section.cut(&parts)
    }

    fn memories_and_tables(&mut self) -> Result<Vec<Section<'a>>> {
        let store = self.symbols.store();
        let mut sections = Vec::new();
        for memory in store.objects.memories() {
            let (number, data) = (FIRST_MEMORY + sections.len(), memory.data());
            let region = Region::of(data.as_ptr_range(), data);
            let parts = |_: &mut Self, parts: &Ranges| Ok(Section::parts(data, parts));
            sections.push(self.section(number, Some(region), data.len(), parts)?);
        }
        for table in &store.objects.tables {
            let (number, elements) = (FIRST_MEMORY + sections.len(), table.elements());
            let region = table.map().map(|map| Region::of(map, elements));
            let parts = |writer: &mut Self, parts: &Ranges| writer.elements(elements, parts);
            sections.push(self.section(number, region, size_of_val(elements), parts)?);
        }
        Ok(sections)
    }

    /// The settings, and the image of all that has no section of its own.
    fn image(&mut self) -> Result<[Section<'a>; 2]> {
        let store = self.symbols.store();
        let context = store.context();
        (self.image.captures, self.image.newest_mark) =
            (context.captures, store.stacks.newest_mark);
        self.image.stacks_instance = store.objects.stacks_instance();
        self.image.limits = store.stacks.limits.list();
        for (name, named) in &self.take.names {
            let named = self.named(named)?;
            self.image.names.push((name.clone(), named));
        }
        self.image.types = self.tracking.types.clone();
        self.tracking.symbols = std::mem::take(&mut self.symbols.named);
        self.image.symbols = self.tracking.symbols.clone();
        let image = postcard::to_allocvec(&self.image)?;
        let settings = Section::whole(self.take.settings.as_slice());
        let settings = self.differences(SETTINGS, None, settings);
        Ok([settings, self.differences(IMAGE, None, Section::whole(image))])
    }

    fn named(&mut self, handle: &Handle) -> Result<Named> {
        Ok(match handle {
            Handle::Instance(number) => Named::Instance(*number),
            Handle::Continuation(reference, None) => Named::Continuation(*reference, None),
            Handle::Continuation(reference, Some([params, results])) => {
                let types = &self.store().options.types;
                let name = |(number, is_results): (u32, bool)| {
                    let info = types.get(number).info();
                    Ok::<_, SnapshotError>((self.symbols.known_type(info)?, is_results))
                };
                Named::Continuation(*reference, Some([name(*params)?, name(*results)?]))
            }
            Handle::Stack(reference, ty) => {
                let ty = ty.map(|ty| self.type_of_value(ty)).transpose()?;
                Named::Stack(*reference, ty)
            }
            Handle::Reference(root, ty) => {
                Named::Reference(self.reference(root.reference())?, self.type_of_value(*ty)?)
            }
            Handle::Func(function) => {
                Named::Func(self.function_number(function.as_ptr() as usize)?)
            }
        })
    }

    // ---- words

    /// The saved form of a reference.
    pub fn reference(&mut self, word: u64) -> Result<u64> {
        if !is_object(word) {
            return Ok(word);
        }
        if self.objects.contains(&word) {
            return Ok(word - self.objects.start + 8);
        }
        let symbol = self.function(word as usize)?;
        Ok(u64::from(self.symbols.number(symbol)) << 3 | 4)
    }

    /// The symbol of a function's record.
    fn function(&self, address: usize) -> Result<Symbol, SnapshotError> {
        match self.symbols.find(address) {
            Some(symbol @ Symbol::Instance(..)) => Ok(symbol),
            _ => Err(SnapshotError::HostFunction),
        }
    }

    /// The number of a function's symbol, or `NOTHING`.
    pub fn function_number(&mut self, address: usize) -> Result<u32> {
        if address == 0 {
            return Ok(super::image::NOTHING);
        }
        let symbol = self.function(address)?;
        Ok(self.symbols.number(symbol))
    }

    /// The saved form of a value.
    fn value(&mut self, value: RawVal, ty: ValType) -> Result<[u8; 16]> {
        match ty {
            ValType::Ref(_) => Ok(u128::from(self.reference(value.u64())?).to_le_bytes()),
            _ => Ok(value.u128().to_le_bytes()),
        }
    }

    fn type_of_value(&self, ty: ValType) -> Result<TypeOfValue, SnapshotError> {
        match ty {
            ValType::Ref(RefType { heap: HeapType::Concrete(number), nullable }) => {
                let info = self.store().options.types.get(number).info();
                Ok(TypeOfValue::Defined(self.symbols.known_type(info)?, nullable))
            }
            ty => Ok(TypeOfValue::Plain(ty)),
        }
    }

    // ---- instances

    fn instance(&mut self, number: usize) -> Result<InstanceImage> {
        let store = self.symbols.store();
        let instance = &store.objects.instances()[number];
        let module = instance.module();
        let place = self.symbols.modules.iter().position(|other| ptr::eq(&**other, &**module));
        let info = &module.info;
        let imports = (0..info.imports.len()).map(|import| self.import(number, import));
        let imports = imports.collect::<Result<Vec<_>>>()?;
        let mut globals = Vec::new();
        for index in info.imported_globals..info.globals.len() as u32 {
            let item = instance.global(index);
            // SAFETY: the global is of the store.
            let value = unsafe { item.place.get(store) };
            globals.push(self.value(value, item.ty.content)?);
        }
        let mut elements = Vec::new();
        for segment in &instance.elements {
            let words = segment.iter().map(|word| self.reference(*word));
            elements.push(words.collect::<Result<Vec<_>>>()?);
        }
        Ok(InstanceImage {
            module: place.expect("modules of all instances are listed"),
            imports,
            globals,
            memories: instance.memories.clone(),
            tables: instance.tables.clone(),
            elements,
            dropped_data: instance.dropped_data.clone(),
        })
    }

    fn import(&self, number: usize, import: usize) -> Result<ImportImage> {
        let store = self.symbols.store();
        let instance = &store.objects.instances()[number];
        Ok(match instance.module().info.imports[import].item {
            Item::Func(function) => self.imported_function(number, function)?,
            Item::Table(table) => ImportImage::Table(instance.table(table)),
            Item::Memory(memory) => ImportImage::Memory(instance.memory(memory)),
            Item::Tag(tag) => ImportImage::Tag(self.symbols.tag(instance.tag(tag).as_ptr())?),
            Item::Global(global) => {
                let place = instance.global(global).place;
                if let Some(own) = store.objects.own_globals().position(|own| own.place == place) {
                    return Ok(ImportImage::OwnGlobal(own));
                }
                let found =
                    store.objects.instances().iter().enumerate().find_map(|(number, instance)| {
                        let info = &instance.module().info;
                        let mut own = info.imported_globals..info.globals.len() as u32;
                        let index = own.find(|index| instance.global(*index).place == place)?;
                        Some(ImportImage::Global(number, index))
                    });
                found.ok_or(SnapshotError::Unknown("a global", 0))?
            }
        })
    }

    fn imported_function(
        &self,
        number: usize,
        function: u32,
    ) -> Result<ImportImage, SnapshotError> {
        let store = self.symbols.store();
        let instance = &store.objects.instances()[number];
        let FuncImport { code, context } = instance.function_import(function);
        if let Some(host) = instance.host_context(function) {
            return Ok(ImportImage::Host(same_host(store, number, &host)));
        }
        let Some(Symbol::Instance(owner, 0)) = self.symbols.find(context as usize) else {
            return Err(SnapshotError::HostFunction);
        };
        let found = store.objects.instances()[owner].func_ref_with_code(code);
        let found = found.ok_or(SnapshotError::Unknown("a function", code as usize))?;
        Ok(ImportImage::Func(owner, found))
    }

    // ---- parts of the store

    /// Saves objects outside of instances.
    fn standalone(&mut self) -> Result<()> {
        let store = self.symbols.store();
        let mut defined = [HashSet::new(), HashSet::new(), HashSet::new()];
        let [memories, tables, tags] = &mut defined;
        for instance in store.objects.instances() {
            let info = &instance.module().info;
            memories.extend(&instance.memories[info.imported_memories as usize..]);
            tables.extend(&instance.tables[info.imported_tables as usize..]);
            for tag in info.imported_tags..info.tags.len() as u32 {
                tags.insert(self.symbols.tag(instance.tag(tag).as_ptr())?);
            }
        }
        for (number, memory) in store.objects.memories().iter().enumerate() {
            let own = (!memories.contains(&number)).then(|| memory.ty());
            self.image.memories.push(MemoryImage { pages: memory.size(), own });
        }
        for (number, table) in store.objects.tables.iter().enumerate() {
            let own = (!tables.contains(&number)).then(|| {
                let TableType { element, table64, minimum, maximum } = table.ty();
                let element = self.type_of_value(ValType::Ref(element))?;
                Ok::<_, SnapshotError>((element, table64, minimum, maximum))
            });
            let own = own.transpose()?;
            self.image.tables.push(TableImage { len: table.elements().len(), own });
        }
        for GlobalItem { place, ty } in store.objects.own_globals() {
            // SAFETY: the global is of the store.
            let value = unsafe { place.get(store) };
            let global =
                (self.type_of_value(ty.content)?, ty.mutable, self.value(value, ty.content)?);
            self.image.globals.push(global);
        }
        for (number, tag) in store.objects.tags().iter().enumerate() {
            let own = (!tags.contains(&number)).then(|| self.symbols.known_type(tag.ty));
            self.image.tags.push(own.transpose()?);
        }
        Ok(())
    }

    fn host_values(&mut self) -> Result<()> {
        let store = self.symbols.store();
        for value in store.heap.externs.iter() {
            let written = value.map(|value| (self.take.host_value)(value)).transpose();
            let written = written
                .map_err(|error| SnapshotError::HostValue(text(format_args!("{error:#}"))))?;
            self.image.host_values.push(written);
        }
        Ok(())
    }
}

/// The same host function as an import of an earlier instance: its instance and number there.
fn same_host(store: &Store, before: usize, host: &HostContext) -> Option<(usize, usize)> {
    store.objects.instances()[..before].iter().enumerate().find_map(|(number, instance)| {
        let imports = instance.module().info.imports.iter();
        let same = imports.enumerate().find(|(_, import)| match import.item {
            Item::Func(function) => instance.host_context(function).is_some_and(|other| {
                ptr::eq(other.data, host.data) && ptr::eq(other.function, host.function)
            }),
            _ => false,
        });
        Some((number, same?.0))
    })
}
