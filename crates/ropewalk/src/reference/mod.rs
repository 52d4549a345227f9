//! References to objects of the heap.
//!
//! The host's references are handles, since the collector moves objects. A handle is valid in the
//! scope that made it: until its host function returns, or until a [`RootScope`] ends. Outside of
//! all scopes the newest ten thousand handles are valid. An [`Owned`] reference is valid until it
//! is dropped.

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

/// The handle in all kinds of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    store: StoreId,
    root: Root,
}

impl Handle {
    pub(crate) fn new(runtime: &mut RuntimeStore, word: u64) -> Handle {
        Handle { store: runtime.id(), root: runtime.root_for_host(word) }
    }

    /// The word of a reference of this kind. It is valid until the next allocation.
    pub(crate) fn word(self, runtime: &RuntimeStore, kind: HeapType) -> Result<u64> {
        store::check(runtime, self.store, "reference")?;
        let word = runtime.rooted(self.root);
        let word = word.ok_or(ScopeEnded)?;
        check_kind(runtime, word, kind)?;
        Ok(word)
    }
}

/// Fails unless a reference of the host has this kind. The type of the reference should ensure that.
/// This checks it again, since WebAssembly trusts the references that it gets.
pub(crate) fn check_kind(runtime: &RuntimeStore, word: u64, kind: HeapType) -> Result<()> {
    let ty = RefType { nullable: false, heap: kind };
    // SAFETY: the word is a reference of the store. Functions have no handles.
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
/// A reference cannot become a reference of another kind:
///
/// ```compile_fail,E0061
/// use ropewalk::*;
///
/// fn change<A: Reference, B: Reference>(reference: A) -> B {
///     B::from_handle(reference.handle())
/// }
/// ```
///
/// Other crates cannot implement it, since such a reference could name anything:
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
    /// This reference, valid beyond its scope.
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

    /// Only this crate can make it, and so call the methods that take it. Other crates could call
    /// the methods of a sealed trait otherwise, since each `Reference` is `Sealed`.
    #[derive(Clone, Copy, Debug)]
    pub struct Inside(pub(crate) ());

    pub trait Sealed: Sized {
        /// The kind of such references.
        const KIND: HeapType;

        /// What such a reference has besides its handle.
        type Detail: Copy + std::fmt::Debug + Send + Sync;

        fn handle(self, _: Inside) -> Handle;

        fn detail(self, _: Inside) -> Self::Detail;

        /// The handle must be for a reference of this kind, with this detail.
        fn from_handle(handle: Handle, detail: Self::Detail, _: Inside) -> Self;

        /// Whether the detail depends on the known type of a reference.
        const NEEDS_TYPE: bool;

        /// The known type of a reference, if the reference itself keeps it.
        fn known_type(_: &Self::Detail, _: Inside) -> Option<HeapType> {
            None
        }

        /// The detail of a reference whose known type is this.
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

    /// A handle of a wrong kind, which safe code cannot make.
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
