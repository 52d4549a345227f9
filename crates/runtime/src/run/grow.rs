//! Room for a stack that has none left.
//!
//! Generated code checks nothing: it faults in the guard of the stack. The handler of
//! signals has the thread continue on the host's stack, at the stub
//! [`make_room`](crate::arch::stubs::make_room), which calls [`make_room`] here: like a host
//! function it may allocate, and ask the limiter of the store. Then the thread goes back to the
//! instruction that has faulted.
//!
//! The stack may move. No word on it points into it but the links, and of the registers
//! only these do, at an instruction that can fault there:
//!
//! | register | where |
//! | --- | --- |
//! | `rsp` | everywhere |
//! | `rbp` | everywhere; zero before the first frame |
//! | `r11` | where a function makes room for a tail call, and is about to save its link |
//! | any | where a function makes sure that there is room: it loads from a copy of `rsp` |
//!
//! The runtime, where it needs room on a stack that waits, asks for it before it begins.

use crate::arch::fault::Fault;
use crate::arch::interrupted::{Interrupted, Saved};
use crate::run::fault::{self};
use crate::stack;
use crate::stack::LeavePoint;
use crate::store::Store;
use crate::store::running::Ending;
use ropewalk_abi::builtin::{END, GO_ON};
use ropewalk_abi::{ControlBlock, StoreContext, TrapCode};

/// Gives the running stack, whose guard a thread has met, more room. Called by the stub: returns
/// zero if the thread can execute the instruction again, with the registers that are saved.
pub(crate) unsafe extern "C" fn make_room(context: *mut StoreContext, saved: *mut Saved) -> u64 {
    // SAFETY: the stub passes the context of the store whose generated code was interrupted,
    // which holds no reference to it, and what the handler has saved.
    let (store, saved) = unsafe { (Store::from_context(context), &mut *saved) };
    let fault = saved.fault;
    let mut thread = saved.thread();
    let has_room = has_grown(store, &mut thread, &fault);
    let ending = match store.embedder.take_panic() {
        Some(panic) => Ending::Panic(panic),
        None if has_room => return GO_ON,
        None => {
            // SAFETY: the running stack's block is alive.
            let fp = first_link(unsafe { &*store.context().stack }, &thread);
            let left = LeavePoint { pc: fault.pc, fp, sp: fault.sp, distance: 0, at_fault: true };
            Ending::Fault(TrapCode::CallStackExhausted, left)
        }
    };
    store.set_ending(ending);
    END
}

/// Gives the running stack more room. Returns whether the instruction can be executed again; if
/// not, nothing has changed.
fn has_grown(store: &mut Store, thread: &mut Interrupted<'_>, fault: &Fault) -> bool {
    // SAFETY: the running stack's block is alive.
    let block = unsafe { &mut *store.context().stack };
    let Some(pointers) = Pointers::find(store, block, thread, fault) else { return false };
    let lowest = fault.address.min(fault.sp);
    // What lies on it begins where it can be accessed.
    (block.sp, block.fp) = (fault.sp.max(block.limit), pointers.first_link);
    let high = block.high;
    // SAFETY: the thread is interrupted, and its registers are all that has addresses.
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

/// Which registers of an interrupted thread point into its stack.
struct Pointers {
    /// Where the chain of frames begins.
    first_link: usize,
    /// Whether it begins in the register for the link of a tail call.
    has_saved_link: bool,
    /// The copy of the stack pointer that is loaded from.
    probe: Option<u8>,
}

impl Pointers {
    /// None if they are not as they should be.
    fn find(
        store: &Store,
        block: &ControlBlock,
        thread: &Interrupted<'_>,
        fault: &Fault,
    ) -> Option<Pointers> {
        let is_on_it = stack::contains(block, fault.sp);
        let first_link = first_link(block, thread);
        let is_linked = first_link == 0 || (block.limit..block.high).contains(&first_link);
        let probe = match fault::listed(store, fault) {
            Some(TrapCode::CallStackExhausted) => Some(thread.loads_below_copy_of_sp()?),
            _ => None,
        };
        let has_saved_link = thread.fp() != 0 && thread.fp() < block.limit;
        (is_on_it && is_linked).then_some(Pointers { first_link, has_saved_link, probe })
    }
}

/// Where the chain of frames begins. A function that needs room for a tail call
/// lowers its frame pointer before it saves the old one, which it has in another
/// register until then.
pub(crate) fn first_link(block: &ControlBlock, thread: &Interrupted<'_>) -> usize {
    let is_link = (block.limit..block.high).contains(&thread.saved_fp());
    match thread.fp() != 0 && thread.fp() < block.limit {
        true if is_link => thread.saved_fp(),
        true => 0,
        false => thread.fp(),
    }
}

impl Store {
    /// Makes sure that a stack that waits, or is in a call of the host, has this many
    /// bytes below its stack pointer.
    ///
    /// # Safety
    ///
    /// It must be alive, and nobody keep an address of it.
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
    /// Makes sure that a free stack has room for this many bytes and a word; returns
    /// its stack pointer below them.
    ///
    /// # Safety
    ///
    /// It must be free, and nobody keep an address of it.
    pub(crate) unsafe fn make_room_on_free(
        &mut self,
        block: *mut ControlBlock,
        bytes: usize,
    ) -> Result<u64, TrapCode> {
        // SAFETY: the caller's promise. A free stack has nothing on it.
        unsafe {
            ((*block).sp, (*block).fp) = ((*block).top, 0);
            self.make_room(block, bytes + size_of::<usize>())?;
            Ok(((*block).top - bytes) as u64)
        }
    }

    /// How many bytes each stack may have from now on.
    pub fn set_max_stack(&mut self, bytes: usize) {
        self.stacks.set_limit(bytes);
    }
}
