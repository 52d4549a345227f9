//! Recorded events, in a compact form.

use crate::inspect::values::stack_word;
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::trace::TracedClass;
use std::fmt::Write as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum EventKind {
    Enter,
    Leave,
    Create,
    Clone,
    Resume,
    Suspend,
    Switch,
    Return,
    Retire,
    Refuse,
    Throw,
    Trap,
    Drop,
    Collect,
    Grow,
    Park,
    Unpark,
    HostCall,
    HostReturn,
}

/// How many values of an event are kept.
pub(super) const MAX_VALUES: usize = 3;

/// Stands for no stack, no frame and no tag.
pub(super) const NONE: u32 = u32::MAX;

/// An event: only numbers, so that recording is fast.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawEvent {
    pub time: u64,
    /// The values; or the numbers of other kinds of events: for a copy, its origin and its parent.
    pub values: [u64; MAX_VALUES],
    pub stack: u32,
    /// The stack that runs next, or the number of a host function or of a message.
    pub other: u32,
    pub outermost: u32,
    pub frames: u32,
    pub tag: u32,
    pub kind: EventKind,
    /// How many values there were.
    pub count: u8,
    pub shown: [Shown; MAX_VALUES],
}

const _: () = assert!(size_of::<RawEvent>() == 64);

/// How a value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    I32,
    I64,
    F32,
    F64,
    V128,
    Null,
    Func,
    Stack(StackKind),
    I31,
    Object,
}

impl Shown {
    pub fn of(class: TracedClass, value: u64) -> Shown {
        match class {
            TracedClass::I32 => Shown::I32,
            TracedClass::I64 => Shown::I64,
            TracedClass::F32 => Shown::F32,
            TracedClass::F64 => Shown::F64,
            TracedClass::V128 => Shown::V128,
            _ if value == 0 => Shown::Null,
            TracedClass::Func => Shown::Func,
            TracedClass::Ref => Shown::of_reference(value),
        }
    }

    /// The lowest bits of a reference say what it refers to.
    fn of_reference(value: u64) -> Shown {
        if ropewalk_abi::stack::is_stack(value) {
            return Shown::Stack(StackKind::of(value).unwrap_or(StackKind::Continuation));
        }
        if value & 1 == 1 { Shown::I31 } else { Shown::Object }
    }

    fn write(self, value: u64, to: &mut String) {
        let written = match self {
            Shown::I32 => write!(to, "{}", value as i32),
            Shown::I64 => write!(to, "{}", value as i64),
            Shown::F32 => write!(to, "{}", f32::from_bits(value as u32)),
            Shown::F64 => write!(to, "{}", f64::from_bits(value)),
            Shown::V128 => to.write_str("v128"),
            Shown::Null => to.write_str("null"),
            Shown::Func => to.write_str("func"),
            Shown::Stack(kind) => to.write_str(stack_word(kind)),
            Shown::I31 => to.write_str("i31"),
            Shown::Object => to.write_str("object"),
        };
        written.expect("a string takes everything");
    }
}

/// The maximum length of the text of values.
const LONGEST: usize = 40;

impl RawEvent {
    pub fn text(&self) -> String {
        let count = usize::from(self.count);
        let mut text = String::new();
        for (shown, value) in self.shown.iter().zip(self.values).take(count) {
            if !text.is_empty() {
                text.push(' ');
            }
            shown.write(value, &mut text);
        }
        if count > MAX_VALUES {
            text.push_str(" ...");
        }
        // The text is ASCII.
        if text.len() > LONGEST {
            text.truncate(LONGEST - 3);
            text.push_str("...");
        }
        text
    }
}
