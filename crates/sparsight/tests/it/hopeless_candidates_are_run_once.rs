//! Hopeless candidates of a corpus are recorded with the time of their first run.

use crate::support::Formula;
use sparsight::bench::{Bench, HOPELESS, bench};
use sparsight::device::timing::StoppingRule;
use sparsight::kernels::{Format, catalogue};
use sparsight::matrix::gallery::Recipe;
use sparsight::matrix::{Dtype, Features};
use sparsight::records::{CorpusRecord, Outcome};

/// The record of a matrix, in how many batches and seconds of the device it was made, and which formats
/// ran in which order.
fn measured(recipe: &str, hopeless: Option<f64>) -> (CorpusRecord, usize, f64, Vec<Format>) {
    let device = Formula::new();
    let a = recipe.parse::<Recipe>().unwrap().generate::<f64>().unwrap();
    let candidates: Vec<_> = catalogue(Dtype::F64).collect();
    let how = Bench { rule: StoppingRule::BRISK, hopeless, ..Bench::default() };
    let mut order = Vec::new();
    let each = |m: &sparsight::records::Measured| {
        order.push(m.id.format());
        Ok(())
    };
    let record = bench(&device, (recipe, &a), &Features::of(&a), &candidates, &how, each).unwrap();
    (record, device.batches.get(), device.busy_s.get(), order)
}

#[test]
fn they_keep_their_time_and_cost_one_product_beside_the_check() {
    // COO takes 3 us on it, one thread per row 150 times as long.
    let recipe = "arrow,n=2000,width=2";
    let (whole, batches, busy_s, _) = measured(recipe, None);
    let (brief, brief_batches, brief_s, order) = measured(recipe, Some(HOPELESS));
    assert_eq!(order[0], Format::known("coo"), "what is good everywhere comes first");
    let ids = |r: &CorpusRecord| r.results.iter().map(|m| m.id).collect::<Vec<_>>();
    assert_eq!(ids(&brief), ids(&whole));
    assert_eq!(ids(&brief), catalogue(Dtype::F64).collect::<Vec<_>>(), "recorded in the catalogue's order");

    let best = whole.best().unwrap();
    assert_eq!(brief.best(), Some(best));
    let mut once = 0;
    for (b, w) in brief.results.iter().zip(&whole.results) {
        match (&b.outcome, &w.outcome) {
            (Outcome::Time { time_s, samples, spread }, Outcome::Time { time_s: full, .. }) => {
                assert!((time_s.0 / full.0 - 1.0).abs() < 1e-4, "{}", b.id);
                assert_eq!(*samples == 1, time_s.0 > HOPELESS * best.1.0, "{}", b.id);
                if *samples == 1 {
                    assert!(spread.abs() < f64::EPSILON);
                    once += 1;
                }
            }
            (infeasible, before) => assert_eq!(infeasible, before),
        }
    }
    assert!(once >= 30, "all but COO and what cannot be held; got {once}");
    assert!(2 * brief_batches < batches, "{brief_batches} of {batches} batches");
    assert!(2.0 * brief_s < busy_s, "{brief_s} of {busy_s} s");
}

#[test]
fn candidates_of_equal_speed_are_all_measured_fully() {
    let recipe = "stencil2d,n=10";
    let (whole, batches, ..) = measured(recipe, None);
    let (brief, brief_batches, ..) = measured(recipe, Some(HOPELESS));
    assert_eq!((brief, brief_batches), (whole, batches));
}
