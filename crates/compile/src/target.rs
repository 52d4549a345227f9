//! The machine to compile for, and how.

use crate::limits::Limits;
use crate::{CompileError, arch};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};

/// How hard to try to make code fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptLevel {
    /// Compile fast.
    None,
    /// Make code that runs fast.
    #[default]
    Speed,
    /// Make code that runs fast and is small.
    SpeedAndSize,
}

/// The machine that this process runs on, as a target for code. A cheap handle.
#[derive(Clone)]
pub struct Target {
    pub(crate) isa: OwnedTargetIsa,
    /// The same, with registers allocated in a single pass.
    pub(crate) single_pass_isa: OwnedTargetIsa,
    /// The same, without an optimiser as well, for functions that would take too long.
    pub(crate) frugal_isa: OwnedTargetIsa,
    /// Whether the machine multiplies and adds in one step.
    pub(crate) has_fma: bool,
    /// Whether a stack is moved to other memory before every switch to it.
    pub(crate) move_stacks: bool,
    /// Whether the runtime checks all stacks after each switch.
    pub(crate) check_stacks: bool,
    /// Whether functions look from time to time whether they are to stop.
    pub(crate) interruption: bool,
    /// Whether what functions execute is counted.
    pub(crate) fuel: bool,
    /// Whether the runtime parks all suspended stacks after each switch.
    pub(crate) park_always: bool,
    /// Whether the runtime records each switch.
    pub(crate) trace: bool,
    /// Whether 32-bit memories reserve less address space than an index can reach, so
    /// that indices are compared with their length.
    pub(crate) small_memories: bool,
    /// Whether every pointer that frames have during calls is listed, and no register has
    /// anything then.
    pub(crate) snapshots: bool,
    /// How much a module may ask for.
    pub(crate) limits: Limits,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").field("isa", &self.isa.name()).finish_non_exhaustive()
    }
}

impl Target {
    /// This machine. Fails on one that lacks what generated code relies on.
    pub fn host(opt_level: OptLevel) -> Result<Target, CompileError> {
        arch::check_machine()?;
        let isa = host_isa(opt_level, "backtracking")?;
        let single_pass_isa = host_isa(opt_level, "single_pass")?;
        let frugal_isa = host_isa(OptLevel::None, "single_pass")?;
        let has_fma = arch::has_fused_multiply_add();
        let limits = Limits::default();
        Ok(Target {
            isa,
            single_pass_isa,
            frugal_isa,
            has_fma,
            move_stacks: false,
            check_stacks: false,
            interruption: false,
            fuel: false,
            park_always: false,
            trace: false,
            small_memories: false,
            snapshots: false,
            limits,
        })
    }

    /// The settings that generated code depends on, by name: those of the code
    /// generator, the features of the machine, and ours.
    pub fn settings(&self) -> Vec<(String, String)> {
        // The allocator of registers and limits change code, but not what it relies on.
        let &Target {
            ref isa,
            single_pass_isa: _,
            frugal_isa: _,
            has_fma: _,
            move_stacks,
            check_stacks,
            interruption,
            fuel,
            park_always,
            trace,
            small_memories,
            snapshots,
            limits: _,
        } = self;
        let ours = [
            ("move_stacks", move_stacks),
            ("check_stacks", check_stacks),
            ("interruption", interruption),
            ("fuel", fuel),
            ("park_always", park_always),
            ("trace", trace),
            ("small_memories", small_memories),
            ("snapshots", snapshots),
        ];
        let ours = ours.map(|(name, value)| (name.to_string(), value.to_string()));
        let (flags, features) = (isa.flags(), isa.isa_flags());
        let theirs = flags.iter().chain(features);
        let theirs = theirs.map(|flag| (flag.name.to_string(), flag.value_string()));
        let machine = ("machine".to_string(), isa.triple().to_string());
        [machine].into_iter().chain(ours).chain(theirs).collect()
    }

    /// The same, for modules that may ask for so much.
    pub fn limits(self, limits: Limits) -> Target {
        Target { limits, ..self }
    }

    /// The same, for code that moves a stack before every switch to it.
    pub fn move_stacks(self, enable: bool) -> Target {
        Target { move_stacks: enable, ..self }
    }

    /// The same, for code that has the runtime check all stacks after every
    /// switch.
    pub fn check_stacks(self, enable: bool) -> Target {
        Target { check_stacks: enable, ..self }
    }

    /// The same, for code that can be interrupted.
    pub fn interruption(self, enable: bool) -> Target {
        Target { interruption: enable, ..self }
    }

    /// The same, for code that counts what it executes.
    pub fn fuel(self, enable: bool) -> Target {
        Target { fuel: enable, ..self }
    }

    /// The same, for code that has the runtime park all suspended stacks after every
    /// switch.
    pub fn park_always(self, enable: bool) -> Target {
        Target { park_always: enable, ..self }
    }

    /// The same, for code that has the runtime record each switch.
    pub fn trace(self, enable: bool) -> Target {
        Target { trace: enable, ..self }
    }

    /// The same, for code whose frames can be written down and used in another store.
    pub fn snapshots(self, enable: bool) -> Target {
        Target { snapshots: enable, ..self }
    }

    /// The same, for code that compares every index of a memory with its length.
    pub fn small_memories(self, enable: bool) -> Target {
        Target { small_memories: enable, ..self }
    }
}

fn host_isa(opt_level: OptLevel, allocator: &str) -> Result<OwnedTargetIsa, CompileError> {
    let builder =
        cranelift_native::builder().map_err(|reason| CompileError::Machine(reason.to_string()))?;
    let mut flags = flags(opt_level);
    flags.set("regalloc_algorithm", allocator).expect("Cranelift knows its own settings");
    let isa = builder.finish(settings::Flags::new(flags));
    isa.map_err(|error| CompileError::Machine(error.to_string()))
}

fn flags(opt_level: OptLevel) -> settings::Builder {
    let opt_level = match opt_level {
        OptLevel::None => "none",
        OptLevel::Speed => "speed",
        OptLevel::SpeedAndSize => "speed_and_size",
    };
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    let mut builder = settings::builder();
    for (name, value) in [
        ("opt_level", opt_level),
        ("enable_verifier", verify),
        // Stack walks and relocation follow frame pointers.
        ("preserve_frame_pointers", "true"),
        // Frames larger than a page are probed by a stub of ours that keeps no
        // address of the stack in a register.
        ("enable_probestack", "true"),
        ("probestack_strategy", "outline"),
        // Results that do not fit into registers travel through the store: a
        // return area would be a pointer into a stack.
        ("enable_multi_ret_implicit_sret", "false"),
        ("use_colocated_libcalls", "true"),
        ("unwind_info", "false"),
        ("enable_heap_access_spectre_mitigation", "false"),
        ("enable_table_access_spectre_mitigation", "false"),
    ] {
        builder.set(name, value).expect("Cranelift knows its own settings");
    }
    builder
}
