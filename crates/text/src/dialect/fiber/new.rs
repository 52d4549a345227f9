//! `fiber.new`, and the functions that start a fiber.

use super::event::{Clause, Event};
use super::{fiber_type, is_fiber, operands_message};
use crate::dialect::lower::{Lowering, Pieces};
use crate::dialect::source::{Instruction, Name, Signature, ValType, counted, mismatch};
use crate::error::{Error, Result};

/// `fiber.new $ret? (on $e $f)*`, or with pairs `$e $f`. With an odd number of names, the first one
/// is `$ret`.
pub(super) fn lower<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
) -> Result<()> {
    let returns = match instruction.names(lowering.tree) % 2 {
        0 => None,
        _ => Some(Event::read(lowering, instruction)?),
    };
    let clauses = Clause::read_all(lowering, instruction, "a function")?;
    let starts = clauses.iter().map(Start::of_clause).collect();
    let new = NewFiber::new(lowering, returns, starts)?;
    let form = new.form(lowering, instruction);
    lowering.emit_pieces(instruction, form, None);
    Ok(())
}

/// One way to start a fiber: an event, and the function that receives it.
#[derive(Debug, Clone)]
pub(super) struct Start<'m, 'a> {
    /// The name of the event, and its offset.
    pub event: String,
    pub at: usize,
    /// `te*`.
    pub values: &'m [ValType<'a>],
    pub function: Name<'a>,
}

impl<'m, 'a> Start<'m, 'a> {
    fn of_clause(clause: &Clause<'m, 'a>) -> Start<'m, 'a> {
        let Event { name, values } = clause.event;
        Start { event: name.text.to_string(), at: name.at, values, function: clause.target }
    }
}

/// A new fiber: `[a*] -> [(ref fiber)]`.
#[derive(Debug)]
pub(super) struct NewFiber<'m, 'a> {
    returns: Option<Event<'m, 'a>>,
    starts: Vec<Start<'m, 'a>>,
    /// `a*`.
    pub arguments: &'m [ValType<'a>],
}

impl<'m, 'a> NewFiber<'m, 'a> {
    /// Takes `a*` from the first function, and checks that all functions fit.
    pub fn new(
        lowering: &mut Lowering<'a, 'm>,
        returns: Option<Event<'m, 'a>>,
        starts: Vec<Start<'m, 'a>>,
    ) -> Result<NewFiber<'m, 'a>> {
        let module = lowering.module;
        let mut arguments = None;
        for start in &starts {
            let signature = module.signature(module.function(start.function)?)?;
            let own = start.arguments(signature)?;
            let first = *arguments.get_or_insert(own);
            start.require_arguments(lowering, first, own)?;
            start.require_values(lowering, &signature.params[own.len() + 1..])?;
            if let Some(event) = returns {
                start.require_results(lowering, &signature.results, event)?;
            }
            lowering.declare(start.function);
        }
        Ok(NewFiber { returns, starts, arguments: arguments.unwrap_or_default() })
    }

    /// The call of the primitive, which takes `a*` and returns the fiber.
    ///
    /// The labels of its catches are never reached. Each distinct list of event types has a block.
    pub fn form(&self, lowering: &mut Lowering<'a, '_>, instruction: &Instruction<'a>) -> Pieces {
        let at = instruction.at(lowering.tree);
        let fiber = [fiber_type(false, at)];
        let mut blocks: Vec<(String, String)> = Vec::new();
        let catches = self.catches(lowering, &mut blocks);
        let inner = lowering.signature(self.arguments, &fiber);
        let made = lowering.label("made");
        let mut pieces = Pieces::new();
        if !blocks.is_empty() {
            let message = operands_message(instruction, self.arguments);
            pieces.push_noted(format!("(block {made}{inner} "), at, message);
        }
        for (label, ty) in &blocks {
            pieces.push(format!("(block {label}{ty} "), at);
        }
        pieces.push(format!("(try_table{inner}"), at);
        pieces.append(catches);
        pieces.push(format!(" {})", self.call(lowering, at)), at);
        if !blocks.is_empty() {
            pieces.push(format!(" (br {made})"), at);
            pieces.push(") (unreachable)".repeat(blocks.len()) + ")", at);
        }
        pieces
    }

    /// The catches. Adds the blocks for their labels to `blocks`.
    fn catches(
        &self,
        lowering: &mut Lowering<'a, '_>,
        blocks: &mut Vec<(String, String)>,
    ) -> Pieces {
        let returns =
            self.returns.iter().map(|event| (event.name.text, event.name.at, event.values));
        let starts = self.starts.iter().map(|start| (&*start.event, start.at, start.values));
        let mut pieces = Pieces::new();
        for (event, at, values) in returns.chain(starts) {
            let ty = lowering.signature(self.arguments, values);
            let label = match blocks.iter().find(|(_, other)| *other == ty) {
                Some((label, _)) => label.clone(),
                None => {
                    let label = lowering.label(&format!("event.{}", blocks.len() + 1));
                    blocks.push((label.clone(), ty));
                    label
                }
            };
            pieces.push(format!(" (catch {event} {label})"), at);
        }
        pieces
    }

    /// The functions, and the call.
    fn call(&self, lowering: &mut Lowering<'a, '_>, at: usize) -> String {
        let module = lowering.module;
        let (mut types, mut functions) = (String::new(), String::new());
        for &Start { function, .. } in &self.starts {
            // `new` has checked that it exists.
            if let Ok(item) = module.function(function) {
                types += &format!(" (ref {})", lowering.type_of(function, item));
                functions += &format!("(ref.func {}) ", function.text);
            }
        }
        let arguments: String =
            self.arguments.iter().map(|&ty| format!(" {}", lowering.ty(ty))).collect();
        let params = match arguments + &types {
            none if none.is_empty() => none,
            some => format!(" (param{some})"),
        };
        let ty = params + &lowering.signature(&[], &[fiber_type(false, at)]);
        let name = if self.returns.is_some() { "new_returning" } else { "new" };
        format!("{functions}(call {})", lowering.primitive("fiber", name, &ty, at))
    }
}

impl<'a> Start<'_, 'a> {
    fn refuse<T>(&self, why: &str) -> Result<T> {
        Err(Error::invalid(self.function.at, self.message(why)))
    }

    fn message(&self, why: &str) -> String {
        let f = self.function.text;
        format!("`{f}` cannot start this fiber: {why}")
    }

    /// `a*` of a function `[a* (ref null? fiber) te*] -> ..`.
    fn arguments<'s>(&self, signature: &'s Signature<'a>) -> Result<&'s [ValType<'a>]> {
        let (params, values) = (&signature.params, self.values.len());
        let must = match values {
            0 => "its last parameter must be `fiberref` or `(ref fiber)`, for the fiber itself"
                .to_string(),
            _ => format!(
                "its last parameters must be `fiberref` or `(ref fiber)`, for the fiber itself, \
                 and then those for the {} of `{}`",
                counted(values, "value"),
                self.event
            ),
        };
        let Some(own) = params.len().checked_sub(values + 1) else {
            let found = counted(params.len(), "parameter");
            return self.refuse(&format!("{must}; it has {found}"));
        };
        match is_fiber(params[own]) {
            true => Ok(&params[..own]),
            false => self.refuse(&format!("{must}; parameter {} is another type", own + 1)),
        }
    }

    /// All functions of a fiber take the same `a*`.
    fn require_arguments(
        &self,
        lowering: &mut Lowering<'a, '_>,
        first: &[ValType<'a>],
        own: &[ValType<'a>],
    ) -> Result<()> {
        let why = "its parameters before the fiber must match those of the function of the first \
                   clause";
        if first.len() != own.len() {
            let (expected, found) = (counted(first.len(), "parameter"), own.len());
            return self.refuse(&format!("{why}: expected {expected}, found {found}"));
        }
        self.require(lowering, first, own, why)
    }

    /// The parameters after the fiber take the values of the event.
    fn require_values(
        &self,
        lowering: &mut Lowering<'a, '_>,
        params: &[ValType<'a>],
    ) -> Result<()> {
        let why =
            format!("its parameters after the fiber must take the values of `{}`", self.event);
        self.require(lowering, self.values, params, &why)
    }

    /// The results are the values of the return event.
    fn require_results(
        &self,
        lowering: &mut Lowering<'a, '_>,
        results: &[ValType<'a>],
        event: Event<'_, 'a>,
    ) -> Result<()> {
        let ret = event.name.text;
        let why = format!("it must return the values of `{ret}`, the return event");
        if results.len() != event.values.len() {
            let (expected, found) = (counted(event.values.len(), "value"), results.len());
            return self.refuse(&format!("{why}: expected {expected}, found {found}"));
        }
        self.require(lowering, results, event.values, &why)
    }

    /// Requires that values of the types `from` may be used where `to` are expected. In the shadow
    /// a fiber would also match general types.
    fn require(
        &self,
        lowering: &mut Lowering<'a, '_>,
        from: &[ValType<'a>],
        to: &[ValType<'a>],
        why: &str,
    ) -> Result<()> {
        if from.iter().zip(to).any(|(from, to)| is_fiber(*from) != is_fiber(*to)) {
            return self.refuse(&format!("{why}; {}", mismatch(from, to)));
        }
        lowering.require(from, to, self.function.at, &self.message(why));
        Ok(())
    }
}
