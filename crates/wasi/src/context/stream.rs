//! Standard streams and sockets, as a builder accepts them.

use crate::abi::{FdFlags, Rights};
use crate::files::descriptor::{Descriptor, DescriptorKind, file_rights, filetype_of};
use crate::files::pipe::{MemoryInputPipe, MemoryOutputPipe};
use crate::wait::Source;
use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

/// A standard stream: a pipe in memory, or a file or pipe of the host. The builder's methods
/// convert these with `into`.
///
/// ```
/// use ropewalk_wasi::{MemoryOutputPipe, Stream, WasiCtx};
/// use std::fs::File;
///
/// /// The output of a program: kept or discarded.
/// fn output(keep: Option<&MemoryOutputPipe>) -> std::io::Result<Stream> {
///     match keep {
///         Some(pipe) => Ok(pipe.clone().into()),
///         None => Ok(File::options().write(true).open("/dev/null")?.into()),
///     }
/// }
///
/// let (reader, writer) = std::io::pipe()?;
/// let ctx = WasiCtx::builder()
///     .stdin(File::open("/dev/null")?)
///     .stdout(output(None)?)
///     .stderr(std::os::fd::OwnedFd::from(writer))
///     .build();
/// # drop((ctx, reader));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// A program can read its input and write its outputs, but it cannot truncate the underlying file
/// or set its times. It can seek in a file, but not in an
/// [inherited](crate::WasiCtxBuilder::inherit_stdio) output.
pub struct Stream(Descriptor);

impl Stream {
    pub(crate) fn null() -> Stream {
        Stream(Descriptor::stream(DescriptorKind::Null, Rights::STREAM))
    }

    pub(crate) fn inherited(source: Source) -> Stream {
        let rights = file_rights(&source, filetype_of(&source));
        Stream(Descriptor::stream(DescriptorKind::Stdio(source), rights))
    }

    /// The descriptor of a standard input.
    pub(crate) fn into_input(mut self) -> Descriptor {
        self.0.base.remove(Rights::WRITING | Rights::FD_FILESTAT_SET_TIMES);
        self.0
    }

    /// The descriptor of a standard output, which only adds to the underlying file, since the file
    /// may be older than the program.
    pub(crate) fn into_output(mut self) -> Descriptor {
        self.0.base.remove(
            Rights::FD_READ
                | Rights::FD_ALLOCATE
                | Rights::FD_FILESTAT_SET_SIZE
                | Rights::FD_FILESTAT_SET_TIMES,
        );
        self.0
    }
}

impl From<MemoryInputPipe> for Stream {
    fn from(pipe: MemoryInputPipe) -> Stream {
        Stream(Descriptor::stream(DescriptorKind::Input(pipe), Rights::STREAM))
    }
}

impl From<MemoryOutputPipe> for Stream {
    fn from(pipe: MemoryOutputPipe) -> Stream {
        Stream(Descriptor::stream(DescriptorKind::Output(pipe), Rights::STREAM))
    }
}

impl From<OwnedFd> for Stream {
    fn from(fd: OwnedFd) -> Stream {
        let filetype = filetype_of(&fd);
        let rights = file_rights(&fd, filetype);
        Stream(Descriptor::stream(DescriptorKind::File { fd: Arc::new(fd), filetype }, rights))
    }
}

impl From<File> for Stream {
    fn from(file: File) -> Stream {
        OwnedFd::from(file).into()
    }
}

/// A socket for a program: a connection or a listener.
/// [`preopened_socket`](crate::WasiCtxBuilder::preopened_socket) converts sockets with `into`.
///
/// ```
/// use ropewalk_wasi::{Socket, WasiCtx};
/// use std::net::TcpListener;
/// use std::os::unix::net::UnixStream;
///
/// # fn main() -> ropewalk::Result<()> {
/// let (ours, theirs) = UnixStream::pair()?;
/// let sockets: [Socket; 2] = [TcpListener::bind("127.0.0.1:0")?.into(), theirs.into()];
/// let mut builder = WasiCtx::builder();
/// for socket in sockets {
///     builder.preopened_socket(socket)?;
/// }
/// let ctx = builder.build();
/// # drop((ctx, ours));
/// # Ok(())
/// # }
/// ```
pub struct Socket {
    fd: OwnedFd,
    listens: bool,
}

macro_rules! sockets {
    ($($ty:ty => $listens:literal),*) => {$(
        impl From<$ty> for Socket {
            fn from(socket: $ty) -> Socket {
                Socket { fd: socket.into(), listens: $listens }
            }
        }
    )*};
}

sockets!(TcpListener => true, UnixListener => true, TcpStream => false, UnixStream => false);

impl Socket {
    /// Makes the socket nonblocking, since all waiting happens in [`wait`](crate::wait).
    pub(crate) fn descriptor(self, flags: FdFlags) -> rustix::io::Result<Descriptor> {
        rustix::io::ioctl_fionbio(&self.fd, true)?;
        Ok(Socket::nonblocking(self.fd, self.listens, flags))
    }

    /// The descriptor of a nonblocking socket.
    pub(crate) fn nonblocking(fd: OwnedFd, listens: bool, flags: FdFlags) -> Descriptor {
        let fd = Arc::new(fd);
        let (kind, base, inheriting) = match listens {
            true => (DescriptorKind::Listener(fd), Rights::LISTENER, Rights::SOCKET),
            false => (DescriptorKind::Socket(fd), Rights::SOCKET, Rights::empty()),
        };
        Descriptor { kind, base, inheriting, flags, origin: None }
    }
}
