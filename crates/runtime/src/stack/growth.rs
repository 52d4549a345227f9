//! Stacks that have outgrown the place in which they began, their *home*.
//!
//! A stack that needs more than its home moves once, into a *region*: as much address
//! space as it may ever use. From then on only its guard moves down:
//!
//! ```text
//!   home           | guard | used |
//!   region   | guard | never used     | lowest ... given up | guard | used ...       |
//!            ^ base                                                 ^ limit          ^ high
//! ```
//!
//! Its size doubles each time, so that there are few faults, and so that the sum of
//! what the stacks of a store may use is known. Pages come when they are touched.
//!
//! What it does not need any more goes back in two steps, [now and then](Stacks::shrink):
//! first the guard moves up again; then, if the stack has not come back until the next
//! time, the pages below it are given back, and in the end the stack goes home. So one
//! that is deep again and again keeps its memory.

use super::arena::GUARD;
use super::own_limits::OwnLimits;
use super::relocate::copy_and_link;
use super::table::Stacks;
use crate::embedder::Embedder;
use crate::embedder::Undecided;
use crate::os::limits::OsLimit;
use crate::os::mapping::{self, Map, PAGE};
use crate::stack::notes::Note;
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{ControlBlock, TrapCode};
use std::collections::{HashMap, TryReserveError};
use std::fmt;
use std::io;

/// Why a stack does not get the room that it needs, or is not made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoRoom {
    /// It may not have more bytes than this.
    Limit(usize),
    /// All stacks of the store may not have more bytes than this.
    Sum(usize),
    /// There may be no more stacks than this.
    Count(usize),
    /// The table has no more blocks than these.
    Blocks(usize),
    /// It may not have more marks.
    Marks,
    /// Whoever limits the store allows no more.
    Limiter,
    /// It has not decided yet.
    Undecided,
    /// The machine has not this many bytes more.
    Machine(usize),
    /// No stack grows, for testing.
    Fails,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoRoom::Limit(bytes) => {
                write!(f, "a stack may have {bytes} bytes (Config::max_wasm_stack)")
            }
            NoRoom::Sum(bytes) => {
                write!(f, "all stacks may have {bytes} bytes (Config::max_stack_memory)")
            }
            NoRoom::Count(most) => {
                write!(f, "a store may have {most} stacks (Config::max_stacks)")
            }
            NoRoom::Blocks(most) => write!(f, "a store never has more than {most} stacks"),
            NoRoom::Marks => {
                write!(f, "a stack may have {} answers, redirections and walks", u16::MAX)
            }
            NoRoom::Limiter => f.write_str("the limiter of the store allows no more"),
            NoRoom::Undecided => f.write_str(Undecided::DETAIL),
            // As it is now, right after it was reached.
            NoRoom::Machine(bytes) => OsLimit::found(*bytes).fmt(f),
            NoRoom::Fails => f.write_str("stacks do not grow (Stress::fail_to_grow)"),
        }
    }
}

/// The stacks of a store that have grown.
#[derive(Debug)]
pub(super) struct Grown {
    /// By the number of the block.
    regions: HashMap<usize, Region>,
    /// How many bytes a stack may have.
    limit: usize,
    /// Which may have another number of bytes.
    pub(super) own_limits: OwnLimits,
    /// Whether no stack grows, for testing.
    fails: bool,
    /// How many bytes they have in addition to those that they began with.
    added: usize,
    /// How often a stack has grown.
    growths: u64,
    /// Why the last one that had to grow did not, or the last one that was needed was
    /// not made, until somebody has said so.
    refusal: Option<NoRoom>,
}

/// The memory of a stack that has grown.
#[derive(Debug)]
struct Region {
    memory: Map,
    /// Where it began: its limit and its high end there.
    home: (usize, usize),
    /// From where on there may be pages.
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

    /// How many bytes a stack in it can have.
    fn capacity(&self) -> usize {
        self.memory.len() - GUARD
    }

    fn home_size(&self) -> usize {
        self.home.1 - self.home.0
    }

    /// Makes the home accessible again.
    fn open_home(&self) -> io::Result<()> {
        // SAFETY: the stack has left it.
        unsafe { mapping::return_to_pages(self.home.0, self.home_size()) }
    }

    /// Lets the stack, which had the region down to `from`, have this many bytes.
    /// Returns its new limit.
    fn lower_guard(&mut self, from: usize, size: usize) -> io::Result<usize> {
        let limit = self.high() - size;
        let guard = self.offset(limit) - GUARD;
        // With those of the guards that were there before.
        self.memory.unguard(self.offset(limit), from - limit)?;
        // The lowest page of the region is always a guard.
        let limit = match guard == 0 || self.memory.guard(guard, GUARD).is_ok() {
            true => limit,
            false => self.memory.base() as usize + GUARD,
        };
        self.lowest = self.lowest.min(limit);
        Ok(limit)
    }

    /// Takes room from a stack that does not need it now. Returns the new limit.
    fn raise_guard(&self, limit: usize, size: usize) -> usize {
        let raised = self.high() - size;
        match raised > limit && self.memory.guard(self.offset(raised) - GUARD, GUARD).is_ok() {
            true => raised,
            false => limit,
        }
    }

    /// Gives the pages below the guard of a stack back.
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
        Grown {
            regions: HashMap::new(),
            limit: round(limit),
            own_limits: OwnLimits::default(),
            fails,
            added: 0,
            growths: 0,
            refusal: None,
        }
    }

    /// How many bytes a stack may have.
    fn limit_of(&self, number: usize) -> usize {
        self.own_limits.get(number).unwrap_or(self.limit)
    }

    /// Makes room for what is known of one stack more, or of one under another number.
    pub fn make_room(&mut self) -> Result<(), TryReserveError> {
        self.regions.try_reserve(1)?;
        self.own_limits.make_room()
    }

    /// Has a stack belong to another block. There must be [room](Self::make_room).
    pub fn hand_over(&mut self, from: usize, to: usize) {
        if let Some(region) = self.regions.remove(&from) {
            self.regions.insert(to, region);
        }
        self.own_limits.hand_over(from, to);
    }

    /// How many bytes stacks have in addition to those that they began with.
    pub fn added(&self) -> usize {
        self.added
    }

    pub fn growths(&self) -> u64 {
        self.growths
    }

    /// How many bytes of address space and of memory the stacks with these numbers have.
    pub fn reserved_and_committed(&self, counts: impl Fn(usize) -> bool) -> (usize, usize) {
        let regions = self.regions.iter().filter(|(number, _)| counts(**number));
        let sizes = regions.map(|(_, region)| (region.memory.len(), region.memory.committed()));
        sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1))
    }

    /// Counts what a region has in addition to its stack's home, after a change.
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
    /// How many bytes each stack may have from now on.
    pub fn set_limit(&mut self, bytes: usize) {
        self.grown.limit = round(bytes);
    }

    /// How many bytes the stacks of some blocks may have, as long as the host has the
    /// continuation that it holds under a reference. Where there is no memory to note it, some
    /// have no limit of their own.
    pub fn limit_stacks(
        &mut self,
        numbers: impl IntoIterator<Item = usize>,
        bytes: usize,
        of: u64,
    ) -> Result<(), TryReserveError> {
        let own_limits = &mut self.grown.own_limits;
        numbers.into_iter().try_for_each(|number| own_limits.set(number, round(bytes), of))
    }

    /// The limit that some block has of its own.
    pub fn own_limit(&self, block: *const ControlBlock) -> Option<usize> {
        self.grown.own_limits.get(self.number_of(block)?)
    }

    /// The host has given away what it held under a reference.
    pub fn give_away_limits(&self, of: u64) {
        self.grown.own_limits.give_away(of);
    }

    /// Removes the limits of what the host held under a reference, but for those of some blocks.
    /// Returns what the limit was, if there was one.
    pub fn end_limits(&mut self, of: u64, stays: impl Fn(usize) -> bool) -> Option<usize> {
        self.grown.own_limits.end(of, stays)
    }

    /// The stacks that have limits of their own, with those, and of which reference they are.
    pub fn limits(&self) -> Vec<(usize, usize, u64)> {
        self.grown.own_limits.list()
    }

    /// Whether some stack has a limit of its own.
    pub fn has_limits(&self) -> bool {
        !self.grown.own_limits.is_empty()
    }

    /// Whether a stack is not where it began.
    pub fn has_moved_out(&self, block: *const ControlBlock) -> bool {
        let number = self.number_of(block).expect("a block of the table");
        self.grown.regions.contains_key(&number)
    }

    /// Lets a stack have at least this many bytes. It may move; what lies on it from
    /// `sp` on, and the frames from `fp` on, move along.
    ///
    /// # Safety
    ///
    /// The stack must not run, or be interrupted with these two fields set; nobody may
    /// keep an address of it.
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

    /// There is no new stack, for a reason.
    pub fn refuse(&mut self, reason: NoRoom) -> TrapCode {
        self.grown.refusal = Some(reason);
        TrapCode::TooManyStacks
    }

    /// Why the last stack that had to grow did not, or the last one that was needed was
    /// not made, unless somebody has asked before.
    pub fn take_refusal(&mut self) -> Option<NoRoom> {
        self.grown.refusal.take()
    }

    unsafe fn grow_by_doubling(
        &mut self,
        block: &mut ControlBlock,
        needed: usize,
        embedder: &mut Embedder,
    ) -> Result<(), NoRoom> {
        let number = self.number_of(block).expect("a block of the table");
        let size = block.high - block.limit;
        let most = self.grown.limit_of(number);
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
            return Err(NoRoom::Sum(self.memory));
        }
        let wanted = (2 * size).next_multiple_of(PAGE).min(most).min(room / PAGE * PAGE);
        let sizes = [wanted.max(needed), needed];
        let wanted = self.first_allowed(size, sizes, embedder).or_else(|| {
            self.give_back_unused();
            self.first_allowed(size, sizes, embedder)
        });
        let wanted = wanted.ok_or(NoRoom::Limiter)?;
        let before = self.grown.regions.get(&number).map_or(0, Region::added);
        let fits = self.grown.regions.get(&number).is_some_and(|r| wanted <= r.capacity());
        let result = match fits {
            true => self.lower_limit(number, block, wanted),
            // SAFETY: the caller's promise.
            false => unsafe { self.move_to_region(number, block, most, wanted) },
        };
        self.grown.count(number, before);
        result.map_err(|_| NoRoom::Machine(wanted))?;
        self.grown.growths += 1;
        self.shrink_due = true;
        self.notes.add(Note::Grown(number, block.high - block.limit));
        Ok(())
    }

    /// To which of some sizes a stack may grow.
    fn first_allowed(
        &self,
        size: usize,
        sizes: [usize; 2],
        embedder: &mut Embedder,
    ) -> Option<usize> {
        let taken = self.taken();
        sizes.into_iter().find(|to| embedder.stack_growing(size, *to, taken + (to - size)))
    }

    /// Gives back what no stack uses and what counts for all of them.
    pub fn give_back_unused(&mut self) {
        self.give_back_below_guards();
        self.give_back_ready();
    }

    /// Gives back what grown stacks have below their guards, which none of them uses.
    fn give_back_below_guards(&mut self) {
        let base = self.base();
        let mut added = 0;
        for (number, region) in &mut self.grown.regions {
            // SAFETY: blocks of the table are always initialised.
            region.give_back_below(unsafe { (*base.wrapping_add(*number)).limit });
            added += region.added();
        }
        self.grown.added = added;
    }

    fn lower_limit(
        &mut self,
        number: usize,
        block: &mut ControlBlock,
        size: usize,
    ) -> io::Result<()> {
        let region = self.grown.regions.get_mut(&number).expect("it has grown before");
        block.limit = region.lower_guard(block.limit, size)?;
        Ok(())
    }

    /// Moves a stack into a new region.
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
        // SAFETY: the stack lies where its block says, the new place is larger, and
        // nobody keeps an address.
        unsafe { move_to(block, limit, region.high()) };
        // What it leaves is unmapped, or inaccessible until it comes back.
        if self.grown.regions.insert(number, region).is_none() {
            // SAFETY: nothing lies there any more, and nobody has an address.
            unsafe { mapping::leave_pages(home.0, home.1 - home.0) };
        }
        Ok(())
    }

    /// Moves a grown stack, which does not run, to another region.
    ///
    /// # Safety
    ///
    /// As for [`grow`](Self::grow).
    pub unsafe fn move_region(&mut self, block: &mut ControlBlock) -> io::Result<()> {
        let number = self.number_of(block).expect("a block of the table");
        let (size, before) = (block.high - block.limit, self.grown.regions[&number].added());
        let most = self.grown.regions[&number].capacity();
        // SAFETY: the caller's promise.
        let result = unsafe { self.move_to_region(number, block, most, size) };
        self.grown.count(number, before);
        result
    }

    /// Takes memory from grown stacks that they have not needed since the last time,
    /// as the head of this file says. No generated code may run; where it waits for
    /// this, only empty stacks move.
    pub fn shrink(&mut self, is_idle: impl Fn(*const ControlBlock) -> bool, in_call: bool) {
        let mut numbers = Vec::new();
        if numbers.try_reserve_exact(self.grown.regions.len()).is_err() {
            // The next time, perhaps.
            return;
        }
        numbers.extend(self.grown.regions.keys().copied());
        self.shrink_due = false;
        for number in numbers {
            let block = self.block(number);
            // SAFETY: blocks of the table are always initialised, and nobody else has
            // a reference to this one.
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

    /// Returns whether there is more to do the next time.
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

    /// The lowest usable address of the home of a stack, which can be used by others if
    /// the stack has not grown. If it has, and nothing lies on it that is needed any
    /// more, its region is given up. None if the kernel does not open the home.
    pub(super) fn leave_home(&mut self, stack: &ControlBlock) -> Option<usize> {
        let number = self.number_of(stack).expect("a block of the table");
        let Some(region) = self.grown.regions.get(&number) else { return Some(stack.limit) };
        region.open_home().ok()?;
        let (limit, _) = region.home;
        self.forget_region(number);
        Some(limit)
    }

    /// Gives the memory of a suspended stack back that its frames do not need, if it has
    /// grown.
    pub fn trim_grown(&mut self, stack: &mut ControlBlock) {
        let number = self.number_of(stack).expect("a block of the table");
        let Some(region) = self.grown.regions.get_mut(&number) else { return };
        let before = region.added();
        let used = (stack.high - stack.sp).next_multiple_of(PAGE);
        stack.limit = region.raise_guard(stack.limit, used.max(PAGE));
        region.give_back_below(stack.limit);
        self.grown.count(number, before);
    }

    /// Makes the memory of a root, which is used no more, usable by others. Returns
    /// whether it is.
    pub fn release_home(&self, block: *const ControlBlock) -> bool {
        let number = self.number_of(block).expect("blocks of roots lie in the table");
        self.grown.regions.get(&number).is_none_or(|region| region.open_home().is_ok())
    }

    /// The root of a block is no more.
    pub(super) fn forget_root(&mut self, number: usize) {
        self.forget_region(number);
        self.grown.own_limits.forget(number);
    }

    fn forget_region(&mut self, number: usize) {
        let before = self.grown.regions.remove(&number).map_or(0, |region| region.added());
        self.grown.added -= before;
    }
}

/// Moves what lies on a stack to a place with the same or more room.
///
/// # Safety
///
/// As for [`Stacks::grow`]; the place must be writable and free.
unsafe fn move_to(block: &mut ControlBlock, limit: usize, high: usize) {
    let distance = high.wrapping_sub(block.high);
    // SAFETY: the caller's promise.
    unsafe { copy_and_link(block, distance) };
    block.limit = limit;
    block.high = high;
    block.top = block.top.wrapping_add(distance);
}

/// A limit in whole pages, and not less than any stack needs.
fn round(bytes: usize) -> usize {
    bytes.max(4 * PAGE).saturating_add(PAGE - 1) / PAGE * PAGE
}
