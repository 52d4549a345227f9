//! First-class stacks that the host switches to.

use crate::Func;
use crate::RootScope;
use crate::items::exception::Exception;
use crate::reference::ContRef;
use crate::stacks::host_switch::{Enter, Finish, HostSwitch};
use crate::stacks::new_stack::stackref;
use crate::stacks::stack_handle::{SwitchHandle, switch_stack};
use crate::stacks::transfer;
use crate::store::{AsContext, AsContextMut, StoreContextMut};
use crate::value::tag::Tag;
use crate::value::val::Val;
use anyhow::{Result, ensure};
use ropewalk_abi::ValType;
use ropewalk_abi::stack::{ClauseKind, StackKind, handler_word};
use ropewalk_runtime::Store as RuntimeStore;
use ropewalk_runtime::host::switch;

/// A first-class stack that the host owns.
///
/// The host runs on a stack too, the root of its call. Switching suspends the root, and passes it
/// on as the last value of the event. A switch to the root comes back to the host, with an event.
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
pub struct FirstClassStack(SwitchHandle);

switch_stack!(FirstClassStack: StackKind::FirstClass);

/// What came to the host after it switched to a first-class stack. [`FirstClassStack`] has an
/// example.
#[derive(Debug)]
pub struct Arrived {
    /// The event, or the tag of another exception.
    pub tag: Tag,
    /// Its values, without a last one that is a stack.
    pub values: Vec<Val>,
    /// The last value, if it is a stack: the stack of the sender, unless it was freed.
    pub from: Option<FirstClassStack>,
}

impl FirstClassStack {
    /// A new stack, as [`ContRef::new_stack`] makes it.
    pub fn new(mut store: impl AsContextMut, ground: Option<Func>) -> Result<FirstClassStack> {
        let mut scope = RootScope::new(&mut store);
        let reference = ContRef::new_stack(&mut scope, ground)?;
        FirstClassStack::from_ref(&mut scope, reference)
    }

    /// Switches to it with an event, as `stack.switch` does. The values are all but the last one,
    /// which is the host's stack. Returns when an event comes there, or an exception of a function
    /// that runs on top of the host's stack.
    ///
    /// A trap, or an error of a host function, is the error.
    pub fn switch(
        self,
        mut store: impl AsContextMut,
        event: Tag,
        values: &[Val],
    ) -> Result<Arrived> {
        let mut store = store.as_context_mut();
        self.host_switch(&mut store, event, values)?.run(&mut store)
    }

    /// Switches to it in a future, which waits for pending host calls.
    pub async fn switch_async(
        self,
        mut store: impl AsContextMut<Data: Send>,
        event: Tag,
        values: &[Val],
    ) -> Result<Arrived> {
        let mut store = store.as_context_mut();
        self.host_switch(&mut store, event, values)?.run_async(&mut store).await
    }

    #[allow(clippy::type_complexity, reason = "the closures have no names")]
    fn host_switch<T>(
        self,
        store: &mut StoreContextMut<'_, T>,
        event: Tag,
        values: &[Val],
    ) -> Result<HostSwitch<(), impl Enter<()> + use<T>, impl Finish<(), T, Arrived> + use<T>>> {
        self.0.stack.check(&store.0.runtime)?;
        self.0.heap()?;
        check_event(store, event)?;
        let runtime = &mut *store.0.runtime;
        let (sent, event) = event_word(runtime, event)?;
        self.0.stack.prepare(runtime)?;
        transfer::put_values(runtime, &sent[..sent.len() - 1], values)?;
        let reference = self.0.stack.spend().reference;
        let enter = move |(): &(), runtime, poller| {
            // SAFETY: the host held the stack, and the values have the types of the event, whose
            // last one is a stack.
            unsafe { switch::send(runtime, reference, event, poller) }
        };
        // SAFETY: as above.
        Ok(unsafe { HostSwitch::new((), enter, arrived) })
    }
}

/// Fails unless an event has a stack as its last value.
pub(super) fn check_event<T>(store: &mut StoreContextMut<'_, T>, event: Tag) -> Result<()> {
    let is_stack = stackref(store)?;
    let ty = event.ty_in(&store.0.runtime)?.ty;
    ensure!(
        ty.params().last() == Some(&is_stack) && ty.results().is_empty(),
        "expected an event whose last value is a stack, found {ty}"
    );
    Ok(())
}

/// The types of the values of an event, and its clause.
pub(super) fn event_word(runtime: &RuntimeStore, event: Tag) -> Result<(Vec<ValType>, u64)> {
    let word = handler_word(event.in_store(runtime)?.addr().get(), ClauseKind::Event);
    Ok((event.ty_in(runtime)?.ty.params().to_vec(), word))
}

/// What came to the host's stack. An event is an exception that nothing catches there.
fn arrived<T>((): (), store: &mut StoreContextMut<'_, T>, ended: Result<()>) -> Result<Arrived> {
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
