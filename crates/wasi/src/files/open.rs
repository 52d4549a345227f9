//! Opens files and directories below a directory, for programs and when restoring a context.

use crate::abi::errno::Errno;
use crate::abi::{FdFlags, FileType, OFlags, Rights};
use crate::failure::{Failure, Result};
use crate::files::descriptor::{Descriptor, DescriptorKind, file_rights, filetype_of};
use crate::files::directory::Directory;
use crate::wait::Wait;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, FileTypeExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags as Host;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The interval for polling whether a named pipe has a reader. The host does not notify waiters.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How to open a path.
pub(crate) struct OpenRequest {
    pub(crate) follow: bool,
    pub(crate) oflags: OFlags,
    pub(crate) fdflags: FdFlags,
    pub(crate) rights: Rights,
}

impl OpenRequest {
    pub(crate) fn open(&self, parent: &Descriptor, path: &str) -> Result<Descriptor> {
        let directory = parent.directory(Rights::empty())?;
        self.check(parent)?;
        match self.open_file(parent, directory, path) {
            Ok(file) => Ok(self.descriptor(parent, path, file)),
            Err(error) if self.waits_for_reader(&error, directory, path) => {
                let until = Some(Instant::now() + POLL_INTERVAL);
                Err(Failure::Wait(Wait { sources: Vec::new(), until }))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the host's file. The caller must [check](Self::check) the request first. Opening a
    /// named pipe does not wait for the other end.
    pub(crate) fn open_file(
        &self,
        parent: &Descriptor,
        directory: &Directory,
        path: &str,
    ) -> std::io::Result<File> {
        let open = |flags| directory.dir.open_with(path, &self.options(parent, flags));
        let file = match open(self.host_flags() | Host::NONBLOCK) {
            // Another process has a lease on the file, which a blocking open breaks.
            Err(error) if error.kind() == ErrorKind::WouldBlock => open(self.host_flags())?,
            file => file?,
        };
        Ok(file.into_std())
    }

    /// Whether opening a named pipe failed for lack of a reader, for which the program waits.
    fn waits_for_reader(&self, error: &std::io::Error, directory: &Directory, path: &str) -> bool {
        let no_reader = error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error());
        no_reader && !self.fdflags.contains(FdFlags::NONBLOCK) && {
            let metadata = match self.follow {
                true => directory.dir.metadata(path),
                false => directory.dir.symlink_metadata(path),
            };
            metadata.is_ok_and(|metadata| metadata.file_type().is_fifo())
        }
    }

    /// The descriptor of an opened file.
    pub(crate) fn descriptor(&self, parent: &Descriptor, path: &str, file: File) -> Descriptor {
        let origin = parent.origin.as_ref().and_then(|origin| origin.below(path, self.follow));
        let filetype = filetype_of(&file);
        if filetype == FileType::Directory {
            let directory = Directory::new(Dir::from_std_file(file), None);
            return Descriptor {
                kind: DescriptorKind::Directory(directory),
                base: parent.inheriting.intersection(Rights::DIRECTORY),
                inheriting: parent.inheriting,
                flags: self.fdflags,
                origin,
            };
        }
        if filetype != FileType::RegularFile && !self.fdflags.contains(FdFlags::NONBLOCK) {
            // Blocking writes accept all bytes. If this fails, writes are shorter.
            let _ = rustix::io::ioctl_fionbio(&file, false);
        }
        let fd = Arc::new(OwnedFd::from(file));
        let base = self.granted(parent).intersection(file_rights(&fd, filetype));
        Descriptor {
            kind: DescriptorKind::File { fd, filetype },
            base,
            inheriting: Rights::empty(),
            flags: self.fdflags,
            origin,
        }
    }

    /// Fails unless the rights of the directory allow the request.
    pub(crate) fn check(&self, parent: &Descriptor) -> Result {
        let creating = OFlags::CREAT | OFlags::EXCL | OFlags::TRUNC;
        if self.oflags.contains(OFlags::DIRECTORY) && self.oflags.intersects(creating) {
            return Err(Errno::INVAL.into());
        }
        let mut needed = Rights::PATH_OPEN;
        needed.set(Rights::PATH_CREATE_FILE, self.oflags.contains(OFlags::CREAT));
        needed.set(Rights::PATH_FILESTAT_SET_SIZE, self.oflags.contains(OFlags::TRUNC));
        parent.require(needed)?;
        let data = self.rights.intersection(Rights::FD_READ | Rights::FD_WRITE);
        match parent.inheriting.contains(data) {
            true => Ok(()),
            false => Err(Errno::NOTCAPABLE.into()),
        }
    }

    /// The host's options. A file that is created or truncated must be opened for writing, even if
    /// the program does not write to it.
    fn options(&self, parent: &Descriptor, flags: Host) -> OpenOptions {
        let wanted = self.rights.intersection(parent.inheriting);
        let has = |flag| self.oflags.contains(flag);
        let write = wanted.intersects(Rights::WRITING) || has(OFlags::CREAT) || has(OFlags::TRUNC);
        let read = wanted.contains(Rights::FD_READ) || !write;
        let mut options = OpenOptions::new();
        options
            .read(read)
            .write(write)
            .create(has(OFlags::CREAT))
            .create_new(has(OFlags::CREAT) && has(OFlags::EXCL))
            .truncate(has(OFlags::TRUNC))
            .follow(if self.follow { FollowSymlinks::Yes } else { FollowSymlinks::No })
            .custom_flags(flags.bits() as i32);
        options
    }

    fn host_flags(&self) -> Host {
        let pairs = [
            (self.oflags.contains(OFlags::DIRECTORY), Host::DIRECTORY),
            (self.fdflags.contains(FdFlags::DSYNC), Host::DSYNC),
            (self.fdflags.contains(FdFlags::RSYNC), Host::RSYNC),
            (self.fdflags.contains(FdFlags::SYNC), Host::SYNC),
        ];
        pairs.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag).collect()
    }

    /// The rights of an opened file: reading and writing only if the program requested them, and
    /// all others that the directory allows. Many programs request fewer rights than they use,
    /// since most hosts check only these two.
    fn granted(&self, parent: &Descriptor) -> Rights {
        let wanted = self.rights.intersection(parent.inheriting);
        let mut granted = parent.inheriting;
        granted.set(Rights::FD_READ, wanted.contains(Rights::FD_READ));
        if !wanted.contains(Rights::FD_WRITE) {
            granted.remove(Rights::WRITING);
            granted.insert(wanted.intersection(Rights::WRITING));
        }
        granted
    }
}
