//! How many columns a character takes on a terminal.

use std::ops::RangeInclusive;

/// The columns that a terminal gives to `c`, for characters that are not
/// control characters. A good approximation of Unicode's East Asian Width:
/// what it misses only shifts a caret in a line with rare characters.
pub(crate) fn columns(c: char) -> usize {
    match c {
        '\0'..'\u{300}' => 1,
        _ if ZERO.iter().any(|range| range.contains(&c)) => 0,
        _ if WIDE.iter().any(|range| range.contains(&c)) => 2,
        _ => 1,
    }
}

/// Marks that combine with the character before them, and invisible ones.
const ZERO: &[RangeInclusive<char>] = &[
    '\u{300}'..='\u{36f}',
    '\u{483}'..='\u{489}',
    '\u{591}'..='\u{5bd}',
    '\u{610}'..='\u{61a}',
    '\u{64b}'..='\u{65f}',
    '\u{1ab0}'..='\u{1aff}',
    '\u{1dc0}'..='\u{1dff}',
    '\u{200b}'..='\u{200f}',
    '\u{20d0}'..='\u{20ff}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{fe20}'..='\u{fe2f}',
    '\u{feff}'..='\u{feff}',
    '\u{e0100}'..='\u{e01ef}',
];

/// Han, kana, hangul, full-width forms and emoji.
const WIDE: &[RangeInclusive<char>] = &[
    '\u{1100}'..='\u{115f}',
    '\u{231a}'..='\u{231b}',
    '\u{23e9}'..='\u{23ec}',
    '\u{2614}'..='\u{2615}',
    '\u{2648}'..='\u{2653}',
    '\u{2705}'..='\u{2705}',
    '\u{270a}'..='\u{270b}',
    '\u{2728}'..='\u{2728}',
    '\u{274c}'..='\u{274c}',
    '\u{2753}'..='\u{2757}',
    '\u{2b50}'..='\u{2b50}',
    '\u{2e80}'..='\u{303e}',
    '\u{3041}'..='\u{a4cf}',
    '\u{a960}'..='\u{a97c}',
    '\u{ac00}'..='\u{d7a3}',
    '\u{f900}'..='\u{faff}',
    '\u{fe30}'..='\u{fe6f}',
    '\u{ff01}'..='\u{ff60}',
    '\u{ffe0}'..='\u{ffe6}',
    '\u{16fe0}'..='\u{1b2ff}',
    '\u{1f300}'..='\u{1f64f}',
    '\u{1f680}'..='\u{1f6ff}',
    '\u{1f900}'..='\u{1f9ff}',
    '\u{1fa70}'..='\u{1faff}',
    '\u{20000}'..='\u{3fffd}',
];
