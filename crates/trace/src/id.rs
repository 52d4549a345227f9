//! Typed indices into the tables of a trace.

use serde::{Deserialize, Serialize};

/// Declares indices into a table of a [`Trace`](crate::Trace).
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// The index in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// Indexes [`Trace::functions`](crate::Trace::functions).
    FunctionId
    /// Indexes [`Trace::positions`](crate::Trace::positions).
    PositionId
    /// Indexes [`Trace::tags`](crate::Trace::tags).
    TagId
    /// Indexes [`Trace::stacks`](crate::Trace::stacks). Ids are never reused.
    StackId
    /// Indexes [`Trace::frames`](crate::Trace::frames).
    FramesId
}
