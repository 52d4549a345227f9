//! Operations on numbers, objects, variables and control flow.

use super::value::Shape;
use super::walk::OnReturn;
use super::{CursorKind, Machine, Step, Trap, Value};
use crate::designs::program::{Op, TABLE_LENGTH, Ty};
use std::rc::Rc;

impl Machine {
    pub(super) fn basic(&mut self, op: &Rc<Op>) -> Step {
        match &**op {
            Op::Const { to, value } => self.set(*to, Value::from_number(*value)),
            Op::Mix { to, a, b } => {
                let (a, b) = (self.take(*a).number(), self.take(*b).number());
                self.set(*to, Value::from_number(a.wrapping_mul(31).wrapping_add(b)))
            }
            Op::Copy { to, from } => {
                let value = self.take(*from);
                self.set(*to, value)
            }
            Op::IsNull { to, from } => {
                let value = self.take(*from);
                if self.type_of(*from) == Ty::Linear {
                    self.drop_stack(value);
                }
                self.set(*to, Value::from_number(i64::from(value.is_null())))
            }
            Op::Drop { from } => {
                let value = self.take(*from);
                self.drop_stack(value);
                Ok(())
            }
            Op::GlobalGet { to, .. } | Op::TableGet { to, .. } => {
                let (variable, ty) = self.variable(op)?;
                let value = Self::read(variable, ty);
                self.set(*to, value)
            }
            Op::GlobalSet { from, .. } | Op::TableSet { from, .. } => {
                let value = self.take(*from);
                let (variable, ty) = self.variable(op)?;
                Self::write(variable, ty, value)
            }
            Op::NewStruct { to, number, object } => {
                let (number, object) = (self.take(*number).number(), self.take(*object));
                let object = self.new_object(Shape::Struct, number, object);
                self.set(*to, object)
            }
            Op::NewArray { to, number, length } => {
                let number = self.take(*number).number();
                let object = self.new_object(Shape::Array(*length), number, Value::Zero);
                self.set(*to, object)
            }
            Op::NewI31 { to, number } => {
                let number = self.take(*number).number();
                let object = self.new_object(Shape::I31, number, Value::Zero);
                self.set(*to, object)
            }
            Op::Number { to, object } => {
                let number = self.number_in(self.peek(*object));
                self.set(*to, Value::from_number(number))
            }
            Op::Wrap { to, from } => {
                let (ty, value) = (self.type_of(*from), self.take(*from));
                let object = self.new_object(Shape::Wrap(ty), 0, value);
                self.set(*to, object)
            }
            Op::Unwrap { to, object } => {
                let (object, ty) = (self.peek(*object), self.type_of(*to));
                let value = Self::read(self.wrapped_in(object, ty)?, ty);
                self.set(*to, value)
            }
            Op::Refill { object, from } => {
                let object = self.peek(*object);
                self.wrapped_in(object, Ty::Linear)?;
                let value = self.take(*from);
                Self::write(self.wrapped_in(object, Ty::Linear)?, Ty::Linear, value)
            }
            Op::IsCleared { to, object } => {
                let object = self.peek(*object);
                let is_null = self.wrapped_in(object, Ty::Linear)?.is_null();
                self.set(*to, Value::from_number(i64::from(is_null)))
            }
            _ => self.control(op),
        }
    }

    fn control(&mut self, op: &Rc<Op>) -> Step {
        match &**op {
            Op::If { condition, then, otherwise } => {
                let holds = self.peek(*condition).number() != 0;
                self.open(if holds { *then } else { *otherwise }, CursorKind::Plain);
            }
            Op::Choose { number, arms } => {
                let number = usize::try_from(self.peek(*number).number()).ok();
                if let Some(arm) = number.and_then(|number| arms.get(number)) {
                    self.open(*arm, CursorKind::Plain);
                }
            }
            Op::Loop { counter, body } => self.open(*body, CursorKind::Loop(*counter)),
            Op::Try { body, .. } => self.open(*body, CursorKind::Try(op.clone())),
            Op::Throw { tag, args } => {
                let values = self.take_all(args);
                let exception = self.new_exception(*tag, values);
                return self.throw(exception);
            }
            Op::ThrowRef { exn } => return self.throw_ref(self.peek(*exn)),
            Op::Return => self.frame().cursors.clear(),
            Op::Unreachable => return Err(Trap("unreachable")),
            Op::Call { function, args, .. } => {
                let args = self.take_all(args);
                return self.enter(*function, args, OnReturn::Call);
            }
            Op::ReturnCall { function, args } => {
                let args = self.take_all(args);
                self.drop_linear_locals();
                let frame = self.stacks[self.running].frames.pop().expect("a frame to leave");
                return self.enter(*function, args, frame.then);
            }
            other => unreachable!("not a basic operation: {other:?}"),
        }
        Ok(())
    }

    /// Reads a variable, and clears a linear one.
    fn read(place: &mut Value, ty: Ty) -> Value {
        if ty == Ty::Linear { std::mem::take(place) } else { *place }
    }

    fn write(place: &mut Value, ty: Ty, value: Value) -> Step {
        if ty == Ty::Linear && !place.is_null() {
            return Err(Trap("linear slot is not empty"));
        }
        *place = value;
        Ok(())
    }

    /// The variable of an operation, and its type.
    fn variable(&mut self, op: &Op) -> Result<(&mut Value, Ty), Trap> {
        self.globals.resize(self.program.globals.len(), Value::Zero);
        self.tables.resize(self.program.tables.len(), vec![Value::Zero; TABLE_LENGTH as usize]);
        match *op {
            Op::GlobalGet { global, .. } | Op::GlobalSet { global, .. } => {
                Ok((&mut self.globals[global], self.program.globals[global]))
            }
            Op::TableGet { table, index, .. } | Op::TableSet { table, index, .. } => {
                let place = usize::try_from(index).ok();
                let place = place.and_then(|index| self.tables[table].get_mut(index));
                let place = place.ok_or(Trap("out of bounds table access"))?;
                Ok((place, self.program.tables[table]))
            }
            _ => unreachable!("not about a variable: {op:?}"),
        }
    }
}
