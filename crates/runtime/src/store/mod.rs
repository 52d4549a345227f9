//! The store: all objects of a program, its stacks, and the state of the running code.
//!
//! | part | state |
//! | --- | --- |
//! | [`objects`] | instances and what they are made of |
//! | [`running`] | activations, pending host calls, how they end |
//! | [`budget`] | interruption, time slices, fuel |
//! | [`observers`] | traces, profiles, checks, debuggers |
//! | [`snapshots`] | the hook, and the record of the last snapshot |
//!
//! The heap and the table of stacks are layers of their own.

mod budget;
mod context;
pub(crate) mod debugger_list;
mod embedder;
pub(crate) mod entry_points;
pub mod fuel;
pub mod interrupts;
pub mod objects;
mod observers;
mod options;
pub(crate) mod parking;
pub mod pending;
pub mod pending_activations;
mod references;
mod roots;
pub mod running;
pub(crate) mod slot;
pub mod snapshots;
mod statistics;
pub mod stress;
mod transfer;

pub use options::StoreOptions;
pub use statistics::StackStatistics;

use crate::code::types::TypeRegistry;
use crate::embedder::Embedder;
use crate::heap::Heap;
use crate::stack::{BoundValues, Stacks};
use crate::vm::store_id::StoreId;
use budget::Budget;
use debugger_list::DebuggerListEntry;
use entry_points::EntryPoints;
use interrupts::Reason;
use objects::Objects;
use observers::Observers;
use ropewalk_abi::{ControlBlock, StoreContext};
use running::Running;
use snapshots::Snapshots;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

/// A store: all state of a program. See the [module](self) for its parts.
pub struct Store {
    /// The part that generated code reads and writes, while the caller has the store borrowed.
    context: UnsafeCell<StoreContext>,
    id: StoreId,
    pub(crate) options: StoreOptions,
    pub(crate) entry_points: EntryPoints,
    /// The instances, memories, tables, globals, tags and host functions.
    pub objects: Objects,
    pub(crate) heap: Heap,
    pub(crate) stacks: Stacks,
    /// The activations.
    pub running: Running,
    pub(crate) budget: Budget,
    pub(crate) observers: Observers,
    pub(crate) snapshots: Snapshots,
    /// Keeps panics of the embedder's code until the store is consistent.
    pub(crate) embedder: Embedder,
    /// The embedder's data.
    owner: *mut c_void,
}

// SAFETY: nothing in a store depends on the thread, and the embedder is responsible for its own data.
unsafe impl Send for Store {}
// SAFETY: a shared store can only be read; generated code writes while it is borrowed mutably.
unsafe impl Sync for Store {}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Store {
    /// Makes a store. It is boxed because generated code knows its address.
    pub(crate) fn new(options: StoreOptions, entry_points: EntryPoints) -> Box<Store> {
        let id = StoreId::next();
        let running = Running::new(&options, id);
        let budget = Budget::default();
        if options.stress.stop_always {
            budget.interrupts.stop(Reason::Always);
        }
        let mut stacks = Stacks::new(&options.stacks, options.arena.take_table());
        stacks.events.enable(options.trace);
        let mut store = Box::new(Store {
            context: UnsafeCell::new(context::new(&options, &entry_points, running.no_parent())),
            id,
            entry_points,
            objects: Objects::new(&options),
            heap: Heap::new(options.heap),
            stacks,
            running,
            budget,
            observers: Observers::default(),
            snapshots: Snapshots::default(),
            embedder: Embedder::default(),
            owner: ptr::null_mut(),
            options,
        });
        store.note_table();
        store.context.get_mut().store = ptr::from_mut(&mut *store).cast();
        if store.options.native_debug {
            store.observers.debugger = Some(DebuggerListEntry::new(store.context_ptr()));
        }
        store
    }

    /// Tells generated code where the table of stacks and the transfer area are.
    pub(crate) fn note_table(&mut self) {
        let (blocks, transfer) = (self.stacks.base(), self.stacks.transfer_area());
        let context = self.context_mut();
        (context.blocks, context.transfer) = (blocks, transfer);
    }

    /// The number of the store, which no other store has.
    pub fn id(&self) -> StoreId {
        self.id
    }

    pub(crate) fn heap_and_context(&mut self) -> (&mut Heap, &mut StoreContext) {
        (&mut self.heap, self.context.get_mut())
    }

    pub(crate) fn context(&self) -> &StoreContext {
        // SAFETY: generated code writes it without borrowing the store, but does not run now.
        unsafe { &*self.context.get() }
    }

    pub(crate) fn context_mut(&mut self) -> &mut StoreContext {
        self.context.get_mut()
    }

    /// The address of the context, which generated code knows.
    pub fn context_ptr(&self) -> *mut StoreContext {
        self.context.get()
    }

    /// The store that a context belongs to.
    ///
    /// # Safety
    ///
    /// The context must belong to a store to which there is no other reference.
    pub unsafe fn from_context<'a>(context: *mut StoreContext) -> &'a mut Store {
        // SAFETY: `new` set the pointer, and the caller promises exclusive access.
        unsafe { &mut *(*context).store.cast::<Store>() }
    }

    /// The embedder's data.
    pub fn owner(&self) -> *mut c_void {
        self.owner
    }

    /// Sets the embedder's data.
    pub fn set_owner(&mut self, owner: *mut c_void) {
        self.owner = owner;
    }

    /// The types of the engine.
    pub fn types(&self) -> &Arc<TypeRegistry> {
        &self.options.types
    }

    /// The values bound to a suspended or new stack, if there are any.
    ///
    /// # Safety
    ///
    /// As for [`BoundValues::of`].
    pub(crate) unsafe fn bound(&self, stack: &ControlBlock) -> Option<BoundValues> {
        // SAFETY: the caller's promise.
        unsafe { BoundValues::of(stack, self.context().deliver) }
    }

    /// In a stress mode, moves the running stack, which is in a call of the host.
    #[inline]
    pub(crate) fn move_running(&mut self) {
        if self.options.stress.move_stacks {
            // SAFETY: the running stack is alive.
            unsafe { self.move_stack(self.context().stack) };
        }
    }

    /// Moves a stack to other memory. It must not be running generated code.
    ///
    /// # Safety
    ///
    /// The stack must be alive.
    pub(crate) unsafe fn move_stack(&mut self, block: *mut ControlBlock) {
        if self.stacks.has_moved_out(block) {
            // SAFETY: the caller's promise.
            let moved = unsafe { self.stacks.move_region(&mut *block) };
            return moved.expect("there is memory to move to");
        }
        // A parked stack moves when it is resumed. Now it could get the memory of the running
        // stack, if that is already free.
        // SAFETY: the caller's promise.
        if unsafe { (*block).is_parked() } {
            return;
        }
        let moved = match self.running.move_root(block) {
            Some(moved) => moved,
            // SAFETY: the caller's promise.
            None => self.stacks.relocate(unsafe { &mut *block }),
        };
        moved.expect("there is memory to move to");
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let wakers = self.budget.interrupts.close();
        self.embedder.drop_value(wakers);
        (self.entry_points.before_drop)(self);
        self.observers.debugger = None;
        let mut roots = self.running.take_roots();
        roots.retain(|root| self.stacks.release_home(root.block));
        self.options.arena.put(self.stacks.take_table(), roots);
    }
}
