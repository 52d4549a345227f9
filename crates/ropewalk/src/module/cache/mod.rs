//! Compiled modules that are kept in a folder.

mod seen;
mod stamp;

use self::seen::{Look, Note};
use crate::engine::Engine;
use crate::module::Module;
use crate::module::precompiled::of_precompiled;
use anyhow::{Context, Result, ensure};
use ropewalk_runtime::code::precompiled::{Precompiled, checksum_of};
use std::fs::{self, DirBuilder, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// A folder of compiled modules, so that a module is compiled once and not in each
/// process. An engine that has one ([`Config::cache`](crate::Config::cache)) looks there
/// before it compiles, and leaves there what it has compiled.
///
/// * A module is found by a cryptographic hash of its bytes and of everything that its
///   code depends on: the version of the engine, its settings, the machine. So nothing
///   is found that does not fit.
/// * A large [file](Module::from_file) that was seen before and is unchanged since then, as its
///   number, its length and its times say, is neither read nor hashed again.
/// * A file of the cache that was written to by anybody else is checked as a whole, and made
///   anew if it is damaged. Of others, code is checked before it is executed, as it is by
///   [`Module::deserialize_file`]; one that turns out to be damaged is removed.
/// * Its files become code, so nobody but the user may write to the folder. One that
///   others may write to is refused.
/// * Any number of processes may use it at the same time.
/// * When it is larger than allowed, what was not used for the longest time goes.
/// * What cannot be read or written is compiled as if there were no cache.
///
/// ```
/// use ropewalk::*;
///
/// let folder = std::env::temp_dir().join(format!("ropewalk-cache-{}", std::process::id()));
/// let cache = Cache::open(&folder)?.max_bytes(64 << 20);
/// let engine = Engine::new(Config::new().cache(cache))?;
/// Module::new(&engine, "(func)")?; // compiled
/// Module::new(&engine, "(func)")?; // found
/// # assert_eq!(std::fs::read_dir(&folder)?.count(), 1);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    max_bytes: u64,
}

/// How the names of its files end.
const EXTENSION: &str = "cwasm";
/// How the names of files end that are being written.
const UNFINISHED: &str = "part";

/// How many bytes of a file are read at once: as many as fit into a processor's cache.
const PIECE: usize = 256 << 10;

/// How many bytes it has at the most, unless somebody says otherwise.
const MAX_BYTES: u64 = 1 << 30;

/// A file that was used is marked so, if the mark is older than this.
const MARKED: Duration = Duration::from_secs(3600);

/// A file that is being written is left behind if it is older than this.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);

impl Cache {
    /// The cache in a folder, which is made if it is not there.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Cache> {
        let folder = folder.into();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let metadata = fs::metadata(&folder)
            .with_context(|| format!("cannot read the folder {}", folder.display()))?;
        let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
        ensure!(
            is_ours && metadata.mode() & 0o022 == 0,
            "{} cannot be a cache of compiled modules: others may write to it",
            folder.display()
        );
        Ok(Cache { folder, max_bytes: MAX_BYTES })
    }

    /// The user's own cache: the folder `ropewalk` in `$XDG_CACHE_HOME`, or in `.cache` of
    /// the home folder.
    pub fn of_user() -> Result<Cache> {
        let absolute = |name| {
            let path = PathBuf::from(std::env::var_os(name)?);
            path.is_absolute().then_some(path)
        };
        let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        Cache::open(folder.context("neither XDG_CACHE_HOME nor HOME is set")?.join("ropewalk"))
    }

    /// How many bytes it may have. 1 GiB if nothing is said.
    pub fn max_bytes(self, bytes: u64) -> Cache {
        Cache { max_bytes: bytes, ..self }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a module is, or would be, by all that it depends on.
    pub(crate) fn place(&self, engine: &Engine, bytes: &[u8], file: Option<&str>) -> PathBuf {
        let is_binary = bytes.first() == Some(&0);
        let mut hasher = start_hashing(engine, is_binary, file, bytes.len() as u64);
        hasher.update(bytes);
        self.place_of(&hasher.finalize())
    }

    /// The same for a module in a file, which is not read if it was seen before.
    pub(crate) fn place_of_file(
        &self,
        engine: &Engine,
        file: &mut File,
        name: &str,
    ) -> std::io::Result<PathBuf> {
        let look = Look::at(file);
        let note = look.map(|look| Note::new(&self.folder, engine, look, name));
        if let Some(hash) = note.as_ref().and_then(Note::read) {
            return Ok(self.place_of(&hash));
        }
        let hash = hash_file(engine, file, name)?;
        if let Some(note) = note {
            note.write(file, &hash, |path, bytes| {
                let _ = self.write(path, bytes, |_| ());
            });
        }
        Ok(self.place_of(&hash))
    }

    fn place_of(&self, hash: &blake3::Hash) -> PathBuf {
        self.folder.join(hash.to_hex().as_str()).with_extension(EXTENSION)
    }

    /// The module at a place. One that is damaged is removed.
    pub(crate) fn find(&self, engine: &Engine, place: &Path) -> Option<Module> {
        let file = File::open(place).ok()?;
        let found = open(&file, place).and_then(|found| {
            // SAFETY: nobody but the user writes to the folder, who does it as below: a file
            // has its name only when it is whole, and is not written to any more.
            unsafe { of_precompiled(engine, Ok(found)) }
        });
        if found.is_err() {
            let _ = fs::remove_file(place);
        }
        found.ok()
    }

    /// Keeps a module, if that is possible.
    pub(crate) fn insert(&self, place: &Path, module: &Module) {
        let Ok(bytes) = module.serialize() else { return };
        if bytes.len() as u64 > self.max_bytes {
            return;
        }
        let _ = self.write(place, &bytes, |file| {
            // If that is not possible, it is checked each time.
            let _ = checksum_of(&bytes).map(|checksum| stamp::mark(file, checksum));
        });
        let _ = self.trim(place);
    }

    /// Writes a file that has its name only when it is whole.
    fn write(&self, place: &Path, bytes: &[u8], finish: impl FnOnce(&File)) -> std::io::Result<()> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}.{UNFINISHED}", std::process::id());
        let unfinished = self.folder.join(name);
        let mut options = File::options();
        let written = (options.write(true).create_new(true).mode(0o600).open(&unfinished))
            .and_then(|mut file| file.write_all(bytes).map(|()| finish(&file)))
            .and_then(|()| fs::rename(&unfinished, place));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written
    }

    /// Removes what was not used for the longest time, if there is too much, but not
    /// the file at `newest`; and what others left behind.
    fn trim(&self, newest: &Path) -> std::io::Result<()> {
        let now = SystemTime::now();
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)?.flatten() {
            let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
            let Ok(used) = metadata.modified() else { continue };
            match path.extension().and_then(|extension| extension.to_str()) {
                Some(EXTENSION) => files.push((used, metadata.len(), path)),
                Some(UNFINISHED) if now.duration_since(used).is_ok_and(|age| age > LEFT_BEHIND) => {
                    fs::remove_file(path)?;
                }
                _ => {}
            }
        }
        seen::trim(&self.folder, now);
        files.sort();
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in files.iter().filter(|(_, _, path)| path != newest) {
            if total <= self.max_bytes {
                break;
            }
            // Somebody else may have removed it already.
            let _ = fs::remove_file(path);
            total -= bytes;
        }
        Ok(())
    }
}

/// Begins to hash a module of so many bytes: with everything that its code depends on
/// beside them, each with its length, so that no two modules look the same.
fn start_hashing(engine: &Engine, is_binary: bool, file: Option<&str>, len: u64) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    // Backtraces of a module in the text format show the file.
    let file = file.filter(|_| !is_binary).unwrap_or_default();
    for part in [engine.settings_bytes(), file.as_bytes()] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.update(&len.to_le_bytes());
    hasher
}

/// Hashes a module in a file, of which no more than a piece is in memory at a time.
fn hash_file(engine: &Engine, file: &mut File, name: &str) -> std::io::Result<blake3::Hash> {
    let len = file.metadata()?.len();
    let mut piece = vec![0; PIECE];
    let mut read = file.read(&mut piece)?;
    let is_binary = read > 0 && piece[0] == 0;
    let mut hasher = start_hashing(engine, is_binary, Some(name), len);
    while read > 0 {
        hasher.update(&piece[..read]);
        read = file.read(&mut piece)?;
    }
    Ok(hasher.finalize())
}

/// Opens a file of a cache. One that somebody else has written to is checked as a whole.
fn open(file: &File, place: &Path) -> Result<Precompiled> {
    let modified = file.metadata()?.modified()?;
    let mut found = Precompiled::open(file.try_clone()?)?;
    let is_marked = stamp::is_marked(modified, found.checksum());
    if !is_marked {
        found.check_all()?;
    }
    let is_old = SystemTime::now().duration_since(modified).is_ok_and(|age| age > MARKED);
    if is_old || !is_marked {
        let _ = stamp::mark(file, found.checksum());
    }
    found.remove_if_damaged(place.to_path_buf());
    Ok(found)
}
