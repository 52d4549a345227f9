//! Selects the part of an expensive test that runs.
//!
//! By default such a test runs on a random sample, which changes from run to run. A failed test
//! prints the seed of its sample.
//!
//! ```text
//!   ROPEWALK_TESTS=all cargo test     everything
//!   ROPEWALK_SEED=7 cargo test        the sample of a seed
//! ```
//!
//! Test programs of all crates include this file. It is the only one that reads these variables.
#![allow(dead_code, reason = "each test program uses some of it")]

use std::env;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::LazyLock;

/// The variable that holds the seed.
pub const SEED_VARIABLE: &str = "ROPEWALK_SEED";

static SEED: LazyLock<u64> = LazyLock::new(|| match env::var(SEED_VARIABLE) {
    Ok(seed) => {
        seed.parse().unwrap_or_else(|_| panic!("{SEED_VARIABLE} is a number, not `{seed}`"))
    }
    Err(_) => RandomState::new().hash_one(0) % 1_000_000,
});

/// Whether tests run in full.
pub fn runs_all() -> bool {
    static RUNS_ALL: LazyLock<bool> =
        LazyLock::new(|| match env::var("ROPEWALK_TESTS").as_deref() {
            Ok("all") => true,
            Ok(other) => panic!("ROPEWALK_TESTS is `all` or not set, not `{other}`"),
            Err(_) => false,
        });
    *RUNS_ALL
}

/// The first number in a sample, the second in a full run.
pub fn sample_or_all<T>(sample: T, all: T) -> T {
    if runs_all() { all } else { sample }
}

/// The seed of this run.
pub fn seed() -> u64 {
    println!("this is a sample: repeat it with {SEED_VARIABLE}={}", *SEED);
    *SEED
}

/// Some of the items, at random but in their order; all of them in a full run.
pub fn sample<T>(items: &[T], count: usize) -> Vec<&T> {
    if runs_all() {
        return items.iter().collect();
    }
    let test = std::thread::current().name().map(str::to_string);
    let ranks = Ranks::new(&test, items.len());
    (0..items.len()).filter(|index| ranks.0[*index] < count).map(|index| &items[index]).collect()
}

/// A sample of pairs, such as scripts and modes: one of `ONE_OF`, or all in a full run.
///
/// Rows and columns are shuffled, and the sample takes every `ONE_OF`-th diagonal. So each pair
/// has the same chance, each row gets its share of columns, and each column its share of rows.
pub struct Pairs {
    rows: Ranks,
    columns: Ranks,
}

impl Pairs {
    /// One pair runs for each this many.
    const ONE_OF: usize = 8;

    /// The sample of a table. The name seeds it.
    pub fn new(table: &str, rows: usize, columns: usize) -> Pairs {
        let ranks = |side, len| Ranks::new(&(table, side), len);
        Pairs { rows: ranks("rows", rows), columns: ranks("columns", columns) }
    }

    /// Whether a pair runs.
    pub fn has(&self, row: usize, column: usize) -> bool {
        let diagonal = self.rows.0[row] + self.columns.0[column];
        runs_all() || diagonal.is_multiple_of(Pairs::ONE_OF)
    }
}

/// A random permutation: the rank of each index.
struct Ranks(Vec<usize>);

impl Ranks {
    fn new(purpose: &impl Hash, len: usize) -> Ranks {
        let seed = if runs_all() { 0 } else { seed() };
        let mut order: Vec<usize> = (0..len).collect();
        order.sort_by_cached_key(|index| {
            let mut hasher = DefaultHasher::new();
            (seed, purpose, index).hash(&mut hasher);
            hasher.finish()
        });
        let mut ranks = vec![0; len];
        for (rank, index) in order.into_iter().enumerate() {
            ranks[index] = rank;
        }
        Ranks(ranks)
    }
}

#[test]
fn every_row_and_column_of_a_sample_has_its_share() {
    let pairs = Pairs::new("test", 40, 16);
    let share = |count| if runs_all() { count } else { count / Pairs::ONE_OF };
    for row in 0..40 {
        assert_eq!((0..16).filter(|column| pairs.has(row, *column)).count(), share(16));
    }
    for column in 0..16 {
        assert_eq!((0..40).filter(|row| pairs.has(*row, column)).count(), share(40));
    }
}
