//! Checks what a rout does before its `start`.
//!
//! While a rout begins, the stack that it extends runs without a switch to it, and the extender
//! waits. Nothing else may run in between. So before `start`, a rout calls only operations that
//! leave marks, and every path either ends the rout or leads to `start`.

use super::OnTopThunk;
use crate::CompileError;
use crate::design::operation::InRout;
use crate::design::thunk::Thunk;
use crate::design::{ModuleDesigns, Operations};
use crate::module::sections::Body;
use crate::translate::contents::{calls, label};
use wasmparser::{FunctionBody, Operator};

/// Fails unless all functions that extend stacks begin as routs must.
pub(crate) fn check_all(
    designs: &ModuleDesigns,
    imported_functions: u32,
    bodies: &[Body<'_>],
) -> Result<(), CompileError> {
    let rout = |thunk: &Thunk| match *thunk {
        Thunk::OnTop(OnTopThunk { function, extends: true, .. }) => {
            function.checked_sub(imported_functions)
        }
        _ => None,
    };
    let thunks = designs.thunks.in_order();
    let routs = thunks.iter().filter_map(rout).filter_map(|index| bodies.get(index as usize));
    routs.into_iter().try_for_each(|(_, body)| check(&designs.operations, body))
}

fn check(operations: &Operations, body: &FunctionBody<'_>) -> Result<(), CompileError> {
    let mut beginning = Beginning { operations, blocks: vec![false] };
    // Compiling the body reports what cannot be read.
    let Ok(mut reader) = body.get_operators_reader() else { return Ok(()) };
    while !reader.eof() {
        let offset = reader.original_position();
        let Ok(operator) = reader.read() else { break };
        match beginning.follow(&operator) {
            Ok(Step::Before) => {}
            Ok(Step::Start) => break,
            Err(message) => return Err(CompileError::Refused { offset, message }),
        }
    }
    Ok(())
}

enum Step {
    Before,
    Start,
}

struct Beginning<'a> {
    operations: &'a Operations,
    /// For each open block, whether code before `start` may continue after it.
    blocks: Vec<bool>,
}

impl Beginning<'_> {
    fn follow(&mut self, operator: &Operator<'_>) -> Result<Step, String> {
        match operator {
            Operator::Call { function_index } => return self.call(*function_index),
            Operator::Block { .. } | Operator::Loop { .. } | Operator::TryTable { .. } => {
                self.blocks.push(false);
            }
            // The `else` arm does not pass through the `then` arm.
            Operator::If { .. } => self.blocks.push(true),
            Operator::End => {
                self.blocks.pop();
            }
            Operator::BrTable { targets } => {
                let labels = targets.targets().map_while(Result::ok);
                labels.chain([targets.default()]).for_each(|label| self.branch(label));
            }
            _ if calls(operator) => return Err(calls_too_early()),
            _ => label(operator).into_iter().for_each(|label| self.branch(label)),
        }
        Ok(Step::Before)
    }

    fn call(&self, function: u32) -> Result<Step, String> {
        match self.operations.get(function).map(|operation| operation.in_rout) {
            Some(InRout::Start) => match self.blocks.contains(&true) {
                true => Err("a branch before `ropewalk:first-class` `start` skips it, in a \
                             function that is used as a rout"
                    .to_string()),
                false => Ok(Step::Start),
            },
            Some(InRout::Allowed) => Ok(Step::Before),
            _ => Err(calls_too_early()),
        }
    }

    /// The body is not validated yet, so a label may not exist.
    fn branch(&mut self, label: u32) {
        let index = self.blocks.len().checked_sub(label as usize + 1);
        if let Some(block) = index.and_then(|index| self.blocks.get_mut(index)) {
            *block = true;
        }
    }
}

fn calls_too_early() -> String {
    "a function that is used as a rout calls `ropewalk:first-class` `start` before it calls or \
     switches to anything else, but for `own`, `level`, `leave_to`, `check_cleared` and the `enter_` \
     imports"
        .to_string()
}
