//! Checks that a local without a default is set before it is read.
//!
//! A validator checks this for plain locals. Locals that closures share are fields of an
//! environment, which are null before they are set. The same rule applies to them: a local that is
//! set in a block does not count as set after it. The code of a closure is such a block; the locals
//! that were set before its instruction count as set in it.

use std::collections::HashSet;

use crate::dialect::source::{Instruction, Tree};
use crate::error::{Error, Result};

use super::locals::{Local, Locals};
use super::shape::{Shape, StepKind};

/// Checks the locals of a function that are stored in an environment.
pub(super) fn check(tree: &Tree<'_>, shape: &Shape<'_>, locals: &Locals<'_>) -> Result<()> {
    let mut known = SetLocals::default();
    for step in &shape.steps {
        match step.what {
            StepKind::Open(_) => known.enter(),
            StepKind::Begin => known.begin(),
            StepKind::Divide => known.forget(),
            StepKind::Close(_) => known.leave(),
            StepKind::Instruction(instruction) => {
                let local = locals.find(tree.text(instruction.keyword + 1));
                if let Some(local) = local.filter(|local| must_be_set(local)) {
                    known.instruction(tree, &instruction, local)?;
                }
            }
        }
    }
    Ok(())
}

fn must_be_set(local: &Local<'_>) -> bool {
    local.is_captured && local.is_non_null() && !local.is_param
}

/// The locals known to be set.
#[derive(Debug, Default)]
struct SetLocals<'l> {
    /// By name or number, and in the order in which they were set.
    set: HashSet<&'l str>,
    order: Vec<&'l str>,
    /// For each open block, the number of locals set before its code.
    before: Vec<usize>,
}

impl<'l> SetLocals<'l> {
    fn enter(&mut self) {
        self.before.push(self.order.len());
    }

    /// The condition of a folded `if` is inside its list, but runs before it.
    fn begin(&mut self) {
        self.before.pop();
        self.enter();
    }

    fn forget(&mut self) {
        let before = self.before.last().copied().unwrap_or_default();
        self.order.drain(before..).for_each(|local| {
            self.set.remove(local);
        });
    }

    fn leave(&mut self) {
        self.forget();
        self.before.pop();
    }

    /// A local that is already set keeps its earlier entry.
    fn set(&mut self, index: &'l str) {
        if self.set.insert(index) {
            self.order.push(index);
        }
    }

    fn instruction(
        &mut self,
        tree: &Tree<'_>,
        instruction: &Instruction<'_>,
        local: &'l Local<'_>,
    ) -> Result<()> {
        let index = local.index.as_str();
        match instruction.word {
            "local.set" | "local.tee" => self.set(index),
            "local.get" if !self.set.contains(index) => {
                let message = format!(
                    "uninitialized local: `{index}` is read before it is set, and has no default; \
                     code of an `answer` or `stack.redirect_to` can only rely on locals that were \
                     set before that block"
                );
                return Err(Error::invalid(instruction.at(tree), message));
            }
            _ => {}
        }
        Ok(())
    }
}
