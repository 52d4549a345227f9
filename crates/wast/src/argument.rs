//! The arguments of an invocation.

use anyhow::bail;
use ropewalk::{ExternRef, Result, Store, Val};
use wast::WastArg;
use wast::core::{AbstractHeapType, HeapType, WastArgCore};

/// The values that an invocation passes.
pub(crate) fn values(store: &mut Store<()>, arguments: &[WastArg]) -> Result<Vec<Val>> {
    arguments.iter().map(|argument| value(store, argument)).collect()
}

fn value(store: &mut Store<()>, argument: &WastArg) -> Result<Val> {
    match argument {
        WastArg::Core(argument) => core_value(store, argument),
        _ => bail!("arguments of components are not supported"),
    }
}

fn core_value(store: &mut Store<()>, argument: &WastArgCore) -> Result<Val> {
    Ok(match argument {
        WastArgCore::I32(value) => Val::I32(*value),
        WastArgCore::I64(value) => Val::I64(*value),
        WastArgCore::F32(value) => Val::F32(value.bits),
        WastArgCore::F64(value) => Val::F64(value.bits),
        WastArgCore::V128(value) => Val::V128(u128::from_le_bytes(value.to_le_bytes())),
        WastArgCore::RefNull(heap) => null(heap)?,
        WastArgCore::RefExtern(number) => Val::ExternRef(Some(ExternRef::new(store, *number)?)),
        WastArgCore::RefHost(number) => ExternRef::new(store, *number)?.to_any().into(),
    })
}

fn null(heap: &HeapType) -> Result<Val> {
    use AbstractHeapType::*;
    match heap {
        HeapType::Abstract { ty: Func | NoFunc, .. } => Ok(Val::FuncRef(Option::None)),
        HeapType::Abstract { ty: Extern | NoExtern, .. } => Ok(Val::ExternRef(Option::None)),
        HeapType::Abstract { ty: Exn | NoExn, .. } => Ok(Val::ExnRef(Option::None)),
        HeapType::Abstract { ty: Any | Eq | I31 | Struct | Array | None, .. } => {
            Ok(Val::AnyRef(Option::None))
        }
        _ => bail!("a null of type {heap:?} is not supported yet"),
    }
}
