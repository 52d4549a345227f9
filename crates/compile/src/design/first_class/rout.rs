//! What a rout may do before its `start`.
//!
//! While a rout begins, the stack that it extends runs although nobody has
//! switched to it, and whoever extends it waits. That is only for a moment, and
//! nothing else can come in between: before `start` a rout calls nothing but what
//! leaves marks, and every way that does not end the rout leads to `start`.

use crate::CompileError;
use crate::design::Operations;
use crate::design::operation::InRout;
use crate::handlers::calls;
use wasmparser::{FunctionBody, Operator};

/// Fails unless the body of a rout is as above.
pub(crate) fn check(operations: &Operations, body: &FunctionBody<'_>) -> Result<(), CompileError> {
    let mut beginning = Beginning { operations, blocks: vec![false] };
    // What cannot be read is an error when the body is compiled.
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
    /// The blocks that are open, and whether code before `start` may continue after
    /// each.
    blocks: Vec<bool>,
}

impl Beginning<'_> {
    fn follow(&mut self, operator: &Operator<'_>) -> Result<Step, String> {
        match operator {
            Operator::Call { function_index } => return self.call(*function_index),
            Operator::Block { .. } | Operator::Loop { .. } | Operator::TryTable { .. } => {
                self.blocks.push(false);
            }
            // What follows `else` does not come by what follows `then`.
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
                true => Err("a branch before `ropewalk:first-class` `start` leads behind it, \
                             in a function that is used as a rout"
                    .to_string()),
                false => Ok(Step::Start),
            },
            Some(InRout::Allowed) => Ok(Step::Before),
            _ => Err(calls_too_early()),
        }
    }

    /// Before a body is validated, a label may be any.
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

/// The label that an operator may branch to.
fn label(operator: &Operator<'_>) -> Option<u32> {
    match *operator {
        Operator::Br { relative_depth }
        | Operator::BrIf { relative_depth }
        | Operator::BrOnNull { relative_depth }
        | Operator::BrOnNonNull { relative_depth }
        | Operator::BrOnCast { relative_depth, .. }
        | Operator::BrOnCastFail { relative_depth, .. } => Some(relative_depth),
        _ => None,
    }
}
