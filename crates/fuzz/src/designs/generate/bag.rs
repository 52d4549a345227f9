//! Proposes operations of the bag of stacks.

use super::proposer::Proposer;
use super::typed::is_valid;
use crate::designs::model::{Machine, OnReturn, StackKind, Value};
use crate::designs::program::{Bag, FunctionId, Local, Op, Signature, Ty};

/// Pairs of types, where the second one is the first with some arguments bound.
const BOUND: [(usize, usize); 6] = [(0, 5), (1, 4), (1, 6), (3, 6), (4, 6), (2, 2)];

/// The kind of operations that retire the running stack.
pub const RETIRE: usize = 15;

impl Proposer<'_> {
    pub fn bag(&mut self, kind: usize) -> Option<Vec<Op>> {
        let types = self.setup.stacks;
        match kind {
            0..=2 => {
                let ty = self.choice.one(types)?;
                let function =
                    self.function_of(&Signature::new(&self.stack_params(ty), &[]), false)?;
                let (to, by_reference) = (self.any(Ty::Stack(ty)), self.choice.percent(30));
                let mut ops = vec![Op::Bag(Bag::New { to, ty, function, by_reference })];
                if self.choice.percent(60) {
                    ops.extend(self.switch_stack(ty, to));
                }
                return Some(ops);
            }
            3 => {
                let (ty, into) = self.choice.one(&BOUND)?;
                if !types.contains(&ty) || !types.contains(&into) {
                    return None;
                }
                let (_, stack) = self.seek(&[Ty::Stack(ty)], is_valid)?;
                let count = self.stack_params(ty).len() - self.stack_params(into).len();
                let args = self.args(&self.stack_params(ty)[..count]);
                let to = self.any(Ty::Stack(into));
                return Some(vec![Op::Bag(Bag::Bind { to, ty, into, args, stack })]);
            }
            16..=19 => {
                let copied = self.copied();
                let (ty, stack) = self.seek_of(Ty::Stack, types, copied)?;
                let to = self.place_beside(Ty::Stack(ty), stack);
                let mut ops = vec![Op::Bag(Bag::Clone { to, ty, stack })];
                for one in [to, stack] {
                    if self.choice.percent(60) {
                        ops.extend(self.switch_stack(ty, one));
                    }
                }
                return Some(ops);
            }
            _ => {}
        }
        let (ty, stack) = self.seek_of(Ty::Stack, types, can_switch)?;
        let back = self.stack_params(self.returned(ty));
        match kind {
            11 | 12 => {
                let last = Ty::Stack(self.returned(ty));
                let tag =
                    self.tag(|tag| tag.params.last() == Some(&last) && tag.results.is_empty())?;
                let params = self.params_of(tag);
                let args = self.args(&params[..params.len() - 1]);
                if !self.is_part() && self.choice.percent(30) {
                    let function = self.replacement(&back)?;
                    return Some(vec![Op::Bag(Bag::ReturnThrow {
                        ty,
                        tag,
                        args,
                        stack,
                        function,
                    })]);
                }
                let to = self.places(&back);
                Some(self.shown(Op::Bag(Bag::Throw { ty, tag, args, stack, to: to.clone() }), &to))
            }
            13 | 14 if !self.is_part() => {
                let function = self.replacement(&back)?;
                let args = self.args_for(ty);
                Some(vec![Op::Bag(Bag::ReturnSwitch { ty, args, stack, function })])
            }
            RETIRE => Some(vec![Op::Bag(Bag::Retire { ty, args: self.args_for(ty), stack })]),
            _ => Some(self.switch_stack(ty, stack)),
        }
    }

    /// Whether the function is the outermost one of a coroutine, so that returning would trap.
    pub fn ends_coroutine(&self) -> bool {
        let kind = self.machine.stacks[self.machine.running].kind;
        kind == StackKind::Coroutine
            && self.running().is_some_and(|frame| matches!(frame.then, OnReturn::Bottom))
    }

    /// The parameters of a stack type. The last one is the return stack.
    fn stack_params(&self, ty: usize) -> Vec<Ty> {
        self.program().types.stacks[ty].clone()
    }

    /// The type of the stack that a switch returns.
    fn returned(&self, ty: usize) -> usize {
        match self.program().types.stacks[ty].last() {
            Some(Ty::Stack(returned)) => *returned,
            _ => ty,
        }
    }

    fn args_for(&mut self, ty: usize) -> Vec<Local> {
        let params = self.stack_params(ty);
        self.args(&params[..params.len() - 1])
    }

    fn switch_stack(&mut self, ty: usize, stack: Local) -> Vec<Op> {
        let args = self.args_for(ty);
        let to = self.places(&self.stack_params(self.returned(ty)));
        self.shown(Op::Bag(Bag::Switch { ty, args, stack, to: to.clone() }), &to)
    }

    /// A function to replace the current one.
    fn replacement(&mut self, params: &[Ty]) -> Option<FunctionId> {
        let results = &self.program().functions[self.function].signature.results;
        self.function_of(&Signature::new(params, results), false)
    }
}

/// Whether a reference is valid, and control can go to its stack.
pub fn can_switch(machine: &Machine, value: Value) -> bool {
    machine.valid(value).is_some_and(|stack| machine.can_go_to(stack))
}
