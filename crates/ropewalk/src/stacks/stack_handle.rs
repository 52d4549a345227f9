//! The handle of a stack that the host owns: continuations, stacks of a bag, first-class stacks.
//!
//! The host takes the stack from WebAssembly, whose references to it become invalid. It gives the
//! stack back, resumes it, or drops the handle, which frees the stack.

use crate::misuse::WrongStore;
use crate::reference::{ContRef, Handle, check_fits};
use crate::stacks::cont_type::unknown_type;
use crate::stacks::lifetime_token::LifetimeToken;
use crate::stacks::shared_handle::heap_of;
use crate::store::{AsContext, AsContextMut};
use anyhow::{Error, Result};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{HeapType, RefType, TrapCode, ValType};
use ropewalk_runtime::{Backtrace, Released, Store as RuntimeStore, StoreId, Trap};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;
use std::sync::{Arc, Weak};

/// The only valid reference to a stack that is suspended or has not begun. Dropping it frees the
/// stack.
///
/// Each resumption moves the handle, so it should stay in registers. Only code that is inlined
/// into its user may take its address, even to drop it.
pub(crate) struct StackHandle {
    reference: u64,
    /// The owner of the stack, which identifies the store.
    released: Owner,
    /// Names in snapshot options observe it, since another stack may get the same reference.
    token: LifetimeToken,
}

impl StackHandle {
    /// The handle for a reference that the host holds.
    pub fn new(runtime: &RuntimeStore, reference: u64) -> StackHandle {
        let released = Owner::new(runtime.released().clone());
        StackHandle { reference, released, token: LifetimeToken::new() }
    }

    /// An observer that ends as soon as the host no longer holds the stack by this reference.
    pub fn observe(&self) -> Weak<()> {
        self.token.observe()
    }

    /// Fails unless the stack belongs to this store.
    #[inline]
    pub fn check(&self, runtime: &RuntimeStore) -> Result<(), WrongStore> {
        match ptr::eq(&**runtime.released(), &*self.released) {
            true => Ok(()),
            false => Err(wrong_store(self.reference)),
        }
    }

    /// Prepares the store to continue the stack.
    #[inline]
    pub fn prepare(&self, runtime: &mut RuntimeStore) -> Result<()> {
        runtime.free_released();
        runtime.with_embedder(|runtime| runtime.make_room_for_block(self.reference))
    }

    pub fn backtrace(&self, store: impl AsContext) -> Result<Backtrace> {
        let runtime = store.as_context().runtime();
        self.check(runtime)?;
        Ok(runtime.held_backtrace(self.reference))
    }

    pub fn bytes(&self, store: impl AsContext) -> Result<usize> {
        let runtime = store.as_context().runtime();
        self.check(runtime)?;
        Ok(runtime.held_bytes(self.reference))
    }

    pub fn try_clone(&self, runtime: &mut RuntimeStore) -> Result<StackHandle> {
        self.check(runtime)?;
        let kind = StackKind::of(self.reference).expect("a reference to a stack");
        // If the embedder panics, the copy is dropped.
        runtime.with_embedder(|runtime| {
            let copy = runtime.copy_held(self.reference, kind)?;
            Ok(StackHandle::new(runtime, copy))
        })
    }

    pub fn store(&self) -> StoreId {
        self.released.store()
    }

    #[inline]
    pub fn reference(&self) -> u64 {
        self.reference
    }

    /// The word of the stack, which the host gives to WebAssembly.
    pub fn into_word(self, runtime: &RuntimeStore) -> u64 {
        let spent = self.spend();
        runtime.let_go(spent.reference);
        spent.reference
    }

    /// Frees the stack at once.
    pub fn free(self, mut store: impl AsContextMut) -> Result<()> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        self.check(runtime)?;
        runtime.free_held(self.spend().reference);
        Ok(())
    }

    /// Takes the handle apart without freeing the stack.
    #[inline]
    pub fn spend(self) -> SpentHandle {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so each field is read once.
        let (released, token) = unsafe { (ptr::read(&this.released), ptr::read(&this.token)) };
        drop(token);
        SpentHandle { reference: this.reference, released }
    }
}

#[cold]
fn wrong_store(reference: u64) -> WrongStore {
    WrongStore(match StackKind::of(reference) {
        Some(StackKind::Continuation) => "continuation",
        _ => "stack",
    })
}

impl Drop for StackHandle {
    #[inline]
    fn drop(&mut self) {
        self.released.push(self.reference);
    }
}

/// A handle whose stack the host has continued.
pub(crate) struct SpentHandle {
    pub reference: u64,
    released: Owner,
}

impl SpentHandle {
    /// The handle of the stack that came back.
    #[inline]
    pub fn renew(self, reference: u64) -> StackHandle {
        StackHandle { reference, released: self.released, token: LifetimeToken::new() }
    }
}

/// A count of the [`Arc`] of a store. Dropping an `Arc` takes its address; this is dropped by
/// value.
struct Owner(ManuallyDrop<Arc<Released>>);

impl Owner {
    fn new(released: Arc<Released>) -> Owner {
        Owner(ManuallyDrop::new(released))
    }
}

impl Deref for Owner {
    type Target = Released;

    #[inline]
    fn deref(&self) -> &Released {
        &self.0
    }
}

impl Drop for Owner {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it is not used again.
        disown(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}

/// Drops a count of a store. See [`Owner`] for why it must not be inlined.
#[inline(never)]
fn disown(released: Arc<Released>) {
    drop(released);
}

/// Why a stack cannot be continued.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unusable {
    /// The type of the reference says neither parameters nor results.
    UnknownType,
    /// The reference was not valid.
    Invalid(TrapCode),
}

impl Unusable {
    pub fn error(self) -> Error {
        match self {
            Unusable::UnknownType => unknown_type(ValType::Ref(RefType::CONTREF)),
            Unusable::Invalid(code) => Trap::from_code(code).into(),
        }
    }
}

/// The handle of a stack that the host switches to, with the type of its reference.
pub(crate) struct SwitchHandle {
    pub stack: StackHandle,
    ty: std::result::Result<HeapType, Unusable>,
}

impl SwitchHandle {
    /// Takes the stack that a reference names. Other references to it become invalid.
    pub fn from_ref(
        mut store: impl AsContextMut,
        reference: ContRef,
        kind: StackKind,
    ) -> Result<SwitchHandle> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let word = reference.handle.word(runtime, HeapType::Cont)?;
        runtime.with_embedder(|runtime| runtime.make_room_for_block(word))?;
        let handle = SwitchHandle::from_word(runtime, word, reference.ty(), kind);
        handle.heap()?;
        Ok(handle)
    }

    /// Takes the stack that a word names. If the word is not valid, each use of the handle fails.
    pub fn from_word(
        runtime: &mut RuntimeStore,
        word: u64,
        ty: ValType,
        kind: StackKind,
    ) -> SwitchHandle {
        let (reference, ty) = match runtime.take_held(word, kind) {
            Ok(reference) => (reference, Ok(heap_of(ty))),
            Err(code) => (0, Err(Unusable::Invalid(code))),
        };
        SwitchHandle { stack: StackHandle::new(runtime, reference), ty }
    }

    /// The handle of a stack of a restored store.
    pub fn restored(
        stack: StackHandle,
        ty: std::result::Result<HeapType, Unusable>,
    ) -> SwitchHandle {
        SwitchHandle { stack, ty }
    }

    pub fn heap(&self) -> Result<HeapType> {
        self.ty.map_err(Unusable::error)
    }

    pub fn try_clone(&self, mut store: impl AsContextMut) -> Result<SwitchHandle> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        self.stack.check(runtime)?;
        self.heap()?;
        Ok(SwitchHandle { stack: self.stack.try_clone(runtime)?, ty: self.ty })
    }

    pub fn into_word(self, runtime: &RuntimeStore) -> Result<u64> {
        self.stack.check(runtime)?;
        self.heap()?;
        Ok(self.stack.into_word(runtime))
    }

    /// The word, where a reference of a certain type is expected.
    pub fn into_word_of(self, runtime: &RuntimeStore, expected: RefType) -> Result<u64> {
        self.stack.check(runtime)?;
        check_fits(runtime, self.stack.reference(), self.heap()?, expected)?;
        self.into_word(runtime)
    }

    pub fn into_ref(self, mut store: impl AsContextMut) -> Result<ContRef> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let heap = self.heap()?;
        let word = self.into_word(runtime)?;
        Ok(ContRef { handle: Handle::new(runtime, word), heap })
    }
}

/// Defines what stacks of a bag and first-class stacks have in common. The type is a tuple of a
/// [`SwitchHandle`].
macro_rules! switch_stack {
    ($name:ident: $kind:path) => {
        impl $name {
            /// Takes the stack that a reference names. References that WebAssembly has to it
            /// become invalid.
            pub fn from_ref(store: impl AsContextMut, reference: ContRef) -> Result<$name> {
                Ok($name(SwitchHandle::from_ref(store, reference, $kind)?))
            }

            pub(crate) fn from_word(runtime: &mut RuntimeStore, word: u64, ty: ValType) -> $name {
                $name(SwitchHandle::from_word(runtime, word, ty, $kind))
            }

            pub(crate) fn restored(handle: SwitchHandle) -> $name {
                $name(handle)
            }

            pub(crate) fn handle(&self) -> &SwitchHandle {
                &self.0
            }

            pub(crate) fn into_word(self, runtime: &RuntimeStore) -> Result<u64> {
                self.0.into_word(runtime)
            }

            pub(crate) fn into_word_of(
                self,
                runtime: &RuntimeStore,
                expected: ropewalk_abi::RefType,
            ) -> Result<u64> {
                self.0.into_word_of(runtime, expected)
            }

            /// Gives it to WebAssembly, as a reference. From then on the collector frees it when
            /// nothing refers to it.
            pub fn into_ref(self, store: impl AsContextMut) -> Result<ContRef> {
                self.0.into_ref(store)
            }

            /// Where it is suspended. Empty if it has not begun.
            pub fn backtrace(&self, store: impl AsContext) -> Result<ropewalk_runtime::Backtrace> {
                self.0.stack.backtrace(store)
            }

            /// How many bytes of its stacks are in use.
            pub fn bytes(&self, store: impl AsContext) -> Result<usize> {
                self.0.stack.bytes(store)
            }

            /// Copies it, as `stack.clone` does. The copy is equal, and independent of the
            /// original. Fails as [`Continuation::try_clone`](crate::Continuation::try_clone)
            /// does.
            pub fn try_clone(&self, store: impl AsContextMut) -> Result<$name> {
                Ok($name(self.0.try_clone(store)?))
            }

            /// Frees its stacks at once.
            pub fn free(self, store: impl AsContextMut) -> Result<()> {
                self.0.stack.free(store)
            }
        }

        opaque_debug!(impl<> $name);
    };
}

pub(crate) use switch_stack;
