//! Programs that `run --snapshot-on` saved while they ran, for `resume`.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use ropewalk::{Result, Snapshot};
use ropewalk_wasi::{WasiCtx, WasiState};
use serde::{Deserialize, Serialize};

use crate::files::input;
use crate::files::invocation::Invocation;
use crate::files::output::Output;

/// The first bytes of a file; the last of them is the version.
const MAGIC: &[u8; 16] = b"ropewalk-asleep\x01";

/// The size of the hash at the end of a file.
const HASH: usize = blake3::OUT_LEN;

/// How a program was started.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) invocation: Invocation,
    /// The names and contents of the modules, the program's first.
    pub(crate) modules: Vec<(String, Vec<u8>)>,
}

/// A program with its state.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedProgram {
    pub(crate) program: Program,
    wasi: Vec<u8>,
    snapshot: Vec<u8>,
}

impl Program {
    /// The program that this process runs.
    pub(crate) fn new(modules: &[&Path]) -> Result<Program> {
        let read = |path: &&Path| {
            ensure!(
                !input::is_read_once(path),
                "cannot take snapshots of a module from the standard input or a pipe: \
                 save it to a file first"
            );
            Ok((input::name(path).into_owned(), input::bytes(path)?))
        };
        let modules = modules.iter().map(read).collect::<Result<_>>()?;
        Ok(Program { invocation: Invocation::current()?, modules })
    }

    /// Saves the program in its present state. An existing file is replaced as a whole.
    pub(crate) fn write(
        &self,
        output: &Output<'_>,
        snapshot: &Snapshot,
        context: &WasiCtx,
    ) -> Result<()> {
        let saved = SavedProgram {
            program: self.clone(),
            wasi: context.save()?.to_bytes(),
            snapshot: snapshot.as_bytes().to_vec(),
        };
        let mut bytes = postcard::to_extend(&saved, MAGIC.to_vec())?;
        bytes.extend(blake3::hash(&bytes).as_bytes());
        output.write(&bytes)
    }
}

impl SavedProgram {
    pub(crate) fn read(path: &Path) -> Result<SavedProgram> {
        let name = path.display();
        let bytes = input::bytes(path)?;
        let Some(after_magic) = bytes.strip_prefix(MAGIC) else {
            bail!(
                "{name} is not a snapshot taken by this version of Ropewalk; \
                 `ropewalk run --snapshot-on SIGUSR1 -o {name} FILE` takes one"
            );
        };
        let body = after_magic.split_last_chunk::<HASH>();
        let body = body.filter(|_| is_intact(&bytes)).map(|(body, _)| body);
        let read = body.and_then(|body| postcard::from_bytes(body).ok());
        read.with_context(|| format!("the snapshot {name} is damaged"))
    }

    pub(crate) fn wasi(&self) -> Result<WasiState> {
        Ok(WasiState::from_bytes(&self.wasi)?)
    }

    #[allow(unsafe_code)]
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        // SAFETY: the file is a program, and the user trusts the programs that they run.
        unsafe { Snapshot::from_bytes(self.snapshot.clone()) }
    }
}

/// Whether bytes end with the hash of the bytes before it.
fn is_intact(bytes: &[u8]) -> bool {
    bytes.split_last_chunk::<HASH>().is_some_and(|(all, hash)| blake3::hash(all) == *hash)
}
