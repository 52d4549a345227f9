//! Lowers instructions with a tag (the switches, `stack.extend`, `call_stack`), `stack.start` and
//! `stack.clone`.

use super::function::Function;
use super::{fields, is_stackref};
use crate::dialect::definitions::Item;
use crate::dialect::lower::TagForm;
use crate::dialect::source::{Instruction, Name, Signature, ValType};
use crate::error::{Error, Result};

impl<'a, 'm> Function<'_, 'a, 'm> {
    /// `stack.switch $e`, `$e : [t* stackref]`.
    pub(super) fn switch(&mut self, instruction: &mut Instruction<'a>) -> Result<()> {
        let (tag, types) = self.event(instruction)?;
        let Some((_, values)) = types.split_last().filter(|&(&last, _)| is_stackref(last)) else {
            let message = format!(
                "type mismatch: `stack.switch` sends the suspended stack as the last value of the \
                 event, but the last parameter of `{}` is not a stackref",
                tag.text
            );
            return Err(Error::invalid(tag.at, message));
        };
        self.switch_with(instruction, "switch", tag, values, types);
        Ok(())
    }

    /// `stack.switch_drop $e`, `$e : [t*]`.
    pub(super) fn switch_drop(&mut self, instruction: &mut Instruction<'a>) -> Result<()> {
        let (tag, types) = self.event(instruction)?;
        self.switch_with(instruction, "switch_drop", tag, types, types);
        Ok(())
    }

    fn switch_with(
        &mut self,
        instruction: &Instruction<'a>,
        name: &str,
        tag: Name<'a>,
        values: &[ValType<'a>],
        payload: &[ValType<'a>],
    ) {
        let params = self.operands(values);
        let primitive = self.primitive(name, &params, instruction.at(self.lowering.tree));
        let payload = self.lowering.signature(&[], payload);
        let (function, results) = ("", String::new());
        let form = TagForm { primitive, function, tag: tag.text, params, payload, results };
        let call = form.without_return(self.lowering);
        self.lowering.emit(instruction, &call, Some("unreachable"));
    }

    /// `stack.switch_call $f $e?`, `$f : [a* stackref] -> [o*]`, `$e : [o*]`.
    pub(super) fn switch_call(&mut self, instruction: &mut Instruction<'a>) -> Result<()> {
        let name = instruction.name(self.lowering.tree, "a function")?;
        let module = self.lowering.module;
        let function = module.function(name)?;
        let signature = module.signature(function)?;
        let last = signature.params.split_last().filter(|&(&last, _)| is_stackref(last));
        let Some((_, values)) = last else {
            let message = format!(
                "type mismatch: `stack.switch_call` calls `{}` with the suspended stack as the \
                 last argument, but its last parameter is not a stackref",
                name.text
            );
            return Err(Error::invalid(name.at, message));
        };
        let event = self.return_event(instruction, name, signature)?;
        let ty = self.lowering.type_of(name, function);
        let at = instruction.at(self.lowering.tree);
        let params = self.operands(values);
        let primitive_type = self.operands_and(values, &ty);
        self.lowering.declare(name);
        let function = format!("(ref.func {}) ", name.text);
        let Some((tag, types)) = event else {
            let primitive = self.primitive("switch_call_trap", &primitive_type, at);
            let call = format!("{function}(call {primitive})");
            self.lowering.emit(instruction, &call, Some("unreachable"));
            return Ok(());
        };
        let primitive = self.primitive("switch_call", &primitive_type, at);
        let payload = self.lowering.signature(&[], types);
        let results = String::new();
        let form =
            TagForm { primitive, function: &function, tag: tag.text, params, payload, results };
        let call = form.without_return(self.lowering);
        self.lowering.emit(instruction, &call, Some("unreachable"));
        Ok(())
    }

    /// `stack.extend $r $e?`, `rout $r : [a*] -> [o*]`, `$e : [o*]`.
    pub(super) fn extend(&mut self, instruction: &mut Instruction<'a>) -> Result<()> {
        let name = instruction.name(self.lowering.tree, "a rout")?;
        let module = self.lowering.module;
        let rout = self.rout(name)?;
        let signature = module.signature(rout)?;
        let event = self.return_event(instruction, name, signature)?;
        let ty = self.lowering.type_of(name, rout);
        let at = instruction.at(self.lowering.tree);
        let (stackref, _) = self.stackref();
        let results = format!(" (result {stackref})");
        let params = self.operands(&signature.params);
        let primitive_type = self.operands_and(&signature.params, &ty) + &results;
        self.lowering.declare(name);
        let function = format!("(ref.func {}) ", name.text);
        let Some((tag, types)) = event else {
            let primitive = self.primitive("extend_trap", &primitive_type, at);
            let call = format!("call {primitive}");
            self.lowering.emit(instruction, function.trim_end(), Some(&call));
            return Ok(());
        };
        let primitive = self.primitive("extend", &primitive_type, at);
        let payload = self.lowering.signature(&[], types);
        let form =
            TagForm { primitive, function: &function, tag: tag.text, params, payload, results };
        let call = form.with_results(self.lowering);
        self.lowering.emit(instruction, &call, None);
        Ok(())
    }

    /// `call_stack $ct`.
    pub(super) fn call_stack(&mut self, instruction: &mut Instruction<'a>) -> Result<()> {
        let name = instruction.name(self.lowering.tree, "a call_tag")?;
        let module = self.lowering.module;
        let call_tag = fields::call_tag(module, name)?;
        let signature = module.signature(call_tag)?;
        let ty = fields::type_of_call_tag(self.lowering, Some(name), call_tag);
        let params = self.lowering.signature(&signature.params, &[]);
        let results = self.lowering.signature(&[], &signature.results);
        let at = instruction.at(self.lowering.tree);
        let primitive = self.primitive("call_stack", &format!("{params}{results}"), at);
        let payload = format!(" (result (ref null {ty}))");
        let form = TagForm { primitive, function: "", tag: name.text, params, payload, results };
        let call = form.with_results(self.lowering);
        self.lowering.emit(instruction, &call, None);
        Ok(())
    }

    /// `stack.start`, which does not return.
    pub(super) fn start(&mut self, instruction: &Instruction<'a>) {
        let primitive = self.primitive("start", "", instruction.at(self.lowering.tree));
        self.lowering.emit(instruction, &format!("(call {primitive})"), Some("unreachable"));
    }

    /// `stack.clone` without a type.
    pub(super) fn clone(&mut self, instruction: &Instruction<'a>) {
        let (stackref, _) = self.stackref();
        let ty = format!(" (param {stackref}) (result {stackref} {stackref})");
        let primitive = self.primitive("clone", &ty, instruction.at(self.lowering.tree));
        self.lowering.emit(instruction, "", Some(&format!("call {primitive}")));
    }

    /// The event that an instruction names, and its values.
    fn event(&self, instruction: &mut Instruction<'a>) -> Result<(Name<'a>, &'m [ValType<'a>])> {
        let name = instruction.name(self.lowering.tree, "an event")?;
        self.values(name).map(|values| (name, values))
    }

    fn values(&self, name: Name<'a>) -> Result<&'m [ValType<'a>]> {
        let module = self.lowering.module;
        let signature = module.signature(module.tag(name)?)?;
        match signature.results.is_empty() {
            true => Ok(&signature.params),
            false => {
                let message =
                    format!("type mismatch: `{}` has results, but an event has none", name.text);
                Err(Error::invalid(name.at, message))
            }
        }
    }

    /// The event that the results of a function become, if there is one.
    fn return_event(
        &mut self,
        instruction: &mut Instruction<'a>,
        function: Name<'a>,
        signature: &Signature<'a>,
    ) -> Result<Option<(Name<'a>, &'m [ValType<'a>])>> {
        let Some(tag) = instruction.optional_name(self.lowering.tree)? else { return Ok(None) };
        let values = self.values(tag)?;
        let (word, f, e) = (instruction.word, function.text, tag.text);
        let message = format!(
            "type mismatch: `{word}` sends the results of `{f}` with `{e}`, which takes other \
             values"
        );
        if values.len() != signature.results.len() {
            let (expected, found) = (values.len(), signature.results.len());
            let message = format!("{message}: `{e}` takes {expected}, and `{f}` has {found}");
            return Err(Error::invalid(tag.at, message));
        }
        self.lowering.require(&signature.results, values, tag.at, &message);
        Ok(Some((tag, values)))
    }

    fn rout(&self, name: Name<'a>) -> Result<&'m Item<'a>> {
        let module = self.lowering.module;
        if module.functions.has(name) && !module.routs.has(name) {
            let message = format!("unknown rout: `{}` is a function, not a rout", name.text);
            return Err(Error::invalid(name.at, message));
        }
        module.routs.get(name, "rout")
    }

    /// ` (param t* stackref)`.
    fn operands(&self, values: &[ValType<'a>]) -> String {
        format!(" (param {})", self.values_and_stack(values))
    }

    /// ` (param t* stackref (ref $function))`.
    fn operands_and(&self, values: &[ValType<'a>], function: &str) -> String {
        format!(" (param {} (ref {function}))", self.values_and_stack(values))
    }

    fn values_and_stack(&self, values: &[ValType<'a>]) -> String {
        let types = values.iter().map(|&ty| self.lowering.ty(ty) + " ");
        types.collect::<String>() + &self.stackref().0
    }
}
