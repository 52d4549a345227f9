//! Globals.

use ropewalk_abi::{GlobalType, RawVal};
use std::ptr::NonNull;

/// The place of a global's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalPlace(pub(crate) NonNull<RawVal>);

// SAFETY: a place is used only together with its store.
unsafe impl Send for GlobalPlace {}
// SAFETY: as above.
unsafe impl Sync for GlobalPlace {}

/// A global: its place and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalItem {
    /// The place of its value.
    pub place: GlobalPlace,
    /// Its type.
    pub ty: GlobalType,
}
