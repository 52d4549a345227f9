//! Putting the functions of a module together into one piece of code.

use crate::CompileError;
use crate::function::{MachineFunction, NearCall, NearCallee, Site};
use ropewalk_abi::code::{CallSite, CodeImage, FunctionCode, Handler, NO_POSITION};
use ropewalk_abi::{ControlBlock, StoreContext};
use std::mem::offset_of;

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

/// Leaves the stack whose block is in `rdi` and continues the one in `rsi`.
/// That one gets these registers as they are, and with them the signal in
/// `rdx`, what was captured in `rcx`, and the store's context in `r8`. This
/// names the stack that runs, so it is written when nothing more can fault.
/// Every other register is lost.
///
/// Each place that switches has a copy, to which it jumps. Were it a call, the
/// processor would expect a return from it, and mispredict the returns of the
/// functions around it. The first instruction makes the address behind the
/// jump, which lies as far away as the four bytes at 3 say.
const SWITCH: &[u8] = &[
    0x4c, 0x8d, 0x0d, 0, 0, 0, 0, // lea r9, [rip + behind the jump]
    0x41, 0x51, // push r9
    0x48, 0x89, 0x67, SP, // mov [rdi + sp], rsp
    0x48, 0x89, 0x6f, FP, // mov [rdi + fp], rbp
    0x49, 0x89, 0x70, STACK, // mov [r8 + stack], rsi
    0x48, 0x8b, 0x66, SP, // mov rsp, [rsi + sp]
    0x48, 0x8b, 0x6e, FP, // mov rbp, [rsi + fp]
];

/// Goes on where the stack was left: at the end of a switch, or of a function on
/// top of a frame that waits in a switch. A return would be mispredicted, since no
/// call has led here.
const CONTINUE_BELOW: &[u8] = &[
    0x41, 0x59, // pop r9
    0x41, 0xff, 0xe1, // jmp r9
];

const STACK: u8 = offset_of!(StoreContext, stack) as u8;
const SP: u8 = offset_of!(ControlBlock, sp) as u8;
const FP: u8 = offset_of!(ControlBlock, fp) as u8;
const _: () = assert!(offset_of!(ControlBlock, sp) < 128 && offset_of!(ControlBlock, fp) < 128);
const _: () = assert!(offset_of!(StoreContext, stack) < 128);

/// The opcodes of a near call and of a near jump.
const CALL: u8 = 0xe8;
const JUMP: u8 = 0xe9;

/// Fills the gaps between functions: `int3`.
const PADDING: u8 = 0xcc;

/// Gives every function its place and resolves the calls between them. Behind
/// the functions that the module defines come its thunks.
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
    if calls.iter().any(|(_, call)| matches!(call.callee, NearCallee::ContinueBelow)) {
        image.bytes.extend_from_slice(CONTINUE_BELOW);
    }
    let thunk = |image: &CodeImage, number: u32| {
        i64::from(image.functions[(defined_functions + number) as usize].start)
    };
    for (start, call) in calls {
        let target = match call.callee {
            NearCallee::Function(index) => {
                i64::from(image.functions[(index - imported_functions) as usize].start)
            }
            NearCallee::Thunk(number) => thunk(&image, number),
            NearCallee::ProbeStack => probe_stack,
            NearCallee::ContinueBelow => continue_below,
            NearCallee::Switch(into) => {
                let into = into.map(|number| thunk(&image, number));
                place_switch(&mut image, start + call.at, into)?
            }
        };
        let at = start + call.at;
        let distance = target + call.addend - i64::from(at);
        let distance = i32::try_from(distance).map_err(|_| too_large())?;
        image.bytes[at as usize..][..4].copy_from_slice(&distance.to_le_bytes());
    }
    Ok(image)
}

/// Appends the code for a switch whose distance stands at `at`, and makes the
/// call there a jump; answers where the code is. It ends in a jump to a thunk, if
/// one is given.
fn place_switch(image: &mut CodeImage, at: u32, into: Option<i64>) -> Result<i64, CompileError> {
    let opcode = &mut image.bytes[at as usize - 1];
    assert_eq!(*opcode, CALL, "a near call");
    *opcode = JUMP;
    let place = image.bytes.len();
    let behind = i64::from(at) + 4;
    let distance = i32::try_from(behind - (place as i64 + 7)).map_err(|_| too_large())?;
    image.bytes.extend_from_slice(SWITCH);
    image.bytes[place + 3..place + 7].copy_from_slice(&distance.to_le_bytes());
    match into {
        None => image.bytes.extend_from_slice(CONTINUE_BELOW),
        Some(thunk) => {
            let distance = thunk - (image.bytes.len() as i64 + 5);
            let distance = i32::try_from(distance).map_err(|_| too_large())?;
            image.bytes.push(JUMP);
            image.bytes.extend_from_slice(&distance.to_le_bytes());
        }
    }
    Ok(place as i64)
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
    image.functions.push(FunctionCode { start, end, function: function.function });
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
