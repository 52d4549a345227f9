//! Makes contexts.

use crate::abi::{FdFlags, Rights};
use crate::context::clock::{Clock, Clocks, MonotonicClock, WallClock};
use crate::context::permissions::{DirPerms, FilePerms, directory_rights, file_perms_rights};
use crate::context::stream::{Socket, Stream};
use crate::context::{Progress, Random, WasiCtx};
use crate::files::descriptor::{Descriptor, DescriptorKind};
use crate::files::descriptor_table::DescriptorTable;
use crate::files::directory::Directory;
use crate::files::origin::{Origin, Preopen, Role};
use crate::recording::Recording;
use crate::recording::recorder::Recorder;
use crate::recording::replayer::Replayer;
use crate::wait::Source;
use cap_std::fs::Dir;
use ropewalk::Result;
use std::fs::File;
use std::io::{Error as IoError, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Builds a [`WasiCtx`].
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
    max_descriptors: Option<usize>,
    pub(crate) recording: Recording,
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
    /// A builder that grants nothing: no arguments, environment or files. The standard input is
    /// empty, and output is discarded.
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
            max_descriptors: None,
            recording: Recording::None,
        }
    }

    /// Adds an argument. The first argument is the name of the program.
    pub fn arg(&mut self, argument: impl AsRef<[u8]>) -> &mut WasiCtxBuilder {
        self.args.push(argument.as_ref().to_vec());
        self
    }

    /// Adds arguments.
    pub fn args(&mut self, arguments: &[impl AsRef<[u8]>]) -> &mut WasiCtxBuilder {
        arguments.iter().fold(self, |builder, argument| builder.arg(argument))
    }

    /// Adds the arguments of the host's process, including its name.
    pub fn inherit_args(&mut self) -> &mut WasiCtxBuilder {
        std::env::args_os().fold(self, |builder, argument| builder.arg(argument.as_bytes()))
    }

    /// Sets an environment variable.
    pub fn env(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> &mut WasiCtxBuilder {
        let assignment = [name.as_ref(), b"=", value.as_ref()].concat();
        let prefix = name.as_ref().len() + 1;
        self.environment.retain(|other| !other.starts_with(&assignment[..prefix]));
        self.environment.push(assignment);
        self
    }

    /// Sets environment variables.
    pub fn envs(
        &mut self,
        variables: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)],
    ) -> &mut WasiCtxBuilder {
        variables.iter().fold(self, |builder, (name, value)| builder.env(name, value))
    }

    /// Sets all environment variables of the host's process.
    pub fn inherit_env(&mut self) -> &mut WasiCtxBuilder {
        std::env::vars_os()
            .fold(self, |builder, (name, value)| builder.env(name.as_bytes(), value.as_bytes()))
    }

    /// Sets the standard input: a [`MemoryInputPipe`](crate::MemoryInputPipe) or a file.
    pub fn stdin(&mut self, stream: impl Into<Stream>) -> &mut WasiCtxBuilder {
        self.stdin = stream.into();
        self
    }

    /// Sets the standard output: a [`MemoryOutputPipe`](crate::MemoryOutputPipe) or a file.
    pub fn stdout(&mut self, stream: impl Into<Stream>) -> &mut WasiCtxBuilder {
        self.stdout = stream.into();
        self
    }

    /// Sets the standard error: a [`MemoryOutputPipe`](crate::MemoryOutputPipe) or a file.
    pub fn stderr(&mut self, stream: impl Into<Stream>) -> &mut WasiCtxBuilder {
        self.stderr = stream.into();
        self
    }

    /// Uses the standard input of the host's process.
    pub fn inherit_stdin(&mut self) -> &mut WasiCtxBuilder {
        self.stdin = Stream::inherited(Source::Stdin);
        self
    }

    /// Uses the standard output of the host's process.
    pub fn inherit_stdout(&mut self) -> &mut WasiCtxBuilder {
        self.stdout = Stream::inherited(Source::Stdout);
        self
    }

    /// Uses the standard error of the host's process.
    pub fn inherit_stderr(&mut self) -> &mut WasiCtxBuilder {
        self.stderr = Stream::inherited(Source::Stderr);
        self
    }

    /// Uses all standard streams of the host's process.
    pub fn inherit_stdio(&mut self) -> &mut WasiCtxBuilder {
        self.inherit_stdin().inherit_stdout().inherit_stderr()
    }

    /// Whether a write to an inherited standard stream whose reader is gone ends the program with
    /// [`BrokenPipe`](crate::BrokenPipe), as `SIGPIPE` ends a native program. Otherwise the write
    /// fails with `EPIPE`.
    pub fn end_on_broken_pipe(&mut self, enable: bool) -> &mut WasiCtxBuilder {
        self.end_on_broken_pipe = enable;
        self
    }

    /// Gives the program access to a directory of the host and everything in it, under the name
    /// `guest_path`. Directories get descriptors from 3 on, in order.
    ///
    /// The program cannot leave the directory. The permissions apply to all directories and files
    /// in it.
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
            // Subdirectories have this right if files do.
            inheriting.remove(Rights::FD_FILESTAT_SET_TIMES);
        }
        let directory = Directory::new(dir, Some(guest_path.as_ref().to_owned()));
        self.directories.push(Descriptor {
            kind: DescriptorKind::Directory(directory),
            base,
            inheriting,
            flags: FdFlags::empty(),
            origin: None,
        });
        Ok(self)
    }

    /// Gives a socket to the program. Sockets get the descriptors after those of the directories,
    /// in order. They become nonblocking.
    ///
    /// ```
    /// use ropewalk::{Engine, Linker, Module, Store};
    /// use ropewalk_wasi::WasiCtx;
    /// use std::io::{Read as _, Write as _};
    /// use std::os::unix::net::UnixStream;
    ///
    /// // It sends back what it receives from descriptor 3, the socket.
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

    /// Sets the wall clock. The default is the host's.
    pub fn wall_clock(&mut self, clock: impl Clock + 'static) -> &mut WasiCtxBuilder {
        self.wall = Some(Box::new(clock));
        self
    }

    /// Sets the monotonic clock. The default is the host's.
    pub fn monotonic_clock(&mut self, clock: impl Clock + 'static) -> &mut WasiCtxBuilder {
        self.monotonic = Some(Box::new(clock));
        self
    }

    /// Sets the generator of random bytes. The default is the host's. Programs may rely on the
    /// bytes being secret, so other generators are for tests.
    pub fn random(&mut self, fill: impl FnMut(&mut [u8]) + Send + 'static) -> &mut WasiCtxBuilder {
        self.random = Some(Box::new(fill));
        self
    }

    /// Records all calls of WASI, so that [`replay`](Self::replay) can repeat the run.
    ///
    /// Each call is written when it has ended. If `output` is not buffered, the recording is
    /// complete however the program ends.
    ///
    /// ```
    /// use ropewalk::{Engine, Linker, Module, Result, Store};
    /// use ropewalk_wasi::{MemoryOutputPipe, WasiCtx, WasiCtxBuilder};
    /// use std::fs::File;
    ///
    /// // It returns a random number.
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
    /// Other host functions and interruptions are not recorded. The order of concurrent calls in
    /// one store is not preserved.
    ///
    /// Recording does not affect the program. An error of `output` ends the recording, and
    /// [`WasiCtx::finish_recording`] returns it.
    pub fn record(&mut self, output: impl Write + Send + 'static) -> Result<&mut WasiCtxBuilder> {
        self.recording = Recording::Records(Recorder::new(Box::new(output))?);
        Ok(self)
    }

    /// Replays a [recording](Self::record). The program gets the recorded results, and nothing is
    /// read from the host. Files, sockets, clocks and random numbers of this builder are not used.
    /// Output to the standard streams is written again.
    ///
    /// A call that differs from the recording ends the program with an error, and so does a call
    /// after the end of the recording.
    pub fn replay(&mut self, input: impl Read + Send + 'static) -> Result<&mut WasiCtxBuilder> {
        self.recording = Recording::Replays(Box::new(Replayer::new(Box::new(input))?));
        Ok(self)
    }

    /// Whether the context may be [saved](WasiCtx::save). It then remembers the paths of open
    /// files, and keeps preopened directories open as long as files below them are.
    pub fn saveable(&mut self, enable: bool) -> &mut WasiCtxBuilder {
        self.saveable = enable;
        self
    }

    /// Sets the maximum number of descriptors, including standard streams and directories.
    /// Opening more fails with `EMFILE`. The default is 1,048,576; most hosts allow a process
    /// fewer.
    pub fn max_descriptors(&mut self, count: usize) -> &mut WasiCtxBuilder {
        self.max_descriptors = Some(count);
        self
    }

    /// Builds the context, and resets the builder.
    pub fn build(&mut self) -> WasiCtx {
        let mut builder = std::mem::take(self);
        builder.set_origins(0..builder.directories.len());
        let names = builder.directories.iter().filter_map(Descriptor::preopened_as);
        let names: Vec<String> = names.map(str::to_owned).collect();
        let (streams, mut table) = (builder.streams(), DescriptorTable::default());
        let directories = std::mem::take(&mut builder.directories);
        let sockets = std::mem::take(&mut builder.sockets);
        for descriptor in streams.into_iter().chain(directories).chain(sockets) {
            // The table has room for more descriptors than a host can open.
            let _ = table.insert(descriptor);
        }
        builder.finish(table, &names)
    }

    /// Takes the standard streams, in the order of their roles.
    pub(crate) fn streams(&mut self) -> [Descriptor; 3] {
        let [stdin, stdout, stderr] = [&mut self.stdin, &mut self.stdout, &mut self.stderr]
            .map(|stream| std::mem::replace(stream, Stream::null()));
        let mut streams = [stdin.into_input(), stdout.into_output(), stderr.into_output()];
        if self.saveable {
            let roles = [Role::Stdin, Role::Stdout, Role::Stderr];
            for (stream, role) in streams.iter_mut().zip(roles) {
                stream.origin = Some(Box::new(Origin::Stream(role)));
            }
        }
        streams
    }

    /// Sets the origins of the preopened directories, if the context may be saved. `order` lists
    /// their indices in the order in which the program finds them.
    pub(crate) fn set_origins(&mut self, order: impl IntoIterator<Item = usize>) {
        for (number, directory) in (0..).zip(order) {
            let directory = self.directories.get_mut(directory).filter(|_| self.saveable);
            let Some(descriptor) = directory else { continue };
            let DescriptorKind::Directory(directory) = &descriptor.kind else { continue };
            let name = directory.preopened_as.clone().unwrap_or_default();
            let preopen = Preopen { number, name, dir: directory.dir.clone() };
            descriptor.origin = Some(Box::new(Origin::Preopened(Arc::new(preopen))));
        }
    }

    /// The context with these descriptors. Some of them are preopened directories with these
    /// names.
    pub(crate) fn finish(self, mut table: DescriptorTable, preopens: &[String]) -> WasiCtx {
        if let Some(max) = self.max_descriptors {
            table.limit(max);
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
            recording: self.recording,
            memory: None,
        }
    }
}

fn cannot_open(path: &Path, error: IoError) -> ropewalk::Error {
    let error = ropewalk::Error::from(error);
    error.context(format!("cannot open the directory {}", path.display()))
}
