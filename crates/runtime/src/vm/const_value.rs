//! Operands of constant expressions.

use ropewalk_abi::RawVal;

/// A value on the stack of a constant expression. The collector follows references to objects.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ConstValue {
    Other(RawVal),
    Reference(u64),
}

impl ConstValue {
    pub fn raw(self) -> RawVal {
        match self {
            ConstValue::Other(value) => value,
            ConstValue::Reference(reference) => RawVal::from_u64(reference),
        }
    }
}
