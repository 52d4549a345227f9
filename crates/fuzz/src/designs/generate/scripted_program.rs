//! Builds scripted programs, which read their next operation from a script.
//!
//! Each function of such a program is a loop that reads a number and runs the operation with that
//! number: resume a continuation, suspend with a tag, call another function. So one program,
//! compiled once, can run any number of scripts. A [`ScriptWriter`](super::script) chooses the
//! numbers by the state of the model.
//!
//! ```text
//!   loop: n := next; case n of
//!     0: return
//!     1: $l7 := cont.new $c0 $fn3
//!     2: resume $c0 (on $e1 ..) (on $e6 ..) $l7
//!     3: suspend $e1 ...
//! ```

use super::entropy::Choice;
use super::setup::{self, Setup};
use crate::designs::program::{
    BlockId, Catch, Clause, FunctionId, Local, Op, Program, Signature, TagId, Ty,
};
use std::rc::Rc;

/// The number of design operations in each function.
const ARMS: usize = 26;

/// The maximum number of functions.
const FUNCTIONS: usize = 12;

/// The number of tags: few, so that the same tags meet.
const TAGS: usize = 6;

/// The designs of each program, one bit each: every design alone, every pair, and all.
const DESIGNS: [u8; 16] = [1, 2, 4, 8, 16, 3, 5, 9, 17, 6, 10, 18, 12, 20, 24, 31];

/// The number of scripted programs.
pub const SCRIPTED_PROGRAMS: usize = 32;

/// The limit of function entries and loop iterations in one call of the host.
const FUEL: i64 = 3000;

/// The continuation types in use: few, so that the same types meet.
pub const CONTS: [usize; 4] = [0, 1, 5, 6];
/// The stack types in use.
pub const STACKS: [usize; 3] = [0, 1, 2];
/// The task types in use.
pub const TASKS: [usize; 2] = [0, 2];

/// Builds a scripted program.
pub struct ProgramBuilder {
    pub program: Program,
    pub setup: Setup,
    pub choice: Choice,
    /// The current function.
    pub function: FunctionId,
    unmade: Vec<FunctionId>,
}

/// Builds the scripted program with a number.
pub fn scripted_program(number: usize) -> Program {
    let mut choice = Choice::of(number as u64);
    let designs = DESIGNS[number % DESIGNS.len()];
    let designs = Setup {
        typed: designs & 1 != 0,
        bag: designs & 2 != 0,
        tasks: designs & 4 != 0,
        fibers: designs & 8 != 0,
        first_class: designs & 16 != 0,
        ..Setup::default()
    };
    let (mut setup, mut program) = setup::with_designs(designs, &mut choice);
    setup.favourites = palette(&program, &mut choice);
    program.modules = 1;
    for tag in &mut program.tags {
        tag.module = 0;
    }
    program.fuel = FUEL;
    let mut maker = ProgramBuilder { program, setup, choice, function: 0, unmade: Vec::new() };
    maker.function_of(&Signature::entry());
    while let Some(function) = maker.unmade.pop() {
        maker.make(function);
    }
    for block in &mut maker.program.blocks {
        block.closed = true;
    }
    maker.program
}

/// The tags in use: one of each signature first, from a random start.
fn palette(program: &Program, choice: &mut Choice) -> Vec<TagId> {
    let count = program.tags.len();
    let start = choice.below(count);
    let order = (start..count).chain(0..start).step_by(1 + choice.below(2));
    order.take(TAGS).collect()
}

impl ProgramBuilder {
    /// A function with a signature, existing or new; `None` if there are too many.
    pub fn function_of(&mut self, signature: &Signature) -> Option<FunctionId> {
        let functions = self.program.functions.iter().enumerate();
        let fitting = functions.filter(|(_, function)| {
            function.signature == *signature && !function.rout && function.module == 0
        });
        let fitting: Vec<_> = fitting.map(|(id, _)| id).collect();
        let full = self.program.functions.len() >= FUNCTIONS;
        match self.choice.one(&fitting) {
            Some(function) if full || fitting.len() > 1 || self.choice.percent(80) => {
                Some(function)
            }
            _ if full => None,
            _ => Some(self.new_function(0, signature, false)),
        }
    }

    pub fn new_function(&mut self, module: usize, signature: &Signature, rout: bool) -> FunctionId {
        let function = self.program.new_function(module, signature.clone(), rout);
        self.unmade.push(function);
        function
    }

    /// Builds the locals and the loop of a function.
    fn make(&mut self, function: FunctionId) {
        self.function = function;
        let mut types = self.program.types.stack_references();
        types.extend([Ty::I64, Ty::I64, Ty::Any, Ty::V128, Ty::Exn]);
        if self.setup.first_class {
            types.extend([Ty::Linear, Ty::Linear]);
        }
        if self.setup.fibers {
            types.push(Ty::Fiber);
        }
        for ty in types {
            self.program.new_local(function, ty);
        }
        let mut ops = match self.program.functions[function].rout {
            true => vec![self.openings()],
            false => Vec::new(),
        };
        let (number, counter) = (self.new_local(Ty::I64), self.new_local(Ty::I64));
        let arms = self.arms();
        let body = self.block(vec![Op::Next { to: number }, Op::Choose { number, arms }]);
        ops.push(Op::Const { to: counter, value: FUEL });
        ops.push(Op::Loop { counter, body });
        let block = self.program.functions[function].body;
        self.program.blocks[block].ops = ops.into_iter().map(Rc::new).collect();
    }

    fn arms(&mut self) -> Vec<BlockId> {
        let mut arms = vec![self.block(vec![Op::Return])];
        for global in 0..self.program.globals.len() {
            let ty = self.program.globals[global];
            let used = match ty {
                Ty::Cont(ty) => self.setup.typed && CONTS.contains(&ty),
                Ty::Stack(ty) => STACKS.contains(&ty),
                Ty::Task(ty) => TASKS.contains(&ty),
                Ty::Fiber | Ty::Linear | Ty::Exn => true,
                _ => false,
            };
            // Skips the second global of most types.
            if !used || global % 2 == 1 && !matches!(ty, Ty::Fiber | Ty::Linear | Ty::Cont(0)) {
                continue;
            }
            let (to, from) = (self.local(ty), self.local(ty));
            arms.push(self.block(vec![Op::GlobalGet { to, global }]));
            arms.push(self.block(vec![Op::GlobalSet { global, from }]));
        }
        for _ in 0..ARMS {
            let Some(mut ops) = self.operation() else { continue };
            if self.choice.percent(10) {
                let from = self.local(Ty::I64);
                ops.push(Op::Log { from });
            }
            arms.push(self.block(ops));
        }
        arms
    }

    fn operation(&mut self) -> Option<Vec<Op>> {
        let setup = &self.setup;
        let uses = [setup.typed, setup.bag, setup.tasks, setup.fibers, setup.first_class, true];
        let uses: Vec<usize> = (0..uses.len()).filter(|&design| uses[design]).collect();
        match self.choice.one(&uses) {
            Some(0) => self.typed(),
            Some(1) => self.bag(),
            Some(2) => self.task(),
            Some(3) => self.fiber(),
            Some(4) => self.first_class(),
            _ => self.other(),
        }
    }

    pub fn block(&mut self, ops: Vec<Op>) -> BlockId {
        let block = self.program.new_block();
        self.program.blocks[block].ops = ops.into_iter().map(Rc::new).collect();
        block
    }

    /// A block that records that it was reached, and then runs `ops`.
    pub fn noted(&mut self, ops: Vec<Op>) -> BlockId {
        let to = self.local(Ty::I64);
        let value = 100 + self.program.blocks.len() as i64;
        let note = vec![Op::Const { to, value }, Op::Note { from: to }];
        self.block([note, ops].concat())
    }

    pub fn new_local(&mut self, ty: Ty) -> Local {
        self.program.new_local(self.function, ty)
    }

    pub fn local(&mut self, ty: Ty) -> Local {
        let locals = &self.program.functions[self.function].locals;
        let fitting: Vec<_> = (0..locals.len()).filter(|&local| locals[local] == ty).collect();
        match self.choice.one(&fitting) {
            Some(local) => local,
            None => self.new_local(ty),
        }
    }

    /// A local of a type that has at least two locals.
    pub fn other_local(&mut self, ty: Ty) -> Local {
        let locals = &self.program.functions[self.function].locals;
        match locals.iter().filter(|other| **other == ty).count() {
            0 | 1 => self.new_local(ty),
            _ => self.local(ty),
        }
    }

    pub fn locals(&mut self, types: &[Ty]) -> Vec<Local> {
        types.iter().map(|&ty| self.local(ty)).collect()
    }

    /// A tag of a sort, preferably one of those in use.
    pub fn tag(&mut self, sort: impl Fn(&Signature) -> bool) -> Option<TagId> {
        let all = 0..self.program.tags.len();
        let mut tags: Vec<_> = all.filter(|&tag| sort(&self.program.tags[tag].signature)).collect();
        let liked = |tag: &TagId| self.setup.favourites.contains(tag);
        if tags.iter().any(liked) {
            tags.retain(liked);
        }
        self.choice.one(&tags)
    }

    pub fn event(&mut self) -> TagId {
        self.tag(|tag| tag.results.is_empty()).unwrap_or_default()
    }

    pub fn params_of(&self, tag: TagId) -> Vec<Ty> {
        self.program.tags[tag].signature.params.clone()
    }

    pub fn clause(&mut self, tag: TagId, before: &[Ty], after: &[Ty]) -> Clause {
        let types = [before, &self.params_of(tag), after].concat();
        Clause { tag, to: self.locals(&types), handler: self.noted(vec![]) }
    }

    pub fn catch(&mut self, tag: Option<TagId>) -> Catch {
        let with_ref = self.choice.percent(20);
        let mut types = tag.map(|tag| self.params_of(tag)).unwrap_or_default();
        if with_ref {
            types.push(Ty::Exn);
        }
        Catch { tag, to: self.locals(&types), with_ref, handler: self.noted(vec![]) }
    }

    /// An operation, followed by notes of its numeric results.
    pub fn shown(&mut self, op: Op, to: &[Local]) -> Vec<Op> {
        let types = &self.program.functions[self.function].locals;
        let numbers = to.iter().copied().filter(|&local| types[local] == Ty::I64);
        let notes: Vec<_> = numbers.map(|from| Op::Note { from }).collect();
        [vec![op], notes].concat()
    }

    /// Calls another function, which then reads the script.
    pub fn call(&mut self) -> Op {
        let signature = Signature::new(&[], &[]);
        let function = self.function_of(&signature);
        let function = function.unwrap_or_else(|| self.new_function(0, &signature, false));
        Op::Call { function, args: vec![], to: vec![] }
    }
}
