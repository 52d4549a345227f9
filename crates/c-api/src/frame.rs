//! Frames of backtraces.

use crate::boundary::{Out, answer, fill, required};
use crate::reference::wasm_ref_t;
use crate::vector::Vector;
use ropewalk::Frame;

/// Where a function of WebAssembly was.
#[derive(Clone)]
pub struct wasm_frame_t(pub(crate) Frame);

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

/// Always null: a frame knows its module, and not which instance of it.
#[unsafe(no_mangle)]
pub extern "C" fn wasm_frame_instance(_: Option<&wasm_frame_t>) -> Option<&wasm_ref_t> {
    None
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_frame_func_index(frame: Option<&wasm_frame_t>) -> u32 {
    frame.map_or(0, |frame| frame.0.function_index())
}

/// Always zero: where in its module a function begins is not kept.
#[unsafe(no_mangle)]
pub extern "C" fn wasm_frame_func_offset(_: Option<&wasm_frame_t>) -> usize {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_frame_module_offset(frame: Option<&wasm_frame_t>) -> usize {
    frame.and_then(|frame| frame.0.offset()).map_or(0, |offset| offset as usize)
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
        let name = get(&required(frame, "a frame")?.0);
        fill(out, name.map(Vector::text).unwrap_or_default())?;
        Ok(name.is_some())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_frame_line(frame: Option<&wasm_frame_t>) -> usize {
    answer(|| Ok(required(frame, "a frame")?.0.line().unwrap_or(0)))
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_frame_column(frame: Option<&wasm_frame_t>) -> usize {
    answer(|| Ok(required(frame, "a frame")?.0.column().unwrap_or(0)))
}
