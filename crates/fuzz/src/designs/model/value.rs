//! Values of the model.

use super::{Machine, StackId, Step, Trap};
use crate::designs::program::{TagId, Ty};

/// A value. Null and the number 0 are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Value {
    #[default]
    Zero,
    Number(i64),
    /// An object of the heap.
    Object(usize),
    /// An exception.
    Exception(usize),
    /// A suspended group. The reference works once: it is valid while the stack has this epoch.
    Once {
        /// The outermost stack of the group.
        stack: StackId,
        epoch: u64,
    },
    /// A task or fiber, for its whole life.
    Named(StackId),
}

impl Value {
    pub fn is_null(self) -> bool {
        self == Value::Zero
    }

    pub fn number(self) -> i64 {
        match self {
            Value::Number(number) => number,
            _ => 0,
        }
    }

    pub fn from_number(number: i64) -> Value {
        if number == 0 { Value::Zero } else { Value::Number(number) }
    }
}

/// The shape of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Struct,
    /// An array with this length.
    Array(i64),
    /// An `i31`.
    I31,
    /// A struct that wraps a reference of a type.
    Wrap(Ty),
}

/// An object of the heap.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    pub shape: Shape,
    pub number: i64,
    pub reference: Value,
}

/// An exception. Copies of a reference share it.
#[derive(Clone, Debug)]
pub struct Exception {
    pub tag: TagId,
    pub values: Vec<Value>,
}

impl Machine {
    pub(super) fn new_object(&mut self, shape: Shape, number: i64, reference: Value) -> Value {
        self.objects.push(Object { shape, number, reference });
        Value::Object(self.objects.len() - 1)
    }

    /// The number in an object, by which programs tell objects apart.
    pub(super) fn number_in(&self, value: Value) -> i64 {
        let Value::Object(object) = value else { return -1 };
        let object = self.objects[object];
        match object.shape {
            Shape::Struct => object.number,
            Shape::Array(length) => object.number.wrapping_add(length),
            Shape::I31 => i64::from((object.number as i32) << 1 >> 1),
            Shape::Wrap(_) => -2,
        }
    }

    pub(super) fn wrapped_in(&mut self, value: Value, ty: Ty) -> Result<&mut Value, Trap> {
        let Value::Object(object) = value else { return Err(Trap("cast failure")) };
        match &mut self.objects[object] {
            object if object.shape == Shape::Wrap(ty) => Ok(&mut object.reference),
            _ => Err(Trap("cast failure")),
        }
    }

    pub(super) fn new_exception(&mut self, tag: TagId, values: Vec<Value>) -> usize {
        self.exceptions.push(Exception { tag, values });
        self.exceptions.len() - 1
    }

    /// Throws what an `exnref` refers to.
    pub(super) fn throw_ref(&mut self, exception: Value) -> Step {
        match exception {
            Value::Exception(exception) => self.throw(exception),
            _ => Err(Trap("null exception reference")),
        }
    }
}
