//! The C API of Ropewalk: `include/wasm.h`, which other engines have too, and
//! `include/ropewalk.h` with what only this one has.
//!
//! The headers are the documentation; `docs/C_API.md` says how to build and link. There is a
//! file here for each object of the headers, and these for what they share:
//!
//! | file | what it holds |
//! | --- | --- |
//! | `boundary` | nothing panics into C; errors for functions that cannot return one; null |
//! | `vector` | vectors |
//! | `reference` | what functions, memories, traps and all other objects are |
//! | `host_info` | what C attaches to an object |
//! | `store` | how a function gets at the store of its object, also while WebAssembly runs |
//!
//! # What C promises
//!
//! Functions here have Rust's types for C's pointers, which say what C promises. Where a
//! function needs more, it is `unsafe` and says so.
//!
//! | in Rust | in C | promise |
//! | --- | --- | --- |
//! | `Option<&T>` | `const T*` | null, or what this library has made and nobody has deleted |
//! | `Option<&mut T>` | `T*` | the same, and nobody else uses it meanwhile |
//! | `Option<Box<T>>` | `own T*` | the same, and the other side does not use it again |
//! | `Out<T>` | `T* out` | null, or a place that is written, whatever was there |
//!
//! A vector has as many elements as it says. A value with a kind of references has a
//! pointer to an object, or null. One thread at a time uses a store and the objects of it.
//! Functions of C's return: they neither throw nor jump out.

#![allow(non_camel_case_types, reason = "these are the names of the headers")]

mod boundary;
mod continuation;
mod engine;
mod error;
mod external;
mod externtype;
mod foreign;
mod frame;
mod func;
mod global;
mod host_info;
mod importtype;
mod instance;
mod limits;
mod linker;
mod memory;
mod module;
mod reference;
mod store;
mod table;
mod tag;
mod trap;
mod valtype;
mod value;
mod vector;
mod wasi;
