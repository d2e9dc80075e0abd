//! Facts of the processor by Linux: `/proc` and `/sys`. Elsewhere, and where a file is missing, a fact has
//! the value that says so: the name "CPU", no cache, no memory.

use sparsight_kernels::{DeviceFacts, DeviceKind};
use sparsight_matrix::{Bytes, Seconds};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const CPUS: &str = "/sys/devices/system/cpu";

/// Attributes of this machine with `threads` workers; rates are 0.
pub(super) fn read(threads: usize) -> DeviceFacts {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let release = text("/proc/sys/kernel/osrelease");
    let os = std::env::consts::OS;
    DeviceFacts {
        name: field(&text("/proc/cpuinfo"), "model name").unwrap_or("CPU").to_owned(),
        kind: DeviceKind::Cpu,
        multiprocessors: threads as u32,
        warps_per_multiprocessor: 1,
        threads_per_multiprocessor: 1,
        max_threads_per_block: None,
        l2_bytes: last_level_cache(&Path::new(CPUS).join("cpu0")).map_or(Bytes(0), |cache| cache.bytes),
        memory_bytes: memory(&text("/proc/meminfo"), "MemTotal").unwrap_or_default(),
        compute_capability: None,
        driver: format!("{os} {}", release.trim()).trim_end().to_owned(),
        copy_bytes_per_s: 0.0,
        launch_s: Seconds::default(),
        small_product_s: None,
        upload_bytes_per_s: None,
    }
}

/// Last-level caches of all CPUs together: a processor of several dies has one a die.
pub(super) fn all_last_level_caches() -> Bytes {
    let Ok(cpus) = fs::read_dir(CPUS) else { return ASSUMED };
    let caches: BTreeSet<Cache> = cpus.filter_map(|cpu| last_level_cache(&cpu.ok()?.path())).collect();
    if caches.is_empty() { ASSUMED } else { Bytes(caches.iter().map(|cache| cache.bytes.0).sum()) }
}

/// Cache that is assumed to have to be displaced where none is known: more than most machines have. Chosen.
const ASSUMED: Bytes = Bytes(64 << 20);

/// A cache; the level decides in comparisons.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cache {
    level: u32,
    /// CPUs that share it, as Linux lists them: what tells one cache from another of its level.
    shared_by: String,
    bytes: Bytes,
}

/// The cache of the highest level that the CPU under `/sys` has.
fn last_level_cache(cpu: &Path) -> Option<Cache> {
    let caches = fs::read_dir(cpu.join("cache")).ok()?;
    let read = |index: &Path| {
        let text = |name: &str| fs::read_to_string(index.join(name)).ok().map(|text| text.trim().to_owned());
        let level = text("level")?.parse().ok()?;
        Some(Cache { level, shared_by: text("shared_cpu_list")?, bytes: size(&text("size")?)? })
    };
    caches.filter_map(|index| read(&index.ok()?.path())).max()
}

/// `32768K` as Linux writes the size of a cache.
fn size(text: &str) -> Option<Bytes> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    digits.parse::<u64>().ok().map(|count| Bytes(count * scale))
}

/// Value of the first line `name : value`.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, value) = text.lines().filter_map(|line| line.split_once(':')).find(|(n, _)| n.trim() == name)?;
    Some(value.trim())
}

/// A line of `/proc/meminfo`.
fn memory(text: &str, name: &str) -> Option<Bytes> {
    let kib: u64 = field(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpuinfo_meminfo_and_cache_sizes_are_parsed() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 3.0 GHz\nmodel name\t: other\n";
        assert_eq!(field(cpuinfo, "model name"), Some("Some CPU @ 3.0 GHz"));
        assert_eq!(field("processor\t: 0\n", "model name"), None);
        let meminfo = "MemTotal:       24684096 kB\nMemFree:       1024 kB\n";
        assert_eq!(memory(meminfo, "MemTotal"), Some(Bytes(24_684_096 << 10)));
        assert_eq!(memory("", "MemTotal"), None);
        assert_eq!(size("32768K"), Some(Bytes(32 << 20)));
        assert_eq!((size("8M"), size("12"), size("x")), (Some(Bytes(8 << 20)), Some(Bytes(12)), None));
    }

    #[test]
    fn a_cache_of_a_higher_level_wins_whatever_its_size() {
        let cache = |level, kib: u64| Cache { level, shared_by: "0".to_owned(), bytes: Bytes(kib << 10) };
        assert!(cache(3, 1) > cache(2, 1024));
    }

    #[test]
    fn facts_of_this_machine_have_the_workers_asked_for() {
        let facts = read(3);
        assert_eq!((facts.kind, facts.multiprocessors), (DeviceKind::Cpu, 3));
        assert!(!facts.name.is_empty() && !facts.driver.is_empty());
        assert!(all_last_level_caches() >= facts.l2_bytes);
    }
}
