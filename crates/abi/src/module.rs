//! The sections of a module, without its code.
//!
//! Index spaces start with the imports, as in the specification.

use crate::names::FunctionNames;
use crate::stack::ClauseKind;
use crate::types::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A module without its code.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ModuleInfo {
    /// Its name, from the name section.
    pub name: Option<String>,
    /// The types, by type index.
    pub types: Vec<SubType>,
    /// The recursive groups of types, in order. They cover all types.
    pub groups: Vec<Range<u32>>,
    /// The imports, in order.
    pub imports: Vec<Import>,
    /// The exports, in order.
    pub exports: Vec<Export>,
    /// The indices of the exports, sorted by name.
    pub exports_by_name: Vec<u32>,
    /// The type index of each function.
    pub functions: Vec<u32>,
    /// The number of imported functions.
    pub imported_functions: u32,
    /// The tables.
    pub tables: Vec<TableType>,
    /// The number of imported tables.
    pub imported_tables: u32,
    /// The initial elements of the defined tables, if not null.
    pub table_inits: Vec<Option<ConstExpr>>,
    /// The memories.
    pub memories: Vec<MemoryType>,
    /// The number of imported memories.
    pub imported_memories: u32,
    /// The globals.
    pub globals: Vec<GlobalType>,
    /// The number of imported globals.
    pub imported_globals: u32,
    /// The initial values of the defined globals.
    pub global_inits: Vec<ConstExpr>,
    /// The type index of each tag.
    pub tags: Vec<u32>,
    /// The number of imported tags.
    pub imported_tags: u32,
    /// The element segments.
    pub elements: Vec<ElementSegment>,
    /// The data segments.
    pub data: Vec<DataSegment>,
    /// The start function.
    pub start: Option<u32>,
    /// The clause lists of the instructions, without repetition.
    pub handler_tables: Vec<Vec<(u32, ClauseKind)>>,
    /// The number of each function that is used as a value; `u32::MAX` for the others.
    pub func_refs: Vec<u32>,
    /// The number of functions that are used as values.
    pub func_ref_count: u32,
    /// Names of functions, from the name section. A file has them in a table of its own, which is
    /// read on demand.
    #[serde(skip)]
    pub function_names: FunctionNames,
    /// Names of tags, from the name section, sorted by index.
    pub tag_names: Vec<(u32, String)>,
    /// Names of fields, from the name section, sorted by the indices of type and field.
    pub field_names: Vec<(u32, u32, String)>,
}

impl ModuleInfo {
    /// The type of a function.
    pub fn function_type(&self, function: u32) -> &FuncType {
        self.func_type(self.functions[function as usize])
    }

    /// The function type at a type index.
    ///
    /// # Panics
    ///
    /// If it is another kind of type, which validation excludes.
    pub fn func_type(&self, ty: u32) -> &FuncType {
        self.types[ty as usize].composite.as_func().expect("validated to be a function type")
    }

    /// The type index of the functions of a continuation type.
    ///
    /// # Panics
    ///
    /// If it is another kind of type, which validation excludes.
    pub fn cont_function(&self, ty: u32) -> u32 {
        match self.types[ty as usize].composite {
            CompositeType::Cont(HeapType::Concrete(function)) => function,
            _ => panic!("validated to be a continuation type"),
        }
    }

    /// The function type of a tag.
    pub fn tag_type(&self, tag: u32) -> &FuncType {
        self.func_type(self.tags[tag as usize])
    }

    /// The kind of the type at a type index.
    pub fn type_kind(&self, ty: u32) -> TypeKind {
        self.types[ty as usize].composite.kind()
    }

    /// Whether the collector follows values of a type.
    pub fn is_collected(&self, ty: ValType) -> bool {
        ty.is_collected(|ty| self.type_kind(ty))
    }

    /// The name of a field of a type, if the name section gives one.
    pub fn field_name(&self, ty: u32, field: u32) -> Option<&str> {
        let found =
            self.field_names.binary_search_by_key(&(ty, field), |(ty, field, _)| (*ty, *field));
        found.ok().map(|place| &*self.field_names[place].2)
    }

    /// The name of a function, if the name section or an export gives one.
    pub fn function_name(&self, function: u32) -> Option<&str> {
        self.function_names.name(function).or_else(|| self.export_name(Item::Func(function)))
    }

    /// The name of a tag, if the name section or an export gives one.
    pub fn tag_name(&self, tag: u32) -> Option<&str> {
        let found = self.tag_names.binary_search_by_key(&tag, |(index, _)| *index);
        let name = found.ok().map(|place| &*self.tag_names[place].1);
        name.or_else(|| self.export_name(Item::Tag(tag)))
    }

    /// The export with a name.
    pub fn export(&self, name: &str) -> Option<Item> {
        let export = |position: &u32| &self.exports[*position as usize];
        let found = self.exports_by_name.binary_search_by(|i| export(i).name.as_str().cmp(name));
        found.ok().map(|i| export(&self.exports_by_name[i]).item)
    }

    /// The first name under which an item is exported.
    fn export_name(&self, item: Item) -> Option<&str> {
        let export = self.exports.iter().find(|export| export.item == item);
        export.map(|export| export.name.as_str())
    }

    /// The type of an item, with type indices of the module.
    pub fn item_type(&self, item: Item) -> ExternType {
        match item {
            Item::Func(i) => ExternType::Func(self.function_type(i).clone()),
            Item::Table(i) => ExternType::Table(self.tables[i as usize]),
            Item::Memory(i) => ExternType::Memory(self.memories[i as usize]),
            Item::Global(i) => ExternType::Global(self.globals[i as usize]),
            Item::Tag(i) => ExternType::Tag(TagType { ty: self.tag_type(i).clone() }),
        }
    }

    /// Numbers a function that is used as a value.
    pub fn make_func_ref(&mut self, function: u32) {
        let slot = &mut self.func_refs[function as usize];
        if *slot == u32::MAX {
            *slot = self.func_ref_count;
            self.func_ref_count += 1;
        }
    }
}

/// An import.
#[derive(Debug, Serialize, Deserialize)]
pub struct Import {
    /// The name of its module.
    pub module: String,
    /// Its name in that module.
    pub name: String,
    /// The item that it becomes.
    pub item: Item,
}

/// An export.
#[derive(Debug, Serialize, Deserialize)]
pub struct Export {
    /// Its name.
    pub name: String,
    /// The exported item.
    pub item: Item,
}

/// An entry of one of the index spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Item {
    /// A function.
    Func(u32),
    /// A table.
    Table(u32),
    /// A memory.
    Memory(u32),
    /// A global.
    Global(u32),
    /// A tag.
    Tag(u32),
}

/// A constant expression, in evaluation order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConstExpr(pub Vec<ConstOp>);

/// An instruction of a constant expression.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ConstOp {
    /// `i32.const`.
    I32(i32),
    /// `i64.const`.
    I64(i64),
    /// `f32.const`, as bits.
    F32(u32),
    /// `f64.const`, as bits.
    F64(u64),
    /// `v128.const`.
    V128([u8; 16]),
    /// `ref.null` of any type.
    RefNull,
    /// `ref.func`.
    RefFunc(u32),
    /// `global.get`.
    GlobalGet(u32),
    /// `i32.add`.
    I32Add,
    /// `i32.sub`.
    I32Sub,
    /// `i32.mul`.
    I32Mul,
    /// `i64.add`.
    I64Add,
    /// `i64.sub`.
    I64Sub,
    /// `i64.mul`.
    I64Mul,
    /// `struct.new`.
    StructNew(u32),
    /// `struct.new_default`.
    StructNewDefault(u32),
    /// `array.new`.
    ArrayNew(u32),
    /// `array.new_default`.
    ArrayNewDefault(u32),
    /// `array.new_fixed`, with this many elements.
    ArrayNewFixed(u32, u32),
    /// `ref.i31`.
    RefI31,
}

/// An element segment.
#[derive(Debug, Serialize, Deserialize)]
pub struct ElementSegment {
    /// What happens to it at instantiation.
    pub mode: SegmentMode,
    /// The type of its elements.
    pub ty: RefType,
    /// Its elements.
    pub items: ElementItems,
}

/// The elements of a segment.
#[derive(Debug, Serialize, Deserialize)]
pub enum ElementItems {
    /// Functions, by index.
    Functions(Vec<u32>),
    /// An expression for each element.
    Expressions(Vec<ConstExpr>),
}

impl ElementItems {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            ElementItems::Functions(items) => items.len(),
            ElementItems::Expressions(items) => items.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A data segment.
#[derive(Debug, Serialize, Deserialize)]
pub struct DataSegment {
    /// What happens to it at instantiation.
    pub mode: SegmentMode,
    /// Its range in [`CodeImage::data`](crate::code::CodeImage::data). A file has another layout,
    /// and stores the ranges elsewhere.
    #[serde(skip)]
    pub bytes: Range<usize>,
}

/// The initial contents of a memory, in a file.
#[derive(Debug, Serialize, Deserialize)]
pub struct DataImage {
    /// The index of the memory.
    pub memory: u32,
    /// The range in the memory, in whole pages.
    pub place: Range<usize>,
    /// The offset in the data of the file.
    pub at: usize,
}

/// What happens to a segment at instantiation.
#[derive(Debug, Serialize, Deserialize)]
pub enum SegmentMode {
    /// It stays, for `memory.init` or `table.init`.
    Passive,
    /// It is copied and dropped.
    Active {
        /// The index of the table or memory.
        target: u32,
        /// The offset in the table or memory.
        offset: ConstExpr,
    },
    /// It only declares functions, and is dropped.
    Declared,
}
