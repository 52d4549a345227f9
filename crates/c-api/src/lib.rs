//! The C API of Ropewalk: `include/wasm.h`, the interface that several engines share, and
//! `include/ropewalk.h` with extensions.
//!
//! The headers are the documentation; `docs/C_API.md` explains building and linking. The folders
//! are layers. Each uses only those above it:
//!
//! | folder | contents |
//! | --- | --- |
//! | `support` | the boundary to C, errors, vectors, strings |
//! | `types` | types of values, external objects, imports and exports |
//! | `objects` | engines, stores, references to objects, values |
//! | `items` | functions, memories and other objects, one file each; traps |
//! | `run` | linkers, continuations, limits, WASI |
//!
//! # What C promises
//!
//! The parameters of functions have Rust's types for C's pointers, which state what C promises.
//! A function that relies on more is `unsafe` and documents it.
//!
//! | in Rust | in C | promise |
//! | --- | --- | --- |
//! | `Option<&T>` | `const T*` | null, or an object of this library that has not been deleted |
//! | `Option<&mut T>` | `T*` | the same, and no other code uses it during the call |
//! | `Option<Box<T>>` | `own T*` | the same, and the previous owner does not use it again |
//! | `Out<T>` | `T* out` | null, or a location that may be uninitialized |
//!
//! A vector has as many elements as its size says. A value whose kind is a reference has a pointer
//! to an object, or null. Only one thread at a time uses a store and its objects. Host functions
//! return: they neither throw C++ exceptions nor call `longjmp`.

#![allow(non_camel_case_types, reason = "these are the names of the headers")]

mod items;
mod objects;
mod run;
mod support;
mod types;
