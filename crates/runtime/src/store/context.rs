//! The context of a new store, as generated code reads it.

use super::stress::Stress;
use super::{EntryPoints, StoreOptions};
use crate::arch::{bytes, stubs};
use ropewalk_abi::stack::FIRST_CAPTURE;
use ropewalk_abi::{ControlBlock, LeftCall, Passage, StoreContext};
use std::ffi::c_void;
use std::ptr;

/// A context without the table of stacks, which is added later.
pub(super) fn new(
    options: &StoreOptions,
    entry_points: &EntryPoints,
    no_parent: *mut ControlBlock,
) -> StoreContext {
    let &StoreOptions { stress: Stress { move_stacks, check_stacks, .. }, trace, .. } = options;
    let call_host = match move_stacks | trace {
        false => stubs::call_host as *const (),
        true => stubs::call_host_watched as *const (),
    };
    let (finish, finish_with) = match trace {
        false => (stubs::finish as *const (), stubs::finish_with as *const ()),
        true => (stubs::finish_traced as *const (), stubs::finish_with_traced as *const ()),
    };
    let deliver = match check_stacks {
        false => stubs::deliver as *const (),
        true => stubs::deliver_checked as *const (),
    };
    StoreContext {
        stack: ptr::null_mut(),
        host_sp: 0,
        call_builtin: stubs::call_builtin as *const c_void,
        call_host: call_host.cast(),
        transfer: ptr::null_mut(),
        builtins: entry_points.builtins,
        heap_next: 0,
        heap_end: 0,
        copy_bytes: bytes::copy as *const c_void,
        fill_bytes: bytes::fill as *const c_void,
        blocks: ptr::null_mut(),
        free_stacks: ptr::null_mut(),
        start: stubs::start as *const c_void,
        deliver: deliver.cast(),
        continue_call: stubs::continue_call as *const () as *const _,
        finish: finish.cast(),
        finish_with: finish_with.cast(),
        no_parent,
        captures: FIRST_CAPTURE,
        root: ptr::null_mut(),
        base: ptr::null_mut(),
        extending: ptr::null_mut(),
        ground: stubs::ground as *const c_void,
        walk_function: ptr::null(),
        walk_env: 0,
        walk_stack: 0,
        landing: 0,
        found: ptr::null_mut(),
        passage: Passage::NONE,
        left_call: LeftCall { results: 0, array: 0 },
        fuel: 0,
        pause: stubs::pause as *const c_void,
        saved_word: 0,
        store: ptr::null_mut(),
        calls: ptr::from_ref(entry_points.calls).cast(),
    }
}
