//! Runs the scripts in `scripts/`, in the default mode and in stress modes.
//!
//! Each script is named after the property that it shows, and every assertion in it must pass. The
//! default mode runs all scripts. A stress mode runs a [sample](crate::sample).

use crate::sample::Pairs;
use ropewalk::stress::{self, GENERATIONS_LEFT, Mode};
use ropewalk::{Config, Engine};
use ropewalk_wast::{Report, WastRunner};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

/// Declares a test for each stress mode, and lists them.
macro_rules! stress_modes {
    ($($test:ident: $mode:expr;)*) => {
        const STRESS_TESTS: &[&str] = &[$(stringify!($test)),*];

        $(
            #[test]
            fn $test() {
                $mode.check(stringify!($test));
            }
        )*
    };
}

stress_modes! {
    every_script_passes_while_stacks_move: moving(stress::MOVE.config());
    every_script_passes_while_every_allocation_collects: plain(stress::COLLECT.config());
    every_script_passes_while_stacks_move_and_every_allocation_collects:
        moving(stress::COLLECT_AND_MOVE.config());
    every_script_passes_with_a_pool_of_one: plain(stress::POOL_OF_ONE.config());
    every_script_passes_with_tiny_stacks:
        plain(stress::SMALL_STACKS.config()).only(|name| !name.contains("hold-a-thousand-frames"));
    every_script_passes_with_minimal_stacks_that_grow: checked(&[stress::MINIMAL_STACKS]);
    every_script_passes_with_minimal_stacks_that_grow_and_move:
        moving(all_of(&[stress::COLLECT_AND_MOVE, stress::MINIMAL_STACKS]));
    every_script_passes_with_registers_allocated_in_a_single_pass:
        plain(stress::SINGLE_PASS.config());
    every_script_passes_with_locals_in_memory: plain(stress::LOCALS_IN_MEMORY.config());
    // Frames are larger in this mode.
    every_script_passes_with_locals_in_memory_while_stacks_move_and_every_allocation_collects:
        plain(with_larger_stacks(&[stress::COLLECT_AND_MOVE, stress::LOCALS_IN_MEMORY]))
            .only(|name| !name.contains("frames") && !name.contains("exhausts"))
            .one_at_a_time();
    every_script_passes_with_locals_in_memory_where_frames_list_their_pointers:
        plain(all_of(&[stress::SNAPSHOTS, stress::LOCALS_IN_MEMORY]));
    every_script_passes_where_frames_list_their_pointers: plain(stress::SNAPSHOTS.config());
    every_script_passes_while_stacks_are_checked: plain(stress::CHECK.config());
    every_script_passes_while_stacks_are_checked_and_every_allocation_collects:
        checked(&[stress::COLLECT]);
    every_script_passes_while_suspended_stacks_are_parked_and_checked: checked(&[stress::PARK]);
    every_script_passes_while_parked_stacks_begin_minimal_and_every_allocation_collects:
        plain(all_of(&[stress::PARK, stress::COLLECT, stress::MINIMAL_STACKS]));
    every_script_passes_at_the_last_generation: checked(&GENERATIONS_LEFT[..1]);
    every_script_passes_near_the_last_generation: checked(&GENERATIONS_LEFT[1..]);
    every_script_passes_while_functions_stop_wherever_they_can: plain(stress::STOP.config());
    // Asynchronous calls yield at each safepoint, and continue.
    every_script_passes_while_calls_let_others_run_wherever_they_can:
        StressMode::new([runner(&stress::STOP.config()).asynchronous()]);

    // A snapshot is taken at safepoints and after each call, and restored.
    every_script_passes_while_its_stores_are_saved: saved([Config::new()]);
    short_scripts_pass_while_their_stores_are_saved_collected_and_checked:
        saved([all_of(&[stress::COLLECT, stress::CHECK])]).only(is_short);
    short_scripts_pass_while_their_stores_are_saved_and_their_stacks_are_parked:
        saved([all_of(&[stress::PARK, stress::CHECK])]).only(is_short);
    short_scripts_pass_while_their_stores_are_saved_and_their_stacks_begin_minimal:
        saved([all_of(&[stress::MINIMAL_STACKS, stress::CHECK])]).only(is_short);
    short_scripts_pass_while_their_stores_are_saved_at_the_last_generations:
        saved([0, 2].map(|left| all_of(&[GENERATIONS_LEFT[left], stress::CHECK]))).only(is_short);
    short_scripts_pass_while_their_stores_are_saved_and_their_stacks_move:
        saved([with_larger_stacks(&[stress::MOVE])]).only(is_short).one_at_a_time();

    // The same with delta snapshots. The kernel tracks dirty pages, even of small memories.
    every_script_passes_while_changes_of_its_stores_are_saved: changes_saved(stress::WATCH.config());
    short_scripts_pass_while_changes_are_saved_and_stacks_are_parked_and_checked:
        changes_saved(all_of(&[stress::WATCH, stress::PARK, stress::CHECK])).only(is_short);
    short_scripts_pass_while_changes_are_saved_and_everything_moves:
        changes_saved(with_larger_stacks(&[stress::WATCH, stress::MOVE, stress::SMALL_MEMORIES]))
            .only(is_short)
            .one_at_a_time();
    // Pages of small memories are compared instead of tracked.
    short_scripts_pass_while_differences_are_saved: changes_saved(Config::new()).only(is_short);
}

#[test]
fn every_script_passes() {
    assert!(!SCRIPTS.is_empty(), "there are no scripts");
    let runner = runner(&Config::new());
    assert_passes(SCRIPTS.iter().map(|script| script.run(&runner)));
}

/// Parts of the names of scripts that take seconds when their stores are saved in a stress mode.
/// These scripts have many stacks or frames, or take many steps.
const TAKE_LONG: [&str; 30] = [
    "many",
    "thousand",
    "exhaust",
    "deep",
    "uses-no-stack",
    "use-no-stack",
    "offsets",
    "garbage",
    "marks-",
    "work-once",
    "wherever",
    "whenever",
    "captures-of-several",
    "stale-reference-hides",
    "exceptions-leave-them",
    "tail-calls",
    "generators",
    "continuations-clone",
    "functions-on-top",
    "first-class-freeing",
    "first-class-traps",
    "first-class-objects",
    "first-class-redirect",
    "first-class-switch",
    "bind",
    "task-parents",
    "traps-are-not-caught",
    "task-switchto",
    "the-collector-meets",
    "unwound-stacks",
];

fn is_short(name: &str) -> bool {
    !TAKE_LONG.iter().any(|part| name.contains(part))
}

// ---- stress modes

/// Whether a script with a name runs.
type Selection = fn(&str) -> bool;

/// How scripts run in a stress mode.
struct StressMode {
    /// The runners, each with the scripts that it runs.
    runners: Vec<(WastRunner, Selection)>,
    /// Whether no other such mode runs at the same time.
    is_alone: bool,
}

impl StressMode {
    /// Runs all scripts with each of these runners.
    fn new(runners: impl IntoIterator<Item = WastRunner>) -> StressMode {
        let all: Selection = |_| true;
        let runners = runners.into_iter().map(|runner| (runner, all)).collect();
        StressMode { runners, is_alone: false }
    }

    fn only(mut self, includes: Selection) -> StressMode {
        self.runners.iter_mut().for_each(|(_, included)| *included = includes);
        self
    }

    /// For modes in which stacks move: threads that constantly change mappings mostly wait for each
    /// other.
    fn one_at_a_time(self) -> StressMode {
        StressMode { is_alone: true, ..self }
    }

    /// Runs a sample of the scripts.
    fn check(&self, test: &str) {
        static ALONE: Mutex<()> = Mutex::new(());
        let _alone = self.is_alone.then(|| ALONE.lock());
        let column = STRESS_TESTS.iter().position(|name| *name == test).expect("it is listed");
        let pairs = Pairs::new("scripts and modes", SCRIPTS.len(), STRESS_TESTS.len());
        let chosen = SCRIPTS.iter().enumerate().filter(|(row, _)| pairs.has(*row, column));
        assert_passes(chosen.flat_map(|(_, script)| {
            let runners = self.runners.iter().filter(|(_, includes)| includes(&script.name));
            runners.map(|(runner, _)| script.run(runner))
        }));
    }
}

fn runner(config: &Config) -> WastRunner {
    WastRunner::new(&Engine::new(config).expect("the configuration is supported"))
}

fn plain(config: Config) -> StressMode {
    StressMode::new([runner(&config)])
}

/// All these modes at once.
fn all_of(modes: &[Mode]) -> Config {
    let mut config = Config::new();
    for mode in modes {
        mode.apply(&mut config);
    }
    config
}

/// Each of these modes, while all records of stacks are checked.
fn checked(modes: &[Mode]) -> StressMode {
    StressMode::new(modes.iter().map(|mode| runner(&all_of(&[*mode, stress::CHECK]))))
}

/// A mode in which stacks move. Only the script that needs large stacks has them, because filling a
/// stack and moving it at each step is slow.
fn moving(mut config: Config) -> StressMode {
    const DEEP: &str = "exceptions-through-many-frames.wast";
    let small: (_, Selection) = (runner(&config), |name| name != DEEP);
    let large: (_, Selection) = (runner(config.max_wasm_stack(1 << 20)), |name| name == DEEP);
    StressMode { runners: vec![small, large], is_alone: true }
}

/// All these modes at once, with a larger maximum stack size than in [`stress::MOVE`].
fn with_larger_stacks(modes: &[Mode]) -> Config {
    let mut config = all_of(modes);
    config.max_wasm_stack(1 << 20).clone()
}

/// Saves and restores stores, with each of these configurations.
fn saved(configs: impl IntoIterator<Item = Config>) -> StressMode {
    StressMode::new(configs.into_iter().map(|config| saving(config).with_snapshots()))
}

/// Saves and restores stores by delta snapshots.
fn changes_saved(config: Config) -> StressMode {
    StressMode::new([saving(config).with_delta_snapshots()])
}

fn saving(mut config: Config) -> WastRunner {
    runner(stress::SNAPSHOTS.apply(&mut config).interruption(true))
}

// ---- scripts

struct Script {
    name: String,
    text: String,
}

static SCRIPTS: LazyLock<Vec<Script>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let entries = fs::read_dir(folder).expect("the folder exists");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let script = |path: PathBuf| Script {
        name: path.file_name().expect("a script has a name").to_string_lossy().into_owned(),
        text: fs::read_to_string(&path).expect("a script is text"),
    };
    let mut scripts: Vec<Script> = paths.map(script).collect();
    scripts.sort_by(|a, b| a.name.cmp(&b.name));
    scripts
});

impl Script {
    fn run(&self, runner: &WastRunner) -> Report {
        runner.run_script(&self.name, &self.text)
    }
}

fn assert_passes(reports: impl Iterator<Item = Report>) {
    let mut total = Report::default();
    let count = reports.map(|report| total.merge(report)).count();
    assert!(total.passed > 0 || count == 0, "the scripts assert nothing");
    assert!(total.failures.is_empty(), "{total}");
}
