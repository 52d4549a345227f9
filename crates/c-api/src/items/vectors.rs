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

macro_rules! vectors {
    ($($ty:ty: $empty:ident $blank:ident $new:ident $copy:ident $delete:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $empty(out: Out<'_, Vector<$ty>>) {
            fill_or_default(out, || Ok(Vector::default()));
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $blank(out: Out<'_, Vector<$ty>>, size: usize) {
            fill_or_default(out, || blank(size));
        }

        /// # Safety
        ///
        /// `elements` must be an array of `size` elements. C gives up those that are pointers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $new(
            out: Out<'_, Vector<$ty>>,
            size: usize,
            elements: *const $ty,
        ) {
            // SAFETY: the caller's promise.
            fill_or_default(out, || unsafe { taken(size, elements) });
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $copy(out: Out<'_, Vector<$ty>>, from: Option<&Vector<$ty>>) {
            fill_or_default(out, || {
                Ok(Vector::new(required(from, "a vector")?.elements()?.to_vec()))
            });
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $delete(vector: Option<&mut Vector<$ty>>) {
            or_default(|| {
                // C keeps an empty vector, which can be deleted again.
                drop(vector.map(mem::take));
                Ok(())
            });
        }
    )*};
}

vectors! {
    u8: wasm_byte_vec_new_empty wasm_byte_vec_new_uninitialized wasm_byte_vec_new
        wasm_byte_vec_copy wasm_byte_vec_delete;
    wasm_val_t: wasm_val_vec_new_empty wasm_val_vec_new_uninitialized wasm_val_vec_new
        wasm_val_vec_copy wasm_val_vec_delete;
    Option<Box<wasm_valtype_t>>: wasm_valtype_vec_new_empty wasm_valtype_vec_new_uninitialized
        wasm_valtype_vec_new wasm_valtype_vec_copy wasm_valtype_vec_delete;
    Option<Box<wasm_externtype_t>>: wasm_externtype_vec_new_empty
        wasm_externtype_vec_new_uninitialized wasm_externtype_vec_new wasm_externtype_vec_copy
        wasm_externtype_vec_delete;
    Option<Box<wasm_externtype_t>>: wasm_functype_vec_new_empty
        wasm_functype_vec_new_uninitialized wasm_functype_vec_new wasm_functype_vec_copy
        wasm_functype_vec_delete;
    Option<Box<wasm_externtype_t>>: wasm_globaltype_vec_new_empty
        wasm_globaltype_vec_new_uninitialized wasm_globaltype_vec_new wasm_globaltype_vec_copy
        wasm_globaltype_vec_delete;
    Option<Box<wasm_externtype_t>>: wasm_tabletype_vec_new_empty
        wasm_tabletype_vec_new_uninitialized wasm_tabletype_vec_new wasm_tabletype_vec_copy
        wasm_tabletype_vec_delete;
    Option<Box<wasm_externtype_t>>: wasm_memorytype_vec_new_empty
        wasm_memorytype_vec_new_uninitialized wasm_memorytype_vec_new wasm_memorytype_vec_copy
        wasm_memorytype_vec_delete;
    Option<Box<wasm_externtype_t>>: wasm_tagtype_vec_new_empty
        wasm_tagtype_vec_new_uninitialized wasm_tagtype_vec_new wasm_tagtype_vec_copy
        wasm_tagtype_vec_delete;
    Option<Box<wasm_importtype_t>>: wasm_importtype_vec_new_empty
        wasm_importtype_vec_new_uninitialized wasm_importtype_vec_new wasm_importtype_vec_copy
        wasm_importtype_vec_delete;
    Option<Box<wasm_exporttype_t>>: wasm_exporttype_vec_new_empty
        wasm_exporttype_vec_new_uninitialized wasm_exporttype_vec_new wasm_exporttype_vec_copy
        wasm_exporttype_vec_delete;
    Option<Box<wasm_frame_t>>: wasm_frame_vec_new_empty wasm_frame_vec_new_uninitialized
        wasm_frame_vec_new wasm_frame_vec_copy wasm_frame_vec_delete;
    Option<Box<wasm_ref_t>>: wasm_extern_vec_new_empty wasm_extern_vec_new_uninitialized
        wasm_extern_vec_new wasm_extern_vec_copy wasm_extern_vec_delete;
}
