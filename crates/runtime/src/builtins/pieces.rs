//! Splits long copies and fills, so that they can be interrupted.

use crate::store::interrupts::Interrupts;
use ropewalk_abi::TrapCode;
use std::ops::Range;

/// The bytes that are moved at once. This takes some tenths of a millisecond if the kernel has to
/// provide the pages.
const PIECE: usize = 1 << 20;

/// Applies a function to a range, piece by piece, from its start or from its end.
#[inline(always)]
pub(super) fn in_pieces<T>(
    interrupts: &Interrupts,
    Range { mut start, mut end }: Range<usize>,
    is_forward: bool,
    mut work: impl FnMut(Range<usize>),
) -> Result<(), TrapCode> {
    let most = (PIECE / size_of::<T>()).max(1);
    while end - start > most {
        if is_forward {
            work(start..start + most);
            start += most;
        } else {
            work(end - most..end);
            end -= most;
        }
        interrupts.check()?;
    }
    work(start..end);
    Ok(())
}

pub(super) fn fill<T: Copy>(
    interrupts: &Interrupts,
    slice: &mut [T],
    value: T,
) -> Result<(), TrapCode> {
    in_pieces::<T>(interrupts, 0..slice.len(), true, |piece| slice[piece].fill(value))
}

/// Copies a slice to another of the same length.
pub(super) fn copy<T: Copy>(
    interrupts: &Interrupts,
    to: &mut [T],
    from: &[T],
) -> Result<(), TrapCode> {
    in_pieces::<T>(interrupts, 0..to.len(), true, |piece| {
        to[piece.clone()].copy_from_slice(&from[piece])
    })
}

/// Copies part of a slice to another place in it. The ranges can overlap.
pub(super) fn copy_within<T: Copy>(
    interrupts: &Interrupts,
    slice: &mut [T],
    from: Range<usize>,
    to: usize,
) -> Result<(), TrapCode> {
    let all = 0..from.len();
    in_pieces::<T>(interrupts, all, to <= from.start, |piece| {
        slice.copy_within(from.start + piece.start..from.start + piece.end, to + piece.start);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_an_overlapping_range_are_copied_in_the_right_order() {
        let len = 2 * PIECE + 5;
        let original: Vec<u8> = (0..3 * PIECE).map(|i| (i % 251) as u8).collect();
        for (from, to) in [(0, 0), (0, 9), (9, 0), (0, PIECE - 9), (PIECE - 9, 0)] {
            let (mut found, mut expected) = (original.clone(), original.clone());
            expected.copy_within(from..from + len, to);
            let done = copy_within(&Interrupts::default(), &mut found, from..from + len, to);
            assert!(done.is_ok() && found == expected, "from {from} to {to}");
        }
    }

    #[test]
    fn an_interruption_ends_after_a_piece() {
        let interrupts = Interrupts::default();
        interrupts.interrupt();
        let mut bytes = vec![0_u8; 3 * PIECE];
        assert_eq!(fill(&interrupts, &mut bytes, 1), Err(TrapCode::Interrupt));
        let filled = bytes.iter().filter(|byte| **byte == 1).count();
        assert_eq!(filled, PIECE);
        assert_eq!(fill(&interrupts, &mut bytes[..PIECE], 2), Ok(()));
    }
}
