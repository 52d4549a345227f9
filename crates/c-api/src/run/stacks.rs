//! Tasks, fibers, stacks of a bag and first-class stacks in the hands of C.

use crate::items::trap::{of_error, suspension};
use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::{Data, StoreRef, wasm_store_t};
use crate::objects::trap_cause::{Cause, Thrown};
use crate::objects::value::{load_all, store_all, wasm_val_t};
use crate::support::boundary::{Out, catch, or_default, required};
use crate::support::error::{fill_or_error, or_error, ropewalk_error_t};
use crate::support::owned::deleted;
use crate::support::vector::{Vector, elements, elements_or_none};
use anyhow::{Result, bail};
use ropewalk::{
    Arrived, BagStack, ContRef, Fiber, FirstClassStack, Mounted, Owned, StoreContextMut,
    Suspension, Switched, Tag, Task, TaskResumed, Val,
};
use std::mem;

/// A handle of a store.
pub struct Handle<H> {
    store: StoreRef,
    handle: H,
}

pub type ropewalk_task_t = Handle<Task>;
pub type ropewalk_fiber_t = Handle<Fiber>;
pub type ropewalk_bag_stack_t = Handle<BagStack>;
pub type ropewalk_first_class_stack_t = Handle<FirstClassStack>;

type Boxed<H> = Option<Box<Handle<H>>>;
type Values<'a> = Option<&'a Vector<wasm_val_t>>;
type Trap = Option<Box<wasm_ref_t>>;

/// What came back to C after it has continued a stack.
#[repr(C)]
#[derive(Default)]
pub struct ropewalk_switched_t {
    kind: u8,
    values: Vector<wasm_val_t>,
    tag: Option<Box<wasm_ref_t>>,
    bag_stack: Boxed<BagStack>,
    first_class_stack: Boxed<FirstClassStack>,
    trap: Trap,
}

const CAME_BACK: u8 = 0;
const FINISHED: u8 = 1;
const NOT_HANDLED: u8 = 2;
const FAILED: u8 = 3;

deleted! {
    "ropewalk_task": ropewalk_task_t;
    "ropewalk_fiber": ropewalk_fiber_t;
    "ropewalk_bag_stack": ropewalk_bag_stack_t;
    "ropewalk_first_class_stack": ropewalk_first_class_stack_t;
}

impl<H> Handle<H> {
    fn boxed(store: &StoreRef, handle: H) -> Boxed<H> {
        Some(Box::new(Handle { store: store.clone(), handle }))
    }

    /// The handle for a reference.
    fn from_ref(
        reference: Option<&wasm_ref_t>,
        out: Out<'_, Boxed<H>>,
        take: impl FnOnce(StoreContextMut<'_, Data>, ContRef) -> Result<H>,
    ) -> Option<Box<ropewalk_error_t>> {
        fill_or_error(out, || {
            let owned = self::reference(reference)?;
            let store = required(reference, "a stack")?.store()?;
            let handle = store.enter(|mut context| {
                let reference = owned.get(&mut context)?;
                take(context, reference)
            })?;
            Ok(Handle::boxed(store, handle))
        })
    }
}

fn reference_to(
    store: &StoreRef,
    reference: impl FnOnce(&mut StoreContextMut<'_, Data>) -> Result<ContRef>,
) -> Result<Option<Box<wasm_ref_t>>> {
    let owned = store.enter(|mut context| {
        use ropewalk::Reference;
        reference(&mut context)?.own(context)
    })?;
    wasm_ref_t::boxed(store, Object::Continuation(owned, Default::default()))
}

/// Defines the functions of the handles of all designs.
macro_rules! from_ref {
    ($($name:literal: $ty:ty;)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("ropewalk_", $name, "_from_ref"))]
            extern "C" fn from_ref(
                reference: Option<&wasm_ref_t>,
                out: Out<'_, Boxed<$ty>>,
            ) -> Option<Box<ropewalk_error_t>> {
                Handle::from_ref(reference, out, |context, found| <$ty>::from_ref(context, found))
            }
        };
    )*};
}

from_ref! {
    "task": Task;
    "fiber": Fiber;
    "bag_stack": BagStack;
    "first_class_stack": FirstClassStack;
}

/// Defines the functions of handles that share their stack with WebAssembly.
macro_rules! shared {
    ($($name:literal: $ty:ty, $what:literal;)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("ropewalk_", $name, "_reference"))]
            extern "C" fn reference(this: Option<&Handle<$ty>>) -> Option<Box<wasm_ref_t>> {
                or_default(|| {
                    let Handle { store, handle } = required(this, $what)?;
                    reference_to(store, |context| handle.reference(context))
                })
            }

            #[unsafe(export_name = concat!("ropewalk_", $name, "_is_suspended"))]
            extern "C" fn is_suspended(this: Option<&Handle<$ty>>) -> bool {
                or_default(|| {
                    let Handle { store, handle } = required(this, $what)?;
                    store.enter(|context| handle.is_suspended(&context))
                })
            }

            #[unsafe(export_name = concat!("ropewalk_", $name, "_is_moribund"))]
            extern "C" fn is_moribund(this: Option<&Handle<$ty>>) -> bool {
                or_default(|| {
                    let Handle { store, handle } = required(this, $what)?;
                    store.enter(|context| handle.is_moribund(&context))
                })
            }

            #[unsafe(export_name = concat!("ropewalk_", $name, "_release"))]
            extern "C" fn release(this: Option<&Handle<$ty>>) -> Option<Box<ropewalk_error_t>> {
                or_error(|| {
                    let Handle { store, handle } = required(this, $what)?;
                    store.enter(|context| handle.release(context))
                })
            }
        };
    )*};
}

shared! {
    "task": Task, "a task";
    "fiber": Fiber, "a fiber";
}

/// Defines the functions of handles that own their stack.
macro_rules! owned {
    ($($name:literal: $ty:ty;)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("ropewalk_", $name, "_into_ref"))]
            extern "C" fn into_ref(this: Boxed<$ty>) -> Option<Box<wasm_ref_t>> {
                or_default(|| {
                    let Handle { store, handle } = *required(this, "a stack")?;
                    reference_to(&store, |context| handle.into_ref(context))
                })
            }

            #[unsafe(export_name = concat!("ropewalk_", $name, "_try_clone"))]
            extern "C" fn try_clone(
                this: Option<&Handle<$ty>>,
                out: Out<'_, Boxed<$ty>>,
            ) -> Option<Box<ropewalk_error_t>> {
                fill_or_error(out, || {
                    let Handle { store, handle } = required(this, "a stack")?;
                    let copy = store.enter(|context| handle.try_clone(context))?;
                    Ok(Handle::boxed(store, copy))
                })
            }
        };
    )*};
}

owned! {
    "bag_stack": BagStack;
    "first_class_stack": FirstClassStack;
}

// ---- continuing stacks

/// Continues a stack by `run`, and stores what came back. `read` reads the other arguments.
fn switch<A>(
    store: Option<&StoreRef>,
    out: Out<'_, ropewalk_switched_t>,
    read: impl FnOnce() -> Result<A>,
    run: impl FnOnce(&StoreRef, StoreContextMut<'_, Data>, A) -> Result<ropewalk_switched_t>,
) {
    or_default(|| {
        let out = required(out, "a location for the result")?.write(Default::default());
        *out = catch(|| {
            let arguments = read()?;
            let store = required(store, "a stack")?;
            store.enter(|context| run(store, context, arguments))
        })
        .unwrap_or_else(|error| ropewalk_switched_t {
            kind: FAILED,
            trap: Some(of_error(error, store)),
            ..Default::default()
        });
        Ok(())
    });
}

fn came_back(
    kind: u8,
    store: &StoreRef,
    context: StoreContextMut<'_, Data>,
    values: &[Val],
    tag: Option<Tag>,
) -> Result<ropewalk_switched_t> {
    let tag = tag.map(|tag| Box::new(wasm_ref_t::new(store, Object::Tag(tag))));
    let values = Vector::new(store_all(store, context, values)?);
    Ok(ropewalk_switched_t { kind, values, tag, ..Default::default() })
}

fn store_of<H>(handle: Option<&Handle<H>>) -> Option<&StoreRef> {
    handle.map(|handle| &handle.store)
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_task_resume(
    task: Option<&ropewalk_task_t>,
    arguments: Values<'_>,
    out: Out<'_, ropewalk_switched_t>,
) {
    let read = || elements_or_none(arguments);
    switch(store_of(task), out, read, |store, mut context, arguments| {
        let arguments = load_all(&mut context, arguments)?;
        let resumed = required(task, "a task")?.handle.resume(&mut context, &arguments)?;
        let (kind, values) = match resumed {
            TaskResumed::Suspended(values) => (CAME_BACK, values),
            TaskResumed::Finished(values) => (FINISHED, values),
        };
        came_back(kind, store, context, &values, None)
    });
}

/// # Safety
///
/// `on` must have `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_fiber_mount(
    fiber: Option<&ropewalk_fiber_t>,
    event: Option<&wasm_ref_t>,
    values: Values<'_>,
    count: usize,
    on: *const Option<&wasm_ref_t>,
    out: Out<'_, ropewalk_switched_t>,
) {
    // SAFETY: the caller's promise.
    let read = || Ok((elements_or_none(values)?, unsafe { elements(on, count)? }));
    switch(store_of(fiber), out, read, |store, mut context, (values, on)| {
        let on = on.iter().map(|tag| Ok(required(*tag, "a tag")?.tag()?.1));
        let on = on.collect::<Result<Vec<_>>>()?;
        let event = required(event, "a tag")?.tag()?.1;
        let values = load_all(&mut context, values)?;
        let fiber = &required(fiber, "a fiber")?.handle;
        match fiber.mount(&mut context, event, &values, &on)? {
            Mounted::NotHandled => {
                Ok(ropewalk_switched_t { kind: NOT_HANDLED, ..Default::default() })
            }
            Mounted::Event { tag, values } => {
                came_back(CAME_BACK, store, context, &values, Some(tag))
            }
        }
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_fiber_can_dismount(
    fiber: Option<&ropewalk_fiber_t>,
    event: Option<&wasm_ref_t>,
) -> bool {
    or_default(|| {
        let Handle { store, handle } = required(fiber, "a fiber")?;
        let event = required(event, "a tag")?.tag()?.1;
        store.enter(|context| handle.can_dismount(&context, event))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_bag_stack_switch(
    stack: Boxed<BagStack>,
    values: Values<'_>,
    out: Out<'_, ropewalk_switched_t>,
) {
    let store = store_of(stack.as_deref()).cloned();
    let read = || elements_or_none(values);
    switch(store.as_ref(), out, read, |store, mut context, values| {
        let values = load_all(&mut context, values)?;
        let stack = required(stack, "a stack")?.handle;
        let Switched { values, from } = stack.switch(&mut context, &values)?;
        let mut switched = came_back(CAME_BACK, store, context, &values, None)?;
        switched.bag_stack = from.and_then(|from| Handle::boxed(store, from));
        Ok(switched)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_first_class_stack_new(
    store: Option<&wasm_store_t>,
    ground: Option<&wasm_ref_t>,
    out: Out<'_, Boxed<FirstClassStack>>,
) -> Option<Box<ropewalk_error_t>> {
    fill_or_error(out, || {
        let store = &required(store, "a store")?.0;
        let ground = ground.map(|ground| Ok::<_, anyhow::Error>(ground.func()?.1)).transpose()?;
        let stack = store.enter(|context| FirstClassStack::new(context, ground))?;
        Ok(Handle::boxed(store, stack))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_first_class_stack_switch(
    stack: Boxed<FirstClassStack>,
    event: Option<&wasm_ref_t>,
    values: Values<'_>,
    out: Out<'_, ropewalk_switched_t>,
) {
    let store = store_of(stack.as_deref()).cloned();
    let read = || elements_or_none(values);
    switch(store.as_ref(), out, read, |store, mut context, values| {
        let event = required(event, "a tag")?.tag()?.1;
        let values = load_all(&mut context, values)?;
        let stack = required(stack, "a stack")?.handle;
        let Arrived { tag, values, from } = stack.switch(&mut context, event, &values)?;
        let mut switched = came_back(CAME_BACK, store, context, &values, Some(tag))?;
        switched.first_class_stack = from.and_then(|from| Handle::boxed(store, from));
        Ok(switched)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_switched_delete(switched: Option<&mut ropewalk_switched_t>) {
    or_default(|| {
        // C keeps a result that owns nothing and can be deleted again.
        drop(switched.map(mem::take));
        Ok(())
    });
}

// ---- suspending from a host function

fn trap(cause: impl FnOnce() -> Result<Cause>) -> Trap {
    or_default(|| Ok(Some(wasm_ref_t::trap(Thrown::new(cause()?)))))
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_trap_new_task_suspension(
    task: Option<&ropewalk_task_t>,
    values: Values<'_>,
) -> Trap {
    trap(|| {
        let values = elements_or_none(values)?;
        let task = required(task, "a task")?.handle.clone();
        Ok(suspension(values, move |_, values| Ok(Suspension::of_task(&task, values))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_trap_new_fiber_suspension(
    fiber: Option<&ropewalk_fiber_t>,
    event: Option<&wasm_ref_t>,
    values: Values<'_>,
    on: Option<&wasm_ref_t>,
) -> Trap {
    trap(|| {
        let values = elements_or_none(values)?;
        let fiber = required(fiber, "a fiber")?.handle.clone();
        let event = required(event, "a tag")?.tag()?.1;
        let on = required(on, "a tag")?.tag()?.1;
        Ok(suspension(values, move |_, values| Ok(Suspension::of_fiber(&fiber, event, values, on))))
    })
}

/// A reference to a stack to switch to.
fn reference(stack: Option<&wasm_ref_t>) -> Result<Owned<ContRef>> {
    match &required(stack, "a stack")?.object {
        Object::Continuation(owned, _) => Ok(owned.clone()),
        other => bail!("expected a stack, found {}", other.name()),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_trap_new_bag_switch(
    stack: Option<&wasm_ref_t>,
    values: Values<'_>,
) -> Trap {
    trap(|| {
        let values = elements_or_none(values)?;
        let stack = reference(stack)?;
        Ok(suspension(values, move |caller, values| {
            Ok(Suspension::switch_to(stack.get(caller)?, values))
        }))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_trap_new_first_class_switch(
    stack: Option<&wasm_ref_t>,
    event: Option<&wasm_ref_t>,
    values: Values<'_>,
) -> Trap {
    trap(|| {
        let values = elements_or_none(values)?;
        let stack = reference(stack)?;
        let event = required(event, "a tag")?.tag()?.1;
        Ok(suspension(values, move |caller, values| {
            let stack = stack.get(&mut *caller)?;
            Suspension::send_to(caller, stack, event, values)
        }))
    })
}
