//! Arguments, environment, clocks, random numbers, yielding and exiting.

use crate::abi::errno::Errno;
use crate::abi::guest_memory::{GuestMemory, Number as _};
use crate::call::Call;
use crate::context::clock::nanoseconds;
use crate::context::{Progress, WasiCtx};
use crate::exit::I32Exit;
use crate::failure::{Failure, Result};
use crate::functions::chunks::CHUNK;
use crate::wait::Wait;
use rustix::rand::{GetRandomFlags, getrandom};

pub fn args_get(call: &mut Call<'_>, pointers: i32, buffer: i32) -> Result {
    put_strings(&mut call.guest, &call.ctx.args, pointers, buffer)
}

pub fn args_sizes_get(call: &mut Call<'_>, count: i32, size: i32) -> Result {
    put_sizes(&mut call.guest, &call.ctx.args, count, size)
}

pub fn environ_get(call: &mut Call<'_>, pointers: i32, buffer: i32) -> Result {
    put_strings(&mut call.guest, &call.ctx.environment, pointers, buffer)
}

pub fn environ_sizes_get(call: &mut Call<'_>, count: i32, size: i32) -> Result {
    put_sizes(&mut call.guest, &call.ctx.environment, count, size)
}

/// Stores the number of strings, and their total size with terminating zeros.
fn put_sizes(guest: &mut GuestMemory<'_>, strings: &[Vec<u8>], count: i32, size: i32) -> Result {
    let (count, size) = (guest.place(count)?, guest.place(size)?);
    let total: usize = strings.iter().map(|string| string.len() + 1).sum();
    let total = u32::try_from(total).map_err(|_| Errno::OVERFLOW)?;
    guest.put(count, strings.len() as u32);
    guest.put(size, total);
    Ok(())
}

/// Stores strings with terminating zeros, and pointers to them.
fn put_strings(
    guest: &mut GuestMemory<'_>,
    strings: &[Vec<u8>],
    pointers: i32,
    buffer: i32,
) -> Result {
    let total = strings.iter().map(|string| string.len() + 1).sum();
    let count = i32::try_from(strings.len()).map_err(|_| Errno::OVERFLOW)?;
    let pointers = guest.array(pointers, count, 4)?;
    let mut rest = guest.range(buffer, total)?;
    for (i, string) in strings.iter().enumerate() {
        let pointer = pointers.start + 4 * i;
        // Addresses within bounds fit in 32 bits.
        (rest.start as u32).encode(guest.get_mut(pointer..pointer + 4));
        for bytes in [&string[..], &[0]] {
            rest = guest.put_bytes(rest, bytes);
        }
    }
    Ok(())
}

pub fn clock_res_get(call: &mut Call<'_>, id: i32, resolution: i32) -> Result {
    let place = call.guest.place(resolution)?;
    let resolution = nanoseconds(call.ctx.clocks.get(id)?.resolution())?;
    call.guest.put(place, resolution);
    Ok(())
}

pub fn clock_time_get(call: &mut Call<'_>, id: i32, _precision: i64, time: i32) -> Result {
    let place = call.guest.place(time)?;
    let now = nanoseconds(call.ctx.clocks.get(id)?.now())?;
    call.guest.put(place, now);
    Ok(())
}

pub fn random_get(call: &mut Call<'_>, buffer: i32, len: i32) -> Result {
    let Call { ctx, guest, .. } = call;
    let buffer = guest.buffer(buffer, len)?;
    let begin = buffer.start + ctx.progress.done;
    let end = buffer.end.min(begin + CHUNK);
    fill_at_random(ctx, guest.get_mut(begin..end))?;
    ctx.progress.done += end - begin;
    if end < buffer.end { Err(Failure::Again) } else { Ok(()) }
}

fn fill_at_random(ctx: &mut WasiCtx, mut bytes: &mut [u8]) -> Result {
    if let Some(fill) = &mut ctx.random {
        fill(bytes);
        return Ok(());
    }
    while !bytes.is_empty() {
        let count = rustix::io::retry_on_intr(|| getrandom(&mut *bytes, GetRandomFlags::empty()))?;
        bytes = &mut bytes[count..];
    }
    Ok(())
}

/// Lets other calls that this thread polls, or other threads, run.
pub fn sched_yield(call: &mut Call<'_>) -> Result {
    let Progress { is_async, yielded, .. } = &mut call.ctx.progress;
    if *is_async && !*yielded {
        *yielded = true;
        return Err(Failure::Wait(Wait::turn()));
    }
    if !*is_async {
        std::thread::yield_now();
    }
    Ok(())
}

/// The error that ends the program with an exit code.
pub fn proc_exit(code: i32) -> ropewalk::Error {
    I32Exit(code).into()
}

/// Sends a signal to the program itself. A program cannot handle signals, so the signal has its
/// default action: none, or ending the program with the exit code that a shell would report.
pub fn proc_raise(_: &mut Call<'_>, signal: i32) -> Result {
    match signal {
        // None, SIGCHLD, SIGCONT, SIGURG, SIGWINCH.
        0 | 16 | 17 | 22 | 27 => Ok(()),
        // A stopped program could never be continued.
        18..=21 => Err(Errno::NOTSUP.into()),
        1..=30 => Err(Failure::End(I32Exit(128 + signal).into())),
        _ => Err(Errno::INVAL.into()),
    }
}
