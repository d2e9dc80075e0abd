//! Numbers that people write into files, each with the range that its field can have: a value in another unit than the field's is
//! told by the power of 1,000 that it is off.

/// The values that a field can have, in SI base units, and the units in which people know them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    /// Unit of the file, and the limits in words.
    words: &'static str,
    from: f64,
    to: f64,
    /// Other units with their powers of ten, the likeliest first.
    others: Units,
}

type Units = &'static [(&'static str, i32)];

const RATES: Units = &[("GB/s", 9), ("TB/s", 12), ("MB/s", 6), ("kB/s", 3)];
const TIMES: Units = &[("us", -6), ("ns", -9), ("ms", -3)];

impl Range {
    /// Rate of a GPU's memory.
    pub(crate) const MEMORY_RATE: Self = Self::new("bytes a second, 10 GB/s to 100 TB/s", 1e10, 1e14, RATES);
    /// Rate of a link from host to GPU, between GPUs or between hosts.
    pub(crate) const LINK_RATE: Self = Self::new("bytes a second, 1 MB/s to 100 TB/s", 1e6, 1e14, RATES);
    /// An L2 cache.
    pub(crate) const L2: Self =
        Self::new("bytes, 256 KB to 1 GB", 256e3, 1.1e9, &[("MB", 6), ("kB", 3), ("GB", 9)]);
    /// A GPU's memory.
    pub(crate) const MEMORY: Self =
        Self::new("bytes, 1 MB to 10 TB", 1e6, 1e13, &[("GB", 9), ("MB", 6), ("kB", 3), ("TB", 12)]);
    /// A kernel launch.
    pub(crate) const LAUNCH: Self = Self::new("seconds, 0.1 us to 1 ms", 1e-7, 1e-3, TIMES);
    /// A latency of links and queues, which may be none.
    pub(crate) const LATENCY: Self = Self::new("seconds, 0 to 1 s", 0.0, 1.0, TIMES);

    const fn new(words: &'static str, from: f64, to: f64, others: Units) -> Self {
        Self { words, from, to, others }
    }

    /// # Errors
    /// The fault of `value`, with the value that may have been meant.
    pub(crate) fn check(&self, field: &str, value: f64) -> Result<(), String> {
        if (self.from..=self.to).contains(&value) {
            return Ok(());
        }
        let is_possible = |power: i32| (self.from..=self.to).contains(&(value * 10_f64.powi(power)));
        let meant = self.others.iter().find(|(_, power)| is_possible(*power));
        let thousands = [-3, -6, -9, -12, 3, 6, 9, 12].into_iter().find(|power| is_possible(*power));
        let about = match (meant, thousands) {
            (Some((unit, power)), _) => format!(" looks like {unit}: write {value}e{power}"),
            (None, Some(power)) => {
                format!(" is off by a power of 1,000: {} is possible", shifted(value, power))
            }
            (None, None) => " is not possible".to_owned(),
        };
        let value = if (1e-3..1e6).contains(&value) { value.to_string() } else { format!("{value:e}") };
        Err(format!("{field} = {value}{about} ({})", self.words))
    }
}

/// `value` times 10 to that power, in its own digits.
fn shifted(value: f64, power: i32) -> String {
    let text = format!("{value:e}");
    let parts =
        text.split_once('e').and_then(|(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?)));
    parts.map_or(text.clone(), |(digits, exponent)| format!("{digits}e{}", exponent + power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_values_name_the_expected_unit_or_the_limits() {
        let said = |range: Range, value| range.check("x", value).unwrap_err();
        let rate = "(bytes a second, 10 GB/s to 100 TB/s)";
        assert_eq!(
            said(Range::MEMORY_RATE, 1935.0),
            format!("x = 1935 looks like GB/s: write 1935e9 {rate}")
        );
        assert_eq!(
            said(Range::MEMORY_RATE, 2.039),
            format!("x = 2.039 looks like TB/s: write 2.039e12 {rate}")
        );
        assert_eq!(
            said(Range::MEMORY_RATE, 1.935e15),
            format!("x = 1.935e15 is off by a power of 1,000: 1.935e12 is possible {rate}")
        );
        assert_eq!(said(Range::MEMORY_RATE, 0.0), format!("x = 0e0 is not possible {rate}"));
        for impossible in [-1.0, f64::NAN, f64::INFINITY, 1e308, 1e-300] {
            assert!(said(Range::LINK_RATE, impossible).contains(" is not possible (bytes a second, 1 MB/s"));
        }
        assert!(said(Range::L2, 40.0).starts_with("x = 40 looks like MB: write 40e6 (bytes, 256 KB"));
        assert!(said(Range::L2, 40960.0).starts_with("x = 40960 looks like kB: write 40960e3"));
        assert!(said(Range::MEMORY, 80.0).starts_with("x = 80 looks like GB: write 80e9"));
        assert!(said(Range::LAUNCH, 2.0).starts_with("x = 2 looks like us: write 2e-6"));
        assert!(said(Range::LAUNCH, 2e-9).starts_with("x = 2e-9 is off by a power of 1,000: 2e-6"));
        assert!(said(Range::LATENCY, 12.0).starts_with("x = 12 looks like us: write 12e-6"));
        for (range, value) in [(Range::MEMORY_RATE, 1.935e12), (Range::L2, 40e6), (Range::LATENCY, 0.0)] {
            assert_eq!(range.check("x", value), Ok(()));
        }
    }
}
