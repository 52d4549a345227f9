//! Runs the scripts in `scripts/`. Each is named after the property that it
//! shows, and must pass whole, also while stacks move, while every allocation
//! collects garbage, with a pool of one stack, with tiny stacks that do not grow, with
//! minimal ones that do, with registers allocated in a single pass, and near the last
//! generation; while every suspended stack is parked; and while all that is known of
//! stacks is checked.

mod sample;

use sample::Sample;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ropewalk::stress::{self, GENERATIONS_LEFT, Mode};
use ropewalk::{Config, Engine};
use ropewalk_wast::{Report, WastRunner};

#[test]
fn every_script_passes() {
    assert!(!scripts().is_empty(), "there are no scripts");
    run(&runner(&stress::DEFAULT.config()), &Sample::all(), |_| false);
}

/// Held while stacks move: two threads that change their mappings all the time
/// mostly wait for each other.
static MOVING: Mutex<()> = Mutex::new(());

#[test]
fn every_script_passes_while_stacks_move() {
    check_moving(stress::MOVE.config());
}

#[test]
fn every_script_passes_while_every_allocation_collects() {
    check(stress::COLLECT);
}

#[test]
fn every_script_passes_while_stacks_move_and_every_allocation_collects() {
    check_moving(stress::COLLECT_AND_MOVE.config());
}

#[test]
fn every_script_passes_with_a_pool_of_one() {
    check(stress::POOL_OF_ONE);
}

#[test]
fn every_script_passes_with_tiny_stacks() {
    check_but(&stress::SMALL_STACKS.config(), |name| name.contains("hold-a-thousand-frames"));
}

#[test]
fn every_script_passes_with_minimal_stacks_that_grow() {
    check_while_checked(stress::MINIMAL_STACKS);
}

#[test]
fn every_script_passes_with_minimal_stacks_that_grow_and_move() {
    check_moving(stress::MINIMAL_STACKS.apply(&mut stress::COLLECT_AND_MOVE.config()).clone());
}

#[test]
fn every_script_passes_with_registers_allocated_in_a_single_pass() {
    check(stress::SINGLE_PASS);
}

#[test]
fn every_script_passes_with_locals_in_memory() {
    check(stress::LOCALS_IN_MEMORY);
}

#[test]
fn every_script_passes_with_locals_in_memory_while_stacks_move_and_every_allocation_collects() {
    let _alone = MOVING.lock();
    let mut config = stress::COLLECT_AND_MOVE.config();
    // Frames are larger.
    let is_deep = |name: &str| name.contains("frames") || name.contains("exhausts");
    check_but(stress::LOCALS_IN_MEMORY.apply(&mut config).max_wasm_stack(1 << 20), is_deep);
}

#[test]
fn every_script_passes_with_locals_in_memory_where_frames_list_their_pointers() {
    check_but(stress::LOCALS_IN_MEMORY.apply(&mut stress::SNAPSHOTS.config()), |_| false);
}

#[test]
fn every_script_passes_where_frames_list_their_pointers() {
    check(stress::SNAPSHOTS);
}

/// Stores are written down at check points of calls and after each, and read again.
#[test]
fn every_script_passes_while_its_stores_are_written_down() {
    let mut config = stress::SNAPSHOTS.config();
    check_on(&runner(config.interruption(true)).with_snapshots(), |_| false);
}

/// The same, by what has changed since the snapshot before: everything is watched, however small.
#[test]
fn every_script_passes_while_what_has_changed_is_written_down() {
    let mut config = stress::WATCH.config();
    check_on(&runner(config.interruption(true)).with_delta_snapshots(), |_| false);
}

/// What is small is compared, and what is large is watched.
#[test]
fn short_scripts_pass_while_what_differs_is_written_down() {
    let config = &mut stress::SNAPSHOTS.config();
    check_on(&runner(config.interruption(true)).with_delta_snapshots(), takes_long);
}

/// Scripts that take seconds when they are written down in a stress mode, while stacks
/// are checked: they have many stacks or frames, or take many steps.
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

/// Runs the short scripts while their stores are written down.
fn check_written_down(config: &mut Config) {
    let config = stress::SNAPSHOTS.apply(config).interruption(true);
    check_on(&runner(config).with_snapshots(), takes_long);
}

fn takes_long(name: &str) -> bool {
    TAKE_LONG.iter().any(|part| name.contains(part))
}

/// The same by what has changed.
fn check_changes_written_down(config: &mut Config) {
    let config = stress::WATCH.apply(config).interruption(true);
    check_on(&runner(config).with_delta_snapshots(), takes_long);
}

#[test]
fn short_scripts_pass_while_what_has_changed_is_written_down_and_stacks_are_parked_and_checked() {
    check_changes_written_down(stress::CHECK.apply(&mut stress::PARK.config()));
}

#[test]
fn short_scripts_pass_while_what_has_changed_is_written_down_and_everything_moves() {
    let _alone = MOVING.lock();
    let config = &mut stress::MOVE.config();
    check_changes_written_down(stress::SMALL_MEMORIES.apply(config).max_wasm_stack(1 << 20));
}

#[test]
fn short_scripts_pass_while_their_stores_are_written_down_collected_and_checked() {
    check_written_down(stress::CHECK.apply(&mut stress::COLLECT.config()));
}

#[test]
fn short_scripts_pass_while_their_stores_are_written_down_and_their_stacks_move() {
    let _alone = MOVING.lock();
    check_written_down(stress::MOVE.config().max_wasm_stack(1 << 20));
}

#[test]
fn short_scripts_pass_while_their_stores_are_written_down_and_their_stacks_are_parked() {
    check_written_down(stress::CHECK.apply(&mut stress::PARK.config()));
}

#[test]
fn short_scripts_pass_while_their_stores_are_written_down_and_their_stacks_begin_minimal() {
    check_written_down(stress::CHECK.apply(&mut stress::MINIMAL_STACKS.config()));
}

#[test]
fn short_scripts_pass_while_their_stores_are_written_down_at_the_last_generations() {
    for mode in [GENERATIONS_LEFT[0], GENERATIONS_LEFT[2]] {
        check_written_down(stress::CHECK.apply(&mut mode.config()));
    }
}

#[test]
fn every_script_passes_while_stacks_are_checked() {
    check(stress::CHECK);
}

#[test]
fn every_script_passes_while_stacks_are_checked_and_every_allocation_collects() {
    check_while_checked(stress::COLLECT);
}

#[test]
fn every_script_passes_while_suspended_stacks_are_parked_and_checked() {
    check_while_checked(stress::PARK);
}

#[test]
fn every_script_passes_while_parked_stacks_begin_minimal_and_every_allocation_collects() {
    let mut config = stress::PARK.config();
    check_but(stress::MINIMAL_STACKS.apply(stress::COLLECT.apply(&mut config)), |_| false);
}

#[test]
fn every_script_passes_at_the_last_generation() {
    check_while_checked(GENERATIONS_LEFT[0]);
}

#[test]
fn every_script_passes_near_the_last_generation() {
    for mode in &GENERATIONS_LEFT[1..] {
        check_while_checked(*mode);
    }
}

#[test]
fn every_script_passes_while_functions_stop_wherever_they_can() {
    check(stress::STOP);
}

/// Calls wait wherever their functions stop, and continue.
#[test]
fn every_script_passes_while_calls_let_others_run_wherever_they_can() {
    check_on(&runner(&stress::STOP.config()).asynchronous(), |_| false);
}

/// Checks a mode in which stacks move. They may not become large then, but where a
/// script needs it: what fills a stack and moves it at each step takes long.
fn check_moving(mut config: Config) {
    let _alone = MOVING.lock();
    let is_deep = |name: &str| name == "exceptions-through-many-frames.wast";
    check_but(&config, is_deep);
    check_but(config.max_wasm_stack(1 << 20), |name| !is_deep(name));
}

fn check(mode: Mode) {
    check_but(&mode.config(), |_| false);
}

/// Checks a mode, and while it runs all that is known of stacks.
fn check_while_checked(mode: Mode) {
    check_but(stress::CHECK.apply(&mut mode.config()), |_| false);
}

/// Checks all scripts but some.
fn check_but(config: &Config, is_left_out: impl Fn(&str) -> bool) {
    check_on(&runner(config), is_left_out);
}

fn runner(config: &Config) -> WastRunner {
    WastRunner::new(&Engine::new(config).expect("the configuration is supported"))
}

/// Checks a sample of the scripts but some.
fn check_on(runner: &WastRunner, is_left_out: impl Fn(&str) -> bool) {
    run(runner, &Sample::of_this_test(), is_left_out);
}

fn run(runner: &WastRunner, sample: &Sample, is_left_out: impl Fn(&str) -> bool) {
    let (mut total, mut chosen) = (Report::default(), 0);
    for script in scripts() {
        let name = script.file_name().expect("a script has a name").to_string_lossy();
        if is_left_out(&name) || !sample.has(&name) {
            continue;
        }
        chosen += 1;
        let text = fs::read_to_string(&script).expect("a script is text");
        total.merge(runner.run_script(&name, &text));
    }
    assert!(total.passed > 0 || chosen == 0, "the scripts are empty");
    assert!(total.failures.is_empty(), "{total}");
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let entries = fs::read_dir(folder).expect("the folder exists");
    let mut scripts: Vec<_> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    scripts.sort();
    scripts
}
