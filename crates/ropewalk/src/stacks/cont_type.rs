//! The parameters and results of continuations.

use crate::stacks::stack_handle::Unusable;
use anyhow::{Error, Result, anyhow};
use ropewalk_abi::{CompositeType, FuncType, HeapType, RefType, TrapCode, ValType};
use ropewalk_runtime::{SharedFuncType, TypeRegistry};
use std::ops::Deref;

/// The types of a continuation: it is resumed with `params` and returns `results`. Each is a side of
/// a function type of the engine.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
pub(crate) struct ContType {
    pub params: Side,
    pub results: Side,
}

/// The parameters or the results of a function type: twice the number of the type, and one more for
/// results. Two of these are one word, which is quick to copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side(u32);

impl Side {
    pub fn params(number: u32) -> Side {
        Side(number << 1)
    }

    pub fn results(number: u32) -> Side {
        Side(number << 1 | 1)
    }

    pub fn types(self, types: &TypeRegistry) -> SideTypes {
        SideTypes { ty: types.shared_func_type(self.0 >> 1), is_results: self.0 & 1 == 1 }
    }
}

/// The types of a [`Side`], without copying them.
pub(crate) struct SideTypes {
    ty: SharedFuncType,
    is_results: bool,
}

impl Deref for SideTypes {
    type Target = [ValType];

    fn deref(&self) -> &[ValType] {
        match self.is_results {
            false => self.ty.params(),
            true => self.ty.results(),
        }
    }
}

impl ContType {
    pub fn of_function(number: u32) -> ContType {
        ContType { params: Side::params(number), results: Side::results(number) }
    }

    /// The type for two sides: the numbers of function types, and whether their results are meant.
    pub fn of_sides(params: (u32, bool), results: (u32, bool)) -> ContType {
        let side = |(number, is_results): (u32, bool)| Side(number << 1 | u32::from(is_results));
        ContType { params: side(params), results: side(results) }
    }

    /// The reverse of [`of_sides`](Self::of_sides).
    pub fn numbers(self) -> [(u32, bool); 2] {
        [self.params, self.results].map(|side| (side.0 >> 1, side.0 & 1 == 1))
    }

    /// The type of continuations that a reference type names, if it names one.
    pub fn of_reference(types: &TypeRegistry, ty: ValType) -> Option<ContType> {
        let ValType::Ref(reference) = ty else { return None };
        let HeapType::Concrete(number) = reference.heap else { return None };
        match types.get(number).ty().composite {
            CompositeType::Cont(HeapType::Concrete(function)) => {
                Some(ContType::of_function(function))
            }
            _ => None,
        }
    }

    /// As [`of_reference`](Self::of_reference), or an error.
    pub fn known(types: &TypeRegistry, heap: HeapType) -> Result<ContType> {
        let ty = ValType::Ref(RefType { nullable: false, heap });
        ContType::of_reference(types, ty).ok_or_else(|| unknown_type(ty))
    }

    /// The type of the rest of a continuation, after a suspension with a tag.
    pub fn after(self, tag: u32) -> ContType {
        ContType { params: Side::results(tag), results: self.results }
    }

    pub fn func_type(self, types: &TypeRegistry) -> FuncType {
        let (params, results) = (self.params.types(types), self.results.types(types));
        FuncType::new(params.iter().copied(), results.iter().copied())
    }
}

/// The type of a continuation, or why it cannot be resumed. It is one word: writing a value in
/// pieces and moving it as a whole stalls the processor.
///
/// ```text
///     high half                  low half
///   | results                  | params   |  a type
///   | 0, or 1 more than a trap | u32::MAX |  not known, or a trap
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownType(u64);

/// Stands for the parameters if there is no type. Numbers of types are less.
const NO_TYPE: u32 = u32::MAX;

impl KnownType {
    /// The type, if there is one.
    #[inline]
    pub fn get(self) -> Result<ContType, Unusable> {
        let (params, results) = (self.0 as u32, (self.0 >> 32) as u32);
        match params {
            NO_TYPE => Err(unusable(results)),
            _ => Ok(ContType { params: Side(params), results: Side(results) }),
        }
    }

    #[inline]
    fn of(params: u32, results: u32) -> KnownType {
        KnownType(u64::from(params) | u64::from(results) << 32)
    }
}

#[cold]
fn unusable(why: u32) -> Unusable {
    match why.checked_sub(1) {
        None => Unusable::UnknownType,
        Some(number) => {
            let code = u8::try_from(number).ok().and_then(TrapCode::from_number);
            Unusable::Invalid(code.expect("the number of a trap"))
        }
    }
}

impl From<ContType> for KnownType {
    #[inline]
    fn from(ty: ContType) -> KnownType {
        debug_assert_ne!(ty.params.0, NO_TYPE);
        KnownType::of(ty.params.0, ty.results.0)
    }
}

impl From<Unusable> for KnownType {
    fn from(unusable: Unusable) -> KnownType {
        let why = match unusable {
            Unusable::UnknownType => 0,
            Unusable::Invalid(code) => code as u32 + 1,
        };
        KnownType::of(NO_TYPE, why)
    }
}

impl From<Result<ContType, Unusable>> for KnownType {
    fn from(ty: Result<ContType, Unusable>) -> KnownType {
        ty.map_or_else(KnownType::from, KnownType::from)
    }
}

pub(crate) fn unknown_type(ty: ValType) -> Error {
    anyhow!(
        "expected a continuation of a type with known parameters and results, such as \
         `(ref $k)`, found one of type {ty}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_type_or_the_reason_why_there_is_none() {
        let ty = ContType::of_sides((7, true), ((1 << 31) - 2, false));
        let known = KnownType::from(ty).get().expect("a type");
        assert_eq!(known.numbers(), ty.numbers());
        let unknown = KnownType::from(Unusable::UnknownType).get();
        assert!(matches!(unknown, Err(Unusable::UnknownType)));
        for &code in TrapCode::ALL {
            let invalid = KnownType::from(Unusable::Invalid(code)).get();
            assert!(matches!(invalid, Err(Unusable::Invalid(found)) if found == code));
        }
    }
}
