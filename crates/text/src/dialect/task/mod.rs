//! Tasks: `(type $t (task (param r*) (result s*)))`, `task.new`, `task.resume`.
//!
//! A task type is a continuation type of the function type with what a task
//! receives and gives:
//!
//! ```wat
//! (rec (type $t.func (func (param r*) (result s*))) (type $t (cont $t.func)))
//! ```
//!
//! In the shadow it is a struct type with a field of that function type. Both
//! are final, so that two task types match only if they are the same.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `define` | the definitions of types |
//! | `task_type` | what `$t` says about `r*` and `s*` |
//! | `lower` | the instructions |

mod define;
mod lower;
mod task_type;

use super::design::{Design, Role};
use super::instruction::Instruction;
use super::lowering::Lowering;
use super::module::TypeDef;
use super::output::Pieces;
use super::tree::{Node, Tree};
use super::types::Signature;
use super::word::{Word, WordPlace};
use crate::fault::Result;

/// The design.
#[derive(Debug)]
pub(crate) struct Tasks;

impl Design for Tasks {
    fn name(&self) -> &'static str {
        "tasks"
    }

    fn describe_type(&self) -> &'static str {
        "a task type"
    }

    fn hints(&self) -> &'static [&'static str] {
        &["task"]
    }

    fn instructions(&self) -> &'static [&'static str] {
        &["task.new", "task.resume", "task.suspend", "task.switchto", "task.retire", "task.release"]
    }

    fn recognise(&self, word: &Word<'_, '_>) -> Option<Role> {
        match word.text {
            "task" | "taskref" if word.place == WordPlace::Type => Some(Role::Type),
            _ => None,
        }
    }

    fn read_type<'a>(&self, tree: &Tree<'a>, list: Node) -> Result<Signature<'a>> {
        define::read(tree, list)
    }

    fn define<'a>(
        &self,
        lowering: &mut Lowering<'a, '_>,
        definition: &TypeDef<'a>,
    ) -> Result<Vec<Pieces>> {
        define::define(lowering, definition)
    }

    fn lower<'a>(
        &self,
        lowering: &mut Lowering<'a, '_>,
        instruction: &mut Instruction<'a>,
    ) -> Result<()> {
        lower::lower(lowering, instruction)
    }
}
