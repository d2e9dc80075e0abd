//! Files as the file system tells them apart, however they are named.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Device and inode of the file or folder at `path`, or of what a link there leads to; `None` if it cannot be inspected.
pub(crate) fn file_id(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|file| (file.dev(), file.ino()))
}
