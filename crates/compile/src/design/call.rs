//! Calls of operations: recognising the prescribed form, and checking what they
//! name.

use super::operation::{Clauses, FollowedBy, Functions, InRout, Operation, Tags};
use super::{Operations, Subtyping};
use crate::CompileError;
use ropewalk_abi::{FuncType, ValType};
use std::collections::HashSet;
use wasmparser::{Catch, Operator, OperatorsReader};

/// A call of an operation.
#[derive(Clone)]
pub(crate) struct OperationCall {
    pub operation: &'static Operation,
    /// The import.
    pub import: u32,
    /// The functions among its operands.
    pub functions: Vec<u32>,
    /// The tag of each catch of the `try_table` around it, and the label, as
    /// seen from outside of the `try_table`.
    pub catches: Vec<(u32, u32)>,
    /// The events that may arrive here, and the labels where each continues, as
    /// seen from the call.
    pub clauses: Vec<(u32, u32)>,
}

/// What an operator is, as far as operations of designs are concerned.
pub(crate) enum Recognised {
    /// Nothing special.
    Ordinary,
    /// It opens the `try_table` around a call of an operation.
    OpensForm,
    /// It calls one.
    Call(OperationCall),
}

/// Follows the operators of a body and recognises calls of operations.
pub(crate) struct Surroundings<'a> {
    operations: &'a Operations,
    pub types: Subtyping<'a>,
    /// The functions that the operators right before this one name.
    ref_funcs: Vec<u32>,
    /// The catches of the `try_table` that was just opened for a form.
    open: Option<Vec<(u32, u32)>>,
    /// The blocks that are open, the function's own first, with the catches of
    /// those that catch exceptions.
    blocks: Vec<Vec<Catch>>,
    /// The numbers of those that catch exceptions.
    catching: Vec<usize>,
}

impl<'a> Surroundings<'a> {
    pub fn new(operations: &'a Operations, types: Subtyping<'a>) -> Surroundings<'a> {
        Surroundings {
            operations,
            types,
            ref_funcs: Vec::new(),
            open: None,
            blocks: vec![Vec::new()],
            catching: Vec::new(),
        }
    }

    /// Says what an operator is; `rest` reads those after it.
    pub fn recognise(
        &mut self,
        offset: u64,
        operator: &Operator<'_>,
        rest: &OperatorsReader<'_>,
    ) -> Result<Recognised, CompileError> {
        if self.operations.is_empty() {
            return Ok(Recognised::Ordinary);
        }
        let refused = |message| CompileError::Refused { offset, message };
        let recognised = match operator {
            Operator::RefFunc { function_index } => {
                self.ref_funcs.push(*function_index);
                return Ok(Recognised::Ordinary);
            }
            Operator::TryTable { try_table } if self.is_form(rest.clone()) => {
                self.open = Some(plain_catches(&try_table.catches).map_err(refused)?);
                self.blocks.push(Vec::new());
                Recognised::OpensForm
            }
            Operator::TryTable { try_table } => {
                self.catching.push(self.blocks.len());
                self.blocks.push(try_table.catches.clone());
                Recognised::Ordinary
            }
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => {
                self.blocks.push(Vec::new());
                Recognised::Ordinary
            }
            Operator::End => {
                self.blocks.pop();
                self.catching.pop_if(|block| *block >= self.blocks.len());
                Recognised::Ordinary
            }
            Operator::Call { function_index } => match self.operations.get(*function_index) {
                None => Recognised::Ordinary,
                Some(operation) => {
                    let call = self.call(operation, *function_index, rest).map_err(refused)?;
                    Recognised::Call(call)
                }
            },
            Operator::ReturnCall { function_index } => {
                if self.operations.get(*function_index).is_some() {
                    let name = self.operations.name(*function_index);
                    return Err(refused(format!("{name} cannot be tail-called")));
                }
                Recognised::Ordinary
            }
            _ => Recognised::Ordinary,
        };
        self.ref_funcs.clear();
        Ok(recognised)
    }

    /// Whether what follows a `try_table` is the body of a form with tags.
    fn is_form(&self, mut rest: OperatorsReader<'_>) -> bool {
        loop {
            match rest.read() {
                Ok(Operator::RefFunc { .. }) => {}
                Ok(Operator::Call { function_index }) => {
                    let operation = self.operations.get(function_index);
                    return operation.is_some_and(|operation| operation.tags != Tags::None)
                        && matches!(rest.read(), Ok(Operator::End));
                }
                _ => return false,
            }
        }
    }

    /// The call of an operation, if its form is right.
    fn call(
        &mut self,
        operation: &'static Operation,
        import: u32,
        rest: &OperatorsReader<'_>,
    ) -> Result<OperationCall, String> {
        let name = self.operations.name(import);
        let catches = match (operation.tags, self.open.take()) {
            (Tags::None, _) => Vec::new(),
            (_, Some(catches)) => catches,
            (_, None) => {
                return Err(format!(
                    "{name} must be the whole body of a try_table whose first catch names its tag"
                ));
            }
        };
        let events = events(operation.tags, catches.len())
            .ok_or_else(|| format!("{name} lacks the catch that names its tag"))?;
        let count = match operation.functions {
            Functions::Count(count) => count,
            Functions::PerEvent => events,
        };
        let Some(first) = self.ref_funcs.len().checked_sub(count) else {
            return Err(format!("{name} needs {count} ref.func directly before the call"));
        };
        let functions = self.ref_funcs.split_off(first);
        self.check_known(&functions, &catches)?;
        if let InRout::Extends = operation.in_rout
            && functions.iter().any(|function| *function < self.types.info.imported_functions)
        {
            return Err(format!("{name} needs a function of the module itself"));
        }
        let clauses = self.clauses(operation.clauses, &catches);
        let call = OperationCall { operation, import, functions, catches, clauses };
        if !(operation.names_fit)(self, &call) {
            let expected = operation.expected_names;
            return Err(format!("the tags or functions of {name} do not fit: expected {expected}"));
        }
        if !is_followed_well(operation.followed_by, rest.clone()) {
            return Err(format!("{name} must be directly followed by return_call"));
        }
        Ok(call)
    }

    /// Before a body is validated, an index may be any.
    fn check_known(&self, functions: &[u32], catches: &[(u32, u32)]) -> Result<(), String> {
        let info = self.types.info;
        let is_known = functions.iter().all(|function| (*function as usize) < info.functions.len())
            && catches.iter().all(|(tag, _)| (*tag as usize) < info.tags.len());
        match is_known {
            true => Ok(()),
            false => Err("unknown tag or function".to_string()),
        }
    }

    /// The events that may arrive at a call.
    fn clauses(&self, clauses: Clauses, catches: &[(u32, u32)]) -> Vec<(u32, u32)> {
        // Seen from the call, the try_table around it is one more.
        let from_call = |(tag, label): &(u32, u32)| (*tag, *label + 1);
        match clauses {
            Clauses::None => Vec::new(),
            Clauses::Named => catches.iter().map(from_call).collect(),
            Clauses::NamedAfterFirst => catches.iter().skip(1).map(from_call).collect(),
            Clauses::CaughtAround => self.events_caught_around(),
        }
    }

    /// The events that the `try_table`s around catch, from the inside out, up
    /// to a catch that needs an exception; each once.
    fn events_caught_around(&self) -> Vec<(u32, u32)> {
        let innermost = self.blocks.len() - 1;
        let catches = self.catching.iter().rev().map(|i| (*i, &self.blocks[*i]));
        let catches = catches.flat_map(|(i, catches)| catches.iter().map(move |catch| (i, catch)));
        let event = |(i, catch): (usize, &Catch)| match *catch {
            // A label counts from outside of the try_table.
            Catch::One { tag, label } => Some((tag, (innermost - i) as u32 + 1 + label)),
            _ => None,
        };
        let mut seen = HashSet::new();
        catches.map_while(event).filter(|(tag, _)| seen.insert(*tag)).collect()
    }

    // ---- questions about what a call names

    /// The type of the import.
    pub fn import_type(&self, call: &OperationCall) -> &FuncType {
        self.types.info.function_type(call.import)
    }

    /// Whether the first tag has these values.
    pub fn sends(&self, call: &OperationCall, values: &[ValType]) -> bool {
        let tag = self.types.info.tag_type(call.catches[0].0);
        self.types.are_subtypes(values, tag.params())
    }

    /// Whether the first tag has the values of the operands, without this many of
    /// the last ones.
    pub fn sends_operands_but(&self, call: &OperationCall, last: usize) -> bool {
        let params = self.import_type(call).params();
        self.sends(call, &params[..params.len() - last])
    }
}

/// The tags and labels of catches, none of which may want a reference.
fn plain_catches(catches: &[Catch]) -> Result<Vec<(u32, u32)>, String> {
    let plain = |catch: &Catch| match *catch {
        Catch::One { tag, label } => Ok((tag, label)),
        _ => Err("a try_table around a reserved import has only plain catches".to_string()),
    };
    catches.iter().map(plain).collect()
}

/// How many events are named by this many catches; none if a tag is missing.
fn events(tags: Tags, catches: usize) -> Option<usize> {
    match tags {
        Tags::None => Some(0),
        Tags::One => (catches == 1).then_some(0),
        Tags::OneAndClauses => (catches > 0).then_some(0),
        Tags::Events => Some(catches),
        Tags::ReturnAndEvents => catches.checked_sub(1),
    }
}

/// Whether what follows a call belongs there.
fn is_followed_well(expected: FollowedBy, mut rest: OperatorsReader<'_>) -> bool {
    match expected {
        FollowedBy::Anything => return true,
        FollowedBy::ReturnCall => {}
        FollowedBy::EndAndReturnCall => {
            if !matches!(rest.read(), Ok(Operator::End)) {
                return false;
            }
        }
    }
    matches!(
        rest.read(),
        Ok(Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. })
    )
}
