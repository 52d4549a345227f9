//! Writing a store down.

use super::image::{
    CallImage, CallTo, Handle, Image, ImportImage, InstanceImage, MemoryImage, ModuleImage, Named,
    TableImage, TypeName, TypeOfValue,
};
use super::sections::{Bytes, SnapshotError};
use super::stacks::end_of_frames;
use super::symbol::{ByAddress, Symbol, Symbols, Trampolines, comes_back, ends_call};
use super::words::Shapes;
use crate::activation::LeavePoint;
use crate::arch::stubs;
use crate::backtrace::Backtrace;
use crate::code::LoadedModule;
use crate::frames::{Frame, Frames};
use crate::heap::Object;
use crate::instance::Instance;
use crate::pending::{Awaits, Frozen};
use crate::store::Store;
use crate::trap::Trap;
use anyhow::Result;
use ropewalk_abi::code::TrampolineKind;
use ropewalk_abi::heap::{EXCEPTION_TAG, is_object};
use ropewalk_abi::module::{Import, Item};
use ropewalk_abi::stack::{EVERY_TAG, Purpose, block_number};
use ropewalk_abi::{
    CompositeType, ControlBlock, FuncImport, HeapType, HostContext, RawVal, RefType, StorageType,
    StoreContext, TableType, TypeKind, ValType,
};
use std::any::Any;
use std::collections::HashMap;
use std::ops::Range;
use std::ptr;

/// What is taken, and what the host says of it.
pub struct Take<'a> {
    /// The trampolines of the engine.
    pub trampolines: &'a dyn Trampolines,
    /// The hash of a module, and whether it is the engine's own.
    pub module: &'a dyn Fn(&LoadedModule) -> ([u8; 32], bool),
    /// The settings of the engine.
    pub settings: Vec<u8>,
    /// What the host has names for.
    pub names: Vec<(String, Handle)>,
    /// Writes a value of the host.
    pub host_value: &'a dyn Fn(&(dyn Any + Send + Sync)) -> Result<Vec<u8>>,
    /// What is known already.
    pub base: Option<&'a Bytes>,
    /// What runs, if anything does.
    pub running: Option<Running>,
}

/// Why the activation that runs does not run now.
#[derive(Clone, Copy, Debug)]
pub enum Running {
    /// It has called a host function, of this context.
    InHostCall(*const HostContext),
    /// It has stopped at a check point.
    Paused,
}

/// Writes a store down.
pub fn take(store: &mut Store, take: &Take<'_>) -> Result<Bytes> {
    // What the host has dropped it does not hold.
    store.free_released();
    check(store, take)?;
    // What is not in use any more is not written.
    store.collect(0).map_err(Trap::from_code)?;
    let writer = Writer {
        symbols: Symbols::of(store, take.trampolines),
        objects: store.objects(),
        image: Image::default(),
        frames: Vec::new(),
        types: HashMap::new(),
        codes: HashMap::default(),
        shapes: Shapes::default(),
        take,
    };
    writer.write()
}

fn check(store: &Store, take: &Take<'_>) -> Result<(), SnapshotError> {
    if !store.options.snapshots {
        return Err(SnapshotError::Disabled);
    }
    if store.is_poisoned() {
        return Err(SnapshotError::Poisoned);
    }
    if store.depth > usize::from(take.running.is_some()) {
        return Err(SnapshotError::Nested(caller_of_host(store, take)));
    }
    let unsaid = store.all_frozen().filter(|frozen| matches!(frozen.awaits, Awaits::Unsaid));
    match unsaid.count() {
        0 => {}
        count => return Err(SnapshotError::Limiter(count)),
    }
    let named = held_by_name(store, take)?;
    match store.stacks.held.numbers().filter(|number| !named.contains_key(number)).count() {
        0 => Ok(()),
        count => Err(SnapshotError::Unnamed(count)),
    }
}

/// The numbers of what the host holds under a name, each with its name.
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
        if store.stacks.valid(reference).is_none() || !store.stacks.held.has(number) {
            return Err(SnapshotError::Gone { what, name: name.clone() });
        }
        if let Some(before) = names.insert(number, name.as_str()) {
            return Err(SnapshotError::NamedTwice { name: name.clone(), before: before.into() });
        }
    }
    Ok(names)
}

/// The function that has called the host function which is in the way, if it has a name: the
/// innermost of those that did not ask.
fn caller_of_host(store: &Store, take: &Take<'_>) -> Option<String> {
    // SAFETY: the running stack's block is alive.
    let newest = unsafe { store.context().stack.as_ref() };
    let newest = newest.filter(|_| take.running.is_none());
    let stack = newest.into_iter().chain(store.outer_stacks()).next()?;
    // SAFETY: the stack is in a call of the host.
    let backtrace = unsafe { Backtrace::capture(store, &LeavePoint::in_host_call(stack)) };
    Some(backtrace.frames().first()?.function_name()?.to_string())
}

/// An activation that does not run, and how it was left.
struct Left<'a> {
    root: *mut ControlBlock,
    stack: *mut ControlBlock,
    base: *mut ControlBlock,
    /// The host function that it waits for.
    host: Option<*const HostContext>,
    arguments: Option<&'a [RawVal]>,
}

pub(super) struct Writer<'a> {
    pub symbols: Symbols<'a>,
    /// Where objects lie.
    pub objects: Range<u64>,
    pub image: Image,
    /// The bytes of all frames.
    pub frames: Vec<u8>,
    /// The numbers of types.
    types: HashMap<TypeName, u32>,
    /// The numbers of addresses of code: a million stacks have few.
    pub codes: HashMap<usize, u32, ByAddress>,
    pub shapes: Shapes,
    pub take: &'a Take<'a>,
}

impl Writer<'_> {
    pub fn store(&self) -> &Store {
        self.symbols.store()
    }

    fn write(mut self) -> Result<Bytes> {
        let store = self.symbols.store();
        for module in self.symbols.modules.clone() {
            let (hash, is_engines) = (self.take.module)(&module);
            let name = module.info.name.clone();
            self.image.modules.push(ModuleImage { hash, name, is_engines });
        }
        for number in 0..store.instances().len() {
            let instance = self.instance(number)?;
            self.image.instances.push(instance);
        }
        self.standalone()?;
        self.host_values()?;
        let heap = self.heap()?;
        self.calls()?;
        self.stacks()?;
        let context = store.context();
        (self.image.captures, self.image.newest_mark) =
            (context.captures, store.stacks.newest_mark());
        self.image.stacks_instance = store.stacks_instance;
        self.image.limits = store.stacks.limits();
        for (name, named) in &self.take.names {
            let named = self.named(named)?;
            self.image.names.push((name.clone(), named));
        }
        let types: HashMap<u32, TypeName> =
            self.types.iter().map(|(name, number)| (*number, *name)).collect();
        self.image.types = (0..types.len() as u32).map(|number| types[&number]).collect();
        self.image.symbols = std::mem::take(&mut self.symbols.named);
        let image = postcard::to_allocvec(&self.image)?;
        let mut sections: Vec<&[u8]> = vec![&self.take.settings, &image, &heap, &self.frames];
        sections.extend(store.memories().iter().map(|memory| memory.data()));
        Ok(Bytes::new(&sections, self.take.base))
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

    /// A reference as it is written.
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

    /// What the record of a function is.
    fn function(&self, address: usize) -> Result<Symbol, SnapshotError> {
        match self.symbols.find(address) {
            Some(symbol @ Symbol::Instance(..)) => Ok(symbol),
            _ => Err(SnapshotError::HostFunction),
        }
    }

    /// The number of a symbol for a function, or of none.
    pub fn function_number(&mut self, address: usize) -> Result<u32> {
        if address == 0 {
            return Ok(super::image::NOTHING);
        }
        let symbol = self.function(address)?;
        Ok(self.symbols.number(symbol))
    }

    /// A value of a type as it is written.
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
        let instance = &store.instances()[number];
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
            dropped_data: instance.dropped_data().to_vec(),
        })
    }

    fn import(&self, number: usize, import: usize) -> Result<ImportImage> {
        let store = self.symbols.store();
        let instance = &store.instances()[number];
        Ok(match instance.module().info.imports[import].item {
            Item::Func(function) => self.imported_function(number, function)?,
            Item::Table(table) => ImportImage::Table(instance.table(table)),
            Item::Memory(memory) => ImportImage::Memory(instance.memory(memory)),
            Item::Tag(tag) => ImportImage::Tag(self.symbols.tag(instance.tag(tag).as_ptr())?),
            Item::Global(global) => {
                let place = instance.global(global).place;
                if let Some(own) = store.own_globals().position(|own| own == place) {
                    return Ok(ImportImage::OwnGlobal(own));
                }
                let found = store.instances().iter().enumerate().find_map(|(number, instance)| {
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
        let instance = &store.instances()[number];
        let FuncImport { code, context } = instance.function_import(function);
        if let Some(host) = instance.host_context(function) {
            return Ok(ImportImage::Host(same_host(store, number, &host)));
        }
        let Some(Symbol::Instance(owner, 0)) = self.symbols.find(context as usize) else {
            return Err(SnapshotError::HostFunction);
        };
        let found = store.instances()[owner].func_ref_with_code(code);
        let found = found.ok_or(SnapshotError::Unknown("a function", code as usize))?;
        Ok(ImportImage::Func(owner, found))
    }

    // ---- what belongs to the store

    fn standalone(&mut self) -> Result<()> {
        let store = self.symbols.store();
        let defined_memories = |instance: &Instance| {
            instance.memories[instance.module().info.imported_memories as usize..].to_vec()
        };
        let defined_tables = |instance: &Instance| {
            instance.tables[instance.module().info.imported_tables as usize..].to_vec()
        };
        let memories: Vec<usize> = store.instances().iter().flat_map(defined_memories).collect();
        let tables: Vec<usize> = store.instances().iter().flat_map(defined_tables).collect();
        for (number, memory) in store.memories().iter().enumerate() {
            let own = (!memories.contains(&number)).then(|| memory.ty());
            self.image.memories.push(MemoryImage { pages: memory.size(), own });
        }
        for (number, table) in store.tables.iter().enumerate() {
            let words = table.elements().iter().map(|word| self.reference(*word));
            let elements = words.collect::<Result<Vec<_>>>()?;
            let own = match tables.contains(&number) {
                true => None,
                false => {
                    let TableType { element, table64, minimum, maximum } = table.ty();
                    let element = self.type_of_value(ValType::Ref(element))?;
                    Some((element, table64, minimum, maximum))
                }
            };
            self.image.tables.push(TableImage { elements, own });
        }
        for (place, ty) in store.own_globals().zip(store.own_global_types()) {
            // SAFETY: the global is of the store.
            let value = unsafe { place.get(store) };
            let written = self.value(value, ty.content)?;
            let of_value = self.type_of_value(ty.content)?;
            self.image.globals.push((of_value, ty.mutable, written));
        }
        let defined: Vec<usize> = self.defined_tags()?;
        for (number, tag) in store.tags.iter().enumerate() {
            let own = match defined.contains(&number) {
                true => None,
                false => Some(self.symbols.known_type(tag.ty)?),
            };
            self.image.tags.push(own);
        }
        Ok(())
    }

    fn defined_tags(&self) -> Result<Vec<usize>, SnapshotError> {
        let mut defined = Vec::new();
        for instance in self.store().instances() {
            let info = &instance.module().info;
            for tag in info.imported_tags..info.tags.len() as u32 {
                defined.push(self.symbols.tag(instance.tag(tag).as_ptr())?);
            }
        }
        Ok(defined)
    }

    fn host_values(&mut self) -> Result<()> {
        let store = self.symbols.store();
        for number in 0..store.heap.extern_count() {
            let value = store.heap.extern_value(number as u64);
            let written = value.map(|value| (self.take.host_value)(value)).transpose();
            let written =
                written.map_err(|error| SnapshotError::HostValue(format!("{error:#}")))?;
            self.image.host_values.push(written);
        }
        Ok(())
    }

    // ---- the heap

    /// The objects, with numbers of types as their first words.
    fn heap(&mut self) -> Result<Vec<u8>> {
        let Range { start, end } = self.objects;
        let mut bytes = Vec::with_capacity((end - start) as usize);
        let mut at = start;
        while at < end {
            // SAFETY: objects lie one after another, and nothing runs.
            let object = unsafe { Object::from_reference(at) }.expect("objects are aligned");
            let size = object.size();
            let begin = bytes.len();
            // SAFETY: the object is as long as it says.
            bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(at as *const u8, size) });
            self.object(object, &mut bytes[begin..])?;
            at += size as u64;
        }
        Ok(bytes)
    }

    fn object(&mut self, object: Object, bytes: &mut [u8]) -> Result<()> {
        let ty = object.ty();
        let name = self.symbols.known_type(ty)?;
        let next = self.types.len() as u32;
        let number = *self.types.entry(name).or_insert(next);
        put(bytes, 0, number.into());
        for place in places_of_references(self.symbols.store(), object) {
            let word = get(bytes, place);
            put(bytes, place, self.reference(word)?);
        }
        if ty.kind == TypeKind::Func {
            put(bytes, EXCEPTION_TAG as usize, self.symbols.tag(object.tag())? as u64);
        }
        Ok(())
    }

    // ---- activations

    /// The activations that wait; then the one that runs, if there is one.
    fn calls(&mut self) -> Result<()> {
        let store = self.symbols.store();
        let mut calls = Vec::new();
        for frozen in store.all_frozen() {
            let (host, arguments) = match &frozen.awaits {
                Awaits::Host { context, arguments } => (Some(*context), arguments.as_deref()),
                Awaits::Turn | Awaits::Unsaid => (None, None),
            };
            let &Frozen { ref root, stack, base, .. } = frozen;
            calls.push(Left { root: root.block, stack, base, host, arguments });
        }
        if let Some(running) = self.take.running {
            let host = match running {
                Running::InHostCall(host) => Some(host),
                Running::Paused => None,
            };
            let root = store.roots[store.depth - 1].block;
            let &StoreContext { stack, base, extending, .. } = store.context();
            self.image.extending = store.stacks.number_of(extending).unwrap_or(0);
            calls.push(Left { root, stack, base, host, arguments: None });
        }
        for left in calls {
            let call = self.call(&left)?;
            self.image.calls.push(call);
        }
        Ok(())
    }

    fn call(&mut self, left: &Left<'_>) -> Result<CallImage> {
        let store = self.symbols.store();
        let number = |block: *const ControlBlock| {
            store.stacks.number_of(block).expect("blocks lie in the table")
        };
        let (import, mut results) = match left.host {
            None => (None, None),
            // SAFETY: the host function was called with this context.
            Some(host) => unsafe {
                let awaited = self.symbols.known_type((*host).ty)?;
                (Some(self.import_of(&*host)?), Some(awaited))
            },
        };
        // SAFETY: the root of the activation is alive.
        let root = unsafe { &*left.root };
        let (to, found) = match root.is_spent() {
            true => (CallTo::Nobody, None),
            false => self.returns_to(left)?,
        };
        results = found.or(results);
        if results.is_none() && !root.is_spent() {
            return Err(SnapshotError::Unknown("a call", 0).into());
        }
        let arguments = left.arguments.map(|arguments| {
            arguments.iter().map(|argument| argument.u128().to_le_bytes()).collect()
        });
        Ok(CallImage {
            root: number(root),
            stack: number(left.stack),
            base: number(left.base),
            import,
            arguments,
            results,
            to,
        })
    }

    /// Where the call of an activation returns to, and a type with its results, if the frames of
    /// its root say so.
    fn returns_to(&mut self, left: &Left<'_>) -> Result<(CallTo, Option<TypeName>)> {
        // SAFETY: the root of the activation is alive.
        let root = unsafe { &*left.root };
        // SAFETY: what a root was entered by lies at its end.
        let entered = unsafe { *((end_of_frames(root) - size_of::<usize>()) as *const usize) };
        let entered = self.symbols.code(entered);
        if entered.is_some_and(comes_back) {
            let (reference, ty) = self.resumed(left)?;
            let clauses = self.clauses(root)?;
            return Ok((CallTo::Resume { reference, clauses }, Some(ty)));
        }
        if !entered.is_some_and(ends_call) {
            let root = ptr::from_ref(root) as usize;
            return Err(SnapshotError::Unknown("a root", root).into());
        }
        let Some(frame) = outermost_function(self.symbols.store(), root) else {
            return Ok((CallTo::Call { has_array: false }, None));
        };
        let results = self.results_of(&frame)?;
        let trampoline = self.symbols.trampolines().at(frame.pc());
        let has_array = trampoline.is_some_and(|(found, _)| found.kind == TrampolineKind::Entry);
        Ok((CallTo::Call { has_array }, Some(results)))
    }

    /// The reference of the continuation that the host has resumed from the root of an activation,
    /// and a type with its results.
    fn resumed(&self, left: &Left<'_>) -> Result<(u64, TypeName)> {
        let store = self.store();
        // SAFETY: stacks of activations are alive, and so is what is suspended with a root.
        let (stack, innermost) = unsafe { (&*left.stack, &*(*left.root).innermost) };
        // What was resumed runs, or another base does, and it is suspended with the root. Other
        // stacks may name the root as a parent that they had once.
        let running = store.with_extender(stack).chain(store.with_extender(innermost));
        let child = running.into_iter().find(|stack| ptr::eq(stack.parent, left.root));
        let Some(child) = child.filter(|child| child.purpose == Purpose::Continuation) else {
            return Err(SnapshotError::Resumed(match child.map(|child| child.purpose) {
                Some(Purpose::Task) => "a task",
                Some(Purpose::Fiber) => "a fiber",
                _ => "a stack",
            })
            .into());
        };
        let outermost = outermost_function(self.store(), child);
        let outermost = outermost.ok_or(SnapshotError::Unknown("a continuation", 0))?;
        Ok((child.reference, self.results_of(&outermost)?))
    }

    /// The clauses with which a root waits, as symbols.
    fn clauses(&mut self, root: &ControlBlock) -> Result<Vec<u32>> {
        let mut symbols = Vec::new();
        for number in 0.. {
            // SAFETY: the host keeps them as long as the root waits; a zero is the last.
            let word = unsafe { *root.handlers.add(number) };
            let symbol = match word {
                0 => break,
                EVERY_TAG => Symbol::Number(word),
                word => self.symbols.find(word as usize).unwrap_or(Symbol::Number(0)),
            };
            if !matches!(symbol, Symbol::Tag(..) | Symbol::Number(1..)) {
                return Err(SnapshotError::Unknown("a clause", word as usize).into());
            }
            symbols.push(self.symbols.number(symbol));
        }
        Ok(symbols)
    }

    /// A type with the results of a function, by its frame.
    fn results_of(&self, frame: &Frame<'_>) -> Result<TypeName, SnapshotError> {
        let pc = frame.pc();
        if let Some((trampoline, _)) = self.symbols.trampolines().at(pc) {
            let info = self.store().options.types.get(trampoline.type_id).info();
            return self.symbols.known_type(info);
        }
        let unknown = SnapshotError::Unknown("a function", pc);
        let Some((module, offset)) = self.store().module_at(pc - 1) else { return Err(unknown) };
        let tables = module.code.tables();
        let Some(function) = tables.function_at(offset) else { return Err(unknown) };
        let function = tables.functions[function as usize].function;
        let Some(ty) = module.info.functions.get(function as usize) else { return Err(unknown) };
        self.symbols.known_type(module.type_infos[*ty as usize].0)
    }

    /// The import by which a host function was called.
    fn import_of(&self, host: &HostContext) -> Result<(usize, usize), SnapshotError> {
        for (number, instance) in self.symbols.store().instances().iter().enumerate() {
            let is_host = |import: &Import| match import.item {
                Item::Func(function) => instance.is_host_context(function, host),
                _ => false,
            };
            if let Some(import) = instance.module().info.imports.iter().position(is_host) {
                return Ok((number, import));
            }
        }
        Err(SnapshotError::HostFunction)
    }
}

/// The outermost function of a stack that was left.
fn outermost_function<'a>(store: &'a Store, stack: &ControlBlock) -> Option<Frame<'a>> {
    // What continues a call that was left is no frame of a function.
    let continues = stubs::continue_call as *const () as usize;
    Frames::of_host_call(store, stack).filter(|frame| frame.pc() != continues).last()
}

/// The first import before an instance's own that is the same host function, by its instance
/// and its number there.
fn same_host(store: &Store, before: usize, host: &HostContext) -> Option<(usize, usize)> {
    store.instances()[..before].iter().enumerate().find_map(|(number, instance)| {
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

/// Where in an object references of any kind are, functions too.
pub(super) fn places_of_references(store: &Store, object: Object) -> Vec<usize> {
    let ty = object.ty();
    if ty.kind == TypeKind::Extern {
        return Vec::new();
    }
    let registered = store.options.types.get(ty.id);
    let is_reference = |storage: &StorageType| matches!(storage, StorageType::Val(ValType::Ref(_)));
    let offsets = registered.layout().offsets.iter().map(|offset| *offset as usize);
    match &registered.ty().composite {
        CompositeType::Struct(ty) => {
            let fields = ty.fields.iter().zip(offsets);
            fields.filter(|(f, _)| is_reference(&f.storage)).map(|(_, at)| at).collect()
        }
        CompositeType::Func(ty) => {
            let values = ty.params().iter().zip(offsets);
            values.filter(|(ty, _)| matches!(ty, ValType::Ref(_))).map(|(_, at)| at).collect()
        }
        CompositeType::Array(array) if is_reference(&array.element.storage) => {
            let first = ropewalk_abi::heap::ARRAY_ELEMENTS as usize;
            (0..object.len() as usize).map(|i| first + i * size_of::<u64>()).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn get(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

pub(super) fn put(bytes: &mut [u8], at: usize, word: u64) {
    bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
}
