//! The parts of a task type.

use super::TASKS;
use crate::dialect::definitions::Module;
use crate::dialect::source::{HeapType, Name, Signature, ValKind, ValType};
use crate::error::Result;

/// `$t = task (param r*) (result s*)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskType<'m, 'a> {
    /// `$t`, where an instruction names it.
    pub name: Name<'a>,
    /// `r*`, the values that a task receives when it is resumed.
    pub received: &'m [ValType<'a>],
    /// `s*`, the values that a task gives when it suspends, retires or returns.
    pub given: &'m [ValType<'a>],
}

impl<'m, 'a> TaskType<'m, 'a> {
    pub fn find(module: &'m Module<'a>, name: Name<'a>) -> Result<TaskType<'m, 'a>> {
        let Signature { params, results } = module.design_type(name, &TASKS)?;
        Ok(TaskType { name, received: params, given: results })
    }

    /// `(ref $t)`.
    pub fn reference(&self) -> ValType<'a> {
        ValType::reference(false, self.name)
    }

    /// `(ref null $t)`.
    pub fn nullable(&self) -> ValType<'a> {
        ValType::reference(true, self.name)
    }
}

/// Whether a type is a reference to tasks.
pub(super) fn is_task<'a>(module: &Module<'a>, ty: ValType<'a>) -> bool {
    match ty.kind {
        ValKind::Word(word) => word == "taskref",
        ValKind::Ref { heap: HeapType::Word(word, _), .. } => word == "task",
        ValKind::Ref { heap: HeapType::Type(name), .. } => TaskType::find(module, name).is_ok(),
        ValKind::Verbatim(_) => false,
    }
}
