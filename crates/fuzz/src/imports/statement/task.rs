//! Generates statements of tasks.

use crate::imports::generate::Generator;
use crate::imports::vocabulary::{self as v, Ty};
use arbitrary::Result;

use Ty::*;

impl Generator<'_, '_> {
    pub(super) fn task_new(&mut self) -> Result<String> {
        let n = self.below(6)? as u8;
        let arguments: &[Ty] = self.pick(&[&[][..], &[], &[I32], &[Sub, I64, I64, V128, Obj]])?;
        Ok(format!("{} {}", self.new_task(n, arguments)?, self.take(Task(n))?))
    }

    pub(super) fn task_resume(&mut self) -> Result<String> {
        let n = self.below(6)? as u8;
        let (receives, gives) = v::task(n);
        self.plain(("task", "resume"), &[&[Task(n)], &receives[..]].concat(), &gives)
    }

    /// The number of a task type, mostly that of the running task.
    pub(super) fn own_task(&mut self) -> Result<u8> {
        Ok(match self.current.params.first().copied() {
            Some(Task(n)) if !self.one_in(4)? => n,
            _ => self.below(6)? as u8,
        })
    }

    pub(super) fn task_suspend(&mut self) -> Result<String> {
        let n = self.own_task()?;
        let (receives, gives) = v::task(n);
        self.plain(("task", "suspend"), &[&[Task(n)], &gives[..]].concat(), &receives)
    }

    pub(super) fn task_switchto(&mut self) -> Result<String> {
        let n = self.own_task()?;
        let to = if n == 4 && self.one_in(2)? { 5 } else { n };
        let takes = [&[Task(n), Task(to)], &v::task(to).0[..]].concat();
        self.plain(("task", "switchto"), &takes, &v::task(n).0)
    }

    pub(super) fn task_end(&mut self) -> Result<String> {
        let n = self.own_task()?;
        match self.one_in(2)? {
            true => {
                let takes = [&[Task(n)], &v::task(n).1[..]].concat();
                self.plain(("task", "retire"), &takes, &[])
            }
            false => self.plain(("task", "release"), &[Task(n)], &[]),
        }
    }
}
