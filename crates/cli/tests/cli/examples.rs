//! Runs the examples as their comments say, and compares what they print.
//!
//! The comment at the head of an example has lines like
//!
//! ```text
//! ;;   $ ropewalk run --invoke fib examples/fib.wat 20
//! ;;   6765
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{root, ropewalk};

/// A command and its output.
pub struct Claim {
    pub arguments: Vec<String>,
    pub output: String,
}

#[test]
fn examples_print_what_they_say() {
    for example in examples() {
        let claims = claims(&example);
        assert!(!claims.is_empty(), "{} does not say how to run it", example.display());
        for claim in claims {
            let arguments: Vec<_> = claim.arguments.iter().map(String::as_str).collect();
            ropewalk(&arguments).prints(&claim.output);
        }
    }
}

pub fn examples() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("examples")).expect("there are examples");
    let files = folder.map(|entry| entry.expect("the folder can be read").path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "wat")).collect()
}

/// The claims in the comment at the head of an example.
pub fn claims(example: &Path) -> Vec<Claim> {
    let text = fs::read_to_string(example).expect("the example is text");
    let mut claims: Vec<Claim> = Vec::new();
    for line in text.lines().map_while(|line| line.strip_prefix(";;")) {
        if let Some(command) = line.strip_prefix("   $ ropewalk ") {
            let arguments = command.split_whitespace().map(str::to_owned).collect();
            claims.push(Claim { arguments, output: String::new() });
        } else if let (Some(output), Some(claim)) = (line.strip_prefix("   "), claims.last_mut()) {
            claim.output.push_str(output);
            claim.output.push('\n');
        }
    }
    claims
}
