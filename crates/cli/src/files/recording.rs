//! Recordings of runs.
//!
//! A file begins with the command line and hashes of the modules. Everything that the program
//! received from its host follows.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use ropewalk::Result;
use serde::{Deserialize, Serialize};

use crate::files::input;
use crate::files::invocation::Invocation;
use crate::files::output::{Limited, Output};

/// The first bytes of a recording; the last of them is the version.
const MAGIC: &[u8; 16] = b"ropewalk-record\x02";

/// The maximum size of the header, which contains the command line.
const MAX_HEADER: u32 = 1 << 24;

/// The header of a recording.
#[derive(Serialize, Deserialize)]
pub(crate) struct Recording {
    pub(crate) invocation: Invocation,
    /// The paths of the modules, with hashes of their contents.
    modules: Vec<(Vec<u8>, [u8; 32])>,
}

impl Recording {
    /// The header for this process, which runs these modules.
    pub(crate) fn new(modules: &[&Path]) -> Result<Recording> {
        let hashed = |path: &&Path| {
            ensure!(
                !input::is_read_once(path),
                "cannot record a module from the standard input or a pipe, since `replay` could \
                 not read it again: save it to a file first"
            );
            Ok((path.as_os_str().as_bytes().to_vec(), hash(path)?))
        };
        let modules = modules.iter().map(hashed).collect::<Result<_>>()?;
        Ok(Recording { invocation: Invocation::current()?, modules })
    }

    /// Creates a file and writes the header. The file is not buffered, so it is complete up to
    /// the last call even if the process is killed.
    pub(crate) fn create(&self, output: &Output<'_>, max_size: Option<u64>) -> Result<Limited> {
        let bytes = postcard::to_allocvec(self)?;
        let len = (bytes.len() as u32).to_le_bytes();
        let hash = blake3::hash(&[&len[..], &bytes].concat());
        let mut file = output.create(max_size)?;
        let written = file.write_all(&[MAGIC, &len[..], &bytes, hash.as_bytes()].concat());
        written.with_context(|| output.cannot())?;
        Ok(file)
    }

    /// Reads the header of a file; returns the rest of the file unread.
    pub(crate) fn open(path: &Path) -> Result<(Recording, BufReader<File>)> {
        let name = path.display();
        let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            bail!("{name} is a directory, not a file");
        }
        let mut input = BufReader::new(file);
        let mut magic = [0; MAGIC.len()];
        let begins = input.read_exact(&mut magic);
        if begins.is_err() || magic != *MAGIC {
            bail!(
                "{name} is not a recording made by this version of Ropewalk; \
                 `ropewalk run --record {name} FILE` makes one"
            );
        }
        let recording = Recording::read(&mut input);
        Ok((recording.with_context(|| format!("the recording {name} is damaged"))?, input))
    }

    fn read(input: &mut BufReader<File>) -> Result<Recording> {
        let mut bytes = vec![0; 4];
        input.read_exact(&mut bytes)?;
        let len = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).min(MAX_HEADER);
        input.take(len.into()).read_to_end(&mut bytes)?;
        let mut hash = [0; blake3::OUT_LEN];
        input.read_exact(&mut hash)?;
        ensure!(blake3::hash(&bytes) == hash, "the checksum of its header does not match");
        Ok(postcard::from_bytes(&bytes[4..])?)
    }

    /// Fails if a module has changed since it was recorded.
    pub(crate) fn check_modules(&self) -> Result<()> {
        for (path, recorded) in &self.modules {
            let path = self.invocation.path(OsStr::from_bytes(path));
            ensure!(
                hash(&path)? == *recorded,
                "{} is not the module that was recorded: it has changed since",
                path.display()
            );
        }
        Ok(())
    }
}

fn hash(path: &Path) -> Result<[u8; 32]> {
    Ok(*blake3::hash(&input::bytes(path)?).as_bytes())
}
