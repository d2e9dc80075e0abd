//! Quantities with their unit in the type: [`Bytes`] and [`Seconds`]. Stored in the base unit, scaled only
//! when printed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A size in bytes. Prints with a decimal prefix: `4.1 GB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A duration in seconds. Prints with the prefix that keeps it readable: `12.1 us`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seconds(pub f64);

/// Three significant digits, with trailing zeros kept, so that columns of numbers line up.
fn three_digits(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// A count as people read it: `1234567` as `1,234,567`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PREFIXES: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
        if self.0 < 1000 {
            return f.pad(&format!("{} B", self.0));
        }
        let mut value = self.0 as f64 / 1000.0;
        let mut prefix = 0;
        while value >= 999.5 && prefix + 1 < PREFIXES.len() {
            value /= 1000.0;
            prefix += 1;
        }
        f.pad(&format!("{} {}", three_digits(value), PREFIXES[prefix]))
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0.abs() {
            s if s >= 0.9995 => (1.0, "s"),
            s if s >= 0.9995e-3 => (1e3, "ms"),
            s if s >= 0.9995e-6 || s == 0.0 => (1e6, "us"),
            _ => (1e9, "ns"),
        };
        f.pad(&format!("{} {unit}", three_digits(self.0 * scale)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn quantities_print_with_three_digits_and_a_prefix() {
        assert_eq!(Bytes(999).to_string(), "999 B");
        assert_eq!(Bytes(4_100_000_000).to_string(), "4.10 GB");
        assert_eq!(Bytes(999_600).to_string(), "1.00 MB");
        assert_eq!(Seconds(12.1e-6).to_string(), "12.1 us");
        assert_eq!(Seconds(0.00031).to_string(), "310 us");
        assert_eq!(Seconds(2.5).to_string(), "2.50 s");
        assert_eq!(format!("{:>9}", Seconds(1e-3)), "  1.00 ms");
    }
}
