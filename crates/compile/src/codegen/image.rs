//! Links the functions of a module into one image.

use super::stack_map::Site;
use super::{MachineFunction, NearCall, NearCallee};
use crate::CompileError;
use crate::arch::{CONTINUE_BELOW, PADDING, PROBE_STACK, place_switch};
use crate::emit::code_ref::ImageCode;
use ropewalk_abi::code::{
    CallSite, CodeImage, FunctionCode, Handler, IndexRange, NO_INDEX, NO_POSITION, Position,
    TrapSite,
};
use ropewalk_abi::trap::TrapCode;

/// Gives every function its place and resolves the calls between them. The thunks follow the
/// functions that the module defines.
pub(crate) fn link(
    functions: Vec<MachineFunction>,
    imported_functions: u32,
    defined_functions: u32,
) -> Result<CodeImage, CompileError> {
    let mut image = CodeImage::default();
    let mut calls: Vec<(u32, NearCall)> = Vec::new();
    for function in functions {
        let start = place(&mut image, &function)?;
        calls.extend(function.calls.into_iter().map(|call| (start, call)));
    }
    let probe_stack = image.bytes.len() as i64;
    if calls.iter().any(|(_, call)| matches!(call.callee, NearCallee::ProbeStack)) {
        image.bytes.extend_from_slice(PROBE_STACK);
    }
    let continue_below = image.bytes.len() as i64;
    if calls
        .iter()
        .any(|(_, call)| matches!(call.callee, NearCallee::Code(ImageCode::ContinueBelow)))
    {
        image.bytes.extend_from_slice(CONTINUE_BELOW);
    }
    let thunk = |image: &CodeImage, number: u32| {
        i64::from(image.functions[(defined_functions + number) as usize].start)
    };
    for (start, call) in calls {
        let target = match call.callee {
            NearCallee::Code(ImageCode::Function(index)) => {
                i64::from(image.functions[(index - imported_functions) as usize].start)
            }
            NearCallee::Code(ImageCode::Thunk(number)) => thunk(&image, number),
            NearCallee::ProbeStack => probe_stack,
            NearCallee::Code(ImageCode::ContinueBelow) => continue_below,
            NearCallee::Code(ImageCode::Switch(into)) => {
                let into = into.map(|number| thunk(&image, number));
                let at = (start + call.at) as usize;
                place_switch(&mut image.bytes, at, into).ok_or_else(too_large)?
            }
        };
        let at = start + call.at;
        let distance = target + call.addend - i64::from(at);
        let distance = i32::try_from(distance).map_err(|_| too_large())?;
        image.bytes[at as usize..][..4].copy_from_slice(&distance.to_le_bytes());
    }
    Ok(image)
}

/// Appends a function and its tables; returns its start.
fn place(image: &mut CodeImage, function: &MachineFunction) -> Result<u32, CompileError> {
    let aligned = image.bytes.len().next_multiple_of(function.alignment.max(16) as usize);
    image.bytes.resize(aligned, PADDING);
    let start = aligned as u32;
    image.bytes.extend_from_slice(&function.code);
    if i32::try_from(image.bytes.len()).is_err() {
        return Err(too_large());
    }
    let end = start + function.code.len() as u32;
    let index = function.function.unwrap_or(NO_INDEX);
    image.functions.push(FunctionCode { start, end, function: index, body: function.body });
    let trap = |&(at, code): &(u32, TrapCode)| TrapSite { offset: start + at, code: code as u32 };
    image.traps.extend(function.traps.iter().map(trap));
    for site in &function.sites {
        place_site(image, start, site);
    }
    image.positions.push(Position { offset: start, position: NO_POSITION });
    let position = |&(at, position): &(u32, u32)| Position { offset: start + at, position };
    image.positions.extend(function.positions.iter().map(position));
    Ok(start)
}

fn place_site(image: &mut CodeImage, start: u32, site: &Site) {
    let references = image.references.len() as u32;
    image.references.extend_from_slice(&site.references);
    let pointers = image.pointers.len() as u32;
    image.pointers.extend_from_slice(&site.pointers);
    let owned = image.owned.len() as u32;
    image.owned.extend_from_slice(&site.owned);
    let handlers = image.handlers.len() as u32;
    let moved = site.handlers.iter().map(|h| Handler { code: start + h.code, ..*h });
    image.handlers.extend(moved);
    image.sites.push(CallSite {
        return_offset: start + site.return_offset,
        frame_size: site.frame_size,
        references: IndexRange { start: references, end: image.references.len() as u32 },
        pointers: IndexRange { start: pointers, end: image.pointers.len() as u32 },
        owned: IndexRange { start: owned, end: image.owned.len() as u32 },
        handlers: IndexRange { start: handlers, end: image.handlers.len() as u32 },
    });
}

fn too_large() -> CompileError {
    CompileError::too_large("its machine code exceeds 2 GiB")
}
