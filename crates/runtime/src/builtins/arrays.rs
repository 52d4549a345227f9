//! Builtins that allocate, and those for whole arrays.

use super::{Calling, Pair, Result, pieces, range};
use crate::heap::Object;
use crate::store::interrupts::Interrupts;
use ropewalk_abi::heap::array_size;
use ropewalk_abi::{RawVal, TrapCode, TypeInfo};
use std::ops::Range;

/// Fills elements with the low bytes of a value.
fn fill(interrupts: &Interrupts, array: Object, to: u32, len: u32, value: &RawVal) -> Result<()> {
    fn slice<'a, T>(array: Object, to: u32, len: u32) -> &'a mut [T] {
        // SAFETY: the caller has checked the bounds, and elements have this size. Vectors are
        // accessed as two words.
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

fn array_at(reference: u64) -> Result<Object> {
    // SAFETY: generated code passes references to arrays.
    unsafe { Object::from_reference(reference) }.ok_or(TrapCode::NullArrayReference)
}

fn check(array: Object, from: u64, len: u64) -> Result<()> {
    let fits = range(from, len, array.len() as usize).is_some();
    if fits { Ok(()) } else { Err(TrapCode::ArrayOutOfBounds) }
}

/// Copies bytes of a segment into an array.
///
/// # Safety
///
/// The array must have room at the index.
unsafe fn write(array: Object, to: u32, bytes: &[u8]) {
    // SAFETY: the caller's promise. Segments are not in the heap.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), array.element(to), bytes.len()) };
}

#[derive(Clone, Copy)]
enum Segment {
    Data(u64),
    Elements(u64),
}

impl Calling<'_> {
    fn bytes(&self, segment: Segment) -> &[u8] {
        let instance = &self.store.objects.instances[self.instance];
        match segment {
            Segment::Data(index) => instance.data_segment(index as usize),
            Segment::Elements(index) => bytemuck::cast_slice(&instance.elements[index as usize]),
        }
    }

    /// The bytes for `len` elements of a type. `from` is an offset in a data segment, and an
    /// index in an element segment.
    fn range_in(
        &self,
        segment: Segment,
        ty: &TypeInfo,
        from: u64,
        len: u64,
    ) -> Result<Range<usize>> {
        let (unit, out_of_bounds) = match segment {
            Segment::Data(_) => (1, TrapCode::MemoryOutOfBounds),
            Segment::Elements(_) => (size_of::<u64>() as u64, TrapCode::TableOutOfBounds),
        };
        let bytes = len * u64::from(ty.size);
        range(from * unit, bytes, self.bytes(segment).len()).ok_or(out_of_bounds)
    }

    fn new_from_segment(
        &mut self,
        ty: u64,
        segment: Segment,
        from: u64,
        len: u64,
    ) -> Result<Object> {
        let registered = self.store.module_type(self.instance, ty as u32);
        // SAFETY: the type is registered.
        let ty = unsafe { &*registered.info() };
        let bytes = self.range_in(segment, ty, from, len)?;
        let array = self.array_new_default(ty, len as u32)?;
        // SAFETY: the array has room for these bytes.
        unsafe { write(array, 0, &self.bytes(segment)[bytes]) };
        Ok(array)
    }

    fn init_from_segment(
        &self,
        segment: Segment,
        array: u64,
        to: u64,
        [from, len]: Pair,
    ) -> Result<()> {
        let array = array_at(array)?;
        check(array, to, len)?;
        let bytes = self.range_in(segment, array.ty(), from, len)?;
        // SAFETY: the range is within the array.
        unsafe { write(array, to as u32, &self.bytes(segment)[bytes]) };
        Ok(())
    }

    pub(super) fn heap_allocate(&mut self, ty: *const TypeInfo, size: u64) -> Result<Object> {
        self.store.allocate(ty, size)
    }

    pub(super) fn array_new_default(&mut self, ty: &TypeInfo, len: u32) -> Result<Object> {
        let array = self.store.allocate(ty, array_size(ty.size, len))?;
        array.set_len(len);
        Ok(array)
    }

    pub(super) fn array_new(&mut self, ty: &TypeInfo, len: u32) -> Result<Object> {
        self.store.heap.roots.make_room(1)?;
        let height = self.store.heap.roots.len();
        let root = ty.elements_are_collected.then(|| {
            let value = self.store.transferred(0).u64();
            self.store.heap.roots.add(value)
        });
        let array = self.array_new_default(ty, len);
        let moved = root.and_then(|root| self.store.heap.roots.get(root));
        self.store.heap.roots.truncate(height);
        if let Some(moved) = moved {
            // Even without an array: the builtin may be called again.
            self.store.transfer(0, RawVal::from_u64(moved));
        }
        let array = array?;
        let value = self.store.transferred(0);
        fill(&self.store.budget.interrupts, array, 0, len, &value)?;
        Ok(array)
    }

    pub(super) fn array_new_data(&mut self, types: Pair, from: u64, len: u64) -> Result<Object> {
        let [ty, segment] = types;
        self.new_from_segment(ty, Segment::Data(segment), from, len)
    }

    pub(super) fn array_new_elem(&mut self, types: Pair, from: u64, len: u64) -> Result<Object> {
        let [ty, segment] = types;
        self.new_from_segment(ty, Segment::Elements(segment), from, len)
    }

    pub(super) fn array_fill(&mut self, array: u64, [to, len]: Pair) -> Result<()> {
        let array = array_at(array)?;
        check(array, to, len)?;
        let value = self.store.transferred(0);
        fill(&self.store.budget.interrupts, array, to as u32, len as u32, &value)
    }

    pub(super) fn array_copy(
        &mut self,
        to: u64,
        to_index: u64,
        from: u64,
        part: Pair,
    ) -> Result<()> {
        let ([from_index, len], to, from) = (part, array_at(to)?, array_at(from)?);
        check(to, to_index, len)?;
        check(from, from_index, len)?;
        let bytes = len as usize * to.ty().size as usize;
        let source = from.element(from_index as u32);
        let target = to.element(to_index as u32);
        let is_forward = target.cast_const() <= source.cast_const();
        let interrupts = &self.store.budget.interrupts;
        pieces::in_pieces::<u8>(interrupts, 0..bytes, is_forward, |piece: Range<usize>| {
            // SAFETY: both ranges are within their arrays, whose elements have the same size.
            // They can overlap.
            unsafe { std::ptr::copy(source.add(piece.start), target.add(piece.start), piece.len()) }
        })
    }

    pub(super) fn array_init_data(
        &mut self,
        segment: u64,
        array: u64,
        to: u64,
        part: Pair,
    ) -> Result<()> {
        self.init_from_segment(Segment::Data(segment), array, to, part)
    }

    pub(super) fn array_init_elem(
        &mut self,
        segment: u64,
        array: u64,
        to: u64,
        part: Pair,
    ) -> Result<()> {
        self.init_from_segment(Segment::Elements(segment), array, to, part)
    }
}
