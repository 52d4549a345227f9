//! Times both sides of a row in turns, and makes ratios of the times.
//!
//! The machine is never quiet, and noise only ever adds time. So the figure of a
//! side is its fastest run; the two sides alternate, so that a slow spell meets
//! both; and the ratios of single rounds show how far to trust the figure.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::row::{Row, Run, Side, Size};

/// A large run that is shorter than this says little.
pub const LONG_ENOUGH: Duration = Duration::from_millis(50);

/// What one row came to.
pub struct Measured {
    /// Seconds per operation.
    pub ours: f64,
    pub theirs: f64,
    /// The fastest of ours to the fastest of theirs.
    pub ratio: f64,
    /// The ratios of the rounds, each by itself: least, middle, most.
    pub rounds: [f64; 3],
    /// The shorter of the two sides' large runs.
    pub shortest: Duration,
}

/// What one side did in one round.
struct Round {
    tiny: Run,
    large: Run,
}

/// Prepares a row and measures it for so many rounds.
pub fn measure(row: &Row, rounds: usize) -> Result<Measured> {
    let mut sides = (row.prepare)()?;
    let mut ours = Vec::with_capacity(rounds);
    let mut theirs = Vec::with_capacity(rounds);
    for number in 0..rounds {
        ours.push(round(&mut sides.ours, number, row.size)?);
        theirs.push(round(&mut sides.theirs, number, row.size)?);
    }
    for (a, b) in ours.iter().zip(&theirs) {
        ensure_equal(&a.tiny, &b.tiny)?;
        ensure_equal(&a.large, &b.large)?;
    }
    Ok(summary(&ours, &theirs, row.size))
}

fn round(side: &mut Side, number: usize, size: Size) -> Result<Round> {
    Ok(Round { tiny: side(number, size.tiny)?, large: side(number, size.large)? })
}

fn ensure_equal(ours: &Run, theirs: &Run) -> Result<()> {
    ensure!(
        ours.result == theirs.result,
        "results differ: ours {:#x}, theirs {:#x}",
        ours.result,
        theirs.result
    );
    Ok(())
}

fn summary(ours: &[Round], theirs: &[Round], size: Size) -> Measured {
    let (a, b) = (fastest(ours, size), fastest(theirs, size));
    let ratios =
        ours.iter().zip(theirs).map(|(a, b)| per_operation(a, size) / per_operation(b, size));
    let shortest = ours.iter().chain(theirs).map(|round| round.large.time).min();
    Measured {
        ours: a,
        theirs: b,
        ratio: a / b,
        rounds: least_middle_most(ratios.collect()),
        shortest: shortest.unwrap_or_default(),
    }
}

fn per_operation(round: &Round, size: Size) -> f64 {
    difference(round.large.time, round.tiny.time, size)
}

fn fastest(rounds: &[Round], size: Size) -> f64 {
    let large = rounds.iter().map(|round| round.large.time).min().unwrap_or_default();
    let tiny = rounds.iter().map(|round| round.tiny.time).min().unwrap_or_default();
    difference(large, tiny, size)
}

fn difference(large: Duration, tiny: Duration, size: Size) -> f64 {
    (large.as_secs_f64() - tiny.as_secs_f64()) / size.operations as f64
}

fn least_middle_most(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    let middle = (values[last / 2] + values[last.div_ceil(2)]) / 2.0;
    [values[0], middle, values[last]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_an_even_number_is_between_two() {
        assert_eq!(least_middle_most(vec![4.0, 1.0, 2.0, 3.0]), [1.0, 2.5, 4.0]);
        assert_eq!(least_middle_most(vec![3.0, 1.0, 2.0]), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn the_tiny_run_is_taken_off() {
        let side = || vec![Round { tiny: run(100), large: run(1100) }];
        let measured = summary(&side(), &side(), Size::of(1001));
        assert!((measured.ours - 1e-6).abs() < 1e-12);
        assert_eq!(measured.ratio, 1.0);
    }

    fn run(micros: u64) -> Run {
        Run { time: Duration::from_micros(micros), result: 0 }
    }
}
