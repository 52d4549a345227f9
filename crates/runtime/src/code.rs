//! Loaded code.

use crate::map::{Map, PAGE};
use ropewalk_abi::InstanceLayout;
use ropewalk_abi::code::{CodeImage, FunctionCode};
use ropewalk_abi::module::ModuleInfo;
use std::ffi::c_void;
use std::io;

/// Code at its place: written once, then executable and never writable again.
#[derive(Debug)]
pub struct CodeMemory {
    map: Map,
    /// The image without its bytes, which are in the map.
    image: CodeImage,
    len: usize,
}

impl CodeMemory {
    /// Loads an image.
    pub fn load(mut image: CodeImage) -> io::Result<CodeMemory> {
        let bytes = std::mem::take(&mut image.bytes);
        let map = Map::read_write(bytes.len().next_multiple_of(PAGE))?;
        // SAFETY: the map is writable, new, and at least as long as the bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), map.base(), bytes.len()) };
        map.make_executable()?;
        Ok(CodeMemory { map, image, len: bytes.len() })
    }

    /// The address of the first byte.
    pub fn start(&self) -> usize {
        self.map.base() as usize
    }

    /// The address behind the last byte.
    pub fn end(&self) -> usize {
        self.start() + self.len
    }

    /// The tables.
    pub fn image(&self) -> &CodeImage {
        &self.image
    }

    /// The offset of an address in the code, if it lies there.
    pub fn offset_of(&self, address: usize) -> Option<u32> {
        (self.start()..self.end()).contains(&address).then(|| (address - self.start()) as u32)
    }

    /// The address of a function, by its number among the defined ones.
    pub fn function(&self, number: u32) -> *const c_void {
        let FunctionCode { start, .. } = self.image.functions[number as usize];
        self.map.base().wrapping_add(start as usize).cast_const().cast()
    }
}

/// A module that can be instantiated.
#[derive(Debug)]
pub struct LoadedModule {
    /// What it says about itself.
    pub info: ModuleInfo,
    /// How its instances are laid out.
    pub layout: InstanceLayout,
    /// Its code.
    pub code: CodeMemory,
    /// The engine's numbers for its types.
    pub type_ids: Vec<u32>,
}
