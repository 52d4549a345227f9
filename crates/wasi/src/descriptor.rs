//! Descriptors: what the numbers of a program stand for.

use crate::abi::{FdFlags, FileType, Filestat, Rights, timestamp};
use crate::directory::Directory;
use crate::errno::{Errno, Failure, Result};
use crate::origin::Origin;
use crate::pipe::{MemoryInputPipe, MemoryOutputPipe};
use crate::wait::{Interest, Source, Wait, readiness};
use rustix::fs::Stat;
use rustix::io::{ReadWriteFlags, pwritev2, retry_on_intr, writev};
use rustix::net::{RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags};
use smallvec::SmallVec;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// How many bytes a pipe that is ready takes, at least. The host waits until it has
/// taken all that it is given.
const TAKEN_WHEN_READY: usize = 4096;

/// Instead of an offset: the position of the file, which is moved.
const AT_THE_POSITION: u64 = u64::MAX;

/// Something that is open, and what the program may do with it.
pub(crate) struct Descriptor {
    pub(crate) kind: Kind,
    pub(crate) base: Rights,
    /// The rights that things which are opened through it can have.
    pub(crate) inheriting: Rights,
    pub(crate) flags: FdFlags,
    /// How it can be found again, if that was asked for.
    pub(crate) origin: Option<Box<Origin>>,
}

/// What is open.
pub(crate) enum Kind {
    /// An input that has ended, or an output that nobody sees.
    Null,
    Input(MemoryInputPipe),
    Output(MemoryOutputPipe),
    /// A standard stream of the host's. Its flags are never changed: other
    /// processes have it too.
    Stdio(Source),
    /// A file, or something that was opened by its path and is not a directory.
    File {
        fd: Arc<OwnedFd>,
        filetype: FileType,
    },
    Directory(Directory),
    /// A connection.
    Socket(Arc<OwnedFd>),
    /// A socket that waits for connections.
    Listener(Arc<OwnedFd>),
}

impl Descriptor {
    /// A stream. It cannot be told from a terminal or a file by its rights if it
    /// is none.
    pub(crate) fn stream(kind: Kind, base: Rights) -> Descriptor {
        let (inheriting, flags) = (Rights::empty(), FdFlags::empty());
        Descriptor { kind, base, inheriting, flags, origin: None }
    }

    /// Takes rights away, and gives none.
    pub(crate) fn narrow(&mut self, base: Rights, inheriting: Rights) {
        self.base = self.base.intersection(base);
        self.inheriting = self.inheriting.intersection(inheriting);
    }

    /// Fails unless the program may do this.
    pub(crate) fn require(&self, rights: Rights) -> Result {
        match self.base.contains(rights) {
            true => Ok(()),
            false => Err(Errno::NOTCAPABLE.into()),
        }
    }

    /// Fails unless the program may read or write. A descriptor that was not
    /// opened for it is a bad one, as in POSIX.
    pub(crate) fn require_data(&self, rights: Rights) -> Result {
        match self.base.contains(rights) {
            true => Ok(()),
            false => Err(Errno::BADF.into()),
        }
    }

    pub(crate) fn directory(&self) -> Result<&Directory> {
        match &self.kind {
            Kind::Directory(directory) => Ok(directory),
            _ => Err(Errno::NOTDIR.into()),
        }
    }

    /// The name of a directory that was there when the program began.
    pub(crate) fn preopened_as(&self) -> Option<&str> {
        self.directory().ok()?.preopened_as.as_deref()
    }

    /// What the host knows it by. Nothing if it is in memory.
    pub(crate) fn host(&self) -> Option<BorrowedFd<'_>> {
        match &self.kind {
            Kind::Null | Kind::Input(_) | Kind::Output(_) => None,
            Kind::Stdio(source) => Some(source.as_fd()),
            Kind::File { fd, .. } | Kind::Socket(fd) | Kind::Listener(fd) => Some(fd.as_fd()),
            Kind::Directory(directory) => Some(directory.dir.as_fd()),
        }
    }

    /// What can be waited for. Nothing if it is always ready.
    pub(crate) fn source(&self) -> Option<Source> {
        match &self.kind {
            Kind::Null | Kind::Input(_) | Kind::Output(_) | Kind::Directory(_) => None,
            Kind::File { .. } if self.is_file() => None,
            Kind::Stdio(source) => Some(source.clone()),
            Kind::File { fd, .. } | Kind::Socket(fd) | Kind::Listener(fd) => {
                Some(Source::Owned(fd.clone()))
            }
        }
    }

    /// What the host may have in a file system, and not a directory, which is a bad descriptor
    /// here.
    pub(crate) fn file(&self) -> Result<BorrowedFd<'_>> {
        match &self.kind {
            Kind::Directory(_) => Err(Errno::BADF.into()),
            Kind::File { fd, .. } => Ok(fd.as_fd()),
            Kind::Stdio(source) => Ok(source.as_fd()),
            _ => Err(Errno::SPIPE.into()),
        }
    }

    /// The same, with a position. A standard output of the host's has none: what others have
    /// written there before is not the program's.
    pub(crate) fn positioned(&self) -> Result<BorrowedFd<'_>> {
        let file = self.file()?;
        let is_output = matches!(self.kind, Kind::Stdio(Source::Stdout | Source::Stderr));
        match !is_output && has_position(file, self.filetype()) {
            true => Ok(file),
            false => Err(Errno::SPIPE.into()),
        }
    }

    pub(crate) fn socket(&self) -> Result<&Arc<OwnedFd>> {
        match &self.kind {
            Kind::Socket(fd) | Kind::Listener(fd) => Ok(fd),
            _ => Err(Errno::NOTSOCK.into()),
        }
    }

    pub(crate) fn filetype(&self) -> FileType {
        match &self.kind {
            Kind::Null | Kind::Input(_) | Kind::Output(_) => FileType::Unknown,
            Kind::Stdio(source) => filetype_of(source),
            Kind::File { filetype, .. } => *filetype,
            Kind::Directory(_) => FileType::Directory,
            Kind::Socket(_) | Kind::Listener(_) => FileType::SocketStream,
        }
    }

    /// What is known of it. Of a stream that is no file, and of a pipe in memory,
    /// that is next to nothing: when somebody wrote to a terminal is not the
    /// program's business.
    pub(crate) fn filestat(&self) -> Result<Filestat> {
        let filetype = self.filetype();
        let stat = match self.host() {
            Some(fd) => Filestat { filetype, ..filestat(&rustix::fs::fstat(fd)?) },
            None => Filestat::nothing(filetype),
        };
        match &self.kind {
            Kind::Stdio(_) if filetype != FileType::RegularFile => {
                let Filestat { dev, ino, nlink, .. } = stat;
                Ok(Filestat { dev, ino, nlink, ..Filestat::nothing(filetype) })
            }
            _ => Ok(stat),
        }
    }

    /// Whether it always is ready, as files are.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.filetype(), FileType::RegularFile | FileType::BlockDevice)
    }

    /// Reads what there is. Waits if there is nothing yet, and the program did not
    /// ask not to.
    pub(crate) fn read(&self, buffers: &mut [IoSliceMut<'_>]) -> Result<usize> {
        match &self.kind {
            Kind::Null => Ok(0),
            Kind::Output(_) | Kind::Directory(_) => Err(Errno::BADF.into()),
            Kind::Input(pipe) => Ok(buffers.iter_mut().map(|buffer| pipe.read(buffer)).sum()),
            Kind::Socket(_) => self.receive(buffers, RecvFlags::empty()),
            Kind::Listener(_) => Err(Errno::NOTCONN.into()),
            Kind::File { fd, .. } => {
                self.ready(Interest::Read)?;
                let read = retry_on_intr(|| rustix::io::readv(fd, buffers));
                read.map_err(|error| self.unless_blocking(error, Interest::Read))
            }
            Kind::Stdio(source) => {
                self.ready(Interest::Read)?;
                let read = retry_on_intr(|| rustix::io::readv(source, buffers));
                read.map_err(|error| self.unless_blocking(error, Interest::Read))
            }
        }
    }

    /// Writes as much as it takes. The thread waits if it takes nothing yet, unless the
    /// call is polled or the program asked that it does not.
    pub(crate) fn write(&self, buffers: &[IoSlice<'_>], is_polled: bool) -> Result<usize> {
        match &self.kind {
            Kind::Null => Ok(buffers.iter().map(|buffer| buffer.len()).sum()),
            Kind::Input(_) | Kind::Directory(_) => Err(Errno::BADF.into()),
            Kind::Output(pipe) => Ok(pipe.write(buffers).ok_or(Errno::PIPE)?),
            Kind::Socket(_) => self.send(buffers),
            Kind::Listener(_) => Err(Errno::NOTCONN.into()),
            Kind::File { fd, .. } => self.write_to(fd, buffers, is_polled),
            Kind::Stdio(source) => self.write_to(source, buffers, is_polled),
        }
    }

    fn write_to(&self, fd: impl AsFd, buffers: &[IoSlice<'_>], is_polled: bool) -> Result<usize> {
        let written = if self.is_blocking() && !is_polled {
            self.write_now(fd, buffers)
        } else {
            self.ready(Interest::Write)?;
            let most = if self.is_file() { usize::MAX } else { TAKEN_WHEN_READY };
            self.write_now(fd, &first_bytes(buffers, most))
        };
        written.map_err(|error| self.unless_blocking(error, Interest::Write))
    }

    /// The host does not know which files append: with an offset they do not, which
    /// its own would.
    fn write_now(&self, fd: impl AsFd, buffers: &[IoSlice<'_>]) -> rustix::io::Result<usize> {
        retry_on_intr(|| match self.flags.contains(FdFlags::APPEND) {
            true => pwritev2(&fd, buffers, AT_THE_POSITION, ReadWriteFlags::APPEND),
            false => writev(&fd, buffers),
        })
    }

    /// Receives what has arrived at a socket, which the host does not wait at.
    pub(crate) fn receive(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        flags: RecvFlags,
    ) -> Result<usize> {
        let socket = self.socket()?;
        let mut ancillary = RecvAncillaryBuffer::default();
        let received =
            retry_on_intr(|| rustix::net::recvmsg(socket, buffers, &mut ancillary, flags));
        let received = received.map_err(|error| self.unless_blocking(error, Interest::Read))?;
        Ok(received.bytes)
    }

    pub(crate) fn send(&self, buffers: &[IoSlice<'_>]) -> Result<usize> {
        let socket = self.socket()?;
        let mut ancillary = SendAncillaryBuffer::default();
        let flags = SendFlags::NOSIGNAL;
        let sent = retry_on_intr(|| rustix::net::sendmsg(socket, buffers, &mut ancillary, flags));
        sent.map_err(|error| self.unless_blocking(error, Interest::Write))
    }

    /// An error of the host, or a reason to wait.
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

    /// Fails unless the host would not wait at it.
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

/// Buffers, or what they begin with.
fn first_bytes<'a>(buffers: &'a [IoSlice<'_>], most: usize) -> SmallVec<[IoSlice<'a>; 4]> {
    let mut room = most;
    let cut = buffers.iter().map(|buffer| {
        let taken = &buffer[..buffer.len().min(room)];
        room -= taken.len();
        IoSlice::new(taken)
    });
    cut.collect()
}

/// What an open file of the host is.
pub(crate) fn filetype_of(fd: impl AsFd) -> FileType {
    let Ok(stat) = rustix::fs::fstat(fd) else { return FileType::Unknown };
    rustix::fs::FileType::from_raw_mode(stat.st_mode).into()
}

/// What a file's descriptor can have. A terminal has no position, by which
/// programs recognise it.
pub(crate) fn file_rights(fd: impl AsFd, filetype: FileType) -> Rights {
    match has_position(fd, filetype) {
        true => Rights::FILE,
        false => Rights::FILE.difference(Rights::FD_SEEK.union(Rights::FD_TELL)),
    }
}

/// Whether one can seek in a file.
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
