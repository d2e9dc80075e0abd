//! How many products are to come: `--iterations 1e6`.

use std::num::NonZeroU64;

/// A number of products: `1000`, `1e6`, `1,000,000` or `1_000_000`.
pub(crate) fn products(text: &str) -> Result<NonZeroU64, String> {
    let digits: String = text.chars().filter(|c| !matches!(c, ',' | '_')).collect();
    let in_words = digits.parse::<f64>().ok().filter(|n| n.fract() == 0.0 && (1.0..=1e18).contains(n));
    let number = digits.parse::<u64>().ok().or(in_words.map(|n| n as u64));
    number
        .and_then(NonZeroU64::new)
        .ok_or_else(|| format!("'{text}' is no number of products such as 1000 or 1e6"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_read_as_people_write_them() {
        let read = |text: &str| products(text).map(NonZeroU64::get);
        for text in ["1000000", "1e6", "1,000,000", "1_000_000", "1E6"] {
            assert_eq!(read(text), Ok(1_000_000));
        }
        for wrong in ["0", "-1", "1.5", "1e30", "many", "", "nan", "1e-3"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
