//! The programs of each pattern return the same numbers, and the document shows their figures.

use std::fs;
use std::path::Path;

use ropewalk::{Engine, Module};
use ropewalk_example_patterns::{CHECKED, Figures, PATTERNS, Program, page, pictures};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

#[test]
fn programs_of_a_pattern_return_the_same_numbers() {
    let engine = Engine::default();
    for pattern in PATTERNS {
        for (design, source) in pattern.guests {
            let module = Module::new(&engine, source).unwrap();
            let run = |argument| Program::new(&engine, &module).unwrap().run(argument).unwrap();
            assert_eq!(CHECKED.map(run), pattern.results, "{} with {design}", pattern.name);
        }
    }
}

/// The cells of a line without sizes of frames, which belong to the compiler, and without times,
/// which belong to the machine.
fn cells(line: &str) -> Vec<&str> {
    const FRAMES: usize = 7;
    let mut cells: Vec<_> = line.split('|').map(str::trim).collect();
    if cells.len() > FRAMES + 2 {
        cells[FRAMES] = "";
    }
    cells.iter_mut().filter(|cell| cell.ends_with(" ns")).for_each(|cell| *cell = "");
    cells
}

#[test]
fn the_document_shows_the_figures() {
    let figures: Vec<Vec<Figures>> =
        PATTERNS.iter().map(|pattern| pattern.figures().unwrap()).collect();
    let document = fs::read_to_string(Path::new(DOCS).join("COMPARISON.md")).unwrap();
    let again = page(&document, &figures, |_, _| None).unwrap();
    for (line, again) in document.lines().zip(again.lines()) {
        assert_eq!(cells(line), cells(again));
    }
    assert_eq!(document.lines().count(), again.lines().count());
    for (name, picture) in pictures(&figures) {
        let file = Path::new(DOCS).join("pictures/comparison").join(&name);
        assert_eq!(fs::read_to_string(file).unwrap(), picture, "{name}");
    }
}
