//! Fuel: what is executed is counted.
//!
//! Every operator costs one unit, but those that only give the code its structure;
//! instructions that move much cost more, by how much they move. The units of a straight
//! line are paid where it ends. So the same program always pays the same, on every
//! machine.
//!
//! What is left stands in the store. A function with a loop has it in a variable, which
//! is put back before every call and taken again after it; else the loop would have to
//! wait for memory. A function without loops changes it in place: it pays at few
//! places, and would otherwise move it about at every call.
//!
//! Whether anything is left is looked at where a function [looks](super::interruption)
//! whether it is to stop. What is below zero then was used before it was noticed, and is
//! paid with the next fuel.

use super::Translator;
use crate::emit::record::{Records, store};
use crate::handlers::Contents;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::*};
use cranelift_frontend::Variable;
use wasmparser::Operator;

/// How many bytes of memories cost a unit, as a power of two.
const BYTES: i64 = 6;
/// How many elements of tables and arrays do.
const ELEMENTS: i64 = 3;

/// What a function knows of its fuel.
#[derive(Default)]
pub(crate) struct Fuel {
    /// What is left, in a function with a loop.
    left: Option<Variable>,
    /// How much of the straight line so far is not paid yet.
    unpaid: i64,
}

/// What is to be paid for an operator.
struct Cost {
    units: i64,
    /// How many of what the topmost operand counts cost a unit, as a power of two.
    counted: Option<i64>,
    /// Whether it ends a straight line.
    ends: bool,
}

impl Translator<'_> {
    /// Takes the fuel out of the store, if the function has it in a variable.
    pub(crate) fn declare_fuel(&mut self, contents: &Contents) {
        if self.env.fuel && contents.has_loops {
            self.fuel.left = Some(self.builder.declare_var(I64));
            self.find_fuel();
        }
    }

    /// Counts an operator that is about to be translated.
    pub(crate) fn count(&mut self, operator: &Operator<'_>) {
        if !self.env.fuel || !self.is_reachable() {
            return;
        }
        let Cost { units, counted, ends } = cost(operator);
        self.fuel.unpaid += units;
        if ends {
            self.pay();
        }
        if let Some(shift) = counted {
            let count = *self.stack.last().expect("the number of bytes or elements");
            let count = self.widen(count);
            let units = self.builder.ins().ushr_imm_u(count, shift);
            self.take_fuel(units);
        }
    }

    /// Pays for the straight line so far.
    fn pay(&mut self) {
        let units = std::mem::take(&mut self.fuel.unpaid);
        if units > 0 {
            let units = self.builder.ins().iconst(I64, units);
            self.take_fuel(units);
        }
    }

    fn take_fuel(&mut self, units: Value) {
        let left = self.fuel_left();
        let left = self.builder.ins().isub(left, units);
        match self.fuel.left {
            Some(variable) => self.builder.def_var(variable, left),
            None => self.set_fuel(left),
        }
    }

    fn fuel_left(&mut self) -> Value {
        match self.fuel.left {
            Some(variable) => self.builder.use_var(variable),
            None => {
                let store = self.store_context();
                self.get(store, store::FUEL)
            }
        }
    }

    fn set_fuel(&mut self, left: Value) {
        let store = self.store_context();
        self.set(store, store::FUEL, left);
    }

    /// Puts the fuel back into the store, before something that may look at it.
    pub(crate) fn put_fuel_back(&mut self) {
        if let Some(variable) = self.fuel.left {
            let left = self.builder.use_var(variable);
            self.set_fuel(left);
        }
    }

    /// Finds out anew how much fuel there is, after something that may have used some.
    pub(crate) fn find_fuel(&mut self) {
        if let Some(variable) = self.fuel.left {
            let store = self.store_context();
            let left = self.get(store, store::FUEL);
            self.builder.def_var(variable, left);
        }
    }

    /// Whether the fuel is used up.
    pub(crate) fn is_out_of_fuel(&mut self) -> Value {
        let left = self.fuel_left();
        self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0)
    }
}

fn cost(operator: &Operator<'_>) -> Cost {
    use Operator::*;
    let (units, counted) = match operator {
        Nop | Drop | Block { .. } | Loop { .. } | Else | End | TryTable { .. } => (0, None),
        MemoryFill { .. } | MemoryCopy { .. } | MemoryInit { .. } => (1, Some(BYTES)),
        TableFill { .. } | TableCopy { .. } | TableInit { .. } => (1, Some(ELEMENTS)),
        ArrayNew { .. } | ArrayNewDefault { .. } | ArrayNewData { .. } | ArrayNewElem { .. } => {
            (1, Some(ELEMENTS))
        }
        ArrayFill { .. } | ArrayCopy { .. } | ArrayInitData { .. } | ArrayInitElem { .. } => {
            (1, Some(ELEMENTS))
        }
        _ => (1, None),
    };
    Cost { units, counted, ends: ends_line(operator) }
}

/// Whether something else than the next operator may be executed after this one, or
/// before the next one.
fn ends_line(operator: &Operator<'_>) -> bool {
    use Operator::*;
    crate::handlers::calls(operator)
        || matches!(
            operator,
            Loop { .. }
                | If { .. }
                | Else
                | End
                | TryTable { .. }
                | Br { .. }
                | BrIf { .. }
                | BrTable { .. }
                | BrOnNull { .. }
                | BrOnNonNull { .. }
                | BrOnCast { .. }
                | BrOnCastFail { .. }
                | BrOnCastDescEq { .. }
                | BrOnCastDescEqFail { .. }
                | Return
                | Throw { .. }
                | ThrowRef
                | Unreachable
        )
}
