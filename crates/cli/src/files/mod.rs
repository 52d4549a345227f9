//! Files that the command reads and writes.
//!
//! | module | contents |
//! | --- | --- |
//! | `input` | reading modules and scripts |
//! | `output` | writing files without damaging what they replace |
//! | `invocation` | a command line and where it was given |
//! | `recording` | what `run --record` writes and `replay` reads |
//! | `saved_program` | what `run --snapshot-on` writes and `resume` reads |
//! | `name_section` | removing label names that other tools reject |

pub(crate) mod input;
pub(crate) mod invocation;
pub(crate) mod name_section;
pub(crate) mod output;
pub(crate) mod recording;
pub(crate) mod saved_program;
