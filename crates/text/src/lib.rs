//! Reads WebAssembly text and finds the source of every error.
//!
//! A [`Text`] is a module in the text format together with its binary. Errors in the text itself (a
//! missing parenthesis, an unknown name) are found when it is parsed. Errors in the module (a type
//! mismatch) are found later, by a validator, at an offset of the binary. The text maps that offset
//! to a position in the source.
//!
//! ```
//! use ropewalk_text::Text;
//!
//! let text = Text::parse(
//!     "(module
//!        (func (result i32)
//!          (i32.add
//!            (i32.const 1)
//!            (i64.const 2))))",
//! )?;
//! let error = wasmparser::validate(text.binary()).err().unwrap();
//! let error = text.error_at(error.offset() as usize, error.message());
//! assert_eq!(
//!     error.with_path("sum.wat").to_string(),
//!     "\
//! type mismatch: expected i32, found i64
//!   --> sum.wat:3:11
//!    |
//!  3 |          (i32.add
//!    |           ^"
//! );
//! # Ok::<(), ropewalk_text::TextError>(())
//! ```
//!
//! An offset becomes a position in two steps, and only when an error asks for it. A walk through
//! the binary finds what the offset belongs to, for example operator 2 of function 0. A table from
//! the parser then says where the source has it.
//!
//! | folder or file | contents |
//! | --- | --- |
//! | `error` | errors, positions, and the lines of source that they show |
//! | `syntax` | what the parser leaves out: parts of fields, string literals, rules of the grammar |
//! | `binary` | sections, bodies and types of a binary |
//! | `source_map` | from an offset of a binary to an offset of the source |
//! | `explain` | rewrites messages of a validator |
//! | `dialect` | lowers the text of the other designs to standard text |
//! | `encode` | encodes a module of any form; checks that the kinds of designs do not mix |
//! | `text` | [`Text`] |
//!
//! Each folder or file uses only those above it.
//!
//! Bag of stacks, tasks, fibers and first-class stacks are dialects of the text. A module that uses
//! one is first lowered to standard text, which [`Text::lowered`] returns. Errors still refer to the
//! source.
//!
//! The crate knows nothing of the engine and leaves validation to others, with one exception: the
//! binary does not tell the kinds of different designs apart, so they are checked here.

#![forbid(unsafe_code)]

mod binary;
mod dialect;
mod encode;
mod error;
mod explain;
mod source_map;
mod syntax;
mod text;

pub use binary::{cut_at, function_at};
pub use dialect::{LEGACY_EXCEPTIONS, Script, dialect_instructions};
pub use error::{Position, TextError};
pub use explain::explain_binary;
pub use text::Text;
