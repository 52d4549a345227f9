//! The names of types in what a validator says.
//!
//! A validator calls every type that a module defines `$type`, or by its number
//! or one of its own, `(id 7)`. What it compared is found by validating the
//! function once more, with a validator that remembers that, or by looking at
//! the constant expression; what the type is called, the name section says.

use std::collections::HashMap;

use wasmparser::{
    FuncToValidate, FuncValidator, FuncValidatorAllocations, FunctionBody, HeapType, KnownCustom,
    Name, Operator, OperatorsReader, Parser, Payload, RefType, Result, UnpackedIndex, ValType,
    ValidPayload, Validator, ValidatorResources, WasmFeatures, WasmModuleResources,
};

use crate::constant;
use crate::watched::{Refused, Watched};

/// What a validator calls a type.
const PLACEHOLDER: &str = "$type";

/// What is in messages that name types in one way or another.
const SIGNS: &[&str] = &[PLACEHOLDER, "(id ", "(module ", " at index ", "non-continuation type "];

/// A message of a validator about an offset of a binary, with the names of
/// types. What has no name stays as it is.
pub(crate) fn name_types(binary: &[u8], offset: usize, message: &str) -> String {
    if !SIGNS.iter().any(|sign| message.contains(sign)) {
        return message.to_string();
    }
    let (offset, names) = (offset as u64, type_names(binary));
    if let Some(refused) = constant::mismatch(binary, offset) {
        return Types::of_names(names).in_place_of_placeholders(message, refused);
    }
    let named = in_function(binary, offset, &names, message).ok().flatten();
    named.unwrap_or_else(|| message.to_string())
}

/// A message about an operator of a function.
fn in_function(binary: &[u8], offset: u64, names: &Names, message: &str) -> Result<Option<String>> {
    let Some((function, body)) = find_function(binary, offset)? else { return Ok(None) };
    let types = Types::new(&function.resources, names);
    let message = types.in_place_of_numbers(message);
    let watched = Watched::new(&function.resources);
    // It fails, as it did before.
    let _ = replay(&watched, &function, &body, offset, &types);
    Ok(Some(match watched.refused.get() {
        Some(refused) => types.in_place_of_placeholders(&message, refused),
        None => message,
    }))
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

/// The names of types by their indices.
type Names = HashMap<u32, String>;

fn type_names(binary: &[u8]) -> Names {
    let sections = Parser::new(0).parse_all(binary).filter_map(|payload| match payload {
        Ok(Payload::CustomSection(section)) => Some(section),
        _ => None,
    });
    let parts = sections.filter_map(|section| match section.as_known() {
        KnownCustom::Name(parts) => Some(parts),
        _ => None,
    });
    let types = parts.flatten().filter_map(|part| match part {
        Ok(Name::Type(types)) => Some(types),
        _ => None,
    });
    types.flatten().flatten().map(|name| (name.index, format!("${}", name.name))).collect()
}

/// The types of a module as the validator knows them.
struct Types {
    /// In the order of their indices, each with its own name.
    all: Vec<(HeapType, Option<String>)>,
    /// What each is called. Types that are the same have the first of their
    /// names.
    names: HashMap<HeapType, String>,
    indices: HashMap<HeapType, u32>,
}

impl Types {
    fn new(module: &ValidatorResources, names: &Names) -> Types {
        let canonical = |index| {
            let mut ty = HeapType::Concrete(UnpackedIndex::Module(index));
            module.check_heap_type(&mut ty, 0).ok().map(|()| ty)
        };
        let named = |(ty, index)| (ty, names.get(&index).cloned());
        Types::of((0..).map_while(canonical).zip(0..).map(named).collect())
    }

    /// The types that have names, by their indices.
    fn of_names(names: Names) -> Types {
        let ty = |index| HeapType::Concrete(UnpackedIndex::Module(index));
        Types::of(names.into_iter().map(|(index, name)| (ty(index), Some(name))).collect())
    }

    fn of(all: Vec<(HeapType, Option<String>)>) -> Types {
        let (mut names, mut indices) = (HashMap::new(), HashMap::new());
        for ((ty, name), index) in all.iter().zip(0..) {
            indices.entry(*ty).or_insert(index);
            if let Some(name) = name {
                names.entry(*ty).or_insert_with(|| name.clone());
            }
        }
        Types { all, names, indices }
    }

    fn name(&self, ty: HeapType) -> Option<&str> {
        self.names.get(&ty).map(String::as_str)
    }

    /// The index of a type.
    fn index(&self, ty: HeapType) -> Option<u32> {
        self.indices.get(&ty).copied()
    }

    /// Names types that have a number in a message.
    fn in_place_of_numbers(&self, message: &str) -> String {
        self.all.iter().zip(0u32..).fold(message.to_string(), |message, ((ty, own), index)| {
            let HeapType::Concrete(id) = ty else { return message };
            let Some(name) = own.as_deref().or_else(|| self.name(*ty)) else { return message };
            let message = message.replace(&id.to_string(), name);
            let message = message.replace(&UnpackedIndex::Module(index).to_string(), name);
            let message = message
                .replace(&format!(" at index {index}, found"), &format!(", but `{name}` is"));
            match message == format!("non-continuation type {index}") {
                true => format!("expected cont type, but `{name}` is another"),
                false => message,
            }
        })
    }

    /// Names the types that did not match, of which the expected one stands
    /// first in a message.
    fn in_place_of_placeholders(&self, message: &str, refused: Refused) -> String {
        let defined = [refused.expected, refused.found].into_iter().filter_map(defined);
        let names: Vec<&str> = defined.map(|ty| self.name(ty).unwrap_or(PLACEHOLDER)).collect();
        let mut parts = message.split(PLACEHOLDER);
        if message.matches(PLACEHOLDER).count() != names.len() {
            return message.to_string();
        }
        let first = parts.next().unwrap_or_default().to_string();
        names.iter().zip(parts).fold(first, |text, (name, part)| text + name + part)
    }
}

/// The type of the module to which a type is a reference.
fn defined(ty: ValType) -> Option<HeapType> {
    match ty.as_reference_type()?.heap_type() {
        HeapType::Concrete(index) | HeapType::Exact(index) => Some(HeapType::Concrete(index)),
        HeapType::Abstract { .. } => None,
    }
}

/// Validates a function up to the operator that is not valid.
fn replay(
    module: &Watched<'_>,
    function: &FuncToValidate<ValidatorResources>,
    body: &FunctionBody<'_>,
    offset: u64,
    types: &Types,
) -> Result<()> {
    let &FuncToValidate { index, ty, features, .. } = function;
    let function = FuncToValidate { resources: module, index, ty, features };
    let mut validator = function.into_validator(FuncValidatorAllocations::default());
    let mut reader = body.get_binary_reader();
    validator.read_locals(&mut reader)?;
    let mut operators = OperatorsReader::new(reader);
    while !operators.eof() {
        let (operator, at) = operators.read_with_offset()?;
        module.refused.set(None);
        let before = (at == offset).then(|| validator.clone());
        let valid = validator.op(at, &operator);
        match before.filter(|_| valid.is_err() && module.refused.get().is_none()) {
            Some(before) => return with_one_more(before, types, at, &operator),
            None => valid?,
        }
    }
    Ok(())
}

/// Validates an operator that misses an operand: with an `i32` below those that
/// are there, so that the type which was expected is compared with it.
fn with_one_more(
    mut validator: FuncValidator<&Watched<'_>>,
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

/// Puts a value of a type on the stack.
fn push(
    validator: &mut FuncValidator<&Watched<'_>>,
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
    validator: &mut FuncValidator<&Watched<'_>>,
    types: &Types,
    at: u64,
    ty: RefType,
) -> Result<()> {
    let hty = match (ty.heap_type(), defined(ty.into()).and_then(|ty| types.index(ty))) {
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
