//! Which stacks are idle, and where the slots of those that are [parked](super::park)
//! go.
//!
//! As long as a store has few slots, no stack is parked. When it wants one more than
//! its *allowance*, all stacks with slots are looked at, and those are parked that were
//! not used since the last look: the reference to a stack that was continued is
//! another one. If many were used, the allowance is doubled instead, so looks are rare
//! where stacks take turns.
//!
//! If more stacks take turns than there are slots, each seems idle while the others
//! have theirs. So the allowance is doubled too, up to a bound, if the slots were needed
//! for stacks that had been parked.
//!
//! The reference to a task or fiber stays the same. So one that is used may be parked;
//! it has another slot when it is continued, and the next look finds that it was used.

use super::growth::NoRoom;
use super::table::Stacks;
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{ControlBlock, TrapCode};
use std::collections::TryReserveError;

/// How many slots a store has before it parks any stack.
const FIRST_ALLOWANCE: usize = 1024;
/// How many slots stacks may have that are parked and continued again and again.
const MOST_FOR_TURNS: usize = 32 << 10;

/// Which stacks have slots, and which slots have no stack.
#[derive(Debug)]
pub(super) struct Idle {
    /// Every block with a slot, and some that had one.
    seen: Vec<Seen>,
    /// Which numbers are in that list.
    is_seen: Bits,
    /// Slots without a stack, by their lowest addresses: the one that was used last is
    /// the last.
    ready: Vec<usize>,
    /// The same, but their memory was given back.
    cold: Vec<usize>,
    /// From how many slots on stacks are looked at.
    allowance: usize,
    /// How many stacks were unparked since the last look.
    unparked: usize,
    /// Which stacks a look leaves alone, and their numbers.
    is_busy: Bits,
    busy: Vec<usize>,
}

impl Default for Idle {
    fn default() -> Self {
        Idle {
            seen: Vec::new(),
            is_seen: Bits::default(),
            ready: Vec::new(),
            cold: Vec::new(),
            allowance: FIRST_ALLOWANCE,
            unparked: 0,
            is_busy: Bits::default(),
            busy: Vec::new(),
        }
    }
}

/// What a look has seen of a stack with a slot.
#[derive(Clone, Copy, Debug)]
struct Seen {
    number: u32,
    /// Its reference then. Zero of a stack that has its slot since.
    reference: u64,
}

/// A set of numbers of blocks.
#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    /// Makes room for numbers below this one.
    fn make_room(&mut self, numbers: usize) -> Result<(), TryReserveError> {
        let words = numbers.div_ceil(64);
        if self.0.len() < words {
            self.0.try_reserve(words - self.0.len())?;
            self.0.resize(self.0.capacity(), 0);
        }
        Ok(())
    }

    /// Adds a number for which there is room; returns whether it is new.
    fn insert(&mut self, number: usize) -> bool {
        let (word, bit) = (number / 64, 1 << (number % 64));
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    fn remove(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
}

/// Which stacks are parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Park {
    /// Those that were not used since the last look.
    Unused,
    /// All that are suspended or new.
    All,
}

impl Idle {
    /// Makes room in the lists for so many blocks.
    pub fn make_room_for_blocks(&mut self, count: usize) -> Result<(), TryReserveError> {
        self.seen.try_reserve(count.saturating_sub(self.seen.len()))?;
        self.is_seen.make_room(count)
    }

    /// Makes room in the lists for so many slots.
    fn make_room_for_slots(&mut self, count: usize) -> Result<(), TryReserveError> {
        self.ready.try_reserve(count.saturating_sub(self.ready.len()))?;
        self.cold.try_reserve(count.saturating_sub(self.cold.len()))
    }

    /// Takes out the slots without a stack whose memory is to be given back, and adds
    /// them to a list: all but as many, and at most those that a store has before it parks
    /// any stack. None if there is no memory for the list.
    pub fn cool(&mut self, keep: usize, list: &mut Vec<usize>) {
        let count = self.ready.len().saturating_sub(keep.min(FIRST_ALLOWANCE));
        if list.try_reserve(count).is_ok() {
            list.extend_from_slice(&self.ready[..count]);
            self.cold.extend(self.ready.drain(..count));
        }
    }

    /// How many slots have no stack.
    pub fn count_vacant(&self) -> usize {
        self.ready.len() + self.cold.len()
    }

    /// Whether a block is in the list of those with slots.
    pub fn knows(&self, number: usize) -> bool {
        self.is_seen.contains(number)
    }
}

impl Stacks {
    /// Whether a stack with a slot is found when one is looked for to be parked.
    pub fn is_listed_as_idle(&self, number: usize) -> bool {
        self.idle.knows(number)
    }

    /// How many stacks are parked, and the bytes of their packed frames.
    pub fn parked_and_packed_bytes(&self) -> (usize, usize) {
        (self.parked, self.packed.bytes())
    }

    /// How many slots there are.
    pub fn count_slots(&self) -> usize {
        self.slots.count()
    }

    /// How many slots have no stack.
    pub fn count_slots_without_stack(&self) -> usize {
        self.idle.count_vacant() + self.slots.count_closed()
    }

    // ---- slots

    /// Notes that a block has got a slot.
    pub(super) fn has_memory(&mut self, number: usize) {
        if self.idle.is_seen.insert(number) {
            self.idle.seen.push(Seen { number: number as u32, reference: 0 });
        }
    }

    /// Notes that a stack was unparked.
    pub(super) fn has_unparked(&mut self, number: usize) {
        self.idle.unparked += 1;
        self.has_memory(number);
    }

    /// Notes that a slot has no stack any more.
    pub(super) fn vacate(&mut self, limit: usize) {
        self.idle.ready.push(limit);
    }

    /// A slot that is ready, if there is one: its lowest usable address, and that after
    /// the highest.
    pub(super) fn take_ready(&mut self) -> Option<(usize, usize)> {
        let limit = self.idle.ready.pop()?;
        Some((limit, self.slots.end(limit)))
    }

    /// A slot, if there may be one more.
    pub(super) fn take_slot(&mut self) -> Result<(usize, usize), NoRoom> {
        match self.take_ready() {
            Some(slot) => Ok(slot),
            None => self.take_further_slot(),
        }
    }

    /// A slot that is not ready yet, if there may be one more.
    fn take_further_slot(&mut self) -> Result<(usize, usize), NoRoom> {
        if self.room_left() < self.slots.usable() {
            return Err(NoRoom::Sum(self.memory));
        }
        if let Some(limit) = self.idle.cold.pop() {
            return Ok((limit, self.slots.end(limit)));
        }
        let room = self.idle.make_room_for_slots(self.slots.count() + 1);
        room.map_err(|_| NoRoom::Machine(self.slots.chunk()))?;
        self.slots.take().map_err(|_| NoRoom::Machine(self.slots.chunk()))
    }

    /// How many slots may have memory.
    pub(super) fn count_warm(&self) -> usize {
        self.slots.count() - self.slots.count_closed() - self.idle.cold.len()
    }

    /// How many bytes stacks would have with so many more.
    pub fn taken_with(&self, more: usize) -> usize {
        let slots = more.saturating_sub(self.idle.ready.len());
        self.taken().saturating_add(slots.saturating_mul(self.slots.usable()))
    }

    /// Gives the memory of slots without a stack back.
    pub(super) fn give_back_ready(&mut self) {
        let mut cold = Vec::new();
        self.idle.cool(0, &mut cold);
        self.slots.give_back(cold);
    }

    /// The same, of as many as it takes for stacks not to have more than they may.
    pub(super) fn give_back_excess(&mut self) {
        let excess = self.taken().saturating_sub(self.memory);
        if excess > 0 {
            let keep = self.idle.ready.len().saturating_sub(excess.div_ceil(self.slots.usable()));
            let mut cold = Vec::new();
            self.idle.cool(keep, &mut cold);
            self.slots.give_back(cold);
        }
    }

    /// Whether as many slots are ready.
    pub fn has_ready(&self, count: usize) -> bool {
        self.idle.ready.len() >= count
    }

    /// Makes one more slot ready, if there may be one more.
    pub fn make_slot_ready(&mut self) -> Result<(), TrapCode> {
        let (limit, _) = self.take_further_slot().map_err(|reason| self.refuse(reason))?;
        self.vacate(limit);
        Ok(())
    }

    // ---- looks

    /// Whether stacks are to be looked at before there are more slots.
    pub fn should_park(&self) -> bool {
        self.idle.ready.is_empty() && self.count_warm() >= self.idle.allowance
    }

    /// Whether there is no slot left, and may be none.
    pub fn is_out_of_slots(&self) -> bool {
        self.idle.ready.is_empty() && self.room_left() < self.slots.usable()
    }

    /// Whether there are more slots than a store has before it parks any stack.
    pub fn has_many_slots(&self) -> bool {
        self.count_warm() > FIRST_ALLOWANCE
    }

    /// Makes room for what a look notes, while so many stacks run, wait, or are suspended
    /// with roots. Returns a list for those that it parks.
    pub fn begin_look(&mut self, busy: usize) -> Result<Vec<*mut ControlBlock>, TryReserveError> {
        let seen = self.idle.seen.len();
        self.idle.is_busy.make_room(self.len() + 1)?;
        self.idle.busy.try_reserve(seen + busy)?;
        let mut chosen = Vec::new();
        chosen.try_reserve_exact(seen)?;
        Ok(chosen)
    }

    /// Has the look that begins leave a stack alone, which runs or waits, or is
    /// suspended with a root.
    pub fn leave_alone(&mut self, stack: *const ControlBlock) {
        let Some(number) = self.number_of(stack) else { return };
        if self.idle.is_busy.insert(number) {
            self.idle.busy.push(number);
        }
    }

    /// Adds the outermost stacks of what a look parks to a list that has room for them;
    /// ends the look for all others.
    pub fn choose_idle(&mut self, which: Park, chosen: &mut Vec<*mut ControlBlock>) {
        let mut seen = std::mem::take(&mut self.idle.seen);
        // SAFETY: blocks of the table are always initialised; the parents of the
        // innermost of suspended stacks lead to the outermost.
        unsafe {
            seen.retain(|seen| {
                let stack = self.block(seen.number as usize);
                let has_slot = (*stack).limit != 0 && !(*stack).is_parked();
                if !has_slot {
                    self.idle.is_seen.remove(seen.number as usize);
                }
                has_slot
            });
            for seen in &seen {
                let stack = self.block(seen.number as usize);
                if !self.idle.is_busy.contains(seen.number as usize) {
                    self.leave_inner_alone(stack);
                }
            }
            for seen in &mut seen {
                let stack = self.block(seen.number as usize);
                let is_busy = self.idle.is_busy.contains(seen.number as usize);
                if is_busy || !can_be_parked(&*stack) {
                    continue;
                }
                let is_unused = seen.reference == (*stack).reference;
                seen.reference = (*stack).reference;
                if is_unused || which == Park::All {
                    chosen.push(stack);
                }
            }
            self.idle.seen = seen;
            while let Some(number) = self.idle.busy.pop() {
                self.idle.is_busy.remove(number);
            }
        }
    }

    /// Leaves those alone that are suspended with another, inside of it.
    ///
    /// # Safety
    ///
    /// The block must lie in the table, and its stack not run or wait.
    unsafe fn leave_inner_alone(&mut self, outermost: *mut ControlBlock) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut stack = (*outermost).innermost;
            while stack != outermost {
                self.leave_alone(stack);
                stack = (*stack).parent;
            }
        }
    }

    /// Whether stacks take turns that a look would part from their slots too soon.
    /// Then more slots are allowed.
    pub fn allow_turns(&mut self) -> bool {
        let idle = &mut self.idle;
        let many = idle.unparked >= idle.allowance / 2 && idle.allowance < MOST_FOR_TURNS;
        idle.unparked = 0;
        if many {
            idle.allowance *= 2;
        }
        many
    }

    /// After a look: allows more slots if few became free, so that the next look does
    /// not come soon.
    pub fn set_allowance(&mut self) {
        let count = self.count_warm();
        let in_use = count - self.idle.ready.len();
        if in_use > self.idle.allowance / 4 * 3 {
            self.idle.allowance = self.idle.allowance.max(count) * 2;
        }
    }

    /// After a collection: allows no more slots than are needed.
    pub fn reset_allowance(&mut self) {
        let in_use = self.count_warm() - self.idle.ready.len();
        self.idle.allowance = (in_use * 2).max(FIRST_ALLOWANCE);
    }
}

/// Whether a stack with a slot that neither runs nor waits, nor is suspended inside of
/// another, is suspended or new. A task or fiber may also be lost.
fn can_be_parked(stack: &ControlBlock) -> bool {
    match stack.purpose {
        Purpose::Free | Purpose::Root => false,
        purpose => !purpose.has_identity() || stack.parent.is_null(),
    }
}
