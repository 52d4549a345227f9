//! The dialects: text with forms of the other designs becomes standard text.
//!
//! Bag of stacks, tasks, fibers and first-class stacks are text dialects, and so
//! are continuations with `cont.clone`. A module that has a word of one of them is lowered to WebAssembly 3.0 with
//! stack switching, where every primitive that the standard does not have is
//! a call of an imported function of a reserved module. A module that has none
//! is not touched.
//!
//! The lowering is a row of passes:
//!
//! 1. `tree`: the text becomes a flat tree of words and lists.
//! 2. `word`: each keyword is shown to the designs; if none knows one, the
//!    module is no dialect module, and nothing else happens.
//! 3. `index`: numeric indices of types, functions, tags and labels are
//!    refused, since lowering adds some.
//! 4. `read`: the types, functions and tags of the module are read.
//! 5. `walk`: each word of a design is lowered by an edit of the source.
//! 6. `output`: the source is written with the edits, and with a map back.
//! 7. `shadow`: passes 5 and 6 again, with types that keep the kinds apart;
//!    the result is validated, and thrown away.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `design` | the verbs that a design implements, and the list of designs |
//! | `tree` | the words and lists of a text |
//! | `advice` | words that look like those of a design |
//! | `word` | where a keyword stands, and which design it belongs to |
//! | `name` | names of the source, and new ones |
//! | `types` | value types and signatures |
//! | `type_definition` | the definitions of types in the standard text |
//! | `module` | what a module defines |
//! | `read` | how that is read |
//! | `index` | which indices are refused |
//! | `form` | the form of a primitive with a tag operand |
//! | `instruction` | an instruction of a design and its immediates |
//! | `closure` | parts of a function that become functions of their own |
//! | `lowering` | what designs change and add, and how types are printed |
//! | `walk` | the walk through the module |
//! | `output` | edits, and the map from what is written to the source |
//! | `shadow` | the check that kinds do not match each other |
//! | `script` | the dialect modules of a script |
//! | `continuation` | what the standard's continuations do not have |
//! | `stack` | bag of stacks |
//! | `task` | tasks |
//! | `fiber` | fibers |
//! | `first_class` | first-class stacks |
//!
//! A further design is a folder like `stack` that implements
//! [`Design`](design::Design), and an entry in its list. What it may rely on:
//!
//! * [`Lowering::emit`] replaces an instruction, plain or folded, and leaves
//!   its operands where they are.
//! * [`Lowering::primitive`], [`Lowering::function_type`],
//!   [`Lowering::declare`], [`Lowering::local`] and [`Lowering::label`] add
//!   what the new instructions need, with names that clash with none.
//! * [`Lowering::require`] states that types match; validators check it.
//! * Numbers (how many parameters there are) and kinds (whether `$c` is a
//!   stack type) are for the design to check, with an error that says what was
//!   expected, what was found, and what to do.
//! * What it prints through [`Lowering::ty`] and [`Lowering::signature`] is
//!   right in the standard text and in the shadow.

mod advice;
mod closure;
mod continuation;
mod design;
mod fiber;
mod first_class;
mod form;
mod index;
mod instruction;
mod lowering;
mod module;
mod name;
mod output;
mod read;
mod script;
mod shadow;
mod stack;
mod task;
mod tree;
mod type_definition;
mod types;
mod walk;
mod word;

pub use script::Script;

pub(crate) use output::SpanMap;
pub(crate) use types::TypeWords;

use std::ops::Range;

use crate::fault::Result;
use design::DESIGNS;
use lowering::{Lowering, Rendering};
use module::Module;
use output::{Output, Pieces};
use tree::{Node, Nodes, Tree};
use word::Words;

/// A dialect module in the standard text.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub text: String,
    /// From the standard text to the source.
    pub map: SpanMap,
    /// Where the module stands in the source.
    pub module: usize,
    /// How the source says types of the standard text.
    pub type_words: TypeWords,
    /// The same module, only to be validated.
    shadow: Rendered,
}

/// Lowers the module in a part of a source. Nothing, if it is no dialect
/// module.
pub(crate) fn lower(source: &str, range: Range<usize>) -> Result<Option<Lowered>> {
    if !may_have_dialects(&source[range.clone()]) {
        return Ok(None);
    }
    let tree = Tree::parse(source, range);
    let Some(form) = Form::of(&tree) else { return Ok(None) };
    let words = Words::new(&tree, form.list);
    if !words.are_there() {
        return Ok(None);
    }
    // Only now: the standard parser says what is wrong with standard text.
    match tree.fault() {
        Some(fault) => Err(fault.clone()),
        None => form.lower(&words).map(Some),
    }
}

/// Whether a text with one module uses a dialect.
pub(crate) fn is_dialect(text: &str) -> bool {
    let tree = Tree::parse(text, 0..text.len());
    let form = Form::of(&tree).filter(|_| may_have_dialects(text));
    form.is_some_and(|form| Words::new(&tree, form.list).are_there())
}

/// Whether a text has what any dialect module has; a quick look that spares
/// most texts the rest.
fn may_have_dialects(text: &str) -> bool {
    DESIGNS.iter().flat_map(|design| design.hints()).any(|hint| text.contains(hint))
}

impl Lowered {
    /// What a design finds in the binary of the standard text, and at which
    /// offset of that.
    pub fn check_binary(&self, binary: &[u8]) -> Option<(usize, &'static str)> {
        DESIGNS.iter().find_map(|design| design.check_binary(binary))
    }

    /// Checks that kinds of different designs do not match each other, given
    /// the binary of the standard text.
    pub fn check(&self, binary: &[u8]) -> Result<()> {
        shadow::check(&self.shadow, binary)
    }
}

/// A module that was written, and how the source says its types.
#[derive(Debug)]
struct Rendered {
    output: Output,
    type_words: TypeWords,
}

/// How a module is written: `(module $x? ..)`, or as its fields alone.
struct Form<'t, 'a> {
    tree: &'t Tree<'a>,
    list: Option<Node>,
    /// `definition`, which only a script has, and which is left out.
    definition: Option<Node>,
    /// The first field.
    first: Node,
    /// Behind the last field.
    end: Node,
}

impl<'t, 'a> Form<'t, 'a> {
    /// Nothing, if it is a component, or not written as fields.
    fn of(tree: &'t Tree<'a>) -> Option<Form<'t, 'a>> {
        match tree.top().next().and_then(|top| tree.head(top)) {
            Some("component") => None,
            Some("module") => Form::module(tree),
            _ => {
                let end = tree.len();
                Some(Form { tree, list: None, definition: None, first: 0, end })
            }
        }
    }

    fn module(tree: &'t Tree<'a>) -> Option<Form<'t, 'a>> {
        let list = tree.top().next()?;
        let mut parts = tree.children(list).skip(1).peekable();
        let definition = parts.next_if(|&node| tree.word(node) == Some("definition"));
        parts.next_if(|&node| tree.is_name(node));
        let end = tree.last(list);
        let first = parts.next().unwrap_or(end);
        match tree.word(first) {
            Some("quote" | "binary" | "instance") => None,
            _ => Some(Form { tree, list: Some(list), definition, first, end }),
        }
    }

    fn fields(&self) -> Nodes<'t, 'a> {
        self.tree.between(self.first, self.end)
    }

    fn lower(&self, words: &Words<'_, 'a>) -> Result<Lowered> {
        advice::check_renamed(words)?;
        index::check(self.tree)?;
        let module = read::read(self.tree, words, self.fields())?;
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
        walk::walk(&mut lowering, words, self.fields())?;
        let designs = words.designs();
        let mut type_words = lowering.type_words();
        type_words.extend(designs.iter().flat_map(|design| design.type_words(&lowering)));
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

    /// Where fields can be put in front of the others: before the first, or
    /// before the parenthesis that closes the module.
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
