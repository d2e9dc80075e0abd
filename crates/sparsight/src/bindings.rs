//! Support for bindings to other languages: devices of this machine by name, and processes that were forked.
//!
//! A process that was forked from one in which this library has worked has none of its parent's threads, and cannot use its GPU.
//! Programs in Rust start new processes, but hosts of a binding fork. A binding calls [`begin`] before it asks threads or a driver,
//! so that a child gets an error and does not wait for ever; locks that a thread of the parent held stay locked in the child.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use thiserror::Error;

/// The error of a child of the process that began to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("this process was forked from one in which sparsight had begun to work")]
pub struct Forked;

/// The process that began to work, 0 as long as none did.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Records that this process works from now on, unless its parent did before it was forked.
///
/// # Errors
/// [`Forked`] in a child of the process that called this first.
pub fn begin() -> Result<(), Forked> {
    let own = process::id();
    match OWNER.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Err(owner) if owner != own => Err(Forked),
        _ => Ok(()),
    }
}

/// Tells whether this is a child of the process that began to work: it cannot use, nor release, what it has of its parent.
pub fn is_child() -> bool {
    let owner = OWNER.load(Ordering::Relaxed);
    owner != 0 && owner != process::id()
}

/// A device of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LocalDevice {
    /// The processor.
    Cpu,
    /// A GPU of NVIDIA, counted from 0.
    Gpu(usize),
    /// A GPU of AMD, counted from 0.
    Hip(usize),
}

impl LocalDevice {
    /// `cpu`, `cuda` (the first GPU), `cuda:1`, `hip`, `hip:1`; `None` of any other text. Whether that GPU is there is not asked.
    ///
    /// ```
    /// use sparsight::bindings::LocalDevice;
    /// assert_eq!(LocalDevice::named("cuda:1"), Some(LocalDevice::Gpu(1)));
    /// assert_eq!(LocalDevice::named("nvidia-h200"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        // A number has no sign.
        let number = |index: &str| {
            index.bytes().all(|digit| digit.is_ascii_digit()).then(|| index.parse().ok()).flatten()
        };
        match name.split_once(':') {
            None if name == "cpu" => Some(Self::Cpu),
            None if name == "cuda" => Some(Self::Gpu(0)),
            None if name == "hip" => Some(Self::Hip(0)),
            Some(("cuda", index)) => number(index).map(Self::Gpu),
            Some(("hip", index)) => number(index).map(Self::Hip),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A child: crates/capi/tests/forked.c.
    #[test]
    fn a_process_that_began_goes_on() {
        assert!(!is_child());
        assert_eq!((begin(), begin()), (Ok(()), Ok(())));
        assert!(!is_child());
    }

    #[test]
    fn devices_have_names_by_kind_and_number() {
        assert_eq!(LocalDevice::named("cpu"), Some(LocalDevice::Cpu));
        assert_eq!(LocalDevice::named("cuda"), Some(LocalDevice::Gpu(0)));
        assert_eq!(LocalDevice::named("cuda:11"), Some(LocalDevice::Gpu(11)));
        assert_eq!(LocalDevice::named("hip"), Some(LocalDevice::Hip(0)));
        assert_eq!(LocalDevice::named("hip:3"), Some(LocalDevice::Hip(3)));
        let others = [
            "", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:1:2", "cpu:0", "CUDA",
            "hip:",
        ];
        for other in others.into_iter().chain(["cuda:99999999999999999999"]) {
            assert_eq!(LocalDevice::named(other), None, "{other}");
        }
    }
}
