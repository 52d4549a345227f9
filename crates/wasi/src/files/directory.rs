//! Open directories and their listings.
//!
//! Files can be opened only through directories. `cap-std` resolves paths and never leaves the
//! directory, neither by `..` nor by links, even if links are created concurrently.

use crate::abi::{FileType, Filestat, timestamp};
use crate::failure::{Failure, Result};
use cap_std::fs::{Dir, FileTypeExt as _, Metadata, MetadataExt as _};
use rustix::fs::AtFlags;
use serde::{Deserialize, Serialize};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// An open directory.
pub(crate) struct Directory {
    /// Shared with the origins of files below it, which may outlive the descriptor.
    pub(crate) dir: Arc<Dir>,
    /// The name of a preopened directory.
    pub(crate) preopened_as: Option<String>,
    /// The entries at the time when the program began to list them.
    pub(crate) listing: Option<Vec<Entry>>,
}

/// An entry of a directory.
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

    /// The entries from an index on. The directory is read again when a program starts at index
    /// 0, so the indices of a listing stay valid. `partial` is the listing of earlier chunks of the
    /// same call.
    pub(crate) fn entries(
        &mut self,
        from: u64,
        partial: &mut Option<Box<Listing>>,
    ) -> Result<&[Entry]> {
        if from == 0 || self.listing.is_none() {
            let mut listing = match partial.take() {
                Some(listing) => listing,
                None => Box::new(Listing::new(self.dir.as_fd())?),
            };
            if !listing.read(self.dir.as_fd())? {
                *partial = Some(listing);
                return Err(Failure::Again);
            }
            self.listing = Some(listing.entries);
        }
        let listing = self.listing.as_deref().unwrap_or_default();
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(listing.len());
        Ok(&listing[from..])
    }
}

/// How many entries are read in a chunk.
const CHUNK: usize = 4096;

/// A listing that is being read. It begins with the directory and its parent.
pub(crate) struct Listing {
    rest: rustix::fs::Dir,
    entries: Vec<Entry>,
}

impl Listing {
    /// The parent has no inode number, since the program may have no access to it.
    fn new(fd: BorrowedFd<'_>) -> Result<Listing> {
        let own = rustix::fs::fstat(fd)?.st_ino;
        let filetype = FileType::Directory;
        let special = |name: &str, ino| Entry { name: name.into(), ino, filetype };
        let entries = vec![special(".", own), special("..", 0)];
        Ok(Listing { rest: rustix::fs::Dir::read_from(fd)?, entries })
    }

    /// Reads the next chunk; returns whether the listing is complete.
    fn read(&mut self, fd: BorrowedFd<'_>) -> Result<bool> {
        for _ in 0..CHUNK {
            let Some(entry) = self.rest.next() else { return Ok(true) };
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let filetype = match entry.file_type() {
                // Some file systems do not return types.
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

/// Converts the metadata of a path.
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
