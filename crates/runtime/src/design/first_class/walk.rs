//! Walks through stacks, for `call_stack`.
//!
//! A walk begins at the newest mark of the running stack and goes outward through its marks, then
//! to the parent. A redirection leads to another stack. Another walk's mark leads to where that
//! walk has stopped, because code that runs for a walk is outside of the marks that it has passed.
//! An unfinished walk has a mark of its own on the stack where it began.

use crate::heap::Object;
use crate::stack::InjectedBug;
use crate::stack::walk_mark::{EnteredStack, Mark, MarkKind, Walk};
use crate::store::Store;
use ropewalk_abi::builtin::{WALK_ASKS, WALK_FLAGS, WALK_IS_DIRECT};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{ControlBlock, FuncRef, TagDef, TrapCode};
use std::collections::TryReserveError;
use std::ptr;

/// A position between two marks of a stack that is not running: the number of marks below it.
#[derive(Clone, Copy)]
struct WalkPosition {
    stack: *mut ControlBlock,
    below: usize,
}

/// How a mark concerns a walk.
enum MarkEffect {
    Answer(*const FuncRef, u64),
    Nothing,
    Redirect(u64),
    RedirectTo(*const FuncRef, u64),
    /// Another walk, which has stopped at the mark with this serial number.
    Walk(u64),
}

impl Store {
    pub(crate) fn add_mark(&mut self, kind: MarkKind) -> Result<usize, TrapCode> {
        let running = self.context().stack;
        // SAFETY: the running stack's block is in the table.
        unsafe { self.stacks.add_mark(running, kind) }
    }

    /// Removes the newest marks of the running function, until this many marks of its stack
    /// remain. Marks of other functions remain.
    pub(crate) fn leave_to(&mut self, level: usize) {
        let running = self.context().stack;
        // SAFETY: the running stack's block is in the table.
        let left = unsafe { self.stacks.marks_outside_of_frame(running) }.max(level);
        let left = left.try_into().unwrap_or(u16::MAX);
        // SAFETY: as above.
        let block = unsafe { &mut *running };
        block.marks = match self.options.stacks.injected.is(InjectedBug::MarksComeBack) {
            true => left,
            false => block.marks.min(left),
        };
    }

    /// Begins a walk. Returns the number of its mark on the running stack, and flags.
    pub(crate) fn walk_begin(&mut self, tag: *const TagDef) -> Result<u64, TrapCode> {
        let number = self.add_mark(MarkKind::Walk(Walk::default()))?;
        let asks = self.walk_on(tag, number)?;
        let flags = match asks {
            true => WALK_ASKS,
            false if self.walk(number)?.taken.is_empty() => WALK_IS_DIRECT,
            false => 0,
        };
        Ok((number as u64) << WALK_FLAGS | flags)
    }

    /// Walks until a mark answers the call tag, or a function must be asked where to continue.
    /// Leaves the function in the store. Returns whether it must be asked.
    pub(crate) fn walk_on(&mut self, tag: *const TagDef, number: usize) -> Result<bool, TrapCode> {
        let mut at = self.place_of_walk(number)?;
        loop {
            let Some(below) = at.below.checked_sub(1) else {
                at = self.outside_of(at.stack)?;
                continue;
            };
            at.below = below;
            let Some((effect, serial)) = self.effect_of_mark(at, tag) else { continue };
            match effect {
                MarkEffect::Nothing => {}
                MarkEffect::Walk(other) => at = self.place_of_mark(at.stack, other)?,
                MarkEffect::Redirect(boxed) => {
                    if let Some(next) = self.walk_through_box(number, boxed)? {
                        at = next;
                    }
                }
                MarkEffect::Answer(function, env) => {
                    self.stop_walk(number, serial, function, env)?;
                    return Ok(false);
                }
                MarkEffect::RedirectTo(function, env) => {
                    self.stop_walk(number, serial, function, env)?;
                    return Ok(true);
                }
            }
        }
    }

    /// Continues a walk in the stack that the function has returned, or after the mark if that is
    /// null.
    pub(crate) fn walk_target(&mut self, number: usize, stack: u64) -> Result<(), TrapCode> {
        let mark = self.walk(number)?.at.ok_or(TrapCode::NoAnswer)?;
        let at = self.place_of_walk(number)?;
        let MarkKind::RedirectTo { taker, env, .. } =
            self.mark_at(at).ok_or(TrapCode::NoAnswer)?.kind
        else {
            return Err(TrapCode::NoAnswer);
        };
        self.take(number, EnteredStack::FromFunction { taker, env, stack, mark })?;
        Ok(())
    }

    /// Returns the stack that was entered last to where it came from. Returns whether a function
    /// must be called for that. Without further stacks the walk ends.
    pub(crate) fn walk_back(&mut self, number: usize) -> Result<bool, TrapCode> {
        loop {
            match self.walk(number)?.taken.pop() {
                None => {
                    self.leave_to(number);
                    return Ok(false);
                }
                Some(EnteredStack::FromBox { boxed, stack }) => self.put_back(boxed, stack)?,
                Some(EnteredStack::FromFunction { taker, env, stack, mark }) => {
                    self.walk(number)?.at = Some(mark);
                    self.found(taker, env, stack);
                    return Ok(true);
                }
            }
        }
    }

    fn found(&mut self, function: *const FuncRef, env: u64, stack: u64) {
        let context = self.context_mut();
        context.walk_function = function;
        context.walk_env = env;
        context.walk_stack = stack;
    }

    fn stop_walk(
        &mut self,
        number: usize,
        serial: u64,
        function: *const FuncRef,
        env: u64,
    ) -> Result<(), TrapCode> {
        self.walk(number)?.at = Some(serial);
        self.found(function, env, 0);
        Ok(())
    }

    fn marks_of(&mut self, stack: *const ControlBlock) -> &mut [Mark] {
        // SAFETY: walks meet stacks that are alive.
        unsafe { self.stacks.marks_of(stack) }
    }

    fn walk(&mut self, number: usize) -> Result<&mut Walk, TrapCode> {
        let running = self.context().stack;
        match self.marks_of(running).get_mut(number).map(|mark| &mut mark.kind) {
            Some(MarkKind::Walk(walk)) => Ok(walk),
            // Wrong code can remove marks that are not its own.
            _ => Err(TrapCode::NoAnswer),
        }
    }

    /// The position where a walk continues: in the stack that it has entered last from the mark
    /// where it stopped, or after that mark. If it has not stopped yet, after its own mark.
    fn place_of_walk(&mut self, number: usize) -> Result<WalkPosition, TrapCode> {
        let running = self.context().stack;
        let walk = self.walk(number)?;
        let Some(at) = walk.at else { return Ok(WalkPosition { stack: running, below: number }) };
        let taken = match walk.taken.last() {
            Some(EnteredStack::FromFunction { mark, stack, .. }) if *mark == at => *stack,
            _ => 0,
        };
        match taken {
            0 => self.place_of_mark(running, at),
            stack => self.newest_mark_in(stack),
        }
    }

    /// The position after the mark with a serial number, on one of the stacks that a walk goes
    /// through. It fails if that stack has ended, or is not among them anymore.
    fn place_of_mark(
        &mut self,
        from: *mut ControlBlock,
        serial: u64,
    ) -> Result<WalkPosition, TrapCode> {
        let stacks = self.walked_through(from).map_err(|_| TrapCode::OutOfMemory)?;
        for stack in stacks {
            let marks = self.marks_of(stack);
            // Marks are sorted by serial number.
            if let Ok(below) = marks.binary_search_by_key(&serial, |mark| mark.serial) {
                return Ok(WalkPosition { stack, below });
            }
        }
        Err(TrapCode::NoAnswer)
    }

    /// The stacks that a walk from a stack goes through: its parents, and the chains of stacks that
    /// the walks on them have entered.
    fn walked_through(
        &mut self,
        from: *mut ControlBlock,
    ) -> Result<Vec<*mut ControlBlock>, TryReserveError> {
        let (mut stacks, mut taken, mut next) = (Vec::new(), Vec::new(), 0);
        self.add_chain(from, &mut stacks)?;
        while let Some(&stack) = stacks.get(next) {
            next += 1;
            let walks = self.marks_of(stack).iter().filter_map(|mark| match &mark.kind {
                MarkKind::Walk(walk) => Some(&walk.taken),
                _ => None,
            });
            taken.clear();
            for walk in walks {
                taken.try_reserve(walk.len())?;
                taken.extend(walk.iter().map(EnteredStack::stack));
            }
            for &reference in &taken {
                let Ok(innermost) = self.suspended(reference) else { continue };
                if !stacks.contains(&innermost) {
                    self.add_chain(innermost, &mut stacks)?;
                }
            }
        }
        Ok(stacks)
    }

    fn add_chain(
        &self,
        stack: *mut ControlBlock,
        list: &mut Vec<*mut ControlBlock>,
    ) -> Result<(), TryReserveError> {
        // SAFETY: walks only meet stacks that are alive.
        for stack in self.running.with_parents(unsafe { &*stack }) {
            list.try_reserve(1)?;
            list.push(ptr::from_ref(stack).cast_mut());
        }
        Ok(())
    }

    /// The innermost of the stacks that a reference names.
    fn suspended(&self, reference: u64) -> Result<*mut ControlBlock, TrapCode> {
        let kind = StackKind::FirstClass;
        let block = self.stacks.valid_of_kind(reference, kind)?;
        // SAFETY: the block of a valid reference is alive.
        Ok(unsafe { (*block).innermost })
    }

    /// The position outside of a stack: at the newest mark of its parent.
    fn outside_of(&mut self, stack: *mut ControlBlock) -> Result<WalkPosition, TrapCode> {
        // SAFETY: walks only meet stacks that are alive.
        let parent = unsafe { (*stack).parent };
        if parent == self.running.no_parent() {
            return Err(TrapCode::NoAnswer);
        }
        Ok(self.newest_mark(parent))
    }

    fn newest_mark(&mut self, stack: *mut ControlBlock) -> WalkPosition {
        WalkPosition { stack, below: self.marks_of(stack).len() }
    }

    fn newest_mark_in(&mut self, reference: u64) -> Result<WalkPosition, TrapCode> {
        let innermost = self.suspended(reference)?;
        Ok(self.newest_mark(innermost))
    }

    /// The mark right above a position.
    fn mark_at(&mut self, at: WalkPosition) -> Option<&Mark> {
        self.marks_of(at.stack).get(at.below)
    }

    /// The serial number of the mark above a position, and how it concerns a walk for a call tag.
    fn effect_of_mark(
        &mut self,
        at: WalkPosition,
        wanted: *const TagDef,
    ) -> Option<(MarkEffect, u64)> {
        let mark = self.mark_at(at)?;
        let effect = match &mark.kind {
            MarkKind::Answer { tag, function, env } if *tag == wanted => {
                MarkEffect::Answer(*function, *env)
            }
            MarkKind::Redirect { boxed } => MarkEffect::Redirect(*boxed),
            MarkKind::RedirectTo { function, env, .. } => MarkEffect::RedirectTo(*function, *env),
            MarkKind::Walk(Walk { at: Some(serial), .. }) => MarkEffect::Walk(*serial),
            _ => MarkEffect::Nothing,
        };
        Some((effect, mark.serial))
    }

    /// Takes the stack out of a box. Returns where the walk continues in it, or `None` if the box
    /// is empty.
    fn walk_through_box(
        &mut self,
        number: usize,
        boxed: u64,
    ) -> Result<Option<WalkPosition>, TrapCode> {
        self.make_room_to_take(number)?;
        let slot = self.slot_of(boxed);
        // SAFETY: the first field of a box is a stack.
        let stack = unsafe { slot.replace(0) };
        if stack == 0 {
            return Ok(None);
        }
        self.take(number, EnteredStack::FromBox { boxed, stack })?;
        self.newest_mark_in(stack).map(Some)
    }

    fn make_room_to_take(&mut self, number: usize) -> Result<(), TrapCode> {
        self.walk(number)?.taken.try_reserve(1).map_err(|_| TrapCode::OutOfMemory)
    }

    /// Records a stack that the walk enters. Fails if it has already entered it.
    fn take(&mut self, number: usize, taken: EnteredStack) -> Result<(), TrapCode> {
        self.make_room_to_take(number)?;
        let stack = taken.stack();
        let walk = self.walk(number)?;
        let is_known = stack != 0 && walk.taken.iter().any(|known| known.stack() == stack);
        walk.taken.push(taken);
        match is_known {
            true => Err(TrapCode::StackUsed),
            false => Ok(()),
        }
    }

    fn put_back(&mut self, boxed: u64, stack: u64) -> Result<(), TrapCode> {
        let slot = self.slot_of(boxed);
        // SAFETY: the first field of a box is a stack.
        unsafe {
            if *slot != 0 {
                return Err(TrapCode::SlotNotEmpty);
            }
            slot.write(stack);
        }
        Ok(())
    }

    /// The first field of a box.
    fn slot_of(&self, boxed: u64) -> *mut u64 {
        // SAFETY: marks hold references of the store, and boxes are not null.
        let object = unsafe { Object::from_reference(boxed) }.expect("boxes are not null");
        let ty = self.options.types.get(object.ty().id);
        let offset = *ty.layout().offsets.first().expect("boxes have a field");
        object.at(offset)
    }
}
