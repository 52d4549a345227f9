//! Limits on what compiling a function may cost, counted in *steps*.
//!
//! A step is about ten nanoseconds of work. Each stage whose cost may exceed the linear counts its
//! steps before it begins and charges them to the body's budget, which is linear in the length of
//! the body. The counts depend only on the module and the settings, so the same module is always
//! accepted or always refused.

use crate::CompileError;
use crate::target::Limits;
use std::sync::atomic::{AtomicU64, Ordering};

/// The steps that a Cranelift instruction costs in all stages together.
pub(crate) const INSTRUCTION: u64 = 20;
/// The steps that a live reference costs at a call or at the start of a block. It takes more memory
/// than time.
const LIVE_REFERENCE: u64 = 40;
/// The bytes of memory that a live reference takes there.
const LIVE_REFERENCE_MEMORY: u64 = 128;
/// The allocator is probed again after this many more bytes.
const PROBE_INTERVAL: u64 = 16 << 20;

/// The steps that one body may still take.
pub(crate) struct Budget {
    function: u32,
    bytes: u64,
    most: u64,
    used: u64,
    /// The bytes of memory that stages take beyond the survey's estimate.
    memory: u64,
}

impl Budget {
    /// The budget of a function whose body has this many bytes.
    pub fn new(function: u32, bytes: u64, limits: &Limits) -> Budget {
        let most = Limits::FREE_STEPS.saturating_add(limits.steps.saturating_mul(bytes));
        Budget { function, bytes, most, used: 0, memory: 0 }
    }

    /// Takes steps for a stage. Fails if too few are left.
    pub fn charge(&mut self, stage: &str, steps: u64) -> Result<(), CompileError> {
        self.used = self.used.saturating_add(steps);
        if self.used <= self.most {
            return Ok(());
        }
        let Budget { function, bytes, most, used, .. } = *self;
        Err(CompileError::too_large(format!(
            "compiling function {function} takes {used} or more steps, {steps} of them for \
             {stage}; at most {most} are allowed for {bytes} bytes of code (Config::max_steps)"
        )))
    }

    /// Takes the steps and the memory for listing references in this many places. Fails if either
    /// is not available.
    pub fn charge_references(&mut self, stage: &str, places: u64) -> Result<(), CompileError> {
        self.charge(stage, places.saturating_mul(LIVE_REFERENCE))?;
        let before = self.memory;
        self.memory = self.memory.saturating_add(places.saturating_mul(LIVE_REFERENCE_MEMORY));
        if before / PROBE_INTERVAL == self.memory / PROBE_INTERVAL {
            return Ok(());
        }
        require_memory(self.memory, || format!("function {}", self.function))
    }

    /// The bytes of memory that stages took beyond the survey's estimate.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    pub fn function(&self) -> u32 {
        self.function
    }

    /// The steps that were taken.
    pub fn used(&self) -> u64 {
        self.used
    }

    pub fn left(&self) -> u64 {
        self.most - self.used.min(self.most)
    }
}

/// The steps that all bodies of a module together may take.
pub(crate) struct ModuleBudget {
    bytes: u64,
    most: u64,
    used: AtomicU64,
}

/// A module gets this many times the free steps of a function.
const MODULE_FACTOR: u64 = 4;

impl ModuleBudget {
    /// The budget of a module whose bodies have this many bytes together.
    pub fn new(bytes: u64, limits: &Limits) -> ModuleBudget {
        let free = Limits::FREE_STEPS.saturating_mul(MODULE_FACTOR);
        let most = free.saturating_add(limits.steps.saturating_mul(bytes));
        ModuleBudget { bytes, most, used: AtomicU64::new(0) }
    }

    /// Adds the steps of a body. Whether any body fails does not depend on their order.
    pub fn charge(&self, steps: u64) -> Result<(), CompileError> {
        let used = self.used.fetch_add(steps, Ordering::Relaxed).saturating_add(steps);
        if used <= self.most {
            return Ok(());
        }
        let ModuleBudget { bytes, most, .. } = *self;
        Err(CompileError::too_large(format!(
            "compiling its functions takes more than the {most} steps that are allowed for \
             {bytes} bytes of code (Config::max_steps)"
        )))
    }

    /// The steps that were taken.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

/// The bytes that the allocator must have beyond an estimate: a small function may take far more
/// memory than its length suggests.
pub(crate) const MEMORY_RESERVE: u64 = 64 << 20;

/// Fails if the allocator does not have this much memory.
pub(crate) fn require_memory(
    bytes: u64,
    what: impl FnOnce() -> String,
) -> Result<(), CompileError> {
    match has_memory(bytes) {
        true => Ok(()),
        false => Err(CompileError::OutOfMemory { what: what(), bytes }),
    }
}

/// Whether the allocator has this many bytes now. They are given back untouched.
pub(crate) fn has_memory(bytes: u64) -> bool {
    let bytes = usize::try_from(bytes.saturating_add(MEMORY_RESERVE)).unwrap_or(usize::MAX);
    let mut probe: Vec<u8> = Vec::new();
    let has_memory = probe.try_reserve_exact(bytes).is_ok();
    // Otherwise the compiler would remove the unused allocation.
    std::hint::black_box(&probe);
    has_memory
}
