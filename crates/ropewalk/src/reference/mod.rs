//! References to what lies in the heap.
//!
//! A reference in the host's hands is a handle: the collector may move what it
//! refers to. A handle is valid in the scope in which it was made: until the
//! host function returns that it was made in, or until a [`RootScope`] ends. Outside
//! of all scopes the newest ten thousand are valid. An [`Owned`] reference is valid as
//! long as it is kept.

mod any;
mod array;
mod cont;
mod exn;
mod external;
pub(crate) mod object_type;
mod scope;
mod structure;

pub use any::AnyRef;
pub use array::ArrayRef;
pub use cont::ContRef;
pub(crate) use cont::{check_fits, fits};
pub use exn::ExnRef;
pub use external::ExternRef;
pub use scope::{Owned, RootScope};
pub use structure::StructRef;

use crate::misuse::{ScopeEnded, WrongType};
use crate::store;
use anyhow::Result;
use ropewalk_abi::{HeapType, RefType, TrapCode};
use ropewalk_runtime::{Root, Store as RuntimeStore, StoreId};

/// What all kinds of references are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    store: StoreId,
    root: Root,
}

impl Handle {
    pub(crate) fn new(runtime: &mut RuntimeStore, word: u64) -> Handle {
        Handle { store: runtime.id(), root: runtime.root_for_host(word) }
    }

    /// The word of a reference of a kind, which is valid until the next
    /// allocation.
    pub(crate) fn word(self, runtime: &RuntimeStore, kind: HeapType) -> Result<u64> {
        store::check(runtime, self.store, "reference")?;
        let word = runtime.rooted(self.root);
        let word = word.ok_or(ScopeEnded)?;
        check_kind(runtime, word, kind)?;
        Ok(word)
    }
}

/// Fails unless a reference in the hands of the host is of a kind. Each kind is
/// made only of such, so this fails only if something else went wrong; but what
/// is passed to WebAssembly is believed there.
pub(crate) fn check_kind(runtime: &RuntimeStore, word: u64, kind: HeapType) -> Result<()> {
    let ty = RefType { nullable: false, heap: kind };
    // SAFETY: the word is a reference of the store; functions have no handles.
    if unsafe { runtime.has_type(word, ty) } {
        return Ok(());
    }
    // SAFETY: as above.
    let found = unsafe { runtime.type_of(word, ty) };
    Err(WrongType::new("reference", ty, found).into())
}

/// A kind of reference.
///
/// ```
/// use ropewalk::*;
///
/// /// Keeps references of any kind.
/// fn keep<R: Reference>(store: &mut Store<()>, references: &[R]) -> Result<Vec<Owned<R>>> {
///     references.iter().map(|reference| reference.own(&mut *store)).collect()
/// }
///
/// let mut store = Store::new(&Engine::default(), ());
/// let numbers = [1, 2].map(|number| AnyRef::i31(&mut store, number));
/// let kept = keep(&mut store, &numbers)?;
/// let second = kept[1].get(&mut store)?;
/// assert_eq!(second.as_i31(&store)?, Some(2));
/// # Ok::<(), Error>(())
/// ```
///
/// What a reference of one kind refers to is never taken for another kind:
///
/// ```compile_fail,E0061
/// use ropewalk::*;
///
/// fn change<A: Reference, B: Reference>(reference: A) -> B {
///     B::from_handle(reference.handle())
/// }
/// ```
///
/// Only this crate implements it. A reference of the embedder's could name anything:
///
/// ```compile_fail,E0277
/// use ropewalk::*;
///
/// #[derive(Clone, Copy)]
/// struct Mine(AnyRef);
///
/// impl Reference for Mine {}
/// ```
pub trait Reference: Copy + sealed::Sealed {
    /// This reference, to be kept beyond its scope.
    fn own(self, mut store: impl crate::AsContextMut) -> Result<Owned<Self>> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let word = self.handle(Inside(())).word(runtime, Self::KIND)?;
        runtime.with_embedder(RuntimeStore::check_new_handle)?;
        let root = runtime.own(word);
        let root = root.ok_or_else(|| runtime.trap(TrapCode::OutOfMemory))?;
        Ok(Owned::from_root(runtime.id(), root, self.detail(Inside(()))))
    }
}

pub(crate) use sealed::{Inside, Sealed};

mod sealed {
    use super::{Handle, HeapType};

    /// Only this crate has it, so only this crate calls what takes it. That a
    /// trait cannot be named keeps nobody from calling its functions: whatever
    /// is a `Reference` is `Sealed`.
    #[derive(Clone, Copy, Debug)]
    pub struct Inside(pub(crate) ());

    pub trait Sealed: Sized {
        /// What such references refer to.
        const KIND: HeapType;

        /// What such a reference has beside its handle.
        type Detail: Copy + std::fmt::Debug + Send + Sync;

        fn handle(self, _: Inside) -> Handle;

        fn detail(self, _: Inside) -> Self::Detail;

        /// The handle must be of a reference of this kind, and of that.
        fn from_handle(handle: Handle, detail: Self::Detail, _: Inside) -> Self;

        /// Whether that depends on the type that is known of a reference.
        const NEEDS_TYPE: bool;

        /// The type that is known of a reference, if only whoever has it knows that.
        fn known_type(_: &Self::Detail, _: Inside) -> Option<HeapType> {
            None
        }

        /// What it has beside its handle, of a reference that is known to be of a type.
        fn detail_of(heap: HeapType, _: Inside) -> Self::Detail;
    }
}

macro_rules! reference {
    ($($name:ident: $kind:ident;)*) => {
        $(
            impl Sealed for $name {
                const KIND: HeapType = HeapType::$kind;
                type Detail = ();

                fn handle(self, _: Inside) -> Handle {
                    self.0
                }

                fn detail(self, _: Inside) {}

                fn from_handle(handle: Handle, (): (), _: Inside) -> Self {
                    $name(handle)
                }

                const NEEDS_TYPE: bool = false;

                fn detail_of(_: HeapType, _: Inside) {}
            }

            impl Reference for $name {}
        )*
    };
}

reference! {
    AnyRef: Any;
    StructRef: Struct;
    ArrayRef: Array;
    ExternRef: Extern;
    ExnRef: Exn;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;
    use crate::Instance;
    use crate::Module;
    use crate::Store;
    use crate::Val;

    const MODULE: &str = r#"(module
        (type $a (array i64))
        (tag $e)
        (func (export "array") (param (ref array)) (result i32) (array.len (local.get 0)))
        (func (export "struct") (param structref) (result structref) (local.get 0))
        (func (export "exn") (param exnref) (throw_ref (local.get 0)))
        (func (export "extern") (param externref))
        (func (export "any") (param anyref) (result i32) (ref.test (ref i31) (local.get 0))))"#;

    /// A handle of another kind than it says, as safe code has no way to make.
    fn forged<A: Reference, B: Reference<Detail = ()>>(reference: A) -> B {
        B::from_handle(reference.handle(Inside(())), (), Inside(()))
    }

    #[test]
    fn a_handle_of_another_kind_does_not_get_into_webassembly() -> Result<()> {
        let engine = Engine::default();
        let module = Module::new(&engine, MODULE)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        let i31 = AnyRef::i31(&mut store, 5);
        let tag = crate::Tag::with_params(&mut store, [])?;
        let exn = ExnRef::new(&mut store, tag, &[])?;
        let value = ExternRef::new(&mut store, 1)?;

        let array = instance.get_typed_func::<ArrayRef, i32>(&mut store, "array")?;
        assert!(array.call(&mut store, forged(i31)).is_err());
        assert!(array.call(&mut store, forged(exn)).is_err());
        let structure = instance
            .get_typed_func::<Option<StructRef>, Option<StructRef>>(&mut store, "struct")?;
        assert!(structure.call(&mut store, Some(forged(value))).is_err());
        let throw = instance.get_typed_func::<Option<ExnRef>, ()>(&mut store, "exn")?;
        assert!(throw.call(&mut store, Some(forged(i31))).is_err());
        let any = instance.get_typed_func::<Option<AnyRef>, i32>(&mut store, "any")?;
        assert!(any.call(&mut store, Some(forged(exn))).is_err());
        assert_eq!(any.call(&mut store, Some(i31))?, 1);
        let any = instance.get_func(&mut store, "any").expect("exported");
        let forged_any: AnyRef = forged(exn);
        assert!(any.call(&mut store, &[forged_any.into()], &mut [Val::I32(0)]).is_err());
        let outside = instance.get_typed_func::<Option<ExternRef>, ()>(&mut store, "extern")?;
        assert!(outside.call(&mut store, Some(forged(exn))).is_err());

        let forged_exn: ExnRef = forged(value);
        assert!(forged_exn.own(&mut store).is_err());
        assert!(crate::Exception::from_ref(&mut store, forged_exn).is_err());
        assert!(forged_exn.tag(&store).is_err() && forged_exn.values(&mut store).is_err());
        let forged_array: ArrayRef = forged(value);
        assert!(forged_array.get(&mut store, 0).is_err());
        Ok(())
    }
}
