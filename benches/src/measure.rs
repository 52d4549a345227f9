//! Measures both sides of a row in turns, and computes their ratios.
//!
//! Noise only adds time, so the figure of a side is its fastest run. The two sides alternate, so a
//! slow spell affects both. The ratios of single rounds show how reliable the figure is.

use anyhow::{Error, Result, ensure};

use crate::row::{Peer, Row, Run, Side, Size};

/// A large run of fewer seconds is not reliable.
pub const LONG_ENOUGH: f64 = 0.05;

/// The result of a row.
pub struct Measured {
    /// The cost of an operation, in the unit of the row.
    pub ours: f64,
    pub theirs: Theirs,
    /// The fastest large run.
    pub shortest: f64,
}

/// The result of the peer.
pub enum Theirs {
    None,
    /// The peer fails.
    Fails(Error),
    Compared(Comparison),
}

/// A comparison with the peer.
pub struct Comparison {
    /// The peer's cost of an operation.
    pub theirs: f64,
    /// The ratio of the fastest runs.
    pub ratio: f64,
    /// The ratios of single rounds: minimum, median, maximum.
    pub rounds: [f64; 3],
}

/// The sides of a row, prepared.
pub struct Sides {
    pub ours: Side,
    pub theirs: Result<Side>,
}

/// The runs of one side in one round.
struct Round {
    tiny: Run,
    large: Run,
}

/// Measures a row for this many rounds.
pub fn measure(row: &Row, mut sides: Sides, rounds: usize) -> Result<Measured> {
    let mut ours = Vec::with_capacity(rounds);
    let mut theirs = Vec::with_capacity(rounds);
    let mut failure = None;
    for number in 0..rounds {
        ours.push(round(&mut sides.ours, number, row.size)?);
        if let (Some(peer), None) = (&row.peer, &failure) {
            match peer_round(&mut sides.theirs, number, peer.size) {
                Ok(round) => theirs.push(round),
                Err(error) => failure = Some(error),
            }
        }
    }
    let shortest = ours.iter().chain(&theirs).map(|round| round.large.cost);
    Ok(Measured {
        ours: cheapest(&ours, row.size),
        shortest: shortest.fold(f64::INFINITY, f64::min),
        theirs: match (&row.peer, failure) {
            (None, _) => Theirs::None,
            (_, Some(error)) => Theirs::Fails(error),
            (Some(peer), None) => {
                ensure_agreement(&mut sides.ours, &ours, &theirs, peer.size)?;
                Theirs::Compared(compare(&ours, row.size, &theirs, peer))
            }
        },
    })
}

fn round(side: &mut Side, number: usize, size: Size) -> Result<Round> {
    Ok(Round { tiny: side(number, size.tiny)?, large: side(number, size.large)? })
}

fn peer_round(side: &mut Result<Side>, number: usize, size: Size) -> Result<Round> {
    match side {
        Ok(side) => round(side, number, size),
        Err(error) => Err(Error::msg(format!("{error:#}"))),
    }
}

/// Checks that all rounds have the same result. If the peer has a smaller size, Ropewalk runs that
/// size too.
fn ensure_agreement(side: &mut Side, ours: &[Round], theirs: &[Round], size: Size) -> Result<()> {
    let again = round(side, 0, size)?;
    for round in theirs {
        ensure_equal(&again.tiny, &round.tiny)?;
        ensure_equal(&again.large, &round.large)?;
    }
    for round in ours {
        ensure_equal(&ours[0].tiny, &round.tiny)?;
        ensure_equal(&ours[0].large, &round.large)?;
    }
    Ok(())
}

fn ensure_equal(a: &Run, b: &Run) -> Result<()> {
    ensure!(a.result == b.result, "results differ: {:#x} and {:#x}", a.result, b.result);
    Ok(())
}

fn compare(ours: &[Round], size: Size, theirs: &[Round], peer: &Peer) -> Comparison {
    let ratio = |(a, b)| per_operation(a, size) / per_operation(b, peer.size);
    let cheapest_of_theirs = cheapest(theirs, peer.size);
    Comparison {
        theirs: cheapest_of_theirs,
        ratio: cheapest(ours, size) / cheapest_of_theirs,
        rounds: least_middle_most(ours.iter().zip(theirs).map(ratio).collect()),
    }
}

fn per_operation(round: &Round, size: Size) -> f64 {
    (round.large.cost - round.tiny.cost) / size.operations as f64
}

fn cheapest(rounds: &[Round], size: Size) -> f64 {
    let least = |run: fn(&Round) -> f64| rounds.iter().map(run).fold(f64::INFINITY, f64::min);
    let large = least(|round| round.large.cost);
    let tiny = least(|round| round.tiny.cost);
    (large - tiny) / size.operations as f64
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
        let round = Round { tiny: run(0.1), large: run(1.1) };
        assert!((cheapest(&[round], Size::of(1001)) - 1e-3).abs() < 1e-9);
    }

    fn run(cost: f64) -> Run {
        Run { cost, result: 0 }
    }
}
