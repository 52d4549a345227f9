//! Stacks of the bag of stacks that the host switches to.

use crate::continuation::{ContType, Unusable};
use crate::held::Held;
use crate::named::heap_of;
use crate::reference::{ContRef, Handle, check_fits};
use crate::store::{AsContext, AsContextMut, StoreContextMut};
use crate::task::ended;
use crate::transfer;
use crate::val::Val;
use crate::waiting::WaitingCall;
use anyhow::{Context, Result};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{HeapType, RawVal, RefType, ValType};
use ropewalk_runtime::{Backtrace, NOBODY, Store as RuntimeStore, from_host};
use std::fmt;
use std::future::poll_fn;

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
pub struct BagStack {
    held: Held,
    ty: std::result::Result<HeapType, Unusable>,
}

/// What came back to the host that has switched to a stack.
#[derive(Debug)]
pub struct Switched {
    /// The values.
    pub values: Vec<Val>,
    /// The stack that was left by the switch to the host's, unless it has retired.
    pub from: Option<BagStack>,
}

const NAME: &str = "stack";

impl BagStack {
    /// Takes the stack that a reference of WebAssembly names: the references to it that
    /// WebAssembly has are used up.
    pub fn from_ref(mut store: impl AsContextMut, reference: ContRef) -> Result<BagStack> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let word = reference.handle.word(runtime, HeapType::Cont)?;
        runtime.make_room_for_block(word)?;
        let stack = BagStack::from_word(runtime, word, reference.ty());
        match stack.ty {
            Ok(_) => Ok(stack),
            Err(unusable) => Err(unusable.error()),
        }
    }

    pub(crate) fn from_word(runtime: &mut RuntimeStore, word: u64, ty: ValType) -> BagStack {
        let (reference, ty) = match runtime.take_held(word, StackKind::Bag) {
            Ok(reference) => (reference, Ok(heap_of(ty))),
            Err(code) => (0, Err(Unusable::Invalid(code))),
        };
        BagStack { held: Held::new(runtime, reference), ty }
    }

    pub(crate) fn into_word(self, runtime: &RuntimeStore) -> Result<u64> {
        self.held.check(runtime, NAME)?;
        self.ty.map_err(Unusable::error)?;
        Ok(self.held.into_word(runtime))
    }

    pub(crate) fn into_word_of(self, runtime: &RuntimeStore, expected: RefType) -> Result<u64> {
        self.held.check(runtime, NAME)?;
        let heap = self.ty.map_err(Unusable::error)?;
        check_fits(runtime, self.held.reference(), heap, expected)?;
        self.into_word(runtime)
    }

    /// Gives it to WebAssembly, as a reference. From then on the collector frees it when
    /// nothing refers to it.
    pub fn into_ref(self, mut store: impl AsContextMut) -> Result<ContRef> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let heap = self.ty.map_err(Unusable::error)?;
        let word = self.into_word(runtime)?;
        Ok(ContRef { handle: Handle::new(runtime, word), heap })
    }

    /// What the host sends to it, and what the host is sent when it is switched to; in each
    /// case the last is the stack that is left.
    fn types(&self, runtime: &RuntimeStore) -> Result<[Box<[ValType]>; 2]> {
        self.held.check(runtime, NAME)?;
        let types = runtime.types();
        let sent = ContType::known(types, self.ty.map_err(Unusable::error)?)?;
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
        let reference = self.held.taken().reference;
        // SAFETY: the values have the types that the stack expects.
        let stop = unsafe { from_host::switch(store.enter(), reference, values.len(), NOBODY) };
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
        let reference = self.held.taken().reference;
        // SAFETY: this future has the store.
        let mut call = unsafe { WaitingCall::new(store.enter()) };
        let count = values.len();
        let ended = poll_fn(|context| {
            // SAFETY: the values have the types that the stack expects; they are put where
            // they are when this is first polled.
            unsafe {
                call.poll_stack(context, |runtime, poller| {
                    from_host::switch(runtime, reference, count, poller)
                })
            }
        })
        .await;
        drop(call);
        came_back(&mut store, ended, &received)
    }

    /// Puts values into the transfer area; returns the types of what comes back.
    fn begin<T>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        values: &[Val],
    ) -> Result<Box<[ValType]>> {
        let runtime = &mut *store.0.runtime;
        let [sent, received] = self.types(runtime)?;
        runtime.free_released();
        runtime.make_room_for_block(self.held.reference())?;
        transfer::put_values(runtime, &sent[..sent.len() - 1], values)?;
        Ok(received)
    }

    /// Where it is suspended; nothing if it has not begun.
    pub fn backtrace(&self, store: impl AsContext) -> Result<Backtrace> {
        let runtime = store.as_context().runtime();
        self.held.check(runtime, NAME)?;
        Ok(runtime.held_backtrace(self.held.reference()))
    }

    /// How many bytes of its stacks are in use.
    pub fn bytes(&self, store: impl AsContext) -> Result<usize> {
        let runtime = store.as_context().runtime();
        self.held.check(runtime, NAME)?;
        Ok(runtime.held_bytes(self.held.reference()))
    }

    /// Frees its stacks at once.
    pub fn free(self, mut store: impl AsContextMut) -> Result<()> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        self.held.check(runtime, NAME)?;
        self.held.free(runtime);
        Ok(())
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
