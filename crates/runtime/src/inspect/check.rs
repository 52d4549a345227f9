//! Checks that the records of all stacks are consistent.
//!
//! In a stress mode this runs after every switch, builtin, collection and landing. It derives the
//! state of each stack from the records alone, and then checks:
//!
//! * Each stack is in one state, and in the list for that state.
//! * Chains have no cycles, end at a base and share no stack.
//! * Parents and children agree.
//! * No link leads to a free block.
//! * Marks are in order.

use super::frames::Frames;
use crate::report::violation::Violation;
use crate::stack::RootStack;
use crate::stack::{BoundValues, SavedPosition, Stacks, packed_size, parked_sp};
use crate::store::Store;
use crate::store::running::Ending;
use ropewalk_abi::builtin::{END, Outcome};
use ropewalk_abi::life::Life;
use ropewalk_abi::stack::{
    EVERY_TAG, GROUPED, HAS_WAITED, KIND_MASK, Purpose, TAG, TAG_MASK, block_number,
};
use ropewalk_abi::{ControlBlock, clauses};
use std::ffi::c_void;
use std::ptr;

/// The states of all stacks, after a successful check.
pub(crate) struct Checked(Vec<Option<Life>>);

impl Checked {
    /// Whether a reference of the current generation may name a block.
    pub fn may_be_named(&self, stack: &ControlBlock, number: usize) -> bool {
        stack.purpose.has_identity()
            || matches!(self.0[number], Some(Life::New | Life::Suspended | Life::Parked))
    }
}

/// With up to this many stacks, every request is a check.
const OFTEN: usize = 64;

type Result<T = ()> = std::result::Result<T, String>;

impl Store {
    /// Checks all stacks, or not if there are many. An inconsistency poisons the store.
    pub(crate) fn check_now(&mut self) -> std::result::Result<(), Violation> {
        self.observers.checks += 1;
        let due = self.observers.checks.is_multiple_of(1 + self.stacks.len() / OFTEN);
        let found = self.heap.violation.take();
        let found = found.or_else(|| due.then(|| self.check_stacks().err()).flatten());
        match found {
            None => Ok(()),
            Some(what) => {
                self.running.poison();
                Err(Violation(what))
            }
        }
    }

    /// Checks the stacks after a builtin. An inconsistency ends the activation.
    pub(crate) fn check_after(&mut self, outcome: Outcome, ends_beginning: bool) -> Outcome {
        if outcome.ended == END {
            return outcome;
        }
        // SAFETY: running stacks are alive.
        let extender = unsafe { (*self.base_of_running()).extender };
        if ends_beginning && !extender.is_null() {
            self.heap.violation = Some("a stack continued while it was being extended".to_string());
        }
        match self.check_now() {
            Ok(()) => outcome,
            Err(violation) => {
                self.set_ending(Ending::Error(violation.into()));
                Outcome::END
            }
        }
    }

    /// Checks all stacks; returns the first inconsistency.
    pub(crate) fn check_stacks(&self) -> Result<Checked> {
        let check = Check::of_lives(self, Vec::new())?;
        for number in 1..check.lives.len() {
            check.record(number)?;
        }
        check.memory()?;
        Ok(Checked(check.lives))
    }

    /// The states of all stacks by number, in a list with [room](Self::count_blocks).
    pub(crate) fn lives(
        &self,
        room: Vec<Option<Life>>,
    ) -> std::result::Result<Vec<Option<Life>>, Violation> {
        let check = Check::of_lives(self, room).map_err(Violation)?;
        Ok(check.lives)
    }

    /// The number of blocks, including block 0.
    pub(crate) fn count_blocks(&self) -> usize {
        self.stacks.len() + 1
    }
}

struct Check<'a> {
    store: &'a Store,
    lives: Vec<Option<Life>>,
}

/// Fails with a message about a stack unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $number:expr, $($message:tt)*) => {
        if !$holds {
            return Err(format!("stack {}: {}", $number, format_args!($($message)*)));
        }
    };
}

impl<'a> Check<'a> {
    /// Derives the states of all stacks, in an empty list.
    fn of_lives(store: &'a Store, mut lives: Vec<Option<Life>>) -> Result<Check<'a>> {
        lives.resize(store.count_blocks(), None);
        let mut check = Check { store, lives };
        check.lives[0] = Some(Life::Vacant);
        check.free_list()?;
        check.vacant_blocks()?;
        check.running_chains()?;
        check.idle_roots()?;
        check.suspended_chains()?;
        check.rest()?;
        Ok(check)
    }

    fn stacks(&self) -> &'a Stacks {
        &self.store.stacks
    }

    fn block(&self, number: usize) -> &'a ControlBlock {
        // SAFETY: blocks are always initialized, and unchanged while the store is borrowed.
        unsafe { &*self.stacks().block(number) }
    }

    fn number(&self, block: *const ControlBlock, of: &str) -> Result<usize> {
        let number = self.stacks().number_of(block);
        number
            .filter(|number| *number != 0)
            .ok_or_else(|| format!("{of} is not a block: {block:?}"))
    }

    /// Sets the state of a stack. Fails if it has one already.
    fn is(&mut self, number: usize, life: Life) -> Result {
        if let Some(before) = self.lives[number].replace(life) {
            ensure!(false, number, "is {life:?} and {before:?}");
        }
        Ok(())
    }

    // ---- unused blocks

    fn free_list(&mut self) -> Result {
        let mut next = self.store.context().free_stacks;
        while !next.is_null() {
            let number = self.number(next, "an entry of the free list")?;
            self.is(number, Life::Free)?;
            let stack = self.block(number);
            ensure!(stack.purpose == Purpose::Free, number, "is free but {:?}", stack.purpose);
            ensure!(stack.limit != 0, number, "is free and has no memory");
            ensure!(!stack.is_parked(), number, "is free and parked");
            next = stack.next_free;
        }
        Ok(())
    }

    fn vacant_blocks(&mut self) -> Result {
        for number in self.stacks().vacant() {
            self.is(number, Life::Vacant)?;
            let stack = self.block(number);
            ensure!(stack.limit == 0, number, "has memory, but its block is not in use");
            ensure!(stack.purpose == Purpose::Free, number, "is vacant but {:?}", stack.purpose);
        }
        Ok(())
    }

    fn idle_roots(&mut self) -> Result {
        for root in self.store.running.roots_in_use() {
            let (number, is_alone) = self.root(root)?;
            let is_idle = self.lives[number].is_none();
            if self.block(number).is_spent() && is_alone {
                self.is(number, Life::Spent)?;
            } else if is_idle && is_alone {
                // Another base runs in its activation.
                self.is(number, Life::Suspended)?;
                self.ends_well(number)?;
            }
        }
        for root in self.store.running.roots.idle() {
            let (number, is_alone) = self.root(root)?;
            self.is(number, Life::Idle)?;
            ensure!(is_alone, number, "is idle, but suspended in a group");
        }
        Ok(())
    }

    /// The number of a root, and whether it is suspended alone, if it is.
    fn root(&self, root: &RootStack) -> Result<(usize, bool)> {
        let number = self.number(root.block, "a root")?;
        let stack = self.block(number);
        ensure!(stack.purpose == Purpose::Root, number, "is a root but {:?}", stack.purpose);
        Ok((number, ptr::eq(stack.innermost, stack)))
    }

    // ---- chains

    fn running_chains(&mut self) -> Result {
        let store = self.store;
        let newest = (store.running.depth() > 0).then(|| store.context().stack.cast_const());
        let others = store
            .running
            .outer_stacks()
            .chain(store.running.stacks_of_pending_activations())
            .map(ptr::from_ref);
        for (i, stack) in newest.into_iter().chain(others).enumerate() {
            let base = self.running_chain(stack, Life::Running)?;
            let is_noted = i > 0
                || self.store.running.depth() == 0
                || ptr::eq(self.block(base), self.store.context().base);
            ensure!(is_noted, base, "is the base of the running stack, but another is recorded");
            let extender = self.block(base).extender;
            if !extender.is_null() {
                ensure!(i == 0, base, "is being extended, but the host was called");
                let base = self.running_chain(extender, Life::Waiting)?;
                ensure!(self.block(base).extender.is_null(), base, "is extended and extends");
            }
        }
        Ok(())
    }

    /// Follows the parents of a running stack, or of one that extends it; returns the base.
    fn running_chain(&mut self, innermost: *const ControlBlock, running: Life) -> Result<usize> {
        let mut stack = innermost;
        loop {
            let number = self.number(stack, "a parent of the running stack")?;
            let life = if stack == innermost { running } else { Life::Waiting };
            self.is(number, life)?;
            let block = self.block(number);
            ensure!(block.purpose != Purpose::Free, number, "runs, and is free");
            ensure!(!block.is_parked(), number, "runs, and is parked");
            self.remembered(number)?;
            if ptr::eq(block.parent, self.store.running.no_parent()) {
                ensure!(is_base(block), number, "has no parent, but is a {:?}", block.purpose);
                // Generated code may be about to suspend the chain.
                if !ptr::eq(block.innermost, innermost) {
                    self.alone(number)?;
                }
                return Ok(number);
            }
            self.alone(number)?;
            ensure!(!is_base(block), number, "is a base, and has a parent");
            ensure!(!block.parent.is_null(), number, "runs, and its parent is null");
            stack = block.parent;
        }
    }

    /// The stack through which another was resumed, and its remembered handler, must be above it.
    fn remembered(&self, number: usize) -> Result {
        let stack = self.block(number);
        let is_grouped = stack.is_grouped == GROUPED;
        // Counts of captures are words that no clause has.
        let has_sought = stack.sought != 0 && stack.sought & EVERY_TAG != EVERY_TAG;
        ensure!(is_grouped || !has_sought, number, "has searched, but its path is not recorded");
        let stays = self.store.context().captures == stack.sought;
        let has_way = is_grouped || stack.is_grouped == HAS_WAITED && stays;
        if !has_way || !ptr::eq(stack.innermost, stack) {
            return Ok(());
        }
        let mut above = stack.parent;
        while !above.is_null() && !ptr::eq(above, self.store.running.no_parent()) {
            if above == stack.through {
                return if has_sought { self.found_again(number) } else { Ok(()) };
            }
            above = self.block(self.number(above, "a parent of the running stack")?).parent;
        }
        ensure!(false, number, "was continued through a stack that is not its ancestor");
        Ok(())
    }

    /// A search must not end nearer than the stack remembers.
    fn found_again(&self, number: usize) -> Result {
        let stack = self.block(number);
        let mut inner = stack;
        while !ptr::eq(inner, stack.through) {
            let parent = self.block(self.number(inner.parent, "a parent of the running stack")?);
            let passes = !has_clause(parent, stack.sought);
            ensure!(passes, number, "caches a search that now ends nearer");
            inner = parent;
        }
        Ok(())
    }

    fn suspended_chains(&mut self) -> Result {
        for number in 1..self.lives.len() {
            let stack = self.block(number);
            let is_in_use = stack.purpose != Purpose::Free && self.lives[number].is_none();
            if is_in_use && !ptr::eq(stack.innermost, stack) {
                self.suspended_chain(number)?;
            }
        }
        Ok(())
    }

    /// Follows the parents of the innermost of several suspended stacks.
    fn suspended_chain(&mut self, outermost: usize) -> Result {
        let stack = self.block(outermost);
        let (life, inside) = match stack.is_spent() {
            true => (Life::Spent, Life::Lost),
            false => (suspended(stack), Life::Inside),
        };
        self.is(outermost, life)?;
        self.ends_well(outermost)?;
        ensure!(
            stack.is_grouped != 0,
            outermost,
            "is not alone, but its block does not record that"
        );
        let mut inner = stack.innermost.cast_const();
        while !ptr::eq(inner, stack) {
            let number = self.number(inner, "a parent in a suspended group")?;
            self.is(number, inside)?;
            let block = self.block(number);
            ensure!(block.purpose != Purpose::Free, number, "is free, but suspended in a group");
            ensure!(!is_base(block), number, "is a base in the middle of a chain");
            let is_same = life == Life::Spent || block.is_parked() == stack.is_parked();
            ensure!(is_same, number, "and its group are not both parked");
            self.alone(number)?;
            inner = block.parent;
        }
        Ok(())
    }

    /// Checks the parent of the outermost stack of a chain.
    fn ends_well(&self, number: usize) -> Result {
        let stack = self.block(number);
        if is_base(stack) && !stack.is_spent() {
            let ends = ptr::eq(stack.parent, self.store.running.no_parent());
            ensure!(ends, number, "is a base, and suspended with a parent");
        }
        if stack.purpose.has_identity() {
            ensure!(stack.parent.is_null(), number, "is suspended, and has a parent");
        }
        ensure!(stack.extender.is_null(), number, "is suspended, and being extended");
        Ok(())
    }

    /// Only the outermost of several suspended stacks names another as innermost.
    fn alone(&self, number: usize) -> Result {
        let stack = self.block(number);
        ensure!(ptr::eq(stack.innermost, stack), number, "names another stack as its innermost");
        Ok(())
    }

    /// Stacks in use that are in no chain are suspended alone, or new, or lost.
    fn rest(&mut self) -> Result {
        for number in 1..self.lives.len() {
            if self.lives[number].is_some() {
                continue;
            }
            let stack = self.block(number);
            ensure!(stack.purpose != Purpose::Free, number, "is free, and in no list");
            ensure!(stack.purpose != Purpose::Root, number, "is a root of no activation");
            let is_lost = ptr::eq(stack.parent, self.store.running.no_parent());
            if stack.purpose.has_identity() && is_lost {
                self.is(number, Life::Lost)?;
                continue;
            }
            let is_new = !stack.is_parked() && self.is_new(stack);
            self.is(number, if is_new { Life::New } else { suspended(stack) })?;
            self.ends_well(number)?;
        }
        Ok(())
    }

    /// Whether the top of a stack that does not run is where stacks begin.
    fn is_new(&self, stack: &ControlBlock) -> bool {
        if !(stack.limit..stack.high).contains(&stack.sp) {
            return false;
        }
        // SAFETY: a stack that is not free has memory.
        let top = unsafe {
            let bound = self.store.bound(stack);
            *(bound.map_or(stack.sp, BoundValues::left_at) as *const *const c_void)
        };
        let context = self.store.context();
        top == context.start || top == context.ground
    }

    // ---- one record

    fn record(&self, number: usize) -> Result {
        let stack = self.block(number);
        let life = self.lives[number].expect("every stack is in a state by now");
        if life == Life::Vacant {
            return Ok(());
        }
        let reference = stack.reference;
        ensure!(block_number(reference) == number, number, "has the reference of another stack");
        ensure!(
            reference & (KIND_MASK | TAG_MASK) == TAG,
            number,
            "its stored reference has a kind"
        );
        if self.stacks().host_owned.contains(number) {
            let is_suspended = matches!(life, Life::New | Life::Suspended | Life::Parked);
            ensure!(is_suspended, number, "is {life:?}, and owned by the host");
        }
        if matches!(life, Life::Free | Life::Idle | Life::Spent | Life::Lost) {
            ensure!(stack.marks == 0, number, "is {life:?}, and has marks");
            ensure!(!stack.owns, number, "is {life:?}, and records that its frames own stacks");
            ensure!(stack.extender.is_null(), number, "is {life:?}, and being extended");
            let is_alone = ptr::eq(stack.innermost, stack) || life == Life::Spent;
            ensure!(is_alone, number, "is {life:?}, and not alone");
            return Ok(());
        }
        let expected = match stack.is_parked() {
            true => stack.sp == parked_sp(),
            false => (stack.limit..=stack.high).contains(&stack.sp),
        };
        ensure!(expected, number, "its stack pointer points outside of the stack");
        ensure!(stack.purpose != Purpose::Root || !stack.is_parked(), number, "is a parked root");
        self.grouped(number)?;
        self.bound(number, life)?;
        self.marks(number)?;
        self.frames(number)?;
        match life {
            // Where an exception has landed need not be after a call.
            Life::Running => Ok(()),
            _ => self.owned(number),
        }
    }

    /// The block of a stack must record whether its frames own first-class stacks.
    fn owned(&self, number: usize) -> Result {
        let stack = self.block(number);
        if !stack.owns {
            for frame in Frames::of_suspended(self.store, stack) {
                let owns = frame.owned(0).any(|word| self.stacks().valid(word).is_some());
                ensure!(!owns, number, "a frame owns a stack, but the block does not record that");
            }
        }
        Ok(())
    }

    /// Switching to a grouped stack is slower, so `is_grouped` must be true only for such.
    fn grouped(&self, number: usize) -> Result {
        let stack = self.block(number);
        let is_alone = ptr::eq(stack.innermost, stack) && stack.through.is_null();
        let asks = stack.is_parked() && stack.takes_calls_on_top();
        ensure!(
            !is_alone || (stack.is_grouped != 0) == asks,
            number,
            "has a wrong group or parking flag"
        );
        Ok(())
    }

    /// Bound values are parameters of a type, and belong to a stack that resumes by itself.
    fn bound(&self, number: usize, life: Life) -> Result {
        let stack = self.block(number);
        if !matches!(life, Life::New | Life::Suspended | Life::Inside | Life::Parked) {
            return Ok(());
        }
        // SAFETY: the stack does not run and has memory.
        let Some(bound) = (unsafe { self.store.bound(stack) }) else { return Ok(()) };
        // SAFETY: as above.
        let (left, depth) = unsafe { (SavedPosition::of(stack), SavedPosition::depth(stack)) };
        let fits = bound.left_at() < left.sp + depth;
        ensure!(fits, number, "more values are bound to it than fit into its memory");
        let is_aligned = bound.left_at().wrapping_sub(left.distance) % 16 == 8;
        ensure!(is_aligned, number, "its bound values are not aligned");
        let is_alone = ptr::eq(stack.innermost, stack);
        ensure!(is_alone, number, "has bound values, but is suspended in a group");
        // SAFETY: types live as long as the engine.
        let ty = self.store.options.types.get(unsafe { (*bound.ty()).id });
        let params = ty.ty().composite.as_func().map(|ty| ty.params().len());
        let expected = bound.count() + bound.rest();
        ensure!(
            params == Some(expected),
            number,
            "binds {expected} values of {params:?} parameters"
        );
        Ok(())
    }

    fn marks(&self, number: usize) -> Result {
        let stack = self.block(number);
        let marks = self.stacks().marks.all(number);
        let count = usize::from(stack.marks);
        ensure!(count <= marks.len(), number, "has {} of {count} marks", marks.len());
        for pair in marks[..count].windows(2) {
            ensure!(pair[0].depth <= pair[1].depth, number, "its marks are not in order");
            ensure!(
                pair[0].serial < pair[1].serial,
                number,
                "its marks belong to different lives of the stack"
            );
        }
        Ok(())
    }

    /// The links between frames lead outwards, and end.
    fn frames(&self, number: usize) -> Result {
        let stack = self.block(number);
        // SAFETY: the stack does not run.
        let (left, depth) = unsafe { (SavedPosition::of(stack), SavedPosition::depth(stack)) };
        let (mut fp, mut inside) = (left.fp, left.sp);
        while fp != 0 {
            let is_outside = fp >= inside && fp + 16 <= left.sp + depth && fp.is_multiple_of(8);
            ensure!(is_outside, number, "a frame pointer points outside of the stack");
            inside = fp + 16;
            // SAFETY: the address lies in the memory of the stack.
            fp = left.follow(unsafe { *(fp as *const usize) });
        }
        Ok(())
    }

    /// Every slot has one stack or none, and packed frames belong to parked stacks.
    fn memory(&self) -> Result {
        let (mut parked, mut bytes, mut with_slots) = (0, 0, 0);
        for number in 1..self.lives.len() {
            let stack = self.block(number);
            if stack.is_parked() {
                parked += 1;
                bytes += packed_size(stack);
            } else if stack.limit != 0 && stack.purpose != Purpose::Root {
                with_slots += 1;
                let is_known = self.stacks().is_listed_as_idle(number);
                ensure!(is_known, number, "has memory, but no scan finds it");
            }
        }
        let stacks = self.stacks();
        if (parked, bytes) != stacks.parked_and_packed_bytes() {
            return Err(format!(
                "{parked} stacks are parked in {bytes} bytes, but the counters differ"
            ));
        }
        let (all, count) = (with_slots + stacks.count_slots_without_stack(), stacks.count_slots());
        match all == count {
            true => Ok(()),
            false => Err(format!("{all} of {count} slots are accounted for")),
        }
    }
}

/// The state of the outermost of some suspended stacks.
fn suspended(stack: &ControlBlock) -> Life {
    if stack.is_parked() { Life::Parked } else { Life::Suspended }
}

fn has_clause(stack: &ControlBlock, word: u64) -> bool {
    // SAFETY: the clauses of a waiting stack are set. All are compared, to find errors of the hash.
    unsafe { clauses::all(stack.handlers) }.any(|found| found == word)
}

fn is_base(stack: &ControlBlock) -> bool {
    use Purpose::*;
    matches!(stack.purpose, Root | Bag | FirstClass)
}
