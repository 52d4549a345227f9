//! Arguments, environment, clocks, random numbers, and the end of a program.

use crate::clock::nanoseconds;
use crate::ctx::{Progress, WasiCtx};
use crate::errno::{Errno, Failure, Result};
use crate::exit::I32Exit;
use crate::guest::{Guest, Number as _};
use crate::pieces::PIECE;
use crate::wait::Wait;
use rustix::rand::{GetRandomFlags, getrandom};

pub(crate) fn args_get(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    pointers: i32,
    buffer: i32,
) -> Result {
    put_strings(guest, &ctx.args, pointers, buffer)
}

pub(crate) fn args_sizes_get(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    count: i32,
    size: i32,
) -> Result {
    put_sizes(guest, &ctx.args, count, size)
}

pub(crate) fn environ_get(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    pointers: i32,
    buffer: i32,
) -> Result {
    put_strings(guest, &ctx.environment, pointers, buffer)
}

pub(crate) fn environ_sizes_get(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    count: i32,
    size: i32,
) -> Result {
    put_sizes(guest, &ctx.environment, count, size)
}

/// How many strings there are, and how long they are with the zeros at their ends.
fn put_sizes(guest: &mut Guest<'_>, strings: &[Vec<u8>], count: i32, size: i32) -> Result {
    let (count, size) = (guest.place(count)?, guest.place(size)?);
    let total: usize = strings.iter().map(|string| string.len() + 1).sum();
    let total = u32::try_from(total).map_err(|_| Errno::OVERFLOW)?;
    guest.put(count, strings.len() as u32);
    guest.put(size, total);
    Ok(())
}

/// Stores strings with zeros at their ends, and pointers to them.
fn put_strings(guest: &mut Guest<'_>, strings: &[Vec<u8>], pointers: i32, buffer: i32) -> Result {
    let total = strings.iter().map(|string| string.len() + 1).sum();
    let count = i32::try_from(strings.len()).map_err(|_| Errno::OVERFLOW)?;
    let pointers = guest.array(pointers, count, 4)?;
    let mut rest = guest.range(buffer, total)?.start;
    for (i, string) in strings.iter().enumerate() {
        let pointer = pointers.start + 4 * i;
        // In reach of 32 bits, as all that is in bounds.
        (rest as u32).encode(guest.get_mut(pointer..pointer + 4));
        let end = rest + string.len();
        guest.get_mut(rest..end).copy_from_slice(string);
        guest.get_mut(end..end + 1).fill(0);
        rest = end + 1;
    }
    Ok(())
}

pub(crate) fn clock_res_get(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    id: i32,
    resolution: i32,
) -> Result {
    let place = guest.place(resolution)?;
    let resolution = nanoseconds(ctx.clocks.get(id)?.resolution())?;
    guest.put(place, resolution);
    Ok(())
}

pub(crate) fn clock_time_get(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    id: i32,
    _precision: i64,
    time: i32,
) -> Result {
    let place = guest.place(time)?;
    let now = nanoseconds(ctx.clocks.get(id)?.now())?;
    guest.put(place, now);
    Ok(())
}

pub(crate) fn random_get(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    buffer: i32,
    len: i32,
) -> Result {
    let buffer = guest.buffer(buffer, len)?;
    let begin = buffer.start + ctx.progress.done;
    let end = buffer.end.min(begin + PIECE);
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

/// Lets other calls run that are polled by this thread, or other threads.
pub(crate) fn sched_yield(ctx: &mut WasiCtx, _: &mut Guest<'_>) -> Result {
    let Progress { is_polled, yielded, .. } = &mut ctx.progress;
    if *is_polled && !*yielded {
        *yielded = true;
        return Err(Failure::Wait(Wait::turn()));
    }
    if !*is_polled {
        std::thread::yield_now();
    }
    Ok(())
}

/// The program ends with a code.
pub(crate) fn proc_exit(code: i32) -> ropewalk::Error {
    I32Exit(code).into()
}

/// A signal to the program itself. No program can handle one, so it has its
/// default action: none, or the end of the program as a shell would report it.
pub(crate) fn proc_raise(_: &mut WasiCtx, _: &mut Guest<'_>, signal: i32) -> Result {
    match signal {
        // None, a child, continue, urgent data, a window's size.
        0 | 16 | 17 | 22 | 27 => Ok(()),
        // There is nobody to continue a program that has stopped.
        18..=21 => Err(Errno::NOTSUP.into()),
        1..=30 => Err(Failure::End(I32Exit(128 + signal).into())),
        _ => Err(Errno::INVAL.into()),
    }
}
