//! Bugs that tests inject, to show that the check of stacks finds them.

/// A bug: a step that a transition skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedBug {
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
pub struct Injected(#[cfg(feature = "mutations")] Option<InjectedBug>);

impl Injected {
    /// Injects a bug.
    #[cfg(feature = "mutations")]
    pub fn bug(bug: InjectedBug) -> Injected {
        Injected(Some(bug))
    }

    #[cfg(feature = "mutations")]
    pub(crate) fn is(self, bug: InjectedBug) -> bool {
        self.0 == Some(bug)
    }

    #[cfg(not(feature = "mutations"))]
    pub(crate) fn is(self, _: InjectedBug) -> bool {
        false
    }
}
