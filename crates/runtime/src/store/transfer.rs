//! Access to the transfer area, where values travel between stacks.

use crate::stack::{BoundValues, InjectedBug};
use crate::store::Store;
use ropewalk_abi::signature::TRANSFER_SLOTS;
use ropewalk_abi::transfer::{TAGS, ValueClass};
use ropewalk_abi::{RawVal, ValType};

impl Store {
    /// A value that generated code put into the area.
    pub(crate) fn transferred(&self, slot: usize) -> RawVal {
        assert!(slot < TRANSFER_SLOTS);
        // SAFETY: the area belongs to the store, has this slot, and generated code does not run.
        unsafe { *self.context().transfer.add(slot) }
    }

    /// Replaces a value in the area by one of the same class.
    pub(crate) fn transfer(&mut self, slot: usize, value: RawVal) {
        assert!(slot < TRANSFER_SLOTS);
        // SAFETY: as above.
        unsafe { self.context().transfer.add(slot).write(value) };
    }

    /// The class of the newest value in a slot.
    fn tag(&mut self, slot: usize) -> &mut u8 {
        assert!(slot < TRANSFER_SLOTS);
        // SAFETY: as above; there is a tag for each place.
        unsafe { &mut *self.context().transfer.cast::<u8>().add(TAGS + slot) }
    }

    pub(crate) fn set_tag(&mut self, slot: usize, class: ValueClass) {
        *self.tag(slot) = class as u8;
    }

    /// Puts the values bound to a stack that is being resumed in front of the others.
    pub(crate) fn deliver(&mut self, bound: BoundValues) {
        // SAFETY: types live as long as the engine.
        let ty = self.options.types.get(unsafe { (*bound.ty()).id });
        let ty = ty.ty().composite.as_func().expect("continuations are made of functions");
        let (count, rest) = (bound.count(), bound.rest());
        self.check_transferred(&ty.params()[count..]);
        // With a deliberate bug they come last.
        let is_last = self.options.stacks.injected.is(InjectedBug::BoundValuesLast);
        let (first_bound, first_given) = if is_last { (rest, 0) } else { (0, count) };
        for slot in (0..rest).rev() {
            let (value, tag) = (self.transferred(slot), *self.tag(slot));
            self.transfer(first_given + slot, value);
            *self.tag(first_given + slot) = tag;
        }
        for (number, &ty) in ty.params()[..count].iter().enumerate() {
            // SAFETY: bound values lie on the stack until it runs.
            self.transfer(first_bound + number, unsafe { *bound.value(number) });
            *self.tag(first_bound + number) = ValueClass::of(ty) as u8;
        }
    }

    /// Checks the classes of the first values. The next check of the stacks reports errors.
    pub(crate) fn check_transferred(&mut self, types: &[ValType]) {
        if !self.options.stress.check_stacks {
            return;
        }
        for (slot, &ty) in types.iter().enumerate() {
            if *self.tag(slot) != ValueClass::of(ty) as u8 {
                let what = format!("place {slot} of the transfer area does not contain a {ty:?}");
                self.heap.violation = Some(what);
            }
        }
    }
}
