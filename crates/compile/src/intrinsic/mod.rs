//! The reserved imports: operations that a module calls as functions, and that
//! are compiled in line.
//!
//! [`signature`] checks the types under which they are imported, [`form`] how
//! they are used, [`rout`] how functions begin that extend a stack. What they mean for machine code is in
//! [`translate`](crate::translate).

pub(crate) mod form;
pub(crate) mod rout;
mod signature;
mod subtyping;

use crate::CompileError;
use ropewalk_abi::module::{Item, ModuleInfo};
pub(crate) use subtyping::{Canonical, STACK_BRAND, Subtyping};

macro_rules! intrinsics {
    ($($design:ident $op:ident $module:literal { $($variant:ident = $name:literal,)* })*) => {
        /// A reserved import.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Intrinsic {
            $($design($op),)*
        }

        $(
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub(crate) enum $op {
                $($variant,)*
            }
        )*

        impl Intrinsic {
            /// The one with a name, if there is one.
            fn named(module: &str, name: &str) -> Option<Intrinsic> {
                match (module, name) {
                    $($(($module, $name) => Some(Intrinsic::$design($op::$variant)),)*)*
                    _ => None,
                }
            }

            /// Its module and name.
            pub fn name(self) -> (&'static str, &'static str) {
                match self {
                    $($(Intrinsic::$design($op::$variant) => ($module, $name),)*)*
                }
            }
        }
    };
}

intrinsics! {
    Stack StackOp "ropewalk:stack" {
        New = "new",
        Switch = "switch",
        SwitchRetire = "switch_retire",
        Bind = "bind",
        SwitchThrow = "switch_throw",
        ReturnSwitch = "return_switch",
        ReturnSwitchThrow = "return_switch_throw",
    }
    Task TaskOp "ropewalk:task" {
        New = "new",
        Resume = "resume",
        Suspend = "suspend",
        SwitchTo = "switchto",
        Retire = "retire",
        Release = "release",
    }
    Fiber FiberOp "ropewalk:fiber" {
        New = "new",
        NewReturning = "new_returning",
        Mount = "mount",
        Switch = "switch",
        Dismount = "dismount",
        Release = "release",
        DismountRelease = "dismount_release",
        SwitchRelease = "switch_release",
    }
    FirstClass FirstClassOp "ropewalk:first-class" {
        NewStack = "new_stack",
        Switch = "switch",
        SwitchDrop = "switch_drop",
        SwitchCall = "switch_call",
        SwitchCallTrap = "switch_call_trap",
        Extend = "extend",
        ExtendTrap = "extend_trap",
        Start = "start",
        CheckCleared = "check_cleared",
        Redirect = "redirect",
        Level = "level",
        LeaveTo = "leave_to",
        EnterAnswer = "enter_answer",
        EnterRedirect = "enter_redirect",
        EnterRedirectTo = "enter_redirect_to",
        CallStack = "call_stack",
    }
}

impl Intrinsic {
    /// Whether it suspends the running stack.
    pub fn suspends(self) -> bool {
        match self {
            Intrinsic::Stack(op) => matches!(op, StackOp::Switch | StackOp::ReturnSwitch),
            Intrinsic::Task(op) => matches!(op, TaskOp::Suspend | TaskOp::SwitchTo),
            Intrinsic::Fiber(op) => matches!(op, FiberOp::Switch | FiberOp::Dismount),
            Intrinsic::FirstClass(op) => {
                use FirstClassOp::*;
                matches!(op, Switch | SwitchCall | SwitchCallTrap)
            }
        }
    }
}

/// The beginning of every reserved module name.
const RESERVED: &str = "ropewalk:";

/// Whether imports from a module are reserved.
pub(crate) fn is_reserved(module: &str) -> bool {
    module.starts_with(RESERVED)
}

/// An import from a reserved module, and where it stands.
pub(crate) struct ReservedImport {
    pub module: String,
    pub name: String,
    pub item: Item,
    pub offset: u64,
}

/// The reserved imports of a module, by function.
#[derive(Default)]
pub(crate) struct Intrinsics(Vec<Option<Intrinsic>>);

impl Intrinsics {
    /// Recognises the reserved imports, and checks their types and that none is
    /// used as a value.
    pub fn resolve(
        info: &ModuleInfo,
        canonical: &Canonical,
        imports: &[ReservedImport],
    ) -> Result<Intrinsics, CompileError> {
        if imports.is_empty() {
            return Ok(Intrinsics::default());
        }
        let subtyping = Subtyping { info, canonical };
        let mut all = vec![None; info.functions.len()];
        for import in imports {
            let ReservedImport { module, name, item, offset } = import;
            let refused = |message| CompileError::Refused { offset: *offset, message };
            let Item::Func(function) = item else {
                let message =
                    format!("the module name `{module}` is reserved: it has functions only");
                return Err(refused(message));
            };
            let Some(intrinsic) = Intrinsic::named(module, name) else {
                let message = format!("there is no reserved import `{module}` `{name}`");
                return Err(refused(message));
            };
            let ty = info.function_type(*function);
            signature::check(intrinsic, ty, &subtyping).map_err(|expected| {
                refused(format!(
                    "the type of `{module}` `{name}` does not fit: expected {expected}"
                ))
            })?;
            if info.func_refs[*function as usize] != u32::MAX {
                return Err(refused(format!(
                    "`{module}` `{name}` can only be called, not exported or used as a value"
                )));
            }
            all[*function as usize] = Some(intrinsic);
        }
        Ok(Intrinsics(all))
    }

    /// The intrinsic that a function is, if it is one.
    pub fn get(&self, function: u32) -> Option<Intrinsic> {
        self.0.get(function as usize).copied().flatten()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
