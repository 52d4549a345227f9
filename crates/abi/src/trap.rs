//! Trap codes: the reasons of traps.

use std::fmt;

macro_rules! trap_codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $message:literal;)*) => {
        /// The reason of a trap. The trap tables of compiled code have these numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum TrapCode {
            $($(#[$doc])* $name = $number,)*
        }

        impl TrapCode {
            /// All traps.
            pub const ALL: &'static [TrapCode] = &[$(TrapCode::$name,)*];

            /// The trap with this number, if there is one.
            pub fn from_number(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(TrapCode::$name),)*
                    _ => None,
                }
            }

            /// The message, as in the scripts of the specification.
            pub fn message(self) -> &'static str {
                match self {
                    $(TrapCode::$name => $message,)*
                }
            }
        }
    };
}

trap_codes! {
    /// The `unreachable` instruction was executed.
    Unreachable = 1, "unreachable";
    /// A memory access beyond the memory's end.
    MemoryOutOfBounds = 2, "out of bounds memory access";
    /// A table access beyond the table's end.
    TableOutOfBounds = 3, "out of bounds table access";
    /// `call_indirect` with an index beyond the table's end.
    UndefinedElement = 4, "undefined element";
    /// `call_indirect` of a null table element.
    UninitializedElement = 5, "uninitialized element";
    /// `call_indirect` of a function of another type.
    IndirectCallTypeMismatch = 6, "indirect call type mismatch";
    /// An integer division or remainder by zero.
    IntegerDivideByZero = 7, "integer divide by zero";
    /// An integer result that does not fit.
    IntegerOverflow = 8, "integer overflow";
    /// A conversion of a NaN to an integer.
    InvalidConversionToInteger = 9, "invalid conversion to integer";
    /// A stack has no room for another frame.
    CallStackExhausted = 10, "call stack exhausted";
    /// A limit on stacks or on their memory was reached.
    TooManyStacks = 11, "too many stacks";
    /// A null reference where a value is required.
    NullReference = 12, "null reference";
    /// A call of a null function.
    NullFunctionReference = 13, "null function reference";
    /// An access of a null struct.
    NullStructReference = 14, "null structure reference";
    /// An access of a null array.
    NullArrayReference = 15, "null array reference";
    /// A read of a null `i31`.
    NullI31Reference = 16, "null i31 reference";
    /// A null exception was thrown.
    NullExceptionReference = 17, "null exception reference";
    /// An array access beyond the array's end.
    ArrayOutOfBounds = 18, "out of bounds array access";
    /// A cast to a type that the value does not have.
    CastFailure = 19, "cast failure";
    /// The heap has reached its limit.
    OutOfMemory = 20, "out of memory";
    /// A null reference instead of a continuation.
    NullContinuation = 21, "null continuation reference";
    /// A second use of a continuation.
    ContinuationConsumed = 22, "continuation already consumed";
    /// A `suspend` or `switch` whose tag has no handler.
    UnhandledTag = 23, "unhandled tag";
    /// A reference of another design of stack switching.
    OtherDesign = 24, "reference of another design";
    /// A null reference instead of a stack.
    NullStack = 25, "null stack reference";
    /// A second use of a reference to a stack.
    StackUsed = 26, "stack reference already used";
    /// The function of a coroutine returned.
    CoroutineReturned = 27, "coroutine function returned";
    /// An exception left the function of a coroutine.
    CoroutineException = 28, "exception escaped a coroutine";
    /// A switch to the root of an activation that is not the newest.
    AcrossHostFrame = 29, "switch across a host frame";
    /// A null reference instead of a task.
    NullTask = 30, "null task reference";
    /// A task has ended.
    TaskMoribund = 31, "task is moribund";
    /// Resuming or releasing a task that is not suspended.
    TaskNotSuspended = 32, "task is not suspended";
    /// Suspending a task that is not running.
    TaskNotRunning = 33, "task is not running";
    /// A null reference instead of a fiber.
    NullFiber = 34, "null fiber reference";
    /// A fiber has ended.
    FiberMoribund = 35, "fiber is moribund";
    /// Suspending a fiber that is not running.
    FiberNotRunning = 36, "fiber is not running";
    /// Resuming or releasing a fiber that has a control parent.
    FiberHasParent = 37, "fiber already has a control parent";
    /// The control parent does not handle the event of a fiber's return.
    UnhandledReturn = 38, "unhandled return event";
    /// The function of a fiber without a return event returned.
    FiberReturned = 39, "fiber function returned";
    /// Setting a linear slot that is not empty.
    SlotNotEmpty = 40, "linear slot is not empty";
    /// A rout without an event returned.
    RoutReturned = 41, "rout returned";
    /// A function without an event returned to a suspended stack.
    ReturnedToSuspended = 42, "function returned to a suspended stack";
    /// A `call_stack` without an answer.
    NoAnswer = 43, "no answer on the stack";
    /// An event was delivered to a stack without frames.
    EventReachedGround = 44, "event reached the ground of a stack";
    /// An exception left the last frame of a stack.
    UncaughtOnStack = 45, "uncaught exception on a stack";
    /// A `stack.start` while no stack is extended.
    NotExtended = 46, "no stack is being extended";
    /// A value in the transfer area was read as another type than it was written. That is a bug in
    /// the engine, which only code that checks stacks finds.
    MistypedTransfer = 47, "value of another type in the transfer area";
    /// The embedder has interrupted the call, or its deadline has passed.
    Interrupt = 48, "interrupt";
    /// The fuel is used up.
    OutOfFuel = 49, "out of fuel";
    /// Copying a stack that cannot be copied.
    NotCopied = 50, "stack cannot be copied";
    /// The code in the file of a compiled module has changed since it was written. It was not
    /// executed.
    DamagedCode = 51, "compiled code is damaged";
}

impl fmt::Display for TrapCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_their_traps() {
        for &code in TrapCode::ALL {
            assert_eq!(TrapCode::from_number(code as u8), Some(code));
        }
        assert_eq!(TrapCode::from_number(0), None);
    }
}
