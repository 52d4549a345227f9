//! What the designs need of the runtime: the uncommon cases, since generated code
//! does what is common by itself. Tasks need nothing of their own.
//!
//! A design is a file or folder; what designs have in common is in [`lifecycle`](crate::run::lifecycle).

mod bag;
mod continuation;
mod fiber;
pub(crate) mod first_class;
