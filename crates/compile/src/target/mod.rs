//! The machine to compile for, and how.

mod limits;
mod permission;

pub use limits::Limits;
pub use permission::Designs;
pub(crate) use permission::Permission;

use crate::{CompileError, arch};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};

/// How much effort goes into making code fast.
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
    /// The same, with the single-pass register allocator.
    pub(crate) single_pass_isa: OwnedTargetIsa,
    /// The same, also without the optimizer, for functions that would take too long.
    pub(crate) frugal_isa: OwnedTargetIsa,
    /// Whether the machine has a fused multiply-add instruction.
    pub(crate) has_fma: bool,
    /// The options that change generated code.
    pub(crate) modes: Modes,
    pub(crate) limits: Limits,
    /// What modules may use.
    pub(crate) permission: Permission,
}

macro_rules! modes {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The options that change generated code.
        #[derive(Clone, Copy, Default)]
        pub(crate) struct Modes {
            $($(#[$doc])* pub $name: bool,)*
        }

        impl Modes {
            fn settings(self) -> impl Iterator<Item = (String, String)> {
                [$((stringify!($name).to_string(), self.$name.to_string()),)*].into_iter()
            }
        }

        impl Target {
            $(
                $(#[$doc])*
                pub fn $name(mut self, enable: bool) -> Target {
                    self.modes.$name = enable;
                    self
                }
            )*
        }
    };
}

modes! {
    /// Whether a stack is moved to other memory before every switch to it.
    move_stacks,
    /// Whether the runtime checks all stacks after each switch.
    check_stacks,
    /// Whether functions poll for interruption.
    interruption,
    /// Whether functions count what they execute.
    fuel,
    /// Whether the runtime parks all suspended stacks after each switch.
    park_always,
    /// Whether the runtime records each switch.
    trace,
    /// Whether 32-bit memories reserve less address space than an index can reach, so that every
    /// index is compared with the length.
    small_memories,
    /// Whether frames can be saved and restored in another store: every pointer in a frame is
    /// listed at calls, and no register holds anything during one.
    snapshots,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").field("isa", &self.isa.name()).finish_non_exhaustive()
    }
}

impl Target {
    /// This machine. Fails if it lacks a feature that generated code relies on.
    pub fn host(opt_level: OptLevel) -> Result<Target, CompileError> {
        arch::check_machine()?;
        Ok(Target {
            isa: host_isa(opt_level, "backtracking")?,
            single_pass_isa: host_isa(opt_level, "single_pass")?,
            frugal_isa: host_isa(OptLevel::None, "single_pass")?,
            has_fma: arch::has_fused_multiply_add(),
            modes: Modes::default(),
            limits: Limits::default(),
            permission: Permission { designs: Designs::all(), for_engine: false },
        })
    }

    /// The settings that generated code depends on, by name: those of the code generator, the
    /// features of the machine, and our modes. The register allocator and the limits change code,
    /// but not what it relies on.
    pub fn settings(&self) -> Vec<(String, String)> {
        let (flags, features) = (self.isa.flags(), self.isa.isa_flags());
        let theirs = flags.iter().chain(features);
        let theirs = theirs.map(|flag| (flag.name.to_string(), flag.value_string()));
        let machine = ("machine".to_string(), self.isa.triple().to_string());
        [machine].into_iter().chain(self.modes.settings()).chain(theirs).collect()
    }

    /// The same, for modules of the engine itself.
    pub fn for_engine(self) -> Target {
        Target { permission: Permission { designs: Designs::all(), for_engine: true }, ..self }
    }

    /// The same, for modules that use only these designs.
    pub fn designs(self, designs: Designs) -> Target {
        Target { permission: Permission { designs, ..self.permission }, ..self }
    }

    /// The same, with other limits.
    pub fn limits(self, limits: Limits) -> Target {
        Target { limits, ..self }
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
        // Frames larger than a page are probed by a stub of ours that keeps no address of the stack
        // in a register.
        ("enable_probestack", "true"),
        ("probestack_strategy", "outline"),
        // Results that do not fit into registers travel through the store: a return area would be a
        // pointer into a stack.
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
