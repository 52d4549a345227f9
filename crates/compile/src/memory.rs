//! The memory that compiling takes: estimated, limited, and shared by threads.
//!
//! Cranelift aborts the process if an allocation fails. So before a body is compiled,
//! [`Memory::reserve`] estimates what that takes, refuses it if that is out of proportion, and
//! waits until the bodies that other threads compile leave room for it. Then it asks the
//! allocator for what this body and the others take, and gives it back at once: if there is
//! not as much, the body waits until it is the only one, and fails if there is not enough
//! even then.

use crate::CompileError;
use crate::function::MachineFunction;
use crate::limits::Limits;
use crate::survey::Survey;
use std::sync::{Condvar, Mutex, MutexGuard};

/// The memory that the bodies of a module share while they are compiled.
pub(crate) struct Memory<'a> {
    limits: &'a Limits,
    in_use: Mutex<InUse>,
    returned: Condvar,
}

/// What the bodies have reserved that are being compiled.
#[derive(Clone, Copy, Default)]
struct InUse {
    bodies: u64,
    bytes: u64,
    /// How many bytes were reserved since the allocator was asked.
    not_asked: u64,
}

/// What a body has reserved. Dropping it gives that back.
pub(crate) struct Reserved<'a> {
    memory: &'a Memory<'a>,
    bytes: u64,
}

impl<'a> Memory<'a> {
    /// The memory for compiling one module.
    pub fn new(limits: &'a Limits) -> Memory<'a> {
        Memory { limits, in_use: Mutex::default(), returned: Condvar::new() }
    }

    /// Reserves what a function takes. One that takes more than there is for all is
    /// compiled alone.
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
            let not_asked = in_use.not_asked.saturating_add(bytes);
            let asks = not_asked > SELDOM;
            if (is_alone || together <= Limits::FREE_MEMORY) && (!asks || is_there(together)) {
                let not_asked = if asks { 0 } else { not_asked };
                *in_use = InUse { bodies: in_use.bodies + 1, bytes: together, not_asked };
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
        // Nothing panics while it is locked.
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

/// Fails if there is not enough memory for something more that a function takes.
pub(crate) fn check(function: u32, bytes: u64) -> Result<(), CompileError> {
    match is_there(bytes) {
        true => Ok(()),
        false => Err(CompileError::OutOfMemory { what: format!("function {function}"), bytes }),
    }
}

/// Fails if there is not enough memory to put functions together.
pub(crate) fn check_image(functions: &[MachineFunction]) -> Result<(), CompileError> {
    let bytes = functions.iter().map(MachineFunction::memory).fold(0, u64::saturating_add);
    match is_there(bytes) {
        true => Ok(()),
        false => Err(CompileError::OutOfMemory { what: "the module".to_string(), bytes }),
    }
}

/// How many bytes the allocator is asked for beyond what was estimated: a small function may
/// take far more than it is long.
const MORE: u64 = 64 << 20;

/// How many bytes are reserved before the allocator is asked again: to ask takes as long as to
/// compile a short function. [`MORE`] has room for them.
const SELDOM: u64 = 8 << 20;
const _: () = assert!(SELDOM < MORE);

/// Whether the allocator has so many bytes now. They are given back untouched.
fn is_there(bytes: u64) -> bool {
    let bytes = usize::try_from(bytes.saturating_add(MORE)).unwrap_or(usize::MAX);
    let mut probe: Vec<u8> = Vec::new();
    let is_there = probe.try_reserve_exact(bytes).is_ok();
    // Else the compiler would see that nobody uses it.
    std::hint::black_box(&probe);
    is_there
}
