//! Instances, and the memory that generated code accesses by their layout.

use super::global::{GlobalItem, GlobalPlace};
use crate::code::LoadedModule;
use ropewalk_abi::{
    FuncImport, FuncRef, GlobalType, HostContext, InstanceHeader, RawVal, TagDef, ValType,
};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// An instance of a module.
#[derive(Debug)]
pub struct Instance {
    pub(crate) place: ExportPlace,
    pub(crate) module: Arc<LoadedModule>,
    /// The numbers of its memories in the store.
    pub(crate) memories: Vec<usize>,
    /// The numbers of its tables in the store.
    pub(crate) tables: Vec<usize>,
    /// The type of each imported global: its own, which may be a subtype of the import's.
    pub(crate) imported_globals: Vec<GlobalType>,
    /// The element segments; dropped ones are empty.
    pub(crate) elements: Vec<Vec<u64>>,
    pub(crate) dropped_data: Vec<bool>,
}

/// The memory of an instance, whose address generated code knows.
#[derive(Debug)]
pub(crate) struct ExportPlace {
    header: NonNull<InstanceHeader>,
    layout: Layout,
}

// SAFETY: the memory is used only together with its store.
unsafe impl Send for ExportPlace {}
// SAFETY: as above.
unsafe impl Sync for ExportPlace {}

impl ExportPlace {
    pub(crate) fn new(size: usize) -> ExportPlace {
        let layout = Layout::from_size_align(size, 16).expect("instances are smaller than 2 GiB");
        // SAFETY: the size is not zero, since an instance has a header.
        let memory = unsafe { alloc_zeroed(layout) };
        match NonNull::new(memory.cast()) {
            Some(header) => ExportPlace { header, layout },
            None => handle_alloc_error(layout),
        }
    }

    pub(crate) fn header(&self) -> NonNull<InstanceHeader> {
        self.header
    }

    /// A pointer to an offset that comes from the layout.
    pub(crate) fn at<T>(&self, offset: i32) -> NonNull<T> {
        let offset = offset as usize;
        assert!(offset + size_of::<T>() <= self.layout.size());
        // SAFETY: the offset lies in the allocation.
        unsafe { self.header.cast::<u8>().add(offset).cast() }
    }

    pub(crate) fn write<T>(&self, offset: i32, value: T) {
        // SAFETY: `at` checks the bounds; layouts align their offsets.
        unsafe { self.at(offset).write(value) }
    }

    pub(crate) fn write_all<T: Copy>(&self, offset: i32, values: &[T]) {
        for (i, value) in values.iter().enumerate() {
            self.write(offset + (i * size_of::<T>()) as i32, *value);
        }
    }
}

impl Drop for ExportPlace {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.header.as_ptr().cast(), self.layout) }
    }
}

impl Instance {
    /// The module of the instance.
    pub fn module(&self) -> &Arc<LoadedModule> {
        &self.module
    }

    pub(crate) fn header(&self) -> NonNull<InstanceHeader> {
        self.place.header
    }

    /// A function as a value. It must be one that is used as a value.
    pub fn func_ref(&self, function: u32) -> NonNull<FuncRef> {
        let number = self.module.info.func_refs[function as usize];
        self.place.at(self.module.layout.func_ref(number))
    }

    /// The number of a table in the store.
    pub fn table(&self, table: u32) -> usize {
        self.tables[table as usize]
    }

    /// The number of a memory in the store.
    pub fn memory(&self, memory: u32) -> usize {
        self.memories[memory as usize]
    }

    /// A global.
    pub fn global(&self, global: u32) -> GlobalItem {
        let ty = match self.imported_globals.get(global as usize) {
            Some(ty) => *ty,
            None => self.module.engine_global_type(self.module.info.globals[global as usize]),
        };
        GlobalItem { place: GlobalPlace(self.global_place(global)), ty }
    }

    pub(crate) fn global_place(&self, global: u32) -> NonNull<RawVal> {
        let layout = &self.module.layout;
        if global >= self.module.info.imported_globals {
            return self.place.at(layout.defined_global(global));
        }
        // SAFETY: imports are set before they are read.
        unsafe { self.place.at::<NonNull<RawVal>>(layout.imported_global(global)).read() }
    }

    /// An imported function, as calls use it.
    pub(crate) fn function_import(&self, function: u32) -> FuncImport {
        let offset = self.module.layout.imported_function(function);
        // SAFETY: imports are set before they are read.
        unsafe { self.place.at::<FuncImport>(offset).read() }
    }

    /// The context of an imported function, if it is a host function.
    pub(crate) fn host_context(&self, function: u32) -> Option<HostContext> {
        // SAFETY: it is set if the import is a host function.
        self.host_context_place(function).map(|place| unsafe { place.read() })
    }

    /// The place of that context.
    pub(crate) fn host_context_place(&self, function: u32) -> Option<*const HostContext> {
        let place = self.place.at::<HostContext>(self.module.layout.host_context(function));
        let import = self.function_import(function);
        ptr::eq(import.context, place.as_ptr().cast()).then_some(place.as_ptr().cast_const())
    }

    /// The number of the record of a function that the module defines, by its code.
    pub(crate) fn func_ref_with_code(&self, code: *const std::ffi::c_void) -> Option<u32> {
        let numbers = 0..self.module.info.func_ref_count;
        numbers.into_iter().find(|number| {
            // SAFETY: the records are set when the instance is made.
            let func_ref = unsafe { self.func_ref_by_number(*number).read() };
            ptr::eq(func_ref.code, code) && ptr::eq(func_ref.context, self.header().as_ptr().cast())
        })
    }

    /// The record of a function, by its number.
    pub(crate) fn func_ref_by_number(&self, number: u32) -> NonNull<FuncRef> {
        self.place.at(self.module.layout.func_ref(number))
    }

    /// A tag.
    pub fn tag(&self, tag: u32) -> NonNull<TagDef> {
        // SAFETY: tags are set before they are read.
        unsafe { self.place.at::<NonNull<TagDef>>(self.module.layout.tag(tag)).read() }
    }

    /// Calls a function with each reference in element segments that the collector follows.
    pub(crate) fn visit_elements(&mut self, visit: &mut impl FnMut(&mut u64)) {
        let info = &self.module.info;
        for (segment, elements) in info.elements.iter().zip(&mut self.elements) {
            if info.is_collected(ValType::Ref(segment.ty)) {
                elements.iter_mut().for_each(&mut *visit);
            }
        }
    }

    pub(crate) fn data_segment(&self, segment: usize) -> &[u8] {
        if self.dropped_data[segment] {
            return &[];
        }
        &self.module.code.tables().data[self.module.info.data[segment].bytes.clone()]
    }

    pub(crate) fn drop_data(&mut self, segment: usize) {
        self.dropped_data[segment] = true;
    }
}

/// A range of `len` from `start`, if it lies within `end`.
pub(crate) fn range(start: u64, len: u64, end: usize) -> Option<Range<usize>> {
    let stop = start.checked_add(len)?;
    (stop <= end as u64).then_some(start as usize..stop as usize)
}
