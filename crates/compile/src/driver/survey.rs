//! Estimates the work of compiling a body, before it is compiled.
//!
//! The work for most operators is proportional to their length. These take more, counted in
//! *units of work*:
//!
//! * a call passes its arguments and results, a block its parameters and results, a branch the
//!   values of its label, and a `br_table` those of each of its labels;
//! * a call in `try_table`s has an edge to each clause that it can reach, and each clause reads the
//!   values of the exception;
//! * an instruction that switches between stacks is inline code for several cases, with a branch
//!   for each clause;
//! * a structure has fields, and a function has locals.
//!
//! The body is not validated yet. Its errors count nothing here, and are reported later.

use crate::CompileError;
use crate::design::Operations;
use crate::target::Limits;
use crate::translate::contents::label;
use ropewalk_abi::CompositeType;
use ropewalk_abi::module::ModuleInfo;
use std::collections::HashSet;
use std::rc::Rc;
use wasmparser::{BlockType, Catch, FunctionBody, Handle, Operator, ResumeTable, TryTable};

/// The units of work of an instruction that switches between stacks.
const SWITCH: u64 = 64;
/// The locals that make one piece of work.
const LOCALS: u64 = 16;
/// The edges of a call that are searched as fast as one.
const FEW_EDGES: u64 = 16;
/// The bytes of memory that compiling takes per byte of a body.
const BYTE_MEMORY: u64 = 2048;
/// The same per piece of work.
const WORK_MEMORY: u64 = 1200;
/// The same per instruction that switches between stacks.
const SWITCH_MEMORY: u64 = 64 << 10;
/// The same per pair of a local and a block.
const LOCAL_BLOCK_MEMORY: u64 = 96;
/// More locals than a function can have.
const MOST_LOCALS: u32 = 1 << 20;
/// The blocks of code of an instruction that switches between stacks.
const SWITCH_BLOCKS: u64 = 16;
/// The blocks of code of an operator on objects.
const OBJECT_BLOCKS: u64 = 4;

/// The work of compiling a body.
#[derive(Clone, Debug, Default)]
pub(super) struct Survey {
    /// The offset of the body in the module.
    offset: u64,
    /// The length of the body in bytes.
    bytes: u64,
    work: u64,
    /// The nesting depth of its blocks.
    nesting: u64,
    /// The number of instructions that switch between stacks.
    switches: u64,
    /// The locals that are used, in order.
    used: Vec<u32>,
    /// About how many blocks of code there will be.
    blocks: u64,
    /// The sum, over all loops, of the square of the number of locals that the loop uses.
    loops: u64,
}

/// Surveys a body, up to where it exceeds the limits.
pub(super) fn survey(
    info: &ModuleInfo,
    operations: &Operations,
    body: &FunctionBody<'_>,
    limits: &Limits,
    locals: &mut Locals,
) -> Survey {
    let bytes = body.range().end - body.range().start;
    let most = most_work(bytes, limits);
    let survey = Survey { offset: body.range().start, bytes, ..Survey::default() };
    let (labels, loops) = (vec![0], Loops::default());
    let mut surveyor =
        Surveyor { info, operations, survey, labels, loops, locals, tries: Vec::new() };
    surveyor.body(body, most, limits.switches);
    let mut survey = surveyor.survey;
    survey.used = locals.take_used();
    survey
}

/// Fails if the bodies of a module need more work than is allowed. `first` is the index of the first.
pub(super) fn check(surveys: &[Survey], first: u32, limits: &Limits) -> Result<(), CompileError> {
    for (function, survey) in (first..).zip(surveys) {
        survey.check(function, limits).map_err(|error| error.at(survey.offset))?;
    }
    let sum = |part: fn(&Survey) -> u64| surveys.iter().map(part).fold(0, u64::saturating_add);
    let (work, bytes) = (sum(|survey| survey.work), sum(|survey| survey.bytes));
    let most = most_work(bytes.saturating_mul(MODULE_FACTOR), limits);
    match work <= most {
        true => Ok(()),
        false => Err(too_much_work("its functions together need", work, most, bytes)),
    }
}

/// All functions together may need this many times the work of one function per byte: one
/// function must fit into memory, while many small ones only take time.
const MODULE_FACTOR: u64 = 4;

/// The work that a body of this many bytes may need.
fn most_work(bytes: u64, limits: &Limits) -> u64 {
    Limits::FREE_WORK.saturating_add(limits.work.saturating_mul(bytes))
}

fn too_much_work(who: &str, work: u64, most: u64, bytes: u64) -> CompileError {
    CompileError::too_large(format!(
        "{who} {work} or more units of work: values that calls and branches pass, edges to \
         handlers, switches between stacks; at most {most} are allowed for {bytes} bytes of code \
         (Config::max_work)"
    ))
}

impl Survey {
    /// The length of the body in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn used_locals(&self) -> &[u32] {
        &self.used
    }

    /// Whether the function keeps its locals in memory, since computing the value of each in each
    /// block would take disproportionately long.
    pub fn has_locals_in_memory(&self, limits: &Limits) -> bool {
        let free = if limits.local_blocks == 0 { 0 } else { Limits::FREE_LOCAL_BLOCKS };
        let most = free.saturating_add(limits.local_blocks.saturating_mul(self.bytes));
        limits.local_blocks == 0 || self.local_blocks() > most
    }

    /// The pairs of a local and a block, plus for each loop the pairs of its locals.
    fn local_blocks(&self) -> u64 {
        (self.used.len() as u64).saturating_mul(self.blocks).saturating_add(self.loops)
    }

    /// About how many bytes of memory compiling takes.
    pub fn memory(&self, limits: &Limits) -> u64 {
        let pairs = match self.has_locals_in_memory(limits) {
            true => 0,
            false => self.local_blocks(),
        };
        let parts = [
            (self.bytes, BYTE_MEMORY),
            (self.work.saturating_sub(self.switches * SWITCH), WORK_MEMORY),
            (self.switches, SWITCH_MEMORY),
            (pairs, LOCAL_BLOCK_MEMORY),
        ];
        parts
            .iter()
            .fold(0, |sum: u64, (count, each)| sum.saturating_add(count.saturating_mul(*each)))
    }

    fn check(&self, function: u32, limits: &Limits) -> Result<(), CompileError> {
        let Survey { bytes, work, nesting, switches, .. } = *self;
        if nesting > limits.nesting {
            return Err(CompileError::too_large(format!(
                "function {function} nests {nesting} blocks; at most {} are allowed \
                 (Config::max_nesting)",
                limits.nesting
            )));
        }
        if switches > limits.switches {
            return Err(CompileError::too_large(format!(
                "function {function} has {switches} or more instructions that switch between \
                 stacks; at most {} are allowed (Config::max_switches)",
                limits.switches
            )));
        }
        let most = most_work(bytes, limits);
        if work > most {
            return Err(too_much_work(&format!("function {function} needs"), work, most, bytes));
        }
        Ok(())
    }
}

/// The tags of the clauses that a call can reach, from the inside out. None is a clause for all
/// exceptions.
type Reachable = Rc<Vec<Option<u32>>>;

struct Surveyor<'a> {
    info: &'a ModuleInfo,
    operations: &'a Operations,
    survey: Survey,
    /// For each open block, the number of values that a branch to it passes.
    labels: Vec<u64>,
    loops: Loops,
    locals: &'a mut Locals,
    /// For each open `try_table`, the index of its block, and the clauses that calls in it can
    /// reach.
    tries: Vec<(usize, Reachable)>,
}

impl Surveyor<'_> {
    fn body(&mut self, body: &FunctionBody<'_>, most: u64, switches: u64) {
        let Ok(mut locals) = body.get_locals_reader() else { return };
        for _ in 0..locals.get_count() {
            let Ok((count, _)) = locals.read() else { return };
            self.survey.work += u64::from(count).div_ceil(LOCALS);
        }
        let Ok(reader) = body.get_operators_reader() else { return };
        for operator in reader.into_iter().map_while(Result::ok) {
            self.operator(&operator);
            if self.survey.work > most || self.survey.switches > switches {
                return;
            }
        }
    }

    fn operator(&mut self, operator: &Operator<'_>) {
        match operator {
            Operator::Block { blockty } | Operator::If { blockty } => self.open(*blockty, false),
            Operator::Loop { blockty } => self.open(*blockty, true),
            Operator::TryTable { try_table } => self.try_table(try_table),
            Operator::Else => self.survey.blocks += 1,
            Operator::End => self.end(),
            Operator::BrTable { targets } => {
                self.branch(targets.default());
                targets.targets().map_while(Result::ok).for_each(|depth| self.branch(depth));
            }
            Operator::LocalGet { local_index }
            | Operator::LocalSet { local_index }
            | Operator::LocalTee { local_index } => self.local(*local_index),
            Operator::StructNew { struct_type_index }
            | Operator::StructNewDefault { struct_type_index } => {
                self.survey.work += self.fields(*struct_type_index);
                self.survey.blocks += OBJECT_BLOCKS;
            }
            Operator::ArrayNewFixed { .. }
            | Operator::ArrayNew { .. }
            | Operator::ArrayNewDefault { .. }
            | Operator::RefTestNonNull { .. }
            | Operator::RefTestNullable { .. }
            | Operator::RefCastNonNull { .. }
            | Operator::RefCastNullable { .. }
            | Operator::MemoryCopy { .. }
            | Operator::MemoryFill { .. } => self.survey.blocks += OBJECT_BLOCKS,
            Operator::Throw { tag_index } => {
                self.survey.work += self.tag(*tag_index);
                self.survey.blocks += OBJECT_BLOCKS;
                self.guarded();
            }
            Operator::ThrowRef => self.guarded(),
            _ => match label(operator) {
                Some(label) => self.branch(label),
                None => self.call(operator),
            },
        }
    }

    fn call(&mut self, operator: &Operator<'_>) {
        match operator {
            Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                let ty = self.info.functions.get(*function_index as usize).copied();
                self.values(ty);
                match self.operations.get(*function_index) {
                    Some(_) => self.switch(None),
                    None => self.guarded(),
                }
            }
            Operator::CallIndirect { type_index, .. }
            | Operator::ReturnCallIndirect { type_index, .. }
            | Operator::CallRef { type_index }
            | Operator::ReturnCallRef { type_index } => {
                self.values(Some(*type_index));
                self.guarded();
            }
            Operator::ContNew { .. } => self.switch(None),
            Operator::ContBind { argument_index, .. } => {
                self.values(self.function_of(*argument_index));
                self.survey.blocks += OBJECT_BLOCKS;
            }
            Operator::Resume { cont_type_index, resume_table }
            | Operator::ResumeThrow { cont_type_index, resume_table, .. }
            | Operator::ResumeThrowRef { cont_type_index, resume_table } => {
                self.values(self.function_of(*cont_type_index));
                self.switch(Some(resume_table));
            }
            Operator::Suspend { tag_index } | Operator::Switch { tag_index, .. } => {
                self.values(self.info.tags.get(*tag_index as usize).copied());
                self.switch(None);
            }
            _ => {}
        }
    }

    // ---- blocks and branches

    fn open(&mut self, ty: BlockType, is_loop: bool) {
        let (params, results) = match ty {
            BlockType::Empty => (0, 0),
            BlockType::Type(_) => (0, 1),
            BlockType::FuncType(ty) => self.arity(ty),
        };
        self.labels.push(if is_loop { params } else { results });
        if is_loop {
            self.loops.open(self.labels.len(), self.locals.uses);
        }
        self.survey.work += params + results;
        self.survey.blocks += 2;
        self.survey.nesting = self.survey.nesting.max(self.labels.len() as u64 - 1);
    }

    fn end(&mut self) {
        let square = self.loops.close(self.labels.len());
        self.survey.loops = self.survey.loops.saturating_add(square);
        self.labels.pop();
        if self.tries.last().is_some_and(|(block, _)| *block >= self.labels.len()) {
            self.tries.pop();
        }
    }

    fn branch(&mut self, depth: u32) {
        let label = self.labels.iter().rev().nth(depth as usize);
        self.survey.work += 1 + label.copied().unwrap_or(0);
        self.survey.blocks += 1;
    }

    fn local(&mut self, local: u32) {
        if let Some(last) = self.locals.use_local(local) {
            self.loops.use_local(last);
        }
    }

    // ---- handlers

    fn try_table(&mut self, table: &TryTable) {
        let mut tags = HashSet::new();
        let mut reachable = Vec::new();
        for catch in &table.catches {
            let (tag, label) = match *catch {
                Catch::One { tag, label } | Catch::OneRef { tag, label } => (Some(tag), label),
                Catch::All { label } | Catch::AllRef { label } => (None, label),
            };
            self.survey.work += tag.map_or(0, |tag| self.tag(tag));
            self.survey.blocks += 1;
            self.branch(label);
            add_reachable(&mut reachable, &mut tags, tag);
        }
        if let Some((_, outer)) = self.tries.last() {
            outer.iter().for_each(|tag| add_reachable(&mut reachable, &mut tags, *tag));
            self.survey.work += outer.len() as u64;
        }
        self.open(table.ty, false);
        self.tries.push((self.labels.len() - 1, Rc::new(reachable)));
    }

    /// An operator whose exceptions reach the clauses around it.
    fn guarded(&mut self) {
        let Some((_, reachable)) = self.tries.last() else { return };
        let edges = reachable.len() as u64;
        self.survey.work += edges;
        // To pass a value to a clause, all edges of the call are searched.
        self.survey.blocks += 1 + edges * (1 + edges / FEW_EDGES);
    }

    /// An operator that switches between stacks, possibly in several places.
    fn switch(&mut self, table: Option<&ResumeTable>) {
        let edges = self.tries.last().map_or(0, |(_, reachable)| reachable.len() as u64);
        self.survey.work += SWITCH + 2 * edges;
        self.survey.switches += 1;
        self.survey.blocks += SWITCH_BLOCKS;
        for handle in table.map_or(&[][..], |table| &table.handlers) {
            if let Handle::OnLabel { tag, label } = handle {
                self.survey.work += self.tag(*tag);
                self.branch(*label);
            }
        }
    }

    // ---- types

    fn values(&mut self, ty: Option<u32>) {
        let (params, results) = ty.map_or((0, 0), |ty| self.arity(ty));
        self.survey.work += params + results;
    }

    /// The numbers of parameters and results of a function type.
    fn arity(&self, ty: u32) -> (u64, u64) {
        let ty = self.info.types.get(ty as usize).and_then(|ty| ty.composite.as_func());
        ty.map_or((0, 0), |ty| (ty.params().len() as u64, ty.results().len() as u64))
    }

    fn tag(&self, tag: u32) -> u64 {
        self.info.tags.get(tag as usize).map_or(0, |ty| self.arity(*ty).0)
    }

    /// The function type of a continuation type.
    fn function_of(&self, ty: u32) -> Option<u32> {
        match self.info.types.get(ty as usize)?.composite {
            CompositeType::Cont(ropewalk_abi::HeapType::Concrete(function)) => Some(function),
            _ => None,
        }
    }

    fn fields(&self, ty: u32) -> u64 {
        match self.info.types.get(ty as usize).map(|ty| &ty.composite) {
            Some(CompositeType::Struct(ty)) => ty.fields.len() as u64,
            _ => 0,
        }
    }
}

/// The locals that a body uses. It keeps its memory for the next body.
#[derive(Default)]
pub(super) struct Locals {
    /// For each local, the number of its last use, or zero.
    last: Vec<u64>,
    used: Vec<u32>,
    /// The number of uses so far.
    uses: u64,
}

impl Locals {
    /// Adds a use of a local; returns the number of its last use before, or zero.
    fn use_local(&mut self, local: u32) -> Option<u64> {
        if local >= MOST_LOCALS {
            return None;
        }
        if local as usize >= self.last.len() {
            self.last.resize(local as usize + 1, 0);
        }
        self.uses += 1;
        let last = std::mem::replace(&mut self.last[local as usize], self.uses);
        if last == 0 {
            self.used.push(local);
        }
        Some(last)
    }

    fn take_used(&mut self) -> Vec<u32> {
        let mut used = std::mem::take(&mut self.used);
        used.iter().for_each(|local| self.last[*local as usize] = 0);
        self.uses = 0;
        used.sort_unstable();
        used
    }
}

/// The open loops, with the number of locals that each uses.
#[derive(Default)]
struct Loops {
    open: Vec<Loop>,
}

struct Loop {
    nesting: usize,
    /// The number of uses before it.
    start: u64,
    /// The number of locals whose first use in it is outside of inner loops, minus the locals that
    /// an inner loop counts too.
    locals: i64,
}

impl Loops {
    fn open(&mut self, nesting: usize, uses: u64) {
        self.open.push(Loop { nesting, start: uses, locals: 0 });
    }

    /// Counts a local in each open loop that has not used it yet. Those are inner loops, and the
    /// innermost one counts for all of them until it is closed.
    fn use_local(&mut self, last: u64) {
        let Some(innermost) = self.open.len().checked_sub(1) else { return };
        let first = self.open.partition_point(|outer| outer.start < last);
        if first > innermost {
            return;
        }
        self.open[innermost].locals += 1;
        if let Some(outer) = first.checked_sub(1) {
            self.open[outer].locals -= 1;
        }
    }

    /// Closes the loop with a nesting depth, if there is one; returns the square of its number of
    /// locals.
    fn close(&mut self, nesting: usize) -> u64 {
        let Some(inner) = self.open.pop_if(|inner| inner.nesting == nesting) else { return 0 };
        if let Some(outer) = self.open.last_mut() {
            outer.locals += inner.locals;
        }
        let locals = inner.locals.unsigned_abs();
        locals.saturating_mul(locals)
    }
}

/// Adds a clause, unless one for the same tag or for all exceptions comes before it.
fn add_reachable(
    reachable: &mut Vec<Option<u32>>,
    tags: &mut HashSet<Option<u32>>,
    tag: Option<u32>,
) {
    if !tags.contains(&None) && tags.insert(tag) {
        reachable.push(tag);
    }
}
