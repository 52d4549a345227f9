//! Moving a stack to other memory.
//!
//! Only three things point into the memory of a suspended stack: the saved stack pointer, the saved
//! frame pointer, and the chain of frame pointers:
//!
//! ```text
//!   ControlBlock          memory
//!     sp -------------->  | return address of the stub |
//!     fp ------------+    | ...                        |
//!                    +--> | saved fp  --------------+  |
//!                         | return address          |  |
//!                         | ...                     v  |
//!                         | 0: the first frame         |  high
//! ```
//!
//! To move it, everything from `sp` up is copied, and the distance is added to each link.

use super::arena::{GUARD, RootStack};
use crate::os::mapping::{Map, PAGE};
use ropewalk_abi::ControlBlock;
use std::io;

/// Memory that a stack was moved away from. It stays inaccessible until the next move, so that a
/// stale address faults.
#[derive(Debug, Default)]
pub(crate) struct Quarantine(Option<ClosedMemory>);

/// Memory whose pages from an offset on are inaccessible.
#[derive(Debug)]
struct ClosedMemory {
    memory: Map,
    from: usize,
}

/// Moves a root that is in a host call, and makes the old memory inaccessible.
pub(crate) fn move_root(root: &mut RootStack, quarantine: &mut Quarantine) -> io::Result<()> {
    // SAFETY: blocks of the table live as long as the store, which runs no generated code now.
    let (old_high, limit, sp) =
        unsafe { ((*root.block).high, (*root.block).limit, (*root.block).sp) };
    let len = GUARD + (old_high - limit);
    let place = match quarantine.0.take() {
        Some(ClosedMemory { memory, from }) if memory.len() == len => {
            memory.open(from, len - from)?;
            Some(memory)
        }
        _ => None,
    };
    let old = root.replace_memory(place)?;
    // SAFETY: as above.
    let block = unsafe { &mut *root.block };
    let distance = block.high.wrapping_sub(old_high);
    block.high = old_high;
    // SAFETY: the old memory is still mapped. The new memory has the same size, so the same part of
    // it is writable.
    unsafe { copy_and_link(block, distance) };
    block.high = old_high.wrapping_add(distance);
    block.top = block.high;
    let from = GUARD + (sp - limit) / PAGE * PAGE;
    old.close(from, len - from)?;
    quarantine.0 = Some(ClosedMemory { memory: old, from });
    Ok(())
}

/// Copies the frames of a stack, from its stack pointer up to `high`, by a distance, and adjusts
/// all links.
///
/// # Safety
///
/// The frames must be readable, and the same part of the new memory be writable and unused.
pub(super) unsafe fn copy_and_link(block: &mut ControlBlock, distance: usize) {
    let sp = block.sp;
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(
            sp as *const u8,
            sp.wrapping_add(distance) as *mut u8,
            block.high - sp,
        );
    }
    block.sp = sp.wrapping_add(distance);
    if block.fp != 0 {
        block.fp = block.fp.wrapping_add(distance);
        // SAFETY: the chain was copied with the frames.
        unsafe { move_links(block.fp, distance) };
    }
}

/// Adds `distance` to each link of a chain of frame pointers that was copied.
///
/// # Safety
///
/// `fp` must point to a copied frame, and its links be those of the original.
pub(crate) unsafe fn move_links(mut fp: usize, distance: usize) {
    loop {
        let link = fp as *mut usize;
        // SAFETY: a link is the first word of a frame, and zero in the outermost.
        let next = unsafe { *link };
        if next == 0 {
            return;
        }
        fp = next.wrapping_add(distance);
        // SAFETY: as above.
        unsafe { *link = fp };
    }
}
