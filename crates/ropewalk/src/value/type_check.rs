//! Whether values of Rust's types fit where types of WebAssembly are expected.

use crate::misuse::WrongType;
use anyhow::Result;
use ropewalk_abi::{HeapType, RawVal, RefType, ValType};
use ropewalk_runtime::{Store as RuntimeStore, TypeRegistry};

/// Whether all values of some types fit where others are expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// No value does.
    Never,
    /// Some do: each has to be checked.
    Checked,
    /// All do.
    Always,
}

impl Fit {
    /// How values of types of Rust fit.
    pub(crate) fn all(types: &TypeRegistry, found: &[ValType], expected: &[ValType]) -> Fit {
        if found.len() != expected.len() {
            return Fit::Never;
        }
        let each = found.iter().zip(expected).map(|(a, b)| Fit::one(types, *a, *b));
        each.min().unwrap_or(Fit::Always)
    }

    /// Rust has no types for the defined types of modules, so a reference to any struct
    /// may be one to a struct of the type that is expected.
    fn one(types: &TypeRegistry, found: ValType, expected: ValType) -> Fit {
        if types.is_subtype(found, expected) {
            return Fit::Always;
        }
        let (ValType::Ref(found), ValType::Ref(expected)) = (found, expected) else {
            return Fit::Never;
        };
        let without_null = |ty: RefType| ValType::Ref(RefType { nullable: false, ..ty });
        let may_be_one = matches!(expected.heap, HeapType::Concrete(_))
            && (expected.nullable || !found.nullable)
            && types.is_subtype(without_null(expected), without_null(found));
        if may_be_one { Fit::Checked } else { Fit::Never }
    }
}

/// Fails unless a reference has a type.
///
/// # Safety
///
/// The reference must be of the store, and be a function exactly if the type is one of
/// functions.
pub(crate) unsafe fn checked(runtime: &RuntimeStore, raw: RawVal, ty: ValType) -> Result<RawVal> {
    let ValType::Ref(expected) = ty else { unreachable!("numbers always fit") };
    // SAFETY: the caller's promise.
    if unsafe { runtime.has_type(raw.u64(), expected) } {
        return Ok(raw);
    }
    let types = runtime.types();
    // SAFETY: the caller's promise.
    let found = unsafe { runtime.type_of(raw.u64(), expected) };
    Err(WrongType::new("value", types.describe(ty), types.describe(ValType::Ref(found))).into())
}
