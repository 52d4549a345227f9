//! Traps: why a call did not return.
//!
//! To C everything that ends a call is a trap: a trap of WebAssembly, an exception that
//! nothing caught, the end of a program, an error of a host function. And whatever a
//! function of C's returns instead of results is one, an exception to throw and a
//! suspension among them.

use crate::boundary::{Out, answer, caught, fill, required};
use crate::frame::wasm_frame_t;
use crate::host_info::HostInfo;
use crate::reference::{Object, wasm_ref_t};
use crate::store::{Data, StoreRef, WeakStoreRef, wasm_store_t};
use crate::value::{load_all, store_all, wasm_val_t};
use crate::vector::{Vector, elements_or_none};
use anyhow::{Error, Result, bail};
use ropewalk::{Backtrace, Caller, Exception, HostError, Suspension, Tag, Trap};
use ropewalk_wasi::I32Exit;
use std::fmt;
use std::sync::Arc;

/// What ended a call, or is to end one.
pub(crate) struct Thrown {
    kind: Kind,
    /// Where the call was that it ended, for its frames. A trap belongs to no store.
    store: Option<WeakStoreRef>,
    pub(crate) info: Arc<HostInfo>,
}

enum Kind {
    Error(Error),
    Exception(Exception),
    /// Its values are C's until it is returned.
    Suspension(Tag, Vec<wasm_val_t>),
}

impl Thrown {
    fn new(kind: Kind) -> Arc<Thrown> {
        Arc::new(Thrown { kind, store: None, info: Arc::default() })
    }

    /// What ended a call.
    fn of(error: Error, store: Option<&StoreRef>) -> Arc<Thrown> {
        let store = store.map(StoreRef::weak);
        if let Some(exception) = error.downcast_ref::<Exception>() {
            let kind = Kind::Exception(exception.clone());
            return Arc::new(Thrown { kind, store, info: Arc::default() });
        }
        // What C has attached to a trap stays with it on its way through WebAssembly.
        let passed = error.downcast_ref::<Passed>().map(|passed| passed.0.info.clone());
        Arc::new(Thrown { kind: Kind::Error(error), store, info: passed.unwrap_or_default() })
    }

    /// Its frames, as C has them.
    fn frames(&self) -> impl Iterator<Item = Box<wasm_frame_t>> {
        let store = self.store.as_ref().and_then(WeakStoreRef::get);
        let frames = self.backtrace().map_or(&[][..], |backtrace| backtrace.frames());
        frames.iter().map(move |frame| wasm_frame_t::boxed(frame, store.as_ref()))
    }

    /// What a function of C's returns as its error.
    pub(crate) fn error(self: &Arc<Thrown>, caller: &mut Caller<'_, Data>) -> Error {
        match &self.kind {
            Kind::Error(_) => Passed(self.clone()).into(),
            Kind::Exception(exception) => exception.clone().into(),
            Kind::Suspension(tag, values) => match load_all(caller, values) {
                Ok(values) => Suspension::new(*tag, &values).into(),
                Err(error) => error,
            },
        }
    }

    fn backtrace(&self) -> Option<&Backtrace> {
        match &self.kind {
            Kind::Exception(exception) => Some(exception.backtrace()),
            Kind::Error(error) => {
                let host = error.downcast_ref::<HostError>().map(HostError::backtrace);
                host.or_else(|| Some(error.downcast_ref::<Trap>()?.backtrace()))
            }
            Kind::Suspension(..) => None,
        }
    }

    /// What is wrong, without where.
    fn message(&self) -> String {
        let text = match &self.kind {
            Kind::Error(error) => match error.downcast_ref::<HostError>() {
                Some(error) => error.message().to_string(),
                None => format!("{error:#}"),
            },
            Kind::Exception(exception) => exception.to_string(),
            Kind::Suspension(..) => "a suspension, which only a host function can return".into(),
        };
        let place = self.backtrace().map(|backtrace| format!("\n{backtrace}"));
        match place.and_then(|place| text.strip_suffix(&place).map(str::to_string)) {
            Some(message) => message,
            None => text,
        }
    }

    /// An error of a kind in this, also if another call has passed it on.
    fn find<E: std::error::Error + Send + Sync + 'static>(&self) -> Option<&E> {
        let Kind::Error(error) = &self.kind else { return None };
        let passed = || error.downcast_ref::<Passed>()?.0.find();
        error.downcast_ref().or_else(passed)
    }
}

/// A trap that a function of C's has returned, as an error.
struct Passed(Arc<Thrown>);

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message())
    }
}

impl fmt::Debug for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Passed {}

impl wasm_ref_t {
    fn trap(thrown: Arc<Thrown>) -> Box<wasm_ref_t> {
        Box::new(wasm_ref_t { store: None, object: Object::Trap(thrown) })
    }

    pub(crate) fn thrown(&self) -> Result<&Arc<Thrown>> {
        match &self.object {
            Object::Trap(thrown) => Ok(thrown),
            other => bail!("expected a trap, found {}", other.name()),
        }
    }
}

/// Does what a function is for that returns a trap if it fails.
pub(crate) fn trapped(
    store: Option<&StoreRef>,
    run: impl FnOnce() -> Result<()>,
) -> Option<Box<wasm_ref_t>> {
    caught(run).err().map(|error| of_error(error, store))
}

/// A trap of what ended a call in a store.
pub(crate) fn of_error(error: Error, store: Option<&StoreRef>) -> Box<wasm_ref_t> {
    wasm_ref_t::trap(Thrown::of(error, store))
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_trap_new(
    store: Option<&wasm_store_t>,
    message: Option<&Vector<u8>>,
) -> Option<Box<wasm_ref_t>> {
    answer(|| {
        required(store, "a store")?;
        let message = required(message, "a message")?.elements()?;
        let message = message.strip_suffix(&[0]).unwrap_or(message);
        let message = String::from_utf8_lossy(message).into_owned();
        Ok(Some(wasm_ref_t::trap(Thrown::new(Kind::Error(Error::msg(message))))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_trap_message(trap: Option<&wasm_ref_t>, out: Out<'_, Vector<u8>>) {
    answer(|| {
        let out = required(out, "a message")?.write(Vector::default());
        *out = Vector::text(&required(trap, "a trap")?.thrown()?.message());
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_trap_origin(trap: Option<&wasm_ref_t>) -> Option<Box<wasm_frame_t>> {
    answer(|| Ok(required(trap, "a trap")?.thrown()?.frames().next()))
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_trap_trace(
    trap: Option<&wasm_ref_t>,
    out: Out<'_, Vector<Option<Box<wasm_frame_t>>>>,
) {
    answer(|| {
        let out = required(out, "a vector")?.write(Vector::default());
        *out = Vector::new(required(trap, "a trap")?.thrown()?.frames().map(Some).collect());
        Ok(())
    });
}

/// The number of the reason of a trap of WebAssembly.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_trap_code(trap: Option<&wasm_ref_t>, out: Out<'_, u8>) -> bool {
    answer(|| match required(trap, "a trap")?.thrown()?.find::<Trap>() {
        Some(trap) => fill(out, trap.code() as u8).map(|()| true),
        None => Ok(false),
    })
}

/// The code with which a program of WASI has ended.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_trap_exit_status(trap: Option<&wasm_ref_t>, out: Out<'_, i32>) -> bool {
    answer(|| match required(trap, "a trap")?.thrown()?.find::<I32Exit>() {
        Some(exit) => fill(out, exit.0).map(|()| true),
        None => Ok(false),
    })
}

/// The tag and the values of an exception that nothing caught.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_trap_exception(
    store: Option<&wasm_store_t>,
    trap: Option<&wasm_ref_t>,
    tag: Out<'_, Option<Box<wasm_ref_t>>>,
    values: Out<'_, Vector<wasm_val_t>>,
) -> bool {
    answer(|| {
        let store = &required(store, "a store")?.0;
        let tag_out = required(tag, "a place for the tag")?.write(None);
        let values_out = required(values, "a place for the values")?.write(Vector::default());
        let Kind::Exception(exception) = &required(trap, "a trap")?.thrown()?.kind else {
            return Ok(false);
        };
        let (tag, values) = store.enter(|mut context| {
            let values = exception.values(&mut context)?;
            Ok((exception.tag(&mut context)?, store_all(store, context, &values)?))
        })?;
        *tag_out = wasm_ref_t::boxed(store, Object::Tag(tag))?;
        *values_out = Vector::new(values);
        Ok(true)
    })
}

/// A tag and values that go with it, which a function of C's returns.
fn with_tag(
    tag: Option<&wasm_ref_t>,
    values: Option<&Vector<wasm_val_t>>,
    kind: impl FnOnce(&StoreRef, Tag, &[wasm_val_t]) -> Result<Kind>,
) -> Option<Box<wasm_ref_t>> {
    answer(|| {
        let (store, tag) = required(tag, "a tag")?.tag()?;
        let values = elements_or_none(values)?;
        Ok(Some(wasm_ref_t::trap(Thrown::new(kind(store, tag, values)?))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_trap_new_exception(
    tag: Option<&wasm_ref_t>,
    values: Option<&Vector<wasm_val_t>>,
) -> Option<Box<wasm_ref_t>> {
    with_tag(tag, values, |store, tag, values| Ok(Kind::Exception(exception(store, tag, values)?)))
}

/// A new exception of a store.
pub(crate) fn exception(store: &StoreRef, tag: Tag, values: &[wasm_val_t]) -> Result<Exception> {
    store.enter(|mut context| {
        let values = load_all(&mut context, values)?;
        Exception::new(context, tag, &values)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_trap_new_suspension(
    tag: Option<&wasm_ref_t>,
    values: Option<&Vector<wasm_val_t>>,
) -> Option<Box<wasm_ref_t>> {
    with_tag(tag, values, |_, tag, values| Ok(Kind::Suspension(tag, values.to_vec())))
}

#[cfg(test)]
mod tests {
    use ropewalk::TrapCode;

    /// `UnreachableCode` as `UNREACHABLE_CODE`.
    fn in_c(name: &str) -> String {
        let mut text = String::new();
        for (i, letter) in name.chars().enumerate() {
            if letter.is_uppercase() && i > 0 {
                text.push('_');
            }
            text.push(letter.to_ascii_uppercase());
        }
        text
    }

    #[test]
    fn the_header_has_the_number_of_each_trap() {
        let header = include_str!("../include/ropewalk.h");
        for code in TrapCode::ALL {
            let line = format!("ROPEWALK_TRAP_{} = {}", in_c(&format!("{code:?}")), *code as u8);
            let mut lines = header.lines().map(|line| line.trim().trim_end_matches(','));
            assert!(lines.any(|found| found == line), "{line}");
        }
    }
}
