//! Time limit of a command: `--budget 8min`.

use sparsight_lab::evenly_spread;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// A length of time as people write it: `90s`, `8min`, `1.5h`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Budget(Duration);

impl Budget {
    pub(crate) const fn minutes(count: u64) -> Self {
        Self(Duration::from_secs(60 * count))
    }
}

/// Units with their seconds.
const UNITS: [(&str, f64); 3] = [("min", 60.0), ("h", 3600.0), ("s", 1.0)];

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unit = UNITS.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
        let parsed = unit.and_then(|(number, seconds)| Some(number.trim().parse::<f64>().ok()? * seconds));
        let duration = parsed.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        duration.map(Self).ok_or_else(|| format!("'{text}' is not a time such as 90s, 8min or 1.5h"))
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        let (unit, of) = UNITS.iter().find(|(unit, of)| *unit != "s" && seconds >= *of).unwrap_or(&UNITS[2]);
        write!(f, "{} {unit}", (100.0 * seconds / of).round() / 100.0)
    }
}

/// A budget that is being spent.
#[derive(Debug)]
pub(crate) struct Spending {
    start: Instant,
    budget: Budget,
    done: u64,
}

impl Spending {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { start: Instant::now(), budget, done: 0 }
    }

    /// Returns whether the time is over.
    pub(crate) fn is_over(&self) -> bool {
        self.start.elapsed() >= self.budget.0
    }

    /// Returns true if this much work fits into the rest, by the rate of the work before; at the beginning any work fits while there
    /// is time.
    pub(crate) fn has_room(&self, work: u64) -> bool {
        let spent = self.start.elapsed();
        let left = self.budget.0.checked_sub(spent).filter(|left| !left.is_zero());
        let Some(left) = left else { return false };
        let needed = if self.done == 0 { 0.0 } else { spent.as_secs_f64() * work as f64 / self.done as f64 };
        needed <= left.as_secs_f64()
    }

    pub(crate) fn did(&mut self, work: u64) {
        self.done += work;
    }
}

/// Orders what is sorted by size so that the first few are of all sizes, and however many are taken.
pub(crate) fn of_all_sizes<T>(sorted: Vec<T>) -> Vec<T> {
    let mut placed: Vec<(f64, T)> =
        sorted.into_iter().enumerate().map(|(at, item)| (evenly_spread(at), item)).collect();
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    placed.into_iter().map(|(_, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them_and_others_are_refused() {
        let read = |text: &str| text.parse::<Budget>().map(|budget| budget.0.as_secs_f64());
        assert_eq!(
            [read("90s"), read("8min"), read("1.5h"), read("2 min"), read("0s")],
            [90.0, 480.0, 5400.0, 120.0, 0.0].map(Ok)
        );
        for text in ["", "8", "min", "-1s", "nans", "infs", "1e300h", "8 m"] {
            assert!(read(text).is_err(), "{text}");
        }
        let shown = |text: &str| text.parse::<Budget>().unwrap().to_string();
        assert_eq!([shown("45s"), shown("480s"), shown("90min")], ["45 s", "8 min", "90 min"]);
    }

    #[test]
    fn a_spent_budget_has_no_room_and_too_long_work_does_not_fit() {
        let mut spending = Spending::new(Budget(Duration::from_secs(1000)));
        assert!(spending.has_room(u64::MAX), "no rate is known yet");
        std::thread::sleep(Duration::from_millis(20));
        spending.did(1);
        assert!(spending.has_room(100) && !spending.has_room(1_000_000_000));
        assert!(!spending.is_over());
        let spent = Spending::new(Budget(Duration::ZERO));
        assert!(spent.is_over() && !spent.has_room(0));
    }

    #[test]
    fn any_few_of_the_first_are_spread_over_all_sizes() {
        let order = of_all_sizes((0..100).collect());
        for few in [5, 10, 25] {
            let mut first = order[..few].to_vec();
            first.sort_unstable();
            let widest = first.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(widest <= 5 * 100 / few / 2, "{few}: {first:?}");
        }
        let mut all = order;
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }
}
