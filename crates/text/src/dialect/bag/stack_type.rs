//! The parts of a stack type.

use super::BAG;
use crate::dialect::definitions::{Module, TypeKind};
use crate::dialect::source::{HeapType, Name, ValKind, ValType};
use crate::error::{Error, Result};

/// `$c = stack t1* (ref null? $d)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct StackType<'m, 'a> {
    /// `$c`, where an instruction names it.
    pub name: Name<'a>,
    /// `t1* rt`.
    pub params: &'m [ValType<'a>],
    /// `rt`.
    pub rt: ReturnStack<'a>,
}

/// `(ref null? $d)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReturnStack<'a> {
    pub nullable: bool,
    pub name: Name<'a>,
}

impl<'m, 'a> StackType<'m, 'a> {
    pub fn find(module: &'m Module<'a>, name: Name<'a>) -> Result<StackType<'m, 'a>> {
        let params = &module.design_type(name, &BAG)?.params;
        Ok(StackType { name, params, rt: ReturnStack::find(module, params, name.at)? })
    }

    /// `t1*`.
    pub fn values(&self) -> &'m [ValType<'a>] {
        &self.params[..self.params.len() - 1]
    }

    /// `$d`, the type of the stack that the switch leaves.
    pub fn other<'n>(&self, module: &'n Module<'a>) -> Result<StackType<'n, 'a>> {
        StackType::find(module, self.rt.name)
    }

    /// `t1* (ref null $c)`, the operands of a switch.
    pub fn operands(&self, values: &[ValType<'a>]) -> Vec<ValType<'a>> {
        let stack = ValType::reference(true, self.name);
        values.iter().copied().chain([stack]).collect()
    }
}

impl<'a> ReturnStack<'a> {
    /// Finds the last parameter of a stack type.
    pub fn find(module: &Module<'a>, params: &[ValType<'a>], at: usize) -> Result<ReturnStack<'a>> {
        let wrong = |at, found: &str| {
            let message = format!(
                "a stack type must end with the stack to return to, `(ref null? $d)` where `$d` \
                 is a stack type; found {found}"
            );
            Err(Error::invalid(at, message))
        };
        let Some(last) = params.last() else { return wrong(at, "no type") };
        let ValKind::Ref { nullable, heap: HeapType::Type(name) } = last.kind else {
            return wrong(last.at, &format!("`{last}`"));
        };
        match &module.ty(name)?.kind {
            TypeKind::Design(design, _) if design.name == BAG.name => {
                Ok(ReturnStack { nullable, name })
            }
            other => wrong(name.at, &format!("`{}`, which is {}", name.text, other.describe())),
        }
    }
}
