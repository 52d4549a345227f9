//! Copying what can be reached.
//!
//! First what the roots refer to is copied, then what the copies refer to, in
//! the order in which they lie in the new space; so there is no recursion and
//! no list of what is left to do: it is what lies behind the scan.

use super::object::Object;
use crate::const_expr::ConstValue;
use crate::frames::Frames;
use crate::store::Store;
use ropewalk_abi::TypeKind;

/// Copies every object that can be reached to free memory from `base` on, and
/// updates all references. Answers the end of the copies.
pub(super) fn copy_reachable(store: &mut Store, base: usize) -> usize {
    let mut copier =
        Copier { next: base, reached: std::mem::take(&mut store.heap.externs.reached) };
    store.visit_roots(|reference| copier.forward(reference));
    let mut scan = base;
    while scan < copier.next {
        // SAFETY: copies lie one after another.
        let object = unsafe { Object::from_reference(scan as u64) }.expect("objects are aligned");
        object.visit_references(|reference| copier.forward(reference));
        scan += object.size();
    }
    store.heap.externs.reached = copier.reached;
    store.heap.externs.sweep();
    copier.next
}

struct Copier {
    /// Where the next copy goes.
    next: usize,
    /// Which host values were reached.
    reached: Vec<bool>,
}

impl Copier {
    /// Makes a reference refer to the copy.
    fn forward(&mut self, reference: &mut u64) {
        // SAFETY: roots and fields are references of the store, and each is
        // updated once.
        let Some(object) = (unsafe { Object::from_reference(*reference) }) else { return };
        let copy = object.forwarded().unwrap_or_else(|| self.copy(object));
        *reference = copy.reference();
    }

    fn copy(&mut self, object: Object) -> Object {
        if object.ty().kind == TypeKind::Extern {
            let number = object.extern_number() as usize;
            self.reached.resize(self.reached.len().max(number + 1), false);
            self.reached[number] = true;
        }
        let size = object.size();
        let place = self.next;
        self.next += size;
        // SAFETY: the new space is as large as all objects together.
        unsafe { object.copy_to(place, size) }
    }
}

impl Store {
    /// Calls a function with every reference outside the heap that is followed.
    fn visit_roots(&mut self, mut visit: impl FnMut(&mut u64)) {
        self.visit_frames(&mut visit);
        self.heap.roots.visit(&mut visit);
        for table in self.tables.iter_mut().filter(|table| table.is_collected()) {
            table.elements_mut().iter_mut().for_each(&mut visit);
        }
        for place in &self.collected_globals {
            // SAFETY: globals live as long as the store, and generated code
            // does not run.
            unsafe { visit(&mut *place.0.as_ptr().cast::<u64>()) };
        }
        for value in &mut self.const_stack {
            if let ConstValue::Reference(reference) = value {
                visit(reference);
            }
        }
        for instance in &mut self.instances {
            instance.visit_elements(&mut visit);
        }
    }

    /// The references in the frames of every activation.
    fn visit_frames(&self, visit: &mut impl FnMut(&mut u64)) {
        for stack in self.stacks_in_host_calls() {
            for frame in Frames::of_host_call(self, stack) {
                let Some((image, site, sp)) = frame.site() else { continue };
                for offset in image.references_of(site) {
                    // SAFETY: the stack map says that a reference is there, and
                    // the frame is suspended.
                    unsafe { visit(&mut *((sp + *offset as usize) as *mut u64)) };
                }
            }
        }
    }
}
