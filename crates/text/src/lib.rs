//! Reads WebAssembly text and finds the source of every error.
//!
//! A [`Text`] is a module in the text format together with its binary. What
//! is wrong with the text itself (a missing parenthesis, an unknown name) is
//! found when it is parsed. What is wrong with the module (a type mismatch)
//! is found later, by whoever validates the binary, at an offset of the
//! binary; the text knows where in the source that is.
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
//! An offset becomes a place in the source in two steps, and only when an
//! error asks for it: the binary is walked up to the offset, which names, say,
//! operator 2 of function 0; a table of what was parsed says where that stands.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `text` | a module in the text format and its binary |
//! | `encoded` | a module that was encoded, however it is written |
//! | `place` | what a byte of a binary belongs to |
//! | `locate` | from an offset of a binary to a place |
//! | `spans` | from a place to the source |
//! | `fields` | how the spans of a parsed module are gathered |
//! | `scan` | the parts of a field that the parser gives no span |
//! | `structure` | what the grammar refuses, and the parser does not |
//! | `literal` | modules written as string literals |
//! | `dialect` | text of the other designs becomes standard text |
//! | `named` | what a validator says, in words that help |
//! | `types` | the types of a binary, and how messages say them |
//! | `clause` | which clause of an operator is wrong |
//! | `constant` | what a constant expression should be, and what it is |
//! | `watched` | a module that remembers which types did not match |
//! | `fault` | what is wrong at which byte |
//! | `position` | lines and columns |
//! | `error` | errors that show the source |
//! | `snippet` | the part of a line that an error shows |
//!
//! Bag of stacks, tasks, fibers and first-class stacks are dialects of the
//! text. A module that uses one is lowered to standard text first, which
//! [`Text::lowered`] shows; errors are shown in the source all the same.
//!
//! The crate knows nothing of the engine, and does not validate, with one
//! exception: that the kinds of different designs do not match each other
//! cannot be seen in the binary, so it is checked here.

#![forbid(unsafe_code)]

mod clause;
mod constant;
mod dialect;
mod encoded;
mod error;
mod fault;
mod fields;
mod framing;
mod literal;
mod locate;
mod named;
mod place;
mod position;
mod scan;
mod snippet;
mod spans;
mod structure;
mod text;
mod types;
mod watched;

pub use dialect::Script;
pub use error::TextError;
pub use framing::{cut_at, function_at};
pub use named::explain_binary;
pub use position::Position;
pub use text::Text;
