//! References to host values (`externref`).

use super::{AnyRef, Handle, Sealed};
use crate::store::{AsContext, AsContextMut};
use anyhow::{Result, anyhow};
use ropewalk_runtime::try_box;
use std::any::Any;

/// A reference to a value of the host, of any type.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module (func (export "same") (param externref) (result externref) (local.get 0)))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// type Same = TypedFunc<Option<ExternRef>, Option<ExternRef>>;
/// let same: Same = instance.get_typed_func(&mut store, "same")?;
/// let value = ExternRef::new(&mut store, String::from("anything"))?;
/// let value = same.call(&mut store, Some(value))?.unwrap();
/// assert_eq!(value.data(&store)?.downcast_ref::<String>().unwrap(), "anything");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExternRef(pub(crate) Handle);

impl ExternRef {
    /// Moves a value into the store. The collector drops it when nothing refers to it.
    pub fn new<T: Any + Send + Sync>(mut store: impl AsContextMut, value: T) -> Result<ExternRef> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let added = try_box(value)
            .and_then(|value| runtime.with_embedder(|runtime| runtime.add_extern(value)));
        let word = added.map_err(|code| runtime.trap(code))?;
        Ok(ExternRef(Handle::new(runtime, word)))
    }

    /// The value.
    pub fn data<'a, C: AsContext>(&self, store: &'a C) -> Result<&'a (dyn Any + Send + Sync)> {
        let runtime = store.as_context().runtime();
        let word = self.0.word(runtime, Self::KIND)?;
        // SAFETY: the handle belongs to the store.
        let value = unsafe { runtime.extern_value(word) };
        value.ok_or_else(|| {
            anyhow!("expected a reference to a host value, found one to a value of WebAssembly")
        })
    }

    /// This reference, converted as by `any.convert_extern`.
    pub fn to_any(self) -> AnyRef {
        AnyRef(self.0)
    }
}
