//! Putting the functions of a module together into one piece of code.

use crate::CompileError;
use crate::function::{MachineFunction, NearCall, NearCallee, Site};
use ropewalk_abi::code::{CallSite, CodeImage, FunctionCode, Handler, NO_POSITION};

/// Probes a frame of `eax` bytes page by page, so that a frame larger than the
/// guard cannot jump over it.
///
/// It may be interrupted by a fault at any probe and the stack may then move,
/// so it keeps offsets from `rsp` only. It preserves everything but `r10` and
/// `r11`, which no convention uses for arguments.
const PROBE_STACK: &[u8] = &[
    0x45, 0x31, 0xdb, // xor r11d, r11d
    0x49, 0x81, 0xeb, 0x00, 0x10, 0x00, 0x00, // 1: sub r11, 4096
    0x42, 0x83, 0x0c, 0x1c, 0x00, // or dword ptr [rsp + r11], 0
    0x4e, 0x8d, 0x14, 0x18, // lea r10, [rax + r11]
    0x49, 0x81, 0xfa, 0x00, 0x10, 0x00, 0x00, // cmp r10, 4096
    0x73, 0xe7, // jae 1b
    0xc3, // ret
];

/// Fills the gaps between functions: `int3`.
const PADDING: u8 = 0xcc;

/// Gives every function its place and resolves the calls between them.
pub(crate) fn link(
    functions: Vec<MachineFunction>,
    imported_functions: u32,
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
    for (start, call) in calls {
        let target = match call.callee {
            NearCallee::Function(index) => {
                i64::from(image.functions[(index - imported_functions) as usize].start)
            }
            NearCallee::ProbeStack => probe_stack,
        };
        let at = start + call.at;
        let distance = target + call.addend - i64::from(at);
        let distance = i32::try_from(distance).map_err(|_| too_large())?;
        image.bytes[at as usize..][..4].copy_from_slice(&distance.to_le_bytes());
    }
    Ok(image)
}

/// Appends a function and its tables; answers where it begins.
fn place(image: &mut CodeImage, function: &MachineFunction) -> Result<u32, CompileError> {
    let aligned = image.bytes.len().next_multiple_of(function.alignment.max(16) as usize);
    image.bytes.resize(aligned, PADDING);
    let start = aligned as u32;
    image.bytes.extend_from_slice(&function.code);
    if i32::try_from(image.bytes.len()).is_err() {
        return Err(too_large());
    }
    let end = start + function.code.len() as u32;
    image.functions.push(FunctionCode { start, end });
    image.traps.extend(function.traps.iter().map(|&(at, code)| (start + at, code)));
    for site in &function.sites {
        place_site(image, start, site);
    }
    image.positions.push((start, NO_POSITION));
    image.positions.extend(function.positions.iter().map(|&(at, pos)| (start + at, pos)));
    Ok(start)
}

fn place_site(image: &mut CodeImage, start: u32, site: &Site) {
    let references = image.references.len() as u32;
    image.references.extend_from_slice(&site.references);
    let handlers = image.handlers.len() as u32;
    let moved = site.handlers.iter().map(|h| Handler { code: start + h.code, ..*h });
    image.handlers.extend(moved);
    image.sites.push(CallSite {
        return_offset: start + site.return_offset,
        frame_size: site.frame_size,
        references: references..image.references.len() as u32,
        handlers: handlers..image.handlers.len() as u32,
    });
}

fn too_large() -> CompileError {
    CompileError::TooLarge("its machine code exceeds 2 GiB".to_string())
}
