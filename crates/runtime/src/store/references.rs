//! References that the host holds: scopes, types, fields.

use crate::code::types::is_subtype;
use crate::heap::{Object, ObjectType, OwnedRoot, Root, read_storage, slot_type, write_storage};
use crate::store::Store;
use ropewalk_abi::stack::is_stack;
use ropewalk_abi::{FuncRef, HeapType, RawVal, RefType, StorageType, TypeKind};
use std::any::Any;

impl Store {
    /// Gives the host a reference until its scope ends, or outside of scopes, for some time.
    pub fn root(&mut self, reference: u64) -> Root {
        if self.running.depth() == 0 && self.heap.roots.open_scopes == 0 {
            return self.heap.roots.add_unscoped(reference);
        }
        self.heap.roots.add(reference)
    }

    /// As [`root`](Self::root). Without memory for it, the root is one whose scope has ended.
    pub fn root_for_host(&mut self, reference: u64) -> Root {
        match self.heap.roots.make_room(1) {
            Ok(()) => self.root(reference),
            Err(_) => self.heap.roots.ended(),
        }
    }

    /// The reference, unless its scope has ended.
    pub fn rooted(&self, root: Root) -> Option<u64> {
        self.heap.roots.get(root)
    }

    /// Gives the host a reference until the root is dropped. None if there is no memory for it.
    pub fn own(&mut self, reference: u64) -> Option<OwnedRoot> {
        self.heap.roots.own(reference)
    }

    /// The reference of an owned root.
    pub fn owned(&self, root: &OwnedRoot) -> u64 {
        root.reference()
    }

    /// Where a scope begins for references that a host function makes from now on.
    #[inline]
    pub fn begin_scope(&self) -> usize {
        self.heap.roots.len()
    }

    /// Ends a scope.
    #[inline]
    pub fn end_scope(&mut self, begin: usize) {
        if self.heap.roots.len() != begin {
            self.heap.roots.truncate(begin);
        }
    }

    /// Opens a scope that may outlast the activation; returns where it begins.
    pub fn open_scope(&mut self) -> usize {
        self.heap.roots.open_scopes += 1;
        self.begin_scope()
    }

    /// Closes an open scope.
    pub fn close_scope(&mut self, begin: usize) {
        // Two overlapping scopes can be closed in the wrong order; then each closes the other.
        let open = &mut self.heap.roots.open_scopes;
        *open = open.saturating_sub(1);
        self.end_scope(begin);
    }

    /// Lets the scope of a host function outlast its activation.
    pub(crate) fn keep_scope_open(&mut self) {
        self.heap.roots.open_scopes += 1;
    }

    /// The number of collections so far.
    pub fn collections(&self) -> u64 {
        self.heap.collections
    }

    /// The bytes that objects take, including garbage.
    pub fn heap_used(&self) -> usize {
        self.heap.used(self.context())
    }

    /// Whether a reference has a type. The type of a continuation is not known: only its kind.
    ///
    /// # Safety
    ///
    /// The reference must be of the store, and be a function if and only if the type is.
    pub unsafe fn has_type(&self, reference: u64, ty: RefType) -> bool {
        if reference == 0 {
            return ty.nullable;
        }
        let types = &self.options.types;
        match ty.heap {
            HeapType::Func => true,
            HeapType::Cont => is_stack(reference),
            HeapType::NoFunc | HeapType::NoExtern | HeapType::None => false,
            HeapType::NoExn | HeapType::NoCont => false,
            HeapType::Concrete(number) if types.kind(number) == TypeKind::Cont => {
                is_stack(reference)
            }
            HeapType::Concrete(number) if types.kind(number) == TypeKind::Func => {
                let expected = types.get(number);
                // SAFETY: the reference is to a function; types live as long as the engine.
                unsafe { is_subtype(&*(*(reference as *const FuncRef)).ty, &*expected.info()) }
            }
            _ if is_stack(reference) => false,
            heap => {
                // SAFETY: the caller's promise; it is not a function.
                let object = unsafe { Object::from_reference(reference) };
                match object {
                    None => is_type_of_i31(heap),
                    Some(object) => self.object_has_type(object, heap),
                }
            }
        }
    }

    fn object_has_type(&self, object: Object, heap: HeapType) -> bool {
        let kind = object.ty().kind;
        match heap {
            // `extern.convert_any` and its inverse do not change an object.
            HeapType::Any | HeapType::Extern => kind != TypeKind::Func,
            HeapType::Exn => kind == TypeKind::Func,
            HeapType::Eq => matches!(kind, TypeKind::Struct | TypeKind::Array),
            HeapType::Struct => kind == TypeKind::Struct,
            HeapType::Array => kind == TypeKind::Array,
            HeapType::Concrete(number) => {
                let expected = self.options.types.get(number);
                // SAFETY: types live as long as the engine.
                is_subtype(object.ty(), unsafe { &*expected.info() })
            }
            _ => false,
        }
    }

    /// The kind of the object that a reference refers to; none for null and `i31`.
    ///
    /// # Safety
    ///
    /// The reference must be of the store, and not to a function.
    pub unsafe fn object_type(&self, reference: u64) -> Option<ObjectType> {
        // SAFETY: the caller's promise.
        let object = unsafe { Object::from_reference(reference) }?;
        let ty = object.ty();
        Some(match ty.kind {
            TypeKind::Extern => ObjectType::Extern,
            TypeKind::Func => ObjectType::Exception(object.tag()),
            TypeKind::Struct => ObjectType::Struct(self.options.types.get(ty.id)),
            TypeKind::Array => ObjectType::Array(self.options.types.get(ty.id), object.len()),
            TypeKind::Cont => unreachable!("continuations do not lie in the heap"),
        })
    }

    /// The host value that a reference refers to.
    ///
    /// # Safety
    ///
    /// The reference must be of the store.
    pub unsafe fn extern_value(&self, reference: u64) -> Option<&(dyn Any + Send + Sync)> {
        // SAFETY: the caller's promise.
        let object = unsafe { Object::from_reference(reference) }?;
        match object.ty().kind {
            TypeKind::Extern => self.heap.externs.get(object.extern_number()),
            _ => None,
        }
    }

    /// As [`extern_value`](Self::extern_value), to change it.
    ///
    /// # Safety
    ///
    /// The reference must be of the store.
    pub(crate) unsafe fn extern_value_mut(
        &mut self,
        reference: u64,
    ) -> Option<&mut (dyn Any + Send + Sync)> {
        // SAFETY: the caller's promise.
        let object = unsafe { Object::from_reference(reference) }?;
        match object.ty().kind {
            TypeKind::Extern => self.heap.externs.get_mut(object.extern_number()),
            _ => None,
        }
    }

    /// Reads a field, an element, or a value of an exception. Packed integers are zero-extended.
    ///
    /// # Safety
    ///
    /// The reference must be of the store, to an object that has this slot.
    pub unsafe fn read_slot(&self, reference: u64, index: u32) -> RawVal {
        // SAFETY: the caller's promise.
        unsafe {
            let (place, storage) = self.slot(reference, index);
            read_storage(place, storage)
        }
    }

    /// Writes a field of a struct, an element of an array, or a value of an exception.
    ///
    /// # Safety
    ///
    /// The reference must be of the store, to an object with this slot, and the value fit it.
    pub unsafe fn write_slot(&mut self, reference: u64, index: u32, value: &RawVal) {
        // SAFETY: the caller's promise.
        unsafe {
            let (place, storage) = self.slot(reference, index);
            write_storage(place, storage, value);
        }
    }

    unsafe fn slot(&self, reference: u64, index: u32) -> (*mut u8, StorageType) {
        // SAFETY: the caller's promise.
        let object = unsafe { Object::from_reference(reference) }.expect("not null");
        let ty = self.options.types.get(object.ty().id);
        let storage = slot_type(&ty, index).storage;
        let place = match ty.ty().composite.kind() {
            TypeKind::Array => object.element(index),
            _ => object.at(ty.layout().offsets[index as usize]),
        };
        (place, storage)
    }
}

fn is_type_of_i31(heap: HeapType) -> bool {
    matches!(heap, HeapType::I31 | HeapType::Eq | HeapType::Any | HeapType::Extern)
}
