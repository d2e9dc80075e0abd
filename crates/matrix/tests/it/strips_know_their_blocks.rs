//! Features of a block of strips equal those of the block's rows by themselves.

use proptest::prelude::*;
use sparsight_matrix::gallery::Recipe;
use sparsight_matrix::{
    BroEllShape, Csr, Features, Loads, Locality, PaddedSizes, SellShape, StripDetail, Strips,
};
use std::ops::Range;

const DETAILS: [StripDetail; 2] = [StripDetail::RowLengths, StripDetail::All];

/// A matrix with these row lengths, columns scattered by `stride`.
fn matrix(lengths: &[usize], stride: usize) -> Csr<f64> {
    let ncols = lengths.iter().max().map_or(1, |longest| (longest + 1) * stride);
    let mut ptr = vec![0];
    let mut cols = Vec::new();
    for (row, &length) in lengths.iter().enumerate() {
        cols.extend((0..length).map(|k| (k * stride + row % stride) as u32));
        ptr.push(cols.len() as u64);
    }
    let values = vec![1.0; cols.len()];
    Csr::try_new(lengths.len(), ncols, ptr, cols, values).unwrap()
}

/// Every block of strips, with the rows that it consists of.
fn blocks(strips: &Strips) -> Vec<Range<usize>> {
    (0..strips.count()).flat_map(|i| (i + 1..=strips.count()).map(move |j| i..j)).collect()
}

/// Features that are claimed to be exact, and no others.
fn exact(f: &Features) -> Features {
    Features {
        bandwidth: 0,
        diagonals: None,
        blocks: None,
        x_reuse: 0.0,
        padded: PaddedSizes::default(),
        locality: None,
        // Of strips added up, as if a tile and a block began with each.
        tiles: None,
        team_blocks: None,
        ..f.clone()
    }
}

/// Runs of rows of one length, thousands of them, so that HYB has something to cut.
fn runs() -> impl Strategy<Value = Vec<usize>> {
    let length = prop_oneof![Just(0_usize), 1..4_usize, 5..60_usize, Just(300_usize)];
    let run = (length, prop_oneof![1..40_usize, 500..6_000_usize]);
    proptest::collection::vec(run, 1..7)
        .prop_map(|runs| runs.into_iter().flat_map(|(length, rows)| vec![length; rows]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_statistic_of_row_lengths_is_that_of_the_rows_alone(lengths in runs(), strips in 1_usize..8) {
        let a = matrix(&lengths, 1);
        let rows_per_strip = lengths.len().div_ceil(strips);
        for detail in DETAILS {
            let strips = Strips::of(&a, rows_per_strip, detail);
            for range in blocks(&strips) {
                let rows = strips.rows(&range);
                let alone = Features::of(&a.rows(rows.start as usize..rows.end as usize));
                let block = strips.block(range.clone());
                prop_assert_eq!(exact(&block.features()), exact(&alone), "{:?}", range);
                // The outline is the same without what it leaves out.
                let without = |f: &Features| Features { row_quantiles: [0; 7], row_std: 0.0, bins: None, ..exact(f) };
                prop_assert_eq!(exact(block.outline()), without(&alone), "{:?}", range);
            }
        }
    }

    #[test]
    fn places_of_whole_slices_and_warps_add_up(
        lengths in proptest::collection::vec(0_usize..20, 257..4000),
        stride in 1_usize..40,
    ) {
        let a = matrix(&lengths, stride);
        // A multiple of every warp and of the slices of BRO-ELL and of unsorted SELL-C-sigma.
        let strips = Strips::of(&a, 256, StripDetail::All);
        for range in blocks(&strips).into_iter().step_by(5) {
            let rows = strips.rows(&range);
            let alone = Features::of(&a.rows(rows.start as usize..rows.end as usize));
            let block = strips.block(range).features();
            for shape in BroEllShape::ALL {
                prop_assert_eq!(block.padded.bro_ell(shape), alone.padded.bro_ell(shape), "{}", shape);
            }
            for shape in SellShape::ALL.into_iter().filter(|s| s.sigma <= 256) {
                prop_assert_eq!(block.padded.sell(shape), alone.padded.sell(shape), "{}", shape);
            }
            let whole = |l: &Locality| (l.min_distance, l.max_distance, l.team_steps);
            prop_assert_eq!(whole(block.locality.as_ref().unwrap()), whole(alone.locality.as_ref().unwrap()));
        }
    }
}

/// Most of many lengths are not counted, which must change no answer.
#[test]
fn outlines_of_rows_of_many_lengths_are_those_of_the_rows_alone() {
    for text in
        ["power-law,n=60000,degree=9", "random,rows=30000,cols=50000,row=40", "web,n=40000", "arrow,n=9000"]
    {
        let a = text.parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        for rows_per_strip in [1_000, 7_000] {
            let strips = Strips::of(&a, rows_per_strip, StripDetail::RowLengths);
            for range in blocks(&strips).into_iter().step_by(if rows_per_strip == 1_000 { 11 } else { 1 }) {
                let rows = strips.rows(&range);
                let alone = Features::of(&a.rows(rows.start as usize..rows.end as usize));
                let block = strips.block(range.clone());
                let without = Features { row_quantiles: [0; 7], row_std: 0.0, bins: None, ..exact(&alone) };
                assert_eq!(exact(block.outline()), without, "{text} {range:?}");
                assert_eq!(exact(&block.features()), exact(&alone), "{text} {range:?}");
            }
        }
    }
}

/// Both are estimates from drawn pieces, of which a strip has some and the rows alone others.
#[test]
fn features_of_blocks_are_close_to_those_of_their_rows() {
    for text in ["stencil3d,n=40", "power-law,n=60000", "random,rows=50000,cols=50000,row=5", "fem,n=12"] {
        let a = text.parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        for detail in DETAILS {
            let strips = Strips::of(&a, a.nrows().div_ceil(10).next_multiple_of(32), detail);
            for range in blocks(&strips) {
                let rows = strips.rows(&range);
                let alone = Features::of(&a.rows(rows.start as usize..rows.end as usize));
                let block = strips.block(range.clone()).features();
                let near = |name: &str, ours: f64, theirs: f64| {
                    assert!((ours - theirs).abs() < 0.1, "{text} {range:?} {name}: {ours} for {theirs}");
                };
                near("x_reuse", block.x_reuse, alone.x_reuse);
                let (Some(ours), Some(theirs)) = (&block.locality, &alone.locality) else { continue };
                for k in 0..2 {
                    near("warp", ours.warp_sectors[k], theirs.warp_sectors[k]);
                    near("multiprocessor", ours.multiprocessor_sectors[k], theirs.multiprocessor_sectors[k]);
                    let (ours, theirs) = (ours.loads.unwrap(), theirs.loads.unwrap());
                    let share = |lines: u64| lines as f64 / Loads::NNZ as f64;
                    for team in 0..6 {
                        near("lines of x", share(ours.x[k][team]), share(theirs.x[k][team]));
                        // Two lines a non-zero at the most.
                        near(
                            "lines of rows",
                            share(ours.rows[k][team]) / 2.0,
                            share(theirs.rows[k][team]) / 2.0,
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_single_strip_is_the_matrix() {
    let a = "circuit,n=3000".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
    let strips = Strips::of(&a, 3000, StripDetail::All);
    assert_eq!(strips.count(), 1);
    let (block, whole) = (strips.block(0..1).features(), Features::of(&a));
    let comparable = |f: &Features| Features { x_reuse: 0.0, diagonals: None, blocks: None, ..f.clone() };
    assert_eq!(comparable(&block), comparable(&whole));
    assert!((block.x_reuse - whole.x_reuse).abs() < 1e-12);
}

#[test]
fn rows_in_a_band_stay_in_it_wherever_they_are_cut() {
    let a = "banded,n=5000,band=3".parse::<Recipe>().unwrap().generate::<f32>().unwrap();
    let strips = Strips::of(&a, 1000, StripDetail::All);
    assert!(blocks(&strips).into_iter().all(|range| strips.block(range).features().bandwidth == 3));
    assert!(
        Features::of(&a.rows(4000..5000)).bandwidth > 3990,
        "by itself it would be far from its diagonal"
    );
}

#[test]
fn no_rows_are_no_strips() {
    let a = Csr::<f32>::try_new(0, 4, vec![0], vec![], vec![]).unwrap();
    assert_eq!(Strips::of(&a, 10, StripDetail::All).count(), 0);
}
