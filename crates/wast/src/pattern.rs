//! The results that an assertion expects.

use std::fmt;

use anyhow::{bail, ensure};
use ropewalk::{AnyRef, ExternRef, Result, Store, Val};
use wast::WastRet;
use wast::core::{AbstractHeapType, HeapType, V128Pattern, WastRetCore};

use crate::number::{Number, NumberKind};

/// Compares values with the expected results.
pub(crate) fn check(store: &Store<()>, expected: &[WastRet], found: &[Val]) -> Result<()> {
    let expected = patterns(expected)?;
    let same = expected.len() == found.len()
        && expected.iter().zip(found).all(|(pattern, value)| pattern.accepts(store, value));
    ensure!(same, "expected {}, found {}", list(&expected), found_list(store, &expected, found));
    Ok(())
}

/// The expected results, as a script writes them.
pub(crate) fn describe(expected: &[WastRet]) -> Result<String> {
    Ok(list(&patterns(expected)?))
}

fn patterns(expected: &[WastRet]) -> Result<Vec<Pattern>> {
    expected.iter().map(Pattern::new).collect()
}

/// An expected result.
enum Pattern {
    Number(NumberKind, Number),
    Vector(NumberKind, Vec<Number>),
    Null(Option<Hierarchy>),
    Extern(Option<u32>),
    Func,
    Internal(Internal),
    Either(Vec<Pattern>),
}

/// The hierarchies of references that values can belong to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hierarchy {
    Func,
    Extern,
    Any,
    Exn,
    Cont,
}

impl Hierarchy {
    /// The hierarchy of a null.
    fn of_null(value: &Val) -> Option<Hierarchy> {
        match value {
            Val::FuncRef(None) => Some(Hierarchy::Func),
            Val::ExternRef(None) => Some(Hierarchy::Extern),
            Val::AnyRef(None) => Some(Hierarchy::Any),
            Val::ExnRef(None) => Some(Hierarchy::Exn),
            Val::ContRef(None) => Some(Hierarchy::Cont),
            _ => None,
        }
    }

    fn null(self) -> String {
        format!("(ref.null {})", format!("{self:?}").to_lowercase())
    }
}

/// The kinds of internal references.
#[derive(Clone, Copy)]
enum Internal {
    Any,
    Eq,
    I31,
    Struct,
    Array,
    /// A host value with this number.
    Host(u32),
}

impl Internal {
    fn accepts(self, store: &Store<()>, value: &AnyRef) -> Result<bool> {
        let is_i31 = value.as_i31(store)?.is_some();
        let is_struct = value.as_struct(store)?.is_some();
        let is_array = value.as_array(store)?.is_some();
        Ok(match self {
            Internal::Any => true,
            Internal::Eq => is_i31 || is_struct || is_array,
            Internal::I31 => is_i31,
            Internal::Struct => is_struct,
            Internal::Array => is_array,
            Internal::Host(number) => {
                value.as_extern(store)?.and_then(|value| host_number(store, &value)) == Some(number)
            }
        })
    }

    fn word(self) -> String {
        match self {
            Internal::Any => "(ref.any)".to_owned(),
            Internal::Eq => "(ref.eq)".to_owned(),
            Internal::I31 => "(ref.i31)".to_owned(),
            Internal::Struct => "(ref.struct)".to_owned(),
            Internal::Array => "(ref.array)".to_owned(),
            Internal::Host(number) => format!("(ref.host {number})"),
        }
    }
}

impl Pattern {
    fn new(expected: &WastRet) -> Result<Self> {
        match expected {
            WastRet::Core(expected) => Pattern::core(expected),
            _ => bail!("results of components are not supported"),
        }
    }

    fn core(expected: &WastRetCore) -> Result<Self> {
        Ok(match expected {
            WastRetCore::I32(value) => Pattern::Number(NumberKind::I32, bits(*value as u32)),
            WastRetCore::I64(value) => Pattern::Number(NumberKind::I64, bits(*value as u64)),
            WastRetCore::F32(value) => Pattern::Number(NumberKind::F32, (*value).into()),
            WastRetCore::F64(value) => Pattern::Number(NumberKind::F64, (*value).into()),
            WastRetCore::V128(value) => Pattern::vector(value),
            WastRetCore::RefNull(heap) => Pattern::Null(heap.map(hierarchy).transpose()?),
            WastRetCore::RefExtern(number) => Pattern::Extern(*number),
            WastRetCore::RefFunc(_) => Pattern::Func,
            WastRetCore::RefAny => Pattern::Internal(Internal::Any),
            WastRetCore::RefEq => Pattern::Internal(Internal::Eq),
            WastRetCore::RefI31 => Pattern::Internal(Internal::I31),
            WastRetCore::RefStruct => Pattern::Internal(Internal::Struct),
            WastRetCore::RefArray => Pattern::Internal(Internal::Array),
            WastRetCore::RefHost(number) => Pattern::Internal(Internal::Host(*number)),
            WastRetCore::Either(cases) => {
                Pattern::Either(cases.iter().map(Pattern::core).collect::<Result<_>>()?)
            }
            other => bail!("results of the form {other:?} are not supported yet"),
        })
    }

    fn vector(expected: &V128Pattern) -> Self {
        let (kind, lanes) = match expected {
            V128Pattern::I8x16(lanes) => (NumberKind::I8, numbers(lanes, |lane| bits(lane as u8))),
            V128Pattern::I16x8(lanes) => {
                (NumberKind::I16, numbers(lanes, |lane| bits(lane as u16)))
            }
            V128Pattern::I32x4(lanes) => {
                (NumberKind::I32, numbers(lanes, |lane| bits(lane as u32)))
            }
            V128Pattern::I64x2(lanes) => {
                (NumberKind::I64, numbers(lanes, |lane| bits(lane as u64)))
            }
            V128Pattern::F32x4(lanes) => (NumberKind::F32, numbers(lanes, Number::from)),
            V128Pattern::F64x2(lanes) => (NumberKind::F64, numbers(lanes, Number::from)),
        };
        Pattern::Vector(kind, lanes)
    }

    fn accepts(&self, store: &Store<()>, value: &Val) -> bool {
        match (self, value) {
            (Pattern::Number(kind, number), value) => {
                scalar(value).is_some_and(|(k, bits)| k == *kind && number.accepts(k, bits))
            }
            (Pattern::Vector(kind, lanes), Val::V128(vector)) => (0..)
                .zip(lanes)
                .all(|(index, number)| number.accepts(*kind, kind.lane(*vector, index))),
            (Pattern::Null(expected), value) => Hierarchy::of_null(value)
                .is_some_and(|found| expected.is_none_or(|expected| found == expected)),
            (Pattern::Internal(kind), Val::AnyRef(Some(value))) => {
                kind.accepts(store, value).unwrap_or(false)
            }
            (Pattern::Extern(None), Val::ExternRef(Some(_))) => true,
            (Pattern::Extern(number), Val::ExternRef(Some(value))) => {
                host_number(store, value) == *number
            }
            (Pattern::Func, Val::FuncRef(Some(_))) => true,
            (Pattern::Either(cases), value) => cases.iter().any(|case| case.accepts(store, value)),
            _ => false,
        }
    }

    /// The kind of lanes in which to print a vector where this was expected.
    fn lanes(&self) -> NumberKind {
        match self {
            Pattern::Vector(kind, _) => *kind,
            Pattern::Either(cases) => cases.first().map_or(NumberKind::I32, Pattern::lanes),
            _ => NumberKind::I32,
        }
    }
}

fn bits(value: impl Into<u64>) -> Number {
    Number::Bits(value.into())
}

fn numbers<T: Copy>(lanes: &[T], number: impl Fn(T) -> Number) -> Vec<Number> {
    lanes.iter().map(|&lane| number(lane)).collect()
}

fn hierarchy(heap: HeapType) -> Result<Hierarchy> {
    use AbstractHeapType::*;
    match heap {
        HeapType::Abstract { ty: Func | NoFunc, .. } => Ok(Hierarchy::Func),
        HeapType::Abstract { ty: Extern | NoExtern, .. } => Ok(Hierarchy::Extern),
        HeapType::Abstract { ty: Any | Eq | I31 | Struct | Array | None, .. } => Ok(Hierarchy::Any),
        HeapType::Abstract { ty: Exn | NoExn, .. } => Ok(Hierarchy::Exn),
        HeapType::Abstract { ty: Cont | NoCont, .. } => Ok(Hierarchy::Cont),
        _ => bail!("a null of type {heap:?} is not supported yet"),
    }
}

/// The kind and the bits of a value that is a number.
fn scalar(value: &Val) -> Option<(NumberKind, u64)> {
    match *value {
        Val::I32(value) => Some((NumberKind::I32, u64::from(value as u32))),
        Val::I64(value) => Some((NumberKind::I64, value as u64)),
        Val::F32(bits) => Some((NumberKind::F32, bits.into())),
        Val::F64(bits) => Some((NumberKind::F64, bits)),
        _ => None,
    }
}

/// The number that a `ref.extern` of the script was made from.
fn host_number(store: &Store<()>, value: &ExternRef) -> Option<u32> {
    value.data(store).ok()?.downcast_ref().copied()
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Number(kind, number) => f.write_str(&constant(*kind, &number.literal(*kind))),
            Pattern::Vector(kind, lanes) => {
                f.write_str(&vector(*kind, lanes.iter().map(|lane| lane.literal(*kind))))
            }
            Pattern::Null(None) => f.write_str("(ref.null)"),
            Pattern::Null(Some(hierarchy)) => f.write_str(&hierarchy.null()),
            Pattern::Internal(kind) => f.write_str(&kind.word()),
            Pattern::Extern(None) => f.write_str("(ref.extern)"),
            Pattern::Extern(Some(number)) => write!(f, "(ref.extern {number})"),
            Pattern::Func => f.write_str("(ref.func)"),
            Pattern::Either(cases) => write!(f, "(either {})", list(cases)),
        }
    }
}

/// Prints a value as a script would write it.
fn show(store: &Store<()>, value: &Val, lanes: NumberKind) -> String {
    match value {
        Val::V128(bits) => {
            vector(lanes, (0..lanes.lanes()).map(|i| lanes.literal(lanes.lane(*bits, i))))
        }
        Val::FuncRef(Some(_)) => "(ref.func)".to_owned(),
        Val::ExternRef(Some(value)) => match host_number(store, value) {
            Some(number) => format!("(ref.extern {number})"),
            None => "(ref.extern)".to_owned(),
        },
        Val::AnyRef(Some(value)) => shown_internal(store, value),
        Val::ExnRef(Some(_)) => "(ref.exn)".to_owned(),
        Val::ContRef(Some(_)) => "(ref.cont)".to_owned(),
        other => match (Hierarchy::of_null(other), scalar(other)) {
            (Some(hierarchy), _) => hierarchy.null(),
            (_, Some((kind, bits))) => constant(kind, &kind.literal(bits)),
            _ => String::new(),
        },
    }
}

fn shown_internal(store: &Store<()>, value: &AnyRef) -> String {
    let kinds = [Internal::I31, Internal::Struct, Internal::Array];
    let kind = kinds.into_iter().find(|kind| kind.accepts(store, value).unwrap_or(false));
    kind.unwrap_or(Internal::Any).word()
}

fn constant(kind: NumberKind, literal: &str) -> String {
    let name = match kind {
        NumberKind::I64 => "i64",
        NumberKind::F32 => "f32",
        NumberKind::F64 => "f64",
        _ => "i32",
    };
    format!("({name}.const {literal})")
}

fn vector(kind: NumberKind, lanes: impl Iterator<Item = String>) -> String {
    let lanes: Vec<_> = lanes.collect();
    format!("(v128.const {} {})", kind.shape(), lanes.join(" "))
}

fn list(patterns: &[Pattern]) -> String {
    join(patterns.iter().map(Pattern::to_string))
}

fn found_list(store: &Store<()>, expected: &[Pattern], found: &[Val]) -> String {
    let lanes = |index| expected.get(index).map_or(NumberKind::I32, Pattern::lanes);
    join(found.iter().enumerate().map(|(index, value)| show(store, value, lanes(index))))
}

fn join(values: impl Iterator<Item = String>) -> String {
    let values: Vec<_> = values.collect();
    if values.is_empty() { "no result".to_owned() } else { values.join(" ") }
}
