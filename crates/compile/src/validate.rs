//! Validating a module without generating code.

use crate::intrinsic::form::Forms;
use crate::intrinsic::{Intrinsics, Subtyping};
use crate::module::{ModuleReader, check_routs, read_sections};
use crate::{CompileError, handlers};
use rayon::prelude::*;
use wasmparser::{
    FuncValidator, FuncValidatorAllocations, FunctionBody, OperatorsReader, ValidatorResources,
    WasmFeatures,
};

/// Validates a binary module, and how it uses reserved imports, without
/// generating code.
pub fn validate_module(features: WasmFeatures, bytes: &[u8]) -> Result<(), CompileError> {
    let ModuleReader { mut info, canonical, reserved, bodies } = read_sections(features, bytes)?;
    let intrinsics = Intrinsics::resolve(&info, &canonical, &reserved)?;
    let all = bodies.iter().map(|(_, body)| body);
    let (_, thunks) = handlers::collect(&mut info, &intrinsics, &canonical, all);
    check_routs(&thunks.in_order(), info.imported_functions, &intrinsics, &bodies)?;
    let validated: Vec<_> = bodies
        .into_par_iter()
        .map_init(FuncValidatorAllocations::default, |allocations, (func, body)| {
            let forms = Forms::new(&intrinsics, Subtyping { info: &info, canonical: &canonical });
            let mut validator = func.into_validator(std::mem::take(allocations));
            let validated = validate_body(&mut validator, &body, forms);
            *allocations = validator.into_allocations();
            validated
        })
        .collect();
    // Of several errors, the first in the module.
    validated.into_iter().collect()
}

fn validate_body(
    validator: &mut FuncValidator<ValidatorResources>,
    body: &FunctionBody<'_>,
    mut forms: Forms<'_>,
) -> Result<(), CompileError> {
    let mut locals = body.get_binary_reader();
    validator.read_locals(&mut locals)?;
    let mut reader = OperatorsReader::new(locals);
    while !reader.eof() {
        let (operator, offset) = reader.read_with_offset()?;
        validator.op(offset, &operator)?;
        forms.meaning(offset, &operator, &reader)?;
    }
    Ok(reader.finish()?)
}
