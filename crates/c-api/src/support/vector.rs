//! C vectors: a size, and a pointer to that number of elements.
//!
//! The pointer is ignored if the size is zero. Otherwise it must not be null, and the elements must
//! fit into the address space.

use anyhow::{Context, Result, ensure};
use std::mem;
use std::ptr;
use std::slice;

/// A vector that owns its elements. Elements that are pointers may be null.
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

    /// The elements. Fails if the size is impossible.
    pub(crate) fn elements(&self) -> Result<&[T]> {
        // SAFETY: vectors of this library have as many elements as they say, and C promises it of
        // its own.
        unsafe { elements(self.data, self.size) }
    }

    /// The location of the elements, which C may not have initialized.
    pub(crate) fn locations(&mut self) -> Result<(*mut T, usize)> {
        check(self.data, self.size)?;
        Ok((self.data, self.size))
    }

    /// Takes the vector from C, and leaves an empty one.
    pub(crate) fn take(&mut self) -> Result<Vector<T>> {
        let taken = mem::take(self);
        check(taken.data, taken.size)?;
        Ok(taken)
    }
}

/// Fails if an array is null with a size other than zero, or larger than the address space.
fn check<T>(data: *const T, size: usize) -> Result<()> {
    let most = isize::MAX as usize / size_of::<T>();
    ensure!(size <= most, "expected at most {most} elements, found a size of {size}");
    ensure!(size == 0 || !data.is_null(), "expected {size} elements, found null");
    Ok(())
}

/// The elements of a C array. Fails if the size is impossible.
///
/// # Safety
///
/// Unless the pointer is null, the array must have `size` elements.
pub(crate) unsafe fn elements<'a, T>(data: *const T, size: usize) -> Result<&'a [T]> {
    check(data, size)?;
    match size {
        0 => Ok(&[]),
        // SAFETY: the caller's promise, and the array fits into the address space.
        _ => Ok(unsafe { slice::from_raw_parts(data, size) }),
    }
}

/// The elements of an optional vector.
pub(crate) fn elements_or_none<T>(vector: Option<&Vector<T>>) -> Result<&[T]> {
    vector.map_or(Ok(&[]), Vector::elements)
}

impl Vector<u8> {
    /// A message, with a terminating zero.
    pub(crate) fn text(text: &str) -> Vector<u8> {
        Vector::new([text.as_bytes(), &[0]].concat())
    }

    /// A name, with or without a terminating zero.
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
        // Vectors with an impossible size are rejected before they are cloned.
        Vector::new(self.elements().unwrap_or_default().to_vec())
    }
}

impl<T> Drop for Vector<T> {
    fn drop(&mut self) {
        let (data, size) = (mem::replace(&mut self.data, ptr::null_mut()), self.size);
        // A vector with an impossible size was not allocated here.
        if size != 0 && check(data, size).is_ok() {
            // SAFETY: `new` allocated the elements as a slice of this length, since C owns only
            // vectors of this library.
            drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(data, size)) });
        }
    }
}

/// A vector of zeros and nulls. Fails if it cannot be allocated.
pub(crate) fn blank<T: Default + Clone>(size: usize) -> Result<Vector<T>> {
    let mut elements = Vec::new();
    let room = elements.try_reserve_exact(size);
    room.with_context(|| format!("cannot allocate a vector of {size} elements"))?;
    elements.resize(size, T::default());
    Ok(Vector::new(elements))
}

/// Moves elements out of a C array.
///
/// # Safety
///
/// The array must have `size` elements, and C must not use owned elements again.
pub(crate) unsafe fn taken<T: Default + Clone>(size: usize, from: *const T) -> Result<Vector<T>> {
    check(from, size)?;
    let vector = blank(size)?;
    if size != 0 {
        // The overwritten elements are zeros and nulls, which own nothing.
        // SAFETY: the vector has room for `size` elements, and the caller promises that the array
        // has them.
        unsafe { ptr::copy_nonoverlapping(from, vector.data, size) };
    }
    Ok(vector)
}
