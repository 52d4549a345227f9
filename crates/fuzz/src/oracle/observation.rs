//! What is seen of a module while it runs, in the words of no engine.

use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A value, as far as engines agree about it.
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
    /// Of any kind.
    Reference,
}

/// Why something trapped.
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
    /// A stack or a heap is full, which happens earlier or later.
    Exhausted,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With results.
    Returned(Vec<Value>),
    /// With a trap.
    Trapped(Cause),
    /// With an exception that has values.
    Threw(Vec<Value>),
}

/// All that is seen.
#[derive(Debug, Default)]
pub struct Observation {
    calls: Vec<(String, Ending)>,
    state: Vec<(String, String)>,
    /// What the host was told.
    pub notes: Vec<Value>,
}

impl Observation {
    /// Notes how a call ended; says whether what follows can be compared.
    pub fn end(&mut self, name: &str, ending: Ending) -> bool {
        let goes_on = ending != Ending::Trapped(Cause::Exhausted);
        self.calls.push((name.to_string(), ending));
        goes_on
    }

    /// Notes what a memory holds.
    pub fn memory(&mut self, name: &str, bytes: &[u8]) {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let summary = format!("{} bytes, {:#x}", bytes.len(), hasher.finish());
        self.state.push((format!("memory {name}"), summary));
    }

    /// Notes what a global holds.
    pub fn global(&mut self, name: &str, value: Vec<Value>) {
        self.state.push((format!("global {name}"), format!("{value:?}")));
    }

    /// Notes what a table holds.
    pub fn table(&mut self, name: &str, held: Vec<Value>) {
        self.state.push((format!("table {name}"), format!("{held:?}")));
    }

    /// Compares it with what was seen elsewhere, up to where a stack or heap was
    /// full in one of the two.
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
