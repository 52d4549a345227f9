//! The stores that a debugger is to know.
//!
//! A debugger stops a process anywhere, so each change of the list is one write.

use ropewalk_abi::StoreContext;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A store in the list.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Node {
    pub context: *const StoreContext,
    pub next: AtomicPtr<Node>,
}

/// The newest store.
pub(crate) static FIRST: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

/// Held by whoever changes the list.
static CHANGING: Mutex<()> = Mutex::new(());

/// A store that a debugger knows until this is dropped.
#[derive(Debug)]
pub(crate) struct Known(*mut Node);

// SAFETY: the node is reached by the list only, under a lock.
unsafe impl Send for Known {}
// SAFETY: as above; a shared one can do nothing.
unsafe impl Sync for Known {}

impl Known {
    pub(crate) fn new(context: *const StoreContext) -> Known {
        let _changing = CHANGING.lock().expect("nobody panics with it");
        let next = AtomicPtr::new(FIRST.load(Ordering::Relaxed));
        let node = Box::into_raw(Box::new(Node { context, next }));
        FIRST.store(node, Ordering::Release);
        Known(node)
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        let _changing = CHANGING.lock().expect("nobody panics with it");
        let mut link = &FIRST;
        while link.load(Ordering::Relaxed) != self.0 {
            // SAFETY: nodes are alive while they are in the list, where this one is.
            link = unsafe { &(*link.load(Ordering::Relaxed)).next };
        }
        // SAFETY: it is alive until it is out of the list, and nobody else has it.
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
        // SAFETY: the list does not change meanwhile.
        let first = unsafe { FIRST.load(Ordering::Relaxed).as_ref() };
        // SAFETY: as above.
        let next = |node: &&Node| unsafe { node.next.load(Ordering::Relaxed).as_ref() };
        std::iter::successors(first, next).map(|node| node.context as usize).collect()
    }

    #[test]
    fn stores_are_in_the_list_until_they_are_dropped() {
        let [a, b, c] = [1_usize, 2, 3].map(|address| Known::new(address as *const _));
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
