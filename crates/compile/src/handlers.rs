//! The clause lists of the instructions that have clauses, and the thunks of
//! new stacks.
//!
//! A list stands once in each instance, with the addresses of its tags, so that
//! an instruction only notes where it is. Their places must be known before
//! code is generated, so a module with continuation types is searched for them
//! first.

use crate::design::call::{OperationCall, Recognised, Surroundings};
use crate::design::thunk::Thunk;
use crate::design::{Canonical, Operations, Subtyping};
use crate::translate::Known;
use ropewalk_abi::module::ModuleInfo;
use ropewalk_abi::stack::ClauseKind;
use ropewalk_abi::{TypeKind, types::CompositeType};
use std::collections::HashMap;
use std::hash::Hash;
use wasmparser::{FunctionBody, Handle, Operator, ResumeTable};

/// The clauses of a list.
pub(crate) fn clauses(table: &ResumeTable) -> ClauseList {
    let clause = |handle: &Handle| match *handle {
        Handle::OnLabel { tag, .. } => (tag, ClauseKind::Suspend),
        Handle::OnSwitch { tag } => (tag, ClauseKind::Switch),
    };
    table.handlers.iter().map(clause).collect()
}

/// The clauses of a reserved import.
pub(crate) fn clauses_of_call(call: &OperationCall) -> ClauseList {
    call.clauses.iter().map(|(tag, _)| (*tag, ClauseKind::Event)).collect()
}

/// What a body contains.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    /// An instruction that switches between stacks.
    pub switches: bool,
    /// One that suspends the running stack.
    pub suspends: bool,
    /// A loop.
    pub has_loops: bool,
    /// How much of what runs is worth knowing all through a loop, which is given by its
    /// offset: one that switches and calls nothing.
    pub loops: HashMap<u32, Known>,
    /// A call, or something that switches.
    pub calls: bool,
}

/// Looks through a body of a module with continuations.
pub(crate) fn contents(operations: &Operations, body: &FunctionBody<'_>) -> Contents {
    let mut contents = Contents::default();
    let mut loops = Loops::default();
    let Ok(operators) = body.get_operators_reader() else { return contents };
    for (operator, offset) in operators.into_iter_with_offsets().map_while(Result::ok) {
        contents.calls |= calls(&operator);
        let does = Does::of(operations, &operator);
        contents.switches |= does.switches;
        contents.suspends |= does.suspends;
        contents.has_loops |= matches!(operator, Operator::Loop { .. });
        loops.read(&operator, offset, does);
    }
    contents.loops = loops.known;
    contents
}

/// What is done in a part of a body.
#[derive(Clone, Copy, Debug, Default)]
struct Does {
    switches: bool,
    suspends: bool,
    /// Calls something in which anything may be switched.
    calls: bool,
}

impl Does {
    fn of(operations: &Operations, operator: &Operator<'_>) -> Does {
        let nothing = Does::default();
        let operation = match operator {
            Operator::Call { function_index } => operations.get(*function_index),
            _ => None,
        };
        match operator {
            Operator::Suspend { .. } | Operator::Switch { .. } => {
                Does { switches: true, suspends: true, ..nothing }
            }
            Operator::Resume { .. }
            | Operator::ResumeThrow { .. }
            | Operator::ResumeThrowRef { .. } => Does { switches: true, ..nothing },
            _ => match operation {
                Some(operation) => Does { switches: true, suspends: operation.suspends, ..nothing },
                None => Does { calls: calls(operator), ..nothing },
            },
        }
    }

    fn or(self, other: Does) -> Does {
        Does {
            switches: self.switches || other.switches,
            suspends: self.suspends || other.suspends,
            calls: self.calls || other.calls,
        }
    }
}

/// The loops of a body, as they are read.
#[derive(Default)]
struct Loops {
    /// What is open: of a loop, its offset; and what was done in it.
    open: Vec<(Option<u32>, Does)>,
    known: HashMap<u32, Known>,
}

impl Loops {
    fn read(&mut self, operator: &Operator<'_>, offset: u64, does: Does) {
        match operator {
            Operator::Loop { .. } => self.open.push((Some(offset as u32), does)),
            Operator::Block { .. } | Operator::If { .. } | Operator::TryTable { .. } => {
                self.open.push((None, does));
            }
            Operator::End => self.close(),
            _ => {
                if let Some((_, inside)) = self.open.last_mut() {
                    *inside = inside.or(does);
                }
            }
        }
    }

    fn close(&mut self) {
        // The last one is the end of the body.
        let Some((offset, inside)) = self.open.pop() else { return };
        if let (Some(offset), Does { switches: true, suspends, calls: false }) = (offset, inside) {
            let known = if suspends { Known::Reference } else { Known::Stack };
            self.known.insert(offset, known);
        }
        if let Some((_, around)) = self.open.last_mut() {
            *around = around.or(inside);
        }
    }
}

/// Whether an operator calls a function, or continues another stack.
pub(crate) fn calls(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::Call { .. }
            | Operator::CallIndirect { .. }
            | Operator::CallRef { .. }
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. }
            | Operator::Resume { .. }
            | Operator::ResumeThrow { .. }
            | Operator::ResumeThrowRef { .. }
            | Operator::Suspend { .. }
            | Operator::Switch { .. }
    )
}

/// Whether a module has continuation types.
pub(crate) fn has_continuations(info: &ModuleInfo) -> bool {
    let is_cont = |ty: &CompositeType| ty.kind() == TypeKind::Cont;
    info.types.iter().any(|ty| is_cont(&ty.composite))
}

/// Notes the lists that the bodies contain, each once; returns their numbers, and
/// the thunks.
pub(crate) fn collect<'a>(
    info: &mut ModuleInfo,
    operations: &Operations,
    canonical: &Canonical,
    bodies: impl Iterator<Item = &'a FunctionBody<'a>>,
) -> (Numbered<ClauseList>, Numbered<Thunk>) {
    if !has_continuations(info) {
        return Default::default();
    }
    let mut found = Found::default();
    for body in bodies {
        let around = Surroundings::new(operations, Subtyping { info, canonical });
        found.search(body, around);
    }
    info.handler_tables = found.lists.in_order();
    (found.lists, found.thunks)
}

#[derive(Default)]
struct Found {
    lists: Numbered<ClauseList>,
    thunks: Numbered<Thunk>,
}

/// The clauses of an instruction, in order.
pub(crate) type ClauseList = Vec<(u32, ClauseKind)>;

/// Different things, each with its number.
#[derive(Debug)]
pub(crate) struct Numbered<T>(HashMap<T, u32>);

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered(HashMap::new())
    }
}

impl<T: Eq + Hash> Numbered<T> {
    /// Gives something the next number, unless it has one.
    fn add(&mut self, item: T) {
        let next = self.0.len() as u32;
        self.0.entry(item).or_insert(next);
    }

    /// The number of something.
    pub fn get(&self, item: &T) -> Option<u32> {
        self.0.get(item).copied()
    }
}

impl<T: Clone> Numbered<T> {
    /// All of them, by their numbers.
    pub fn in_order(&self) -> Vec<T> {
        let mut items: Vec<_> = self.0.iter().collect();
        items.sort_unstable_by_key(|(_, number)| **number);
        items.into_iter().map(|(item, _)| item.clone()).collect()
    }
}

impl Found {
    fn search(&mut self, body: &FunctionBody<'_>, mut around: Surroundings<'_>) {
        // What is wrong is an error when the body is compiled.
        let Ok(mut reader) = body.get_operators_reader() else { return };
        while !reader.eof() {
            let offset = reader.original_position();
            let Ok(operator) = reader.read() else { return };
            match &operator {
                Operator::Resume { resume_table, .. }
                | Operator::ResumeThrow { resume_table, .. }
                | Operator::ResumeThrowRef { resume_table, .. } => {
                    self.lists.add(clauses(resume_table));
                }
                _ => {}
            }
            let Ok(recognised) = around.recognise(offset, &operator, &reader) else { return };
            if let Recognised::Call(call) = recognised {
                self.lists.add(clauses_of_call(&call));
                Thunk::of(&call).into_iter().for_each(|thunk| self.thunks.add(thunk));
            }
        }
    }
}
