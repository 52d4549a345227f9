//! What a design does: the verbs that every folder of a design implements.

use std::fmt;

use crate::dialect::definitions::{Module, TypeDef};
use crate::dialect::lower::{Lowering, Pieces};
use crate::dialect::source::{Instruction, Node, Signature, Tree, Word};
use crate::error::{Error, Result};

/// The designs, in the order in which they are asked.
pub(crate) const DESIGNS: &[&dyn Design] = &[
    &super::continuation::Continuations,
    &super::bag::BagOfStacks,
    &super::task::Tasks,
    &super::fiber::Fibers,
    &super::first_class::FirstClass,
];

/// What a word of a design stands for, and with it the verb that lowers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The head of a definition of a type: `(type $x (stack ..))`.
    Type,
    /// What a reference refers to: `(ref null stack)`, `ref.null stack`.
    HeapType,
    /// A value type in one word: `fiberref`.
    ValueType,
    /// An instruction.
    Instruction,
    /// A field of the module, or what an import or export says it is.
    Field,
    /// A field of the module that is a function, except for its keyword.
    Function,
}

/// A design: a set of words with their types and instructions, and how they
/// are said in the standard text.
///
/// A module is lowered in this order: each word is recognised; definitions are
/// read, the module over, before anything is lowered, so that they may stand
/// in any order; then the module is walked once from front to back, and types
/// are defined, fields and instructions lowered, and heap and value types
/// printed where they stand. The walk is made twice, for the standard text
/// and for the [shadow](super::shadow); a design asks the lowering which.
pub(crate) trait Design: Sync + fmt::Debug {
    /// The name of the design, unlike that of any other.
    fn name(&self) -> &'static str;

    /// What the design calls its types: `a stack type`.
    fn describe_type(&self) -> &'static str;

    /// Parts of words, one of which is in every text with a form of this
    /// design. Other texts may have them too.
    fn hints(&self) -> &'static [&'static str];

    /// The words that are instructions of this design wherever an instruction
    /// can stand.
    fn instructions(&self) -> &'static [&'static str];

    /// Names that instructions had in an earlier draft of the design, and those
    /// that they have.
    fn renamed(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// What a word stands for, if it is one of this design, unless that is one
    /// of its instructions.
    fn recognise(&self, word: &Word<'_, '_>) -> Option<Role>;

    /// What a word stands for, if it is one of this design.
    fn role(&self, word: &Word<'_, '_>) -> Option<Role> {
        let is_known = || self.instructions().contains(&word.text) || self.new_name(word).is_some();
        let is_instruction = || word.is_instruction() && is_known();
        self.recognise(word).or_else(|| is_instruction().then_some(Role::Instruction))
    }

    /// The name that an instruction has, if a word is what an earlier draft
    /// called it.
    fn new_name(&self, word: &Word<'_, '_>) -> Option<&'static str> {
        let found = self.renamed().iter().find(|(old, _)| *old == word.text);
        found.filter(|_| word.is_instruction()).map(|(_, new)| *new)
    }

    /// Reads a definition of a type, `(stack ..)`.
    fn read_type<'a>(&self, tree: &Tree<'a>, list: Node) -> Result<Signature<'a>> {
        Err(unexpected(tree, list))
    }

    /// Reads a field of the module, or what an import says it is, and adds to
    /// the module what it defines.
    fn read_field<'a>(&self, tree: &Tree<'a>, list: Node, module: &mut Module<'a>) -> Result<()> {
        let _ = module;
        Err(unexpected(tree, list))
    }

    /// Makes what the whole module needs, such as a type that stands for all
    /// references. Called once, before anything is lowered, if the module has
    /// a word of this design.
    fn prepare<'a>(&self, lowering: &mut Lowering<'a, '_>) -> Result<()> {
        let _ = lowering;
        Ok(())
    }

    /// The standard types for a type, each `(type ..)`, in the order in which
    /// they stand in one recursion group.
    fn define<'a>(
        &self,
        lowering: &mut Lowering<'a, '_>,
        definition: &TypeDef<'a>,
    ) -> Result<Vec<Pieces>>;

    /// The standard heap type for a word, if it is a heap type of this design.
    fn heap_type(&self, lowering: &Lowering<'_, '_>, word: &str) -> Option<String> {
        let _ = (lowering, word);
        None
    }

    /// The standard value type for a word, if it is one of this design.
    fn value_type(&self, lowering: &Lowering<'_, '_>, word: &str) -> Option<String> {
        let _ = (lowering, word);
        None
    }

    /// Lowers a field of the module, or what an import or export says it is.
    /// The walk continues inside it.
    fn lower_field<'a>(&self, lowering: &mut Lowering<'a, '_>, list: Node) -> Result<()> {
        let _ = (lowering, list);
        Ok(())
    }

    /// Looks at a whole function before the walk goes through it, if the module
    /// has a word of this design.
    fn enter_function<'a>(&self, lowering: &mut Lowering<'a, '_>, list: Node) -> Result<()> {
        let _ = (lowering, list);
        Ok(())
    }

    /// Lowers an instruction. It has read its immediates then; its operands,
    /// if it is folded, are lowered by the walk.
    fn lower<'a>(
        &self,
        lowering: &mut Lowering<'a, '_>,
        instruction: &mut Instruction<'a>,
    ) -> Result<()>;

    /// What is wrong in the binary of the standard text, and at which offset, if
    /// only its types show that.
    fn check_binary(&self, binary: &[u8]) -> Option<(usize, &'static str)> {
        let _ = binary;
        None
    }

    /// How the source says types of the text that is written: what to replace
    /// in errors, by what.
    fn type_words(&self, lowering: &Lowering<'_, '_>) -> Vec<(String, String)> {
        let _ = lowering;
        Vec::new()
    }
}

fn unexpected(tree: &Tree<'_>, list: Node) -> Error {
    Error::malformed(tree.start(list), format!("unexpected {}", tree.describe(list)))
}
