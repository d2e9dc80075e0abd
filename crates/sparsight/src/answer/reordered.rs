//! Predicted gain by reordering rows and columns.

use super::NamedCandidate;
use crate::Advice;
use crate::advise::Advised;
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_kernels::DeviceFacts;
use sparsight_matrix::{Features, Seconds};
use sparsight_model::Prediction;

/// A matrix in another order beside the matrix as it is. Products are compared with x and y in their own order each.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReorderedAnswer {
    /// Method: `rcm`, reverse Cuthill-McKee.
    pub by: &'static str,
    /// Time to find the order and to move the entries here, seconds.
    pub reorder_s: Seconds,
    /// Largest distance of an entry from the diagonal, before and after.
    pub bandwidth: [u64; 2],
    /// The best candidate for the matrix as it is; absent if none is possible.
    pub as_it_is: Option<BestAsItIs>,
    /// Speedup of the best candidate in the new order over `as_it_is`.
    pub speedup: Option<f64>,
    /// Time that reordering x and y adds to every product if vectors cannot stay in the new order
    /// ([`Plan::prepare_reordered`](crate::Plan::prepare_reordered)), about; absent if the rates of the device are not known.
    pub vectors_s: Option<Seconds>,
    /// Products after which reordering has paid against every candidate for the matrix as it is, preparations counted; absent
    /// if never, or if a preparation was not measured.
    pub pays_off_after: Option<u64>,
    /// Preparation and all products to come, as it is and reordered, the latter with `reorder_s`; absent if one product counts, or if a preparation was
    /// not measured.
    pub in_all_s: Option<[Seconds; 2]>,
}

/// The best candidate for the matrix as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BestAsItIs {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: NamedCandidate,
    /// Predicted time.
    #[serde(flatten)]
    pub prediction: Prediction,
}

impl ReorderedAnswer {
    /// Gain of a matrix as it is and reordered in `reorder_s`, each with its features and the advice for it; `products` is that of the
    /// objective of both.
    pub fn of(
        by: &'static str,
        reorder_s: Seconds,
        (as_it_is, before): &(Features, Advice),
        (reordered, after): &(Features, Advice),
        products: Option<u64>,
        facts: &DeviceFacts,
    ) -> Self {
        let best = before.ranked.first().zip(after.ranked.first());
        let in_all = |products: u64, before: &Advised, after: &Advised| {
            Some([before.in_all(products)?, Seconds(reorder_s.0 + after.in_all(products)?.0)])
        };
        Self {
            by,
            reorder_s,
            bandwidth: [as_it_is.bandwidth, reordered.bandwidth],
            as_it_is: before.ranked.first().map(|best| BestAsItIs {
                candidate: best.candidate.into(),
                prediction: best.prediction.clone(),
            }),
            speedup: best.map(|(before, after)| before.prediction.time.0 / after.prediction.time.0),
            vectors_s: vectors_s(reordered, facts),
            pays_off_after: best.and_then(|(_, after)| pays_off_after(reorder_s, &before.ranked, after)),
            in_all_s: products
                .zip(best)
                .and_then(|(products, (before, after))| in_all(products, before, after)),
        }
    }
}

/// Launches that bringing x and y there and back takes as long as. Measured on matrices of 2,500 rows in f64: 3.3 on an H200, 2.7 on an
/// H100.
const LAUNCHES: f64 = 3.0;

/// Bytes a row that are moved for it at the rate of copies, most of them unused parts of sectors. Measured in f64, on one
/// and on eight million rows: 145 to 300 on an H200, 120 to 270 on an H100, the more the more the old order is scattered.
const BYTES_A_ROW: f64 = 200.0;

/// Time to reorder x and y on a GPU, in either value type: sectors are fetched whole.
fn vectors_s(features: &Features, facts: &DeviceFacts) -> Option<Seconds> {
    if !facts.kind.is_gpu() {
        return None;
    }
    let moved = BYTES_A_ROW * features.nrows as f64;
    (facts.copy_bytes_per_s > 0.0)
        .then(|| Seconds(LAUNCHES * facts.launch_s.0 + moved / facts.copy_bytes_per_s))
}

/// The fewest products for which reordering, preparing and all of them take no longer than with any of the candidates
/// `as_it_is`.
fn pays_off_after(reorder_s: Seconds, as_it_is: &[Advised], after: &Advised) -> Option<u64> {
    let own_s = reorder_s.0 + after.preparation?.0;
    as_it_is.iter().try_fold(0, |products: u64, one| {
        let saved_s = one.prediction.time.0 - after.prediction.time.0;
        let extra_s = own_s - one.preparation?.0;
        // A float beyond u64 saturates.
        (saved_s > 0.0).then(|| products.max((extra_s / saved_s).max(0.0).ceil() as u64))
    })
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
    fn a_shuffled_mesh_gains_and_pays_off_where_it_has_caught_up_with_every_candidate() {
        let profile = Profile::shipped("nvidia-h200").unwrap();
        let shuffled = "stencil3d,n=60,shuffle=1".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        let order = Permutation::reverse_cuthill_mckee(&shuffled).unwrap();
        let (before, after) =
            (advised(&shuffled, &profile), advised(&order.of_matrix(&shuffled).unwrap(), &profile));
        let facts = &profile.device.facts;
        let of = |took, products| ReorderedAnswer::of("rcm", Seconds(took), &before, &after, products, facts);
        let answer = of(0.5, None);
        assert!(answer.bandwidth[0] > 10 * answer.bandwidth[1], "{answer:?}");
        assert!(answer.speedup.unwrap() > 1.0 && answer.in_all_s.is_none(), "{answer:?}");
        let vectors = answer.vectors_s.unwrap().0;
        assert!((10e-6..20e-6).contains(&vectors), "216,000 rows: {vectors}");
        let products = answer.pays_off_after.unwrap();
        let new = |products| of(0.5, Some(products)).in_all_s.unwrap()[1].0;
        let is_least = |products| {
            before.1.ranked.iter().all(|one| new(products) <= one.in_all(products).unwrap().0 * (1.0 + 1e-12))
        };
        assert!(is_least(products) && !is_least(products - 1), "{products}");
        assert!(of(5.0, None).pays_off_after > answer.pays_off_after);
        let back = ReorderedAnswer::of("rcm", Seconds(0.0), &after, &before, None, facts);
        assert_eq!(back.pays_off_after, None, "an order that is slower never pays off");
        let mut unknown = before.clone();
        unknown.1.ranked[3].preparation = None;
        let answer = ReorderedAnswer::of("rcm", Seconds(0.5), &unknown, &after, None, facts);
        assert_eq!(answer.pays_off_after, None, "conversion times are unknown");
    }
}
