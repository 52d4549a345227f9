//! Walks through stacks, for `call_stack`.
//!
//! A walk begins at the newest mark of the running stack and goes outwards:
//! through the marks, then to the parent; at a redirection, to the stack that
//! it names; at another walk, to where that one has come, since code that runs
//! for a walk is outside of what the walk has passed. While it lasts, a mark of
//! its own lies on the stack where it began.

use crate::heap::Object;
use crate::marks::{MarkKind, Place, Taken, Walk};
use crate::store::Store;
use ropewalk_abi::builtin::{WALK_ASKS, WALK_FLAGS, WALK_IS_DIRECT};
use ropewalk_abi::stack::{StackKind, StackState};
use ropewalk_abi::{ControlBlock, FuncRef, TagDef, TrapCode};

/// What a walk meets.
enum Met {
    Answer(*const FuncRef, u64),
    Nothing,
    Redirect(u64),
    RedirectTo(*const FuncRef, u64),
    Walk(Place),
}

impl Store {
    /// Begins a walk, and walks on; answers its number among the marks of the
    /// running stack, and flags.
    pub(crate) fn walk_begin(&mut self, tag: *const TagDef) -> Result<u64, TrapCode> {
        let number = self.add_walk()?;
        let asks = self.walk_on(tag, number)?;
        let flags = match asks {
            true => WALK_ASKS,
            false if self.walk(number)?.taken.is_empty() => WALK_IS_DIRECT,
            false => 0,
        };
        Ok((number as u64) << WALK_FLAGS | flags)
    }

    /// Leaves the mark of a walk; answers its number.
    fn add_walk(&mut self) -> Result<usize, TrapCode> {
        let running = self.context().stack;
        let block = self.stacks.number_of(running).expect("blocks lie in the table");
        let below = self.marks_of(running).len();
        let at = Place { block, below };
        self.add_mark(MarkKind::Walk(Walk { at, taken: Vec::new() }))?;
        Ok(below)
    }

    /// Walks until the answer to a call tag is found, or a function must be
    /// asked where to go on. Either function is left in the store; answers
    /// whether it must be asked.
    pub(crate) fn walk_on(&mut self, tag: *const TagDef, number: usize) -> Result<bool, TrapCode> {
        loop {
            let at = self.walk(number)?.at;
            let Some(below) = at.below.checked_sub(1) else {
                let next = self.parent_of(at.block)?;
                self.walk(number)?.at = next;
                continue;
            };
            let outside = Place { below, ..at };
            self.walk(number)?.at = outside;
            match self.met(outside, tag) {
                Met::Nothing => {}
                Met::Walk(place) => self.walk(number)?.at = place,
                Met::Redirect(boxed) => self.walk_through_box(number, boxed)?,
                Met::Answer(function, env) => {
                    self.found(function, env, 0);
                    return Ok(false);
                }
                Met::RedirectTo(function, env) => {
                    self.found(function, env, 0);
                    return Ok(true);
                }
            }
        }
    }

    /// Goes on in the stack that the function has told, or behind it if that is
    /// null.
    pub(crate) fn walk_target(&mut self, number: usize, stack: u64) -> Result<(), TrapCode> {
        let at = self.walk(number)?.at;
        let marks = self.marks_at(at.block);
        let Some(MarkKind::RedirectTo { taker, env, .. }) =
            marks.get(at.below).map(|mark| &mark.kind)
        else {
            return Err(TrapCode::Unreachable);
        };
        let taken = Taken::FromFunction { taker: *taker, env: *env, stack, at };
        self.walk(number)?.taken.push(taken);
        self.walk_into(number, stack)
    }

    /// Gives back the stack that was taken last; answers whether a function
    /// must be called for it. After all, the walk is over.
    pub(crate) fn walk_back(&mut self, number: usize) -> Result<bool, TrapCode> {
        loop {
            match self.walk(number)?.taken.pop() {
                None => {
                    self.leave_to(number);
                    return Ok(false);
                }
                Some(Taken::FromBox { boxed, stack }) => self.put_back(boxed, stack)?,
                Some(Taken::FromFunction { taker, env, stack, at }) => {
                    self.walk(number)?.at = at;
                    self.found(taker, env, stack);
                    return Ok(true);
                }
            }
        }
    }

    // ---- the parts

    fn found(&mut self, function: *const FuncRef, env: u64, stack: u64) {
        let context = self.context_mut();
        context.walk_function = function;
        context.walk_env = env;
        context.walk_stack = stack;
    }

    /// The walk with a number on the running stack.
    fn walk(&mut self, number: usize) -> Result<&mut Walk, TrapCode> {
        let running = self.context().stack;
        match self.marks_of(running).get_mut(number).map(|mark| &mut mark.kind) {
            Some(MarkKind::Walk(walk)) => Ok(walk),
            // Code that removes marks which are not its own.
            _ => Err(TrapCode::Unreachable),
        }
    }

    fn marks_at(&mut self, block: usize) -> &mut Vec<crate::marks::Mark> {
        let block = self.stacks.block(block);
        self.marks_of(block)
    }

    /// The outside of the stack that a walk is on.
    fn parent_of(&mut self, block: usize) -> Result<Place, TrapCode> {
        let block = self.stacks.block(block);
        // SAFETY: blocks of the table are always initialised; those of stacks in
        // use have parents that are in use, or none.
        let (state, parent) = unsafe { ((*block).state, (*block).parent) };
        if state == StackState::Free || parent.is_null() || parent == self.no_parent() {
            return Err(TrapCode::NoAnswer);
        }
        Ok(self.newest_mark(parent))
    }

    fn newest_mark(&mut self, block: *const ControlBlock) -> Place {
        let number = self.stacks.number_of(block).expect("blocks lie in the table");
        Place { block: number, below: self.marks_of(block).len() }
    }

    /// What the mark right above a place is to a walk for a call tag.
    fn met(&mut self, at: Place, wanted: *const TagDef) -> Met {
        match self.marks_at(at.block).get(at.below).map(|mark| &mark.kind) {
            Some(MarkKind::Answer { tag, function, env }) if *tag == wanted => {
                Met::Answer(*function, *env)
            }
            Some(MarkKind::Redirect { boxed }) => Met::Redirect(*boxed),
            Some(MarkKind::RedirectTo { function, env, .. }) => Met::RedirectTo(*function, *env),
            // The walk itself is at its own place.
            Some(MarkKind::Walk(walk)) if walk.at != at => Met::Walk(walk.at),
            _ => Met::Nothing,
        }
    }

    fn walk_through_box(&mut self, number: usize, boxed: u64) -> Result<(), TrapCode> {
        let slot = self.slot_of(boxed);
        // SAFETY: the first field of a box is a stack.
        let stack = unsafe { slot.replace(0) };
        if stack == 0 {
            return Ok(());
        }
        self.walk(number)?.taken.push(Taken::FromBox { boxed, stack });
        self.walk_into(number, stack)
    }

    /// Goes on in a suspended stack, unless it is null.
    fn walk_into(&mut self, number: usize, stack: u64) -> Result<(), TrapCode> {
        if stack == 0 {
            return Ok(());
        }
        let kind = StackKind::FirstClass;
        let valid = self.stacks.valid(stack).filter(|_| StackKind::of(stack) == Some(kind));
        let block = valid.ok_or_else(|| crate::continuation::invalid_stack(stack, kind))?;
        // SAFETY: the block of a valid reference is alive.
        let next = self.newest_mark(unsafe { (*block).innermost });
        self.walk(number)?.at = next;
        Ok(())
    }

    fn put_back(&mut self, boxed: u64, stack: u64) -> Result<(), TrapCode> {
        let slot = self.slot_of(boxed);
        // SAFETY: as in `walk_through_box`.
        unsafe {
            if *slot != 0 {
                return Err(TrapCode::SlotNotEmpty);
            }
            slot.write(stack);
        }
        Ok(())
    }

    /// The first field of a structure.
    fn slot_of(&self, boxed: u64) -> *mut u64 {
        // SAFETY: marks hold references of the store, and boxes are not null.
        let object = unsafe { Object::from_reference(boxed) }.expect("boxes are not null");
        let ty = self.options.types.get(object.ty().id);
        let offset = *ty.layout().offsets.first().expect("boxes have a field");
        object.at(offset)
    }
}
