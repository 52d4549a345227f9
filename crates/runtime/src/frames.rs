//! The frames of a stack that is suspended or in a host call.

use crate::code::LoadedModule;
use crate::stack::{Bound, Left};
use crate::store::Store;
use ropewalk_abi::ControlBlock;
use ropewalk_abi::code::{CallSite, CodeTables};
use std::sync::Arc;

/// Walks from the newest frame outwards.
pub(crate) struct Frames<'a> {
    store: &'a Store,
    pc: usize,
    /// Where the next link lies.
    fp: usize,
    left: Left,
}

/// A frame: where its call returns to, and its frame pointer.
pub(crate) struct Frame<'a> {
    pub fp: usize,
    /// The module that its function belongs to, and the offset of the return
    /// address in the code. None for trampolines.
    pub code: Option<(&'a Arc<LoadedModule>, u32)>,
}

impl<'a> Frames<'a> {
    /// The frames of a stack that was left by a call of the host.
    pub fn of_host_call(store: &'a Store, stack: &ControlBlock) -> Frames<'a> {
        // SAFETY: the stubs leave the return address at the stack pointer.
        unsafe {
            let left = Left::of(stack);
            Frames { store, pc: *(left.sp as *const usize), fp: left.fp, left }
        }
    }

    /// The frames of a stack that is suspended.
    pub fn of_suspended(store: &'a Store, stack: &ControlBlock) -> Frames<'a> {
        // SAFETY: the address to continue at is on top, above what is bound.
        unsafe {
            let left = Left::of(stack);
            let sp = store.bound(stack).map_or(left.sp, Bound::left_at);
            Frames { store, pc: *(sp as *const usize), fp: left.fp, left }
        }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        if self.fp == 0 {
            return None;
        }
        let fp = self.fp;
        // A call may be the last instruction of the code.
        let code = self.store.module_at(self.pc - 1).map(|(module, offset)| (module, offset + 1));
        // SAFETY: `fp` is a link of the chain, so a saved frame pointer and a
        // return address are there.
        unsafe {
            self.fp = self.left.follow(*(fp as *const usize));
            self.pc = *((fp + 8) as *const usize);
        }
        Some(Frame { fp, code })
    }
}

impl<'a> Frame<'a> {
    /// What is known of the call, and the stack pointer there.
    pub fn site(&self) -> Option<(&'a CodeTables<'a>, &'a CallSite, usize)> {
        let (module, offset) = self.code?;
        let image = module.code.tables();
        let site = image.site_at(offset)?;
        Some((image, site, self.fp - site.frame_size as usize))
    }
}
