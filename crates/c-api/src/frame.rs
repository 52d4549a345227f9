//! Frames of backtraces.

use crate::boundary::{Out, answer, fill, required};
use crate::reference::{Object, wasm_ref_t};
use crate::store::StoreRef;
use crate::vector::Vector;
use ropewalk::{Frame, Instance};

/// Where a function of WebAssembly was.
#[derive(Clone)]
pub struct wasm_frame_t {
    frame: Frame,
    /// The instance of the function, if it is known; C borrows it.
    instance: Option<Box<wasm_ref_t>>,
}

impl wasm_frame_t {
    /// A frame of something that ended a call in a store, if that is there still.
    pub(crate) fn boxed(frame: &Frame, store: Option<&StoreRef>) -> Box<wasm_frame_t> {
        let instance = store.and_then(|store| {
            // A finalizer cannot use the store, and gets a frame without it.
            let found = store.enter(|context| Ok(Instance::of_frame(context, frame)));
            wasm_ref_t::boxed(store, Object::Instance(found.ok()??)).ok()?
        });
        Box::new(wasm_frame_t { frame: frame.clone(), instance })
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_frame_copy(frame: Option<&wasm_frame_t>) -> Option<Box<wasm_frame_t>> {
    frame.map(|frame| Box::new(frame.clone()))
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_frame_delete(frame: Option<Box<wasm_frame_t>>) {
    answer(|| {
        drop(frame);
        Ok(())
    });
}

/// Null if there were several instances of the module in the store: frames do not say of
/// which of them they are.
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
    answer(|| {
        let name = get(&required(frame, "a frame")?.frame);
        fill(out, name.map(Vector::text).unwrap_or_default())?;
        Ok(name.is_some())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_frame_line(frame: Option<&wasm_frame_t>) -> usize {
    answer(|| Ok(required(frame, "a frame")?.frame.line().unwrap_or(0)))
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_frame_column(frame: Option<&wasm_frame_t>) -> usize {
    answer(|| Ok(required(frame, "a frame")?.frame.column().unwrap_or(0)))
}
