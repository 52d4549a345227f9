//! The outputs and costs of a run, and comparing two runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::run::Figures;

/// The outputs and costs of a run.
pub(crate) struct Outcome {
    /// The standard streams and the files of the scratch folder, by name.
    outputs: BTreeMap<String, Vec<u8>>,
    pub(crate) figures: Figures,
}

impl Outcome {
    /// Reads the folder of a run.
    pub(crate) fn read(folder: &Path, scratch: &Path) -> Result<Outcome> {
        let mut outputs = BTreeMap::new();
        for stream in ["stdout", "stderr"] {
            outputs.insert(stream.to_owned(), fs::read(folder.join(stream))?);
        }
        collect(scratch, "scratch", &mut outputs)?;
        Ok(Outcome { outputs, figures: Figures::default() })
    }

    /// The error of the engine or the program.
    pub(crate) fn complaint(&self) -> String {
        let stderr = String::from_utf8_lossy(&self.outputs["stderr"]);
        let lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.take(8).collect::<Vec<_>>().join(" / ")
    }
}

fn collect(folder: &Path, name: &str, outputs: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().display());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &name, outputs)?;
        } else {
            outputs.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(())
}

/// The first difference between the outputs of two successful runs.
pub(crate) fn difference(ours: &Outcome, theirs: &Outcome) -> Option<String> {
    let names = ours.outputs.keys().chain(theirs.outputs.keys());
    for name in names {
        let (Some(our), Some(their)) = (ours.outputs.get(name), theirs.outputs.get(name)) else {
            return Some(format!("only one of the engines wrote {name}"));
        };
        let same = our.iter().zip(their).take_while(|(our, their)| our == their).count();
        if same < our.len().max(their.len()) {
            return Some(format!("{name} differs from byte {same} on"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(outputs: &[(&str, &str)]) -> Outcome {
        let outputs = outputs.iter();
        let outputs =
            outputs.map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
        Outcome { outputs, figures: Figures::default() }
    }

    #[test]
    fn equal_runs_do_not_differ() {
        let run = || outcome(&[("stdout", "rope"), ("stderr", "")]);
        assert_eq!(difference(&run(), &run()), None);
    }

    #[test]
    fn the_first_byte_that_differs_is_named() {
        let ours = outcome(&[("stdout", "rope")]);
        let theirs = outcome(&[("stdout", "ropewalk")]);
        let expected = "stdout differs from byte 4 on";
        assert_eq!(difference(&ours, &theirs).as_deref(), Some(expected));
        assert_eq!(difference(&theirs, &ours).as_deref(), Some(expected));
    }

    #[test]
    fn a_file_that_only_one_wrote_is_named() {
        let ours = outcome(&[("stdout", "")]);
        let theirs = outcome(&[("stdout", ""), ("scratch/a", "")]);
        let expected = "only one of the engines wrote scratch/a";
        assert_eq!(difference(&ours, &theirs).as_deref(), Some(expected));
    }
}
