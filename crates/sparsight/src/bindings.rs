//! Support for bindings to other languages: devices of this machine by name, processes that were forked, and where the library lies.
//!
//! A process that was forked from one in which this library has worked has none of its parent's threads, and cannot use its GPU.
//! Programs in Rust start new processes, but hosts of a binding fork. A binding calls [`begin`] before it asks threads or a driver,
//! so that a child gets an error and does not wait for ever; locks that a thread of the parent held stay locked in the child.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};
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

/// The folder of the file that holds this code: of the program, or of the dynamic library that is loaded. `None` where the system does
/// not say.
///
/// ```text
/// 7f2e...-7f2e... r-xp 00001000 08:01 1234     /usr/lib/libsparsight.so.0.1      a line of /proc/self/maps
/// ```
/// Without `/proc` the loader is asked, which knows a program by the name alone that it was started by.
pub fn own_folder() -> Option<PathBuf> {
    let here = own_folder as *const ();
    let file = mapped_file(here as usize).or_else(|| loaded_file(here));
    Some(file.or_else(|| env::current_exe().ok())?.parent()?.to_owned())
}

/// The file that lies at this address; `None` where there is no `/proc`.
#[cfg(unix)]
fn mapped_file(address: usize) -> Option<PathBuf> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let maps = fs::read("/proc/self/maps").ok()?;
    let holds = |line: &&[u8]| {
        let range = line.split(|byte| *byte == b' ').next()?;
        let (from, to) = str::from_utf8(range).ok()?.split_once('-')?;
        let ends = usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?;
        Some(ends.contains(&address))
    };
    let line = maps.split(|byte| *byte == b'\n').find(|line| holds(line) == Some(true))?;
    let path = &line[line.iter().position(|byte| *byte == b'/')?..];
    // Of a file that was replaced since, the loader's copy stays.
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    Some(OsStr::from_bytes(path).into())
}

/// The file in which this address lies, as the loader has opened it; `None` if it says a relative path.
#[cfg(unix)]
fn loaded_file(address: *const ()) -> Option<PathBuf> {
    use std::ffi::{CStr, OsStr};
    use std::mem::MaybeUninit;
    use std::os::unix::ffi::OsStrExt;
    let mut found = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: `found` is a place for the answer. If there is one, it is written, and the name is text that lives as long as
    // the object is loaded, which this code is part of.
    let name = unsafe {
        if libc::dladdr(address.cast(), found.as_mut_ptr()) == 0 {
            return None;
        }
        CStr::from_ptr(found.assume_init().dli_fname)
    };
    let path = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
    path.is_absolute().then_some(path)
}

#[cfg(not(unix))]
fn mapped_file(_: usize) -> Option<PathBuf> {
    None
}

#[cfg(not(unix))]
fn loaded_file(_: *const ()) -> Option<PathBuf> {
    None
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
    fn the_code_of_a_program_lies_where_the_program_does() {
        let program = env::current_exe().unwrap();
        assert_eq!(own_folder().as_deref(), program.parent());
        let here = mapped_file(own_folder as *const () as usize);
        assert!(here.is_none() || here.as_ref() == Some(&program), "{here:?}");
        assert_eq!(mapped_file(0), None);
        // The name by which a test program is started is absolute.
        assert_eq!(loaded_file(own_folder as *const ()), Some(program));
        assert_eq!(loaded_file(std::ptr::null()), None);
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
