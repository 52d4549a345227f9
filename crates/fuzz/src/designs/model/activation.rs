//! Activations: calls from the host, and calls of the host.

use super::stack::StackKind;
use super::step::Author;
use super::walk::OnReturn;
use super::{Machine, Seen, StackId, Step, Trap, Value};
use crate::designs::program::{Call, Op, Ty};

/// The outcome of a call from the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Returned(i64),
    Trapped(String),
    /// With an exception: its tag, and its numbers.
    Thrown(usize, Vec<i64>),
}

/// A call from the host into WebAssembly.
#[derive(Clone, Debug)]
pub struct Activation {
    /// Its unique number.
    number: usize,
    root: StackId,
    /// The stack from which the host was called.
    outer: StackId,
    /// Whether the host function returns even if this call fails.
    swallow: bool,
}

/// The end of an activation, inside the model.
enum End {
    Returned(Value),
    Trapped(Trap),
    Thrown(usize),
}

impl Machine {
    pub fn newest(&self) -> usize {
        self.activations.last().map_or(0, |activation| activation.number)
    }

    /// The number of activations.
    pub fn nesting(&self) -> usize {
        self.activations.len()
    }

    /// The running stack, the stacks that called the host in outer activations, and all their
    /// parents.
    pub(super) fn all_running(&self) -> Vec<StackId> {
        let outer = self.activations.iter().skip(1).map(|activation| activation.outer);
        let mut all = Vec::new();
        for innermost in outer.chain([self.running]) {
            let mut next = Some(innermost);
            while let Some(stack) = next {
                all.push(stack);
                next = if self.is_base(stack) { None } else { self.stacks[stack].parent };
            }
        }
        all
    }

    /// Calls a function from the host, and runs until it ends.
    pub fn call(&mut self, call: Call, author: &mut Option<&mut dyn Author>) {
        self.fuel = self.program.fuel;
        let argument = Value::from_number(call.argument);
        let mut result = self.activate(call.function, argument, false);
        loop {
            if let Err(trap) = result {
                result = self.end_activation(End::Trapped(trap));
            }
            if self.activations.is_empty() || self.unspecified {
                self.activations.clear();
                return;
            }
            result = result.and_then(|()| self.step(author));
        }
    }

    fn activate(&mut self, function: usize, argument: Value, swallow: bool) -> Step {
        // Roots are not reused, so each has the number of its call.
        let number = self.stacks.len();
        let root = self.new_stack(StackKind::Root(number), None);
        self.stacks[root].suspended = false;
        self.activations.push(Activation { number, root, outer: self.running, swallow });
        self.running = root;
        self.enter(function, vec![argument], OnReturn::Bottom)
    }

    pub(super) fn root_returned(&mut self, results: &[Value]) -> Step {
        self.end(self.running);
        self.end_activation(End::Returned(results[0]))
    }

    pub(super) fn root_threw(&mut self, exception: usize) -> Step {
        self.end(self.running);
        self.end_activation(End::Thrown(exception))
    }

    /// Ends an activation. A trap frees the running stacks, and the root with its suspended group.
    /// Then the host function continues.
    fn end_activation(&mut self, end: End) -> Step {
        let activation = self.activations.pop().expect("something runs");
        if let End::Trapped(_) = end {
            let base = self.base();
            self.free_running(base);
            if self.stacks[activation.root].suspended {
                self.free(activation.root);
            }
            // Values that the operation was moving.
            for value in std::mem::take(&mut self.in_flight) {
                self.drop_stack(value);
            }
        }
        self.running = activation.outer;
        if self.activations.is_empty() {
            let outcome = self.outcome(end);
            self.seen.push(Seen::End(outcome, self.digest));
            return Ok(());
        }
        match end {
            End::Returned(value) => self.complete(vec![value]),
            End::Trapped(_) if activation.swallow => self.complete(vec![Value::Number(-1)]),
            End::Thrown(_) if activation.swallow => self.complete(vec![Value::Number(-2)]),
            End::Trapped(trap) => Err(trap),
            End::Thrown(exception) => self.throw(exception),
        }
    }

    fn outcome(&self, end: End) -> Outcome {
        match end {
            End::Returned(value) => Outcome::Returned(value.number()),
            End::Trapped(trap) => Outcome::Trapped(trap.0.to_string()),
            End::Thrown(exception) => {
                let exception = &self.exceptions[exception];
                let types = &self.program.tags[exception.tag].signature.params;
                let numbers = types.iter().zip(&exception.values);
                let numbers = numbers.filter(|(ty, _)| **ty == Ty::I64);
                Outcome::Thrown(exception.tag, numbers.map(|(_, value)| value.number()).collect())
            }
        }
    }

    pub(super) fn host(&mut self, op: &Op) -> Step {
        match op {
            Op::Enter { function, argument, swallow, .. } => {
                let argument = self.take(*argument);
                self.activate(*function, argument, *swallow)
            }
            Op::HostThrow { number } => {
                let number = self.take(*number);
                let exception = self.new_exception(0, vec![number]);
                self.throw(exception)
            }
            Op::HostFail => Err(Trap("the host fails")),
            Op::Log { from } => {
                let number = self.take(*from).number();
                self.seen.push(Seen::Log(number));
                Ok(())
            }
            Op::Note { from } => {
                let number = self.take(*from).number();
                self.digest = self.digest.wrapping_mul(31).wrapping_add(number);
                Ok(())
            }
            other => unreachable!("not a call of the host: {other:?}"),
        }
    }
}
