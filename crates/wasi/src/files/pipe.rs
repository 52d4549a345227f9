//! Standard streams in memory.

use std::io::IoSlice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A standard input whose contents are known in advance. Clones are the same pipe.
///
/// ```
/// use ropewalk_wasi::{MemoryInputPipe, WasiCtx};
///
/// let input = MemoryInputPipe::new("first line\nsecond line\n");
/// let ctx = WasiCtx::builder().stdin(input.clone()).build();
/// // ... a program runs and reads some of it.
/// # drop(ctx);
/// assert_eq!(input.unread(), 23);
/// assert_eq!(input.take_unread(), b"first line\nsecond line\n");
/// assert_eq!(input.unread(), 0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryInputPipe {
    unread: Arc<Mutex<std::collections::VecDeque<u8>>>,
}

impl MemoryInputPipe {
    /// An input with these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> MemoryInputPipe {
        MemoryInputPipe { unread: Arc::new(Mutex::new(bytes.into().into())) }
    }

    /// The number of bytes that the program has not read yet.
    pub fn unread(&self) -> usize {
        lock(&self.unread).len()
    }

    /// Takes the bytes that the program has not read yet, for another input. The program then finds
    /// the end of this one.
    pub fn take_unread(&self) -> Vec<u8> {
        std::mem::take(&mut *lock(&self.unread)).into()
    }

    pub(crate) fn read(&self, buffer: &mut [u8]) -> usize {
        let mut unread = lock(&self.unread);
        let count = buffer.len().min(unread.len());
        for (place, byte) in buffer.iter_mut().zip(unread.drain(..count)) {
            *place = byte;
        }
        count
    }
}

/// A standard output or error that stores its contents. Clones are the same pipe.
///
/// ```
/// use ropewalk::{Engine, Linker, Module, Store};
/// use ropewalk_wasi::{MemoryOutputPipe, WasiCtx};
///
/// # fn main() -> ropewalk::Result<()> {
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (import "wasi_snapshot_preview1" "fd_write"
///         (func $write (param i32 i32 i32 i32) (result i32)))
///       (memory (export "memory") 1)
///       (data (i32.const 0) "\08\00\00\00\04\00\00\00rope")
///       (func (export "print") (result i32)
///         (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16))))
/// "#)?;
/// let mut linker = Linker::new(&engine);
/// ropewalk_wasi::add_to_linker(&mut linker, |ctx| ctx)?;
///
/// // A pipe with room for six bytes.
/// let output = MemoryOutputPipe::new(6);
/// let mut store = Store::new(&engine, WasiCtx::builder().stdout(output.clone()).build());
/// let instance = linker.instantiate(&mut store, &module)?;
/// let print = instance.get_typed_func::<(), i32>(&mut store, "print")?;
/// assert_eq!(print.call(&mut store, ())?, 0);
/// assert_eq!((output.unseen(), output.text()), (4, "rope".to_owned()));
/// assert_eq!(print.call(&mut store, ())?, 0);
/// assert_eq!((output.unseen(), output.contents()), (2, b"ropero".to_vec()));
/// const EPIPE: i32 = 64;
/// assert_eq!(print.call(&mut store, ())?, EPIPE);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MemoryOutputPipe {
    written: Arc<Mutex<Written>>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct Written {
    bytes: Vec<u8>,
    /// How many of the bytes the host has read.
    seen: usize,
}

impl MemoryOutputPipe {
    /// A pipe with room for this many bytes. Further writes fail with `EPIPE`.
    pub fn new(capacity: usize) -> MemoryOutputPipe {
        MemoryOutputPipe { written: Arc::default(), capacity }
    }

    /// The written bytes.
    pub fn contents(&self) -> Vec<u8> {
        self.read(<[u8]>::to_vec)
    }

    /// The written bytes as text, with invalid UTF-8 replaced.
    pub fn text(&self) -> String {
        self.read(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The number of bytes written since the last call of [`contents`](Self::contents) or
    /// [`text`](Self::text).
    pub fn unseen(&self) -> usize {
        let written = lock(&self.written);
        written.bytes.len() - written.seen
    }

    fn read<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        let mut written = lock(&self.written);
        written.seen = written.bytes.len();
        read(&written.bytes)
    }

    /// Returns the number of bytes written, or nothing if the pipe is full.
    pub(crate) fn write(&self, buffers: &[IoSlice<'_>]) -> Option<usize> {
        let written = &mut lock(&self.written).bytes;
        let before = written.len();
        for buffer in buffers {
            let room = self.capacity.saturating_sub(written.len());
            written.extend_from_slice(&buffer[..buffer.len().min(room)]);
        }
        let count = written.len() - before;
        let wanted = buffers.iter().any(|buffer| !buffer.is_empty());
        (count > 0 || !wanted).then_some(count)
    }
}

/// A panic while the lock is held leaves the bytes consistent, so poisoning is ignored.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_ends_after_its_bytes() {
        let pipe = MemoryInputPipe::new("abc");
        let mut buffer = [0; 2];
        assert_eq!(pipe.read(&mut buffer), 2);
        assert_eq!((&buffer, pipe.unread()), (b"ab", 1));
        assert_eq!(pipe.read(&mut buffer), 1);
        assert_eq!(pipe.read(&mut buffer), 0);
    }

    #[test]
    fn an_output_accepts_its_capacity() {
        let pipe = MemoryOutputPipe::new(3);
        assert_eq!(pipe.write(&[IoSlice::new(b"ab"), IoSlice::new(b"cd")]), Some(3));
        assert_eq!(pipe.write(&[IoSlice::new(b"e")]), None);
        assert_eq!(pipe.write(&[]), Some(0));
        assert_eq!(pipe.unseen(), 3);
        assert_eq!(pipe.text(), "abc");
        assert_eq!(pipe.unseen(), 0);
    }

    #[test]
    fn unread_bytes_can_be_taken() {
        let pipe = MemoryInputPipe::new("abc");
        assert_eq!(pipe.read(&mut [0]), 1);
        assert_eq!(pipe.take_unread(), b"bc");
        assert_eq!((pipe.unread(), pipe.read(&mut [0])), (0, 0));
    }
}
