//! The designs of stack switching, as far as they are not in the standard.
//!
//! Each is a folder: its table of operations, with the types that they expect; their
//! translation; and the code in which its stacks begin. A module imports an
//! operation as a function from a reserved module, and calls of it are compiled in
//! line.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`operation`] | what a row of such a table says |
//! | [`call`] | how calls of operations are recognised, and checked |
//! | [`subtyping`] | questions about types |
//! | [`shared`] | what the translations share |
//! | [`thunk`] | what the code in which stacks begin shares |

mod bag;
pub(crate) mod call;
mod continuation;
mod fiber;
pub(crate) mod first_class;
mod operation;
pub(crate) mod shared;
mod subtyping;
mod task;
pub(crate) mod thunk;

use crate::CompileError;
pub(crate) use operation::{Design, Operation};
use ropewalk_abi::module::{Item, ModuleInfo};
pub(crate) use subtyping::{Canonical, STACK_BRAND, Subtyping};

/// The designs that have operations.
const DESIGNS: [&Design; 5] =
    [&continuation::DESIGN, &bag::DESIGN, &task::DESIGN, &fiber::DESIGN, &first_class::DESIGN];

/// An operation that a module imports.
#[derive(Clone, Copy)]
struct Imported {
    design: &'static Design,
    operation: &'static Operation,
}

impl Imported {
    /// The one with a name.
    fn named(module: &str, name: &str) -> Option<Imported> {
        let design = DESIGNS.into_iter().find(|design| design.module == module)?;
        let operation = design.operations.iter().find(|operation| operation.name == name)?;
        Some(Imported { design, operation })
    }
}

/// The beginning of every reserved module name.
const RESERVED: &str = "ropewalk:";

/// Whether imports from a module are reserved.
pub(crate) fn is_reserved(module: &str) -> bool {
    module.starts_with(RESERVED)
}

/// An import from a reserved module, and where it stands.
pub(crate) struct ReservedImport {
    pub module: String,
    pub name: String,
    pub item: Item,
    pub offset: u64,
}

/// The operations that a module imports, by function.
#[derive(Default)]
pub(crate) struct Operations(Vec<Option<Imported>>);

impl Operations {
    /// Recognises the reserved imports, and checks their types and that none is
    /// used as a value.
    pub fn resolve(
        info: &ModuleInfo,
        canonical: &Canonical,
        imports: &[ReservedImport],
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

    /// The operation that a function is, if it is one.
    pub fn get(&self, function: u32) -> Option<&'static Operation> {
        Some(self.imported(function)?.operation)
    }

    /// How an operation is called in messages.
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
