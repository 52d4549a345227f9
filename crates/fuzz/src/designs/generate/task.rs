//! Generates operations of tasks.

use super::block_writer::BlockWriter;
use crate::designs::model::{Machine, Value};
use crate::designs::program::{Op, Signature, Task, Ty};

impl BlockWriter<'_> {
    pub fn task(&mut self) -> Option<()> {
        match self.choice.below(16) {
            0..=2 => self.new_task(),
            3..=8 => self.resume_task(),
            9..=11 => self.suspend_task(),
            12 | 13 => self.switch_task(),
            14 => self.retire_task(),
            _ => self.release_task(),
        }
    }

    fn task_types(&self) -> Vec<Ty> {
        (0..self.machine.program.types.tasks.len()).map(Ty::Task).collect()
    }

    fn task_type(&self, ty: usize) -> Signature {
        self.machine.program.types.tasks[ty].clone()
    }

    fn new_task(&mut self) -> Option<()> {
        let ty = self.choice.below(self.machine.program.types.tasks.len());
        let own: &[Ty] = [&[][..], &[Ty::I64], &[Ty::Any, Ty::I64, Ty::V128]][self.choice.below(3)];
        let task = self.task_type(ty);
        let params = [&[Ty::Task(ty)], &task.params[..], own].concat();
        let function = self.function(&Signature::new(&params, &task.results), false);
        let args = self.args(own);
        let to = self.any(Ty::Task(ty));
        self.add(Op::Task(Task::New { to, ty, function, args }));
        if self.choice.percent(60) {
            return self.resume_task();
        }
        Some(())
    }

    fn resume_task(&mut self) -> Option<()> {
        let (ty, task) = self.seek(&self.task_types(), is_suspended)?;
        let Ty::Task(ty) = ty else { return None };
        let signature = self.task_type(ty);
        let args = self.args(&signature.params);
        let to = self.places(&signature.results);
        self.add(Op::Task(Task::Resume { ty, task, args, to: to.clone() }));
        self.show(&to);
        Some(())
    }

    fn suspend_task(&mut self) -> Option<()> {
        let (ty, task) = self.seek(&self.task_types(), is_running)?;
        let Ty::Task(ty) = ty else { return None };
        let signature = self.task_type(ty);
        let args = self.args(&signature.results);
        let to = self.places(&signature.params);
        self.add(Op::Task(Task::Suspend { ty, task, args, to: to.clone() }));
        self.show(&to);
        Some(())
    }

    fn switch_task(&mut self) -> Option<()> {
        let (ty, from) = self.seek(&self.task_types(), is_running)?;
        let Ty::Task(ty) = ty else { return None };
        let signature = self.task_type(ty);
        let mut types = self.task_types();
        types.retain(|&other| match other {
            Ty::Task(other) => self.task_type(other).results == signature.results,
            _ => false,
        });
        let (into, target) = self.seek(&types, is_suspended)?;
        let Ty::Task(into) = into else { return None };
        let args = self.args(&self.task_type(into).params);
        let to = self.places(&signature.params);
        self.add(Op::Task(Task::SwitchTo { ty, from, into, target, args, to: to.clone() }));
        self.show(&to);
        Some(())
    }

    fn retire_task(&mut self) -> Option<()> {
        let (ty, task) = self.seek(&self.task_types(), is_running)?;
        let Ty::Task(ty) = ty else { return None };
        let args = self.args(&self.task_type(ty).results);
        self.add_last(Op::Task(Task::Retire { ty, task, args }));
        Some(())
    }

    fn release_task(&mut self) -> Option<()> {
        let (ty, task) = self.seek(&self.task_types(), is_suspended)?;
        let Ty::Task(ty) = ty else { return None };
        self.add(Op::Task(Task::Release { ty, task }));
        Some(())
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
