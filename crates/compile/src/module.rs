//! Reading a module's sections, and compiling its functions in parallel.

use crate::budget::{Budget, Total};
use crate::design::first_class::{OnTopThunk, rout};
use crate::design::thunk::Thunk;
use crate::design::{Canonical, Operations, ReservedImport, is_reserved, thunk};
use crate::environment::{Environment, Reserved};
use crate::function::{FunctionCompiler, MachineFunction};
use crate::limits::Limits;
use crate::memory::Memory;
use crate::survey::{Locals, Survey};
use crate::target::Target;
use crate::translate::Entered;
use crate::watch::{Watch, Watched};
use crate::{CompileError, brief, convert, handlers, image, memory, survey};
use rayon::prelude::*;
use ropewalk_abi::InstanceLayout;
use ropewalk_abi::code::CodeImage;
use ropewalk_abi::module::{
    DataSegment, ElementItems, ElementSegment, Export, Import, Item, ModuleInfo, SegmentMode,
};
use ropewalk_abi::names::FunctionNames;
use std::sync::atomic::{AtomicU64, Ordering};
use wasmparser::{
    ElementKind, ExternalKind, FuncToValidate, FunctionBody, Name, Parser, Payload, TableInit,
    TypeRef, ValidPayload, Validator, ValidatorResources, WasmFeatures,
};

/// A module, ready to be loaded.
#[derive(Debug)]
pub struct CompiledModule {
    /// What it says about itself.
    pub info: ModuleInfo,
    /// How its instances are laid out.
    pub layout: InstanceLayout,
    /// Its code.
    pub code: CodeImage,
    /// What it took to compile its bodies, by the estimates that are limited.
    pub cost: Cost,
}

/// What compiling the bodies of a module takes, estimated.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// How many [steps](crate::budget).
    pub steps: u64,
    /// How many bytes of memory the largest takes.
    pub memory: u64,
}

type Body<'a> = (FuncToValidate<ValidatorResources>, FunctionBody<'a>);

/// Validates and compiles a binary module.
pub fn compile_module(
    target: &Target,
    features: WasmFeatures,
    bytes: &[u8],
    watch: Watch<'_>,
) -> Result<CompiledModule, CompileError> {
    let ModuleReader { mut info, data, canonical, reserved, bodies } =
        read_sections(features, bytes)?;
    let operations = Operations::resolve(&info, &canonical, &reserved)?;
    let all = bodies.iter().map(|(_, body)| body);
    let surveys = check_limits(&info, &operations, &bodies, &target.limits)?;
    let (lists, thunks) = handlers::collect(&mut info, &operations, &canonical, all);
    let all_thunks = thunks.in_order();
    check_routs(&all_thunks, info.imported_functions, &operations, &bodies)?;
    let layout = InstanceLayout::new(&info)
        .map_err(|_| CompileError::too_large("its instances exceed 2 GiB"))?;
    let reserved = Reserved { operations, lists, thunks, canonical };
    let mut env = Environment::new(&info, &layout, reserved, target);
    if env.interruption {
        let bodies = bodies.par_iter().map(|(_, body)| body);
        env.brief = brief::brief(info.imported_functions, bodies);
    }
    let copied = copied_bodies(&all_thunks, info.imported_functions, &bodies);
    let (mut functions, cost) = compile_bodies(&env, bodies, &surveys, watch)?;
    let defined = functions.len() as u32;
    let mut compiler = FunctionCompiler::default();
    for ((number, thunk), copied) in (0..).zip(&all_thunks).zip(copied) {
        functions.push(match copied {
            Some(((func, body), entered)) => {
                let mut budget = Budget::new(func.index, SHORT as u64, &target.limits);
                let survey = &surveys[(func.index - env.info.imported_functions) as usize];
                compiler.compile(&env, func, &body, entered, survey, &mut budget)?
            }
            None => thunk::compile(&env, thunk, number)?,
        });
    }
    memory::check_image(&functions)?;
    let mut code = image::link(functions, info.imported_functions, defined)?;
    code.has_stackrefs = env.has_stackrefs;
    code.data = data;
    Ok(CompiledModule { info, layout, code, cost })
}

/// Reads all sections, and validates all but the bodies.
pub(crate) fn read_sections(
    features: WasmFeatures,
    bytes: &[u8],
) -> Result<ModuleReader<'_>, CompileError> {
    let mut reader = ModuleReader::default();
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

/// Fails if the bodies ask for more than is allowed.
fn check_limits(
    info: &ModuleInfo,
    operations: &Operations,
    bodies: &[Body<'_>],
    limits: &Limits,
) -> Result<Vec<Survey>, CompileError> {
    let surveys: Vec<_> = bodies
        .par_iter()
        .map_init(Locals::default, |locals, (_, body)| {
            survey::survey(info, operations, body, limits, locals)
        })
        .collect();
    survey::check(&surveys, info.imported_functions, limits)?;
    Ok(surveys)
}

/// Compiles the bodies of a module. Returns what that took as well.
fn compile_bodies(
    env: &Environment<'_>,
    bodies: Vec<Body<'_>>,
    surveys: &[Survey],
    watch: Watch<'_>,
) -> Result<(Vec<MachineFunction>, Cost), CompileError> {
    let bytes = surveys.iter().map(Survey::bytes).sum();
    let watched = Watched::new(watch, bytes as usize);
    let (memory, total) = (Memory::new(&env.limits), Total::new(bytes, &env.limits));
    let most = AtomicU64::new(0);
    let compiled: Vec<_> = bodies
        .into_par_iter()
        .zip(surveys)
        .map_init(FunctionCompiler::default, |compiler, ((func, body), survey)| {
            watched.check()?;
            total.charge(0)?;
            let mut budget = Budget::new(func.index, survey.bytes(), &env.limits);
            let at = |error: CompileError| error.at(body.range().start);
            let reserved = memory.reserve(func.index, survey).map_err(at)?;
            let compiled = compiler.compile(env, func, &body, Entered::ByCall, survey, &mut budget);
            compiler.shrink();
            drop(reserved);
            let compiled = compiled?;
            total.charge(budget.used())?;
            let taken = survey.memory(&env.limits).saturating_add(budget.memory());
            most.fetch_max(taken, Ordering::Relaxed);
            watched.advance(survey.bytes() as usize);
            Ok::<_, CompileError>(compiled)
        })
        .collect();
    watched.check()?;
    // Of several errors, the first in the module.
    let compiled: Result<_, CompileError> = compiled.into_iter().collect();
    Ok((compiled?, Cost { steps: total.used(), memory: most.into_inner() }))
}

/// Fails unless the functions that extend stacks begin as they must.
pub(crate) fn check_routs(
    thunks: &[Thunk],
    imported_functions: u32,
    operations: &Operations,
    bodies: &[Body<'_>],
) -> Result<(), CompileError> {
    let rout = |thunk: &Thunk| match *thunk {
        Thunk::OnTop(OnTopThunk { function, extends: true, .. }) => {
            function.checked_sub(imported_functions)
        }
        _ => None,
    };
    let routs = thunks.iter().filter_map(rout).filter_map(|index| bodies.get(index as usize));
    routs.into_iter().try_for_each(|(_, body)| rout::check(operations, body))
}

/// Up to how many bytes of a function are compiled once more rather than called.
const SHORT: usize = 64;

/// For each thunk the body that is compiled in place of it, if any: a function
/// that runs on top of a suspended stack, if it is short.
fn copied_bodies<'a>(
    thunks: &[Thunk],
    imported_functions: u32,
    bodies: &[Body<'a>],
) -> Vec<Option<(Body<'a>, Entered)>> {
    let copied = |thunk: &Thunk| {
        let &Thunk::OnTop(OnTopThunk { function, delivers, extends: false }) = thunk else {
            return None;
        };
        let (func, body) = bodies.get(function.checked_sub(imported_functions)? as usize)?;
        let length = body.range().end - body.range().start;
        let func = FuncToValidate { resources: func.resources.clone(), ..*func };
        (length <= SHORT as u64).then(|| ((func, body.clone()), Entered::OnTop { delivers }))
    };
    thunks.iter().map(copied).collect()
}

/// Notes which functions are used as values: those that are exported, stand in
/// element segments or constant expressions, or are named by `ref.func`.
///
/// A function that a body names must also be declared outside of bodies, so
/// the module's sections tell all of them.
fn collect_func_refs(info: &mut ModuleInfo) {
    use ropewalk_abi::module::{ConstExpr, ConstOp};
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

/// Collects what the sections say.
#[derive(Default)]
pub(crate) struct ModuleReader<'a> {
    pub info: ModuleInfo,
    /// The bytes of all data segments.
    pub data: Vec<u8>,
    /// Which of its types are equal.
    pub canonical: Canonical,
    /// Imports that are not linked but compiled.
    pub reserved: Vec<ReservedImport>,
    pub bodies: Vec<Body<'a>>,
}

impl ModuleReader<'_> {
    fn payload(&mut self, payload: Payload<'_>) -> wasmparser::Result<()> {
        match payload {
            Payload::TypeSection(section) => self.types(section),
            Payload::ImportSection(section) => self.imports(section),
            Payload::FunctionSection(section) => self.functions(section),
            Payload::TableSection(section) => self.tables(section),
            Payload::MemorySection(section) => self.memories(section),
            Payload::TagSection(section) => self.tags(section),
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
            match is_reserved(&module) {
                true => self.reserved.push(ReservedImport { module, name, item, offset }),
                false => info.imports.push(Import { module, name, item }),
            }
        }
        Ok(())
    }

    fn functions(
        &mut self,
        section: wasmparser::FunctionSectionReader<'_>,
    ) -> wasmparser::Result<()> {
        for ty in section {
            self.info.functions.push(ty?);
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

    fn memories(&mut self, section: wasmparser::MemorySectionReader<'_>) -> wasmparser::Result<()> {
        for memory in section {
            self.info.memories.push(convert::memory_type(memory?));
        }
        Ok(())
    }

    fn tags(&mut self, section: wasmparser::TagSectionReader<'_>) -> wasmparser::Result<()> {
        for tag in section {
            self.info.tags.push(tag?.func_type_idx);
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

    /// Names are a courtesy: what is wrong with them is ignored.
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

/// Names of fields with the indices of their types and their own, by these.
fn sorted_fields(names: wasmparser::IndirectNameMap<'_>) -> Vec<(u32, u32, String)> {
    let mut fields = Vec::new();
    for ty in names.into_iter().map_while(Result::ok) {
        let names = ty.names.map_while(Result::ok);
        fields.extend(names.map(|name| (ty.index, name.index, name.name.to_string())));
    }
    fields.sort_by_key(|(ty, field, _)| (*ty, *field));
    fields
}

/// Names with their indices, by index.
fn sorted(names: wasmparser::NameMap<'_>) -> Vec<(u32, String)> {
    let names = names.into_iter().map_while(Result::ok);
    let mut names: Vec<_> = names.map(|name| (name.index, name.name.to_string())).collect();
    names.sort_by_key(|(index, _)| *index);
    names
}
