//! References to continuations.

use super::{Handle, Inside, Reference, Sealed};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{HeapType, RefType, ValType};
use ropewalk_runtime::Store as RuntimeStore;

/// A reference to a continuation, or to a stack of another design. It can be passed
/// back to WebAssembly where one of its type is expected.
///
/// The collector keeps what it names as long as the reference lasts: at the top level,
/// outside of any [`RootScope`](crate::RootScope), that is as long as the store. A
/// [`Continuation`](crate::Continuation) has an owner instead. The host takes one from
/// a reference by [`Continuation::from_ref`](crate::Continuation::from_ref), or as the
/// result of a typed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContRef {
    pub(crate) handle: Handle,
    pub(crate) heap: HeapType,
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

    /// Whether it can be passed where a type is expected. Of typed continuations only
    /// what they take and return matters, wherever their type was defined.
    pub(crate) fn fits(&self, runtime: &RuntimeStore, ty: RefType) -> bool {
        let types = runtime.types();
        if types.is_subtype(self.ty(), ValType::Ref(ty)) {
            return true;
        }
        let word = self.handle.word(runtime, HeapType::Cont).unwrap_or(0);
        let (HeapType::Concrete(found), HeapType::Concrete(expected)) = (self.heap, ty.heap) else {
            return false;
        };
        let functions = types.cont_function(found).zip(types.cont_function(expected));
        let Some((found, expected)) = functions else { return false };
        let all = |a: &[ValType], b: &[ValType]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| types.is_subtype(*a, *b))
        };
        StackKind::of(word) == Some(StackKind::Continuation)
            && all(expected.params(), found.params())
            && all(found.results(), expected.results())
    }
}

impl Sealed for ContRef {
    const KIND: HeapType = HeapType::Cont;
    /// Its type.
    type Detail = HeapType;

    fn handle(self, _: Inside) -> Handle {
        self.handle
    }

    fn detail(self, _: Inside) -> HeapType {
        self.heap
    }

    fn from_handle(handle: Handle, heap: HeapType, _: Inside) -> Self {
        ContRef { handle, heap }
    }
}

impl Reference for ContRef {}
