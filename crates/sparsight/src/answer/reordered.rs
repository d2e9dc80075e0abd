//! What numbering rows and columns anew would bring, by predictions.

use super::{NamedCandidate, PredictedInterval};
use crate::{Advice, Advised};
use serde::Serialize;
use sparsight_matrix::{Features, Seconds};

/// A matrix in another order beside the matrix as it is. Products are compared with x and y in their own order each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReorderedAnswer {
    /// By which method: `rcm`, reverse Cuthill-McKee.
    pub by: &'static str,
    /// What finding the order and moving the entries took here, seconds.
    pub reorder_s: Seconds,
    /// Largest distance of an entry from the diagonal, before and after.
    pub bandwidth: [u64; 2],
    /// The best candidate for the matrix as it is; absent if none is possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_it_is: Option<BestAsItIs>,
    /// Its time over that of the best candidate in the new order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speedup: Option<f64>,
    /// Products after which reordering has paid; absent if never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pays_off_after: Option<u64>,
}

/// The best candidate for the matrix as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BestAsItIs {
    /// Which.
    #[serde(flatten)]
    pub candidate: NamedCandidate,
    /// How fast it will be.
    #[serde(flatten)]
    pub prediction: PredictedInterval,
}

impl ReorderedAnswer {
    /// Of a matrix as it is and reordered, which took `reorder_s`, each with its features and the advice for it.
    pub fn of(
        by: &'static str,
        reorder_s: Seconds,
        (as_it_is, before): (&Features, &Advice),
        (reordered, after): (&Features, &Advice),
    ) -> Self {
        let (before, after) = (before.ranked.first(), after.ranked.first());
        let both = before.zip(after);
        Self {
            by,
            reorder_s,
            bandwidth: [as_it_is.bandwidth, reordered.bandwidth],
            as_it_is: before.map(|best| BestAsItIs {
                candidate: best.candidate.into(),
                prediction: (&best.prediction).into(),
            }),
            speedup: both.map(|(before, after)| before.prediction.time.0 / after.prediction.time.0),
            pays_off_after: both.and_then(|(before, after)| pays_off_after(reorder_s, before, after)),
        }
    }
}

/// The fewest products of which reordering, preparing and all of them together take less.
fn pays_off_after(reorder_s: Seconds, before: &Advised, after: &Advised) -> Option<u64> {
    let saved_s = before.prediction.time.0 - after.prediction.time.0;
    let cost_s = reorder_s.0 + after.in_all(0).0 - before.in_all(0).0;
    // A float beyond u64 saturates.
    (saved_s > 0.0).then(|| (cost_s / saved_s).max(0.0).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Advisor, Objective, Profile};
    use sparsight_matrix::{Csr, Dtype, Permutation, gallery::Recipe};

    fn advised(a: &Csr<f64>, profile: &Profile) -> (Features, Advice) {
        let features = Features::of(a);
        let advice = Advisor::new(profile).advise(&features, Dtype::F64, &Objective::default()).unwrap();
        (features, advice)
    }

    #[test]
    fn a_shuffled_mesh_gains_and_pays_off_after_what_it_took_over_what_it_saves() {
        let profile = Profile::shipped("nvidia-h200").unwrap();
        let shuffled = "stencil3d,n=60,shuffle=1".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        let order = Permutation::reverse_cuthill_mckee(&shuffled).unwrap();
        let (before, after) = (advised(&shuffled, &profile), advised(&order.of_matrix(&shuffled), &profile));
        let of =
            |took| ReorderedAnswer::of("rcm", Seconds(took), (&before.0, &before.1), (&after.0, &after.1));
        let answer = of(0.5);
        assert!(answer.bandwidth[0] > 10 * answer.bandwidth[1], "{answer:?}");
        let (old, new) = (&before.1.ranked[0], &after.1.ranked[0]);
        let saved = old.prediction.time.0 - new.prediction.time.0;
        assert!(saved > 0.0 && answer.speedup.unwrap() > 1.0, "{answer:?}");
        let products = answer.pays_off_after.unwrap() as f64;
        let in_all = |took: f64, best: &Advised, products: f64| {
            took + best.in_all(0).0 + products * best.prediction.time.0
        };
        assert!(in_all(0.5, new, products) <= in_all(0.0, old, products) * (1.0 + 1e-12));
        assert!(in_all(0.5, new, products - 1.0) > in_all(0.0, old, products - 1.0));
        assert!(of(5.0).pays_off_after > answer.pays_off_after);
        let back = ReorderedAnswer::of("rcm", Seconds(0.0), (&after.0, &after.1), (&before.0, &before.1));
        assert_eq!(back.pays_off_after, None, "an order that is slower never pays off");
    }
}
