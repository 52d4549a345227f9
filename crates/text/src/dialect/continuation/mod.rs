//! Typed continuations: `cont.clone`, which the standard does not have.
//!
//! Their types are those of the standard, and so are all other instructions.

use crate::dialect::definitions::{TypeDef, TypeKind};
use crate::dialect::design::{Design, Role};
use crate::dialect::lower::{Lowering, Pieces};
use crate::dialect::source::{Instruction, ValType, Word};
use crate::error::{Error, Result};

/// The design.
#[derive(Debug)]
pub(crate) struct Continuations;

impl Design for Continuations {
    fn name(&self) -> &'static str {
        "typed continuations"
    }

    fn describe_type(&self) -> &'static str {
        "a continuation type"
    }

    fn hints(&self) -> &'static [&'static str] {
        &["cont.clone"]
    }

    fn instructions(&self) -> &'static [&'static str] {
        &["cont.clone"]
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
            let (text, found) = (name.text, kind.describe());
            let message = format!("expected a continuation type, but `{text}` is {found}");
            return Err(Error::invalid(name.at, message));
        }
        let [operand, copy] = [true, false].map(|nullable| ValType::reference(nullable, name));
        let ty = lowering.signature(&[operand], &[copy]);
        let primitive = lowering.primitive("cont", "clone", &ty, instruction.at(lowering.tree));
        lowering.emit(instruction, "", Some(&format!("call {primitive}")));
        Ok(())
    }
}
