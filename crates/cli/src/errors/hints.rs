//! Hints: what a user can do about an error.

use ropewalk::{Error, Exception, Trap, TrapCode};

use super::ended::TimedOut;

/// The settings of an engine that messages name, with the options that set them.
const SETTINGS: [(&str, &str); 6] = [
    ("Config::max_memory", "--max-memory"),
    ("Config::max_total_memory", "--max-total-memory"),
    ("Config::max_total_table_elements", "--max-total-memory"),
    ("Config::max_heap", "--max-heap"),
    ("Config::max_wasm_stack", "--stack-size"),
    ("Config::max_stack_memory", "--max-stack-memory"),
];

/// A message with the names of options in place of the settings of an engine.
pub(super) fn name_options(message: &str) -> String {
    SETTINGS.iter().fold(message.to_owned(), |message, (setting, option)| {
        message.replace(&format!("({setting})"), &format!("({option})"))
    })
}

/// The hint for an error, if there is one. `message` names settings of an engine.
pub(super) fn of(error: &Error, message: &str) -> Option<&'static str> {
    if error.is::<TimedOut>() {
        return Some("--timeout sets the time limit; without it there is none");
    }
    if error.is::<Exception>() {
        return Some(
            "to catch the exception, call the function in a `try_table` with a clause \
             `(catch $tag $label)` for its tag, or `(catch_all $label)`",
        );
    }
    if message.contains("(Config::max_total_memory)") {
        return Some("use --max-total-memory to allow more, such as 16G");
    }
    of_trap(error.downcast_ref::<Trap>()?)
}

fn of_trap(trap: &Trap) -> Option<&'static str> {
    let is_limit = |setting| trap.detail().is_some_and(|detail| detail.contains(setting));
    if is_limit("Config::max_stack_memory") {
        return Some("use --max-stack-memory to allow more memory for all stacks, such as 16G");
    }
    if is_limit("Config::max_heap") {
        return Some("use --max-heap to allow more memory for objects, such as 16G");
    }
    Some(match trap.code() {
        TrapCode::CallStackExhausted => "use --stack-size to allow larger stacks, such as 1G",
        TrapCode::OutOfFuel => "--fuel sets the limit; without it there is none",
        TrapCode::Interrupt => "--timeout sets the time limit; without it there is none",
        TrapCode::DamagedCode => {
            "the file has changed since it was compiled: compile it again with `ropewalk compile`, \
             or run the original module"
        }
        TrapCode::OutOfMemory => {
            "globals, tables, objects and suspended stacks keep what they refer to: set \
             references that are no longer needed to null"
        }
        TrapCode::TooManyStacks => {
            "a suspended stack lives as long as something refers to it: drop references to \
             stacks that will not be resumed"
        }
        TrapCode::UnhandledTag => {
            "to handle the tag, resume the stack with a clause `(on $tag $label)`"
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
    fn traps_by_limits_have_hints_and_bugs_of_the_program_have_none() {
        let hint = |code: TrapCode| of(&Trap::from_code(code).into(), "");
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
            assert!(hint(code).is_some(), "{code}");
        }
        assert_eq!(hint(TrapCode::IntegerDivideByZero), None);
    }

    #[test]
    fn messages_name_options_and_not_settings() {
        let message = "a store may have at most 10 bytes (Config::max_heap)";
        assert_eq!(name_options(message), "a store may have at most 10 bytes (--max-heap)");
    }
}
