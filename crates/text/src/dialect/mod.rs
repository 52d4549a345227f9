//! Lowers the dialects: text of the other designs becomes standard text.
//!
//! Bag of stacks, tasks, fibers and first-class stacks are dialects of the text format, and so are
//! continuations with `cont.clone`. A module with a word of one of them is lowered to WebAssembly
//! 3.0 with stack switching. Each primitive that the standard lacks becomes a call of an imported
//! function of a reserved module. A module without such words stays as it is.
//!
//! The passes, in order:
//!
//! 1. `source::tree` parses the text into a flat tree of words and lists.
//! 2. `source::word` shows each keyword to the designs. If none recognizes one, the lowering ends.
//! 3. `check::indices` rejects numeric indices of types, functions, tags and labels, since lowering
//!    adds items of these kinds.
//! 4. `definitions::read` reads the types, functions and tags of the module.
//! 5. `lower::walk` lowers each word of a design by an edit of the source.
//! 6. `lower::output` writes the edited source, with a map back to the original.
//! 7. Passes 5 and 6 are repeated with types that keep the kinds apart. The result, the
//!    [shadow](crate::encode), is validated and discarded.
//!
//! | folder or file | contents |
//! | --- | --- |
//! | `source` | words and lists, names, value types, instructions |
//! | `definitions` | what a module defines |
//! | `lower` | edits, added fields, and the walk that makes them |
//! | `check` | advice about misplaced words, and numeric indices |
//! | `design` | what a design consists of, and the list of designs |
//! | `continuation`, `bag`, `task`, `fiber`, `first_class` | the designs |
//! | `script` | the dialect modules of a script |
//! | `legacy` | recognizes exceptions of the legacy proposal, which also has a `try` |
//!
//! To add a design, add a folder like `bag` that defines a [`Design`](design::Design), and an
//! entry in the list of designs. A design relies on these:
//!
//! * [`Lowering::emit`] replaces an instruction, plain or folded, and keeps its operands in place.
//! * [`Lowering::primitive`], [`Lowering::function_type`], [`Lowering::declare`],
//!   [`Lowering::local`] and [`Lowering::label`] add what the new instructions need, with names
//!   that clash with no other.
//! * [`Lowering::require`] states that types match. A validator checks it.
//! * [`Lowering::ty`] and [`Lowering::signature`] print types that are right in the standard text
//!   and in the shadow.
//! * Counts (of parameters, say) and kinds (whether `$c` is a stack type) are checked by the design.
//!   Its errors name the expected and the found item, and say what to do.

mod bag;
mod check;
mod continuation;
mod definitions;
mod design;
mod fiber;
mod first_class;
pub(crate) mod legacy;
mod lower;
mod script;
mod source;
mod task;

use std::ops::Range;

use check::{indices, suggestions};
use definitions::Module;
use design::DESIGNS;
use lower::{Lowering, Pieces, Rendering};
use source::{Node, Nodes, Tree, Words};

use crate::error::Result;

pub use design::dialect_instructions;
pub use legacy::LEGACY_EXCEPTIONS;
pub use script::Script;

pub(crate) use lower::{Output, SpanMap};
pub(crate) use source::TypeWords;

/// A dialect module, lowered to standard text.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub text: String,
    pub map: SpanMap,
    /// The offset of the module in the source.
    pub module: usize,
    /// How messages print types in terms of the source.
    pub type_words: TypeWords,
    /// The same module with kinds kept apart, only for validation.
    pub shadow: Rendered,
}

/// Lowers the module in a part of a source. Returns `None` if it is not a dialect module.
pub(crate) fn lower(source: &str, range: Range<usize>) -> Result<Option<Lowered>> {
    if !may_have_dialects(&source[range.clone()]) {
        return Ok(None);
    }
    let tree = Tree::parse(source, range);
    let Some(form) = ModuleForm::of(&tree) else { return Ok(None) };
    let words = Words::new(&tree, form.list);
    if !words.are_there() {
        return Ok(None);
    }
    // Standard text returned above: its parser reports its errors better.
    match tree.error() {
        Some(error) => Err(error.clone()),
        None => form.lower(&words).map(Some),
    }
}

/// Whether a text with one module uses a dialect.
pub(crate) fn is_dialect(text: &str) -> bool {
    let tree = Tree::parse(text, 0..text.len());
    let form = ModuleForm::of(&tree).filter(|_| may_have_dialects(text));
    form.is_some_and(|form| Words::new(&tree, form.list).are_there())
}

/// A quick test that is true for every dialect module and false for most other texts.
fn may_have_dialects(text: &str) -> bool {
    DESIGNS.iter().flat_map(|design| design.hints).any(|hint| text.contains(hint))
}

impl Lowered {
    /// An error that a design finds in the binary of the standard text, with its offset there.
    pub fn check_binary(&self, binary: &[u8]) -> Option<(usize, &'static str)> {
        DESIGNS.iter().find_map(|design| (design.check_binary)(binary))
    }
}

/// A lowered module, and how messages print its types in terms of the source.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub output: Output,
    pub type_words: TypeWords,
}

/// The form of a module: `(module $x? ..)`, or its fields alone.
struct ModuleForm<'t, 'a> {
    tree: &'t Tree<'a>,
    list: Option<Node>,
    /// The word `definition`, which only a script has. It is removed.
    definition: Option<Node>,
    first: Node,
    /// The node after the last field.
    end: Node,
}

impl<'t, 'a> ModuleForm<'t, 'a> {
    /// `None` for a component, or a module that is not written as fields.
    fn of(tree: &'t Tree<'a>) -> Option<ModuleForm<'t, 'a>> {
        match tree.top().next().and_then(|top| tree.head(top)) {
            Some("component") => None,
            Some("module") => ModuleForm::module(tree),
            _ => {
                let end = tree.len();
                Some(ModuleForm { tree, list: None, definition: None, first: 0, end })
            }
        }
    }

    fn module(tree: &'t Tree<'a>) -> Option<ModuleForm<'t, 'a>> {
        let list = tree.top().next()?;
        let mut parts = tree.children(list).skip(1).peekable();
        let definition = parts.next_if(|&node| tree.word(node) == Some("definition"));
        parts.next_if(|&node| tree.is_name(node));
        let end = tree.last(list);
        let first = parts.next().unwrap_or(end);
        match tree.word(first) {
            Some("quote" | "binary" | "instance") => None,
            _ => Some(ModuleForm { tree, list: Some(list), definition, first, end }),
        }
    }

    fn fields(&self) -> Nodes<'t, 'a> {
        self.tree.between(self.first, self.end)
    }

    fn lower(&self, words: &Words<'_, 'a>) -> Result<Lowered> {
        suggestions::check_renamed(words)?;
        indices::check(self.tree)?;
        let module = definitions::read(self.tree, words, self.fields())?;
        let standard = self.render(words, &module, Rendering::Standard)?;
        let shadow = self.render(words, &module, Rendering::Shadow)?;
        let start = self.list.map_or(self.tree.range().start, |list| self.tree.start(list + 1));
        let Rendered { output: Output { text, map }, type_words } = standard;
        Ok(Lowered { text, map, module: start, type_words, shadow })
    }

    fn render(
        &self,
        words: &Words<'_, 'a>,
        module: &Module<'a>,
        rendering: Rendering,
    ) -> Result<Rendered> {
        let tree = self.tree;
        let mut lowering = Lowering::new(tree, module, rendering);
        lower::walk(&mut lowering, words, self.fields())?;
        let designs = words.designs();
        let mut type_words = lowering.type_words();
        type_words.extend(designs.iter().flat_map(|design| (design.type_words)(&lowering)));
        let Lowering { mut edits, front, back, names, .. } = lowering;
        edits.insert(self.front(), front);
        edits.insert(self.back(), back);
        if let Some(definition) = self.definition {
            edits.replace(tree.start(definition)..tree.end(definition), Pieces::new());
        }
        let output = edits.render(tree.source(), tree.range());
        let type_words = TypeWords { words: type_words, added: names.into_added() };
        Ok(Rendered { output, type_words })
    }

    /// Where fields can be inserted before all others: before the first, or before the closing
    /// parenthesis of the module.
    fn front(&self) -> usize {
        self.tree.start(self.first)
    }

    fn back(&self) -> usize {
        match self.list {
            Some(_) => self.tree.start(self.end),
            None => self.tree.range().end,
        }
    }
}
