//! Runs every entry point that takes untrusted input, and checks its result.
//!
//! Nothing may panic or take long. An error has a message and a position in the source.

use super::Input;
use ropewalk::{Config, Engine, Error, Module, ModuleError};
use ropewalk_text::Text;
use ropewalk_wast::WastRunner;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

type Verdict<T = ()> = Result<T, String>;

/// A time limit that inputs of this size never need, even on a loaded machine.
const LONGEST: Duration = Duration::from_secs(20);

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let mut config = Config::new();
    config.max_heap(64 << 20).max_stacks(10_000).max_activations(100);
    Engine::new(&config).expect("a valid configuration")
});

/// Runs an input, and reports problems.
pub fn check(input: &Input) -> Verdict {
    let begin = Instant::now();
    match input {
        Input::Module(bytes) => module(bytes)?,
        Input::Script(text) => script(text)?,
    }
    let taken = begin.elapsed();
    match taken < LONGEST {
        true => Ok(()),
        false => Err(format!("took {taken:?}")),
    }
}

fn module(bytes: &[u8]) -> Verdict {
    let validated = Module::validate(&ENGINE, bytes);
    let compiled = Module::new(&ENGINE, bytes);
    match (&validated, &compiled) {
        (Ok(()), Ok(_)) => lowers(bytes)?,
        (Err(validated), Err(compiled)) => {
            let (validated, compiled) = (error(validated, bytes)?, error(compiled, bytes)?);
            if validated != compiled && !is_limit(&compiled) {
                return Err(format!("two messages: {validated:?} and {compiled:?}"));
            }
        }
        // A limit of the compiler does not make a module invalid.
        (Ok(()), Err(compiled)) => {
            error(compiled, bytes)?;
        }
        (Err(validated), Ok(_)) => return Err(format!("compiles, though {validated}")),
    }
    // Invalid modules can be lowered and printed too.
    if let Ok(source) = std::str::from_utf8(bytes) {
        text(source)?;
    }
    Ok(())
}

/// Checks that a valid module is still valid after lowering.
fn lowers(bytes: &[u8]) -> Verdict {
    let Ok(source) = std::str::from_utf8(bytes) else { return Ok(()) };
    if source.starts_with('\0') {
        return Ok(());
    }
    let text = Text::parse(source).map_err(|error| format!("valid, but not parsed: {error}"))?;
    Module::validate(&ENGINE, text.binary())
        .map_err(|error| format!("valid as text, but not as binary: {error}"))?;
    match text.lowered() {
        Some(lowered) => Module::validate(&ENGINE, lowered)
            .map_err(|error| format!("valid, but not when it is lowered: {error}\n{lowered}")),
        None => Ok(()),
    }
}

/// Checks that parsed text has a binary, and positions for all its bytes.
fn text(source: &str) -> Verdict {
    match Text::parse(source) {
        Ok(text) => {
            let end = text.binary().len();
            for offset in [0, 8, end / 2, end.saturating_sub(1), end, end + 1] {
                let error = text.error_at(offset, "a message").to_string();
                if !error.contains("a message") {
                    return Err(format!("an error without its message: {error}"));
                }
            }
            Ok(())
        }
        Err(error) => match error.position() {
            Some(position) => is_within(source, position.line, position.column),
            None => Err(format!("no position: {error}")),
        },
    }
}

/// The message of an error, if the error is complete.
fn error(error: &Error, bytes: &[u8]) -> Verdict<String> {
    let error = error.downcast_ref::<ModuleError>();
    let error = error.ok_or_else(|| "an error of another kind".to_string())?;
    if error.message().trim().is_empty() || error.to_string().trim().is_empty() {
        return Err("an error without a message".to_string());
    }
    if let Some(offset) = error.offset()
        && offset > bytes.len()
    {
        return Err(format!("beyond the end: {error}"));
    }
    if let (Ok(source), Some((line, column))) = (std::str::from_utf8(bytes), error.position()) {
        is_within(source, line, column)?;
    }
    let is_text = std::str::from_utf8(bytes).is_ok_and(|source| !source.starts_with('\0'));
    let is_placed = error.position().is_some() || error.offset().is_some();
    let is_placed = is_placed || is_limit_of_whole(error.message());
    match is_placed || !is_text {
        true => Ok(error.message().to_string()),
        false => Err(format!("an error of text without a position: {error}")),
    }
}

fn is_limit(message: &str) -> bool {
    message.starts_with("the module is too large: ")
}

/// Whether it is a limit on the whole module, which has no position.
fn is_limit_of_whole(message: &str) -> bool {
    message.starts_with("the module is too large: its ")
}

/// Whether a position exists in a source.
fn is_within(source: &str, line: usize, column: usize) -> Verdict {
    let lines = lines(source);
    let text = line.checked_sub(1).and_then(|line| lines.get(line));
    let is_there = text.is_some_and(|text| (1..=text.len() + 1).contains(&column));
    match is_there {
        true => Ok(()),
        false => Err(format!("line {line}, column {column} is not in the source")),
    }
}

/// The lines of a source. A carriage return ends a line, too.
fn lines(source: &str) -> Vec<String> {
    source.replace("\r\n", "\n").split(['\n', '\r']).map(str::to_string).collect()
}

fn script(text: &str) -> Verdict {
    let report = WastRunner::new(&ENGINE).run_script("changed.wast", text);
    let lines = lines(text).len();
    for failure in &report.failures {
        if failure.message.trim().is_empty() || !(1..=lines).contains(&failure.line) {
            return Err(format!("a failure that says little: {failure}"));
        }
    }
    Ok(())
}
