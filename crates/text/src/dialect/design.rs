//! [`Design`]: what each design implements.

use std::fmt;

use crate::dialect::definitions::{Module, TypeDef};
use crate::dialect::lower::{Lowering, Pieces};
use crate::dialect::source::{Instruction, Node, Signature, Tree, Word};
use crate::error::{Error, Result};

/// The designs, in the order in which a word is shown to them.
pub(crate) const DESIGNS: &[&dyn Design] = &[
    &super::continuation::Continuations,
    &super::bag::BagOfStacks,
    &super::task::Tasks,
    &super::fiber::Fibers,
    &super::first_class::FirstClass,
];

/// All instructions of the dialects, each with the name of its design. An instruction of several
/// designs occurs several times.
pub fn dialect_instructions() -> impl Iterator<Item = (&'static str, &'static str)> {
    DESIGNS.iter().flat_map(|design| {
        let Vocabulary { name, instructions, in_context, .. } = design.vocabulary();
        instructions.iter().chain(*in_context).map(|word| (*name, *word))
    })
}

/// The role of a word, which selects the method that lowers it.
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

/// The words of a design.
#[derive(Debug)]
pub(crate) struct Vocabulary {
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
}

/// A design: its words, types and instructions, and how each becomes standard text.
///
/// A module is lowered in this order. Each word is recognized. All definitions are read before
/// anything is lowered, so they may appear in any order. Then a walk from front to back defines
/// types, lowers fields and instructions, and prints heap and value types. The walk happens twice,
/// for the standard text and for the [shadow](crate::encode); a design asks the lowering
/// which one it is.
pub(crate) trait Design: Sync + fmt::Debug {
    /// The words of the design.
    fn vocabulary(&self) -> &'static Vocabulary;

    fn name(&self) -> &'static str {
        self.vocabulary().name
    }

    fn describe_type(&self) -> &'static str {
        self.vocabulary().ty
    }

    /// The role of a word of this design that is not one of its `instructions`.
    fn recognize(&self, word: &Word<'_, '_>) -> Option<Role>;

    /// The role of a word, if it belongs to this design.
    fn role(&self, word: &Word<'_, '_>) -> Option<Role> {
        let is_known =
            || self.vocabulary().instructions.contains(&word.text) || self.new_name(word).is_some();
        let is_instruction = || word.is_instruction() && is_known();
        let role = self.recognize(word);
        let is_listed =
            role != Some(Role::Instruction) || self.vocabulary().in_context.contains(&word.text);
        debug_assert!(is_listed, "`{}` is not in `in_context`", word.text);
        role.or_else(|| is_instruction().then_some(Role::Instruction))
    }

    /// The current name of an instruction that an earlier draft named differently.
    fn new_name(&self, word: &Word<'_, '_>) -> Option<&'static str> {
        let found = self.vocabulary().renamed.iter().find(|(old, _)| *old == word.text);
        found.filter(|_| word.is_instruction()).map(|(_, new)| *new)
    }

    /// Reads a definition of a type, `(stack ..)`.
    fn read_type<'a>(&self, tree: &Tree<'a>, list: Node) -> Result<Signature<'a>> {
        Err(unexpected(tree, list))
    }

    /// Reads a field of the module or the description in an import, and adds its definition to the
    /// module.
    fn read_field<'a>(&self, tree: &Tree<'a>, list: Node, module: &mut Module<'a>) -> Result<()> {
        let _ = module;
        Err(unexpected(tree, list))
    }

    /// Adds what the whole module needs, such as a type that stands for all references. Called
    /// once, before anything is lowered, if the module has a word of this design.
    fn prepare<'a>(&self, lowering: &mut Lowering<'a, '_>) -> Result<()> {
        let _ = lowering;
        Ok(())
    }

    /// The standard types that a type becomes, each `(type ..)`, in their order in one recursion
    /// group.
    fn define<'a>(
        &self,
        lowering: &mut Lowering<'a, '_>,
        definition: &TypeDef<'a>,
    ) -> Result<Vec<Pieces>>;

    fn heap_type(&self, lowering: &Lowering<'_, '_>, word: &str) -> Option<String> {
        let _ = (lowering, word);
        None
    }

    fn value_type(&self, lowering: &Lowering<'_, '_>, word: &str) -> Option<String> {
        let _ = (lowering, word);
        None
    }

    /// Lowers a field of the module, or its description in an import or export. The walk then
    /// continues inside it.
    fn lower_field<'a>(&self, lowering: &mut Lowering<'a, '_>, list: Node) -> Result<()> {
        let _ = (lowering, list);
        Ok(())
    }

    /// Called for a whole function before the walk enters it, if the module has a word of this
    /// design.
    fn enter_function<'a>(&self, lowering: &mut Lowering<'a, '_>, list: Node) -> Result<()> {
        let _ = (lowering, list);
        Ok(())
    }

    /// Lowers an instruction and reads its immediates. The walk lowers its folded operands.
    fn lower<'a>(
        &self,
        lowering: &mut Lowering<'a, '_>,
        instruction: &mut Instruction<'a>,
    ) -> Result<()>;

    /// An error that only the types in the binary of the standard text reveal: its offset in the
    /// binary, and the message.
    fn check_binary(&self, binary: &[u8]) -> Option<(usize, &'static str)> {
        let _ = binary;
        None
    }

    /// Pairs of a type in the lowered text and the same type in the source, for messages.
    fn type_words(&self, lowering: &Lowering<'_, '_>) -> Vec<(String, String)> {
        let _ = lowering;
        Vec::new()
    }
}

fn unexpected(tree: &Tree<'_>, list: Node) -> Error {
    Error::malformed(tree.start(list), format!("unexpected {}", tree.describe(list)))
}
