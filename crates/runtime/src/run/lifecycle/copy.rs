//! Copies suspended stacks.
//!
//! ```text
//!   reference --> A              copy --> A'      records, frames and bound values are copied,
//!                 ^                       ^       and so are marks and the structures with the
//!                 | parent                | parent  locals that a function shares with other code
//!                 B                       B'
//!                 |                       |
//!                 +--> object <-----------+       all other objects are shared
//! ```
//!
//! The first-class stacks that a copied stack owns are copied too, each with everything that was
//! suspended with it, and with what it owns. Everything that can fail comes first. Then nothing collects anymore, and the stacks are copied
//! one after another.

use super::owned::is_first_class;
use crate::arch::stubs;
use crate::heap::{Object, Root};
use crate::inspect::frames::Frames;
use crate::stack::growth::NoRoom;
use crate::stack::{BoundValues, CopyRefusal, SavedPosition, Stacks, members};
use crate::store::Store;
use ropewalk_abi::stack::{StackKind, is_stack, kind_bits};
use ropewalk_abi::{ControlBlock, TrapCode};
use std::collections::{HashSet, TryReserveError};

/// A stack and its copy.
type Pair = (*mut ControlBlock, *mut ControlBlock);

/// References to structures with locals and to owned stacks, and those to their copies, sorted.
type Replacements = Vec<(u64, u64)>;

/// The outermost stacks of everything that is copied together, the operand first.
type Groups = [*mut ControlBlock];

impl Stacks {
    /// Records why stacks cannot be copied.
    fn refuse_copy(&mut self, reason: CopyRefusal) -> TrapCode {
        self.copy_refusal = Some(reason);
        TrapCode::NotCopied
    }
}

impl Store {
    /// Copies the stacks that a reference names. Returns the reference to the copy.
    pub(crate) fn copy_suspended(
        &mut self,
        reference: u64,
        kind: StackKind,
    ) -> Result<u64, TrapCode> {
        let outermost = self.stacks.valid_of_kind(reference, kind)?;
        // SAFETY: a valid reference names the outermost of suspended stacks, or a new one.
        let copy = unsafe {
            match self.copy_alone(outermost) {
                Some(copy) => copy,
                None => self.copy_any(outermost, reference)?,
            }
        };
        // SAFETY: the block of a copy is alive.
        Ok(unsafe { (*copy).reference } | kind_bits(kind))
    }

    /// Copies a stack in the common case: it is alone, has only frames, and the first free stack
    /// has room for them.
    ///
    /// # Safety
    ///
    /// It must be suspended or new.
    #[inline]
    unsafe fn copy_alone(&mut self, stack: *mut ControlBlock) -> Option<*mut ControlBlock> {
        let free = self.context().free_stacks;
        // SAFETY: the caller's promise. Free stacks are alive.
        unsafe {
            let block = &*stack;
            let is_plain = block.is_grouped == 0 && !block.owns && block.marks == 0;
            if free.is_null() || !is_plain || CopyRefusal::of(block.purpose).is_some() {
                return None;
            }
            let top = *(SavedPosition::of(block).sp as *const usize);
            let continues = top != self.context().deliver.addr() && !is_left_call(top);
            if !continues || !self.stacks.fits(block, &*free) {
                return None;
            }
            self.context_mut().free_stacks = (*free).next_free;
            self.stacks.copy_contents(block, &mut *free);
            (*free).become_copy(block, block.parent);
            self.trace_clone(&[(stack, free)]);
            Some(free)
        }
    }

    /// Copies the stacks that are suspended up to one, in the general case.
    ///
    /// # Safety
    ///
    /// It must be the outermost of suspended stacks, or new, and the reference name it.
    #[cold]
    unsafe fn copy_any(
        &mut self,
        outermost: *mut ControlBlock,
        reference: u64,
    ) -> Result<*mut ControlBlock, TrapCode> {
        // SAFETY: the caller's promise.
        let groups = &unsafe { self.find_copied(outermost) }?;
        self.heap.roots.make_room(1)?;
        let scope = self.open_scope();
        self.root(reference);
        // SAFETY: the caller's promise. What a reachable stack owns is reachable.
        let ready = unsafe { self.make_room_for_copy(groups) };
        self.close_scope(scope);
        let mut replacements = ready?;
        let mut pairs: Vec<Pair> = Vec::new();
        // SAFETY: the caller's promise. There is room for everything.
        unsafe {
            let room = pairs.try_reserve_exact(all_members(groups).count());
            room.map_err(|_| TrapCode::OutOfMemory)?;
            for group in groups {
                let copy = self.copy_stacks(*group, &mut pairs);
                replacements.push((owned_reference(*group), owned_reference(copy)));
            }
            replacements.sort_unstable();
            self.copy_marks(&pairs, &replacements)?;
            self.replace_belongings(&pairs, &replacements);
        }
        let is_first = |(stack, _): &&Pair| *stack == outermost;
        Ok(pairs.iter().find(is_first).expect("it was copied").1)
    }

    // ---- checks

    /// The outermost stacks of what is copied with some suspended stacks: those themselves, and the
    /// first-class stacks that they own. Fails if one of them cannot be copied.
    ///
    /// # Safety
    ///
    /// The stack must be the outermost of suspended stacks, or new.
    unsafe fn find_copied(
        &mut self,
        outermost: *mut ControlBlock,
    ) -> Result<Vec<*mut ControlBlock>, TrapCode> {
        let no_memory = |_| TrapCode::OutOfMemory;
        let (mut groups, mut known, mut words) = (Vec::new(), HashSet::new(), Vec::new());
        words.try_reserve(1).map_err(no_memory)?;
        // SAFETY: the caller's promise.
        words.push(unsafe { owned_reference(outermost) });
        while let Some(word) = words.pop() {
            // Of several copies of a reference that a module has made, one works.
            let Ok(group) = self.stacks.valid_of_kind(word, StackKind::FirstClass) else {
                continue;
            };
            known.try_reserve(1).map_err(no_memory)?;
            if !known.insert(group) {
                continue;
            }
            groups.try_reserve(1).map_err(no_memory)?;
            groups.push(group);
            // SAFETY: a valid reference names the outermost of suspended stacks, or a new one.
            unsafe {
                self.check_copied(group)?;
                for stack in members(group) {
                    self.add_belongings(&*stack, &mut words).map_err(no_memory)?;
                }
            }
            add_stacks_in_structures(&mut words).map_err(no_memory)?;
        }
        Ok(groups)
    }

    /// Fails if the stacks that are suspended up to one cannot be copied.
    ///
    /// # Safety
    ///
    /// It must be the outermost of suspended stacks, or new.
    unsafe fn check_copied(&mut self, outermost: *mut ControlBlock) -> Result<(), TrapCode> {
        // SAFETY: the caller's promise.
        unsafe {
            if self.was_left_in_call(&*(*outermost).innermost) {
                return Err(self.stacks.refuse_copy(CopyRefusal::InHostCall));
            }
            for stack in members(outermost) {
                if let Some(reason) = CopyRefusal::of((*stack).purpose) {
                    return Err(self.stacks.refuse_copy(reason));
                }
                if (*stack).marks > 0 {
                    self.stacks.settle_marks(stack);
                }
            }
        }
        Ok(())
    }

    /// Whether a suspended or new stack was left in a host call.
    ///
    /// # Safety
    ///
    /// The stack must be in that state.
    unsafe fn was_left_in_call(&self, stack: &ControlBlock) -> bool {
        // SAFETY: the address to continue at is on top, above the bound values.
        unsafe {
            let sp = self.bound(stack).map_or(SavedPosition::of(stack).sp, BoundValues::left_at);
            is_left_call(*(sp as *const usize))
        }
    }

    /// Appends the objects and stacks that belong to a stack: the first-class stacks that it owns,
    /// and the structures with locals.
    ///
    /// # Safety
    ///
    /// It must be suspended or new.
    unsafe fn add_belongings(
        &mut self,
        stack: &ControlBlock,
        words: &mut Vec<u64>,
    ) -> Result<(), TryReserveError> {
        let mut room = Ok(());
        let mut add = |word| {
            if word != 0 && room.is_ok() {
                room = words.try_reserve(1).map(|()| words.push(word));
            }
        };
        if stack.owns {
            let frames = Frames::of_suspended(self, stack);
            frames.for_each(|frame| frame.owned(0).for_each(&mut add));
        }
        self.visit_bound(stack, |bound| {
            Some(*bound).filter(|word| is_first_class(*word)).into_iter().for_each(&mut add);
        });
        if stack.marks > 0 {
            let number = self.stacks.number(stack);
            let marks = self.stacks.marks.counted(number, stack.marks.into());
            marks.iter().flat_map(|mark| mark.taken().chain(mark.locals())).for_each(&mut add);
        }
        room
    }

    // ---- steps that can fail

    /// Makes free stacks for the copies, and copies structures with locals. There is room for the
    /// replacements of stacks.
    ///
    /// # Safety
    ///
    /// Each stack must be the outermost of suspended ones, or new, and be reachable.
    unsafe fn make_room_for_copy(&mut self, groups: &Groups) -> Result<Replacements, TrapCode> {
        // SAFETY: the caller's promise.
        let roots = unsafe {
            let roots = self.copy_locals(groups)?;
            self.make_stacks_for(groups)?;
            roots
        };
        let word = |root| self.rooted(root).expect("its scope has not ended");
        let mut locals = Replacements::new();
        let room = locals.try_reserve_exact(roots.len() + groups.len());
        room.map_err(|_| TrapCode::OutOfMemory)?;
        locals.extend(roots.into_iter().map(|(local, copy)| (word(local), word(copy))));
        Ok(locals)
    }

    /// Copies the structures with the locals of functions on suspended stacks.
    ///
    /// # Safety
    ///
    /// Each stack must be the outermost of suspended ones, or new, and be reachable.
    unsafe fn copy_locals(&mut self, groups: &Groups) -> Result<Vec<(Root, Root)>, TrapCode> {
        let no_memory = |_| TrapCode::OutOfMemory;
        let mut all = Vec::new();
        // SAFETY: the caller's promise.
        unsafe {
            for stack in all_members(groups) {
                self.add_belongings(&*stack, &mut all).map_err(no_memory)?;
            }
        }
        all.retain(|word| !is_stack(*word));
        all.sort_unstable();
        all.dedup();
        self.heap.roots.make_room(2 * all.len())?;
        let (mut roots, mut copies): (Vec<Root>, Vec<(Root, Root)>) = Default::default();
        roots.try_reserve_exact(all.len()).map_err(no_memory)?;
        copies.try_reserve_exact(all.len()).map_err(no_memory)?;
        roots.extend(all.into_iter().map(|local| self.root(local)));
        for root in roots {
            let object = |store: &Store| {
                let word = store.rooted(root).expect("its scope has not ended");
                // SAFETY: apart from first-class stacks, only structures belong to a stack.
                unsafe { Object::from_reference(word) }.expect("a structure")
            };
            let (ty, size) = (object(self).ty(), object(self).size());
            let copy = self.allocate(ty, size as u64)?;
            // SAFETY: both have the same type, and nothing else accesses them now.
            unsafe { copy.copy_fields(object(self)) };
            copies.push((root, self.root(copy.reference())));
        }
        Ok(copies)
    }

    /// Makes free stacks with room for the frames of suspended ones.
    ///
    /// # Safety
    ///
    /// Each stack must be the outermost of suspended ones, or new, and be reachable.
    unsafe fn make_stacks_for(&mut self, groups: &Groups) -> Result<(), TrapCode> {
        // SAFETY: the caller's promise.
        unsafe {
            let count = all_members(groups).count();
            self.make_free(count)?;
            if self.fit_copies(groups).is_ok() {
                return Ok(());
            }
            self.collect_garbage(0)?;
            self.make_free(count)?;
            self.fit_copies(groups).map_err(|reason| self.stacks.refuse(reason))
        }
    }

    /// Grows the first free stacks as far as they have no room for the frames of suspended ones.
    ///
    /// # Safety
    ///
    /// Each stack must be the outermost of suspended ones, or new, and there be enough free stacks.
    unsafe fn fit_copies(&mut self, groups: &Groups) -> Result<(), NoRoom> {
        let mut free = self.context().free_stacks;
        // SAFETY: the caller's promise. A free stack has no frames.
        unsafe {
            for stack in all_members(groups) {
                if !self.stacks.fits(&*stack, &*free) {
                    let needed = self.stacks.begin_alike(&*stack, &mut *free);
                    self.stacks.grow(&mut *free, needed, &mut self.embedder)?;
                }
                free = (*free).next_free;
            }
        }
        Ok(())
    }

    // ---- steps that cannot fail

    /// Copies suspended stacks, the innermost first, without marks. Returns the copy of the
    /// outermost.
    ///
    /// # Safety
    ///
    /// The stack must be the outermost of suspended ones, or new. There must be enough free stacks,
    /// with room.
    unsafe fn copy_stacks(
        &mut self,
        outermost: *mut ControlBlock,
        pairs: &mut Vec<Pair>,
    ) -> *mut ControlBlock {
        let first = pairs.len();
        // SAFETY: the caller's promise.
        unsafe {
            for stack in members(outermost) {
                let copy = self.context().free_stacks;
                self.context_mut().free_stacks = (*copy).next_free;
                self.stacks.copy_contents(&*stack, &mut *copy);
                (*copy).become_copy(&*stack, (*stack).parent);
                if let Some((_, inner)) = pairs[first..].last() {
                    (**inner).parent = copy;
                }
                pairs.push((stack, copy));
            }
            let innermost = pairs[first].1;
            let outermost = pairs[pairs.len() - 1].1;
            (*outermost).group(innermost);
            self.trace_clone(&pairs[first..]);
            outermost
        }
    }

    /// Copies marks. The copies get serial numbers of their own, in the same order. Walks among
    /// them continue on the copied stacks.
    ///
    /// # Safety
    ///
    /// Each second stack must be the copy of the first.
    unsafe fn copy_marks(
        &mut self,
        pairs: &[Pair],
        replacements: &Replacements,
    ) -> Result<(), TrapCode> {
        let mut serials: Vec<u64> = Vec::new();
        for &(stack, copy) in pairs {
            // SAFETY: the caller's promise.
            unsafe {
                if (*stack).marks == 0 {
                    continue;
                }
                let marks = self.stacks.copy_marks(&*stack, &*copy);
                let marks = marks.map_err(|_| TrapCode::OutOfMemory)?;
                serials.try_reserve(marks.len()).map_err(|_| TrapCode::OutOfMemory)?;
                serials.extend(marks.iter().map(|mark| mark.serial));
                (*copy).marks = (*stack).marks;
            }
        }
        serials.sort_unstable();
        let first = self.stacks.take_serials(serials.len());
        let serial_of = |before: u64| match serials.binary_search(&before) {
            Ok(number) => first + number as u64,
            // This mark is outside of the copied stacks.
            Err(_) => before,
        };
        for &(_, copy) in pairs {
            // SAFETY: the caller's promise.
            let count = usize::from(unsafe { (*copy).marks });
            let number = self.stacks.number(copy);
            for mark in self.stacks.marks.counted(number, count) {
                mark.renumber(serial_of);
                mark.visit(|word| replace(word, replacements));
            }
        }
        Ok(())
    }

    /// Makes the frames and bound arguments of copies refer to the copies of structures with locals
    /// and of owned stacks, and these structures to each other.
    ///
    /// # Safety
    ///
    /// Each second stack must be a copy.
    unsafe fn replace_belongings(&mut self, pairs: &[Pair], replacements: &Replacements) {
        // The first group is the operand itself.
        if replacements.len() == 1 {
            return;
        }
        for (_, copy) in replacements.iter().filter(|(_, copy)| !is_stack(*copy)) {
            // SAFETY: these are references of the store.
            let object = unsafe { Object::from_reference(*copy) }.expect("a structure");
            object.visit_references(|word| replace(word, replacements));
        }
        for &(_, copy) in pairs {
            // SAFETY: the caller's promise.
            let copy = unsafe { &*copy };
            self.visit_bound(copy, |word| replace(word, replacements));
            for frame in Frames::of_suspended(self, copy) {
                let Some((image, site, sp)) = frame.site() else { continue };
                for offset in image.references_of(site) {
                    // SAFETY: the stack map lists a reference there, and the frame is suspended.
                    let word = unsafe { &mut *((sp + *offset as usize) as *mut u64) };
                    replace(word, replacements);
                }
            }
        }
    }
}

/// The stacks of all groups, of each the innermost first.
///
/// # Safety
///
/// Each must be the outermost of suspended stacks, or new.
unsafe fn all_members(groups: &Groups) -> impl Iterator<Item = *mut ControlBlock> {
    // SAFETY: the caller's promise.
    groups.iter().flat_map(|group| unsafe { members(*group) })
}

/// The reference by which another stack owns a suspended one.
///
/// # Safety
///
/// The stack must be alive.
unsafe fn owned_reference(stack: *const ControlBlock) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { (*stack).reference | kind_bits(StackKind::FirstClass) }
}

/// Whether a stack that continues at an address was left in a host call.
fn is_left_call(address: usize) -> bool {
    address == stubs::continue_call as *const () as usize
}

/// Appends the first-class stacks in the fields of structures. Removes the structures.
fn add_stacks_in_structures(words: &mut Vec<u64>) -> Result<(), TryReserveError> {
    let mut fields = Vec::new();
    let mut room = Ok(());
    for word in words.iter().copied().filter(|word| !is_stack(*word)) {
        // SAFETY: the word is a reference of the store.
        let Some(object) = (unsafe { Object::from_reference(word) }) else { continue };
        object.visit_references(|field| {
            if is_first_class(*field) && room.is_ok() {
                room = fields.try_reserve(1).map(|()| fields.push(*field));
            }
        });
    }
    room?;
    words.retain(|word| is_stack(*word));
    words.try_reserve(fields.len())?;
    words.extend(fields);
    Ok(())
}

/// Replaces a reference by one to the copy, if what it refers to was copied.
fn replace(word: &mut u64, replacements: &Replacements) {
    if let Ok(number) = replacements.binary_search_by_key(word, |(before, _)| *before) {
        *word = replacements[number].1;
    }
}
