//! [`Design`]: what a design consists of.

use crate::dialect::definitions::{Module, TypeDef};
use crate::dialect::lower::{Lowering, Pieces};
use crate::dialect::source::{Instruction, Node, Signature, Tree, Word};
use crate::error::{Error, Result};

/// The designs, in the order in which a word is shown to them.
pub(crate) static DESIGNS: &[&Design] = &[
    &super::continuation::CONTINUATIONS,
    &super::bag::BAG,
    &super::task::TASKS,
    &super::fiber::FIBERS,
    &super::first_class::FIRST_CLASS,
];

/// All instructions of the dialects, each with the name of its design. An instruction of several
/// designs occurs several times.
pub fn dialect_instructions() -> impl Iterator<Item = (&'static str, &'static str)> {
    DESIGNS.iter().flat_map(|Design { name, instructions, in_context, .. }| {
        instructions.iter().chain(*in_context).map(|word| (*name, *word))
    })
}

/// The role of a word, which selects the function that lowers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The head of a definition of a type: `(type $x (stack ..))`.
    Type,
    /// What a reference refers to: `(ref null stack)`, `ref.null stack`.
    HeapType,
    /// A value type in one word: `fiberref`.
    ValueType,
    Instruction,
    /// A field of the module, or its description in an import or export.
    Field,
    /// A field of the module that is a function, except for its keyword.
    Function,
}

/// A design: its words, types and instructions, and how each becomes standard text.
///
/// A module is lowered in this order. Each word is recognized. All definitions are read before
/// anything is lowered, so they may appear in any order. Then a walk from front to back defines
/// types, lowers fields and instructions, and prints heap and value types. The walk happens twice,
/// for the standard text and for the [shadow](crate::encode); a design asks the lowering
/// which one it is.
#[derive(Debug)]
pub(crate) struct Design {
    /// The name of the design, which is unique.
    pub name: &'static str,
    /// How messages describe its types: `a stack type`.
    pub ty: &'static str,
    /// Substrings. Every text that uses this design has at least one of them. Other texts may have
    /// them too.
    pub hints: &'static [&'static str],
    /// The words that are instructions of this design wherever an instruction is allowed.
    pub instructions: &'static [&'static str],
    /// The words that are instructions of this design in some contexts, which `recognize` tells
    /// apart.
    pub in_context: &'static [&'static str],
    /// Pairs of an instruction's name in an earlier draft and its current name.
    pub renamed: &'static [(&'static str, &'static str)],
    /// The role of a word of this design that is not one of its `instructions`.
    pub recognize: fn(&Word<'_, '_>) -> Option<Role>,
    /// Reads a definition of a type, `(stack ..)`.
    pub read_type: for<'a> fn(&Tree<'a>, Node) -> Result<Signature<'a>>,
    /// Reads a field of the module or the description in an import, and adds its definition to the
    /// module.
    pub read_field: for<'a> fn(&Tree<'a>, Node, &mut Module<'a>) -> Result<()>,
    /// Adds what the whole module needs, such as a type that stands for all references. Called
    /// once, before anything is lowered, if the module has a word of this design.
    pub prepare: fn(&mut Lowering<'_, '_>) -> Result<()>,
    /// The standard types that a type becomes, each `(type ..)`, in their order in one recursion
    /// group.
    pub define: for<'a> fn(&mut Lowering<'a, '_>, &TypeDef<'a>) -> Result<Vec<Pieces>>,
    pub heap_type: fn(&Lowering<'_, '_>, &str) -> Option<String>,
    pub value_type: fn(&Lowering<'_, '_>, &str) -> Option<String>,
    /// Lowers a field of the module, or its description in an import or export. The walk then
    /// continues inside it.
    pub lower_field: fn(&mut Lowering<'_, '_>, Node) -> Result<()>,
    /// Called for a whole function before the walk enters it, if the module has a word of this
    /// design.
    pub enter_function: fn(&mut Lowering<'_, '_>, Node) -> Result<()>,
    /// Lowers an instruction and reads its immediates. The walk lowers its folded operands. Does
    /// nothing if `enter_function` has lowered all instructions.
    pub lower: for<'a> fn(&mut Lowering<'a, '_>, &mut Instruction<'a>) -> Result<()>,
    /// An error that only the types in the binary of the standard text reveal: its offset in the
    /// binary, and the message.
    pub check_binary: fn(&[u8]) -> Option<(usize, &'static str)>,
    /// Pairs of a type in the lowered text and the same type in the source, for messages.
    pub type_words: fn(&Lowering<'_, '_>) -> Vec<(String, String)>,
}

impl Design {
    /// A design without words, fields and types of its own.
    pub const NONE: Design = Design {
        name: "",
        ty: "",
        hints: &[],
        instructions: &[],
        in_context: &[],
        renamed: &[],
        recognize: |_| None,
        read_type: |tree, list| Err(unexpected(tree, list)),
        read_field: |tree, list, _| Err(unexpected(tree, list)),
        prepare: |_| Ok(()),
        define: |_, _| Ok(Vec::new()),
        heap_type: |_, _| None,
        value_type: |_, _| None,
        lower_field: |_, _| Ok(()),
        enter_function: |_, _| Ok(()),
        lower: |_, _| Ok(()),
        check_binary: |_| None,
        type_words: |_| Vec::new(),
    };

    /// The role of a word, if it belongs to this design.
    pub fn role(&self, word: &Word<'_, '_>) -> Option<Role> {
        let is_known = || self.instructions.contains(&word.text) || self.new_name(word).is_some();
        let is_instruction = || word.is_instruction() && is_known();
        let role = (self.recognize)(word);
        let is_listed = role != Some(Role::Instruction) || self.in_context.contains(&word.text);
        debug_assert!(is_listed, "`{}` is not in `in_context`", word.text);
        role.or_else(|| is_instruction().then_some(Role::Instruction))
    }

    /// The current name of an instruction that an earlier draft named differently.
    pub fn new_name(&self, word: &Word<'_, '_>) -> Option<&'static str> {
        let found = self.renamed.iter().find(|(old, _)| *old == word.text);
        found.filter(|_| word.is_instruction()).map(|(_, new)| *new)
    }
}

fn unexpected(tree: &Tree<'_>, list: Node) -> Error {
    Error::malformed(tree.start(list), format!("unexpected {}", tree.describe(list)))
}
