//! Fuel: what is executed is counted.
//!
//! Every operator costs one unit, but those that only give the code its structure;
//! instructions that move much cost more, by how much they move. That is paid before they
//! run, and one for which there is not enough fuel does not run. The units of a straight
//! line are paid where it ends, or before the first call in it of a function of the module:
//! then also for what follows the calls, whether they return or not. What comes before an `if` is paid in its arms. So
//! the same program always pays the same, on every machine, and seldom.
//!
//! ```text
//!     4 units, if           nothing is paid
//!       1 unit              pays 5
//!     else
//!       4 units, call       pays 4 + 4 + 4 + 1
//!       4 units, call
//!       1 unit
//!     end
//! ```
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
use cranelift_codegen::ir::immediates::Imm64;
use cranelift_codegen::ir::{Inst, InstBuilder, InstructionData, Value, types::*};
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
    /// The constant that was paid before a call of this line. What follows is added to it.
    ahead: Option<Inst>,
}

/// What is to be paid for an operator.
struct Cost {
    units: i64,
    /// How many of what the topmost operand counts cost a unit, as a power of two.
    counted: Option<i64>,
}

impl Translator<'_> {
    /// Takes the fuel out of the store, if the function has it in a variable.
    pub(crate) fn declare_fuel(&mut self, contents: &Contents) {
        if self.env.fuel && contents.has_loops {
            self.fuel.left = Some(self.builder.declare_var(I64));
            self.find_fuel();
        }
    }

    /// Counts an operator that is valid and about to be translated.
    pub(crate) fn count(&mut self, operator: &Operator<'_>) {
        if !self.env.fuel {
            return;
        }
        if !self.is_reachable() {
            // What is paid ahead is for a line that has ended.
            (self.fuel.unpaid, self.fuel.ahead) = (0, None);
            return;
        }
        let Cost { units, counted } = cost(operator);
        self.fuel.unpaid += units;
        if matches!(operator, Operator::If { .. }) && self.fuel.ahead.is_none() {
            // It is paid in both arms.
        } else if self.is_plain_call(operator) {
            self.pay_ahead();
        } else if ends_line(operator) {
            self.pay();
        }
        if let Some(shift) = counted {
            self.pay_for_length(shift);
        }
    }

    /// Pays for the length of an instruction that moves much, and stops before it runs if
    /// there is not enough.
    fn pay_for_length(&mut self, shift: i64) {
        let count = *self.stack.last().expect("the number of bytes or elements");
        if self.constant(count).is_some_and(|count| count >> shift == 0) {
            return;
        }
        let count = self.widen(count);
        let units = self.builder.ins().ushr_imm_u(count, shift);
        self.take_fuel(units);
        self.look_for_fuel();
    }

    /// Whether an operator calls a function after which the straight line goes on, and
    /// nothing else does: no handler of an exception. One that is imported may be the host's,
    /// which sees what is left.
    fn is_plain_call(&self, operator: &Operator<'_>) -> bool {
        let is_call = match operator {
            Operator::Call { function_index } => {
                *function_index >= self.env.info.imported_functions
            }
            Operator::CallIndirect { .. } | Operator::CallRef { .. } => true,
            _ => false,
        };
        is_call && self.handlers.is_empty()
    }

    /// What is not paid where an `if` begins: each of its arms pays it.
    pub(crate) fn unpaid(&self) -> i64 {
        self.fuel.unpaid
    }

    /// An arm of an `if` begins.
    pub(crate) fn set_unpaid(&mut self, units: i64) {
        self.fuel.unpaid = units;
    }

    /// Pays for the straight line so far.
    pub(crate) fn pay(&mut self) {
        let units = std::mem::take(&mut self.fuel.unpaid);
        match self.fuel.ahead.take() {
            Some(paid) => self.pay_more(paid, units),
            None if units > 0 => {
                let units = self.builder.ins().iconst(I64, units);
                self.take_fuel(units);
            }
            None => {}
        }
    }

    /// Pays for the straight line so far, and for what will follow in it.
    fn pay_ahead(&mut self) {
        if self.fuel.ahead.is_some() {
            return;
        }
        let units = std::mem::take(&mut self.fuel.unpaid);
        let units = self.builder.ins().iconst(I64, units);
        self.fuel.ahead = self.builder.func.dfg.value_def(units).inst();
        self.take_fuel(units);
    }

    /// Adds to a constant that was paid.
    fn pay_more(&mut self, paid: Inst, units: i64) {
        match &mut self.builder.func.dfg.insts[paid] {
            InstructionData::UnaryImm { imm, .. } => *imm = Imm64::new(imm.bits() + units),
            other => unreachable!("{other:?} is no constant"),
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
        TableFill { .. } | TableCopy { .. } | TableInit { .. } | TableGrow { .. } => {
            (1, Some(ELEMENTS))
        }
        ArrayNew { .. } | ArrayNewDefault { .. } | ArrayNewData { .. } | ArrayNewElem { .. } => {
            (1, Some(ELEMENTS))
        }
        ArrayFill { .. } | ArrayCopy { .. } | ArrayInitData { .. } | ArrayInitElem { .. } => {
            (1, Some(ELEMENTS))
        }
        _ => (1, None),
    };
    Cost { units, counted }
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
