//! Typed continuations: what the standard does not have.

use super::operation::{Design, Operation};
use super::subtyping::Subtyping;
use ropewalk_abi::FuncType;
use ropewalk_abi::stack::StackKind;

pub(super) const DESIGN: Design = Design {
    module: "ropewalk:cont",
    operations: &[Operation {
        name: "clone",
        expected: "[(ref null $ct)] -> [(ref $ct)], where $ct is a continuation type",
        fits: clone,
        translate: |translator, call| translator.copy_operand(call, StackKind::Continuation),
        ..Operation::PLAIN
    }],
};

/// Whether an operand is a continuation, and the result can be one like it.
pub(super) fn clone(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let ([operand], [copy]) = (ty.params(), ty.results()) else { return None };
    types.continuation(*operand)?;
    Some(types.is_subtype(super::subtyping::non_null(*operand), *copy))
}
