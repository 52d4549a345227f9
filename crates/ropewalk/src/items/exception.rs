//! Exceptions of WebAssembly, as errors.

use crate::reference::{ExnRef, Owned, Reference};
use crate::store::AsContextMut;
use crate::value::tag::Tag;
use crate::value::val::Val;
use anyhow::Result;
use ropewalk_runtime::{Backtrace, UncaughtException};
use std::fmt;

/// An exception as an error. A call returns an uncaught exception as its error. A host function
/// returns one to throw it.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (tag $failure (export "failure") (param i32))
///       (func (export "fail") (throw $failure (i32.const 7))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let fail = instance.get_typed_func::<(), ()>(&mut store, "fail")?;
/// let error = fail.call(&mut store, ()).unwrap_err();
/// let exception = error.downcast_ref::<Exception>().unwrap();
/// assert_eq!(exception.tag(&mut store)?, instance.get_tag(&mut store, "failure").unwrap());
/// assert_eq!(exception.values(&mut store)?[0].i32(), Some(7));
/// assert!(error.to_string().starts_with("uncaught exception: $failure with (i32.const 7)"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Exception {
    reference: Owned<ExnRef>,
    /// Its tag and its values as text, if it was not caught.
    description: Option<String>,
    backtrace: Backtrace,
}

impl Exception {
    /// A new exception with a tag and its values.
    pub fn new(mut store: impl AsContextMut, tag: Tag, values: &[Val]) -> Result<Exception> {
        let reference = ExnRef::new(&mut store, tag, values)?;
        Exception::from_ref(store, reference)
    }

    /// The exception that a reference refers to.
    pub fn from_ref(store: impl AsContextMut, reference: ExnRef) -> Result<Exception> {
        let reference = reference.own(store)?;
        Ok(Exception { reference, description: None, backtrace: Backtrace::default() })
    }

    pub(crate) fn uncaught(uncaught: UncaughtException) -> Exception {
        let UncaughtException { exception, description, store, backtrace } = uncaught;
        let reference = Owned::from_root(store, exception, ());
        Exception { reference, description: Some(description), backtrace }
    }

    pub(crate) fn owned(&self) -> &Owned<ExnRef> {
        &self.reference
    }

    /// A reference to it.
    pub fn reference(&self, store: impl AsContextMut) -> Result<ExnRef> {
        self.reference.get(store)
    }

    /// Its tag.
    pub fn tag(&self, mut store: impl AsContextMut) -> Result<Tag> {
        self.reference(&mut store)?.tag(store)
    }

    /// Its values.
    pub fn values(&self, mut store: impl AsContextMut) -> Result<Vec<Val>> {
        self.reference(&mut store)?.values(store)
    }

    /// Where it was thrown.
    pub fn backtrace(&self) -> &Backtrace {
        &self.backtrace
    }
}

impl fmt::Debug for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("uncaught exception")?;
        if let Some(description) = &self.description {
            write!(f, ": {description}")?;
        }
        match self.backtrace.frames() {
            [] => Ok(()),
            _ => write!(f, "\n{}", self.backtrace),
        }
    }
}

impl std::error::Error for Exception {}
