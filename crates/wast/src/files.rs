//! The directives that name scripts, and read and write files.

use anyhow::{Context, bail, ensure};
use ropewalk::{Module, Result};
use ropewalk_text::Text;
use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use wast::token::Id;

use crate::report::Report;
use crate::script::Script;

/// The maximum number of scripts that read each other.
const MAX_DEPTH: usize = 50;

impl Script<'_> {
    /// `(input $x "file")`: runs the script in a file, or defines the module in it.
    pub(crate) fn input(
        &mut self,
        name: Option<Id>,
        file: &str,
        report: &mut Report,
    ) -> Result<()> {
        let path = self.path(file)?;
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if is_module(&path) {
            let shown = path.display().to_string();
            let module =
                Module::watched(self.engine, &bytes, &shown, |_| ControlFlow::Continue(()))?;
            return self.define(name, module, bytes);
        }
        ensure!(self.depth < MAX_DEPTH, "{} scripts read each other, the maximum", MAX_DEPTH);
        let text = String::from_utf8(bytes)
            .with_context(|| format!("{} is not UTF-8 text", path.display()))?;
        self.run(&path.display().to_string(), &text, report);
        self.scripts.insert(name, text);
        self.rename_latest(name);
        Ok(())
    }

    /// `(output $x "file")`: writes a script or a module to a new file, or shows it.
    pub(crate) fn output(
        &self,
        name: Option<Id>,
        file: Option<&str>,
        report: &mut Report,
    ) -> Result<()> {
        let Some(file) = file else {
            let bytes = self.texts.get(name).or_else(|_| self.script_bytes(name))?;
            report.output.push_str(&String::from_utf8_lossy(&bytes));
            report.output.push('\n');
            return Ok(());
        };
        let path = self.path(file)?;
        let bytes = match is_module(&path) {
            false => self.script_bytes(name)?,
            true => module_bytes(self.texts.get(name)?, &path)?,
        };
        let created = File::create_new(&path);
        let written = created.and_then(|mut file| file.write_all(&bytes));
        written.with_context(|| format!("cannot write {}", path.display()))
    }

    fn script_bytes(&self, name: Option<Id>) -> Result<Vec<u8>> {
        self.scripts.get(name).map(String::into_bytes)
    }

    /// The path of a file in the directory of the runner.
    fn path(&self, file: &str) -> Result<PathBuf> {
        let Some(directory) = &self.directory else {
            bail!("this runner has no directory for files (WastRunner::with_directory)");
        };
        let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        let is_inside = Path::new(file).components().all(is_plain);
        ensure!(is_inside, "{file:?} is outside of the directory of the script");
        Ok(directory.join(file))
    }
}

/// Whether a file has a module, by its extension.
fn is_module(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wat" || extension == "wasm")
}

/// A module as a file contains it: a binary in `.wasm`, text in `.wat`.
fn module_bytes(module: Vec<u8>, path: &Path) -> Result<Vec<u8>> {
    let is_binary = module.first() == Some(&0);
    if path.extension().is_some_and(|extension| extension == "wat") {
        ensure!(!is_binary, "the module is a binary, which has no text: write it to a .wasm file");
        return Ok(module);
    }
    match is_binary {
        true => Ok(module),
        false => Ok(Text::parse(std::str::from_utf8(&module)?)?.binary().to_vec()),
    }
}
