//! Types of values, external objects, imports and exports.

pub(crate) mod externtype;
pub(crate) mod importtype;
pub(crate) mod valtype;
