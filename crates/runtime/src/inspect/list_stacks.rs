//! Listing the stacks of a store.

use crate::report::backtrace::{Backtrace, Boundary, Frame};
use crate::report::stack_list::{StackInfo, StackList};
use crate::report::violation::Violation;
use crate::stack::{TopFrame, end_of_frames, packed_frames, packed_size};
use crate::store::Store;
use ropewalk_abi::code::index;
use ropewalk_abi::life::Life;
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{ControlBlock, FuncRef};
use std::ptr;

/// Why stacks cannot be listed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoList {
    #[error("there is no memory to list {0} stacks")]
    Memory(usize),
    /// Their records are inconsistent.
    #[error(transparent)]
    Violation(#[from] Violation),
}

/// The usual size of the names in an entry.
const NAMES: usize = 1 << 10;

/// How many stacks of each kind are listed when memory is short.
const FEW: usize = 16;

impl Store {
    /// Lists all stacks in use. Fails if there is no memory for the list, or if the records of the
    /// stacks are inconsistent, which is a bug in the engine.
    pub fn list_stacks(&self) -> anyhow::Result<StackList> {
        Ok(self.list_stacks_left(usize::MAX, None)?)
    }

    /// Lists up to `most` running and waiting stacks, and up to `most` others, after a failed call.
    /// Lists fewer if memory is short, and none if a builtin failed halfway.
    pub(crate) fn list_failed(&self, most: usize, fault: Option<&TopFrame>) -> Option<StackList> {
        match self.list_stacks_left(most, fault) {
            Err(NoList::Memory(_)) if most > FEW => self.list_stacks_left(FEW, fault).ok(),
            list => list.ok(),
        }
    }

    /// Lists up to `most` running and waiting stacks, and up to `most` others. The block of a stack
    /// that faulted does not say where it is; `fault` does.
    pub(crate) fn list_stacks_left(
        &self,
        most: usize,
        fault: Option<&TopFrame>,
    ) -> Result<StackList, NoList> {
        let (mut room, blocks) = (Vec::new(), self.count_blocks());
        room.try_reserve_exact(blocks).map_err(|_| NoList::Memory(blocks))?;
        let mut lives = self.lives(room)?;
        let omitted = self.leave_out(&mut lives, most);
        let listed = lives.iter().flatten().count();
        let mut stacks = Vec::new();
        // Names are allocated one by one, where a lack of memory cannot be handled.
        let names = Vec::<u8>::new().try_reserve_exact(listed.saturating_mul(NAMES));
        let room = names.and_then(|()| stacks.try_reserve_exact(listed));
        room.map_err(|_| NoList::Memory(listed))?;
        for (number, life) in lives.into_iter().enumerate() {
            let Some(life) = life else { continue };
            // SAFETY: blocks are always initialized, and unchanged while the store is borrowed.
            let stack = unsafe { &*self.stacks.block(number) };
            let is_newest = ptr::eq(stack, self.context().stack);
            stacks.push(self.stack_info(stack, number, life, fault.filter(|_| is_newest)));
        }
        Ok(StackList { stacks, omitted })
    }

    /// Removes the states of unused and of surplus stacks; returns how many are surplus. Of the
    /// running and waiting ones, the innermost and the outermost stay.
    fn leave_out(&self, lives: &mut [Option<Life>], most: usize) -> usize {
        let mut omitted = 0;
        let count = self.stacks_in_host_calls().count();
        let outermost = most / 2;
        let innermost = most - outermost;
        if count > most {
            for stack in self.stacks_in_host_calls().take(count - outermost).skip(innermost) {
                let number = self.stacks.number_of(stack);
                omitted += usize::from(number.is_some_and(|number| lives[number].take().is_some()));
            }
        }
        let mut left = most;
        for place in lives {
            match place {
                Some(Life::Free | Life::Vacant | Life::Idle | Life::Spent) => *place = None,
                None | Some(Life::Running | Life::Waiting) => {}
                Some(_) if left > 0 => left -= 1,
                Some(_) => {
                    *place = None;
                    omitted += 1;
                }
            }
        }
        omitted
    }

    fn stack_info(
        &self,
        stack: &ControlBlock,
        number: usize,
        life: Life,
        fault: Option<&TopFrame>,
    ) -> StackInfo {
        let left = match fault {
            Some(left) => Some(left.clone()),
            None => self.left_at(stack, life),
        };
        let backtrace = match &left {
            // SAFETY: the stack was left there.
            Some(left) => unsafe { Backtrace::of_stack(self, left) },
            None => Backtrace::default(),
        };
        let used_bytes = match (fault, life) {
            (_, Life::Lost) => 0,
            (Some(left), _) => end_of_frames(stack).saturating_sub(left.sp),
            (None, _) if stack.is_parked() => packed_frames(stack),
            (None, _) => end_of_frames(stack).saturating_sub(stack.sp),
        };
        let (events, events_omitted) = self.events_of(stack, life);
        StackInfo {
            number,
            life,
            kind: stack.purpose.kind(),
            parent: self.parent_of(stack, life),
            function: backtrace.outermost().or_else(|| self.first_function(stack, life)),
            events,
            events_omitted,
            backtrace,
            used_bytes,
            size_bytes: match stack.is_parked() {
                true => packed_size(stack),
                false => stack.high - stack.limit,
            },
        }
    }

    /// Where a stack was left, if it has begun and does not run generated code.
    fn left_at(&self, stack: &ControlBlock, life: Life) -> Option<TopFrame> {
        let is_suspended = matches!(life, Life::Suspended | Life::Inside | Life::Parked);
        match life {
            Life::New | Life::Lost => None,
            _ if is_suspended => {
                let left = TopFrame::suspended(stack)?;
                // SAFETY: the stack is suspended.
                let bound = unsafe { self.bound(stack) };
                // SAFETY: the return address lies above the bound values.
                let pc = bound.map(|bound| unsafe { *(bound.left_at() as *const usize) });
                Some(TopFrame { pc: pc.unwrap_or(left.pc), ..left })
            }
            _ => Some(TopFrame::in_host_call(stack)),
        }
    }

    /// The stack that waits for this one, and in what.
    fn parent_of(&self, stack: &ControlBlock, life: Life) -> Option<(usize, Boundary)> {
        let number = |parent: &ControlBlock| self.stacks.number_of(parent);
        match life {
            Life::Running | Life::Waiting | Life::Inside => {}
            _ => return None,
        }
        let has_parent =
            !stack.parent.is_null() && !ptr::eq(stack.parent, self.running.no_parent());
        let parent = if has_parent { stack.parent } else { stack.extender };
        // SAFETY: parents and extenders live as long as their children run or are suspended.
        if let Some(parent) = unsafe { parent.as_ref() } {
            return Some((number(parent)?, self.resume_boundary(stack, parent)));
        }
        // The root of an activation that a host function began.
        let depth =
            self.running.roots.in_use().iter().position(|root| ptr::eq(root.block, stack))?;
        let outside = self.running.depth().checked_sub(depth + 1)?;
        Some((number(self.running.outer_stacks().nth(outside)?)?, Boundary::Host))
    }

    /// The function of a stack without frames: a new one, or one just resumed for the first time.
    fn first_function(&self, stack: &ControlBlock, life: Life) -> Option<Frame> {
        let is_new = match life {
            Life::New | Life::Parked => stack.fp == 0,
            Life::Running => stack.fp == 0 && stack.purpose != Purpose::Root,
            _ => false,
        };
        // SAFETY: functions live as long as their store.
        let function = unsafe { stack.function.as_ref() }.filter(|_| is_new)?;
        self.frame_of_function(function)
    }

    /// A function as a frame without a place.
    pub(crate) fn frame_of_function(&self, function: &FuncRef) -> Option<Frame> {
        let (module, _, code) = self.objects.function_at(function.code as usize)?;
        Some(Frame::of_function(module, index(code.function)?))
    }

    /// The events that can resume a stack: the names of the first, and how many more.
    fn events_of(&self, stack: &ControlBlock, life: Life) -> (Vec<String>, usize) {
        let has_events = matches!(stack.purpose, Purpose::Fiber | Purpose::FirstClass);
        let is_suspended = matches!(life, Life::New | Life::Suspended | Life::Parked);
        // SAFETY: blocks of the table are always initialized.
        let innermost = unsafe { &*stack.innermost };
        if !has_events || !is_suspended || innermost.handlers.is_null() {
            return Default::default();
        }
        // SAFETY: the events of a suspended fiber or first-class stack are set.
        unsafe { self.tag_names(innermost.handlers) }
    }
}
