//! A store: everything that instances are made of, and the stacks they run on.

mod embedder;
pub(crate) mod entry_points;
pub mod fuel;
pub mod interrupts;
pub(crate) mod known_stores;
pub mod pending;
pub mod running;
pub(crate) mod slot;
mod transfer;

use self::entry_points::EntryPoints;
use self::slot::Slot;
use crate::arch::{bytes, stubs};
use crate::code::LoadedModule;
use crate::code::types::TypeRegistry;
use crate::embedder::{Embedder, Foreign};
use crate::heap::{Heap, HeapOptions, NoMemory, Object};
use crate::report::stack_list::StackList;
use crate::stack::KnownSites;
use crate::stack::{self, Arena, Bound, Quarantine, RootStack, StackOptions, Stacks};
use crate::store::fuel::Fuel;
use crate::store::interrupts::Interrupts;
use crate::store::known_stores::Known;
use crate::store::pending::Awaits;
use crate::store::pending::Frozen;
use crate::store::pending::Waiting;
use crate::store::running::Activation;
use crate::store::running::Ending;
use crate::vm::const_value::ConstValue;
use crate::vm::global::GlobalPlace;
use crate::vm::host_function::HostFunction;
use crate::vm::instance::Instance;
use crate::vm::memory::{Memory, MemoryPool};
use crate::vm::released::Released;
pub use crate::vm::store_id::StoreId;
use crate::vm::table::{Table, TableLimits};
use crate::vm::totals::Totals;
use ropewalk_abi::heap::EXTERN_SIZE;
use ropewalk_abi::stack::{FIRST_CAPTURE, Purpose};
use ropewalk_abi::{
    ControlBlock, FuncRef, GlobalType, HostContext, LeftCall, Passage, PausedRegisters, RawVal,
    StoreContext, TagDef, TrapCode, TypeInfo, TypeKind, ValType,
};
use std::any::Any;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Duration;

/// What writes a store down at a check point. If it fails, what runs ends with its error.
pub type SnapshotHook =
    Foreign<Box<dyn FnMut(&mut Store, &PausedRegisters) -> anyhow::Result<()> + Send + Sync>>;

/// How a store behaves.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Where its stacks come from.
    pub arena: Arc<Arena>,
    /// Where the address space of its memories comes from.
    pub memories: Arc<MemoryPool>,
    /// The types of the engine.
    pub types: Arc<TypeRegistry>,
    /// How many bytes its memories may have, all together.
    pub max_total_memory: u64,
    /// How large its tables may be.
    pub tables: TableLimits,
    /// How its heap behaves.
    pub heap: HeapOptions,
    /// How all stacks but roots are.
    pub stacks: StackOptions,
    /// How many activations may be nested.
    pub max_activations: usize,
    /// Whether the running stack moves at every host call and builtin, and another
    /// when it is continued, to show that they can.
    pub move_stacks: bool,
    /// Whether the records of all stacks are checked after every transition.
    pub check_stacks: bool,
    /// Whether functions look whether they are to stop.
    pub interruption: bool,
    /// Whether what functions execute is counted.
    pub consume_fuel: bool,
    /// Whether functions stop at every check point, to show that they can.
    pub stop_always: bool,
    /// Whether every stack is parked as soon as it is suspended.
    pub park_always: bool,
    /// Whether what the stacks do is recorded.
    pub trace: bool,
    /// Whether it can be written down: frames list all their pointers.
    pub snapshots: bool,
    /// Whether the kernel is to note which pages are written after a snapshot.
    pub watch_pages: bool,
    /// Whether it is also to do that for what is small.
    pub watch_always: bool,
    /// Whether native debuggers are to know it.
    pub native_debug: bool,
}

/// A store.
pub struct Store {
    /// What generated code sees of it. Generated code writes it while the
    /// store is borrowed by whoever called.
    context: UnsafeCell<StoreContext>,
    id: StoreId,
    pub(crate) options: StoreOptions,
    pub(crate) entry_points: EntryPoints,
    pub(crate) instances: Vec<Instance>,
    pub(crate) memories: Vec<Memory>,
    pub(crate) tables: Vec<Table>,
    #[expect(clippy::vec_box, reason = "generated code knows their addresses")]
    globals: Vec<Box<UnsafeCell<RawVal>>>,
    /// Their types.
    global_types: Vec<GlobalType>,
    #[expect(clippy::vec_box, reason = "generated code knows their addresses")]
    host_functions: Vec<Box<StoredHostFunction>>,
    /// What host contexts inside instances point to.
    pub(crate) shared_host_functions: Vec<Arc<HostFunction>>,
    #[expect(clippy::vec_box, reason = "generated code knows their addresses")]
    pub(crate) tags: Vec<Box<TagDef>>,
    pub(crate) heap: Heap,
    /// The globals whose values the collector follows.
    pub(crate) collected_globals: Vec<GlobalPlace>,
    /// The operands of constant expressions that are being evaluated.
    pub(crate) const_stack: Vec<ConstValue>,
    /// The modules whose code may run, by address.
    modules: Vec<Arc<LoadedModule>>,
    /// A root stack for each activation, and some that are idle.
    pub(crate) roots: Vec<RootStack>,
    /// Root stacks for later.
    pub(crate) spare_roots: Vec<RootStack>,
    /// How many of those, the first, have no memory.
    pub(crate) cold_roots: usize,
    /// Activations that wait, by number.
    pub(crate) frozen: Vec<Option<Frozen>>,
    /// The numbers that nobody has.
    pub(crate) free_frozen: Vec<usize>,
    pub(crate) stacks: Stacks,
    pub(crate) known_sites: KnownSites,
    /// What root stacks have as their parent.
    no_parent: Box<ControlBlock>,
    /// The newest activation, or null.
    pub(crate) newest: *const Activation,
    /// How many activations there are.
    pub(crate) depth: usize,
    quarantine: Quarantine,
    /// Whether a call has ended half-way.
    is_poisoned: bool,
    /// Whether there is more to do when an activation begins: it is poisoned, or what
    /// happens is recorded.
    pub(crate) is_unusual: bool,
    /// Whether there is always something to do when an activation has ended.
    pub(crate) tidies: bool,
    /// Whether the runtime does something before it continues a stack for the host.
    pub(crate) watches: bool,
    /// Where the program is, at regular times.
    pub(crate) profiler: Slot,
    /// What is recorded of the stacks.
    pub(crate) recorder: Slot,
    /// The number of the instance that makes first-class stacks, if it has one.
    pub stacks_instance: Option<usize>,
    /// Whether a module of it has the type of first-class stacks.
    pub(crate) has_stackrefs: bool,
    /// How often the stacks were to be checked.
    pub(crate) checks: usize,
    ending: Option<Ending>,
    /// What the activation waits for that was left last, until somebody polls that.
    pub(crate) left_waiting: Option<Waiting>,
    /// The same, as a snapshot says it, until the activation is set aside.
    pub(crate) left_awaiting: Awaits,
    /// How many stacks are listed whenever a call fails.
    pub(crate) keeps_stacks: usize,
    /// The stacks when the last call failed.
    pub(crate) kept_stacks: Option<StackList>,
    /// The word of the last `suspend` that found the clause for every tag.
    pub(crate) suspended_with: u64,
    /// The word of the last `suspend` that the host has handled, or zero.
    pub(crate) last_handled: u64,
    /// Continuations whose owners in the host have dropped them.
    pub(crate) released: Arc<Released>,
    /// What stops it.
    pub(crate) interrupts: Arc<Interrupts>,
    /// Writes the store down at a check point, when somebody has asked for it.
    pub snapshot_hook: Option<SnapshotHook>,
    /// What is known of the last snapshot.
    pub(crate) last_snapshot: Slot,
    /// How long activations that can wait run before they let others run.
    pub(crate) time_slice: Option<Duration>,
    /// What functions may execute when what they have now is used up.
    pub(crate) fuel: Fuel,
    /// What the embedder has given it to call.
    pub(crate) embedder: Embedder,
    /// How much memories and tables have together.
    pub(crate) totals: Totals,
    /// Whether a builtin runs that can be left if that has to wait.
    pub(crate) is_asking: bool,
    /// Lets debuggers find it.
    known: Option<Known>,
    /// The embedder's part of the store.
    owner: *mut c_void,
}

// SAFETY: nothing in a store depends on the thread it is used on, and the
// embedder's part is its own business.
unsafe impl Send for Store {}
// SAFETY: a shared store can only be read; what generated code writes is
// written while it is borrowed mutably.
unsafe impl Sync for Store {}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("id", &self.id).finish_non_exhaustive()
    }
}

/// How many stacks, but roots, a store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackStatistics {
    /// How many belong to continuations that are new, suspended or running, or
    /// abandoned and not yet collected. They are the sum of those that run, those that
    /// are suspended, and those that are parked.
    pub live: usize,
    /// How many run, or wait for one that runs.
    pub running: usize,
    /// How many are new or suspended, and have memory of their own.
    pub suspended: usize,
    /// How many are new or suspended, and have given their memory up: their frames are
    /// packed.
    pub parked: usize,
    /// How many were live at the same time at most.
    pub peak: usize,
    /// How many wait to be used again.
    pub pooled: usize,
    /// How much memory they have.
    pub committed_bytes: usize,
    /// How much address space they have.
    pub reserved_bytes: usize,
    /// How often a stack, also a root, has got more room.
    pub growths: u64,
    /// How often one was parked.
    pub parkings: u64,
}

/// A host function that belongs to no instance.
struct StoredHostFunction {
    func_ref: FuncRef,
    context: HostContext,
}

impl Store {
    /// A new store. It is boxed because generated code knows its address.
    pub(crate) fn new(options: StoreOptions, entry_points: EntryPoints) -> Box<Store> {
        let StoreOptions { move_stacks, check_stacks, park_always, trace, .. } = options;
        let call_builtin = match move_stacks {
            false => stubs::call_builtin as *const (),
            true => stubs::call_builtin_moving as *const (),
        };
        let call_host = match (move_stacks, trace) {
            (_, true) => stubs::call_host_traced as *const (),
            (true, false) => stubs::call_host_moving as *const (),
            (false, false) => stubs::call_host as *const (),
        };
        let (finish, finish_with) = match trace {
            false => (stubs::finish as *const (), stubs::finish_with as *const ()),
            true => (stubs::finish_traced as *const (), stubs::finish_with_traced as *const ()),
        };
        let deliver = match options.check_stacks {
            false => stubs::deliver as *const (),
            true => stubs::deliver_checked as *const (),
        };
        let context = StoreContext {
            stack: ptr::null_mut(),
            host_sp: 0,
            call_builtin: call_builtin.cast(),
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
            no_parent: ptr::null_mut(),
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
        };
        let id = StoreId::next();
        let heap = Heap::new(options.heap);
        let mut stacks = Stacks::new(&options.stacks, options.arena.take_table());
        stacks.notes.enable(trace);
        let mut store = Box::new(Store {
            context: UnsafeCell::new(context),
            id,
            options,
            entry_points,
            instances: Vec::new(),
            memories: Vec::new(),
            tables: Vec::new(),
            globals: Vec::new(),
            global_types: Vec::new(),
            host_functions: Vec::new(),
            shared_host_functions: Vec::new(),
            tags: Vec::new(),
            heap,
            collected_globals: Vec::new(),
            const_stack: Vec::new(),
            modules: Vec::new(),
            roots: Vec::new(),
            spare_roots: Vec::new(),
            cold_roots: 0,
            frozen: Vec::new(),
            free_frozen: Vec::new(),
            stacks,
            known_sites: KnownSites::default(),
            no_parent: stack::without_handlers(),
            newest: ptr::null(),
            depth: 0,
            quarantine: Quarantine::default(),
            is_poisoned: false,
            is_unusual: trace,
            tidies: check_stacks | park_always | trace,
            watches: move_stacks | trace,
            profiler: Slot::default(),
            recorder: Slot::default(),
            stacks_instance: None,
            has_stackrefs: false,
            checks: 0,
            ending: None,
            left_waiting: None,
            left_awaiting: Awaits::default(),
            keeps_stacks: 0,
            kept_stacks: None,
            suspended_with: 0,
            last_handled: 0,
            released: Arc::new(Released::of(id)),
            interrupts: Arc::default(),
            snapshot_hook: None,
            last_snapshot: Slot::default(),
            time_slice: None,
            fuel: Fuel::default(),
            embedder: Embedder::default(),
            totals: Totals::default(),
            is_asking: false,
            known: None,
            owner: ptr::null_mut(),
        });
        store.note_table();
        let no_parent = store.no_parent();
        let itself = ptr::from_mut(&mut *store).cast();
        let context = store.context.get_mut();
        context.store = itself;
        context.no_parent = no_parent;
        if store.options.stop_always {
            store.interrupts.stop_always();
        }
        if store.options.native_debug {
            store.known = Some(Known::new(store.context_ptr()));
        }
        store
    }

    /// Tells generated code where the table of stacks is, with the transfer area, if there is
    /// one.
    pub(crate) fn note_table(&mut self) {
        let (blocks, transfer) = (self.stacks.base(), self.stacks.transfer_area());
        let context = self.context_mut();
        (context.blocks, context.transfer) = (blocks, transfer);
    }

    /// Tells this store from others.
    pub fn id(&self) -> StoreId {
        self.id
    }

    /// The heap with what generated code sees of it.
    pub(crate) fn heap_and_context(&mut self) -> (&mut Heap, &mut StoreContext) {
        (&mut self.heap, self.context.get_mut())
    }

    pub(crate) fn context(&self) -> &StoreContext {
        // SAFETY: generated code, the only writer after the store's back, does
        // not run while the store is borrowed.
        unsafe { &*self.context.get() }
    }

    pub(crate) fn context_mut(&mut self) -> &mut StoreContext {
        self.context.get_mut()
    }

    /// The address that generated code knows.
    pub fn context_ptr(&self) -> *mut StoreContext {
        self.context.get()
    }

    /// The store that a context belongs to.
    ///
    /// # Safety
    ///
    /// The context must be that of a store, of which no reference is in use.
    pub unsafe fn from_context<'a>(context: *mut StoreContext) -> &'a mut Store {
        // SAFETY: `new` set the pointer, and the caller has the store to itself.
        unsafe { &mut *(*context).store.cast::<Store>() }
    }

    /// The embedder's part of the store.
    pub fn owner(&self) -> *mut c_void {
        self.owner
    }

    /// Sets the embedder's part of the store.
    pub fn set_owner(&mut self, owner: *mut c_void) {
        self.owner = owner;
    }

    /// Says that the engine has panicked, or a call has ended, half-way, so that nothing runs or
    /// is collected here any more. Activations outside of the newest one end when their host
    /// functions return, whatever these make of it.
    pub(crate) fn poison(&mut self) {
        self.is_poisoned = true;
        self.is_unusual = true;
        self.end_outer_activations();
    }

    /// How many activations run inside of each other, all but perhaps the newest in host calls.
    #[inline]
    pub fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.is_poisoned
    }

    /// Fails if a call has ended half-way, so that nothing runs any more.
    #[inline]
    pub fn check_usable(&self) -> anyhow::Result<()> {
        match self.is_poisoned {
            false => Ok(()),
            true => Err(running::poisoned()),
        }
    }

    // ---- how the newest activation ends

    /// Says why the newest activation is about to end.
    pub fn set_ending(&mut self, ending: Ending) {
        self.ending = Some(ending);
    }

    /// Whether the newest activation is about to be left because it waits. Then nobody
    /// else is told so.
    #[inline]
    pub(crate) fn is_left_waiting(&mut self) -> bool {
        let waits = matches!(self.ending, Some(Ending::Waits)) && !self.is_poisoned;
        if waits {
            // There is nothing to drop.
            std::mem::forget(self.ending.take());
        }
        waits
    }

    pub(crate) fn take_ending(&mut self) -> Ending {
        match self.ending.take() {
            Some(ending) => ending,
            // Its host function has returned as if nothing were wrong.
            None if self.is_poisoned => Ending::Error(running::poisoned()),
            None => unreachable!("whoever ends an activation says why"),
        }
    }

    // ---- code

    /// Makes the code of a module known for traps and backtraces.
    pub(crate) fn add_module(&mut self, module: &Arc<LoadedModule>) {
        self.has_stackrefs |= module.code.tables().has_stackrefs;
        let start = module.code.start();
        let place = self.modules.partition_point(|m| m.code.start() < start);
        if self.modules.get(place).is_none_or(|m| m.code.start() != start) {
            self.modules.insert(place, module.clone());
        }
    }

    /// The module whose code contains an address, and the offset there.
    /// The modules whose code may run.
    pub(crate) fn modules(&self) -> impl Iterator<Item = &LoadedModule> {
        self.modules.iter().map(|module| &**module)
    }

    pub(crate) fn module_at(&self, address: usize) -> Option<(&Arc<LoadedModule>, u32)> {
        let after = self.modules.partition_point(|m| m.code.start() <= address);
        let module = &self.modules[after.checked_sub(1)?];
        module.code.offset_of(address).map(|offset| (module, offset))
    }

    pub(crate) fn memory_may_fault_at(&self, address: usize) -> bool {
        self.memories.iter().any(|memory| memory.may_fault_at(address))
    }

    // ---- objects

    /// The instances, in the order in which they were made.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// The memories, by their numbers.
    pub fn memories(&self) -> &[Memory] {
        &self.memories
    }

    /// An instance.
    pub fn instance(&self, index: usize) -> &Instance {
        &self.instances[index]
    }

    /// A memory.
    pub fn memory(&self, index: usize) -> &Memory {
        &self.memories[index]
    }

    /// A memory, to change it.
    pub fn memory_mut(&mut self, index: usize) -> &mut Memory {
        &mut self.memories[index]
    }

    /// A table.
    pub fn table(&self, index: usize) -> &Table {
        &self.tables[index]
    }

    /// A table, to change it.
    pub fn table_mut(&mut self, index: usize) -> &mut Table {
        &mut self.tables[index]
    }

    /// A new memory that belongs to no instance.
    pub fn add_memory(&mut self, ty: ropewalk_abi::MemoryType) -> anyhow::Result<usize> {
        self.embedder.check_counts(0, self.memories.len() + 1, 0)?;
        self.check_new_memory(&ty)?;
        let memory = Memory::standalone(ty, &self.options.memories);
        let memory = memory.inspect_err(|_| self.embedder.memory_grow_failed(0, ty.minimum))?;
        self.memories.push(memory);
        Ok(self.memories.len() - 1)
    }

    /// A new table that belongs to no instance.
    pub fn add_table(&mut self, ty: ropewalk_abi::TableType, init: u64) -> anyhow::Result<usize> {
        self.embedder.check_counts(0, 0, self.tables.len() + 1)?;
        self.check_new_table(&ty)?;
        let is_collected = self.options.types.is_collected(ValType::Ref(ty.element));
        let limit = self.options.tables.elements;
        self.tables.push(Table::standalone(ty, is_collected, init, limit)?);
        Ok(self.tables.len() - 1)
    }

    /// A new global that belongs to no instance.
    pub fn add_global(&mut self, ty: GlobalType, value: RawVal) -> GlobalPlace {
        let global = Box::new(UnsafeCell::new(value));
        let place = GlobalPlace(NonNull::new(global.get()).expect("boxes are not null"));
        self.globals.push(global);
        self.global_types.push(ty);
        self.note_global(place, ty.content);
        place
    }

    /// The globals that belong to no instance.
    pub(crate) fn own_globals(&self) -> impl Iterator<Item = GlobalPlace> {
        let places = self.globals.iter();
        places.map(|global| GlobalPlace(NonNull::new(global.get()).expect("boxes are not null")))
    }

    /// Their types.
    pub(crate) fn own_global_types(&self) -> impl Iterator<Item = GlobalType> {
        self.global_types.iter().copied()
    }

    /// Lets the collector follow a global if its type says so.
    pub(crate) fn note_global(&mut self, place: GlobalPlace, ty: ValType) {
        if self.options.types.is_collected(ty) {
            self.collected_globals.push(place);
        }
    }

    /// A new tag.
    pub fn add_tag(&mut self, ty: *const TypeInfo) -> NonNull<TagDef> {
        let tag = Box::new(TagDef { ty });
        let place = NonNull::from(&*tag);
        self.tags.push(tag);
        place
    }

    /// A host function as a value of this store.
    pub fn add_host_function(&mut self, function: Arc<HostFunction>) -> NonNull<FuncRef> {
        let context = function.context(self.context_ptr());
        let func_ref = FuncRef {
            code: function.code(),
            context: ptr::null_mut(),
            ty: function.ty,
            is_host: true,
        };
        let mut stored = Box::new(StoredHostFunction { func_ref, context });
        stored.func_ref.context = ptr::from_mut(&mut stored.context).cast();
        let place = NonNull::from(&stored.func_ref);
        self.host_functions.push(stored);
        self.shared_host_functions.push(function);
        place
    }

    /// A reference to a host value.
    pub fn add_extern(&mut self, value: Box<dyn Any + Send + Sync>) -> Result<u64, TrapCode> {
        if !self.embedder.host_values_growing(self.heap.host_values()) {
            return Err(self.heap.refuse(NoMemory::Limiter));
        }
        self.heap.make_room_for_extern()?;
        let object = self.allocate(self.options.types.extern_info(), u64::from(EXTERN_SIZE))?;
        let number = self.heap.add_extern(value);
        object.set_extern_number(number);
        Ok(object.reference())
    }

    /// The host value that a reference refers to.
    ///
    /// # Safety
    ///
    /// The reference must be of the store.
    pub unsafe fn extern_value(&self, reference: u64) -> Option<&(dyn Any + Send + Sync)> {
        // SAFETY: the caller's promise.
        let object = unsafe { Object::from_reference(reference) }?;
        match object.ty().kind {
            TypeKind::Extern => self.heap.extern_value(object.extern_number()),
            _ => None,
        }
    }

    /// The types of the engine.
    pub fn types(&self) -> &Arc<TypeRegistry> {
        &self.options.types
    }

    /// How many stacks, but roots, there are.
    pub fn stack_statistics(&self) -> StackStatistics {
        let total = self.stacks.count_stacks();
        // What was dropped is as good as free.
        let pooled = self.stacks.count_free(self.context().free_stacks) + self.count_released();
        let (reserved_bytes, committed_bytes) = self.stacks.reserved_and_committed();
        let live = total - pooled;
        let (parked, parkings) = self.stacks.count_parked();
        let running = self.stacks_in_host_calls();
        let running = running.filter(|stack| stack.purpose != Purpose::Root).count();
        StackStatistics {
            live,
            running,
            suspended: live.saturating_sub(running + parked),
            parked,
            parkings,
            peak: self.stacks.peak(),
            pooled,
            committed_bytes,
            reserved_bytes,
            growths: self.stacks.growths(),
        }
    }

    /// The roots of the activations that have not ended.
    pub(crate) fn roots_in_use(&self) -> impl Iterator<Item = *mut ControlBlock> {
        let frozen = self.frozen.iter().flatten().map(|frozen| &frozen.root);
        self.roots[..self.depth].iter().chain(frozen).map(|root| root.block)
    }

    /// What is bound to a stack that is suspended or new, if anything is.
    ///
    /// # Safety
    ///
    /// As for [`Bound::of`].
    pub(crate) unsafe fn bound(&self, stack: &ControlBlock) -> Option<Bound> {
        // SAFETY: the caller's promise.
        unsafe { Bound::of(stack, self.context().deliver) }
    }

    /// The block that root stacks have as their parent.
    pub(crate) fn no_parent(&self) -> *mut ControlBlock {
        ptr::from_ref(&*self.no_parent).cast_mut()
    }

    /// Moves a stack that does not run, or is in a host call, to other memory.
    ///
    /// # Safety
    ///
    /// It must be alive.
    pub(crate) unsafe fn move_stack(&mut self, block: *mut ControlBlock) {
        if self.stacks.has_moved_out(block) {
            // SAFETY: the caller's promise.
            let moved = unsafe { self.stacks.move_region(&mut *block) };
            return moved.expect("there is memory to move to");
        }
        // One that is parked moves when it is continued. Now it could get the memory of
        // the running stack, if that is already free.
        // SAFETY: the caller's promise.
        if unsafe { (*block).is_parked() } {
            return;
        }
        let moved = match self.roots.iter_mut().find(|root| root.block == block) {
            Some(root) => stack::move_root(root, &mut self.quarantine),
            // SAFETY: the caller's promise.
            None => self.stacks.relocate(unsafe { &mut *block }),
        };
        moved.expect("there is memory to move to");
    }
}

impl Store {
    /// What is to do, in some modes, before the runtime continues a stack in the place of the
    /// running one.
    ///
    /// # Safety
    ///
    /// Both must be alive, and the links between them set.
    #[cold]
    pub(crate) unsafe fn watch_switch(&mut self, to: *mut ControlBlock) {
        self.trace_switch(to, 0, ptr::null());
        if self.options.move_stacks {
            // SAFETY: the caller's promise.
            unsafe { self.move_stack(to) };
        }
    }
}

/// Moves the running stack of a store. Called by the stubs of the stress mode.
pub(crate) unsafe extern "C" fn move_stack_of(context: *mut StoreContext) {
    // SAFETY: the stub was called by generated code, which holds no reference
    // to the store.
    let store = unsafe { Store::from_context(context) };
    // SAFETY: the running stack is alive.
    unsafe { store.move_stack(store.context().stack) };
}

impl Drop for Store {
    fn drop(&mut self) {
        let wakers = self.interrupts.close();
        self.embedder.drop_value(wakers);
        // What is streamed has an end, if nobody has ended it before.
        self.finish_trace();
        self.known = None;
        let stacks = &self.stacks;
        let is_whole = |root: &RootStack| stacks.release_home(root.block);
        self.roots.retain(is_whole);
        self.spare_roots.retain(is_whole);
        self.frozen.retain(|frozen| frozen.as_ref().is_some_and(|frozen| is_whole(&frozen.root)));
        let frozen = self.frozen.drain(..).flatten().map(|frozen| frozen.root);
        let roots = self.roots.drain(..).chain(self.spare_roots.drain(..)).chain(frozen);
        self.options.arena.put(self.stacks.take_table(), roots);
    }
}

impl GlobalPlace {
    /// Its value.
    ///
    /// # Safety
    ///
    /// The place must belong to the store.
    pub unsafe fn get(self, _store: &Store) -> RawVal {
        // SAFETY: places live as long as their store, whose generated code
        // does not run now.
        unsafe { self.0.read() }
    }

    /// Sets its value.
    ///
    /// # Safety
    ///
    /// The place must belong to the store, and the value have its type.
    pub unsafe fn set(self, _store: &mut Store, value: RawVal) {
        // SAFETY: as in `get`.
        unsafe { self.0.write(value) }
    }
}
