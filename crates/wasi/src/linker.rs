//! The names under which programs import the functions.

use crate::abi::Version;
use crate::ctx::{Progress, WasiCtx};
use crate::errno::{Failure, Result};
use crate::functions::{fd, path, poll, process, sock};
use crate::guest::Guest;
use crate::reactor::Ready;
use crate::tape::{self, Called, Tape};
use crate::wait::Wait;
use ropewalk::{AsContext, AsContextMut, Caller, Error, Linker, Memory};
use std::ops::Range;

/// Defines all functions of `wasi_snapshot_preview1`, and of the older
/// `wasi_unstable`, which some compilers still emit. `get` says where a store's
/// data have the context.
///
/// ```
/// use ropewalk::{Engine, Linker, Module, Store};
/// use ropewalk_wasi::{MemoryOutputPipe, WasiCtx};
///
/// # fn main() -> ropewalk::Result<()> {
/// struct Data {
///     wasi: WasiCtx,
/// }
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (import "wasi_snapshot_preview1" "fd_write"
///         (func $fd_write (param i32 i32 i32 i32) (result i32)))
///       (memory (export "memory") 1)
///       (data (i32.const 0) "\08\00\00\00\03\00\00\00hi\n")
///       (func (export "_start")
///         (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16)))))
/// "#)?;
/// let mut linker = Linker::new(&engine);
/// ropewalk_wasi::add_to_linker(&mut linker, |data: &mut Data| &mut data.wasi)?;
///
/// let stdout = MemoryOutputPipe::new(1024);
/// let wasi = WasiCtx::builder().stdout(stdout.clone()).build();
/// let mut store = Store::new(&engine, Data { wasi });
/// let instance = linker.instantiate(&mut store, &module)?;
/// instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ())?;
/// assert_eq!(stdout.text(), "hi\n");
/// # Ok(())
/// # }
/// ```
pub fn add_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    get: impl Fn(&mut T) -> &mut WasiCtx + Copy + Send + Sync + 'static,
) -> ropewalk::Result<()> {
    define(linker, "wasi_unstable", Version::Unstable, get)?;
    define(linker, "wasi_snapshot_preview1", Version::Preview1, get)?;
    // The older version has none.
    linker.func_wrap(
        "wasi_snapshot_preview1",
        "sock_accept",
        move |caller: Caller<'_, T>, fd: i32, flags: i32, accepted: i32| {
            let arguments = [fd, flags, accepted].map(i64::from);
            let called = Called { name: "sock_accept", arguments };
            call(caller, get, called, move |ctx, guest| {
                sock::sock_accept(ctx, guest, fd, flags, accepted)
            })
        },
    )?;
    Ok(())
}

/// Defines functions. Those with a version in front of their parameters are told
/// for which one they are called.
macro_rules! functions {
    (
        $linker:ident $module:ident $get:ident
        $($path:ident::$name:ident($([$version:ident])? $($param:ident: $ty:ty),*);)*
    ) => {
        $(
            $linker.func_wrap(
                $module,
                stringify!($name),
                move |caller: Caller<'_, T>, $($param: $ty),*| {
                    let arguments = [$(i64::from($param)),*];
                    let called = Called { name: stringify!($name), arguments };
                    call(caller, $get, called, move |ctx, guest| {
                        $path::$name(ctx, guest, $($version,)? $($param),*)
                    })
                },
            )?;
        )*
    };
}

fn define<T: Send + 'static>(
    linker: &mut Linker<T>,
    module: &str,
    version: Version,
    get: impl Fn(&mut T) -> &mut WasiCtx + Copy + Send + Sync + 'static,
) -> ropewalk::Result<()> {
    functions! {
        linker module get
        process::args_get(pointers: i32, buffer: i32);
        process::args_sizes_get(count: i32, size: i32);
        process::environ_get(pointers: i32, buffer: i32);
        process::environ_sizes_get(count: i32, size: i32);
        process::clock_res_get(id: i32, resolution: i32);
        process::clock_time_get(id: i32, precision: i64, time: i32);
        process::random_get(buffer: i32, len: i32);
        process::sched_yield();
        process::proc_raise(signal: i32);
        fd::fd_advise(fd: i32, offset: i64, len: i64, advice: i32);
        fd::fd_allocate(fd: i32, offset: i64, len: i64);
        fd::fd_close(fd: i32);
        fd::fd_datasync(fd: i32);
        fd::fd_fdstat_get(fd: i32, stat: i32);
        fd::fd_fdstat_set_flags(fd: i32, flags: i32);
        fd::fd_fdstat_set_rights(fd: i32, base: i64, inheriting: i64);
        fd::fd_filestat_get([version] fd: i32, stat: i32);
        fd::fd_filestat_set_size(fd: i32, size: i64);
        fd::fd_filestat_set_times(fd: i32, atim: i64, mtim: i64, which: i32);
        fd::fd_pread(fd: i32, vectors: i32, count: i32, offset: i64, size: i32);
        fd::fd_prestat_get(fd: i32, prestat: i32);
        fd::fd_prestat_dir_name(fd: i32, buffer: i32, len: i32);
        fd::fd_pwrite(fd: i32, vectors: i32, count: i32, offset: i64, size: i32);
        fd::fd_read(fd: i32, vectors: i32, count: i32, size: i32);
        fd::fd_readdir(fd: i32, buffer: i32, len: i32, cookie: i64, used: i32);
        fd::fd_renumber(from: i32, to: i32);
        fd::fd_seek([version] fd: i32, offset: i64, whence: i32, position: i32);
        fd::fd_sync(fd: i32);
        fd::fd_tell(fd: i32, position: i32);
        fd::fd_write(fd: i32, vectors: i32, count: i32, size: i32);
        path::path_create_directory(fd: i32, path: i32, len: i32);
        path::path_filestat_get([version] fd: i32, lookup: i32, path: i32, len: i32, stat: i32);
        path::path_filestat_set_times(
            fd: i32, lookup: i32, path: i32, len: i32, atim: i64, mtim: i64, which: i32
        );
        path::path_link(
            old_fd: i32, lookup: i32, old: i32, old_len: i32, new_fd: i32, new: i32, new_len: i32
        );
        path::path_open(
            fd: i32, lookup: i32, path: i32, len: i32, oflags: i32, base: i64, inheriting: i64,
            fdflags: i32, opened: i32
        );
        path::path_readlink(fd: i32, path: i32, len: i32, buffer: i32, room: i32, used: i32);
        path::path_remove_directory(fd: i32, path: i32, len: i32);
        path::path_rename(
            old_fd: i32, old: i32, old_len: i32, new_fd: i32, new: i32, new_len: i32
        );
        path::path_symlink(old: i32, old_len: i32, fd: i32, new: i32, new_len: i32);
        path::path_unlink_file(fd: i32, path: i32, len: i32);
        poll::poll_oneoff([version] subscriptions: i32, events: i32, count: i32, stored: i32);
        sock::sock_recv(
            fd: i32, vectors: i32, count: i32, flags: i32, size: i32, out_flags: i32
        );
        sock::sock_send(fd: i32, vectors: i32, count: i32, flags: i32, size: i32);
        sock::sock_shutdown(fd: i32, how: i32);
    }
    // It needs no memory, and never returns.
    linker.func_wrap(module, "proc_exit", |code: i32| -> ropewalk::Result<()> {
        Err(process::proc_exit(code))
    })?;
    Ok(())
}

/// Calls a function, as often as it has to wait. Returns the number of its error,
/// or zero.
fn call<T: Send + 'static, const N: usize>(
    mut caller: Caller<'_, T>,
    get: impl Fn(&mut T) -> &mut WasiCtx + Send + Sync + 'static,
    called: Called<N>,
    function: impl Fn(&mut WasiCtx, &mut Guest<'_>) -> Result + Send + Sync + 'static,
) -> ropewalk::Result<i32> {
    let memory = memory(&mut caller, &get)?;
    let progress = Progress::default();
    let mut attempt = Attempt { memory, get, called, function, progress, written: Vec::new() };
    attempt.progress.is_polled = caller.can_wait();
    loop {
        let wait = match attempt.run(&mut caller)? {
            Attempted::Done(errno) => return Ok(errno),
            Attempted::Waits(wait) if caller.can_wait() => return Err(attempt.later(&caller, wait)),
            Attempted::Waits(wait) => wait,
        };
        if let Err(failure) = wait.block().and_then(|()| check(&caller)) {
            return attempt.fail(&mut caller, failure);
        }
    }
}

/// Fails if the call must end.
fn check(store: &impl AsContext) -> Result {
    store.as_context().check_interruption().map_err(Failure::End)
}

/// A function that is called until it does not wait any more.
struct Attempt<G, F, const N: usize> {
    memory: Memory,
    get: G,
    called: Called<N>,
    function: F,
    progress: Progress,
    /// What it has written so far, if it is recorded.
    written: Vec<Range<usize>>,
}

/// What has become of it.
enum Attempted {
    /// The number of its error, or zero.
    Done(i32),
    Waits(Wait),
}

impl<G, F, const N: usize> Attempt<G, F, N> {
    /// Calls the function piece by piece until it has ended or has to wait.
    fn run<S: AsContextMut>(&mut self, store: &mut S) -> ropewalk::Result<Attempted>
    where
        G: Fn(&mut S::Data) -> &mut WasiCtx,
        F: Fn(&mut WasiCtx, &mut Guest<'_>) -> Result,
    {
        loop {
            if let Some(attempted) = self.run_once(store)? {
                return Ok(attempted);
            }
            if let Err(failure) = check(store) {
                return Ok(Attempted::Done(self.fail(store, failure)?));
            }
        }
    }

    /// Calls the function once. What it has to know when it is called again is kept
    /// here: others may be called meanwhile. Nothing if it has more to do.
    fn run_once<S: AsContextMut>(&mut self, store: &mut S) -> ropewalk::Result<Option<Attempted>>
    where
        G: Fn(&mut S::Data) -> &mut WasiCtx,
        F: Fn(&mut WasiCtx, &mut Guest<'_>) -> Result,
    {
        let (bytes, data) = self.memory.data_and_store_mut(store)?;
        let ctx = (self.get)(data);
        if let Some(outcome) = tape::replay(ctx, &self.called, &mut Guest::new(bytes)) {
            return Ok(Some(Attempted::Done(errno(outcome)?)));
        }
        ctx.progress = std::mem::take(&mut self.progress);
        let mut guest = match ctx.tape.records() {
            false => Guest::new(bytes),
            true => Guest::noting(bytes, std::mem::take(&mut self.written)),
        };
        match (self.function)(ctx, &mut guest) {
            Err(Failure::Wait(wait)) => {
                self.progress = std::mem::take(&mut ctx.progress);
                self.written = guest.into_written().0;
                Ok(Some(Attempted::Waits(wait)))
            }
            Err(Failure::Again) => {
                self.progress = std::mem::take(&mut ctx.progress);
                let (written, memory) = guest.into_written();
                if let Tape::Records(recorder) = &mut ctx.tape {
                    recorder.record_piece(&self.called, memory, written);
                }
                Ok(None)
            }
            outcome => {
                let (written, memory) = guest.into_written();
                Ok(Some(Attempted::Done(self.end(ctx, outcome, memory, written)?)))
            }
        }
    }

    /// It could not wait. Returns the number of the error.
    fn fail<S: AsContextMut>(&mut self, store: &mut S, failure: Failure) -> ropewalk::Result<i32>
    where
        G: Fn(&mut S::Data) -> &mut WasiCtx,
    {
        let (memory, data) = self.memory.data_and_store_mut(store)?;
        let written = std::mem::take(&mut self.written);
        self.end((self.get)(data), Err(failure), memory, written)
    }

    /// Records what has become of it, if that is wanted. Returns the number of its error, or
    /// zero.
    fn end(
        &self,
        ctx: &mut WasiCtx,
        outcome: Result,
        memory: &[u8],
        written: Vec<Range<usize>>,
    ) -> ropewalk::Result<i32> {
        if let Tape::Records(recorder) = &mut ctx.tape {
            recorder.record(&self.called, &outcome, memory, written);
        }
        errno(outcome)
    }

    /// Waits and goes on, without the thread and without the store.
    fn later<T: Send + 'static>(mut self, caller: &Caller<'_, T>, mut wait: Wait) -> Error
    where
        G: Fn(&mut T) -> &mut WasiCtx + Send + Sync + 'static,
        F: Fn(&mut WasiCtx, &mut Guest<'_>) -> Result + Send + Sync + 'static,
    {
        let rest = caller.later(move |accessor| {
            Box::pin(async move {
                loop {
                    if let Err(failure) = Ready::new(wait).await {
                        return accessor.with(|mut store| self.fail(&mut store, failure));
                    }
                    match accessor.with(|mut store| self.run(&mut store))? {
                        Attempted::Done(errno) => return Ok(errno),
                        Attempted::Waits(again) => wait = again,
                    }
                }
            })
        });
        rest.into()
    }
}

/// The number of an error; zero of success. The end of the program is an error of the
/// whole call.
fn errno(outcome: Result) -> ropewalk::Result<i32> {
    match outcome {
        Ok(()) => Ok(0),
        Err(Failure::Errno(errno)) => Ok(errno as i32),
        Err(Failure::End(error)) => Err(error),
        Err(Failure::Wait(_) | Failure::Again) => unreachable!("it is called again"),
    }
}

/// The memory of the program that called. It is looked for once, as long as the same instance
/// calls.
fn memory<T>(
    caller: &mut Caller<'_, T>,
    get: impl Fn(&mut T) -> &mut WasiCtx,
) -> ropewalk::Result<Memory> {
    let instance = caller.instance();
    if let Some((found, memory)) = get(caller.data_mut()).memory
        && Some(found) == instance
    {
        return Ok(memory);
    }
    let memory = caller.get_export("memory").and_then(|export| export.into_memory());
    let none = || Error::msg("a program must export its memory as \"memory\" to use WASI");
    let memory = memory.ok_or_else(none)?;
    get(caller.data_mut()).memory = instance.map(|instance| (instance, memory));
    Ok(memory)
}
