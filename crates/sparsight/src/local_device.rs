//! Devices of this machine by the names that bindings take.

/// A device of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LocalDevice {
    /// The processor.
    Cpu,
    /// A GPU, counted from 0.
    Gpu(usize),
}

impl LocalDevice {
    /// `cpu`, `cuda` (the first GPU), `cuda:1`; `None` of any other text. Whether that GPU is there is not asked.
    ///
    /// ```
    /// use sparsight::LocalDevice;
    /// assert_eq!(LocalDevice::named("cuda:1"), Some(LocalDevice::Gpu(1)));
    /// assert_eq!(LocalDevice::named("nvidia-h200"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        match name.split_once(':') {
            None if name == "cpu" => Some(Self::Cpu),
            None if name == "cuda" => Some(Self::Gpu(0)),
            // A number has no sign.
            Some(("cuda", index)) if index.bytes().all(|digit| digit.is_ascii_digit()) => {
                index.parse().ok().map(Self::Gpu)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_three_kinds_of_names() {
        assert_eq!(LocalDevice::named("cpu"), Some(LocalDevice::Cpu));
        assert_eq!(LocalDevice::named("cuda"), Some(LocalDevice::Gpu(0)));
        assert_eq!(LocalDevice::named("cuda:11"), Some(LocalDevice::Gpu(11)));
        let others =
            ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:1:2", "cpu:0", "CUDA"];
        for other in others.into_iter().chain(["cuda:99999999999999999999"]) {
            assert_eq!(LocalDevice::named(other), None, "{other}");
        }
    }
}
