//! The outcome of a script: passed directives, and failures.

use std::fmt;

/// The outcome of one or several scripts.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The number of directives that passed.
    pub passed: usize,
    /// The directives that failed, in the order of the script.
    pub failures: Vec<Failure>,
    /// The output of `output` directives without a file.
    pub output: String,
}

impl Report {
    /// The number of directives that failed.
    pub fn failed(&self) -> usize {
        self.failures.len()
    }

    pub(crate) fn fail(&mut self, file: &str, line: usize, message: String) {
        self.failures.push(Failure { file: file.to_owned(), line, message });
    }

    /// Adds the outcome of another script.
    pub fn merge(&mut self, other: Report) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
        self.output.push_str(&other.output);
    }
}

/// Prints each failure, then `N passed, M failed`.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.failures {
            writeln!(f, "{failure}")?;
        }
        write!(f, "{} passed, {} failed", self.passed, self.failed())
    }
}

/// A directive that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The name of the script.
    pub file: String,
    /// The line of the directive; the first line is 1.
    pub line: usize,
    /// The expected and the actual outcome.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}
