//! The profiles that are shipped hold times of kernels, and a kernel that becomes other machine code has other times: it is to be
//! measured again, or to be written so that it is what was measured. Needs NVRTC 13.0, with which profiles were measured, but no GPU.
//!
//! `SPARSIGHT_WRITE_MEASURED=1` writes the file again, after the changed kernels were measured.

use sparsight_device::DeviceError;
use sparsight_device::cuda::{compile, nvrtc_version};
use sparsight_kernels::{Candidate, every_candidate, source};
use sparsight_matrix::Dtype;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A kernel and a value type, and a digest of its machine code for `sm_90` in all block sizes, with offsets of 32 bits, a line each.
const MEASURED: &str = include_str!("../kernels_as_measured.txt");

/// Version of NVRTC with which profiles were measured.
pub(crate) const NVRTC: (u32, u32) = (13, 0);

/// FNV-1a: the same on every machine and by every compiler.
fn digest(bytes: &[u8], from: u64) -> u64 {
    bytes.iter().fold(from, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The machine code of a CUBIN, kernel after kernel: sections `.text.NAME` of an ELF file of 64 bits. What lies around it names
/// files and the compiler.
fn machine_code(cubin: &[u8]) -> Vec<&[u8]> {
    let number = |at: usize, bytes: usize| {
        cubin[at..at + bytes].iter().rev().fold(0_usize, |number, &byte| number << 8 | usize::from(byte))
    };
    assert_eq!(&cubin[..5], b"\x7fELF\x02", "an ELF file of 64 bits");
    let (headers, size, count, names) = (number(0x28, 8), number(0x3a, 2), number(0x3c, 2), number(0x3e, 2));
    let header = |section: usize| headers + section * size;
    let (offset, length) = (|at: usize| number(at + 0x18, 8), |at: usize| number(at + 0x20, 8));
    let names = offset(header(names));
    let is_code = |at: &usize| cubin[names + number(*at, 4)..].starts_with(b".text.");
    (0..count).map(header).filter(is_code).map(|at| &cubin[offset(at)..offset(at) + length(at)]).collect()
}

/// `csr-balanced/i2048 f64` with the digest of all block sizes, in parallel.
fn digests() -> BTreeMap<String, u64> {
    let all: Vec<Candidate> =
        [Dtype::F32, Dtype::F64, Dtype::Mixed].into_iter().flat_map(every_candidate).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(&candidate) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(source) = source(&candidate, 4) else { continue };
            let cubin = compile(&source, (9, 0)).unwrap_or_else(|error| panic!("{candidate}: {error}"));
            let code = machine_code(&cubin);
            let is_there = |entry: &String| cubin.windows(entry.len()).any(|bytes| bytes == entry.as_bytes());
            assert!(
                !code.is_empty() && source.entry_points.iter().all(is_there),
                "{candidate}: a kernel is missing"
            );
            done.push((
                candidate,
                code.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, code| digest(code, hash)),
            ));
        }
        done
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<(Candidate, u64)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    done.sort_unstable();
    let mut digests = BTreeMap::new();
    for (candidate, hash) in done {
        let of_all = digests.entry(format!("{} {}", candidate.kernel, candidate.dtype)).or_default();
        *of_all = digest(&hash.to_le_bytes(), *of_all);
    }
    digests
}

#[test]
fn every_kernel_is_the_machine_code_that_was_measured() {
    match nvrtc_version() {
        Err(error @ (DeviceError::NoNvrtc { .. } | DeviceError::LoaderPath { .. })) => {
            assert!(std::env::var_os("SPARSIGHT_REQUIRE_NVRTC").is_none(), "{error}");
            return println!("skipped: {error}");
        }
        Ok(version) if version != NVRTC => {
            let other = format!("NVRTC {version:?} is not {NVRTC:?}");
            assert!(std::env::var_os("SPARSIGHT_REQUIRE_NVRTC").is_none(), "{other}");
            return println!("skipped: {other}");
        }
        other => drop(other.unwrap()),
    }
    let now = digests();
    if std::env::var_os("SPARSIGHT_WRITE_MEASURED").is_some() {
        let mut text = String::new();
        for (kernel, hash) in &now {
            let _ = writeln!(text, "{kernel} {hash:016x}");
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels_as_measured.txt");
        return std::fs::write(path, text).unwrap();
    }
    let measured: BTreeMap<String, u64> = MEASURED
        .lines()
        .map(|line| {
            let (kernel, hash) = line.rsplit_once(' ').unwrap();
            (kernel.to_owned(), u64::from_str_radix(hash, 16).unwrap())
        })
        .collect();
    let others: Vec<&String> =
        now.iter().filter(|&(k, hash)| measured.get(k) != Some(hash)).map(|(k, _)| k).collect();
    let gone: Vec<&String> = measured.keys().filter(|kernel| !now.contains_key(*kernel)).collect();
    assert!(
        others.is_empty() && gone.is_empty(),
        "not what the times of profiles/ are of: {others:?}, no longer there: {gone:?}. Measure them again on each of these GPUs and \
         set SPARSIGHT_WRITE_MEASURED=1, or write them so that the compiler makes of them what it did"
    );
}

#[test]
fn other_machine_code_has_another_digest() {
    assert_eq!(digest(b"", 0xcbf2_9ce4_8422_2325), 0xcbf2_9ce4_8422_2325);
    assert_eq!(digest(b"a", 0xcbf2_9ce4_8422_2325), 0xaf63_dc4c_8601_ec8c, "of the authors' test vectors");
    assert_ne!(digest(&[1, 0], 7), digest(&[0, 1], 7));
}
