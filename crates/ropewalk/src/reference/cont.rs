//! References to continuations.

use super::Handle;
use ropewalk_abi::{HeapType, RefType, ValType};
use ropewalk_runtime::Store as RuntimeStore;

/// A reference to a continuation. It can be passed back to WebAssembly where
/// one of its type is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContRef {
    pub(crate) handle: Handle,
    heap: HeapType,
}

impl ContRef {
    pub(crate) fn from_word(
        runtime: &mut RuntimeStore,
        word: u64,
        heap: HeapType,
    ) -> Option<ContRef> {
        (word != 0).then(|| ContRef { handle: Handle::new(runtime, word), heap })
    }

    /// Its type, as far as it is known where it came from.
    pub fn ty(&self) -> ValType {
        ValType::Ref(RefType { nullable: false, heap: self.heap })
    }
}
