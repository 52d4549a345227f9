//! Fibers that the host mounts.

use crate::host::polled_call::continued;
use crate::items::call::ended;
use crate::reference::{ContRef, Owned};
use crate::stacks::clause::handlers;
use crate::stacks::identity::named;
use crate::stacks::transfer;
use crate::store::{AsContext, AsContextMut, StoreContextMut};
use crate::value::tag::Tag;
use crate::value::val::Val;
use anyhow::{Result, ensure};
use ropewalk_abi::clauses::List;
use ropewalk_abi::stack::{ClauseKind, StackKind};
use ropewalk_runtime::host::switch;
use ropewalk_runtime::{NOBODY, Store as RuntimeStore, Trap};

named! {
    /// A fiber, which the host can mount.
    ///
    /// A module makes it, since a fiber begins in code of the module that makes it; a typed
    /// call gives it to the host. Events are tags:
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
    /// A fiber has an identity: this names it, as references of WebAssembly may too. The
    /// collector frees it when nothing names it any more, and [`release`](Fiber::release)
    /// does at once.
    Fiber: StackKind::Fiber, "a fiber";
}

/// What came of mounting a fiber. [`Fiber`] has an example.
#[derive(Debug)]
pub enum Mounted {
    /// The fiber does not expect the event where it is suspended: nothing was switched.
    NotHandled,
    /// An event came back: the fiber, or one that has taken its place, has dismounted with
    /// it, or has returned.
    Event {
        /// The event.
        tag: Tag,
        /// Its values.
        values: Vec<Val>,
    },
}

/// A fiber that is about to be mounted, with an event that it expects.
struct Mounting {
    word: u64,
    signal: u64,
    handlers: List<Vec<u64>>,
}

impl Fiber {
    /// Mounts it with an event and its values, as `fiber.mount` does: it must have no control
    /// parent. The host becomes that, and expects some events. With another one the fiber
    /// cannot dismount: its instruction falls through; if it returns with another one, that
    /// traps.
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
        let Some(Mounting { word, signal, handlers }) =
            self.begin(&mut store, event, values, on)?
        else {
            return Ok(Mounted::NotHandled);
        };
        // SAFETY: the fiber expects the event, and the values have its types.
        let stop = unsafe { switch::mount(store.enter(), word, signal, &handlers, NOBODY) };
        ended(stop)?;
        came_back(&mut store, &handlers)
    }

    /// Mounts it in a future, which waits for host functions that are not ready.
    pub async fn mount_async(
        &self,
        mut store: impl AsContextMut<Data: Send>,
        event: Tag,
        values: &[Val],
        on: &[Tag],
    ) -> Result<Mounted> {
        let mut store = store.as_context_mut();
        let Some(Mounting { word, signal, handlers }) =
            self.begin(&mut store, event, values, on)?
        else {
            return Ok(Mounted::NotHandled);
        };
        // SAFETY: as in `mount`; the values are put where they are just before it is mounted.
        // The clauses are on the heap.
        unsafe {
            continued(&mut store, |runtime, poller| {
                switch::mount(runtime, word, signal, &handlers, poller)
            })
        }
        .await?;
        came_back(&mut store, &handlers)
    }

    /// Puts the values of an event into the transfer area; nothing if the fiber does not
    /// expect it.
    fn begin<T>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        event: Tag,
        values: &[Val],
        on: &[Tag],
    ) -> Result<Option<Mounting>> {
        let runtime = &mut *store.0.runtime;
        let word = self.word(runtime)?;
        let handlers = handlers(runtime, on, ClauseKind::Event)?;
        let def = event.in_store(runtime)?;
        let ty = event.ty_in(runtime)?;
        ensure!(ty.ty.results().is_empty(), "the tag of an event has no results: {ty}");
        transfer::put_values(runtime, ty.ty.params(), values)?;
        let signal = runtime.expected_event(word, def).map_err(Trap::from_code)?;
        Ok(signal.map(|signal| Mounting { word, signal, handlers }))
    }
}

/// The event that came back.
fn came_back<T>(store: &mut StoreContextMut<'_, T>, handlers: &List<Vec<u64>>) -> Result<Mounted> {
    let runtime = &mut *store.0.runtime;
    let tag = Tag::from_def(runtime, runtime.event_of(handlers.clauses()));
    let ty = tag.ty_in(runtime)?.ty;
    // SAFETY: values of the event came with it.
    let values = unsafe { transfer::values_of(runtime, ty.params()) };
    Ok(Mounted::Event { tag, values })
}
