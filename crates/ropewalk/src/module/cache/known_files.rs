//! Hashes of known files, so that an unchanged file is not read and hashed again.
//!
//! The device and inode identify a file. Its length, modification time and change time show whether
//! it was written to. For each file, and for all settings that code depends on, the folder `seen` of
//! the cache has a note with the hash of the file:
//!
//! ```text
//!   name of a note: hash of the settings, and of the device, inode and path of the file
//!   contents:       length | modified | changed | hash of the module | checksum
//! ```
//!
//! Clocks of file systems tick slowly. A second change within one tick does not show, so a file
//! that has just changed gets no note. Writes through a mapping do not all show either: the kernel
//! records the first to a page, and the next after that page was written back. A module must not be
//! changed like that while it is loaded. A note is written completely or not written. A note that is
//! damaged or cannot be read is ignored.

use std::fs::{self, DirBuilder, File, Metadata};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::engine::Engine;

/// The folder of the notes, in that of the cache.
const FOLDER: &str = "seen";

/// Reading and hashing a smaller file is faster than finding its note.
const WORTHWHILE: u64 = 256 << 10;

/// How old the last change of a file must be. The clocks of file systems are finer than this.
const SETTLED: Duration = Duration::from_secs(3);

/// Older notes are removed, so that those of removed files do not accumulate.
const OLD: Duration = Duration::from_secs(30 * 24 * 3600);

const LENGTH: usize = 3 * 8 + HASH + 8;
const HASH: usize = 32;

/// Identifies a file and its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    number: u64,
    length: u64,
    /// When its contents changed, in nanoseconds.
    modified: i64,
    /// When the file or its metadata changed. Programs cannot set this time.
    changed: i64,
}

/// A file before it is hashed.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    identity: FileIdentity,
    /// Whether a later change shows, by any clock of a file system.
    is_settled: bool,
}

impl Observation {
    /// Observes a file, if it is large enough for a note.
    pub fn of(file: &File) -> Option<Observation> {
        // The time before the metadata: it must not be later than a change that they miss.
        let now = SystemTime::now();
        let identity = FileIdentity::of(file)?;
        Some(Observation { is_settled: identity.is_settled(now), identity })
    }
}

impl FileIdentity {
    /// The identity of a file that is large enough for a note.
    fn of(file: &File) -> Option<FileIdentity> {
        let metadata = file.metadata().ok()?;
        let is_noted = metadata.is_file() && metadata.len() >= WORTHWHILE;
        is_noted.then(|| FileIdentity::new(&metadata))
    }

    fn new(metadata: &Metadata) -> FileIdentity {
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        FileIdentity {
            device: metadata.dev(),
            number: metadata.ino(),
            length: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether a change from now on gives the file other times.
    fn is_settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as i64);
        now.saturating_sub(self.modified.max(self.changed)) > SETTLED.as_nanos() as i64
    }
}

pub(super) struct HashNote {
    path: PathBuf,
    observed: Observation,
}

impl HashNote {
    /// The note of a file in a cache. It need not exist.
    pub fn new(cache: &Path, engine: &Engine, observed: Observation, name: &str) -> HashNote {
        let mut hasher = blake3::Hasher::new();
        let FileIdentity { device, number, .. } = observed.identity;
        hasher.update(&device.to_le_bytes()).update(&number.to_le_bytes());
        for part in [engine.settings_bytes(), name.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        let path = cache.join(FOLDER).join(hasher.finalize().to_hex().as_str());
        HashNote { path, observed }
    }

    /// The hash of the file, if it is unchanged since the note was written.
    pub fn read(&self) -> Option<blake3::Hash> {
        let bytes = fs::read(&self.path).ok()?;
        let hash: [u8; HASH] = bytes.get(LENGTH - HASH - 8..LENGTH - 8)?.try_into().ok()?;
        let hash = blake3::Hash::from(hash);
        (bytes == self.bytes(&hash)).then_some(hash)
    }

    /// Writes the hash of a file, if the file did not change while it was hashed. Skips a file that
    /// had just changed before, since another change would not show.
    pub fn write(&self, file: &File, hash: &blake3::Hash, write: impl FnOnce(&Path, &[u8])) {
        let is_same = FileIdentity::of(file).is_some_and(|after| after == self.observed.identity);
        if !is_same || !self.observed.is_settled {
            return;
        }
        let Some(folder) = self.path.parent() else { return };
        if !folder.is_dir() && DirBuilder::new().mode(0o700).create(folder).is_err() {
            return;
        }
        write(&self.path, &self.bytes(hash));
    }

    fn bytes(&self, hash: &blake3::Hash) -> Vec<u8> {
        let FileIdentity { length, modified, changed, .. } = &self.observed.identity;
        let mut bytes = Vec::with_capacity(LENGTH);
        for number in [*length, *modified as u64, *changed as u64] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(hash.as_bytes());
        let checksum = blake3::hash(&bytes);
        bytes.extend_from_slice(&checksum.as_bytes()[..8]);
        bytes
    }
}

pub(super) fn trim(cache: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(cache.join(FOLDER)) else { return };
    for entry in entries.flatten() {
        let made = entry.metadata().and_then(|metadata| metadata.modified());
        if made.is_ok_and(|made| now.duration_since(made).is_ok_and(|age| age > OLD)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> FileIdentity {
        FileIdentity { device: 1, number: 2, length: 3, modified: 4, changed: 5 }
    }

    fn note_of(path: &Path, identity: FileIdentity) -> HashNote {
        let observed = Observation { identity, is_settled: true };
        HashNote { path: path.to_path_buf(), observed }
    }

    /// It may have been changed while it was hashed, with the same times.
    #[test]
    fn a_file_that_changed_just_before_a_long_hashing_gets_no_note() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("module");
        fs::write(&path, vec![0; WORTHWHILE as usize]).unwrap();
        let file = File::open(&path).unwrap();
        let hash = blake3::hash(b"module");
        let observed = Observation::of(&file).unwrap();
        // As long as hashing may take.
        std::thread::sleep(SETTLED + Duration::from_millis(100));
        let note = HashNote { path: folder.path().join("note"), observed };
        note.write(&file, &hash, |_, _| panic!("a note was written"));
        let mut notes = 0;
        let observed = Observation::of(&file).unwrap();
        let note = HashNote { path: folder.path().join("note"), observed };
        note.write(&file, &hash, |_, _| notes += 1);
        assert_eq!(notes, 1);
    }

    #[test]
    fn a_file_that_has_just_changed_is_not_settled() {
        let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(seconds);
        let changed_at =
            |seconds: i64| FileIdentity { changed: seconds * 1_000_000_000, ..identity() };
        assert!(changed_at(100).is_settled(at(104)));
        assert!(!changed_at(100).is_settled(at(103)));
        // In the future, by a clock that is ahead.
        assert!(!changed_at(200).is_settled(at(104)));
        assert!(!FileIdentity { modified: i64::MAX, ..identity() }.is_settled(at(104)));
        assert!(!changed_at(100).is_settled(UNIX_EPOCH - Duration::from_secs(1)));
    }

    #[test]
    fn a_note_is_ignored_when_the_file_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note");
        let note = |identity| note_of(&path, identity);
        let hash = blake3::hash(b"module");
        assert_eq!(note(identity()).read(), None);
        fs::write(&path, note(identity()).bytes(&hash)).unwrap();
        assert_eq!(note(identity()).read(), Some(hash));
        for other in [
            FileIdentity { length: 4, ..identity() },
            FileIdentity { modified: 5, ..identity() },
            FileIdentity { changed: 6, ..identity() },
        ] {
            assert_eq!(note(other).read(), None);
        }
    }

    #[test]
    fn a_damaged_note_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note");
        let note = note_of(&path, identity());
        let bytes = note.bytes(&blake3::hash(b"module"));
        assert_eq!(bytes.len(), LENGTH);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            fs::write(&path, &damaged).unwrap();
            assert_eq!(note.read(), None, "byte {at}");
            fs::write(&path, &bytes[..at]).unwrap();
            assert_eq!(note.read(), None, "{at} bytes");
        }
        fs::write(&path, [&bytes[..], b"more"].concat()).unwrap();
        assert_eq!(note.read(), None);
    }
}
