//! Validates a module without generating code.

use super::collect::collect;
use crate::CompileError;
use crate::design::Operations;
use crate::design::continuation;
use crate::design::first_class::rout;
use crate::design::recognize::Recognizer;
use crate::module::Subtyping;
use crate::module::sections::{Sections, read_sections};
use crate::target::{Designs, Permission};
use rayon::prelude::*;
use wasmparser::{
    FuncValidator, FuncValidatorAllocations, FunctionBody, OperatorsReader, ValidatorResources,
    WasmFeatures,
};

/// Validates a binary module and its use of reserved imports, without generating code.
pub fn validate_module(
    features: WasmFeatures,
    designs: Designs,
    bytes: &[u8],
) -> Result<(), CompileError> {
    let permission = Permission { designs, for_engine: false };
    let Sections { mut info, canonical, reserved, bodies, .. } = read_sections(features, bytes)?;
    let operations = Operations::resolve(&info, &canonical, &reserved, permission)?;
    continuation::permission::check(permission, &bodies)?;
    let (_, designs) = collect(&mut info, operations, &canonical, &bodies);
    rout::check_all(&designs, info.imported_functions, &bodies)?;
    let validated: Vec<_> = bodies
        .into_par_iter()
        .map_init(FuncValidatorAllocations::default, |allocations, (func, body)| {
            let types = Subtyping { info: &info, canonical: &canonical };
            let recognizer = Recognizer::new(&designs.operations, types);
            let mut validator = func.into_validator(std::mem::take(allocations));
            let validated = validate_body(&mut validator, &body, recognizer);
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
    mut recognizer: Recognizer<'_>,
) -> Result<(), CompileError> {
    let mut locals = body.get_binary_reader();
    validator.read_locals(&mut locals)?;
    let mut reader = OperatorsReader::new(locals);
    while !reader.eof() {
        let (operator, offset) = reader.read_with_offset()?;
        validator.op(offset, &operator)?;
        recognizer.recognize(offset, &operator, &reader)?;
    }
    Ok(reader.finish()?)
}
