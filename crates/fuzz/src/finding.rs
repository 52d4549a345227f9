//! Findings, written down so that they can become tests.

use crate::Target;
use crate::seeds;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Something that is wrong, and the case that shows it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The name of the target.
    pub target: String,
    /// The seed by which it was found.
    pub seed: u64,
    /// What is wrong.
    pub complaint: String,
    /// The bytes, minimized.
    pub entropy: Vec<u8>,
}

impl Finding {
    /// Writes the case as text, with a head that says what is wrong and how to
    /// run it again; and its bytes beside it. Answers where.
    pub fn write(&self, target: &dyn Target, directory: &Path) -> io::Result<PathBuf> {
        fs::create_dir_all(directory)?;
        let name = format!("{}-{}", self.target, self.seed);
        let bytes = directory.join(format!("{name}.hex"));
        fs::write(&bytes, seeds::to_hex(&self.entropy))?;
        let path = directory.join(format!("{name}.txt"));
        // What cannot be tried may not be rendered, either.
        let rendered = catch_unwind(AssertUnwindSafe(|| target.render(&self.entropy)));
        let rendered = rendered.unwrap_or_else(|_| ";; rendering it panics".to_string());
        fs::write(&path, format!("{}\n{rendered}", self.head(&bytes)))?;
        Ok(path)
    }

    fn head(&self, bytes: &Path) -> String {
        let complaint: String =
            self.complaint.lines().map(|line| format!(";;   {line}\n")).collect();
        format!(
            ";; Found by target {0}, seed {1}. What is wrong:\n{complaint};; The case that is \
             below:\n;;   cargo run --release -p ropewalk-fuzz -- --target {0} --entropy {2}\n;; \
             As it was found:\n;;   cargo run --release -p ropewalk-fuzz -- --target {0} --seed \
             {1} --once\n",
            self.target,
            self.seed,
            bytes.display()
        )
    }
}
