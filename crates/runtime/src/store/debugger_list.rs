//! A list of stores for native debuggers.
//!
//! A debugger can stop the process anywhere, so each change of the list is a single write.

use ropewalk_abi::StoreContext;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

#[derive(Debug)]
#[repr(C)]
pub(crate) struct Node {
    pub context: *const StoreContext,
    pub next: AtomicPtr<Node>,
}

/// The newest store.
pub(crate) static FIRST: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

/// Locked by each change of the list.
static CHANGING: Mutex<()> = Mutex::new(());

/// An entry in the list. Dropping it removes the store.
#[derive(Debug)]
pub(crate) struct DebuggerListEntry(*mut Node);

// SAFETY: a node is reached only through the list, under a lock.
unsafe impl Send for DebuggerListEntry {}
// SAFETY: as above; a shared reference gives access to nothing.
unsafe impl Sync for DebuggerListEntry {}

impl DebuggerListEntry {
    pub(crate) fn new(context: *const StoreContext) -> DebuggerListEntry {
        let _changing = CHANGING.lock().expect("the lock is never poisoned");
        let next = AtomicPtr::new(FIRST.load(Ordering::Relaxed));
        let node = Box::into_raw(Box::new(Node { context, next }));
        FIRST.store(node, Ordering::Release);
        DebuggerListEntry(node)
    }
}

impl Drop for DebuggerListEntry {
    fn drop(&mut self) {
        let _changing = CHANGING.lock().expect("the lock is never poisoned");
        let mut link = &FIRST;
        while link.load(Ordering::Relaxed) != self.0 {
            // SAFETY: nodes in the list are alive, and this one is in the list.
            link = unsafe { &(*link.load(Ordering::Relaxed)).next };
        }
        // SAFETY: the node is alive, and after this write nothing refers to it.
        unsafe {
            link.store((*self.0).next.load(Ordering::Relaxed), Ordering::Release);
            drop(Box::from_raw(self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Vec<usize> {
        let _changing = CHANGING.lock().unwrap();
        // SAFETY: the lock keeps the list unchanged.
        let first = unsafe { FIRST.load(Ordering::Relaxed).as_ref() };
        // SAFETY: as above.
        let next = |node: &&Node| unsafe { node.next.load(Ordering::Relaxed).as_ref() };
        std::iter::successors(first, next).map(|node| node.context as usize).collect()
    }

    #[test]
    fn stores_are_in_the_list_until_they_are_dropped() {
        let [a, b, c] = [1_usize, 2, 3].map(|address| DebuggerListEntry::new(address as *const _));
        let ours = || list().into_iter().filter(|context| *context < 4).collect::<Vec<_>>();
        assert_eq!(ours(), [3, 2, 1]);
        drop(b);
        assert_eq!(ours(), [3, 1]);
        drop(c);
        assert_eq!(ours(), [1]);
        drop(a);
        assert!(ours().is_empty());
    }
}
