//! The size of memory for this process, from which some limits take their defaults.
//!
//! It is the physical memory, or the limit of a control group (cgroup) if that is lower. Free
//! memory does not count: limits that differ from run to run would make programs fail at random.
//! Nor do the limits of `ulimit`: the kernel refuses to exceed these without ending the process.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// The bytes of memory that this process may use.
pub fn machine_memory() -> usize {
    static MEMORY: OnceLock<usize> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let allowed = allowed_by_groups(&groups, Path::new("/sys/fs/cgroup"));
        allowed.map_or(built_in(), |allowed| allowed.min(built_in()))
    })
}

/// The bytes of physical memory.
fn built_in() -> usize {
    // SAFETY: it only reads system parameters.
    let [pages, size] = [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe {
        let value = libc::sysconf(name);
        usize::try_from(value).ok()
    });
    pages.zip(size).map_or(usize::MAX, |(pages, size)| pages.saturating_mul(size))
}

/// The lowest limit of the control groups that `/proc/self/cgroup` lists.
fn allowed_by_groups(groups: &str, mounted: &Path) -> Option<usize> {
    let limits = groups.lines().filter_map(|line| {
        let [_, controllers, path] = line.splitn(3, ':').collect::<Vec<_>>().try_into().ok()?;
        let (root, file) = match controllers {
            "" => (mounted.to_path_buf(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (mounted.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        // Outer groups limit nested ones. In a container, groups outside of it are not visible.
        let group = root.join(path.trim_start_matches('/'));
        let limits = group.ancestors().take_while(|group| group.starts_with(&root));
        limits.filter_map(|group| number_in(&group.join(file))).min()
    });
    limits.min()
}

/// A number in a file; none if the file says `max`.
fn number_in(file: &Path) -> Option<usize> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_memory_and_always_as_much() {
        let memory = machine_memory();
        assert!(memory > 64 << 20 && memory <= built_in(), "{memory}");
        assert_eq!(machine_memory(), memory);
    }

    #[test]
    fn the_smallest_control_group_counts() {
        let folder = std::env::temp_dir().join(format!("ropewalk-groups-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("memory.max", "max\n");
        write("user/memory.max", "5000000\n");
        write("user/session/memory.max", "9000000\n");
        write("memory/memory.limit_in_bytes", "4000000\n");
        write("memory/box/memory.limit_in_bytes", "3000000\n");
        let allowed = |groups| allowed_by_groups(groups, &folder);
        assert_eq!(allowed("0::/\n"), None);
        assert_eq!(allowed("0::/user/session\n"), Some(5_000_000));
        assert_eq!(allowed("0::/user/session/gone\n"), Some(5_000_000));
        assert_eq!(allowed("3:cpu,memory:/box\n1:cpu:/user\n"), Some(3_000_000));
        // In a container the path is the one outside of it.
        assert_eq!(allowed("3:memory:/docker/7\n"), Some(4_000_000));
        assert_eq!(allowed("1:cpu:/user\nnonsense\n"), None);
        fs::remove_dir_all(folder).unwrap();
    }
}
