//! Where profiles are kept that were measured because somebody named the device: found again by every program of this user.
//!
//! ```text
//! $SPARSIGHT_CACHE, else $XDG_CACHE_HOME/sparsight, else ~/.cache/sparsight
//!   profiles/cpu-8-some-cpu-3-0ghz/                   8 worker threads
//!   profiles/cuda-some-gpu-580-1-cuda-13-0-464df506/  a GPU, its driver, the kernels
//! ```

use sparsight_device::cuda::catalogue_hash;
use std::env;
use std::path::PathBuf;

/// Where the profile of a device is kept that is called by these words; `None` where the user has no folder for such things.
pub fn cached_folder(words: &[&str]) -> Option<PathBuf> {
    Some(cache()?.join("profiles").join(slug(&words.join(" "))))
}

/// Where the calibration of the GPU is kept that its driver calls `name`, by driver and kernels.
pub fn calibration_folder(name: &str, driver: &str) -> Option<PathBuf> {
    let kernels = catalogue_hash();
    let short = kernels.get(..8).unwrap_or(&kernels);
    cached_folder(&["cuda", name, driver, short])
}

fn cache() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("SPARSIGHT_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("sparsight")))
        .or_else(|| env::home_dir().map(|home| home.join(".cache").join("sparsight")))
}

/// Letters and digits in lower case, everything else as single dashes.
fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_s_name_becomes_a_folder_s_name() {
        assert_eq!(slug("Some(R) CPU @ 3.0 GHz"), "some-r-cpu-3-0-ghz");
    }
}
