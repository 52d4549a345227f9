//! Work of which a program chooses the length, done piece by piece.
//!
//! A function that has done a piece [says so](crate::errno::Failure::Again), and keeps in the
//! [progress](crate::ctx::Progress) of its call how far it has come. [The caller](crate::linker)
//! polls for interruption and calls it again. So a call ends soon after its deadline, and the
//! program sees one call that did everything.

use crate::ctx::WasiCtx;
use crate::errno::{Failure, Result};
use crate::guest::{Buffers, Guest};

/// How many bytes are read, written or made at once: some milliseconds, unless the host waits.
pub(crate) const PIECE: usize = 4 << 20;

/// Reads or writes the buffers of an array of `iovec`s. `work` does it for some of them, after
/// as many bytes, and returns how many bytes it has read or written. Returns how many it is in
/// all. A failure after the first piece ends the call with what is done, as a short read or
/// write.
pub(crate) fn transfer(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    (vectors, count): (i32, i32),
    work: impl FnOnce(&mut WasiCtx, &mut Guest<'_>, &Buffers, u64) -> Result<usize>,
) -> Result<usize> {
    let buffers = match ctx.progress.buffers.take() {
        Some(buffers) => *buffers,
        None => guest.buffers(vectors, count)?,
    };
    let done = ctx.progress.done;
    let piece = part(&buffers, done, PIECE);
    match work(ctx, guest, &piece, done as u64) {
        Ok(count) if count == total(&piece) && done + count < total(&buffers) => {
            ctx.progress.done += count;
            ctx.progress.buffers = Some(Box::new(buffers));
            Err(Failure::Again)
        }
        Ok(count) => Ok(done + count),
        Err(Failure::Errno(_) | Failure::Wait(_)) if done > 0 => Ok(done),
        Err(failure) => Err(failure),
    }
}

/// Buffers without their first bytes, and no longer than `most` bytes all together.
pub(crate) fn part(buffers: &Buffers, mut done: usize, mut most: usize) -> Buffers {
    let rest = buffers.iter().map(|buffer| {
        let begin = buffer.start + done.min(buffer.len());
        done -= begin - buffer.start;
        let end = begin + (buffer.end - begin).min(most);
        most -= end - begin;
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
    fn parts_of_buffers_follow_each_other() {
        let buffers: Buffers = [10..14, 20..20, 30..33, 0..5].into_iter().collect();
        let parts = |done, most| -> Vec<(usize, usize)> {
            part(&buffers, done, most).into_iter().map(|part| (part.start, part.end)).collect()
        };
        assert_eq!(parts(0, usize::MAX), [(10, 14), (30, 33), (0, 5)]);
        assert_eq!(parts(0, 4), [(10, 14)]);
        assert_eq!(parts(3, 3), [(13, 14), (30, 32)]);
        assert_eq!(parts(7, 3), [(0, 3)]);
        assert_eq!(parts(11, 3), [(4, 5)]);
        assert_eq!(parts(12, 3), []);
    }
}
