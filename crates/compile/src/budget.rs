//! What it costs to compile a function, counted in *steps*.
//!
//! A step is about ten nanoseconds of work. Each stage whose cost may be more than
//! linear in the length of a body counts its steps before it begins, and charges them to
//! the body's budget, which is linear in that length. The numbers depend on nothing but the
//! module and the settings, so a module is refused always or never.

use crate::limits::Limits;
use crate::{CompileError, memory};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many steps an instruction of Cranelift costs in all stages together.
pub(crate) const INSTRUCTION: u64 = 20;
/// How many steps it costs to list a reference at a call, or to know at the beginning of a
/// block that one is needed. It takes more memory than time.
const LIVE_REFERENCE: u64 = 40;
/// How many bytes of memory the same takes.
const LIVE_REFERENCE_MEMORY: u64 = 128;
/// After how many bytes more the allocator is asked whether it has them.
const MUCH: u64 = 16 << 20;

/// The steps that one body may still take.
pub(crate) struct Budget {
    function: u32,
    bytes: u64,
    most: u64,
    used: u64,
    /// How many bytes of memory the stages take beyond what the survey estimates.
    memory: u64,
}

impl Budget {
    /// The budget of a function whose body has this many bytes.
    pub fn new(function: u32, bytes: u64, limits: &Limits) -> Budget {
        let most = Limits::FREE_STEPS.saturating_add(limits.steps.saturating_mul(bytes));
        Budget { function, bytes, most, used: 0, memory: 0 }
    }

    /// Takes some steps for a stage. Fails if there are not as many left.
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

    /// Takes the steps and the memory to list references at calls, each at this many places
    /// together. Fails if there are not as many, or not as much.
    pub fn charge_references(&mut self, stage: &str, places: u64) -> Result<(), CompileError> {
        self.charge(stage, places.saturating_mul(LIVE_REFERENCE))?;
        let before = self.memory;
        self.memory = self.memory.saturating_add(places.saturating_mul(LIVE_REFERENCE_MEMORY));
        match before / MUCH == self.memory / MUCH {
            true => Ok(()),
            false => memory::check(self.function, self.memory),
        }
    }

    /// How many bytes of memory the stages take beyond what the survey estimates.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The index of the function.
    pub fn function(&self) -> u32 {
        self.function
    }

    /// How many steps were taken.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// How many may be taken.
    pub fn left(&self) -> u64 {
        self.most - self.used.min(self.most)
    }
}

/// The steps that all bodies of a module together may take.
pub(crate) struct Total {
    bytes: u64,
    most: u64,
    used: AtomicU64,
}

/// How many times as many steps as one function all together may take for free.
const ALL_TOGETHER: u64 = 4;

impl Total {
    /// The budget of a module whose bodies have this many bytes together.
    pub fn new(bytes: u64, limits: &Limits) -> Total {
        let free = Limits::FREE_STEPS.saturating_mul(ALL_TOGETHER);
        let most = free.saturating_add(limits.steps.saturating_mul(bytes));
        Total { bytes, most, used: AtomicU64::new(0) }
    }

    /// Adds what a body took. Whether this fails for some body does not depend on the order.
    pub fn charge(&self, steps: u64) -> Result<(), CompileError> {
        let used = self.used.fetch_add(steps, Ordering::Relaxed).saturating_add(steps);
        if used <= self.most {
            return Ok(());
        }
        let Total { bytes, most, .. } = *self;
        Err(CompileError::too_large(format!(
            "compiling its functions takes more than {most} steps, which is what is allowed \
             for {bytes} bytes of code (Config::max_steps)"
        )))
    }

    /// How many steps were taken.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}
