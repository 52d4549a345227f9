//! Rewrites messages of a validator so that they help.
//!
//! A validator calls every type of a module `$type`, or by its index or an internal number, `(id
//! 7)`. To find the types that it compared, the function is validated once more with a recorder, or
//! the constant expression is examined. For a clause with a wrong label the validator says neither
//! which one nor why.

mod clause;
mod constant;
mod type_mismatch;

use wasmparser::{
    FuncToValidate, FuncValidator, FuncValidatorAllocations, FunctionBody, HeapType, KnownCustom,
    Name, Operator, OperatorsReader, Parser, Payload, RefType, Result, UnpackedIndex, ValType,
    ValidPayload, Validator, ValidatorResources, WasmFeatures,
};

use crate::binary::{Types, defined, identifier};
use type_mismatch::{MismatchRecorder, TypeMismatch};

/// The validator's placeholder for a type.
const PLACEHOLDER: &str = "$type";

/// The validator's message about a `ref.func` of an undeclared function.
const UNDECLARED: &str = "undeclared function reference";

/// A rewritten message.
pub(crate) struct Explained {
    pub message: String,
    /// The clause of the operator that the message is about, if any.
    pub clause: Option<usize>,
}

/// Rewrites a validator's message about an offset: adds names of types, and finds the clause.
pub(crate) fn explain(binary: &[u8], offset: usize, message: &str) -> Explained {
    let (offset, types) = (offset as u64, Types::read(binary));
    if let Some(mismatch) = constant::mismatch(binary, offset) {
        let message = in_place_of_placeholders(&types, message, mismatch);
        return Explained { message, clause: None };
    }
    let explained = in_function(binary, offset, types, message).ok().flatten();
    explained.unwrap_or_else(|| Explained { message: message.to_string(), clause: None })
}

/// Rewrites a validator's message about an offset of a binary: adds the names of types from the
/// name section, and advice.
///
/// ```
/// let text = ropewalk_text::Text::parse("(func $f) (func (drop (ref.func $f)))")?;
/// let error = wasmparser::validate(text.binary()).err().unwrap();
/// let message =
///     ropewalk_text::explain_binary(text.binary(), error.offset() as usize, error.message());
/// assert!(message.ends_with("add `(elem declare func $f)` to the module"));
/// # Ok::<(), ropewalk_text::TextError>(())
/// ```
pub fn explain_binary(binary: &[u8], offset: usize, message: &str) -> String {
    explain(binary, offset, message).message
}

/// Rewrites a message about an operator of a function.
fn in_function(
    binary: &[u8],
    offset: u64,
    types: Types,
    message: &str,
) -> Result<Option<Explained>> {
    let Some((function, body)) = find_function(binary, offset)? else { return Ok(None) };
    let types = types.of_validator(&function.resources);
    let recorder = MismatchRecorder::new(&function.resources);
    // The function is invalid, so the replay fails too.
    let wrong = replay(&recorder, &function, &body, offset, &types).unwrap_or_default();
    let clause = wrong.as_ref().map(|wrong| wrong.number);
    if let Some(message) = wrong.and_then(|wrong| wrong.message) {
        return Ok(Some(Explained { message, clause }));
    }
    let message = match undeclared(binary, offset, &body, message)? {
        Some(message) => message,
        None => in_place_of_numbers(&types, &function.resources, message),
    };
    let message = match recorder.mismatch.get() {
        Some(mismatch) => in_place_of_placeholders(&types, &message, mismatch),
        None => message,
    };
    Ok(Some(Explained { message, clause }))
}

type Function<'a> = (FuncToValidate<ValidatorResources>, FunctionBody<'a>);

fn find_function(binary: &[u8], offset: u64) -> Result<Option<Function<'_>>> {
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    for payload in Parser::new(0).parse_all(binary) {
        match validator.payload(&payload?)? {
            ValidPayload::Func(function, body) if body.range().contains(&offset) => {
                return Ok(Some((function, body)));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// The message for a `ref.func` of an undeclared function, with advice.
fn undeclared(
    binary: &[u8],
    offset: u64,
    body: &FunctionBody<'_>,
    message: &str,
) -> Result<Option<String>> {
    if message != UNDECLARED {
        return Ok(None);
    }
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        if let (Operator::RefFunc { function_index }, at) = operators.read_with_offset()?
            && at == offset
        {
            let function = function_name(binary, function_index);
            return Ok(Some(format!(
                "{UNDECLARED}: a function that `ref.func` names in a body must be named outside \
                 of bodies too; add `(elem declare func {function})` to the module"
            )));
        }
    }
    Ok(None)
}

/// The name of a function, or else its index.
fn function_name(binary: &[u8], function: u32) -> String {
    let payloads = Parser::new(0).parse_all(binary).map_while(Result::ok);
    let names = payloads.filter_map(|payload| match payload {
        Payload::CustomSection(section) => match section.as_known() {
            KnownCustom::Name(parts) => Some(parts),
            _ => None,
        },
        _ => None,
    });
    let functions = names.flatten().filter_map(|part| match part {
        Ok(Name::Function(functions)) => Some(functions),
        _ => None,
    });
    let mut functions = functions.flatten().map_while(Result::ok);
    let named = functions.find(|name| name.index == function);
    named.map_or_else(|| function.to_string(), |name| identifier(name.name))
}

/// Replaces the numbers of types in a message by names.
fn in_place_of_numbers(types: &Types, module: &ValidatorResources, message: &str) -> String {
    let numbered = types.of_module(module).into_iter();
    numbered.fold(message.to_string(), |message, (ty, index, name)| {
        let (HeapType::Concrete(id), Some(name)) = (ty, name) else { return message };
        let message = message.replace(&id.to_string(), name);
        let message = message.replace(&UnpackedIndex::Module(index).to_string(), name);
        let message =
            message.replace(&format!(" at index {index}, found"), &format!(", but `{name}` is"));
        match message == format!("non-continuation type {index}") {
            true => format!("expected a continuation type, but `{name}` is not one"),
            false => message,
        }
    })
}

/// Replaces the placeholders in a message by names. The expected type comes first.
fn in_place_of_placeholders(types: &Types, message: &str, mismatch: TypeMismatch) -> String {
    let types_said = [mismatch.expected, mismatch.found].into_iter();
    let references = types_said.filter_map(|ty| defined(ty.as_reference_type()?));
    let names: Vec<String> = references.map(|ty| types.heap_type(ty)).collect();
    let mut parts = message.split(PLACEHOLDER);
    if message.matches(PLACEHOLDER).count() != names.len() {
        return message.to_string();
    }
    let first = parts.next().unwrap_or_default().to_string();
    names.iter().zip(parts).fold(first, |text, (name, part)| text + name + part)
}

/// Validates a function up to its invalid operator, and returns the clause that is wrong, if any.
fn replay(
    module: &MismatchRecorder<'_>,
    function: &FuncToValidate<ValidatorResources>,
    body: &FunctionBody<'_>,
    offset: u64,
    types: &Types,
) -> Result<Option<clause::InvalidClause>> {
    let &FuncToValidate { index, ty, features, .. } = function;
    let function = FuncToValidate { resources: module, index, ty, features };
    let mut validator = function.into_validator(FuncValidatorAllocations::default());
    let mut reader = body.get_binary_reader();
    validator.read_locals(&mut reader)?;
    let mut operators = OperatorsReader::new(reader);
    while !operators.eof() {
        let (operator, at) = operators.read_with_offset()?;
        module.mismatch.set(None);
        let before = (at == offset).then(|| validator.clone());
        let valid = validator.op(at, &operator);
        let (Some(before), Err(_)) = (before, &valid) else {
            valid?;
            continue;
        };
        let wrong = clause::find_invalid(&before, module, types, &operator);
        if wrong.is_none() && module.mismatch.get().is_none() {
            with_one_more(before, types, at, &operator)?;
        }
        return Ok(wrong);
    }
    Ok(None)
}

/// Validates an operator that misses an operand, with an `i32` below the others. The validator then
/// compares the missing operand's type with that `i32`.
fn with_one_more(
    mut validator: FuncValidator<&MismatchRecorder<'_>>,
    types: &Types,
    at: u64,
    operator: &Operator<'_>,
) -> Result<()> {
    let height = validator.get_control_frame(0).map_or(0, |frame| frame.height);
    let count = (validator.operand_stack_height() as usize).saturating_sub(height);
    let operands: Option<Vec<ValType>> =
        (0..count).rev().map(|depth| validator.get_operand_type(depth).flatten()).collect();
    validator.op(at, &Operator::Unreachable)?;
    validator.op(at, &Operator::I32Const { value: 0 })?;
    for operand in operands.unwrap_or_default() {
        push(&mut validator, types, at, operand)?;
    }
    validator.op(at, operator)
}

/// Pushes a value of a type on the operand stack.
fn push(
    validator: &mut FuncValidator<&MismatchRecorder<'_>>,
    types: &Types,
    at: u64,
    ty: ValType,
) -> Result<()> {
    let operator = match ty {
        ValType::I32 => Operator::I32Const { value: 0 },
        ValType::I64 => Operator::I64Const { value: 0 },
        ValType::F32 => Operator::F32Const { value: 0.0.into() },
        ValType::F64 => Operator::F64Const { value: 0.0.into() },
        ValType::V128 => {
            validator.op(at, &Operator::I32Const { value: 0 })?;
            Operator::I32x4Splat
        }
        ValType::Ref(ty) => return push_reference(validator, types, at, ty),
    };
    validator.op(at, &operator)
}

fn push_reference(
    validator: &mut FuncValidator<&MismatchRecorder<'_>>,
    types: &Types,
    at: u64,
    ty: RefType,
) -> Result<()> {
    let hty = match (ty.heap_type(), defined(ty).and_then(|ty| types.index(ty))) {
        (HeapType::Concrete(_), Some(index)) => HeapType::Concrete(UnpackedIndex::Module(index)),
        (HeapType::Exact(_), Some(index)) => HeapType::Exact(UnpackedIndex::Module(index)),
        (abstract_type, _) => abstract_type,
    };
    validator.op(at, &Operator::RefNull { hty })?;
    match ty.is_nullable() {
        true => Ok(()),
        false => validator.op(at, &Operator::RefAsNonNull),
    }
}
