//! A small tree that chooses a candidate for least regret.
//!
//! ```text
//! r_mc = ln(T_c / T_best) of candidate c on matrix m; of one that cannot hold m, that of the candidate taken instead
//! a leaf     the c with the least weighted sum of r_mc over its matrices
//! a split    of one leaf, at the quantity and threshold that lower the sum over all leaves most; best first, until there are as many
//!            leaves as are wanted or no split lowers it
//! ```
//! Source: trees grown best first (Friedman, Hastie and Tibshirani 2000), with the cost of the choice in place of an error.

use super::Quantity;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeSet;

/// Matrices that a leaf must have been learned from. Chosen: fewer teach what is peculiar to them.
const FEWEST: usize = 8;

/// A matrix to learn from.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// Quantities in the order of [`Quantity::ALL`].
    pub(super) quantities: [f64; Quantity::ALL.len()],
    /// Regret of each candidate.
    pub(super) regrets: Vec<f64>,
    pub(super) weight: f64,
}

/// A node: a candidate, by its place, or a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Rule<C> {
    /// Take it.
    Take(C),
    /// Look at a number.
    Ask {
        /// The quantity.
        quantity: Quantity,
        /// Held against this.
        threshold: f64,
        /// Node for values up to the threshold.
        at_most: Box<Rule<C>>,
        /// Node for larger values.
        more: Box<Rule<C>>,
    },
}

impl<C: Copy> Rule<C> {
    /// The candidate for a matrix with these numbers.
    pub(super) fn take(&self, value: &impl Fn(Quantity) -> f64) -> C {
        match self {
            Self::Take(taken) => *taken,
            Self::Ask { quantity, threshold, at_most, more } => {
                let next = if value(*quantity) <= *threshold { at_most } else { more };
                next.take(value)
            }
        }
    }

    /// Maps the leaves.
    pub(crate) fn map<D>(&self, of: &impl Fn(C) -> D) -> Rule<D> {
        match self {
            Self::Take(taken) => Rule::Take(of(*taken)),
            Self::Ask { quantity, threshold, at_most, more } => Rule::Ask {
                quantity: *quantity,
                threshold: *threshold,
                at_most: Box::new(at_most.map(of)),
                more: Box::new(more.map(of)),
            },
        }
    }

    /// Quantities of all questions.
    pub(super) fn asked(&self) -> BTreeSet<Quantity> {
        match self {
            Self::Take(_) => BTreeSet::new(),
            Self::Ask { quantity, at_most, more, .. } => {
                at_most.asked().into_iter().chain(more.asked()).chain([*quantity]).collect()
            }
        }
    }

    /// Candidates of all leaves.
    pub(super) fn taken(&self) -> Vec<C> {
        match self {
            Self::Take(taken) => vec![*taken],
            Self::Ask { at_most, more, .. } => at_most.taken().into_iter().chain(more.taken()).collect(),
        }
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.taken().len()
    }
}

/// A leaf that may still be split.
struct Leaf {
    cases: Vec<usize>,
    /// Place of the candidate, and the sum of its regrets.
    choice: (usize, f64),
    split: Option<Split>,
}

#[derive(Debug, Clone)]
struct Split {
    quantity: usize,
    threshold: f64,
    /// Reduction of the sum.
    gain: f64,
}

/// A leaf, or what became of it.
enum Node {
    Leaf(Leaf),
    Split { split: Split, at_most: usize, more: usize },
}

/// The tree of at most so many leaves; at least one case with at least one candidate.
pub(super) fn grow(cases: &[Case], leaves: usize) -> Rule<usize> {
    let mut nodes = vec![Node::Leaf(Leaf::of(cases, (0..cases.len()).collect()))];
    for _ in 1..leaves {
        let gains = |(at, node): (usize, &Node)| match node {
            Node::Leaf(Leaf { split: Some(split), .. }) => Some((at, split.gain)),
            _ => None,
        };
        // Of equal ones the first.
        let best = nodes.iter().enumerate().filter_map(gains).reduce(|a, b| if b.1 > a.1 { b } else { a });
        let Some((at, _)) = best else { break };
        let (at_most, more) = (nodes.len(), nodes.len() + 1);
        let Node::Leaf(Leaf { cases: own, split: Some(split), .. }) = &nodes[at] else { break };
        let split = split.clone();
        let (low, high): (Vec<usize>, Vec<usize>) =
            own.iter().partition(|&&case| cases[case].quantities[split.quantity] <= split.threshold);
        nodes[at] = Node::Split { split, at_most, more };
        nodes.extend([low, high].map(|own| Node::Leaf(Leaf::of(cases, own))));
    }
    rule(&nodes, 0)
}

/// The subtree of a node.
fn rule(nodes: &[Node], at: usize) -> Rule<usize> {
    let (split, at_most, more) = match &nodes[at] {
        Node::Leaf(leaf) => return Rule::Take(leaf.choice.0),
        Node::Split { split, at_most, more } => (split, at_most, more),
    };
    let (at_most, more) = (rule(nodes, *at_most), rule(nodes, *more));
    // Both sides may have come to the same.
    if matches!((&at_most, &more), (Rule::Take(a), Rule::Take(b)) if a == b) {
        return at_most;
    }
    let (at_most, more) = (Box::new(at_most), Box::new(more));
    Rule::Ask { quantity: Quantity::ALL[split.quantity], threshold: split.threshold, at_most, more }
}

/// The least of some sums, with its place; of equal ones the first.
fn least(sums: &[f64]) -> (usize, f64) {
    let all = sums.iter().copied().enumerate();
    all.reduce(|a, b| if b.1 < a.1 { b } else { a }).unwrap_or((0, 0.0))
}

impl Leaf {
    fn of(all: &[Case], cases: Vec<usize>) -> Self {
        let mut sums = vec![0.0; all[0].regrets.len()];
        for &case in &cases {
            add(&mut sums, &all[case], 1.0);
        }
        let choice = least(&sums);
        let best = |quantity: usize| best_split(all, &cases, &sums, choice.1, quantity);
        let splits: Vec<Option<Split>> = (0..Quantity::ALL.len()).into_par_iter().map(best).collect();
        let split = splits.into_iter().flatten().reduce(|a, b| if b.gain > a.gain { b } else { a });
        Self { cases, choice, split }
    }
}

fn add(sums: &mut [f64], case: &Case, sign: f64) {
    for (sum, regret) in sums.iter_mut().zip(&case.regrets) {
        *sum += sign * case.weight * regret;
    }
}

/// Best threshold for `quantity`, if it lowers the sum of regrets.
fn best_split(all: &[Case], cases: &[usize], sums: &[f64], now: f64, quantity: usize) -> Option<Split> {
    let mut sorted: Vec<(f64, usize)> =
        cases.iter().map(|&case| (all[case].quantities[quantity], case)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut low, mut high) = (vec![0.0; sums.len()], sums.to_vec());
    let mut best: Option<Split> = None;
    for (behind, pair) in (1..).zip(sorted.windows(2)) {
        let [(value, case), (next, _)] = [pair[0], pair[1]];
        add(&mut low, &all[case], 1.0);
        add(&mut high, &all[case], -1.0);
        let enough = behind >= FEWEST && sorted.len() - behind >= FEWEST;
        let threshold = between(value, next);
        if !(enough && value <= threshold && threshold < next) {
            continue;
        }
        let gain = now - least(&low).1 - least(&high).1;
        // Sums of many numbers differ by rounding alone.
        if gain > 1e-9 && best.as_ref().is_none_or(|best| gain > best.gain) {
            best = Some(Split { quantity, threshold, gain });
        }
    }
    best
}

/// A number from `low` on and below `high` with as few digits as can be: rules are read by people.
fn between(low: f64, high: f64) -> f64 {
    let middle = low + (high - low) / 2.0;
    // By way of a text: the nearest number to so many digits.
    let digits = |digits: usize| format!("{middle:.*e}", digits - 1).parse().unwrap_or(middle);
    let fits = |value: &f64| low <= *value && *value < high;
    (1..=15).map(digits).find(fits).unwrap_or(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix with so many non-zeros, all other numbers 1, and these regrets.
    fn case(nnz: f64, regrets: &[f64]) -> Case {
        let mut quantities = [1.0; Quantity::ALL.len()];
        quantities[0] = nnz;
        Case { quantities, regrets: regrets.to_vec(), weight: 1.0 }
    }

    #[test]
    fn a_threshold_is_found_where_the_choice_changes() {
        // The first candidate is best below 100, the second beyond.
        let cases: Vec<Case> = (1..=40)
            .map(|k| case(5.0 * f64::from(k), if k < 20 { &[0.0, 0.5] } else { &[0.7, 0.0] }))
            .collect();
        let expected = Rule::Ask {
            quantity: Quantity::NonZeros,
            threshold: 97.0,
            at_most: Box::new(Rule::Take(0)),
            more: Box::new(Rule::Take(1)),
        };
        let Rule::Ask { quantity, threshold, at_most, more } = grow(&cases, 8) else { panic!("one split") };
        assert_eq!((quantity, &*at_most, &*more), (Quantity::NonZeros, &Rule::Take(0), &Rule::Take(1)));
        assert!((95.0..100.0).contains(&threshold), "{threshold}");
        assert_eq!(grow(&cases, 2).leaves(), expected.leaves(), "no more leaves than are of use");
        // With one leaf: 19 x 0.5 against 21 x 0.7.
        assert_eq!(grow(&cases, 1), Rule::Take(1));
        // A weight turns that round.
        let mut heavy = cases.clone();
        heavy[0].weight = 100.0;
        assert_eq!(grow(&heavy, 1), Rule::Take(0));
    }

    #[test]
    fn leaves_hold_enough_matrices() {
        let cases: Vec<Case> =
            (0..FEWEST + 5).map(|k| case(k as f64, if k < 5 { &[0.0, 9.0] } else { &[1.0, 0.0] })).collect();
        let Rule::Ask { threshold, .. } = grow(&cases, 8) else { return };
        assert!(threshold >= (FEWEST - 1) as f64, "{threshold}");
    }

    #[test]
    fn thresholds_are_short_and_between() {
        for (low, high, expected) in
            [(95.0, 100.0, 98.0), (3.0, 4.0, 3.5), (0.0, 1.0, 0.5), (1_532_001.0, 1_688_001.0, 1_600_000.0)]
        {
            assert!((between(low, high) - expected).abs() < 1e-15, "{low} {high}: {}", between(low, high));
        }
        let next = 1.0 + f64::EPSILON;
        assert!((between(1.0, next) - 1.0).abs() < 1e-300);
    }
}
