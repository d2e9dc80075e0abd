//! Search for the size from which on a condition holds, where the size follows from a whole number: by steps, then by bisection.

use std::ops::RangeInclusive;

/// Growth of the non-zeros in each step until the condition holds. Chosen: no size is tried that has much more than needed.
const STEP: u64 = 4;

/// Sizes this near are one. Chosen: what is predicted is off by more.
const NEAR: f64 = 1.05;

/// The smallest of `numbers`, to within 5 % of its size, of which `is_so` holds, if that holds from some number on: `None` if it holds
/// of none that was tried, the largest among them. `size` says how large the matrix of a number is, and grows with it. `is_so` is asked
/// of about a dozen numbers, none of which has more than four times the size of the answer.
///
/// # Errors
/// Errors of `is_so`.
pub fn break_even<E>(
    numbers: RangeInclusive<u64>,
    size: impl Fn(u64) -> u64,
    mut is_so: impl FnMut(u64) -> Result<bool, E>,
) -> Result<Option<u64>, E> {
    let (mut below, last) = numbers.into_inner();
    if below > last || is_so(below)? {
        return Ok(Some(below).filter(|&below| below <= last));
    }
    let mut from = loop {
        if below == last {
            return Ok(None);
        }
        let most = size(below).saturating_mul(STEP);
        let next = largest_where(below + 1..=last, |number| size(number) <= most);
        if is_so(next)? {
            break next;
        }
        below = next;
    };
    while from - below > 1 && size(from) as f64 > NEAR * size(below) as f64 {
        let middle = (size(below) as f64 * size(from) as f64).sqrt();
        let number = largest_where(below + 1..=from - 1, |number| size(number) as f64 <= middle);
        if is_so(number)? {
            from = number;
        } else {
            below = number;
        }
    }
    Ok(Some(from))
}

/// The largest of these numbers of which `holds`, which it does up to some number; the first if it never does.
pub fn largest_where(numbers: RangeInclusive<u64>, holds: impl Fn(u64) -> bool) -> u64 {
    let (first, last) = numbers.into_inner();
    let (mut yes, mut no) = (first, last + 1);
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        if holds(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    yes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::convert::Infallible;

    fn found(numbers: RangeInclusive<u64>, threshold: u64) -> (Option<u64>, Vec<u64>) {
        let tried = RefCell::new(Vec::new());
        let cube = |n: u64| n.pow(3);
        let found = break_even::<Infallible>(numbers, cube, |n| {
            tried.borrow_mut().push(n);
            Ok(cube(n) >= threshold)
        });
        (found.unwrap(), tried.into_inner())
    }

    #[test]
    fn the_smallest_size_is_found_with_few_and_no_large_ones() {
        for threshold in [3_u64, 1_000, 123_456, 12_000_000] {
            let (from, tried) = found(2..=2_000, threshold);
            let from = from.unwrap();
            assert!(from.pow(3) >= threshold, "{threshold}: {from}");
            let before = (from - 1).pow(3) < threshold;
            assert!(before || from.pow(3) as f64 <= NEAR * threshold as f64 * 1.01, "{threshold}: {from}");
            assert!(tried.len() < 25 && tried.iter().all(|n| n.pow(3) <= 4 * threshold.max(8)), "{tried:?}");
        }
    }

    #[test]
    fn the_ends_are_what_they_are() {
        assert_eq!(found(5..=9, 1), (Some(5), vec![5]));
        let (none, tried) = found(5..=90, u64::MAX);
        assert_eq!((none, tried.last()), (None, Some(&90)), "the largest was tried");
        assert_eq!(found(7..=7, 1_000).0, None);
        let (from, _) = found(1..=10, 1_000);
        assert_eq!(from, Some(10));
        assert_eq!(
            [
                largest_where(3..=9, |n| n < 6),
                largest_where(3..=9, |_| false),
                largest_where(3..=9, |_| true)
            ],
            [5, 3, 9]
        );
    }

    #[test]
    fn a_failure_ends_it() {
        assert_eq!(break_even(1..=9, |n| n, |n| if n > 3 { Err("no") } else { Ok(false) }), Err("no"));
    }
}
