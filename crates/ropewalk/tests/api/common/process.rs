//! Tests that need a process of their own.
//!
//! A test that sets limits or signal handlers, measures memory or processor time, or ends its
//! process, starts the test program again with only that test.

use crate::sample::{SEED_VARIABLE, seed};
use std::process::{Command, Output};

/// Set in a child, to what the parent tells it.
const CHILD: &str = "ROPEWALK_TEST_CHILD";

/// What the parent tells this process, if it is a child.
pub fn told_by_parent() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// A command that runs the current test again, and tells it something.
pub fn rerun(told: &str) -> Command {
    let thread = std::thread::current();
    let test = thread.name().expect("the thread of a test has the test's name");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(CHILD, told).env(SEED_VARIABLE, seed().to_string());
    command
}

/// Runs `body` in a process of its own, and returns how that ends.
///
/// In the child this does not return.
pub fn child(body: impl FnOnce()) -> Output {
    if told_by_parent().is_some() {
        body();
        std::process::exit(0);
    }
    rerun("").output().unwrap()
}

/// Runs `body` in a process of its own, where it must not panic.
#[track_caller]
pub fn alone(body: impl FnOnce()) {
    let output = child(body);
    if !output.status.success() {
        let [stdout, stderr] = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        panic!("{}:\n{stdout}{stderr}", output.status);
    }
}

/// A value that `/proc/self/status` gives in kibibytes.
pub fn memory(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}

/// Sets a limit of this process; returns it.
pub fn set_limit(resource: libc::__rlimit_resource_t, most: u64) -> u64 {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: it only reads the limit.
    assert_eq!(unsafe { libc::setrlimit(resource, &limit) }, 0);
    most
}

/// Limits this process to this many more bytes of address space.
pub fn limit_address_space(more: u64) -> u64 {
    set_limit(libc::RLIMIT_AS, ((memory("VmSize:") as u64) << 10) + more)
}
