//! The same programs in every design of stack switching, and a comparison of them.
//!
//! A pattern is one task, such as a generator. Each design that can express it has a program in
//! `guests/PATTERN/DESIGN.wat`, which exports `run : [i64] -> [i64]`. The programs of a pattern
//! return the same numbers. [`page()`] writes the figures of all programs into
//! `docs/COMPARISON.md`.

mod figures;
mod host;
mod page;

pub use figures::Figures;
pub use host::Program;
pub use page::{page, pictures, replaced};

/// A task that programs of several designs do.
pub struct Pattern {
    /// The name of its folder, and of its table.
    pub name: &'static str,
    /// What `run` of n does n times.
    pub unit: &'static str,
    /// The argument of the run that is drawn.
    pub drawn: i64,
    /// The argument of the run that is timed.
    pub timed: i64,
    /// The results of runs with the arguments 1, 10 and 100.
    pub results: [i64; 3],
    /// The programs, with the names of their designs.
    pub guests: &'static [(&'static str, &'static str)],
}

/// The arguments of the checked runs.
pub const CHECKED: [i64; 3] = [1, 10, 100];

/// The programs of a pattern.
macro_rules! guests {
    ($pattern:literal: $($design:literal)*) => {
        &[$((
            $design,
            include_str!(concat!("../guests/", $pattern, "/", $design, ".wat")),
        )),*]
    };
    ($pattern:literal) => {
        guests!($pattern: "continuations" "bag" "tasks" "fibers" "first-class")
    };
}

/// All patterns, in the order of the document.
pub const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "generator",
        unit: "an element",
        drawn: 3,
        timed: 20_000_000,
        results: [1, 385, 338_350],
        guests: guests!("generator"),
    },
    Pattern {
        name: "symmetric",
        unit: "a pass",
        drawn: 4,
        timed: 20_000_000,
        results: [1, 15, 150],
        guests: guests!("symmetric"),
    },
    Pattern {
        name: "async",
        unit: "a promise of each program",
        drawn: 2,
        timed: 300_000,
        results: [18, 147_364_804_865_226, -2_866_076_281_412_375_464],
        guests: guests!("async"),
    },
    Pattern {
        name: "threads",
        unit: "a turn of each thread",
        drawn: 2,
        timed: 3_000_000,
        results: [58, 8_814_307_457_816_273_380, -8_107_803_214_371_646_104],
        guests: guests!("threads"),
    },
    Pattern {
        name: "arena-join",
        unit: "10 pauses of the children",
        drawn: 1,
        timed: 1_500_000,
        results: [58, 580, 5800],
        guests: guests!("arena-join"),
    },
    Pattern {
        name: "arena-race",
        unit: "a pause of each child",
        drawn: 2,
        timed: 3_000_000,
        results: [1006, 10_033, 100_303],
        guests: guests!("arena-race"),
    },
    Pattern {
        name: "cancellation",
        unit: "a canceled computation",
        drawn: 1,
        timed: 100_000,
        results: [3, 30, 300],
        guests: guests!("cancellation"),
    },
    Pattern {
        name: "effects",
        unit: "a `get` and a `log`",
        drawn: 2,
        timed: 2_000_000,
        results: [1, 385, 338_350],
        guests: guests!("effects"),
    },
    Pattern {
        name: "choice",
        unit: "8 numbers, 7 copies",
        drawn: 1,
        timed: 300_000,
        results: [28, 280, 2800],
        guests: guests!("choice": "continuations" "bag" "first-class"),
    },
];
