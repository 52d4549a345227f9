//! Finds the instructions of typed continuations in modules that may not have them.

use crate::CompileError;
use crate::module::sections::Body;
use crate::target::{Designs, Permission};
use wasmparser::Operator;

/// Fails if the bodies have such an instruction without permission.
pub(crate) fn check(permission: Permission, bodies: &[Body<'_>]) -> Result<(), CompileError> {
    if permission.designs.contains(Designs::CONTINUATIONS) {
        return Ok(());
    }
    for (_, body) in bodies {
        // Validation reports errors of the format.
        let Ok(reader) = body.get_operators_reader() else { continue };
        for (operator, offset) in reader.into_iter_with_offsets().map_while(Result::ok) {
            if let Some(name) = name(&operator) {
                permission.check(Designs::CONTINUATIONS, &format!("`{name}`"), offset)?;
            }
        }
    }
    Ok(())
}

/// The name of an instruction of typed continuations.
fn name(operator: &Operator<'_>) -> Option<&'static str> {
    Some(match operator {
        Operator::ContNew { .. } => "cont.new",
        Operator::ContBind { .. } => "cont.bind",
        Operator::Suspend { .. } => "suspend",
        Operator::Resume { .. } => "resume",
        Operator::ResumeThrow { .. } => "resume_throw",
        Operator::ResumeThrowRef { .. } => "resume_throw_ref",
        Operator::Switch { .. } => "switch",
        _ => return None,
    })
}
