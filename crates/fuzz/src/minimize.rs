//! Minimizes a finding: removes parts of its bytes, and clears others, as long as the same problem
//! remains.

use std::time::{Duration, Instant};

/// The time limit for one finding.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the smallest bytes found for which `fails` still holds.
pub fn minimize(entropy: Vec<u8>, record: usize, mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let deadline = Instant::now() + PATIENCE;
    let mut best = entropy;
    loop {
        let before = best.clone();
        best = leave_out(best, record, deadline, &mut fails);
        best = clear(best, deadline, &mut fails);
        if best == before || Instant::now() > deadline {
            return best;
        }
    }
}

/// Removes chunks, large ones first, at multiples of their size; then single records and single
/// bytes.
fn leave_out(
    mut best: Vec<u8>,
    record: usize,
    deadline: Instant,
    fails: &mut impl FnMut(&[u8]) -> bool,
) -> Vec<u8> {
    let mut size = (best.len() / 2).next_multiple_of(record.max(1));
    while size > 0 {
        let mut start = best.len() / size * size;
        loop {
            if start < best.len() && Instant::now() < deadline {
                let end = (start + size).min(best.len());
                let shorter = [&best[..start], &best[end..]].concat();
                if fails(&shorter) {
                    best = shorter;
                }
            }
            if start == 0 {
                break;
            }
            start = start.saturating_sub(size);
        }
        size = if size > record {
            (size / 2).next_multiple_of(record).min(size - 1)
        } else {
            size / 2
        };
    }
    best
}

/// Sets chunks to zero, which stands for the simplest choice.
fn clear(mut best: Vec<u8>, deadline: Instant, fails: &mut impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut size = 64;
    while size > 0 {
        let mut start = 0;
        while start < best.len() {
            let end = (start + size).min(best.len());
            if best[start..end].iter().any(|&byte| byte != 0) && Instant::now() < deadline {
                let mut cleared = best.clone();
                cleared[start..end].fill(0);
                if fails(&cleared) {
                    best = cleared;
                }
            }
            start = end;
        }
        size /= 4;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_matters_stays() {
        let entropy: Vec<u8> = (0..200).collect();
        let small = minimize(entropy, 8, |bytes| bytes.contains(&77) && bytes.contains(&150));
        assert_eq!(small, [77, 150]);
    }

    #[test]
    fn bytes_that_are_needed_but_not_read_are_cleared() {
        let small = minimize(vec![9; 40], 8, |bytes| bytes.len() >= 10 && bytes[3] == 9);
        assert_eq!(small, [0, 0, 0, 9, 0, 0, 0, 0, 0, 0]);
    }
}
