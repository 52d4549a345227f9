//! How the cache sees that nobody has written to one of its files.
//!
//! A file that is as the cache has left it need not be read as a whole to find accidents: its code
//! is checked anyway before it is executed. One that something else has written to is checked as a
//! whole, so that it is made anew before the program runs.
//!
//! What tells them apart is when a file was changed. The cache sets that itself, to the second in
//! which the file was used, and to nanoseconds that are derived from its contents:
//!
//! ```text
//!   second in which it was used . a hash of that second and the checksum of the file
//! ```
//!
//! Whoever else writes to it leaves other nanoseconds. Where a file system has no nanoseconds, all
//! files are checked as a whole.

use std::fs::File;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// When a file with a checksum was used, as it is marked.
fn stamp(checksum: u64, seconds: u64) -> SystemTime {
    let mut bytes = checksum.to_le_bytes().to_vec();
    bytes.extend_from_slice(&seconds.to_le_bytes());
    let hash = blake3::hash(&bytes);
    let word = u32::from_le_bytes(hash.as_bytes()[..4].try_into().expect("four bytes"));
    UNIX_EPOCH + Duration::new(seconds, word % 1_000_000_000)
}

/// Marks a file as used now, and as nobody else's. Only if it is whole.
pub(super) fn mark(file: &File, checksum: u64) -> std::io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    file.set_modified(stamp(checksum, now.as_secs()))
}

/// Whether a file was marked so, and nobody has written to it since then.
pub(super) fn is_marked(modified: SystemTime, checksum: u64) -> bool {
    let seconds = modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    modified == stamp(checksum, seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_lost_when_somebody_writes() {
        let mut file = tempfile::tempfile().unwrap();
        let modified = |file: &File| file.metadata().unwrap().modified().unwrap();
        mark(&file, 7).unwrap();
        assert!(is_marked(modified(&file), 7));
        assert!(!is_marked(modified(&file), 8));
        std::io::Write::write_all(&mut file, b"x").unwrap();
        assert!(!is_marked(modified(&file), 7));
        // As by somebody who keeps seconds only.
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000)).unwrap();
        assert!(!is_marked(modified(&file), 7));
    }
}
