//! Compiled modules in files.
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
//! A file is mapped and used where it lies: the tables are what [`CodeImage`] has in
//! memory, the code is position-independent, and what memories begin with is
//! [mapped](crate::code::memory_image) into them. The trampolines are mapped by themselves, since
//! an engine keeps them longer than a module. What the sections `settings`, `info` and
//! `source` hold is up to whoever writes them.
//!
//! The checksums find accidents. They are no protection against somebody who means
//! harm: code is trusted like any other program. Each part is looked at before it is used,
//! and not sooner, since most programs use little of a large file:
//!
//! | part | when |
//! | --- | --- |
//! | head, settings, info, tables, trampolines, data | when the file is opened |
//! | [code] | a piece when it is executed first |
//! | names, source, positions | when a backtrace asks for them |
//! | binary | when the module is compiled again |
//!
//! All of a small file, and of what is read out of memory, is looked at when it is opened, also
//! that nothing is between the sections.
//!
//! | file | what it holds |
//! | --- | --- |
//! | here | how files are laid out, and writing them |
//! | [`file`] | reading them |
//! | [`code`] | code that is checked when it is executed first |
//! | [`names`] | names of functions in a file |
//!
//! [`CodeImage`]: ropewalk_abi::code::CodeImage

pub(crate) mod code;
mod file;
mod names;

pub use file::Precompiled;
pub use names::NamesInFile;

use crate::os::mapping::PAGE;
use bytemuck::{Pod, Zeroable};
use ropewalk_abi::code::{CodeTables, TrampolineCode};
use ropewalk_abi::names::NameEntry;
use std::io;
use xxhash_rust::xxh3::xxh3_64;

/// What files begin with. No text and no module in the binary format begins so.
pub const MAGIC: [u8; 8] = *b"\x7Fropewlk";

/// Goes up when the layout below changes.
const FORMAT: u32 = 3;

/// How much code is checked at once: so much that what a fault costs is little beside it.
pub(crate) const PIECE: usize = 64 << 10;

/// The first bytes of a file.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    format: u32,
    unused: u32,
    /// Of all bytes of the head after it.
    checksum: u64,
    has_stackrefs: u64,
    sections: [Section; Name::COUNT],
}

const CHECKED_FROM: usize = std::mem::offset_of!(Header, has_stackrefs);

impl Header {
    fn checksum_of_rest(&self) -> u64 {
        xxh3_64(&bytemuck::bytes_of(self)[CHECKED_FROM..])
    }
}

/// Where a section is, in bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Section {
    start: u64,
    len: u64,
    /// Of its bytes. Zero for the code, whose pieces have checksums of their own.
    checksum: u64,
}

/// The sections, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Name {
    const COUNT: usize = Name::Binary as usize + 1;
    /// Those that begin at a page boundary, since they are mapped by themselves.
    const MAPPED: [Name; 3] = [Name::Data, Name::Code, Name::TrampolineCode];
    /// Those that are checked when a file is opened.
    const AT_ONCE: [Name; 13] = [
        Name::Settings,
        Name::Info,
        Name::Functions,
        Name::Traps,
        Name::Sites,
        Name::References,
        Name::Pointers,
        Name::Owned,
        Name::Handlers,
        Name::Trampolines,
        Name::Pieces,
        Name::Data,
        Name::TrampolineCode,
    ];
    /// Those that are checked when somebody asks for them.
    const LATER: [Name; 5] =
        [Name::FunctionNames, Name::TextOfNames, Name::Source, Name::Positions, Name::Binary];
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
    /// The names of its functions: the entries, and the text that they are parts of.
    pub names: (&'a [NameEntry], &'a [u8]),
    /// The source that it was made from; empty if there is none.
    pub source: &'a [u8],
    /// The module in the binary format, to compile it again; empty if that is never needed.
    pub binary: &'a [u8],
}

/// A compiled module as the bytes of a file.
pub fn write(contents: &Contents<'_>) -> Vec<u8> {
    let tables = &contents.tables;
    let pieces: Vec<u64> = contents.code.chunks(PIECE).map(xxh3_64).collect();
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
        let is_mapped = Name::MAPPED.iter().any(|name| *name as usize == number);
        let start = end.next_multiple_of(if is_mapped { PAGE } else { 16 });
        let checksum = if number == Name::Code as usize { 0 } else { xxh3_64(bytes) };
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

/// What tells a compiled module, as the bytes of a file, from others.
pub fn checksum_of(bytes: &[u8]) -> Option<u64> {
    let header = bytes.get(..size_of::<Header>()).filter(|bytes| is_precompiled(bytes))?;
    Some(bytemuck::pod_read_unaligned::<Header>(header).checksum)
}

/// Whether bytes begin as a compiled module in a file does.
pub fn is_precompiled(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

#[cfg(test)]
mod tests;
