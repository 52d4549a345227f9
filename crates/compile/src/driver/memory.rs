//! The memory that compiling takes: estimated, limited, and shared by threads.
//!
//! Cranelift aborts the process if an allocation fails. So before a body is compiled,
//! [`Memory::reserve`] estimates its memory, and refuses the body if that is out of proportion. It
//! waits until the bodies that other threads compile leave room, and probes the allocator for the
//! memory of all these bodies. If the allocator does not have it, the body waits until it is the
//! only one, and fails if the memory does not suffice even then.

use super::survey::Survey;
use crate::CompileError;
use crate::budget::{MEMORY_RESERVE, has_memory};
use crate::target::Limits;
use std::sync::{Condvar, Mutex, MutexGuard};

/// The memory that the bodies of a module share during compilation.
pub(super) struct Memory<'a> {
    limits: &'a Limits,
    in_use: Mutex<InUse>,
    returned: Condvar,
}

/// The reservations of the bodies that are being compiled.
#[derive(Clone, Copy, Default)]
struct InUse {
    bodies: u64,
    bytes: u64,
    /// The bytes that were reserved since the last probe.
    since_probe: u64,
}

/// The reservation of a body, which ends when it is dropped.
pub(super) struct Reserved<'a> {
    memory: &'a Memory<'a>,
    bytes: u64,
}

impl<'a> Memory<'a> {
    /// The memory for compiling one module.
    pub fn new(limits: &'a Limits) -> Memory<'a> {
        Memory { limits, in_use: Mutex::default(), returned: Condvar::new() }
    }

    /// Reserves the memory of a function. A function that takes more than all may share is compiled
    /// alone.
    pub fn reserve(&'a self, function: u32, survey: &Survey) -> Result<Reserved<'a>, CompileError> {
        let bytes = survey.memory(self.limits);
        let most = self.limits.memory.saturating_mul(survey.bytes());
        let most = Limits::FREE_MEMORY.saturating_add(most);
        if bytes > most {
            return Err(CompileError::too_large(format!(
                "compiling function {function} takes about {bytes} bytes of memory; at most \
                 {most} are allowed for {} bytes of code (Config::max_compile_memory)",
                survey.bytes()
            )));
        }
        let mut in_use = self.lock();
        loop {
            let together = in_use.bytes.saturating_add(bytes);
            let is_alone = in_use.bodies == 0;
            let since_probe = in_use.since_probe.saturating_add(bytes);
            let probes = since_probe > PROBE_INTERVAL;
            if (is_alone || together <= Limits::FREE_MEMORY) && (!probes || has_memory(together)) {
                let since_probe = if probes { 0 } else { since_probe };
                *in_use = InUse { bodies: in_use.bodies + 1, bytes: together, since_probe };
                return Ok(Reserved { memory: self, bytes });
            }
            if is_alone {
                let what = format!("function {function}");
                return Err(CompileError::OutOfMemory { what, bytes });
            }
            in_use = self.returned.wait(in_use).unwrap_or_else(|error| error.into_inner());
        }
    }

    fn lock(&self) -> MutexGuard<'_, InUse> {
        // No code panics while it is locked.
        self.in_use.lock().unwrap_or_else(|error| error.into_inner())
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let mut in_use = self.memory.lock();
        in_use.bodies -= 1;
        in_use.bytes -= self.bytes;
        self.memory.returned.notify_all();
    }
}

/// The allocator is probed again after this many bytes: a probe takes as long as compiling a short
/// function.
const PROBE_INTERVAL: u64 = 8 << 20;
const _: () = assert!(PROBE_INTERVAL < MEMORY_RESERVE);
