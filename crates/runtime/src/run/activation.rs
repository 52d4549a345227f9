//! Activations: calls from the host into WebAssembly.
//!
//! Each has a root stack of its own. Activations nest: a host function can call WebAssembly again,
//! and then only the newest activation runs.

use crate::arch::stubs;
use crate::embedder::guarded;
use crate::heap::OwnedRoot;
use crate::report::backtrace::Backtrace;
use crate::report::host_error::{Described, HostError};
use crate::report::stack_list::StackList;
use crate::report::trap::Trap;
use crate::report::violation::Violation;
use crate::run::signal;
use crate::stack::{Park, TopFrame};
use crate::store::Store;
use crate::store::pending_activations::ActivationNumber;
use crate::store::running::{Activation, Ending, NO_POLLER, Poller};
use crate::vm::store_id::StoreId;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::signature::WORDS;
use ropewalk_abi::{ControlBlock, FuncRef, RawVal, StoreContext, TrapCode};
use std::any::Any;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

/// The number of free stacks that keep their memory while nothing runs.
const IDLE_STACKS: usize = 256;

/// Why an activation has ended or is suspended.
#[derive(Debug)]
pub enum Stop {
    /// It failed.
    Failed(anyhow::Error),
    /// It was set aside in a pending host call, which [`Store::take_pending`] returns.
    Pending(ActivationNumber),
}

impl Stop {
    /// The error of an activation that cannot wait.
    #[cold]
    pub fn into_error(self) -> anyhow::Error {
        match self {
            Stop::Failed(error) => error,
            Stop::Pending(_) => unreachable!("it had no poller"),
        }
    }
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Stop {
        Stop::Failed(error)
    }
}

/// Calls a function. Its results replace the arguments in `values`.
///
/// A panic of a host function continues here.
///
/// # Safety
///
/// The function must belong to the store, and the trampoline be the entry trampoline of its type.
/// `values` must have the arguments, and room for the results. Nothing but the store may be
/// borrowed.
#[inline]
pub unsafe fn call(
    store: NonNull<Store>,
    function: NonNull<FuncRef>,
    trampoline: *const c_void,
    values: *mut RawVal,
) -> anyhow::Result<()> {
    // SAFETY: the caller's promise.
    match unsafe { call_by(store, function, trampoline, values, NO_POLLER) } {
        Ok(_) => Ok(()),
        Err(stop) => Err(stop.into_error()),
    }
}

/// As [`call`], in an activation that may wait if it has a poller. Then the values must not move
/// until the call has ended.
///
/// # Safety
///
/// As for [`call`]. The poller must be valid until this returns.
#[inline(always)]
pub unsafe fn call_by(
    store: NonNull<Store>,
    function: NonNull<FuncRef>,
    trampoline: *const c_void,
    values: *mut RawVal,
    poller: Poller,
) -> Result<u64, Stop> {
    // SAFETY: the root is the running stack and empty. The rest is the caller's promise.
    unsafe {
        activate(store, poller, move |context, root| {
            let FuncRef { code, context: callee, .. } = function.read();
            stubs::enter(context, (*root).high, trampoline, values, callee, code)
        })
    }
}

/// The arguments of a function whose arguments and result are [in
/// registers](ropewalk_abi::signature::in_registers).
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Integers and references, in order.
    pub integers: [MaybeUninit<u64>; WORDS],
    /// Floats, in order.
    pub floats: [MaybeUninit<f64>; WORDS],
    /// Whether the result is a float.
    pub returns_float: bool,
}

impl Words {
    /// No arguments.
    #[inline(always)]
    pub fn none(returns_float: bool) -> Words {
        Words {
            integers: [MaybeUninit::uninit(); WORDS],
            floats: [MaybeUninit::uninit(); WORDS],
            returns_float,
        }
    }
}

/// Calls a function with a few words, in an activation that may wait if it has a poller. Returns
/// its result. If the function waits, the call that resumes it returns the result.
///
/// # Safety
///
/// The function must belong to the store and take these words. The poller must be valid until this
/// returns. Nothing but the store may be borrowed.
#[inline(always)]
pub unsafe fn call_with_words(
    store: NonNull<Store>,
    function: NonNull<FuncRef>,
    words: Words,
    poller: Poller,
) -> Result<u64, Stop> {
    let Words { integers: [a, b, c, d], floats: [w, x, y, z], returns_float } = words;
    // SAFETY: the root is the running stack and empty. The rest is the caller's promise.
    unsafe {
        activate(store, poller, move |_, _| {
            let FuncRef { code, context, .. } = function.read();
            let enter = match (poller.is_null(), returns_float) {
                (true, false) => stubs::enter_words,
                (true, true) => stubs::enter_words_for_float,
                (false, false) => stubs::begin_words,
                (false, true) => stubs::begin_words_for_float,
            };
            enter(context, a, b, c, d, code, w, x, y, z)
        })
    }
}

/// Runs WebAssembly in a new activation. `enter` calls a stub with the store's context and the
/// activation's root. Returns the value of its outcome.
///
/// # Safety
///
/// Nothing but the store may be borrowed, and the stub's requirements be met.
#[inline(always)]
pub(crate) unsafe fn activate(
    mut store: NonNull<Store>,
    poller: Poller,
    enter: impl FnOnce(*mut StoreContext, *mut ControlBlock) -> Outcome,
) -> Result<u64, Stop> {
    // SAFETY: the caller has the store borrowed.
    let root = unsafe { store.as_mut() }.root_for_activation()?;
    // SAFETY: the caller's promise.
    unsafe { activate_on(store, root, poller, enter) }
}

/// As [`activate`], on the root for the next activation.
///
/// # Safety
///
/// As for [`activate`].
#[inline(always)]
pub(crate) unsafe fn activate_on(
    mut store: NonNull<Store>,
    root: *mut ControlBlock,
    poller: Poller,
    enter: impl FnOnce(*mut StoreContext, *mut ControlBlock) -> Outcome,
) -> Result<u64, Stop> {
    // SAFETY: the caller's promise.
    unsafe {
        if store.as_mut().running.depth() == 0 && signal::nothing_runs() {
            return activate_in::<true>(store, root, poller, enter);
        }
        let _prepared = signal::prepare_thread();
        activate_in::<false>(store, root, poller, enter)
    }
}

/// As [`activate_on`]. For the outermost activation of a thread, the state to restore is known.
/// Loading it instead would make each call wait for the stores of the previous one.
///
/// # Safety
///
/// As for [`activate_on`]. `OUTERMOST` must be correct.
#[inline(always)]
unsafe fn activate_in<const OUTERMOST: bool>(
    mut store: NonNull<Store>,
    root: *mut ControlBlock,
    poller: Poller,
    enter: impl FnOnce(*mut StoreContext, *mut ControlBlock) -> Outcome,
) -> Result<u64, Stop> {
    // SAFETY: the caller has the store borrowed, and no reference into it is alive during `enter`.
    let inner = unsafe { store.as_mut() };
    let activation = match OUTERMOST {
        true => Activation::outermost(poller),
        false => Activation::inside(inner, poller),
    };
    inner.begin_activation(&activation, root);
    let context = inner.context_ptr();
    let outer_store = signal::set_running(context);
    let Outcome { ended, value: word } = enter(context, root);
    signal::set_running(if OUTERMOST { ptr::null_mut() } else { outer_store });
    // SAFETY: as above.
    let inner = unsafe { store.as_mut() };
    if ended == 0 {
        inner.end_by_return();
        match OUTERMOST {
            true => inner.leave_outermost(),
            false => inner.leave_activation(&activation),
        }
        inner.after_activation()?;
        return Ok(word);
    }
    Err(EndingActivation { store: inner, activation: &activation }.end_otherwise())
}

/// An activation that has left WebAssembly, until the store is as before it. If this is dropped
/// early, the engine has panicked, and the store is poisoned.
struct EndingActivation<'a> {
    store: &'a mut Store,
    activation: &'a Activation,
}

impl EndingActivation<'_> {
    /// Makes the outer activation the newest again. If the computation was lost, frees the
    /// first-class stacks that its frames owned. A panic of the embedder continues, unless the
    /// computation is suspended.
    fn leave(self, has_lost: bool) -> anyhow::Result<()> {
        let mut this = std::mem::ManuallyDrop::new(self);
        this.restore();
        let store = &mut *this.store;
        if has_lost && !store.running.is_poisoned() {
            store.collect_lost();
        }
        let left = store.after_activation();
        store.continue_panic_unless_waiting();
        left
    }

    /// Ends or suspends an activation that has not returned.
    #[cold]
    fn end_otherwise(self) -> Stop {
        if self.store.running.is_left_pending() && !self.store.running.is_poisoned() {
            let &StoreContext { stack, base, .. } = self.store.context();
            let left = self.store.running.set_aside(stack, base);
            return match self.leave(false) {
                Ok(()) => Stop::Pending(left),
                Err(error) => Stop::Failed(error),
            };
        }
        let ending = self.store.take_ending();
        self.store.end_interruption();
        let by_exception = matches!(ending, Ending::Exception(..));
        let error = error_of(self.store, ending).unwrap_or_else(|panic| {
            self.store.embedder.keep(panic);
            anyhow::anyhow!("the embedder panicked")
        });
        if !self.store.running.is_poisoned() {
            self.store.end_abruptly(by_exception);
        }
        let left = self.leave(!by_exception);
        Stop::Failed(left.err().unwrap_or(error))
    }

    fn restore(&mut self) {
        self.store.leave_activation(self.activation);
    }
}

impl Drop for EndingActivation<'_> {
    fn drop(&mut self) {
        self.store.running.poison();
        self.restore();
    }
}

/// The error that a call returns, or the panic that continues in it.
#[cold]
pub(super) fn error_of(
    store: &mut Store,
    ending: Ending,
) -> Result<anyhow::Error, Box<dyn Any + Send>> {
    match ending {
        Ending::Panic(payload) => Err(payload),
        Ending::Cancelled => Ok(anyhow::anyhow!("the call was canceled")),
        Ending::Fault(TrapCode::MistypedTransfer, _) => {
            store.running.poison();
            Ok(Violation(TrapCode::MistypedTransfer.message().to_string()).into())
        }
        Ending::NoCode(code, address) => {
            store.running.poison();
            Ok(Trap::new(code, Some(no_code(store, code, address)), Backtrace::default()).into())
        }
        Ending::Fault(code, left) => Ok(trapped(store, code, None, Some(&left)).into()),
        Ending::Trap(code) => Ok(trapped(store, code, None, None).into()),
        Ending::Returned { code, function, detail } => {
            store.keep_stacks(None);
            store.trace_trap(code.message(), None);
            // SAFETY: it has left in a builtin, and its stacks are not used since.
            let backtrace = unsafe { Backtrace::capture_returned(store, function) };
            Ok(Trap::new(code, detail, backtrace).into())
        }
        Ending::DetailedTrap(code, detail) => Ok(trapped(store, code, Some(detail), None).into()),
        Ending::Exception(exception, known) => {
            store.keep_stacks(None);
            let backtrace = match known.frames() {
                [] => backtrace_of(store, None),
                _ => known,
            };
            let description = store.describe_exception(store.owned(&exception));
            let store = store.id();
            Ok(UncaughtException { exception, description, store, backtrace }.into())
        }
        Ending::Error(error) => {
            if store.running.is_poisoned() || has_backtrace(&error) {
                return Ok(error);
            }
            store.keep_stacks(None);
            let described = match guarded(|| Described::of(&error)) {
                Ok(described) => described,
                Err(panic) => {
                    store.embedder.drop_value(error);
                    return Err(panic);
                }
            };
            store.trace_trap(&described.first, None);
            let backtrace = backtrace_of(store, None);
            if let Some(trap) = error.downcast_ref::<Trap>() {
                let detail = trap.detail().map(str::to_string);
                return Ok(Trap::new(trap.code(), detail, backtrace).into());
            }
            Ok(HostError::wrap(error, described, backtrace))
        }
    }
}

/// The trap of an activation that has failed, perhaps at a fault.
fn trapped(
    store: &mut Store,
    code: TrapCode,
    detail: Option<String>,
    fault: Option<&TopFrame>,
) -> Trap {
    store.keep_stacks(fault);
    store.trace_trap(code.message(), fault);
    let backtrace = backtrace_of(store, fault);
    Trap::new(code, detail.or_else(|| detail_of(store, code)), backtrace)
}

fn backtrace_of(store: &Store, fault: Option<&TopFrame>) -> Backtrace {
    // SAFETY: it has left at the fault, or in a host call. The stub that called the host has saved
    // its position in the block of the running stack, which is alive.
    unsafe {
        match fault {
            Some(fault) => Backtrace::capture(store, fault),
            None => Backtrace::capture(store, &TopFrame::in_host_call(&*store.context().stack)),
        }
    }
}

impl Store {
    /// A trap in an operation of the host, with its detail.
    pub fn trap(&mut self, code: TrapCode) -> Trap {
        Trap::new(code, detail_of(self, code), Backtrace::default())
    }

    /// Sets the maximum number of stacks that are listed when a call fails. Zero disables the list.
    pub fn set_keep_stacks(&mut self, most: usize) {
        self.observers.keeps_stacks = most;
        self.observers.kept_stacks = None;
    }

    /// The stacks at the time when the last call failed, if they were listed.
    pub fn take_kept_stacks(&mut self) -> Option<StackList> {
        self.observers.kept_stacks.take()
    }

    /// Lists the stacks of an activation that has failed, perhaps at a fault. There may be no list
    /// if a builtin has failed halfway, or memory is short.
    fn keep_stacks(&mut self, fault: Option<&TopFrame>) {
        if self.observers.keeps_stacks > 0 {
            self.observers.kept_stacks = self.list_failed(self.observers.keeps_stacks, fault);
        }
    }
}

/// The detail of a trap: why there is no stack, room, copy or memory.
fn detail_of(store: &mut Store, code: TrapCode) -> Option<String> {
    let (no_room, no_memory) = (store.stacks.take_refusal(), store.heap.refusal.take());
    let copy_refusal = store.stacks.copy_refusal.take();
    match code {
        TrapCode::NotCopied => Some(copy_refusal?.to_string()),
        TrapCode::CallStackExhausted | TrapCode::TooManyStacks => Some(no_room?.to_string()),
        TrapCode::OutOfMemory => Some(no_memory?.to_string()),
        _ => None,
    }
}

/// Why code at an address cannot be executed, and what to do about it. Removes a damaged file from
/// the cache.
fn no_code(store: &Store, code: TrapCode, address: usize) -> String {
    let module = store.objects.module_at(address).map(|(module, _)| module);
    let what = match module.and_then(|module| module.info.name.as_deref()) {
        Some(name) => format!("the module {name:?}"),
        None => "a module".to_string(),
    };
    let is_removed = module.is_some_and(|module| module.code.remove_if_damaged());
    let why = match code {
        TrapCode::DamagedCode => match is_removed {
            true => {
                "is not the compiled code; its file was removed from the cache, so load it again"
            }
            false => "is not the compiled code; compile it again",
        },
        _ => {
            "could not be made executable when it was first executed: the process has too many \
             mappings or too little memory; validate it when it is loaded (Module::deserialize)"
        }
    };
    format!("the code of {what} {why}. This store is unusable now")
}

fn no_root(reason: String) -> Trap {
    Trap::new(TrapCode::TooManyStacks, Some(reason), Backtrace::default())
}

/// An exception that WebAssembly has not caught.
#[derive(Debug)]
pub struct UncaughtException {
    /// The exception.
    pub exception: OwnedRoot,
    /// Its tag and values, for humans.
    pub description: String,
    /// The store that it belongs to.
    pub store: StoreId,
    /// Where it was thrown.
    pub backtrace: Backtrace,
}

impl std::fmt::Display for UncaughtException {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "uncaught exception: {}", self.description)?;
        match self.backtrace.frames() {
            [] => Ok(()),
            _ => write!(f, "\n{}", self.backtrace),
        }
    }
}

impl std::error::Error for UncaughtException {}

/// Whether an error already has a backtrace, from an inner activation.
fn has_backtrace(error: &anyhow::Error) -> bool {
    error.downcast_ref::<HostError>().is_some()
        || error.downcast_ref::<Trap>().is_some_and(|trap| !trap.backtrace().frames().is_empty())
}

impl Store {
    #[inline]
    fn begin_activation(&mut self, activation: *const Activation, root: *mut ControlBlock) {
        self.running.begin(activation);
        let context = self.context_mut();
        context.stack = root;
        context.base = root;
        context.root = root;
    }

    /// Makes the root of an activation that has returned idle.
    #[inline]
    fn end_by_return(&mut self) {
        let no_parent = self.running.no_parent();
        // SAFETY: blocks of roots are alive.
        let root = unsafe { &mut *self.context().root };
        if !root.is_idle_after_return() {
            root.become_idle(no_parent);
        }
        debug_assert!(root.is_idle(no_parent));
    }

    #[inline]
    fn leave_outermost(&mut self) {
        self.running.end_outermost();
        let context = self.context_mut();
        context.stack = ptr::null_mut();
        context.base = ptr::null_mut();
    }

    /// Makes the activation outside of the newest one the newest.
    #[inline]
    fn leave_activation(&mut self, activation: &Activation) {
        let Activation { outer_stack, outer_base, outer_sp, .. } = *activation;
        self.running.end(activation);
        let (outer_root, outer_sp) = match self.running.roots.newest() {
            None => (ptr::null_mut(), 0),
            // SAFETY: this activation is inside of another, so it was made with `outer_sp`.
            Some(root) => (root, unsafe { outer_sp.assume_init() }),
        };
        let context = self.context_mut();
        context.stack = outer_stack;
        context.base = outer_base;
        context.root = outer_root;
        context.host_sp = outer_sp;
    }

    /// Does the work that some modes have after an activation.
    #[inline]
    fn after_activation(&mut self) -> anyhow::Result<()> {
        match self.stacks.may_give_back() | self.running.extra.after_activation {
            true => self.tidy_after_activation(),
            false => Ok(()),
        }
    }

    #[cold]
    fn tidy_after_activation(&mut self) -> anyhow::Result<()> {
        self.trace_leave();
        let tidied = match self.running.is_poisoned() {
            true => Ok(()),
            false => self.tidy(),
        };
        self.continue_panic_unless_waiting();
        tidied
    }

    fn tidy(&mut self) -> anyhow::Result<()> {
        if self.stacks.may_give_back() && self.running.depth() == 0 {
            self.trim_stacks();
        }
        if self.options.stress.park_always {
            self.park_stacks(Park::All);
        }
        if self.options.stress.check_stacks {
            self.check_now()?;
        }
        Ok(())
    }

    /// Continues a panic of the embedder, unless the newest activation waits. Then it continues
    /// when that ends.
    fn continue_panic_unless_waiting(&mut self) {
        if !self.running.is_left_pending() {
            self.continue_panic();
        }
    }

    /// The root stack for the next activation.
    #[inline]
    pub(crate) fn root_for_activation(&mut self) -> anyhow::Result<*mut ControlBlock> {
        let root = match self.running.roots.next() {
            Some(root) if self.running.is_plain() => root,
            _ => self.other_root()?,
        };
        // SAFETY: blocks of roots are alive.
        debug_assert!(unsafe { (*root).is_idle(self.running.no_parent()) });
        Ok(root)
    }

    /// As [`root_for_activation`](Self::root_for_activation), if there is no root, the activation
    /// is traced, or the store is poisoned.
    #[cold]
    fn other_root(&mut self) -> anyhow::Result<*mut ControlBlock> {
        self.running.check_usable()?;
        let root = match self.running.roots.next() {
            Some(root) => root,
            None => self.add_root()?,
        };
        self.trace_enter(root);
        Ok(root)
    }

    fn add_root(&mut self) -> anyhow::Result<*mut ControlBlock> {
        if self.running.roots.len() >= self.options.max_activations {
            return Err(Trap::from_code(TrapCode::CallStackExhausted).into());
        }
        let room = self.running.make_room_for_root();
        room.map_err(|_| Trap::from_code(TrapCode::TooManyStacks))?;
        if let Some(root) = self.running.roots.take_spare() {
            let block = root.block;
            self.running.roots.add(root);
            return Ok(block);
        }
        let memory = self.options.arena.take_root().map_err(|error| no_root(error.to_string()))?;
        self.lacks_block();
        let root = self.stacks.make_root(memory);
        let root = root.map_err(|reason| no_root(reason.to_string()))?;
        // SAFETY: the root was just made.
        unsafe { (*root.block).parent = self.running.no_parent() };
        let block = root.block;
        self.running.roots.add(root);
        self.note_table();
        Ok(block)
    }

    /// Gives back memory of stacks that the last activation needed.
    #[cold]
    fn trim_stacks(&mut self) {
        self.shrink_stacks();
        if self.stacks.has_idle() {
            let free = self.context().free_stacks;
            self.stacks.trim(free, IDLE_STACKS);
        }
    }

    /// Gives back memory of grown stacks that do not need it anymore.
    pub(crate) fn shrink_stacks(&mut self) {
        let idle = self.running.roots.idle();
        let is_idle = |block| idle.clone().any(|root| root.block.cast_const() == block);
        self.stacks.shrink(is_idle, self.running.depth() > 0);
    }
}
