//! Backtraces: of the running activations, and of suspended stacks.

use super::walk::{RawBoundary, Walker};
use crate::report::backtrace::{Backtrace, Boundary, Frame};
use crate::report::names::shortened;
use crate::stack::TopFrame;
use crate::store::Store;
use ropewalk_abi::stack::{EVERY_TAG, Purpose, tag_of_handler};
use ropewalk_abi::{ControlBlock, clauses};

/// How many tags of one instruction are named; it may handle thousands.
const MOST_TAGS: usize = 32;

impl Backtrace {
    /// The frames of all activations, after the newest one was left.
    ///
    /// # Safety
    ///
    /// The newest activation must have been left at `left`, and its stacks not be used since.
    pub(crate) unsafe fn capture(store: &Store, left: &TopFrame) -> Backtrace {
        // SAFETY: the caller's promise.
        unsafe { Backtrace::capture_with(Walker::new(store), store, left) }
    }

    /// The frame of a function that has just returned, and then the frames of all activations.
    ///
    /// # Safety
    ///
    /// The newest activation must have been left in a builtin, and its stacks not be used since.
    pub(crate) unsafe fn capture_returned(store: &Store, function: usize) -> Backtrace {
        let mut walker = Walker::new(store);
        walker.push(function, false);
        // SAFETY: the stub that called the builtin has saved the position in the block of the
        // running stack, which is alive.
        unsafe {
            let left = TopFrame::in_host_call(&*store.context().stack);
            Backtrace::capture_with(walker, store, &left)
        }
    }

    /// # Safety
    ///
    /// As for [`capture`](Backtrace::capture).
    unsafe fn capture_with(mut walker: Walker<'_>, store: &Store, left: &TopFrame) -> Backtrace {
        // SAFETY: the caller's promise.
        unsafe { walker.walk_left(left) };
        // The first stack was left at `left`.
        for (child, stack) in store.nested_stacks().skip(1) {
            let boundary = child.map(|child| RawBoundary::resume(child, stack));
            walker.boundary = Some(boundary.unwrap_or(RawBoundary::Host));
            // SAFETY: parents and outer activations wait, so their blocks say where they were left.
            unsafe { walker.walk_left(&TopFrame::in_host_call(stack)) };
        }
        walker.finish()
    }

    /// The frames of one stack.
    ///
    /// # Safety
    ///
    /// The stack must have been left at `left`.
    pub(crate) unsafe fn of_stack(store: &Store, left: &TopFrame) -> Backtrace {
        let mut walker = Walker::new(store);
        // SAFETY: the caller's promise.
        unsafe { walker.walk_left(left) };
        walker.finish()
    }

    /// The frames of suspended stacks, which are given innermost first.
    pub(crate) fn of_suspended<'a>(
        store: &'a Store,
        stacks: impl Iterator<Item = &'a ControlBlock>,
    ) -> Backtrace {
        let mut walker = Walker::new(store);
        let mut child = None;
        for stack in stacks {
            if let Some(child) = child.replace(stack) {
                walker.boundary = Some(RawBoundary::resume(child, stack));
            }
            if let Some(left) = TopFrame::suspended(stack) {
                // SAFETY: the block of a suspended stack says where it was left.
                unsafe { walker.walk_left(&left) };
            }
        }
        walker.finish()
    }
}

impl Store {
    /// The frames that called the running host function; none if nothing runs.
    pub fn host_backtrace(&self) -> Backtrace {
        if self.running.depth() == 0 {
            return Backtrace::default();
        }
        // SAFETY: the newest activation is in a host call, so its stack's block is up to date.
        unsafe {
            let left = TopFrame::in_host_call(&*self.context().stack);
            Backtrace::capture(self, &left)
        }
    }

    /// The name of a function, with that of the module whose code begins at an address.
    pub(crate) fn function_text(&self, code: usize, function: u32) -> String {
        let module = self.objects.module_at(code).map(|(module, _)| module);
        let module = module.expect("modules stay as long as their store");
        Frame::of_function(module, function).function_text()
    }

    /// The boundary between a stack and its parent or extender.
    pub(crate) fn resume_boundary(&self, child: &ControlBlock, parent: &ControlBlock) -> Boundary {
        let instruction = resume_instruction(child, parent);
        // SAFETY: the clauses of a waiting stack are set.
        unsafe { self.boundary_of(instruction, parent.handlers) }
    }

    /// The boundary of an instruction with clauses.
    ///
    /// # Safety
    ///
    /// A stack must be waiting with them.
    pub(super) unsafe fn boundary_of(
        &self,
        instruction: &'static str,
        handlers: *const u64,
    ) -> Boundary {
        // SAFETY: the caller's promise.
        let (tags, tags_omitted) = unsafe { self.tag_names(handlers) };
        Boundary::Resume { instruction, tags, tags_omitted }
    }

    /// The names of the first tags of a list of clauses, and how many more there are.
    ///
    /// # Safety
    ///
    /// A stack must be waiting with the clauses.
    pub(crate) unsafe fn tag_names(&self, handlers: *const u64) -> (Vec<String>, usize) {
        // SAFETY: the caller's promise.
        let mut words = unsafe { clauses::all(handlers) }.filter(|word| *word != EVERY_TAG);
        let first = words.by_ref().take(MOST_TAGS);
        let names = first.map(|word| self.tag_name(tag_of_handler(word))).collect();
        (names, words.count())
    }

    /// The name of a tag, or else its index in a module.
    pub(crate) fn tag_name(&self, tag: usize) -> String {
        match self.find_tag(tag) {
            Some((_, Some(name))) => shortened(name).into_owned(),
            Some((index, None)) => index.to_string(),
            None => "?".to_string(),
        }
    }

    /// The index of a tag in a module, and its name if any module has one. None for the host's.
    pub(super) fn find_tag(&self, tag: usize) -> Option<(u32, Option<&str>)> {
        let mut found = self.objects.instances.iter().filter_map(|instance| {
            let info = &instance.module().info;
            let mut tags = 0..info.tags.len() as u32;
            let index = tags.find(|index| instance.tag(*index).addr().get() == tag)?;
            Some((index, info.tag_name(index)))
        });
        let first = found.next()?;
        [first].into_iter().chain(found).find(|(_, name)| name.is_some()).or(Some(first))
    }
}

/// The instruction by which a stack resumed another.
pub(super) fn resume_instruction(child: &ControlBlock, parent: &ControlBlock) -> &'static str {
    match child.purpose {
        _ if std::ptr::eq(child.extender, parent) => "stack.extend",
        Purpose::Task => "task.resume",
        Purpose::Fiber => "fiber.mount",
        _ => "resume",
    }
}
