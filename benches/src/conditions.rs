//! The conditions of a measurement: date, processor, versions.

use std::time::{SystemTime, UNIX_EPOCH};

/// All packages of the workspace, with their versions.
const LOCK: &str = include_str!("../../Cargo.lock");

/// One line with date, processor and versions.
pub fn description() -> String {
    format!("{}, wasmtime {}", without_peer(), version("wasmtime"))
}

/// The same for figures of Ropewalk alone.
pub fn without_peer() -> String {
    format!(
        "{}, {} ({} threads), ropewalk {}",
        date(),
        processor(),
        std::thread::available_parallelism().map_or(1, usize::from),
        version("ropewalk"),
    )
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name"));
    model.map_or("unknown processor", |model| model.trim_start_matches([' ', '\t', ':'])).to_owned()
}

/// The version of a package in the lock file.
fn version(package: &str) -> &'static str {
    let name = format!("name = \"{package}\"\nversion = \"");
    let found = LOCK.split_once(&name).and_then(|(_, rest)| rest.split_once('"'));
    found.map_or("unknown", |(version, _)| version)
}

/// Today in UTC, as year-month-day.
fn date() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = civil(now.as_secs() / 86_400);
    format!("{year}-{month:02}-{day:02}")
}

/// The date this many days after 1970-01-01.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let mut year = 1970;
    while days >= days_of_year(year) {
        days -= days_of_year(year);
        year += 1;
    }
    let mut month = 1;
    while days >= days_of_month(year, month) {
        days -= days_of_month(year, month);
        month += 1;
    }
    (year, month, days + 1)
}

fn days_of_year(year: u64) -> u64 {
    (1..=12).map(|month| days_of_month(year, month)).sum()
}

fn days_of_month(year: u64, month: usize) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leap_years_have_their_day() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(59), (1970, 3, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_454), (2026, 1, 1));
    }

    #[test]
    fn the_lock_file_knows_both_engines() {
        assert_ne!(version("ropewalk"), "unknown");
        assert!(version("wasmtime").starts_with("48."));
    }
}
