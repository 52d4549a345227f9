//! Making a store of what was written.

use super::image::{
    BlockImage, CallImage, Image, ImportImage, ImportName, InstanceImage, MarkImage, MarkKindImage,
    NO_PARENT, NOTHING, Named, StackImage, TakenImage, TypeName, TypeOfValue,
};
use super::sections::{Bytes, SnapshotError};
use super::symbol::{LoadedTrampoline, Places, Symbol, TrampolineMap, Trampolines};
use super::take::{get, places_of_references, put};
use super::words::{OnStack, Words};
use crate::code::LoadedModule;
use crate::design::first_class::marks::{Mark, MarkKind, Taken, Walk};
use crate::heap::Object;
use crate::link::ImportValue;
use crate::pending::{Pending, Scope, Waiting};
use crate::rest::{AnyRest, Rest};
use crate::stack::RootStack;
use crate::store::{GlobalItem, Store};
use crate::trap::Trap;
use anyhow::{Context as _, Result};
use ropewalk_abi::heap::EXCEPTION_TAG;
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{
    ControlBlock, FuncRef, FuncType, GlobalType, HeapType, RawVal, RefType, StoreContext,
    TableType, TypeInfo, TypeKind, ValType,
};
use std::any::Any;
use std::sync::Arc;

/// What the host has for a store that is restored.
pub trait Host {
    /// The module with a hash, if it is at hand. The engine's own is asked for as such.
    fn module(&self, hash: &[u8; 32], is_engines: bool) -> Result<Option<Arc<LoadedModule>>>;

    /// What an import of a module means, if the host defines it.
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

    /// What differs in the settings of a snapshot.
    fn difference(&self, settings: &[u8]) -> SnapshotError;

    /// Reads a value of the host.
    fn host_value(&self, bytes: &[u8]) -> Result<Box<dyn Any + Send + Sync>>;
}

/// What was restored beside the store.
#[derive(Debug)]
pub struct RestoredStore {
    /// Calls that wait.
    pub calls: Vec<RestoredCall>,
    /// What the host had names for.
    pub names: Vec<(String, Named)>,
    /// The modules, by which types are named.
    pub modules: Vec<Arc<LoadedModule>>,
}

/// A call that waits.
#[derive(Debug)]
pub struct RestoredCall {
    /// For which host function; none if it was stopped at a check point.
    pub import: Option<ImportName>,
    /// The types of the results that it waits for.
    pub awaited: Vec<ValType>,
    /// The types of its own results.
    pub results: Vec<ValType>,
    /// Where its results are put, if not in a register.
    pub values: Option<Box<[RawVal]>>,
    /// What continues it.
    pub pending: Pending,
}

/// Restores a store, which must be new.
pub fn restore(store: &mut Store, bytes: &Bytes, host: &dyn Host) -> Result<RestoredStore> {
    if bytes.is_based() {
        return Err(SnapshotError::NeedsBase.into());
    }
    if !store.options.snapshots {
        return Err(SnapshotError::Disabled.into());
    }
    let section = |number| bytes.section(number).ok_or(SnapshotError::Damaged("it is cut off"));
    let settings = section(0)?;
    if settings != host.settings() {
        return Err(host.difference(&settings).into());
    }
    let image: Image = postcard::from_bytes(&section(1)?)
        .map_err(|_| SnapshotError::Damaged("it cannot be read"))?;
    let mut modules = Vec::new();
    for module in &image.modules {
        let found = host.module(&module.hash, module.is_engines)?;
        modules.push(found.ok_or_else(|| SnapshotError::MissingModule(module.name.clone()))?);
    }
    let mut reader = Reader { store, image, modules, host, base: 0, roots: Vec::new() };
    reader.instances()?;
    let heap = section(2)?;
    reader.heap(heap)?;
    reader.contents(bytes)?;
    let frames = section(3)?;
    reader.stacks(&frames)?;
    reader.finish()
}

struct Reader<'a> {
    store: &'a mut Store,
    image: Image,
    modules: Vec<Arc<LoadedModule>>,
    host: &'a dyn Host,
    /// Where the heap begins.
    base: u64,
    roots: Vec<RestoredRoot>,
}

/// A root, until its activation is restored.
struct RestoredRoot {
    /// The number of its block.
    number: usize,
    root: RootStack,
    /// The array with the values of the activation, if it has one.
    values: Option<Box<[RawVal]>>,
}

fn damaged(what: &'static str) -> SnapshotError {
    SnapshotError::Damaged(what)
}

impl Reader<'_> {
    fn places(&self) -> Places<'_> {
        Places { store: self.store, modules: &self.modules, trampolines: self.host.trampolines() }
    }

    // ---- words

    fn symbol(&self, number: u32) -> Result<Symbol, SnapshotError> {
        let symbol = self.image.symbols.get(number as usize).copied();
        symbol.ok_or(damaged("a symbol is not there"))
    }

    fn address(&self, number: u32) -> Result<usize> {
        self.places().address(self.symbol(number)?, None)
    }

    /// The address of a symbol that may be none.
    fn address_or_null(&self, number: u32) -> Result<usize> {
        match number {
            NOTHING => Ok(0),
            number => self.address(number),
        }
    }

    /// A reference of the store.
    fn reference(&self, word: u64) -> Result<u64> {
        match word {
            0 => Ok(0),
            _ if word & 3 != 0 => Ok(word),
            _ if word & 7 == 4 => Ok(self.address((word >> 3) as u32)? as u64),
            _ => Ok(word - 8 + self.base),
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
                let id = unsafe { (*self.places().type_info(name)?).id };
                ValType::Ref(RefType { nullable, heap: HeapType::Concrete(id) })
            }
        })
    }

    // ---- instances

    /// Makes the instances, and before each what the host had made by then.
    fn instances(&mut self) -> Result<()> {
        let images = std::mem::take(&mut self.image.instances);
        let mut resolved: Vec<Vec<ImportValue>> = Vec::new();
        for (number, instance) in images.iter().enumerate() {
            let module = self.modules.get(instance.module).cloned();
            let module = module.ok_or(damaged("a module is not there"))?;
            self.make_before(instance, &module)?;
            let imports = self.imports(instance, &module, &resolved)?;
            let index = self.store.instantiate_blank(&module, &imports)?;
            let made = &self.store.instances()[index];
            if index != number
                || made.memories != instance.memories
                || made.tables != instance.tables
            {
                return Err(damaged("instances are not in order").into());
            }
            resolved.push(imports);
            // The next one may import what had grown by then.
            self.grow()?;
        }
        self.image.instances = images;
        self.make_until(usize::MAX, usize::MAX, usize::MAX)?;
        self.grow()
    }

    /// Gives the memories and tables that there are the sizes that they had.
    fn grow(&mut self) -> Result<()> {
        for (memory, image) in self.store.memories.iter_mut().zip(&self.image.memories) {
            let missing = image.pages.checked_sub(memory.size());
            missing
                .and_then(|missing| memory.grow(missing))
                .with_context(|| format!("cannot restore a memory of {} pages", image.pages))?;
        }
        for (table, image) in self.store.tables.iter_mut().zip(&self.image.tables) {
            let len = image.elements.len();
            let missing = len.checked_sub(table.elements().len());
            missing
                .and_then(|missing| table.grow(missing as u64, 0))
                .with_context(|| format!("cannot restore a table of {len} elements"))?;
        }
        Ok(())
    }

    /// Makes what belongs to no instance and has lower numbers than what an instance defines.
    fn make_before(&mut self, instance: &InstanceImage, module: &LoadedModule) -> Result<()> {
        let info = &module.info;
        let first = |numbers: &[usize], imported: u32| numbers.get(imported as usize).copied();
        let memories = first(&instance.memories, info.imported_memories).unwrap_or(0);
        let tables = first(&instance.tables, info.imported_tables).unwrap_or(0);
        // Tags, globals and what is imported come first: all that have no instance are made.
        let imported = |numbers: &[usize], count: u32| {
            numbers[..count as usize].iter().map(|number| number + 1).max().unwrap_or(0)
        };
        let memories = memories.max(imported(&instance.memories, info.imported_memories));
        let tables = tables.max(imported(&instance.tables, info.imported_tables));
        let tags = self.image.tags[self.store.tags.len().min(self.image.tags.len())..].iter();
        let tags = self.store.tags.len() + tags.take_while(|tag| tag.is_some()).count();
        self.make_until(memories, tables, tags)
    }

    fn make_until(&mut self, memories: usize, tables: usize, tags: usize) -> Result<()> {
        while self.store.memories.len() < memories.min(self.image.memories.len()) {
            let Some(ty) = self.image.memories[self.store.memories.len()].own else { break };
            self.store.add_memory(ty)?;
        }
        while self.store.tables.len() < tables.min(self.image.tables.len()) {
            let own = &self.image.tables[self.store.tables.len()].own;
            let Some((element, table64, minimum, maximum)) = *own else { break };
            let element = TypeOfValue::reference(self.type_of_value(element)?);
            let element = element.ok_or(damaged("a table of no references"))?;
            self.store.add_table(TableType { element, table64, minimum, maximum }, 0)?;
        }
        while self.store.tags.len() < tags.min(self.image.tags.len()) {
            let Some(name) = self.image.tags[self.store.tags.len()] else { break };
            let ty = self.places().type_info(name)?;
            self.store.add_tag(ty);
        }
        let made = self.store.own_globals().count();
        for (ty, mutable, _) in self.image.globals.get(made..).unwrap_or_default().to_vec() {
            let content = self.type_of_value(ty)?;
            self.store.add_global(GlobalType { content, mutable }, RawVal::ZERO);
        }
        Ok(())
    }

    fn imports(
        &mut self,
        instance: &InstanceImage,
        module: &Arc<LoadedModule>,
        resolved: &[Vec<ImportValue>],
    ) -> Result<Vec<ImportValue>> {
        let mut imports = Vec::new();
        for (number, import) in instance.imports.iter().enumerate() {
            imports.push(match *import {
                ImportImage::Func(owner, function) => {
                    let owner = self.store.instances().get(owner);
                    let owner = owner.ok_or(damaged("an instance is not there"))?;
                    ImportValue::Func(owner.func_ref_by_number(function))
                }
                ImportImage::Host(same) => {
                    let found = self.host.import(self.store, module, number)?;
                    let same = || {
                        let (instance, import) = same?;
                        resolved.get(instance)?.get(import).cloned()
                    };
                    let names = &module.info.imports[number];
                    found.or_else(same).ok_or_else(|| SnapshotError::MissingImport {
                        module: names.module.clone(),
                        name: names.name.clone(),
                    })?
                }
                ImportImage::Table(number) => ImportValue::Table(number),
                ImportImage::Memory(number) => ImportValue::Memory(number),
                ImportImage::Tag(number) => {
                    let tag = self.places().tag(number)?;
                    ImportValue::Tag(std::ptr::NonNull::new(tag.cast_mut()).expect("a box"))
                }
                ImportImage::Global(owner, index) => {
                    let owner = self.store.instances().get(owner);
                    ImportValue::Global(
                        owner.ok_or(damaged("an instance is not there"))?.global(index),
                    )
                }
                ImportImage::OwnGlobal(number) => {
                    let place = self.store.own_globals().nth(number);
                    let ty = self.store.own_global_types().nth(number);
                    let (Some(place), Some(ty)) = (place, ty) else {
                        return Err(damaged("a global is not there").into());
                    };
                    ImportValue::Global(GlobalItem { place, ty })
                }
            });
        }
        Ok(imports)
    }

    // ---- the heap

    fn heap(&mut self, mut bytes: Vec<u8>) -> Result<()> {
        for value in std::mem::take(&mut self.image.host_values) {
            let value = value.map(|bytes| self.host.host_value(&bytes)).transpose();
            let value = value.context("cannot read a value of the host")?;
            self.store.heap.restore_extern(value);
        }
        self.base = self.store.restore_space(bytes.len())?;
        let mut at = 0;
        while at < bytes.len() {
            let number = get(&bytes, at) as usize;
            let name = self.image.types.get(number).copied();
            let ty = self.places().type_info(name.ok_or(damaged("a type is not there"))?)?;
            put(&mut bytes, at, ty as u64);
            // SAFETY: the bytes are those of an object, whose first word is its type.
            let object = unsafe { Object::from_reference(bytes[at..].as_ptr() as u64) };
            let object = object.ok_or(damaged("objects are not aligned"))?;
            let size = object.size();
            let end = at.checked_add(size).filter(|end| *end <= bytes.len());
            let end = end.ok_or(damaged("an object is too large"))?;
            for place in places_of_references(self.store, object) {
                let word = self.reference(get(&bytes, at + place))?;
                put(&mut bytes, at + place, word);
            }
            if object.ty().kind == TypeKind::Func {
                let tag = self.places().tag(get(&bytes, at + EXCEPTION_TAG as usize) as usize)?;
                put(&mut bytes, at + EXCEPTION_TAG as usize, tag as u64);
            }
            at = end;
        }
        self.store.fill_space(&bytes);
        Ok(())
    }

    // ---- memories, tables and globals

    fn contents(&mut self, bytes: &Bytes) -> Result<()> {
        for number in 0..self.image.memories.len() {
            let memory = self.store.memory_mut(number);
            let section = 4 + number;
            if section >= bytes.count() || bytes.len(section) as usize != memory.data().len() {
                return Err(damaged("a memory has another size").into());
            }
            bytes.fill(section, memory.data_mut());
        }
        for (number, table) in std::mem::take(&mut self.image.tables).into_iter().enumerate() {
            let words = table.elements.iter().map(|word| self.reference(*word));
            let words = words.collect::<Result<Vec<_>>>()?;
            self.store.table_mut(number).elements_mut().copy_from_slice(&words);
        }
        let places: Vec<_> = self.store.own_globals().collect();
        for (place, (ty, _, value)) in places.into_iter().zip(self.image.globals.clone()) {
            let value = self.value(value, self.type_of_value(ty)?)?;
            // SAFETY: the global is of the store, and the value of its type.
            unsafe { place.set(self.store, value) };
        }
        for (number, instance) in std::mem::take(&mut self.image.instances).into_iter().enumerate()
        {
            self.instance_contents(number, instance)?;
        }
        Ok(())
    }

    fn instance_contents(&mut self, number: usize, image: InstanceImage) -> Result<()> {
        let imported = self.store.instances()[number].module().info.imported_globals;
        for (index, value) in (imported..).zip(image.globals) {
            let item = self.store.instances()[number].global(index);
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

    // ---- stacks

    fn stacks(&mut self, frames: &[u8]) -> Result<()> {
        let blocks = std::mem::take(&mut self.image.blocks);
        self.store.stacks.restore_blocks(blocks.len())?;
        self.store.note_table();
        // Those that are named must be there before they are looked up.
        for symbol in &self.image.symbols {
            if let Symbol::Trampoline(..) = symbol {
                self.places().address(*symbol, None)?;
            }
        }
        let trampolines = TrampolineMap::new(self.host.trampolines());
        for (number, block) in (1..).zip(&blocks) {
            match block {
                BlockImage::Vacant(reference) => {
                    self.store.stacks.restore_vacant(number, *reference);
                }
                BlockImage::Retired => self.store.stacks.restore_retired(number),
                BlockImage::Lost { purpose, reference } => {
                    let block = self.blank(*purpose, *reference, number);
                    let parent = self.store.no_parent();
                    let block = ControlBlock { parent, ..block };
                    let ground = self.store.context().ground as u64;
                    self.pack(number, block, &ground.to_le_bytes(), 0)?;
                }
                BlockImage::Stack(stack) => self.stack(number, stack, frames, &trampolines)?,
            }
        }
        self.store.context_mut().captures = self.image.captures;
        self.store.stacks.restore_newest_mark(self.image.newest_mark);
        Ok(())
    }

    fn blank(&self, purpose: Purpose, reference: u64, number: usize) -> ControlBlock {
        let innermost = self.store.stacks.block(number);
        ControlBlock { purpose, reference, innermost, ..ControlBlock::BLANK }
    }

    fn stack(
        &mut self,
        number: usize,
        image: &StackImage,
        frames: &[u8],
        trampolines: &TrampolineMap,
    ) -> Result<()> {
        let range =
            image.frames.start as usize..image.frames.start as usize + image.frames.len as usize;
        let mut bytes = frames.get(range).ok_or(damaged("frames are not there"))?.to_vec();
        let fp = match image.fp {
            0 => None,
            fp => Some(bytes.len().checked_sub(fp as usize).ok_or(damaged("a link"))?),
        };
        let function = self.address_or_null(image.function)? as *const FuncRef;
        let block = ControlBlock {
            parent: self.block(image.parent)?,
            handlers: self.address(image.handlers)? as *const u64,
            is_grouped: image.is_grouped,
            owns: image.owns,
            innermost: self.block(image.innermost)?,
            through: self.block(image.through)?,
            sought: image.sought,
            extender: self.block(image.extender)?,
            function,
            entry: self.address_or_null(image.entry)? as *const _,
            ..self.blank(image.purpose, image.reference, number)
        };
        let values = match image.purpose == Purpose::Root {
            true => self.values_of(number)?,
            false => None,
        };
        let place_of_values = values.as_ref().map(|values| values.as_ptr() as usize);
        let end = LINKED_END;
        OnStack { bytes: &mut bytes, purpose: image.purpose, function, fp }
            .visit(&mut Reading { reader: self, end, values: place_of_values, trampolines })?;
        let linked = fp.map_or(0, |fp| end - (bytes.len() - fp));
        match image.purpose {
            Purpose::Root => self.place_root(number, block, &bytes, linked, values)?,
            _ if image.is_active => self.place(number, block, &bytes, linked)?,
            _ if self.store.stacks.fits_slot(bytes.len()) => {
                self.pack(number, block, &bytes, linked)?;
            }
            _ => self.place(number, block, &bytes, linked)?,
        }
        if image.is_held {
            self.store.stacks.held.hold(number);
        }
        self.marks(number, &image.marks)
    }

    fn block(&self, number: usize) -> Result<*mut ControlBlock> {
        match number {
            0 => Ok(std::ptr::null_mut()),
            NO_PARENT => Ok(self.store.no_parent()),
            number => Ok(self.places().block(number)?),
        }
    }

    /// The array with the values of the activation that a root belongs to.
    fn values_of(&self, root: usize) -> Result<Option<Box<[RawVal]>>> {
        let call = self.image.calls.iter().find(|call| call.root == root);
        let call = call.ok_or(damaged("a root without a call"))?;
        if !call.has_array {
            return Ok(None);
        }
        let ty = self.func_type(call.results)?;
        let count = ty.params().len().max(ty.results().len()).max(1);
        Ok(Some(vec![RawVal::ZERO; count].into_boxed_slice()))
    }

    fn func_type(&self, name: TypeName) -> Result<FuncType> {
        let info = self.places().type_info(name)?;
        // SAFETY: types live as long as the engine.
        Ok(self.store.options.types.func_type(unsafe { (*info).id }))
    }

    /// Parks a stack: its frames are packed, as they are.
    fn pack(&mut self, number: usize, block: ControlBlock, bytes: &[u8], fp: usize) -> Result<()> {
        let block = ControlBlock { fp, ..block };
        self.store.stacks.restore_parked(number, block, bytes, LINKED_END)
    }

    /// Gives a stack memory of its own.
    fn place(&mut self, number: usize, block: ControlBlock, bytes: &[u8], fp: usize) -> Result<()> {
        self.store.stacks.restore_slot(number, block)?;
        self.place_frames(number, bytes, fp, 0)
    }

    /// Makes a root of a block. Above its frames is the store, which the stub needs that it
    /// returns to.
    fn place_root(
        &mut self,
        number: usize,
        block: ControlBlock,
        bytes: &[u8],
        fp: usize,
        values: Option<Box<[RawVal]>>,
    ) -> Result<()> {
        let mut bytes = bytes.to_vec();
        bytes.extend_from_slice(&(self.store.context_ptr() as u64).to_le_bytes());
        bytes.extend_from_slice(&[0; ABOVE_ROOT - 8]);
        let memory = self.store.options.arena.take_root()?;
        let root = self.store.stacks.restore_root(number, block, memory);
        self.roots.push(RestoredRoot { number, root, values });
        self.place_frames(number, &bytes, fp, ABOVE_ROOT)
    }

    /// Puts frames onto a stack that has nothing on it; links to them are from the end, or
    /// from so far below it.
    fn place_frames(&mut self, number: usize, bytes: &[u8], fp: usize, above: usize) -> Result<()> {
        let block = self.store.stacks.block(number);
        // SAFETY: the block has a stack with nothing on it, and nobody knows its address.
        unsafe {
            let room = self.store.make_room(block, bytes.len());
            room.map_err(Trap::from_code)?;
            let end = crate::stack::end_of_frames(&*block);
            let sp = end - bytes.len();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), sp as *mut u8, bytes.len());
            (*block).sp = sp;
            let distance = (end - above).wrapping_sub(LINKED_END);
            (*block).fp = 0;
            if fp != 0 {
                (*block).fp = fp.wrapping_add(distance);
                crate::stack::move_links((*block).fp, distance);
            }
        }
        Ok(())
    }

    fn marks(&mut self, number: usize, images: &[MarkImage]) -> Result<()> {
        if images.is_empty() {
            return Ok(());
        }
        // SAFETY: the stack was placed just now.
        let above = unsafe {
            let stack = &*self.store.stacks.block(number);
            crate::stack::LeftAt::depth(stack) - crate::stack::bytes_in_frames(stack)
        };
        let is_root = self.is_root(number);
        let above = above + if is_root { ABOVE_ROOT } else { 0 };
        let marks = images.iter().map(|image| self.mark(image, above));
        let marks = marks.collect::<Result<Vec<_>>>()?;
        self.store.stacks.restore_marks(number, marks);
        Ok(())
    }

    fn is_root(&self, number: usize) -> bool {
        // SAFETY: blocks of the table are always initialised.
        unsafe { (*self.store.stacks.block(number)).purpose == Purpose::Root }
    }

    fn mark(&self, image: &MarkImage, above: usize) -> Result<Mark> {
        let function = |number| Ok::<_, anyhow::Error>(self.address(number)? as *const FuncRef);
        let kind = match &image.kind {
            MarkKindImage::Answer { tag, function: f, env } => MarkKind::Answer {
                tag: self.places().tag(*tag as usize)?,
                function: function(*f)?,
                env: self.reference(*env)?,
            },
            MarkKindImage::Redirect { boxed } => {
                MarkKind::Redirect { boxed: self.reference(*boxed)? }
            }
            MarkKindImage::RedirectTo { function: f, taker, env } => MarkKind::RedirectTo {
                function: function(*f)?,
                taker: function(*taker)?,
                env: self.reference(*env)?,
            },
            MarkKindImage::Walk { at, taken } => {
                let taken = taken.iter().map(|taken| self.taken(taken));
                MarkKind::Walk(Walk { at: *at, taken: taken.collect::<Result<Vec<_>>>()? })
            }
        };
        Ok(Mark { depth: image.depth as usize + above, serial: image.serial, kind })
    }

    fn taken(&self, image: &TakenImage) -> Result<Taken> {
        Ok(match *image {
            TakenImage::FromBox { boxed, stack } => {
                Taken::FromBox { boxed: self.reference(boxed)?, stack }
            }
            TakenImage::FromFunction { taker, env, stack, mark } => Taken::FromFunction {
                taker: self.address(taker)? as *const FuncRef,
                env: self.reference(env)?,
                stack,
                mark,
            },
        })
    }

    // ---- the end

    fn finish(mut self) -> Result<RestoredStore> {
        self.store.stacks_instance = self.image.stacks_instance;
        let mut calls = Vec::new();
        for call in std::mem::take(&mut self.image.calls) {
            calls.push(self.call(call)?);
        }
        Ok(RestoredStore { calls, names: self.image.names, modules: self.modules })
    }

    fn call(&mut self, image: CallImage) -> Result<RestoredCall> {
        let awaited = match image.awaited {
            Some(name) => self.func_type(name)?.results().to_vec(),
            None => Vec::new(),
        };
        let results = self.func_type(image.results)?.results().to_vec();
        let place = self.roots.iter().position(|root| root.number == image.root);
        let place = place.ok_or(damaged("a call without a root"))?;
        let RestoredRoot { root, values, .. } = self.roots.swap_remove(place);
        let [stack, base] = [self.block(image.stack)?, self.block(image.base)?];
        let extending = self.block(image.extending)?;
        self.store.context_mut().extending = extending;
        let waiting = Waiting { rest: AnyRest::new(Nothing), scope: Scope::NONE };
        let pending = self.store.restore_frozen(root, stack, base, waiting)?;
        Ok(RestoredCall { import: image.import, awaited, results, values, pending })
    }
}

/// The number in the engine of a type of a module.
pub fn type_number(modules: &[Arc<LoadedModule>], name: TypeName) -> Result<u32, SnapshotError> {
    let number = match name {
        TypeName::OfModule(module, index) => {
            modules.get(module).and_then(|module| module.type_ids.get(index as usize))
        }
        TypeName::Extern => None,
    };
    number.copied().ok_or(damaged("a type is not there"))
}

/// Where links of frames lead to, as if all stacks ended there.
const LINKED_END: usize = 1 << 46;

/// How many bytes lie above the frames of a root that was restored.
pub(super) const ABOVE_ROOT: usize = 16;

/// A host function that nobody has called again.
struct Nothing;

impl Rest for Nothing {
    fn poll(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        std::task::Poll::Pending
    }

    fn conclude(self, _: &mut Store) -> ropewalk_abi::builtin::Outcome {
        unreachable!("it is never ready")
    }
}

/// Words become those of the store.
struct Reading<'r, 'a> {
    reader: &'r Reader<'a>,
    /// The address that links to the end of the bytes have.
    end: usize,
    /// The array with the values of the activation.
    values: Option<usize>,
    trampolines: &'r TrampolineMap,
}

impl Words for Reading<'_, '_> {
    fn code(&mut self, word: &mut u64) -> Result<usize> {
        let symbol = self.reader.symbol(u32::try_from(*word)?)?;
        let address = self.reader.places().address(symbol, self.values)?;
        *word = address as u64;
        Ok(address)
    }

    fn link(&mut self, word: &mut u64, len: usize) -> Result<Option<usize>> {
        if *word == 0 {
            return Ok(None);
        }
        let below = *word as usize;
        let at = len.checked_sub(below).ok_or(damaged("a link leads nowhere"))?;
        *word = (self.end - below) as u64;
        Ok(Some(at))
    }

    fn reference(&mut self, word: &mut u64) -> Result<()> {
        *word = self.reader.reference(*word)?;
        Ok(())
    }

    fn pointer(&mut self, word: &mut u64, _: bool) -> Result<()> {
        let symbol = self.reader.symbol(u32::try_from(*word)?)?;
        *word = self.reader.places().address(symbol, self.values)? as u64;
        Ok(())
    }

    fn ty(&mut self, word: &mut u64) -> Result<*const TypeInfo> {
        let symbol = self.reader.symbol(u32::try_from(*word)?)?;
        let address = self.reader.places().address(symbol, None)?;
        *word = address as u64;
        Ok(address as *const TypeInfo)
    }

    fn func_type(&self, ty: *const TypeInfo) -> FuncType {
        // SAFETY: types live as long as the engine.
        self.reader.store.options.types.func_type(unsafe { (*ty).id })
    }

    fn context(&self) -> &StoreContext {
        self.reader.store.context()
    }

    fn module_at(&self, address: usize) -> Option<(Arc<LoadedModule>, u32)> {
        let (module, offset) = self.reader.store.module_at(address - 1)?;
        Some((module.clone(), offset + 1))
    }

    fn trampoline_at(&self, address: usize) -> Option<(&LoadedTrampoline, u32)> {
        self.trampolines.at(address)
    }
}
