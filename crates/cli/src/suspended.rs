//! Programs that were written down while they ran, to be resumed later: what
//! `run --snapshot-on` writes, and `resume` reads.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use ropewalk::{Result, Snapshot};
use ropewalk_wasi::{WasiCtx, WasiState};
use serde::{Deserialize, Serialize};

use crate::files::Output;
use crate::input;

/// What a file begins with; the last byte is the version.
const MAGIC: &[u8; 16] = b"ropewalk-asleep\x01";

/// How long a hash is, with which a file ends.
const HASH: usize = blake3::OUT_LEN;

/// Which program it is, and how it was run.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Program {
    /// The command line, which begins with the command's name.
    arguments: Vec<Vec<u8>>,
    /// Where it was given.
    directory: Vec<u8>,
    /// The module and those that were loaded before it, with their names.
    modules: Vec<(String, Vec<u8>)>,
}

/// A program that was written down.
#[derive(Serialize, Deserialize)]
pub(crate) struct Suspended {
    pub(crate) program: Program,
    /// What it has of WASI.
    wasi: Vec<u8>,
    /// Its store.
    snapshot: Vec<u8>,
}

impl Program {
    /// The program of a command line, with the bytes of its modules.
    pub(crate) fn new(arguments: Vec<OsString>, modules: &[&Path]) -> Result<Program> {
        let directory = std::env::current_dir().context("cannot tell the current directory")?;
        let read = |path: &&Path| {
            ensure!(
                !input::is_read_once(path),
                "a module that comes through a pipe could not be read again: \
                 put it into a file to write the program down"
            );
            Ok((input::name(path).into_owned(), input::bytes(path)?))
        };
        Ok(Program {
            arguments: arguments.into_iter().map(OsString::into_vec).collect(),
            directory: directory.into_os_string().into_vec(),
            modules: modules.iter().map(read).collect::<Result<_>>()?,
        })
    }

    /// The command line.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        self.arguments.iter().cloned().map(OsString::from_vec).collect()
    }

    /// A path of the command line, from wherever it is used.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        Path::new(OsStr::from_bytes(&self.directory)).join(path)
    }

    /// The modules, with their names: the program first.
    pub(crate) fn modules(&self) -> &[(String, Vec<u8>)] {
        &self.modules
    }

    /// Writes the program down as it is now. The file is there whole, or as it was before.
    pub(crate) fn write(
        &self,
        output: &Output<'_>,
        snapshot: &Snapshot,
        context: &WasiCtx,
    ) -> Result<()> {
        let suspended = Suspended {
            program: self.clone(),
            wasi: context.save()?.to_bytes(),
            snapshot: snapshot.as_bytes().to_vec(),
        };
        let mut bytes = postcard::to_extend(&suspended, MAGIC.to_vec())?;
        bytes.extend(blake3::hash(&bytes).as_bytes());
        output.write(&bytes)
    }
}

impl Suspended {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Suspended> {
        let name = path.display();
        let bytes = input::bytes(path)?;
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            bail!(
                "{name} is no program that this version of Ropewalk has written down; \
                 `ropewalk run --snapshot-on SIGUSR1 -o {name} FILE` makes one"
            );
        };
        let body = rest.split_last_chunk::<HASH>();
        let body = body.filter(|_| is_whole(&bytes)).map(|(body, _)| body);
        let read = body.and_then(|body| postcard::from_bytes(body).ok());
        read.with_context(|| format!("{name} is damaged"))
    }

    /// What it had of WASI.
    pub(crate) fn wasi(&self) -> Result<WasiState> {
        Ok(WasiState::from_bytes(&self.wasi)?)
    }

    /// Its store.
    #[allow(unsafe_code)]
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        // SAFETY: such a file is a program. The user asks to run it, as one asks to run any
        // other.
        unsafe { Snapshot::from_bytes(self.snapshot.clone()) }
    }
}

/// Whether bytes end with the hash of all before it.
fn is_whole(bytes: &[u8]) -> bool {
    bytes.split_last_chunk::<HASH>().is_some_and(|(all, hash)| blake3::hash(all) == *hash)
}
