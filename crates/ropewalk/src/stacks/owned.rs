//! What only the host has: how it is taken from WebAssembly and given back, checked,
//! described and freed.

use crate::misuse::WrongStore;
use crate::reference::{ContRef, Handle, check_fits};
use crate::stacks::alive::Alive;
use crate::stacks::cont_type::unknown_type;
use crate::stacks::identity::heap_of;
use crate::store::{AsContext, AsContextMut};
use anyhow::{Error, Result};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{HeapType, RefType, TrapCode, ValType};
use ropewalk_runtime::{Backtrace, Released, Store as RuntimeStore, StoreId, Trap};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;
use std::sync::{Arc, Weak};

/// The only valid reference to what is suspended, or has not begun. If it is dropped,
/// the stacks are freed.
///
/// It is moved with every resumption, so it should be in registers: nothing that is not
/// compiled into whoever has it may take its address, not even to drop it.
pub(crate) struct Held {
    reference: u64,
    /// Of its store, which it tells from others.
    released: Owner,
    /// What names that it was given look at: it ends with this, while another stack may have the
    /// same reference later.
    alive: Alive,
}

impl Held {
    /// What the host holds under a reference.
    pub fn new(runtime: &RuntimeStore, reference: u64) -> Held {
        let released = Owner::new(runtime.released().clone());
        Held { reference, released, alive: Alive::new() }
    }

    /// Ends as soon as the host does not hold it any more under this reference.
    pub fn alive(&self) -> Weak<()> {
        self.alive.watch()
    }

    /// Fails unless it is of a store.
    #[inline]
    pub fn check(&self, runtime: &RuntimeStore) -> Result<(), WrongStore> {
        match ptr::eq(&**runtime.released(), &*self.released) {
            true => Ok(()),
            false => Err(wrong_store(self.reference)),
        }
    }

    /// Readies the store to continue it.
    #[inline]
    pub fn prepare(&self, runtime: &mut RuntimeStore) -> Result<()> {
        runtime.free_released();
        runtime.with_embedder(|runtime| runtime.make_room_for_block(self.reference))
    }

    /// Where it is suspended; nothing if it has not begun.
    pub fn backtrace(&self, store: impl AsContext) -> Result<Backtrace> {
        let runtime = store.as_context().runtime();
        self.check(runtime)?;
        Ok(runtime.held_backtrace(self.reference))
    }

    /// How many bytes of its stacks are in use.
    pub fn bytes(&self, store: impl AsContext) -> Result<usize> {
        let runtime = store.as_context().runtime();
        self.check(runtime)?;
        Ok(runtime.held_bytes(self.reference))
    }

    /// A copy of it.
    pub fn try_clone(&self, runtime: &mut RuntimeStore) -> Result<Held> {
        self.check(runtime)?;
        let kind = StackKind::of(self.reference).expect("a reference to a stack");
        // If the embedder panics, the copy is dropped.
        runtime.with_embedder(|runtime| {
            let copy = runtime.copy_held(self.reference, kind)?;
            Ok(Held::new(runtime, copy))
        })
    }

    /// The store that it is of.
    pub fn store(&self) -> StoreId {
        self.released.store()
    }

    #[inline]
    pub fn reference(&self) -> u64 {
        self.reference
    }

    /// The word of it, which the host gives away.
    pub fn into_word(self, runtime: &RuntimeStore) -> u64 {
        let taken = self.taken();
        runtime.let_go(taken.reference);
        taken.reference
    }

    /// Frees its stacks at once.
    pub fn free(self, mut store: impl AsContextMut) -> Result<()> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        self.check(runtime)?;
        runtime.free_held(self.taken().reference);
        Ok(())
    }

    /// Takes it apart: its stacks are not freed with it.
    #[inline]
    pub fn taken(self) -> Taken {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so what it has is read once.
        let (released, alive) = unsafe { (ptr::read(&this.released), ptr::read(&this.alive)) };
        drop(alive);
        Taken { reference: this.reference, released }
    }
}

/// What is held under a reference is of another store.
#[cold]
fn wrong_store(reference: u64) -> WrongStore {
    WrongStore(match StackKind::of(reference) {
        Some(StackKind::Continuation) => "continuation",
        _ => "stack",
    })
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        self.released.push(self.reference);
    }
}

/// What is left of what the host has continued.
pub(crate) struct Taken {
    pub reference: u64,
    released: Owner,
}

impl Taken {
    /// What the host holds now.
    #[inline]
    pub fn held_again(self, reference: u64) -> Held {
        Held { reference, released: self.released, alive: Alive::new() }
    }
}

/// A count of the [`Arc`] of a store. To drop that takes its address, if it is the last; this is
/// dropped by its value.
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

/// Drops a count of a store. It is not compiled into others: see [`Owner`].
#[inline(never)]
fn disown(released: Arc<Released>) {
    drop(released);
}

/// Why a continuation or a stack cannot be continued.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unusable {
    /// It came from where its type is not known.
    UnknownType,
    /// There was none.
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

/// A stack of a design in which stacks are switched to, which the host holds.
pub(crate) struct HeldStack {
    pub held: Held,
    ty: std::result::Result<HeapType, Unusable>,
}

impl HeldStack {
    /// Takes the stack that a reference names: other references to it are used up.
    pub fn from_ref(
        mut store: impl AsContextMut,
        reference: ContRef,
        kind: StackKind,
    ) -> Result<HeldStack> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let word = reference.handle.word(runtime, HeapType::Cont)?;
        runtime.with_embedder(|runtime| runtime.make_room_for_block(word))?;
        let stack = HeldStack::from_word(runtime, word, reference.ty(), kind);
        stack.heap()?;
        Ok(stack)
    }

    /// The stack that a word names. If nothing valid is there, using it is an error.
    pub fn from_word(
        runtime: &mut RuntimeStore,
        word: u64,
        ty: ValType,
        kind: StackKind,
    ) -> HeldStack {
        let (reference, ty) = match runtime.take_held(word, kind) {
            Ok(reference) => (reference, Ok(heap_of(ty))),
            Err(code) => (0, Err(Unusable::Invalid(code))),
        };
        HeldStack { held: Held::new(runtime, reference), ty }
    }

    /// One of a store that was restored.
    pub fn again(held: Held, ty: std::result::Result<HeapType, Unusable>) -> HeldStack {
        HeldStack { held, ty }
    }

    /// Its type.
    pub fn heap(&self) -> Result<HeapType> {
        self.ty.map_err(Unusable::error)
    }

    /// A copy of it.
    pub fn try_clone(&self, mut store: impl AsContextMut) -> Result<HeldStack> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        self.held.check(runtime)?;
        self.heap()?;
        Ok(HeldStack { held: self.held.try_clone(runtime)?, ty: self.ty })
    }

    /// The word of it, which the host gives away.
    pub fn into_word(self, runtime: &RuntimeStore) -> Result<u64> {
        self.held.check(runtime)?;
        self.heap()?;
        Ok(self.held.into_word(runtime))
    }

    /// The same, where one of a type is expected.
    pub fn into_word_of(self, runtime: &RuntimeStore, expected: RefType) -> Result<u64> {
        self.held.check(runtime)?;
        check_fits(runtime, self.held.reference(), self.heap()?, expected)?;
        self.into_word(runtime)
    }

    /// Gives it to WebAssembly, as a reference.
    pub fn into_ref(self, mut store: impl AsContextMut) -> Result<ContRef> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let heap = self.heap()?;
        let word = self.into_word(runtime)?;
        Ok(ContRef { handle: Handle::new(runtime, word), heap })
    }
}
