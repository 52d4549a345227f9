//! Operations: the rows in the table of a design.

use super::recognize::Recognizer;
use super::thunk::Thunk;
use crate::module::Subtyping;
use crate::target::Designs;
use crate::translate::Translator;
use ropewalk_abi::FuncType;

/// A design: the reserved module from which its operations are imported, and the operations.
pub(crate) struct Design {
    /// Its name in settings.
    pub permission: Designs,
    pub module: &'static str,
    pub operations: &'static [Operation],
}

/// An operation, which a module imports as a function. Calls of it are compiled in line.
pub(crate) struct Operation {
    /// The name under which it is imported.
    pub name: &'static str,
    /// The type with which it must be imported, in the notation of the documentation.
    pub expected: &'static str,
    /// Whether a type is that; none if a part of it is missing.
    pub fits: fn(&FuncType, &Subtyping<'_>) -> Option<bool>,
    /// Which tags the `try_table` around a call names.
    pub tags: Tags,
    /// How many of the last operands are functions that the call names.
    pub functions: Functions,
    /// The types of the tags and functions of a call, in the notation of the documentation.
    pub expected_names: &'static str,
    /// Whether the tags and functions have these types.
    pub names_fit: fn(&Recognizer<'_>, &OperationCall) -> bool,
    /// Which events may arrive at a call.
    pub clauses: Clauses,
    /// What must follow a call.
    pub followed_by: FollowedBy,
    /// Whether it suspends the running stack.
    pub suspends: bool,
    /// Its role in a function that extends a stack.
    pub in_rout: InRout,
    /// Whether only the engine's own modules may import it.
    pub for_engine: bool,
    /// The code in which the stacks of a call begin, or the functions that it runs on top of
    /// stacks.
    pub thunk: Option<fn(&OperationCall) -> Thunk>,
    pub translate: fn(&mut Translator<'_>, &OperationCall),
}

impl Operation {
    /// The defaults for the rows of a table.
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
        for_engine: false,
        thunk: None,
        translate: |_, _| {},
    };
}

/// Which tags the `try_table` around a call names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tags {
    /// There is no such `try_table`.
    None,
    One,
    /// One, then those of clauses.
    OneAndClauses,
    /// One for each event.
    Events,
    /// One for the return event, then one for each event.
    ReturnAndEvents,
}

/// How many of the last operands of a call are functions that it names.
#[derive(Clone, Copy)]
pub(crate) enum Functions {
    /// This many.
    Count(usize),
    /// One for each event.
    PerEvent,
}

/// Which events may arrive at a call, each with its label.
#[derive(Clone, Copy)]
pub(crate) enum Clauses {
    None,
    /// The events of the `try_table` around it.
    Named,
    /// The events of the `try_table` around it, except the first.
    NamedAfterFirst,
    /// The events that the `try_table`s around it catch as exceptions.
    CaughtAround,
}

/// What must follow a call.
#[derive(Clone, Copy)]
pub(crate) enum FollowedBy {
    Anything,
    ReturnCall,
    /// The end of the `try_table` around it, and then a tail call.
    EndAndReturnCall,
}

/// The role of an operation in a function that extends a stack.
#[derive(Clone, Copy)]
pub(crate) enum InRout {
    /// Not allowed before its start.
    Refused,
    /// Allowed before its start.
    Allowed,
    Start,
    /// Adds such a function to a stack.
    Extends,
}

/// A call of an operation.
#[derive(Clone)]
pub(crate) struct OperationCall {
    pub operation: &'static Operation,
    pub import: u32,
    /// The functions among its operands.
    pub functions: Vec<u32>,
    /// The tag of each catch of the `try_table` around it, with the label as seen from outside of
    /// the `try_table`.
    pub catches: Vec<(u32, u32)>,
    /// The events that may arrive here, each with its label as seen from the call.
    pub clauses: Vec<(u32, u32)>,
    /// The number of its thunk, when thunks are numbered.
    pub thunk: Option<u32>,
}

impl OperationCall {
    /// The number of the thunk, for an operation that has one.
    pub fn thunk_number(&self) -> u32 {
        self.thunk.expect("the operation has a thunk, which was collected")
    }
}
