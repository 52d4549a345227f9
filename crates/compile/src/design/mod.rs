//! The designs of stack switching.
//!
//! Each design is a folder: its table of operations, with the types that they expect; their
//! translation; and the thunks in which its stacks begin. A module imports an operation as a
//! function from a reserved module, and calls of it are compiled in line. What their translation
//! may emit is in [`verbs`](crate::verbs): read the head of that file before you write a design.
//!
//! | file | contents |
//! | --- | --- |
//! | [`operation`] | the columns of a table of operations |
//! | [`recognize`] | recognizing calls of operations, and checking them |
//! | [`thunk`] | the code in which stacks begin |

mod bag;
pub(crate) mod continuation;
mod fiber;
pub(crate) mod first_class;
mod operation;
pub(crate) mod recognize;
mod task;
pub(crate) mod thunk;

use crate::CompileError;
use crate::module::clause_list::Numbered;
use crate::module::sections::ReservedImport;
use crate::module::{Canonical, Subtyping};
use crate::target::Permission;
use crate::translate::Translator;
use operation::{Design, Operation, OperationCall};
use ropewalk_abi::module::{Item, ModuleInfo};
use ropewalk_abi::stack::StackKind;
use thunk::Thunk;
use wasmparser::Operator;

/// The designs that have operations.
const DESIGNS: [&Design; 5] =
    [&continuation::DESIGN, &bag::DESIGN, &task::DESIGN, &fiber::DESIGN, &first_class::DESIGN];

/// What a module uses of the designs.
#[derive(Default)]
pub(crate) struct ModuleDesigns {
    pub operations: Operations,
    pub thunks: Numbered<Thunk>,
}

/// Translates an instruction of the stack-switching proposal; returns whether it is one.
pub(crate) fn instruction(t: &mut Translator<'_>, operator: &Operator<'_>) -> bool {
    continuation::instruction(t, operator)
}

pub(crate) fn operation_call(t: &mut Translator<'_>, call: &OperationCall) {
    if t.is_reachable() {
        (call.operation.translate)(t, call);
    }
}

/// Copies the operand of a call. The original stays as it is.
fn copy_operand(t: &mut Translator<'_>, call: &OperationCall, kind: StackKind) {
    let reference = t.pop();
    let copy = t.copy_stack(reference, kind);
    t.push_result(copy, call.import);
}

/// Pushes whether both operands of a call are null or name the same task or fiber.
fn push_is_same(t: &mut Translator<'_>, call: &OperationCall) {
    let operands = t.pop_operands(call.import);
    t.push_is_same(operands[0], operands[1]);
}

/// An operation that a module imports.
#[derive(Clone, Copy)]
struct Imported {
    design: &'static Design,
    operation: &'static Operation,
}

impl Imported {
    fn named(module: &str, name: &str) -> Option<Imported> {
        let design = DESIGNS.into_iter().find(|design| design.module == module)?;
        let operation = design.operations.iter().find(|operation| operation.name == name)?;
        Some(Imported { design, operation })
    }
}

/// The operations that a module imports, by function.
#[derive(Default)]
pub(crate) struct Operations(Vec<Option<Imported>>);

impl Operations {
    /// Finds the operations among the reserved imports. Checks their types, and that none is used
    /// as a value.
    pub fn resolve(
        info: &ModuleInfo,
        canonical: &Canonical,
        imports: &[ReservedImport],
        permission: Permission,
    ) -> Result<Operations, CompileError> {
        if imports.is_empty() {
            return Ok(Operations::default());
        }
        let subtyping = Subtyping { info, canonical };
        let mut all = vec![None; info.functions.len()];
        for import in imports {
            let ReservedImport { module, name, item, offset } = import;
            let refused = |message| CompileError::Refused { offset: *offset, message };
            let Item::Func(function) = item else {
                let message =
                    format!("the module name `{module}` is reserved: it has functions only");
                return Err(refused(message));
            };
            let Some(imported) = Imported::named(module, name) else {
                let message = format!("there is no reserved import `{module}` `{name}`");
                return Err(refused(message));
            };
            permission.check(
                imported.design.permission,
                &format!("`{module}` `{name}`"),
                *offset,
            )?;
            if imported.operation.for_engine && !permission.for_engine {
                return Err(refused(format!(
                    "`{module}` `{name}` is for the engine: import `\"host\" \"{name}\"` instead"
                )));
            }
            let ty = info.function_type(*function);
            if (imported.operation.fits)(ty, &subtyping) != Some(true) {
                let expected = imported.operation.expected;
                return Err(refused(format!(
                    "the type of `{module}` `{name}` does not fit: expected {expected}"
                )));
            }
            if info.func_refs[*function as usize] != u32::MAX {
                return Err(refused(format!(
                    "`{module}` `{name}` can only be called, not exported or used as a value"
                )));
            }
            all[*function as usize] = Some(imported);
        }
        Ok(Operations(all))
    }

    /// The operation at a function index, if there is one.
    pub fn get(&self, function: u32) -> Option<&'static Operation> {
        Some(self.imported(function)?.operation)
    }

    /// The name of an operation in messages.
    fn name(&self, function: u32) -> String {
        let imported = self.imported(function).expect("the function is an operation");
        format!("`{}` `{}`", imported.design.module, imported.operation.name)
    }

    fn imported(&self, function: u32) -> Option<Imported> {
        self.0.get(function as usize).copied().flatten()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
