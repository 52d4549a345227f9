//! Continuations that C owns.

use crate::items::trap::{exception, of_error};
use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::{Data, StoreRef};
use crate::objects::value::{load_all, store_all, wasm_val_t};
use crate::support::boundary::{Out, catch, or_default, required};
use crate::support::error::{fill_or_error, ropewalk_error_t};
use crate::support::owned::deleted;
use crate::support::vector::{Vector, elements, elements_or_none};
use crate::types::externtype::wasm_externtype_t;
use anyhow::{Result, bail};
use ropewalk::{Continuation, ExternType, Reference, Resumed, StoreContextMut, Val};
use std::mem;

/// A continuation that has not started or is suspended. C is its only owner.
pub struct ropewalk_continuation_t {
    store: StoreRef,
    continuation: Continuation,
}

/// The result of resuming a continuation.
#[repr(C)]
#[derive(Default)]
pub struct ropewalk_resumed_t {
    kind: u8,
    values: Vector<wasm_val_t>,
    tag: Option<Box<wasm_ref_t>>,
    continuation: Option<Box<ropewalk_continuation_t>>,
    trap: Option<Box<wasm_ref_t>>,
}

const RETURNED: u8 = 0;
const SUSPENDED: u8 = 1;
const TRAPPED: u8 = 2;

type Values<'a> = Option<&'a Vector<wasm_val_t>>;

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_continuation_new(
    func: Option<&wasm_ref_t>,
    out: Out<'_, Option<Box<ropewalk_continuation_t>>>,
) -> Option<Box<ropewalk_error_t>> {
    fill_or_error(out, || {
        let (store, func) = required(func, "a function")?.func()?;
        let continuation = store.enter(|context| Continuation::new(context, func))?;
        Ok(Some(Box::new(ropewalk_continuation_t { store: store.clone(), continuation })))
    })
}

/// Copies a continuation.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_continuation_try_clone(
    continuation: Option<&ropewalk_continuation_t>,
    out: Out<'_, Option<Box<ropewalk_continuation_t>>>,
) -> Option<Box<ropewalk_error_t>> {
    fill_or_error(out, || {
        let ropewalk_continuation_t { store, continuation } =
            required(continuation, "a continuation")?;
        let copy = store.enter(|context| continuation.try_clone(context))?;
        Ok(Some(Box::new(ropewalk_continuation_t { store: store.clone(), continuation: copy })))
    })
}

/// Takes a continuation from WebAssembly by a reference to it.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_continuation_from_ref(
    reference: Option<&wasm_ref_t>,
    out: Out<'_, Option<Box<ropewalk_continuation_t>>>,
) -> Option<Box<ropewalk_error_t>> {
    fill_or_error(out, || {
        let reference = required(reference, "a continuation")?;
        let Object::Continuation(owned, _) = &reference.object else {
            bail!("expected a continuation, found {}", reference.object.name());
        };
        let store = reference.store()?.clone();
        let continuation = store.enter(|mut context| {
            let reference = owned.get(&mut context)?;
            Continuation::from_ref(context, reference)
        })?;
        Ok(Some(Box::new(ropewalk_continuation_t { store, continuation })))
    })
}

/// Returns a continuation to WebAssembly, as a reference.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_continuation_into_ref(
    continuation: Option<Box<ropewalk_continuation_t>>,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        let ropewalk_continuation_t { store, continuation } =
            *required(continuation, "a continuation")?;
        let reference =
            store.enter(|mut context| continuation.into_ref(&mut context)?.own(context))?;
        wasm_ref_t::boxed(&store, Object::Continuation(reference, Default::default()))
    })
}

/// The values that resuming it takes, and the results of its function.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_continuation_type(
    continuation: Option<&ropewalk_continuation_t>,
) -> Option<Box<wasm_externtype_t>> {
    or_default(|| {
        let this = required(continuation, "a continuation")?;
        this.store.enter(|context| {
            let ty = ExternType::Func(this.continuation.ty(&context)?);
            Ok(Some(Box::new(wasm_externtype_t::of(context.engine(), &ty))))
        })
    })
}

deleted! {
    "ropewalk_continuation": ropewalk_continuation_t;
}

/// Resumes a continuation by `run`, and stores the result.
fn resume(
    continuation: Option<Box<ropewalk_continuation_t>>,
    out: Out<'_, ropewalk_resumed_t>,
    run: impl FnOnce(&StoreRef, StoreContextMut<'_, Data>, Continuation) -> Result<Resumed>,
) {
    or_default(|| {
        let out = required(out, "a location for the result")?.write(Default::default());
        let store = continuation.as_ref().map(|continuation| continuation.store.clone());
        *out = catch(|| {
            let ropewalk_continuation_t { store, continuation } =
                *required(continuation, "a continuation")?;
            store.enter(|mut context| {
                use ropewalk::AsContextMut;
                let resumed = run(&store, context.as_context_mut(), continuation)?;
                resumed_of(&store, context, resumed)
            })
        })
        .unwrap_or_else(|error| ropewalk_resumed_t {
            kind: TRAPPED,
            trap: Some(of_error(error, store.as_ref())),
            ..Default::default()
        });
        Ok(())
    });
}

fn resumed_of(
    store: &StoreRef,
    context: StoreContextMut<'_, Data>,
    resumed: Resumed,
) -> Result<ropewalk_resumed_t> {
    let values = |context, values: &[Val]| store_all(store, context, values).map(Vector::new);
    Ok(match resumed {
        Resumed::Returned(results) => ropewalk_resumed_t {
            kind: RETURNED,
            values: values(context, &results)?,
            ..Default::default()
        },
        Resumed::Suspended { tag, values: found, continuation } => ropewalk_resumed_t {
            kind: SUSPENDED,
            values: values(context, &found)?,
            tag: wasm_ref_t::boxed(store, Object::Tag(tag))?,
            continuation: Some(Box::new(ropewalk_continuation_t {
                store: store.clone(),
                continuation,
            })),
            trap: None,
        },
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_continuation_resume(
    continuation: Option<Box<ropewalk_continuation_t>>,
    arguments: Values<'_>,
    out: Out<'_, ropewalk_resumed_t>,
) {
    resume(continuation, out, |_, mut context, continuation| {
        let arguments = load_all(&mut context, elements_or_none(arguments)?)?;
        continuation.resume(context, &arguments)
    });
}

/// # Safety
///
/// `tags` must have `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_continuation_resume_on(
    continuation: Option<Box<ropewalk_continuation_t>>,
    count: usize,
    tags: *const Option<&wasm_ref_t>,
    arguments: Values<'_>,
    out: Out<'_, ropewalk_resumed_t>,
) {
    resume(continuation, out, |_, mut context, continuation| {
        // SAFETY: the caller's promise.
        let tags = unsafe { elements(tags, count)? };
        let tags = tags.iter().map(|tag| Ok(required(*tag, "a tag")?.tag()?.1));
        let tags = tags.collect::<Result<Vec<_>>>()?;
        let arguments = load_all(&mut context, elements_or_none(arguments)?)?;
        continuation.resume_on(context, &tags, &arguments)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_continuation_throw(
    continuation: Option<Box<ropewalk_continuation_t>>,
    tag: Option<&wasm_ref_t>,
    values: Values<'_>,
    out: Out<'_, ropewalk_resumed_t>,
) {
    let exception = catch(|| {
        let (store, tag) = required(tag, "a tag")?.tag()?;
        exception(store, tag, elements_or_none(values)?)
    });
    resume(continuation, out, |_, context, continuation| {
        continuation.resume_throw(context, &exception?)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_resumed_delete(resumed: Option<&mut ropewalk_resumed_t>) {
    or_default(|| {
        // C keeps a result that owns nothing and can be deleted again.
        drop(resumed.map(mem::take));
        Ok(())
    });
}
