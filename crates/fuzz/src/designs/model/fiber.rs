//! Operations of fibers, and the events that they send each other.

use super::stack::{Fresh, StackKind};
use super::walk::OnReturn;
use super::{CursorKind, Machine, StackId, Step, Trap, Value};
use crate::designs::program::{Clause, Fiber, Op, TagId};

/// The destination of an event.
enum Receiver {
    /// A clause of the instruction at which the receiver waits.
    Clause(usize),
    /// After a `fiber.mount_new` or `fiber.switch_new` whose return event it is.
    Behind,
    /// A function of a fiber that has not started.
    Function(usize),
}

impl Machine {
    pub(super) fn fiber(&mut self, op: &Fiber) -> Step {
        match op {
            Fiber::New { to, returns, clauses, args } => {
                let args = self.take_all(args);
                let fresh = Some(Fresh::Fiber(clauses.clone(), args));
                let fiber = self.new_stack(StackKind::Fiber(*returns), fresh);
                self.set(*to, Value::Named(fiber))
            }
            Fiber::Mount { event, args, fiber, .. } => {
                let args = self.take_all(args);
                let target = self.target_fiber(self.peek(*fiber), None)?;
                let innermost = self.stacks[target].innermost;
                let Some(receiver) = self.look_up(innermost, *event) else { return Ok(()) };
                let parent = self.running;
                self.resume(target, Some(parent));
                self.receive(receiver, args)
            }
            Fiber::Switch { event, args, from, fiber, .. } => {
                self.switch_fiber(*event, args, *from, *fiber, false)
            }
            Fiber::SwitchRelease { event, args, from, fiber } => {
                self.switch_fiber(*event, args, *from, *fiber, true)
            }
            Fiber::Dismount { event, args, from, .. } => {
                self.dismount_fiber(*event, args, *from, false)
            }
            Fiber::DismountRelease { event, args, from } => {
                self.dismount_fiber(*event, args, *from, true)
            }
            Fiber::Release { fiber } => self.release_fiber(self.peek(*fiber)),
            Fiber::Start { returns, function, args, from, .. } => {
                let mut args = self.take_all(args);
                let from = from.map(|from| self.running_fiber(self.peek(from))).transpose()?;
                let fiber = self.new_stack(StackKind::Fiber(Some(*returns)), None);
                args.push(Value::Named(fiber));
                self.frame().created = Value::Named(fiber);
                let parent = match from {
                    Some(from) => self.suspend(from),
                    None => Some(self.running),
                };
                self.resume(fiber, parent);
                self.enter(*function, args, OnReturn::Bottom)
            }
        }
    }

    fn switch_fiber(
        &mut self,
        event: TagId,
        args: &[usize],
        from: usize,
        fiber: usize,
        releases: bool,
    ) -> Step {
        let args = self.take_all(args);
        let from = self.running_fiber(self.peek(from))?;
        let target = self.target_fiber(self.peek(fiber), Some(from))?;
        // A fiber that switches to itself waits at this instruction.
        let innermost = if target == from { self.running } else { self.stacks[target].innermost };
        let Some(receiver) = self.look_up(innermost, event) else { return Ok(()) };
        let parent = self.suspend(from);
        if releases {
            self.free(from);
        }
        self.resume(target, parent);
        self.receive(receiver, args)
    }

    fn dismount_fiber(&mut self, event: TagId, args: &[usize], from: usize, frees: bool) -> Step {
        let args = self.take_all(args);
        let from = self.running_fiber(self.peek(from))?;
        let parent = self.stacks[from].parent.expect("a fiber that runs has a control parent");
        let Some(receiver) = self.look_up(parent, event) else { return Ok(()) };
        self.suspend(from);
        if frees {
            self.free(from);
        }
        self.running = parent;
        self.receive(receiver, args)
    }

    fn release_fiber(&mut self, reference: Value) -> Step {
        let Value::Named(fiber) = reference else { return Err(Trap("null fiber reference")) };
        if self.stacks[fiber].dead {
            return Ok(());
        }
        if !self.stacks[fiber].suspended {
            self.unspecified |= self.may_be_collected(fiber);
            return Err(Trap("fiber already has a control parent"));
        }
        self.free(fiber);
        Ok(())
    }

    fn running_fiber(&self, reference: Value) -> Result<StackId, Trap> {
        match reference {
            Value::Named(fiber) if self.chain().contains(&fiber) => Ok(fiber),
            Value::Named(_) => Err(Trap("fiber is not running")),
            _ => Err(Trap("null fiber reference")),
        }
    }

    /// The fiber to resume, unless this operation suspends it.
    fn target_fiber(&mut self, reference: Value, from: Option<StackId>) -> Result<StackId, Trap> {
        match reference {
            Value::Named(fiber) if Some(fiber) == from => Ok(fiber),
            Value::Named(fiber) if self.stacks[fiber].dead => Err(Trap("fiber is moribund")),
            Value::Named(fiber) if self.stacks[fiber].suspended => Ok(fiber),
            Value::Named(fiber) => {
                self.unspecified |= self.may_be_collected(fiber);
                Err(Trap("fiber already has a control parent"))
            }
            _ => Err(Trap("null fiber reference")),
        }
    }

    pub fn accepts(&self, stack: StackId) -> Vec<TagId> {
        let tags = 0..self.program.tags.len();
        tags.filter(|&tag| self.look_up(stack, tag).is_some()).collect()
    }

    fn look_up(&self, stack: StackId, event: TagId) -> Option<Receiver> {
        if let Some(Fresh::Fiber(clauses, _)) = &self.stacks[stack].fresh {
            return clauses.iter().position(|clause| clause.0 == event).map(Receiver::Function);
        }
        let Some(Op::Fiber(op)) = self.stacks[stack].frames.last()?.op.as_deref() else {
            return None;
        };
        if matches!(op, Fiber::Start { returns, .. } if *returns == event) {
            return Some(Receiver::Behind);
        }
        clauses(op).iter().position(|clause| clause.tag == event).map(Receiver::Clause)
    }

    /// Delivers an event to the running stack, at the destination found before.
    fn receive(&mut self, receiver: Receiver, payload: Vec<Value>) -> Step {
        match receiver {
            Receiver::Behind => {
                let created = self.frame().created;
                self.complete([vec![created], payload].concat())
            }
            Receiver::Clause(number) => {
                let op = self.frame().op.clone();
                let Some(Op::Fiber(op)) = op.as_deref() else { unreachable!("found there") };
                let clause = &clauses(op)[number];
                let created = match op {
                    Fiber::Start { .. } => vec![self.frame().created],
                    _ => Vec::new(),
                };
                self.set_all(&clause.to, &[created, payload].concat())?;
                self.open(clause.handler, CursorKind::Plain);
                Ok(())
            }
            Receiver::Function(number) => {
                let fiber = self.running;
                let Some(Fresh::Fiber(clauses, mut args)) = self.stacks[fiber].fresh.take() else {
                    unreachable!("found there")
                };
                args.push(Value::Named(fiber));
                args.extend(payload);
                self.enter(clauses[number].1, args, OnReturn::Bottom)
            }
        }
    }

    /// The function of the running fiber has returned: its control parent gets the return event.
    pub(super) fn fiber_returned(&mut self, returns: Option<TagId>, values: Vec<Value>) -> Step {
        let returns = returns.ok_or(Trap("fiber function returned"))?;
        let fiber = self.running;
        let parent = self.stacks[fiber].parent.expect("a fiber that runs has a control parent");
        let receiver = self.look_up(parent, returns).ok_or(Trap("unhandled return event"))?;
        self.end(fiber);
        self.running = parent;
        self.receive(receiver, values)
    }
}

/// The clauses of an instruction.
fn clauses(op: &Fiber) -> &[Clause] {
    match op {
        Fiber::Mount { clauses, .. }
        | Fiber::Switch { clauses, .. }
        | Fiber::Dismount { clauses, .. }
        | Fiber::Start { clauses, .. } => clauses,
        _ => &[],
    }
}
