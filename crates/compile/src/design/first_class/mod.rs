//! First-class stacks: their operations and their types.

pub(crate) mod rout;
mod thunk;
mod translate;
mod walk;

use super::operation::OperationCall;
use super::operation::{Clauses, Design, Functions, InRout, Operation, Tags};
use super::recognize::Recognizer;
use super::thunk::Thunk;
use crate::module::{STACK_BRAND, Subtyping, is_nullable};
use crate::target::Designs;
use ropewalk_abi::builtin::{LEAVE_FREED, LEAVE_SUSPENDED};
use ropewalk_abi::{FuncType, HeapType, RefType, StorageType, ValType};
pub(crate) use thunk::OnTopThunk;

pub(super) const DESIGN: Design = Design {
    permission: Designs::FIRST_CLASS,
    module: "ropewalk:first-class",
    operations: &[
        Operation {
            name: "new_stack",
            expected: "[] -> [(ref null $stack)]",
            fits: |ty, types| match (ty.params(), ty.results()) {
                ([], [made]) => Some(is_stack(*made, types)),
                _ => None,
            },
            // Other modules import `"host" "new_stack"`, which the embedder can define.
            for_engine: true,
            translate: translate::new_stack,
            ..Operation::PLAIN
        },
        Operation {
            name: "switch",
            expected_names: "an event with t* (ref null $stack)",
            names_fit: |around, call| around.sends_operands_but(call, 0),
            clauses: Clauses::CaughtAround,
            suspends: true,
            translate: |t, call| translate::switch(t, call, LEAVE_SUSPENDED),
            ..SWITCH
        },
        Operation {
            name: "switch_drop",
            expected_names: "an event with t*",
            names_fit: |around, call| around.sends_operands_but(call, 1),
            translate: |t, call| translate::switch(t, call, LEAVE_FREED),
            ..SWITCH
        },
        Operation {
            name: "switch_call",
            tags: Tags::One,
            expected_names: "an event with o*",
            names_fit: sends_results,
            thunk: Some(|call| Thunk::OnTop(OnTopThunk::new(call, true, false))),
            ..SWITCH_CALL
        },
        Operation {
            name: "switch_call_trap",
            thunk: Some(|call| Thunk::OnTop(OnTopThunk::new(call, false, false))),
            ..SWITCH_CALL
        },
        Operation {
            name: "extend",
            tags: Tags::One,
            expected_names: "an event with o*",
            names_fit: sends_results,
            thunk: Some(|call| Thunk::OnTop(OnTopThunk::new(call, true, true))),
            ..EXTEND
        },
        Operation {
            name: "extend_trap",
            thunk: Some(|call| Thunk::OnTop(OnTopThunk::new(call, false, true))),
            ..EXTEND
        },
        Operation {
            name: "start",
            expected: "[] -> []",
            fits: |ty, _| Some(ty.params().is_empty() && ty.results().is_empty()),
            clauses: Clauses::CaughtAround,
            in_rout: InRout::Start,
            translate: translate::start,
            ..Operation::PLAIN
        },
        Operation {
            name: "clone",
            expected: "[(ref null $stack)] -> [(ref null $stack) (ref null $stack)]",
            fits: |ty, types| match (ty.params(), ty.results()) {
                ([stack], [kept, copy]) => {
                    Some([stack, kept, copy].into_iter().all(|ty| is_stack(*ty, types)))
                }
                _ => None,
            },
            translate: translate::clone,
            ..Operation::PLAIN
        },
        Operation {
            name: "check_cleared",
            expected: "[t] -> [], where t is a nullable reference",
            fits: |ty, _| match (ty.params(), ty.results()) {
                ([held], []) => Some(is_nullable(*held)),
                _ => None,
            },
            in_rout: InRout::Allowed,
            translate: |t, _| translate::check_cleared(t),
            ..Operation::PLAIN
        },
        Operation {
            name: "is_cleared",
            expected: "[t] -> [i32], where t is a nullable reference",
            fits: |ty, _| match (ty.params(), ty.results()) {
                ([held], [ValType::I32]) => Some(is_nullable(*held)),
                _ => None,
            },
            in_rout: InRout::Allowed,
            translate: |t, _| translate::is_cleared(t),
            ..Operation::PLAIN
        },
        Operation {
            name: "redirect",
            expected: "[exnref (ref null $stack)] -> []",
            fits: |ty, types| match (ty.params(), ty.results()) {
                ([thrown, stack], []) => Some(
                    is_stack(*stack, types)
                        && types.is_subtype(*thrown, ValType::Ref(RefType::EXNREF)),
                ),
                _ => None,
            },
            translate: |t, _| translate::redirect(t),
            ..Operation::PLAIN
        },
        Operation {
            name: "own",
            expected: "[(ref null? $env)] -> [], where $env is a struct",
            fits: |ty, types| match (ty.params(), ty.results()) {
                ([env], []) => types.structure(*env).map(|_| true),
                _ => None,
            },
            in_rout: InRout::Allowed,
            translate: |t, _| t.own_object(),
            ..Operation::PLAIN
        },
        Operation {
            name: "level",
            expected: "[] -> [i32]",
            fits: |ty, _| Some(ty.params().is_empty() && *ty.results() == [ValType::I32]),
            in_rout: InRout::Allowed,
            translate: |t, _| walk::level(t),
            ..Operation::PLAIN
        },
        Operation {
            name: "leave_to",
            expected: "[i32] -> []",
            fits: |ty, _| Some(*ty.params() == [ValType::I32] && ty.results().is_empty()),
            in_rout: InRout::Allowed,
            translate: |t, _| walk::leave_to(t),
            ..Operation::PLAIN
        },
        Operation {
            name: "enter_answer",
            expected: "[(ref $env) (ref $f)] -> [], where $f takes (ref $env) first",
            fits: |ty, types| enters(ty, types, 1),
            tags: Tags::One,
            functions: Functions::Count(1),
            expected_names: "a call tag [a*] -> [b*]",
            names_fit: answers,
            in_rout: InRout::Allowed,
            translate: walk::enter_answer,
            ..Operation::PLAIN
        },
        Operation {
            name: "enter_redirect",
            expected: "[(ref $box)] -> [], where $box is a struct whose first field is a mutable \
                       (ref null $stack)",
            fits: |ty, types| match (ty.params(), ty.results()) {
                ([boxed], []) => is_box(*boxed, types),
                _ => None,
            },
            in_rout: InRout::Allowed,
            translate: |t, _| walk::enter_redirect(t),
            ..Operation::PLAIN
        },
        Operation {
            name: "enter_redirect_to",
            expected: "[(ref $env) (ref $f) (ref $g)] -> [], where $f is \
                       [(ref $env)] -> [(ref null $stack)] and $g is \
                       [(ref $env) (ref null $stack)] -> []",
            fits: |ty, types| Some(enters(ty, types, 2)? && redirects(ty, types)?),
            functions: Functions::Count(2),
            in_rout: InRout::Allowed,
            translate: |t, _| walk::enter_redirect_to(t),
            ..Operation::PLAIN
        },
        Operation {
            name: "call_stack",
            expected: "[a*] -> [b*]",
            fits: |_, _| Some(true),
            tags: Tags::One,
            expected_names: "a call tag [a*] -> [b*]",
            names_fit: calls,
            translate: walk::call_stack,
            ..Operation::PLAIN
        },
    ],
};

const SWITCH: Operation = Operation {
    expected: "[t* (ref null $stack)] -> []",
    fits: |ty, types| match (ty.params(), ty.results()) {
        ([.., target], []) => Some(is_stack(*target, types)),
        _ => None,
    },
    tags: Tags::One,
    ..Operation::PLAIN
};

const SWITCH_CALL: Operation = Operation {
    expected: "[a* (ref null $stack) (ref $f)] -> [], where $f takes a* (ref null $stack)",
    fits: |ty, types| Some(ty.results().is_empty() && called(ty, types, |target| vec![target])?),
    functions: Functions::Count(1),
    clauses: Clauses::CaughtAround,
    suspends: true,
    translate: translate::switch_call,
    ..Operation::PLAIN
};

const EXTEND: Operation = Operation {
    expected: "[a* (ref null $stack) (ref $f)] -> [(ref null $stack)], where $f takes a*",
    fits: |ty, types| match ty.results() {
        [extended] => Some(is_stack(*extended, types) && called(ty, types, |_| vec![])?),
        _ => None,
    },
    functions: Functions::Count(1),
    in_rout: InRout::Extends,
    translate: translate::extend,
    ..Operation::PLAIN
};

/// Whether values of a type are first-class stacks.
fn is_stack(ty: ValType, types: &Subtyping<'_>) -> bool {
    types.is_brand(ty, STACK_BRAND) && is_nullable(ty)
}

/// Whether the last operand is a function that takes the operands before the stack, and then what
/// `last` makes of the stack.
fn called(
    ty: &FuncType,
    types: &Subtyping<'_>,
    last: impl Fn(ValType) -> Vec<ValType>,
) -> Option<bool> {
    let [arguments @ .., target, function] = ty.params() else { return None };
    let given = [arguments, &last(*target)].concat();
    let function = types.function(*function)?;
    Some(is_stack(*target, types) && types.are_subtypes(&given, function.params()))
}

/// Whether the operands are a struct and this many functions that take it first.
fn enters(ty: &FuncType, types: &Subtyping<'_>, count: usize) -> Option<bool> {
    let (env, functions) = ty.params().split_first()?;
    types.structure(*env)?;
    let takes_env = |function: &ValType| {
        let first = types.function(*function)?.params().first()?;
        Some(types.is_subtype(*env, *first))
    };
    let fits = functions.iter().all(|function| takes_env(function) == Some(true));
    Some(fits && functions.len() == count && !is_nullable(*env) && ty.results().is_empty())
}

/// Whether the functions of `enter_redirect_to` return and take a stack.
fn redirects(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let [_, giver, taker] = ty.params() else { return None };
    let (giver, taker) = (types.function(*giver)?, types.function(*taker)?);
    let gives = match (giver.params(), giver.results()) {
        ([_], [stack]) => is_stack(*stack, types),
        _ => false,
    };
    let takes = match (taker.params(), taker.results()) {
        ([_, stack], []) => is_stack(*stack, types),
        _ => false,
    };
    Some(gives && takes)
}

/// Whether a reference is to a struct whose first field is a stack.
fn is_box(ty: ValType, types: &Subtyping<'_>) -> Option<bool> {
    let fields = types.structure(ty)?;
    let first = fields.first()?;
    let StorageType::Val(held @ ValType::Ref(RefType { heap: HeapType::Concrete(_), .. })) =
        first.storage
    else {
        return None;
    };
    Some(is_stack(held, types) && first.mutable && !is_nullable(ty))
}

/// Whether the event has the results of the function that is called.
fn sends_results(around: &Recognizer<'_>, call: &OperationCall) -> bool {
    let function = around.import_type(call).params().last();
    let function = function.and_then(|ty| around.types.function(*ty));
    function.is_some_and(|function| around.sends(call, function.results()))
}

/// Whether the answer takes the parameters of the call tag, and returns its results.
fn answers(around: &Recognizer<'_>, call: &OperationCall) -> bool {
    let types = &around.types;
    let function = around.import_type(call).params().last().and_then(|ty| types.function(*ty));
    call_tag(around, call).zip(function).is_some_and(|(tag, function)| {
        let arguments = function.params().get(1..).unwrap_or_default();
        types.are_subtypes(tag.params(), arguments)
            && types.are_subtypes(function.results(), tag.results())
    })
}

/// Whether the operands and results are those of the call tag.
fn calls(around: &Recognizer<'_>, call: &OperationCall) -> bool {
    let ty = around.import_type(call);
    call_tag(around, call).is_some_and(|tag| {
        around.types.are_subtypes(ty.params(), tag.params())
            && around.types.are_subtypes(tag.results(), ty.results())
    })
}

/// The function type of the call tag that a call names.
fn call_tag<'a>(around: &'a Recognizer<'_>, call: &OperationCall) -> Option<&'a FuncType> {
    match around.types.info.tag_type(call.catches[0].0).params() {
        [ty] => around.types.function(*ty),
        _ => None,
    }
}
