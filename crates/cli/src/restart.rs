//! Starting the program again where the loader would take libraries from the current directory.
//!
//! ```text
//! LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/opt/cuda/lib64      of a variable that was not set: an empty element, then the folder
//! ```
//! An empty element means the current directory. The library loads nothing for a GPU then
//! ([`DeviceError::LoaderPath`](sparsight::device::DeviceError::LoaderPath)); but such a line stands in many a start-up file,
//! and the loader reads the variable before `main` alone. So the program begins anew, as the same process, without the
//! elements that are no places for libraries. What it is linked to, the C library, is loaded before anything here is run.

use sparsight::device::cuda::safe_loader_path;
use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Begins anew if `LD_LIBRARY_PATH` has such elements. Comes back if it has none, or if that failed: then the library says
/// what is wrong where it is needed.
pub(crate) fn with_a_safe_loader_path() {
    let (Some(path), Ok(program)) = (safe_loader_path(), env::current_exe()) else { return };
    let mut arguments = env::args_os();
    let mut command = Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    let _ = command.args(arguments).env("LD_LIBRARY_PATH", path).exec();
}
