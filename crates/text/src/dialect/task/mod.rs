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
use crate::dialect::design::{Design, Role};
use crate::dialect::lower::Lowering;
use crate::dialect::source::{Word, WordPlace};
use crate::error::Result;

pub(crate) static TASKS: Design = Design {
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
    recognize,
    prepare,
    read_type: define::read,
    define: define::define,
    heap_type,
    value_type,
    lower: lower::lower,
    type_words,
    ..Design::NONE
};

fn recognize(word: &Word<'_, '_>) -> Option<Role> {
    match word.text {
        "task" | "taskref" if word.place == WordPlace::Type => Some(Role::Type),
        "task" if word.is_heap_type() => Some(Role::HeapType),
        "taskref" if word.place == WordPlace::Plain => Some(Role::ValueType),
        _ => None,
    }
}

/// Adds the type of all tasks to the shadow. The standard text has one, `cont`.
fn prepare<'a>(lowering: &mut Lowering<'a, '_>) -> Result<()> {
    let mut task = "cont".to_string();
    if lowering.is_shadow() {
        task = lowering.names.fresh("task");
        let definition = format!("(type {task} (sub (struct)))\n  ");
        lowering.front.push(definition, lowering.tree.range().start);
    }
    lowering.set_brand("task", task);
    Ok(())
}

fn heap_type(lowering: &Lowering<'_, '_>, word: &str) -> Option<String> {
    (word == "task").then(|| lowering.brand("task").to_string())
}

fn value_type(lowering: &Lowering<'_, '_>, word: &str) -> Option<String> {
    (word == "taskref").then(|| format!("(ref null {})", lowering.brand("task")))
}

fn type_words(lowering: &Lowering<'_, '_>) -> Vec<(String, String)> {
    let tree = lowering.tree;
    let words = match lowering.is_shadow() {
        true => ["(ref null", "(ref"].map(|start| format!("{start} {})", lowering.brand("task"))),
        // The source may mean continuations or stacks.
        false if has_continuations(tree) || tree.has_type_word(&["stack", "nostack"]) => {
            return Vec::new();
        }
        false => ["contref", "(ref cont)"].map(str::to_string),
    };
    words.into_iter().zip(["taskref", "(ref task)"].map(str::to_string)).collect()
}
