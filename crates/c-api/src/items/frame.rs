//! Frames of backtraces.

use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::StoreRef;
use crate::support::boundary::{Out, fill, or_default, required};
use crate::support::owned::copied;
use crate::support::vector::Vector;
use ropewalk::{Frame, Instance};

/// A frame, with a reference to its instance.
#[derive(Clone)]
pub struct wasm_frame_t {
    frame: Frame,
    /// The instance of the function, if it is known.
    instance: Option<Box<wasm_ref_t>>,
}

impl wasm_frame_t {
    /// A frame of a call in a store. Its instance is known only if the store still exists.
    pub(crate) fn boxed(frame: &Frame, store: Option<&StoreRef>) -> Box<wasm_frame_t> {
        let instance = store.and_then(|store| {
            // A finalizer cannot use the store, so its frames have no instance.
            let found = store.enter(|context| Ok(Instance::of_frame(context, frame)));
            wasm_ref_t::boxed(store, Object::Instance(found.ok()??)).ok()?
        });
        Box::new(wasm_frame_t { frame: frame.clone(), instance })
    }
}

copied! {
    "wasm_frame": wasm_frame_t;
}

/// Null if the store has several instances of the module, since a frame does not record its
/// instance.
#[unsafe(no_mangle)]
pub extern "C" fn wasm_frame_instance(frame: Option<&wasm_frame_t>) -> Option<&wasm_ref_t> {
    frame?.instance.as_deref()
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_frame_func_index(frame: Option<&wasm_frame_t>) -> u32 {
    frame.map_or(0, |frame| frame.frame.function_index())
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_frame_func_offset(frame: Option<&wasm_frame_t>) -> usize {
    frame.and_then(|frame| frame.frame.function_offset()).map_or(0, |offset| offset as usize)
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_frame_module_offset(frame: Option<&wasm_frame_t>) -> usize {
    frame.and_then(|frame| frame.frame.offset()).map_or(0, |offset| offset as usize)
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_frame_func_name(
    frame: Option<&wasm_frame_t>,
    out: Out<'_, Vector<u8>>,
) -> bool {
    name(frame, out, Frame::function_name)
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_frame_module_name(
    frame: Option<&wasm_frame_t>,
    out: Out<'_, Vector<u8>>,
) -> bool {
    name(frame, out, Frame::module_name)
}

fn name(
    frame: Option<&wasm_frame_t>,
    out: Out<'_, Vector<u8>>,
    get: impl Fn(&Frame) -> Option<&str>,
) -> bool {
    or_default(|| {
        let name = get(&required(frame, "a frame")?.frame);
        fill(out, name.map(Vector::text).unwrap_or_default())?;
        Ok(name.is_some())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_frame_line(frame: Option<&wasm_frame_t>) -> usize {
    or_default(|| Ok(required(frame, "a frame")?.frame.line().unwrap_or(0)))
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_frame_column(frame: Option<&wasm_frame_t>) -> usize {
    or_default(|| Ok(required(frame, "a frame")?.frame.column().unwrap_or(0)))
}
