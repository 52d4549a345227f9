//! Vectors of C: a size, and a pointer to so many elements. With a size of zero the pointer is
//! not looked at; otherwise it must not be null, and the elements must fit into memory.

use crate::boundary::{Out, answer, fill, required};
use crate::externtype::wasm_externtype_t;
use crate::frame::wasm_frame_t;
use crate::importtype::{wasm_exporttype_t, wasm_importtype_t};
use crate::reference::wasm_ref_t;
use crate::valtype::wasm_valtype_t;
use crate::value::wasm_val_t;
use anyhow::{Context, Result, ensure};
use std::mem;
use std::ptr;
use std::slice;

/// A vector that owns its elements. Those that are pointers may be null.
#[repr(C)]
pub struct Vector<T> {
    size: usize,
    data: *mut T,
}

impl<T> Vector<T> {
    pub(crate) fn new(elements: Vec<T>) -> Vector<T> {
        if elements.is_empty() {
            return Vector::default();
        }
        let elements = elements.into_boxed_slice();
        let size = elements.len();
        Vector { size, data: Box::into_raw(elements).cast() }
    }

    /// Its elements. Fails if there cannot be as many as it says.
    pub(crate) fn elements(&self) -> Result<&[T]> {
        // SAFETY: whoever made it, here or in C, says that there are so many elements.
        unsafe { elements(self.data, self.size) }
    }

    /// Where its elements are, which C may not have written yet.
    pub(crate) fn places(&mut self) -> Result<(*mut T, usize)> {
        check(self.data, self.size)?;
        Ok((self.data, self.size))
    }

    /// Takes it out of C's hands, which have an empty one then.
    pub(crate) fn take(&mut self) -> Result<Vector<T>> {
        let taken = mem::take(self);
        check(taken.data, taken.size)?;
        Ok(taken)
    }
}

/// Fails if there cannot be so many elements there: with a size that is not zero, at null, or
/// more of them than memory can have.
fn check<T>(data: *const T, size: usize) -> Result<()> {
    let most = isize::MAX as usize / size_of::<T>();
    ensure!(size <= most, "expected at most {most} elements, found a size of {size}");
    ensure!(size == 0 || !data.is_null(), "expected {size} elements, found null");
    Ok(())
}

/// The elements of an array of C's. Fails if there cannot be so many.
///
/// # Safety
///
/// Unless the pointer is null, there must be so many.
pub(crate) unsafe fn elements<'a, T>(data: *const T, size: usize) -> Result<&'a [T]> {
    check(data, size)?;
    match size {
        0 => Ok(&[]),
        // SAFETY: the caller's promise; they fit into memory.
        _ => Ok(unsafe { slice::from_raw_parts(data, size) }),
    }
}

/// The elements of a vector that may be left out.
pub(crate) fn elements_or_none<T>(vector: Option<&Vector<T>>) -> Result<&[T]> {
    vector.map_or(Ok(&[]), Vector::elements)
}

impl Vector<u8> {
    /// Text as the interface wants it for people: with a zero at its end.
    pub(crate) fn text(text: &str) -> Vector<u8> {
        Vector::new([text.as_bytes(), &[0]].concat())
    }

    /// The text of a name, with a zero at its end or without.
    pub(crate) fn to_text(&self) -> Result<&str> {
        let bytes = self.elements()?;
        let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
        std::str::from_utf8(bytes).context("expected a name in UTF-8")
    }
}

impl<T> Default for Vector<T> {
    fn default() -> Self {
        Vector { size: 0, data: ptr::null_mut() }
    }
}

impl<T: Clone> Clone for Vector<T> {
    fn clone(&self) -> Self {
        // Those that cannot be are not taken from C.
        Vector::new(self.elements().unwrap_or_default().to_vec())
    }
}

impl<T> Drop for Vector<T> {
    fn drop(&mut self) {
        let (data, size) = (mem::replace(&mut self.data, ptr::null_mut()), self.size);
        // One that cannot be is not one from here.
        if size != 0 && check(data, size).is_ok() {
            // SAFETY: the elements were allocated by `new` as a slice of this length:
            // C owns vectors only that come from here.
            drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(data, size)) });
        }
    }
}

/// As many elements of nothing: zeros and nulls. Too many are an error.
fn blank<T: Default + Clone>(size: usize) -> Result<Vector<T>> {
    let mut elements = Vec::new();
    let room = elements.try_reserve_exact(size);
    room.with_context(|| format!("cannot allocate a vector of {size} elements"))?;
    elements.resize(size, T::default());
    Ok(Vector::new(elements))
}

/// Takes elements out of an array of C's.
///
/// # Safety
///
/// There must be so many, and C not use those again that are owned.
unsafe fn taken<T: Default + Clone>(size: usize, from: *const T) -> Result<Vector<T>> {
    check(from, size)?;
    let vector = blank(size)?;
    if size != 0 {
        // What is there now is zeros and nulls, which own nothing.
        // SAFETY: there is room for so many, and the caller says that there are so many.
        unsafe { ptr::copy_nonoverlapping(from, vector.data, size) };
    }
    Ok(vector)
}

macro_rules! vectors {
    ($($ty:ty: $empty:ident $blank:ident $new:ident $copy:ident $delete:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $empty(out: Out<'_, Vector<$ty>>) {
            answer(|| fill(out, Vector::default()));
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $blank(out: Out<'_, Vector<$ty>>, size: usize) {
            answer(|| {
                let out = required(out, "a vector")?.write(Vector::default());
                *out = blank(size)?;
                Ok(())
            });
        }

        /// # Safety
        ///
        /// `elements` must be an array of so many, which C gives away if they are pointers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $new(
            out: Out<'_, Vector<$ty>>,
            size: usize,
            elements: *const $ty,
        ) {
            answer(|| {
                let out = required(out, "a vector")?.write(Vector::default());
                // SAFETY: the caller's promise.
                *out = unsafe { taken(size, elements)? };
                Ok(())
            });
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $copy(out: Out<'_, Vector<$ty>>, from: Option<&Vector<$ty>>) {
            answer(|| {
                let out = required(out, "a vector")?.write(Vector::default());
                *out = Vector::new(required(from, "a vector")?.elements()?.to_vec());
                Ok(())
            });
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $delete(vector: Option<&mut Vector<$ty>>) {
            answer(|| {
                // What is left in C's hands is empty, and can be deleted again.
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
