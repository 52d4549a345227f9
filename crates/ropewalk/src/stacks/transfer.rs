//! Values of switches between the host and a stack, which pass through the transfer area.

use crate::items::func::{check_count, raw_value};
use crate::stacks::cont_type::{ContType, Side};
use crate::store::StoreContextMut;
use crate::value::val::Val;
use crate::value::wasm_values::{WasmParams, WasmResults};
use anyhow::Result;
use ropewalk_abi::transfer::ValueClass;
use ropewalk_abi::{RawVal, ValType};
use ropewalk_runtime::Store as RuntimeStore;

/// Writes values. Checks that they have these types.
pub(crate) fn put_values(
    runtime: &mut RuntimeStore,
    types: &[ValType],
    values: &[Val],
) -> Result<()> {
    check_count(types, values)?;
    let area = runtime.transfer_area();
    for (i, value) in values.iter().enumerate() {
        let raw = raw_value(runtime, types, i, value)?;
        // SAFETY: the area has room for the parameters of any function.
        unsafe { area.add(i).write(raw) };
    }
    runtime.tag_transferred(|_| classes(types));
    Ok(())
}

/// Writes values of Rust's types. Checks those that may not have the expected types.
#[inline]
pub(crate) fn put<Params: WasmParams>(
    runtime: &mut RuntimeStore,
    params: Params,
    checked: Option<Side>,
) -> Result<()> {
    runtime.tag_transferred(|_| classes(&Params::types()));
    let area = runtime.transfer_area();
    // SAFETY: the area has room for more values than Rust's tuples have. The types fit, or may fit.
    unsafe {
        match checked.filter(|_| Params::MAY_BE_CHECKED) {
            None => params.store(runtime, area),
            Some(side) => params.store_of(runtime, area, &side.types(runtime.types()), "argument"),
        }
    }
}

/// Reads values.
///
/// # Safety
///
/// They must have these types, and nothing may have been allocated since they were written.
pub(crate) unsafe fn values_of(runtime: &mut RuntimeStore, types: &[ValType]) -> Vec<Val> {
    let area = runtime.transfer_area();
    // SAFETY: the caller's promise.
    let value = |(i, ty): (usize, &ValType)| unsafe {
        let value: RawVal = *area.add(i);
        Val::from_raw(runtime, &value, *ty)
    };
    types.iter().enumerate().map(value).collect()
}

pub(crate) fn classes(types: &[ValType]) -> Vec<ValueClass> {
    types.iter().map(|ty| ValueClass::of(*ty)).collect()
}

/// Reads values whose types were checked.
#[inline]
pub(crate) fn load<T, Results: WasmResults>(
    store: &mut StoreContextMut<'_, T>,
    types: Side,
) -> Results {
    let runtime = &mut *store.0.runtime;
    let values = runtime.transfer_area();
    // SAFETY: they have just come with a switch, and have the types that were checked.
    unsafe {
        match Results::NEED_TYPES {
            false => Results::load(runtime, values),
            true => {
                let types = types.types(runtime.types());
                Results::load_of(runtime, values, &types)
            }
        }
    }
}

/// The results of a continuation or a task.
pub(crate) fn results_of<T>(store: &mut StoreContextMut<'_, T>, ty: ContType) -> Vec<Val> {
    let runtime = &mut *store.0.runtime;
    let types = ty.results.types(runtime.types());
    // SAFETY: it returns values of its types.
    unsafe { values_of(runtime, &types) }
}
