//! Stack maps: which references, pointers and handlers a frame has at each call.

use cranelift_codegen::ir::{Type, types::*};
use cranelift_codegen::{CompiledCode, ExceptionContextLoc, FinalizedMachExceptionHandler};
use ropewalk_abi::code::{Handler, NO_INDEX};

/// Marks an entry of a stack map as owned by a local. Other references have the type `I64`.
pub(crate) const OF_LOCAL: Type = F64;
/// Marks an entry of a stack map as owned by an operand.
pub(crate) const OF_OPERAND: Type = F32;
/// Marks an entry of a stack map as a pointer of the engine.
pub(crate) const OF_POINTER: Type = I8;

/// What an exception handler catches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caught {
    /// The tag, or none for all exceptions.
    pub tag: Option<u32>,
    /// How many of the operands that are first-class stacks stay.
    pub kept: u32,
}

/// A call with references or listed pointers in its frame, or with handlers.
pub(crate) struct Site {
    pub return_offset: u32,
    pub frame_size: u32,
    pub references: Vec<u32>,
    /// The pointers of the engine, if they are listed.
    pub pointers: Vec<u32>,
    /// The references that die with the frame.
    pub owned: Vec<u32>,
    pub handlers: Vec<Handler>,
}

/// The calls with references, pointers or handlers, by return address.
pub(super) fn sites(code: &CompiledCode, caught: &[Caught]) -> Result<Vec<Site>, String> {
    let maps = code.buffer.user_stack_maps();
    let mut maps = maps.iter().peekable();
    let mut sites = Vec::new();
    for call in code.buffer.call_sites() {
        let return_offset = call.ret_addr;
        let map = maps.next_if(|(offset, ..)| *offset == return_offset);
        let entries: Vec<_> = map.into_iter().flat_map(|(_, _, map)| map.entries()).collect();
        let of_type = |ty| entries.iter().filter(move |entry| entry.0 == ty).map(|(_, at)| *at);
        let locals = of_type(OF_LOCAL).count() as u32;
        let owned = of_type(OF_LOCAL).chain(of_type(OF_OPERAND)).collect();
        let pointers: Vec<u32> = of_type(OF_POINTER).collect();
        let references = entries.iter().filter(|(ty, _)| *ty != OF_POINTER);
        let references: Vec<u32> = references.map(|(_, at)| *at).collect();
        let handlers = handlers(call.exception_handlers, caught, locals)?;
        if references.is_empty() && handlers.is_empty() && pointers.is_empty() {
            continue;
        }
        let frame_size = call.frame_offset.or(map.map(|(_, size, _)| *size));
        let frame_size = frame_size.ok_or("a call whose frame has no known size")?;
        sites.push(Site { return_offset, frame_size, references, pointers, owned, handlers });
    }
    match maps.next() {
        None => Ok(sites),
        Some((offset, ..)) => Err(format!("a stack map at {offset:#x}, where no call returns")),
    }
}

/// The handlers of a call, each with its context. At the call, `locals` locals own something.
fn handlers(
    table: &[FinalizedMachExceptionHandler],
    caught: &[Caught],
    locals: u32,
) -> Result<Vec<Handler>, String> {
    let mut context = None;
    let mut handlers = Vec::new();
    for item in table {
        let (number, code) = match item {
            FinalizedMachExceptionHandler::Context(ExceptionContextLoc::SPOffset(offset)) => {
                context = Some(*offset);
                continue;
            }
            FinalizedMachExceptionHandler::Context(other) => {
                return Err(format!("a context in {other:?}, where it does not survive a call"));
            }
            FinalizedMachExceptionHandler::Tag(number, code) => (number.as_u32(), *code),
            FinalizedMachExceptionHandler::Default(_) => {
                return Err("a handler without a number".to_string());
            }
        };
        let context = context.ok_or("a handler without a context")?;
        let Caught { tag, kept } = caught[number as usize];
        let tag = tag.unwrap_or(NO_INDEX);
        handlers.push(Handler { tag, context, code, kept: locals + kept });
    }
    Ok(handlers)
}
