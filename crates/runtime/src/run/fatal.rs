//! Reports a bug in the engine and aborts the process.
//!
//! The signal handler calls this. So nothing here allocates, takes a lock, or calls a function that
//! is not async-signal-safe.

use crate::arch::fault::Fault;
use crate::code::registry;
use crate::store::Store;
use ropewalk_abi::code::index;
use std::fmt::{self, Write};

/// Reports a fault, and aborts the process.
pub(crate) fn abort(store: &Store, fault: &Fault) -> ! {
    let mut text = Text { bytes: [0; 1024], len: 0 };
    // Text that does not fit is cut.
    let _ = write!(text, "{}", FaultReport { store, fault });
    text.write_to_standard_error();
    // SAFETY: aborting is always allowed.
    unsafe { libc::abort() }
}

struct FaultReport<'a> {
    store: &'a Store,
    fault: &'a Fault,
}

impl fmt::Display for FaultReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { signal, code, address, exception, pc, sp, .. } = *self.fault;
        let name = match signal {
            libc::SIGSEGV => "SIGSEGV",
            libc::SIGBUS => "SIGBUS",
            libc::SIGILL => "SIGILL",
            _ => "SIGFPE",
        };
        writeln!(f, "ropewalk: WebAssembly caused a fault that is not a trap.")?;
        writeln!(f, "  signal {name}, code {code}, exception {exception}, address {address:#x}")?;
        writeln!(f, "  instruction {pc:#x}, {}", CodeAt { store: self.store, pc })?;
        // SAFETY: the running stack's block is alive.
        if let Some(block) = unsafe { self.store.context().stack.as_ref() } {
            let (limit, high) = (block.limit, block.high);
            writeln!(f, "  stack pointer {sp:#x}, stack {limit:#x} to {high:#x}")?;
        }
        f.write_str(
            "This is a bug in the engine, or a signal handler without SA_ONSTACK. Please report \
             it.\nThe process is aborted, because its memory may be corrupt.\n",
        )
    }
}

/// The location of an instruction.
struct CodeAt<'a> {
    store: &'a Store,
    pc: usize,
}

impl fmt::Display for CodeAt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((module, offset)) = self.store.objects.module_at(self.pc) else {
            return f.write_str(match registry::contains(self.pc) {
                true => "in a trampoline",
                false => "not in generated code",
            });
        };
        let image = module.code.tables();
        let function = image.function_at(offset).map(|number| image.functions[number as usize]);
        match function {
            Some(code) => {
                match index(code.function) {
                    Some(function) => write!(f, "function {function}")?,
                    None => f.write_str("a thunk")?,
                }
                write!(f, " + {:#x}", offset - code.start)?;
            }
            None => write!(f, "offset {offset:#x}")?,
        }
        write!(f, " of the module {}", module.info.name.as_deref().unwrap_or("without a name"))?;
        match image.position_at(offset) {
            Some(position) => write!(f, ", from its byte {position:#x}"),
            None => Ok(()),
        }
    }
}

/// A fixed buffer for text.
struct Text {
    bytes: [u8; 1024],
    len: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let len = text.len().min(room.len());
        room[..len].copy_from_slice(&text.as_bytes()[..len]);
        self.len += len;
        if len == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

impl Text {
    fn write_to_standard_error(&self) {
        let mut remaining = &self.bytes[..self.len];
        while !remaining.is_empty() {
            // SAFETY: the bytes are initialized.
            let written = unsafe {
                libc::write(libc::STDERR_FILENO, remaining.as_ptr().cast(), remaining.len())
            };
            match usize::try_from(written) {
                Ok(written) if written > 0 => remaining = &remaining[written..],
                _ => return,
            }
        }
    }
}
