//! Registration of object files with native debuggers, by gdb's JIT interface.
//!
//! A debugger that finds the two symbols in a process sets a breakpoint on the function and reads
//! the list whenever it is called. A debugger that attaches later reads the whole list. Other
//! engines in the same process use the same list, so our symbols are weak.

use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// An object file in memory.
#[repr(C)]
struct Entry {
    next: AtomicPtr<Entry>,
    previous: AtomicPtr<Entry>,
    file: *const u8,
    size: u64,
}

/// The record that debuggers read.
#[repr(C)]
struct Descriptor {
    version: u32,
    action: AtomicU32,
    /// The entry that the action is about.
    relevant: AtomicPtr<Entry>,
    first: AtomicPtr<Entry>,
}

const NOTHING: u32 = 0;
const REGISTER: u32 = 1;
const UNREGISTER: u32 = 2;

unsafe extern "C" {
    static __jit_debug_descriptor: Descriptor;
    safe fn __jit_debug_register_code();
}

// Version 1, without entries.
core::arch::global_asm!(
    ".weak __jit_debug_descriptor",
    ".type __jit_debug_descriptor, @object",
    ".size __jit_debug_descriptor, 24",
    ".pushsection .data.__jit_debug_descriptor, \"aw\", @progbits",
    ".balign 8",
    "__jit_debug_descriptor:",
    ".long 1, 0",
    ".quad 0, 0",
    ".popsection",
);

/// Locked by each change of the list.
static CHANGING: Mutex<()> = Mutex::new(());

/// A registered object file. Dropping it removes the file from the list.
pub(crate) struct Registration {
    entry: *mut Entry,
    _object: Box<[u8]>,
}

// SAFETY: the entry is reached only through the list, under a lock.
unsafe impl Send for Registration {}
// SAFETY: as above; a shared reference gives access to nothing.
unsafe impl Sync for Registration {}

impl Registration {
    pub(crate) fn new(object: Vec<u8>) -> Registration {
        let object = object.into_boxed_slice();
        let entry = Box::into_raw(Box::new(Entry {
            next: AtomicPtr::new(ptr::null_mut()),
            previous: AtomicPtr::new(ptr::null_mut()),
            file: object.as_ptr(),
            size: object.len() as u64,
        }));
        let _changing = CHANGING.lock().expect("the lock is never poisoned");
        // SAFETY: the record exists, all engines change it like this, and listed entries are alive.
        unsafe {
            let first = __jit_debug_descriptor.first.load(Ordering::Relaxed);
            (*entry).next.store(first, Ordering::Relaxed);
            if let Some(first) = first.as_ref() {
                first.previous.store(entry, Ordering::Relaxed);
            }
            __jit_debug_descriptor.first.store(entry, Ordering::Relaxed);
            notify(REGISTER, entry);
        }
        Registration { entry, _object: object }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let _changing = CHANGING.lock().expect("the lock is never poisoned");
        // SAFETY: as in `new`; the entry is in the list, and nothing else refers to it.
        unsafe {
            let next = (*self.entry).next.load(Ordering::Relaxed);
            let previous = (*self.entry).previous.load(Ordering::Relaxed);
            match previous.as_ref() {
                Some(previous) => previous.next.store(next, Ordering::Relaxed),
                None => __jit_debug_descriptor.first.store(next, Ordering::Relaxed),
            }
            if let Some(next) = next.as_ref() {
                next.previous.store(previous, Ordering::Relaxed);
            }
            notify(UNREGISTER, self.entry);
            drop(Box::from_raw(self.entry));
        }
    }
}

/// Notifies debuggers of an entry.
///
/// # Safety
///
/// The entry must be alive, and the list locked.
unsafe fn notify(action: u32, entry: *mut Entry) {
    // SAFETY: the record exists, here or in another engine.
    unsafe {
        __jit_debug_descriptor.relevant.store(entry, Ordering::Relaxed);
        __jit_debug_descriptor.action.store(action, Ordering::Relaxed);
        __jit_debug_register_code();
        __jit_debug_descriptor.action.store(NOTHING, Ordering::Relaxed);
        __jit_debug_descriptor.relevant.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<*const u8> {
        let _changing = CHANGING.lock().unwrap();
        // SAFETY: the lock keeps the list unchanged.
        unsafe {
            let first = __jit_debug_descriptor.first.load(Ordering::Relaxed).as_ref();
            let next = |entry: &&Entry| entry.next.load(Ordering::Relaxed).as_ref();
            std::iter::successors(first, next).map(|entry| entry.file).collect()
        }
    }

    #[test]
    fn files_are_in_the_list_until_they_are_dropped() {
        let [a, b, c] = [1, 2, 3].map(|byte| Registration::new(vec![byte]));
        let [in_a, in_b, in_c] = [&a, &b, &c].map(|registration| registration._object.as_ptr());
        let ours = || {
            let mut entries = entries();
            entries.retain(|file| [in_a, in_b, in_c].contains(file));
            entries
        };
        assert_eq!(ours(), [in_c, in_b, in_a]);
        drop(b);
        assert_eq!(ours(), [in_c, in_a]);
        drop(c);
        assert_eq!(ours(), [in_a]);
        drop(a);
        assert!(ours().is_empty());
    }
}
