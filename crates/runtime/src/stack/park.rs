//! Parking: the frames of a stack that stays suspended are packed, and its memory
//! serves others until it is continued.
//!
//! ```text
//!   slot                                      ControlBlock          packed
//!   | guard | unused | frames | colour |        sp ----> unpark     | PackedHead | frames |
//!                    ^ sp     ^ top + 8         high ------------>  ^
//! ```
//!
//! What is packed are the bytes from the stack pointer up to where the first frame
//! begins, as they were: links lead to where the frames lay. Whoever walks them adds
//! the distance ([`LeftAt`](super::left::LeftAt)).
//!
//! The stack pointer of a parked stack leads to a word that all of them share, the
//! address of the stub `unpark`. So whoever switches to it gets there, and need not
//! know: the stub has the runtime [unpack](Stacks::unpark) the frames into a free slot,
//! and continues where the stack was left.

use super::packed::piece_size;
use super::relocate::move_links;
use super::table::Stacks;
use crate::arch::stubs;
use crate::stack::notes::Note;
use ropewalk_abi::stack::{GROUPED, Purpose, block_number};
use ropewalk_abi::{ControlBlock, PARKED, PARKED_PLAIN};
use std::ptr::{self, NonNull};

/// What the stack pointers of parked stacks lead to.
static TOP: unsafe extern "C" fn() = stubs::unpark;

/// The stack pointer of parked stacks.
pub(crate) fn parked_sp() -> usize {
    (&raw const TOP).addr()
}

/// What lies before packed frames.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct PackedHead {
    /// The stack pointer when they were packed.
    pub sp: usize,
    /// How many bytes they have.
    len: u32,
    /// How far the highest address was above `top`.
    above: u32,
}

impl PackedHead {
    /// Of frames that were left at a stack pointer.
    pub fn new(sp: usize, len: u32, above: u32) -> PackedHead {
        PackedHead { sp, len, above }
    }

    /// That of a parked stack.
    pub fn of(stack: &ControlBlock) -> *const PackedHead {
        debug_assert!(stack.is_parked());
        stack.high as *const PackedHead
    }

    /// See [`LeftAt::depth`](super::left::LeftAt::depth).
    pub fn depth(&self, stack: &ControlBlock) -> usize {
        self.above as usize + stack.top - self.sp
    }

    /// How many bytes the piece has that it begins.
    pub fn size(&self) -> usize {
        size_of::<PackedHead>() + self.len as usize
    }
}

/// How many bytes the packed frames of a stack take.
pub(crate) fn packed_size(stack: &ControlBlock) -> usize {
    // SAFETY: a parked stack has its frames there.
    piece_size(unsafe { (*PackedHead::of(stack)).size() })
}

/// How many of them are frames.
pub(crate) fn packed_frames(stack: &ControlBlock) -> usize {
    // SAFETY: as above.
    unsafe { (*PackedHead::of(stack)).len as usize }
}

/// How many bytes lie on a stack that does not run, wherever its frames lie.
pub(crate) fn bytes_in_frames(stack: &ControlBlock) -> usize {
    match stack.is_parked() {
        true => packed_frames(stack),
        false => end_of_frames(stack) - stack.sp,
    }
}

/// The end of what can lie on a stack: the word at `top` is the highest. A root has all.
pub(crate) fn end_of_frames(stack: &ControlBlock) -> usize {
    match stack.purpose {
        Purpose::Root => stack.high,
        _ => stack.top + size_of::<usize>(),
    }
}

impl Stacks {
    /// Whether the frames of a stack can be unpacked into a slot. Only one that has grown
    /// can have more; then there are whole pages of them, and packing saves little.
    pub fn fits_into_slot(&self, stack: &ControlBlock) -> bool {
        stack.high - stack.sp <= self.slots.usable()
    }

    /// *Park*: packs the frames of a stack, whose memory serves others from now on.
    /// Whether the collector finds nothing on it, the caller says. Returns whether
    /// there was room.
    ///
    /// # Safety
    ///
    /// The stack must be suspended or new, have memory, and be no root.
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
        // SAFETY: the piece has room for both; the frames are there.
        unsafe {
            piece.cast().write(head);
            let frames = piece.as_ptr().add(size_of::<PackedHead>());
            ptr::copy_nonoverlapping(sp as *const u8, frames, len as usize);
        }
        let Some(home) = self.leave_home(stack) else {
            // SAFETY: just taken.
            unsafe { self.packed.put(piece, head.size()) };
            return false;
        };
        self.vacate(home);
        // Frames take less than a slot, so there is room for them now.
        self.give_back_excess();
        stack.sp = parked_sp();
        stack.limit = if is_plain { PARKED_PLAIN } else { PARKED };
        stack.high = piece.addr().get();
        // A function may be called on top of a first-class stack without looking at
        // what lies there. That is done only after asking, if it is not alone.
        if stack.purpose == Purpose::FirstClass && ptr::eq(stack.innermost, stack) {
            stack.be_alone();
            stack.is_grouped = GROUPED;
        }
        self.parked += 1;
        self.parkings += 1;
        self.notes.add(Note::Parked(block_number(stack.reference)));
        true
    }

    /// *Unpark*: unpacks the frames of a parked stack into a slot that is ready.
    ///
    /// # Safety
    ///
    /// The stack must be parked, and [enough slots](Self::has_ready) be ready.
    pub unsafe fn unpark(&mut self, stack: &mut ControlBlock) {
        let (limit, high) = self.take_ready().expect("a slot is ready");
        // SAFETY: the caller's promise.
        let head = unsafe { *PackedHead::of(stack) };
        let piece = stack.high as *mut u8;
        let top = high - head.above as usize;
        let distance = top.wrapping_sub(stack.top);
        let sp = head.sp.wrapping_add(distance);
        debug_assert!(sp >= limit);
        // SAFETY: the slot is as large as the one where the frames lay, and nobody's.
        unsafe {
            let frames = piece.add(size_of::<PackedHead>());
            ptr::copy_nonoverlapping(frames, sp as *mut u8, head.len as usize);
        }
        (stack.sp, stack.top, stack.limit, stack.high) = (sp, top, limit, high);
        if stack.fp != 0 {
            stack.fp = stack.fp.wrapping_add(distance);
            // SAFETY: the chain was copied along with everything else.
            unsafe { move_links(stack.fp, distance) };
        }
        let is_alone = ptr::eq(stack.innermost, stack) && stack.through.is_null();
        if stack.purpose == Purpose::FirstClass && is_alone {
            stack.is_grouped = 0;
        }
        self.give_up_piece(piece, head);
        self.notes.add(Note::Unparked(block_number(stack.reference)));
        self.has_unparked(block_number(stack.reference));
    }

    /// Gives up the frames of a parked stack, which is freed.
    pub(super) fn drop_packed(&mut self, stack: &mut ControlBlock) {
        // SAFETY: a parked stack has its frames there.
        let head = unsafe { *PackedHead::of(stack) };
        self.give_up_piece(stack.high as *mut u8, head);
        (stack.top, stack.limit, stack.high) = (0, 0, 0);
    }

    fn give_up_piece(&mut self, piece: *mut u8, head: PackedHead) {
        let piece = NonNull::new(piece).expect("pieces are not null");
        // SAFETY: it was taken for these frames.
        unsafe { self.packed.put(piece, head.size()) };
        self.parked -= 1;
    }
}
