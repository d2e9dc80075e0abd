//! Safety for any matrix: a time above zero inside a finite interval.

use crate::made_up::{device, drawn, measured, observe, predicted};
use proptest::prelude::*;
use sparsight_kernels::{Candidate, DeviceFacts, Kernel, Placement, RowLengthDistribution, StripRule};
use sparsight_matrix::{Dtype, Features, HybSplit, Seconds};
use sparsight_model::{Model, Observation, PlacementRule, StripModel, StripPredictor, Variant};
use std::sync::OnceLock;

/// Times as bad as they come: falling with p, jumping with I, so that lines dive below zero.
fn wild(i: f64, p: f64, bytes: u64) -> f64 {
    1e-6 * (1.0 + (i * 3.7 + p).sin().abs() * 50.0 / p + f64::from(u32::from(bytes > 400_000)) * 9.0 / i)
}

fn models() -> &'static (DeviceFacts, Vec<StripModel>) {
    static MODELS: OnceLock<(DeviceFacts, Vec<StripModel>)> = OnceLock::new();
    MODELS.get_or_init(|| {
        let facts = device();
        let mut observations: Vec<Observation> = measured()
            .flat_map(|kernel| Placement::ALL.map(|placement| (kernel, placement)))
            .flat_map(|(kernel, placement)| {
                let candidate = Candidate { kernel, block: 128, dtype: Dtype::F32 };
                observe(&facts, candidate, placement, wild)
            })
            .collect();
        observations.extend(drawn(&observations));
        let fit = |variant| StripModel::fit(&facts, &observations, variant).unwrap();
        let models = Variant::ALL.map(fit).to_vec();
        (facts, models)
    })
}

/// Up to 2^56 rows or entries of a row. Beyond about 2^59 the byte counts of the formats overflow.
fn size() -> impl Strategy<Value = u64> {
    (0_u32..57, any::<u64>()).prop_map(|(bits, r)| r & ((1 << bits) - 1))
}

prop_compose! {
    fn features()(
        sizes in [size(), size(), size(), size(), size(), size(), size()],
        x_reuse in prop_oneof![0.0..1.0_f64, Just(f64::NAN), Just(-3.0), Just(f64::INFINITY)],
    ) -> Features {
        let [nrows, ncols, nnz, row_max, row_mode, width, coo_nnz] = sizes;
        Features {
            nrows, ncols, nnz, row_max, row_mode, x_reuse,
            row_quantiles: [row_mode; 7], hyb: HybSplit { width, coo_nnz }, bandwidth: ncols, diagonals: Some(width),
            ..Features::default()
        }
    }
}

proptest! {
    #[test]
    fn no_prediction_is_zero_negative_infinite_or_nan(f in features(), launch in prop_oneof![
        Just(0.0), Just(2e-6), Just(-1.0), Just(f64::NAN), Just(f64::INFINITY)
    ]) {
        let (facts, models) = models();
        let facts = DeviceFacts { launch_s: Seconds(launch), ..facts.clone() };
        for model in models {
            for placement in [PlacementRule::Banded, PlacementRule::Scattered, PlacementRule::Blend] {
                let predictor = StripPredictor { placement, ..StripPredictor::new(model, &facts) };
                for kernel in predicted() {
                    let p = match predictor.predict(&Candidate { kernel, block: 128, dtype: Dtype::F32 }, &f) {
                        Ok(p) => p,
                        // Nothing by non-zeros is fitted to drawn row lengths.
                        Err(_) if model.variant().lengths().is_drawn() && matches!(kernel.strip_rule(), StripRule::Coo | StripRule::Parts { .. }) => {
                            continue;
                        }
                        Err(error) => panic!("{kernel}: {error}"),
                    };
                    prop_assert!(0.0 < p.low.0 && p.low <= p.time && p.time <= p.high, "{kernel} {p:?}");
                    prop_assert!(p.high.0.is_finite(), "{kernel} {p:?}");
                    if launch > 0.0 && launch.is_finite() {
                        prop_assert!(p.time.0 >= launch, "{kernel} {p:?}");
                    }
                    for e in &p.extrapolates {
                        prop_assert!(e.value < e.from || e.value > e.to, "{e:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn observations_of_any_size_and_time_fit_or_are_left_out(
        rows in prop::collection::vec((any::<u64>(), any::<u64>(), prop_oneof![
            1e-9..1.0_f64, Just(0.0), Just(-1.0), Just(f64::NAN), Just(f64::INFINITY), Just(1e-300), Just(1e300)
        ]), 0..12),
        kernel in prop::sample::select(Kernel::all().collect::<Vec<_>>()),
        lengths in prop::sample::select(&RowLengthDistribution::ALL[..]),
        shift in 0_u32..60,
    ) {
        let candidate = Candidate { kernel, block: 64, dtype: Dtype::F64 };
        let observations: Vec<_> = rows.iter().map(|&(nrows, p, t)| Observation {
            candidate, placement: Placement::Scattered, lengths, row_length: p >> shift, strips: 1,
            nrows: nrows >> shift, time: Seconds(t),
        }).collect();
        let (facts, _) = models();
        for variant in Variant::ALL {
            if let Ok(model) = StripModel::fit(facts, &observations, variant) {
                let text = serde_json::to_string(&model).unwrap();
                prop_assert_eq!(serde_json::from_str::<StripModel>(&text).unwrap(), model);
            }
        }
    }
}
