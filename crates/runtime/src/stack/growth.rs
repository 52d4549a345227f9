//! Grows and shrinks stacks.
//!
//! A stack begins in its *home*, a slot or the memory of a root. When it needs more, it moves once,
//! into a *region*: as much address space as it may ever use. From then on only its guard moves
//! down:
//!
//! ```text
//!   home           | guard | used |
//!   region   | guard | never used     | lowest ... given up | guard | used ...       |
//!            ^ base                                                 ^ limit          ^ high
//! ```
//!
//! The size doubles each time. So faults are few, and the total that the stacks of a store use is
//! known. The kernel provides pages when they are touched.
//!
//! Unused memory goes back in steps, each [time](Stacks::shrink) memory is given back. First the
//! guard moves up. If the stack has not grown again until the next time, the pages below the guard
//! are given back. In the end the stack moves home. So a stack that is deep again and again keeps
//! its memory.

use super::arena::GUARD;
use super::relocate::copy_and_link;
use super::table::Stacks;
use crate::embedder::Embedder;
use crate::embedder::Undecided;
use crate::os::limits::OsLimit;
use crate::os::mapping::{self, Map, PAGE};
use crate::stack::stack_events::StackEvent;
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{ControlBlock, TrapCode};
use std::collections::{HashMap, TryReserveError};
use std::io;
use thiserror::Error;

/// Why a stack cannot grow, or cannot be made.
#[derive(Clone, Copy, Debug, Error)]
pub(crate) enum NoRoom {
    #[error("a stack may have at most {0} bytes (Config::max_wasm_stack)")]
    Limit(usize),
    #[error("all stacks together may have at most {0} bytes (Config::max_stack_memory)")]
    Sum(usize),
    #[error("a store may have at most {0} stacks (Config::max_stacks)")]
    Count(usize),
    #[error("a store can have at most {0} stacks")]
    Blocks(usize),
    #[error("a stack may have at most {} answers, redirections and walks", u16::MAX)]
    Marks,
    #[error("the limiter of the store allows no more")]
    Limiter,
    #[error("{}", Undecided::DETAIL)]
    Undecided,
    // The limit is found right after it was reached.
    #[error("{}", OsLimit::found(*.0))]
    Machine(usize),
    #[error("stacks do not grow (Stress::fail_to_grow)")]
    Fails,
}

#[derive(Debug)]
pub(super) struct Grown {
    regions: HashMap<usize, Region>,
    limit: usize,
    fails: bool,
    /// The memory of regions beyond the sizes of the homes.
    added: usize,
    /// Why the last stack could not grow or be made, until it is reported.
    refusal: Option<NoRoom>,
}

#[derive(Debug)]
struct Region {
    memory: Map,
    /// The limit and the high end of its home.
    home: (usize, usize),
    /// Pages below this address were never touched, or were given back.
    lowest: usize,
}

impl Region {
    fn new(most: usize, least: usize, home: (usize, usize)) -> io::Result<Region> {
        let memory = Map::read_write(GUARD + most).or_else(|_| Map::read_write(GUARD + least))?;
        memory.no_huge_pages();
        memory.guard(0, GUARD)?;
        let lowest = memory.base() as usize + memory.len();
        Ok(Region { memory, home, lowest })
    }

    fn offset(&self, address: usize) -> usize {
        address - self.memory.base() as usize
    }

    fn high(&self) -> usize {
        self.memory.base() as usize + self.memory.len()
    }

    /// The size that a stack in it can have.
    fn capacity(&self) -> usize {
        self.memory.len() - GUARD
    }

    fn home_size(&self) -> usize {
        self.home.1 - self.home.0
    }

    fn open_home(&self) -> io::Result<()> {
        // SAFETY: the stack has left it.
        unsafe { mapping::return_to_pages(self.home.0, self.home_size()) }
    }

    /// Lowers the guard so that the stack has `size` bytes. The stack has had the region down to
    /// `from`. Returns its new limit.
    fn lower_guard(&mut self, from: usize, size: usize) -> io::Result<usize> {
        let limit = self.high() - size;
        let guard = self.offset(limit) - GUARD;
        // This includes the guards that were there before.
        self.memory.unguard(self.offset(limit), from - limit)?;
        // The lowest page of the region is always a guard.
        let limit = match guard == 0 || self.memory.guard(guard, GUARD).is_ok() {
            true => limit,
            false => self.memory.base() as usize + GUARD,
        };
        self.lowest = self.lowest.min(limit);
        Ok(limit)
    }

    /// Raises the guard so that the stack has `size` bytes. Returns its new limit.
    fn raise_guard(&self, limit: usize, size: usize) -> usize {
        let raised = self.high() - size;
        match raised > limit && self.memory.guard(self.offset(raised) - GUARD, GUARD).is_ok() {
            true => raised,
            false => limit,
        }
    }

    /// Gives back the pages below the guard of a stack.
    fn give_back_below(&mut self, limit: usize) {
        let (lowest, guard) = (self.lowest, limit - GUARD);
        if lowest < guard {
            self.memory.give_back(self.offset(lowest), guard - lowest);
        }
        self.lowest = limit;
    }
}

impl Grown {
    pub fn new(limit: usize, fails: bool) -> Grown {
        Grown { regions: HashMap::new(), limit: round_limit(limit), fails, added: 0, refusal: None }
    }

    /// Makes room for one more stack, or for one under another number.
    pub fn make_room(&mut self) -> Result<(), TryReserveError> {
        self.regions.try_reserve(1)
    }

    /// Moves the region to another block. There must be [room](Self::make_room).
    pub fn hand_over(&mut self, from: usize, to: usize) {
        if let Some(region) = self.regions.remove(&from) {
            self.regions.insert(to, region);
        }
    }

    pub fn added(&self) -> usize {
        self.added
    }

    /// The address space and the memory of the chosen stacks.
    pub fn reserved_and_committed(&self, counts: impl Fn(usize) -> bool) -> (usize, usize) {
        let regions = self.regions.iter().filter(|(number, _)| counts(**number));
        let sizes = regions.map(|(_, region)| (region.memory.len(), region.memory.committed()));
        sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1))
    }

    /// Updates `added` after a region changed.
    fn count(&mut self, number: usize, before: usize) {
        self.added = self.added - before + self.regions.get(&number).map_or(0, Region::added);
    }
}

impl Region {
    fn added(&self) -> usize {
        (self.high() - self.lowest).saturating_sub(self.home_size())
    }
}

impl Stacks {
    pub fn set_limit(&mut self, bytes: usize) {
        self.grown.limit = round_limit(bytes);
    }

    pub fn has_moved_out(&self, block: *const ControlBlock) -> bool {
        let number = self.number(block);
        self.grown.regions.contains_key(&number)
    }

    /// Makes a stack at least this large. It may move, with everything from `sp` and `fp` on.
    ///
    /// # Safety
    ///
    /// The stack must not run, or be interrupted with these two fields set. No address of it may be
    /// in use.
    pub unsafe fn grow(
        &mut self,
        block: &mut ControlBlock,
        needed: usize,
        embedder: &mut Embedder,
    ) -> Result<(), NoRoom> {
        if needed <= block.high - block.limit {
            return Ok(());
        }
        let needed = needed.next_multiple_of(PAGE);
        // SAFETY: the caller's promise.
        let grown = unsafe { self.grow_by_doubling(block, needed, embedder) };
        self.grown.refusal = grown.err();
        grown
    }

    /// Records why there is no new stack.
    pub fn refuse(&mut self, reason: NoRoom) -> TrapCode {
        self.grown.refusal = Some(reason);
        TrapCode::TooManyStacks
    }

    pub fn take_refusal(&mut self) -> Option<NoRoom> {
        self.grown.refusal.take()
    }

    unsafe fn grow_by_doubling(
        &mut self,
        block: &mut ControlBlock,
        needed: usize,
        embedder: &mut Embedder,
    ) -> Result<(), NoRoom> {
        let number = self.number(block);
        let size = block.high - block.limit;
        let most = self.limits.get(number).unwrap_or(self.grown.limit);
        if self.grown.fails {
            return Err(NoRoom::Fails);
        }
        if needed > most {
            return Err(NoRoom::Limit(most));
        }
        if needed > self.room_left().saturating_add(size) {
            self.give_back_unused();
        }
        let room = self.room_left().saturating_add(size);
        if needed > room {
            return Err(NoRoom::Sum(self.options.memory));
        }
        let wanted = (2 * size).next_multiple_of(PAGE).min(most).min(room / PAGE * PAGE);
        let sizes = [wanted.max(needed), needed];
        let wanted = self.first_allowed(size, sizes, embedder).or_else(|| {
            self.give_back_unused();
            self.first_allowed(size, sizes, embedder)
        });
        let wanted = wanted.ok_or(NoRoom::Limiter)?;
        let before = self.grown.regions.get(&number).map_or(0, Region::added);
        let result = match self.grown.regions.get_mut(&number) {
            Some(region) if wanted <= region.capacity() => {
                region.lower_guard(block.limit, wanted).map(|limit| block.limit = limit)
            }
            // SAFETY: the caller's promise.
            _ => unsafe { self.move_to_region(number, block, most, wanted) },
        };
        self.grown.count(number, before);
        result.map_err(|_| NoRoom::Machine(wanted))?;
        self.growths += 1;
        self.shrink_due = true;
        self.events.add(StackEvent::Grown(number, block.high - block.limit));
        Ok(())
    }

    /// The first of two sizes that the limiter allows.
    fn first_allowed(
        &self,
        size: usize,
        sizes: [usize; 2],
        embedder: &mut Embedder,
    ) -> Option<usize> {
        let taken = self.taken();
        sizes.into_iter().find(|to| embedder.stack_growing(size, *to, taken + (to - size)))
    }

    /// Gives back unused memory that counts toward the store's limit.
    pub fn give_back_unused(&mut self) {
        self.give_back_below_guards();
        self.give_back_ready();
    }

    fn give_back_below_guards(&mut self) {
        let base = self.base();
        let mut added = 0;
        for (number, region) in &mut self.grown.regions {
            // SAFETY: blocks of the table are always initialized.
            region.give_back_below(unsafe { (*base.wrapping_add(*number)).limit });
            added += region.added();
        }
        self.grown.added = added;
    }

    unsafe fn move_to_region(
        &mut self,
        number: usize,
        block: &mut ControlBlock,
        most: usize,
        size: usize,
    ) -> io::Result<()> {
        let old = self.grown.regions.get(&number);
        let home = old.map_or((block.limit, block.high), |old| old.home);
        self.grown.make_room().map_err(|_| io::ErrorKind::OutOfMemory)?;
        let mut region = Region::new(most, size, home)?;
        let limit = region.lower_guard(region.high(), size)?;
        // SAFETY: the stack is where its block says, the new place is larger, and no address is in
        // use.
        unsafe { move_to(block, limit, region.high()) };
        // The old memory is now unmapped, or inaccessible until the stack moves home.
        if self.grown.regions.insert(number, region).is_none() {
            // SAFETY: the stack has left it, and no address is in use.
            unsafe { mapping::leave_pages(home.0, home.1 - home.0) };
        }
        Ok(())
    }

    /// Moves a grown stack, which is not running, to another region.
    ///
    /// # Safety
    ///
    /// As for [`grow`](Self::grow).
    pub unsafe fn move_region(&mut self, block: &mut ControlBlock) -> io::Result<()> {
        let number = self.number(block);
        let (size, before) = (block.high - block.limit, self.grown.regions[&number].added());
        let most = self.grown.regions[&number].capacity();
        // SAFETY: the caller's promise.
        let result = unsafe { self.move_to_region(number, block, most, size) };
        self.grown.count(number, before);
        result
    }

    /// Takes unused memory from grown stacks, as the head of this file says. No generated code may
    /// run. If an activation waits for this, only empty stacks move.
    pub fn shrink(&mut self, is_idle: impl Fn(*const ControlBlock) -> bool, in_call: bool) {
        let mut numbers = Vec::new();
        if numbers.try_reserve_exact(self.grown.regions.len()).is_err() {
            // Perhaps there is memory the next time.
            return;
        }
        numbers.extend(self.grown.regions.keys().copied());
        self.shrink_due = false;
        for number in numbers {
            let block = self.block(number);
            // SAFETY: blocks of the table are always initialized, and this is the only reference.
            let stack = unsafe { &mut *block };
            let is_empty = stack.purpose == Purpose::Free || is_idle(block);
            let before = self.grown.regions[&number].added();
            if is_empty {
                (stack.sp, stack.fp) = (stack.high, 0);
            }
            self.shrink_due |= self.shrink_one(number, stack, is_empty || !in_call);
            self.grown.count(number, before);
        }
    }

    /// Returns whether the next time can free more.
    fn shrink_one(&mut self, number: usize, stack: &mut ControlBlock, may_move: bool) -> bool {
        let region = self.grown.regions.get_mut(&number).expect("it has grown");
        if !(stack.limit..=stack.high).contains(&stack.sp) {
            return false;
        }
        let used = stack.high - stack.sp;
        region.give_back_below(stack.limit);
        let least = region.home_size();
        let size = (2 * used).next_multiple_of(PAGE).max(least);
        if stack.high - stack.limit > size {
            stack.limit = region.raise_guard(stack.limit, size);
            return true;
        }
        if 2 * used > least || !may_move {
            return 2 * used <= least;
        }
        // It has not been larger than its home since the last time.
        if region.open_home().is_err() {
            return true;
        }
        let (limit, high) = region.home;
        // SAFETY: nothing runs, and the home has room.
        unsafe { move_to(stack, limit, high) };
        self.grown.regions.remove(&number);
        false
    }

    /// Gives up the home of a stack whose frames are not needed anymore, and its region if it has
    /// grown. Returns the lowest usable address of the home, or `None` if the kernel does not make
    /// it accessible.
    pub(super) fn leave_home(&mut self, stack: &ControlBlock) -> Option<usize> {
        let number = self.number(stack);
        let Some(region) = self.grown.regions.get(&number) else { return Some(stack.limit) };
        region.open_home().ok()?;
        let (limit, _) = region.home;
        self.forget_region(number);
        Some(limit)
    }

    /// Gives back the memory that the frames of a grown, suspended stack do not need.
    pub fn trim_grown(&mut self, stack: &mut ControlBlock) {
        let number = self.number(stack);
        let Some(region) = self.grown.regions.get_mut(&number) else { return };
        let before = region.added();
        let used = (stack.high - stack.sp).next_multiple_of(PAGE);
        stack.limit = region.raise_guard(stack.limit, used.max(PAGE));
        region.give_back_below(stack.limit);
        self.grown.count(number, before);
    }

    /// Makes the memory of an unused root accessible to other stores. Returns whether that
    /// succeeded.
    pub fn release_home(&self, block: *const ControlBlock) -> bool {
        let number = self.number(block);
        self.grown.regions.get(&number).is_none_or(|region| region.open_home().is_ok())
    }

    pub(super) fn forget_region(&mut self, number: usize) {
        let before = self.grown.regions.remove(&number).map_or(0, |region| region.added());
        self.grown.added -= before;
    }
}

/// Moves the frames of a stack to a place with at least the same room.
///
/// # Safety
///
/// As for [`Stacks::grow`]. The place must be writable and unused.
unsafe fn move_to(block: &mut ControlBlock, limit: usize, high: usize) {
    let distance = high.wrapping_sub(block.high);
    // SAFETY: the caller's promise.
    unsafe { copy_and_link(block, distance) };
    block.limit = limit;
    block.high = high;
    block.top = block.top.wrapping_add(distance);
}

/// Rounds a limit up to whole pages, and to what every stack needs.
pub(crate) fn round_limit(bytes: usize) -> usize {
    bytes.max(4 * PAGE).saturating_add(PAGE - 1) / PAGE * PAGE
}
