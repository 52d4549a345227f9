//! Traps, exceptions, faults and misuse.

mod exceptions;
mod faults;
mod freed_memory;
mod misuse;
mod soundness;
mod traps;
