//! What generated code and the runtime share.
//!
//! Every record here is `#[repr(C)]`; the compiler takes its offsets with
//! `offset_of!`, so no layout is written down twice. The crate knows nothing
//! of Cranelift and nothing of how a store manages its objects.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`types`] | value, function, memory, table and global types |
//! | [`module`] | what a compiled module says about itself |
//! | [`names`] | names of functions, wherever they lie |
//! | [`heap`] | the layout of objects in the heap |
//! | [`layout`] | where things are inside an instance |
//! | [`context`] | the records that generated code reads and writes |
//! | [`code`] | compiled code and its tables |
//! | [`stack`] | references to stacks |
//! | [`bound`] | where arguments lie that are bound to a stack |
//! | [`clauses`] | lists of clauses, and finding one |
//! | [`life`] | what the record of a stack says after each transition |
//! | [`signature`] | which parameters and results travel outside registers |
//! | [`transfer`] | the area through which those travel |
//! | [`builtin`] | the functions of the runtime that generated code calls |
//! | [`trace`] | which values a switch that is recorded has |
//! | [`trap`] | why a computation was ended |
//! | [`access`] | accesses of memory that may fault on purpose |

pub mod access;
pub mod bound;
pub mod builtin;
pub mod clauses;
pub mod code;
pub mod context;
pub mod heap;
pub mod layout;
pub mod life;
pub mod module;
pub mod names;
pub mod signature;
pub mod stack;
pub mod trace;
pub mod transfer;
pub mod trap;
pub mod types;

pub use builtin::Builtin;
pub use context::*;
pub use layout::InstanceLayout;
pub use trap::TrapCode;
pub use types::*;
