//! Tasks: `(type $t (task (param r*) (result s*)))`, `task.new`, `task.resume`.
//!
//! A task type is a continuation type of the function type with what a task
//! receives and gives:
//!
//! ```wat
//! (rec (type $t.func (func (param r*) (result s*))) (type $t (cont $t.func)))
//! ```
//!
//! Both are final, so that two task types match only if they are the same. The
//! heap type `task` of all tasks is `cont`.
//!
//! In the shadow a task type is a struct type with a field of that function
//! type, and a sub type of `$task`, a struct type that stands for `task`.
//!
//! | file | contents |
//! | --- | --- |
//! | `define` | the definitions of types |
//! | `task_type` | what `$t` says about `r*` and `s*` |
//! | `lower` | the instructions |

mod define;
mod lower;
mod task_type;

use crate::dialect::bag::has_continuations;
use crate::dialect::definitions::TypeDef;
use crate::dialect::design::{Design, Role, Vocabulary};
use crate::dialect::lower::{Lowering, Pieces};
use crate::dialect::source::{Instruction, Node, Signature, Tree, Word, WordPlace};
use crate::error::Result;

#[derive(Debug)]
pub(crate) struct Tasks;

impl Design for Tasks {
    fn vocabulary(&self) -> &'static Vocabulary {
        &Vocabulary {
            name: "tasks",
            ty: "a task type",
            hints: &["task"],
            instructions: &[
                "task.new",
                "task.resume",
                "task.suspend",
                "task.switchto",
                "task.retire",
                "task.release",
                "task.eq",
            ],
            in_context: &[],
            renamed: &[],
        }
    }

    fn recognize(&self, word: &Word<'_, '_>) -> Option<Role> {
        match word.text {
            "task" | "taskref" if word.place == WordPlace::Type => Some(Role::Type),
            "task" if word.is_heap_type() => Some(Role::HeapType),
            "taskref" if word.place == WordPlace::Plain => Some(Role::ValueType),
            _ => None,
        }
    }

    /// Adds the type of all tasks to the shadow. The standard text has one, `cont`.
    fn prepare<'a>(&self, lowering: &mut Lowering<'a, '_>) -> Result<()> {
        let mut task = "cont".to_string();
        if lowering.is_shadow() {
            task = lowering.names.fresh("task");
            let definition = format!("(type {task} (sub (struct)))\n  ");
            lowering.front.push(definition, lowering.tree.range().start);
        }
        lowering.set_brand("task", task);
        Ok(())
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

    fn heap_type(&self, lowering: &Lowering<'_, '_>, word: &str) -> Option<String> {
        (word == "task").then(|| lowering.brand("task").to_string())
    }

    fn value_type(&self, lowering: &Lowering<'_, '_>, word: &str) -> Option<String> {
        (word == "taskref").then(|| format!("(ref null {})", lowering.brand("task")))
    }

    fn type_words(&self, lowering: &Lowering<'_, '_>) -> Vec<(String, String)> {
        let tree = lowering.tree;
        let words = match lowering.is_shadow() {
            true => {
                ["(ref null", "(ref"].map(|start| format!("{start} {})", lowering.brand("task")))
            }
            // The source may mean continuations or stacks.
            false if has_continuations(tree) || tree.has_type_word(&["stack", "nostack"]) => {
                return Vec::new();
            }
            false => ["contref", "(ref cont)"].map(str::to_string),
        };
        words.into_iter().zip(["taskref", "(ref task)"].map(str::to_string)).collect()
    }

    fn lower<'a>(
        &self,
        lowering: &mut Lowering<'a, '_>,
        instruction: &mut Instruction<'a>,
    ) -> Result<()> {
        lower::lower(lowering, instruction)
    }
}
