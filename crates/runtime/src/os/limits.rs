//! Finds which OS limit made `mmap` fail.
//!
//! The kernel reports the same error for all of them. What `/proc` says about the process right
//! after a failure shows which limit was reached.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};

/// The reason why the kernel gives no more address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OsLimit {
    #[error("a process may have at most {0} mappings (sysctl vm.max_map_count)")]
    Mappings(usize),
    #[error("the address space of this process is limited to {0} bytes (ulimit -v)")]
    Size(u64),
    #[error("the data of this process is limited to {0} bytes (ulimit -d)")]
    Data(u64),
    #[error("the kernel does not overcommit memory (sysctl vm.overcommit_memory is 2)")]
    Promises,
    #[error("this process has no {0} contiguous bytes of address space left")]
    Piece(usize),
    #[error("the kernel has no memory left")]
    Memory,
}

/// How many mappings a failed call needed, which are released before they are counted.
const SPLITS: usize = 2;

impl OsLimit {
    /// The limit that this many more bytes would exceed.
    pub fn found(bytes: usize) -> OsLimit {
        let mappings = Mappings::of_process();
        let most = number_in("/proc/sys/vm/max_map_count").unwrap_or(usize::MAX);
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let exceeded = |field, limit| {
            let limit = resource_limit(limit);
            let has = kilobytes(&status, field).saturating_mul(1024);
            (has.saturating_add(bytes as u64) > limit).then_some(limit)
        };
        if mappings.count + SPLITS >= most {
            OsLimit::Mappings(most)
        } else if let Some(most) = exceeded("VmSize:", libc::RLIMIT_AS) {
            OsLimit::Size(most)
        } else if let Some(most) = exceeded("VmData:", libc::RLIMIT_DATA) {
            OsLimit::Data(most)
        } else if number_in("/proc/sys/vm/overcommit_memory") == Some(2) {
            OsLimit::Promises
        } else if mappings.largest_gap < bytes {
            OsLimit::Piece(bytes)
        } else {
            OsLimit::Memory
        }
    }
}

/// Adds the OS limit to the error of a request for this many bytes.
pub(crate) fn explain(error: io::Error, bytes: usize) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ENOMEM) => {
            io::Error::new(io::ErrorKind::OutOfMemory, OsLimit::found(bytes).to_string())
        }
        _ => error,
    }
}

struct Mappings {
    count: usize,
    largest_gap: usize,
}

/// Where the address space of a process ends.
const END: usize = 0x7fff_ffff_f000;

impl Mappings {
    fn of_process() -> Mappings {
        match File::open("/proc/self/maps") {
            Ok(file) => Mappings::read(BufReader::new(file)),
            Err(_) => Mappings { count: 0, largest_gap: usize::MAX },
        }
    }

    /// Reads lines such as `7f0000000000-7f0000001000 ...`, in order.
    fn read(lines: impl BufRead) -> Mappings {
        let mut mappings = Mappings { count: 0, largest_gap: 0 };
        let mut end = 0;
        for line in lines.lines().map_while(Result::ok) {
            let Some((from, to)) = range(&line).filter(|(_, to)| *to <= END) else { continue };
            mappings.count += 1;
            mappings.largest_gap = mappings.largest_gap.max(from.saturating_sub(end));
            end = to;
        }
        mappings.largest_gap = mappings.largest_gap.max(END - end);
        mappings
    }
}

fn range(line: &str) -> Option<(usize, usize)> {
    let (from, to) = line.split_once(' ')?.0.split_once('-')?;
    Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
}

fn number_in(file: &str) -> Option<usize> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// A field of `/proc/self/status`, such as `VmSize:  1234 kB`.
fn kilobytes(status: &str, field: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}

fn resource_limit(resource: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: it only writes the record.
    match unsafe { libc::getrlimit(resource, &mut limit) } {
        0 => limit.rlim_cur,
        _ => libc::RLIM_INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_counted_and_the_gaps_between_them_measured() {
        let maps = "10000-20000 r--p 00000000 00:00 0\n\
                    20000-30000 rw-p 00000000 00:00 0 [heap]\n\
                    7fffff000000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n\
                    ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";
        let mappings = Mappings::read(maps.as_bytes());
        assert_eq!((mappings.count, mappings.largest_gap), (3, 0x7fff_fefd_0000));
        assert_eq!(Mappings::read("".as_bytes()).largest_gap, END);
    }

    #[test]
    fn the_status_of_a_process_has_kilobytes() {
        let status = "Name:\tx\nVmPeak:\t   20 kB\nVmSize:\t   12345 kB\n";
        assert_eq!(kilobytes(status, "VmSize:"), 12345);
        assert_eq!(kilobytes(status, "VmData:"), 0);
    }

    #[test]
    fn an_error_that_is_not_about_memory_is_said_as_it_is() {
        let denied = io::Error::from_raw_os_error(libc::EACCES);
        let said = denied.to_string();
        assert_eq!(explain(denied, 1).to_string(), said);
        let nothing = io::Error::from_raw_os_error(libc::ENOMEM);
        assert_eq!(
            explain(nothing, usize::MAX).to_string(),
            "this process has no 18446744073709551615 contiguous bytes of address space left"
        );
    }
}
