//! The functions of WASI, one file for each kind.
//!
//! Each takes what the program gets to see, the program's memory, and numbers as
//! the program passes them. Each checks first, does something, and stores its
//! results last. What a function returns is success or an error number.

pub(crate) mod fd;
pub(crate) mod path;
pub(crate) mod poll;
pub(crate) mod process;
pub(crate) mod sock;
