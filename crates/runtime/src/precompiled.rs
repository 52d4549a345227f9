//! Compiled modules in files.
//!
//! ```text
//!  | Header: magic, format, checksum, where the sections are |
//!  | settings | info | data | tables of CodeImage ...        |  each at a multiple of 16
//!  | code                                                    |  from a page boundary to the end
//! ```
//!
//! A file is mapped and used where it lies: the tables are what [`CodeImage`] has in
//! memory, and the code is position-independent. What the sections `settings` and
//! `info` hold is up to whoever writes them.
//!
//! The checksum finds accidents. It is no protection against somebody who means
//! harm: code is trusted like any other program.
//!
//! [`CodeImage`]: ropewalk_abi::code::CodeImage

use crate::map::{Map, PAGE};
use bytemuck::{Pod, Zeroable};
use ropewalk_abi::code::CodeTables;
use std::fs::File;
use std::io;
use std::ops::Range;
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
    /// Of all bytes after it.
    checksum: u64,
    has_stackrefs: u64,
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
    Data,
    Functions,
    Traps,
    Positions,
    Sites,
    References,
    Pointers,
    Owned,
    Handlers,
    Code,
}

impl Name {
    const COUNT: usize = Name::Code as usize + 1;
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

/// A compiled module as the bytes of a file.
pub fn write(settings: &[u8], info: &[u8], tables: &CodeTables<'_>, code: &[u8]) -> Vec<u8> {
    let contents: [&[u8]; Name::COUNT] = [
        settings,
        info,
        tables.data,
        bytemuck::cast_slice(tables.functions),
        bytemuck::cast_slice(tables.traps),
        bytemuck::cast_slice(tables.positions),
        bytemuck::cast_slice(tables.sites),
        bytemuck::cast_slice(tables.references),
        bytemuck::cast_slice(tables.pointers),
        bytemuck::cast_slice(tables.owned),
        bytemuck::cast_slice(tables.handlers),
        code,
    ];
    let mut header = Header::zeroed();
    (header.magic, header.format) = (MAGIC, FORMAT);
    header.has_stackrefs = tables.has_stackrefs.into();
    let mut end = size_of::<Header>();
    for (number, bytes) in contents.iter().enumerate() {
        let alignment = if number == Name::Code as usize { PAGE } else { 16 };
        let start = end.next_multiple_of(alignment);
        header.sections[number] = Section { start: start as u64, len: bytes.len() as u64 };
        end = start + bytes.len();
    }
    let mut file = Vec::with_capacity(end);
    file.extend_from_slice(bytemuck::bytes_of(&header));
    for (section, bytes) in header.sections.iter().zip(contents) {
        file.resize(section.start as usize, 0);
        file.extend_from_slice(bytes);
    }
    header.checksum = xxh3_64(&file[CHECKED_FROM..]);
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
}

impl Precompiled {
    /// Copies the bytes of a file.
    pub fn copy(bytes: &[u8]) -> Result<Precompiled, PrecompiledError> {
        if !is_precompiled(bytes) {
            return Err(PrecompiledError::Other);
        }
        Precompiled { map: Map::copy_of(bytes)?, len: bytes.len() }.checked()
    }

    /// Maps a file. Nobody may change its bytes or cut it off as long as it is mapped:
    /// to replace it, another file is renamed to its name.
    pub fn open(file: &File) -> Result<Precompiled, PrecompiledError> {
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if len < size_of::<Header>() {
            let bytes = std::io::read_to_string(file).unwrap_or_default();
            return Err(match is_precompiled(bytes.as_bytes()) {
                true => PrecompiledError::Damaged("it is too short"),
                false => PrecompiledError::Other,
            });
        }
        Precompiled { map: Map::of_file(file, len)?, len }.checked()
    }

    fn checked(self) -> Result<Precompiled, PrecompiledError> {
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
        let last = header.sections[Name::Code as usize];
        if last.start.checked_add(last.len) != Some(bytes.len() as u64) {
            return Err(PrecompiledError::Damaged("its length is not what its head says"));
        }
        if header.checksum != xxh3_64(&bytes[CHECKED_FROM..]) {
            return Err(PrecompiledError::Damaged("its checksum is not that of its bytes"));
        }
        Ok(self)
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
    use ropewalk_abi::code::CodeImage;

    fn file() -> Vec<u8> {
        let image =
            CodeImage { data: b"data".to_vec(), references: vec![1, 2, 3], ..CodeImage::default() };
        write(b"settings", b"info", &image.tables(), &[0xC3; 5000])
    }

    #[test]
    fn what_is_written_is_read() {
        let mut read = Precompiled::copy(&file()).unwrap();
        assert_eq!((read.settings(), read.info()), (&b"settings"[..], &b"info"[..]));
        let tables = read.tables().unwrap();
        assert_eq!((tables.data, tables.references), (&b"data"[..], &[1, 2, 3][..]));
        assert!(tables.sites.is_empty());
        let code = read.make_executable().unwrap();
        assert_eq!(read.bytes()[code], [0xC3; 5000]);
    }

    #[test]
    fn every_changed_bit_and_every_missing_byte_is_found() {
        let file = file();
        for at in (0..file.len()).step_by(7).chain(0..size_of::<Header>()) {
            let mut damaged = file.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(Precompiled::copy(&damaged).is_err(), "byte {at}");
        }
        for len in (0..file.len()).step_by(13) {
            assert!(Precompiled::copy(&file[..len]).is_err(), "{len} bytes");
        }
    }
}
