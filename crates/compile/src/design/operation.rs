//! An operation of a design: a row of its table.

use super::call::{OperationCall, Surroundings};
use super::subtyping::Subtyping;
use super::thunk::Thunk;
use crate::translate::Translator;
use ropewalk_abi::FuncType;

/// A design: the name of the module from which its operations are imported, and
/// the operations.
pub(crate) struct Design {
    pub module: &'static str,
    pub operations: &'static [Operation],
}

/// An operation that a module imports as a function, and that is compiled in line.
pub(crate) struct Operation {
    /// The name under which it is imported.
    pub name: &'static str,
    /// The type under which it is imported, in the words of the documentation.
    pub expected: &'static str,
    /// Whether a type is such a one; none if a part of it is missing.
    pub fits: fn(&FuncType, &Subtyping<'_>) -> Option<bool>,
    /// Which tags stand in the `try_table` around a call.
    pub tags: Tags,
    /// How many of its last operands are functions that the call names.
    pub functions: Functions,
    /// What the tags and functions of a call must be like, in the words of the
    /// documentation.
    pub expected_names: &'static str,
    /// Whether they are.
    pub names_fit: fn(&Surroundings<'_>, &OperationCall) -> bool,
    /// Which events may arrive at a call.
    pub clauses: Clauses,
    /// What must follow a call.
    pub followed_by: FollowedBy,
    /// Whether it suspends the running stack.
    pub suspends: bool,
    /// What it is in a function that extends a stack.
    pub in_rout: InRout,
    /// Where the stacks that a call makes begin, or the functions that it runs on
    /// top of others.
    pub thunk: Option<fn(&OperationCall) -> Thunk>,
    /// Emits the code of a call.
    pub translate: fn(&mut Translator<'_>, &OperationCall),
}

impl Operation {
    /// One with nothing special about it, for the rows of tables to differ from.
    pub const PLAIN: Operation = Operation {
        name: "",
        expected: "",
        fits: |_, _| None,
        tags: Tags::None,
        functions: Functions::Count(0),
        expected_names: "",
        names_fit: |_, _| true,
        clauses: Clauses::None,
        followed_by: FollowedBy::Anything,
        suspends: false,
        in_rout: InRout::Refused,
        thunk: None,
        translate: |_, _| {},
    };
}

/// Which tags stand in the `try_table` around a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tags {
    /// There is no such `try_table`.
    None,
    /// One.
    One,
    /// One, and then those of clauses.
    OneAndClauses,
    /// As many as there are events.
    Events,
    /// One, with which something returns, and then as many as there are events.
    ReturnAndEvents,
}

/// How many of the last operands of a call are functions that it names.
#[derive(Clone, Copy)]
pub(crate) enum Functions {
    /// As many.
    Count(usize),
    /// One for each event.
    PerEvent,
}

/// Which events may arrive at a call, each with the label where it goes.
#[derive(Clone, Copy)]
pub(crate) enum Clauses {
    /// None.
    None,
    /// All those of the `try_table` around it.
    Named,
    /// All those of the `try_table` around it but the first.
    NamedAfterFirst,
    /// Those that the `try_table`s around catch as exceptions.
    CaughtAround,
}

/// What must follow a call.
#[derive(Clone, Copy)]
pub(crate) enum FollowedBy {
    Anything,
    /// A tail call.
    ReturnCall,
    /// The end of the `try_table` around it, and then a tail call.
    EndAndReturnCall,
}

/// What an operation is in a function that extends a stack.
#[derive(Clone, Copy)]
pub(crate) enum InRout {
    /// Not allowed before its start.
    Refused,
    /// Allowed before its start.
    Allowed,
    /// Its start.
    Start,
    /// Adds such a function to a stack.
    Extends,
}
