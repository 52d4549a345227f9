//! Typed continuations: `cont.clone`, which the standard does not have.
//!
//! Their types are those of the standard, and so are all other instructions.

use crate::dialect::definitions::TypeKind;
use crate::dialect::design::Design;
use crate::dialect::lower::Lowering;
use crate::dialect::source::{Instruction, ValType};
use crate::error::Result;

pub(crate) static CONTINUATIONS: Design = Design {
    name: "typed continuations",
    ty: "a continuation type",
    hints: &["cont.clone"],
    instructions: &["cont.clone"],
    lower,
    ..Design::NONE
};

/// `cont.clone $ct`.
fn lower<'a>(lowering: &mut Lowering<'a, '_>, instruction: &mut Instruction<'a>) -> Result<()> {
    let name = instruction.name(lowering.tree, "a continuation type")?;
    let kind = &lowering.module.ty(name)?.kind;
    if !matches!(kind, TypeKind::Cont) {
        return Err(kind.instead_of(CONTINUATIONS.ty, name));
    }
    let [operand, copy] = [true, false].map(|nullable| ValType::reference(nullable, name));
    lowering.call(instruction, &[operand], &[copy]);
    Ok(())
}
