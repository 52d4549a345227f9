//! The cache of compiled modules: a folder of files.

mod known_files;
mod stamp;

use self::known_files::{HashNote, Observation};
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

/// A folder of compiled modules, so that each module is compiled once and not in each process. An
/// engine with a cache ([`Config::cache`](crate::Config::cache)) looks there before it compiles, and
/// stores there what it has compiled.
///
/// * The key of a module is a cryptographic hash of its bytes and of everything that its code
///   depends on: the version of the engine, its settings, the machine.
/// * A large [file](Module::from_file) is not read and hashed again if its inode, length and times
///   are unchanged.
/// * If another program has written to a file of the cache, the whole file is checked, and compiled
///   again if it is damaged. The code of other files is checked before it runs, as for
///   [`Module::deserialize_file`]. A damaged file is removed.
/// * Its files are executed as code. A folder that other users may write to is refused.
/// * Any number of processes may use it at the same time.
/// * When it exceeds its limit, the least recently used files are removed.
/// * If a file cannot be read or written, the module is compiled as without a cache.
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

const EXTENSION: &str = "cwasm";
/// The extension of unfinished files.
const UNFINISHED: &str = "part";

/// How many bytes of a file are read at once, so that they fit into a processor's cache.
const PIECE: usize = 256 << 10;

/// The default limit of its size.
const MAX_BYTES: u64 = 1 << 30;

/// A file that is used is marked again if its mark is older than this.
const MARKED: Duration = Duration::from_secs(3600);

/// An unfinished file that is older than this was abandoned.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

impl Cache {
    /// Opens the cache in a folder, which is created if necessary.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Cache> {
        let folder = folder.into();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
        let metadata = fs::metadata(&folder)
            .with_context(|| format!("cannot read the folder {}", folder.display()))?;
        let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
        ensure!(
            is_ours && metadata.mode() & 0o022 == 0,
            "{} cannot be a cache of compiled modules: other users may write to it",
            folder.display()
        );
        Ok(Cache { folder, max_bytes: MAX_BYTES })
    }

    /// Opens the user's cache: the folder `ropewalk` in `$XDG_CACHE_HOME`, or in `.cache` of the
    /// home folder.
    pub fn of_user() -> Result<Cache> {
        let absolute = |name| {
            let path = PathBuf::from(std::env::var_os(name)?);
            path.is_absolute().then_some(path)
        };
        let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        Cache::open(folder.context("neither XDG_CACHE_HOME nor HOME is set")?.join("ropewalk"))
    }

    /// Limits how many bytes it may have. 1 GiB by default.
    pub fn max_bytes(self, bytes: u64) -> Cache {
        Cache { max_bytes: bytes, ..self }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path for a module, by everything that its code depends on.
    pub(crate) fn place(&self, engine: &Engine, bytes: &[u8], file: Option<&str>) -> PathBuf {
        let is_binary = bytes.first() == Some(&0);
        let mut hasher = start_hashing(engine, is_binary, file, bytes.len() as u64);
        hasher.update(bytes);
        self.place_of(&hasher.finalize())
    }

    /// The path for the module in a file. A known file is not read.
    pub(crate) fn place_of_file(
        &self,
        engine: &Engine,
        file: &mut File,
        name: &str,
    ) -> std::io::Result<PathBuf> {
        let observed = Observation::of(file);
        let note = observed.map(|observed| HashNote::new(&self.folder, engine, observed, name));
        if let Some(hash) = note.as_ref().and_then(HashNote::read) {
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

    /// The module at a path. A damaged file is removed.
    pub(crate) fn find(&self, engine: &Engine, place: &Path) -> Option<Module> {
        let file = File::open(place).ok()?;
        let found = open(&file, place).and_then(|found| {
            // SAFETY: only this user can write to the folder, and does so as below: a file gets its
            // name when it is complete, and never changes.
            unsafe { of_precompiled(engine, Ok(found)) }
        });
        if found.is_err() {
            let _ = fs::remove_file(place);
        }
        found.ok()
    }

    pub(crate) fn insert(&self, place: &Path, module: &Module) {
        let Ok(bytes) = module.serialize() else { return };
        if bytes.len() as u64 > self.max_bytes {
            return;
        }
        let _ = self.write(place, &bytes, |file| {
            // A file without a mark is checked each time.
            let _ = checksum_of(&bytes).map(|checksum| stamp::mark(file, checksum));
        });
        let _ = self.trim(place);
    }

    /// Writes a file, which gets its name when it is complete.
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

    /// Removes the least recently used files beyond the limit, but not `newest`. Removes abandoned
    /// files too.
    fn trim(&self, newest: &Path) -> std::io::Result<()> {
        let now = SystemTime::now();
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)?.flatten() {
            let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
            let Ok(used) = metadata.modified() else { continue };
            match path.extension().and_then(|extension| extension.to_str()) {
                Some(EXTENSION) => files.push((used, metadata.len(), path)),
                Some(UNFINISHED) if now.duration_since(used).is_ok_and(|age| age > ABANDONED) => {
                    fs::remove_file(path)?;
                }
                _ => {}
            }
        }
        known_files::trim(&self.folder, now);
        files.sort();
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in files.iter().filter(|(_, _, path)| path != newest) {
            if total <= self.max_bytes {
                break;
            }
            // Another process may have removed it.
            let _ = fs::remove_file(path);
            total -= bytes;
        }
        Ok(())
    }
}

/// Begins the hash of a module of `len` bytes. Everything else that its code depends on comes first,
/// each with its length, so that the parts cannot be confused.
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

/// Hashes the module in a file, piece by piece.
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

/// Opens a file of a cache. If another program has written to it, checks all of it.
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
