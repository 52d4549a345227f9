//! Recordings of runs: which program it was and how it was called, and then all that it got
//! from its host.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufReader, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use ropewalk::Result;
use serde::{Deserialize, Serialize};

use crate::files::{Limited, Output};
use crate::input;

/// What a recording begins with; the last byte is the version.
const MAGIC: &[u8; 16] = b"ropewalk-record\x02";

/// How long a command line may be.
const MOST_BYTES: u32 = 1 << 24;

/// What was run.
#[derive(Serialize, Deserialize)]
pub(crate) struct Recording {
    /// The command line, which begins with the command's name.
    arguments: Vec<Vec<u8>>,
    /// Where it was given.
    directory: Vec<u8>,
    /// The modules, and hashes of what was in their files.
    modules: Vec<(Vec<u8>, [u8; 32])>,
}

impl Recording {
    /// A run of modules by a command line.
    pub(crate) fn new(arguments: Vec<OsString>, modules: &[&Path]) -> Result<Recording> {
        let directory = std::env::current_dir().context("cannot tell the current directory")?;
        let hashed = |path: &&Path| {
            ensure!(
                !input::is_read_once(path),
                "a module that is read from the standard input or a pipe could not be read \
                 again: put it into a file to record it"
            );
            Ok((path.as_os_str().as_bytes().to_vec(), hash(path)?))
        };
        Ok(Recording {
            arguments: arguments.into_iter().map(OsString::into_vec).collect(),
            directory: directory.into_os_string().into_vec(),
            modules: modules.iter().map(hashed).collect::<Result<_>>()?,
        })
    }

    /// Begins a file, which what the program gets is written to afterwards. It is not
    /// buffered: it has all of that even if the program is killed.
    pub(crate) fn create(&self, output: &Output<'_>, most: Option<u64>) -> Result<Limited> {
        let bytes = postcard::to_allocvec(self)?;
        let len = (bytes.len() as u32).to_le_bytes();
        let hash = blake3::hash(&[&len[..], &bytes].concat());
        let mut file = output.create(most)?;
        let written = file.write_all(&[MAGIC, &len[..], &bytes, hash.as_bytes()].concat());
        written.with_context(|| output.cannot())?;
        Ok(file)
    }

    /// Reads the beginning of a file; what the program got comes after it.
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
                "{name} is no recording of this version of Ropewalk; \
                 `ropewalk run --record {name} FILE` makes one"
            );
        }
        let recording = Recording::read(&mut input);
        Ok((recording.with_context(|| format!("the recording {name} is damaged"))?, input))
    }

    fn read(input: &mut BufReader<File>) -> Result<Recording> {
        let mut bytes = vec![0; 4];
        input.read_exact(&mut bytes)?;
        let len = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).min(MOST_BYTES);
        input.take(len.into()).read_to_end(&mut bytes)?;
        let mut hash = [0; blake3::OUT_LEN];
        input.read_exact(&mut hash)?;
        ensure!(blake3::hash(&bytes) == hash, "its beginning is not what was written");
        Ok(postcard::from_bytes(&bytes[4..])?)
    }

    /// The command line.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        self.arguments.iter().cloned().map(OsString::from_vec).collect()
    }

    /// A path of the command line, from wherever it is used.
    pub(crate) fn path(&self, path: &OsStr) -> PathBuf {
        Path::new(OsStr::from_bytes(&self.directory)).join(path)
    }

    /// Fails unless the modules are the same as when they were recorded.
    pub(crate) fn check_modules(&self) -> Result<()> {
        for (path, recorded) in &self.modules {
            let path = self.path(OsStr::from_bytes(path));
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
