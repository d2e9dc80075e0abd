//! The models against times measured on an H200: warp-per-row CSR, f32, constant p, scattered columns.

use crate::made_up::{gpu, observe_table};
use sparsight_kernels::{Candidate, DeviceFacts};
use sparsight_matrix::{Features, RowLengths, Seconds};
use sparsight_model::{Accuracy, Model, Regimes, SplitBy, StripModel, StripPredictor, Variant};

const STRIPS: [u64; 8] = [1, 2, 3, 5, 8, 10, 20, 40];

/// p and the times in microseconds.
const TABLE: [(u64, [f64; 8]); 6] = [
    (4, [2.2, 3.5, 4.4, 6.3, 9.2, 11.1, 20.7, 39.8]),
    (64, [4.1, 6.3, 7.9, 11.5, 24.7, 34.3, 74.7, 153.0]),
    (128, [4.8, 7.7, 9.9, 16.3, 48.7, 67.0, 146.0, 299.0]),
    (512, [7.2, 19.9, 28.4, 47.5, 180.0, 258.0, 572.0, 1178.0]),
    (1024, [19.4, 34.9, 50.7, 86.3, 334.0, 486.0, 1125.0, 2340.0]),
    (2048, [35.6, 68.2, 100.0, 170.0, 518.0, 787.0, 2091.0, 4595.0]),
];

fn accuracy(variant: Variant) -> (StripModel, Accuracy) {
    let facts: DeviceFacts = gpu("NVIDIA H200", 132, 2048);
    let candidate: Candidate = "csr-vector/t32/b256/f32".parse().unwrap();
    let observations = observe_table(&facts, candidate, &STRIPS, &TABLE);
    let model = StripModel::fit(&facts, &observations, variant).unwrap();
    let predictor = StripPredictor::new(&model, &facts);
    let pairs = observations.iter().map(|o| {
        let lengths = RowLengths::from_counts([(o.row_length, o.nrows)]);
        let f = Features::from_row_lengths(&lengths, o.nrows, o.nrows, 0.0);
        (predictor.predict(&candidate, &f).unwrap().time, Seconds(o.time.0))
    });
    let accuracy = Accuracy::of(pairs).unwrap();
    (model, accuracy)
}

#[test]
fn borders_of_two_caches_reduce_an_error_of_a_third() {
    // In-sample: these are the matrices of the fit. It says whether the equations can follow, no more.
    let (_, strip) = accuracy(Variant::Strip);
    assert!((0.3..0.4).contains(&strip.mean), "{strip:?}");
    let (_, cache) = accuracy(Variant::StripCache);
    assert!(cache.mean < 0.06 && cache.median < 0.03, "{cache:?}");
}

#[test]
fn the_first_break_is_where_x_leaves_the_l1() {
    // At p = 512 all of I = 3, 5, 8 lie far outside the L2, yet the time leaps between I = 5 and 8: there x grows
    // from 169 kB to 270 kB, past the 256 kB of a multiprocessor's L1.
    let (model, _) = accuracy(Variant::StripCache);
    let Regimes::Split(split) = &model.fitted()[0].regimes else { panic!("no border") };
    assert_eq!(split.by, SplitBy::X);
    assert!((168_960..270_336).contains(&split.border_bytes.0));
}
