//! The types under which reserved imports may be imported.
//!
//! Each check answers what was expected, in the words of the documentation.

use super::subtyping::is_nullable;
use super::{FiberOp, Intrinsic, StackOp, Subtyping, TaskOp};
use ropewalk_abi::{FuncType, ValType};

/// Checks the type of an import.
pub(super) fn check(
    intrinsic: Intrinsic,
    ty: &FuncType,
    types: &Subtyping<'_>,
) -> Result<(), &'static str> {
    let (fits, expected) = match intrinsic {
        Intrinsic::Stack(op) => stack(op, ty, types),
        Intrinsic::Task(op) => task(op, ty, types),
        Intrinsic::Fiber(op) => fiber(op, ty, types),
    };
    match fits {
        Some(true) => Ok(()),
        _ => Err(expected),
    }
}

/// Whether a type fits, or none if a part of it is missing; and what would.
type Verdict = (Option<bool>, &'static str);

// ---- bag of stacks

fn stack(op: StackOp, ty: &FuncType, types: &Subtyping<'_>) -> Verdict {
    match op {
        StackOp::New => (
            stack_new(ty, types),
            "[(ref null $f)] -> [(ref $c)], where $c is a continuation of [t*] -> [] and $f a \
             function type that matches it",
        ),
        StackOp::Switch | StackOp::ReturnSwitch => (
            switch(ty, types),
            "[t1* (ref null $c)] -> [t2* rt2], where $c is a continuation of \
             [t1* (ref null? $d)] -> [] and $d one of [t2* rt2] -> []",
        ),
        StackOp::SwitchRetire => (
            switch_retire(ty, types),
            "[t1* (ref null $c)] -> [], where $c is a continuation of [t1* (ref null $d)] -> []",
        ),
        StackOp::Bind => (
            bind(ty, types),
            "[t1* (ref null $c)] -> [(ref $d)], where $c is a continuation of [t1* t2* rt] -> [] \
             and $d one of [t2* rt] -> []",
        ),
        StackOp::SwitchThrow | StackOp::ReturnSwitchThrow => (
            switch_throw(ty, types),
            "[te* (ref null $c)] -> [t2* rt2], where $c is a continuation of \
             [t1* (ref null? $d)] -> [] and $d one of [t2* rt2] -> []",
        ),
    }
}

/// The parameters of a stack type, of which the last is a stack type too.
fn stack_params<'a>(types: &'a Subtyping<'_>, ty: ValType) -> Option<&'a [ValType]> {
    let function = types.continuation(ty)?;
    let return_stack = function.params().last()?;
    types.continuation(*return_stack)?;
    function.results().is_empty().then_some(function.params())
}

fn stack_new(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let ([function], [made]) = (ty.params(), ty.results()) else { return None };
    let params = stack_params(types, *made)?;
    let function = types.function(*function)?;
    Some(types.are_subtypes(params, function.params()) && function.results().is_empty())
}

/// What precedes the last operand of an import, and what the stack that this
/// names expects before its return stack.
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

// ---- tasks

fn task(op: TaskOp, ty: &FuncType, types: &Subtyping<'_>) -> Verdict {
    match op {
        TaskOp::New => (
            task_new(ty, types),
            "[a* (ref $f)] -> [(ref $t)], where $t is a final continuation of [r*] -> [s*] and $f \
             a function type that matches [(ref $t) r* a*] -> [s*]",
        ),
        TaskOp::Resume => (
            task_resume(ty, types),
            "[(ref null $t) r*] -> [s*], where $t is a final continuation of [r*] -> [s*]",
        ),
        TaskOp::Suspend => (
            task_suspend(ty, types),
            "[(ref null $t) s*] -> [r*], where $t is a final continuation of [r*] -> [s*]",
        ),
        TaskOp::SwitchTo => (
            task_switch(ty, types),
            "[(ref null $t) (ref null $u) ru*] -> [rt*], where $t and $u are final continuations \
             of [rt*] -> [st*] and [ru*] -> [su*], and su* matches st*",
        ),
        TaskOp::Retire => (
            task_retire(ty, types),
            "[(ref null $t) s*] -> [], where $t is a final continuation of [r*] -> [s*]",
        ),
        TaskOp::Release => (
            task_release(ty, types),
            "[(ref null $t)] -> [], where $t is a final continuation type",
        ),
    }
}

/// The function type of a task type. Were it not final, a supertype could be
/// used to send what the other side does not expect.
fn task_type<'a>(types: &'a Subtyping<'_>, ty: ValType) -> Option<&'a FuncType> {
    let index = types.continuation_index(ty)?;
    let info = types.info;
    let function = info.cont_function(index);
    let is_final = |ty: u32| {
        let ty = &info.types[ty as usize];
        ty.is_final && ty.supertype.is_none()
    };
    (is_final(index) && is_final(function)).then(|| info.func_type(function))
}

fn task_new(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let [made] = ty.results() else { return None };
    let task = task_type(types, *made)?;
    let (function, arguments) = ty.params().split_last()?;
    let function = types.function(*function)?;
    let given = [&[*made], task.params(), arguments].concat();
    Some(
        types.are_subtypes(&given, function.params())
            && types.are_subtypes(function.results(), task.results()),
    )
}

fn task_resume(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let (task, values) = ty.params().split_first()?;
    let task = task_type(types, *task)?;
    Some(
        types.are_subtypes(values, task.params())
            && types.are_subtypes(task.results(), ty.results()),
    )
}

fn task_suspend(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let (task, values) = ty.params().split_first()?;
    let task = task_type(types, *task)?;
    Some(
        types.are_subtypes(values, task.results())
            && types.are_subtypes(task.params(), ty.results()),
    )
}

fn task_switch(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let [from, to, values @ ..] = ty.params() else { return None };
    let (from, to) = (task_type(types, *from)?, task_type(types, *to)?);
    Some(
        types.are_subtypes(values, to.params())
            && types.are_subtypes(to.results(), from.results())
            && types.are_subtypes(from.params(), ty.results()),
    )
}

fn task_retire(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let (task, values) = ty.params().split_first()?;
    let task = task_type(types, *task)?;
    Some(types.are_subtypes(values, task.results()) && ty.results().is_empty())
}

fn task_release(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let [task] = ty.params() else { return None };
    task_type(types, *task)?;
    Some(ty.results().is_empty())
}

// ---- fibers

/// How many parameters the function of the reserved type of fibers has.
const FIBER_BRAND: usize = 1;

fn fiber(op: FiberOp, ty: &FuncType, types: &Subtyping<'_>) -> Verdict {
    let expected = match op {
        FiberOp::New | FiberOp::NewReturning => {
            return (
                // Which operands are functions, its use tells.
                matches!(ty.results(), [made] if types.is_brand(*made, FIBER_BRAND))
                    .then_some(true),
                "[a* (ref $f)*] -> [(ref $fiber)], where $fiber is the reserved type of fibers",
            );
        }
        FiberOp::Release => "[(ref null $fiber)] -> []",
        FiberOp::Mount | FiberOp::Dismount | FiberOp::DismountRelease => {
            "[tr* (ref null $fiber)] -> []"
        }
        FiberOp::Switch | FiberOp::SwitchRelease => {
            "[tr* (ref null $fiber) (ref null $fiber)] -> []"
        }
    };
    let fibers = match op {
        FiberOp::Switch | FiberOp::SwitchRelease => 2,
        _ => 1,
    };
    let values = ty.params().len().checked_sub(fibers);
    let fits = values.map(|values| {
        let are_fibers = ty.params()[values..].iter().all(|ty| types.is_brand(*ty, FIBER_BRAND));
        let takes_values = op != FiberOp::Release || values == 0;
        are_fibers && takes_values && ty.results().is_empty()
    });
    (fits, expected)
}
