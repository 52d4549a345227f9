//! First-class stacks that the host switches to.

use crate::Func;
use crate::RootScope;
use crate::host::polled_call::continued;
use crate::items::call::ended;
use crate::items::exception::Exception;
use crate::reference::ContRef;
use crate::stacks::new_stack::stackref;
use crate::stacks::owned::HeldStack;
use crate::stacks::transfer;
use crate::store::{AsContext, AsContextMut, StoreContextMut};
use crate::value::tag::Tag;
use crate::value::val::Val;
use anyhow::{Result, anyhow, ensure};
use ropewalk_abi::stack::{ClauseKind, StackKind, handler_word};
use ropewalk_abi::{RefType, ValType};
use ropewalk_runtime::host::switch;
use ropewalk_runtime::{Backtrace, NOBODY, Store as RuntimeStore};
use std::fmt;

/// A first-class stack that the host owns.
///
/// The host stands on a stack too, the root of its call, and switching suspends that: it is
/// the last value of the event, and whoever switches there comes back to the host, with an
/// event.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (import "host" "new_stack" (func $new-stack (result stackref)))
///       (event $ask (export "ask") (param i32 stackref))
///       (event $told (export "told") (param i32 stackref))
///       (rout $body (local $back stackref) (local $x i32)
///         (block $asked (result i32 stackref)
///           (try (stack.start) catch $ask $asked)
///           (unreachable))
///         (local.set_cleared $back)
///         (local.set $x)
///         (loop $more
///           (block $again (result i32 stackref)
///             (try
///               (stack.switch $told (i32.mul (local.get $x) (i32.const 2))
///                 (local.get_clear $back))
///               catch $ask $again)
///             (unreachable))
///           (local.set_cleared $back)
///           (local.set $x)
///           (br $more)))
///       (func (export "new") (result stackref) (stack.extend $body (call $new-stack))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
/// let [ask, told] = ["ask", "told"].map(|name| instance.get_tag(&mut store, name).unwrap());
/// let new = instance.get_typed_func::<(), Option<FirstClassStack>>(&mut store, "new")?;
/// let mut stack = new.call(&mut store, ())?.unwrap();
/// for x in [5, 6] {
///     let arrived = stack.switch(&mut store, ask, &[Val::I32(x)])?;
///     assert_eq!(arrived.tag, told);
///     assert_eq!(arrived.values[0].i32(), Some(2 * x));
///     stack = arrived.from.unwrap();
/// }
/// # Ok::<(), Error>(())
/// ```
///
/// Switching to it takes it, and dropping it frees it.
pub struct FirstClassStack(HeldStack);

/// What came to the host that has switched to a first-class stack. [`FirstClassStack`] has an
/// example.
#[derive(Debug)]
pub struct Arrived {
    /// The event, or the tag of another exception.
    pub tag: Tag,
    /// Its values, without a last one that is a stack.
    pub values: Vec<Val>,
    /// The stack that is the last value, if there is one: that of the sender, unless it was
    /// freed.
    pub from: Option<FirstClassStack>,
}

impl FirstClassStack {
    /// A new stack, as [`ContRef::new_stack`] makes it.
    pub fn new(mut store: impl AsContextMut, ground: Option<Func>) -> Result<FirstClassStack> {
        let mut scope = RootScope::new(&mut store);
        let reference = ContRef::new_stack(&mut scope, ground)?;
        FirstClassStack::from_ref(&mut scope, reference)
    }

    /// Takes the stack that a reference names: other references to it are used up.
    pub fn from_ref(store: impl AsContextMut, reference: ContRef) -> Result<FirstClassStack> {
        Ok(FirstClassStack(HeldStack::from_ref(store, reference, StackKind::FirstClass)?))
    }

    pub(crate) fn from_word(runtime: &mut RuntimeStore, word: u64, ty: ValType) -> Self {
        FirstClassStack(HeldStack::from_word(runtime, word, ty, StackKind::FirstClass))
    }

    /// One of a store that was restored.
    pub(crate) fn again(stack: HeldStack) -> FirstClassStack {
        FirstClassStack(stack)
    }

    pub(crate) fn held(&self) -> &HeldStack {
        &self.0
    }

    pub(crate) fn into_word(self, runtime: &RuntimeStore) -> Result<u64> {
        self.0.into_word(runtime)
    }

    pub(crate) fn into_word_of(self, runtime: &RuntimeStore, expected: RefType) -> Result<u64> {
        self.0.into_word_of(runtime, expected)
    }

    /// Gives it to WebAssembly, as a reference.
    pub fn into_ref(self, store: impl AsContextMut) -> Result<ContRef> {
        self.0.into_ref(store)
    }

    /// Switches to it with an event and its values, as `stack.switch` does, but for the last
    /// value: that is the host's stack. Returns when an event, or an exception of a function
    /// that runs on top of the host's stack, comes there.
    ///
    /// A trap, or an error of a host function, is the error.
    pub fn switch(
        self,
        mut store: impl AsContextMut,
        event: Tag,
        values: &[Val],
    ) -> Result<Arrived> {
        let mut store = store.as_context_mut();
        let event = self.begin(&mut store, event, values)?;
        let reference = self.0.held.taken().reference;
        // SAFETY: the values have the types of the event, whose last one is a stack.
        let stop = unsafe { switch::send(store.enter(), reference, event, NOBODY) };
        arrived(&mut store, ended(stop))
    }

    /// Switches to it in a future, which waits for host functions that are not ready.
    pub async fn switch_async(
        self,
        mut store: impl AsContextMut<Data: Send>,
        event: Tag,
        values: &[Val],
    ) -> Result<Arrived> {
        let mut store = store.as_context_mut();
        let event = self.begin(&mut store, event, values)?;
        let reference = self.0.held.taken().reference;
        // SAFETY: as in `switch`; the values are put where they are just before it is switched
        // to.
        let ended = unsafe {
            continued(&mut store, |runtime, poller| switch::send(runtime, reference, event, poller))
        }
        .await;
        arrived(&mut store, ended)
    }

    /// Puts the values of an event into the transfer area; returns the word of the event.
    fn begin<T>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        event: Tag,
        values: &[Val],
    ) -> Result<u64> {
        self.0.held.check(&store.0.runtime)?;
        self.0.heap()?;
        let is_stack = stackref(store)?;
        let runtime = &mut *store.0.runtime;
        let def = event.in_store(runtime)?;
        let ty = event.ty_in(runtime)?.ty;
        let sent = match ty.params() {
            [sent @ .., last] if *last == is_stack && ty.results().is_empty() => sent,
            _ => return Err(anyhow!("expected an event whose last value is a stack, found {ty}")),
        };
        self.0.held.prepare(runtime)?;
        transfer::put_values(runtime, sent, values)?;
        Ok(handler_word(def.addr().get(), ClauseKind::Event))
    }

    /// Where it is suspended; nothing if it is blank.
    pub fn backtrace(&self, store: impl AsContext) -> Result<Backtrace> {
        self.0.held.backtrace(store)
    }

    /// How many bytes of its stacks are in use.
    pub fn bytes(&self, store: impl AsContext) -> Result<usize> {
        self.0.held.bytes(store)
    }

    /// A copy of it, as `stack.clone` makes one: equal, and independent of this one, which stays
    /// as it is. Fails as [`Continuation::try_clone`](crate::Continuation::try_clone) does.
    pub fn try_clone(&self, store: impl AsContextMut) -> Result<FirstClassStack> {
        Ok(FirstClassStack(self.0.try_clone(store)?))
    }

    /// Frees it at once.
    pub fn free(self, store: impl AsContextMut) -> Result<()> {
        self.0.held.free(store)
    }
}

/// What came to the host's stack: nothing catches it there.
fn arrived<T>(store: &mut StoreContextMut<'_, T>, ended: Result<()>) -> Result<Arrived> {
    let error = match ended {
        Err(error) => error,
        Ok(()) => unreachable!("an event is an exception to the host"),
    };
    let exception = error.downcast::<Exception>()?;
    let is_stack = stackref(store)?;
    let tag = exception.tag(&mut *store)?;
    let ty = tag.ty_in(&store.0.runtime)?.ty;
    let mut values = exception.values(&mut *store)?;
    ensure!(values.len() == ty.params().len(), "an exception has the values of its tag");
    let from = match (ty.params().last(), values.last()) {
        (Some(last), Some(Val::ContRef(from))) if *last == is_stack => {
            let from = from.map(|from| FirstClassStack::from_ref(&mut *store, from));
            values.pop();
            from.transpose()?
        }
        _ => None,
    };
    Ok(Arrived { tag, values, from })
}

impl fmt::Debug for FirstClassStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstClassStack").finish_non_exhaustive()
    }
}
