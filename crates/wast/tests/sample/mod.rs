//! Which scripts run in a stress mode.
//!
//! All scripts in all modes take twenty minutes. So each mode runs a random sample, which changes
//! from run to run. A test that fails prints the seed:
//!
//! ```text
//!   ROPEWALK_TESTS=all cargo test     every script in every mode
//!   ROPEWALK_SEED=7 cargo test        the sample of a seed
//! ```

use std::env;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::LazyLock;

/// How many scripts of a mode there are for each that runs.
const ONE_OF: u64 = 8;

/// The seed of this run.
static SEED: LazyLock<u64> = LazyLock::new(|| match env::var("ROPEWALK_SEED") {
    Ok(seed) => seed.parse().expect("ROPEWALK_SEED is a number"),
    Err(_) => RandomState::new().hash_one(0) % 1_000_000,
});

static RUNS_ALL: LazyLock<bool> = LazyLock::new(|| match env::var("ROPEWALK_TESTS").as_deref() {
    Ok("all") => true,
    Ok(other) => panic!("ROPEWALK_TESTS is `all` or not set, not `{other}`"),
    Err(_) => false,
});

/// The scripts of a test that run now.
pub struct Sample {
    test: String,
    runs_all: bool,
}

impl Sample {
    /// All of them.
    pub fn all() -> Sample {
        Sample { test: String::new(), runs_all: true }
    }

    /// Some of them, unless all are asked for.
    pub fn of_this_test() -> Sample {
        if !*RUNS_ALL {
            println!("a sample of the scripts runs: repeat it with ROPEWALK_SEED={}", *SEED);
        }
        let test = std::thread::current().name().unwrap_or_default().to_string();
        Sample { test, runs_all: *RUNS_ALL }
    }

    /// Whether a script runs.
    pub fn has(&self, script: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        (*SEED, &self.test, script).hash(&mut hasher);
        self.runs_all || hasher.finish() % ONE_OF == 0
    }
}
