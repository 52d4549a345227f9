//! Sources that are broken in many ways.

use ropewalk_text::{Script, Text};

/// Reads a source as a module and as a script, and prints its errors.
pub fn exercise(source: &str) {
    Script::new(source);
    print_errors(source, 11);
}

/// Parses a source, and prints its error or errors at every `step` bytes of the binary.
pub fn print_errors(source: &str, step: usize) {
    match Text::parse(source) {
        Err(error) => drop(error.to_string()),
        Ok(text) => {
            for offset in (0..text.binary().len() + 8).step_by(step) {
                drop(text.error_at(offset, "").to_string());
            }
        }
    }
}

/// The source with each character in turn removed, replaced by each piece, or as the end.
pub fn breakages(source: &str, pieces: &[&str]) -> impl Iterator<Item = String> {
    source.char_indices().flat_map(move |(at, c)| {
        let (before, after) = (&source[..at], &source[at + c.len_utf8()..]);
        let changed = pieces.iter().map(move |piece| format!("{before}{piece}{after}"));
        changed.chain([before.to_string()])
    })
}

/// Random sequences of words.
pub fn random_texts(words: &str, count: usize) -> impl Iterator<Item = String> {
    let words: Vec<&str> = words.split(' ').collect();
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    (0..count).map(move |_| {
        let length = random() % 40;
        let text: Vec<&str> = (0..length).map(|_| words[random() % words.len()]).collect();
        text.join(" ")
    })
}
