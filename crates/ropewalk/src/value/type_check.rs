//! Checks whether values of one type fit where another type is expected.

use crate::misuse::WrongType;
use anyhow::Result;
use ropewalk_abi::{HeapType, RawVal, RefType, ValType};
use ropewalk_runtime::{Store as RuntimeStore, TypeRegistry};

/// Which values of a type fit where another type is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// None.
    Never,
    /// Some: each value must be checked.
    Checked,
    /// All.
    Always,
}

impl Fit {
    /// The least fit of a list of types.
    pub(crate) fn all(types: &TypeRegistry, found: &[ValType], expected: &[ValType]) -> Fit {
        if found.len() != expected.len() {
            return Fit::Never;
        }
        let each = found.iter().zip(expected).map(|(a, b)| Fit::one(types, *a, *b));
        each.min().unwrap_or(Fit::Always)
    }

    /// Rust has no types for the defined types of modules, so any struct reference may have the
    /// struct type that is expected.
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
/// The reference must belong to the store. It must be a function if and only if `ty` is a function
/// type.
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
