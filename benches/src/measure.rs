//! Measures both sides of a row in turns, and computes their ratios.
//!
//! Noise only adds time, so the figure of a side is its fastest run. The two sides alternate, so a
//! slow spell affects both. The ratios of single rounds show how reliable the figure is. A run that
//! takes little time is repeated, and counts with the average of the repetitions.

use anyhow::{Error, Result, ensure};

use crate::row::{Peer, Row, Run, Side, Size, Unit};

/// Large runs of fewer seconds together are not reliable.
pub const LONG_ENOUGH: f64 = 0.05;
/// How often a run is repeated at most in a round.
const MOST_REPETITIONS: f64 = 1000.0;

/// The result of a row.
pub struct Measured {
    /// The cost of an operation, in the unit of the row.
    pub ours: f64,
    pub theirs: Theirs,
    /// The fastest large runs of a round, together.
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
    /// How often each was repeated; the costs are the averages.
    repetitions: usize,
}

/// Measures a row for this many rounds.
pub fn measure(row: &Row, mut sides: Sides, rounds: usize) -> Result<Measured> {
    let mut ours = Vec::with_capacity(rounds);
    let mut theirs = Vec::with_capacity(rounds);
    let mut failure = None;
    let (mut our_repetitions, mut their_repetitions) = (1, 1);
    for number in 0..rounds {
        ours.push(round(&mut sides.ours, number, row.size, our_repetitions)?);
        our_repetitions = repetitions(row, &ours);
        if let (Some(peer), None) = (&row.peer, &failure) {
            match peer_round(&mut sides.theirs, number, peer.size, their_repetitions) {
                Ok(round) => theirs.push(round),
                Err(error) => failure = Some(error),
            }
            their_repetitions = repetitions(row, &theirs);
        }
    }
    // The first round only tells how often to repeat a run.
    let later = ours.iter().skip(1).chain(theirs.iter().skip(1));
    let shortest = later.map(|round| round.large.cost * round.repetitions as f64);
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

/// How often to repeat the runs of a side, so that the large ones are long enough together.
fn repetitions(row: &Row, rounds: &[Round]) -> usize {
    let cheapest = rounds.iter().map(|round| round.large.cost).fold(f64::INFINITY, f64::min);
    match row.unit {
        // A little more, since later runs may be faster.
        Unit::Seconds => {
            (1.5 * LONG_ENOUGH / cheapest).ceil().clamp(1.0, MOST_REPETITIONS) as usize
        }
        Unit::Bytes => 1,
    }
}

fn round(side: &mut Side, number: usize, size: Size, repetitions: usize) -> Result<Round> {
    let mut average = |size| {
        let mut run = side(number, size)?;
        for _ in 1..repetitions {
            let again = side(number, size)?;
            ensure_equal(&run, &again)?;
            run.cost += again.cost;
        }
        run.cost /= repetitions as f64;
        Ok::<_, Error>(run)
    };
    Ok(Round { tiny: average(size.tiny)?, large: average(size.large)?, repetitions })
}

fn peer_round(
    side: &mut Result<Side>,
    number: usize,
    size: Size,
    repetitions: usize,
) -> Result<Round> {
    match side {
        Ok(side) => round(side, number, size, repetitions),
        Err(error) => Err(Error::msg(format!("{error:#}"))),
    }
}

/// Checks that all rounds have the same result. If the peer has a smaller size, Ropewalk runs that
/// size too.
fn ensure_agreement(side: &mut Side, ours: &[Round], theirs: &[Round], size: Size) -> Result<()> {
    let again = round(side, 0, size, 1)?;
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
