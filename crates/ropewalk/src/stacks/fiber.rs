//! Fibers that the host mounts.

use crate::reference::{ContRef, Owned};
use crate::stacks::clause::handlers;
use crate::stacks::host_switch::{Enter, Finish, HostSwitch};
use crate::stacks::shared_handle::shared_handle;
use crate::stacks::suspension::event_type;
use crate::stacks::transfer;
use crate::store::{AsContext, AsContextMut, StoreContextMut};
use crate::value::tag::Tag;
use crate::value::val::Val;
use anyhow::{Result, ensure};
use ropewalk_abi::clauses::List;
use ropewalk_abi::stack::{ClauseKind, StackKind};
use ropewalk_runtime::host::switch;
use ropewalk_runtime::{Store as RuntimeStore, Trap};

shared_handle! {
    /// A fiber, which the host can mount.
    ///
    /// A fiber begins in code of the module that makes it. The host gets it as the result of a
    /// typed call. Events are tags:
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (tag $go (export "go") (param i32))
    ///       (tag $stop (export "stop"))
    ///       (tag $sum (export "sum") (param i32))
    ///       (func $run (param $me fiberref) (param $x i32) (local $all i32)
    ///         (loop $more
    ///           (local.set $all (i32.add (local.get $all) (local.get $x)))
    ///           (block $went (result i32)
    ///             (block $stopped
    ///               (fiber.dismount $sum (on $go $went) (on $stop $stopped)
    ///                 (local.get $all) (local.get $me))
    ///               (unreachable))
    ///             (return))
    ///           (local.set $x)
    ///           (br $more)))
    ///       (tag $end (export "end"))
    ///       (func (export "new") (result fiberref) (fiber.new $end (on $go $run))))
    /// "#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let [go, stop, sum, end] = ["go", "stop", "sum", "end"]
    ///     .map(|name| instance.get_tag(&mut store, name).unwrap());
    /// let new = instance.get_typed_func::<(), Option<Fiber>>(&mut store, "new")?;
    /// let fiber = new.call(&mut store, ())?.unwrap();
    ///
    /// // It has not begun, and begins with `go` only.
    /// let on = [sum, end];
    /// assert!(matches!(fiber.mount(&mut store, stop, &[], &on)?, Mounted::NotHandled));
    /// for (x, expected) in [(3, 3), (4, 7)] {
    ///     match fiber.mount(&mut store, go, &[Val::I32(x)], &on)? {
    ///         Mounted::Event { tag, values } if tag == sum => {
    ///             assert_eq!(values[0].i32(), Some(expected));
    ///         }
    ///         other => panic!("{other:?}"),
    ///     }
    /// }
    /// let ended = fiber.mount(&mut store, stop, &[], &on)?;
    /// assert!(matches!(ended, Mounted::Event { tag, .. } if tag == end));
    /// assert!(fiber.is_moribund(&store)?);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// A fiber has an identity. References of WebAssembly may name the same fiber. The collector
    /// frees it when nothing names it, and [`release`](Fiber::release) frees it at once.
    Fiber: StackKind::Fiber, "a fiber";
}

/// The result of mounting a fiber. [`Fiber`] has an example.
#[derive(Debug)]
pub enum Mounted {
    /// The fiber does not expect the event where it is suspended. Nothing has run.
    NotHandled,
    /// An event came back: the fiber, or one that has taken its place, has dismounted or returned
    /// with it.
    Event {
        /// The event.
        tag: Tag,
        /// Its values.
        values: Vec<Val>,
    },
}

impl Fiber {
    /// Mounts it with an event and its values, as `fiber.mount` does: it must have no control
    /// parent. The host becomes its parent, and expects the events in `on`. With another event
    /// the fiber cannot dismount: the instruction falls through. If it returns with another
    /// event, that traps.
    ///
    /// An exception that it does not catch, a trap, or an error of a host function is the
    /// error, and makes it moribund.
    pub fn mount(
        &self,
        mut store: impl AsContextMut,
        event: Tag,
        values: &[Val],
        on: &[Tag],
    ) -> Result<Mounted> {
        let mut store = store.as_context_mut();
        match self.mounting(&mut store, event, values, on)? {
            Some(mounting) => mounting.run(&mut store),
            None => Ok(Mounted::NotHandled),
        }
    }

    /// Mounts it in a future, which waits for pending host calls.
    pub async fn mount_async(
        &self,
        mut store: impl AsContextMut<Data: Send>,
        event: Tag,
        values: &[Val],
        on: &[Tag],
    ) -> Result<Mounted> {
        let mut store = store.as_context_mut();
        match self.mounting(&mut store, event, values, on)? {
            Some(mounting) => mounting.run_async(&mut store).await,
            None => Ok(Mounted::NotHandled),
        }
    }

    /// Whether a host function can dismount it with an event: it is running, and its control parent
    /// expects the event. [`Suspension::of_fiber`](crate::Suspension::of_fiber) dismounts it.
    pub fn can_dismount(&self, store: impl AsContext, event: Tag) -> Result<bool> {
        let runtime = store.as_context().runtime();
        let signal = runtime.signal_to_parent(self.word(runtime)?, event.in_store(runtime)?);
        Ok(signal.is_ok_and(|signal| signal.is_some()))
    }

    /// Puts the values of an event into the transfer area. Returns `None` if the fiber does not
    /// expect the event.
    #[allow(clippy::type_complexity, reason = "the closures have no names")]
    fn mounting<T>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        event: Tag,
        values: &[Val],
        on: &[Tag],
    ) -> Result<
        Option<
            HostSwitch<
                Clauses,
                impl Enter<Clauses> + use<T>,
                impl Finish<Clauses, T, Mounted> + use<T>,
            >,
        >,
    > {
        let runtime = &mut *store.0.runtime;
        let word = self.word(runtime)?;
        let clauses = handlers(runtime, on, ClauseKind::Event)?;
        let def = event.in_store(runtime)?;
        let ty = event_type(runtime, event)?;
        transfer::put_values(runtime, ty.params(), values)?;
        let signal = runtime.expected_event(word, def).map_err(Trap::from_code)?;
        let mounting = |signal| {
            let enter = move |clauses: &Clauses, runtime, poller| {
                // SAFETY: the fiber expects the event, and the values have its types. The clauses
                // are on the heap.
                unsafe { switch::mount(runtime, word, signal, clauses, poller) }
            };
            // SAFETY: as above.
            unsafe { HostSwitch::new(clauses, enter, came_back) }
        };
        Ok(signal.map(mounting))
    }
}

/// The events that the host expects.
type Clauses = List<Vec<u64>>;

fn came_back<T>(
    clauses: Clauses,
    store: &mut StoreContextMut<'_, T>,
    ended: Result<()>,
) -> Result<Mounted> {
    ended?;
    let runtime = &mut *store.0.runtime;
    let tag = Tag::from_def(runtime, runtime.event_of(clauses.clauses()));
    let ty = tag.ty_in(runtime)?.ty;
    // SAFETY: values of the event came with it.
    let values = unsafe { transfer::values_of(runtime, ty.params()) };
    Ok(Mounted::Event { tag, values })
}
