//! Features are gathered on short ways, many rows at once and only where something new may be found. Here they are held
//! to their definitions, worked out entry by entry.

use proptest::prelude::*;
use sparsight_matrix::{BroEllShape, BroEllSize, Csr, Features, Locality, RowLengths, SellShape};
use std::collections::BTreeSet;

/// Length of a row: none, short, about as long as the steps of the code (8, 256), and far longer.
fn row_length() -> impl Strategy<Value = usize> {
    prop_oneof![4 => Just(0), 12 => 1_usize..9, 2 => 9_usize..40, 1 => 250_usize..270, 1 => 500_usize..1500]
}

/// Stretches of rows of the same few lengths, so that there are slices of short rows only, of long ones and of both, with
/// columns near and far; the last slice and the last block are mostly not full.
fn matrices() -> impl Strategy<Value = Csr<f32>> {
    let spread = prop_oneof![Just(1_u64), Just(7), Just(1000)];
    let stretch = (prop::collection::vec(row_length(), 1..4), spread, 1_usize..150);
    (prop::collection::vec(stretch, 0..24), any::<u64>()).prop_map(|(stretches, seed)| {
        let rows = stretches.iter().flat_map(|(lengths, spread, rows)| {
            lengths.iter().cycle().take(*rows).map(move |&length| (length, *spread))
        });
        let (mut row_ptr, mut cols) = (vec![0], Vec::new());
        for (row, (length, spread)) in rows.enumerate() {
            let random = |k: usize| sparsight_matrix::mix(seed ^ ((row as u64) << 32) ^ k as u64);
            let mut col = random(0) % (100 * spread);
            for k in 1..=length {
                cols.push(col as u32);
                // The last entry of a row may lie far from the others.
                let far = if k + 1 == length { random(length + k) % (2000 * spread) } else { 0 };
                col += spread.div_ceil(2) + random(k) % spread + far;
            }
            row_ptr.push(cols.len() as u64);
        }
        let values = vec![1.0; cols.len()];
        Csr::try_new(row_ptr.len() - 1, 10_000_000, row_ptr, cols, values).unwrap()
    })
}

fn lengths(a: &Csr<f32>) -> Vec<u64> {
    (0..a.nrows()).map(|row| a.row(row).0.len() as u64).collect()
}

/// Slice by slice: as wide as the longest row; a column of it takes the bits of its largest difference, where the first
/// difference of a row is the column plus 1.
fn bro_ell(a: &Csr<f32>, slice: usize) -> BroEllSize {
    let mut size = BroEllSize::default();
    for start in (0..a.nrows()).step_by(slice) {
        let rows: Vec<&[u32]> = (start..a.nrows().min(start + slice)).map(|row| a.row(row).0).collect();
        let width = rows.iter().map(|row| row.len()).max().unwrap();
        let difference = |row: &[u32], k: usize| match k {
            0 => row.first().map_or(0, |col| col + 1),
            _ => row.get(k).map_or(0, |col| col - row[k - 1]),
        };
        let bits = |k| rows.iter().map(|row| difference(row, k)).max().unwrap().checked_ilog2().unwrap() + 1;
        let bits_per_row: u64 = (0..width).map(|k| u64::from(bits(k))).sum();
        size.entries += (rows.len() * width) as u64;
        size.symbols += rows.len() as u64 * bits_per_row.div_ceil(64);
        size.columns += width as u64;
    }
    size
}

/// Rows of each window by decreasing length, cut into slices as wide as their longest row, the last one full.
fn sell(lengths: &[u64], shape: SellShape) -> u64 {
    let (slice, mut lengths) = (shape.slice as usize, lengths.to_vec());
    lengths.chunks_mut(shape.sigma as usize).for_each(|window| window.sort_by(|a, b| b.cmp(a)));
    lengths.chunks(slice).map(|rows| rows.iter().max().unwrap() * slice as u64).sum()
}

/// A warp has 32 / t rows, and waits for the one that takes longest with t threads.
fn steps(lengths: &[u64], threads_per_row: usize) -> u64 {
    let warps = lengths.chunks(32 / threads_per_row);
    warps.map(|rows| rows.iter().max().unwrap().div_ceil(threads_per_row as u64)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn features_over_all_rows_match_their_definitions(a in matrices()) {
        // On one thread, so that what was found in earlier rows decides where later ones are looked at again.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let f = pool.install(|| Features::of(&a));
        let lengths = lengths(&a);
        for shape in BroEllShape::ALL {
            prop_assert_eq!(f.padded.bro_ell(shape), Some(bro_ell(&a, shape.slice as usize)), "{}", shape);
        }
        for shape in SellShape::ALL {
            prop_assert_eq!(f.padded.sell(shape), Some(sell(&lengths, shape)), "{}", shape);
        }
        let known = RowLengths::from_counts(lengths.iter().map(|&length| (length, 1)));
        prop_assert_eq!(&RowLengths::of(&a), &known);
        let of_lengths = Features::from_row_lengths(&known, f.ncols, f.bandwidth, f.x_reuse);
        let (padded, locality, diagonals, blocks) = (f.padded.clone(), f.locality.clone(), f.diagonals, f.blocks);
        let (tiles, team_blocks) = (f.tiles, f.team_blocks);
        let of_order = Features { padded, locality, diagonals, blocks, tiles, team_blocks, ..of_lengths };
        prop_assert_eq!(of_order, f.clone());

        let offsets = (0..a.nrows()).flat_map(|row| a.row(row).0.iter().map(move |&col| i64::from(col) - row as i64));
        let (count, most) = (offsets.collect::<BTreeSet<i64>>().len() as u64, Features::largest(f.nrows, f.nnz, f.row_max).diagonals.unwrap());
        prop_assert_eq!(f.diagonals, Some(count.min(most + 1)));

        let distances: Vec<u64> = (0..a.nrows())
            .flat_map(|row| a.row(row).0.windows(2).map(|w| u64::from(w[1] - w[0])).collect::<Vec<_>>())
            .collect();
        let farthest_of = |row: usize| a.row(row).0.iter().map(move |&col| u64::from(col).abs_diff(row as u64));
        prop_assert_eq!(f.bandwidth, (0..a.nrows()).flat_map(farthest_of).max().unwrap_or(0));
        let l = f.locality.unwrap();
        prop_assert_eq!(l.min_distance, distances.iter().copied().min().unwrap_or(0));
        prop_assert_eq!(l.max_distance, distances.iter().copied().max().unwrap_or(0));
        for threads_per_row in [1, 2, 4, 8, 16, 32] {
            let counted = l.team_steps[Locality::team(threads_per_row)];
            prop_assert_eq!(counted, steps(&lengths, threads_per_row as usize), "{} threads", threads_per_row);
        }
    }
}
