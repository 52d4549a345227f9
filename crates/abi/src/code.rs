//! Compiled code and what is known about it.

use crate::trap::TrapCode;
use std::ops::Range;

/// Position-independent code, with tables sorted by offset.
#[derive(Debug, Default)]
pub struct CodeImage {
    /// The bytes to map executable.
    pub bytes: Vec<u8>,
    /// Where each function is, in the order of the index space of defined
    /// functions, and then each thunk; so also sorted.
    pub functions: Vec<FunctionCode>,
    /// The offsets of instructions that may trap, and why.
    pub traps: Vec<(u32, TrapCode)>,
    /// From which offset on instructions come from which byte of the module: those
    /// that may trap, and calls. Of others nothing is known.
    pub positions: Vec<(u32, u32)>,
    /// What is known of the frames at calls.
    pub sites: Vec<CallSite>,
    /// What [`CallSite::references`] is a range of.
    pub references: Vec<u32>,
    /// What [`CallSite::owned`] is a range of.
    pub owned: Vec<u32>,
    /// What [`CallSite::handlers`] is a range of.
    pub handlers: Vec<Handler>,
    /// Whether the module has the type of first-class stacks.
    pub has_stackrefs: bool,
}

/// A call in whose frame there are references, or that has handlers.
#[derive(Clone, Debug)]
pub struct CallSite {
    /// The offset after the call.
    pub return_offset: u32,
    /// How far the stack pointer is below the frame pointer at the call.
    pub frame_size: u32,
    /// The offsets from the stack pointer at which references are, as a range
    /// of [`CodeImage::references`].
    pub references: Range<u32>,
    /// Those of them at which lies what dies with the frame, as a range of
    /// [`CodeImage::owned`]: first-class stacks, and objects with the stacks of
    /// locals; first those of locals, then those of operands, the lowest first.
    pub owned: Range<u32>,
    /// Its handlers, the first to be asked first, as a range of
    /// [`CodeImage::handlers`].
    pub handlers: Range<u32>,
}

/// A place where an exception can continue.
#[derive(Clone, Copy, Debug)]
pub struct Handler {
    /// The index of the tag, or none for all exceptions.
    pub tag: Option<u32>,
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
#[derive(Clone, Copy, Debug)]
pub struct FunctionCode {
    /// The offset of its first instruction.
    pub start: u32,
    /// The offset after its last one.
    pub end: u32,
    /// Which function of the module it is, by index; none for a thunk. A function
    /// may have more code than one.
    pub function: Option<u32>,
}

impl CodeImage {
    /// Why the instruction at an offset traps, if it may.
    pub fn trap_at(&self, offset: u32) -> Option<TrapCode> {
        let found = self.traps.binary_search_by_key(&offset, |(offset, _)| *offset);
        found.ok().map(|i| self.traps[i].1)
    }

    /// What is known of the frame whose call returns to an offset.
    pub fn site_at(&self, return_offset: u32) -> Option<&CallSite> {
        let found = self.sites.binary_search_by_key(&return_offset, |site| site.return_offset);
        found.ok().map(|i| &self.sites[i])
    }

    /// The references in the frame of a call.
    pub fn references_of(&self, site: &CallSite) -> &[u32] {
        &self.references[site.references.start as usize..site.references.end as usize]
    }

    /// What dies with the frame of a call.
    pub fn owned_of(&self, site: &CallSite) -> &[u32] {
        &self.owned[site.owned.start as usize..site.owned.end as usize]
    }

    /// The handlers of a call.
    pub fn handlers_of(&self, site: &CallSite) -> &[Handler] {
        &self.handlers[site.handlers.start as usize..site.handlers.end as usize]
    }

    /// Which of the defined functions an offset lies in.
    pub fn function_at(&self, offset: u32) -> Option<u32> {
        let after = self.functions.partition_point(|f| f.start <= offset);
        let index = after.checked_sub(1)?;
        (offset < self.functions[index].end).then_some(index as u32)
    }

    /// Which byte of the module the instruction at an offset comes from, if it may
    /// trap; of a call the offset is that of its last byte.
    pub fn position_at(&self, offset: u32) -> Option<u32> {
        let after = self.positions.partition_point(|(start, _)| *start <= offset);
        let (_, position) = self.positions[after.checked_sub(1)?];
        (position != NO_POSITION).then_some(position)
    }
}

/// Stands in [`CodeImage::positions`] for code that no instruction stands for.
pub const NO_POSITION: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_find_their_function_trap_and_position() {
        let image = CodeImage {
            functions: vec![
                FunctionCode { start: 0, end: 10, function: Some(2) },
                FunctionCode { start: 16, end: 20, function: None },
            ],
            traps: vec![(4, TrapCode::Unreachable), (17, TrapCode::IntegerOverflow)],
            positions: vec![(2, 100), (5, NO_POSITION), (16, 200)],
            ..CodeImage::default()
        };
        assert_eq!(image.function_at(9), Some(0));
        assert_eq!(image.function_at(10), None);
        assert_eq!(image.function_at(16), Some(1));
        assert_eq!(image.trap_at(4), Some(TrapCode::Unreachable));
        assert_eq!(image.trap_at(5), None);
        assert_eq!(image.position_at(1), None);
        assert_eq!(image.position_at(3), Some(100));
        assert_eq!(image.position_at(6), None);
        assert_eq!(image.position_at(18), Some(200));
    }
}
