//! Builtins for stacks, exceptions and tests of stacks.

use super::{Calling, Pair, Result, stack_kind};
use crate::run::lifecycle;
use crate::stack::Park;
use crate::stack::walk_mark::MarkKind;
use crate::store::running::Ending;
use ropewalk_abi::builtin::{LEAVE_FREED, Outcome};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{ControlBlock, FuncRef, TagDef, TrapCode, TypeInfo};

/// Defines builtins that are functions of the store.
macro_rules! functions_of_store {
    ($($name:ident($($param:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Calling<'_> {
            $(pub(super) fn $name(&mut self, $($param: $type),*) -> $result {
                self.store.$name($($param),*)
            })*
        }
    };
}

functions_of_store! {
    throw(exception: u64) -> Outcome;
    new_stack() -> Result<*mut ControlBlock>;
    renew_free() -> Result<*mut ControlBlock>;
    prepare(reference: u64, ty: &TypeInfo, count: usize) -> Result<*mut ControlBlock>;
    find_clause(word: u64) -> std::result::Result<u64, Ending>;
    resume_throw(reference: u64, exception: u64, handlers: *const u64) -> Outcome;
    switch_throw(reference: u64, exception: u64, offset: u32) -> Outcome;
    release_fiber(reference: u64) -> Result<()>;
    event_return(word: u64) -> Outcome;
    extension_end() -> Result<*mut ControlBlock>;
    drop_stack(reference: u64) -> ();
    deliver_stack(reference: u64) -> u64;
    redirect(exception: u64, reference: u64) -> Outcome;
    leave_to(level: usize) -> ();
    walk_target(number: usize, reference: u64) -> Result<()>;
    walk_back(number: usize) -> Result<bool>;
    trace_create(block: *mut ControlBlock) -> ();
    trace_switch(block: *mut ControlBlock, values: u64, tag: *const TagDef) -> ();
    trace_refuse(block: *mut ControlBlock, tag: *const TagDef) -> ();
}

impl Calling<'_> {
    pub(super) fn function_returned(&mut self, trap: u32, function: usize, event: u64) -> Ending {
        let code = TrapCode::from_number(trap as u8).expect("generated code passes traps");
        let detail = (event != 0).then(|| self.store.event_title(event));
        Ending::Returned { code, function, detail }
    }

    pub(super) fn walk_begin(&mut self, tag: *const TagDef) -> std::result::Result<u64, Ending> {
        self.store.walk_begin(tag).map_err(|code| self.no_answer(code, tag))
    }

    pub(super) fn walk_on(
        &mut self,
        tag: *const TagDef,
        number: usize,
    ) -> std::result::Result<bool, Ending> {
        self.store.walk_on(tag, number).map_err(|code| self.no_answer(code, tag))
    }

    /// The end of a failed walk: a missing answer names its call tag.
    fn no_answer(&self, code: TrapCode, tag: *const TagDef) -> Ending {
        match code {
            TrapCode::NoAnswer => Ending::DetailedTrap(code, self.store.tag_title(tag)),
            code => code.into(),
        }
    }

    pub(super) fn invalid_stack(&mut self, reference: u64, kind: StackKind) -> TrapCode {
        lifecycle::invalid_stack(reference, kind)
    }

    pub(super) fn fiber_not_running(&mut self, reference: u64) -> TrapCode {
        match lifecycle::invalid_stack(reference, StackKind::Fiber) {
            TrapCode::FiberMoribund => TrapCode::FiberNotRunning,
            code => code,
        }
    }

    pub(super) fn bind(&mut self, reference: u64, ty: &TypeInfo, bound: Pair) -> Result<u64> {
        let [kind, count] = bound;
        self.store.bind(reference, ty, count as usize, stack_kind(kind))
    }

    pub(super) fn copy_stack(&mut self, reference: u64, kind: StackKind) -> Result<u64> {
        self.store.copy_suspended(reference, kind)
    }

    pub(super) fn make_room(&mut self, block: *mut ControlBlock, size: usize) -> Result<u64> {
        // SAFETY: generated code passes a free stack, and holds no address in it.
        unsafe { self.store.make_room_on_free(block, size) }
    }

    pub(super) fn move_stack(&mut self, block: *mut ControlBlock) {
        // SAFETY: generated code passes a stack that it is about to continue.
        unsafe { self.store.move_stack(block) }
    }

    pub(super) fn unpark(&mut self, block: *mut ControlBlock) -> Result<()> {
        // SAFETY: generated code passes a stack that it is about to continue.
        unsafe { self.store.unpark_running(block) }
    }

    pub(super) fn park_stacks(&mut self) {
        self.store.park_stacks(Park::All);
    }

    /// This only exists for the check that follows every builtin in its mode.
    pub(super) fn check_stacks(&mut self) {}

    pub(super) fn release_running(&mut self, block: *mut ControlBlock) {
        // SAFETY: generated code passes the running stack or one of its parents.
        unsafe { self.store.release_up_to(block) }
    }

    pub(super) fn release_suspended(&mut self, block: *mut ControlBlock) {
        // SAFETY: generated code passes a suspended task.
        unsafe { self.store.release_suspended(block) }
    }

    pub(super) fn event_throw(&mut self, reference: u64, word: u64, leaving: u64) -> Outcome {
        self.store.event_throw(reference, word, leaving == LEAVE_FREED)
    }

    pub(super) fn enter_answer(
        &mut self,
        tag: *const TagDef,
        function: *const FuncRef,
        env: u64,
    ) -> Result<()> {
        self.store.add_mark(MarkKind::Answer { tag, function, env }).map(drop)
    }

    pub(super) fn enter_redirect(&mut self, boxed: u64) -> Result<()> {
        self.store.add_mark(MarkKind::Redirect { boxed }).map(drop)
    }

    pub(super) fn enter_redirect_to(
        &mut self,
        function: *const FuncRef,
        taker: *const FuncRef,
        env: u64,
    ) -> Result<()> {
        self.store.add_mark(MarkKind::RedirectTo { function, taker, env }).map(drop)
    }
}
