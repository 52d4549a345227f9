//! The table of stacks: their blocks, memory and lives.
//!
//! The table never moves. It begins with the [transfer area](ropewalk_abi::transfer), which takes
//! no memory unless it is used. Block 0 is unused: null names it, and fails the same comparison as
//! a stale reference.
//!
//! A freed stack keeps its slot and goes to the list of free stacks. Generated code takes stacks
//! from that list, last in, first out. Each stack begins at one of several cache lines, its
//! *color*. If all began at the same one, their first frames would compete for the same cache sets.
//!
//! A [parked](super::park) stack has no slot. When it is freed, its block becomes spare and keeps
//! its generation.

use super::CopyRefusal;
use super::arena::RootStack;
use super::block_set::BlockSet;
use super::call_site_cache::CallSiteCache;
use super::frame_slabs::FrameSlabs;
use super::group::members;
use super::growth::{Grown, NoRoom};
use super::idle::Idle;
use super::mark_lists::MarkLists;
use super::mutation::{Injected, InjectedBug};
use super::slots::Slots;
use super::stack_limits::StackLimits;
use crate::os::mapping::{Map, PAGE};
use crate::os::memory_size::machine_memory;
use crate::stack::stack_events::{StackEvent, StackEvents};
use crate::stack::walk_mark::{Mark, MarkKind};
use ropewalk_abi::stack::{
    KIND_MASK, MAX_BLOCKS, NEXT_GENERATION, Purpose, block_number, first_reference,
};
use ropewalk_abi::transfer::TRANSFER_SIZE;
use ropewalk_abi::{ControlBlock, RawVal, TrapCode};
use std::collections::TryReserveError;
use std::io;
use std::ptr;

/// The number of colors: different cache lines at which first frames begin.
pub(super) const COLORS: usize = 29;

/// The unused bytes above the first word of a stack. The stub that starts a stack pops that word,
/// and then needs the stack pointer aligned to 16 bytes. With this value, the frames of the stack
/// trampoline and of a small function that suspends share one cache line.
pub(super) const ABOVE_TOP: usize = 40;

/// Options for all stacks but roots.
#[derive(Clone, Copy, Debug)]
pub struct StackOptions {
    /// The initial size of a stack in bytes, without its guard.
    pub size: usize,
    /// The maximum size of a stack or root.
    pub limit: usize,
    /// Disables growth, for testing.
    pub fails_to_grow: bool,
    /// The maximum number of stacks.
    pub maximum: usize,
    /// The maximum size of all stacks together, including the growth of roots. By default half of
    /// the machine's memory.
    pub memory: usize,
    /// The number of stacks made at a time, and kept ready.
    pub pool: usize,
    /// The size of the table, for tests of what happens when it is full.
    pub blocks: usize,
    /// The generation of new references, for tests of the last generation.
    pub first_generation: u64,
    /// A bug to inject, for tests of the check.
    pub injected: Injected,
}

impl Default for StackOptions {
    fn default() -> Self {
        // Room for a thousand frames of a function that switches, and for the colors.
        StackOptions {
            size: 112 << 10,
            limit: 64 << 20,
            fails_to_grow: false,
            maximum: MAX_BLOCKS - 1,
            memory: machine_memory() / 2,
            pool: 16,
            blocks: MAX_BLOCKS,
            first_generation: 0,
            injected: Injected::default(),
        }
    }
}

/// The stacks of a store, except the memory of roots.
#[derive(Debug)]
pub(crate) struct Stacks {
    pub options: StackOptions,
    pub(super) blocks: Option<Map>,
    /// Whether the table is small because address space ran out.
    is_table_short: bool,
    /// The number of blocks ever used, including block 0.
    count: usize,
    pub(super) roots: usize,
    pub(super) slots: Slots,
    pub(super) grown: Grown,
    pub growths: u64,
    pub limits: StackLimits,
    pub call_sites: CallSiteCache,
    /// Why the last copy failed, until it is reported.
    pub copy_refusal: Option<CopyRefusal>,
    /// Whether grown stacks may shrink.
    pub(super) shrink_due: bool,
    pub(super) packed: FrameSlabs,
    pub parked: usize,
    pub parkings: u64,
    pub(super) idle: Idle,
    /// The last known maximum of stacks in use at the same time.
    peak: usize,
    /// The number of stacks made since memory was given back.
    made_since_trim: usize,
    /// The number of stacks and retired blocks from which on a collection comes before new stacks.
    threshold: usize,
    /// The suspended and new stacks that the host owns, each the outermost of its group.
    pub host_owned: BlockSet,
    pub events: StackEvents,
    pub marks: MarkLists,
    pub newest_mark: u64,
    /// Blocks whose generations are used up. A collection has yet to show that no reference to them
    /// is left.
    pub retired: Vec<usize>,
    /// Blocks without memory that can be used again. Each continues with its reference, or begins
    /// with the first one if that is zero.
    pub(super) spare: Vec<usize>,
}

/// What a collection found out about a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReachedStack {
    /// A reference names it, valid or not.
    pub is_named: bool,
    /// Its stack is running, or is suspended and can be continued.
    pub is_live: bool,
    /// It is a task or fiber in use to which a valid reference exists. It keeps its identity, even
    /// if the stacks that it is suspended with cannot be continued.
    pub is_kept: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SweepCounts {
    pub in_use: usize,
    pub freed: usize,
}

const FIRST_THRESHOLD: usize = 4096;
/// The bytes that a block takes, including its entries in lists.
const BYTES_PER_BLOCK: usize = size_of::<ControlBlock>() + 32;
/// The number of new stacks after which memory is given back.
const GROWTH: usize = 1024;
/// The stack pointer of a free stack that was not used since it got its memory.
const NEVER_USED: usize = 0;

impl Stacks {
    /// Makes an empty table, in this address space if there is any.
    pub fn new(options: &StackOptions, table: Option<Map>) -> Stacks {
        let maximum = options.maximum.min(MAX_BLOCKS - 1);
        let StackOptions { size, limit, fails_to_grow, .. } = *options;
        Stacks {
            options: StackOptions { maximum, ..*options },
            blocks: table.inspect(prepare_table),
            is_table_short: false,
            count: 1,
            roots: 0,
            slots: Slots::new(size.min(limit)),
            grown: Grown::new(limit, fails_to_grow),
            growths: 0,
            limits: StackLimits::default(),
            call_sites: CallSiteCache::default(),
            copy_refusal: None,
            shrink_due: false,
            packed: FrameSlabs::default(),
            parked: 0,
            parkings: 0,
            idle: Idle::default(),
            peak: 0,
            made_since_trim: 0,
            threshold: FIRST_THRESHOLD,
            host_owned: BlockSet::default(),
            events: StackEvents::default(),
            marks: MarkLists::default(),
            newest_mark: 0,
            retired: Vec::new(),
            spare: Vec::new(),
        }
    }

    #[inline]
    pub fn base(&self) -> *mut ControlBlock {
        self.blocks.as_ref().map_or(ptr::null_mut(), first_block)
    }

    /// The transfer area, or null before there are blocks. It is not cleared for the next store:
    /// every value that is read was written by the same store.
    pub fn transfer_area(&self) -> *mut RawVal {
        self.blocks.as_ref().map_or(ptr::null_mut(), |table| table.base().cast())
    }

    /// The number of blocks, including roots and those without stacks.
    pub fn len(&self) -> usize {
        self.count - 1
    }

    /// The number of stacks, free or not, without roots.
    pub fn count_stacks(&self) -> usize {
        self.without_roots() - self.retired.len() - self.spare.len()
    }

    pub fn without_roots(&self) -> usize {
        self.len() - self.roots
    }

    /// Why there can be no more stacks.
    fn full(&self) -> Option<NoRoom> {
        match self.count_stacks() >= self.options.maximum {
            true => Some(NoRoom::Count(self.options.maximum)),
            false => self.is_table_full().then(|| self.no_blocks()),
        }
    }

    /// An upper bound of the memory of all stacks: blocks, slots, packed frames, growth and marks.
    pub(super) fn taken(&self) -> usize {
        let slots = self.count_warm() * self.slots.usable();
        let beside = self.without_roots() * BYTES_PER_BLOCK + self.marks.bytes();
        slots + self.packed.touched() + self.grown.added() + beside
    }

    pub(super) fn room_left(&self) -> usize {
        self.options.memory.saturating_sub(self.taken())
    }

    pub fn is_table_full(&self) -> bool {
        self.spare.is_empty() && self.count >= self.options.blocks
    }

    pub fn should_collect(&self) -> bool {
        let is_full = self.full().is_some() || self.is_out_of_slots();
        self.count_stacks() + self.retired.len() >= self.threshold || is_full
    }

    #[inline]
    pub fn block(&self, number: usize) -> *mut ControlBlock {
        assert!(number < self.count);
        self.base().wrapping_add(number)
    }

    pub fn number_of(&self, block: *const ControlBlock) -> Option<usize> {
        let offset = (block as usize).checked_sub(self.base() as usize)?;
        let number = offset / size_of::<ControlBlock>();
        (!self.base().is_null() && number < self.count).then_some(number)
    }

    /// The number of a block, which must belong to the table.
    pub fn number(&self, block: *const ControlBlock) -> usize {
        self.number_of(block).expect("a block of the table")
    }

    /// The block that a valid reference of any kind names.
    #[inline]
    pub fn valid(&self, reference: u64) -> Option<*mut ControlBlock> {
        let number = block_number(reference);
        if number == 0 || number >= self.count {
            return None;
        }
        let block = self.block(number);
        // SAFETY: blocks of the table are always initialized.
        (unsafe { (*block).reference } == reference & !KIND_MASK).then_some(block)
    }

    /// Makes stacks and returns them as a list.
    pub fn make_ready(&mut self, count: usize) -> Result<*mut ControlBlock, TrapCode> {
        let mut list: *mut ControlBlock = ptr::null_mut();
        for _ in 0..count {
            if !list.is_null() && self.should_park() {
                break;
            }
            match self.make_one() {
                Ok(block) => {
                    // SAFETY: the block was just made.
                    unsafe { (*block).next_free = list };
                    list = block;
                }
                Err(reason) if list.is_null() => return Err(self.refuse(reason)),
                Err(_) => break,
            }
        }
        Ok(list)
    }

    fn make_one(&mut self) -> Result<*mut ControlBlock, NoRoom> {
        if let Some(reason) = self.full() {
            return Err(reason);
        }
        let (limit, high) = self.take_slot()?;
        let number = match self.take_number() {
            Ok(number) => number,
            Err(reason) => {
                self.vacate(limit);
                return Err(reason);
            }
        };
        self.made_since_trim += 1;
        let above = self.above_top(number);
        let block = self.block(number);
        // SAFETY: the block is in the table.
        unsafe {
            block.write(ControlBlock {
                // It says whether the stack was ever used.
                sp: (*block).sp,
                reference: self.next_reference(number),
                innermost: block,
                top: high - above,
                limit,
                high,
                ..ControlBlock::BLANK
            });
        }
        self.has_memory(number);
        Ok(block)
    }

    /// The distance from a stack's first word to its highest address.
    pub(super) fn above_top(&self, number: usize) -> usize {
        number % COLORS * 64 + ABOVE_TOP
    }

    pub fn make_root(&mut self, memory: Map) -> Result<RootStack, NoRoom> {
        let number = self.take_number()?;
        self.roots += 1;
        let reference = self.next_reference(number);
        Ok(RootStack::new(self.block(number), reference, memory))
    }

    /// Retires the block of a root whose generations are used up.
    pub fn retire_root(&mut self, root: &RootStack) {
        let number = self.number(root.block);
        // SAFETY: blocks of the table are always initialized.
        unsafe { *root.block = ControlBlock::BLANK };
        self.forget_region(number);
        self.limits.forget(number);
        self.roots -= 1;
        self.retired.push(number);
    }

    fn first_reference(&self, number: usize) -> u64 {
        let generation = self.options.first_generation.wrapping_mul(NEXT_GENERATION);
        first_reference(number) | generation
    }

    /// The reference with which a block without a stack continues.
    fn next_reference(&self, number: usize) -> u64 {
        // SAFETY: blocks of the table are always initialized.
        match unsafe { (*self.block(number)).reference } {
            0 => self.first_reference(number),
            reference => reference,
        }
    }

    pub fn vacant(&self) -> impl Iterator<Item = usize> {
        self.retired.iter().chain(&self.spare).copied()
    }

    pub fn count_free(&self, mut list: *mut ControlBlock) -> usize {
        let mut count = 0;
        // SAFETY: the list of free stacks ends in null.
        while let Some(block) = unsafe { list.as_ref() } {
            count += 1;
            list = block.next_free;
        }
        count
    }

    /// The address space and the memory of all stacks but roots.
    pub fn reserved_and_committed(&self) -> (usize, usize) {
        // SAFETY: blocks of the table are always initialized.
        let is_no_root = |number| unsafe { (*self.block(number)).purpose != Purpose::Root };
        let (reserved, committed) = self.grown.reserved_and_committed(is_no_root);
        let reserved = reserved + self.slots.reserved() + self.packed.reserved();
        (reserved, committed + self.slots.committed() + self.packed.committed())
    }

    fn take_number(&mut self) -> Result<usize, NoRoom> {
        if let Some(number) = self.spare.pop() {
            return Ok(number);
        }
        self.next_number()
    }

    fn no_blocks(&self) -> NoRoom {
        match self.is_table_short {
            false => NoRoom::Blocks(self.options.blocks - 1),
            true => NoRoom::Machine(table_size(MAX_BLOCKS)),
        }
    }

    /// Reserves address space for the table. Falls back to a small one.
    fn reserve_table(&mut self) -> Result<(), NoRoom> {
        let table = match Map::read_write(table_size(self.options.blocks)) {
            Ok(table) => table,
            Err(_) => {
                let few = self.options.blocks.min(FEW_BLOCKS);
                let table = Map::read_write(table_size(few));
                let table = table.map_err(|_| NoRoom::Machine(table_size(few)))?;
                (self.is_table_short, self.options.blocks) = (true, few);
                table
            }
        };
        prepare_table(&table);
        self.blocks = Some(table);
        Ok(())
    }

    /// Takes a block that was never used.
    pub(super) fn next_number(&mut self) -> Result<usize, NoRoom> {
        if self.blocks.is_none() {
            self.reserve_table()?;
        }
        if self.count >= self.options.blocks {
            return Err(self.no_blocks());
        }
        let lists = self.make_room_in_lists(self.count + 1);
        lists.map_err(|_| NoRoom::Machine(size_of::<ControlBlock>()))?;
        self.count += 1;
        Ok(self.count - 1)
    }

    fn make_room_in_lists(&mut self, count: usize) -> Result<(), TryReserveError> {
        self.idle.make_room_for_blocks(count)?;
        self.host_owned.make_room(count)?;
        self.spare.try_reserve(count.saturating_sub(self.spare.len()))?;
        self.retired.try_reserve(count.saturating_sub(self.retired.len()))
    }

    /// Makes room for the entries of a stack under another number.
    fn make_room_to_renew(&mut self) -> Result<(), TryReserveError> {
        self.grown.make_room()?;
        self.limits.make_room()?;
        self.marks.make_room_for_blocks(self.count + 1)
    }

    /// Gives a stack whose generations are used up another block.
    ///
    /// # Safety
    ///
    /// The stack must be suspended or new.
    pub unsafe fn renew(&mut self, old: *mut ControlBlock) -> Result<*mut ControlBlock, TrapCode> {
        let room = self.make_room_to_renew();
        room.map_err(|_| self.refuse(NoRoom::Machine(size_of::<ControlBlock>())))?;
        let number = self.take_number().map_err(|reason| self.refuse(reason))?;
        let (new, reference) = (self.block(number), self.next_reference(number));
        // SAFETY: both blocks are in the table, and the chain from the innermost stack leads to the
        // old one.
        unsafe {
            ptr::copy_nonoverlapping(old, new, 1);
            (*new).reference = reference;
            let mut stack = (*old).innermost;
            if stack == old {
                (*new).innermost = new;
            }
            while stack != old {
                let inside = &mut *stack;
                stack = inside.parent;
                for link in [&mut inside.parent, &mut inside.through] {
                    if *link == old {
                        *link = new;
                    }
                }
            }
            *old = ControlBlock::BLANK;
        }
        let old = self.number(old);
        if !self.options.injected.is(InjectedBug::MarksStayBehind) {
            self.marks.hand_over(old, number);
        }
        self.grown.hand_over(old, number);
        self.limits.hand_over(old, number);
        self.events.add(StackEvent::Renewed { from: old, to: number });
        self.retired.push(old);
        // SAFETY: as above.
        if unsafe { !(*new).is_parked() && (*new).purpose != Purpose::Root } {
            self.has_memory(number);
        }
        Ok(new)
    }

    /// Gives the first free stack, whose generations are used up, another block.
    pub fn renew_free(&mut self, free: &mut *mut ControlBlock) -> Result<(), TrapCode> {
        // SAFETY: a free stack is not in use.
        *free = unsafe { self.renew(*free) }?;
        // SAFETY: blocks of the table are always initialized.
        let block = unsafe { &mut **free };
        if block.reference.checked_add(NEXT_GENERATION).is_none() {
            // Only when the first generation is configured to be the last one. No reference to the
            // block exists, so any generation will do.
            block.reference = first_reference(block_number(block.reference));
        }
        Ok(())
    }

    /// After a collection: frees the stacks that it did not reach, and makes retired blocks spare
    /// that nothing names. The caller passes the roots, and whether first-class stacks may exist.
    pub fn sweep(
        &mut self,
        mut reached: Vec<ReachedStack>,
        no_parent: *mut ControlBlock,
        roots: &[*mut ControlBlock],
        has_first_class: bool,
        free: &mut *mut ControlBlock,
    ) -> SweepCounts {
        let mut swept = SweepCounts { in_use: 0, freed: 0 };
        if has_first_class {
            self.end_first_class(&mut reached);
        }
        self.prune_roots(&mut reached, roots);
        for (number, reached) in reached.iter().enumerate().skip(1) {
            // With millions of live stacks, reading their blocks would be slow.
            if reached.is_live {
                swept.in_use += 1;
                continue;
            }
            let block = self.block(number);
            // SAFETY: blocks of the table are always initialized.
            let stack = unsafe { &mut *block };
            match stack.purpose {
                Purpose::Free | Purpose::Root => continue,
                _ if reached.is_kept => {
                    stack.become_lost(no_parent);
                    self.marks.forget(number);
                    swept.in_use += 1;
                }
                _ => {
                    self.free(stack, free);
                    swept.freed += 1;
                    // If nothing names the block, it begins again. Otherwise its present reference
                    // is not in use, and serves the next computation.
                    if !reached.is_named && stack.reference != 0 {
                        stack.reference = self.first_reference(number);
                    }
                }
            }
        }
        let number = |root: &&*mut ControlBlock| self.number(**root);
        swept.in_use -= roots.iter().filter(|root| reached[number(root)].is_live).count();
        let spare = &mut self.spare;
        self.retired.retain(|&number| {
            if !reached[number].is_named {
                // The list has room for all blocks.
                spare.push(number);
            }
            reached[number].is_named
        });
        self.threshold = self.threshold.max((swept.in_use + self.retired.len()) * 2);
        swept
    }

    /// Marks the tasks and fibers on first-class stacks that cannot be continued: they are freed
    /// too, even if named, and become moribund.
    fn end_first_class(&self, reached: &mut [ReachedStack]) {
        for number in 1..self.count {
            let base = self.block(number);
            // SAFETY: blocks of the table are always initialized, and a chain leads from the
            // innermost stack to the base.
            unsafe {
                if (*base).purpose != Purpose::FirstClass || reached[number].is_live {
                    continue;
                }
                for stack in members(base).filter(|stack| *stack != base) {
                    reached[self.number(stack)].is_kept = false;
                }
            }
        }
    }

    pub fn has_first_class(&self) -> bool {
        let mut blocks = (1..self.count).map(|number| self.block(number));
        // SAFETY: blocks of the table are always initialized.
        blocks.any(|block| unsafe { (*block).purpose } == Purpose::FirstClass)
    }

    /// Handles roots that cannot be continued. Of the stacks suspended with them, only named tasks
    /// and fibers stay. They end with the activation.
    fn prune_roots(&mut self, reached: &mut [ReachedStack], roots: &[*mut ControlBlock]) {
        for &root in roots {
            let number = self.number(root);
            // SAFETY: blocks of the table are always initialized, and a chain leads from the
            // innermost stack to the root.
            unsafe {
                if reached[number].is_live {
                    continue;
                }
                self.marks.forget(number);
                let mut stack = (*root).innermost;
                let (mut innermost, mut last) = (root, root);
                while stack != root {
                    let parent = (*stack).parent;
                    let number = self.number(stack);
                    if reached[number].is_kept {
                        reached[number].is_live = true;
                        (*stack).become_lost(root);
                        self.marks.forget(number);
                        match last == root {
                            true => innermost = stack,
                            false => (*last).parent = stack,
                        }
                        last = stack;
                    }
                    stack = parent;
                }
                (*root).become_spent();
                (*root).group(innermost);
            }
        }
    }

    /// Frees a stack. If it is parked, its block becomes spare. Otherwise it goes to the list of
    /// free stacks.
    pub fn free(&mut self, stack: &mut ControlBlock, free: &mut *mut ControlBlock) {
        let number = self.number(stack);
        stack.become_free();
        self.marks.forget(number);
        self.limits.forget(number);
        self.events.add(StackEvent::Freed(number));
        if stack.is_parked() {
            self.drop_packed(stack);
            return self.put_block(stack);
        }
        stack.next_free = *free;
        *free = stack;
    }

    /// Makes a block without memory spare, or retires it.
    fn put_block(&mut self, stack: &mut ControlBlock) {
        debug_assert!(stack.limit == 0 && stack.purpose == Purpose::Free);
        let number = block_number(stack.reference);
        self.limits.forget(number);
        match stack.reference.checked_add(NEXT_GENERATION) {
            Some(_) => self.spare.push(number),
            None => {
                *stack = ControlBlock { sp: stack.sp, ..ControlBlock::BLANK };
                self.retired.push(number);
            }
        }
    }

    /// Takes the slot of the first free stack, and makes its block spare. Returns whether it could.
    pub fn take_from_free(&mut self, free: &mut *mut ControlBlock) -> bool {
        // SAFETY: the list ends in null, and the table owns its blocks.
        let Some(stack) = (unsafe { free.as_mut() }) else { return false };
        let Some(limit) = self.leave_home(stack) else { return false };
        *free = stack.next_free;
        self.vacate(limit);
        (stack.top, stack.limit, stack.high) = (0, 0, 0);
        self.put_block(stack);
        true
    }

    /// Takes slots from free stacks until a block is spare.
    pub fn make_block_spare(&mut self, free: &mut *mut ControlBlock) {
        while self.is_table_full() && self.take_from_free(free) {}
    }

    pub fn forget_marks(&mut self, block: *const ControlBlock) {
        let number = self.number(block);
        self.marks.forget(number);
    }

    // ---- marks

    /// The marks of a stack that is not running.
    ///
    /// # Safety
    ///
    /// The block must be in the table.
    pub unsafe fn marks_of(&mut self, block: *const ControlBlock) -> &mut [Mark] {
        let number = self.number(block);
        // SAFETY: blocks of the table are always initialized, and this is the only reference.
        let stack = unsafe { &mut *block.cast_mut() };
        self.marks.of(number, stack)
    }

    /// The number of marks of functions other than the one that has called a builtin.
    ///
    /// # Safety
    ///
    /// The block must be in the table, and its stack be running.
    pub unsafe fn marks_outside_of_frame(&mut self, running: *const ControlBlock) -> usize {
        // SAFETY: blocks of the table are always initialized.
        let depth = unsafe { (*running).high - (*running).sp };
        // A function calls all builtins at the same depth, and outer functions at lesser depths.
        // SAFETY: the caller's promise.
        let marks = unsafe { self.marks_of(running) };
        marks.iter().rposition(|mark| mark.depth < depth).map_or(0, |last| last + 1)
    }

    /// Removes the marks of functions that have returned, on a stack that is not running.
    ///
    /// # Safety
    ///
    /// The block must be in the table.
    pub unsafe fn settle_marks(&mut self, block: *mut ControlBlock) {
        // SAFETY: the caller's promise.
        unsafe { self.marks_of(block) };
    }

    /// Leaves a mark on a stack that is in a host call. Returns the number of older marks.
    ///
    /// # Safety
    ///
    /// The block must be in the table.
    pub unsafe fn add_mark(
        &mut self,
        block: *mut ControlBlock,
        kind: MarkKind,
    ) -> Result<usize, TrapCode> {
        self.newest_mark += 1;
        let serial = self.newest_mark;
        // SAFETY: blocks of the table are always initialized.
        let depth = unsafe { (*block).high - (*block).sp };
        let number = self.number(block);
        let needed = self.marks.needed_for_one_more(number);
        if needed > 0 && needed > self.room_left() {
            self.refuse(NoRoom::Sum(self.options.memory));
            return Err(TrapCode::CallStackExhausted);
        }
        self.marks.make_room(number)?;
        // SAFETY: the caller's promise.
        let older = unsafe { self.marks_of(block) }.len();
        let Ok(count) = u16::try_from(older + 1) else {
            self.refuse(NoRoom::Marks);
            return Err(TrapCode::CallStackExhausted);
        };
        self.marks.push(number, Mark { depth, serial, kind });
        // SAFETY: as above.
        unsafe { (*block).marks = count };
        Ok(older)
    }

    /// Moves a stack to another slot. It must be in a slot, and not running.
    pub fn relocate(&mut self, block: &mut ControlBlock) -> io::Result<()> {
        let (limit, _) = self.slots.take()?;
        debug_assert!(!block.is_parked());
        let (old, sp) = (block.limit, block.sp);
        let distance = limit.wrapping_sub(old);
        // SAFETY: the new slot is as large as the old one, and unused.
        unsafe { super::relocate::copy_and_link(block, distance) };
        block.limit = block.limit.wrapping_add(distance);
        block.high = block.high.wrapping_add(distance);
        block.top = block.top.wrapping_add(distance);
        self.slots.close(old, sp)
    }

    // ---- giving memory back

    /// Gives back the memory of free stacks that will hardly be used soon: all but the first ones
    /// of the list.
    pub fn trim(&mut self, free: *mut ControlBlock, keep: usize) {
        self.peak = self.peak();
        self.made_since_trim = 0;
        let mut idle = Vec::new();
        let mut list = free;
        for number in 0.. {
            // SAFETY: the list of free stacks ends in null.
            let Some(block) = (unsafe { list.as_mut() }) else { break };
            let is_idle = number >= keep.max(self.options.pool) && block.sp != NEVER_USED;
            // Stacks that have grown shrink first.
            if is_idle && !self.has_moved_out(block) && idle.try_reserve(1).is_ok() {
                idle.push(block.limit);
                block.sp = NEVER_USED;
            }
            list = block.next_free;
        }
        self.idle.cool(keep, &mut idle);
        self.slots.give_back(idle);
    }

    /// The maximum of stacks in use at the same time. Free stacks are reused last in, first out, so
    /// a new one is used only if all others are in use.
    pub fn peak(&self) -> usize {
        let blocks = (1..self.count).map(|number| self.block(number));
        // SAFETY: blocks of the table are always initialized.
        let was_used = |block: &*mut ControlBlock| unsafe {
            (**block).purpose != Purpose::Root && (**block).sp != NEVER_USED
        };
        self.peak.max(blocks.filter(was_used).count())
    }

    /// Whether enough stacks were made that some may not be needed anymore.
    pub fn has_idle(&self) -> bool {
        self.made_since_trim > GROWTH
    }

    pub fn may_give_back(&self) -> bool {
        self.shrink_due | self.has_idle()
    }
}

impl Stacks {
    /// Takes the address space of the table for another store. No stack may be in use.
    pub fn take_table(&mut self) -> Option<Map> {
        // A small table is not reused: address space may be available again.
        let table = self.blocks.take().filter(|_| !self.is_table_short)?;
        match self.count <= CLEARED {
            // SAFETY: the blocks are in the table, and are not in use anymore.
            true => unsafe { ptr::write_bytes(first_block(&table), 0, self.count) },
            false => table.give_back(0, table_size(self.count).next_multiple_of(PAGE)),
        }
        Some(table)
    }
}

/// The size of the transfer area, aligned for the blocks.
const BEFORE_BLOCKS: usize = TRANSFER_SIZE.next_multiple_of(align_of::<ControlBlock>());

const fn table_size(blocks: usize) -> usize {
    BEFORE_BLOCKS + blocks * size_of::<ControlBlock>()
}

#[inline]
fn first_block(table: &Map) -> *mut ControlBlock {
    table.base().wrapping_add(BEFORE_BLOCKS).cast()
}

/// Up to this many blocks are cleared by writing. Beyond, their pages are given back.
const CLEARED: usize = 256;

/// Prepares a table whose blocks are all blank.
fn prepare_table(table: &Map) {
    // SAFETY: the table has a block 0. No reference is all ones, so a reference to this block is
    // never valid.
    unsafe { (*first_block(table)).reference = u64::MAX };
}

/// The size of the table if address space is short.
const FEW_BLOCKS: usize = 1 << 16;
