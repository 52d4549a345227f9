//! Times both sides of a row in turns, and makes ratios of the times.
//!
//! The machine is never quiet, and noise only ever adds time. So the figure of a
//! side is its cheapest run; the two sides alternate, so that a slow spell meets
//! both; and the ratios of single rounds show how far to trust the figure.

use anyhow::{Error, Result, ensure};

use crate::row::{Rival, Row, Run, Side, Size};

/// A large run that takes fewer seconds than this says little.
pub const LONG_ENOUGH: f64 = 0.05;

/// What one row came to.
pub struct Measured {
    /// The cost of an operation, in the unit of the row.
    pub ours: f64,
    pub theirs: Theirs,
    /// The cheapest of all large runs.
    pub shortest: f64,
}

/// What the other side of a row came to.
pub enum Theirs {
    Nobody,
    /// The rival cannot do this.
    Fails(Error),
    Compared(Comparison),
}

/// How the sides compare.
pub struct Comparison {
    /// The cost of an operation of theirs.
    pub theirs: f64,
    /// The cheapest of ours to the cheapest of theirs.
    pub ratio: f64,
    /// The ratios of the rounds, each by itself: least, middle, most.
    pub rounds: [f64; 3],
}

/// The sides of a row, prepared.
pub struct Sides {
    pub ours: Side,
    pub theirs: Result<Side>,
}

/// What one side did in one round.
struct Round {
    tiny: Run,
    large: Run,
}

/// Measures a row for so many rounds.
pub fn measure(row: &Row, mut sides: Sides, rounds: usize) -> Result<Measured> {
    let mut ours = Vec::with_capacity(rounds);
    let mut theirs = Vec::with_capacity(rounds);
    let mut failure = None;
    for number in 0..rounds {
        ours.push(round(&mut sides.ours, number, row.size)?);
        if let (Some(rival), None) = (&row.rival, &failure) {
            match rival_round(&mut sides.theirs, number, rival.size) {
                Ok(round) => theirs.push(round),
                Err(error) => failure = Some(error),
            }
        }
    }
    let shortest = ours.iter().chain(&theirs).map(|round| round.large.cost);
    Ok(Measured {
        ours: cheapest(&ours, row.size),
        shortest: shortest.fold(f64::INFINITY, f64::min),
        theirs: match (&row.rival, failure) {
            (None, _) => Theirs::Nobody,
            (_, Some(error)) => Theirs::Fails(error),
            (Some(rival), None) => {
                ensure_agreement(&mut sides.ours, &ours, &theirs, rival.size)?;
                Theirs::Compared(compare(&ours, row.size, &theirs, rival))
            }
        },
    })
}

fn round(side: &mut Side, number: usize, size: Size) -> Result<Round> {
    Ok(Round { tiny: side(number, size.tiny)?, large: side(number, size.large)? })
}

fn rival_round(side: &mut Result<Side>, number: usize, size: Size) -> Result<Round> {
    match side {
        Ok(side) => round(side, number, size),
        Err(error) => Err(Error::msg(format!("{error:#}"))),
    }
}

/// Every round computes the same. If the sides had different amounts to do, ours
/// does theirs once more.
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

fn compare(ours: &[Round], size: Size, theirs: &[Round], rival: &Rival) -> Comparison {
    let ratio = |(a, b)| per_operation(a, size) / per_operation(b, rival.size);
    let cheapest_of_theirs = cheapest(theirs, rival.size);
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
