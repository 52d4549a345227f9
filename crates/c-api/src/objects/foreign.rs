//! C objects as `externref` values.

use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::{Data, wasm_store_t};
use crate::support::boundary::{or_default, required};
use crate::support::host_info::HostInfo;
use anyhow::Result;
use ropewalk::{AsContextMut, ExternRef, Reference};
use std::sync::Arc;

/// The data of an `externref` to a foreign object.
struct Foreign(Arc<HostInfo>);

/// The data of an `externref` to another object. It does not keep the store, which owns it.
pub(crate) struct Wrapped(pub(crate) Object);

/// The object that an `externref` refers to.
pub(crate) fn object(
    mut context: impl AsContextMut<Data = Data>,
    value: ExternRef,
) -> Result<Object> {
    let data = value.data(&context).ok();
    if let Some(Wrapped(object)) = data.and_then(|data| data.downcast_ref()) {
        return Ok(object.clone());
    }
    let info = data.and_then(|data| data.downcast_ref::<Foreign>()).map(|it| it.0.clone());
    let value = value.own(&mut context)?;
    Ok(match info {
        Some(info) => Object::Foreign(value, info),
        None => Object::External(value, Arc::default()),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_foreign_new(store: Option<&wasm_store_t>) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        let store = &required(store, "a store")?.0;
        let info = Arc::<HostInfo>::default();
        let value = store.enter(|mut context| {
            ExternRef::new(&mut context, Foreign(info.clone()))?.own(context)
        })?;
        wasm_ref_t::boxed(store, Object::Foreign(value, info))
    })
}
