//! Loaded code: modules in executable memory, types, and files for native tools.

pub mod jitdump;
pub(crate) mod lines;
pub mod memory_image;
pub mod perf_map;
pub mod precompiled;
pub(crate) mod registry;
pub mod source;
pub mod types;

use crate::code::memory_image::MemoryImages;
use crate::code::precompiled::lazy_code::{Admission, Code};
use crate::code::precompiled::{Precompiled, PrecompiledError};
use crate::code::source::Source;
use crate::os::limits;
use crate::os::mapping::{Map, PAGE};
use ropewalk_abi::code::{CodeImage, CodeTables, FunctionCode, index};
use ropewalk_abi::module::{Item, ModuleInfo};
use ropewalk_abi::{
    ExternType, FuncType, GlobalType, HeapType, InstanceLayout, RefType, TableType, TagType,
    TypeInfo,
};
use std::any::Any;
use std::ffi::c_void;
use std::io;
use std::sync::{Arc, OnceLock};

/// Code in memory: written once, then executable and never writable again.
#[derive(Debug)]
pub struct CodeMemory {
    /// Where the code is.
    start: usize,
    len: usize,
    /// They borrow from `owner`, which does not change.
    tables: CodeTables<'static>,
    /// The registration with native debuggers, if there is one.
    pub(crate) registration: Option<Box<dyn Any + Send + Sync>>,
    owner: CodeOwner,
}

#[derive(Debug)]
#[allow(dead_code, reason = "kept for what lies in it")]
enum CodeOwner {
    /// An image, whose bytes are in a map.
    Image(Map, Box<CodeImage>),
    /// A file or a copy of one, and where its code is executable.
    Precompiled(Arc<Precompiled>, Code),
    /// Code without tables.
    Map(Map),
}

impl CodeMemory {
    /// Loads an image.
    pub fn load(mut image: CodeImage) -> io::Result<CodeMemory> {
        let bytes = std::mem::take(&mut image.bytes);
        let size = bytes.len().next_multiple_of(PAGE);
        let map = Map::for_code(size).map_err(|error| limits::explain(error, size))?;
        // SAFETY: the map is writable, new, and at least as long as the bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), map.base(), bytes.len()) };
        map.make_part_executable(0, size).map_err(|error| limits::explain(error, size))?;
        let start = map.base() as usize;
        let image = Box::new(image);
        // SAFETY: the boxed image with the tables never changes, and is dropped with the code.
        let tables = unsafe { forever(image.tables()) };
        Ok(CodeMemory::new(start, bytes.len(), tables, CodeOwner::Image(map, image)))
    }

    /// Loads a compiled module from a file.
    ///
    /// # Safety
    ///
    /// The bytes must come from [`write`](crate::code::precompiled::write) for this engine.
    pub unsafe fn of_precompiled(
        file: Arc<Precompiled>,
        code: Code,
    ) -> Result<CodeMemory, PrecompiledError> {
        let (start, len) = match &code {
            Code::InPlace(part) => (file.code_bytes().as_ptr() as usize, part.len()),
            Code::Lazy(code) => (code.start(), code.len()),
        };
        // SAFETY: the file with the tables never changes, and is dropped with the code.
        let tables = unsafe { forever(file.tables()?) };
        Ok(CodeMemory::new(start, len, tables, CodeOwner::Precompiled(file, code)))
    }

    /// Code without tables, already in a map.
    pub(crate) fn of_map(map: Map, len: usize) -> CodeMemory {
        CodeMemory::new(map.base() as usize, len, CodeTables::default(), CodeOwner::Map(map))
    }

    fn new(start: usize, len: usize, tables: CodeTables<'static>, owner: CodeOwner) -> CodeMemory {
        let code = CodeMemory { start, len, tables, registration: None, owner };
        registry::add(code.start(), code.end());
        code
    }

    /// The address of the first byte.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The address after the last byte.
    pub fn end(&self) -> usize {
        self.start() + self.len
    }

    /// The tables of the code.
    pub fn tables(&self) -> &CodeTables<'_> {
        &self.tables
    }

    /// The length of the code.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no code.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of the code. A file's may not be [checked](Self::check) yet.
    pub fn bytes(&self) -> &[u8] {
        match self.file() {
            Some(file) => file.code_bytes(),
            // SAFETY: the code is readable and never written.
            None => unsafe { std::slice::from_raw_parts(self.start as *const u8, self.len) },
        }
    }

    /// The file that contains the code, if one does.
    fn file(&self) -> Option<&Precompiled> {
        match &self.owner {
            CodeOwner::Precompiled(file, _) => Some(file),
            CodeOwner::Image(..) | CodeOwner::Map(_) => None,
        }
    }

    /// Checks all parts of a file that were not checked yet.
    pub fn check(&self) -> Result<(), PrecompiledError> {
        self.file().map_or(Ok(()), Precompiled::check_all)
    }

    /// Checks lazy code at an offset and makes it executable. Async-signal-safe.
    pub(crate) fn admit(&self, offset: u32) -> Option<Admission> {
        match &self.owner {
            CodeOwner::Precompiled(file, Code::Lazy(code)) => {
                Some(code.admit(file, offset as usize))
            }
            _ => None,
        }
    }

    /// Removes a cached file whose code was found to be damaged; returns whether it did.
    pub(crate) fn remove_if_damaged(&self) -> bool {
        self.file().is_some_and(Precompiled::remove_damaged)
    }

    /// The module in the binary format, if a file contains it.
    pub fn binary(&self) -> Option<&[u8]> {
        self.file()?.binary()
    }

    /// The byte of the module that the instruction at an offset comes from. At the safepoint where
    /// a function begins it is the beginning of the body. None if a file is damaged there.
    pub fn position_at(&self, offset: u32) -> Option<u32> {
        let body = || {
            let number = self.tables.function_at(offset)?;
            let code = self.tables.functions[number as usize];
            index(code.function).map(|_| code.body)
        };
        let has_positions = self.file().is_none_or(Precompiled::has_positions);
        has_positions.then(|| self.tables.position_at(offset).or_else(body))?
    }

    /// The offset of an address, if it lies in the code.
    pub fn offset_of(&self, address: usize) -> Option<u32> {
        (self.start()..self.end()).contains(&address).then(|| (address - self.start()) as u32)
    }

    /// The address of a function, by its number among the defined ones.
    pub fn function(&self, number: u32) -> *const c_void {
        let FunctionCode { start, .. } = self.tables.functions[number as usize];
        (self.start + start as usize) as *const c_void
    }
}

/// Extends the lifetime of tables.
///
/// # Safety
///
/// They must not be used longer than their owner.
unsafe fn forever(tables: CodeTables<'_>) -> CodeTables<'static> {
    // SAFETY: the types differ only in the lifetime, for which the caller is responsible.
    unsafe { std::mem::transmute::<CodeTables<'_>, CodeTables<'static>>(tables) }
}

impl Drop for CodeMemory {
    fn drop(&mut self) {
        self.registration = None;
        registry::remove(self.start());
    }
}

/// A module that can be instantiated.
#[derive(Debug)]
pub struct LoadedModule {
    /// The contents of its sections.
    pub info: ModuleInfo,
    /// The layout of its instances.
    pub layout: InstanceLayout,
    /// Its code.
    pub code: CodeMemory,
    /// The engine's numbers for its types.
    pub type_ids: Vec<u32>,
    /// The type records that its objects point to.
    pub type_infos: Vec<TypePointer>,
    /// The source that it was compiled from, if it is known.
    pub source: Option<Arc<dyn Source>>,
    /// Whether its code compares every memory index with the length.
    pub checks_memories: bool,
    /// The binary, for compiling the module again with other settings, unless the file has it.
    pub binary: Option<Box<[u8]>>,
    /// The module compiled again, with checks.
    pub checked: OnceLock<Arc<LoadedModule>>,
    /// The hash of its code, computed on demand.
    pub hash: OnceLock<[u8; 32]>,
    /// Shared with the module compiled again.
    pub identity: Arc<()>,
    /// The initial contents of its memories.
    pub images: MemoryImages,
}

/// A pointer to a type, which lives as long as the engine.
#[derive(Clone, Copy, Debug)]
pub struct TypePointer(pub *const TypeInfo);

// SAFETY: types never change.
unsafe impl Send for TypePointer {}
// SAFETY: as above.
unsafe impl Sync for TypePointer {}

impl LoadedModule {
    /// Whether both are the same module, perhaps compiled again.
    pub fn same(a: &LoadedModule, b: &LoadedModule) -> bool {
        Arc::ptr_eq(&a.identity, &b.identity)
    }

    /// The binary, if it is kept.
    pub fn binary(&self) -> Option<&[u8]> {
        self.binary.as_deref().or_else(|| self.code.binary())
    }

    /// The number of 32-bit memories that it defines.
    pub(crate) fn count_memories32(&self) -> usize {
        let defined = self.info.memories.iter().skip(self.info.imported_memories as usize);
        defined.filter(|ty| !ty.memory64).count()
    }

    fn engine_heap_type(&self, heap: HeapType) -> HeapType {
        match heap {
            HeapType::Concrete(index) => HeapType::Concrete(self.type_ids[index as usize]),
            other => other,
        }
    }

    /// The type of a table, with the engine's numbers.
    pub fn engine_table_type(&self, ty: TableType) -> TableType {
        let heap = self.engine_heap_type(ty.element.heap);
        TableType { element: RefType { heap, ..ty.element }, ..ty }
    }

    /// The type of a global, with the engine's numbers.
    pub fn engine_global_type(&self, ty: GlobalType) -> GlobalType {
        let content = ty.content.map_heap_type(&mut |heap| self.engine_heap_type(heap));
        GlobalType { content, ..ty }
    }

    /// The type of an item, with the engine's numbers.
    pub fn item_type(&self, item: Item) -> ExternType {
        let func_type = |ty: &FuncType| ty.map_heap_types(&mut |heap| self.engine_heap_type(heap));
        match self.info.item_type(item) {
            ExternType::Func(ty) => ExternType::Func(func_type(&ty)),
            ExternType::Table(ty) => ExternType::Table(self.engine_table_type(ty)),
            ExternType::Memory(ty) => ExternType::Memory(ty),
            ExternType::Global(ty) => ExternType::Global(self.engine_global_type(ty)),
            ExternType::Tag(ty) => ExternType::Tag(TagType { ty: func_type(&ty.ty) }),
        }
    }
}
