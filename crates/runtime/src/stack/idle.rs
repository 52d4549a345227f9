//! Finds idle stacks to park when a store needs more slots.
//!
//! While a store has few slots, no stack is parked. When it needs one more than its *allowance*, a
//! scan visits every stack with a slot. It parks those that were not used since the last scan:
//! continuing a stack changes its reference. If many were used, the allowance is doubled instead,
//! so scans are rare where stacks take turns.
//!
//! If more stacks take turns than there are slots, each looks idle while the others have slots. So
//! the allowance is also doubled, up to a bound, if the slots were needed for stacks that had been
//! parked.
//!
//! The reference to a task or fiber never changes, so one that is in use can be parked. It gets
//! another slot when it is continued, and the next scan sees that it was used.

use super::block_set::BlockSet;
use super::group::members;
use super::growth::NoRoom;
use super::table::Stacks;
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{ControlBlock, TrapCode};
use std::collections::TryReserveError;

/// The number of slots that a store has before it parks any stack.
const FIRST_ALLOWANCE: usize = 1024;
/// The bound of the allowance where stacks take turns.
const MOST_FOR_TURNS: usize = 32 << 10;

/// Which stacks have slots, and which slots are vacant.
#[derive(Debug)]
pub(super) struct Idle {
    /// Every block with a slot, and some that had one.
    scanned: Vec<ScannedStack>,
    is_scanned: BlockSet,
    /// The lowest addresses of vacant slots. The last one was used most recently.
    ready: Vec<usize>,
    /// Vacant slots whose memory was given back.
    cold: Vec<usize>,
    /// The number of slots from which on a scan comes before another slot.
    allowance: usize,
    /// The number of stacks that were unparked since the last scan.
    unparked: usize,
    /// The stacks that a scan skips, and their numbers.
    is_busy: BlockSet,
    busy: Vec<usize>,
}

impl Default for Idle {
    fn default() -> Self {
        Idle {
            scanned: Vec::new(),
            is_scanned: BlockSet::default(),
            ready: Vec::new(),
            cold: Vec::new(),
            allowance: FIRST_ALLOWANCE,
            unparked: 0,
            is_busy: BlockSet::default(),
            busy: Vec::new(),
        }
    }
}

/// A stack with a slot, as the last scan saw it.
#[derive(Clone, Copy, Debug)]
struct ScannedStack {
    number: u32,
    /// Its reference then, or zero if it got its slot after the scan.
    reference: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Park {
    /// Those that were not used since the last scan.
    Unused,
    /// All that are suspended or new.
    All,
}

impl Idle {
    pub fn make_room_for_blocks(&mut self, count: usize) -> Result<(), TryReserveError> {
        self.scanned.try_reserve(count.saturating_sub(self.scanned.len()))?;
        self.is_scanned.make_room(count)
    }

    fn make_room_for_slots(&mut self, count: usize) -> Result<(), TryReserveError> {
        self.ready.try_reserve(count.saturating_sub(self.ready.len()))?;
        self.cold.try_reserve(count.saturating_sub(self.cold.len()))
    }

    /// Moves all ready slots but the last `keep` to the cold ones, and appends them to `list`: the
    /// caller gives their memory back. At most [`FIRST_ALLOWANCE`] stay ready. Does nothing if
    /// there is no memory for the list.
    pub fn cool(&mut self, keep: usize, list: &mut Vec<usize>) {
        let count = self.ready.len().saturating_sub(keep.min(FIRST_ALLOWANCE));
        if list.try_reserve(count).is_ok() {
            list.extend_from_slice(&self.ready[..count]);
            self.cold.extend(self.ready.drain(..count));
        }
    }

    pub fn count_vacant(&self) -> usize {
        self.ready.len() + self.cold.len()
    }

    /// Whether a block is in the list of those with slots.
    pub fn knows(&self, number: usize) -> bool {
        self.is_scanned.contains(number)
    }
}

impl Stacks {
    /// Whether a scan finds a stack.
    pub fn is_listed_as_idle(&self, number: usize) -> bool {
        self.idle.knows(number)
    }

    /// The number of parked stacks, and the bytes of their packed frames.
    pub fn parked_and_packed_bytes(&self) -> (usize, usize) {
        (self.parked, self.packed.bytes())
    }

    pub fn count_slots(&self) -> usize {
        self.slots.count()
    }

    pub fn count_slots_without_stack(&self) -> usize {
        self.idle.count_vacant() + self.slots.count_closed()
    }

    // ---- slots

    /// Adds a block that got a slot to the list.
    pub(super) fn has_memory(&mut self, number: usize) {
        if self.idle.is_scanned.insert(number) {
            self.idle.scanned.push(ScannedStack { number: number as u32, reference: 0 });
        }
    }

    pub(super) fn has_unparked(&mut self, number: usize) {
        self.idle.unparked += 1;
        self.has_memory(number);
    }

    pub(super) fn vacate(&mut self, limit: usize) {
        self.idle.ready.push(limit);
    }

    /// Takes a ready slot: its lowest usable address and the end.
    pub(super) fn take_ready(&mut self) -> Option<(usize, usize)> {
        let limit = self.idle.ready.pop()?;
        Some((limit, self.slots.end(limit)))
    }

    /// Takes a slot, if the store may have one more.
    pub(super) fn take_slot(&mut self) -> Result<(usize, usize), NoRoom> {
        match self.take_ready() {
            Some(slot) => Ok(slot),
            None => self.take_further_slot(),
        }
    }

    /// Takes a slot that is not ready yet, if the store may have one more.
    fn take_further_slot(&mut self) -> Result<(usize, usize), NoRoom> {
        if self.room_left() < self.slots.usable() {
            return Err(NoRoom::Sum(self.options.memory));
        }
        if let Some(limit) = self.idle.cold.pop() {
            return Ok((limit, self.slots.end(limit)));
        }
        let room = self.idle.make_room_for_slots(self.slots.count() + 1);
        room.map_err(|_| NoRoom::Machine(self.slots.chunk()))?;
        self.slots.take().map_err(|_| NoRoom::Machine(self.slots.chunk()))
    }

    /// The number of slots that may have memory.
    pub(super) fn count_warm(&self) -> usize {
        self.slots.count() - self.slots.count_closed() - self.idle.cold.len()
    }

    /// The bytes that stacks would take with `more` slots.
    pub fn taken_with(&self, more: usize) -> usize {
        let slots = more.saturating_sub(self.idle.ready.len());
        self.taken().saturating_add(slots.saturating_mul(self.slots.usable()))
    }

    pub(super) fn give_back_ready(&mut self) {
        let mut cold = Vec::new();
        self.idle.cool(0, &mut cold);
        self.slots.give_back(cold);
    }

    /// Gives back the memory of vacant slots as far as stacks exceed their limit.
    pub(super) fn give_back_excess(&mut self) {
        let excess = self.taken().saturating_sub(self.options.memory);
        if excess > 0 {
            let keep = self.idle.ready.len().saturating_sub(excess.div_ceil(self.slots.usable()));
            let mut cold = Vec::new();
            self.idle.cool(keep, &mut cold);
            self.slots.give_back(cold);
        }
    }

    pub fn has_ready(&self, count: usize) -> bool {
        self.idle.ready.len() >= count
    }

    pub fn make_slot_ready(&mut self) -> Result<(), TrapCode> {
        let (limit, _) = self.take_further_slot().map_err(|reason| self.refuse(reason))?;
        self.vacate(limit);
        Ok(())
    }

    // ---- scans

    /// Whether a scan comes before another slot.
    pub fn should_park(&self) -> bool {
        self.idle.ready.is_empty() && self.count_warm() >= self.idle.allowance
    }

    /// Whether no slot is ready, and no other may be made.
    pub fn is_out_of_slots(&self) -> bool {
        self.idle.ready.is_empty() && self.room_left() < self.slots.usable()
    }

    /// Whether there are more slots than a store has before it parks any stack.
    pub fn has_many_slots(&self) -> bool {
        self.count_warm() > FIRST_ALLOWANCE
    }

    /// Makes room for a scan that skips this many stacks. Returns an empty list with room for the
    /// stacks to park.
    pub fn begin_look(&mut self, busy: usize) -> Result<Vec<*mut ControlBlock>, TryReserveError> {
        let scanned = self.idle.scanned.len();
        self.idle.is_busy.make_room(self.len() + 1)?;
        self.idle.busy.try_reserve(scanned + busy)?;
        let mut chosen = Vec::new();
        chosen.try_reserve_exact(scanned)?;
        Ok(chosen)
    }

    /// Makes the scan skip a stack: it runs, waits, or is suspended with a root.
    pub fn leave_alone(&mut self, stack: *const ControlBlock) {
        let Some(number) = self.number_of(stack) else { return };
        if self.idle.is_busy.insert(number) {
            self.idle.busy.push(number);
        }
    }

    /// Appends the outermost stacks to park to the list, and ends the scan.
    pub fn choose_idle(&mut self, which: Park, chosen: &mut Vec<*mut ControlBlock>) {
        let mut scanned = std::mem::take(&mut self.idle.scanned);
        // SAFETY: blocks of the table are always initialized. The parents of the innermost
        // suspended stack lead to the outermost.
        unsafe {
            scanned.retain(|scanned| {
                let stack = self.block(scanned.number as usize);
                let has_slot = (*stack).limit != 0 && !(*stack).is_parked();
                if !has_slot {
                    self.idle.is_scanned.remove(scanned.number as usize);
                }
                has_slot
            });
            for scanned in &scanned {
                let stack = self.block(scanned.number as usize);
                if !self.idle.is_busy.contains(scanned.number as usize) {
                    let inner = members(stack).filter(|inner| *inner != stack);
                    inner.for_each(|inner| self.leave_alone(inner));
                }
            }
            for scanned in &mut scanned {
                let stack = self.block(scanned.number as usize);
                let is_busy = self.idle.is_busy.contains(scanned.number as usize);
                if is_busy || !can_be_parked(&*stack) {
                    continue;
                }
                let is_unused = scanned.reference == (*stack).reference;
                scanned.reference = (*stack).reference;
                if is_unused || which == Park::All {
                    chosen.push(stack);
                }
            }
            self.idle.scanned = scanned;
            while let Some(number) = self.idle.busy.pop() {
                self.idle.is_busy.remove(number);
            }
        }
    }

    /// Doubles the allowance if stacks take turns that a scan would park too soon. Returns whether
    /// it did.
    pub fn allow_turns(&mut self) -> bool {
        let idle = &mut self.idle;
        let many = idle.unparked >= idle.allowance / 2 && idle.allowance < MOST_FOR_TURNS;
        idle.unparked = 0;
        if many {
            idle.allowance *= 2;
        }
        many
    }

    /// After a scan: doubles the allowance if few slots became vacant, so that the next scan is not
    /// soon.
    pub fn set_allowance(&mut self) {
        let count = self.count_warm();
        let in_use = count - self.idle.ready.len();
        if in_use > self.idle.allowance / 4 * 3 {
            self.idle.allowance = self.idle.allowance.max(count) * 2;
        }
    }

    /// After a collection: lowers the allowance to the slots in use.
    pub fn reset_allowance(&mut self) {
        let in_use = self.count_warm() - self.idle.ready.len();
        self.idle.allowance = (in_use * 2).max(FIRST_ALLOWANCE);
    }
}

/// Whether a stack with a slot is suspended or new. It must neither run nor wait, nor be suspended
/// inside of another. A task or fiber can also be lost.
fn can_be_parked(stack: &ControlBlock) -> bool {
    match stack.purpose {
        Purpose::Free | Purpose::Root => false,
        purpose => !purpose.has_identity() || stack.parent.is_null(),
    }
}
