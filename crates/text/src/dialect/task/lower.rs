//! Lowers the instructions of tasks.

use super::task_type::{TaskType, is_task};
use crate::dialect::lower::Lowering;
use crate::dialect::source::{Instruction, Name, Signature, ValKind, ValType};
use crate::error::{Error, Result};

pub(super) fn lower<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
) -> Result<()> {
    let any = any_task(instruction.at(lowering.tree));
    let mut lowered = TaskInstruction { lowering, instruction };
    match lowered.instruction.word {
        "task.eq" => {
            let is_same = ValType { kind: ValKind::Word("i32"), at: any.at };
            return lowered.call(&[any, any], &[is_same]);
        }
        "task.release" => return lowered.release(any),
        _ => {}
    }
    let (tree, module) = (lowered.lowering.tree, lowered.lowering.module);
    let name = lowered.instruction.name(tree, "a task type")?;
    if lowered.instruction.word == "task.new" && !tree.is_name(lowered.instruction.next) {
        refuse_function(lowered.lowering, name)?;
    }
    let task = TaskType::find(module, name)?;
    let operands = |values: &[ValType<'a>]| [&[task.nullable()], values].concat();
    match lowered.instruction.word {
        "task.new" => lowered.new_task(task),
        "task.switchto" => lowered.switchto(task),
        "task.retire" => lowered.retire(&operands(task.given)),
        "task.resume" => lowered.call(&operands(task.received), task.given),
        _ => lowered.call(&operands(task.given), task.received),
    }
}

/// `taskref`.
fn any_task<'a>(at: usize) -> ValType<'a> {
    ValType { kind: ValKind::Word("taskref"), at }
}

struct TaskInstruction<'l, 'a, 'm> {
    lowering: &'l mut Lowering<'a, 'm>,
    instruction: &'l mut Instruction<'a>,
}

impl<'a> TaskInstruction<'_, 'a, '_> {
    /// `task.release $t?`; without a type it takes any task.
    fn release(&mut self, any: ValType<'a>) -> Result<()> {
        if let Some(name) = self.instruction.optional_name(self.lowering.tree)? {
            let task = TaskType::find(self.lowering.module, name)?;
            return self.call(&[task.nullable()], &[]);
        }
        let ty = self.lowering.signature(&[any], &[]);
        let primitive = self.lowering.primitive("task", "release_any", &ty, any.at);
        self.lowering.emit(self.instruction, "", Some(&format!("call {primitive}")));
        Ok(())
    }

    /// Calls the primitive with the name of the instruction.
    fn call(&mut self, params: &[ValType<'a>], results: &[ValType<'a>]) -> Result<()> {
        let ty = self.lowering.signature(params, results);
        let primitive = self.primitive(&ty);
        self.lowering.emit(self.instruction, "", Some(&format!("call {primitive}")));
        Ok(())
    }

    /// Imports the primitive with the name of the instruction.
    fn primitive(&mut self, ty: &str) -> String {
        let name = self.instruction.word.trim_start_matches("task.");
        self.lowering.primitive("task", name, ty, self.instruction.at(self.lowering.tree))
    }

    /// `task.retire $t`: the primitive does not return.
    fn retire(&mut self, params: &[ValType<'a>]) -> Result<()> {
        let ty = self.lowering.signature(params, &[]);
        let primitive = self.primitive(&ty);
        self.lowering.emit(self.instruction, &format!("(call {primitive})"), Some("unreachable"));
        Ok(())
    }

    /// `task.new $t $f`: a `ref.func`, then the primitive.
    fn new_task(&mut self, task: TaskType<'_, 'a>) -> Result<()> {
        let name = self.instruction.name(self.lowering.tree, "a function")?;
        let module = self.lowering.module;
        let function = module.function(name)?;
        let arguments = require_body(self.lowering, task, name, module.signature(function)?)?;
        self.lowering.declare(name);
        let function_type = self.lowering.type_of(name, function);
        let types: String = arguments.iter().map(|&ty| self.lowering.ty(ty) + " ").collect();
        let ty = format!(" (param {types}(ref {function_type})) (result (ref {}))", task.name.text);
        let primitive = self.primitive(&ty);
        let function = format!("(ref.func {})", name.text);
        self.lowering.emit(self.instruction, &function, Some(&format!("call {primitive}")));
        Ok(())
    }

    /// `task.switchto $t $u`: suspends `$t` and resumes `$u` in its place.
    fn switchto(&mut self, task: TaskType<'_, 'a>) -> Result<()> {
        let name = self.instruction.name(self.lowering.tree, "a task type")?;
        let next = TaskType::find(self.lowering.module, name)?;
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
        require(self.lowering, next.given, task.given, name.at, &message)?;
        let operands = [&[task.nullable(), next.nullable()], next.received].concat();
        self.call(&operands, task.received)
    }
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
    let do_not_fit = "the types do not fit";
    require(lowering, &[task.reference()], &[*first], name.at, &itself)?;
    require(lowering, task.received, values, name.at, &format!("{received}; {do_not_fit}"))?;
    require(lowering, &body.results, task.given, name.at, &format!("{given}; {do_not_fit}"))?;
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
        return Err(Error::invalid(at, message));
    }
    lowering.require(from, to, at, message);
    Ok(())
}
