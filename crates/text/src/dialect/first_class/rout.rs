//! Checks the start of a rout: starts of blocks, then `stack.start`.

use super::shape::{BlockKind, Shape, StepKind};
use crate::dialect::source::{Node, Tree};
use crate::error::{Error, Result};

pub(super) fn check(tree: &Tree<'_>, shape: &Shape<'_>, list: Node) -> Result<()> {
    let start = match tree.head(list) {
        Some("rout") => Some(start(tree, shape, list)?),
        _ => None,
    };
    for step in &shape.steps {
        if let StepKind::Instruction(instruction) = step.what
            && instruction.word == "stack.start"
            && Some(instruction.keyword) != start
        {
            let message = "`stack.start` can only stand at the beginning of a rout, after \
                           openings of blocks";
            return Err(Error::invalid(instruction.at(tree), message));
        }
    }
    Ok(())
}

fn start(tree: &Tree<'_>, shape: &Shape<'_>, list: Node) -> Result<Node> {
    let missing = |at| {
        let message = "a rout begins with openings of `block`, `loop`, `try`, `try_table`, \
                       `stack.redirect`, `stack.redirect_to` or `answer`, and then `stack.start`";
        Error::invalid(at, message)
    };
    // Only part 0 runs at the start: the code of answers and the like runs later.
    for step in shape.steps.iter().filter(|step| step.part == 0) {
        match step.what {
            StepKind::Open(block) if shape.blocks[block].kind != BlockKind::If => {
                let block = &shape.blocks[block];
                if let Some(target) = block.target.filter(|_| block.kind == BlockKind::Loop) {
                    let message = "a branch back over `stack.start`: the rout would start again";
                    return Err(Error::invalid(tree.start(target), message));
                }
            }
            StepKind::Begin | StepKind::Divide => {}
            StepKind::Open(block) => return Err(missing(tree.start(shape.blocks[block].keyword))),
            StepKind::Instruction(instruction) if instruction.word == "stack.start" => {
                return Ok(instruction.keyword);
            }
            StepKind::Instruction(instruction) => return Err(missing(instruction.at(tree))),
            StepKind::Close(block) => return Err(missing(tree.start(shape.blocks[block].keyword))),
        }
    }
    Err(missing(tree.start(list + 1)))
}
