//! Globals.

use ropewalk_abi::{GlobalType, RawVal};
use std::ptr::NonNull;

/// Where the value of a global is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalPlace(pub(crate) NonNull<RawVal>);

// SAFETY: a place is used only together with the store that it belongs to.
unsafe impl Send for GlobalPlace {}
// SAFETY: as above.
unsafe impl Sync for GlobalPlace {}

/// A global: where it is and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalItem {
    /// Where its value is.
    pub place: GlobalPlace,
    /// Its type.
    pub ty: GlobalType,
}
