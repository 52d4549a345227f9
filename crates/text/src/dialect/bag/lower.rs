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
    let mut lowered = BagInstruction { lowering, instruction, stack };
    match lowered.instruction.word {
        "stack.new" => lowered.new_stack(),
        "stack.new_ref" => lowered.new_ref(),
        "stack.bind" => lowered.bind(),
        "stack.clone" => {
            let copy = ValType::reference(false, name);
            lowered.lowering.call(lowered.instruction, &stack.operands(&[]), &[copy]);
            Ok(())
        }
        "switch_retire" => lowered.switch_retire(),
        "switch_throw" => lowered.switch_throw(),
        "return_switch" => lowered.return_switch(),
        "return_switch_throw" => lowered.return_switch_throw(),
        _ => lowered.switch(),
    }
}

/// An instruction with a stack type `$c = stack t1* (ref null? $d)`.
struct BagInstruction<'l, 'a, 'm> {
    lowering: &'l mut Lowering<'a, 'm>,
    instruction: &'l mut Instruction<'a>,
    stack: StackType<'m, 'a>,
}

impl<'a, 'm> BagInstruction<'_, 'a, 'm> {
    /// `stack.new $c $f`: a `ref.func`, then the primitive.
    fn new_stack(&mut self) -> Result<()> {
        let name = self.instruction.name(self.lowering.tree, "a function")?;
        let module = self.lowering.module;
        let function = module.function(name)?;
        self.require_body(name, module.signature(function)?)?;
        self.lowering.declare(name);
        let ty = self.lowering.type_of(name, function);
        self.emit_new(&ty, &format!("(ref.func {})", name.text))
    }

    /// `stack.new_ref $c $ft`.
    fn new_ref(&mut self) -> Result<()> {
        let name = self.instruction.name(self.lowering.tree, "a function type")?;
        self.require_body(name, self.lowering.module.function_type(name)?)?;
        self.emit_new(name.text, "")
    }

    /// Calls the primitive `new` for functions of a type.
    fn emit_new(&mut self, function_type: &str, function: &str) -> Result<()> {
        let at = self.instruction.at(self.lowering.tree);
        let stack = self.stack.name.text;
        let ty = format!(" (param (ref null {function_type})) (result (ref {stack}))");
        let primitive = self.lowering.primitive("stack", "new", &ty, at);
        self.lowering.emit(self.instruction, function, Some(&format!("call {primitive}")));
        Ok(())
    }

    /// Checks that a function can be the body of a stack: `[t1* rt] -> []`.
    fn require_body(&mut self, name: Name<'a>, body: &Signature<'a>) -> Result<()> {
        let params = self.stack.params;
        let (c, f) = (self.stack.name.text, name.text);
        let message = format!(
            "a stack of type `{c}` needs a function with the parameters of `{c}` and no \
             results; the type of `{f}` does not fit"
        );
        if body.params.len() != params.len() || !body.results.is_empty() {
            let counts = |params, results| {
                format!("{} and {}", counted(params, "parameter"), counted(results, "result"))
            };
            let found = counts(body.params.len(), body.results.len());
            let expected = counts(params.len(), 0);
            let message = format!("{message}: expected {expected}, found {found}");
            return Err(Error::invalid(name.at, message));
        }
        self.lowering.require(params, &body.params, name.at, &message);
        Ok(())
    }

    /// `switch $c`.
    fn switch(&mut self) -> Result<()> {
        let results = self.switch_results()?;
        let operands = self.stack.operands(self.stack.values());
        self.lowering.call(self.instruction, &operands, results);
        Ok(())
    }

    /// `switch_retire $c`: the primitive does not return.
    fn switch_retire(&mut self) -> Result<()> {
        if !self.stack.rt.nullable {
            let (c, d) = (self.stack.name.text, self.stack.rt.name.text);
            let message = format!(
                "`switch_retire` passes null as the stack to return to, but `{c}` ends with \
                 `(ref {d})`, which is never null; make it `(ref null {d})`"
            );
            return Err(Error::invalid(self.stack.name.at, message));
        }
        self.lowering.call_last(self.instruction, &self.stack.operands(self.stack.values()));
        Ok(())
    }

    /// `stack.bind $c $d`: `$c = stack t1* t2* rt`, `$d = stack t2* rt`.
    fn bind(&mut self) -> Result<()> {
        let stack = self.stack;
        let name = self.instruction.name(self.lowering.tree, "a stack type")?;
        let rest = StackType::find(self.lowering.module, name)?;
        let (c, d) = (stack.name.text, name.text);
        let message = format!(
            "`stack.bind` returns a stack that takes the remaining values of `{c}`, but `{d}` \
             takes others"
        );
        let Some(bound) = stack.params.len().checked_sub(rest.params.len()) else {
            let (expected, found) = (stack.params.len(), rest.params.len());
            let message = format!("{message}: `{c}` takes {expected}, and `{d}` takes {found}");
            return Err(Error::invalid(name.at, message));
        };
        let (bound, remaining) = stack.params.split_at(bound);
        self.lowering.require(rest.params, remaining, name.at, &message);
        let rest = [ValType::reference(false, name)];
        self.lowering.call(self.instruction, &stack.operands(bound), &rest);
        Ok(())
    }

    /// `switch_throw $c $e`.
    fn switch_throw(&mut self) -> Result<()> {
        let throw = self.throw()?;
        let call = self.throw_form(&throw).with_results(self.lowering);
        self.lowering.emit(self.instruction, &call, None);
        Ok(())
    }

    /// `return_switch $c $f`: the primitive, followed directly by a `return_call`.
    fn return_switch(&mut self) -> Result<()> {
        let results = self.switch_results()?;
        let next = self.successor(results)?;
        let primitive = self.primitive(&self.stack.operands(self.stack.values()), results);
        let last = format!("return_call {}", next.text);
        self.lowering.emit(self.instruction, &format!("(call {primitive})"), Some(&last));
        Ok(())
    }

    /// `return_switch_throw $c $e $f`.
    fn return_switch_throw(&mut self) -> Result<()> {
        let throw = self.throw()?;
        let next = self.successor(throw.results)?;
        let then = format!("(return_call {})", next.text);
        let call = self.throw_form(&throw).then(self.lowering, &then);
        self.lowering.emit(self.instruction, &call, Some("unreachable"));
        Ok(())
    }

    /// `t2* rt2`, the results of a switch.
    fn switch_results(&self) -> Result<&'m [ValType<'a>]> {
        Ok(self.stack.other(self.lowering.module)?.params)
    }

    /// `$f : [t2* rt2] -> ..`, which runs when control returns. The `return_call` checks its
    /// results.
    fn successor(&mut self, values: &[ValType<'a>]) -> Result<Name<'a>> {
        let name = self.instruction.name(self.lowering.tree, "a function")?;
        let module = self.lowering.module;
        let params = &module.signature(module.function(name)?)?.params;
        let (word, f, d) = (self.instruction.word, name.text, self.stack.rt.name.text);
        let message = format!(
            "`{word}` calls `{f}` with the values that `{d}` takes; the parameters of `{f}` do \
             not fit"
        );
        if params.len() != values.len() {
            let (expected, found) = (values.len(), params.len());
            let message = format!("{message}: expected {expected}, found {found}");
            return Err(Error::invalid(name.at, message));
        }
        self.lowering.require(values, params, name.at, &message);
        Ok(name)
    }

    /// Imports the primitive with the name of the instruction.
    fn primitive(&mut self, params: &[ValType<'a>], results: &[ValType<'a>]) -> String {
        let ty = self.lowering.signature(params, results);
        self.lowering.primitive_of(self.instruction, &ty)
    }

    /// Reads the tag of a switch that throws.
    fn throw(&mut self) -> Result<Throw<'m, 'a>> {
        let tag = self.instruction.name(self.lowering.tree, "a tag")?;
        let module = self.lowering.module;
        let signature = module.signature(module.tag(tag)?)?;
        let (word, e, rt) = (self.instruction.word, tag.text, self.stack.rt.name);
        let d = rt.text;
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
        self.lowering.require(&[ValType::reference(false, rt)], &[*last], tag.at, &message);
        let (operands, results) = (self.stack.operands(values), self.switch_results()?);
        Ok(Throw { tag, payload: &signature.params, operands, results })
    }

    fn throw_form(&mut self, throw: &Throw<'m, 'a>) -> TagForm<'a> {
        TagForm {
            primitive: self.primitive(&throw.operands, throw.results),
            function: "",
            tag: throw.tag.text,
            params: self.lowering.signature(&throw.operands, &[]),
            payload: self.lowering.signature(&[], throw.payload),
            results: self.lowering.signature(&[], throw.results),
        }
    }
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
