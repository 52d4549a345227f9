//! References to continuations, and to stacks of the other designs.

use super::{Handle, Inside, Reference, Sealed};
use crate::misuse::WrongType;
use crate::store::{AsContext, AsContextMut};
use anyhow::{Context, Result};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{HeapType, RefType, ValType};
use ropewalk_runtime::{Backtrace, Store as RuntimeStore, Trap};

/// A reference to a continuation, or to a stack of another design. WebAssembly accepts it where a
/// reference of its type is expected.
///
/// The collector keeps the stack as long as the reference [lasts](crate::RootScope). The host can
/// also own a continuation: it takes a [`Continuation`](crate::Continuation) from a reference, by
/// [`Continuation::from_ref`](crate::Continuation::from_ref), or as the result of a typed call.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"(module
///     (type $f (func (result i32))) (type $c (cont $f))
///     (func $seven (result i32) (i32.const 7))
///     (elem declare func $seven)
///     (func (export "make") (result (ref $c)) (cont.new $c (ref.func $seven)))
///     (func (export "run") (param (ref null $c)) (result i32) (resume $c (local.get 0))))"#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let mut scope = RootScope::new(&mut store);
/// let make = instance.get_typed_func::<(), ContRef>(&mut scope, "make")?;
/// let run = instance.get_typed_func::<Option<ContRef>, i32>(&mut scope, "run")?;
/// let continuation = make.call(&mut scope, ())?;
/// assert_eq!(run.call(&mut scope, Some(continuation))?, 7);
/// // It is used up.
/// assert!(run.call(&mut scope, Some(continuation)).is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContRef {
    pub(crate) handle: Handle,
    pub(crate) heap: HeapType,
}

impl ContRef {
    pub(crate) fn from_word(
        runtime: &mut RuntimeStore,
        word: u64,
        heap: HeapType,
    ) -> Option<ContRef> {
        (word != 0).then(|| ContRef { handle: Handle::new(runtime, word), heap })
    }

    /// Its type, as far as the place it came from says.
    pub fn ty(&self) -> ValType {
        ValType::Ref(RefType { nullable: false, heap: self.heap })
    }

    /// The design of the stack.
    pub fn design(&self, store: impl AsContext) -> Result<StackKind> {
        let word = self.handle.word(store.as_context().runtime(), HeapType::Cont)?;
        StackKind::of(word).context("a reference to a stack")
    }

    /// Whether the stack can be continued: it is suspended or has not begun, and the reference is
    /// valid.
    pub fn is_suspended(&self, store: impl AsContext) -> Result<bool> {
        let runtime = store.as_context().runtime();
        Ok(runtime.is_suspended(self.handle.word(runtime, HeapType::Cont)?))
    }

    /// Where the stack is suspended. Empty if it is not suspended or has not begun.
    pub fn backtrace(&self, store: impl AsContext) -> Result<Backtrace> {
        let runtime = store.as_context().runtime();
        let word = self.handle.word(runtime, HeapType::Cont)?;
        if !runtime.is_suspended(word) {
            return Ok(Backtrace::default());
        }
        Ok(runtime.held_backtrace(word))
    }

    /// How many bytes of its stacks are in use. Zero if it is not suspended.
    pub fn bytes(&self, store: impl AsContext) -> Result<usize> {
        let runtime = store.as_context().runtime();
        let word = self.handle.word(runtime, HeapType::Cont)?;
        Ok(if runtime.is_suspended(word) { runtime.held_bytes(word) } else { 0 })
    }

    /// Frees its stacks, of any design, as `task.release`, `fiber.release` and the drop of a
    /// first-class stack do. WebAssembly's references to it become invalid. It must be suspended or
    /// new.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (type $t (task (param i32) (result i32)))
    ///       (func $body (param $me (ref null $t)) (param i32) (result i32) (local.get 1))
    ///       (func (export "new") (result (ref $t)) (task.new $t $body)))
    /// "#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let new = instance.get_typed_func::<(), ContRef>(&mut store, "new")?;
    /// let task = new.call(&mut store, ())?;
    /// assert_eq!(task.design(&store)?, StackKind::Task);
    /// assert!(task.is_suspended(&store)?);
    /// task.release(&mut store)?;
    /// assert!(!task.is_suspended(&store)?);
    /// assert_eq!(store.stack_statistics().live, 0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn release(&self, mut store: impl AsContextMut) -> Result<()> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let word = self.handle.word(runtime, HeapType::Cont)?;
        Ok(runtime.release(word).map_err(Trap::from_code)?)
    }

    pub(crate) fn fits(&self, runtime: &RuntimeStore, ty: RefType) -> bool {
        let word = self.handle.word(runtime, HeapType::Cont).unwrap_or(0);
        fits(runtime, word, self.heap, ty)
    }
}

/// Fails unless a reference to a stack, of a known type, can be passed where another type is
/// expected.
pub(crate) fn check_fits(
    runtime: &RuntimeStore,
    word: u64,
    heap: HeapType,
    expected: RefType,
) -> Result<()> {
    if fits(runtime, word, heap, expected) {
        return Ok(());
    }
    let describe = |ty| runtime.types().describe(ValType::Ref(ty));
    let found = describe(RefType { nullable: false, heap });
    Err(WrongType::new("value", describe(expected), found).into())
}

/// Whether a reference to a stack, of a known type, can be passed where another type is expected.
/// The types of continuations are compared by their parameters and results.
pub(crate) fn fits(runtime: &RuntimeStore, word: u64, heap: HeapType, expected: RefType) -> bool {
    let types = runtime.types();
    let found = ValType::Ref(RefType { nullable: false, heap });
    if types.is_subtype(found, ValType::Ref(expected)) {
        return true;
    }
    let (HeapType::Concrete(found), HeapType::Concrete(expected)) = (heap, expected.heap) else {
        return false;
    };
    let functions = types.cont_function(found).zip(types.cont_function(expected));
    let Some((found, expected)) = functions else { return false };
    let all = |a: &[ValType], b: &[ValType]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| types.is_subtype(*a, *b))
    };
    StackKind::of(word) == Some(StackKind::Continuation)
        && all(expected.params(), found.params())
        && all(found.results(), expected.results())
}

impl Sealed for ContRef {
    const KIND: HeapType = HeapType::Cont;
    /// Its type.
    type Detail = HeapType;

    fn handle(self, _: Inside) -> Handle {
        self.handle
    }

    fn detail(self, _: Inside) -> HeapType {
        self.heap
    }

    fn from_handle(handle: Handle, heap: HeapType, _: Inside) -> Self {
        ContRef { handle, heap }
    }

    const NEEDS_TYPE: bool = true;

    fn known_type(heap: &HeapType, _: Inside) -> Option<HeapType> {
        Some(*heap)
    }

    fn detail_of(heap: HeapType, _: Inside) -> HeapType {
        heap
    }
}

impl Reference for ContRef {}
