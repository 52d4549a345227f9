//! Fibers: their operations and their types.

mod thunk;
mod translate;

use super::operation::OperationCall;
use super::operation::{Clauses, Design, Functions, Operation, Tags};
use super::push_is_same;
use super::recognize::Recognizer;
use super::thunk::Thunk;
use crate::module::{FIBER_BRAND, Subtyping};
use crate::target::Designs;
use ropewalk_abi::{FuncType, HeapType, RefType, ValType};
pub(super) use thunk::FiberThunk;

pub(super) const DESIGN: Design = Design {
    permission: Designs::FIBERS,
    module: "ropewalk:fiber",
    operations: &[
        Operation {
            name: "new",
            tags: Tags::Events,
            clauses: Clauses::Named,
            thunk: Some(|call| Thunk::Fiber(FiberThunk::new(call, None))),
            ..NEW
        },
        Operation {
            name: "new_returning",
            tags: Tags::ReturnAndEvents,
            clauses: Clauses::NamedAfterFirst,
            thunk: Some(|call| Thunk::Fiber(FiberThunk::new(call, Some(call.catches[0].0)))),
            ..NEW
        },
        Operation {
            name: "mount",
            tags: Tags::OneAndClauses,
            clauses: Clauses::NamedAfterFirst,
            translate: translate::mount,
            ..SENDS
        },
        Operation {
            name: "switch",
            tags: Tags::OneAndClauses,
            clauses: Clauses::NamedAfterFirst,
            suspends: true,
            translate: |t, call| translate::switch(t, call, false),
            ..SWITCHES
        },
        Operation {
            name: "dismount",
            tags: Tags::OneAndClauses,
            clauses: Clauses::NamedAfterFirst,
            suspends: true,
            translate: |t, call| translate::dismount(t, call, false),
            ..SENDS
        },
        Operation {
            name: "release",
            expected: "[(ref null $fiber)] -> []",
            fits: |ty, types| Some(takes_fibers(ty, types, 1)? && ty.params().len() == 1),
            translate: translate::release,
            ..Operation::PLAIN
        },
        Operation {
            name: "eq",
            expected: "[(ref null $fiber) (ref null $fiber)] -> [i32]",
            fits: eq,
            translate: push_is_same,
            ..Operation::PLAIN
        },
        Operation {
            name: "dismount_release",
            tags: Tags::One,
            translate: |t, call| translate::dismount(t, call, true),
            ..SENDS
        },
        Operation {
            name: "switch_release",
            tags: Tags::One,
            translate: |t, call| translate::switch(t, call, true),
            ..SWITCHES
        },
    ],
};

const NEW: Operation = Operation {
    expected: "[a* (ref $f)*] -> [(ref $fiber)], where $fiber is the reserved type of fibers",
    // The call determines which operands are functions.
    fits: |ty, types| match ty.results() {
        [made] => Some(types.is_brand(*made, FIBER_BRAND)),
        _ => None,
    },
    functions: Functions::PerEvent,
    expected_names: "functions [a* (ref null? $fiber) te*] -> [to*], where te* are the values of \
                     the event and to* those of the return event",
    names_fit: makes_fiber,
    translate: translate::new,
    ..Operation::PLAIN
};

/// Sends an event to or from a fiber.
const SENDS: Operation = Operation {
    expected: "[tr* (ref null $fiber)] -> []",
    fits: |ty, types| takes_fibers(ty, types, 1),
    expected_names: "an event with tr*",
    names_fit: |around, call| around.sends_operands_but(call, 1),
    ..Operation::PLAIN
};

/// Sends an event from one fiber to another.
const SWITCHES: Operation = Operation {
    expected: "[tr* (ref null $fiber) (ref null $fiber)] -> []",
    fits: |ty, types| takes_fibers(ty, types, 2),
    names_fit: |around, call| around.sends_operands_but(call, 2),
    ..SENDS
};

/// Whether this many of the last operands are fibers, and there are no results.
fn takes_fibers(ty: &FuncType, types: &Subtyping<'_>, fibers: usize) -> Option<bool> {
    let values = ty.params().len().checked_sub(fibers)?;
    let are_fibers = ty.params()[values..].iter().all(|ty| types.is_brand(*ty, FIBER_BRAND));
    Some(are_fibers && ty.results().is_empty())
}

fn eq(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let [one, other] = ty.params() else { return None };
    let are_fibers = [one, other].iter().all(|ty| types.is_brand(**ty, FIBER_BRAND));
    Some(are_fibers && ty.results() == [ValType::I32])
}

/// Whether the functions of a new fiber take the values of its events, and return those of its
/// return event.
fn makes_fiber(around: &Recognizer<'_>, call: &OperationCall) -> bool {
    let (info, types) = (around.types.info, &around.types);
    let ty = around.import_type(call);
    let Some(count) = ty.params().len().checked_sub(call.functions.len()) else { return false };
    let (arguments, operands) = ty.params().split_at(count);
    let is_returning = call.operation.tags == Tags::ReturnAndEvents;
    let events = &call.catches[usize::from(is_returning)..];
    let returned = is_returning.then(|| info.tag_type(call.catches[0].0));
    let fits = |((function, operand), (event, _)): ((&u32, &ValType), &(u32, u32))| {
        let function = info.functions[*function as usize];
        let own = ValType::Ref(RefType { nullable: false, heap: HeapType::Concrete(function) });
        let function = info.func_type(function);
        let given = [arguments, ty.results(), info.tag_type(*event).params()].concat();
        types.is_subtype(own, *operand)
            && types.are_subtypes(&given, function.params())
            && returned.is_none_or(|tag| types.are_subtypes(function.results(), tag.params()))
    };
    call.functions.iter().zip(operands).zip(events).all(fits)
}
