//! A command line and the directory where it was given.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ropewalk::Result;
use serde::{Deserialize, Serialize};

/// How `run` was called, for the subcommands that repeat or continue the run.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Invocation {
    /// The command line, beginning with the command's name.
    arguments: Vec<Vec<u8>>,
    directory: Vec<u8>,
}

impl Invocation {
    /// The command line of this process.
    pub(crate) fn current() -> Result<Invocation> {
        let directory = std::env::current_dir().context("cannot find the current directory")?;
        Ok(Invocation {
            arguments: crate::arguments().into_iter().map(OsString::into_vec).collect(),
            directory: directory.into_os_string().into_vec(),
        })
    }

    pub(crate) fn arguments(&self) -> Vec<OsString> {
        self.arguments.iter().cloned().map(OsString::from_vec).collect()
    }

    /// Resolves a path of the command line against the directory where it was given.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        Path::new(OsStr::from_bytes(&self.directory)).join(path)
    }
}
