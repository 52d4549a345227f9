//! Grows a stack that has reached its guard.
//!
//! Generated code checks nothing: it faults in the guard of the stack. The signal handler makes the
//! thread continue on the host's stack, at the stub [`make_room`](crate::arch::stubs::make_room),
//! which calls [`make_room`] here. Like a host function, this can allocate and ask the store's
//! limiter. Then the thread executes the instruction again.
//!
//! The stack can move. No word on it points into it, except links. Of the registers, only these do
//! at an instruction that can fault there:
//!
//! | register | where |
//! | --- | --- |
//! | `rsp` | everywhere |
//! | `rbp` | everywhere; zero before the first frame |
//! | `r11` | in a function that makes room for a tail call, before it saves its link |
//! | any | in a function that probes for room: it loads through a copy of `rsp` |
//!
//! When the runtime needs room on a waiting stack, it makes that room in advance.

use crate::arch::fault::Fault;
use crate::arch::interrupted::{Interrupted, Saved};
use crate::run::fault;
use crate::stack::{self, TopFrame};
use crate::store::Store;
use crate::store::running::Ending;
use ropewalk_abi::builtin::{CONTINUE, END};
use ropewalk_abi::{ControlBlock, StoreContext, TrapCode};

/// Grows the running stack, whose guard a thread has hit. The stub calls this. Returns zero if the
/// thread can execute the instruction again, with the saved registers.
pub(crate) unsafe extern "C" fn make_room(context: *mut StoreContext, saved: *mut Saved) -> u64 {
    // SAFETY: the stub passes the context of the store whose generated code was interrupted, which
    // holds no reference to it, and the state that the signal handler has saved.
    let (store, saved) = unsafe { (Store::from_context(context), &mut *saved) };
    let fault = saved.fault;
    let mut thread = saved.thread();
    let has_room = has_grown(store, &mut thread, &fault);
    let ending = match store.embedder.take_panic() {
        Some(panic) => Ending::Panic(panic),
        None if has_room => return CONTINUE,
        None => {
            // SAFETY: the running stack's block is alive.
            let fp = first_link(unsafe { &*store.context().stack }, &thread);
            let left = TopFrame { pc: fault.pc, fp, sp: fault.sp, distance: 0, at_fault: true };
            Ending::Fault(TrapCode::CallStackExhausted, left)
        }
    };
    store.set_ending(ending);
    END
}

/// Grows the running stack. Returns whether the instruction can be executed again. If not, nothing
/// has changed.
fn has_grown(store: &mut Store, thread: &mut Interrupted<'_>, fault: &Fault) -> bool {
    // SAFETY: the running stack's block is alive.
    let block = unsafe { &mut *store.context().stack };
    let Some(pointers) = StackPointers::find(store, block, thread, fault) else { return false };
    let lowest = fault.address.min(fault.sp);
    // The frames begin where memory is accessible.
    (block.sp, block.fp) = (fault.sp.max(block.limit), pointers.first_link);
    let high = block.high;
    // SAFETY: the thread is interrupted, and no address of the stack is outside of its registers.
    if unsafe { store.stacks.grow(block, high - lowest, &mut store.embedder) }.is_err() {
        return false;
    }
    let distance = block.high.wrapping_sub(high);
    thread.move_stack(distance);
    if pointers.has_saved_link {
        thread.move_saved_fp(distance);
    }
    if let Some(register) = pointers.probe {
        thread.move_register(register, distance);
    }
    true
}

/// The registers of an interrupted thread that point into its stack.
struct StackPointers {
    /// The beginning of the chain of frames.
    first_link: usize,
    /// Whether it is in the register for the link of a tail call.
    has_saved_link: bool,
    /// The copy of the stack pointer through which the thread loads.
    probe: Option<u8>,
}

impl StackPointers {
    /// Returns `None` if the registers are not as expected.
    fn find(
        store: &Store,
        block: &ControlBlock,
        thread: &Interrupted<'_>,
        fault: &Fault,
    ) -> Option<StackPointers> {
        let is_on_it = stack::contains(block, fault.sp);
        let first_link = first_link(block, thread);
        let is_linked = first_link == 0 || (block.limit..block.high).contains(&first_link);
        let probe = match fault::listed(store, fault) {
            Some(TrapCode::CallStackExhausted) => Some(thread.loads_below_copy_of_sp()?),
            _ => None,
        };
        let has_saved_link = thread.fp() != 0 && thread.fp() < block.limit;
        (is_on_it && is_linked).then_some(StackPointers { first_link, has_saved_link, probe })
    }
}

/// The beginning of the chain of frames. A function that makes room for a tail call lowers its
/// frame pointer before it saves the old one, and has that in another register until then.
pub(crate) fn first_link(block: &ControlBlock, thread: &Interrupted<'_>) -> usize {
    let is_link = (block.limit..block.high).contains(&thread.saved_fp());
    match thread.fp() != 0 && thread.fp() < block.limit {
        true if is_link => thread.saved_fp(),
        true => 0,
        false => thread.fp(),
    }
}

impl Store {
    /// Makes sure that a stack that waits, or is in a host call, has this many bytes below its
    /// stack pointer.
    ///
    /// # Safety
    ///
    /// It must be alive, and no address of it be in use.
    #[inline]
    pub(crate) unsafe fn make_room(
        &mut self,
        block: *mut ControlBlock,
        bytes: usize,
    ) -> Result<(), TrapCode> {
        // SAFETY: the caller's promise.
        let grown = unsafe {
            let needed = (*block).high - (*block).sp + bytes;
            if needed <= (*block).high - (*block).limit {
                return Ok(());
            }
            self.stacks.grow(&mut *block, needed, &mut self.embedder)
        };
        grown.map_err(|_| TrapCode::CallStackExhausted)
    }
    /// Makes sure that a free stack has room for this many bytes and a word. Returns its stack
    /// pointer below them.
    ///
    /// # Safety
    ///
    /// It must be free, and no address of it be in use.
    pub(crate) unsafe fn make_room_on_free(
        &mut self,
        block: *mut ControlBlock,
        bytes: usize,
    ) -> Result<u64, TrapCode> {
        // SAFETY: the caller's promise. A free stack has no frames.
        unsafe {
            ((*block).sp, (*block).fp) = ((*block).top, 0);
            self.make_room(block, bytes + size_of::<usize>())?;
            Ok(((*block).top - bytes) as u64)
        }
    }

    /// Sets the maximum size of each stack.
    pub fn set_max_stack(&mut self, bytes: usize) {
        self.stacks.set_limit(bytes);
    }
}
