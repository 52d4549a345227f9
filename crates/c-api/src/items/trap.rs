//! Traps: the results of failed calls.
//!
//! In C everything that ends a call is a trap: a trap of WebAssembly, an uncaught exception, the
//! exit of a program, an error of a host function. A host function also returns a trap to throw an
//! exception or to suspend.

use crate::items::frame::wasm_frame_t;
use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::{Data, StoreRef, wasm_store_t};
use crate::objects::trap_cause::{Cause, Thrown};
use crate::objects::value::{load_all, store_all, wasm_val_t};
use crate::support::boundary::{Out, catch, fill, fill_or_default, or_default, required};
use crate::support::vector::{Vector, elements_or_none};
use anyhow::{Error, Result};
use ropewalk::{Caller, Exception, Suspension, Tag, Trap, Val};
use ropewalk_wasi::I32Exit;

/// Runs the body of a function that returns a trap on failure.
pub(crate) fn or_trap(
    store: Option<&StoreRef>,
    run: impl FnOnce() -> Result<()>,
) -> Option<Box<wasm_ref_t>> {
    catch(run).err().map(|error| of_error(error, store))
}

/// The trap of a call that failed in a store.
pub(crate) fn of_error(error: Error, store: Option<&StoreRef>) -> Box<wasm_ref_t> {
    wasm_ref_t::trap(Thrown::of(error, store))
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_trap_new(
    store: Option<&wasm_store_t>,
    message: Option<&Vector<u8>>,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        required(store, "a store")?;
        let message = required(message, "a message")?.elements()?;
        let message = message.strip_suffix(&[0]).unwrap_or(message);
        let message = String::from_utf8_lossy(message).into_owned();
        Ok(Some(wasm_ref_t::trap(Thrown::new(Cause::Error(Error::msg(message))))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_trap_message(trap: Option<&wasm_ref_t>, out: Out<'_, Vector<u8>>) {
    fill_or_default(out, || Ok(Vector::text(&required(trap, "a trap")?.thrown()?.message())));
}

fn frames(trap: Option<&wasm_ref_t>) -> Result<Vec<Option<Box<wasm_frame_t>>>> {
    let thrown = required(trap, "a trap")?.thrown()?;
    let store = thrown.store();
    let frames = thrown.backtrace().map_or(&[][..], |backtrace| backtrace.frames());
    Ok(frames.iter().map(|frame| Some(wasm_frame_t::boxed(frame, store.as_ref()))).collect())
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_trap_origin(trap: Option<&wasm_ref_t>) -> Option<Box<wasm_frame_t>> {
    or_default(|| Ok(frames(trap)?.into_iter().next().flatten()))
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_trap_trace(
    trap: Option<&wasm_ref_t>,
    out: Out<'_, Vector<Option<Box<wasm_frame_t>>>>,
) {
    fill_or_default(out, || Ok(Vector::new(frames(trap)?)));
}

/// The code of a trap of WebAssembly.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_trap_code(trap: Option<&wasm_ref_t>, out: Out<'_, u8>) -> bool {
    or_default(|| match required(trap, "a trap")?.thrown()?.find::<Trap>() {
        Some(trap) => fill(out, trap.code() as u8).map(|()| true),
        None => Ok(false),
    })
}

/// The exit code of a WASI program.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_trap_exit_status(trap: Option<&wasm_ref_t>, out: Out<'_, i32>) -> bool {
    or_default(|| match required(trap, "a trap")?.thrown()?.find::<I32Exit>() {
        Some(exit) => fill(out, exit.0).map(|()| true),
        None => Ok(false),
    })
}

/// The tag and the values of an uncaught exception.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_trap_exception(
    store: Option<&wasm_store_t>,
    trap: Option<&wasm_ref_t>,
    tag: Out<'_, Option<Box<wasm_ref_t>>>,
    values: Out<'_, Vector<wasm_val_t>>,
) -> bool {
    or_default(|| {
        let store = &required(store, "a store")?.0;
        let tag_out = required(tag, "a place for the tag")?.write(None);
        let values_out = required(values, "a place for the values")?.write(Vector::default());
        let Cause::Exception(exception) = &required(trap, "a trap")?.thrown()?.cause else {
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

/// A trap with a tag and values, for a host function to return.
fn with_tag(
    tag: Option<&wasm_ref_t>,
    values: Option<&Vector<wasm_val_t>>,
    cause: impl FnOnce(&StoreRef, Tag, &[wasm_val_t]) -> Result<Cause>,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        let (store, tag) = required(tag, "a tag")?.tag()?;
        let values = elements_or_none(values)?;
        Ok(Some(wasm_ref_t::trap(Thrown::new(cause(store, tag, values)?))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_trap_new_exception(
    tag: Option<&wasm_ref_t>,
    values: Option<&Vector<wasm_val_t>>,
) -> Option<Box<wasm_ref_t>> {
    with_tag(tag, values, |store, tag, values| Ok(Cause::Exception(exception(store, tag, values)?)))
}

/// Creates an exception in a store.
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
    with_tag(tag, values, |_, tag, values| {
        Ok(suspension(values, move |_, values| Ok(Suspension::new(tag, values))))
    })
}

/// A suspension with values, which are loaded when it is returned.
pub(crate) fn suspension(
    values: &[wasm_val_t],
    make: impl for<'a> Fn(&mut Caller<'a, Data>, &[Val]) -> Result<Suspension> + Send + Sync + 'static,
) -> Cause {
    let values = values.to_vec();
    Cause::Suspension(Box::new(move |caller| {
        let values = load_all(&mut *caller, &values)?;
        make(caller, &values)
    }))
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
        let header = include_str!("../../include/ropewalk.h");
        for code in TrapCode::ALL {
            let line = format!("ROPEWALK_TRAP_{} = {}", in_c(&format!("{code:?}")), *code as u8);
            let mut lines = header.lines().map(|line| line.trim().trim_end_matches(','));
            assert!(lines.any(|found| found == line), "{line}");
        }
    }
}
