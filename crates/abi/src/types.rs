//! The types of WebAssembly.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ValType {
    /// A 32-bit integer.
    I32,
    /// A 64-bit integer.
    I64,
    /// A 32-bit float.
    F32,
    /// A 64-bit float.
    F64,
    /// A 128-bit vector.
    V128,
    /// A reference.
    Ref(RefType),
}

impl ValType {
    /// `funcref`: a nullable reference to any function.
    pub const FUNCREF: ValType = ValType::Ref(RefType::FUNCREF);
    /// `externref`: a nullable reference to a host value.
    pub const EXTERNREF: ValType = ValType::Ref(RefType::EXTERNREF);

    /// Maps the heap type, if there is one.
    pub fn map_heap_type(self, map: &mut impl FnMut(HeapType) -> HeapType) -> ValType {
        match self {
            ValType::Ref(ty) => ValType::Ref(RefType { heap: map(ty.heap), ..ty }),
            number => number,
        }
    }

    /// Whether the collector follows values of this type.
    pub fn is_collected(self, kind_of: impl Fn(u32) -> TypeKind) -> bool {
        matches!(self, ValType::Ref(ty) if ty.heap.is_collected(kind_of))
    }

    /// Whether values of this type travel in vector registers.
    pub const fn is_float_class(self) -> bool {
        matches!(self, ValType::F32 | ValType::F64 | ValType::V128)
    }
}

impl fmt::Display for ValType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValType::I32 => f.write_str("i32"),
            ValType::I64 => f.write_str("i64"),
            ValType::F32 => f.write_str("f32"),
            ValType::F64 => f.write_str("f64"),
            ValType::V128 => f.write_str("v128"),
            ValType::Ref(r) => fmt::Display::fmt(r, f),
        }
    }
}

/// The type of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RefType {
    /// Whether null belongs to the type.
    pub nullable: bool,
    /// What it refers to.
    pub heap: HeapType,
}

impl RefType {
    /// The type of references to a heap type, with or without null.
    pub fn new(nullable: bool, heap: HeapType) -> RefType {
        RefType { nullable, heap }
    }

    /// `(ref null func)`.
    pub const FUNCREF: RefType = RefType { nullable: true, heap: HeapType::Func };
    /// `(ref null extern)`.
    pub const EXTERNREF: RefType = RefType { nullable: true, heap: HeapType::Extern };
    /// `(ref null any)`.
    pub const ANYREF: RefType = RefType { nullable: true, heap: HeapType::Any };
    /// A continuation or null.
    pub const CONTREF: RefType = RefType { nullable: true, heap: HeapType::Cont };
    /// `(ref null exn)`.
    pub const EXNREF: RefType = RefType { nullable: true, heap: HeapType::Exn };
}

impl fmt::Display for RefType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.nullable, self.heap) {
            (true, HeapType::Func) => f.write_str("funcref"),
            (true, HeapType::Extern) => f.write_str("externref"),
            (true, HeapType::Any) => f.write_str("anyref"),
            (true, HeapType::Exn) => f.write_str("exnref"),
            (true, heap) => write!(f, "(ref null {heap})"),
            (false, heap) => write!(f, "(ref {heap})"),
        }
    }
}

/// What a reference refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HeapType {
    /// Any function.
    Func,
    /// No function.
    NoFunc,
    /// A value of the host.
    Extern,
    /// No value of the host.
    NoExtern,
    /// Any internal value.
    Any,
    /// A value that can be compared.
    Eq,
    /// A 31-bit integer.
    I31,
    /// Any struct.
    Struct,
    /// Any array.
    Array,
    /// No internal value.
    None,
    /// An exception.
    Exn,
    /// No exception.
    NoExn,
    /// A continuation.
    Cont,
    /// No continuation.
    NoCont,
    /// A defined type: its index in a [`ModuleInfo`](crate::module::ModuleInfo), its number in the
    /// engine elsewhere.
    Concrete(u32),
}

impl HeapType {
    /// Whether it is a subtype of another. `kind` and `is_defined_subtype` describe defined types.
    pub fn is_subtype(
        self,
        other: HeapType,
        kind: impl Fn(u32) -> TypeKind,
        is_defined_subtype: impl Fn(u32, u32) -> bool,
    ) -> bool {
        use HeapType::*;
        match (self, other) {
            (a, b) if a == b => true,
            (Concrete(a), Concrete(b)) => is_defined_subtype(a, b),
            (Concrete(a), b) => match kind(a) {
                TypeKind::Func => b == Func,
                TypeKind::Struct => matches!(b, Struct | Eq | Any),
                TypeKind::Array => matches!(b, Array | Eq | Any),
                TypeKind::Cont => b == Cont,
                TypeKind::Extern => false,
            },
            (NoFunc, Concrete(b)) => kind(b) == TypeKind::Func,
            (None, Concrete(b)) => matches!(kind(b), TypeKind::Struct | TypeKind::Array),
            (NoCont, Concrete(b)) => kind(b) == TypeKind::Cont,
            (NoFunc, Func) | (NoExtern, Extern) | (NoExn, Exn) | (NoCont, Cont) => true,
            (None, Any | Eq | I31 | Struct | Array) => true,
            (I31 | Struct | Array, Eq | Any) | (Eq, Any) => true,
            _ => false,
        }
    }

    /// Whether the collector follows references to this heap type.
    pub fn is_collected(self, kind_of: impl Fn(u32) -> TypeKind) -> bool {
        match self {
            HeapType::Func | HeapType::NoFunc => false,
            HeapType::Concrete(ty) => kind_of(ty) != TypeKind::Func,
            _ => true,
        }
    }
}

impl fmt::Display for HeapType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HeapType::Func => "func",
            HeapType::NoFunc => "nofunc",
            HeapType::Extern => "extern",
            HeapType::NoExtern => "noextern",
            HeapType::Any => "any",
            HeapType::Eq => "eq",
            HeapType::I31 => "i31",
            HeapType::Struct => "struct",
            HeapType::Array => "array",
            HeapType::None => "none",
            HeapType::Exn => "exn",
            HeapType::NoExn => "noexn",
            HeapType::Cont => "cont",
            HeapType::NoCont => "nocont",
            HeapType::Concrete(ty) => return write!(f, "type {ty}"),
        })
    }
}

/// The kinds of defined types, and of objects in the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum TypeKind {
    /// Functions. In the heap: exceptions, whose tag has a function type.
    Func = 0,
    /// Structs.
    Struct = 1,
    /// Arrays.
    Array = 2,
    /// Host values, which have no defined type.
    Extern = 3,
    /// Continuations, which are not in the heap.
    Cont = 4,
}

/// A defined type, with its place in the subtype hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SubType {
    /// Whether it can have no subtypes.
    pub is_final: bool,
    /// Its supertype.
    pub supertype: Option<u32>,
    /// The type itself.
    pub composite: CompositeType,
}

impl SubType {
    /// A function type without subtypes or supertypes.
    pub fn func(ty: FuncType) -> SubType {
        SubType { is_final: true, supertype: None, composite: CompositeType::Func(ty) }
    }
}

/// A defined type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CompositeType {
    /// A function type.
    Func(FuncType),
    /// A struct type.
    Struct(StructType),
    /// An array type.
    Array(ArrayType),
    /// The type of continuations of a function type.
    Cont(HeapType),
}

impl CompositeType {
    /// Which kind it is.
    pub fn kind(&self) -> TypeKind {
        match self {
            CompositeType::Func(_) => TypeKind::Func,
            CompositeType::Struct(_) => TypeKind::Struct,
            CompositeType::Array(_) => TypeKind::Array,
            CompositeType::Cont(_) => TypeKind::Cont,
        }
    }

    /// The function type that it is.
    pub fn as_func(&self) -> Option<&FuncType> {
        if let CompositeType::Func(ty) = self { Some(ty) } else { None }
    }

    /// Maps each heap type that it mentions.
    pub fn map_heap_types(&self, map: &mut impl FnMut(HeapType) -> HeapType) -> CompositeType {
        match self {
            CompositeType::Func(ty) => CompositeType::Func(ty.map_heap_types(map)),
            CompositeType::Struct(ty) => CompositeType::Struct(StructType {
                fields: ty.fields.iter().map(|field| field.map_heap_types(map)).collect(),
            }),
            CompositeType::Array(ty) => {
                CompositeType::Array(ArrayType { element: ty.element.map_heap_types(map) })
            }
            CompositeType::Cont(function) => CompositeType::Cont(map(*function)),
        }
    }
}

impl fmt::Display for CompositeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompositeType::Func(ty) => fmt::Display::fmt(ty, f),
            CompositeType::Struct(ty) => fmt::Display::fmt(ty, f),
            CompositeType::Array(ty) => fmt::Display::fmt(ty, f),
            CompositeType::Cont(function) => write!(f, "(cont {function})"),
        }
    }
}

/// The type of a struct.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StructType {
    /// Its fields.
    pub fields: Box<[FieldType]>,
}

impl fmt::Display for StructType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(struct")?;
        self.fields.iter().try_for_each(|field| write!(f, " (field {field})"))?;
        f.write_str(")")
    }
}

/// The type of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ArrayType {
    /// Its elements.
    pub element: FieldType,
}

impl fmt::Display for ArrayType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(array {})", self.element)
    }
}

/// The type of a field of a struct or an element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FieldType {
    /// How it is stored.
    pub storage: StorageType,
    /// Whether it can be set.
    pub mutable: bool,
}

impl FieldType {
    /// A field with a storage type, which can be set or not.
    pub fn new(storage: impl Into<StorageType>, mutable: bool) -> FieldType {
        FieldType { storage: storage.into(), mutable }
    }

    fn map_heap_types(&self, map: &mut impl FnMut(HeapType) -> HeapType) -> FieldType {
        let storage = match self.storage {
            StorageType::Val(ty) => StorageType::Val(ty.map_heap_type(map)),
            packed => packed,
        };
        FieldType { storage, ..*self }
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mutable {
            true => write!(f, "(mut {})", self.storage),
            false => fmt::Display::fmt(&self.storage, f),
        }
    }
}

/// How a field is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StorageType {
    /// Eight bits.
    I8,
    /// Sixteen bits.
    I16,
    /// A value of a type.
    Val(ValType),
}

impl StorageType {
    /// The type of the values that are read and written.
    pub fn unpacked(self) -> ValType {
        match self {
            StorageType::I8 | StorageType::I16 => ValType::I32,
            StorageType::Val(ty) => ty,
        }
    }

    /// The size in bytes, which is also the alignment except for vectors.
    pub fn size(self) -> u32 {
        match self {
            StorageType::I8 => 1,
            StorageType::I16 => 2,
            StorageType::Val(ValType::I32 | ValType::F32) => 4,
            StorageType::Val(ValType::I64 | ValType::F64 | ValType::Ref(_)) => 8,
            StorageType::Val(ValType::V128) => 16,
        }
    }
}

impl From<ValType> for StorageType {
    fn from(ty: ValType) -> StorageType {
        StorageType::Val(ty)
    }
}

impl From<RefType> for ValType {
    fn from(ty: RefType) -> ValType {
        ValType::Ref(ty)
    }
}

impl fmt::Display for StorageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorageType::I8 => f.write_str("i8"),
            StorageType::I16 => f.write_str("i16"),
            StorageType::Val(ty) => fmt::Display::fmt(ty, f),
        }
    }
}

/// The type of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FuncType {
    params: Box<[ValType]>,
    results: Box<[ValType]>,
}

impl FuncType {
    /// The type of functions from `params` to `results`.
    pub fn new(
        params: impl IntoIterator<Item = ValType>,
        results: impl IntoIterator<Item = ValType>,
    ) -> Self {
        FuncType { params: params.into_iter().collect(), results: results.into_iter().collect() }
    }

    /// Maps each heap type.
    pub fn map_heap_types(&self, map: &mut impl FnMut(HeapType) -> HeapType) -> FuncType {
        let mut all = |types: &[ValType]| types.iter().map(|ty| ty.map_heap_type(map)).collect();
        FuncType { params: all(&self.params), results: all(&self.results) }
    }

    /// The types of the parameters.
    pub fn params(&self) -> &[ValType] {
        &self.params
    }

    /// The types of the results.
    pub fn results(&self) -> &[ValType] {
        &self.results
    }
}

impl fmt::Display for FuncType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        list(f, &self.params)?;
        f.write_str("] -> [")?;
        list(f, &self.results)?;
        f.write_str("]")
    }
}

fn list(f: &mut fmt::Formatter<'_>, types: &[ValType]) -> fmt::Result {
    for (i, ty) in types.iter().enumerate() {
        if i > 0 {
            f.write_str(" ")?;
        }
        fmt::Display::fmt(ty, f)?;
    }
    Ok(())
}

/// The type of a memory. Sizes are in pages of 64 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MemoryType {
    /// Whether addresses have 64 bits.
    pub memory64: bool,
    /// The initial size.
    pub minimum: u64,
    /// The largest size it may grow to.
    pub maximum: Option<u64>,
}

impl MemoryType {
    /// The size of a page.
    pub const PAGE_SIZE: u64 = 65536;

    /// The type of a memory with 32-bit addresses.
    pub fn new(minimum: u32, maximum: Option<u32>) -> MemoryType {
        let maximum = maximum.map(u64::from);
        MemoryType { memory64: false, minimum: minimum.into(), maximum }
    }

    /// The type of a memory with 64-bit addresses.
    pub fn new64(minimum: u64, maximum: Option<u64>) -> MemoryType {
        MemoryType { memory64: true, minimum, maximum }
    }

    /// The most pages that its addresses can reach.
    pub fn address_limit(&self) -> u64 {
        if self.memory64 { 1 << 48 } else { 1 << 16 }
    }
}

impl fmt::Display for MemoryType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.memory64 { "memory i64 " } else { "memory " })?;
        limits(f, self.minimum, self.maximum)
    }
}

/// The type of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TableType {
    /// Whether indices have 64 bits.
    pub table64: bool,
    /// The type of its elements.
    pub element: RefType,
    /// The initial size.
    pub minimum: u64,
    /// The largest size it may grow to.
    pub maximum: Option<u64>,
}

impl TableType {
    /// The type of a table with 32-bit indices.
    pub fn new(element: RefType, minimum: u32, maximum: Option<u32>) -> TableType {
        let maximum = maximum.map(u64::from);
        TableType { table64: false, element, minimum: minimum.into(), maximum }
    }

    /// The type of a table with 64-bit indices.
    pub fn new64(element: RefType, minimum: u64, maximum: Option<u64>) -> TableType {
        TableType { table64: true, element, minimum, maximum }
    }
}

impl fmt::Display for TableType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.table64 { "table i64 " } else { "table " })?;
        limits(f, self.minimum, self.maximum)?;
        write!(f, " {}", self.element)
    }
}

fn limits(f: &mut fmt::Formatter<'_>, minimum: u64, maximum: Option<u64>) -> fmt::Result {
    write!(f, "{minimum}")?;
    maximum.map_or(Ok(()), |maximum| write!(f, " {maximum}"))
}

/// The type of a global.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GlobalType {
    /// The type of its value.
    pub content: ValType,
    /// Whether it can be set.
    pub mutable: bool,
}

impl GlobalType {
    /// The type of a global with these values, which can be set or not.
    pub fn new(content: ValType, mutable: bool) -> GlobalType {
        GlobalType { content, mutable }
    }
}

impl fmt::Display for GlobalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mutable {
            write!(f, "global (mut {})", self.content)
        } else {
            write!(f, "global {}", self.content)
        }
    }
}

/// The type of a tag and its values.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TagType {
    /// A function type; exceptions have no results.
    pub ty: FuncType,
}

impl TagType {
    /// The type of a tag with the values of a function type.
    pub fn new(ty: FuncType) -> TagType {
        TagType { ty }
    }
}

impl fmt::Display for TagType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tag {}", self.ty)
    }
}

/// The type of an import or export.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ExternType {
    /// A function.
    Func(FuncType),
    /// A table.
    Table(TableType),
    /// A memory.
    Memory(MemoryType),
    /// A global.
    Global(GlobalType),
    /// A tag.
    Tag(TagType),
}

impl ExternType {
    /// The type, if it is of a function.
    pub fn func(&self) -> Option<&FuncType> {
        if let ExternType::Func(ty) = self { Some(ty) } else { None }
    }

    /// The type, if it is of a table.
    pub fn table(&self) -> Option<&TableType> {
        if let ExternType::Table(ty) = self { Some(ty) } else { None }
    }

    /// The type, if it is of a memory.
    pub fn memory(&self) -> Option<&MemoryType> {
        if let ExternType::Memory(ty) = self { Some(ty) } else { None }
    }

    /// The type, if it is of a global.
    pub fn global(&self) -> Option<&GlobalType> {
        if let ExternType::Global(ty) = self { Some(ty) } else { None }
    }

    /// The type, if it is of a tag.
    pub fn tag(&self) -> Option<&TagType> {
        if let ExternType::Tag(ty) = self { Some(ty) } else { None }
    }

    /// The name of this kind of item.
    pub fn kind(&self) -> &'static str {
        match self {
            ExternType::Func(_) => "function",
            ExternType::Table(_) => "table",
            ExternType::Memory(_) => "memory",
            ExternType::Global(_) => "global",
            ExternType::Tag(_) => "tag",
        }
    }
}

impl fmt::Display for ExternType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExternType::Func(ty) => write!(f, "function {ty}"),
            ExternType::Table(ty) => fmt::Display::fmt(ty, f),
            ExternType::Memory(ty) => fmt::Display::fmt(ty, f),
            ExternType::Global(ty) => fmt::Display::fmt(ty, f),
            ExternType::Tag(ty) => fmt::Display::fmt(ty, f),
        }
    }
}
