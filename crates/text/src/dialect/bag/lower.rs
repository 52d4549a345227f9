//! Lowers the instructions of the bag of stacks.

use super::stack_type::StackType;
use crate::dialect::lower::{Lowering, TagForm};
use crate::dialect::source::{Instruction, Name, Signature, ValType, counted};
use crate::error::{Error, Result};

pub(super) fn lower<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
) -> Result<()> {
    let name = instruction.name(lowering.tree, "a stack type")?;
    let stack = StackType::find(lowering.module, name)?;
    match instruction.word {
        "stack.new" => new(lowering, instruction, stack),
        "stack.new_ref" => new_ref(lowering, instruction, stack),
        "stack.bind" => bind(lowering, instruction, stack),
        "stack.clone" => clone(lowering, instruction, stack),
        "switch_retire" => switch_retire(lowering, instruction, stack),
        "switch_throw" => switch_throw(lowering, instruction, stack),
        "return_switch" => return_switch(lowering, instruction, stack),
        "return_switch_throw" => return_switch_throw(lowering, instruction, stack),
        _ => switch(lowering, instruction, stack),
    }
}

/// `stack.new $c $f`: a `ref.func`, then the primitive.
fn new<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
    stack: StackType<'_, 'a>,
) -> Result<()> {
    let name = instruction.name(lowering.tree, "a function")?;
    let module = lowering.module;
    let function = module.function(name)?;
    require_body(lowering, stack, name, module.signature(function)?)?;
    lowering.declare(name);
    let ty = lowering.type_of(name, function);
    let primitive = primitive_new(lowering, instruction, stack, &ty);
    let function = format!("(ref.func {})", name.text);
    lowering.emit(instruction, &function, Some(&format!("call {primitive}")));
    Ok(())
}

/// `stack.new_ref $c $ft`.
fn new_ref<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
    stack: StackType<'_, 'a>,
) -> Result<()> {
    let name = instruction.name(lowering.tree, "a function type")?;
    require_body(lowering, stack, name, lowering.module.function_type(name)?)?;
    let primitive = primitive_new(lowering, instruction, stack, name.text);
    lowering.emit(instruction, "", Some(&format!("call {primitive}")));
    Ok(())
}

/// The primitive `new` for functions of a type.
fn primitive_new<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &Instruction<'a>,
    stack: StackType<'_, 'a>,
    function_type: &str,
) -> String {
    let at = instruction.at(lowering.tree);
    let ty = format!(" (param (ref null {function_type})) (result (ref {}))", stack.name.text);
    lowering.primitive("stack", "new", &ty, at)
}

/// Checks that a function can be the body of a stack: `[t1* rt] -> []`.
fn require_body<'a>(
    lowering: &mut Lowering<'a, '_>,
    stack: StackType<'_, 'a>,
    name: Name<'a>,
    body: &Signature<'a>,
) -> Result<()> {
    let (c, f) = (stack.name.text, name.text);
    let message = format!(
        "a stack of type `{c}` needs a function that takes what `{c}` takes and returns nothing; \
         the type of `{f}` does not fit"
    );
    if body.params.len() != stack.params.len() || !body.results.is_empty() {
        let found = counts(body.params.len(), body.results.len());
        let expected = counts(stack.params.len(), 0);
        let message = format!("{message}: expected {expected}, found {found}");
        return Err(Error::invalid(name.at, message));
    }
    lowering.require(stack.params, &body.params, name.at, &message);
    Ok(())
}

fn counts(params: usize, results: usize) -> String {
    format!("{} and {}", counted(params, "parameter"), counted(results, "result"))
}

/// `switch $c`.
fn switch<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &Instruction<'a>,
    stack: StackType<'_, 'a>,
) -> Result<()> {
    let results = stack.other(lowering.module)?.params;
    let operands = stack.operands(stack.values());
    let primitive = primitive(lowering, instruction, &operands, results);
    lowering.emit(instruction, "", Some(&format!("call {primitive}")));
    Ok(())
}

/// `switch_retire $c`: the primitive does not return.
fn switch_retire<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &Instruction<'a>,
    stack: StackType<'_, 'a>,
) -> Result<()> {
    if !stack.rt.nullable {
        let (c, d) = (stack.name.text, stack.rt.name.text);
        let message = format!(
            "`switch_retire` passes null as the stack to return to, but `{c}` ends with \
             `(ref {d})`, which is never null; make it `(ref null {d})`"
        );
        return Err(Error::invalid(stack.name.at, message));
    }
    let primitive = primitive(lowering, instruction, &stack.operands(stack.values()), &[]);
    lowering.emit(instruction, &format!("(call {primitive})"), Some("unreachable"));
    Ok(())
}

/// `stack.bind $c $d`: `$c = stack t1* t2* rt`, `$d = stack t2* rt`.
fn bind<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
    stack: StackType<'_, 'a>,
) -> Result<()> {
    let name = instruction.name(lowering.tree, "a stack type")?;
    let rest = StackType::find(lowering.module, name)?;
    let (c, d) = (stack.name.text, name.text);
    let message = format!(
        "`stack.bind` returns a stack that takes the remaining values of `{c}` but `{d}` takes \
         others"
    );
    let Some(bound) = stack.params.len().checked_sub(rest.params.len()) else {
        let (expected, found) = (stack.params.len(), rest.params.len());
        let message = format!("{message}: `{c}` takes {expected}, and `{d}` takes {found}");
        return Err(Error::invalid(name.at, message));
    };
    let (bound, left) = stack.params.split_at(bound);
    lowering.require(rest.params, left, name.at, &message);
    let result = ValType::reference(false, name);
    let primitive = primitive(lowering, instruction, &stack.operands(bound), &[result]);
    lowering.emit(instruction, "", Some(&format!("call {primitive}")));
    Ok(())
}

/// `stack.clone $c`.
fn clone<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &Instruction<'a>,
    stack: StackType<'_, 'a>,
) -> Result<()> {
    let copy = ValType::reference(false, stack.name);
    let primitive = primitive(lowering, instruction, &stack.operands(&[]), &[copy]);
    lowering.emit(instruction, "", Some(&format!("call {primitive}")));
    Ok(())
}

/// `switch_throw $c $e`.
fn switch_throw<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
    stack: StackType<'_, 'a>,
) -> Result<()> {
    let throw = Throw::read(lowering, instruction, stack)?;
    let call = throw.form(lowering, instruction).with_results(lowering);
    lowering.emit(instruction, &call, None);
    Ok(())
}

/// `return_switch $c $f`: the primitive, followed directly by a `return_call`.
fn return_switch<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
    stack: StackType<'_, 'a>,
) -> Result<()> {
    let results = stack.other(lowering.module)?.params;
    let next = successor(lowering, instruction, stack, results)?;
    let operands = stack.operands(stack.values());
    let primitive = primitive(lowering, instruction, &operands, results);
    let last = format!("return_call {}", next.text);
    lowering.emit(instruction, &format!("(call {primitive})"), Some(&last));
    Ok(())
}

/// `return_switch_throw $c $e $f`.
fn return_switch_throw<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
    stack: StackType<'_, 'a>,
) -> Result<()> {
    let throw = Throw::read(lowering, instruction, stack)?;
    let next = successor(lowering, instruction, stack, throw.results)?;
    let form = throw.form(lowering, instruction);
    let call = form.then(lowering, &format!("(return_call {})", next.text));
    lowering.emit(instruction, &call, Some("unreachable"));
    Ok(())
}

/// `$f : [t2* rt2] -> ..`, which runs when control returns. The `return_call` checks its results.
fn successor<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
    stack: StackType<'_, 'a>,
    values: &[ValType<'a>],
) -> Result<Name<'a>> {
    let name = instruction.name(lowering.tree, "a function")?;
    let module = lowering.module;
    let params = &module.signature(module.function(name)?)?.params;
    let (word, f, d) = (instruction.word, name.text, stack.rt.name.text);
    let message = format!(
        "`{word}` calls `{f}` with the values that `{d}` takes; the parameters of \
         `{f}` do not fit"
    );
    if params.len() != values.len() {
        let (expected, found) = (values.len(), params.len());
        let message = format!("{message}: expected {expected}, found {found}");
        return Err(Error::invalid(name.at, message));
    }
    lowering.require(values, params, name.at, &message);
    Ok(name)
}

/// Imports the primitive with the name of the instruction.
fn primitive<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &Instruction<'a>,
    params: &[ValType<'a>],
    results: &[ValType<'a>],
) -> String {
    let ty = lowering.signature(params, results);
    let name = instruction.word.trim_start_matches("stack.");
    lowering.primitive("stack", name, &ty, instruction.at(lowering.tree))
}

/// The parts of a switch that throws: `(tag $e (param te* (ref null? $d)))`.
struct Throw<'m, 'a> {
    tag: Name<'a>,
    /// `te* (ref null? $d)`.
    payload: &'m [ValType<'a>],
    /// `te* (ref null $c)`.
    operands: Vec<ValType<'a>>,
    /// `t2* rt2`.
    results: &'m [ValType<'a>],
}

impl<'m, 'a> Throw<'m, 'a> {
    fn read(
        lowering: &mut Lowering<'a, 'm>,
        instruction: &mut Instruction<'a>,
        stack: StackType<'_, 'a>,
    ) -> Result<Throw<'m, 'a>> {
        let tag = instruction.name(lowering.tree, "a tag")?;
        let module = lowering.module;
        let signature = module.signature(module.tag(tag)?)?;
        let (word, e, d) = (instruction.word, tag.text, stack.rt.name.text);
        let message = format!(
            "`{word}` throws `{e}` with the suspended stack as its last value: the last parameter \
             of `{e}` must be `(ref null? {d})`, and `{e}` must have no results"
        );
        let Some((last, values)) = signature.params.split_last() else {
            return Err(Error::invalid(tag.at, message));
        };
        if !signature.results.is_empty() {
            return Err(Error::invalid(tag.at, message));
        }
        lowering.require(&[ValType::reference(false, stack.rt.name)], &[*last], tag.at, &message);
        let operands = stack.operands(values);
        let results = stack.other(module)?.params;
        Ok(Throw { tag, payload: &signature.params, operands, results })
    }

    fn form(&self, lowering: &mut Lowering<'a, '_>, instruction: &Instruction<'a>) -> TagForm<'a> {
        TagForm {
            primitive: primitive(lowering, instruction, &self.operands, self.results),
            function: "",
            tag: self.tag.text,
            params: lowering.signature(&self.operands, &[]),
            payload: lowering.signature(&[], self.payload),
            results: lowering.signature(&[], self.results),
        }
    }
}
