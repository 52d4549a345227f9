//! Bag of stacks: `(type $c (stack (param t)* rt))`, `stack.new`, `switch`.
//!
//! A stack type is a continuation type of a function type with the same
//! parameters:
//!
//! ```wat
//! (rec (type $c.func (func (param t* rt))) (type $c (cont $c.func)))
//! ```
//!
//! In the shadow it is that function type, and its subtyping is the same:
//! parameters are contravariant. Below, `$c` is `stack t1* (ref null? $d)`,
//! and `$d` is `stack t2* rt2`.
//!
//! | file | contents |
//! | --- | --- |
//! | `define` | the definitions of types |
//! | `stack_type` | what `$c` says about `t1*`, `$d` and `t2*` |
//! | `lower` | the instructions |

mod define;
mod lower;
mod stack_type;

use crate::dialect::design::{Design, Role};
use crate::dialect::lower::Lowering;
use crate::dialect::source::{Tree, Word, WordPlace};

pub(crate) static BAG: Design = Design {
    name: "bag of stacks",
    ty: "a stack type",
    hints: &["stack", "switch"],
    instructions: &[
        "stack.new",
        "stack.new_ref",
        "stack.bind",
        "switch_retire",
        "switch_throw",
        "return_switch",
        "return_switch_throw",
    ],
    in_context: &["stack.clone", "switch"],
    recognize,
    read_type: define::read,
    define: define::define,
    heap_type,
    lower: lower::lower,
    type_words,
    ..Design::NONE
};

fn recognize(word: &Word<'_, '_>) -> Option<Role> {
    match word.text {
        "stack" if word.place == WordPlace::Type => Some(Role::Type),
        // Otherwise it is the null of a stackref.
        "stack" if word.place == WordPlace::Null && word.has_first_class => None,
        "stack" | "nostack" if word.is_heap_type() => Some(Role::HeapType),
        // Without a type it belongs to first-class stacks.
        "stack.clone" if word.is_instruction() && word.indices() > 0 => Some(Role::Instruction),
        // With a type and a tag it is the standard instruction.
        "switch" if word.is_instruction() && word.indices() == 1 => Some(Role::Instruction),
        _ => None,
    }
}

fn heap_type(lowering: &Lowering<'_, '_>, word: &str) -> Option<String> {
    let heap_type = match (word, lowering.is_shadow()) {
        ("stack", false) => "cont",
        ("stack", true) => "func",
        ("nostack", false) => "nocont",
        ("nostack", true) => "nofunc",
        _ => return None,
    };
    Some(heap_type.to_string())
}

fn type_words(lowering: &Lowering<'_, '_>) -> Vec<(String, String)> {
    let sort = match lowering.is_shadow() {
        true => "func",
        // The source may mean a continuation or a task.
        false if has_continuations(lowering.tree) || has_tasks(lowering.tree) => {
            return Vec::new();
        }
        false => "cont",
    };
    let words = [
        (format!("null{sort}ref"), "(ref null nostack)"),
        (format!("(ref no{sort})"), "(ref nostack)"),
        (format!("{sort}ref"), "(ref null stack)"),
        (format!("(ref {sort})"), "(ref stack)"),
    ];
    words.map(|(from, to)| (from, to.to_string())).to_vec()
}

/// Whether a source has words for continuations.
pub(crate) fn has_continuations(tree: &Tree<'_>) -> bool {
    let words = ["cont", "nocont", "contref", "nullcontref"];
    (0..tree.len()).any(|node| tree.word(node).is_some_and(|word| words.contains(&word)))
}

/// Whether a source has words for all tasks.
fn has_tasks(tree: &Tree<'_>) -> bool {
    tree.has_type_word(&["task", "taskref"])
}
