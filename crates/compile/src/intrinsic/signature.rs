//! The types under which reserved imports may be imported.
//!
//! Each check answers what was expected, in the words of the documentation.

use super::subtyping::{FIBER_BRAND, STACK_BRAND, is_nullable};
use super::{FiberOp, FirstClassOp, Intrinsic, StackOp, Subtyping, TaskOp};
use ropewalk_abi::{FuncType, HeapType, RefType, StorageType, ValType};

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
        Intrinsic::FirstClass(op) => first_class(op, ty, types),
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

// ---- first-class stacks

fn first_class(op: FirstClassOp, ty: &FuncType, types: &Subtyping<'_>) -> Verdict {
    use FirstClassOp::*;
    let is_stack = |ty: &ValType| types.is_brand(*ty, STACK_BRAND) && is_nullable(*ty);
    let (params, results) = (ty.params(), ty.results());
    let fits = match op {
        NewStack => matches!((params, results), ([], [made]) if is_stack(made)),
        Switch | SwitchDrop => matches!((params, results), ([.., target], []) if is_stack(target)),
        SwitchCall | SwitchCallTrap => {
            results.is_empty() && called(ty, types, |target| vec![target]) == Some(true)
        }
        Extend | ExtendTrap => {
            matches!(results, [extended] if is_stack(extended))
                && called(ty, types, |_| vec![]) == Some(true)
        }
        Start => params.is_empty() && results.is_empty(),
        CheckCleared => matches!((params, results), ([stack], []) if is_stack(stack)),
        Redirect => {
            let exception = ValType::Ref(RefType::EXNREF);
            matches!((params, results), ([thrown, stack], [])
                if is_stack(stack) && types.is_subtype(*thrown, exception))
        }
        Level => params.is_empty() && *results == [ValType::I32],
        LeaveTo => *params == [ValType::I32] && results.is_empty(),
        EnterAnswer => enters(ty, types, 1) == Some(true),
        EnterRedirect => {
            matches!((params, results), ([boxed], []) if is_box(*boxed, types) == Some(true))
        }
        EnterRedirectTo => enters(ty, types, 2) == Some(true) && redirects(ty, types) == Some(true),
        CallStack => true,
    };
    (Some(fits), expected_first_class(op))
}

fn expected_first_class(op: FirstClassOp) -> &'static str {
    use FirstClassOp::*;
    match op {
        NewStack => "[] -> [(ref null $stack)]",
        Switch | SwitchDrop => "[t* (ref null $stack)] -> []",
        SwitchCall | SwitchCallTrap => {
            "[a* (ref null $stack) (ref $f)] -> [], where $f takes a* (ref null $stack)"
        }
        Extend | ExtendTrap => {
            "[a* (ref null $stack) (ref $f)] -> [(ref null $stack)], where $f takes a*"
        }
        Start => "[] -> []",
        CheckCleared => "[(ref null $stack)] -> []",
        Redirect => "[exnref (ref null $stack)] -> []",
        Level => "[] -> [i32]",
        LeaveTo => "[i32] -> []",
        EnterAnswer => "[(ref $env) (ref $f)] -> [], where $f takes (ref $env) first",
        EnterRedirect => {
            "[(ref $box)] -> [], where $box is a struct whose first field is a mutable \
             (ref null $stack)"
        }
        EnterRedirectTo => {
            "[(ref $env) (ref $f) (ref $g)] -> [], where $f is \
             [(ref $env)] -> [(ref null $stack)] and $g is [(ref $env) (ref null $stack)] -> []"
        }
        CallStack => "[a*] -> [b*]",
    }
}

/// Whether the last operand is a function that takes what precedes the stack,
/// and then something for it.
fn called(
    ty: &FuncType,
    types: &Subtyping<'_>,
    last: impl Fn(ValType) -> Vec<ValType>,
) -> Option<bool> {
    let [arguments @ .., target, function] = ty.params() else { return None };
    let given = [arguments, &last(*target)].concat();
    let function = types.function(*function)?;
    Some(
        types.is_brand(*target, STACK_BRAND)
            && is_nullable(*target)
            && types.are_subtypes(&given, function.params()),
    )
}

/// Whether the operands are a struct and so many functions that take it first.
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

/// Whether the functions of `enter_redirect_to` give and take a stack.
fn redirects(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let [_, giver, taker] = ty.params() else { return None };
    let (giver, taker) = (types.function(*giver)?, types.function(*taker)?);
    let is_stack = |ty: &ValType| types.is_brand(*ty, STACK_BRAND) && is_nullable(*ty);
    Some(
        matches!((giver.params(), giver.results()), ([_], [stack]) if is_stack(stack))
            && matches!((taker.params(), taker.results()), ([_, stack], []) if is_stack(stack)),
    )
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
    let is_stack = types.is_brand(held, STACK_BRAND) && is_nullable(held);
    Some(is_stack && first.mutable && !is_nullable(ty))
}
