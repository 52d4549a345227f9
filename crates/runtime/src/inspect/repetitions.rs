//! Folding repeated frames while a stack is walked: of a million frames, few are kept.
//!
//! ```text
//!   e d b c b c b c b c a   -->   e d   4 times: b c   a
//! ```
//!
//! If there are very many runs, the first and the last ones are kept. A lack of memory is an error,
//! since the host may be about to report one.

use std::collections::{TryReserveError, VecDeque};

/// The longest cycle that is folded.
const LONGEST_CYCLE: usize = 8;

/// Fewer repetitions than this are not folded.
const REPETITIONS: usize = 3;

/// The least number of items kept at the beginning and at the end.
const FIRST: usize = 40;
const LAST: usize = 16;

/// How many items are searched for a cycle. Of more, the oldest are set aside.
const WINDOW: usize = 48;
const SET_ASIDE: usize = WINDOW - (REPETITIONS + 1) * LONGEST_CYCLE;

/// Consecutive items, once or repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run<T> {
    /// How many items came before.
    pub number: usize,
    pub items: Vec<T>,
    pub times: usize,
}

#[derive(Debug)]
pub(super) struct Repetitions<T> {
    /// Up to this many items, every run is kept.
    most: usize,
    /// The number of items so far.
    count: usize,
    first: Vec<Run<T>>,
    last: VecDeque<Run<T>>,
    /// The current cycle, and how many items of its next repetition came already.
    cycle: Option<(Run<T>, usize)>,
    window: Vec<T>,
}

impl<T: Copy + PartialEq> Repetitions<T> {
    pub fn new(most: usize) -> Repetitions<T> {
        let (first, last, window) = (Vec::new(), VecDeque::new(), Vec::new());
        Repetitions { most, count: 0, first, last, cycle: None, window }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn push(&mut self, item: T) -> Result<(), TryReserveError> {
        self.count += 1;
        if let Some((cycle, again)) = &mut self.cycle {
            if cycle.items[*again] == item {
                *again += 1;
                if *again == cycle.items.len() {
                    cycle.times += 1;
                    *again = 0;
                }
                return Ok(());
            }
            self.end_cycle()?;
        }
        self.window.try_reserve(1)?;
        self.window.push(item);
        match self.cycle_at_end() {
            Some(length) => self.begin_cycle(length),
            None if self.window.len() >= WINDOW => self.set_aside(SET_ASIDE),
            None => Ok(()),
        }
    }

    /// The runs, in order. Some may be missing in the middle.
    pub fn finish(mut self) -> Result<Vec<Run<T>>, TryReserveError> {
        self.end_cycle()?;
        self.set_aside(self.window.len())?;
        if self.count > self.most {
            self.cut_last();
        }
        self.first.try_reserve(self.last.len())?;
        self.first.extend(self.last);
        Ok(self.first)
    }

    /// The length of a cycle that has just been repeated often enough.
    fn cycle_at_end(&self) -> Option<usize> {
        (1..=LONGEST_CYCLE).find(|length| {
            let begin = self.window.len().checked_sub((REPETITIONS + 1) * length);
            let Some(items) = begin.map(|begin| &self.window[begin..]) else { return false };
            items.iter().rev().zip(items.iter().rev().skip(*length)).all(|(a, b)| a == b)
        })
    }

    fn begin_cycle(&mut self, length: usize) -> Result<(), TryReserveError> {
        let times = REPETITIONS + 1;
        self.set_aside(self.window.len() - times * length)?;
        self.window.truncate(length);
        let number = self.count - times * length;
        let items = std::mem::take(&mut self.window);
        self.cycle = Some((Run { number, items, times }, 0));
        Ok(())
    }

    /// Keeps the current cycle. Items of an incomplete repetition become the newest items.
    fn end_cycle(&mut self) -> Result<(), TryReserveError> {
        let Some((cycle, again)) = self.cycle.take() else { return Ok(()) };
        self.window.try_reserve(again)?;
        self.window.extend_from_slice(&cycle.items[..again]);
        self.keep(cycle)
    }

    /// Keeps the oldest items of the window without folding.
    fn set_aside(&mut self, count: usize) -> Result<(), TryReserveError> {
        if count == 0 {
            return Ok(());
        }
        let number = self.count - self.window.len();
        let mut items = Vec::new();
        items.try_reserve_exact(count)?;
        items.extend(self.window.drain(..count));
        self.keep(Run { number, items, times: 1 })
    }

    fn keep(&mut self, part: Run<T>) -> Result<(), TryReserveError> {
        let first: usize = self.first.iter().map(|part| part.items.len()).sum();
        if first < FIRST {
            self.first.try_reserve(1)?;
            self.first.push(part);
            return Ok(());
        }
        self.last.try_reserve(1)?;
        self.last.push_back(part);
        let mut last: usize = self.last.iter().map(|part| part.items.len()).sum();
        while self.count > self.most && last - self.last[0].items.len() >= LAST {
            last -= self.last.pop_front().map_or(0, |part| part.items.len());
        }
        Ok(())
    }

    /// Shortens the first of the last runs so that [`LAST`] items remain, unless it is a cycle.
    fn cut_last(&mut self) {
        let last: usize = self.last.iter().map(|part| part.items.len()).sum();
        if let Some(part) = self.last.front_mut().filter(|part| part.times == 1) {
            let too_many = last.saturating_sub(LAST).min(part.items.len() - 1);
            part.items.drain(..too_many);
            part.number += too_many;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The runs of a text, as `number:letters*times`.
    fn folded(text: impl IntoIterator<Item = char>) -> String {
        let mut folded = Repetitions::new(64);
        text.into_iter().for_each(|letter| folded.push(letter).unwrap());
        let part = |part: &Run<char>| {
            let letters: String = part.items.iter().collect();
            format!("{}:{letters}*{}", part.number, part.times)
        };
        folded.finish().unwrap().iter().map(part).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn cycles_are_counted_exactly_and_what_is_around_them_is_kept() {
        assert_eq!(folded("".chars()), "");
        assert_eq!(folded("abc".chars()), "0:abc*1");
        assert_eq!(folded("xaaay".chars()), "0:xaaay*1");
        assert_eq!(folded("xaaaay".chars()), "0:x*1 1:a*4 5:y*1");
        assert_eq!(folded("edbcbcbcbca".chars()), "0:ed*1 2:bc*4 10:a*1");
        assert_eq!(folded("bcbcbcbcbcb".chars()), "0:bc*5 10:b*1");
        for times in [4, 63, 64, 1000, 1_000_000] {
            for cycle in ["d", "de", "defghijk"] {
                let text = "ab".chars().chain(cycle.chars().cycle().take(times * cycle.len()));
                let end = 2 + times * cycle.len();
                let expected = format!("0:ab*1 2:{cycle}*{times} {end}:xyz*1");
                assert_eq!(folded(text.chain("xyz".chars())), expected);
            }
        }
    }

    #[test]
    fn of_very_many_the_first_and_the_last_are_kept() {
        let letter = |number: u32| char::from_u32(0x4e00 + number).unwrap();
        for count in 0..500 {
            let mut folded = Repetitions::new(64);
            (0..count).for_each(|number| folded.push(letter(number)).unwrap());
            let parts = folded.finish().unwrap();
            let mut kept = Vec::new();
            for part in &parts {
                assert_eq!(part.times, 1);
                let numbers = part.number as u32..;
                kept.extend(numbers.zip(&part.items).map(|(number, item)| {
                    assert_eq!(*item, letter(number));
                    number
                }));
            }
            assert!(kept.is_sorted());
            assert!(count > 64 || kept.len() == count as usize, "{count}");
            assert!(kept.len() <= FIRST + SET_ASIDE + LAST + WINDOW, "{count}");
            let is_kept = |number: u32| kept.contains(&number);
            assert!((0..count.min(FIRST as u32)).all(is_kept), "{count}");
            assert!((count.saturating_sub(LAST as u32)..count).all(is_kept), "{count}");
        }
    }

    #[test]
    fn cycles_that_follow_each_other_push_out_those_in_the_middle() {
        let letters = (0..1000).flat_map(|number| [char::from_u32(0x4e00 + number).unwrap(); 9]);
        let mut folded = Repetitions::new(64);
        letters.for_each(|letter| folded.push(letter).unwrap());
        assert_eq!(folded.count(), 9000);
        let parts = folded.finish().unwrap();
        assert!(parts.iter().all(|part| part.times == 9 && part.number % 9 == 0));
        assert_eq!(parts.len(), FIRST + LAST);
        assert_eq!(parts.last().unwrap().number, 8991);
    }
}
