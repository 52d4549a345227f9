//! The frames of a stack that is suspended or in a host call.

use crate::code::LoadedModule;
use crate::stack::{BoundValues, SavedPosition};
use crate::store::Store;
use ropewalk_abi::ControlBlock;
use ropewalk_abi::code::{CallSite, CodeTables};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Walks from the newest frame outwards.
pub(crate) struct Frames<'a> {
    store: &'a Store,
    pc: usize,
    /// Where the next link lies.
    fp: usize,
    left: SavedPosition,
    /// Calls that were met lately, by their return address: a deep stack has few of
    /// them, again and again.
    known: [MaybeUninit<Call<'a>>; KNOWN_CALLS],
    /// A bit for each of them that is there. Most walks are short, and prepare nothing.
    is_known: u8,
}

const KNOWN_CALLS: usize = 8;
const _: () = assert!(KNOWN_CALLS == u8::BITS as usize);

/// A call: where it returns to, and what is known of it.
#[derive(Clone, Copy)]
struct Call<'a> {
    pc: usize,
    /// None for trampolines.
    module: Option<&'a Arc<LoadedModule>>,
    site: Option<&'a CallSite>,
}

/// A frame: what is known of its call, and its frame pointer.
pub(crate) struct Frame<'a> {
    pub fp: usize,
    call: Call<'a>,
}

impl<'a> Frames<'a> {
    /// The frames of a stack that was left by a call of the host.
    pub fn of_host_call(store: &'a Store, stack: &ControlBlock) -> Frames<'a> {
        // SAFETY: the stubs leave the return address at the stack pointer.
        unsafe {
            let left = SavedPosition::of(stack);
            Frames::new(store, *(left.sp as *const usize), left)
        }
    }

    fn new(store: &'a Store, pc: usize, left: SavedPosition) -> Frames<'a> {
        let known = [MaybeUninit::uninit(); KNOWN_CALLS];
        Frames { store, pc, fp: left.fp, left, known, is_known: 0 }
    }

    /// The call that returns to where the walk is.
    fn call(&mut self) -> Call<'a> {
        let (pc, place) = (self.pc, self.pc % KNOWN_CALLS);
        if self.is_known >> place & 1 == 1 {
            // SAFETY: the bit says that it is there.
            let known = unsafe { self.known[place].assume_init() };
            if known.pc == pc {
                return known;
            }
        }
        // A call may be the last instruction of the code.
        let code = self.store.module_at(pc - 1);
        let site = code.and_then(|(module, offset)| module.code.tables().site_at(offset + 1));
        let call = Call { pc, module: code.map(|(module, _)| module), site };
        self.known[place].write(call);
        self.is_known |= 1 << place;
        call
    }

    /// The frames of a stack that is suspended.
    pub fn of_suspended(store: &'a Store, stack: &ControlBlock) -> Frames<'a> {
        // SAFETY: the address to continue at is on top, above what is bound.
        unsafe {
            let left = SavedPosition::of(stack);
            let sp = store.bound(stack).map_or(left.sp, BoundValues::left_at);
            Frames::new(store, *(sp as *const usize), left)
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
        let call = self.call();
        // SAFETY: `fp` is a link of the chain, so a saved frame pointer and a
        // return address are there.
        unsafe {
            self.fp = self.left.follow(*(fp as *const usize));
            self.pc = *((fp + 8) as *const usize);
        }
        Some(Frame { fp, call })
    }
}

impl<'a> Frame<'a> {
    /// Where its call returns to.
    pub fn pc(&self) -> usize {
        self.call.pc
    }

    /// The module that its function belongs to.
    pub fn module(&self) -> Option<&'a Arc<LoadedModule>> {
        self.call.module
    }

    /// What is known of the call, and the stack pointer there.
    pub fn site(&self) -> Option<(&'a CodeTables<'a>, &'a CallSite, usize)> {
        let (module, site) = (self.call.module?, self.call.site?);
        Some((module.code.tables(), site, self.fp - site.frame_size as usize))
    }

    /// What the frame owns, but for the first ones: references to stacks, and to objects with
    /// those of its locals.
    pub fn owned(&self, kept: usize) -> impl Iterator<Item = u64> + use<'a> {
        let words = self.site().map(|(image, site, sp)| {
            let left = image.owned_of(site).iter().skip(kept);
            // SAFETY: the list of the call says that a reference is there, and the frame is
            // suspended.
            left.map(move |offset| unsafe { *((sp + *offset as usize) as *const u64) })
        });
        words.into_iter().flatten()
    }
}
