//! The stacks that references name: their blocks, their memory, their lives.
//!
//! Blocks lie in a table that never moves, behind the [transfer
//! area](ropewalk_abi::transfer), which thereby takes no memory of the machine unless it is
//! used. Block 0 is never used, so that null names a block too, and fails the same comparison
//! as a stale reference.
//!
//! A stack keeps its slot when it becomes free, and continues the list of free
//! stacks from which generated code takes it, last in, first out. The first
//! frames of neighbouring stacks begin at different cache lines: were they all
//! alike, they would compete for the same few places in the caches.
//!
//! A stack that is [parked](super::park) has no slot. If it is freed, its block is
//! spare, and keeps its generation.

use super::NotCopied;
use super::arena::RootStack;
use super::growth::{Grown, NoRoom};
use super::holding::Holding;
use super::idle::Idle;
use super::known_sites::KnownSites;
use super::marks::MarkLists;
use super::mutation::{Mutation, PutBack};
use super::packed::Packed;
use super::slots::Slots;
use crate::os::mapping::{Map, PAGE};
use crate::os::memory_size::machine_memory;
use crate::stack::mark::{Mark, MarkKind};
use crate::stack::notes::{Note, Notes};
use ropewalk_abi::stack::{
    KIND_MASK, MAX_BLOCKS, NEXT_GENERATION, Purpose, block_number, first_reference,
};
use ropewalk_abi::transfer::TRANSFER_SIZE;
use ropewalk_abi::{ControlBlock, RawVal, TrapCode};
use std::collections::TryReserveError;
use std::io;
use std::ptr;

/// How many different places first frames begin at, a cache line apart.
pub(super) const COLOURS: usize = 29;

/// How many bytes above the first word of a stack are not used. The stub that starts a
/// stack pops that word, and then wants the stack pointer aligned to 16 bytes. With as many
/// as these, what a small function needs when it is suspended and continued lies in one line
/// of the cache: its frame on top of that of the stack trampoline.
pub(super) const ABOVE_TOP: usize = 40;

/// How all stacks but roots are.
#[derive(Clone, Copy, Debug)]
pub struct StackOptions {
    /// How many bytes each begins with, without its guard.
    pub size: usize,
    /// How many bytes each may have, and a root too.
    pub limit: usize,
    /// Whether none ever gets more than it begins with, for testing.
    pub fails_to_grow: bool,
    /// How many there may be.
    pub maximum: usize,
    /// How many bytes all together may have, with what roots have grown by. Half of what the
    /// machine has, if nothing is said.
    pub memory: usize,
    /// How many are made ready at a time, and kept ready at least.
    pub pool: usize,
    /// How many blocks the table has room for; for tests of what happens when it is full.
    pub blocks: usize,
    /// The generation that references to new ones begin with; for tests of what
    /// happens at the last one.
    pub first_generation: u64,
    /// A bug to put back, for tests of the check.
    pub mutation: PutBack,
}

impl Default for StackOptions {
    fn default() -> Self {
        // A thousand frames of a function that switches, and the colours.
        StackOptions {
            size: 112 << 10,
            limit: 64 << 20,
            fails_to_grow: false,
            maximum: MAX_BLOCKS - 1,
            memory: machine_memory() / 2,
            pool: 16,
            blocks: MAX_BLOCKS,
            first_generation: 0,
            mutation: PutBack::default(),
        }
    }
}

/// The stacks of a store that references name.
#[derive(Debug)]
pub(crate) struct Stacks {
    pub(super) blocks: Option<Map>,
    /// How many blocks there is room for, counting block 0.
    most_blocks: usize,
    /// Whether these are few, since there was no address space for more.
    is_table_short: bool,
    /// How many blocks were ever used, counting block 0.
    count: usize,
    /// How many of them are those of roots.
    pub(super) roots: usize,
    pub(super) slots: Slots,
    pub(super) grown: Grown,
    /// Which call sites leave frames without references.
    pub known_sites: KnownSites,
    /// Why the last copy was not made, unless somebody has asked before.
    pub not_copied: Option<NotCopied>,
    /// Whether stacks have grown that may shrink.
    pub(super) shrink_due: bool,
    /// The frames of parked stacks.
    pub(super) packed: Packed,
    /// How many stacks are parked.
    pub(super) parked: usize,
    /// How often one was.
    pub(super) parkings: u64,
    /// Which stacks have slots, and when some give theirs up.
    pub(super) idle: Idle,
    /// How many free stacks are kept ready at least.
    pool: usize,
    /// How many were in use at the same time when that was last counted.
    peak: usize,
    /// How many were made since memory was given back.
    made_since_trim: usize,
    /// How many stacks there may be.
    maximum: usize,
    /// How many bytes blocks, slots, what stacks have grown by, packed frames and marks may
    /// have together.
    pub(super) memory: usize,
    /// The generation that new blocks begin with.
    first_generation: u64,
    mutation: PutBack,
    /// From how many stacks and retired blocks on a collection comes before new
    /// stacks.
    threshold: usize,
    /// Which of them the host has.
    pub held: Holding,
    /// What a recorder wants to know.
    pub notes: Notes,
    /// The marks of stacks.
    pub marks: MarkLists,
    /// The serial number of the newest mark.
    pub(super) newest_mark: u64,
    /// Blocks whose generations are used up, until a collection has shown that
    /// no reference to them is left.
    pub(super) retired: Vec<usize>,
    /// Blocks without memory that can be used again. Their references go on where they
    /// were, or begin if they are zero.
    pub(super) spare: Vec<usize>,
}

/// What a collection has found out about a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reached {
    /// Some reference names it, valid or not.
    pub is_named: bool,
    /// Its stack runs, or is suspended and can be continued.
    pub is_live: bool,
    /// It is a task or fiber that is in use, and a reference to it is valid. It
    /// stays what it is, even if what it is suspended with cannot be continued.
    pub is_kept: bool,
}

/// What was done after a collection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swept {
    pub in_use: usize,
    pub freed: usize,
}

const FIRST_THRESHOLD: usize = 4096;
/// How many bytes a block takes, with its places in lists.
const BYTES_PER_BLOCK: usize = size_of::<ControlBlock>() + 32;
/// After how many new stacks memory is given back.
const GROWTH: usize = 1024;
/// The stack pointer of a free stack that has not been used since it had no
/// memory.
const NEVER_USED: usize = 0;

impl Stacks {
    /// None yet, with the address space for the blocks if there is any.
    pub fn new(options: &StackOptions, table: Option<Map>) -> Stacks {
        let StackOptions { size, limit, fails_to_grow, maximum, memory, .. } = *options;
        let StackOptions { pool, blocks, first_generation, mutation, .. } = *options;
        Stacks {
            blocks: table.inspect(prepare_table),
            most_blocks: blocks,
            is_table_short: false,
            count: 1,
            roots: 0,
            slots: Slots::new(size.min(limit)),
            grown: Grown::new(limit, fails_to_grow),
            known_sites: KnownSites::default(),
            not_copied: None,
            shrink_due: false,
            packed: Packed::default(),
            parked: 0,
            parkings: 0,
            idle: Idle::default(),
            pool,
            peak: 0,
            made_since_trim: 0,
            maximum: maximum.min(MAX_BLOCKS - 1),
            memory,
            first_generation,
            mutation,
            threshold: FIRST_THRESHOLD,
            held: Holding::default(),
            notes: Notes::default(),
            marks: MarkLists::default(),
            newest_mark: 0,
            retired: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// The first block, or null before there are any.
    #[inline]
    pub fn base(&self) -> *mut ControlBlock {
        self.blocks.as_ref().map_or(ptr::null_mut(), first_block)
    }

    /// The transfer area, or null before there are any blocks. Nobody uses it before there is
    /// a stack. Whoever reads a place, or its tag, knows that it was written since the store
    /// has it; so it is not cleared for the next store.
    pub fn transfer_area(&self) -> *mut RawVal {
        self.blocks.as_ref().map_or(ptr::null_mut(), |table| table.base().cast())
    }

    /// How many blocks there are, with those of roots and of no stack.
    pub fn len(&self) -> usize {
        self.count - 1
    }

    /// How many stacks there are, free or not, without roots.
    pub fn count_stacks(&self) -> usize {
        self.without_roots() - self.retired.len() - self.spare.len()
    }

    /// How many blocks there are, with those of no stack, without those of
    /// roots.
    pub fn without_roots(&self) -> usize {
        self.len() - self.roots
    }

    /// Why there may be no more stacks, if so.
    fn full(&self) -> Option<NoRoom> {
        match self.count_stacks() >= self.maximum {
            true => Some(NoRoom::Count(self.maximum)),
            false => self.is_table_full().then(|| self.no_blocks()),
        }
    }

    /// How many bytes stacks have at most: their blocks, in slots, packed, grown, and marks.
    pub(super) fn taken(&self) -> usize {
        let slots = self.count_warm() * self.slots.usable();
        let beside = self.without_roots() * BYTES_PER_BLOCK + self.marks.bytes();
        slots + self.packed.touched() + self.grown.added() + beside
    }

    /// How many more bytes they may have.
    pub(super) fn room_left(&self) -> usize {
        self.memory.saturating_sub(self.taken())
    }

    /// Whether there is no block left.
    pub fn is_table_full(&self) -> bool {
        self.spare.is_empty() && self.count >= self.most_blocks
    }

    /// Whether a collection comes before new stacks.
    pub fn should_collect(&self) -> bool {
        let is_full = self.full().is_some() || self.is_out_of_slots();
        self.count_stacks() + self.retired.len() >= self.threshold || is_full
    }

    /// The block with a number.
    #[inline]
    pub fn block(&self, number: usize) -> *mut ControlBlock {
        assert!(number < self.count);
        self.base().wrapping_add(number)
    }

    /// The number of a block, if it belongs to the table.
    pub fn number_of(&self, block: *const ControlBlock) -> Option<usize> {
        let offset = (block as usize).checked_sub(self.base() as usize)?;
        let number = offset / size_of::<ControlBlock>();
        (!self.base().is_null() && number < self.count).then_some(number)
    }

    /// The block that a reference names, if the reference, of whatever kind, is
    /// valid.
    #[inline]
    pub fn valid(&self, reference: u64) -> Option<*mut ControlBlock> {
        let number = block_number(reference);
        if number == 0 || number >= self.count {
            return None;
        }
        let block = self.block(number);
        // SAFETY: blocks of the table are always initialised.
        (unsafe { (*block).reference } == reference & !KIND_MASK).then_some(block)
    }

    /// Makes some stacks ready; returns a list of them.
    pub fn make_ready(&mut self, count: usize) -> Result<*mut ControlBlock, TrapCode> {
        let mut list: *mut ControlBlock = ptr::null_mut();
        for _ in 0..count {
            if !list.is_null() && self.should_park() {
                break;
            }
            match self.make_one() {
                Ok(block) => {
                    // SAFETY: just made.
                    unsafe { (*block).next_free = list };
                    list = block;
                }
                Err(reason) if list.is_null() => return Err(self.refuse(reason)),
                Err(_) => break,
            }
        }
        Ok(list)
    }

    /// How many are made at a time.
    pub fn pool(&self) -> usize {
        self.pool
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
        // SAFETY: the block lies in the table.
        unsafe {
            block.write(ControlBlock {
                // Whether it was ever used.
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

    /// How far the highest address of a stack is above the word where its first frame begins.
    pub(super) fn above_top(&self, number: usize) -> usize {
        number % COLOURS * 64 + ABOVE_TOP
    }

    /// Makes a root stack of memory.
    pub fn make_root(&mut self, memory: Map) -> Result<RootStack, NoRoom> {
        let number = self.take_number()?;
        self.roots += 1;
        let reference = self.next_reference(number);
        Ok(RootStack::new(self.block(number), reference, memory))
    }

    /// Takes the block of a root out of use whose generations are used up.
    pub fn retire_root(&mut self, root: &RootStack) {
        let number = self.number_of(root.block).expect("blocks of roots lie in the table");
        // SAFETY: blocks of the table are always initialised.
        unsafe { *root.block = ControlBlock::BLANK };
        self.forget_root(number);
        self.roots -= 1;
        self.retired.push(number);
    }

    fn first_reference(&self, number: usize) -> u64 {
        let generation = self.first_generation.wrapping_mul(NEXT_GENERATION);
        first_reference(number) | generation
    }

    /// The reference that a block without a stack continues with.
    fn next_reference(&self, number: usize) -> u64 {
        // SAFETY: blocks of the table are always initialised.
        match unsafe { (*self.block(number)).reference } {
            0 => self.first_reference(number),
            reference => reference,
        }
    }

    /// The numbers of the blocks that have no stack.
    pub fn vacant(&self) -> impl Iterator<Item = usize> {
        self.retired.iter().chain(&self.spare).copied()
    }

    /// How many of the stacks are free.
    pub fn count_free(&self, mut list: *mut ControlBlock) -> usize {
        let mut count = 0;
        // SAFETY: the list of free stacks ends in null.
        while let Some(block) = unsafe { list.as_ref() } {
            count += 1;
            list = block.next_free;
        }
        count
    }

    /// How many bytes of address space and of memory the stacks have.
    pub fn reserved_and_committed(&self) -> (usize, usize) {
        // SAFETY: blocks of the table are always initialised.
        let is_no_root = |number| unsafe { (*self.block(number)).purpose != Purpose::Root };
        let (reserved, committed) = self.grown.reserved_and_committed(is_no_root);
        let reserved = reserved + self.slots.reserved() + self.packed.reserved();
        (reserved, committed + self.slots.committed() + self.packed.committed())
    }

    /// How often a stack has got more room.
    pub fn growths(&self) -> u64 {
        self.grown.growths()
    }

    /// How many stacks are parked, and how often one was.
    pub fn count_parked(&self) -> (usize, u64) {
        (self.parked, self.parkings)
    }

    fn take_number(&mut self) -> Result<usize, NoRoom> {
        if let Some(number) = self.spare.pop() {
            return Ok(number);
        }
        self.next_number()
    }

    /// Why there are no more blocks.
    fn no_blocks(&self) -> NoRoom {
        match self.is_table_short {
            false => NoRoom::Blocks(self.most_blocks - 1),
            true => NoRoom::Machine(table_size(MAX_BLOCKS)),
        }
    }

    /// Reserves address space for all blocks; for few, where there is not so much.
    fn reserve_table(&mut self) -> Result<(), NoRoom> {
        let table = match Map::read_write(table_size(self.most_blocks)) {
            Ok(table) => table,
            Err(_) => {
                let few = self.most_blocks.min(FEW_BLOCKS);
                let table = Map::read_write(table_size(few));
                let table = table.map_err(|_| NoRoom::Machine(table_size(few)))?;
                (self.is_table_short, self.most_blocks) = (true, few);
                table
            }
        };
        prepare_table(&table);
        self.blocks = Some(table);
        Ok(())
    }

    /// The number of a block that was never used.
    pub(super) fn next_number(&mut self) -> Result<usize, NoRoom> {
        if self.blocks.is_none() {
            self.reserve_table()?;
        }
        if self.count >= self.most_blocks {
            return Err(self.no_blocks());
        }
        let lists = self.make_room_in_lists(self.count + 1);
        lists.map_err(|_| NoRoom::Machine(size_of::<ControlBlock>()))?;
        self.count += 1;
        Ok(self.count - 1)
    }

    /// Makes room for so many blocks in all lists of blocks.
    fn make_room_in_lists(&mut self, count: usize) -> Result<(), TryReserveError> {
        self.idle.make_room_for_blocks(count)?;
        self.held.make_room_for_blocks(count)?;
        self.spare.try_reserve(count.saturating_sub(self.spare.len()))?;
        self.retired.try_reserve(count.saturating_sub(self.retired.len()))
    }

    /// Makes room for what is kept of a stack beside its block, under another number.
    fn make_room_to_renew(&mut self) -> Result<(), TryReserveError> {
        self.grown.make_room()?;
        self.marks.make_room_for_blocks(self.count + 1)
    }

    /// Gives a stack whose generations are used up another block.
    ///
    /// # Safety
    ///
    /// The block must be that of a stack that is suspended or new.
    pub unsafe fn renew(&mut self, old: *mut ControlBlock) -> Result<*mut ControlBlock, TrapCode> {
        let room = self.make_room_to_renew();
        room.map_err(|_| self.refuse(NoRoom::Machine(size_of::<ControlBlock>())))?;
        let number = self.take_number().map_err(|reason| self.refuse(reason))?;
        let (new, reference) = (self.block(number), self.next_reference(number));
        // SAFETY: both blocks lie in the table; the chain from the innermost
        // stack leads to the old one.
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
        let old = self.number_of(old).expect("a block of the table");
        if !self.mutation.is(Mutation::MarksStayBehind) {
            self.marks.hand_over(old, number);
        }
        self.grown.hand_over(old, number);
        self.notes.add(Note::Renewed { from: old, to: number });
        self.retired.push(old);
        // SAFETY: as above.
        if unsafe { !(*new).is_parked() && (*new).purpose != Purpose::Root } {
            self.has_memory(number);
        }
        Ok(new)
    }

    /// Gives the first of the free stacks, whose generations are used up,
    /// another block; returns it.
    pub fn renew_free(&mut self, free: &mut *mut ControlBlock) -> Result<(), TrapCode> {
        // SAFETY: a free stack is not in use.
        *free = unsafe { self.renew(*free) }?;
        // SAFETY: blocks of the table are always initialised.
        let block = unsafe { &mut **free };
        if block.reference.checked_add(NEXT_GENERATION).is_none() {
            // Where the first generation is set to the last one. Nothing names
            // the block, so that any will do.
            block.reference = first_reference(block_number(block.reference));
        }
        Ok(())
    }

    /// After a collection: frees the stacks in use that it has not reached, and
    /// makes retired blocks usable again that nothing names. Returns how many
    /// stacks are in use, and how many it has freed. The roots are given, and whether
    /// there may be first-class stacks.
    pub fn sweep(
        &mut self,
        mut reached: Vec<Reached>,
        no_parent: *mut ControlBlock,
        roots: &[*mut ControlBlock],
        has_first_class: bool,
        free: &mut *mut ControlBlock,
    ) -> Swept {
        let mut swept = Swept { in_use: 0, freed: 0 };
        if has_first_class {
            self.end_first_class(&mut reached);
        }
        self.prune_roots(&mut reached, roots);
        for (number, reached) in reached.iter().enumerate().skip(1) {
            // Where millions live, their blocks are not looked at.
            if reached.is_live {
                swept.in_use += 1;
                continue;
            }
            let block = self.block(number);
            // SAFETY: blocks of the table are always initialised.
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
                    // If nothing names it, it can begin anew. Else nobody has its
                    // present reference, which can serve the next computation.
                    if !reached.is_named && stack.reference != 0 {
                        stack.reference = self.first_reference(number);
                    }
                }
            }
        }
        let number = |root: &&*mut ControlBlock| self.number_of(**root).expect("of the table");
        swept.in_use -= roots.iter().filter(|root| reached[number(root)].is_live).count();
        let spare = &mut self.spare;
        self.retired.retain(|&number| {
            if !reached[number].is_named {
                // There is room for all blocks.
                spare.push(number);
            }
            reached[number].is_named
        });
        self.threshold = self.threshold.max((swept.in_use + self.retired.len()) * 2);
        swept
    }

    /// A first-class stack that cannot be continued is freed with the tasks and fibers
    /// on it, even if something names them: they are moribund.
    fn end_first_class(&self, reached: &mut [Reached]) {
        for number in 1..self.count {
            let base = self.block(number);
            // SAFETY: blocks of the table are always initialised, and a chain leads
            // from the innermost stack to the base.
            unsafe {
                if (*base).purpose != Purpose::FirstClass || reached[number].is_live {
                    continue;
                }
                let mut stack = (*base).innermost;
                while stack != base {
                    let number = self.number_of(stack).expect("a block of the table");
                    reached[number].is_kept = false;
                    stack = (*stack).parent;
                }
            }
        }
    }

    /// Whether there are first-class stacks.
    pub fn has_first_class(&self) -> bool {
        let mut blocks = (1..self.count).map(|number| self.block(number));
        // SAFETY: blocks of the table are always initialised.
        blocks.any(|block| unsafe { (*block).purpose } == Purpose::FirstClass)
    }

    /// Of what is suspended with a root that cannot be continued, leaves with it
    /// only tasks and fibers that something names: they end with its activation,
    /// and not before.
    fn prune_roots(&mut self, reached: &mut [Reached], roots: &[*mut ControlBlock]) {
        for &root in roots {
            let number = self.number_of(root).expect("a block of the table");
            // SAFETY: blocks of the table are always initialised, and a chain leads
            // from the innermost stack to the root.
            unsafe {
                if reached[number].is_live {
                    continue;
                }
                self.marks.forget(number);
                let mut stack = (*root).innermost;
                let (mut innermost, mut last) = (root, root);
                while stack != root {
                    let parent = (*stack).parent;
                    let number = self.number_of(stack).expect("a block of the table");
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

    /// Puts a stack on the list of free ones; one that is parked leaves its block.
    pub fn free(&mut self, stack: &mut ControlBlock, free: &mut *mut ControlBlock) {
        let number = self.number_of(stack).expect("a block of the table");
        stack.become_free();
        self.marks.forget(number);
        self.grown.own_limits.forget(number);
        self.notes.add(Note::Freed(number));
        if stack.is_parked() {
            self.drop_packed(stack);
            return self.put_block(stack);
        }
        stack.next_free = *free;
        *free = stack;
    }

    /// Puts a block without memory where it is used again.
    fn put_block(&mut self, stack: &mut ControlBlock) {
        debug_assert!(stack.limit == 0 && stack.purpose == Purpose::Free);
        let number = block_number(stack.reference);
        self.grown.own_limits.forget(number);
        match stack.reference.checked_add(NEXT_GENERATION) {
            Some(_) => self.spare.push(number),
            None => {
                *stack = ControlBlock { sp: stack.sp, ..ControlBlock::BLANK };
                self.retired.push(number);
            }
        }
    }

    /// Takes the slot of the first free stack for another; its block can be used again.
    /// Returns whether it could.
    pub fn take_from_free(&mut self, free: &mut *mut ControlBlock) -> bool {
        // SAFETY: the list of free stacks ends in null, and blocks of the table live as
        // long as it.
        let Some(stack) = (unsafe { free.as_mut() }) else { return false };
        let Some(limit) = self.leave_home(stack) else { return false };
        *free = stack.next_free;
        self.vacate(limit);
        (stack.top, stack.limit, stack.high) = (0, 0, 0);
        self.put_block(stack);
        true
    }

    /// Has the first of a list of free stacks leave their blocks, until one can be used for
    /// something else.
    pub fn make_block_spare(&mut self, free: &mut *mut ControlBlock) {
        while self.is_table_full() && self.take_from_free(free) {}
    }

    /// Forgets the marks of a stack.
    pub fn forget_marks(&mut self, block: *const ControlBlock) {
        let number = self.number_of(block).expect("a block of the table");
        self.marks.forget(number);
    }

    // ---- marks

    /// The marks of a stack that is not running.
    ///
    /// # Safety
    ///
    /// The block must lie in the table.
    pub unsafe fn marks_of(&mut self, block: *const ControlBlock) -> &mut [Mark] {
        let number = self.number_of(block).expect("a block of the table");
        // SAFETY: blocks of the table are always initialised, and nobody else has
        // a reference to this one.
        let stack = unsafe { &mut *block.cast_mut() };
        self.marks.of(number, stack)
    }

    /// Removes the marks of functions that a stack, which does not run, is not in any more.
    ///
    /// # Safety
    ///
    /// The block must lie in the table.
    pub unsafe fn settle_marks(&mut self, block: *mut ControlBlock) {
        let number = self.number_of(block).expect("a block of the table");
        // SAFETY: blocks of the table are always initialised, and nobody else has a
        // reference to this one.
        self.marks.settle(number, unsafe { &mut *block });
    }

    /// Leaves a mark on a stack, whose computation is in a host call.
    ///
    /// # Safety
    ///
    /// The block must lie in the table.
    pub unsafe fn add_mark(
        &mut self,
        block: *mut ControlBlock,
        kind: MarkKind,
    ) -> Result<usize, TrapCode> {
        self.newest_mark += 1;
        let serial = self.newest_mark;
        // SAFETY: blocks of the table are always initialised.
        let depth = unsafe { (*block).high - (*block).sp };
        let number = self.number_of(block).expect("a block of the table");
        let needed = self.marks.needed_for_one_more(number);
        if needed > 0 && needed > self.room_left() {
            self.refuse(NoRoom::Sum(self.memory));
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

    /// Moves a stack that is not running, and is where it began, to another slot.
    pub fn relocate(&mut self, block: &mut ControlBlock) -> io::Result<()> {
        let (limit, _) = self.slots.take()?;
        debug_assert!(!block.is_parked());
        let (old, sp) = (block.limit, block.sp);
        let distance = limit.wrapping_sub(old);
        // SAFETY: the live part of the old slot is copied to the same place in
        // the new one, then its links are moved.
        unsafe { super::relocate::copy_and_link(block, distance) };
        block.limit = block.limit.wrapping_add(distance);
        block.high = block.high.wrapping_add(distance);
        block.top = block.top.wrapping_add(distance);
        self.slots.close(old, sp)
    }

    // ---- memory that is not needed

    /// Gives the memory of free stacks back that are not likely to be used
    /// soon: those after the first ones of the list.
    pub fn trim(&mut self, free: *mut ControlBlock, keep: usize) {
        self.peak = self.peak();
        self.made_since_trim = 0;
        let mut idle = Vec::new();
        let mut list = free;
        for number in 0.. {
            // SAFETY: the list of free stacks ends in null.
            let Some(block) = (unsafe { list.as_mut() }) else { break };
            let is_idle = number >= keep.max(self.pool) && block.sp != NEVER_USED;
            // What has grown shrinks first.
            if is_idle && !self.has_moved_out(block) && idle.try_reserve(1).is_ok() {
                idle.push(block.limit);
                block.sp = NEVER_USED;
            }
            list = block.next_free;
        }
        self.idle.cool(keep, &mut idle);
        self.slots.give_back(idle);
    }

    /// How many stacks were in use at the same time at most. They are used last
    /// in, first out, so a new one is used only if all others are in use.
    pub fn peak(&self) -> usize {
        let blocks = (1..self.count).map(|number| self.block(number));
        // SAFETY: blocks of the table are always initialised.
        let was_used = |block: &*mut ControlBlock| unsafe {
            (**block).purpose != Purpose::Root && (**block).sp != NEVER_USED
        };
        self.peak.max(blocks.filter(was_used).count())
    }

    /// Whether this many stacks were made that some may not be needed any more.
    pub fn has_idle(&self) -> bool {
        self.made_since_trim > GROWTH
    }

    /// Whether memory may be given back: of stacks that are idle, or that have grown.
    pub fn may_give_back(&self) -> bool {
        self.shrink_due | self.has_idle()
    }
}

impl Stacks {
    /// The address space of the blocks, for another store, when no stack is used any more.
    pub fn take_table(&mut self) -> Option<Map> {
        // One that is short belongs to times without address space.
        let table = self.blocks.take().filter(|_| !self.is_table_short)?;
        match self.count <= CLEARED {
            // SAFETY: the blocks lie in the table, and nobody uses them any more.
            true => unsafe { ptr::write_bytes(first_block(&table), 0, self.count) },
            false => table.give_back(0, table_size(self.count).next_multiple_of(PAGE)),
        }
        Some(table)
    }
}

/// How many bytes lie before the blocks: the transfer area.
const BEFORE_BLOCKS: usize = TRANSFER_SIZE.next_multiple_of(align_of::<ControlBlock>());

/// How many bytes a table of so many blocks has.
const fn table_size(blocks: usize) -> usize {
    BEFORE_BLOCKS + blocks * size_of::<ControlBlock>()
}

#[inline]
fn first_block(table: &Map) -> *mut ControlBlock {
    table.base().wrapping_add(BEFORE_BLOCKS).cast()
}

/// How many blocks are cleared for the next store by writing to them.
const CLEARED: usize = 256;

/// Readies address space for blocks, all of which are blank.
fn prepare_table(table: &Map) {
    // SAFETY: the table begins with block 0. No reference is all ones, so nothing that
    // names this block is valid.
    unsafe { (*first_block(table)).reference = u64::MAX };
}

/// How many blocks there are at most where there is no address space for all.
const FEW_BLOCKS: usize = 1 << 16;
