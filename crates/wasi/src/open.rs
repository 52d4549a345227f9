//! Opening what is below a directory, for the program or when it is restored.

use crate::abi::{FdFlags, FileType, OFlags, Rights};
use crate::descriptor::{Descriptor, Kind, file_rights, filetype_of};
use crate::directory::Directory;
use crate::errno::{Errno, Result};
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// How a program wants to open something.
pub(crate) struct Request {
    pub(crate) follow: bool,
    pub(crate) oflags: OFlags,
    pub(crate) fdflags: FdFlags,
    pub(crate) rights: Rights,
}

impl Request {
    pub(crate) fn open(&self, parent: &Descriptor, path: &str) -> Result<Descriptor> {
        let directory = parent.directory()?;
        self.check(parent)?;
        let file = self.open_file(parent, directory, path)?;
        Ok(self.descriptor(parent, path, file))
    }

    /// Opens it for the host, which must not be done before it is checked.
    pub(crate) fn open_file(
        &self,
        parent: &Descriptor,
        directory: &Directory,
        path: &str,
    ) -> std::io::Result<File> {
        Ok(directory.dir.open_with(path, &self.options(parent))?.into_std())
    }

    /// The descriptor of what has been opened.
    pub(crate) fn descriptor(&self, parent: &Descriptor, path: &str, file: File) -> Descriptor {
        let origin = parent.origin.as_ref().and_then(|origin| origin.below(path, self.follow));
        let filetype = filetype_of(&file);
        if filetype == FileType::Directory {
            let directory = Directory::new(Dir::from_std_file(file), None);
            return Descriptor {
                kind: Kind::Directory(directory),
                base: parent.inheriting.intersection(Rights::DIRECTORY),
                inheriting: parent.inheriting,
                flags: self.fdflags,
                origin,
            };
        }
        let fd = Arc::new(OwnedFd::from(file));
        let base = self.granted(parent).intersection(file_rights(&fd, filetype));
        Descriptor {
            kind: Kind::File { fd, filetype },
            base,
            inheriting: Rights::empty(),
            flags: self.fdflags,
            origin,
        }
    }

    /// Fails unless the program may open this, in this directory.
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

    /// How the host opens it. What is created or cut off must be open for writing,
    /// even if the program is not going to.
    fn options(&self, parent: &Descriptor) -> OpenOptions {
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
            .custom_flags(self.host_flags().bits() as i32);
        options
    }

    fn host_flags(&self) -> rustix::fs::OFlags {
        use rustix::fs::OFlags as Host;
        let pairs = [
            (self.oflags.contains(OFlags::DIRECTORY), Host::DIRECTORY),
            (self.fdflags.contains(FdFlags::DSYNC), Host::DSYNC),
            (self.fdflags.contains(FdFlags::NONBLOCK), Host::NONBLOCK),
            (self.fdflags.contains(FdFlags::RSYNC), Host::RSYNC),
            (self.fdflags.contains(FdFlags::SYNC), Host::SYNC),
        ];
        pairs.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag).collect()
    }

    /// The rights that a file gets: to read and to write it if the program asked
    /// for it, and else all that the directory gives. A directory gets all of them.
    /// Programs that ask for less than they use are common, since most hosts look
    /// only at those two.
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
