//! Builtins: the functions that generated code calls on the host's stack.
//!
//! Each returns an [`Outcome`]. It either continues, perhaps with a value, or ends the activation
//! with the trap that it has left in the store.

use crate::heap::Object;
use crate::run::pending_builtin::BuiltinCall;
use crate::store::Store;
use crate::store::interrupts::Interrupts;
use crate::store::objects::Objects;
use crate::store::running::Ending;
use crate::vm::instance::{Instance, range};
use ropewalk_abi::builtin::{BuiltinPointer, END, Outcome};
use ropewalk_abi::stack::{KIND_SHIFT, StackKind};
use ropewalk_abi::{Builtin, ControlBlock, InstanceHeader, TrapCode, TypeInfo};

mod arrays;
mod bulk;
mod entry_points;
mod pieces;
mod stacks;

pub use entry_points::new_store;

type Result<T> = std::result::Result<T, TrapCode>;

struct Calling<'a> {
    store: &'a mut Store,
    instance: usize,
}

impl Calling<'_> {
    fn instance(&mut self) -> &mut Instance {
        &mut self.store.objects.instances[self.instance]
    }

    fn memory_index(&self, memory: u64) -> usize {
        self.store.objects.instances[self.instance].memories[memory as usize]
    }

    fn table_index(&self, table: u64) -> usize {
        self.store.objects.instances[self.instance].tables[table as usize]
    }

    fn objects_and_interrupts(&mut self) -> (&mut Objects, &Interrupts) {
        (&mut self.store.objects, &self.store.budget.interrupts)
    }
}

/// Two 32-bit numbers that are passed in one word.
type Pair = [u64; 2];

/// The type of a builtin's parameter, which generated code passes as a word.
trait Argument {
    /// # Safety
    ///
    /// Generated code must have passed the word for a parameter of this type.
    unsafe fn from_word(word: u64) -> Self;
}

macro_rules! arguments {
    ($(($($t:ident)?) $type:ty: $word:ident => $value:expr;)*) => {
        $(impl $(<$t>)? Argument for $type {
            unsafe fn from_word($word: u64) -> Self {
                $value
            }
        })*
    };
}

arguments! {
    () u64: word => word;
    () u32: word => word as u32;
    () usize: word => word as usize;
    (T) *const T: word => word as *const T;
    (T) *mut T: word => word as *mut T;
    () Pair: word => [word >> 32, word & 0xffff_ffff];
    () StackKind: word => stack_kind(word);
    // SAFETY: the caller's promise. Types live as long as the engine.
    () &TypeInfo: word => unsafe { &*(word as *const TypeInfo) };
}

/// How a builtin ends.
enum Conclusion {
    Returns(u64),
    Ends(Ending),
    /// As the stub must do.
    Outcome(Outcome),
}

macro_rules! conclusions {
    ($($type:ty: $value:pat => $conclusion:expr;)*) => {
        $(impl From<$type> for Conclusion {
            #[inline(always)]
            fn from($value: $type) -> Conclusion {
                $conclusion
            }
        })*
    };
}

conclusions! {
    (): () => Conclusion::Returns(0);
    bool: is_set => Conclusion::Returns(is_set.into());
    u64: word => Conclusion::Returns(word);
    *mut ControlBlock: block => Conclusion::Returns(block as u64);
    Object: object => Conclusion::Returns(object.reference());
    TrapCode: code => Conclusion::Ends(code.into());
    Ending: ending => Conclusion::Ends(ending);
    Outcome: outcome => Conclusion::Outcome(outcome);
}

impl<T: Into<Conclusion>, E: Into<Conclusion>> From<std::result::Result<T, E>> for Conclusion {
    #[inline(always)]
    fn from(result: std::result::Result<T, E>) -> Conclusion {
        result.map_or_else(E::into, T::into)
    }
}

impl Conclusion {
    /// Whether the activation ends.
    #[inline]
    fn has_failed(&self) -> bool {
        match self {
            Conclusion::Returns(_) => false,
            Conclusion::Ends(_) => true,
            Conclusion::Outcome(outcome) => outcome.ended == END,
        }
    }

    #[inline(always)]
    fn conclude(self, store: &mut Store, builtin: Builtin) -> Outcome {
        // While links are being changed, only what must end does: the panic of a dropped value
        // waits for the next builtin.
        let can_end = !builtin.is_halfway();
        match self {
            Conclusion::Outcome(outcome) => outcome,
            Conclusion::Returns(_) if can_end && store.embedder.has_panicked() => {
                store.end_or_panic(None)
            }
            Conclusion::Returns(value) => Outcome::returned(value),
            Conclusion::Ends(ending) if can_end => store.end_or_panic(Some(ending)),
            Conclusion::Ends(ending) => store.end_with(ending),
        }
    }
}

impl Store {
    /// Ends the activation with the panic of a dropped value, if there is one, or else as given.
    #[cold]
    fn end_or_panic(&mut self, ending: Option<Ending>) -> Outcome {
        let panic = self.embedder.take_panic().map(Ending::Panic);
        self.end_with(panic.or(ending).expect("the builtin has failed or a value has panicked"))
    }
}

/// The kind that generated code has passed as a word.
fn stack_kind(word: u64) -> StackKind {
    StackKind::of(word << KIND_SHIFT).expect("generated code passes kinds")
}

/// Defines the tables of builtins. Each entry finds the store and the instance, and calls the
/// function of the same name below.
macro_rules! define {
    ($($name:ident($($param:ident),*);)*) => {
        mod entry {
            use super::*;
            $(
                pub(super) unsafe extern "C" fn $name(
                    header: *mut InstanceHeader,
                    $($param: u64),*
                ) -> Outcome {
                    // SAFETY: generated code passes its instance, and holds no reference to the
                    // store.
                    let (store, instance) = unsafe {
                        (Store::from_context((*header).store), (*header).index)
                    };
                    if Builtin::$name.can_wait() {
                        store.begin_asking();
                    }
                    let calling = &mut Calling { store, instance };
                    let result = calling.$name($(
                        // SAFETY: generated code passes words of these types.
                        unsafe { Argument::from_word($param) }
                    ),*);
                    let result = Conclusion::from(result);
                    if Builtin::$name.can_wait() {
                        let call = BuiltinCall::new(Builtin::$name, header, &[$($param),*]);
                        if let Some(left) = store.end_asking(call, result.has_failed()) {
                            return left;
                        }
                    }
                    result.conclude(store, Builtin::$name)
                }
            )*
        }

        /// Calls a builtin again that had to wait, with the same operands.
        ///
        /// # Safety
        ///
        /// Generated code must have called it with these operands, and hold no reference to the
        /// store.
        pub(crate) unsafe fn call_again(
            builtin: Builtin,
            instance: *mut InstanceHeader,
            words: [u64; 4],
        ) -> Outcome {
            let mut words = words.into_iter();
            let mut word = || words.next().expect("builtins take four words at most");
            match builtin {
                $(Builtin::$name => {
                    $(let $param = word();)*
                    // SAFETY: the caller's promise.
                    unsafe { entry::$name(instance, $($param),*) }
                })*
            }
        }

        /// The same functions for stress modes: the running stack moves before each, or all stacks
        /// are checked after it.
        mod stress {
            use super::*;
            $(
                pub(super) unsafe extern "C" fn $name(
                    instance: *mut InstanceHeader,
                    $($param: u64),*
                ) -> Outcome {
                    // SAFETY: generated code passes its instance, and holds no reference to the
                    // store.
                    let (outcome, store) = unsafe {
                        Store::from_context((*instance).store).move_running();
                        let outcome = entry::$name(instance, $($param),*);
                        (outcome, Store::from_context((*instance).store))
                    };
                    match Builtin::$name.is_halfway() || !store.options.stress.check_stacks {
                        true => outcome,
                        false => store.check_after(outcome, Builtin::$name.ends_beginning()),
                    }
                }
            )*
        }

        pub(crate) static STRESS_TABLE: Table = Table([$(stress::$name as *const ()),*]);

        /// The builtins, in the order of [`Builtin::ALL`].
        pub(crate) static TABLE: Table = Table([$(entry::$name as *const ()),*]);
    };
}

pub(crate) struct Table([BuiltinPointer; Builtin::COUNT]);

// SAFETY: these are pointers to code.
unsafe impl Sync for Table {}

impl Table {
    pub fn as_ptr(&self) -> *const BuiltinPointer {
        self.0.as_ptr()
    }
}

ropewalk_abi::for_each_builtin!(define);
