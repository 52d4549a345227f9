//! Cases that are made of turns of several stores, and lists in them.

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
        Ok(Turns { modes: u.arbitrary()?, turns: List::<T, 0, MOST>::arbitrary(u)?.0 })
    }
}

/// A list with a number of items between `LEAST` and `MOST`, which may contain such lists.
#[derive(Clone, Debug)]
pub struct List<T, const LEAST: usize, const MOST: usize>(pub Vec<T>);

impl<'a, T: Arbitrary<'a>, const LEAST: usize, const MOST: usize> Arbitrary<'a>
    for List<T, LEAST, MOST>
{
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let count = u.int_in_range(LEAST..=MOST)?;
        Ok(List((0..count).map(|_| u.arbitrary()).collect::<Result<_>>()?))
    }

    fn size_hint(_: usize) -> (usize, Option<usize>) {
        (1, None)
    }
}
