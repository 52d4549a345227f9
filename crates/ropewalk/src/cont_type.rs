//! What continuations take and return.

use anyhow::{Error, Result, anyhow};
use ropewalk_abi::{CompositeType, FuncType, HeapType, RefType, ValType};
use ropewalk_runtime::TypeRegistry;

/// What a continuation takes, and what it returns in the end: the parameters or
/// results of function types of the engine.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
pub(crate) struct ContType {
    pub params: Side,
    pub results: Side,
}

/// The parameters or the results of a function type: twice its number, and one more for
/// results. A word is copied in one go, as what resumes quickly must be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side(u32);

impl Side {
    pub fn params(number: u32) -> Side {
        Side(number << 1)
    }

    pub fn results(number: u32) -> Side {
        Side(number << 1 | 1)
    }

    pub fn types(self, types: &TypeRegistry) -> Box<[ValType]> {
        let ty = types.func_type(self.0 >> 1);
        match self.0 & 1 {
            0 => ty.params().into(),
            _ => ty.results().into(),
        }
    }
}

impl ContType {
    pub fn of_function(number: u32) -> ContType {
        ContType { params: Side::params(number), results: Side::results(number) }
    }

    /// What takes the parameters of one function type, or its results, and returns what
    /// another does: by their numbers, and whether the results are taken.
    pub fn of_sides(params: (u32, bool), results: (u32, bool)) -> ContType {
        let side = |(number, is_results): (u32, bool)| Side(number << 1 | u32::from(is_results));
        ContType { params: side(params), results: side(results) }
    }

    /// The numbers of both types, and whether their results are meant.
    pub fn numbers(self) -> [(u32, bool); 2] {
        [self.params, self.results].map(|side| (side.0 >> 1, side.0 & 1 == 1))
    }

    /// The type of the continuations of a reference type, if it says that.
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

    /// The same, of a heap type; an error if that does not say it.
    pub fn known(types: &TypeRegistry, heap: HeapType) -> Result<ContType> {
        let ty = ValType::Ref(RefType { nullable: false, heap });
        ContType::of_reference(types, ty).ok_or_else(|| unknown_type(ty))
    }

    /// The type of the rest after a suspension with a tag.
    pub fn after(self, tag: u32) -> ContType {
        ContType { params: Side::results(tag), results: self.results }
    }

    pub fn func_type(self, types: &TypeRegistry) -> FuncType {
        FuncType::new(self.params.types(types), self.results.types(types))
    }
}

pub(crate) fn unknown_type(ty: ValType) -> Error {
    anyhow!(
        "expected a continuation of a type that says what it takes and returns, \
         found one of type {ty}"
    )
}
