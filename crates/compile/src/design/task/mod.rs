//! Tasks: their operations and their types.

mod thunk;
mod translate;

use super::operation::{Design, Functions, Operation};
use super::push_is_same;
use super::thunk::Thunk;
use crate::module::Subtyping;
use crate::target::Designs;
use ropewalk_abi::{FuncType, HeapType, RefType, ValType};
pub(super) use thunk::TaskThunk;

pub(super) const DESIGN: Design = Design {
    permission: Designs::TASKS,
    module: "ropewalk:task",
    operations: &[
        Operation {
            name: "new",
            expected: "[a* (ref $f)] -> [(ref $t)], where $t is a final continuation of \
                       [r*] -> [s*] and $f a function type that matches [(ref $t) r* a*] -> [s*]",
            fits: new,
            functions: Functions::Count(1),
            thunk: Some(|call| Thunk::Task(TaskThunk { import: call.import })),
            translate: translate::new,
            ..Operation::PLAIN
        },
        Operation {
            name: "resume",
            expected: "[(ref null $t) r*] -> [s*], where $t is a final continuation of \
                       [r*] -> [s*]",
            fits: resume,
            translate: translate::resume,
            ..Operation::PLAIN
        },
        Operation {
            name: "suspend",
            expected: "[(ref null $t) s*] -> [r*], where $t is a final continuation of \
                       [r*] -> [s*]",
            fits: suspend,
            suspends: true,
            translate: translate::suspend,
            ..Operation::PLAIN
        },
        Operation {
            name: "switchto",
            expected: "[(ref null $t) (ref null $u) ru*] -> [rt*], where $t and $u are final \
                       continuations of [rt*] -> [st*] and [ru*] -> [su*], and su* matches st*",
            fits: switchto,
            suspends: true,
            translate: translate::switchto,
            ..Operation::PLAIN
        },
        Operation {
            name: "retire",
            expected: "[(ref null $t) s*] -> [], where $t is a final continuation of \
                       [r*] -> [s*]",
            fits: retire,
            translate: translate::retire,
            ..Operation::PLAIN
        },
        Operation {
            name: "release",
            expected: "[(ref null $t)] -> [], where $t is a final continuation type",
            fits: release,
            translate: translate::release,
            ..Operation::PLAIN
        },
        Operation {
            name: "release_any",
            expected: "[(ref null cont)] -> []",
            fits: release_any,
            translate: translate::release,
            ..Operation::PLAIN
        },
        Operation {
            name: "eq",
            expected: "[(ref null cont) (ref null cont)] -> [i32]",
            fits: eq,
            translate: push_is_same,
            ..Operation::PLAIN
        },
    ],
};

/// The function type of a task type. It must be final: with a supertype, one side could send values
/// that the other does not expect.
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

fn new(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
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

fn resume(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let (task, values) = ty.params().split_first()?;
    let task = task_type(types, *task)?;
    Some(
        types.are_subtypes(values, task.params())
            && types.are_subtypes(task.results(), ty.results()),
    )
}

fn suspend(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let (task, values) = ty.params().split_first()?;
    let task = task_type(types, *task)?;
    Some(
        types.are_subtypes(values, task.results())
            && types.are_subtypes(task.params(), ty.results()),
    )
}

fn switchto(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let [from, to, values @ ..] = ty.params() else { return None };
    let (from, to) = (task_type(types, *from)?, task_type(types, *to)?);
    Some(
        types.are_subtypes(values, to.params())
            && types.are_subtypes(to.results(), from.results())
            && types.are_subtypes(from.params(), ty.results()),
    )
}

fn retire(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let (task, values) = ty.params().split_first()?;
    let task = task_type(types, *task)?;
    Some(types.are_subtypes(values, task.results()) && ty.results().is_empty())
}

fn release(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    let [task] = ty.params() else { return None };
    task_type(types, *task)?;
    Some(ty.results().is_empty())
}

fn release_any(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    Some(types.are_subtypes(ty.params(), &[ANY]) && ty.results().is_empty())
}

fn eq(ty: &FuncType, types: &Subtyping<'_>) -> Option<bool> {
    Some(types.are_subtypes(ty.params(), &[ANY, ANY]) && ty.results() == [ValType::I32])
}

/// The type of all references to stacks, including tasks.
const ANY: ValType = ValType::Ref(RefType { nullable: true, heap: HeapType::Cont });
