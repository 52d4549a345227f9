//! Bugs that can be put back, to show that the check of all stacks finds them.

/// A bug: what a transition forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// The start of a rout leaves the extender in the base.
    ExtenderStays,
    /// An exception that lands below a rout leaves the extender in the base.
    LandingKeepsExtender,
    /// Marks that were removed are counted again.
    MarksComeBack,
    /// A stack that gets another block leaves its marks after.
    MarksStayBehind,
    /// Values that are bound to a stack come after the other arguments.
    BoundValuesLast,
    /// The engine panics while it frees what a trap has left.
    EndingPanics,
}

/// The bug that was put back, if one was. Only tests of the check of stacks are compiled with the
/// feature `mutations`; in any other build there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct PutBack(#[cfg(feature = "mutations")] Option<Mutation>);

impl PutBack {
    /// Puts a bug back.
    #[cfg(feature = "mutations")]
    pub fn bug(mutation: Mutation) -> PutBack {
        PutBack(Some(mutation))
    }

    /// Whether it is this one.
    #[cfg(feature = "mutations")]
    pub(crate) fn is(self, mutation: Mutation) -> bool {
        self.0 == Some(mutation)
    }

    /// Whether it is this one.
    #[cfg(not(feature = "mutations"))]
    pub(crate) fn is(self, _: Mutation) -> bool {
        false
    }
}
