//! The functions of vectors, for each type of elements.

use crate::items::frame::wasm_frame_t;
use crate::objects::reference::wasm_ref_t;
use crate::objects::value::wasm_val_t;
use crate::support::boundary::{Out, fill_or_default, or_default, required};
use crate::support::vector::{Vector, blank, taken};
use crate::types::externtype::wasm_externtype_t;
use crate::types::importtype::{wasm_exporttype_t, wasm_importtype_t};
use crate::types::valtype::wasm_valtype_t;
use std::mem;

/// Defines the functions of a vector type, whose names begin with `wasm_NAME_vec_`.
macro_rules! vectors {
    ($($name:literal: $ty:ty;)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("wasm_", $name, "_vec_new_empty"))]
            extern "C" fn new_empty(out: Out<'_, Vector<$ty>>) {
                fill_or_default(out, || Ok(Vector::default()));
            }

            #[unsafe(export_name = concat!("wasm_", $name, "_vec_new_uninitialized"))]
            extern "C" fn new_uninitialized(out: Out<'_, Vector<$ty>>, size: usize) {
                fill_or_default(out, || blank(size));
            }

            /// # Safety
            ///
            /// `elements` must be an array of `size` elements. C gives up those that are pointers.
            #[unsafe(export_name = concat!("wasm_", $name, "_vec_new"))]
            unsafe extern "C" fn new(
                out: Out<'_, Vector<$ty>>,
                size: usize,
                elements: *const $ty,
            ) {
                // SAFETY: the caller's promise.
                fill_or_default(out, || unsafe { taken(size, elements) });
            }

            #[unsafe(export_name = concat!("wasm_", $name, "_vec_copy"))]
            extern "C" fn copy(out: Out<'_, Vector<$ty>>, from: Option<&Vector<$ty>>) {
                fill_or_default(out, || {
                    Ok(Vector::new(required(from, "a vector")?.elements()?.to_vec()))
                });
            }

            #[unsafe(export_name = concat!("wasm_", $name, "_vec_delete"))]
            extern "C" fn delete(vector: Option<&mut Vector<$ty>>) {
                or_default(|| {
                    // C keeps an empty vector, which can be deleted again.
                    drop(vector.map(mem::take));
                    Ok(())
                });
            }
        };
    )*};
}

vectors! {
    "byte": u8;
    "val": wasm_val_t;
    "valtype": Option<Box<wasm_valtype_t>>;
    "externtype": Option<Box<wasm_externtype_t>>;
    "functype": Option<Box<wasm_externtype_t>>;
    "globaltype": Option<Box<wasm_externtype_t>>;
    "tabletype": Option<Box<wasm_externtype_t>>;
    "memorytype": Option<Box<wasm_externtype_t>>;
    "tagtype": Option<Box<wasm_externtype_t>>;
    "importtype": Option<Box<wasm_importtype_t>>;
    "exporttype": Option<Box<wasm_exporttype_t>>;
    "frame": Option<Box<wasm_frame_t>>;
    "extern": Option<Box<wasm_ref_t>>;
}
