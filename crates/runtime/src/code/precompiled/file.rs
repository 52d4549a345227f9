//! Reading compiled modules from files.

use super::lazy_code::{Code, LazyCode};
use super::{FORMAT, Header, PIECE, PrecompiledError, Section, SectionName, is_precompiled};
use crate::code::CodeMemory;
use crate::code::memory_image::MemoryImages;
use crate::os::mapping::{Map, PAGE, ProtFlags};
use bytemuck::{Pod, Zeroable};
use ropewalk_abi::code::{CodeTables, TrampolineCode};
use ropewalk_abi::module::DataImage;
use ropewalk_abi::names::NameEntry;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// The largest file that is checked completely when it is opened, which takes microseconds.
const SMALL: usize = 3 * PIECE;

/// A compiled module in memory, whose bytes [`write`](super::write) made.
#[derive(Debug)]
pub struct Precompiled {
    map: Map,
    len: usize,
    pub(super) header: Header,
    file: Option<File>,
    /// The results of checking lazily checked sections.
    lazy: [OnceLock<bool>; SectionName::COUNT],
    /// Whether damaged code was found since the file was last removed.
    has_damaged_code: AtomicBool,
    /// The path to remove then.
    removed: Option<PathBuf>,
}

impl Precompiled {
    /// Copies the bytes of a file, and checks all of them.
    pub fn copy(bytes: &[u8]) -> Result<Precompiled, PrecompiledError> {
        if !is_precompiled(bytes) {
            return Err(PrecompiledError::Other);
        }
        let this = Precompiled::new(Map::copy_of(bytes)?, bytes.len(), None)?;
        this.check_all()?;
        Ok(this)
    }

    /// Maps a file, and checks all of a small one. The file must not be changed or truncated while
    /// it is mapped: replace it by renaming another one.
    pub fn open(file: File) -> Result<Precompiled, PrecompiledError> {
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if len < size_of::<Header>() {
            let bytes = std::io::read_to_string(file).unwrap_or_default();
            return Err(match is_precompiled(bytes.as_bytes()) {
                true => PrecompiledError::Damaged("it is too short"),
                false => PrecompiledError::Other,
            });
        }
        let this =
            Precompiled::new(Map::of_file(&file, &(0..len), ProtFlags::READ)?, len, Some(file))?;
        if len <= SMALL {
            this.check_all()?;
        }
        Ok(this)
    }

    fn new(map: Map, len: usize, file: Option<File>) -> Result<Precompiled, PrecompiledError> {
        let mut this = Precompiled {
            map,
            len,
            header: Header::zeroed(),
            file,
            lazy: [const { OnceLock::new() }; SectionName::COUNT],
            has_damaged_code: AtomicBool::new(false),
            removed: None,
        };
        this.header = this.read_header()?;
        match SectionName::AT_ONCE.iter().all(|name| this.is_whole(*name)) {
            true => Ok(this),
            false => Err(PrecompiledError::Damaged("a checksum does not match its contents")),
        }
    }

    fn read_header(&self) -> Result<Header, PrecompiledError> {
        let bytes = self.bytes();
        if !is_precompiled(bytes) {
            return Err(PrecompiledError::Other);
        }
        let Some(header) = bytes.get(..size_of::<Header>()) else {
            return Err(PrecompiledError::Damaged("it is too short"));
        };
        let header: Header = bytemuck::pod_read_unaligned(header);
        if header.format != FORMAT {
            return Err(PrecompiledError::Format(header.format));
        }
        if header.unused != 0 || header.checksum != header.checksum_of_rest() {
            return Err(PrecompiledError::Damaged("the checksum of its header does not match"));
        }
        let ends = |section: &Section| section.start.checked_add(section.len);
        let len = bytes.len() as u64;
        let all_fit = header.sections.iter().all(|section| ends(section).is_some_and(|e| e <= len));
        if !all_fit || ends(&header.sections[SectionName::Binary as usize]) != Some(len) {
            return Err(PrecompiledError::Damaged("its length does not match its header"));
        }
        Ok(header)
    }

    fn is_whole(&self, name: SectionName) -> bool {
        xxh3_64(self.section(name)) == self.header.sections[name as usize].checksum
    }

    /// Checks all that was not checked when the file was opened.
    pub fn check_all(&self) -> Result<(), PrecompiledError> {
        self.check_code()?;
        match SectionName::LAZY.iter().all(|name| self.has(*name)) && self.is_empty_between() {
            true => Ok(()),
            false => Err(PrecompiledError::Damaged("a checksum does not match its contents")),
        }
    }

    /// Whether the gaps between sections are zero.
    fn is_empty_between(&self) -> bool {
        let mut end = size_of::<Header>();
        self.header.sections.iter().all(|section| {
            let start = section.start as usize;
            let between = self.bytes().get(end..start).unwrap_or_default();
            end = start + section.len as usize;
            between.iter().all(|byte| *byte == 0)
        })
    }

    /// Checks all of the code.
    pub fn check_code(&self) -> Result<(), PrecompiledError> {
        let pieces = self.section(SectionName::Code).len().div_ceil(PIECE);
        match (0..pieces).all(|piece| self.is_whole_piece(piece)) {
            true => Ok(()),
            false => Err(PrecompiledError::Damaged("the checksum of its code does not match")),
        }
    }

    /// Whether a piece of the code is intact. Async-signal-safe.
    pub(crate) fn is_whole_piece(&self, piece: usize) -> bool {
        let expected = self.section(SectionName::Pieces).chunks_exact(size_of::<u64>()).nth(piece);
        let expected = expected.map(bytemuck::pod_read_unaligned::<u64>);
        let found = self.section(SectionName::Code).chunks(PIECE).nth(piece).map(xxh3_64);
        let is_whole = expected.is_some() && expected == found;
        if !is_whole {
            self.has_damaged_code.store(true, Ordering::Relaxed);
        }
        is_whole
    }

    /// Has a file removed if its code is found to be damaged, so that it is compiled again.
    pub fn remove_if_damaged(&mut self, path: PathBuf) {
        self.removed = Some(path);
    }

    /// Removes the file on request if damaged code was found since the last time.
    pub(crate) fn remove_damaged(&self) -> bool {
        let removed = self.removed.as_ref();
        let removed = removed.filter(|_| self.has_damaged_code.swap(false, Ordering::Relaxed));
        // Another process may have replaced it already; removing that costs only a compilation.
        removed.is_some_and(|path| std::fs::remove_file(path).is_ok())
    }

    /// A checksum that distinguishes it from other files.
    pub fn checksum(&self) -> u64 {
        self.header.checksum
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the map has this many bytes, which are readable and never written.
        unsafe { std::slice::from_raw_parts(self.map.base(), self.len) }
    }

    fn range(&self, name: SectionName) -> Range<usize> {
        let Section { start, len, .. } = self.header.sections[name as usize];
        start as usize..(start + len) as usize
    }

    fn section(&self, name: SectionName) -> &[u8] {
        &self.bytes()[self.range(name)]
    }

    /// Whether a lazily checked section is intact.
    fn has(&self, name: SectionName) -> bool {
        *self.lazy[name as usize].get_or_init(|| self.is_whole(name))
    }

    /// A lazily checked section, if it is intact and not empty.
    fn lazy(&self, name: SectionName) -> Option<&[u8]> {
        let bytes = self.section(name);
        (!bytes.is_empty() && self.has(name)).then_some(bytes)
    }

    /// The settings.
    pub fn settings(&self) -> &[u8] {
        self.section(SectionName::Settings)
    }

    /// The info.
    pub fn info(&self) -> &[u8] {
        self.section(SectionName::Info)
    }

    /// The data.
    pub fn data(&self) -> &[u8] {
        self.section(SectionName::Data)
    }

    /// Whether there is a source.
    pub fn has_source(&self) -> bool {
        !self.section(SectionName::Source).is_empty()
    }

    /// The source, if there is one and it is intact.
    pub fn source(&self) -> Option<&[u8]> {
        self.lazy(SectionName::Source)
    }

    /// The names of functions, if there are any and they are intact.
    pub(super) fn names(&self) -> Option<(&[NameEntry], &[u8])> {
        let (entries, text) =
            (self.lazy(SectionName::FunctionNames)?, self.section(SectionName::TextOfNames));
        let entries = bytemuck::try_cast_slice(entries).ok()?;
        self.has(SectionName::TextOfNames).then_some((entries, text))
    }

    /// The length of the file.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the file is empty. Never.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The tables, which borrow from the map.
    pub(crate) fn tables(&self) -> Result<CodeTables<'_>, PrecompiledError> {
        Ok(CodeTables {
            data: self.section(SectionName::Data),
            functions: self.table(SectionName::Functions)?,
            traps: self.table(SectionName::Traps)?,
            positions: self.table(SectionName::Positions)?,
            sites: self.table(SectionName::Sites)?,
            references: self.table(SectionName::References)?,
            pointers: self.table(SectionName::Pointers)?,
            owned: self.table(SectionName::Owned)?,
            handlers: self.table(SectionName::Handlers)?,
            has_stackrefs: self.header.has_stackrefs != 0,
        })
    }

    fn table<T: Pod>(&self, name: SectionName) -> Result<&[T], PrecompiledError> {
        bytemuck::try_cast_slice(self.section(name))
            .map_err(|_| PrecompiledError::Damaged("a table is misaligned"))
    }

    /// The module in the binary format, if the file has it and it is intact.
    pub fn binary(&self) -> Option<&[u8]> {
        self.lazy(SectionName::Binary)
    }

    /// Whether the positions are intact.
    pub(crate) fn has_positions(&self) -> bool {
        self.has(SectionName::Positions)
    }

    /// The trampolines in the file.
    pub fn trampolines(&self) -> Result<&[TrampolineCode], PrecompiledError> {
        self.table(SectionName::Trampolines)
    }

    /// The code of the trampolines, in memory of its own.
    ///
    /// # Safety
    ///
    /// As for [`CodeMemory::of_precompiled`].
    pub unsafe fn trampoline_code(&self) -> Result<CodeMemory, PrecompiledError> {
        let part = self.range(SectionName::TrampolineCode);
        let file = self.file.as_ref().filter(|_| part.start.is_multiple_of(PAGE));
        let executable = ProtFlags::READ | ProtFlags::EXEC;
        match file.and_then(|file| Map::of_file(file, &part, executable).ok()) {
            Some(map) => Ok(CodeMemory::of_map(map, part.len())),
            // There is no file, or it must not be executed.
            None => {
                let map = Map::copy_of(&self.bytes()[part.clone()])?;
                map.make_part_executable(0, map.len())?;
                Ok(CodeMemory::of_map(map, part.len()))
            }
        }
    }

    /// The memory images in the file, which take it over; none if there is no file.
    pub fn memory_images(
        &mut self,
        images: &[DataImage],
    ) -> Result<MemoryImages, PrecompiledError> {
        let data = self.range(SectionName::Data);
        for image in images {
            let end = image.at.checked_add(image.place.len());
            let is_whole = end.is_some_and(|end| end <= data.len())
                && (data.start + image.at).is_multiple_of(PAGE)
                && image.place.start.is_multiple_of(PAGE)
                && image.place.len().is_multiple_of(PAGE);
            if !is_whole {
                return Err(PrecompiledError::Damaged("a memory image is misplaced"));
            }
        }
        match self.file.take() {
            Some(file) if !images.is_empty() => {
                Ok(MemoryImages::in_file(file, data.start as u64, images))
            }
            _ => Ok(MemoryImages::default()),
        }
    }

    /// The executable code, checked when it is first executed, or all of it `at_once`.
    ///
    /// If the system forbids executing files, the code is checked and copied.
    pub fn code(&mut self, at_once: bool) -> Result<Code, PrecompiledError> {
        let part = self.range(SectionName::Code);
        if !part.start.is_multiple_of(PAGE) {
            return Err(PrecompiledError::Damaged("its code is not aligned to a page"));
        }
        if let Some(file) = &self.file {
            match LazyCode::map(self, file, &part, at_once) {
                Ok(code) => return Ok(Code::Lazy(code)),
                Err(error @ PrecompiledError::Damaged(_)) => return Err(error),
                Err(_) => {
                    self.check_code()?;
                    self.map = Map::copy_of(self.bytes())?;
                }
            }
        }
        self.map.make_part_executable(part.start, part.len().next_multiple_of(PAGE))?;
        Ok(Code::InPlace(part))
    }

    pub(crate) fn code_bytes(&self) -> &[u8] {
        self.section(SectionName::Code)
    }
}

impl Drop for Precompiled {
    fn drop(&mut self) {
        // The damage was found by a check, not by executing the code.
        self.remove_damaged();
    }
}
