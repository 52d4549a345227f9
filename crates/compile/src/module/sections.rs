//! Reads the sections of a module.

use super::convert;
use super::subtyping::Canonical;
use crate::CompileError;
use ropewalk_abi::module::{
    ConstExpr, ConstOp, DataSegment, ElementItems, ElementSegment, Export, Import, Item,
    ModuleInfo, SegmentMode,
};
use ropewalk_abi::names::FunctionNames;
use wasmparser::{
    ElementKind, ExternalKind, FromReader, FuncToValidate, FunctionBody, Name, Parser, Payload,
    SectionLimited, TableInit, TypeRef, ValidPayload, Validator, ValidatorResources, WasmFeatures,
};

/// A function body, with what validating it takes.
pub(crate) type Body<'a> = (FuncToValidate<ValidatorResources>, FunctionBody<'a>);

/// Reads all sections, and validates everything except the bodies.
pub(crate) fn read_sections(
    features: WasmFeatures,
    bytes: &[u8],
) -> Result<Sections<'_>, CompileError> {
    let mut reader = Sections::default();
    let mut validator = Validator::new_with_features(features);
    let mut parser = Parser::new(0);
    parser.set_features(features);
    for payload in parser.parse_all(bytes) {
        let payload = payload?;
        if let ValidPayload::Func(func, body) = validator.payload(&payload)? {
            reader.bodies.push((func, body));
        }
        if let (Payload::TypeSection(_), Some(types)) = (&payload, validator.types(0)) {
            reader.canonical = Canonical::of(&types);
        }
        reader.payload(payload)?;
    }
    collect_func_refs(&mut reader.info);
    Ok(reader)
}

/// Numbers the functions that are used as values: those that are exported, are in element segments
/// or constant expressions, or are named by `ref.func`.
///
/// Validation requires that a function named in a body is also declared outside of bodies, so the
/// sections name all of them.
fn collect_func_refs(info: &mut ModuleInfo) {
    info.func_refs = vec![u32::MAX; info.functions.len()];
    let mut functions: Vec<u32> = Vec::new();
    let mut in_expr = |expr: &ConstExpr| {
        functions.extend(expr.0.iter().filter_map(|op| match op {
            ConstOp::RefFunc(function) => Some(*function),
            _ => None,
        }));
    };
    info.global_inits.iter().for_each(&mut in_expr);
    info.table_inits.iter().flatten().for_each(&mut in_expr);
    for segment in &info.elements {
        if let ElementItems::Expressions(items) = &segment.items {
            items.iter().for_each(&mut in_expr);
        }
    }
    for segment in &info.elements {
        if let ElementItems::Functions(items) = &segment.items {
            functions.extend(items);
        }
    }
    functions.extend(info.exports.iter().filter_map(|export| match export.item {
        Item::Func(function) => Some(function),
        _ => None,
    }));
    functions.extend(info.start);
    functions.into_iter().for_each(|function| info.make_func_ref(function));
}

/// The prefix of every reserved module name.
const RESERVED: &str = "ropewalk:";

/// An import from a reserved module, and its offset in the binary.
pub(crate) struct ReservedImport {
    pub module: String,
    pub name: String,
    pub item: Item,
    pub offset: u64,
}

/// The contents of the sections.
#[derive(Default)]
pub(crate) struct Sections<'a> {
    pub info: ModuleInfo,
    /// The bytes of all data segments.
    pub data: Vec<u8>,
    /// Which types are equal.
    pub canonical: Canonical,
    /// Imports that are compiled in line, and not linked.
    pub reserved: Vec<ReservedImport>,
    pub bodies: Vec<Body<'a>>,
}

impl Sections<'_> {
    fn payload(&mut self, payload: Payload<'_>) -> wasmparser::Result<()> {
        match payload {
            Payload::TypeSection(section) => self.types(section),
            Payload::ImportSection(section) => self.imports(section),
            Payload::FunctionSection(section) => extend(&mut self.info.functions, section, |ty| ty),
            Payload::TableSection(section) => self.tables(section),
            Payload::MemorySection(section) => {
                extend(&mut self.info.memories, section, convert::memory_type)
            }
            Payload::TagSection(section) => {
                extend(&mut self.info.tags, section, |tag| tag.func_type_idx)
            }
            Payload::GlobalSection(section) => self.globals(section),
            Payload::ExportSection(section) => self.exports(section),
            Payload::StartSection { func, .. } => {
                self.info.start = Some(func);
                Ok(())
            }
            Payload::ElementSection(section) => self.elements(section),
            Payload::DataSection(section) => self.data(section),
            Payload::CustomSection(section) => {
                if let wasmparser::KnownCustom::Name(names) = section.as_known() {
                    self.names(names);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn types(&mut self, section: wasmparser::TypeSectionReader<'_>) -> wasmparser::Result<()> {
        for group in section {
            let start = self.info.types.len() as u32;
            self.info.types.extend(group?.types().map(convert::sub_type));
            self.info.groups.push(start..self.info.types.len() as u32);
        }
        Ok(())
    }

    fn imports(&mut self, section: wasmparser::ImportSectionReader<'_>) -> wasmparser::Result<()> {
        let info = &mut self.info;
        for import in section.into_imports_with_offsets() {
            let (offset, import) = import?;
            let item = match import.ty {
                TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                    info.functions.push(ty);
                    info.imported_functions += 1;
                    Item::Func(info.imported_functions - 1)
                }
                TypeRef::Table(ty) => {
                    info.tables.push(convert::table_type(ty));
                    info.imported_tables += 1;
                    Item::Table(info.imported_tables - 1)
                }
                TypeRef::Memory(ty) => {
                    info.memories.push(convert::memory_type(ty));
                    info.imported_memories += 1;
                    Item::Memory(info.imported_memories - 1)
                }
                TypeRef::Global(ty) => {
                    info.globals.push(convert::global_type(ty));
                    info.imported_globals += 1;
                    Item::Global(info.imported_globals - 1)
                }
                TypeRef::Tag(ty) => {
                    info.tags.push(ty.func_type_idx);
                    info.imported_tags += 1;
                    Item::Tag(info.imported_tags - 1)
                }
            };
            let (module, name) = (import.module.to_string(), import.name.to_string());
            match module.starts_with(RESERVED) {
                true => self.reserved.push(ReservedImport { module, name, item, offset }),
                false => info.imports.push(Import { module, name, item }),
            }
        }
        Ok(())
    }

    fn tables(&mut self, section: wasmparser::TableSectionReader<'_>) -> wasmparser::Result<()> {
        for table in section {
            let table = table?;
            self.info.tables.push(convert::table_type(table.ty));
            self.info.table_inits.push(match table.init {
                TableInit::RefNull => None,
                TableInit::Expr(expr) => Some(convert::const_expr(&expr)?),
            });
        }
        Ok(())
    }

    fn globals(&mut self, section: wasmparser::GlobalSectionReader<'_>) -> wasmparser::Result<()> {
        for global in section {
            let global = global?;
            self.info.globals.push(convert::global_type(global.ty));
            self.info.global_inits.push(convert::const_expr(&global.init_expr)?);
        }
        Ok(())
    }

    fn exports(&mut self, section: wasmparser::ExportSectionReader<'_>) -> wasmparser::Result<()> {
        for export in section {
            let export = export?;
            let item = match export.kind {
                ExternalKind::Func | ExternalKind::FuncExact => Item::Func(export.index),
                ExternalKind::Table => Item::Table(export.index),
                ExternalKind::Memory => Item::Memory(export.index),
                ExternalKind::Global => Item::Global(export.index),
                ExternalKind::Tag => Item::Tag(export.index),
            };
            self.info.exports.push(Export { name: export.name.to_string(), item });
        }
        let exports = &self.info.exports;
        let mut by_name: Vec<u32> = (0..exports.len() as u32).collect();
        by_name.sort_unstable_by_key(|i| exports[*i as usize].name.as_str());
        self.info.exports_by_name = by_name;
        Ok(())
    }

    fn elements(
        &mut self,
        section: wasmparser::ElementSectionReader<'_>,
    ) -> wasmparser::Result<()> {
        for element in section {
            let element = element?;
            let mode = match element.kind {
                ElementKind::Passive => SegmentMode::Passive,
                ElementKind::Declared => SegmentMode::Declared,
                ElementKind::Active { table_index, offset_expr } => SegmentMode::Active {
                    target: table_index.unwrap_or(0),
                    offset: convert::const_expr(&offset_expr)?,
                },
            };
            let (ty, items) = match element.items {
                wasmparser::ElementItems::Functions(items) => {
                    let items = items.into_iter().collect::<wasmparser::Result<_>>()?;
                    (ropewalk_abi::RefType::FUNCREF, ElementItems::Functions(items))
                }
                wasmparser::ElementItems::Expressions(ty, items) => {
                    let items = items.into_iter().map(|expr| convert::const_expr(&expr?));
                    let items = items.collect::<wasmparser::Result<_>>()?;
                    (convert::ref_type(ty), ElementItems::Expressions(items))
                }
            };
            self.info.elements.push(ElementSegment { mode, ty, items });
        }
        Ok(())
    }

    fn data(&mut self, section: wasmparser::DataSectionReader<'_>) -> wasmparser::Result<()> {
        for data in section {
            let data = data?;
            let mode = match data.kind {
                wasmparser::DataKind::Passive => SegmentMode::Passive,
                wasmparser::DataKind::Active { memory_index, offset_expr } => SegmentMode::Active {
                    target: memory_index,
                    offset: convert::const_expr(&offset_expr)?,
                },
            };
            let start = self.data.len();
            self.data.extend_from_slice(data.data);
            let bytes = start..self.data.len();
            self.info.data.push(DataSegment { mode, bytes });
        }
        Ok(())
    }

    /// Names only help people, so errors in them are ignored.
    fn names(&mut self, section: wasmparser::NameSectionReader<'_>) {
        for name in section.into_iter().map_while(Result::ok) {
            match name {
                Name::Module { name, .. } => self.info.name = Some(name.to_string()),
                Name::Function(names) => {
                    self.info.function_names = FunctionNames::new(sorted(names));
                }
                Name::Tag(names) => self.info.tag_names = sorted(names),
                Name::Field(names) => self.info.field_names = sorted_fields(names),
                _ => {}
            }
        }
    }
}

/// Appends the converted items of a section.
fn extend<'a, I: FromReader<'a>, T>(
    items: &mut Vec<T>,
    section: SectionLimited<'a, I>,
    convert: impl Fn(I) -> T,
) -> wasmparser::Result<()> {
    section.into_iter().try_for_each(|item| {
        items.push(convert(item?));
        Ok(())
    })
}

/// Names of fields, each with the indices of its type and field, sorted by both.
fn sorted_fields(names: wasmparser::IndirectNameMap<'_>) -> Vec<(u32, u32, String)> {
    let mut fields = Vec::new();
    for ty in names.into_iter().map_while(Result::ok) {
        let names = ty.names.map_while(Result::ok);
        fields.extend(names.map(|name| (ty.index, name.index, name.name.to_string())));
    }
    fields.sort_by_key(|(ty, field, _)| (*ty, *field));
    fields
}

/// Names with their indices, sorted by index.
fn sorted(names: wasmparser::NameMap<'_>) -> Vec<(u32, String)> {
    let names = names.into_iter().map_while(Result::ok);
    let mut names: Vec<_> = names.map(|name| (name.index, name.name.to_string())).collect();
    names.sort_by_key(|(index, _)| *index);
    names
}
