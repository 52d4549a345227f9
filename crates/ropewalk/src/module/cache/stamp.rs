//! Marks on cache files, which show that no other program has written to them.
//!
//! Code is checked before it runs, so an unchanged file need not be checked when it is opened. If
//! another program has written to a file, all of it is checked first, so that a damaged module is
//! compiled again before the program runs.
//!
//! The mark is the modification time. The cache sets it to the second of the last use, with
//! nanoseconds that are derived from the contents:
//!
//! ```text
//!   second of the last use . hash of that second and of the file's checksum
//! ```
//!
//! Another writer leaves other nanoseconds. On a file system without nanoseconds all files are
//! checked.

use std::fs::File;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The mark of a file with this checksum, for a second of use.
fn stamp(checksum: u64, seconds: u64) -> SystemTime {
    let mut bytes = checksum.to_le_bytes().to_vec();
    bytes.extend_from_slice(&seconds.to_le_bytes());
    let hash = blake3::hash(&bytes);
    let word = u32::from_le_bytes(hash.as_bytes()[..4].try_into().expect("four bytes"));
    UNIX_EPOCH + Duration::new(seconds, word % 1_000_000_000)
}

/// Marks a file as used now. It must be complete and undamaged.
pub(super) fn mark(file: &File, checksum: u64) -> std::io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    file.set_modified(stamp(checksum, now.as_secs()))
}

/// Whether a file was marked, and not changed since.
pub(super) fn is_marked(modified: SystemTime, checksum: u64) -> bool {
    let seconds = modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    modified == stamp(checksum, seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_to_a_file_removes_its_mark() {
        let mut file = tempfile::tempfile().unwrap();
        let modified = |file: &File| file.metadata().unwrap().modified().unwrap();
        mark(&file, 7).unwrap();
        assert!(is_marked(modified(&file), 7));
        assert!(!is_marked(modified(&file), 8));
        std::io::Write::write_all(&mut file, b"x").unwrap();
        assert!(!is_marked(modified(&file), 7));
        // As on a file system without nanoseconds.
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000)).unwrap();
        assert!(!is_marked(modified(&file), 7));
    }
}
