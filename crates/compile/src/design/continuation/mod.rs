//! Typed continuations: the instructions of the proposal, and an operation that it does not have.

pub(crate) mod permission;
mod translate;

use super::copy_operand;
use super::operation::{Design, Operation};
use crate::module::{Subtyping, non_null};
use crate::target::Designs;
use ropewalk_abi::FuncType;
use ropewalk_abi::stack::StackKind;

pub(super) use translate::instruction;

pub(super) const DESIGN: Design = Design {
    permission: Designs::CONTINUATIONS,
    module: "ropewalk:cont",
    operations: &[Operation {
        name: "clone",
        expected: "[(ref null $ct)] -> [(ref $ct)], where $ct is a continuation type",
        fits: clone,
        translate: |t, call| copy_operand(t, call, StackKind::Continuation),
        ..Operation::PLAIN
    }],
};

/// Whether the operand is a continuation, and the result can be its copy.
pub(super) fn clone(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let ([operand], [copy]) = (ty.params(), ty.results()) else { return None };
    types.continuation(*operand)?;
    Some(types.is_subtype(non_null(*operand), *copy))
}
