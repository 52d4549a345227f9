//! Proposes operations: each is valid where it is written, and has a good chance to work.

use super::entropy::Choice;
use super::setup::Setup;
use crate::designs::model::{Frame, Machine, Value};
use crate::designs::program::{
    BlockId, Catch, Clause, FunctionId, Local, Op, Program, Signature, TagId, Ty,
};
use std::rc::Rc;

/// The percentage of choices that ignore the model's state.
const RECKLESS: usize = 6;

/// The number of proposals of one kind before another kind is chosen.
const TRIES: usize = 16;

/// Proposes operations of a kind. The first operation decides whether they work.
pub type Arm = for<'a> fn(&mut Proposer<'a>, usize) -> Option<Vec<Op>>;

/// The arm of each design, with the number of its kinds.
const DESIGNS: [(Arm, usize); 5] = [
    (|proposer, kind| proposer.typed(kind), 20),
    (|proposer, kind| proposer.bag(kind), 20),
    (|proposer, kind| proposer.task(kind), 16),
    (|proposer, kind| proposer.fiber(kind), 18),
    (|proposer, kind| proposer.first_class(kind), 29),
];

/// A source of operations for a function. If the function runs, its state guides the choices.
pub struct Proposer<'a> {
    pub machine: &'a mut Machine,
    pub setup: &'a Setup,
    pub choice: Choice,
    pub function: FunctionId,
    /// Reads of variables before the proposed operation, each with the value that it will read.
    reads: Vec<(Op, Local, Value)>,
}

impl<'a> Proposer<'a> {
    pub fn new(
        machine: &'a mut Machine,
        setup: &'a Setup,
        choice: Choice,
        function: FunctionId,
    ) -> Proposer<'a> {
        Proposer { machine, setup, choice, function, reads: Vec::new() }
    }

    /// Operations of a design that the program uses.
    pub fn design(&mut self) -> Option<Vec<Op>> {
        let used = DESIGNS.iter().zip(self.setup.designs).filter(|(_, is_used)| *is_used);
        let used: Vec<_> = used.map(|(design, _)| *design).collect();
        (0..4).find_map(|_| {
            let (arm, kinds) = self.choice.one(&used)?;
            self.propose(arm, kinds)
        })
    }

    /// Operations of a kind below `kinds`.
    pub fn propose(&mut self, arm: Arm, kinds: usize) -> Option<Vec<Op>> {
        let kind = self.choice.below(kinds);
        self.propose_kind(arm, kind)
    }

    /// Operations of a kind that mostly work in the model's state.
    pub fn propose_kind(&mut self, arm: Arm, kind: usize) -> Option<Vec<Op>> {
        let reckless = self.running().is_none() || self.choice.percent(RECKLESS);
        (0..TRIES).find_map(|_| self.attempt(arm, kind, reckless))
    }

    /// Makes a proposal. One that does not work leaves nothing in the program.
    fn attempt(&mut self, arm: Arm, kind: usize, reckless: bool) -> Option<Vec<Op>> {
        let function = self.function;
        let Program { blocks, functions, .. } = &self.machine.program;
        let before = (blocks.len(), functions.len(), functions[function].locals.len());
        self.reads.clear();
        let ops = arm(self, kind);
        let ops = ops.filter(|ops| reckless || self.works(&ops[0]));
        if ops.is_none() {
            let Program { blocks, functions, .. } = &mut self.machine.program;
            blocks.truncate(before.0);
            functions.truncate(before.1);
            functions[function].locals.truncate(before.2);
        }
        let reads = self.reads.drain(..).map(|(read, ..)| read);
        ops.map(|ops| reads.chain(ops).collect())
    }

    /// Whether an operation works after the reads.
    fn works(&mut self, op: &Op) -> bool {
        let mut before = Vec::new();
        for (_, to, value) in &self.reads {
            before.push((*to, std::mem::replace(self.machine.place(*to), *value)));
        }
        let works = self.machine.works(op);
        for (to, value) in before.into_iter().rev() {
            *self.machine.place(to) = value;
        }
        works
    }

    pub fn program(&self) -> &Program {
        &self.machine.program
    }

    /// The frame of the function, if it runs.
    pub fn running(&self) -> Option<&Frame> {
        let frame = self.machine.stacks.get(self.machine.running)?.frames.last();
        frame.filter(|frame| frame.function == self.function)
    }

    /// Whether the code belongs to a part of a function, which cannot return.
    pub fn is_part(&self) -> bool {
        self.running().is_some_and(|frame| frame.then.part_results().is_some())
    }

    pub fn block(&mut self, ops: Vec<Op>) -> BlockId {
        let block = self.machine.program.new_block();
        self.machine.program.blocks[block].ops = ops.into_iter().map(Rc::new).collect();
        block
    }

    /// A block that records that it was reached, and then runs `ops`.
    pub fn noted(&mut self, ops: Vec<Op>) -> BlockId {
        let note = self.note(self.program().blocks.len());
        self.block([note, ops].concat())
    }

    /// Operations that record that a block was reached.
    fn note(&mut self, block: BlockId) -> Vec<Op> {
        let function = &self.program().functions[self.function];
        let params = function.signature.params.len();
        let scratch = (params..function.locals.len()).find(|&at| function.locals[at] == Ty::I64);
        let to = scratch.unwrap_or_else(|| self.new_local(Ty::I64));
        vec![Op::Const { to, value: 100 + block as i64 }, Op::Note { from: to }]
    }

    /// A block for any code. In a scripted program it calls a function, which reads the script.
    pub fn body(&mut self) -> BlockId {
        let mut ops = Vec::new();
        if self.setup.is_scripted {
            let signature = Signature::new(&[], &[]);
            let function = self.function_of(&signature, false);
            let function = function.unwrap_or_else(|| self.new_function(0, &signature, false));
            ops.push(Op::Call { function, args: vec![], to: vec![] });
        }
        self.noted(ops)
    }

    pub fn locals(&self, ty: Ty) -> Vec<Local> {
        let locals = &self.program().functions[self.function].locals;
        (0..locals.len()).filter(|&local| locals[local] == ty).collect()
    }

    pub fn new_local(&mut self, ty: Ty) -> Local {
        self.machine.program.new_local(self.function, ty)
    }

    /// A local of a type, with any value.
    pub fn any(&mut self, ty: Ty) -> Local {
        let locals = self.locals(ty);
        let is_enough = self.setup.is_scripted || locals.len() > 6;
        match self.choice.one(&locals) {
            Some(local) if is_enough || !self.choice.percent(25) => local,
            _ => self.new_local(ty),
        }
    }

    /// A local of a type whose value will do, as far as it is known.
    pub fn with(
        &mut self,
        ty: Ty,
        will_do: impl Fn(&Machine, Local, Value) -> bool,
    ) -> Option<Local> {
        let mut locals = self.locals(ty);
        if let Some(frame) = self.running() {
            let value = |local| self.machine.local_of(frame, local);
            locals.retain(|&local| will_do(self.machine, local, value(local)));
        }
        self.choice.one(&locals)
    }

    /// A local for a result. A linear one must be empty.
    pub fn place(&mut self, ty: Ty) -> Local {
        if ty != Ty::Linear || self.choice.percent(3) {
            return self.any(ty);
        }
        let place = self.with(ty, |_, _, value| value.is_null());
        place.unwrap_or_else(|| self.new_local(ty))
    }

    /// A local for a result, other than `other`, and mostly without a usable value.
    pub fn place_beside(&mut self, ty: Ty, other: Local) -> Local {
        let place = self.with(ty, |machine, local, value| {
            let is_free =
                if ty == Ty::Linear { value.is_null() } else { machine.valid(value).is_none() };
            local != other && is_free
        });
        place.filter(|&place| place != other).unwrap_or_else(|| self.new_local(ty))
    }

    /// Locals for results, with no linear one twice.
    pub fn places(&mut self, types: &[Ty]) -> Vec<Local> {
        let mut places: Vec<Local> = Vec::new();
        for &ty in types {
            let mut place = self.place(ty);
            if ty == Ty::Linear && places.contains(&place) {
                place = self.new_local(ty);
            }
            places.push(place);
        }
        places
    }

    /// A local as an operand.
    pub fn arg(&mut self, ty: Ty) -> Local {
        let arg = match ty.is_reference() && self.choice.percent(80) {
            true => self.with(ty, |_, _, value| !value.is_null()),
            false => None,
        };
        arg.unwrap_or_else(|| self.any(ty))
    }

    pub fn args(&mut self, types: &[Ty]) -> Vec<Local> {
        types.iter().map(|&ty| self.arg(ty)).collect()
    }

    /// A local of one of several types whose value `will_do`. A value in a variable is read into a
    /// local first. Sometimes the value will not do.
    pub fn seek(
        &mut self,
        types: &[Ty],
        will_do: impl Fn(&Machine, Value) -> bool,
    ) -> Option<(Ty, Local)> {
        let reckless = self.choice.percent(RECKLESS);
        let Some(frame) = self.running().filter(|_| !reckless) else {
            let ty = self.choice.one(types)?;
            return Some((ty, self.any(ty)));
        };
        let machine = &*self.machine;
        let mut found = Vec::new();
        for &ty in types {
            let locals = self.locals(ty).into_iter();
            let locals = locals.map(|local| (machine.local_of(frame, local), Some(local), None));
            let globals = machine.globals_of(ty).into_iter();
            let globals = globals.map(|(id, value)| (value, None, Some((id, None))));
            let elements = machine.elements_of(ty).into_iter();
            let elements = elements.map(|(id, at, value)| (value, None, Some((id, Some(at)))));
            let all = locals.chain(globals).chain(elements);
            found.extend(all.filter(|all| will_do(machine, all.0)).map(|all| (ty, all)));
        }
        let (ty, (value, local, variable)) = self.choice.one(&found)?;
        if let Some(local) = local {
            return Some((ty, local));
        }
        let to = self.place(ty);
        let read = match variable? {
            (global, None) => Op::GlobalGet { to, global },
            (table, Some(index)) => Op::TableGet { to, table, index },
        };
        self.reads.push((read, to, value));
        Some((ty, to))
    }

    /// Like `seek`, with types of a design by their numbers.
    pub fn seek_of(
        &mut self,
        design: fn(usize) -> Ty,
        numbers: &[usize],
        will_do: impl Fn(&Machine, Value) -> bool,
    ) -> Option<(usize, Local)> {
        let types: Vec<Ty> = numbers.iter().map(|&number| design(number)).collect();
        let (found, local) = self.seek(&types, will_do)?;
        let number = types.iter().position(|&ty| ty == found)?;
        Some((numbers[number], local))
    }

    /// Judges stacks to copy: mostly ones that can be copied and have begun.
    pub fn copied(&mut self) -> impl Fn(&Machine, Value) -> bool + use<> {
        let (any, new) = (self.choice.percent(8), self.choice.percent(25));
        move |machine, value| {
            machine.valid(value).is_some_and(|stack| {
                (any || machine.can_copy(stack)) && (new || machine.has_begun(stack))
            })
        }
    }

    /// A tag of a sort that the function can name, preferably a favorite.
    pub fn tag(&mut self, sort: impl Fn(&Signature) -> bool) -> Option<TagId> {
        let module = self.program().functions[self.function].module;
        let tags = self.program().tags.iter().enumerate();
        let tags = tags.filter(|(_, tag)| tag.module <= module && sort(&tag.signature));
        let tags: Vec<TagId> = tags.map(|(id, _)| id).collect();
        let favorites = tags.iter().filter(|tag| self.setup.favorites.contains(tag));
        let favorites: Vec<TagId> = favorites.copied().collect();
        match self.choice.one(&favorites) {
            Some(tag) if self.choice.percent(self.setup.loyalty) => Some(tag),
            _ => self.choice.one(&tags),
        }
    }

    /// A tag without results, for events and exceptions.
    pub fn event(&mut self) -> TagId {
        self.tag(|tag| tag.results.is_empty()).unwrap_or_default()
    }

    pub fn signature_of(&self, tag: TagId) -> Signature {
        self.program().tags[tag].signature.clone()
    }

    pub fn params_of(&self, tag: TagId) -> Vec<Ty> {
        self.signature_of(tag).params
    }

    /// A tag without results, and arguments for it.
    pub fn message(&mut self) -> (TagId, Vec<Local>) {
        let tag = self.event();
        (tag, self.args(&self.params_of(tag)))
    }

    /// A function with a signature that the current one can name, or of any module with `later`;
    /// `None` if there are too many.
    pub fn function_of(&mut self, signature: &Signature, later: bool) -> Option<FunctionId> {
        let module = self.program().functions[self.function].module;
        let functions = self.program().functions.iter().enumerate();
        let fitting = functions.filter(|(_, function)| {
            function.signature == *signature
                && !function.rout
                && (later || function.module <= module)
        });
        let fitting: Vec<_> = fitting.map(|(id, _)| id).collect();
        let full = self.program().functions.len() >= self.setup.functions;
        match self.choice.one(&fitting) {
            Some(function) if full || self.choice.percent(self.setup.reuse) => Some(function),
            _ if full => None,
            _ => {
                let modules = if later { self.program().modules } else { module + 1 };
                let module = self.choice.below(modules);
                Some(self.new_function(module, signature, false))
            }
        }
    }

    pub fn new_function(&mut self, module: usize, signature: &Signature, rout: bool) -> FunctionId {
        let id = self.machine.program.new_function(module, signature.clone(), rout);
        let caller = std::mem::replace(&mut self.function, id);
        let body = self.program().functions[id].body;
        let ops = if rout { vec![self.openings()] } else { self.note(body) };
        self.machine.program.blocks[body].ops = ops.into_iter().map(Rc::new).collect();
        self.function = caller;
        id
    }

    /// A clause that takes `before`, the payload of a tag, and `after`.
    pub fn clause(&mut self, tag: TagId, before: &[Ty], after: &[Ty]) -> Clause {
        let types = [before, &self.params_of(tag), after].concat();
        Clause { tag, to: self.places(&types), handler: self.noted(vec![]) }
    }

    pub fn catch(&mut self, tag: Option<TagId>) -> Catch {
        let with_ref = self.choice.percent(25);
        let mut types = tag.map(|tag| self.params_of(tag)).unwrap_or_default();
        types.extend(with_ref.then_some(Ty::Exn));
        Catch { tag, to: self.places(&types), with_ref, handler: self.noted(vec![]) }
    }

    /// An operation, followed by operations that show its results to the host.
    pub fn shown(&mut self, op: Op, results: &[Local]) -> Vec<Op> {
        let mut ops = vec![op];
        for &local in results {
            let ty = self.program().functions[self.function].locals[local];
            match ty {
                Ty::I64 if self.choice.percent(15) => ops.push(Op::Log { from: local }),
                Ty::I64 => ops.push(Op::Note { from: local }),
                Ty::Any if self.choice.percent(50) => {
                    let to = self.any(Ty::I64);
                    ops.extend([Op::Number { to, object: local }, Op::Note { from: to }]);
                }
                Ty::V128 => {
                    let to = self.any(Ty::I64);
                    ops.extend([Op::Copy { to, from: local }, Op::Note { from: to }]);
                }
                _ => {}
            }
        }
        ops
    }
}
