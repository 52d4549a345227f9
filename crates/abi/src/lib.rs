//! The layouts, records and types that generated code and the runtime share.
//!
//! Every record is `#[repr(C)]`, and the compiler takes its offsets with `offset_of!`, so no layout
//! exists twice. The crate knows nothing of Cranelift, and nothing of how a store manages its
//! objects.
//!
//! Files are layers: each uses only those above it.
//!
//! | file | contents |
//! | --- | --- |
//! | [`types`] | value, function, memory, table and global types |
//! | [`names`] | names of functions, in memory or in a file |
//! | [`purpose`] | the designs of stack switching, and the purposes of stacks |
//! | [`trap`] | the reasons of traps |
//! | [`builtin`] | builtins: the functions of the runtime that generated code calls |
//! | [`clauses`] | lists of clauses, and finding one |
//! | [`signature`] | which parameters and results travel outside registers |
//! | [`heap`] | the layout of objects in the heap |
//! | [`transfer`] | the transfer area, through which those travel |
//! | [`trace`] | the values of a switch in a trace |
//! | [`code`] | compiled code and its tables |
//! | [`context`] | the records that generated code reads and writes |
//! | [`stack`] | references to stacks |
//! | [`module`] | the sections of a module, without its code |
//! | [`layout`] | the layout of instances |
//! | [`life`] | the states of a stack, and its control block after each transition |
//! | [`bound`] | the layout of arguments that are bound to a stack |
//! | [`access`] | memory accesses that may fault on purpose |

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
pub mod purpose;
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
