//! Proposes operations of tasks.

use super::proposer::Proposer;
use crate::designs::model::{Machine, Value};
use crate::designs::program::{Local, Op, Signature, Task, Ty};

impl Proposer<'_> {
    pub fn task(&mut self, kind: usize) -> Option<Vec<Op>> {
        let types = self.setup.tasks;
        if let 0..=2 = kind {
            return self.new_task();
        }
        let suspended = matches!(kind, 3..=8 | 15);
        let (ty, task) = match suspended {
            true => self.seek_of(Ty::Task, types, is_suspended),
            false => self.seek_of(Ty::Task, types, is_running),
        }?;
        let Signature { params: received, results: given } = self.task_type(ty);
        Some(match kind {
            3..=8 => self.resume_task(ty, task),
            9..=11 => {
                let (args, to) = (self.args(&given), self.places(&received));
                self.shown(Op::Task(Task::Suspend { ty, task, args, to: to.clone() }), &to)
            }
            12 | 13 => {
                let alike = types.iter().copied().filter(|&ty| self.task_type(ty).results == given);
                let alike: Vec<usize> = alike.collect();
                let (into, target) = self.seek_of(Ty::Task, &alike, is_suspended)?;
                let (args, to) = (self.args(&self.task_type(into).params), self.places(&received));
                let op = Task::SwitchTo { ty, from: task, into, target, args, to: to.clone() };
                self.shown(Op::Task(op), &to)
            }
            14 => vec![Op::Task(Task::Retire { ty, task, args: self.args(&given) })],
            _ => vec![Op::Task(Task::Release { ty, task })],
        })
    }

    fn task_type(&self, ty: usize) -> Signature {
        self.program().types.tasks[ty].clone()
    }

    fn new_task(&mut self) -> Option<Vec<Op>> {
        let ty = self.choice.one(self.setup.tasks)?;
        let own: &[Ty] = [&[][..], &[Ty::I64], &[Ty::Any, Ty::I64, Ty::V128]][self.choice.below(3)];
        let task = self.task_type(ty);
        let params = [&[Ty::Task(ty)], &task.params[..], own].concat();
        let function = self.function_of(&Signature::new(&params, &task.results), false)?;
        let (args, to) = (self.args(own), self.any(Ty::Task(ty)));
        let mut ops = vec![Op::Task(Task::New { to, ty, function, args })];
        if self.choice.percent(60) {
            ops.extend(self.resume_task(ty, to));
        }
        Some(ops)
    }

    fn resume_task(&mut self, ty: usize, task: Local) -> Vec<Op> {
        let Signature { params, results } = self.task_type(ty);
        let (args, to) = (self.args(&params), self.places(&results));
        self.shown(Op::Task(Task::Resume { ty, task, args, to: to.clone() }), &to)
    }
}

/// Whether a task or fiber is suspended.
pub fn is_suspended(machine: &Machine, value: Value) -> bool {
    matches!(value, Value::Named(stack) if machine.stacks[stack].suspended)
}

/// Whether a task or fiber is the running one or one of its ancestors.
pub fn is_running(machine: &Machine, value: Value) -> bool {
    matches!(value, Value::Named(stack) if machine.chain().contains(&stack))
}
