//! Cases that are made of turns of several stores.

use arbitrary::{Arbitrary, Result, Unstructured};

/// A case: up to `MOST` turns of its stores.
#[derive(Clone, Debug)]
pub struct Turns<T, const MOST: usize> {
    /// The modes of two engines.
    pub modes: [u8; 2],
    pub turns: Vec<T>,
}

impl<'a, T: Arbitrary<'a>, const MOST: usize> Arbitrary<'a> for Turns<T, MOST> {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let (modes, count) = (u.arbitrary()?, u.int_in_range(0..=MOST)?);
        let turns = (0..count).map(|_| u.arbitrary()).collect::<Result<_>>()?;
        Ok(Turns { modes, turns })
    }
}
