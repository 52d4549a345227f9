//! Stacks of a bag that the host switches to.

use crate::reference::ContRef;
use crate::stacks::cont_type::{ContType, SideTypes};
use crate::stacks::host_switch::{Enter, Finish, HostSwitch};
use crate::stacks::shared_handle::heap_of;
use crate::stacks::stack_handle::{SwitchHandle, switch_stack};
use crate::stacks::transfer;
use crate::store::{AsContext, AsContextMut, StoreContextMut};
use crate::value::val::Val;
use anyhow::{Context, Result};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{HeapType, RawVal, ValType};
use ropewalk_runtime::Store as RuntimeStore;
use ropewalk_runtime::host::switch;

/// A stack of a bag, which the host owns.
///
/// The host runs on a stack too, the root of its call. Switching suspends the root, and passes a
/// reference to it to the other stack, as it does for any stack. A switch to the root comes back
/// to the host.
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
/// Only the host has a reference to it, and switching to it takes it. Dropping it frees its
/// stacks, as for a [`Continuation`](crate::Continuation).
pub struct BagStack(SwitchHandle);

switch_stack!(BagStack: StackKind::Bag);

/// What came back to the host after it switched to a stack. [`BagStack`] has an example.
#[derive(Debug)]
pub struct Switched {
    /// The values.
    pub values: Vec<Val>,
    /// The stack that switched to the host's, unless it has retired.
    pub from: Option<BagStack>,
}

impl BagStack {
    /// The types of the values that the host sends to it, and of those that it sends to the
    /// host. The last of each is the stack that is left.
    fn types(&self, runtime: &RuntimeStore) -> Result<[SideTypes; 2]> {
        self.0.stack.check(runtime)?;
        types_of(runtime, self.0.heap()?)
    }

    /// Switches to it, as `switch` does. The values are all but the last one, which is the host's
    /// stack. Returns when another stack switches to that.
    ///
    /// An exception that comes there (`switch_throw`) is the error. So is a trap, or an error
    /// of a host function; the stack may have ended then.
    pub fn switch(self, mut store: impl AsContextMut, values: &[Val]) -> Result<Switched> {
        let mut store = store.as_context_mut();
        self.host_switch(&mut store, values)?.run(&mut store)
    }

    /// Switches to it in a future, which waits for pending host calls.
    pub async fn switch_async(
        self,
        mut store: impl AsContextMut<Data: Send>,
        values: &[Val],
    ) -> Result<Switched> {
        let mut store = store.as_context_mut();
        self.host_switch(&mut store, values)?.run_async(&mut store).await
    }

    #[allow(clippy::type_complexity, reason = "the closures have no names")]
    fn host_switch<T>(
        self,
        store: &mut StoreContextMut<'_, T>,
        values: &[Val],
    ) -> Result<HostSwitch<(), impl Enter<()> + use<T>, impl Finish<(), T, Switched> + use<T>>>
    {
        let runtime = &mut *store.0.runtime;
        let [sent, received] = self.types(runtime)?;
        self.0.stack.prepare(runtime)?;
        transfer::put_values(runtime, &sent[..sent.len() - 1], values)?;
        let (reference, count) = (self.0.stack.spend().reference, values.len());
        let enter = move |(): &(), runtime, poller| {
            // SAFETY: the host held the stack, and the values have the types that it expects.
            unsafe { switch::switch(runtime, reference, count, poller) }
        };
        let finish = move |(), store: &mut StoreContextMut<'_, T>, ended: Result<()>| {
            ended?;
            came_back(&mut store.0.runtime, &received)
        };
        // SAFETY: as above.
        Ok(unsafe { HostSwitch::new((), enter, finish) })
    }
}

/// The types of the values that are sent to a stack, and of those that it sends back. The last of
/// each is the stack that is left.
pub(super) fn types_of(runtime: &RuntimeStore, stack: HeapType) -> Result<[SideTypes; 2]> {
    let types = runtime.types();
    let sent = ContType::known(types, stack)?.params.types(types);
    let left = *sent.last().context("the last value for a stack is a stack")?;
    let received = ContType::known(types, heap_of(left))?.params.types(types);
    Ok([sent, received])
}

/// What came back to the host's stack.
fn came_back(runtime: &mut RuntimeStore, received: &[ValType]) -> Result<Switched> {
    let (last, types) = received.split_last().context("the last value is a stack")?;
    // SAFETY: the stack that switched to the host's has sent values of these types. Taking a stack
    // allocates nothing on the heap.
    unsafe {
        let left: RawVal = *runtime.transfer_area().add(types.len());
        let values = transfer::values_of(runtime, types);
        let word = left.u64();
        let from = (word != 0).then(|| BagStack::from_word(runtime, word, *last));
        Ok(Switched { values, from })
    }
}
