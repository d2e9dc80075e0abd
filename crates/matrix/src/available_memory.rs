//! Memory that this process may still take: the least of what the machine, its control groups, its limits and Slurm
//! leave it.
//!
//! ```text
//! machine          MemAvailable of /proc/meminfo
//! control group    memory.max - memory.current (v2), memory.limit_in_bytes - memory.usage_in_bytes (v1), of its own group
//!                  and of every one above it; file pages that can be dropped do not count as used
//! limits           `ulimit -v` and `-d` less what is mapped
//! Slurm            SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU for each CPU, less what is resident: where the cluster kills by
//!                  polling and not by a control group
//! ```
//! Linux alone says these things; elsewhere nothing is known.

use crate::{Bytes, NoHostMemory};
use std::fs;
use std::path::{Path, PathBuf};

/// Memory that this process may still take, in bytes; `None` where the system does not say. Looked up each time,
/// in some tens of microseconds.
pub fn available_memory() -> Option<Bytes> {
    let variable = |name: &str| std::env::var(name).ok();
    available(Path::new("/"), &variable).map(Bytes)
}

/// Returns whether this process may still take so many bytes, as far as the system says: to be asked before they are.
///
/// # Errors
/// [`NoHostMemory`] if not.
pub fn check_host_memory(need: u128) -> Result<(), NoHostMemory> {
    match available_memory() {
        Some(have) if need > u128::from(have.0) => {
            Err(NoHostMemory { need: Bytes(u64::try_from(need).unwrap_or(u64::MAX)), have })
        }
        _ => Ok(()),
    }
}

/// Available memory by the files below `root`.
fn available(root: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let text = |path: &str| fs::read_to_string(root.join(path)).ok();
    let status = text("proc/self/status").unwrap_or_default();
    let used = |name: &str| kibibytes(&status, name);
    let machine = text("proc/meminfo").and_then(|text| kibibytes(&text, "MemAvailable"));
    let limits = text("proc/self/limits").unwrap_or_default();
    let limited = |name: &str, used: Option<u64>| Some(soft_limit(&limits, name)?.saturating_sub(used?));
    let slurm = || Some(slurm(variable)?.saturating_sub(used("VmRSS")?));
    let group = text("proc/self/cgroup").and_then(|groups| in_groups(&root.join("sys/fs/cgroup"), &groups));
    let all = [
        machine,
        group,
        limited("Max address space", used("VmSize")),
        limited("Max data size", used("VmData")),
        slurm(),
    ];
    all.into_iter().flatten().min()
}

/// The bytes of a line `Name:   1024 kB`.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let count: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    count.checked_mul(1024)
}

/// The bytes of a line of `/proc/self/limits`: name, soft limit, hard limit, unit.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Memory that Slurm gave the job on this node.
fn slurm(variable: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let mebibytes = |name: &str| variable(name)?.parse::<u64>().ok();
    let of_node = mebibytes("SLURM_MEM_PER_NODE");
    let of_cpus = || mebibytes("SLURM_MEM_PER_CPU")?.checked_mul(mebibytes("SLURM_CPUS_ON_NODE")?);
    // 0 stands for all that the node has.
    of_node.or_else(of_cpus).filter(|&count| count > 0)?.checked_mul(1 << 20)
}

/// The least that the control groups of `/proc/self/cgroup` leave.
fn in_groups(mounted: &Path, groups: &str) -> Option<u64> {
    let left = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let path = path.trim_start_matches('/');
        if controllers.is_empty() {
            least_above(mounted, path, &V2)
        } else if controllers.split(',').any(|controller| controller == "memory") {
            least_above(&mounted.join("memory"), path, &V1)
        } else {
            None
        }
    };
    groups.lines().filter_map(left).min()
}

/// The files of a memory controller.
struct Version {
    limit: &'static str,
    usage: &'static str,
    /// Entries of `memory.stat` that are released when other processes need memory: file pages, read once or more often, and caches of the
    /// kernel.
    droppable: [&'static str; 3],
}

const V2: Version = Version {
    limit: "memory.max",
    usage: "memory.current",
    droppable: ["inactive_file", "active_file", "slab_reclaimable"],
};
const V1: Version = Version {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    droppable: ["total_inactive_file", "total_active_file", "slab_reclaimable"],
};

/// The least that a group and those above it leave. In a container the path may be that of the host: then the group that
/// is mounted is its own.
fn least_above(mounted: &Path, path: &str, version: &Version) -> Option<u64> {
    let own = mounted.join(path);
    let groups = own.ancestors().take_while(|group| group.starts_with(mounted)).map(PathBuf::from);
    groups.filter_map(|group| left_in(&group, version)).min()
}

fn left_in(group: &Path, version: &Version) -> Option<u64> {
    let text = |name: &str| fs::read_to_string(group.join(name)).ok();
    // "max" is no limit, and neither is what v1 says for none, which is more than any machine has.
    let limit: u64 = text(version.limit)?.trim().parse().ok()?;
    let usage: u64 = text(version.usage)?.trim().parse().ok()?;
    let stat = text("memory.stat").unwrap_or_default();
    let of = |name: &str| {
        stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse::<u64>().ok())
    };
    let droppable: u64 = version.droppable.into_iter().filter_map(of).sum();
    Some(limit.saturating_sub(usage.saturating_sub(droppable)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine in a folder.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = dir.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(dir)
        }

        fn with(&self, variables: &[(&str, &str)]) -> Option<u64> {
            let value = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            available(self.0.path(), &value)
        }
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:   4000 kB\n");
    const STATUS: (&str, &str) =
        ("proc/self/status", "VmSize:\t     500 kB\nVmRSS:\t     100 kB\nVmData:\t     300 kB\n");

    #[test]
    fn free_memory_is_the_limit_without_others_and_none_if_it_is_unknown() {
        let limits = "Max address space         unlimited            unlimited            bytes     \n";
        let free = Machine::new(&[MEMINFO, STATUS, ("proc/self/limits", limits)]);
        assert_eq!(free.with(&[]), Some(4000 << 10));
        assert_eq!(Machine::new(&[]).with(&[]), None);
        assert!(available_memory().is_none_or(|left| left.0 > 0));
    }

    #[test]
    fn limits_of_the_process_count_less_what_is_mapped() {
        let limits = |space: &str, data: &str| {
            let text = format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max data size             {data}            unlimited            bytes     \n\
                 Max address space         {space}            unlimited            bytes     \n"
            );
            Machine::new(&[MEMINFO, STATUS, ("proc/self/limits", &text)]).with(&[])
        };
        assert_eq!(limits("1048576", "unlimited"), Some((1024 - 500) << 10));
        assert_eq!(limits("unlimited", "409600"), Some((400 - 300) << 10));
        assert_eq!(limits("102400", "unlimited"), Some(0), "more is mapped than the limit allows");
    }

    #[test]
    fn version_2_control_groups_count_their_parents_and_no_droppable_pages() {
        let group = |own: &str, above: &str| {
            Machine::new(&[
                MEMINFO,
                STATUS,
                ("proc/self/cgroup", "0::/job/step\n"),
                ("sys/fs/cgroup/job/step/memory.max", own),
                ("sys/fs/cgroup/job/step/memory.current", "700000\n"),
                (
                    "sys/fs/cgroup/job/step/memory.stat",
                    "anon 5\nactive_file 50000\ninactive_file 100000\nslab_reclaimable 50000\n",
                ),
                ("sys/fs/cgroup/job/memory.max", above),
                ("sys/fs/cgroup/job/memory.current", "900000\n"),
            ])
            .with(&[])
        };
        assert_eq!(group("1000000\n", "max\n"), Some(500_000));
        assert_eq!(group("max\n", "1000000\n"), Some(100_000));
        assert_eq!(group("1000000\n", "1000000\n"), Some(100_000));
        assert_eq!(group("max\n", "max\n"), Some(4000 << 10));
    }

    #[test]
    fn control_groups_of_version_1_count_also_where_a_container_sees_its_own_alone() {
        let files = |folder: &str| {
            let path = |name: &str| format!("sys/fs/cgroup/memory{folder}/{name}");
            Machine::new(&[
                MEMINFO,
                STATUS,
                ("proc/self/cgroup", "5:cpu:/docker/7\n4:memory:/docker/7\n0::/docker/7\n"),
                (&path("memory.limit_in_bytes"), "1000000\n"),
                (&path("memory.usage_in_bytes"), "600000\n"),
                (&path("memory.stat"), "total_inactive_file 100000\n"),
            ])
            .with(&[])
        };
        assert_eq!(files("/docker/7"), Some(500_000));
        assert_eq!(files(""), Some(500_000));
    }

    #[test]
    fn the_slurm_limit_counts_less_resident_memory() {
        let machine = Machine::new(&[MEMINFO, STATUS]);
        assert_eq!(machine.with(&[("SLURM_MEM_PER_NODE", "1")]), Some((1024 - 100) << 10));
        let by_cpu = [("SLURM_MEM_PER_CPU", "1"), ("SLURM_CPUS_ON_NODE", "2")];
        assert_eq!(machine.with(&by_cpu), Some((2048 - 100) << 10));
        assert_eq!(machine.with(&[("SLURM_MEM_PER_NODE", "0")]), Some(4000 << 10), "all of the node");
    }
}
