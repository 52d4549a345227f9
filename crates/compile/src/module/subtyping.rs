//! The subtype relation between the types of a module.

use ropewalk_abi::module::ModuleInfo;
use ropewalk_abi::{CompositeType, FieldType, FuncType, HeapType, RefType, TypeKind, ValType};
use std::collections::HashMap;
use wasmparser::UnpackedIndex;
use wasmparser::types::{CoreTypeId, TypesRef};

/// A number for each type of a module, which equal types share.
#[derive(Default)]
pub(crate) struct Canonical {
    numbers: Vec<u32>,
    /// The first type index for each of the validator's ids.
    first: HashMap<CoreTypeId, u32>,
}

impl Canonical {
    pub fn of(types: &TypesRef<'_>) -> Canonical {
        let mut first: HashMap<CoreTypeId, u32> = HashMap::new();
        let ids = (0..types.core_type_count_in_module()).map(|i| types.core_type_at_in_module(i));
        let number = |(i, id)| *first.entry(id).or_insert(i);
        let numbers = (0..).zip(ids).map(number).collect();
        Canonical { numbers, first }
    }
}

/// The types of a module, with questions about them.
pub(crate) struct Subtyping<'a> {
    pub info: &'a ModuleInfo,
    pub canonical: &'a Canonical,
}

impl Subtyping<'_> {
    pub fn is_subtype(&self, a: ValType, b: ValType) -> bool {
        match (a, b) {
            (ValType::Ref(a), ValType::Ref(b)) => {
                (b.nullable || !a.nullable)
                    && a.heap.is_subtype(
                        b.heap,
                        |ty| self.info.type_kind(ty),
                        |a, b| self.is_defined_subtype(a, b),
                    )
            }
            (a, b) => a == b,
        }
    }

    /// Whether each type in a list is a subtype of its counterpart.
    pub fn are_subtypes(&self, a: &[ValType], b: &[ValType]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.is_subtype(*a, *b))
    }

    fn is_defined_subtype(&self, a: u32, b: u32) -> bool {
        let supertype = |ty: &u32| self.info.types[*ty as usize].supertype;
        std::iter::successors(Some(a), supertype).any(|ty| self.is_same(ty, b))
    }

    /// Whether two type indices name the same type.
    pub fn is_same(&self, a: u32, b: u32) -> bool {
        self.canonical.numbers[a as usize] == self.canonical.numbers[b as usize]
    }

    /// Whether a type of the validator is a reference to a first-class stack.
    pub fn is_stackref(&self, ty: wasmparser::ValType) -> bool {
        let wasmparser::ValType::Ref(ty) = ty else { return false };
        let index = match ty.type_index().map(|index| index.unpack()) {
            Some(UnpackedIndex::Id(id)) => self.canonical.first.get(&id).copied(),
            Some(UnpackedIndex::Module(index)) => Some(index),
            _ => None,
        };
        let reference = |index| RefType { nullable: true, heap: HeapType::Concrete(index) };
        index.is_some_and(|index| self.is_brand(ValType::Ref(reference(index)), STACK_BRAND))
    }

    /// The function type of a reference to continuations.
    pub fn continuation(&self, ty: ValType) -> Option<&FuncType> {
        let index = self.continuation_index(ty)?;
        Some(self.info.func_type(self.info.cont_function(index)))
    }

    /// The type index of a reference to continuations.
    pub fn continuation_index(&self, ty: ValType) -> Option<u32> {
        let ValType::Ref(RefType { heap: HeapType::Concrete(index), .. }) = ty else { return None };
        (self.info.type_kind(index) == TypeKind::Cont).then_some(index)
    }

    /// The function type of a reference to functions.
    pub fn function(&self, ty: ValType) -> Option<&FuncType> {
        let ValType::Ref(RefType { heap: HeapType::Concrete(index), .. }) = ty else { return None };
        (self.info.type_kind(index) == TypeKind::Func).then(|| self.info.func_type(index))
    }

    /// The fields of the struct type of a reference.
    pub fn structure(&self, ty: ValType) -> Option<&[FieldType]> {
        let ValType::Ref(RefType { heap: HeapType::Concrete(index), .. }) = ty else { return None };
        match &self.info.types[index as usize].composite {
            CompositeType::Struct(ty) => Some(&ty.fields),
            _ => None,
        }
    }

    /// Whether a reference is to the first type of a recursive group of two: a continuation type,
    /// and its function type with this many parameters, which are nullable references to the first.
    pub fn is_brand(&self, ty: ValType, params: usize) -> bool {
        let Some(index) = self.continuation_index(ty) else { return false };
        let Some(group) = self.info.groups.iter().find(|group| group.contains(&index)) else {
            return false;
        };
        let own = ValType::Ref(RefType { nullable: true, heap: HeapType::Concrete(index) });
        let second = index + 1;
        *group == (index..index + 2)
            && self.info.cont_function(index) == second
            && *self.info.func_type(second) == FuncType::new(vec![own; params], vec![])
            && self.info.types[index as usize].is_final
            && self.info.types[second as usize].is_final
    }
}

/// The parameters of the function in the reserved type of fibers.
pub(crate) const FIBER_BRAND: usize = 1;
/// The parameters of the function in the reserved type of first-class stacks.
pub(crate) const STACK_BRAND: usize = 2;

/// The same type without null, if it is a reference.
pub(crate) fn non_null(ty: ValType) -> ValType {
    match ty {
        ValType::Ref(ty) => ValType::Ref(RefType { nullable: false, ..ty }),
        ty => ty,
    }
}

/// Whether a type is a reference that can be null.
pub(crate) fn is_nullable(ty: ValType) -> bool {
    matches!(ty, ValType::Ref(RefType { nullable: true, .. }))
}
