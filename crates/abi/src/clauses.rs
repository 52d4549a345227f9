//! Clause lists in instances, in which every clause is found in the same time.
//!
//! ```text
//!   slots: numbers of clauses, by hash     head              clauses
//!   | 0 | 3 | 0 | 0 | 2 | 4 | 0 | .. |   | ListHead |   | 1st | 2nd | 3rd | 4th | 0 |
//!                                                        ^ ControlBlock::handlers
//! ```
//!
//! A clause is a word that [`handler_word`](crate::stack::handler_word) makes. A search first
//! compares the first clause. Then it starts at the slot that [`ListHead::slot`] returns, and
//! continues from slot to slot until a slot has the number of the clause, or no number. Generated
//! code does the same as [`find`].
//!
//! The slots are filled when the instance is made, since the addresses of the tags are not known
//! before. A tag that was imported twice has equal clauses. The search finds the first of them.

use std::mem::{offset_of, size_of};

/// The words before the clauses of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ListHead {
    /// The factor for words.
    pub multiplier: u64,
    /// The first slot, counted from the end of the slots: minus their number, which is a power of
    /// two.
    pub first_slot: i64,
}

/// The offset of [`ListHead::multiplier`] from the clauses.
pub const MULTIPLIER: i32 = from_clauses(offset_of!(ListHead, multiplier));
/// The offset of [`ListHead::first_slot`] from the clauses.
pub const FIRST_SLOT: i32 = from_clauses(offset_of!(ListHead, first_slot));
/// The offset of the end of the slots from the clauses.
pub const SLOTS_END: i32 = from_clauses(0);
/// The bits of a product above this make the slot.
pub const HASH_SHIFT: u32 = 32;

/// The slots per clause, at least: enough that few clauses need another slot than their own.
const SLOTS_PER_CLAUSE: usize = 4;
/// The fewest slots, which align the head after them.
const FEWEST_SLOTS: usize = align_of::<ListHead>() / size_of::<u32>();
/// The most slots that a search probes. If no multiplier achieves that, the limit is doubled until
/// one does.
const PROBES: usize = 4;
/// How many multipliers are tried for each limit.
const MULTIPLIERS: u64 = 4;

/// The words of a list without clauses.
static EMPTY: [u64; 4] = [0, 0, -(FEWEST_SLOTS as i64) as u64, 0];

/// A list without clauses.
pub fn no_clauses() -> *const u64 {
    EMPTY.as_ptr().wrapping_add(words_before(0))
}

/// The number of slots of a list. The first clause needs none.
pub const fn slots(clauses: usize) -> usize {
    let others = clauses.saturating_sub(1);
    let slots = (others * SLOTS_PER_CLAUSE).next_power_of_two();
    if slots < FEWEST_SLOTS { FEWEST_SLOTS } else { slots }
}

/// The number of words before the clauses of a list.
pub fn words_before(clauses: usize) -> usize {
    (slots(clauses) * size_of::<u32>() + size_of::<ListHead>()) / size_of::<u64>()
}

const fn from_clauses(offset: usize) -> i32 {
    offset as i32 - size_of::<ListHead>() as i32
}

impl ListHead {
    /// Finds a head with which searches probe few slots, and fills the slots.
    pub fn new(clauses: &[u64]) -> (ListHead, Vec<u32>) {
        let mut slots = vec![0; slots(clauses.len())];
        let first_slot = -(slots.len() as i64);
        for attempt in 0.. {
            let head = ListHead { multiplier: multiplier(attempt), first_slot };
            let probes = PROBES << (attempt / MULTIPLIERS).min(usize::BITS as u64 / 2);
            if head.fill(clauses, &mut slots, probes) {
                return (head, slots);
            }
            slots.fill(0);
        }
        unreachable!("the limit of probes reaches the number of slots");
    }

    /// Gives a slot to each clause except the first. Returns false if a search would need more
    /// probes.
    fn fill(&self, clauses: &[u64], slots: &mut [u32], probes: usize) -> bool {
        let number_of_slots = slots.len();
        for (i, word) in clauses.iter().enumerate().skip(1) {
            let mut slot = self.slot(*word);
            let mut left = probes;
            loop {
                let place = &mut slots[(number_of_slots as i64 + slot) as usize];
                if *place == 0 {
                    *place = i as u32 + 1;
                    break;
                }
                left -= 1;
                if clauses[*place as usize - 1] == *word {
                    break;
                }
                if left == 0 {
                    return false;
                }
                slot = self.next(slot);
            }
        }
        true
    }

    /// The first slot to probe, counted from the end of the slots.
    pub fn slot(&self, word: u64) -> i64 {
        (word.wrapping_mul(self.multiplier) >> HASH_SHIFT) as i64 | self.first_slot
    }

    /// The slot to probe after another.
    pub fn next(&self, slot: i64) -> i64 {
        (slot + 1) | self.first_slot
    }
}

/// A list outside of an instance, which the host owns.
#[derive(Clone, Copy, Debug)]
pub struct List<W> {
    words: W,
    /// The number of words before the clauses.
    before: usize,
}

impl List<[u64; 7]> {
    /// A list of two clauses, or of one if the second is zero. With zero as the multiplier all
    /// hashes are the same, which makes it cheaper than a longer list.
    #[inline]
    pub fn short(first: u64, second: u64) -> Self {
        const FIRST_SLOT: i64 = -(slots(2) as i64);
        let number = if second == 0 { 0 } else { 2 };
        List { words: [number, 0, 0, FIRST_SLOT as u64, first, second, 0], before: 4 }
    }
}

impl List<[u64; 5]> {
    /// A list of one clause.
    #[inline]
    pub fn of_one(clause: u64) -> Self {
        const FIRST_SLOT: i64 = -(slots(1) as i64);
        List { words: [0, 0, FIRST_SLOT as u64, clause, 0], before: 3 }
    }
}

impl List<Vec<u64>> {
    /// A list of any number of clauses.
    pub fn new(clauses: &[u64]) -> Self {
        let (head, slots) = ListHead::new(clauses);
        let pairs = slots.chunks(size_of::<u64>() / size_of::<u32>());
        let mut words: Vec<_> =
            pairs.map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32).collect();
        words.extend([head.multiplier, head.first_slot as u64]);
        words.extend(clauses);
        words.push(0);
        List { words, before: words_before(clauses.len()) }
    }
}

impl<W: AsRef<[u64]>> List<W> {
    /// The clauses, with a zero after them.
    #[inline]
    pub fn clauses(&self) -> &[u64] {
        &self.words.as_ref()[self.before..]
    }

    /// The address of the clauses, for the block of a waiting stack.
    #[inline]
    pub fn as_ptr(&self) -> *const u64 {
        self.words.as_ref().as_ptr().wrapping_add(self.before)
    }
}

/// The number of a clause in a list, counted from one.
///
/// # Safety
///
/// `clauses` must be the clauses of a list.
pub unsafe fn find(clauses: *const u64, word: u64) -> Option<u64> {
    let end = clauses.wrapping_byte_offset(SLOTS_END as isize).cast::<u32>();
    // SAFETY: the head is right before the clauses.
    let head = unsafe { *end.cast::<ListHead>() };
    // SAFETY: there is a first word, and the numbers in slots do not exceed the number of clauses.
    let clause = |number: u32| unsafe { *clauses.add(number as usize - 1) };
    if clause(1) == word {
        return Some(1);
    }
    let mut slot = head.slot(word);
    loop {
        // SAFETY: the slots are right before the head, and some are zero.
        let number = unsafe { *end.offset(slot as isize) };
        if number == 0 {
            return None;
        }
        if clause(number) == word {
            return Some(number.into());
        }
        slot = head.next(slot);
    }
}

/// The clauses of a list, in order.
///
/// # Safety
///
/// `clauses` must be the clauses of a list, which must live as long as the result.
pub unsafe fn all<'a>(clauses: *const u64) -> impl Iterator<Item = u64> + 'a {
    // SAFETY: the clauses end with a zero.
    (0..).map(move |i| unsafe { *clauses.add(i) }).take_while(|word| *word != 0)
}

/// An odd pseudorandom number for each seed.
fn multiplier(seed: u64) -> u64 {
    let mut bits = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    bits = (bits ^ (bits >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (bits ^ (bits >> 32)) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_in<W: AsRef<[u64]>>(list: &List<W>, word: u64) -> Option<u64> {
        // SAFETY: it is a list.
        unsafe { find(list.as_ptr(), word) }
    }

    fn tag(i: usize) -> u64 {
        0x5555_0000_1230 + i as u64 * 32
    }

    #[test]
    fn every_clause_is_found_and_nothing_else() {
        for count in [0, 1, 2, 3, 4, 5, 64, 255, 256, 10_000] {
            let clauses: Vec<_> = (0..count).map(tag).collect();
            let list = List::new(&clauses);
            for (i, word) in clauses.iter().enumerate() {
                assert_eq!(find_in(&list, *word), Some(i as u64 + 1));
                assert_eq!(find_in(&list, word | 1), None, "another kind");
            }
            assert_eq!(find_in(&list, tag(count)), None);
        }
    }

    #[test]
    fn the_first_of_equal_clauses_is_found() {
        let clauses: Vec<_> = (0..300).map(|i| tag(i % 7)).collect();
        let list = List::new(&clauses);
        for i in 0..7 {
            assert_eq!(find_in(&list, tag(i)), Some(i as u64 + 1));
        }
        assert_eq!(find_in(&list, tag(7)), None);
    }

    #[test]
    fn one_tag_can_have_a_clause_of_each_kind() {
        let list = List::new(&[tag(0) | 1, tag(0), tag(0) | 2]);
        assert_eq!([1, 0, 2].map(|kind| find_in(&list, tag(0) | kind)), [1, 2, 3].map(Some));
    }

    #[test]
    fn no_clause_is_found_in_a_list_without_any() {
        // SAFETY: it is a list.
        assert_eq!(unsafe { find(no_clauses(), tag(1)) }, None);
    }

    #[test]
    fn a_short_list_is_like_a_long_one() {
        for [first, second] in [[tag(0), tag(1)], [tag(0), 0], [tag(0), tag(0)]] {
            let short = List::short(first, second);
            let count = if second == 0 { 1 } else { 2 };
            let long = List::new(&[first, second][..count]);
            for word in [tag(0), tag(1), tag(2)] {
                assert_eq!(find_in(&short, word), find_in(&long, word));
            }
            assert_eq!(short.clauses()[..2], [first, second]);
        }
    }

    /// The most slots that the search for a clause probes.
    fn most_probes(clauses: &[u64]) -> usize {
        let (head, slots) = ListHead::new(clauses);
        let probes = |number: usize| {
            let mut slot = head.slot(clauses[number - 1]);
            let mut probes = 1;
            while slots[(slots.len() as i64 + slot) as usize] as usize != number {
                slot = head.next(slot);
                probes += 1;
            }
            probes
        };
        (2..=clauses.len()).map(probes).max().unwrap_or(0)
    }

    #[test]
    fn searches_for_adjacent_tags_probe_few_slots() {
        for count in [2, 4, 64, 256] {
            let clauses: Vec<_> = (0..count).map(tag).collect();
            assert!(most_probes(&clauses) <= PROBES, "{count}");
        }
    }

    #[test]
    fn tags_that_share_their_slots_get_another_multiplier() {
        let first = ListHead { multiplier: multiplier(0), first_slot: -1024 };
        let crowd = (0..).map(tag).filter(|word| first.slot(*word) >= -8);
        let clauses: Vec<_> = crowd.take(256).collect();
        assert!(most_probes(&clauses) <= PROBES);
    }
}
