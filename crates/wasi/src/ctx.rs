//! What a program gets to see of its host.

use crate::abi::{FdFlags, Rights};
use crate::clock::{Clock, Clocks, MonotonicClock, WallClock};
use crate::descriptor::{Descriptor, Kind, file_rights, filetype_of};
use crate::directory::{Directory, Listing};
use crate::guest::Buffers;
use crate::origin::{Origin, Preopen, Role};
use crate::pipe::{MemoryInputPipe, MemoryOutputPipe};
use crate::table::Table;
use crate::tape::{Player, Recorder, Tape};
use crate::wait::Source;
use cap_std::fs::Dir;
use ropewalk::{Instance, Memory, Result};
use std::fs::File;
use std::io::{Error as IoError, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A program's arguments, environment, clocks and open files. It is part of a
/// store's data; [`add_to_linker`](crate::add_to_linker) says where.
pub struct WasiCtx {
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) environment: Vec<Vec<u8>>,
    pub(crate) clocks: Clocks,
    /// Nothing for the host's.
    pub(crate) random: Option<Random>,
    pub(crate) table: Table,
    pub(crate) end_on_broken_pipe: bool,
    /// The names of the directories that the program found, if it may be saved.
    pub(crate) preopens: Option<Vec<String>>,
    /// Of the function that is being called.
    pub(crate) progress: Progress,
    pub(crate) tape: Tape,
    /// The memory of the instance that called last.
    pub(crate) memory: Option<(Instance, Memory)>,
}

/// How far a function has come that is called again: after it waited, or for the next piece of
/// its work.
#[derive(Default)]
pub(crate) struct Progress {
    /// Whether the thread is not to be blocked.
    pub(crate) is_polled: bool,
    /// Whether others have had a turn.
    pub(crate) yielded: bool,
    /// When the host's clock and those of the program were read first.
    pub(crate) began: Option<Began>,
    /// How many bytes have been read, written or made.
    pub(crate) done: usize,
    /// The buffers of a function that works piece by piece. What it reads may overwrite the
    /// array that they were read from.
    pub(crate) buffers: Option<Box<Buffers>>,
    /// The directory that is being listed.
    pub(crate) listing: Option<Box<Listing>>,
}

/// A moment, by three clocks.
#[derive(Clone, Copy)]
pub(crate) struct Began {
    pub(crate) host: Instant,
    pub(crate) wall: Duration,
    pub(crate) monotonic: Duration,
}

pub(crate) type Random = Box<dyn FnMut(&mut [u8]) + Send>;

impl std::fmt::Debug for WasiCtx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WasiCtx").finish_non_exhaustive()
    }
}

impl WasiCtx {
    /// To say what a program gets to see. It is nothing if nothing is said.
    pub fn builder() -> WasiCtxBuilder {
        WasiCtxBuilder::new()
    }

    /// Whether the context [replays](WasiCtxBuilder::replay) a recording, and the program has
    /// got all that is in it: its next call would end it.
    pub fn has_replayed_all(&mut self) -> bool {
        match &mut self.tape {
            Tape::Replays(player) => player.is_at_end(),
            Tape::None | Tape::Records(_) => false,
        }
    }

    /// Ends a [recording](WasiCtxBuilder::record), if there is one: writes what was kept back.
    /// Fails if something could not be written, now or before. The recording then ends before
    /// that, and can be replayed up to there.
    pub fn finish_recording(&mut self) -> Result<()> {
        match std::mem::take(&mut self.tape) {
            Tape::Records(recorder) => Ok(recorder.finish()?),
            tape => {
                self.tape = tape;
                Ok(())
            }
        }
    }
}

bitflags::bitflags! {
    /// What a program may do with a directory itself.
    ///
    /// ```
    /// use ropewalk_wasi::{DirPerms, FilePerms, WasiCtx};
    ///
    /// # fn main() -> ropewalk::Result<()> {
    /// let (read, all) = (DirPerms::READ, DirPerms::all());
    /// let mut builder = WasiCtx::builder();
    /// // It finds what is in the first, and reads it.
    /// builder.preopened_dir("src", "/src", read, FilePerms::READ)?;
    /// # let scratch = std::env::temp_dir();
    /// // It makes, changes and removes what it likes in the second.
    /// builder.preopened_dir(scratch, "/scratch", all, FilePerms::all())?;
    /// let ctx = builder.build();
    /// # drop(ctx);
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DirPerms: u8 {
        /// List it and look up what is in it.
        const READ = 1;
        /// Create, rename and remove what is in it.
        const MUTATE = 2;
    }

    /// What a program may do with the files in a directory. [`DirPerms`] has an example.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FilePerms: u8 {
        /// Read them.
        const READ = 1;
        /// Write them.
        const WRITE = 2;
    }
}

/// What a program is to get to see of its host.
///
/// ```
/// use ropewalk_wasi::{DirPerms, FilePerms, MemoryOutputPipe, WasiCtx};
///
/// # fn main() -> ropewalk::Result<()> {
/// let stdout = MemoryOutputPipe::new(1 << 20);
/// let ctx = WasiCtx::builder()
///     .args(&["program", "--verbose"])
///     .env("LANG", "C")
///     .stdout(stdout.clone())
///     .preopened_dir(".", "/", DirPerms::READ, FilePerms::READ)?
///     .build();
/// # drop(ctx);
/// # Ok(())
/// # }
/// ```
pub struct WasiCtxBuilder {
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) environment: Vec<Vec<u8>>,
    stdin: Stream,
    stdout: Stream,
    stderr: Stream,
    pub(crate) directories: Vec<Descriptor>,
    sockets: Vec<Descriptor>,
    wall: Option<Box<dyn Clock>>,
    monotonic: Option<Box<dyn Clock>>,
    random: Option<Random>,
    end_on_broken_pipe: bool,
    saveable: bool,
    most_descriptors: Option<usize>,
    pub(crate) tape: Tape,
}

/// A standard stream: a pipe in memory, or a file of the host's, which may be a
/// pipe too. It is made of these by `into`, which the methods of the builder do.
///
/// ```
/// use ropewalk_wasi::{MemoryOutputPipe, Stream, WasiCtx};
/// use std::fs::File;
///
/// /// Where a program writes to.
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
/// A program reads an input and writes an output, and cannot cut off the file behind it or set
/// its times. It can seek in a file that it is handed, but not in an output that is
/// [inherited](WasiCtxBuilder::inherit_stdio).
pub struct Stream(Descriptor);

impl Stream {
    fn null() -> Stream {
        Stream(Descriptor::stream(Kind::Null, Rights::STREAM))
    }

    fn inherited(source: Source) -> Stream {
        let rights = file_rights(&source, filetype_of(&source));
        Stream(Descriptor::stream(Kind::Stdio(source), rights))
    }

    fn for_reading(mut self) -> Stream {
        self.0.base.remove(Rights::WRITING | Rights::FD_FILESTAT_SET_TIMES);
        self
    }

    /// What is behind it is written to, and otherwise left as it is: it may have been there
    /// before the program, as a log has.
    fn for_writing(mut self) -> Stream {
        self.0.base.remove(
            Rights::FD_READ
                | Rights::FD_ALLOCATE
                | Rights::FD_FILESTAT_SET_SIZE
                | Rights::FD_FILESTAT_SET_TIMES,
        );
        self
    }
}

impl From<MemoryInputPipe> for Stream {
    fn from(pipe: MemoryInputPipe) -> Stream {
        Stream(Descriptor::stream(Kind::Input(pipe), Rights::STREAM))
    }
}

impl From<MemoryOutputPipe> for Stream {
    fn from(pipe: MemoryOutputPipe) -> Stream {
        Stream(Descriptor::stream(Kind::Output(pipe), Rights::STREAM))
    }
}

impl From<OwnedFd> for Stream {
    fn from(fd: OwnedFd) -> Stream {
        let filetype = filetype_of(&fd);
        let rights = file_rights(&fd, filetype);
        Stream(Descriptor::stream(Kind::File { fd: Arc::new(fd), filetype }, rights))
    }
}

impl From<File> for Stream {
    fn from(file: File) -> Stream {
        OwnedFd::from(file).into()
    }
}

/// A socket that a program is handed: a connection, or one that waits for
/// connections. It is made by `into`, which
/// [`preopened_socket`](WasiCtxBuilder::preopened_socket) does.
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
    /// The host does not wait at it: that is done [in one place](crate::wait).
    pub(crate) fn descriptor(self, flags: FdFlags) -> rustix::io::Result<Descriptor> {
        rustix::io::ioctl_fionbio(&self.fd, true)?;
        Ok(Socket::waiting_elsewhere(self.fd, self.listens, flags))
    }

    /// The descriptor of a socket that the host does not wait at.
    pub(crate) fn waiting_elsewhere(fd: OwnedFd, listens: bool, flags: FdFlags) -> Descriptor {
        let fd = Arc::new(fd);
        let (kind, base, inheriting) = match listens {
            true => (Kind::Listener(fd), Rights::LISTENER, Rights::SOCKET),
            false => (Kind::Socket(fd), Rights::SOCKET, Rights::empty()),
        };
        Descriptor { kind, base, inheriting, flags, origin: None }
    }
}

impl Default for WasiCtxBuilder {
    fn default() -> Self {
        WasiCtxBuilder::new()
    }
}

impl std::fmt::Debug for WasiCtxBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WasiCtxBuilder").finish_non_exhaustive()
    }
}

impl WasiCtxBuilder {
    /// Nothing: no arguments, no environment, no files. The standard input has
    /// ended, and nobody sees the standard output.
    pub fn new() -> WasiCtxBuilder {
        WasiCtxBuilder {
            args: Vec::new(),
            environment: Vec::new(),
            stdin: Stream::null(),
            stdout: Stream::null(),
            stderr: Stream::null(),
            directories: Vec::new(),
            sockets: Vec::new(),
            wall: None,
            monotonic: None,
            random: None,
            end_on_broken_pipe: false,
            saveable: false,
            most_descriptors: None,
            tape: Tape::None,
        }
    }

    /// Adds an argument. The first is the name of the program.
    pub fn arg(&mut self, argument: impl AsRef<[u8]>) -> &mut WasiCtxBuilder {
        self.args.push(argument.as_ref().to_vec());
        self
    }

    /// Adds arguments.
    pub fn args(&mut self, arguments: &[impl AsRef<[u8]>]) -> &mut WasiCtxBuilder {
        arguments.iter().fold(self, |builder, argument| builder.arg(argument))
    }

    /// Adds the arguments of the host's process, its name among them.
    pub fn inherit_args(&mut self) -> &mut WasiCtxBuilder {
        std::env::args_os().fold(self, |builder, argument| builder.arg(argument.as_bytes()))
    }

    /// Sets a variable of the environment.
    pub fn env(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> &mut WasiCtxBuilder {
        let assignment = [name.as_ref(), b"=", value.as_ref()].concat();
        let prefix = name.as_ref().len() + 1;
        self.environment.retain(|other| !other.starts_with(&assignment[..prefix]));
        self.environment.push(assignment);
        self
    }

    /// Sets variables of the environment.
    pub fn envs(
        &mut self,
        variables: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)],
    ) -> &mut WasiCtxBuilder {
        variables.iter().fold(self, |builder, (name, value)| builder.env(name, value))
    }

    /// Sets all variables that the host's process has.
    pub fn inherit_env(&mut self) -> &mut WasiCtxBuilder {
        std::env::vars_os()
            .fold(self, |builder, (name, value)| builder.env(name.as_bytes(), value.as_bytes()))
    }

    /// The standard input: a [`MemoryInputPipe`], or a file of the host's.
    pub fn stdin(&mut self, stream: impl Into<Stream>) -> &mut WasiCtxBuilder {
        self.stdin = stream.into();
        self
    }

    /// The standard output: a [`MemoryOutputPipe`], or a file of the host's.
    pub fn stdout(&mut self, stream: impl Into<Stream>) -> &mut WasiCtxBuilder {
        self.stdout = stream.into();
        self
    }

    /// The standard error: a [`MemoryOutputPipe`], or a file of the host's.
    pub fn stderr(&mut self, stream: impl Into<Stream>) -> &mut WasiCtxBuilder {
        self.stderr = stream.into();
        self
    }

    /// The standard input of the host's process.
    pub fn inherit_stdin(&mut self) -> &mut WasiCtxBuilder {
        self.stdin = Stream::inherited(Source::Stdin);
        self
    }

    /// The standard output of the host's process.
    pub fn inherit_stdout(&mut self) -> &mut WasiCtxBuilder {
        self.stdout = Stream::inherited(Source::Stdout);
        self
    }

    /// The standard error of the host's process.
    pub fn inherit_stderr(&mut self) -> &mut WasiCtxBuilder {
        self.stderr = Stream::inherited(Source::Stderr);
        self
    }

    /// All three standard streams of the host's process.
    pub fn inherit_stdio(&mut self) -> &mut WasiCtxBuilder {
        self.inherit_stdin().inherit_stdout().inherit_stderr()
    }

    /// Ends the program with [`BrokenPipe`](crate::BrokenPipe) when it writes to an
    /// inherited standard stream that nobody reads any more, as `SIGPIPE` ends a
    /// program of the host. Otherwise the program gets `EPIPE`.
    pub fn end_on_broken_pipe(&mut self, enable: bool) -> &mut WasiCtxBuilder {
        self.end_on_broken_pipe = enable;
        self
    }

    /// Lets the program use a directory of the host's, with all that is in it,
    /// under a name of its own. Directories get the descriptors from 3 on, in
    /// order.
    ///
    /// Nothing outside of it can be reached through it. The permissions hold for
    /// all directories and files in it.
    pub fn preopened_dir(
        &mut self,
        host_path: impl AsRef<Path>,
        guest_path: impl AsRef<str>,
        dir_perms: DirPerms,
        file_perms: FilePerms,
    ) -> Result<&mut WasiCtxBuilder> {
        let path = host_path.as_ref();
        let mut options = File::options();
        options.read(true).custom_flags(rustix::fs::OFlags::DIRECTORY.bits() as i32);
        let file = options.open(path).map_err(|error| cannot_open(path, error))?;
        let dir = Dir::from_std_file(file);
        let base = directory_rights(dir_perms, file_perms);
        let mut inheriting = base.union(file_perms_rights(file_perms));
        if !dir_perms.contains(DirPerms::MUTATE) {
            // Directories in it have the same right as files.
            inheriting.remove(Rights::FD_FILESTAT_SET_TIMES);
        }
        let directory = Directory::new(dir, Some(guest_path.as_ref().to_owned()));
        self.directories.push(Descriptor {
            kind: Kind::Directory(directory),
            base,
            inheriting,
            flags: FdFlags::empty(),
            origin: None,
        });
        Ok(self)
    }

    /// Hands the program a socket. Sockets get the descriptors after those of the
    /// directories, in order. They are switched to not blocking.
    ///
    /// ```
    /// use ropewalk::{Engine, Linker, Module, Store};
    /// use ropewalk_wasi::WasiCtx;
    /// use std::io::{Read as _, Write as _};
    /// use std::os::unix::net::UnixStream;
    ///
    /// // It sends back what it receives. Its descriptors are 0, 1, 2, and 3: the socket.
    /// let program = r#"
    ///     (module
    ///       (import "wasi_snapshot_preview1" "sock_recv"
    ///         (func $receive (param i32 i32 i32 i32 i32 i32) (result i32)))
    ///       (import "wasi_snapshot_preview1" "sock_send"
    ///         (func $send (param i32 i32 i32 i32 i32) (result i32)))
    ///       (memory (export "memory") 1)
    ///       (data (i32.const 0) "\40\00\00\00\04\00\00\00")
    ///       (func (export "_start")
    ///         (drop (call $receive (i32.const 3) (i32.const 0) (i32.const 1) (i32.const 0)
    ///           (i32.const 16) (i32.const 20)))
    ///         (drop (call $send (i32.const 3) (i32.const 0) (i32.const 1) (i32.const 0)
    ///           (i32.const 16)))))
    /// "#;
    /// let (mut ours, theirs) = UnixStream::pair()?;
    /// ours.write_all(b"rope")?;
    ///
    /// let engine = Engine::default();
    /// let mut linker = Linker::new(&engine);
    /// ropewalk_wasi::add_to_linker(&mut linker, |ctx| ctx)?;
    /// let mut store = Store::new(&engine, WasiCtx::builder().preopened_socket(theirs)?.build());
    /// let instance = linker.instantiate(&mut store, &Module::new(&engine, program)?)?;
    /// instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ())?;
    ///
    /// let mut answer = [0; 4];
    /// ours.read_exact(&mut answer)?;
    /// assert_eq!(&answer, b"rope");
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn preopened_socket(&mut self, socket: impl Into<Socket>) -> Result<&mut WasiCtxBuilder> {
        let descriptor = socket.into().descriptor(FdFlags::empty()).map_err(IoError::from)?;
        self.sockets.push(descriptor);
        Ok(self)
    }

    /// The clock of the day, instead of the host's.
    pub fn wall_clock(&mut self, clock: impl Clock + 'static) -> &mut WasiCtxBuilder {
        self.wall = Some(Box::new(clock));
        self
    }

    /// The clock that only goes forward, instead of the host's.
    pub fn monotonic_clock(&mut self, clock: impl Clock + 'static) -> &mut WasiCtxBuilder {
        self.monotonic = Some(Box::new(clock));
        self
    }

    /// What fills buffers with random bytes, instead of the host. For tests: a
    /// program may need them to be secret.
    pub fn random(&mut self, fill: impl FnMut(&mut [u8]) + Send + 'static) -> &mut WasiCtxBuilder {
        self.random = Some(Box::new(fill));
        self
    }

    /// Records what the program gets from these functions, so that it can be run again
    /// just so, by [`replay`](Self::replay).
    ///
    /// Each call is written when it has ended, so output that is not buffered has all of
    /// them, however the program ends.
    ///
    /// ```
    /// use ropewalk::{Engine, Linker, Module, Result, Store};
    /// use ropewalk_wasi::{MemoryOutputPipe, WasiCtx, WasiCtxBuilder};
    /// use std::fs::File;
    ///
    /// // It tells a random number.
    /// let program = r#"
    ///     (module
    ///       (import "wasi_snapshot_preview1" "random_get"
    ///         (func $random (param i32 i32) (result i32)))
    ///       (memory (export "memory") 1)
    ///       (func (export "roll") (result i64)
    ///         (drop (call $random (i32.const 0) (i32.const 8)))
    ///         (i64.load (i32.const 0))))
    /// "#;
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, program)?;
    /// let mut linker = Linker::new(&engine);
    /// ropewalk_wasi::add_to_linker(&mut linker, |ctx| ctx)?;
    /// let roll = |builder: &mut WasiCtxBuilder| -> Result<i64> {
    ///     let mut store = Store::new(&engine, builder.build());
    ///     let instance = linker.instantiate(&mut store, &module)?;
    ///     instance.get_typed_func::<(), i64>(&mut store, "roll")?.call(&mut store, ())
    /// };
    ///
    /// # let path = std::env::temp_dir().join(format!("rolled-{}", std::process::id()));
    /// let rolled = roll(WasiCtx::builder().record(File::create(&path)?)?)?;
    /// assert_eq!(roll(WasiCtx::builder().replay(File::open(&path)?)?)?, rolled);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// What other functions of the host give the program is not recorded, nor when it was
    /// interrupted. Calls that run at the same time in one store are not replayed in their
    /// order.
    ///
    /// What is recorded, and whether it can be written, changes nothing for the program. An error
    /// of `output` ends the recording, and [`WasiCtx::finish_recording`] returns it.
    pub fn record(&mut self, output: impl Write + Send + 'static) -> Result<&mut WasiCtxBuilder> {
        self.tape = Tape::Records(Recorder::new(Box::new(output))?);
        Ok(self)
    }

    /// Gives the program what it got when it was [recorded](Self::record). Nothing else is
    /// asked of the host, and what was said of files, sockets, clocks and random numbers does
    /// not matter. What the program writes to its standard output and error is written again.
    ///
    /// A call that is another one than was recorded ends the program with an error, and so
    /// does one that comes after all that were recorded.
    pub fn replay(&mut self, input: impl Read + Send + 'static) -> Result<&mut WasiCtxBuilder> {
        self.tape = Tape::Replays(Box::new(Player::new(Box::new(input))?));
        Ok(self)
    }

    /// Whether the context may be [saved](WasiCtx::save). It remembers then by which paths
    /// files were opened, and keeps the host's directories open as long as something below
    /// them is.
    pub fn saveable(&mut self, enable: bool) -> &mut WasiCtxBuilder {
        self.saveable = enable;
        self
    }

    /// How many descriptors the program may have at a time, its standard streams and directories
    /// among them. Beyond that, opening fails with `EMFILE`. If nothing is said it is 1,048,576,
    /// and most hosts allow a process fewer.
    pub fn max_descriptors(&mut self, count: usize) -> &mut WasiCtxBuilder {
        self.most_descriptors = Some(count);
        self
    }

    /// The context. The builder is as new then.
    pub fn build(&mut self) -> WasiCtx {
        let mut builder = std::mem::take(self);
        builder.note_origins(0..builder.directories.len());
        let names = builder.directories.iter().filter_map(Descriptor::preopened_as);
        let names: Vec<String> = names.map(str::to_owned).collect();
        let (streams, mut table) = (builder.streams(), Table::default());
        let directories = std::mem::take(&mut builder.directories);
        let sockets = std::mem::take(&mut builder.sockets);
        for descriptor in streams.into_iter().chain(directories).chain(sockets) {
            // A host that could open them all has far fewer than a table takes.
            let _ = table.insert(descriptor);
        }
        builder.finish(table, &names)
    }

    /// The standard streams, by their roles.
    pub(crate) fn streams(&mut self) -> [Descriptor; 3] {
        let [stdin, stdout, stderr] = [&mut self.stdin, &mut self.stdout, &mut self.stderr]
            .map(|stream| std::mem::replace(stream, Stream::null()));
        let mut streams = [stdin.for_reading().0, stdout.for_writing().0, stderr.for_writing().0];
        if self.saveable {
            let roles = [Role::Stdin, Role::Stdout, Role::Stderr];
            for (stream, role) in streams.iter_mut().zip(roles) {
                stream.origin = Some(Box::new(Origin::Stream(role)));
            }
        }
        streams
    }

    /// Has directories remember what they are, if the context may be saved: each is the one
    /// that the program finds at its place in this order.
    pub(crate) fn note_origins(&mut self, order: impl IntoIterator<Item = usize>) {
        for (number, directory) in (0..).zip(order) {
            let directory = self.directories.get_mut(directory).filter(|_| self.saveable);
            let Some(descriptor) = directory else { continue };
            let Kind::Directory(directory) = &descriptor.kind else { continue };
            let name = directory.preopened_as.clone().unwrap_or_default();
            let preopen = Preopen { number, name, dir: directory.dir.clone() };
            descriptor.origin = Some(Box::new(Origin::Preopened(Arc::new(preopen))));
        }
    }

    /// The context with these descriptors, of which some are directories with these names.
    pub(crate) fn finish(self, mut table: Table, preopens: &[String]) -> WasiCtx {
        if let Some(most) = self.most_descriptors {
            table.limit(most);
        }
        let monotonic = || Box::new(MonotonicClock { beginning: Instant::now() });
        WasiCtx {
            args: self.args,
            environment: self.environment,
            clocks: Clocks {
                wall: self.wall.unwrap_or_else(|| Box::new(WallClock)),
                monotonic: self.monotonic.unwrap_or_else(|| monotonic()),
            },
            random: self.random,
            table,
            end_on_broken_pipe: self.end_on_broken_pipe,
            preopens: self.saveable.then(|| preopens.to_vec()),
            progress: Progress::default(),
            tape: self.tape,
            memory: None,
        }
    }
}

fn cannot_open(path: &Path, error: IoError) -> ropewalk::Error {
    let error = ropewalk::Error::from(error);
    error.context(format!("cannot open the directory {}", path.display()))
}

/// What a directory can be used for, by its permissions.
fn directory_rights(dir: DirPerms, file: FilePerms) -> Rights {
    let mut rights = Rights::DIRECTORY;
    if !dir.contains(DirPerms::READ) {
        rights.remove(Rights::FD_READDIR | Rights::PATH_READLINK | Rights::PATH_FILESTAT_GET);
    }
    if !dir.contains(DirPerms::MUTATE) {
        rights.remove(Rights::MUTATING);
    }
    if !file.contains(FilePerms::WRITE) {
        rights.remove(Rights::PATH_FILESTAT_SET_SIZE | Rights::PATH_FILESTAT_SET_TIMES);
    }
    rights
}

/// What a file in a directory can be used for, by the permissions.
fn file_perms_rights(file: FilePerms) -> Rights {
    let mut rights = Rights::FILE;
    if !file.contains(FilePerms::READ) {
        rights.remove(Rights::FD_READ);
    }
    if !file.contains(FilePerms::WRITE) {
        rights.remove(Rights::WRITING | Rights::FD_FILESTAT_SET_TIMES);
    }
    rights
}
