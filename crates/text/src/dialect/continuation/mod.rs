//! Typed continuations: `cont.clone`, which the standard does not have.
//!
//! Their types are those of the standard, and so are all other instructions.

use crate::dialect::definitions::{TypeDef, TypeKind};
use crate::dialect::design::{Design, Role, Vocabulary};
use crate::dialect::lower::{Lowering, Pieces};
use crate::dialect::source::{Instruction, ValType, Word};
use crate::error::Result;

/// The design.
#[derive(Debug)]
pub(crate) struct Continuations;

impl Design for Continuations {
    fn vocabulary(&self) -> &'static Vocabulary {
        &Vocabulary {
            name: "typed continuations",
            ty: "a continuation type",
            hints: &["cont.clone"],
            instructions: &["cont.clone"],
            in_context: &[],
            renamed: &[],
        }
    }

    fn recognize(&self, _: &Word<'_, '_>) -> Option<Role> {
        None
    }

    /// The types are defined by standard text.
    fn define<'a>(&self, _: &mut Lowering<'a, '_>, _: &TypeDef<'a>) -> Result<Vec<Pieces>> {
        Ok(Vec::new())
    }

    /// `cont.clone $ct`.
    fn lower<'a>(
        &self,
        lowering: &mut Lowering<'a, '_>,
        instruction: &mut Instruction<'a>,
    ) -> Result<()> {
        let name = instruction.name(lowering.tree, "a continuation type")?;
        let kind = &lowering.module.ty(name)?.kind;
        if !matches!(kind, TypeKind::Cont) {
            return Err(kind.instead_of(self.describe_type(), name));
        }
        let [operand, copy] = [true, false].map(|nullable| ValType::reference(nullable, name));
        lowering.call(instruction, &[operand], &[copy]);
        Ok(())
    }
}
