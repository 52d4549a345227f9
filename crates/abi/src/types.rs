//! The types of WebAssembly, as far as they matter after validation.

use std::fmt;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// `funcref`, a nullable reference to any function.
    pub const FUNCREF: ValType = ValType::Ref(RefType::FUNCREF);
    /// `externref`, a nullable reference to a host value.
    pub const EXTERNREF: ValType = ValType::Ref(RefType::EXTERNREF);

    /// Whether values of this type travel in vector registers.
    pub fn is_float_class(self) -> bool {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RefType {
    /// Whether null belongs to the type.
    pub nullable: bool,
    /// What it refers to.
    pub heap: HeapType,
}

impl RefType {
    /// `(ref null func)`.
    pub const FUNCREF: RefType = RefType { nullable: true, heap: HeapType::Func };
    /// `(ref null extern)`.
    pub const EXTERNREF: RefType = RefType { nullable: true, heap: HeapType::Extern };
}

impl fmt::Display for RefType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.nullable, self.heap) {
            (true, HeapType::Func) => f.write_str("funcref"),
            (true, HeapType::Extern) => f.write_str("externref"),
            (false, heap) => write!(f, "(ref {heap})"),
        }
    }
}

/// What a reference refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeapType {
    /// Any function.
    Func,
    /// A value of the host.
    Extern,
}

impl fmt::Display for HeapType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HeapType::Func => "func",
            HeapType::Extern => "extern",
        })
    }
}

/// The type of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

    /// The most pages that addresses of this memory can reach.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalType {
    /// The type of its value.
    pub content: ValType,
    /// Whether it can be set.
    pub mutable: bool,
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

/// The type of an import or export.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExternType {
    /// A function.
    Func(FuncType),
    /// A table.
    Table(TableType),
    /// A memory.
    Memory(MemoryType),
    /// A global.
    Global(GlobalType),
}

impl ExternType {
    /// The word for this kind of item.
    pub fn kind(&self) -> &'static str {
        match self {
            ExternType::Func(_) => "function",
            ExternType::Table(_) => "table",
            ExternType::Memory(_) => "memory",
            ExternType::Global(_) => "global",
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
        }
    }
}
