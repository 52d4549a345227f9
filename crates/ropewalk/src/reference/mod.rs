//! References to what lies in the heap.
//!
//! A reference in the host's hands is a handle: the collector may move what it
//! refers to. A handle is valid in the scope in which it was made: until the
//! host function returns that it was made in, or until a [`RootScope`] ends, or
//! as long as the store. An [`Owned`] reference is valid as long as it is kept.

mod any;
mod array;
mod cont;
mod exn;
mod external;
mod scope;
mod structure;

pub use any::AnyRef;
pub use array::ArrayRef;
pub use cont::ContRef;
pub use exn::ExnRef;
pub use external::ExternRef;
pub use scope::{Owned, RootScope};
pub use structure::StructRef;

use crate::store;
use anyhow::{Result, anyhow};
use ropewalk_runtime::{Root, Store as RuntimeStore, StoreId};

/// What all kinds of references are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    store: StoreId,
    root: Root,
}

impl Handle {
    pub(crate) fn new(runtime: &mut RuntimeStore, word: u64) -> Handle {
        Handle { store: runtime.id(), root: runtime.root(word) }
    }

    /// The word, which is valid until the next allocation.
    pub(crate) fn word(self, runtime: &RuntimeStore) -> Result<u64> {
        store::check(runtime, self.store, "reference")?;
        let word = runtime.rooted(self.root);
        word.ok_or_else(|| anyhow!("a reference was used after its scope had ended"))
    }
}

/// A kind of reference.
pub trait Reference: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn handle(self) -> Handle;

    #[doc(hidden)]
    fn from_handle(handle: Handle) -> Self;

    /// This reference, to be kept beyond its scope.
    fn to_owned(self, mut store: impl crate::AsContextMut) -> Result<Owned<Self>> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let word = self.handle().word(runtime)?;
        Ok(Owned::new(runtime, word))
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! reference {
    ($($name:ident)*) => {
        $(
            impl sealed::Sealed for $name {}

            impl Reference for $name {
                fn handle(self) -> Handle {
                    self.0
                }

                fn from_handle(handle: Handle) -> Self {
                    $name(handle)
                }
            }
        )*
    };
}

reference! { AnyRef StructRef ArrayRef ExternRef ExnRef }
