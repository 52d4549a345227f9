//! Validating a module without generating code.

use crate::design::call::Surroundings;
use crate::design::{Operations, Subtyping};
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
    let ModuleReader { mut info, canonical, reserved, bodies, .. } =
        read_sections(features, bytes)?;
    let operations = Operations::resolve(&info, &canonical, &reserved)?;
    let all = bodies.iter().map(|(_, body)| body);
    let (_, thunks) = handlers::collect(&mut info, &operations, &canonical, all);
    check_routs(&thunks.in_order(), info.imported_functions, &operations, &bodies)?;
    let validated: Vec<_> = bodies
        .into_par_iter()
        .map_init(FuncValidatorAllocations::default, |allocations, (func, body)| {
            let around =
                Surroundings::new(&operations, Subtyping { info: &info, canonical: &canonical });
            let mut validator = func.into_validator(std::mem::take(allocations));
            let validated = validate_body(&mut validator, &body, around);
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
    mut around: Surroundings<'_>,
) -> Result<(), CompileError> {
    let mut locals = body.get_binary_reader();
    validator.read_locals(&mut locals)?;
    let mut reader = OperatorsReader::new(locals);
    while !reader.eof() {
        let (operator, offset) = reader.read_with_offset()?;
        validator.op(offset, &operator)?;
        around.recognise(offset, &operator, &reader)?;
    }
    Ok(reader.finish()?)
}
