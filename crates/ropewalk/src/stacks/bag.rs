//! Stacks of the bag of stacks that the host switches to.

use crate::host::polled_call::continued;
use crate::items::call::ended;
use crate::reference::ContRef;
use crate::stacks::cont_type::{ContType, SideTypes};
use crate::stacks::identity::heap_of;
use crate::stacks::owned::HeldStack;
use crate::stacks::transfer;
use crate::store::{AsContext, AsContextMut, StoreContextMut};
use crate::value::val::Val;
use anyhow::{Context, Result};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{RawVal, RefType, ValType};
use ropewalk_runtime::host::switch;
use ropewalk_runtime::{Backtrace, NOBODY, Store as RuntimeStore};
use std::fmt;

/// A stack of the bag of stacks, which only the host can switch to.
///
/// The host stands on a stack too, the root of its call, and switching suspends that: the
/// other stack gets a reference to it, like that of any stack that was left. Whoever
/// switches there comes back to the host.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (rec
///         (type $ping (stack (param i32) (ref null $pong)))
///         (type $pong (stack (param i64) (ref null $ping))))
///       (func $body (param $x i32) (param $back (ref null $pong))
///         (loop $more
///           (switch $pong (i64.extend_i32_s (i32.mul (local.get $x) (i32.const 10)))
///             (local.get $back))
///           (local.set $back) (local.set $x)
///           (br $more)))
///       (func (export "new") (result (ref $ping)) (stack.new $ping $body)))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let new = instance.get_typed_func::<(), BagStack>(&mut store, "new")?;
/// let mut stack = new.call(&mut store, ())?;
/// for x in [1, 2, 3] {
///     let Switched { values, from } = stack.switch(&mut store, &[Val::I32(x)])?;
///     assert_eq!(values[0].i64(), Some(10 * i64::from(x)));
///     stack = from.unwrap();
/// }
/// # Ok::<(), Error>(())
/// ```
///
/// Nobody else has a reference to it, and switching to it takes it. Dropping it frees its
/// stacks, as for a [`Continuation`](crate::Continuation).
pub struct BagStack(HeldStack);

/// What came back to the host that has switched to a stack. [`BagStack`] has an example.
#[derive(Debug)]
pub struct Switched {
    /// The values.
    pub values: Vec<Val>,
    /// The stack that was left by the switch to the host's, unless it has retired.
    pub from: Option<BagStack>,
}

impl BagStack {
    /// Takes the stack that a reference of WebAssembly names: the references to it that
    /// WebAssembly has are used up.
    pub fn from_ref(store: impl AsContextMut, reference: ContRef) -> Result<BagStack> {
        Ok(BagStack(HeldStack::from_ref(store, reference, StackKind::Bag)?))
    }

    pub(crate) fn from_word(runtime: &mut RuntimeStore, word: u64, ty: ValType) -> Self {
        BagStack(HeldStack::from_word(runtime, word, ty, StackKind::Bag))
    }

    /// One of a store that was restored.
    pub(crate) fn again(stack: HeldStack) -> BagStack {
        BagStack(stack)
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

    /// Gives it to WebAssembly, as a reference. From then on the collector frees it when
    /// nothing refers to it.
    pub fn into_ref(self, store: impl AsContextMut) -> Result<ContRef> {
        self.0.into_ref(store)
    }

    /// What the host sends to it, and what the host is sent when it is switched to; in each
    /// case the last is the stack that is left.
    fn types(&self, runtime: &RuntimeStore) -> Result<[SideTypes; 2]> {
        self.0.held.check(runtime)?;
        let types = runtime.types();
        let sent = ContType::known(types, self.0.heap()?)?;
        let sent = sent.params.types(types);
        let host = *sent.last().context("the last value for a stack is a stack")?;
        let received = ContType::known(types, heap_of(host))?.params.types(types);
        Ok([sent, received])
    }

    /// Switches to it with values, as `switch` does, but for the last one: that is the host's
    /// stack. Returns when somebody switches to that.
    ///
    /// An exception that comes there (`switch_throw`) is the error; so is a trap, or an error
    /// of a host function, after which the stack may have ended.
    pub fn switch(self, mut store: impl AsContextMut, values: &[Val]) -> Result<Switched> {
        let mut store = store.as_context_mut();
        let received = self.begin(&mut store, values)?;
        let reference = self.0.held.taken().reference;
        // SAFETY: the values have the types that the stack expects.
        let stop = unsafe { switch::switch(store.enter(), reference, values.len(), NOBODY) };
        came_back(&mut store, ended(stop), &received)
    }

    /// Switches to it in a future, which waits for host functions that are not ready.
    pub async fn switch_async(
        self,
        mut store: impl AsContextMut<Data: Send>,
        values: &[Val],
    ) -> Result<Switched> {
        let mut store = store.as_context_mut();
        let received = self.begin(&mut store, values)?;
        let reference = self.0.held.taken().reference;
        let count = values.len();
        // SAFETY: the values have the types that the stack expects; they are put where they are
        // just before it is switched to.
        let ended = unsafe {
            continued(&mut store, |runtime, poller| {
                switch::switch(runtime, reference, count, poller)
            })
        }
        .await;
        came_back(&mut store, ended, &received)
    }

    /// Puts values into the transfer area; returns the types of what comes back.
    fn begin<T>(&self, store: &mut StoreContextMut<'_, T>, values: &[Val]) -> Result<SideTypes> {
        let runtime = &mut *store.0.runtime;
        let [sent, received] = self.types(runtime)?;
        self.0.held.prepare(runtime)?;
        transfer::put_values(runtime, &sent[..sent.len() - 1], values)?;
        Ok(received)
    }

    /// Where it is suspended; nothing if it has not begun.
    pub fn backtrace(&self, store: impl AsContext) -> Result<Backtrace> {
        self.0.held.backtrace(store)
    }

    /// How many bytes of its stacks are in use.
    pub fn bytes(&self, store: impl AsContext) -> Result<usize> {
        self.0.held.bytes(store)
    }

    /// A copy of it, as `stack.clone` makes one: equal, and independent of this one, which stays
    /// as it is. Fails as [`Continuation::try_clone`](crate::Continuation::try_clone) does.
    pub fn try_clone(&self, store: impl AsContextMut) -> Result<BagStack> {
        Ok(BagStack(self.0.try_clone(store)?))
    }

    /// Frees its stacks at once.
    pub fn free(self, store: impl AsContextMut) -> Result<()> {
        self.0.held.free(store)
    }
}

/// What came back to the host's stack.
fn came_back<T>(
    store: &mut StoreContextMut<'_, T>,
    ended: Result<()>,
    received: &[ValType],
) -> Result<Switched> {
    ended?;
    let runtime = &mut *store.0.runtime;
    let (last, types) = received.split_last().context("the last value is a stack")?;
    // SAFETY: whoever has switched to the host's stack has sent values of its types, and
    // taking a stack allocates nothing on the heap.
    unsafe {
        let left: RawVal = *runtime.transfer_area().add(types.len());
        let values = transfer::values_of(runtime, types);
        let word = left.u64();
        let from = (word != 0).then(|| BagStack::from_word(runtime, word, *last));
        Ok(Switched { values, from })
    }
}

impl fmt::Debug for BagStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BagStack").finish_non_exhaustive()
    }
}
