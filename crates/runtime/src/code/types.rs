//! The types of an engine.
//!
//! Two types are the same if they have the same place in equal recursive groups. A group's key
//! names types of other groups by their numbers and its own by their place, so equal groups of
//! different modules are equal. Each type has one [`TypeInfo`], whose address generated code
//! compares.
//!
//! Types are never removed, and reading one takes no lock.
//!
//! Each engine has its own range of numbers, so a type of one engine is unknown to another.

use ropewalk_abi::code::TrampolineKind;
use ropewalk_abi::heap::{EXTERN_SIZE, ObjectLayout};
use ropewalk_abi::module::ModuleInfo;
use ropewalk_abi::{
    CompositeType, FuncType, HeapType, MAX_DEPTH, RefType, StorageType, SubType, TypeInfo,
    TypeKind, ValType,
};
use std::collections::HashMap;
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, RwLock};

/// All types that modules of an engine use.
#[derive(Debug)]
pub struct TypeRegistry {
    /// The number of the first type of each group. Locked to add types.
    groups: RwLock<HashMap<Box<[SubType]>, u32>>,
    first: u32,
    /// By their numbers, counted from `first`.
    types: boxcar::Vec<Arc<RegisteredType>>,
    extern_info: Box<TypeInfo>,
}

/// A type of an engine.
#[derive(Debug)]
pub struct RegisteredType {
    info: Box<TypeInfo>,
    /// The array that `references` of the info points to.
    _references: Box<[u32]>,
    /// The type, with the engine's numbers.
    ty: SubType,
    layout: ObjectLayout,
    /// The trampolines of functions of this type that exist, by kind.
    trampolines: [AtomicPtr<c_void>; TrampolineKind::ALL.len()],
}

impl RegisteredType {
    /// The record that generated code and objects point to.
    pub fn info(&self) -> *const TypeInfo {
        &*self.info
    }

    /// The number of the type.
    pub fn id(&self) -> u32 {
        self.info.id
    }

    /// The type, with the engine's numbers.
    pub fn ty(&self) -> &SubType {
        &self.ty
    }

    /// The layout of its objects.
    pub fn layout(&self) -> &ObjectLayout {
        &self.layout
    }
}

/// A function type of an engine, shared so that calls need not copy it.
#[derive(Clone, Debug)]
pub struct SharedFuncType(Arc<RegisteredType>);

impl Deref for SharedFuncType {
    type Target = FuncType;

    fn deref(&self) -> &FuncType {
        self.0.ty.composite.as_func().expect("it was looked at when this was made")
    }
}

/// In a key, the types of the group itself are numbered from here. Other numbers are smaller.
const OWN_GROUP: u32 = 1 << 31;

/// The distance between the first numbers of two engines.
///
/// A very large engine reaches the numbers of the next one, and after many engines numbers repeat.
/// Then a type of one engine may name another type in the wrong engine. That is safe: a handle is
/// checked by its store, never by a number.
const APART: u32 = 1 << 15;

fn first_number() -> u32 {
    static ENGINES: AtomicU32 = AtomicU32::new(0);
    let engine = ENGINES.fetch_add(1, Ordering::Relaxed);
    // The last engine still has half of all numbers.
    engine % (OWN_GROUP / 2 / APART) * APART
}

impl Default for TypeRegistry {
    fn default() -> Self {
        let mut extern_info = blank_info(TypeKind::Extern);
        extern_info.size = EXTERN_SIZE;
        let (groups, types) = (RwLock::default(), boxcar::Vec::new());
        TypeRegistry { groups, first: first_number(), types, extern_info }
    }
}

fn blank_info(kind: TypeKind) -> Box<TypeInfo> {
    Box::new(TypeInfo {
        supertypes: [ptr::null(); MAX_DEPTH],
        depth: 0,
        id: u32::MAX,
        size: 0,
        kind,
        elements_are_collected: false,
        entry: AtomicPtr::new(ptr::null_mut()),
        references: ptr::null(),
        reference_count: 0,
    })
}

impl TypeRegistry {
    /// The numbers of a module's types.
    pub fn register_module(&self, module: &ModuleInfo) -> Vec<u32> {
        let mut numbers: Vec<u32> = Vec::with_capacity(module.types.len());
        for group in &module.groups {
            let types = &module.types[group.start as usize..group.end as usize];
            let rename = |index: u32| match index.checked_sub(group.start) {
                Some(place) => OWN_GROUP + place,
                None => numbers[index as usize],
            };
            let key: Box<[SubType]> = types.iter().map(|ty| renamed(ty, &rename)).collect();
            let first = self.register_group(key);
            numbers.extend((0..types.len() as u32).map(|place| first + place));
        }
        numbers
    }

    /// The number of a function type with the engine's numbers.
    pub fn register_func(&self, ty: &FuncType) -> u32 {
        self.register_group(Box::new([SubType::func(ty.clone())]))
    }

    /// The number of a final type without a supertype, with the engine's numbers.
    pub fn register(&self, composite: CompositeType) -> u32 {
        self.register_group(Box::new([SubType { is_final: true, supertype: None, composite }]))
    }

    /// The number of the continuation type of a function type.
    pub fn register_cont(&self, function: &FuncType) -> u32 {
        let function = HeapType::Concrete(self.register_func(function));
        self.register(CompositeType::Cont(function))
    }

    /// The function type of a continuation type, if the number is one.
    pub fn cont_function(&self, number: u32) -> Option<FuncType> {
        match self.try_get(number)?.ty.composite {
            CompositeType::Cont(HeapType::Concrete(function)) => Some(self.func_type(function)),
            _ => None,
        }
    }

    /// The number of the first type of a group.
    fn register_group(&self, key: Box<[SubType]>) -> u32 {
        if let Some(&first) = self.groups.read().expect("never poisoned").get(&key) {
            return first;
        }
        let mut groups = self.groups.write().expect("never poisoned");
        if let Some(&first) = groups.get(&key) {
            return first;
        }
        let count = self.first as usize + self.types.count();
        let end = u32::try_from(count + key.len()).expect("fewer types than bytes");
        assert!(end < OWN_GROUP, "a number of a type has fewer than 32 bits");
        let first = count as u32;
        let kinds: Vec<TypeKind> = key.iter().map(|ty| ty.composite.kind()).collect();
        for (place, ty) in key.iter().enumerate() {
            let rename = |number: u32| match number.checked_sub(OWN_GROUP) {
                Some(place) => first + place,
                None => number,
            };
            let ty = renamed(ty, &rename);
            let registered = self.registered(first + place as u32, ty, |number| {
                match number.checked_sub(first) {
                    Some(place) => kinds[place as usize],
                    None => TypeKind::Func,
                }
            });
            let number = self.types.push(Arc::new(registered));
            debug_assert_eq!(self.first as usize + number, first as usize + place);
        }
        groups.insert(key, first);
        first
    }

    /// The type with a number.
    pub fn get(&self, number: u32) -> Arc<RegisteredType> {
        self.at(number).clone()
    }

    #[inline]
    fn at(&self, number: u32) -> &Arc<RegisteredType> {
        &self.types[number.wrapping_sub(self.first) as usize]
    }

    /// The trampoline of a function type, if it exists.
    #[inline]
    pub fn trampoline(&self, kind: TrampolineKind, number: u32) -> Option<NonNull<c_void>> {
        let ty = self.at(number);
        NonNull::new(ty.trampolines[kind as usize].load(Ordering::Acquire))
    }

    /// Sets a trampoline, which must live as long as the type.
    pub fn set_trampoline(&self, kind: TrampolineKind, number: u32, code: *const c_void) {
        let ty = self.at(number);
        ty.trampolines[kind as usize].store(code.cast_mut(), Ordering::Release);
    }

    /// Whether this engine has all types that a type names.
    pub fn knows(&self, ty: ValType) -> bool {
        match ty {
            ValType::Ref(RefType { heap: HeapType::Concrete(number), .. }) => {
                self.try_get(number).is_some()
            }
            _ => true,
        }
    }

    /// The type with a number, if there is one.
    pub fn try_get(&self, number: u32) -> Option<Arc<RegisteredType>> {
        self.types.get(number.wrapping_sub(self.first) as usize).cloned()
    }

    /// The function type with a number.
    ///
    /// # Panics
    ///
    /// If the type is not a function type.
    pub fn func_type(&self, number: u32) -> FuncType {
        FuncType::clone(&self.shared_func_type(number))
    }

    /// As [`func_type`](Self::func_type), shared.
    pub fn shared_func_type(&self, number: u32) -> SharedFuncType {
        let ty = SharedFuncType(self.get(number));
        assert!(ty.0.ty.composite.as_func().is_some(), "a function type");
        ty
    }

    /// The kind of the type with a number.
    pub fn kind(&self, number: u32) -> TypeKind {
        self.at(number).info.kind
    }

    /// Whether references of a heap type are to functions.
    pub(crate) fn is_func(&self, heap: HeapType) -> bool {
        match heap {
            HeapType::Func | HeapType::NoFunc => true,
            HeapType::Concrete(number) => self.kind(number) == TypeKind::Func,
            _ => false,
        }
    }

    /// The record that host values in the heap point to.
    pub fn extern_info(&self) -> *const TypeInfo {
        &*self.extern_info
    }

    /// Whether the collector follows values of a type.
    pub fn is_collected(&self, ty: ValType) -> bool {
        ty.is_collected(|number| self.kind(number))
    }

    /// Whether values of one type are values of another.
    pub fn is_subtype(&self, a: ValType, b: ValType) -> bool {
        match (a, b) {
            (ValType::Ref(a), ValType::Ref(b)) => self.is_ref_subtype(a, b),
            (a, b) => a == b,
        }
    }

    fn is_ref_subtype(&self, a: RefType, b: RefType) -> bool {
        (b.nullable || !a.nullable) && self.is_heap_subtype(a.heap, b.heap)
    }

    fn is_heap_subtype(&self, a: HeapType, b: HeapType) -> bool {
        let defined = |a, b| is_subtype(&self.get(a).info, &self.get(b).info);
        a.is_subtype(b, |ty| self.kind(ty), defined)
    }
}

/// Whether a type is equal to another or a subtype of it.
pub fn is_subtype(a: &TypeInfo, b: &TypeInfo) -> bool {
    ptr::eq(a.supertypes[b.depth as usize], b)
}

/// A type with other numbers.
fn renamed(ty: &SubType, rename: &impl Fn(u32) -> u32) -> SubType {
    let mut heap_type = |heap| match heap {
        HeapType::Concrete(index) => HeapType::Concrete(rename(index)),
        other => other,
    };
    SubType {
        is_final: ty.is_final,
        supertype: ty.supertype.map(rename),
        composite: ty.composite.map_heap_types(&mut heap_type),
    }
}

impl TypeRegistry {
    /// Makes a type; `own_kind` is the kind of a type of its own group.
    fn registered(
        &self,
        number: u32,
        ty: SubType,
        own_kind: impl Fn(u32) -> TypeKind,
    ) -> RegisteredType {
        let kind_of = |other: u32| match self.try_get(other) {
            Some(known) => known.info.kind,
            None => own_kind(other),
        };
        let layout = ObjectLayout::of(&ty.composite, kind_of);
        let references: Box<[u32]> = layout.references.as_slice().into();
        let mut info = blank_info(ty.composite.kind());
        info.id = number;
        info.size = layout.size;
        info.references = references.as_ptr();
        info.reference_count = references.len() as u32;
        if let CompositeType::Array(array) = &ty.composite {
            info.elements_are_collected = match array.element.storage {
                StorageType::Val(ty) => ty.is_collected(kind_of),
                StorageType::I8 | StorageType::I16 => false,
            };
        }
        if let Some(supertype) = ty.supertype {
            let supertype = &self.at(supertype).info;
            info.supertypes = supertype.supertypes;
            info.depth = supertype.depth + 1;
        }
        info.supertypes[info.depth as usize] = &*info;
        RegisteredType {
            info,
            _references: references,
            ty,
            layout,
            trampolines: Default::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_abi::{FieldType, StructType};

    fn list_module() -> ModuleInfo {
        let reference = |index| {
            StorageType::Val(ValType::Ref(RefType {
                nullable: true,
                heap: HeapType::Concrete(index),
            }))
        };
        let node = |index: u32, supertype| SubType {
            is_final: false,
            supertype,
            composite: CompositeType::Struct(StructType {
                fields: [FieldType { storage: reference(index), mutable: true }].into(),
            }),
        };
        ModuleInfo {
            types: vec![
                SubType::func(FuncType::default()),
                node(2, None),
                node(1, None),
                node(2, Some(1)),
            ],
            groups: vec![0..1, 1..3, 3..4],
            ..ModuleInfo::default()
        }
    }

    #[test]
    fn equal_groups_of_different_modules_are_the_same_types() {
        let registry = TypeRegistry::default();
        let a = registry.register_module(&list_module());
        let mut other = list_module();
        other.types.remove(0);
        other.groups = vec![0..2, 2..3];
        for ty in &mut other.types {
            *ty = renamed(ty, &|index| index - 1);
        }
        let b = registry.register_module(&other);
        assert_eq!(a[1..], b[..]);
        assert_ne!(a[1], a[2]);
    }

    #[test]
    fn a_type_has_its_supertypes_at_their_depths() {
        let registry = TypeRegistry::default();
        let numbers = registry.register_module(&list_module());
        let (sub, sup, other) =
            (registry.get(numbers[3]), registry.get(numbers[1]), registry.get(numbers[2]));
        assert!(is_subtype(&sub.info, &sup.info));
        assert!(!is_subtype(&sup.info, &sub.info));
        assert!(!is_subtype(&sub.info, &other.info));
        assert_eq!(sub.layout().references, [8]);
    }

    #[test]
    fn the_numbers_of_one_engine_are_unknown_to_another() {
        let [one, other] = [(); 2].map(|()| TypeRegistry::default());
        let [a, b] = [&one, &other].map(|registry| registry.register_module(&list_module()));
        assert!(a.iter().all(|number| other.try_get(*number).is_none() && !b.contains(number)));
        assert!(b.iter().all(|number| one.try_get(*number).is_none()));
    }

    #[test]
    fn equal_function_types_have_equal_numbers() {
        let registry = TypeRegistry::default();
        let a = FuncType::new([ValType::I32], []);
        let b = FuncType::new([], [ValType::I32]);
        assert_eq!(registry.register_func(&a), registry.register_func(&a.clone()));
        assert_ne!(registry.register_func(&a), registry.register_func(&b));
    }
}
