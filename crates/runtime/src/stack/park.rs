//! Parking: packs the frames of a suspended stack, so that other stacks can use its memory.
//!
//! ```text
//!   slot                                      ControlBlock          packed
//!   | guard | unused | frames | color  |        sp ----> unpark     | PackedHead | frames |
//!                    ^ sp     ^ top + 8         high ------------>  ^
//! ```
//!
//! The frames are copied unchanged, from the stack pointer up to the first frame. Links between
//! them still hold the old addresses, so code that walks the frames adds the distance
//! ([`SavedPosition`](super::saved_position::SavedPosition)).
//!
//! The stack pointer of every parked stack refers to one shared word, the address of the stub
//! `unpark`. A switch to the stack therefore enters the stub without a check. The stub has the
//! runtime [unpack](Stacks::unpark) the frames into a free slot, and continues the stack.

use super::frame_slabs::piece_size;
use super::relocate::move_links;
use super::table::Stacks;
use crate::arch::stubs;
use crate::stack::stack_events::StackEvent;
use ropewalk_abi::stack::{GROUPED, Purpose, block_number};
use ropewalk_abi::{ControlBlock, PARKED, PARKED_PLAIN};
use std::ptr::{self, NonNull};

static TOP: unsafe extern "C" fn() = stubs::unpark;

pub(crate) fn parked_sp() -> usize {
    (&raw const TOP).addr()
}

/// The header of packed frames.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct PackedHead {
    /// The stack pointer when the frames were packed.
    pub sp: usize,
    len: u32,
    /// The distance from `top` to the highest address of the stack.
    above: u32,
}

impl PackedHead {
    pub fn new(sp: usize, len: u32, above: u32) -> PackedHead {
        PackedHead { sp, len, above }
    }

    /// The header of a parked stack's frames.
    pub fn of(stack: &ControlBlock) -> *const PackedHead {
        debug_assert!(stack.is_parked());
        stack.high as *const PackedHead
    }

    pub fn depth(&self, stack: &ControlBlock) -> usize {
        self.above as usize + stack.top - self.sp
    }

    pub fn size(&self) -> usize {
        size_of::<PackedHead>() + self.len as usize
    }
}

/// The bytes that the packed frames of a stack take.
pub(crate) fn packed_size(stack: &ControlBlock) -> usize {
    // SAFETY: a parked stack has a header.
    piece_size(unsafe { (*PackedHead::of(stack)).size() })
}

/// The bytes of packed frames, without the header.
pub(crate) fn packed_frames(stack: &ControlBlock) -> usize {
    // SAFETY: as above.
    unsafe { (*PackedHead::of(stack)).len as usize }
}

/// The bytes of frames of a stack that is not running, parked or not.
pub(crate) fn bytes_in_frames(stack: &ControlBlock) -> usize {
    match stack.is_parked() {
        true => packed_frames(stack),
        false => end_of_frames(stack) - stack.sp,
    }
}

/// The end of a stack's frames. The word at `top` is the highest, except on roots.
pub(crate) fn end_of_frames(stack: &ControlBlock) -> usize {
    match stack.purpose {
        Purpose::Root => stack.high,
        _ => stack.top + size_of::<usize>(),
    }
}

impl Stacks {
    /// Whether the frames fit into a slot. Only a stack that has grown can have more; it has whole
    /// pages of frames, so packing it would save little.
    pub fn fits_into_slot(&self, stack: &ControlBlock) -> bool {
        stack.high - stack.sp <= self.slots.usable()
    }

    /// Parks a stack. Its memory becomes available to others. The caller says in `is_plain` whether
    /// the collector can skip the stack. Returns false if there is no room.
    ///
    /// # Safety
    ///
    /// The stack must be suspended or new, have memory, and not be a root.
    pub unsafe fn park(&mut self, stack: &mut ControlBlock, is_plain: bool) -> bool {
        if !self.fits_into_slot(stack) {
            return false;
        }
        let (sp, len) = (stack.sp, end_of_frames(stack) - stack.sp);
        let (Ok(len), Ok(above)) = (u32::try_from(len), u32::try_from(stack.high - stack.top))
        else {
            return false;
        };
        let head = PackedHead { sp, len, above };
        let Some(piece) = self.packed.take(head.size()) else { return false };
        // SAFETY: the piece has room for the header and the frames, which are readable.
        unsafe {
            piece.cast().write(head);
            let frames = piece.as_ptr().add(size_of::<PackedHead>());
            ptr::copy_nonoverlapping(sp as *const u8, frames, len as usize);
        }
        let Some(home) = self.leave_home(stack) else {
            // SAFETY: the piece was just allocated.
            unsafe { self.packed.put(piece, head.size()) };
            return false;
        };
        self.vacate(home);
        // Frames take less than a slot, so there is room for them now.
        self.give_back_excess();
        stack.sp = parked_sp();
        stack.limit = if is_plain { PARKED_PLAIN } else { PARKED };
        stack.high = piece.addr().get();
        // A function can be called on top of such a stack without a check that it is parked.
        // Marking the stack as grouped forces the check.
        if stack.takes_calls_on_top() && ptr::eq(stack.innermost, stack) {
            stack.be_alone();
            stack.is_grouped = GROUPED;
        }
        self.parked += 1;
        self.parkings += 1;
        self.events.add(StackEvent::Parked(block_number(stack.reference)));
        true
    }

    /// Unpacks the frames of a parked stack into a slot that is ready.
    ///
    /// # Safety
    ///
    /// The stack must be parked, and [a slot be ready](Self::has_ready).
    pub unsafe fn unpark(&mut self, stack: &mut ControlBlock) {
        let (limit, high) = self.take_ready().expect("a slot is ready");
        // SAFETY: the caller's promise.
        let head = unsafe { *PackedHead::of(stack) };
        let piece = stack.high as *mut u8;
        let top = high - head.above as usize;
        let distance = top.wrapping_sub(stack.top);
        let sp = head.sp.wrapping_add(distance);
        debug_assert!(sp >= limit);
        // SAFETY: the slot is unused, and as large as the one that the frames came from.
        unsafe {
            let frames = piece.add(size_of::<PackedHead>());
            ptr::copy_nonoverlapping(frames, sp as *mut u8, head.len as usize);
        }
        (stack.sp, stack.top, stack.limit, stack.high) = (sp, top, limit, high);
        if stack.fp != 0 {
            stack.fp = stack.fp.wrapping_add(distance);
            // SAFETY: the chain was copied with the frames.
            unsafe { move_links(stack.fp, distance) };
        }
        let is_alone = ptr::eq(stack.innermost, stack) && stack.through.is_null();
        if stack.takes_calls_on_top() && is_alone {
            stack.is_grouped = 0;
        }
        self.give_up_piece(piece, head);
        self.events.add(StackEvent::Unparked(block_number(stack.reference)));
        self.has_unparked(block_number(stack.reference));
    }

    /// Drops the packed frames of a stack that is being freed.
    pub(super) fn drop_packed(&mut self, stack: &mut ControlBlock) {
        // SAFETY: a parked stack has a header.
        let head = unsafe { *PackedHead::of(stack) };
        self.give_up_piece(stack.high as *mut u8, head);
        (stack.top, stack.limit, stack.high) = (0, 0, 0);
    }

    fn give_up_piece(&mut self, piece: *mut u8, head: PackedHead) {
        let piece = NonNull::new(piece).expect("pieces are not null");
        // SAFETY: the piece was allocated with the size in its header.
        unsafe { self.packed.put(piece, head.size()) };
        self.parked -= 1;
    }
}
