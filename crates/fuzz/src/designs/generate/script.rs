//! Writes scripts for scripted programs.
//!
//! Where the program reads a number, the writer chooses one that mostly works in the model's state.

use super::entropy::Entropy;
use crate::designs::model::{Author, Machine, ScriptStep, Value};
use crate::designs::program::{Bag, BlockId, Call, Fiber, FirstClass, Op, Program, Task, Typed};

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
    let entries = super::entries(&program);
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
        if !self.works(op) {
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
}
