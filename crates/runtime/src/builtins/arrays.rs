//! Allocation, and the operations on whole arrays.

use super::{Calling, Result, pieces, range, unpair};
use crate::code::types::RegisteredType;
use crate::heap::Object;
use crate::store::interrupts::Interrupts;
use ropewalk_abi::heap::array_size;
use ropewalk_abi::{RawVal, TrapCode, TypeInfo};
use std::ops::Range;
use std::sync::Arc;

pub(super) fn heap_allocate(calling: &mut Calling<'_>, ty: u64, size: u64) -> Result<u64> {
    let object = calling.store.allocate(ty as *const TypeInfo, size)?;
    Ok(object.reference())
}

/// A new array of zeroes.
fn new_array(calling: &mut Calling<'_>, ty: *const TypeInfo, len: u32) -> Result<Object> {
    // SAFETY: generated code passes types of its instance.
    let element = unsafe { (*ty).size };
    let array = calling.store.allocate(ty, array_size(element, len))?;
    array.set_len(len);
    Ok(array)
}

pub(super) fn array_new_default(calling: &mut Calling<'_>, ty: u64, len: u64) -> Result<u64> {
    Ok(new_array(calling, ty as *const TypeInfo, len as u32)?.reference())
}

pub(super) fn array_new(calling: &mut Calling<'_>, ty: u64, len: u64) -> Result<u64> {
    let ty = ty as *const TypeInfo;
    // SAFETY: generated code passes types of its instance.
    let is_collected = unsafe { (*ty).elements_are_collected };
    calling.store.heap.make_room_for_roots(1)?;
    let height = calling.store.heap.roots.len();
    let root = is_collected.then(|| {
        let value = calling.store.transferred(0).u64();
        calling.store.heap.roots.add(value)
    });
    let array = new_array(calling, ty, len as u32);
    let moved = root.and_then(|root| calling.store.heap.roots.get(root));
    calling.store.heap.roots.truncate(height);
    if let Some(moved) = moved {
        // Also if there is no array yet, and this is done again later.
        calling.store.transfer(0, RawVal::from_u64(moved));
    }
    let array = array?;
    let value = calling.store.transferred(0);
    fill(&calling.store.budget.interrupts, array, 0, len as u32, &value)?;
    Ok(array.reference())
}

/// Fills elements with a value, of which an element takes the first bytes.
fn fill(interrupts: &Interrupts, array: Object, to: u32, len: u32, value: &RawVal) -> Result<()> {
    fn slice<'a, T>(array: Object, to: u32, len: u32) -> &'a mut [T] {
        // SAFETY: the caller has checked the bounds, and elements have that
        // size; vectors are only read and written as two words.
        unsafe { std::slice::from_raw_parts_mut(array.element(to).cast::<T>(), len as usize) }
    }
    match array.ty().size {
        1 => pieces::fill(interrupts, slice::<u8>(array, to, len), value.u32() as u8),
        2 => pieces::fill(interrupts, slice::<u16>(array, to, len), value.u32() as u16),
        4 => pieces::fill(interrupts, slice::<u32>(array, to, len), value.u32()),
        8 => pieces::fill(interrupts, slice::<u64>(array, to, len), value.u64()),
        size => {
            debug_assert_eq!(size, 16);
            let halves = [value.u128() as u64, (value.u128() >> 64) as u64];
            pieces::fill(interrupts, slice::<[u64; 2]>(array, to, len), halves)
        }
    }
}

/// The type that a word of a type index and a segment index names, and the
/// segment.
fn type_and_segment(calling: &Calling<'_>, word: u64) -> (Arc<RegisteredType>, usize) {
    let (ty, segment) = unpair(word);
    let id = calling.store.objects.instances[calling.instance].module().type_ids[ty as usize];
    (calling.store.options.types.get(id), segment as usize)
}

/// Copies what a segment has into an array, from an element on.
///
/// # Safety
///
/// The array must have room for it there, and elements of that kind.
unsafe fn write<T>(array: Object, to: u32, segment: &[T]) {
    let target = array.element(to).cast::<T>();
    // SAFETY: the caller's promise; no segment lies in the heap.
    unsafe { std::ptr::copy_nonoverlapping(segment.as_ptr(), target, segment.len()) };
}

pub(super) fn array_new_data(
    calling: &mut Calling<'_>,
    word: u64,
    from: u64,
    len: u64,
) -> Result<u64> {
    let (ty, segment) = type_and_segment(calling, word);
    let bytes = len * u64::from(ty.layout().size);
    let segment_len = calling.instance().data_segment(segment).len();
    let from = range(from, bytes, segment_len).ok_or(TrapCode::MemoryOutOfBounds)?;
    let array = new_array(calling, ty.info(), len as u32)?;
    // SAFETY: the array has room for as many bytes.
    unsafe { write(array, 0, &calling.instance().data_segment(segment)[from]) };
    Ok(array.reference())
}

pub(super) fn array_new_elem(
    calling: &mut Calling<'_>,
    word: u64,
    from: u64,
    len: u64,
) -> Result<u64> {
    let (ty, segment) = type_and_segment(calling, word);
    let segment_len = calling.instance().elements[segment].len();
    let from = range(from, len, segment_len).ok_or(TrapCode::TableOutOfBounds)?;
    let array = new_array(calling, ty.info(), len as u32)?;
    // SAFETY: the array has room for as many references.
    unsafe { write(array, 0, &calling.instance().elements[segment][from]) };
    Ok(array.reference())
}

/// The array that a reference refers to.
fn array_at(reference: u64) -> Result<Object> {
    // SAFETY: generated code passes references to arrays.
    unsafe { Object::from_reference(reference) }.ok_or(TrapCode::NullArrayReference)
}

/// Checks that elements are within an array.
fn check(array: Object, from: u64, len: u64) -> Result<()> {
    let fits = range(from, len, array.len() as usize).is_some();
    if fits { Ok(()) } else { Err(TrapCode::ArrayOutOfBounds) }
}

pub(super) fn array_fill(calling: &mut Calling<'_>, array: u64, to_and_len: u64) -> Result<u64> {
    let array = array_at(array)?;
    let (to, len) = unpair(to_and_len);
    check(array, to, len)?;
    let value = calling.store.transferred(0);
    fill(&calling.store.budget.interrupts, array, to as u32, len as u32, &value)?;
    Ok(0)
}

pub(super) fn array_copy(
    calling: &mut Calling<'_>,
    to: u64,
    to_index: u64,
    from: u64,
    from_index_and_len: u64,
) -> Result<u64> {
    let (to, from) = (array_at(to)?, array_at(from)?);
    let (from_index, len) = unpair(from_index_and_len);
    check(to, to_index, len)?;
    check(from, from_index, len)?;
    let bytes = len as usize * to.ty().size as usize;
    let source = from.element(from_index as u32);
    let target = to.element(to_index as u32);
    let mut copy = |piece: Range<usize>| {
        // SAFETY: both ranges are within their arrays, whose elements have the
        // same size; they may overlap.
        unsafe { std::ptr::copy(source.add(piece.start), target.add(piece.start), piece.len()) };
    };
    let interrupts = &calling.store.budget.interrupts;
    match target.cast_const() <= source.cast_const() {
        true => pieces::forward::<u8>(interrupts, 0..bytes, &mut copy)?,
        false => pieces::backward::<u8>(interrupts, 0..bytes, &mut copy)?,
    }
    Ok(0)
}

pub(super) fn array_init_data(
    calling: &mut Calling<'_>,
    segment: u64,
    array: u64,
    to: u64,
    from_and_len: u64,
) -> Result<u64> {
    let array = array_at(array)?;
    let (from, len) = unpair(from_and_len);
    check(array, to, len)?;
    let segment = calling.instance().data_segment(segment as usize);
    let bytes = len * u64::from(array.ty().size);
    let from = range(from, bytes, segment.len()).ok_or(TrapCode::MemoryOutOfBounds)?;
    // SAFETY: the range is within the array.
    unsafe { write(array, to as u32, &segment[from]) };
    Ok(0)
}

pub(super) fn array_init_elem(
    calling: &mut Calling<'_>,
    segment: u64,
    array: u64,
    to: u64,
    from_and_len: u64,
) -> Result<u64> {
    let array = array_at(array)?;
    let (from, len) = unpair(from_and_len);
    check(array, to, len)?;
    let segment = &calling.instance().elements[segment as usize];
    let from = range(from, len, segment.len()).ok_or(TrapCode::TableOutOfBounds)?;
    // SAFETY: the range is within the array.
    unsafe { write(array, to as u32, &segment[from]) };
    Ok(0)
}
