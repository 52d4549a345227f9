//! Directories: the only way to files.
//!
//! Paths are resolved by `cap-std`, which never leaves the directory that it begins
//! in: neither by `..`, nor by a link, nor by one that is put there meanwhile.

use crate::abi::{FileType, Filestat, timestamp};
use crate::errno::{Failure, Result};
use cap_std::fs::{Dir, FileTypeExt as _, Metadata, MetadataExt as _};
use rustix::fs::AtFlags;
use serde::{Deserialize, Serialize};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// A directory that is open.
pub(crate) struct Directory {
    /// Shared with what is opened below it, which may outlast it, if that must be found again.
    pub(crate) dir: Arc<Dir>,
    /// The name under which the program found it, if it did not open it itself.
    pub(crate) preopened_as: Option<String>,
    /// What is in it, as it was when the program began to list it.
    pub(crate) listing: Option<Vec<Entry>>,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) ino: u64,
    pub(crate) filetype: FileType,
}

impl Directory {
    pub(crate) fn new(dir: Dir, preopened_as: Option<String>) -> Directory {
        Directory { dir: Arc::new(dir), preopened_as, listing: None }
    }

    /// What is in it, from an entry on. It is read anew when a program begins at
    /// the first; until then every number means the same entry. `begun` is what has been read
    /// in earlier pieces of the same call.
    pub(crate) fn entries(
        &mut self,
        from: u64,
        begun: &mut Option<Box<Listing>>,
    ) -> Result<&[Entry]> {
        if from == 0 || self.listing.is_none() {
            let mut listing = match begun.take() {
                Some(listing) => listing,
                None => Box::new(Listing::new(self.dir.as_fd())?),
            };
            if !listing.read(self.dir.as_fd())? {
                *begun = Some(listing);
                return Err(Failure::Again);
            }
            self.listing = Some(listing.entries);
        }
        let listing = self.listing.as_deref().unwrap_or_default();
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(listing.len());
        Ok(&listing[from..])
    }
}

/// How many entries of a directory are read at once.
const ENTRIES_AT_ONCE: usize = 4096;

/// The entries of a directory that have been read, with itself and its parent first.
pub(crate) struct Listing {
    rest: rustix::fs::Dir,
    entries: Vec<Entry>,
}

impl Listing {
    /// The parent may be outside of what the program sees, so it has no number.
    fn new(fd: BorrowedFd<'_>) -> Result<Listing> {
        let own = rustix::fs::fstat(fd)?.st_ino;
        let filetype = FileType::Directory;
        let special = |name: &str, ino| Entry { name: name.into(), ino, filetype };
        let entries = vec![special(".", own), special("..", 0)];
        Ok(Listing { rest: rustix::fs::Dir::read_from(fd)?, entries })
    }

    /// Reads the next entries; returns whether that was all.
    fn read(&mut self, fd: BorrowedFd<'_>) -> Result<bool> {
        for _ in 0..ENTRIES_AT_ONCE {
            let Some(entry) = self.rest.next() else { return Ok(true) };
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let filetype = match entry.file_type() {
                // Some file systems do not say.
                rustix::fs::FileType::Unknown => {
                    rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW)
                        .map(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).into())
                        .unwrap_or(FileType::Unknown)
                }
                filetype => filetype.into(),
            };
            let name = name.to_bytes().to_vec();
            self.entries.push(Entry { name, ino: entry.ino(), filetype });
        }
        Ok(false)
    }
}

/// What is known of a path.
pub(crate) fn filestat(metadata: &Metadata) -> Filestat {
    Filestat {
        dev: metadata.dev(),
        ino: metadata.ino(),
        filetype: filetype(metadata.file_type()),
        nlink: metadata.nlink(),
        size: metadata.len(),
        atim: timestamp(metadata.atime(), metadata.atime_nsec()),
        mtim: timestamp(metadata.mtime(), metadata.mtime_nsec()),
        ctim: timestamp(metadata.ctime(), metadata.ctime_nsec()),
    }
}

fn filetype(ty: cap_std::fs::FileType) -> FileType {
    match ty {
        _ if ty.is_file() => FileType::RegularFile,
        _ if ty.is_dir() => FileType::Directory,
        _ if ty.is_symlink() => FileType::SymbolicLink,
        _ if ty.is_char_device() => FileType::CharacterDevice,
        _ if ty.is_block_device() => FileType::BlockDevice,
        _ if ty.is_socket() => FileType::SocketStream,
        _ => FileType::Unknown,
    }
}
