//! Writes scripts for scripted programs.
//!
//! Where the program reads a number, the writer chooses one that mostly works in the model's state.

use super::bag::can_switch;
use super::entropy::Entropy;
use super::task::{is_running, is_suspended};
use crate::designs::model::{Author, Machine, ScriptStep, Sought, Value};
use crate::designs::program::{
    Bag, BlockId, Call, Fiber, FirstClass, Handler, Op, Program, Signature, Task, Ty, Typed, With,
};

/// The maximum length of a script.
const NUMBERS: usize = 4000;

/// The maximum number of calls from the host.
const CALLS: usize = 30;

/// Writes a script while the program runs.
struct ScriptWriter<'e> {
    entropy: Entropy<'e>,
}

/// Runs a scripted program in the model, and writes its script.
pub fn write_script(program: Program, bytes: &[u8]) -> Machine {
    let functions = program.functions.iter().enumerate();
    let entries = functions.filter(|(_, f)| !f.rout && f.signature == Signature::entry());
    let entries: Vec<_> = entries.map(|(id, _)| id).collect();
    let mut player = ScriptWriter { entropy: Entropy::new(bytes) };
    let mut machine = Machine::new(program);
    while !player.entropy.is_empty() && machine.program.calls.len() < CALLS {
        let mut choice = player.entropy.short();
        let function = choice.one(&entries).unwrap_or_default();
        let call = Call { function, argument: choice.below(5) as i64 };
        machine.program.calls.push(call.clone());
        machine.call(call, &mut Some(&mut player));
        if machine.unspecified || machine.program.script.len() > NUMBERS {
            break;
        }
    }
    machine
}

impl Author for ScriptWriter<'_> {
    fn write(&mut self, machine: &mut Machine, block: BlockId) {
        machine.program.blocks[block].closed = true;
    }

    fn choose(&mut self, machine: &mut Machine) -> i64 {
        let number = self.number(machine);
        if let Some(&arm) = machine.arms().unwrap_or_default().get(number as usize) {
            let op = machine.program.blocks[arm].ops.first().cloned();
            let (stack, function) = (machine.running, machine.function());
            machine.script_steps.push(ScriptStep { stack, function, number, op });
        }
        number
    }
}

impl ScriptWriter<'_> {
    fn number(&mut self, machine: &mut Machine) -> i64 {
        if self.entropy.is_empty() || machine.program.script.len() > NUMBERS {
            return 0;
        }
        let mut choice = self.entropy.short();
        let Some(arms) = machine.arms() else { return 0 };
        if choice.first == 0 {
            return 0;
        }
        if !choice.percent(4) {
            let weights = arms.iter().map(|&arm| machine.weight(arm));
            let weights: Vec<usize> = weights.collect();
            let mut left = choice.below(weights.iter().sum());
            for (arm, weight) in weights.into_iter().enumerate() {
                match left.checked_sub(weight) {
                    Some(rest) => left = rest,
                    None => return arm as i64,
                }
            }
        }
        choice.below(arms.len()) as i64
    }
}

impl Machine {
    /// The blocks from which the next number chooses.
    pub fn arms(&self) -> Option<Vec<BlockId>> {
        let frame = self.stacks[self.running].frames.last()?;
        let cursor = frame.cursors.last()?;
        match &**self.program.blocks[cursor.block].ops.get(cursor.next)? {
            Op::Choose { arms, .. } => Some(arms.clone()),
            _ => None,
        }
    }

    /// The weight of a block: zero if it does not work, and largest if it switches to another
    /// stack.
    fn weight(&self, block: BlockId) -> usize {
        let Some(op) = self.program.blocks[block].ops.first() else { return 0 };
        if !self.works(block) {
            return 0;
        }
        match **op {
            Op::Typed(Typed::New { .. } | Typed::Bind { .. }) => 5,
            Op::Bag(Bag::New { .. } | Bag::Bind { .. }) | Op::Task(Task::New { .. }) => 5,
            Op::Fiber(Fiber::New { .. }) | Op::FirstClass(FirstClass::NewStack { .. }) => 5,
            Op::Typed(Typed::Clone { cont: stack, .. })
            | Op::Bag(Bag::Clone { stack, .. })
            | Op::FirstClass(FirstClass::Clone { stack, .. }) => {
                let begun = self.valid(self.peek(stack)).is_some_and(|stack| self.has_begun(stack));
                if begun { 30 } else { 3 }
            }
            Op::Bag(Bag::Retire { .. }) | Op::Task(Task::Retire { .. }) => 3,
            Op::Task(Task::Release { .. }) | Op::Fiber(Fiber::Release { .. }) => 2,
            Op::FirstClass(FirstClass::SwitchDrop { .. }) => 6,
            Op::Typed(_) | Op::Bag(_) | Op::Task(_) | Op::Fiber(_) | Op::FirstClass(_) => 20,
            Op::GlobalGet { to, .. } if self.is_usable(self.peek(to)) => 1,
            Op::GlobalGet { .. } => 5,
            Op::GlobalSet { .. } | Op::Call { .. } | Op::Throw { .. } => 3,
            Op::Try { .. } => 6,
            Op::Return => 3,
            _ => 1,
        }
    }

    /// Whether a value refers to a stack that can continue.
    fn is_usable(&self, value: Value) -> bool {
        match value {
            Value::Named(stack) => !self.stacks[stack].dead,
            Value::Once { .. } => self.valid(value).is_some(),
            _ => false,
        }
    }

    /// Whether the first operation of a block does something and, as far as the model's state
    /// tells, does not trap.
    pub fn works(&self, block: BlockId) -> bool {
        let Some(op) = self.program.blocks[block].ops.first() else { return false };
        match &**op {
            Op::Typed(op) => self.typed_works(op),
            Op::Bag(op) => self.bag_works(op),
            Op::Task(op) => self.task_works(op),
            Op::Fiber(op) => self.fiber_works(op),
            Op::FirstClass(op) => self.first_class_works(op),
            Op::GlobalGet { to, global } => {
                let ty = self.program.globals[*global];
                let value = self.globals.get(*global).copied().unwrap_or_default();
                !value.is_null() && (ty != Ty::Linear || self.peek(*to).is_null())
            }
            Op::GlobalSet { global, from } => {
                let ty = self.program.globals[*global];
                let value = self.globals.get(*global).copied().unwrap_or_default();
                !self.peek(*from).is_null() && (ty != Ty::Linear || value.is_null())
            }
            Op::Throw { tag, .. } => self.caught_here().contains(tag),
            Op::ThrowRef { exn } => !self.peek(*exn).is_null(),
            Op::HostThrow { .. } => self.caught_here().contains(&0),
            Op::Enter { .. } => self.nesting() < 4,
            Op::Call { .. } => self.depth_of_running() < 12,
            Op::Try { body, catches } => {
                catches.iter().all(|catch| self.is_free(&catch.to)) && self.works_or_notes(*body)
            }
            _ => true,
        }
    }

    fn depth_of_running(&self) -> usize {
        self.stacks[self.running].frames.len()
    }

    fn works_or_notes(&self, block: BlockId) -> bool {
        let first = self.program.blocks[block].ops.first();
        match first.map(|op| &**op) {
            Some(Op::Const { .. }) => self.depth_of_running() < 12,
            _ => self.works(block),
        }
    }

    /// Whether the linear locals among these are empty.
    fn is_free(&self, locals: &[usize]) -> bool {
        locals.iter().all(|&local| self.type_of(local) != Ty::Linear || self.peek(local).is_null())
    }

    fn typed_works(&self, op: &Typed) -> bool {
        match op {
            // Does not overwrite a usable continuation.
            Typed::New { to, .. } => self.valid(self.peek(*to)).is_none(),
            Typed::Bind { cont, .. } => self.valid(self.peek(*cont)).is_some(),
            Typed::Clone { to, cont, .. } => self.copies(*cont, *to),
            Typed::Suspend { tag, .. } => self.find_handler(*tag, Sought::Label).is_some(),
            Typed::Resume { with, cont, handlers, .. } => {
                let with = match with {
                    With::ThrowRef(exn) => !self.peek(*exn).is_null(),
                    _ => true,
                };
                let free = handlers.iter().all(|handler| match handler {
                    Handler::Label(clause) => self.is_free(&clause.to),
                    Handler::Switch(_) => true,
                });
                with && free && self.valid(self.peek(*cont)).is_some()
            }
            Typed::Switch { tag, cont, .. } => {
                self.valid(self.peek(*cont)).is_some()
                    && self.find_handler(*tag, Sought::Switch).is_some()
            }
        }
    }

    /// Whether the stack in a local can be copied to another local, without overwriting a usable
    /// one.
    fn copies(&self, from: usize, to: usize) -> bool {
        let copied = self.valid(self.peek(from)).is_some_and(|stack| self.can_copy(stack));
        let free = match self.type_of(to) {
            Ty::Linear => self.peek(to).is_null(),
            _ => self.valid(self.peek(to)).is_none(),
        };
        copied && free
    }

    fn bag_works(&self, op: &Bag) -> bool {
        match op {
            Bag::New { to, .. } => self.valid(self.peek(*to)).is_none(),
            Bag::Bind { stack, .. } => self.valid(self.peek(*stack)).is_some(),
            Bag::Clone { to, stack, .. } => self.copies(*stack, *to),
            Bag::Switch { stack, .. }
            | Bag::Retire { stack, .. }
            | Bag::ReturnSwitch { stack, .. } => can_switch(self, self.peek(*stack)),
            Bag::Throw { tag, stack, .. } | Bag::ReturnThrow { tag, stack, .. } => {
                let target = self.valid(self.peek(*stack)).filter(|&stack| self.can_go_to(stack));
                target.is_some_and(|target| self.catches_at(target).contains(tag))
            }
        }
    }

    fn task_works(&self, op: &Task) -> bool {
        match op {
            Task::New { to, .. } => !is_suspended(self, self.peek(*to)),
            Task::Resume { task, .. } | Task::Release { task, .. } => {
                is_suspended(self, self.peek(*task))
            }
            Task::Suspend { task, .. } | Task::Retire { task, .. } => {
                is_running(self, self.peek(*task))
            }
            Task::SwitchTo { from, target, .. } => {
                is_running(self, self.peek(*from)) && is_suspended(self, self.peek(*target))
            }
        }
    }

    fn fiber_works(&self, op: &Fiber) -> bool {
        let accepts = |local: usize, event: &usize| match self.peek(local) {
            Value::Named(fiber) if self.stacks[fiber].suspended => {
                self.accepts(self.stacks[fiber].innermost).contains(event)
            }
            _ => false,
        };
        let runs = |local: usize| is_running(self, self.peek(local));
        let parent_accepts = |local: usize, event: &usize| match self.peek(local) {
            Value::Named(fiber) if runs(local) => {
                let parent = self.stacks[fiber].parent;
                parent.is_some_and(|parent| self.accepts(parent).contains(event))
            }
            _ => false,
        };
        match op {
            Fiber::New { to, .. } => !is_suspended(self, self.peek(*to)),
            Fiber::Mount { event, fiber, .. } => accepts(*fiber, event),
            Fiber::Switch { event, from, fiber, .. }
            | Fiber::SwitchRelease { event, from, fiber, .. } => {
                runs(*from) && accepts(*fiber, event)
            }
            Fiber::Dismount { event, from, .. } | Fiber::DismountRelease { event, from, .. } => {
                parent_accepts(*from, event)
            }
            Fiber::Release { fiber } => is_suspended(self, self.peek(*fiber)),
            Fiber::Start { from, .. } => from.is_none_or(runs),
        }
    }

    fn first_class_works(&self, op: &FirstClass) -> bool {
        let target =
            |local: usize| self.valid(self.peek(local)).filter(|&stack| self.can_go_to(stack));
        let catches = |local: usize, event: usize| {
            target(local).is_some_and(|target| self.catches_at(target).contains(&event))
        };
        match op {
            FirstClass::NewStack { to } => self.peek(*to).is_null(),
            FirstClass::Clone { to: [_, copy], stack } => self.copies(*stack, *copy),
            FirstClass::Switch { event, stack, .. }
            | FirstClass::SwitchDrop { event, stack, .. } => catches(*stack, *event),
            FirstClass::SwitchCall { event, stack, .. } => match event {
                Some(event) => catches(*stack, *event),
                None => target(*stack).is_some(),
            },
            FirstClass::Extend { to, stack, args, .. } => {
                target(*stack).is_some()
                    && !args.contains(stack)
                    && (to == stack || args.contains(to) || self.peek(*to).is_null())
            }
            FirstClass::Redirect { local, .. } | FirstClass::RedirectTo { ask_to: local, .. } => {
                target(*local).is_some() && self.depth_of_running() < 12
            }
            FirstClass::Answer { .. } => self.depth_of_running() < 12,
            FirstClass::CallStack { tag, .. } => self.answered().contains(tag),
            FirstClass::Start => false,
        }
    }
}
