//! Lowers the instructions of tasks.

use super::task_type::{TaskType, is_task};
use crate::dialect::lower::Lowering;
use crate::dialect::source::{Instruction, Name, Signature, ValKind, ValType, mismatch};
use crate::error::{Error, Result};

pub(super) fn lower<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
) -> Result<()> {
    let (tree, module) = (lowering.tree, lowering.module);
    let any = any_task(instruction.at(tree));
    match instruction.word {
        "task.eq" => {
            let is_same = ValType { kind: ValKind::Word("i32"), at: any.at };
            lowering.call(instruction, &[any, any], &[is_same]);
            return Ok(());
        }
        "task.release" => return release(lowering, instruction, any),
        _ => {}
    }
    let name = instruction.name(tree, "a task type")?;
    if instruction.word == "task.new" && !tree.is_name(instruction.next) {
        refuse_function(lowering, name)?;
    }
    let task = TaskType::find(module, name)?;
    let operands = |values: &[ValType<'a>]| [&[task.nullable()], values].concat();
    match instruction.word {
        "task.new" => new_task(lowering, instruction, task)?,
        "task.switchto" => switchto(lowering, instruction, task)?,
        "task.retire" => lowering.call_last(instruction, &operands(task.given)),
        "task.resume" => lowering.call(instruction, &operands(task.received), task.given),
        _ => lowering.call(instruction, &operands(task.given), task.received),
    }
    Ok(())
}

/// `taskref`.
fn any_task<'a>(at: usize) -> ValType<'a> {
    ValType { kind: ValKind::Word("taskref"), at }
}

/// `task.release $t?`; without a type it takes any task.
fn release<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
    any: ValType<'a>,
) -> Result<()> {
    if let Some(name) = instruction.optional_name(lowering.tree)? {
        let task = TaskType::find(lowering.module, name)?;
        lowering.call(instruction, &[task.nullable()], &[]);
        return Ok(());
    }
    let ty = lowering.signature(&[any], &[]);
    let primitive = lowering.primitive("task", "release_any", &ty, any.at);
    lowering.emit(instruction, "", Some(&format!("call {primitive}")));
    Ok(())
}

/// `task.new $t $f`: a `ref.func`, then the primitive.
fn new_task<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
    task: TaskType<'_, 'a>,
) -> Result<()> {
    let name = instruction.name(lowering.tree, "a function")?;
    let module = lowering.module;
    let function = module.function(name)?;
    let arguments = require_body(lowering, task, name, module.signature(function)?)?;
    lowering.declare(name);
    let function_type = lowering.type_of(name, function);
    let types: String = arguments.iter().map(|&ty| lowering.ty(ty) + " ").collect();
    let ty = format!(" (param {types}(ref {function_type})) (result (ref {}))", task.name.text);
    let primitive = lowering.primitive_of(instruction, &ty);
    let function = format!("(ref.func {})", name.text);
    lowering.emit(instruction, &function, Some(&format!("call {primitive}")));
    Ok(())
}

/// `task.switchto $t $u`: suspends `$t` and resumes `$u` in its place.
fn switchto<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
    task: TaskType<'_, 'a>,
) -> Result<()> {
    let name = instruction.name(lowering.tree, "a task type")?;
    let next = TaskType::find(lowering.module, name)?;
    let (t, u) = (task.name.text, name.text);
    let message = format!(
        "`task.switchto` resumes `{u}` in place of `{t}`, so the values that `{u}` gives must \
         match those that `{t}` gives"
    );
    if next.given.len() != task.given.len() {
        let (expected, found) = (task.given.len(), next.given.len());
        let message = format!("{message}: `{t}` gives {expected}, and `{u}` gives {found}");
        return Err(Error::invalid(name.at, message));
    }
    require(lowering, next.given, task.given, name.at, &message)?;
    let operands = [&[task.nullable(), next.nullable()], next.received].concat();
    lowering.call(instruction, &operands, task.received);
    Ok(())
}

/// Rejects `task.new $f`, which lacks the type of the task.
fn refuse_function(lowering: &Lowering<'_, '_>, name: Name<'_>) -> Result<()> {
    let module = lowering.module;
    let Ok(function) = module.function(name) else { return Ok(()) };
    if module.ty(name).is_ok() {
        return Ok(());
    }
    let first = module.signature(function)?.params.first().and_then(ValType::type_name);
    let task = first.filter(|first| TaskType::find(module, *first).is_ok());
    let (t, f) = (task.map_or("$t", |task| task.text), name.text);
    let message = format!(
        "`task.new` expects the name of a task type here, found the function `{f}`: write \
         `task.new {t} {f}`"
    );
    Err(Error::malformed(name.at, message))
}

/// Checks that a function can be the body of a task, `[(ref null? $t) r* a*] -> [s*]`, and returns
/// `a*`.
fn require_body<'a, 'm>(
    lowering: &mut Lowering<'a, '_>,
    task: TaskType<'_, 'a>,
    name: Name<'a>,
    body: &'m Signature<'a>,
) -> Result<&'m [ValType<'a>]> {
    let (t, f) = (task.name.text, name.text);
    let start = format!("`{f}` cannot be the function of a task of type `{t}`:");
    let given = format!("{start} it must give what `{t}` gives");
    if body.results.len() != task.given.len() {
        let (expected, found) = (task.given.len(), body.results.len());
        let message = format!("{given}: `{t}` gives {expected}, and `{f}` gives {found}");
        return Err(Error::invalid(name.at, message));
    }
    let itself =
        format!("{start} its first parameter must be the task, `(ref null? {t})` or `taskref`");
    let Some((first, params)) = body.params.split_first() else {
        return Err(Error::invalid(name.at, format!("{itself}; it has no parameters")));
    };
    let received = format!("{start} after the task it must take what `{t}` receives");
    let Some((values, arguments)) = params.split_at_checked(task.received.len()) else {
        let (expected, found) = (task.received.len(), params.len());
        let message = format!("{received}: `{t}` receives {expected}, and `{f}` takes {found}");
        return Err(Error::invalid(name.at, message));
    };
    require(lowering, &[task.reference()], &[*first], name.at, &itself)?;
    require(lowering, task.received, values, name.at, &received)?;
    require(lowering, &body.results, task.given, name.at, &given)?;
    Ok(arguments)
}

/// Requires that values of the types `from` may be used where `to` are expected. In the shadow a
/// task would also match general types.
fn require<'a>(
    lowering: &mut Lowering<'a, '_>,
    from: &[ValType<'a>],
    to: &[ValType<'a>],
    at: usize,
    message: &str,
) -> Result<()> {
    let is_task = |ty| is_task(lowering.module, ty);
    if from.iter().zip(to).any(|(from, to)| is_task(*from) && !is_task(*to)) {
        return Err(Error::invalid(at, format!("{message}; {}", mismatch(from, to))));
    }
    lowering.require(from, to, at, message);
    Ok(())
}
