//! The sections, types and clause lists of a module, as data.

pub(crate) mod clause_list;
pub(crate) mod convert;
mod environment;
pub(crate) mod sections;
mod subtyping;

pub(crate) use environment::Environment;
pub(crate) use subtyping::{Canonical, FIBER_BRAND, STACK_BRAND, Subtyping, is_nullable, non_null};
