//! An event as it is kept.

use ropewalk_abi::stack::StackKind;
use ropewalk_abi::trace::TracedClass;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Enter,
    Leave,
    Create,
    Resume,
    Suspend,
    Switch,
    Return,
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
pub(super) const KEPT: usize = 3;

/// Stands for no stack, no frame and no tag.
pub(super) const NONE: u32 = u32::MAX;

/// An event: numbers only, so that it is quickly written.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Raw {
    pub time: u64,
    /// The values; or the numbers that an event of another kind has.
    pub values: [u64; KEPT],
    pub stack: u32,
    /// The stack that runs afterwards, or the number of a function of the host or of a
    /// message.
    pub other: u32,
    pub outermost: u32,
    pub frames: u32,
    pub tag: u32,
    pub kind: Kind,
    /// How many values there were.
    pub count: u8,
    pub shown: [Shown; KEPT],
}

const _: () = assert!(size_of::<Raw>() == 64);

/// As what a value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Shown {
    I32,
    I64,
    F32,
    F64,
    V128,
    Null,
    Func,
    Cont,
    Stack,
    Task,
    Fiber,
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
            return match StackKind::of(value) {
                Some(StackKind::Bag | StackKind::FirstClass) => Shown::Stack,
                Some(StackKind::Task) => Shown::Task,
                Some(StackKind::Fiber) => Shown::Fiber,
                Some(StackKind::Continuation) | None => Shown::Cont,
            };
        }
        if value & 1 == 1 { Shown::I31 } else { Shown::Object }
    }

    fn text(self, value: u64) -> String {
        match self {
            Shown::I32 => (value as i32).to_string(),
            Shown::I64 => (value as i64).to_string(),
            Shown::F32 => f32::from_bits(value as u32).to_string(),
            Shown::F64 => f64::from_bits(value).to_string(),
            Shown::V128 => "v128".to_string(),
            Shown::Null => "null".to_string(),
            Shown::Func => "func".to_string(),
            Shown::Cont => "cont".to_string(),
            Shown::Stack => "stack".to_string(),
            Shown::Task => "task".to_string(),
            Shown::Fiber => "fiber".to_string(),
            Shown::I31 => "i31".to_string(),
            Shown::Object => "object".to_string(),
        }
    }
}

/// How long the text of values may be.
const LONGEST: usize = 40;

impl Raw {
    /// The values, printed.
    pub fn text(&self) -> String {
        let count = usize::from(self.count);
        let shown = self.shown.iter().zip(self.values).take(count);
        let mut words: Vec<String> = shown.map(|(shown, value)| shown.text(value)).collect();
        if count > KEPT {
            words.push("...".to_string());
        }
        let text = words.join(" ");
        match text.char_indices().nth(LONGEST - 3) {
            Some((end, _)) if text.chars().count() > LONGEST => format!("{}...", &text[..end]),
            _ => text,
        }
    }
}
