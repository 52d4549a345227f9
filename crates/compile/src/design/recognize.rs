//! Recognizes calls of operations in their prescribed form, and checks the tags and functions that
//! they name.

use super::Operations;
use super::operation::{Clauses, FollowedBy, Functions, InRout, Operation, OperationCall, Tags};
use crate::CompileError;
use crate::module::Subtyping;
use ropewalk_abi::{FuncType, ValType};
use std::collections::HashSet;
use wasmparser::{BlockType, Catch, Operator, OperatorsReader};

/// The role of an operator in the designs.
pub(crate) enum Recognized {
    /// Neither of the following.
    Ordinary,
    /// It opens the `try_table` around a call of an operation.
    OpensForm(BlockType),
    /// It calls an operation.
    Call(OperationCall),
}

/// Reads the operators of a body, and recognizes calls of operations.
pub(crate) struct Recognizer<'a> {
    operations: &'a Operations,
    pub types: Subtyping<'a>,
    /// The functions that the `ref.func`s right before this operator name.
    ref_funcs: Vec<u32>,
    /// The catches of the `try_table` that opened a form just before.
    open: Option<Vec<(u32, u32)>>,
    /// The catches of each open block, the body of the function first.
    blocks: Vec<Vec<Catch>>,
    /// The indices of the blocks that catch exceptions.
    catching: Vec<usize>,
}

impl<'a> Recognizer<'a> {
    pub fn new(operations: &'a Operations, types: Subtyping<'a>) -> Recognizer<'a> {
        Recognizer {
            operations,
            types,
            ref_funcs: Vec::new(),
            open: None,
            blocks: vec![Vec::new()],
            catching: Vec::new(),
        }
    }

    /// Classifies an operator; `rest` reads the operators after it.
    pub fn recognize(
        &mut self,
        offset: u64,
        operator: &Operator<'_>,
        rest: &OperatorsReader<'_>,
    ) -> Result<Recognized, CompileError> {
        if self.operations.is_empty() {
            return Ok(Recognized::Ordinary);
        }
        let refused = |message| CompileError::Refused { offset, message };
        let recognized = match operator {
            Operator::RefFunc { function_index } => {
                self.ref_funcs.push(*function_index);
                return Ok(Recognized::Ordinary);
            }
            Operator::TryTable { try_table } if self.is_form(rest.clone()) => {
                self.open = Some(plain_catches(&try_table.catches).map_err(refused)?);
                self.blocks.push(Vec::new());
                Recognized::OpensForm(try_table.ty)
            }
            Operator::TryTable { try_table } => {
                self.catching.push(self.blocks.len());
                self.blocks.push(try_table.catches.clone());
                Recognized::Ordinary
            }
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => {
                self.blocks.push(Vec::new());
                Recognized::Ordinary
            }
            Operator::End => {
                self.blocks.pop();
                self.catching.pop_if(|block| *block >= self.blocks.len());
                Recognized::Ordinary
            }
            Operator::Call { function_index } => match self.operations.get(*function_index) {
                None => Recognized::Ordinary,
                Some(operation) => {
                    let call = self.call(operation, *function_index, rest).map_err(refused)?;
                    Recognized::Call(call)
                }
            },
            Operator::ReturnCall { function_index } => {
                if self.operations.get(*function_index).is_some() {
                    let name = self.operations.name(*function_index);
                    return Err(refused(format!("{name} cannot be tail-called")));
                }
                Recognized::Ordinary
            }
            _ => Recognized::Ordinary,
        };
        self.ref_funcs.clear();
        Ok(recognized)
    }

    /// Whether the operators after a `try_table` are the body of a form with tags.
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

    /// Reads the call of an operation, and checks its form.
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
        self.check_indices(&functions, &catches)?;
        if let InRout::Extends = operation.in_rout
            && functions.iter().any(|function| *function < self.types.info.imported_functions)
        {
            return Err(format!("{name} needs a function of the module itself"));
        }
        let clauses = self.clauses(operation.clauses, &catches);
        let call = OperationCall { operation, import, functions, catches, clauses, thunk: None };
        if !(operation.names_fit)(self, &call) {
            let expected = operation.expected_names;
            return Err(format!("the tags or functions of {name} do not fit: expected {expected}"));
        }
        if !is_followed_well(operation.followed_by, rest.clone()) {
            return Err(format!("{name} must be directly followed by return_call"));
        }
        Ok(call)
    }

    /// The body may not be validated yet, so an index may be out of bounds.
    fn check_indices(&self, functions: &[u32], catches: &[(u32, u32)]) -> Result<(), String> {
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
        // Seen from the call, the try_table around it is one more block.
        let from_call = |(tag, label): &(u32, u32)| (*tag, *label + 1);
        match clauses {
            Clauses::None => Vec::new(),
            Clauses::Named => catches.iter().map(from_call).collect(),
            Clauses::NamedAfterFirst => catches.iter().skip(1).map(from_call).collect(),
            Clauses::CaughtAround => self.events_caught_around(),
        }
    }

    /// The events that the `try_table`s around catch, from the inside out, up to a catch that needs
    /// an exception. Each occurs once.
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

    // ---- questions about the names in a call

    pub fn import_type(&self, call: &OperationCall) -> &FuncType {
        self.types.info.function_type(call.import)
    }

    /// Whether the first tag has these values.
    pub fn sends(&self, call: &OperationCall, values: &[ValType]) -> bool {
        let tag = self.types.info.tag_type(call.catches[0].0);
        self.types.are_subtypes(values, tag.params())
    }

    /// Whether the first tag has the values of the operands, without the last ones.
    pub fn sends_operands_but(&self, call: &OperationCall, last: usize) -> bool {
        let params = self.import_type(call).params();
        self.sends(call, &params[..params.len() - last])
    }
}

/// The tags and labels of catches. None may catch a reference or all exceptions.
fn plain_catches(catches: &[Catch]) -> Result<Vec<(u32, u32)>, String> {
    let plain = |catch: &Catch| match *catch {
        Catch::One { tag, label } => Ok((tag, label)),
        _ => Err("a try_table around a reserved import has only plain catches".to_string()),
    };
    catches.iter().map(plain).collect()
}

/// How many events this many catches name; none if a tag is missing.
fn events(tags: Tags, catches: usize) -> Option<usize> {
    match tags {
        Tags::None => Some(0),
        Tags::One => (catches == 1).then_some(0),
        Tags::OneAndClauses => (catches > 0).then_some(0),
        Tags::Events => Some(catches),
        Tags::ReturnAndEvents => catches.checked_sub(1),
    }
}

/// Whether a call is followed as its operation requires.
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
