//! The clause lists of `resume`.
//!
//! A list stands once in each instance, with the addresses of its tags, so that
//! a `resume` only notes where it is. Their places must be known before code is
//! generated, so a module with continuation types is searched for them first.

use ropewalk_abi::module::ModuleInfo;
use ropewalk_abi::stack::ClauseKind;
use ropewalk_abi::{TypeKind, types::CompositeType};
use wasmparser::{FunctionBody, Handle, Operator, ResumeTable};

/// The clauses of a list.
pub(crate) fn clauses(table: &ResumeTable) -> Vec<(u32, ClauseKind)> {
    let clause = |handle: &Handle| match *handle {
        Handle::OnLabel { tag, .. } => (tag, ClauseKind::Suspend),
        Handle::OnSwitch { tag } => (tag, ClauseKind::Switch),
    };
    table.handlers.iter().map(clause).collect()
}

/// Notes the lists that the bodies contain, each once.
pub(crate) fn collect<'a>(
    info: &mut ModuleInfo,
    bodies: impl Iterator<Item = &'a FunctionBody<'a>>,
) {
    let is_cont = |ty: &CompositeType| ty.kind() == TypeKind::Cont;
    if !info.types.iter().any(|ty| is_cont(&ty.composite)) {
        return;
    }
    for body in bodies {
        // What cannot be decoded is an error when the body is compiled.
        let Ok(operators) = body.get_operators_reader() else { return };
        for operator in operators.into_iter().map_while(Result::ok) {
            let table = match &operator {
                Operator::Resume { resume_table, .. }
                | Operator::ResumeThrow { resume_table, .. }
                | Operator::ResumeThrowRef { resume_table, .. } => clauses(resume_table),
                _ => continue,
            };
            if !info.handler_tables.contains(&table) {
                info.handler_tables.push(table);
            }
        }
    }
}
