//! Compiled modules in files.
//!
//! ```text
//!  | Header: magic, format, checksums, where the sections are |
//!  | settings | info | tables of CodeImage ... | trampolines  |  each at a multiple of 16
//!  | data                                                     |  from a page boundary on
//!  | code                                                     |  likewise
//!  | code of trampolines                                      |  likewise
//!  | positions of instructions, for backtraces                |  at a multiple of 16
//!  | binary, to compile the module again                      |  to the end
//! ```
//!
//! A file is mapped and used where it lies: the tables are what [`CodeImage`] has in
//! memory, the code is position-independent, and what memories begin with is
//! [mapped](crate::memory_image) into them. The trampolines are mapped by themselves, since
//! an engine keeps them longer than a module. What the sections `settings` and `info` hold
//! is up to whoever writes them.
//!
//! The checksums find accidents. They are no protection against somebody who means
//! harm: code is trusted like any other program. Positions, which are as long as the code,
//! and the binary have checksums of their own, which are looked at when they are used: most
//! programs use neither.
//!
//! [`CodeImage`]: ropewalk_abi::code::CodeImage

use crate::code::CodeMemory;
use crate::map::{Map, PAGE};
use crate::memory_image::MemoryImages;
use bytemuck::{Pod, Zeroable};
use ropewalk_abi::code::{CodeTables, TrampolineCode};
use ropewalk_abi::module::DataImage;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::OnceLock;
use xxhash_rust::xxh3::xxh3_64;

/// What files begin with. No text and no module in the binary format begins so.
pub const MAGIC: [u8; 8] = *b"\x7Fropewlk";

/// Goes up when the layout below changes.
const FORMAT: u32 = 2;

/// The first bytes of a file.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    format: u32,
    unused: u32,
    /// Of all bytes after it, up to the positions.
    checksum: u64,
    has_stackrefs: u64,
    positions_checksum: u64,
    binary_checksum: u64,
    sections: [Section; Name::COUNT],
}

const CHECKED_FROM: usize = std::mem::offset_of!(Header, has_stackrefs);

/// Where a section is, in bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Section {
    start: u64,
    len: u64,
}

/// The sections, in their order.
#[derive(Clone, Copy)]
enum Name {
    Settings,
    Info,
    Functions,
    Traps,
    Sites,
    References,
    Pointers,
    Owned,
    Handlers,
    Trampolines,
    Data,
    Code,
    TrampolineCode,
    Positions,
    Binary,
}

impl Name {
    const COUNT: usize = Name::Binary as usize + 1;
    /// Those that begin at a page boundary, since they are mapped by themselves.
    const MAPPED: [Name; 3] = [Name::Data, Name::Code, Name::TrampolineCode];
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PrecompiledError {
    /// It is something else.
    #[error("it is not a precompiled module")]
    Other,
    /// Its layout is of another version.
    #[error("it was made by another version of Ropewalk (format {0}, expected {FORMAT})")]
    Format(u32),
    /// Bytes are missing or differ.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    /// The system did not let us read or map it.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// What a file is made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents<'a> {
    /// What must be the same in an engine that uses it.
    pub settings: &'a [u8],
    /// What is known of the module.
    pub info: &'a [u8],
    /// The tables of its code, and its data as it lies in the file.
    pub tables: CodeTables<'a>,
    /// Its code.
    pub code: &'a [u8],
    /// The trampolines that it needs.
    pub trampolines: &'a [TrampolineCode],
    /// Their code.
    pub trampoline_code: &'a [u8],
    /// The module in the binary format, to compile it again; empty if that is never needed.
    pub binary: &'a [u8],
}

/// A compiled module as the bytes of a file.
pub fn write(contents: &Contents<'_>) -> Vec<u8> {
    let tables = &contents.tables;
    let sections: [&[u8]; Name::COUNT] = [
        contents.settings,
        contents.info,
        bytemuck::cast_slice(tables.functions),
        bytemuck::cast_slice(tables.traps),
        bytemuck::cast_slice(tables.sites),
        bytemuck::cast_slice(tables.references),
        bytemuck::cast_slice(tables.pointers),
        bytemuck::cast_slice(tables.owned),
        bytemuck::cast_slice(tables.handlers),
        bytemuck::cast_slice(contents.trampolines),
        tables.data,
        contents.code,
        contents.trampoline_code,
        bytemuck::cast_slice(tables.positions),
        contents.binary,
    ];
    let mut header = Header::zeroed();
    (header.magic, header.format) = (MAGIC, FORMAT);
    header.has_stackrefs = tables.has_stackrefs.into();
    header.positions_checksum = xxh3_64(bytemuck::cast_slice(tables.positions));
    header.binary_checksum = xxh3_64(contents.binary);
    let mut end = size_of::<Header>();
    for (number, bytes) in sections.iter().enumerate() {
        let is_mapped = Name::MAPPED.iter().any(|name| *name as usize == number);
        let start = end.next_multiple_of(if is_mapped { PAGE } else { 16 });
        header.sections[number] = Section { start: start as u64, len: bytes.len() as u64 };
        end = start + bytes.len();
    }
    let mut file = Vec::with_capacity(end);
    file.extend_from_slice(bytemuck::bytes_of(&header));
    for (section, bytes) in header.sections.iter().zip(sections) {
        file.resize(section.start as usize, 0);
        file.extend_from_slice(bytes);
    }
    // The numbers of sections are among what is checked.
    file[..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&header));
    let end = header.sections[Name::Positions as usize].start as usize;
    header.checksum = xxh3_64(&file[CHECKED_FROM..end]);
    file[..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&header));
    file
}

/// Whether bytes begin as a compiled module in a file does.
pub fn is_precompiled(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// A compiled module in memory of our own, whose bytes are what [`write`] made.
#[derive(Debug)]
pub struct Precompiled {
    map: Map,
    len: usize,
    /// The file that is mapped, if one is.
    file: Option<File>,
    /// Whether the positions are as they were written, once somebody has asked.
    has_positions: OnceLock<bool>,
}

impl Precompiled {
    /// Copies the bytes of a file.
    pub fn copy(bytes: &[u8]) -> Result<Precompiled, PrecompiledError> {
        if !is_precompiled(bytes) {
            return Err(PrecompiledError::Other);
        }
        Precompiled::new(Map::copy_of(bytes)?, bytes.len(), None)
    }

    /// Maps a file. Nobody may change its bytes or cut it off as long as it is mapped:
    /// to replace it, another file is renamed to its name.
    pub fn open(file: File) -> Result<Precompiled, PrecompiledError> {
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if len < size_of::<Header>() {
            let bytes = std::io::read_to_string(file).unwrap_or_default();
            return Err(match is_precompiled(bytes.as_bytes()) {
                true => PrecompiledError::Damaged("it is too short"),
                false => PrecompiledError::Other,
            });
        }
        Precompiled::new(Map::of_file(&file, len)?, len, Some(file))
    }

    fn new(map: Map, len: usize, file: Option<File>) -> Result<Precompiled, PrecompiledError> {
        let this = Precompiled { map, len, file, has_positions: OnceLock::new() };
        this.check()?;
        Ok(this)
    }

    fn check(&self) -> Result<(), PrecompiledError> {
        let bytes = self.bytes();
        if !is_precompiled(bytes) {
            return Err(PrecompiledError::Other);
        }
        let Some(header) = self.header() else {
            return Err(PrecompiledError::Damaged("it is too short"));
        };
        if header.format != FORMAT {
            return Err(PrecompiledError::Format(header.format));
        }
        if header.unused != 0 {
            return Err(PrecompiledError::Damaged("its head has bytes that mean nothing"));
        }
        let last = header.sections[Name::Binary as usize];
        if last.start.checked_add(last.len) != Some(bytes.len() as u64) {
            return Err(PrecompiledError::Damaged("its length is not what its head says"));
        }
        let end = header.sections[Name::Positions as usize].start as usize;
        if bytes.get(CHECKED_FROM..end).map(xxh3_64) != Some(header.checksum) {
            return Err(PrecompiledError::Damaged("its checksum is not that of its bytes"));
        }
        Ok(())
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the map has so many bytes, which are readable and never written.
        unsafe { std::slice::from_raw_parts(self.map.base(), self.len) }
    }

    fn header(&self) -> Option<Header> {
        let bytes = self.bytes().get(..size_of::<Header>())?;
        Some(bytemuck::pod_read_unaligned(bytes))
    }

    fn range(&self, name: Name) -> Range<usize> {
        let Section { start, len } = self.header().expect("checked").sections[name as usize];
        let end = start.saturating_add(len).min(self.len as u64) as usize;
        (start as usize).min(end)..end
    }

    fn section(&self, name: Name) -> &[u8] {
        &self.bytes()[self.range(name)]
    }

    pub(crate) fn base(&self) -> *const u8 {
        self.map.base()
    }

    /// What was written as settings.
    pub fn settings(&self) -> &[u8] {
        self.section(Name::Settings)
    }

    /// What was written as info.
    pub fn info(&self) -> &[u8] {
        self.section(Name::Info)
    }

    /// The data, as it lies there.
    pub fn data(&self) -> &[u8] {
        self.section(Name::Data)
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none. Never.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Its tables, where they lie.
    pub(crate) fn tables(&self) -> Result<CodeTables<'_>, PrecompiledError> {
        Ok(CodeTables {
            data: self.section(Name::Data),
            functions: self.table(Name::Functions)?,
            traps: self.table(Name::Traps)?,
            positions: self.table(Name::Positions)?,
            sites: self.table(Name::Sites)?,
            references: self.table(Name::References)?,
            pointers: self.table(Name::Pointers)?,
            owned: self.table(Name::Owned)?,
            handlers: self.table(Name::Handlers)?,
            has_stackrefs: self.header().expect("checked").has_stackrefs != 0,
        })
    }

    fn table<T: Pod>(&self, name: Name) -> Result<&[T], PrecompiledError> {
        bytemuck::try_cast_slice(self.section(name))
            .map_err(|_| PrecompiledError::Damaged("a table is out of place"))
    }

    /// The module in the binary format, if there is one and no byte of it differs.
    pub(crate) fn binary(&self) -> Option<&[u8]> {
        let binary = self.section(Name::Binary);
        let checksum = self.header().expect("checked").binary_checksum;
        (!binary.is_empty() && xxh3_64(binary) == checksum).then_some(binary)
    }

    /// Whether the positions are as they were written.
    pub(crate) fn has_positions(&self) -> bool {
        *self.has_positions.get_or_init(|| {
            let checksum = self.header().expect("checked").positions_checksum;
            xxh3_64(self.section(Name::Positions)) == checksum
        })
    }

    /// Which trampolines are there.
    pub fn trampolines(&self) -> Result<&[TrampolineCode], PrecompiledError> {
        self.table(Name::Trampolines)
    }

    /// The code of the trampolines, which lives longer than this.
    ///
    /// # Safety
    ///
    /// As for [`CodeMemory::of_precompiled`].
    pub unsafe fn trampoline_code(&self) -> Result<CodeMemory, PrecompiledError> {
        let part = self.range(Name::TrampolineCode);
        let file = self.file.as_ref().filter(|_| part.start.is_multiple_of(PAGE));
        match file.and_then(|file| Map::of_code_in_file(file, &part).ok()) {
            Some(map) => Ok(CodeMemory::of_map(map, part.len())),
            // There is no file, or files must not be executed.
            None => {
                let map = Map::copy_of(&self.bytes()[part.clone()])?;
                map.make_executable()?;
                Ok(CodeMemory::of_map(map, part.len()))
            }
        }
    }

    /// The images of memories that lie in the file, if it is one and has some.
    pub fn memory_images(
        &mut self,
        images: &[DataImage],
    ) -> Result<MemoryImages, PrecompiledError> {
        let data = self.range(Name::Data);
        for image in images {
            let end = image.at.checked_add(image.place.len());
            let is_whole = end.is_some_and(|end| end <= data.len())
                && (data.start + image.at).is_multiple_of(PAGE)
                && image.place.start.is_multiple_of(PAGE)
                && image.place.len().is_multiple_of(PAGE);
            if !is_whole {
                return Err(PrecompiledError::Damaged("what a memory begins with is out of place"));
            }
        }
        match self.file.take() {
            Some(file) if !images.is_empty() => {
                Ok(MemoryImages::in_file(file, data.start as u64, images))
            }
            _ => Ok(MemoryImages::default()),
        }
    }

    /// Where its code is in the file; it may be executed from now on.
    ///
    /// Where files must not be executed, the code is in memory that has it, too.
    pub(crate) fn make_executable(&mut self) -> Result<Range<usize>, PrecompiledError> {
        let code = self.range(Name::Code);
        if !code.start.is_multiple_of(PAGE) {
            return Err(PrecompiledError::Damaged("its code is out of place"));
        }
        let pages = code.len().next_multiple_of(PAGE);
        if self.map.make_part_executable(code.start, pages).is_err() {
            self.map = Map::copy_of(self.bytes())?;
            self.map.make_part_executable(code.start, pages)?;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_abi::code::{CodeImage, Position};

    const POSITION: Position = Position { offset: 7, position: 9 };
    const TRAMPOLINE: TrampolineCode = TrampolineCode { kind: 1, ty: 2, start: 0, end: 3 };

    fn file() -> Vec<u8> {
        let image = CodeImage {
            data: b"data".to_vec(),
            references: vec![1, 2, 3],
            positions: vec![POSITION; 2],
            ..CodeImage::default()
        };
        write(&Contents {
            settings: b"settings",
            info: b"info",
            tables: image.tables(),
            code: &[0xC3; 5000],
            trampolines: &[TRAMPOLINE],
            trampoline_code: &[0x90, 0x90, 0xC3],
            binary: b"binary",
        })
    }

    #[test]
    fn what_is_written_is_read() {
        let mut read = Precompiled::copy(&file()).unwrap();
        assert_eq!((read.settings(), read.info()), (&b"settings"[..], &b"info"[..]));
        let tables = read.tables().unwrap();
        assert_eq!((tables.data, tables.references), (&b"data"[..], &[1, 2, 3][..]));
        assert!(tables.sites.is_empty());
        assert_eq!(read.trampolines().unwrap(), [TRAMPOLINE]);
        // SAFETY: it is not executed.
        let trampolines = unsafe { read.trampoline_code() }.unwrap();
        assert_eq!(trampolines.bytes(), [0x90, 0x90, 0xC3]);
        assert_eq!(read.binary(), Some(&b"binary"[..]));
        let code = read.make_executable().unwrap();
        assert_eq!(read.bytes()[code], [0xC3; 5000]);
    }

    /// Whether all of a file can be read.
    fn is_whole(file: &[u8]) -> bool {
        Precompiled::copy(file).is_ok_and(|read| read.has_positions() && read.binary().is_some())
    }

    #[test]
    fn every_changed_bit_and_every_missing_byte_is_found() {
        let file = file();
        assert!(is_whole(&file));
        // These are looked at later.
        let later = file.len() - b"binary".len() - 2 * size_of::<Position>();
        for at in (0..later).step_by(7).chain(0..size_of::<Header>()).chain(later..file.len()) {
            let mut damaged = file.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(!is_whole(&damaged), "byte {at}");
            assert_eq!(Precompiled::copy(&damaged).is_ok(), at >= later, "byte {at}");
        }
        for len in (0..file.len()).step_by(13) {
            assert!(Precompiled::copy(&file[..len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn an_image_that_is_not_in_the_data_is_refused() {
        let mut read = Precompiled::copy(&file()).unwrap();
        for (at, place) in [(0, 0..PAGE), (PAGE, 0..0), (1, 0..0), (usize::MAX, 0..PAGE)] {
            let image = DataImage { memory: 0, place, at };
            assert!(read.memory_images(&[image]).is_err());
        }
    }
}
