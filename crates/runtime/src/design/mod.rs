//! The operations of the designs that generated code does not inline.
//!
//! Each design is a file or folder. Tasks need none. Code that designs share is in
//! [`lifecycle`](crate::run::lifecycle).

mod bag;
mod continuation;
mod fiber;
pub(crate) mod first_class;
