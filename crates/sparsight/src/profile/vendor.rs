//! Shipped profiles are of NVIDIA's GPUs, data sheets of those and AMD's: tells the names of other vendors' GPUs.

/// Words that only NVIDIA's names have.
const NVIDIA: &str = "nvidia tesla quadro geforce rtx gtx titan cuda jetson hopper ampere blackwell";

/// The vendor whose GPUs are driven through HIP.
pub(super) const AMD: &str = "AMD";

/// Vendors and words of their names; one that ends with `#` stands for the word with a number behind it and at most one letter:
/// `mi#` is `mi300` and `mi250x`.
const OTHERS: [(&str, &str); 6] = [
    (AMD, "amd ati radeon instinct firepro vega navi rocm hip mi# gfx# rx# cdna# rdna#"),
    ("Intel", "intel arc iris xe xpu sycl oneapi gaudi gaudi# habana ponte pvc battlemage alchemist"),
    ("Apple", "apple metal mps m1 m2 m3 m4 m5"),
    ("Qualcomm", "qualcomm adreno"),
    ("Arm", "mali immortalis"),
    ("Google", "google tpu tpu#"),
];

/// Vendor of a GPU, if its name tells it and it is not NVIDIA.
///
/// ```
/// assert_eq!(sparsight::profile::other_vendor("mi250x"), Some("AMD"));
/// assert_eq!(sparsight::profile::other_vendor("NVIDIA A100"), None);
/// ```
pub fn other_vendor(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let words = || lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    if is_nvidias(name) {
        return None;
    }
    let found =
        OTHERS.iter().find(|(_, known)| words().any(|word| known.split(' ').any(|one| is(word, one))));
    found.map(|(vendor, _)| *vendor)
}

/// Returns whether the name says that it is NVIDIA's.
pub(crate) fn is_nvidias(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| NVIDIA.split(' ').any(|known| known == word))
}

fn is(word: &str, known: &str) -> bool {
    let Some(begin) = known.strip_suffix('#') else { return word == known };
    let Some(number) = word.strip_prefix(begin) else { return false };
    let digits = number.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(number);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_vendors_are_recognised_by_the_name_of_the_gpu() {
        for (name, vendor) in [
            ("mi250x", "AMD"),
            ("MI300A", "AMD"),
            ("amd-mi50", "AMD"),
            ("AMD Instinct MI210", "AMD"),
            ("gfx90a", "AMD"),
            ("gfx942", "AMD"),
            ("Radeon RX7900 XTX", "AMD"),
            ("hip:0", "AMD"),
            ("intel-max-1550", "Intel"),
            ("xpu", "Intel"),
            ("Arc A770", "Intel"),
            ("gaudi3", "Intel"),
            ("Apple M3 Max", "Apple"),
            ("m2", "Apple"),
            ("mps", "Apple"),
            ("tpu-v5e", "Google"),
            ("Adreno 740", "Qualcomm"),
        ] {
            assert_eq!(other_vendor(name), Some(vendor), "{name}");
        }
        for name in [
            "NVIDIA H200",
            "Tesla M4",
            "a100",
            "Some GPU",
            "nvidia-arc",
            "abacus",
            "mine",
            "rx",
            "gfx",
            "mi",
            "midgard1",
        ] {
            assert_eq!(other_vendor(name), None, "{name}");
        }
    }
}
