//! Compiled code and what is known about it.
//!
//! The tables are arrays of records that have no pointers and no invalid values, so
//! that they can be written to a file as they are and read where the file is
//! mapped.

use crate::trap::TrapCode;
use bytemuck::{Pod, Zeroable};

/// Position-independent code, with tables sorted by offset.
#[derive(Debug, Default)]
pub struct CodeImage {
    /// The bytes to map executable.
    pub bytes: Vec<u8>,
    /// The bytes of all data segments.
    pub data: Vec<u8>,
    /// Where each function is, in the order of the index space of defined
    /// functions, and then each thunk; so also sorted.
    pub functions: Vec<FunctionCode>,
    /// The instructions that may trap.
    pub traps: Vec<TrapSite>,
    /// From which offset on code comes from which byte of the module.
    pub positions: Vec<Position>,
    /// What is known of the frames at calls.
    pub sites: Vec<CallSite>,
    /// What [`CallSite::references`] is a part of.
    pub references: Vec<u32>,
    /// What [`CallSite::pointers`] is a part of.
    pub pointers: Vec<u32>,
    /// What [`CallSite::owned`] is a part of.
    pub owned: Vec<u32>,
    /// What [`CallSite::handlers`] is a part of.
    pub handlers: Vec<Handler>,
    /// Whether the module has the type of first-class stacks.
    pub has_stackrefs: bool,
}

/// The tables of a [`CodeImage`], wherever they lie.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "the fields of the image say what they are")]
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
    /// The number of the [`TrapCode`] that says why.
    pub code: u32,
}

/// From here on, code comes from an instruction of the module.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Position {
    /// The offset in the code.
    pub offset: u32,
    /// The offset of the instruction in the module, or [`NO_POSITION`].
    pub position: u32,
}

/// A part of a table.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Part {
    /// The number of its first entry.
    pub start: u32,
    /// The number after its last one.
    pub end: u32,
}

impl Part {
    fn of<T>(self, table: &[T]) -> &[T] {
        &table[self.start as usize..self.end as usize]
    }
}

/// A call in whose frame there are references, or that has handlers.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct CallSite {
    /// The offset after the call.
    pub return_offset: u32,
    /// How far the stack pointer is below the frame pointer at the call.
    pub frame_size: u32,
    /// The offsets from the stack pointer at which references are, as a part of
    /// [`CodeImage::references`].
    pub references: Part,
    /// The offsets at which pointers of the engine are, as a part of
    /// [`CodeImage::pointers`], where they are listed.
    pub pointers: Part,
    /// Those of the references at which lies what dies with the frame, as a part of
    /// [`CodeImage::owned`]: first-class stacks, and objects with the stacks of
    /// locals; first those of locals, then those of operands, the lowest first.
    pub owned: Part,
    /// Its handlers, the first to be asked first, as a part of
    /// [`CodeImage::handlers`].
    pub handlers: Part,
}

/// A place where an exception can continue.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Handler {
    /// The index of the tag, or [`NO_INDEX`] for all exceptions.
    pub tag: u32,
    /// Where the context of the instance that the tag belongs to lies in the
    /// frame, from the stack pointer.
    pub context: u32,
    /// The offset of the code.
    pub code: u32,
    /// How many of what the frame owns at the call stay when an exception
    /// continues there. The others are operands that it leaves behind.
    pub kept: u32,
}

/// Where a function's code is.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct FunctionCode {
    /// The offset of its first instruction.
    pub start: u32,
    /// The offset after its last one.
    pub end: u32,
    /// Which function of the module it is, by index; [`NO_INDEX`] for a thunk. A
    /// function may have more code than one.
    pub function: u32,
    /// Which byte of the module its body begins at; of a thunk, zero.
    pub body: u32,
}

/// A trampoline that is kept with a module in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct TrampolineCode {
    /// The number of its [`TrampolineKind`].
    pub kind: u32,
    /// The type index of the functions that it is for.
    pub ty: u32,
    /// The offset of its first instruction among the trampolines of the file.
    pub start: u32,
    /// The offset after its last one.
    pub end: u32,
}

/// What a trampoline is between.
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
    /// What it is between. None if the number means nothing.
    pub fn kind(&self) -> Option<TrampolineKind> {
        TrampolineKind::ALL.get(self.kind as usize).copied()
    }
}

/// Stands for the index of a tag or function where there is none.
pub const NO_INDEX: u32 = u32::MAX;

/// Stands in [`CodeImage::positions`] for code that no instruction stands for.
pub const NO_POSITION: u32 = u32::MAX;

/// An index in a table, if it is one.
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
    /// Why the instruction at an offset traps, if it may.
    pub fn trap_at(&self, offset: u32) -> Option<TrapCode> {
        let found = self.traps.binary_search_by_key(&offset, |trap| trap.offset).ok()?;
        TrapCode::from_number(u8::try_from(self.traps[found].code).ok()?)
    }

    /// What is known of the frame whose call returns to an offset.
    pub fn site_at(&self, return_offset: u32) -> Option<&'a CallSite> {
        let found = self.sites.binary_search_by_key(&return_offset, |site| site.return_offset);
        found.ok().map(|i| &self.sites[i])
    }

    /// The references in the frame of a call.
    pub fn references_of(&self, site: &CallSite) -> &'a [u32] {
        site.references.of(self.references)
    }

    /// The pointers of the engine in the frame of a call, where they are listed.
    pub fn pointers_of(&self, site: &CallSite) -> &'a [u32] {
        site.pointers.of(self.pointers)
    }

    /// What dies with the frame of a call.
    pub fn owned_of(&self, site: &CallSite) -> &'a [u32] {
        site.owned.of(self.owned)
    }

    /// The handlers of a call.
    pub fn handlers_of(&self, site: &CallSite) -> &'a [Handler] {
        site.handlers.of(self.handlers)
    }

    /// Which of the defined functions an offset lies in.
    pub fn function_at(&self, offset: u32) -> Option<u32> {
        let after = self.functions.partition_point(|f| f.start <= offset);
        let index = after.checked_sub(1)?;
        (offset < self.functions[index].end).then_some(index as u32)
    }

    /// Which byte of the module the instruction at an offset comes from.
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
