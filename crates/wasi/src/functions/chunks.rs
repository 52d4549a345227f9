//! Splits work whose size a program chooses into chunks of bounded size.
//!
//! A function that has finished a chunk returns [`Failure::Again`], and records in the
//! [progress](crate::context::Progress) of its call how much is done. The [caller](crate::call)
//! polls for interruption and calls the function again. So a call ends soon after its deadline,
//! and the program sees a single call.

use crate::abi::guest_memory::Buffers;
use crate::call::Call;
use crate::failure::{Failure, Result};

/// How many bytes are read, written or generated at once. It takes a few milliseconds, unless the
/// host waits.
pub const CHUNK: usize = 4 << 20;

/// Reads or writes the buffers of an array of `iovec`s, and stores the total at `size`.
///
/// `work` gets some of the buffers and the number of bytes before them; it returns how many bytes
/// it has read or written. A failure after the first chunk ends the call with a short read or
/// write.
pub fn transfer(
    call: &mut Call<'_>,
    (vectors, count, size): (i32, i32, i32),
    work: impl FnOnce(&mut Call<'_>, &Buffers, u64) -> Result<usize>,
) -> Result {
    let place = call.guest.place(size)?;
    let buffers = match call.ctx.progress.buffers.take() {
        Some(buffers) => *buffers,
        None => call.guest.buffers(vectors, count)?,
    };
    let done = call.ctx.progress.done;
    let chunk = part(&buffers, done, CHUNK);
    let total = match work(call, &chunk, done as u64) {
        Ok(count) if count == total(&chunk) && done + count < total(&buffers) => {
            call.ctx.progress.done += count;
            call.ctx.progress.buffers = Some(Box::new(buffers));
            return Err(Failure::Again);
        }
        Ok(count) => done + count,
        Err(Failure::Errno(_) | Failure::Wait(_)) if done > 0 => done,
        Err(failure) => return Err(failure),
    };
    call.guest.put_count(place, total);
    Ok(())
}

/// The buffers after the first `done` bytes, limited to `max` bytes in total.
pub fn part(buffers: &Buffers, mut done: usize, mut max: usize) -> Buffers {
    let rest = buffers.iter().map(|buffer| {
        let begin = buffer.start + done.min(buffer.len());
        done -= begin - buffer.start;
        let end = begin + (buffer.end - begin).min(max);
        max -= end - begin;
        begin..end
    });
    rest.filter(|buffer| !buffer.is_empty()).collect()
}

fn total(buffers: &Buffers) -> usize {
    buffers.iter().map(ExactSizeIterator::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_buffers_are_consecutive() {
        let buffers: Buffers = [10..14, 20..20, 30..33, 0..5].into_iter().collect();
        let parts = |done, max| -> Vec<(usize, usize)> {
            part(&buffers, done, max).into_iter().map(|part| (part.start, part.end)).collect()
        };
        assert_eq!(parts(0, usize::MAX), [(10, 14), (30, 33), (0, 5)]);
        assert_eq!(parts(0, 4), [(10, 14)]);
        assert_eq!(parts(3, 3), [(13, 14), (30, 32)]);
        assert_eq!(parts(7, 3), [(0, 3)]);
        assert_eq!(parts(11, 3), [(4, 5)]);
        assert_eq!(parts(12, 3), []);
    }
}
