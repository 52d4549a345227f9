//! Bugs that tests inject, to show that the check of stacks finds them.

/// A bug: a step that a transition skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// The start of a rout leaves the extender in the base.
    ExtenderStays,
    /// An exception that lands below a rout leaves the extender in the base.
    LandingKeepsExtender,
    /// Marks that were removed are counted again.
    MarksComeBack,
    /// A stack that gets another block does not take its marks along.
    MarksStayBehind,
    /// Bound values come after the other arguments.
    BoundValuesLast,
    /// The engine panics while it frees the stacks that a trap has left.
    EndingPanics,
}

/// The injected bug. Only the tests of the check enable the feature `mutations`; without
/// it there is no bug.
#[derive(Clone, Copy, Debug, Default)]
pub struct PutBack(#[cfg(feature = "mutations")] Option<Mutation>);

impl PutBack {
    /// Injects a bug.
    #[cfg(feature = "mutations")]
    pub fn bug(mutation: Mutation) -> PutBack {
        PutBack(Some(mutation))
    }

    #[cfg(feature = "mutations")]
    pub(crate) fn is(self, mutation: Mutation) -> bool {
        self.0 == Some(mutation)
    }

    #[cfg(not(feature = "mutations"))]
    pub(crate) fn is(self, _: Mutation) -> bool {
        false
    }
}
