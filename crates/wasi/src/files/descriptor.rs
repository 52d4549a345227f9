//! Descriptors: open files, directories, streams and sockets.

use crate::abi::errno::Errno;
use crate::abi::{FdFlags, FileType, Filestat, Rights, timestamp};
use crate::failure::{Failure, Result};
use crate::files::directory::Directory;
use crate::files::origin::Origin;
use crate::files::pipe::{MemoryInputPipe, MemoryOutputPipe};
use crate::wait::{Interest, Source, Wait, readiness};
use rustix::fs::Stat;
use rustix::io::{ReadWriteFlags, pwritev2, retry_on_intr, writev};
use rustix::net::{RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags};
use smallvec::SmallVec;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// How many bytes a pipe accepts at least when it is ready. A longer write to a blocking pipe would
/// wait.
const PIPE_BUFFER: usize = 4096;

/// The offset that makes `pwritev2` use and advance the position of the file.
const CURRENT_POSITION: u64 = u64::MAX;

/// An open file, directory, stream or socket, with the rights of the program.
pub(crate) struct Descriptor {
    pub(crate) kind: DescriptorKind,
    pub(crate) base: Rights,
    /// The rights that files opened through this directory can have.
    pub(crate) inheriting: Rights,
    pub(crate) flags: FdFlags,
    /// How to open it again, if the context may be saved.
    pub(crate) origin: Option<Box<Origin>>,
}

/// The object behind a descriptor.
pub(crate) enum DescriptorKind {
    /// An empty input or a discarded output.
    Null,
    Input(MemoryInputPipe),
    Output(MemoryOutputPipe),
    /// A standard stream of the host. Its flags never change, since other processes share it.
    Stdio(Source),
    /// A file, or another object with a path that is not a directory.
    File {
        fd: Arc<OwnedFd>,
        filetype: FileType,
    },
    Directory(Directory),
    /// A connection.
    Socket(Arc<OwnedFd>),
    /// A listening socket.
    Listener(Arc<OwnedFd>),
}

impl Descriptor {
    /// A standard stream.
    pub(crate) fn stream(kind: DescriptorKind, base: Rights) -> Descriptor {
        let (inheriting, flags) = (Rights::empty(), FdFlags::empty());
        Descriptor { kind, base, inheriting, flags, origin: None }
    }

    /// Removes all rights except these.
    pub(crate) fn narrow(&mut self, base: Rights, inheriting: Rights) {
        self.base = self.base.intersection(base);
        self.inheriting = self.inheriting.intersection(inheriting);
    }

    /// Fails unless the descriptor has these rights: with `EBADF` for [data](Rights::DATA), as in
    /// POSIX, and with `ENOTCAPABLE` otherwise.
    pub(crate) fn require(&self, rights: Rights) -> Result {
        match self.base.contains(rights) {
            true => Ok(()),
            false if rights.intersects(Rights::DATA) => Err(Errno::BADF.into()),
            false => Err(Errno::NOTCAPABLE.into()),
        }
    }

    /// The directory, with these rights.
    pub(crate) fn directory(&self, rights: Rights) -> Result<&Directory> {
        let DescriptorKind::Directory(directory) = &self.kind else {
            return Err(Errno::NOTDIR.into());
        };
        self.require(rights)?;
        Ok(directory)
    }

    /// The name of a preopened directory.
    pub(crate) fn preopened_as(&self) -> Option<&str> {
        self.directory(Rights::empty()).ok()?.preopened_as.as_deref()
    }

    /// The host's descriptor; none for streams in memory.
    pub(crate) fn host(&self) -> Option<BorrowedFd<'_>> {
        match &self.kind {
            DescriptorKind::Null | DescriptorKind::Input(_) | DescriptorKind::Output(_) => None,
            DescriptorKind::Stdio(source) => Some(source.as_fd()),
            DescriptorKind::File { fd, .. }
            | DescriptorKind::Socket(fd)
            | DescriptorKind::Listener(fd) => Some(fd.as_fd()),
            DescriptorKind::Directory(directory) => Some(directory.dir.as_fd()),
        }
    }

    /// The source to wait for; none if the descriptor is always ready.
    pub(crate) fn source(&self) -> Option<Source> {
        match &self.kind {
            DescriptorKind::Null
            | DescriptorKind::Input(_)
            | DescriptorKind::Output(_)
            | DescriptorKind::Directory(_) => None,
            DescriptorKind::File { .. } if self.is_file() => None,
            DescriptorKind::Stdio(source) => Some(source.clone()),
            DescriptorKind::File { fd, .. }
            | DescriptorKind::Socket(fd)
            | DescriptorKind::Listener(fd) => Some(Source::Owned(fd.clone())),
        }
    }

    /// The file or standard stream of the host, with these rights.
    pub(crate) fn file(&self, rights: Rights) -> Result<BorrowedFd<'_>> {
        let file = match &self.kind {
            DescriptorKind::Directory(_) => return Err(Errno::BADF.into()),
            DescriptorKind::File { fd, .. } => fd.as_fd(),
            DescriptorKind::Stdio(source) => source.as_fd(),
            _ => return Err(Errno::SPIPE.into()),
        };
        self.require(rights)?;
        Ok(file)
    }

    /// A file with a position, with these rights. A standard output of the host has no position,
    /// since the program must not reach what others wrote to it.
    pub(crate) fn positioned(&self, rights: Rights) -> Result<BorrowedFd<'_>> {
        let file = self.file(Rights::empty())?;
        let is_output = matches!(self.kind, DescriptorKind::Stdio(Source::Stdout | Source::Stderr));
        if is_output || !has_position(file, self.filetype()) {
            return Err(Errno::SPIPE.into());
        }
        self.require(rights)?;
        Ok(file)
    }

    /// The socket, with these rights.
    pub(crate) fn socket(&self, rights: Rights) -> Result<&Arc<OwnedFd>> {
        let (DescriptorKind::Socket(fd) | DescriptorKind::Listener(fd)) = &self.kind else {
            return Err(Errno::NOTSOCK.into());
        };
        self.require(rights)?;
        Ok(fd)
    }

    pub(crate) fn filetype(&self) -> FileType {
        match &self.kind {
            DescriptorKind::Null | DescriptorKind::Input(_) | DescriptorKind::Output(_) => {
                FileType::Unknown
            }
            DescriptorKind::Stdio(source) => filetype_of(source),
            DescriptorKind::File { filetype, .. } => *filetype,
            DescriptorKind::Directory(_) => FileType::Directory,
            DescriptorKind::Socket(_) | DescriptorKind::Listener(_) => FileType::SocketStream,
        }
    }

    /// The metadata. Standard streams that are not files have little, since the times of a terminal
    /// would reveal the user's activity.
    pub(crate) fn filestat(&self) -> Result<Filestat> {
        let filetype = self.filetype();
        let stat = match self.host() {
            Some(fd) => Filestat { filetype, ..filestat(&rustix::fs::fstat(fd)?) },
            None => Filestat::only_type(filetype),
        };
        match &self.kind {
            DescriptorKind::Stdio(_) if filetype != FileType::RegularFile => {
                let Filestat { dev, ino, nlink, .. } = stat;
                Ok(Filestat { dev, ino, nlink, ..Filestat::only_type(filetype) })
            }
            _ => Ok(stat),
        }
    }

    /// Whether it is a regular file or block device, which are always ready.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.filetype(), FileType::RegularFile | FileType::BlockDevice)
    }

    /// Reads available bytes. Waits for some unless the descriptor is nonblocking.
    pub(crate) fn read(&self, buffers: &mut [IoSliceMut<'_>]) -> Result<usize> {
        match &self.kind {
            DescriptorKind::Null => Ok(0),
            DescriptorKind::Output(_) | DescriptorKind::Directory(_) => Err(Errno::BADF.into()),
            DescriptorKind::Input(pipe) => {
                Ok(buffers.iter_mut().map(|buffer| pipe.read(buffer)).sum())
            }
            DescriptorKind::Socket(_) => self.receive(buffers, RecvFlags::empty()),
            DescriptorKind::Listener(_) => Err(Errno::NOTCONN.into()),
            DescriptorKind::File { .. } | DescriptorKind::Stdio(_) => {
                let file = self.file(Rights::empty())?;
                self.ready(Interest::Read)?;
                let read = retry_on_intr(|| rustix::io::readv(file, buffers));
                read.map_err(|error| self.unless_blocking(error, Interest::Read))
            }
        }
    }

    /// Writes as many bytes as the destination accepts. Waits until it accepts some, unless the
    /// descriptor is nonblocking. Only a call that is not asynchronous blocks the thread.
    pub(crate) fn write(&self, buffers: &[IoSlice<'_>], is_async: bool) -> Result<usize> {
        match &self.kind {
            DescriptorKind::Null => Ok(buffers.iter().map(|buffer| buffer.len()).sum()),
            DescriptorKind::Input(_) | DescriptorKind::Directory(_) => Err(Errno::BADF.into()),
            DescriptorKind::Output(pipe) => Ok(pipe.write(buffers).ok_or(Errno::PIPE)?),
            DescriptorKind::Socket(_) => self.send(buffers),
            DescriptorKind::Listener(_) => Err(Errno::NOTCONN.into()),
            DescriptorKind::File { .. } | DescriptorKind::Stdio(_) => {
                self.write_file(buffers, is_async)
            }
        }
    }

    fn write_file(&self, buffers: &[IoSlice<'_>], is_async: bool) -> Result<usize> {
        let file = self.file(Rights::empty())?;
        let written = if self.is_blocking() && !is_async {
            self.write_now(file, buffers)
        } else {
            self.ready(Interest::Write)?;
            let max = if self.is_file() { usize::MAX } else { PIPE_BUFFER };
            self.write_now(file, &first_bytes(buffers, max))
        };
        written.map_err(|error| self.unless_blocking(error, Interest::Write))
    }

    /// Writes without waiting here. The host's files are not opened for appending, since positioned
    /// writes to them would append, too.
    fn write_now(&self, fd: impl AsFd, buffers: &[IoSlice<'_>]) -> rustix::io::Result<usize> {
        retry_on_intr(|| match self.flags.contains(FdFlags::APPEND) {
            true => pwritev2(&fd, buffers, CURRENT_POSITION, ReadWriteFlags::APPEND),
            false => writev(&fd, buffers),
        })
    }

    /// Receives bytes that have arrived at a socket.
    pub(crate) fn receive(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        flags: RecvFlags,
    ) -> Result<usize> {
        let socket = self.socket(Rights::empty())?;
        let mut ancillary = RecvAncillaryBuffer::default();
        let received =
            retry_on_intr(|| rustix::net::recvmsg(socket, buffers, &mut ancillary, flags));
        let received = received.map_err(|error| self.unless_blocking(error, Interest::Read))?;
        Ok(received.bytes)
    }

    pub(crate) fn send(&self, buffers: &[IoSlice<'_>]) -> Result<usize> {
        let socket = self.socket(Rights::empty())?;
        let mut ancillary = SendAncillaryBuffer::default();
        let flags = SendFlags::NOSIGNAL;
        let sent = retry_on_intr(|| rustix::net::sendmsg(socket, buffers, &mut ancillary, flags));
        sent.map_err(|error| self.unless_blocking(error, Interest::Write))
    }

    /// A failure of the host, which is a reason to wait if the descriptor blocks.
    pub(crate) fn unless_blocking(&self, error: rustix::io::Errno, interest: Interest) -> Failure {
        match (error, self.source()) {
            (rustix::io::Errno::AGAIN, Some(source)) if self.is_blocking() => {
                Failure::Wait(Wait::new(source, interest))
            }
            _ => error.into(),
        }
    }

    fn is_blocking(&self) -> bool {
        !self.flags.contains(FdFlags::NONBLOCK)
    }

    /// Fails unless the host can read or write without waiting.
    fn ready(&self, interest: Interest) -> Result {
        let Some(source) = self.source() else { return Ok(()) };
        let sources = [(source, interest)];
        if readiness(&sources)?[0].ready {
            return Ok(());
        }
        let [(source, interest)] = sources;
        match self.is_blocking() {
            true => Err(Failure::Wait(Wait::new(source, interest))),
            false => Err(Errno::AGAIN.into()),
        }
    }
}

/// Buffers, truncated to `max` bytes.
fn first_bytes<'a>(buffers: &'a [IoSlice<'_>], max: usize) -> SmallVec<[IoSlice<'a>; 4]> {
    let mut room = max;
    let cut = buffers.iter().map(|buffer| {
        let taken = &buffer[..buffer.len().min(room)];
        room -= taken.len();
        IoSlice::new(taken)
    });
    cut.collect()
}

/// The type of an open file.
pub(crate) fn filetype_of(fd: impl AsFd) -> FileType {
    let Ok(stat) = rustix::fs::fstat(fd) else { return FileType::Unknown };
    rustix::fs::FileType::from_raw_mode(stat.st_mode).into()
}

/// All rights of a file. Programs recognize a terminal by the lack of a position.
pub(crate) fn file_rights(fd: impl AsFd, filetype: FileType) -> Rights {
    match has_position(fd, filetype) {
        true => Rights::FILE,
        false => Rights::FILE.difference(Rights::FD_SEEK.union(Rights::FD_TELL)),
    }
}

fn has_position(fd: impl AsFd, filetype: FileType) -> bool {
    match filetype {
        FileType::RegularFile | FileType::BlockDevice => true,
        FileType::CharacterDevice => !rustix::termios::isatty(fd),
        _ => false,
    }
}

fn filestat(stat: &Stat) -> Filestat {
    Filestat {
        dev: stat.st_dev,
        ino: stat.st_ino,
        filetype: rustix::fs::FileType::from_raw_mode(stat.st_mode).into(),
        nlink: stat.st_nlink,
        size: stat.st_size.try_into().unwrap_or(0),
        atim: timestamp(stat.st_atime, stat.st_atime_nsec as i64),
        mtim: timestamp(stat.st_mtime, stat.st_mtime_nsec as i64),
        ctim: timestamp(stat.st_ctime, stat.st_ctime_nsec as i64),
    }
}
