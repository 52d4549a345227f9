//! The types of a binary, and how messages print them.
//!
//! A type has the name that the name section gives it. A type without a name is printed by its
//! structure: `(func (param i32))`.

use std::collections::HashMap;

use wasmparser::{
    CompositeInnerType, FieldType, FuncType, HeapType, KnownCustom, Name, PackedIndex, Parser,
    Payload, RefType, StorageType, SubType, UnpackedIndex, ValType, ValidatorResources,
    WasmModuleResources,
};

/// Names by indices.
pub(crate) type Names = HashMap<u32, String>;

/// The types of a binary.
pub(crate) struct Types {
    /// By index. Types refer to each other by index, too.
    all: Vec<SubType>,
    names: Names,
    /// The index of each type that a validator knows. Among identical types, the first one with a
    /// name wins, or else the first.
    indices: HashMap<HeapType, u32>,
}

impl Types {
    /// The types of a binary, as far as it can be read.
    pub fn read(binary: &[u8]) -> Types {
        let (mut all, mut names) = (Vec::new(), Names::new());
        for payload in Parser::new(0).parse_all(binary).map_while(Result::ok) {
            match payload {
                Payload::TypeSection(groups) => {
                    let groups = groups.into_iter().map_while(Result::ok);
                    all.extend(groups.flat_map(|group| group.into_types()));
                }
                Payload::CustomSection(section) => {
                    if let KnownCustom::Name(parts) = section.as_known() {
                        names.extend(parts.into_iter().map_while(Result::ok).flat_map(type_names));
                    }
                }
                _ => {}
            }
        }
        Types { all, names, indices: HashMap::new() }
    }

    /// Adds the validator's own ids of the types.
    pub fn of_validator(mut self, module: &ValidatorResources) -> Types {
        for index in 0..self.all.len() as u32 {
            let Some(ty) = canonical(module, index) else { continue };
            match self.indices.get(&ty) {
                Some(first) if self.names.contains_key(first) => {}
                Some(_) if !self.names.contains_key(&index) => {}
                _ => {
                    self.indices.insert(ty, index);
                }
            }
        }
        self
    }

    pub fn index(&self, ty: UnpackedIndex) -> Option<u32> {
        match ty {
            UnpackedIndex::Module(index) => Some(index),
            ty => self.indices.get(&HeapType::Concrete(ty)).copied(),
        }
    }

    /// Each type as the validator knows it, its index, and its name or the name of an identical type.
    pub fn of_module(&self, module: &ValidatorResources) -> Vec<(HeapType, u32, Option<&str>)> {
        let name = |ty: HeapType, index: u32| {
            let same = || self.indices.get(&ty).and_then(|same| self.name(*same));
            self.name(index).or_else(same)
        };
        let types = (0..self.all.len() as u32).filter_map(|index| {
            let ty = canonical(module, index)?;
            Some((ty, index, name(ty, index)))
        });
        types.collect()
    }

    fn name(&self, index: u32) -> Option<&str> {
        self.names.get(&index).map(String::as_str)
    }

    pub fn named(&self, name: &str) -> Option<u32> {
        self.names.iter().find(|(_, other)| *other == name).map(|(index, _)| *index)
    }

    /// The name of a type, or else its structure.
    pub fn heap_type(&self, ty: UnpackedIndex) -> String {
        match self.index(ty) {
            Some(index) => match self.name(index) {
                Some(name) => name.to_string(),
                None => self.structure(index),
            },
            None => ty.to_string(),
        }
    }

    /// `[i32 (ref $t)]`
    pub fn row(&self, types: &[ValType]) -> String {
        let types: Vec<String> = types.iter().map(|&ty| self.value_type(ty)).collect();
        format!("[{}]", types.join(" "))
    }

    /// `[i32] -> []`
    pub fn arrow(&self, params: &[ValType], results: &[ValType]) -> String {
        format!("{} -> {}", self.row(params), self.row(results))
    }

    pub fn value_type(&self, ty: ValType) -> String {
        self.value(ty, &|index| self.heap_type(index))
    }

    fn value(&self, ty: ValType, heap_type: &dyn Fn(UnpackedIndex) -> String) -> String {
        let ValType::Ref(reference) = ty else { return ty.to_string() };
        match defined(reference) {
            Some(index) => {
                let null = if reference.is_nullable() { "null " } else { "" };
                format!("(ref {null}{})", heap_type(index))
            }
            None => reference.to_string(),
        }
    }

    /// The structure of a type. Types inside it that have no name are printed by their sort alone.
    pub fn structure(&self, index: u32) -> String {
        let Some(ty) = self.all.get(index as usize) else { return format!("{index}") };
        let value = |ty: ValType| self.value(ty, &|index| self.sort_or_name(index));
        match &ty.composite_type.inner {
            CompositeInnerType::Func(func) => function(func, value),
            CompositeInnerType::Cont(cont) => match self.all.get(module_index(cont.0)) {
                Some(ty) if self.name(module_index(cont.0) as u32).is_none() => {
                    let func = match &ty.composite_type.inner {
                        CompositeInnerType::Func(func) => function(func, value),
                        _ => "..".to_string(),
                    };
                    format!("(cont {func})")
                }
                _ => format!("(cont {})", self.sort_or_name(cont.0.unpack())),
            },
            CompositeInnerType::Array(array) => format!("(array {})", field(&array.0, value)),
            CompositeInnerType::Struct(fields) => {
                let fields = fields.fields.iter();
                let fields: String =
                    fields.map(|ty| format!(" (field {})", field(ty, value))).collect();
                format!("(struct{fields})")
            }
        }
    }

    fn sort_or_name(&self, ty: UnpackedIndex) -> String {
        let index = self.index(ty);
        if let Some(name) = index.and_then(|index| self.name(index)) {
            return name.to_string();
        }
        let ty = index.and_then(|index| self.all.get(index as usize));
        let sort = ty.map(|ty| match ty.composite_type.inner {
            CompositeInnerType::Func(_) => "(func ..)",
            CompositeInnerType::Cont(_) => "(cont ..)",
            CompositeInnerType::Array(_) => "(array ..)",
            CompositeInnerType::Struct(_) => "(struct ..)",
        });
        sort.unwrap_or("..").to_string()
    }

    /// The index of the first continuation type whose function type `fits`.
    pub fn continuation(&self, fits: impl Fn(u32) -> bool) -> Option<u32> {
        let mut types = self.all.iter().zip(0..);
        types.find_map(|(ty, index)| match &ty.composite_type.inner {
            CompositeInnerType::Cont(cont) => fits(module_index(cont.0) as u32).then_some(index),
            _ => None,
        })
    }
}

/// The defined type that a reference type refers to.
pub(crate) fn defined(ty: RefType) -> Option<UnpackedIndex> {
    match ty.heap_type() {
        HeapType::Concrete(index) | HeapType::Exact(index) => Some(index),
        HeapType::Abstract { .. } => None,
    }
}

/// A type as a validator knows it.
fn canonical(module: &ValidatorResources, index: u32) -> Option<HeapType> {
    let mut ty = HeapType::Concrete(UnpackedIndex::Module(index));
    module.check_heap_type(&mut ty, 0).ok().map(|()| ty)
}

/// The index of a type in a binary that was not validated.
fn module_index(index: PackedIndex) -> usize {
    index.as_module_index().map_or(usize::MAX, |index| index as usize)
}

fn type_names(part: Name<'_>) -> Vec<(u32, String)> {
    match part {
        Name::Type(names) => {
            let names = names.into_iter().map_while(Result::ok);
            names.map(|name| (name.index, identifier(name.name))).collect()
        }
        _ => Vec::new(),
    }
}

/// A name in the syntax of the text format.
pub(crate) fn identifier(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_graphic() && !"\"(),;[]{}".contains(c);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => format!("${name}"),
        false => format!("${name:?}"),
    }
}

fn function(func: &FuncType, value: impl Fn(ValType) -> String) -> String {
    let list = |word: &str, types: &[ValType]| match types {
        [] => String::new(),
        types => {
            let types: String = types.iter().map(|&ty| format!(" {}", value(ty))).collect();
            format!(" ({word}{types})")
        }
    };
    format!("(func{}{})", list("param", func.params()), list("result", func.results()))
}

fn field(field: &FieldType, value: impl Fn(ValType) -> String) -> String {
    let ty = match field.element_type {
        StorageType::I8 => "i8".to_string(),
        StorageType::I16 => "i16".to_string(),
        StorageType::Val(ty) => value(ty),
    };
    if field.mutable { format!("(mut {ty})") } else { ty }
}
