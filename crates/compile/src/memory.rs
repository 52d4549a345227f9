//! The memory that compiling takes: estimated, asked for, and shared between threads.
//!
//! Cranelift aborts the process if an allocation fails. So before a body is compiled,
//! [`Memory::reserve`] estimates what that takes, refuses it if it is out of proportion, waits
//! until the bodies that other threads compile leave room for it, and sees whether the
//! allocator has as much.

use crate::CompileError;
use crate::limits::Limits;
use crate::survey::Survey;
use std::sync::{Condvar, Mutex};

/// The memory that is left for the bodies of a module.
pub(crate) struct Memory<'a> {
    limits: &'a Limits,
    /// How many bytes no body has reserved.
    left: Mutex<u64>,
    returned: Condvar,
}

/// What a body has reserved. Dropping it gives that back.
pub(crate) struct Reserved<'a> {
    memory: &'a Memory<'a>,
    bytes: u64,
}

impl<'a> Memory<'a> {
    /// The memory for compiling one module.
    pub fn new(limits: &'a Limits) -> Memory<'a> {
        Memory { limits, left: Mutex::new(Limits::FREE_MEMORY), returned: Condvar::new() }
    }

    /// Reserves what a function takes. One that takes more than there is for all gets what
    /// there is, and so is compiled alone.
    pub fn reserve(&'a self, function: u32, survey: &Survey) -> Result<Reserved<'a>, CompileError> {
        let (needed, most) = (survey.memory(self.limits), self.most(survey.bytes()));
        if needed > most {
            return Err(CompileError::too_large(format!(
                "compiling function {function} takes about {needed} bytes of memory; at most \
                 {most} are allowed for {} bytes of code (Config::max_compile_memory)",
                survey.bytes()
            )));
        }
        let bytes = needed.min(Limits::FREE_MEMORY);
        // Nothing panics while this is locked.
        let left = self.left.lock().unwrap_or_else(|error| error.into_inner());
        let left = self.returned.wait_while(left, |left| *left < bytes);
        *left.unwrap_or_else(|error| error.into_inner()) -= bytes;
        let reserved = Reserved { memory: self, bytes };
        match is_there(needed) {
            true => Ok(reserved),
            false => Err(CompileError::OutOfMemory { function, bytes: needed }),
        }
    }

    fn most(&self, bytes: u64) -> u64 {
        Limits::FREE_MEMORY.saturating_add(self.limits.memory.saturating_mul(bytes))
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        *self.memory.left.lock().unwrap_or_else(|error| error.into_inner()) += self.bytes;
        self.memory.returned.notify_all();
    }
}

/// Up to how many bytes the allocator is asked for in any case.
const LEAST: u64 = 1 << 20;

/// Whether the allocator has so many bytes now. They are given back untouched.
fn is_there(bytes: u64) -> bool {
    let bytes = usize::try_from(bytes.max(LEAST)).unwrap_or(usize::MAX);
    std::hint::black_box(Vec::<u8>::new()).try_reserve_exact(bytes).is_ok()
}
