//! Renders operations of the bag of stacks, tasks and fibers.

use super::Writer;
use super::clauses::Landing;
use crate::designs::program::{Bag, Clause, Fiber, Local, Task};

impl Writer<'_> {
    pub(super) fn bag(&mut self, op: &Bag) {
        match op {
            Bag::New { to, ty, function, by_reference: false } => {
                self.set(*to, &format!("(stack.new $s{ty} $fn{function})"));
            }
            Bag::New { to, ty, function, by_reference: true } => {
                let ty_of = self.program.functions[*function].declared;
                match ty_of {
                    Some(named) => {
                        let reference = self.function_reference(*function);
                        self.set(*to, &format!("(stack.new_ref $s{ty} $f{named} {reference})"));
                    }
                    None => self.set(*to, &format!("(stack.new $s{ty} $fn{function})")),
                }
            }
            Bag::Bind { to, ty, into, args, stack } => {
                let (args, stack) = (self.get_all(args), self.get(*stack));
                self.set(*to, &format!("(stack.bind $s{ty} $s{into}{args} {stack})"));
            }
            Bag::Clone { to, ty, stack } => {
                self.burn();
                let stack = self.get(*stack);
                self.set(*to, &format!("(stack.clone $s{ty} {stack})"));
            }
            Bag::Switch { ty, args, stack, to } => {
                let (args, stack) = (self.get_all(args), self.get(*stack));
                self.line(format!("(switch $s{ty}{args} {stack})"));
                self.set_all(to);
            }
            Bag::Retire { ty, args, stack } => {
                let (args, stack) = (self.get_all(args), self.get(*stack));
                self.line(format!("(switch_retire $s{ty}{args} {stack})"));
            }
            Bag::Throw { ty, tag, args, stack, to } => {
                let (args, stack) = (self.get_all(args), self.get(*stack));
                self.line(format!("(switch_throw $s{ty} $e{tag}{args} {stack})"));
                self.set_all(to);
            }
            Bag::ReturnSwitch { ty, args, stack, function } => {
                let (args, stack) = (self.get_all(args), self.get(*stack));
                self.line(format!("(return_switch $s{ty} $fn{function}{args} {stack})"));
            }
            Bag::ReturnThrow { ty, tag, args, stack, function } => {
                let (args, stack) = (self.get_all(args), self.get(*stack));
                self.line(format!(
                    "(return_switch_throw $s{ty} $e{tag} $fn{function}{args} {stack})"
                ));
            }
        }
    }

    pub(super) fn task(&mut self, op: &Task) {
        match op {
            Task::New { to, ty, function, args } => {
                let args = self.get_all(args);
                self.set(*to, &format!("(task.new $t{ty} $fn{function}{args})"));
            }
            Task::Resume { ty, task, args, to } => {
                let (task, args) = (self.get(*task), self.get_all(args));
                self.line(format!("(task.resume $t{ty} {task}{args})"));
                self.set_all(to);
            }
            Task::Suspend { ty, task, args, to } => {
                let (task, args) = (self.get(*task), self.get_all(args));
                self.line(format!("(task.suspend $t{ty} {task}{args})"));
                self.set_all(to);
            }
            Task::SwitchTo { ty, from, into, target, args, to } => {
                let (from, target, args) = (self.get(*from), self.get(*target), self.get_all(args));
                self.line(format!("(task.switchto $t{ty} $t{into} {from} {target}{args})"));
                self.set_all(to);
            }
            Task::Retire { ty, task, args } => {
                let (task, args) = (self.get(*task), self.get_all(args));
                self.line(format!("(task.retire $t{ty} {task}{args})"));
            }
            Task::Release { ty, task } => {
                self.line(format!("(task.release $t{ty} {})", self.get(*task)));
            }
        }
    }

    pub(super) fn fiber(&mut self, op: &Fiber) {
        match op {
            Fiber::New { to, returns, clauses, args } => {
                let returns = returns.map(|tag| format!(" $e{tag}")).unwrap_or_default();
                let clauses = clauses.iter().map(|(tag, id)| format!(" (on $e{tag} $fn{id})"));
                let (clauses, args) = (clauses.collect::<String>(), self.get_all(args));
                self.set(*to, &format!("(fiber.new{returns}{clauses}{args})"));
            }
            Fiber::Mount { event, args, fiber, clauses } => {
                let operands = format!("{} {}", self.get_all(args), self.get(*fiber));
                self.event(&format!("fiber.mount $e{event}"), clauses, &operands, &[]);
            }
            Fiber::Switch { event, args, from, fiber, clauses } => {
                let operands =
                    format!("{} {} {}", self.get_all(args), self.get(*from), self.get(*fiber));
                self.event(&format!("fiber.switch $e{event}"), clauses, &operands, &[]);
            }
            Fiber::Dismount { event, args, from, clauses } => {
                let operands = format!("{} {}", self.get_all(args), self.get(*from));
                self.event(&format!("fiber.dismount $e{event}"), clauses, &operands, &[]);
            }
            Fiber::Release { fiber } => {
                self.line(format!("(fiber.release {})", self.get(*fiber)));
            }
            Fiber::Start { returns, function, args, from, clauses, to } => {
                let word = if from.is_some() { "fiber.switch_new" } else { "fiber.mount_new" };
                let from = from.map(|from| format!(" {}", self.get(from))).unwrap_or_default();
                let operands = format!("{}{from}", self.get_all(args));
                self.event(&format!("{word} $e{returns} $fn{function}"), clauses, &operands, to);
            }
            Fiber::DismountRelease { event, args, from } => {
                let operands = format!("{} {}", self.get_all(args), self.get(*from));
                self.event(&format!("fiber.dismount_release $e{event}"), &[], &operands, &[]);
            }
            Fiber::SwitchRelease { event, args, from, fiber } => {
                let operands =
                    format!("{} {} {}", self.get_all(args), self.get(*from), self.get(*fiber));
                self.event(&format!("fiber.switch_release $e{event}"), &[], &operands, &[]);
            }
        }
    }

    fn event(&mut self, word: &str, clauses: &[Clause], operands: &str, to: &[Local]) {
        let landings: Vec<_> = clauses
            .iter()
            .map(|clause| Landing { to: &clause.to, handler: clause.handler })
            .collect();
        self.landings(&landings, |writer, labels| {
            let clauses = clauses.iter().zip(labels);
            let clauses = clauses.map(|(clause, label)| format!(" (on $e{} {label})", clause.tag));
            let clauses: String = clauses.collect();
            writer.line(format!("({word}{clauses}{operands})"));
            writer.set_all(to);
        });
    }
}
