//! What a user can do about an error.

use ropewalk::{Error, Exception, Trap, TrapCode};

use crate::timeout::TimedOut;

/// What helps, if anything is known to.
pub(crate) fn of(error: &Error) -> Option<&'static str> {
    if error.is::<TimedOut>() {
        return Some("--timeout gives it more time, and without it there is no limit");
    }
    if error.is::<Exception>() {
        return Some(
            "a `try_table` with a clause `(catch $tag $label)` for its tag, or `(catch_all \
             $label)`, around the call catches it",
        );
    }
    of_trap(error.downcast_ref::<Trap>()?)
}

fn of_trap(trap: &Trap) -> Option<&'static str> {
    let is_limit = |setting| trap.detail().is_some_and(|detail| detail.contains(setting));
    if is_limit("Config::max_stack_memory") {
        return Some("--max-stack-memory gives all stacks together more room, such as 16G");
    }
    if is_limit("Config::max_heap") {
        return Some("--max-heap gives objects more room, such as 16G");
    }
    Some(match trap.code() {
        TrapCode::CallStackExhausted => "--stack-size gives each stack more room, such as 1G",
        TrapCode::OutOfFuel => "--fuel gives it more, and without it there is no limit",
        TrapCode::Interrupt => "--timeout gives it more time, and without it there is no limit",
        TrapCode::DamagedCode => {
            "the file has changed since it was compiled: compile it again with `ropewalk compile`, \
             or run the module that it was compiled from"
        }
        TrapCode::OutOfMemory => {
            "what a global, a table, an object or a suspended stack refers to is kept: set to null \
             what is not needed any more"
        }
        TrapCode::TooManyStacks => {
            "a suspended stack is kept as long as something refers to it: let go of those that \
             nobody will resume"
        }
        TrapCode::UnhandledTag => {
            "a `resume` with a clause for that tag, `(on $tag $label)`, has to be around it"
        }
        TrapCode::NotCopied => {
            "`ropewalk run --stacks -` shows which stacks were suspended together with it"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_says_what_helps_and_a_bug_of_the_program_does_not() {
        let help = |code: TrapCode| of(&Trap::from_code(code).into());
        for code in [
            TrapCode::CallStackExhausted,
            TrapCode::TooManyStacks,
            TrapCode::OutOfMemory,
            TrapCode::OutOfFuel,
            TrapCode::Interrupt,
            TrapCode::DamagedCode,
            TrapCode::UnhandledTag,
            TrapCode::NotCopied,
        ] {
            assert!(help(code).is_some(), "{code}");
        }
        assert_eq!(help(TrapCode::IntegerDivideByZero), None);
    }
}
