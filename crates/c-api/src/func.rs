//! Functions.

use crate::boundary::{answer, required};
use crate::externtype::wasm_externtype_t;
use crate::host_info::{Attached, Finalizer};
use crate::reference::{Object, wasm_ref_t};
use crate::store::{Data, StoreRef, wasm_store_t};
use crate::trap::trapped;
use crate::valtype::kind_of;
use crate::value::{load_all, store_all, wasm_val_t};
use crate::vector::{Vector, elements_or_none};
use anyhow::{Context, Result, ensure};
use ropewalk::{Caller, ExternType, Func, FuncType, Val};
use std::ffi::c_void;

type Values = Vector<wasm_val_t>;

type Plain = unsafe extern "C" fn(*const Values, *mut Values) -> Option<Box<wasm_ref_t>>;
type WithEnv =
    unsafe extern "C" fn(*mut c_void, *const Values, *mut Values) -> Option<Box<wasm_ref_t>>;

/// A function of C's, with what it closes over.
enum Callback {
    Plain(Plain),
    WithEnv(WithEnv, Attached),
}

impl Callback {
    /// Calls it for WebAssembly.
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
            // SAFETY: C gave the function as one of this shape.
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
    answer(|| {
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
/// The function must be one of the shape of `wasm_func_callback_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wasm_func_new(
    store: Option<&wasm_store_t>,
    ty: Option<&wasm_externtype_t>,
    callback: Option<Plain>,
) -> Option<Box<wasm_ref_t>> {
    let callback = answer(|| required(callback, "a function").map(Some))?;
    new(store, ty, Callback::Plain(callback))
}

/// # Safety
///
/// The functions must be of the shapes that the header says, and what `env` points to be
/// fit for whichever thread uses the store.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wasm_func_new_with_env(
    store: Option<&wasm_store_t>,
    ty: Option<&wasm_externtype_t>,
    callback: Option<WithEnv>,
    env: *mut c_void,
    finalizer: Finalizer,
) -> Option<Box<wasm_ref_t>> {
    // From here on the finalizer is called, also if this fails.
    let env = Attached::new(env, finalizer);
    let callback = answer(|| required(callback, "a function").map(Some))?;
    new(store, ty, Callback::WithEnv(callback, env))
}

impl wasm_ref_t {
    fn func_type(&self) -> Result<(&StoreRef, FuncType)> {
        let (store, func) = self.func()?;
        Ok((store, store.enter(|context| func.ty(context))?))
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_func_type(func: Option<&wasm_ref_t>) -> Option<Box<wasm_externtype_t>> {
    answer(|| {
        let (store, ty) = required(func, "a function")?.func_type()?;
        let ty = ExternType::Func(ty);
        let engine = store.enter(|context| Ok(context.engine().clone()))?;
        Ok(Some(Box::new(wasm_externtype_t::of(&engine, &ty))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_func_param_arity(func: Option<&wasm_ref_t>) -> usize {
    answer(|| Ok(required(func, "a function")?.func_type()?.1.params().len()))
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_func_result_arity(func: Option<&wasm_ref_t>) -> usize {
    answer(|| Ok(required(func, "a function")?.func_type()?.1.results().len()))
}

/// # Safety
///
/// `results` must have as many places as it says, whatever is in them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wasm_func_call(
    func: Option<&wasm_ref_t>,
    arguments: Option<&Values>,
    results: Option<&mut Values>,
) -> Option<Box<wasm_ref_t>> {
    let store = func.and_then(|func| func.store.as_ref());
    trapped(store, || {
        let (store, func) = required(func, "a function")?.func()?;
        let arguments = elements_or_none(arguments)?;
        let (places, count) = results.map_or(Ok((std::ptr::null_mut(), 0)), Vector::places)?;
        let found = store.enter(|mut context| {
            let arguments = load_all(&mut context, arguments)?;
            let mut found = vec![Val::I32(0); count];
            func.call(&mut context, &arguments, &mut found)?;
            store_all(store, context, &found)
        })?;
        for (i, value) in found.into_iter().enumerate() {
            // SAFETY: there are as many places, which own nothing.
            unsafe { places.add(i).write(value) };
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{wasm_engine_delete, wasm_engine_new};
    use crate::reference::wasm_func_delete;
    use crate::store::{wasm_store_delete, wasm_store_new};
    use crate::trap::wasm_trap_message;
    use std::mem::MaybeUninit;

    #[test]
    fn a_panic_while_webassembly_runs_is_a_trap_and_the_store_is_not_left_in_use() {
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
        // SAFETY: it was written.
        let message = unsafe { message.assume_init() };
        let expected = "a bug of the engine, which panicked: in a host function";
        assert_eq!(message.to_text().expect("text"), expected);
        assert_eq!(wasm_func_result_arity(Some(&func)), 0);
        store.0.enter(|_| Ok(())).expect("nobody uses it");
        wasm_func_delete(Some(Box::new(func)));
        wasm_store_delete(Some(store));
        wasm_engine_delete(engine);
    }
}
