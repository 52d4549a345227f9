//! Activations: calls from the host into WebAssembly.
//!
//! Each has a root stack of its own. They nest: a host function may call into
//! WebAssembly again, and then only the newest activation runs.

use crate::backtrace::Backtrace;
use crate::signal;
use crate::stack::Stack;
use crate::store::Store;
use crate::stub;
use crate::trap::Trap;
use ropewalk_abi::{ControlBlock, FuncRef, RawVal, TrapCode};
use std::any::Any;
use std::ffi::c_void;
use std::ptr::NonNull;

/// What is to be restored when an activation ends.
#[derive(Debug)]
pub(crate) struct Activation {
    /// Its stack, or the one it has switched to.
    pub stack: *mut ControlBlock,
    /// The host's stack pointer of the activation outside of it.
    host_sp: usize,
}

/// Why WebAssembly did not return.
#[derive(Debug)]
pub enum Ending {
    /// A builtin or the engine ended it.
    Trap(TrapCode),
    /// An instruction faulted.
    Fault(TrapCode, Left),
    /// A host function answered an error.
    Error(anyhow::Error),
    /// A host function panicked.
    Panic(Box<dyn Any + Send>),
}

/// Where an activation was left.
#[derive(Clone, Debug)]
pub struct Left {
    pub(crate) pc: usize,
    pub(crate) fp: usize,
    pub(crate) sp: usize,
    /// Whether `pc` is a faulting instruction, not the place behind a call.
    pub(crate) at_fault: bool,
}

impl Left {
    /// Where a stack was left whose computation is in a host call.
    pub(crate) fn in_host_call(block: &ControlBlock) -> Left {
        // SAFETY: the stubs leave the return address at the stack pointer.
        let pc = unsafe { *(block.sp as *const usize) };
        Left { pc, fp: block.fp, sp: block.sp, at_fault: false }
    }
}

/// Calls a function, whose results replace the arguments in `values`.
///
/// A panic of a host function goes on here.
///
/// # Safety
///
/// The function must belong to the store, the trampoline be the entry
/// trampoline of its type, and `values` have the arguments and room for the
/// results. Nothing but the store may be borrowed.
#[inline]
pub unsafe fn call(
    mut store: NonNull<Store>,
    function: NonNull<FuncRef>,
    trampoline: *const c_void,
    values: *mut RawVal,
) -> anyhow::Result<()> {
    signal::prepare_thread();
    // SAFETY: the caller has the store borrowed, and no reference into it
    // lives across `enter`.
    let stack = unsafe { store.as_mut() }.begin_activation()?;
    // SAFETY: the store is alive.
    let context = unsafe { store.as_ref() }.context_ptr();
    let outer = signal::set_running(context);
    // SAFETY: the stack has nothing on it and is the running one; the rest is
    // the caller's promise.
    let ended = unsafe {
        let FuncRef { code, context: callee, .. } = function.read();
        stub::enter(context, (*stack).high, trampoline, values, callee, code)
    };
    signal::set_running(outer);
    // SAFETY: as above.
    let store = unsafe { store.as_mut() };
    if ended == 0 {
        store.end_activation();
        return Ok(());
    }
    let error = take_ending(store);
    store.end_activation();
    match error {
        Ok(error) => Err(error),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// The error that a call answers, or the panic that goes on there.
#[cold]
fn take_ending(store: &mut Store) -> Result<anyhow::Error, Box<dyn Any + Send>> {
    let in_host_call = |store: &Store| {
        // SAFETY: the running stack's block is alive until the activation ends,
        // and was written by the stub that called the host.
        Left::in_host_call(unsafe { &*store.context().stack })
    };
    // SAFETY (of the captures): the newest activation was just left like that.
    match store.take_ending() {
        Ending::Panic(payload) => Err(payload),
        Ending::Fault(code, left) => {
            // SAFETY: see above.
            let backtrace = unsafe { Backtrace::capture(store, &left) };
            Ok(Trap::new(code, backtrace).into())
        }
        Ending::Trap(code) => {
            // SAFETY: see above.
            let backtrace = unsafe { Backtrace::capture(store, &in_host_call(store)) };
            Ok(Trap::new(code, backtrace).into())
        }
        Ending::Error(error) => {
            if has_backtrace(&error) {
                return Ok(error);
            }
            // SAFETY: see above.
            let backtrace = unsafe { Backtrace::capture(store, &in_host_call(store)) };
            if let Some(trap) = error.downcast_ref::<Trap>() {
                return Ok(Trap::new(trap.code(), backtrace).into());
            }
            Ok(error.context(backtrace))
        }
    }
}

/// Whether an error comes from an inner activation, whose backtrace contains
/// ours.
fn has_backtrace(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Backtrace>().is_some()
        || error.downcast_ref::<Trap>().is_some_and(|trap| !trap.backtrace().frames().is_empty())
}

impl Store {
    /// Makes a root stack the running one.
    #[inline]
    fn begin_activation(&mut self) -> anyhow::Result<*mut ControlBlock> {
        let mut root = match self.idle_roots.pop() {
            Some(root) => root,
            None => self.new_root()?,
        };
        let block: *mut ControlBlock = &mut *root.block;
        self.roots.push(root);
        let context = self.context_mut();
        let outer = Activation { stack: context.stack, host_sp: context.host_sp };
        context.stack = block;
        self.activations.push(outer);
        Ok(block)
    }

    #[cold]
    fn new_root(&mut self) -> anyhow::Result<Stack> {
        if self.roots.len() >= self.options.max_activations {
            return Err(Trap::from_code(TrapCode::CallStackExhausted).into());
        }
        let stack = self.options.arena.take();
        stack.map_err(|_| Trap::from_code(TrapCode::TooManyStacks).into())
    }

    /// Gives the root stack back and makes the outer activation the newest.
    #[inline]
    fn end_activation(&mut self) {
        let outer = self.activations.pop().expect("one began");
        let context = self.context_mut();
        context.stack = outer.stack;
        context.host_sp = outer.host_sp;
        let root = self.roots.pop().expect("one for each activation");
        self.idle_roots.push(root);
    }

    /// The activations outside of the newest one, innermost first.
    pub(crate) fn outer_activations(&self) -> impl Iterator<Item = &Activation> {
        self.activations.iter().rev().filter(|activation| !activation.stack.is_null())
    }
}
