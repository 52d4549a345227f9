//! The file format of compiled modules.
//!
//! ```text
//!  | Header: magic, format, where the sections are, a checksum of each |
//!  | settings | info | tables of CodeImage ... | trampolines | pieces  |  each at a multiple of 16
//!  | data                                                              |  from a page boundary on
//!  | code                                                              |  likewise
//!  | code of trampolines                                               |  likewise
//!  | names of functions | source | positions of instructions           |  each at a multiple of 16
//!  | binary, to compile the module again                               |  to the end
//! ```
//!
//! A file is mapped and used in place: the tables have the layout of [`CodeImage`], the code is
//! position-independent, and initial memory contents are [mapped](crate::code::memory_image). The
//! trampolines are mapped separately, since an engine keeps them longer than a module. The caller
//! of [`write`](fn@write) defines the contents of `settings`, `info` and `source`.
//!
//! The checksums find accidental damage, not malice: code is trusted like any other program. Each
//! part is checked before its first use, since most programs use little of a large file:
//!
//! | part | when |
//! | --- | --- |
//! | head, settings, info, tables, trampolines, data | when the file is opened |
//! | [code](lazy_code) | a piece when it is executed first |
//! | names, source, positions | when a backtrace asks for them |
//! | binary | when the module is compiled again |
//!
//! Small files, and modules read from memory, are checked completely when they are opened.
//!
//! [`CodeImage`]: ropewalk_abi::code::CodeImage

mod file;
pub(crate) mod lazy_code;
mod names;

pub use file::Precompiled;
pub use names::NamesInFile;

use crate::os::mapping::PAGE;
use bytemuck::{Pod, Zeroable};
use ropewalk_abi::code::{CodeTables, TrampolineCode};
use ropewalk_abi::names::NameEntry;
use std::io;
use xxhash_rust::xxh3::xxh3_64;

/// The first bytes of a file. No text and no binary module begins with them.
pub const MAGIC: [u8; 8] = *b"\x7Fropewlk";

/// The version of the layout below.
const FORMAT: u32 = 3;

/// How much code is checked at once, large enough to make the cost of the fault negligible.
pub(crate) const PIECE: usize = 64 << 10;

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    format: u32,
    unused: u32,
    /// Of the header's bytes from `CHECKED_FROM` on.
    checksum: u64,
    has_stackrefs: u64,
    sections: [Section; SectionName::COUNT],
}

const CHECKED_FROM: usize = std::mem::offset_of!(Header, has_stackrefs);

impl Header {
    fn checksum_of_rest(&self) -> u64 {
        xxh3_64(&bytemuck::bytes_of(self)[CHECKED_FROM..])
    }
}

/// The place of a section, in bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Section {
    start: u64,
    len: u64,
    /// Of its bytes; zero for the code, whose pieces have their own checksums.
    checksum: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectionName {
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
    /// The checksum of each piece of the code.
    Pieces,
    Data,
    Code,
    TrampolineCode,
    FunctionNames,
    TextOfNames,
    Source,
    Positions,
    Binary,
}

impl SectionName {
    const COUNT: usize = SectionName::Binary as usize + 1;
    /// The sections that begin at a page boundary, since they are mapped separately.
    const MAPPED: [SectionName; 3] =
        [SectionName::Data, SectionName::Code, SectionName::TrampolineCode];
    /// The sections that are checked when a file is opened.
    const AT_ONCE: [SectionName; 13] = [
        SectionName::Settings,
        SectionName::Info,
        SectionName::Functions,
        SectionName::Traps,
        SectionName::Sites,
        SectionName::References,
        SectionName::Pointers,
        SectionName::Owned,
        SectionName::Handlers,
        SectionName::Trampolines,
        SectionName::Pieces,
        SectionName::Data,
        SectionName::TrampolineCode,
    ];
    /// The sections that are checked when they are first used.
    const LAZY: [SectionName; 5] = [
        SectionName::FunctionNames,
        SectionName::TextOfNames,
        SectionName::Source,
        SectionName::Positions,
        SectionName::Binary,
    ];
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PrecompiledError {
    /// It is something else.
    #[error("it is not a precompiled module")]
    Other,
    /// Another version made it.
    #[error("it was made by another version of Ropewalk (format {0}, expected {FORMAT})")]
    Format(u32),
    /// It is truncated or changed.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    /// It cannot be read or mapped.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// The contents of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents<'a> {
    /// The settings that must equal those of the engine.
    pub settings: &'a [u8],
    /// The description of the module.
    pub info: &'a [u8],
    /// The tables of its code, and its data as it lies in the file.
    pub tables: CodeTables<'a>,
    /// Its code.
    pub code: &'a [u8],
    /// The trampolines that it needs.
    pub trampolines: &'a [TrampolineCode],
    /// The code of the trampolines.
    pub trampoline_code: &'a [u8],
    /// The names of its functions: entries, and the text that they refer to.
    pub names: (&'a [NameEntry], &'a [u8]),
    /// The source, or empty.
    pub source: &'a [u8],
    /// The module in the binary format, for compiling it again, or empty.
    pub binary: &'a [u8],
}

/// Encodes a compiled module as a file.
pub fn write(contents: &Contents<'_>) -> Vec<u8> {
    let tables = &contents.tables;
    let pieces: Vec<u64> = contents.code.chunks(PIECE).map(xxh3_64).collect();
    let sections: [&[u8]; SectionName::COUNT] = [
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
        bytemuck::cast_slice(&pieces),
        tables.data,
        contents.code,
        contents.trampoline_code,
        bytemuck::cast_slice(contents.names.0),
        contents.names.1,
        contents.source,
        bytemuck::cast_slice(tables.positions),
        contents.binary,
    ];
    let mut header = Header::zeroed();
    (header.magic, header.format) = (MAGIC, FORMAT);
    header.has_stackrefs = tables.has_stackrefs.into();
    let mut end = size_of::<Header>();
    for (number, bytes) in sections.iter().enumerate() {
        let is_mapped = SectionName::MAPPED.iter().any(|name| *name as usize == number);
        let start = end.next_multiple_of(if is_mapped { PAGE } else { 16 });
        let checksum = if number == SectionName::Code as usize { 0 } else { xxh3_64(bytes) };
        header.sections[number] =
            Section { start: start as u64, len: bytes.len() as u64, checksum };
        end = start + bytes.len();
    }
    header.checksum = header.checksum_of_rest();
    let mut file = Vec::with_capacity(end);
    file.extend_from_slice(bytemuck::bytes_of(&header));
    for (section, bytes) in header.sections.iter().zip(sections) {
        file.resize(section.start as usize, 0);
        file.extend_from_slice(bytes);
    }
    file
}

/// The checksum that distinguishes a compiled module from others.
pub fn checksum_of(bytes: &[u8]) -> Option<u64> {
    let header = bytes.get(..size_of::<Header>()).filter(|bytes| is_precompiled(bytes))?;
    Some(bytemuck::pod_read_unaligned::<Header>(header).checksum)
}

/// Whether bytes begin like a compiled module.
pub fn is_precompiled(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

#[cfg(test)]
mod tests;
