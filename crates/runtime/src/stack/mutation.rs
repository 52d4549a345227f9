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
