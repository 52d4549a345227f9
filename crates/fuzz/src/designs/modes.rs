//! The modes in which programs run.

use crate::seeds::Random;
use ropewalk::Config;
use ropewalk::stress::{self, COLLECT, DEFAULT, GENERATIONS_LEFT};

/// A mode: all programs must do the same in each.
#[derive(Clone, Debug)]
pub struct Mode {
    pub name: String,
    pub config: Config,
    /// Whether modules are lowered first, and compiled as binaries.
    pub lowered: bool,
    /// The number of stores that run at the same time.
    pub stores: usize,
    /// The maximum depth of stacks that the mode allows, in frames.
    pub depth: usize,
    /// Whether snapshots are taken and restored.
    pub has_snapshots: bool,
}

impl Mode {
    fn new(name: &str, config: Config) -> Mode {
        let name = name.to_string();
        Mode { name, config, lowered: false, stores: 1, depth: usize::MAX, has_snapshots: false }
    }

    /// A stress mode with checked stacks.
    fn checked(mode: stress::Mode) -> Mode {
        Mode::new(mode.name, mode.config().stress(|stress| stress.check_stacks = true).clone())
    }
}

/// Modes that change code, and modes that stress stacks and heaps.
pub fn stress() -> Vec<Vec<Mode>> {
    let lowered = Mode {
        name: "lowered, in two stores".to_string(),
        lowered: true,
        stores: 2,
        ..Mode::checked(DEFAULT)
    };
    let code = vec![
        Mode::new(DEFAULT.name, DEFAULT.config()),
        Mode::checked(stress::NOT_OPTIMIZED),
        lowered,
    ];
    let stress = vec![
        Mode::checked(COLLECT),
        Mode::checked(stress::MOVE),
        Mode::checked(stress::COLLECT_AND_MOVE),
        Mode::checked(stress::POOL_OF_ONE),
        Mode { depth: 6, ..Mode::checked(stress::SMALL_STACKS) },
        Mode::checked(stress::MINIMAL_STACKS),
        Mode::checked(stress::PARK),
    ];
    vec![code, stress]
}

/// Modes in which references are at their last generations.
pub fn generations() -> Vec<Vec<Mode>> {
    let mut generations: Vec<_> = GENERATIONS_LEFT.map(Mode::checked).into();
    let mut collecting = Mode::checked(GENERATIONS_LEFT[1]);
    COLLECT.apply(&mut collecting.config);
    collecting.name = format!("{}, {}", collecting.name, COLLECT.name);
    generations.push(collecting);
    vec![generations]
}

/// All modes above.
pub fn without_snapshots() -> Vec<Vec<Mode>> {
    let mut groups = stress();
    groups.extend(generations());
    groups
}

/// Modes with snapshots and each stress mode. Small memories are compared; large ones are tracked
/// by the kernel, or all are.
pub fn with_snapshots() -> Vec<Vec<Mode>> {
    let mut modes = Vec::new();
    for stress in WITH_SNAPSHOTS.into_iter().chain(GENERATIONS_LEFT) {
        for snapshots in [stress::SNAPSHOTS, stress::WATCH] {
            let mut mode = Mode { has_snapshots: true, ..Mode::checked(stress) };
            snapshots.apply(&mut mode.config).interruption(true);
            mode.name = format!("{}, {}", stress.name, snapshots.name);
            modes.push(mode);
        }
    }
    vec![modes]
}

const WITH_SNAPSHOTS: [stress::Mode; 12] = [
    DEFAULT,
    COLLECT,
    stress::MOVE,
    stress::COLLECT_AND_MOVE,
    stress::PARK,
    stress::MINIMAL_STACKS,
    stress::POOL_OF_ONE,
    stress::STOP,
    stress::SMALL_MEMORIES,
    stress::SINGLE_PASS,
    stress::LOCALS_IN_MEMORY,
    stress::NOT_OPTIMIZED,
];

/// Chooses one mode of each group by a number, since most time goes to compiling.
pub fn one_of_each(groups: Vec<Vec<Mode>>, number: u64) -> Vec<Mode> {
    let mut random = Random::new(number);
    let one = |group: Vec<Mode>| {
        let chosen = random.below(group.len() as u64) as usize;
        group.into_iter().nth(chosen)
    };
    groups.into_iter().filter_map(one).collect()
}
