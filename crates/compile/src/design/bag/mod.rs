//! Bag of stacks: its operations and their types.

mod thunk;
mod translate;

use super::operation::OperationCall;
use super::operation::{Design, FollowedBy, Operation, Tags};
use super::recognize::Recognizer;
use super::thunk::Thunk;
use super::{continuation, copy_operand};
use crate::module::{Subtyping, is_nullable};
use crate::target::Designs;
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{FuncType, RefType, ValType};
pub(super) use thunk::StackThunk;

pub(super) const DESIGN: Design = Design {
    permission: Designs::BAG,
    module: "ropewalk:stack",
    operations: &[
        Operation {
            name: "new",
            expected: "[(ref null $f)] -> [(ref $c)], where $c is a continuation of [t*] -> [] and \
                       $f a function type that matches it",
            fits: new,
            thunk: Some(|call| Thunk::Stack(StackThunk { import: call.import })),
            translate: translate::new,
            ..Operation::PLAIN
        },
        Operation { name: "switch", translate: translate::switch, ..SWITCH },
        Operation {
            name: "switch_retire",
            expected: "[t1* (ref null $c)] -> [], where $c is a continuation of \
                       [t1* (ref null $d)] -> []",
            fits: switch_retire,
            translate: translate::switch_retire,
            ..Operation::PLAIN
        },
        Operation {
            name: "bind",
            expected: "[t1* (ref null $c)] -> [(ref $d)], where $c is a continuation of \
                       [t1* t2* rt] -> [] and $d one of [t2* rt] -> []",
            fits: bind,
            translate: translate::bind,
            ..Operation::PLAIN
        },
        Operation {
            name: "clone",
            expected: "[(ref null $c)] -> [(ref $c)], where $c is a continuation of [t* rt] -> []",
            fits: clone,
            translate: |t, call| copy_operand(t, call, StackKind::Bag),
            ..Operation::PLAIN
        },
        Operation { name: "switch_throw", translate: translate::switch_throw, ..SWITCH_THROW },
        Operation {
            name: "return_switch",
            followed_by: FollowedBy::ReturnCall,
            translate: |t, call| {
                translate::leave_function(t, call, |t| translate::switch(t, call));
            },
            ..SWITCH
        },
        Operation {
            name: "return_switch_throw",
            followed_by: FollowedBy::EndAndReturnCall,
            translate: |t, call| {
                translate::leave_function(t, call, |t| translate::switch_throw(t, call));
            },
            ..SWITCH_THROW
        },
    ],
};

const SWITCH: Operation = Operation {
    expected: "[t1* (ref null $c)] -> [t2* rt2], where $c is a continuation of \
               [t1* (ref null? $d)] -> [] and $d one of [t2* rt2] -> []",
    fits: switch,
    suspends: true,
    ..Operation::PLAIN
};

const SWITCH_THROW: Operation = Operation {
    expected: "[te* (ref null $c)] -> [t2* rt2], where $c is a continuation of \
               [t1* (ref null? $d)] -> [] and $d one of [t2* rt2] -> []",
    fits: switch_throw,
    tags: Tags::One,
    expected_names: "a tag with te* (ref null? $d)",
    names_fit: throws,
    ..Operation::PLAIN
};

/// The parameters of a stack type. The last one is a stack type too.
fn stack_params<'a>(types: &'a Subtyping<'_>, ty: ValType) -> Option<&'a [ValType]> {
    let function = types.continuation(ty)?;
    let return_stack = function.params().last()?;
    types.continuation(*return_stack)?;
    function.results().is_empty().then_some(function.params())
}

fn new(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let ([function], [made]) = (ty.params(), ty.results()) else { return None };
    let params = stack_params(types, *made)?;
    let function = types.function(*function)?;
    Some(types.are_subtypes(params, function.params()) && function.results().is_empty())
}

/// The operands of an import before its last one, which is a stack; what that stack expects; and
/// its return stack.
fn to_target<'a>(
    ty: &'a FuncType,
    types: &'a Subtyping<'_>,
) -> Option<(&'a [ValType], &'a [ValType], ValType)> {
    let (target, values) = ty.params().split_last()?;
    let (return_stack, expected) = stack_params(types, *target)?.split_last()?;
    Some((values, expected, *return_stack))
}

fn switch(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let (values, expected, return_stack) = to_target(ty, types)?;
    let received = stack_params(types, return_stack)?;
    Some(types.are_subtypes(values, expected) && types.are_subtypes(received, ty.results()))
}

fn switch_retire(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let (values, expected, return_stack) = to_target(ty, types)?;
    let fits = types.are_subtypes(values, expected) && is_nullable(return_stack);
    Some(fits && ty.results().is_empty())
}

fn switch_throw(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let (_, _, return_stack) = to_target(ty, types)?;
    Some(types.are_subtypes(stack_params(types, return_stack)?, ty.results()))
}

fn bind(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let [bound] = ty.results() else { return None };
    let (target, values) = ty.params().split_last()?;
    let from = stack_params(types, *target)?;
    let to = stack_params(types, *bound)?;
    let (first, rest) = from.split_at_checked(values.len())?;
    Some(types.are_subtypes(values, first) && types.are_subtypes(to, rest))
}

fn clone(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    stack_params(types, *ty.params().first()?)?;
    continuation::clone(ty, types)
}

/// Whether the tag has the operands before the last one, and then the stack that is left.
fn throws(around: &Recognizer<'_>, call: &OperationCall) -> bool {
    let Some((target, values)) = around.import_type(call).params().split_last() else {
        return false;
    };
    let return_stack = around.types.continuation(*target).and_then(|ty| ty.params().last());
    let Some(ValType::Ref(left)) = return_stack else { return false };
    let left = ValType::Ref(RefType { nullable: false, ..*left });
    around.sends(call, &[values, &[left]].concat())
}
