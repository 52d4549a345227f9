//! Source lines of C, Rust, Zig and others, from the debug information (DWARF) in a binary.
//!
//! It is in custom sections, such as `.debug_line`, with addresses relative to the code section. The
//! sections are kept as they are, and parsed for the first backtrace.

use gimli::{EndianArcSlice, LittleEndian};
use ropewalk_runtime::{Source, SourcePlace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wasmparser::{Parser, Payload};

use crate::module::source::StoredSource;

/// Larger debug information is ignored: it would take more memory than anything else.
const MOST_BYTES: usize = 256 << 20;

type Reader = EndianArcSlice<LittleEndian>;

#[derive(Serialize, Deserialize)]
pub(crate) struct Dwarf {
    /// The offset of the contents of the code section in the binary.
    code: u32,
    sections: BTreeMap<String, Vec<u8>>,
    /// `None` if it cannot be parsed.
    #[serde(skip)]
    context: OnceLock<Option<Mutex<addr2line::Context<Reader>>>>,
}

impl Dwarf {
    /// The debug information of a binary, if it has some.
    pub fn of(binary: &[u8]) -> Option<Dwarf> {
        let (mut code, mut sections) = (None, BTreeMap::new());
        for payload in Parser::new(0).parse_all(binary) {
            match payload.ok()? {
                Payload::CodeSectionStart { unchecked_range, .. } => {
                    code = u32::try_from(unchecked_range.start).ok();
                }
                Payload::CustomSection(section) if section.name().starts_with(".debug_") => {
                    sections.insert(section.name().to_owned(), section.data().to_vec());
                }
                _ => {}
            }
        }
        let bytes: usize = sections.values().map(Vec::len).sum();
        let is_useful = sections.contains_key(".debug_line") && bytes <= MOST_BYTES;
        Some(Dwarf { code: code.filter(|_| is_useful)?, sections, context: OnceLock::new() })
    }

    fn read(&self) -> Option<Mutex<addr2line::Context<Reader>>> {
        let section = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
            let bytes = self.sections.get(id.name()).map_or(&[][..], Vec::as_slice);
            Ok(EndianArcSlice::new(Arc::from(bytes), LittleEndian))
        };
        let dwarf = gimli::Dwarf::load(section).ok()?;
        addr2line::Context::from_dwarf(dwarf).ok().map(Mutex::new)
    }

    fn frames(&self, address: u64) -> Option<Vec<SourcePlace>> {
        let context = self.context.get_or_init(|| self.read()).as_ref()?;
        // A panic during parsing leaves nothing half-parsed.
        let context = context.lock().unwrap_or_else(PoisonError::into_inner);
        let mut frames = context.find_frames(address).skip_all_loads().ok()?;
        let mut places = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let Some(location) = &frame.location else { continue };
            let Some(line) = location.line.filter(|line| *line > 0) else { continue };
            let column = location.column.filter(|column| *column > 0);
            let name = frame.function.as_ref().and_then(|name| name.demangle().ok());
            let file = location.file.map(str::to_owned);
            let place = SourcePlace::new(file, line as usize, column.map(|column| column as usize));
            places.push(place.in_function(name.map(|name| name.into_owned())));
        }
        Some(places)
    }
}

impl Source for Dwarf {
    fn places(&self, offset: u32) -> Vec<SourcePlace> {
        let address = offset.checked_sub(self.code).map(u64::from);
        address.and_then(|address| self.frames(address)).unwrap_or_default()
    }

    fn stored(&self) -> Vec<u8> {
        let (code, sections) = (self.code, self.sections.clone());
        StoredSource::Dwarf(Dwarf { code, sections, context: OnceLock::new() }).to_bytes()
    }
}

opaque_debug!(impl<> Dwarf { code });
