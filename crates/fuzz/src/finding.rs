//! Writes findings to files, from which tests can be made.

use crate::Target;
use crate::seeds;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// A problem, and the case that shows it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The name of the target.
    pub target: String,
    /// The seed that led to it.
    pub seed: u64,
    /// The description of the problem.
    pub problem: String,
    /// The minimized bytes.
    pub entropy: Vec<u8>,
}

impl Finding {
    /// Writes the case as text, with a head that describes the problem and the command to reproduce
    /// it, and its bytes to a second file. Returns the path.
    pub fn write(&self, target: &dyn Target, directory: &Path) -> io::Result<PathBuf> {
        fs::create_dir_all(directory)?;
        let name = format!("{}-{}", self.target, self.seed);
        let bytes = directory.join(format!("{name}.hex"));
        fs::write(&bytes, seeds::to_hex(&self.entropy))?;
        let path = directory.join(format!("{name}.txt"));
        // A case that fails may also fail to render.
        let rendered = catch_unwind(AssertUnwindSafe(|| target.render(&self.entropy)));
        let rendered = rendered.unwrap_or_else(|_| ";; rendering it panics".to_string());
        fs::write(&path, format!("{}\n{rendered}", self.head(&bytes)))?;
        Ok(path)
    }

    fn head(&self, bytes: &Path) -> String {
        let problem: String = self.problem.lines().map(|line| format!(";;   {line}\n")).collect();
        format!(
            ";; Found by target {0}, seed {1}:\n{problem};; To run this case:\n\
             ;;   cargo run --release -p ropewalk-fuzz -- --target {0} --entropy {2}\n\
             ;; To run it as it was found:\n\
             ;;   cargo run --release -p ropewalk-fuzz -- --target {0} --seed {1} --once\n",
            self.target,
            self.seed,
            bytes.display()
        )
    }
}
