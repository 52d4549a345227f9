use super::entropy::Choice;
use super::setup::Setup;
use crate::designs::model::{Machine, Value};
use crate::designs::program::{
    BlockId, Catch, Clause, FunctionId, Local, Op, Signature, TagId, Ty,
};
use std::rc::Rc;

/// The maximum number of functions.
const FUNCTIONS: usize = 30;

/// The percentage of choices that ignore the model's state.
const RECKLESS: usize = 6;

/// Writes the next operations of a block.
pub struct BlockWriter<'a> {
    pub machine: &'a mut Machine,
    pub setup: &'a Setup,
    pub choice: Choice,
    pub block: BlockId,
}

impl<'a> BlockWriter<'a> {
    pub fn new(
        machine: &'a mut Machine,
        setup: &'a Setup,
        choice: Choice,
        block: BlockId,
    ) -> BlockWriter<'a> {
        BlockWriter { machine, setup, choice, block }
    }

    pub fn write(&mut self) {
        match self.choice.first {
            0..24 => self.close(),
            24..60 => self.basic(),
            60..80 => self.control(),
            _ => self.design(),
        }
    }

    /// Writes an operation of a used design, or a basic one if none is possible.
    fn design(&mut self) {
        let setup = self.setup;
        let uses = [setup.typed, setup.bag, setup.tasks, setup.fibers, setup.first_class];
        let uses: Vec<usize> = (0..uses.len()).filter(|&design| uses[design]).collect();
        for _ in 0..4 {
            let done = match self.choice.one(&uses) {
                Some(0) => self.typed(),
                Some(1) => self.bag(),
                Some(2) => self.task(),
                Some(3) => self.fiber(),
                _ => self.first_class(),
            };
            if done.is_some() {
                return;
            }
        }
        self.basic();
    }

    pub fn add(&mut self, op: Op) {
        self.machine.program.blocks[self.block].ops.push(Rc::new(op));
    }

    /// Adds an operation that does not return, and closes the block.
    pub fn add_last(&mut self, op: Op) {
        self.add(op);
        self.machine.program.blocks[self.block].closed = true;
    }

    /// Closes the block. Where returning would trap, mostly leaves in another way.
    fn close(&mut self) {
        if self.is_body() && !self.choice.percent(20) && self.leave_well().is_some() {
            return;
        }
        self.machine.program.blocks[self.block].closed = true;
    }

    fn is_body(&mut self) -> bool {
        let frame = self.machine.frame();
        frame.cursors.len() == 1 && frame.then.part_results().is_none()
    }

    fn leave_well(&mut self) -> Option<()> {
        if self.setup.bag && self.returns_to_nobody() {
            return self.retire();
        }
        if self.setup.first_class && self.is_on_top() {
            return self.switch_away();
        }
        None
    }

    /// Whether the code belongs to a part of a function, which cannot return.
    pub fn is_part(&mut self) -> bool {
        self.machine.frame().then.part_results().is_some()
    }

    /// A new block that records that it was reached.
    pub fn new_block(&mut self) -> BlockId {
        let block = self.machine.program.new_block();
        let function = self.machine.function();
        self.announce(block, function);
        block
    }

    fn announce(&mut self, block: BlockId, function: FunctionId) {
        let program = &mut self.machine.program;
        let locals = &program.functions[function].locals;
        let params = program.functions[function].signature.params.len();
        let scratch = locals.iter().skip(params).position(|&ty| ty == Ty::I64);
        let to = match scratch {
            Some(scratch) => scratch + params,
            None => program.new_local(function, Ty::I64),
        };
        let value = 100 + block as i64;
        let ops = [Op::Const { to, value }, Op::Note { from: to }];
        program.blocks[block].ops.extend(ops.map(Rc::new));
    }

    pub fn locals(&self, ty: Ty) -> Vec<Local> {
        let locals = &self.machine.program.functions[self.machine.function()].locals;
        (0..locals.len()).filter(|&local| locals[local] == ty).collect()
    }

    pub fn new_local(&mut self, ty: Ty) -> Local {
        let function = self.machine.function();
        self.machine.program.new_local(function, ty)
    }

    /// A local of a type, with any value.
    pub fn any(&mut self, ty: Ty) -> Local {
        let locals = self.locals(ty);
        match self.choice.one(&locals) {
            Some(local) if locals.len() > 6 || !self.choice.percent(25) => local,
            _ => self.new_local(ty),
        }
    }

    /// A local for a result. A linear one must be empty.
    pub fn place(&mut self, ty: Ty) -> Local {
        if ty != Ty::Linear || self.choice.percent(3) {
            return self.any(ty);
        }
        let mut locals = self.locals(ty);
        locals.retain(|&local| self.machine.peek(local).is_null());
        match self.choice.one(&locals) {
            Some(local) => local,
            None => self.new_local(ty),
        }
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

    /// Locals as operands.
    pub fn args(&mut self, types: &[Ty]) -> Vec<Local> {
        types.iter().map(|&ty| self.arg(ty)).collect()
    }

    fn arg(&mut self, ty: Ty) -> Local {
        let mut locals = self.locals(ty);
        if ty.is_reference() && self.choice.percent(80) {
            locals.retain(|&local| !self.machine.peek(local).is_null());
        }
        match self.choice.one(&locals) {
            Some(local) => local,
            None => self.any(ty),
        }
    }

    /// A local of one of several types whose value `will_do`. A value in a variable is read into a
    /// local first. Sometimes the value will not do.
    pub fn seek(
        &mut self,
        types: &[Ty],
        will_do: impl Fn(&Machine, Value) -> bool,
    ) -> Option<(Ty, Local)> {
        if self.choice.percent(RECKLESS) {
            let ty = self.choice.one(types)?;
            return Some((ty, self.any(ty)));
        }
        let machine = &*self.machine;
        let mut found = Vec::new();
        for &ty in types {
            let locals = self.locals(ty).into_iter();
            let locals = locals.filter(|&local| will_do(machine, machine.peek(local)));
            found.extend(locals.map(|local| (ty, Some(local), None)));
            for (global, value) in machine.globals_of(ty) {
                if will_do(machine, value) {
                    found.push((ty, None, Some(Op::GlobalGet { to: 0, global })));
                }
            }
            for (table, index, value) in machine.elements_of(ty) {
                if will_do(machine, value) {
                    found.push((ty, None, Some(Op::TableGet { to: 0, table, index })));
                }
            }
        }
        let chosen = self.choice.below(found.len());
        let (ty, local, read) = found.into_iter().nth(chosen)?;
        if let Some(local) = local {
            return Some((ty, local));
        }
        let to = self.place(ty);
        self.add(match read? {
            Op::GlobalGet { global, .. } => Op::GlobalGet { to, global },
            Op::TableGet { table, index, .. } => Op::TableGet { to, table, index },
            other => other,
        });
        Some((ty, to))
    }

    /// A local that refers to a stack to copy, mostly one that can be copied and has begun.
    pub fn seek_copied(&mut self, types: &[Ty]) -> Option<(Ty, Local)> {
        let (any, new) = (self.choice.percent(8), self.choice.percent(25));
        self.seek(types, |machine, value| {
            machine.valid(value).is_some_and(|stack| {
                (any || machine.can_copy(stack)) && (new || machine.has_begun(stack))
            })
        })
    }

    /// A local for a result, other than `other`, and mostly without a usable value.
    pub fn place_beside(&mut self, ty: Ty, other: Local) -> Local {
        let machine = &*self.machine;
        let mut locals = self.locals(ty);
        locals.retain(|&local| {
            let value = machine.peek(local);
            local != other
                && if ty == Ty::Linear { value.is_null() } else { machine.valid(value).is_none() }
        });
        match self.choice.one(&locals) {
            Some(local) => local,
            None => self.new_local(ty),
        }
    }

    /// The module of the current function.
    pub fn module(&self) -> usize {
        self.machine.program.functions[self.machine.function()].module
    }

    /// Tags of a sort that the current module can name.
    pub fn tags(&self, sort: impl Fn(&Signature) -> bool) -> Vec<TagId> {
        let (module, tags) = (self.module(), self.machine.program.tags.iter());
        let tags = tags.enumerate();
        let tags = tags.filter(|(_, tag)| tag.module <= module && sort(&tag.signature));
        tags.map(|(id, _)| id).collect()
    }

    /// One of some tags, preferably a favorite.
    pub fn tag(&mut self, tags: &[TagId]) -> Option<TagId> {
        let favourites = tags.iter().filter(|tag| self.setup.favourites.contains(tag));
        let favourites: Vec<_> = favourites.copied().collect();
        match self.choice.one(&favourites) {
            Some(tag) if self.choice.percent(65) => Some(tag),
            _ => self.choice.one(tags),
        }
    }

    pub fn params_of(&self, tag: TagId) -> Vec<Ty> {
        self.machine.program.tags[tag].signature.params.clone()
    }

    /// A function with a signature that the current module can name, or any module with `later`.
    pub fn function(&mut self, signature: &Signature, later: bool) -> FunctionId {
        let module = self.module();
        let functions = self.machine.program.functions.iter().enumerate();
        let fitting = functions.filter(|(_, function)| {
            function.signature == *signature
                && !function.rout
                && (later || function.module <= module)
        });
        let fitting: Vec<_> = fitting.map(|(id, _)| id).collect();
        let full = self.machine.program.functions.len() >= FUNCTIONS;
        match self.choice.one(&fitting) {
            Some(function) if full || self.choice.percent(40) => function,
            _ => {
                let modules = if later { self.machine.program.modules } else { module + 1 };
                let module = self.choice.below(modules);
                self.new_function(module, signature, false)
            }
        }
    }

    pub fn new_function(&mut self, module: usize, signature: &Signature, rout: bool) -> FunctionId {
        let function = self.machine.program.new_function(module, signature.clone(), rout);
        if !rout {
            let body = self.machine.program.functions[function].body;
            self.announce(body, function);
        }
        function
    }

    /// A clause that takes `before`, the payload of a tag, and `after`.
    pub fn clause(&mut self, tag: TagId, before: &[Ty], after: &[Ty]) -> Clause {
        let types = [before, &self.params_of(tag), after].concat();
        Clause { tag, to: self.places(&types), handler: self.new_block() }
    }

    pub fn catch(&mut self, tag: Option<TagId>) -> Catch {
        let with_ref = self.choice.percent(25);
        let mut types = tag.map(|tag| self.params_of(tag)).unwrap_or_default();
        if with_ref {
            types.push(Ty::Exn);
        }
        Catch { tag, to: self.places(&types), with_ref, handler: self.new_block() }
    }

    /// Makes numbers among results visible to the host.
    pub fn show(&mut self, results: &[Local]) {
        for &local in results {
            match self.machine.type_of(local) {
                Ty::I64 if self.choice.percent(15) => self.add(Op::Log { from: local }),
                Ty::I64 => self.add(Op::Note { from: local }),
                Ty::Any if self.choice.percent(50) => {
                    let to = self.any(Ty::I64);
                    self.add(Op::Number { to, object: local });
                    self.add(Op::Note { from: to });
                }
                Ty::V128 => {
                    let to = self.any(Ty::I64);
                    self.add(Op::Copy { to, from: local });
                    self.add(Op::Note { from: to });
                }
                _ => {}
            }
        }
    }
}
