//! Which files were seen before: an unchanged file need not be read and hashed again to find
//! what was compiled of it.
//!
//! A file is told by where it is (its device and its number there) and by what changes when
//! somebody writes to it (its length, and when it was changed, and its contents were). For each
//! file and all that code depends on there is a note in the folder `seen` of the cache, with the
//! hash that the file had:
//!
//! ```text
//!   name of a note: a hash of the settings, the device, the number and the name of the file
//!   contents:       length | contents changed | file changed | hash of the module | checksum
//! ```
//!
//! Clocks of file systems tick slowly. A file that was changed a moment ago can be changed again
//! without showing it, so there is no note of such a file until it is older. Nor does whoever has
//! a file mapped and writes there show each change: the kernel notes the first to a page, and the
//! next when that page has been written back. Modules are not made so; nobody may change one like
//! that while it is loaded. Notes are written as the modules are: whole or not at all. One that is
//! damaged, or that cannot be read, is none.

use std::fs::{self, DirBuilder, File, Metadata};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::engine::Engine;

/// The folder of the notes.
const FOLDER: &str = "seen";

/// Smaller files are read and hashed sooner than a note is found.
const WORTHWHILE: u64 = 256 << 10;

/// How old the last change of a file must be. No clock of a file system in use is as coarse.
const SETTLED: Duration = Duration::from_secs(3);

/// Notes are made anew when they are older than this, so that those of files that are gone go.
const OLD: Duration = Duration::from_secs(30 * 24 * 3600);

/// What a note says.
const LENGTH: usize = 3 * 8 + HASH + 8;
const HASH: usize = 32;

/// A file as it was when somebody looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    number: u64,
    length: u64,
    /// When its contents were changed, in nanoseconds.
    modified: i64,
    /// When anything of it was changed, which nobody can set.
    changed: i64,
}

/// A file that notes are made of, when somebody began to look.
#[derive(Clone, Debug)]
pub(super) struct Look {
    identity: Identity,
    /// Whether a change after the look shows, by any clock of a file system.
    is_settled: bool,
}

impl Look {
    /// Looks at a file, if notes are made of it.
    pub fn at(file: &File) -> Option<Look> {
        // Before the file is: it may be changed after this, and not after it was hashed.
        let now = SystemTime::now();
        let identity = Identity::of(file)?;
        Some(Look { is_settled: identity.is_settled(now), identity })
    }
}

impl Identity {
    /// That of a file that notes are made of.
    fn of(file: &File) -> Option<Identity> {
        let metadata = file.metadata().ok()?;
        let is_noted = metadata.is_file() && metadata.len() >= WORTHWHILE;
        is_noted.then(|| Identity::new(&metadata))
    }

    fn new(metadata: &Metadata) -> Identity {
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Identity {
            device: metadata.dev(),
            number: metadata.ino(),
            length: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether a change from now on, by whoever writes to the file, gives it other times.
    fn is_settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as i64);
        now.saturating_sub(self.modified.max(self.changed)) > SETTLED.as_nanos() as i64
    }
}

/// The note of a file.
pub(super) struct Note {
    path: PathBuf,
    look: Look,
}

impl Note {
    /// The note of a file, if it has one, in a cache.
    pub fn new(cache: &Path, engine: &Engine, look: Look, name: &str) -> Note {
        let mut hasher = blake3::Hasher::new();
        let Identity { device, number, .. } = look.identity;
        hasher.update(&device.to_le_bytes()).update(&number.to_le_bytes());
        for part in [engine.settings_bytes(), name.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        let path = cache.join(FOLDER).join(hasher.finalize().to_hex().as_str());
        Note { path, look }
    }

    /// The hash that the file has, if it is unchanged since the note was made.
    pub fn read(&self) -> Option<blake3::Hash> {
        let bytes = fs::read(&self.path).ok()?;
        let hash: [u8; HASH] = bytes.get(LENGTH - HASH - 8..LENGTH - 8)?.try_into().ok()?;
        let hash = blake3::Hash::from(hash);
        (bytes == self.bytes(&hash)).then_some(hash)
    }

    /// Notes the hash of a file, which was looked at before and after it was hashed, unless it
    /// was changed so lately then that it may have been changed again without showing it.
    pub fn write(&self, file: &File, hash: &blake3::Hash, write: impl FnOnce(&Path, &[u8])) {
        let is_same = Identity::of(file).is_some_and(|after| after == self.look.identity);
        if !is_same || !self.look.is_settled {
            return;
        }
        let Some(folder) = self.path.parent() else { return };
        if !folder.is_dir() && DirBuilder::new().mode(0o700).create(folder).is_err() {
            return;
        }
        write(&self.path, &self.bytes(hash));
    }

    fn bytes(&self, hash: &blake3::Hash) -> Vec<u8> {
        let Identity { length, modified, changed, .. } = &self.look.identity;
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

/// Removes notes that are old.
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

    fn identity() -> Identity {
        Identity { device: 1, number: 2, length: 3, modified: 4, changed: 5 }
    }

    fn note_of(path: &Path, identity: Identity) -> Note {
        Note { path: path.to_path_buf(), look: Look { identity, is_settled: true } }
    }

    /// It may have been changed while it was hashed, with the same times.
    #[test]
    fn a_file_that_was_changed_before_it_was_hashed_for_long_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("module");
        fs::write(&path, vec![0; WORTHWHILE as usize]).unwrap();
        let file = File::open(&path).unwrap();
        let hash = blake3::hash(b"module");
        let look = Look::at(&file).unwrap();
        // Hashing takes so long.
        std::thread::sleep(SETTLED + Duration::from_millis(100));
        let note = Note { path: folder.path().join("note"), look };
        note.write(&file, &hash, |_, _| panic!("a note was written"));
        let mut notes = 0;
        let note = Note { path: folder.path().join("note"), look: Look::at(&file).unwrap() };
        note.write(&file, &hash, |_, _| notes += 1);
        assert_eq!(notes, 1);
    }

    #[test]
    fn a_file_that_was_changed_a_moment_ago_is_not_trusted() {
        let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(seconds);
        let changed_at = |seconds: i64| Identity { changed: seconds * 1_000_000_000, ..identity() };
        assert!(changed_at(100).is_settled(at(104)));
        assert!(!changed_at(100).is_settled(at(103)));
        // In the future, by a clock that is ahead.
        assert!(!changed_at(200).is_settled(at(104)));
        assert!(!Identity { modified: i64::MAX, ..identity() }.is_settled(at(104)));
        assert!(!changed_at(100).is_settled(UNIX_EPOCH - Duration::from_secs(1)));
    }

    #[test]
    fn a_note_is_only_of_the_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note");
        let note = |identity| note_of(&path, identity);
        let hash = blake3::hash(b"module");
        assert_eq!(note(identity()).read(), None);
        fs::write(&path, note(identity()).bytes(&hash)).unwrap();
        assert_eq!(note(identity()).read(), Some(hash));
        for other in [
            Identity { length: 4, ..identity() },
            Identity { modified: 5, ..identity() },
            Identity { changed: 6, ..identity() },
        ] {
            assert_eq!(note(other).read(), None);
        }
    }

    #[test]
    fn a_damaged_note_is_none() {
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
