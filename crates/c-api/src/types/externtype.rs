//! Types of functions, globals, tables, memories and tags.
//!
//! C has five types for them, which can be cast to `externtype`. Here they are a single type.

use crate::support::boundary::{or_default, required};
use crate::support::owned::{casts, copied};
use crate::support::vector::Vector;
use crate::types::valtype::wasm_valtype_t;
use anyhow::{Context, Result, bail, ensure};
use ropewalk::{Engine, ExternType, FuncType, GlobalType, MemoryType, TableType, TagType, ValType};

/// The minimum and maximum size of a table or memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wasm_limits_t {
    min: u32,
    max: u32,
}

/// The value of `max` without a maximum.
const NO_MAXIMUM: u32 = u32::MAX;

impl wasm_limits_t {
    fn of(minimum: u64, maximum: Option<u64>) -> wasm_limits_t {
        let word = |size: u64| u32::try_from(size).unwrap_or(NO_MAXIMUM);
        wasm_limits_t { min: word(minimum), max: maximum.map_or(NO_MAXIMUM, word) }
    }

    fn maximum(&self) -> Option<u32> {
        (self.max != NO_MAXIMUM).then_some(self.max)
    }
}

type ValTypes = Vector<Option<Box<wasm_valtype_t>>>;

/// The type of an external object, with the parts that C gets pointers to.
#[derive(Clone)]
pub enum wasm_externtype_t {
    Func { params: ValTypes, results: ValTypes },
    Global { content: Box<wasm_valtype_t>, mutable: bool },
    Table { element: Box<wasm_valtype_t>, limits: wasm_limits_t, ty: TableType },
    Memory { limits: wasm_limits_t, ty: MemoryType },
    Tag { functype: Box<wasm_externtype_t> },
}

use wasm_externtype_t as Type;

impl Type {
    pub(crate) fn of(engine: &Engine, ty: &ExternType) -> Type {
        match ty {
            ExternType::Func(ty) => Type::of_func(engine, ty),
            ExternType::Global(ty) => Type::Global {
                content: Box::new(wasm_valtype_t::of(engine, ty.content)),
                mutable: ty.mutable,
            },
            ExternType::Table(ty) => Type::Table {
                element: Box::new(wasm_valtype_t::of(engine, ValType::Ref(ty.element))),
                limits: wasm_limits_t::of(ty.minimum, ty.maximum),
                ty: *ty,
            },
            ExternType::Memory(ty) => {
                Type::Memory { limits: wasm_limits_t::of(ty.minimum, ty.maximum), ty: *ty }
            }
            ExternType::Tag(ty) => Type::Tag { functype: Box::new(Type::of_func(engine, &ty.ty)) },
        }
    }

    fn of_func(engine: &Engine, ty: &FuncType) -> Type {
        let types = |types: &[ValType]| {
            let types = types.iter().map(|ty| Some(Box::new(wasm_valtype_t::of(engine, *ty))));
            Vector::new(types.collect())
        };
        Type::Func { params: types(ty.params()), results: types(ty.results()) }
    }

    pub(crate) fn func(&self) -> Result<FuncType> {
        let Type::Func { params, results } = self else { bail!("expected a function type") };
        let types = |types: &ValTypes| {
            let types = types.elements()?.iter().map(|ty| ty.as_ref().map(|ty| ty.ty));
            types.collect::<Option<Vec<_>>>().context("expected types of values, found null")
        };
        Ok(FuncType::new(types(params)?, types(results)?))
    }

    pub(crate) fn global(&self) -> Result<GlobalType> {
        let Type::Global { content, mutable } = self else { bail!("expected a global type") };
        Ok(GlobalType::new(content.ty, *mutable))
    }

    pub(crate) fn table(&self) -> Result<TableType> {
        let Type::Table { ty, .. } = self else { bail!("expected a table type") };
        Ok(*ty)
    }

    pub(crate) fn memory(&self) -> Result<MemoryType> {
        let Type::Memory { ty, .. } = self else { bail!("expected a memory type") };
        Ok(*ty)
    }

    pub(crate) fn tag(&self) -> Result<TagType> {
        let Type::Tag { functype } = self else { bail!("expected a tag type") };
        Ok(TagType::new(functype.func()?))
    }

    fn kind(&self) -> u8 {
        match self {
            Type::Func { .. } => 0,
            Type::Global { .. } => 1,
            Type::Table { .. } => 2,
            Type::Memory { .. } => 3,
            Type::Tag { .. } => 4,
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_functype_new(
    params: Option<&mut ValTypes>,
    results: Option<&mut ValTypes>,
) -> Option<Box<Type>> {
    or_default(|| {
        // Both are taken from C even if one of them is invalid.
        let (params, results) = (params.map(Vector::take), results.map(Vector::take));
        let params = required(params, "the types of the parameters")??;
        let results = required(results, "the types of the results")??;
        let ty = Type::Func { params, results };
        ty.func()?;
        Ok(Some(Box::new(ty)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_functype_params(ty: Option<&Type>) -> Option<&ValTypes> {
    if let Type::Func { params, .. } = ty? { Some(params) } else { None }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_functype_results(ty: Option<&Type>) -> Option<&ValTypes> {
    if let Type::Func { results, .. } = ty? { Some(results) } else { None }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_globaltype_new(
    content: Option<Box<wasm_valtype_t>>,
    mutability: u8,
) -> Option<Box<Type>> {
    or_default(|| {
        let content = required(content, "the type of the content")?;
        ensure!(mutability <= 1, "expected WASM_CONST or WASM_VAR, found {mutability}");
        Ok(Some(Box::new(Type::Global { content, mutable: mutability == 1 })))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_globaltype_content(ty: Option<&Type>) -> Option<&wasm_valtype_t> {
    if let Type::Global { content, .. } = ty? { Some(content) } else { None }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_globaltype_mutability(ty: Option<&Type>) -> u8 {
    matches!(ty, Some(Type::Global { mutable: true, .. })).into()
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_tabletype_new(
    element: Option<Box<wasm_valtype_t>>,
    limits: Option<&wasm_limits_t>,
) -> Option<Box<Type>> {
    or_default(|| {
        let element = required(element, "the type of the elements")?;
        let limits = *required(limits, "limits")?;
        let ValType::Ref(reference) = element.ty else {
            bail!("expected a reference type for the elements of a table, found {}", element.ty);
        };
        let ty = TableType::new(reference, limits.min, limits.maximum());
        Ok(Some(Box::new(Type::Table { element, limits, ty })))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_tabletype_element(ty: Option<&Type>) -> Option<&wasm_valtype_t> {
    if let Type::Table { element, .. } = ty? { Some(element) } else { None }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_tabletype_limits(ty: Option<&Type>) -> Option<&wasm_limits_t> {
    if let Type::Table { limits, .. } = ty? { Some(limits) } else { None }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_memorytype_new(limits: Option<&wasm_limits_t>) -> Option<Box<Type>> {
    or_default(|| {
        let limits = *required(limits, "limits")?;
        let ty = MemoryType::new(limits.min, limits.maximum());
        Ok(Some(Box::new(Type::Memory { limits, ty })))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_memorytype_limits(ty: Option<&Type>) -> Option<&wasm_limits_t> {
    if let Type::Memory { limits, .. } = ty? { Some(limits) } else { None }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_tagtype_new(functype: Option<Box<Type>>) -> Option<Box<Type>> {
    or_default(|| {
        let functype = required(functype, "a function type")?;
        functype.func()?;
        Ok(Some(Box::new(Type::Tag { functype })))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_tagtype_functype(ty: Option<&Type>) -> Option<&Type> {
    if let Type::Tag { functype } = ty? { Some(functype) } else { None }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_externtype_kind(ty: Option<&Type>) -> u8 {
    ty.map_or(0, Type::kind)
}

copied! {
    "wasm_externtype": Type;
    "wasm_functype": Type;
    "wasm_globaltype": Type;
    "wasm_tabletype": Type;
    "wasm_memorytype": Type;
    "wasm_tagtype": Type;
}

casts! {
    Type, |ty| *ty;
    Type::Func { .. } => "functype" as "externtype";
    Type::Global { .. } => "globaltype" as "externtype";
    Type::Table { .. } => "tabletype" as "externtype";
    Type::Memory { .. } => "memorytype" as "externtype";
    Type::Tag { .. } => "tagtype" as "externtype";
}
