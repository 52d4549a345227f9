//! Functions.

use crate::items::trap::or_trap;
use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::{Data, StoreRef, wasm_store_t};
use crate::objects::value::{load_all, store_all, wasm_val_t};
use crate::support::boundary::{or_default, required};
use crate::support::host_info::{Attached, Finalizer};
use crate::support::vector::{Vector, elements_or_none};
use crate::types::externtype::wasm_externtype_t;
use crate::types::valtype::kind_of;
use anyhow::{Context, Result, ensure};
use ropewalk::{Caller, Func, FuncType, Val};
use std::ffi::c_void;

type Values = Vector<wasm_val_t>;

type Plain = unsafe extern "C" fn(*const Values, *mut Values) -> Option<Box<wasm_ref_t>>;
type WithEnv =
    unsafe extern "C" fn(*mut c_void, *const Values, *mut Values) -> Option<Box<wasm_ref_t>>;

/// A host function in C, with its environment.
enum Callback {
    Plain(Plain),
    WithEnv(WithEnv, Attached),
}

impl Callback {
    /// Calls the function for WebAssembly.
    fn call(
        &self,
        mut caller: Caller<'_, Data>,
        ty: &FuncType,
        arguments: &[Val],
        results: &mut [Val],
    ) -> Result<()> {
        let store = StoreRef::of(&caller)?;
        let arguments = Vector::new(store_all(&store, &mut caller, arguments)?);
        let zero = |ty| wasm_val_t::zero(kind_of(caller.engine(), ty));
        let mut found = Vector::new(ty.results().iter().copied().map(zero).collect());
        let trap = store.lend(&mut caller, || {
            // SAFETY: C promises that the function has this signature.
            unsafe {
                match self {
                    Callback::Plain(function) => function(&arguments, &mut found),
                    Callback::WithEnv(function, env) => {
                        function(env.pointer, &arguments, &mut found)
                    }
                }
            }
        });
        if let Some(trap) = trap {
            return Err(trap.thrown()?.error(&mut caller));
        }
        let found =
            found.elements().and_then(|found| load_all(caller, found)).context("in the results")?;
        let (expected, found_len) = (results.len(), found.len());
        ensure!(found_len == expected, "expected {expected} results, found {found_len}");
        results.copy_from_slice(&found);
        Ok(())
    }
}

fn new(
    store: Option<&wasm_store_t>,
    ty: Option<&wasm_externtype_t>,
    callback: Callback,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        let store = &required(store, "a store")?.0;
        let ty = required(ty, "a function type")?.func()?;
        let func = store.enter(|context| {
            let known = ty.clone();
            Func::new(context, ty, move |caller, arguments, results| {
                callback.call(caller, &known, arguments, results)
            })
        })?;
        wasm_ref_t::boxed(store, Object::Func(func))
    })
}

/// # Safety
///
/// The function must have the signature of `wasm_func_callback_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wasm_func_new(
    store: Option<&wasm_store_t>,
    ty: Option<&wasm_externtype_t>,
    callback: Option<Plain>,
) -> Option<Box<wasm_ref_t>> {
    let callback = or_default(|| required(callback, "a function").map(Some))?;
    new(store, ty, Callback::Plain(callback))
}

/// # Safety
///
/// The functions must have the signatures of the header, and any thread that uses the store must
/// be able to use what `env` points to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wasm_func_new_with_env(
    store: Option<&wasm_store_t>,
    ty: Option<&wasm_externtype_t>,
    callback: Option<WithEnv>,
    env: *mut c_void,
    finalizer: Finalizer,
) -> Option<Box<wasm_ref_t>> {
    // From here on the finalizer is called even on failure.
    let env = Attached::new(env, finalizer);
    let callback = or_default(|| required(callback, "a function").map(Some))?;
    new(store, ty, Callback::WithEnv(callback, env))
}

impl wasm_ref_t {
    fn func_type(&self) -> Result<(&StoreRef, FuncType)> {
        let (store, func) = self.func()?;
        Ok((store, store.enter(|context| func.ty(context))?))
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_func_param_arity(func: Option<&wasm_ref_t>) -> usize {
    or_default(|| Ok(required(func, "a function")?.func_type()?.1.params().len()))
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_func_result_arity(func: Option<&wasm_ref_t>) -> usize {
    or_default(|| Ok(required(func, "a function")?.func_type()?.1.results().len()))
}

/// # Safety
///
/// `results` must have room for as many values as its size says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wasm_func_call(
    func: Option<&wasm_ref_t>,
    arguments: Option<&Values>,
    results: Option<&mut Values>,
) -> Option<Box<wasm_ref_t>> {
    let store = func.and_then(|func| func.store.as_ref());
    or_trap(store, || {
        let (store, func) = required(func, "a function")?.func()?;
        let arguments = elements_or_none(arguments)?;
        let (locations, count) =
            results.map_or(Ok((std::ptr::null_mut(), 0)), Vector::locations)?;
        let found = store.enter(|mut context| {
            let arguments = load_all(&mut context, arguments)?;
            let mut found = vec![Val::I32(0); count];
            func.call(&mut context, &arguments, &mut found)?;
            store_all(store, context, &found)
        })?;
        for (i, value) in found.into_iter().enumerate() {
            // SAFETY: there is room for `count` values, and the locations own nothing.
            unsafe { locations.add(i).write(value) };
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::trap::wasm_trap_message;
    use crate::objects::engine::wasm_engine_new;
    use crate::objects::store::wasm_store_new;
    use std::mem::MaybeUninit;

    #[test]
    fn a_panic_in_a_host_function_is_a_trap_and_releases_the_store() {
        let engine = wasm_engine_new();
        let store = wasm_store_new(engine.as_deref()).expect("a store");
        let func = store.0.enter(|context| {
            let ty = FuncType::new([], []);
            Func::new(context, ty, |_, _, _| panic!("in a host function"))
        });
        let func = wasm_ref_t::new(&store.0, Object::Func(func.expect("a function")));
        // SAFETY: there are no results.
        let trap = unsafe { wasm_func_call(Some(&func), None, None) };
        let mut message = MaybeUninit::uninit();
        wasm_trap_message(trap.as_deref(), Some(&mut message));
        // SAFETY: `wasm_trap_message` has initialized it.
        let message = unsafe { message.assume_init() };
        let expected = "the engine panicked, which is a bug: in a host function";
        assert_eq!(message.to_text().expect("text"), expected);
        assert_eq!(wasm_func_result_arity(Some(&func)), 0);
        store.0.enter(|_| Ok(())).expect("the store is idle");
    }
}
