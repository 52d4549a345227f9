//! Observations of a module while it runs, independent of the engine.

use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "their names are those of the types")]
pub enum Value {
    I32(i32),
    I64(i64),
    F32(u32),
    F64(u64),
    V128(u128),
    I31(u32),
    Null,
    /// A reference of any kind.
    Reference,
}

/// The cause of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are those of the traps")]
pub enum Cause {
    Unreachable,
    MemoryOutOfBounds,
    TableOutOfBounds,
    UninitializedElement,
    TypeMismatch,
    DivideByZero,
    IntegerOverflow,
    InvalidConversion,
    NullReference,
    ArrayOutOfBounds,
    CastFailure,
    /// A stack or a heap is full. Engines differ in when this happens.
    Exhausted,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With results.
    Returned(Vec<Value>),
    /// With a trap.
    Trapped(Cause),
    /// With an exception that has values.
    Threw(Vec<Value>),
}

/// All observations of a run.
#[derive(Debug, Default)]
pub struct Observation {
    calls: Vec<(String, Ending)>,
    state: Vec<(String, String)>,
    /// The values that the host received.
    pub notes: Vec<Value>,
}

impl Observation {
    /// Records the outcome of a call. Returns whether later observations can be compared.
    pub fn end(&mut self, name: &str, ending: Ending) -> bool {
        let continues = ending != Ending::Trapped(Cause::Exhausted);
        self.calls.push((name.to_string(), ending));
        continues
    }

    /// Records the contents of a memory.
    pub fn memory(&mut self, name: &str, bytes: &[u8]) {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let summary = format!("{} bytes, {:#x}", bytes.len(), hasher.finish());
        self.state.push((format!("memory {name}"), summary));
    }

    /// Records the value of a global.
    pub fn global(&mut self, name: &str, value: Vec<Value>) {
        self.state.push((format!("global {name}"), format!("{value:?}")));
    }

    /// Records the contents of a table.
    pub fn table(&mut self, name: &str, held: Vec<Value>) {
        self.state.push((format!("table {name}"), format!("{held:?}")));
    }

    /// Compares two runs, up to the point where a stack or heap was full in one of them.
    pub fn same_as(&self, other: &Observation, here: &str, there: &str) -> Result<(), String> {
        let is_exhausted =
            |(_, ending): &(String, Ending)| *ending == Ending::Trapped(Cause::Exhausted);
        let comparable = self.calls.iter().zip(&other.calls);
        for (one, another) in comparable {
            if is_exhausted(one) || is_exhausted(another) {
                return Ok(());
            }
            same("calls", one, another, here, there)?;
        }
        same("number of calls", &self.calls.len(), &other.calls.len(), here, there)?;
        same("notes", &self.notes, &other.notes, here, there)?;
        for (one, another) in self.state.iter().zip(&other.state) {
            same("state", one, another, here, there)?;
        }
        same("size of the state", &self.state.len(), &other.state.len(), here, there)
    }
}

fn same<T: PartialEq + Debug>(
    what: &str,
    one: &T,
    another: &T,
    here: &str,
    there: &str,
) -> Result<(), String> {
    match one == another {
        true => Ok(()),
        false => Err(format!("{what} differ:\n{here}: {one:?}\n{there}: {another:?}")),
    }
}

/// The bits of a float, with a canonical NaN.
pub fn f32_bits(number: u64) -> u32 {
    let float = f32::from_bits(number as u32);
    if float.is_nan() { 0x7fc0_0000 } else { float.to_bits() }
}

/// The bits of a double, with a canonical NaN.
pub fn f64_bits(number: u64) -> u64 {
    let float = f64::from_bits(number);
    if float.is_nan() { 0x7ff8_0000_0000_0000 } else { float.to_bits() }
}
