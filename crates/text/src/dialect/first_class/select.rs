//! Rejects a `select` between stackrefs.
//!
//! A `select` with a type is rejected in the text. Without one, only the types of its operands
//! tell, so the binary is examined.

use wasmparser::{
    CompositeInnerType, FuncToValidate, FuncValidatorAllocations, FunctionBody, HeapType, Operator,
    Parser, Payload, RecGroup, Result, TypeSectionReader, UnpackedIndex, ValType, ValidPayload,
    Validator, ValidatorResources, WasmFeatures, WasmModuleResources,
};

/// The offset of the first `select` between stackrefs in a binary that is valid up to there.
pub(super) fn find(binary: &[u8]) -> Option<usize> {
    search(binary).ok().flatten()
}

fn search(binary: &[u8]) -> Result<Option<usize>> {
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let mut stackref = None;
    for payload in Parser::new(0).parse_all(binary) {
        let payload = payload?;
        if let Payload::TypeSection(types) = &payload {
            stackref = find_stackref(types.clone())?;
        }
        if let ValidPayload::Func(function, body) = validator.payload(&payload)?
            && let Some(stackref) = stackref
            && let Some(found) = search_function(function, &body, stackref)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn find_stackref(types: TypeSectionReader<'_>) -> Result<Option<u32>> {
    let mut index = 0;
    for group in types {
        let group = group?;
        if is_stackref(&group, index) {
            return Ok(Some(index));
        }
        index += group.types().len() as u32;
    }
    Ok(None)
}

fn is_stackref(group: &RecGroup, index: u32) -> bool {
    let mut types = group.types().map(|ty| &ty.composite_type.inner);
    let refers_to_it = |ty: &ValType| match ty {
        ValType::Ref(ty) => ty.heap_type() == HeapType::Concrete(UnpackedIndex::Module(index)),
        _ => false,
    };
    match (types.next(), types.next(), types.next()) {
        (Some(CompositeInnerType::Cont(_)), Some(CompositeInnerType::Func(function)), None) => {
            function.params().len() == 2 && function.params().iter().all(refers_to_it)
        }
        _ => false,
    }
}

fn search_function(
    function: FuncToValidate<ValidatorResources>,
    body: &FunctionBody<'_>,
    stackref: u32,
) -> Result<Option<usize>> {
    let mut validator = function.into_validator(FuncValidatorAllocations::default());
    let mut wanted = HeapType::Concrete(UnpackedIndex::Module(stackref));
    validator.resources().check_heap_type(&mut wanted, 0)?;
    let mut reader = body.get_binary_reader();
    validator.read_locals(&mut reader)?;
    let mut operators = wasmparser::OperatorsReader::new(reader);
    while !operators.eof() {
        let (operator, offset) = operators.read_with_offset()?;
        let is_wanted = |depth| match validator.get_operand_type(depth) {
            Some(Some(ValType::Ref(ty))) => ty.heap_type() == wanted,
            _ => false,
        };
        if matches!(operator, Operator::Select) && (is_wanted(1) || is_wanted(2)) {
            return Ok(Some(offset as usize));
        }
        validator.op(offset, &operator)?;
    }
    Ok(None)
}
