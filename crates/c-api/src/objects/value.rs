//! Values of C, and their conversion.

use crate::objects::foreign::{self, Wrapped};
use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::{Data, StoreRef};
use crate::support::boundary::{Out, fill, or_default, required};
use crate::types::valtype::kind;
use anyhow::{Context, Result, bail};
use ropewalk::{AsContextMut, ExternRef, Reference, Val};
use std::mem;
use std::ptr;

/// A value. It owns a pointer to a reference or a 128-bit vector.
#[repr(C)]
pub struct wasm_val_t {
    kind: u8,
    of: Of,
}

#[repr(C)]
#[derive(Clone, Copy)]
union Of {
    i32: i32,
    i64: i64,
    f32: u32,
    f64: u64,
    reference: *mut wasm_ref_t,
}

// SAFETY: it owns the object that it points to, which is `Send` and `Sync`.
unsafe impl Send for wasm_val_t {}
// SAFETY: as above.
unsafe impl Sync for wasm_val_t {}

impl Default for wasm_val_t {
    fn default() -> Self {
        wasm_val_t { kind: kind::I32, of: Of { i64: 0 } }
    }
}

impl Drop for wasm_val_t {
    fn drop(&mut self) {
        if let Some(pointer) = self.pointer().filter(|pointer| !pointer.is_null()) {
            // SAFETY: a value owns the object that it points to, which this library allocated.
            drop(unsafe { Box::from_raw(pointer) });
        }
    }
}

impl Clone for wasm_val_t {
    fn clone(&self) -> Self {
        match self.pointer() {
            Some(_) => wasm_val_t::pointing(self.kind, self.reference().cloned()),
            None => wasm_val_t { kind: self.kind, of: self.of },
        }
    }
}

impl wasm_val_t {
    fn pointing(kind: u8, reference: Option<wasm_ref_t>) -> wasm_val_t {
        let reference = reference.map_or(ptr::null_mut(), |r| Box::into_raw(Box::new(r)));
        wasm_val_t { kind, of: Of { reference } }
    }

    fn pointer(&self) -> Option<*mut wasm_ref_t> {
        match kind::has_pointer(self.kind) {
            // SAFETY: values of this kind are pointers.
            true => Some(unsafe { self.of.reference }),
            false => None,
        }
    }

    fn reference(&self) -> Option<&wasm_ref_t> {
        // SAFETY: C promises that the pointer of a value is null or points to an object.
        unsafe { self.pointer()?.as_ref() }
    }

    /// The null or zero of a kind.
    pub(crate) fn zero(kind: u8) -> wasm_val_t {
        wasm_val_t { kind, of: Of { i64: 0 } }
    }

    /// Converts the value for a store.
    pub(crate) fn load(&self, context: impl AsContextMut<Data = Data>) -> Result<Val> {
        if kind::has_pointer(self.kind) {
            return load_reference(context, self.kind, self.reference());
        }
        // SAFETY: the kind selects the field, and all bit patterns are valid.
        Ok(unsafe {
            match self.kind {
                kind::I32 => Val::I32(self.of.i32),
                kind::I64 => Val::I64(self.of.i64),
                kind::F32 => Val::F32(self.of.f32),
                kind::F64 => Val::F64(self.of.f64),
                other => bail!("expected a kind of values such as WASM_I32, found {other}"),
            }
        })
    }

    /// Converts a value of a store for C.
    pub(crate) fn from_val(
        store: &StoreRef,
        context: impl AsContextMut<Data = Data>,
        value: Val,
    ) -> Result<wasm_val_t> {
        let (kind, of) = match value {
            Val::I32(i32) => (kind::I32, Of { i32 }),
            Val::I64(i64) => (kind::I64, Of { i64 }),
            Val::F32(f32) => (kind::F32, Of { f32 }),
            Val::F64(f64) => (kind::F64, Of { f64 }),
            reference => {
                let kind = match reference {
                    Val::V128(_) => kind::V128,
                    Val::FuncRef(_) => kind::FUNCREF,
                    Val::ExternRef(_) => kind::EXTERNREF,
                    Val::ExnRef(_) => kind::EXNREF,
                    Val::ContRef(_) => kind::CONTREF,
                    _ => kind::ANYREF,
                };
                let reference = store_reference(store, context, reference)?;
                return Ok(wasm_val_t::pointing(kind, reference));
            }
        };
        Ok(wasm_val_t { kind, of })
    }
}

/// Converts an object or null to a value of a kind.
pub(crate) fn load_reference(
    mut context: impl AsContextMut<Data = Data>,
    kind: u8,
    reference: Option<&wasm_ref_t>,
) -> Result<Val> {
    let Some(reference) = reference else {
        return Ok(match kind {
            kind::FUNCREF => Val::FuncRef(None),
            kind::EXTERNREF => Val::ExternRef(None),
            kind::EXNREF => Val::ExnRef(None),
            kind::CONTREF => Val::ContRef(None),
            kind::V128 => Val::V128(0),
            _ => Val::AnyRef(None),
        });
    };
    Ok(match (kind, &reference.object) {
        (kind::FUNCREF, Object::Func(func)) => (*func).into(),
        (kind::EXTERNREF, Object::Foreign(value, _) | Object::External(value, _)) => {
            value.get(context)?.into()
        }
        (kind::EXTERNREF, Object::Any(value, _)) => value.get(context)?.to_extern().into(),
        (kind::EXTERNREF, other) => ExternRef::new(context, Wrapped(other.clone()))?.into(),
        (kind::ANYREF, Object::Any(value, _)) => value.get(context)?.into(),
        (kind::ANYREF, Object::Foreign(value, _) | Object::External(value, _)) => {
            value.get(&mut context)?.to_any().into()
        }
        (kind::EXNREF, Object::Exception(value, _)) => value.get(context)?.into(),
        (kind::CONTREF, Object::Continuation(value, _)) => value.get(context)?.into(),
        (kind::V128, Object::Vector(value, _)) => Val::V128(*value),
        (kind, other) => bail!("expected {}, found {}", kind::name(kind), other.name()),
    })
}

/// Converts a reference of a store to an object; none for null.
pub(crate) fn store_reference(
    store: &StoreRef,
    mut context: impl AsContextMut<Data = Data>,
    value: Val,
) -> Result<Option<wasm_ref_t>> {
    let object = match value {
        Val::FuncRef(Some(func)) => Object::Func(func),
        Val::ExternRef(Some(value)) => foreign::object(&mut context, value)?,
        Val::AnyRef(Some(value)) => Object::Any(value.own(&mut context)?, Default::default()),
        Val::ExnRef(Some(value)) => Object::Exception(value.own(&mut context)?, Default::default()),
        Val::ContRef(Some(value)) => {
            Object::Continuation(value.own(&mut context)?, Default::default())
        }
        Val::V128(value) => Object::Vector(value, Default::default()),
        _ => return Ok(None),
    };
    Ok(Some(wasm_ref_t::new(store, object)))
}

/// Converts values for a store.
pub(crate) fn load_all(
    mut context: impl AsContextMut<Data = Data>,
    values: &[wasm_val_t],
) -> Result<Vec<Val>> {
    let values = values.iter().enumerate();
    values
        .map(|(i, value)| value.load(&mut context).with_context(|| format!("in value {i}")))
        .collect()
}

/// Converts values of a store for C.
pub(crate) fn store_all(
    store: &StoreRef,
    mut context: impl AsContextMut<Data = Data>,
    values: &[Val],
) -> Result<Vec<wasm_val_t>> {
    values.iter().map(|value| wasm_val_t::from_val(store, &mut context, *value)).collect()
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_val_delete(value: Option<&mut wasm_val_t>) {
    or_default(|| {
        // C keeps a value that owns nothing and can be deleted again.
        drop(value.map(mem::take));
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_val_copy(out: Out<'_, wasm_val_t>, value: Option<&wasm_val_t>) {
    or_default(|| fill(out, required(value, "a value")?.clone()));
}

/// A 128-bit vector for the field `of.ref` of a value of kind `ROPEWALK_V128`.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_v128_new(bytes: Option<&[u8; 16]>) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        let value = u128::from_le_bytes(*required(bytes, "16 bytes")?);
        let object = Object::Vector(value, Default::default());
        Ok(Some(Box::new(wasm_ref_t { store: None, object })))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_v128_get(vector: Option<&wasm_ref_t>, out: Out<'_, [u8; 16]>) -> bool {
    or_default(|| match &required(vector, "a vector")?.object {
        Object::Vector(value, _) => {
            fill(out, value.to_le_bytes())?;
            Ok(true)
        }
        other => bail!("expected a vector, found {}", other.name()),
    })
}
