//! Calls a function until it has finished, waiting and recording as needed.

use crate::abi::Version;
use crate::abi::guest_memory::GuestMemory;
use crate::context::{Progress, WasiCtx};
use crate::failure::{Failure, Result};
use crate::files::descriptor::Descriptor;
use crate::recording::{CallId, Recording, replayer};
use crate::wait::Wait;
use crate::wait::reactor::Ready;
use ropewalk::{AsContext, AsContextMut, Caller, Error, Memory};
use std::ops::Range;

/// What a function works on.
pub(crate) struct Call<'a> {
    pub(crate) ctx: &'a mut WasiCtx,
    pub(crate) guest: GuestMemory<'a>,
    pub(crate) version: Version,
}

impl Call<'_> {
    pub(crate) fn descriptor(&self, fd: i32) -> Result<&Descriptor> {
        self.ctx.table.get(fd)
    }
}

/// Calls a function, repeatedly if it waits. Returns its error number, or zero.
pub(crate) fn call<T: Send + 'static, const N: usize>(
    mut caller: Caller<'_, T>,
    get: impl Fn(&mut T) -> &mut WasiCtx + Send + Sync + 'static,
    version: Version,
    id: CallId<N>,
    function: impl Fn(&mut Call<'_>) -> Result + Send + Sync + 'static,
) -> ropewalk::Result<i32> {
    let memory = memory(&mut caller, &get)?;
    let progress = Progress { is_async: caller.can_wait(), ..Progress::default() };
    let mut attempt = Attempt { memory, get, version, id, function, progress, written: Vec::new() };
    loop {
        let wait = match attempt.run(&mut caller)? {
            Attempted::Done(errno) => return Ok(errno),
            Attempted::Waits(wait) if caller.can_wait() => {
                return Err(attempt.continue_async(&caller, wait));
            }
            Attempted::Waits(wait) => wait,
        };
        let blocked = wait.block().map_err(Failure::Errno);
        if let Err(failure) = blocked.and_then(|()| poll_interruption(&caller)) {
            return attempt.fail(&mut caller, failure);
        }
    }
}

fn poll_interruption(store: &impl AsContext) -> Result {
    store.as_context().check_interruption().map_err(Failure::End)
}

/// A function that is called until it has finished.
struct Attempt<G, F, const N: usize> {
    memory: Memory,
    get: G,
    version: Version,
    id: CallId<N>,
    function: F,
    progress: Progress,
    /// The ranges of memory that were written so far, if the call is recorded.
    written: Vec<Range<usize>>,
}

/// The outcome of an attempt.
enum Attempted {
    /// The error number, or zero.
    Done(i32),
    Waits(Wait),
}

impl<G, F, const N: usize> Attempt<G, F, N> {
    /// Calls the function chunk by chunk until it has finished or must wait.
    fn run<S: AsContextMut>(&mut self, store: &mut S) -> ropewalk::Result<Attempted>
    where
        G: Fn(&mut S::Data) -> &mut WasiCtx,
        F: Fn(&mut Call<'_>) -> Result,
    {
        loop {
            if let Some(attempted) = self.run_once(store)? {
                return Ok(attempted);
            }
            if let Err(failure) = poll_interruption(store) {
                return Ok(Attempted::Done(self.fail(store, failure)?));
            }
        }
    }

    /// Calls the function once. Returns nothing if it has more to do. Its progress is kept here
    /// between attempts, since other calls may use the context.
    fn run_once<S: AsContextMut>(&mut self, store: &mut S) -> ropewalk::Result<Option<Attempted>>
    where
        G: Fn(&mut S::Data) -> &mut WasiCtx,
        F: Fn(&mut Call<'_>) -> Result,
    {
        let (bytes, data) = self.memory.data_and_store_mut(store)?;
        let ctx = (self.get)(data);
        if let Some(outcome) =
            replayer::replay(&mut ctx.recording, &ctx.table, &self.id, &mut GuestMemory::new(bytes))
        {
            return Ok(Some(Attempted::Done(errno(outcome)?)));
        }
        ctx.progress = std::mem::take(&mut self.progress);
        let guest = match ctx.recording.records() {
            false => GuestMemory::new(bytes),
            true => GuestMemory::tracking(bytes, std::mem::take(&mut self.written)),
        };
        let mut call = Call { ctx, guest, version: self.version };
        let outcome = (self.function)(&mut call);
        let Call { ctx, guest, .. } = call;
        let (written, memory) = guest.into_written();
        match outcome {
            Err(Failure::Wait(wait)) => {
                self.progress = std::mem::take(&mut ctx.progress);
                self.written = written;
                Ok(Some(Attempted::Waits(wait)))
            }
            Err(Failure::Again) => {
                self.progress = std::mem::take(&mut ctx.progress);
                if let Recording::Records(recorder) = &mut ctx.recording {
                    recorder.record_chunk(&self.id, memory, written);
                }
                Ok(None)
            }
            outcome => Ok(Some(Attempted::Done(self.end(ctx, outcome, memory, written)?))),
        }
    }

    /// Ends the call because waiting failed. Returns the error number.
    fn fail<S: AsContextMut>(&mut self, store: &mut S, failure: Failure) -> ropewalk::Result<i32>
    where
        G: Fn(&mut S::Data) -> &mut WasiCtx,
    {
        let (memory, data) = self.memory.data_and_store_mut(store)?;
        let written = std::mem::take(&mut self.written);
        self.end((self.get)(data), Err(failure), memory, written)
    }

    /// Records the outcome if calls are recorded. Returns the error number, or zero.
    fn end(
        &self,
        ctx: &mut WasiCtx,
        outcome: Result,
        memory: &[u8],
        written: Vec<Range<usize>>,
    ) -> ropewalk::Result<i32> {
        if let Recording::Records(recorder) = &mut ctx.recording {
            recorder.record(&self.id, &outcome, memory, written);
        }
        errno(outcome)
    }

    /// Waits and continues as a future, which blocks no thread and does not borrow the store.
    fn continue_async<T: Send + 'static>(mut self, caller: &Caller<'_, T>, mut wait: Wait) -> Error
    where
        G: Fn(&mut T) -> &mut WasiCtx + Send + Sync + 'static,
        F: Fn(&mut Call<'_>) -> Result + Send + Sync + 'static,
    {
        let pending = caller.later(move |accessor| {
            Box::pin(async move {
                loop {
                    if let Err(errno) = Ready::new(wait).await {
                        return accessor.with(|mut store| self.fail(&mut store, errno.into()));
                    }
                    match accessor.with(|mut store| self.run(&mut store))? {
                        Attempted::Done(errno) => return Ok(errno),
                        Attempted::Waits(again) => wait = again,
                    }
                }
            })
        });
        pending.into()
    }
}

/// The number of an error, or zero for success. An error that ends the program stays an error.
fn errno(outcome: Result) -> ropewalk::Result<i32> {
    match outcome {
        Ok(()) => Ok(0),
        Err(Failure::Errno(errno)) => Ok(errno as i32),
        Err(Failure::End(error)) => Err(error),
        Err(Failure::Wait(_) | Failure::Again) => unreachable!("the function is called again"),
    }
}

/// The memory of the calling program. The lookup is cached while the same instance calls.
fn memory<T>(
    caller: &mut Caller<'_, T>,
    get: impl Fn(&mut T) -> &mut WasiCtx,
) -> ropewalk::Result<Memory> {
    let instance = caller.instance();
    if let Some((cached, memory)) = get(caller.data_mut()).memory
        && Some(cached) == instance
    {
        return Ok(memory);
    }
    let memory = caller.get_export("memory").and_then(|export| export.into_memory());
    let none = || Error::msg("a program must export its memory as \"memory\" to use WASI");
    let memory = memory.ok_or_else(none)?;
    get(caller.data_mut()).memory = instance.map(|instance| (instance, memory));
    Ok(memory)
}
