//! Compiled code and its tables.
//!
//! The tables are arrays of records without pointers or invalid values. So they are written to a
//! file as they are, and used where the file is mapped.

use crate::trap::TrapCode;
use bytemuck::{Pod, Zeroable};

/// Position-independent code, with tables sorted by offset.
#[derive(Debug, Default)]
pub struct CodeImage {
    /// The bytes to map executable.
    pub bytes: Vec<u8>,
    /// The bytes of all data segments.
    pub data: Vec<u8>,
    /// The defined functions, in index order, and then the thunks; also sorted by offset.
    pub functions: Vec<FunctionCode>,
    /// The instructions that may trap.
    pub traps: Vec<TrapSite>,
    /// The positions in the module from which code comes.
    pub positions: Vec<Position>,
    /// The frames at calls.
    pub sites: Vec<CallSite>,
    /// The table of [`CallSite::references`].
    pub references: Vec<u32>,
    /// The table of [`CallSite::pointers`].
    pub pointers: Vec<u32>,
    /// The table of [`CallSite::owned`].
    pub owned: Vec<u32>,
    /// The table of [`CallSite::handlers`].
    pub handlers: Vec<Handler>,
    /// Whether the module has the type of first-class stacks.
    pub has_stackrefs: bool,
}

/// The tables of a [`CodeImage`], in memory or in a mapped file.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "the fields of the image document them")]
pub struct CodeTables<'a> {
    pub data: &'a [u8],
    pub functions: &'a [FunctionCode],
    pub traps: &'a [TrapSite],
    pub positions: &'a [Position],
    pub sites: &'a [CallSite],
    pub references: &'a [u32],
    pub pointers: &'a [u32],
    pub owned: &'a [u32],
    pub handlers: &'a [Handler],
    pub has_stackrefs: bool,
}

/// An instruction that may trap.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct TrapSite {
    /// Its offset.
    pub offset: u32,
    /// The number of its [`TrapCode`].
    pub code: u32,
}

/// The instruction of the module from which code comes, from an offset on.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Position {
    /// The offset in the code.
    pub offset: u32,
    /// The offset of the instruction in the module, or [`NO_POSITION`].
    pub position: u32,
}

/// A range of entries in a table.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct IndexRange {
    /// The index of the first entry.
    pub start: u32,
    /// The index after the last entry.
    pub end: u32,
}

impl IndexRange {
    fn of<T>(self, table: &[T]) -> &[T] {
        &table[self.start as usize..self.end as usize]
    }
}

/// A call with references or listed pointers in its frame, or with handlers.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct CallSite {
    /// The offset after the call.
    pub return_offset: u32,
    /// The distance from the stack pointer up to the frame pointer at the call.
    pub frame_size: u32,
    /// The offsets of references from the stack pointer, in [`CodeImage::references`].
    pub references: IndexRange,
    /// The offsets of pointers of the engine, in [`CodeImage::pointers`], if they are listed.
    pub pointers: IndexRange,
    /// The references that die with the frame, in [`CodeImage::owned`]: first-class stacks, and
    /// objects with the stacks of locals. First those of locals, then those of operands, the lowest
    /// first.
    pub owned: IndexRange,
    /// Its handlers in the order of the search, in [`CodeImage::handlers`].
    pub handlers: IndexRange,
}

/// A handler: where an exception can continue.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Handler {
    /// The index of the tag, or [`NO_INDEX`] for all exceptions.
    pub tag: u32,
    /// The offset of the context of the tag's instance, from the stack pointer.
    pub context: u32,
    /// The offset of the code.
    pub code: u32,
    /// How many of the owned references stay when an exception continues here. The others are
    /// operands, which are dropped.
    pub kept: u32,
}

/// The code of a function.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct FunctionCode {
    /// The offset of its first instruction.
    pub start: u32,
    /// The offset after its last one.
    pub end: u32,
    /// The index of the function in the module; [`NO_INDEX`] for a thunk. A function may have
    /// several entries.
    pub function: u32,
    /// The offset of the body in the module; zero for a thunk.
    pub body: u32,
}

/// A trampoline in the file of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct TrampolineCode {
    /// The number of its [`TrampolineKind`].
    pub kind: u32,
    /// The type index of its functions.
    pub ty: u32,
    /// The offset of its first instruction among the trampolines of the file.
    pub start: u32,
    /// The offset after its last one.
    pub end: u32,
}

/// The purpose of a trampoline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum TrampolineKind {
    /// The host calls a function.
    Entry,
    /// A function calls the host.
    Host,
    /// A continuation begins with a function.
    Stack,
}

impl TrampolineKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [TrampolineKind; 3] =
        [TrampolineKind::Entry, TrampolineKind::Host, TrampolineKind::Stack];
}

impl TrampolineCode {
    /// Its purpose. None if the number is invalid.
    pub fn kind(&self) -> Option<TrampolineKind> {
        TrampolineKind::ALL.get(self.kind as usize).copied()
    }
}

/// The index of no tag or function.
pub const NO_INDEX: u32 = u32::MAX;

/// The position of code that does not come from an instruction.
pub const NO_POSITION: u32 = u32::MAX;

/// The index in a word, unless that is [`NO_INDEX`].
pub fn index(word: u32) -> Option<u32> {
    (word != NO_INDEX).then_some(word)
}

impl CodeImage {
    /// Its tables.
    pub fn tables(&self) -> CodeTables<'_> {
        CodeTables {
            data: &self.data,
            functions: &self.functions,
            traps: &self.traps,
            positions: &self.positions,
            sites: &self.sites,
            references: &self.references,
            pointers: &self.pointers,
            owned: &self.owned,
            handlers: &self.handlers,
            has_stackrefs: self.has_stackrefs,
        }
    }
}

impl<'a> CodeTables<'a> {
    /// The trap of the instruction at an offset, if it may trap.
    pub fn trap_at(&self, offset: u32) -> Option<TrapCode> {
        let found = self.traps.binary_search_by_key(&offset, |trap| trap.offset).ok()?;
        TrapCode::from_number(u8::try_from(self.traps[found].code).ok()?)
    }

    /// The call that returns to an offset.
    pub fn site_at(&self, return_offset: u32) -> Option<&'a CallSite> {
        let found = self.sites.binary_search_by_key(&return_offset, |site| site.return_offset);
        found.ok().map(|i| &self.sites[i])
    }

    /// The references in the frame of a call.
    pub fn references_of(&self, site: &CallSite) -> &'a [u32] {
        site.references.of(self.references)
    }

    /// The listed pointers of the engine in the frame of a call.
    pub fn pointers_of(&self, site: &CallSite) -> &'a [u32] {
        site.pointers.of(self.pointers)
    }

    /// The references that die with the frame of a call.
    pub fn owned_of(&self, site: &CallSite) -> &'a [u32] {
        site.owned.of(self.owned)
    }

    /// The handlers of a call.
    pub fn handlers_of(&self, site: &CallSite) -> &'a [Handler] {
        site.handlers.of(self.handlers)
    }

    /// The entry of the function at an offset.
    pub fn function_at(&self, offset: u32) -> Option<u32> {
        let after = self.functions.partition_point(|f| f.start <= offset);
        let index = after.checked_sub(1)?;
        (offset < self.functions[index].end).then_some(index as u32)
    }

    /// The position in the module of the instruction at an offset.
    pub fn position_at(&self, offset: u32) -> Option<u32> {
        let after = self.positions.partition_point(|entry| entry.offset <= offset);
        let Position { position, .. } = self.positions[after.checked_sub(1)?];
        (position != NO_POSITION).then_some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_find_their_function_trap_and_position() {
        let trap = |offset, code: TrapCode| TrapSite { offset, code: code as u32 };
        let position = |offset, position| Position { offset, position };
        let image = CodeImage {
            functions: vec![
                FunctionCode { start: 0, end: 10, function: 2, body: 90 },
                FunctionCode { start: 16, end: 20, function: NO_INDEX, body: 0 },
            ],
            traps: vec![trap(4, TrapCode::Unreachable), trap(17, TrapCode::IntegerOverflow)],
            positions: vec![position(2, 100), position(5, NO_POSITION), position(16, 200)],
            ..CodeImage::default()
        };
        let tables = image.tables();
        assert_eq!(tables.function_at(9), Some(0));
        assert_eq!(tables.function_at(10), None);
        assert_eq!(tables.function_at(16), Some(1));
        assert_eq!(tables.trap_at(4), Some(TrapCode::Unreachable));
        assert_eq!(tables.trap_at(5), None);
        assert_eq!(tables.position_at(1), None);
        assert_eq!(tables.position_at(3), Some(100));
        assert_eq!(tables.position_at(6), None);
        assert_eq!(tables.position_at(18), Some(200));
    }
}
