//! Backtraces of a store: of what has just stopped, and of suspended stacks.

use super::walk::{Between, Walker};
use crate::report::backtrace::{Backtrace, Boundary, Frame};
use crate::report::names::shortened;
use crate::stack::TopFrame;
use crate::store::Store;
use ropewalk_abi::stack::{EVERY_TAG, Purpose, tag_of_handler};
use ropewalk_abi::{ControlBlock, clauses};

/// How many tags are named of an instruction that handles them; it may have thousands.
const MOST_TAGS: usize = 32;

impl Backtrace {
    /// The frames of a store whose newest activation was left.
    ///
    /// # Safety
    ///
    /// The newest activation must have been left as `left` says, and its
    /// stacks not be used since.
    pub(crate) unsafe fn capture(store: &Store, left: &TopFrame) -> Backtrace {
        let mut walker = Walker::new(store);
        // SAFETY: the caller's promise.
        unsafe { walker.walk_left(left) };
        // SAFETY: the running stack's block is alive.
        let newest = unsafe { &*store.context().stack };
        for (i, innermost) in std::iter::once(newest).chain(store.outer_stacks()).enumerate() {
            let mut child = None;
            for stack in store.with_extender(innermost) {
                walker.between = match child.replace(stack) {
                    Some(child) => Some(Between::resume(child, stack)),
                    // This is the one that was left.
                    None if i == 0 => continue,
                    None => Some(Between::Host),
                };
                // SAFETY: parents wait for their children, and outer
                // activations are in host calls, so their control blocks say
                // where they were left.
                unsafe { walker.walk_left(&TopFrame::in_host_call(stack)) };
            }
        }
        walker.finish()
    }

    /// The frames of one stack.
    ///
    /// # Safety
    ///
    /// The stack must have been left there.
    pub(crate) unsafe fn of_stack(store: &Store, left: &TopFrame) -> Backtrace {
        let mut walker = Walker::new(store);
        // SAFETY: the caller's promise.
        unsafe { walker.walk_left(left) };
        walker.finish()
    }

    /// The frames of suspended stacks, of which the innermost comes first.
    pub(crate) fn of_suspended<'a>(
        store: &'a Store,
        stacks: impl Iterator<Item = &'a ControlBlock>,
    ) -> Backtrace {
        let mut walker = Walker::new(store);
        let mut child = None;
        for stack in stacks {
            if let Some(child) = child.replace(stack) {
                walker.between = Some(Between::resume(child, stack));
            }
            if let Some(left) = TopFrame::suspended(stack) {
                // SAFETY: a suspended stack says where it was left.
                unsafe { walker.walk_left(&left) };
            }
        }
        walker.finish()
    }
}

impl Store {
    /// The frames below the host function that runs; none if none runs.
    ///
    /// Only a host function can have the store while something runs in it.
    pub fn host_backtrace(&self) -> Backtrace {
        if self.running.depth == 0 {
            return Backtrace::default();
        }
        // SAFETY: the newest activation is in a host call, so the block of its stack is
        // alive and says where that was left.
        unsafe {
            let left = TopFrame::in_host_call(&*self.context().stack);
            Backtrace::capture(self, &left)
        }
    }

    /// A function of the module whose code begins at an address, with the module.
    pub(crate) fn function_text(&self, code: usize, function: u32) -> String {
        let module = self.module_at(code).map(|(module, _)| module);
        let module = module.expect("modules stay as long as their store");
        Frame::of_function(module, function).function_text()
    }

    /// What lies between a stack and its parent or extender.
    pub(crate) fn resume_boundary(&self, child: &ControlBlock, parent: &ControlBlock) -> Boundary {
        let instruction = resume_instruction(child, parent);
        // SAFETY: a stack that waits for another has noted its clauses.
        unsafe { self.boundary_of(instruction, parent.handlers) }
    }

    /// The boundary of an instruction with clauses.
    ///
    /// # Safety
    ///
    /// A stack must wait with them.
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
    /// A stack must wait with the clauses.
    pub(crate) unsafe fn tag_names(&self, handlers: *const u64) -> (Vec<String>, usize) {
        // SAFETY: the caller's promise.
        let mut words = unsafe { clauses::all(handlers) }.filter(|word| *word != EVERY_TAG);
        let first = words.by_ref().take(MOST_TAGS);
        let names = first.map(|word| self.tag_name(tag_of_handler(word))).collect();
        (names, words.count())
    }

    /// The name of a tag in some module that has it.
    pub(crate) fn tag_name(&self, tag: usize) -> String {
        let named = self.objects.instances.iter().find_map(|instance| {
            let info = &instance.module().info;
            let mut tags = 0..info.tags.len() as u32;
            let index = tags.find(|index| instance.tag(*index).addr().get() == tag)?;
            let name = info.tag_name(index).map(|name| shortened(name).into_owned());
            Some(name.unwrap_or_else(|| index.to_string()))
        });
        named.unwrap_or_else(|| "?".to_string())
    }
}

/// The instruction by which a stack has resumed another.
pub(super) fn resume_instruction(child: &ControlBlock, parent: &ControlBlock) -> &'static str {
    match child.purpose {
        _ if std::ptr::eq(child.extender, parent) => "stack.extend",
        Purpose::Task => "task.resume",
        Purpose::Fiber => "fiber.mount",
        _ => "resume",
    }
}
