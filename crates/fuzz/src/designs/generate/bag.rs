//! Generates operations of the bag of stacks.

use super::block_writer::BlockWriter;
use crate::designs::model::{Machine, OnReturn, StackKind, Value};
use crate::designs::program::{Bag, Local, Op, Signature, Ty};

impl BlockWriter<'_> {
    pub fn bag(&mut self) -> Option<()> {
        match self.choice.below(20) {
            0..=2 => self.new_stack(),
            3 => self.bind_stack(),
            16..=19 => self.clone_stack(),
            4..=10 => self.switch_stack(),
            11 | 12 => self.switch_throw(),
            13 | 14 => self.return_switch(),
            _ if self.choice.percent(30) => self.retire(),
            _ => None,
        }
    }

    /// Whether the function is the outermost one of a coroutine.
    pub fn returns_to_nobody(&mut self) -> bool {
        let kind = self.machine.stacks[self.machine.running].kind;
        matches!(self.machine.frame().then, OnReturn::Bottom) && kind == StackKind::Coroutine
    }

    fn stack_types(&self) -> Vec<Ty> {
        (0..self.machine.program.types.stacks.len()).map(Ty::Stack).collect()
    }

    fn stack_params(&self, ty: usize) -> Vec<Ty> {
        self.machine.program.types.stacks[ty].clone()
    }

    /// The type of the stack that a switch returns.
    fn returned(&self, ty: usize) -> usize {
        match self.machine.program.types.stacks[ty].last() {
            Some(Ty::Stack(returned)) => *returned,
            _ => ty,
        }
    }

    fn new_stack(&mut self) -> Option<()> {
        let ty = self.choice.below(self.machine.program.types.stacks.len());
        let signature = Signature::new(&self.stack_params(ty), &[]);
        let function = self.function(&signature, false);
        let to = self.any(Ty::Stack(ty));
        let by_reference = self.choice.percent(30);
        self.add(Op::Bag(Bag::New { to, ty, function, by_reference }));
        if self.choice.percent(60) {
            return self.switch_stack();
        }
        Some(())
    }

    fn bind_stack(&mut self) -> Option<()> {
        let pairs = [(0, 5), (1, 4), (1, 6), (3, 6), (4, 6), (2, 2)];
        let (ty, into) = self.choice.one(&pairs)?;
        let (_, stack) =
            self.seek(&[Ty::Stack(ty)], |machine, value| machine.valid(value).is_some())?;
        let count = self.stack_params(ty).len() - self.stack_params(into).len();
        let args = self.args(&self.stack_params(ty)[..count]);
        let to = self.any(Ty::Stack(into));
        self.add(Op::Bag(Bag::Bind { to, ty, into, args, stack }));
        Some(())
    }

    /// Copies a stack, mostly one that can be copied, and often continues with both.
    fn clone_stack(&mut self) -> Option<()> {
        let (ty, stack) = self.seek_copied(&self.stack_types())?;
        let Ty::Stack(number) = ty else { return None };
        let to = self.place_beside(ty, stack);
        self.add(Op::Bag(Bag::Clone { to, ty: number, stack }));
        for one in [to, stack] {
            if self.choice.percent(60) {
                let args = self.args_for(number);
                self.switch_to(number, one, args);
            }
        }
        Some(())
    }

    /// A stack to switch to: its type, its local, and the arguments.
    fn target(&mut self) -> Option<(usize, Local, Vec<Local>)> {
        let (ty, stack) = self.seek(&self.stack_types(), can_switch)?;
        let Ty::Stack(ty) = ty else { return None };
        Some((ty, stack, self.args_for(ty)))
    }

    fn args_for(&mut self, ty: usize) -> Vec<Local> {
        let params = self.stack_params(ty);
        self.args(&params[..params.len() - 1])
    }

    fn switch_stack(&mut self) -> Option<()> {
        let (ty, stack, args) = self.target()?;
        self.switch_to(ty, stack, args);
        Some(())
    }

    fn switch_to(&mut self, ty: usize, stack: Local, args: Vec<Local>) {
        let to = self.places(&self.stack_params(self.returned(ty)));
        self.add(Op::Bag(Bag::Switch { ty, args, stack, to: to.clone() }));
        self.show(&to);
    }

    pub fn retire(&mut self) -> Option<()> {
        let (ty, stack, args) = self.target()?;
        self.add_last(Op::Bag(Bag::Retire { ty, args, stack }));
        Some(())
    }

    fn switch_throw(&mut self) -> Option<()> {
        let (ty, stack, _) = self.target()?;
        let returned = self.returned(ty);
        let last = Some(Ty::Stack(returned));
        let tags = self.tags(|tag| tag.params.last().copied() == last && tag.results.is_empty());
        let tag = self.choice.one(&tags)?;
        let params = self.params_of(tag);
        let args = self.args(&params[..params.len() - 1]);
        let expected = self.stack_params(returned);
        if !self.is_part() && self.choice.percent(30) {
            let function = self.replacement(&expected);
            self.add_last(Op::Bag(Bag::ReturnThrow { ty, tag, args, stack, function }));
        } else {
            let to = self.places(&expected);
            self.add(Op::Bag(Bag::Throw { ty, tag, args, stack, to: to.clone() }));
            self.show(&to);
        }
        Some(())
    }

    fn return_switch(&mut self) -> Option<()> {
        if self.is_part() {
            return None;
        }
        let (ty, stack, args) = self.target()?;
        let function = self.replacement(&self.stack_params(self.returned(ty)));
        self.add_last(Op::Bag(Bag::ReturnSwitch { ty, args, stack, function }));
        Some(())
    }

    /// A function to replace this one.
    fn replacement(&mut self, params: &[Ty]) -> usize {
        let function = &self.machine.program.functions[self.machine.function()];
        let signature = Signature::new(params, &function.signature.results);
        self.function(&signature, false)
    }
}

/// Whether a reference is valid, and control can go to its stack.
pub fn can_switch(machine: &Machine, value: Value) -> bool {
    machine.valid(value).is_some_and(|stack| machine.can_go_to(stack))
}
