//! Numbers, flags and layouts of the specification, and access to a program's memory.

pub(crate) mod errno;
pub(crate) mod guest_memory;

use errno::{Errno, Result};
use serde::{Deserialize, Serialize};

/// The version of WASI that a program uses. The versions differ in three layouts and one
/// enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// `wasi_unstable`
    Unstable,
    /// `wasi_snapshot_preview1`
    Preview1,
}

bitflags::bitflags! {
    /// The operations that a descriptor allows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Rights: u64 {
        const FD_DATASYNC = 1 << 0;
        const FD_READ = 1 << 1;
        const FD_SEEK = 1 << 2;
        const FD_FDSTAT_SET_FLAGS = 1 << 3;
        const FD_SYNC = 1 << 4;
        const FD_TELL = 1 << 5;
        const FD_WRITE = 1 << 6;
        const FD_ADVISE = 1 << 7;
        const FD_ALLOCATE = 1 << 8;
        const PATH_CREATE_DIRECTORY = 1 << 9;
        const PATH_CREATE_FILE = 1 << 10;
        const PATH_LINK_SOURCE = 1 << 11;
        const PATH_LINK_TARGET = 1 << 12;
        const PATH_OPEN = 1 << 13;
        const FD_READDIR = 1 << 14;
        const PATH_READLINK = 1 << 15;
        const PATH_RENAME_SOURCE = 1 << 16;
        const PATH_RENAME_TARGET = 1 << 17;
        const PATH_FILESTAT_GET = 1 << 18;
        const PATH_FILESTAT_SET_SIZE = 1 << 19;
        const PATH_FILESTAT_SET_TIMES = 1 << 20;
        const FD_FILESTAT_GET = 1 << 21;
        const FD_FILESTAT_SET_SIZE = 1 << 22;
        const FD_FILESTAT_SET_TIMES = 1 << 23;
        const PATH_SYMLINK = 1 << 24;
        const PATH_REMOVE_DIRECTORY = 1 << 25;
        const PATH_UNLINK_FILE = 1 << 26;
        const POLL_FD_READWRITE = 1 << 27;
        const SOCK_SHUTDOWN = 1 << 28;
        const SOCK_ACCEPT = 1 << 29;
    }

    /// Flags of a descriptor.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct FdFlags: u16 {
        const APPEND = 1;
        const DSYNC = 2;
        const NONBLOCK = 4;
        const RSYNC = 8;
        const SYNC = 16;
    }

    /// Flags for opening a path.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct OFlags: u16 {
        const CREAT = 1;
        const DIRECTORY = 2;
        const EXCL = 4;
        const TRUNC = 8;
    }

    /// Flags for resolving a path.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct LookupFlags: u32 {
        const SYMLINK_FOLLOW = 1;
    }

    /// Which times of a file are set.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct FstFlags: u16 {
        const ATIM = 1;
        const ATIM_NOW = 2;
        const MTIM = 4;
        const MTIM_NOW = 8;
    }

    /// Flags for receiving data.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct RiFlags: u16 {
        const PEEK = 1;
        const WAITALL = 2;
    }

    /// Which directions of a socket are shut down.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct SdFlags: u8 {
        const RD = 1;
        const WR = 2;
    }
}

impl Rights {
    /// The rights that require a file to be open for writing.
    pub(crate) const WRITING: Rights =
        Rights::FD_WRITE.union(Rights::FD_ALLOCATE).union(Rights::FD_FILESTAT_SET_SIZE);

    /// Rights whose lack means that the file was not opened for them, which is `EBADF`.
    pub(crate) const DATA: Rights = Rights::WRITING.union(Rights::FD_READ);

    /// All rights of a file.
    pub(crate) const FILE: Rights = Rights::WRITING
        .union(Rights::FD_READ)
        .union(Rights::FD_DATASYNC)
        .union(Rights::FD_SEEK)
        .union(Rights::FD_TELL)
        .union(Rights::FD_FDSTAT_SET_FLAGS)
        .union(Rights::FD_SYNC)
        .union(Rights::FD_ADVISE)
        .union(Rights::FD_FILESTAT_GET)
        .union(Rights::FD_FILESTAT_SET_TIMES)
        .union(Rights::POLL_FD_READWRITE);

    /// The rights to change the contents of a directory.
    pub(crate) const MUTATING: Rights = Rights::PATH_CREATE_DIRECTORY
        .union(Rights::PATH_CREATE_FILE)
        .union(Rights::PATH_LINK_SOURCE)
        .union(Rights::PATH_LINK_TARGET)
        .union(Rights::PATH_RENAME_SOURCE)
        .union(Rights::PATH_RENAME_TARGET)
        .union(Rights::PATH_FILESTAT_SET_TIMES)
        .union(Rights::FD_FILESTAT_SET_TIMES)
        .union(Rights::PATH_SYMLINK)
        .union(Rights::PATH_REMOVE_DIRECTORY)
        .union(Rights::PATH_UNLINK_FILE);

    /// All rights of a directory.
    pub(crate) const DIRECTORY: Rights = Rights::MUTATING
        .union(Rights::PATH_OPEN)
        .union(Rights::FD_READDIR)
        .union(Rights::PATH_READLINK)
        .union(Rights::PATH_FILESTAT_GET)
        .union(Rights::PATH_FILESTAT_SET_SIZE)
        .union(Rights::FD_FILESTAT_GET);

    /// All rights of a standard stream that is not a file.
    pub(crate) const STREAM: Rights = Rights::FD_READ
        .union(Rights::FD_WRITE)
        .union(Rights::FD_FDSTAT_SET_FLAGS)
        .union(Rights::FD_FILESTAT_GET)
        .union(Rights::POLL_FD_READWRITE);

    /// All rights of a connection.
    pub(crate) const SOCKET: Rights = Rights::STREAM.union(Rights::SOCK_SHUTDOWN);

    /// All rights of a listening socket.
    pub(crate) const LISTENER: Rights = Rights::FD_FDSTAT_SET_FLAGS
        .union(Rights::FD_FILESTAT_GET)
        .union(Rights::POLL_FD_READWRITE)
        .union(Rights::SOCK_ACCEPT);
}

/// The type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
#[allow(dead_code, reason = "the specification's")]
pub(crate) enum FileType {
    Unknown,
    BlockDevice,
    CharacterDevice,
    Directory,
    RegularFile,
    SocketDgram,
    SocketStream,
    SymbolicLink,
}

impl From<rustix::fs::FileType> for FileType {
    fn from(ty: rustix::fs::FileType) -> FileType {
        match ty {
            rustix::fs::FileType::RegularFile => FileType::RegularFile,
            rustix::fs::FileType::Directory => FileType::Directory,
            rustix::fs::FileType::Symlink => FileType::SymbolicLink,
            rustix::fs::FileType::Socket => FileType::SocketStream,
            rustix::fs::FileType::CharacterDevice => FileType::CharacterDevice,
            rustix::fs::FileType::BlockDevice => FileType::BlockDevice,
            // The specification has no type for pipes.
            rustix::fs::FileType::Fifo | rustix::fs::FileType::Unknown => FileType::Unknown,
        }
    }
}

/// Decodes flags; unknown bits are `EINVAL`.
pub(crate) fn flags<F: bitflags::Flags>(bits: u32) -> Result<F>
where
    F::Bits: TryFrom<u32>,
{
    let bits = F::Bits::try_from(bits).map_err(|_| Errno::INVAL)?;
    F::from_bits(bits).ok_or(Errno::INVAL)
}

/// Decodes rights. Unknown bits are ignored, since some programs set all bits.
pub(crate) fn rights(bits: i64) -> Rights {
    Rights::from_bits_truncate(bits as u64)
}

/// The record `fdstat`.
pub(crate) struct Fdstat {
    pub(crate) filetype: FileType,
    pub(crate) flags: FdFlags,
    pub(crate) base: Rights,
    pub(crate) inheriting: Rights,
}

impl Fdstat {
    pub(crate) const SIZE: usize = 24;

    pub(crate) fn encode(&self) -> [u8; Fdstat::SIZE] {
        let mut bytes = [0; Fdstat::SIZE];
        bytes[0] = self.filetype as u8;
        bytes[2..4].copy_from_slice(&self.flags.bits().to_le_bytes());
        bytes[8..16].copy_from_slice(&self.base.bits().to_le_bytes());
        bytes[16..24].copy_from_slice(&self.inheriting.bits().to_le_bytes());
        bytes
    }
}

/// The record `filestat`: 64 bytes, or 56 in the older version, which counts links in 32 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filestat {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) filetype: FileType,
    pub(crate) nlink: u64,
    pub(crate) size: u64,
    /// In nanoseconds since 1970, like the other times.
    pub(crate) atim: u64,
    pub(crate) mtim: u64,
    pub(crate) ctim: u64,
}

impl Filestat {
    /// A record with only the type.
    pub(crate) fn only_type(filetype: FileType) -> Filestat {
        let (dev, ino, nlink, size) = (0, 0, 0, 0);
        Filestat { dev, ino, filetype, nlink, size, atim: 0, mtim: 0, ctim: 0 }
    }

    pub(crate) fn size_in(version: Version) -> usize {
        match version {
            Version::Unstable => 56,
            Version::Preview1 => 64,
        }
    }

    pub(crate) fn encode(&self, version: Version) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend(self.dev.to_le_bytes());
        bytes.extend(self.ino.to_le_bytes());
        bytes.push(self.filetype as u8);
        match version {
            Version::Unstable => {
                bytes.extend([0; 3]);
                bytes.extend(u32::try_from(self.nlink).unwrap_or(u32::MAX).to_le_bytes());
            }
            Version::Preview1 => {
                bytes.extend([0; 7]);
                bytes.extend(self.nlink.to_le_bytes());
            }
        }
        for word in [self.size, self.atim, self.mtim, self.ctim] {
            bytes.extend(word.to_le_bytes());
        }
        bytes
    }
}

/// A time of a file system in nanoseconds since 1970. Times before 1970 or after 2554 are
/// clamped.
pub(crate) fn timestamp(seconds: i64, nanoseconds: i64) -> u64 {
    let time = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    time.clamp(0, u64::MAX.into()) as u64
}

/// The header of a directory entry, which precedes its name.
pub(crate) fn dirent(next: u64, ino: u64, name: usize, filetype: FileType) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[0..8].copy_from_slice(&next.to_le_bytes());
    bytes[8..16].copy_from_slice(&ino.to_le_bytes());
    // Names are shorter than 2³² bytes.
    bytes[16..20].copy_from_slice(&(name as u32).to_le_bytes());
    bytes[20] = filetype as u8;
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_have_the_sizes_of_the_specification() {
        let stat = Filestat {
            dev: 1,
            ino: 2,
            filetype: FileType::RegularFile,
            nlink: 3,
            size: 4,
            atim: 5,
            mtim: 6,
            ctim: 7,
        };
        for version in [Version::Unstable, Version::Preview1] {
            assert_eq!(stat.encode(version).len(), Filestat::size_in(version));
        }
        assert_eq!(stat.encode(Version::Unstable)[20], 3);
        assert_eq!(stat.encode(Version::Unstable)[24], 4);
        assert_eq!(stat.encode(Version::Preview1)[24], 3);
        assert_eq!(stat.encode(Version::Preview1)[32], 4);
    }

    #[test]
    fn times_out_of_range_are_clamped() {
        assert_eq!(timestamp(-1, 0), 0);
        assert_eq!(timestamp(1, 5), 1_000_000_005);
        assert_eq!(timestamp(i64::MAX, 0), u64::MAX);
    }
}
