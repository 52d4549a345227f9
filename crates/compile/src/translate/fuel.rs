//! Fuel: counts what a function executes.
//!
//! Every operator costs one unit, except those that only give code its structure. Instructions that
//! move many bytes or elements cost more, in proportion to the amount. These are paid before they
//! run, and do not run if the fuel does not suffice. The units of a straight line are paid at its
//! end, or before its first call of a function of the module: then they include the code after the
//! calls, whether the calls return or not. The code before an `if` is paid in its arms. So a
//! program pays rarely, and always the same, on every machine.
//!
//! ```text
//!     4 units, if           pays nothing
//!       1 unit              pays 5
//!     else
//!       4 units, call       pays 4 + 4 + 4 + 1
//!       4 units, call
//!       1 unit
//!     end
//! ```
//!
//! The store holds the remaining fuel. A function with a loop keeps it in a variable, which it
//! writes back before every call and reloads afterwards; otherwise the loop would wait for memory.
//! A function without loops changes it in place, since it pays in few places and would move the
//! variable at every call.
//!
//! Functions check the fuel where they [poll](super::interruption). Fuel below zero was used before
//! the check noticed, and the next fuel pays for it.

use super::Translator;
use super::contents::{Contents, calls};
use crate::emit::record::{Records, store};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::immediates::Imm64;
use cranelift_codegen::ir::{Inst, InstBuilder, InstructionData, Value, types::*};
use cranelift_frontend::Variable;
use wasmparser::Operator;

/// The bytes of memories that cost a unit, as a power of two.
const BYTES: i64 = 6;
/// The elements of tables and arrays that cost a unit, as a power of two.
const ELEMENTS: i64 = 3;

/// The fuel of a function, during its translation.
#[derive(Default)]
pub(crate) struct Fuel {
    /// The fuel that is left, in a function with a loop.
    left: Option<Variable>,
    /// The units of the current straight line that are not paid yet.
    unpaid: i64,
    /// The constant that was paid before a call in this line. Later units are added to it.
    ahead: Option<Inst>,
}

struct Cost {
    units: i64,
    /// If the topmost operand counts bytes or elements: how many of them cost a unit, as a power of
    /// two.
    counted: Option<i64>,
}

impl Translator<'_> {
    /// Loads the fuel, if the function keeps it in a variable.
    pub(super) fn declare_fuel(&mut self, contents: &Contents) {
        if self.env.modes.fuel && contents.has_loops {
            self.fuel.left = Some(self.builder.declare_var(I64));
            self.reload_fuel();
        }
    }

    /// Counts a valid operator before it is translated.
    pub(super) fn count_fuel(&mut self, operator: &Operator<'_>) {
        if !self.env.modes.fuel {
            return;
        }
        if !self.is_reachable() {
            // The line that was paid ahead has ended.
            (self.fuel.unpaid, self.fuel.ahead) = (0, None);
            return;
        }
        let Cost { units, counted } = cost(operator);
        self.fuel.unpaid += units;
        if matches!(operator, Operator::If { .. }) && self.fuel.ahead.is_none() {
            // Both arms pay.
        } else if self.continues_line(operator) {
            self.pay_ahead();
        } else if ends_line(operator) {
            self.pay();
        }
        if let Some(shift) = counted {
            self.pay_for_length(shift);
        }
    }

    /// Pays for the length of an instruction that moves many bytes or elements. Stops before it
    /// runs if the fuel does not suffice.
    fn pay_for_length(&mut self, shift: i64) {
        let count = *self.stack.last().expect("the number of bytes or elements");
        if self.constant(count).is_some_and(|count| count >> shift == 0) {
            return;
        }
        let count = self.widen(count);
        let units = self.ins().ushr_imm_u(count, shift);
        self.take_fuel(units);
        self.poll_fuel();
    }

    /// Whether an operator calls a function, and only the straight line continues after the call:
    /// no handler of an exception. An imported function may belong to the host, which can read the
    /// fuel.
    fn continues_line(&self, operator: &Operator<'_>) -> bool {
        let is_call = match operator {
            Operator::Call { function_index } => {
                *function_index >= self.env.info.imported_functions
            }
            Operator::CallIndirect { .. } | Operator::CallRef { .. } => true,
            _ => false,
        };
        is_call && self.handlers.is_empty()
    }

    /// The unpaid units at the start of an `if`, which both arms pay.
    pub(super) fn unpaid(&self) -> i64 {
        self.fuel.unpaid
    }

    /// Starts an arm of an `if`.
    pub(super) fn set_unpaid(&mut self, units: i64) {
        self.fuel.unpaid = units;
    }

    /// Pays for the straight line so far.
    pub(super) fn pay(&mut self) {
        let units = std::mem::take(&mut self.fuel.unpaid);
        match self.fuel.ahead.take() {
            Some(paid) => self.pay_more(paid, units),
            None if units > 0 => {
                let units = self.ins().iconst(I64, units);
                self.take_fuel(units);
            }
            None => {}
        }
    }

    /// Pays for the straight line so far, and later also for its remainder.
    fn pay_ahead(&mut self) {
        if self.fuel.ahead.is_some() {
            return;
        }
        let units = std::mem::take(&mut self.fuel.unpaid);
        let units = self.ins().iconst(I64, units);
        self.fuel.ahead = self.builder.func.dfg.value_def(units).inst();
        self.take_fuel(units);
    }

    /// Adds to a constant that was paid.
    fn pay_more(&mut self, paid: Inst, units: i64) {
        match &mut self.builder.func.dfg.insts[paid] {
            InstructionData::UnaryImm { imm, .. } => *imm = Imm64::new(imm.bits() + units),
            other => unreachable!("{other:?} is not a constant"),
        }
    }

    fn take_fuel(&mut self, units: Value) {
        let left = self.fuel_left();
        let left = self.ins().isub(left, units);
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

    /// Writes the fuel back to the store, before code that may read it.
    pub(super) fn write_fuel_back(&mut self) {
        if let Some(variable) = self.fuel.left {
            let left = self.builder.use_var(variable);
            self.set_fuel(left);
        }
    }

    /// Reloads the fuel, after code that may have used some.
    pub(crate) fn reload_fuel(&mut self) {
        if let Some(variable) = self.fuel.left {
            let store = self.store_context();
            let left = self.get(store, store::FUEL);
            self.builder.def_var(variable, left);
        }
    }

    /// Whether the fuel is used up.
    pub(super) fn is_out_of_fuel(&mut self) -> Value {
        let left = self.fuel_left();
        self.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0)
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

/// Whether control may leave this operator for anything but the next one, or reach the next one
/// from elsewhere.
fn ends_line(operator: &Operator<'_>) -> bool {
    use Operator::*;
    calls(operator)
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
