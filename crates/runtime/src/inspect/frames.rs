//! The frames of a suspended stack, or of one in a host call.

use super::links::Links;
use crate::code::LoadedModule;
use crate::stack::{BoundValues, SavedPosition};
use crate::store::Store;
use ropewalk_abi::ControlBlock;
use ropewalk_abi::code::{CallSite, CodeTables};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Iterates over frames, newest first.
pub(crate) struct Frames<'a> {
    store: &'a Store,
    pc: usize,
    links: Links,
    /// Recent calls, by their return addresses: a deep stack has few of them, many times.
    recent: [MaybeUninit<Call<'a>>; RECENT_CALLS],
    /// Which of them are set, as bits. Most walks are short, so nothing is prepared.
    is_recent: u8,
}

const RECENT_CALLS: usize = 8;
const _: () = assert!(RECENT_CALLS == u8::BITS as usize);

/// A call: its return address, and its entry in the tables.
#[derive(Clone, Copy)]
struct Call<'a> {
    pc: usize,
    /// None for trampolines.
    module: Option<&'a Arc<LoadedModule>>,
    site: Option<&'a CallSite>,
}

pub(crate) struct Frame<'a> {
    pub fp: usize,
    call: Call<'a>,
}

impl<'a> Frames<'a> {
    pub fn of_host_call(store: &'a Store, stack: &ControlBlock) -> Frames<'a> {
        // SAFETY: the stubs leave the return address at the stack pointer.
        unsafe {
            let left = SavedPosition::of(stack);
            Frames::new(store, left.sp, left)
        }
    }

    /// The frames of a stack from one on, whose link is at `fp`. The address at `sp` returns there.
    ///
    /// # Safety
    ///
    /// The stack must have these frames, and not be parked.
    pub unsafe fn at(store: &'a Store, sp: usize, fp: usize) -> Frames<'a> {
        // SAFETY: the caller's promise.
        unsafe { Frames::new(store, sp, SavedPosition { sp, fp, distance: 0 }) }
    }

    /// The frames of a stack that was left, with the return address at `sp`.
    unsafe fn new(store: &'a Store, sp: usize, left: SavedPosition) -> Frames<'a> {
        let recent = [MaybeUninit::uninit(); RECENT_CALLS];
        // SAFETY: the caller's promise.
        let (pc, links) = unsafe { (*(sp as *const usize), Links::new(left.fp, left.distance)) };
        Frames { store, pc, links, recent, is_recent: 0 }
    }

    /// The call that returns to the current address.
    #[inline]
    fn call(&mut self) -> Call<'a> {
        let (pc, place) = (self.pc, self.pc % RECENT_CALLS);
        if self.is_recent >> place & 1 == 1 {
            // SAFETY: the bit says that it is set.
            let recent = unsafe { self.recent[place].assume_init() };
            if recent.pc == pc {
                return recent;
            }
        }
        // A call may be the last instruction of the code.
        let code = self.store.objects.module_at(pc - 1);
        let site = code.and_then(|(module, offset)| module.code.tables().site_at(offset + 1));
        let call = Call { pc, module: code.map(|(module, _)| module), site };
        self.recent[place].write(call);
        self.is_recent |= 1 << place;
        call
    }

    pub fn of_suspended(store: &'a Store, stack: &ControlBlock) -> Frames<'a> {
        // SAFETY: the return address is on top, above the bound values.
        unsafe {
            let left = SavedPosition::of(stack);
            let sp = store.bound(stack).map_or(left.sp, BoundValues::left_at);
            Frames::new(store, sp, left)
        }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    #[inline]
    fn next(&mut self) -> Option<Frame<'a>> {
        let (fp, return_address) = self.links.next()?;
        let call = self.call();
        self.pc = return_address;
        Some(Frame { fp, call })
    }
}

impl<'a> Frame<'a> {
    /// The return address of its call.
    pub fn pc(&self) -> usize {
        self.call.pc
    }

    #[inline]
    pub fn module(&self) -> Option<&'a Arc<LoadedModule>> {
        self.call.module
    }

    /// The entry of its call in the tables, and the stack pointer there.
    #[inline]
    pub fn site(&self) -> Option<(&'a CodeTables<'a>, &'a CallSite, usize)> {
        let (module, site) = (self.call.module?, self.call.site?);
        Some((module.code.tables(), site, self.fp - site.frame_size as usize))
    }

    /// The references to stacks and to objects with locals that the frame owns, after `kept` ones.
    pub fn owned(&self, kept: usize) -> impl Iterator<Item = u64> + use<'a> {
        let words = self.site().map(|(image, site, sp)| {
            let left = image.owned_of(site).iter().skip(kept);
            // SAFETY: the frame is suspended, and the tables say that a reference is there.
            left.map(move |offset| unsafe { *((sp + *offset as usize) as *const u64) })
        });
        words.into_iter().flatten()
    }
}
