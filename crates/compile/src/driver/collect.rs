//! Collects the clause lists and thunks of a module.
//!
//! Each different list exists once in an instance, with the addresses of its tags, so that an
//! instruction stores only its address. The places of the lists must be known before code is
//! generated, so the bodies of a module that can switch stacks are searched for them first.

use crate::design::recognize::{Recognized, Recognizer};
use crate::design::thunk::Thunk;
use crate::design::{ModuleDesigns, Operations};
use crate::module::clause_list::{ClauseList, Numbered, event_clauses, resume_clauses};
use crate::module::sections::Body;
use crate::module::{Canonical, Subtyping};
use ropewalk_abi::module::ModuleInfo;
use ropewalk_abi::{SubType, TypeKind};
use wasmparser::{FunctionBody, Operator};

/// Adds the clause lists in the bodies to `info`. Returns their numbers, and what the module uses
/// of the designs.
pub(super) fn collect(
    info: &mut ModuleInfo,
    operations: Operations,
    canonical: &Canonical,
    bodies: &[Body<'_>],
) -> (Numbered<ClauseList>, ModuleDesigns) {
    let mut collected = Collected::default();
    if can_switch(info, &operations) {
        for (_, body) in bodies {
            collected.search(body, Recognizer::new(&operations, Subtyping { info, canonical }));
        }
        info.handler_tables = collected.clause_lists.in_order();
    }
    let Collected { clause_lists, thunks } = collected;
    (clause_lists, ModuleDesigns { operations, thunks })
}

/// Whether the module has instructions that switch stacks, or calls of operations.
pub(super) fn can_switch(info: &ModuleInfo, operations: &Operations) -> bool {
    let is_cont = |ty: &SubType| ty.composite.kind() == TypeKind::Cont;
    !operations.is_empty() || info.types.iter().any(is_cont)
}

#[derive(Default)]
struct Collected {
    clause_lists: Numbered<ClauseList>,
    thunks: Numbered<Thunk>,
}

impl Collected {
    fn search(&mut self, body: &FunctionBody<'_>, mut recognizer: Recognizer<'_>) {
        // Compiling the body reports its errors.
        let Ok(mut reader) = body.get_operators_reader() else { return };
        while !reader.eof() {
            let offset = reader.original_position();
            let Ok(operator) = reader.read() else { return };
            match &operator {
                Operator::Resume { resume_table, .. }
                | Operator::ResumeThrow { resume_table, .. }
                | Operator::ResumeThrowRef { resume_table, .. } => {
                    self.clause_lists.add(resume_clauses(resume_table));
                }
                _ => {}
            }
            let Ok(recognized) = recognizer.recognize(offset, &operator, &reader) else { return };
            if let Recognized::Call(call) = recognized {
                self.clause_lists.add(event_clauses(&call.clauses));
                Thunk::of(&call).into_iter().for_each(|thunk| self.thunks.add(thunk));
            }
        }
    }
}
