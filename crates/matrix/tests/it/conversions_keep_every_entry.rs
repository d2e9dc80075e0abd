//! Laws of the conversions: every non-zero once, sizes known before, refusals before any allocation.

use proptest::prelude::*;
use sparsight_matrix::{
    BinCounts, BroEll, BroEllShape, Bytes, Coo, Csr, Dtype, Ell, Features, Hyb, Infeasible, Jad, Limits,
    MatrixSize, RowBins, RowLengths, Segment, Sell, SellShape, Stored, Tile, TileShape, TileTable,
};

/// Sorted `(row, column, value)` of each entry.
type Entries = Vec<(u32, u32, f64)>;

fn csr_entries(a: &Csr<f64>) -> Entries {
    (0..a.nrows())
        .flat_map(|row| {
            let (cols, values) = a.row(row);
            cols.iter().zip(values).map(move |(&c, &v)| (row as u32, c, v)).collect::<Vec<_>>()
        })
        .collect()
}

fn ell_entries(ell: &Ell<f64>) -> Entries {
    let mut entries = Vec::new();
    for row in 0..ell.nrows() {
        for k in 0..ell.width() {
            let at = k * ell.stride() + row;
            if ell.col_idx()[at] != Ell::<f64>::PAD {
                entries.push((row as u32, ell.col_idx()[at], ell.values()[at]));
            }
        }
    }
    entries
}

fn coo_entries(coo: &Coo<f64>) -> Entries {
    (0..coo.nnz()).map(|e| (coo.row_idx()[e], coo.col_idx()[e], coo.values()[e])).collect()
}

fn bro_ell_entries(bro: &BroEll<f64>) -> Entries {
    (0..bro.nrows()).flat_map(|row| bro.row(row).map(move |(c, v)| (row as u32, c, v))).collect()
}

fn jad_entries(jad: &Jad<f64>) -> Entries {
    let mut entries = Vec::new();
    for diagonal in jad.diagonal_ptr().windows(2) {
        let (start, end) = (diagonal[0] as usize, diagonal[1] as usize);
        let diagonal = start..end;
        let rows = jad.permutation().iter();
        entries.extend(diagonal.zip(rows).map(|(at, &row)| (row, jad.col_idx()[at], jad.values()[at])));
    }
    in_order(entries)
}

fn sell_entries(sell: &Sell<f64>) -> Entries {
    let slice = sell.shape().slice as usize;
    let mut entries = Vec::new();
    for (s, ptr) in sell.slice_ptr().windows(2).enumerate() {
        for at in ptr[0] as usize..ptr[1] as usize {
            if sell.col_idx()[at] != Sell::<f64>::PAD {
                let place = s * slice + (at - ptr[0] as usize) % slice;
                let row = if sell.shape().is_sorted() { sell.permutation()[place] } else { place as u32 };
                entries.push((row, sell.col_idx()[at], sell.values()[at]));
            }
        }
    }
    in_order(entries)
}

fn in_order(mut entries: Entries) -> Entries {
    entries.sort_by(|x, y| x.partial_cmp(y).unwrap());
    entries
}

/// The catalogue, and shapes so small that these matrices have many windows and slices.
fn sell_shapes() -> impl Iterator<Item = SellShape> {
    let small = [(1, 1), (3, 1), (1, 5), (2, 6), (4, 4), (4, 32)];
    SellShape::ALL.into_iter().chain(small.map(|(slice, sigma)| SellShape { slice, sigma }))
}

/// Entries of the CSR by row, `(row, entry)`, that the segments hold.
fn segment_entries(segments: &[Segment]) -> Vec<(u32, u64)> {
    let entries = |s: &Segment| {
        let row = s.row;
        (s.start..s.start + u64::from(s.length)).map(move |entry| (row, entry))
    };
    segments.iter().flat_map(entries).collect()
}

/// Offsets of rows with these lengths.
fn offsets(lengths: &[u64]) -> Vec<u64> {
    let ends = lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// `(row, entry)` of all entries, in order.
fn all_entries(row_ptr: &[u64]) -> Vec<(u32, u64)> {
    row_ptr.windows(2).zip(0..).flat_map(|(w, row)| (w[0]..w[1]).map(move |entry| (row, entry))).collect()
}

/// Holds what [`Segment`] promises: segments of a row stand together, `count` of them from `first` on.
fn check_segments(segments: &[Segment]) {
    for (place, s) in segments.iter().enumerate().filter(|(_, s)| s.count > 0) {
        assert!((s.first..s.first + s.count).contains(&(place as u32)), "{s:?} at {place}");
        assert!(segments[s.first as usize..][..s.count as usize].iter().all(|other| other.row == s.row));
    }
}

/// Rows of any length, a few much longer than the smallest tiles.
fn row_lengths() -> impl Strategy<Value = Vec<u64>> {
    let length = prop_oneof![6 => 0_u64..5, 2 => 0_u64..40, 1 => 30_u64..300, 1 => 500_u64..6000];
    prop::collection::vec(length, 0..60)
}

/// A matrix from a set of positions; its values count the entries, from 1.
fn matrix(nrows: usize, ncols: usize, mut at: Vec<(usize, usize)>) -> Csr<f64> {
    at.retain(|&(r, c)| r < nrows && c < ncols);
    at.sort_unstable();
    at.dedup();
    let mut row_ptr = vec![0; nrows + 1];
    for &(r, _) in &at {
        row_ptr[r + 1] += 1;
    }
    for r in 0..nrows {
        row_ptr[r + 1] += row_ptr[r];
    }
    let values = (1..=at.len()).map(|v| v as f64).collect();
    Csr::try_new(nrows, ncols, row_ptr, at.iter().map(|&(_, c)| c as u32).collect(), values).unwrap()
}

proptest! {
    #[test]
    fn every_format_holds_exactly_the_entries_of_the_csr(
        nrows in 0_usize..70,
        ncols in 1_usize..70,
        at in prop::collection::vec((0_usize..70, 0_usize..70), 0..400),
    ) {
        let a = matrix(nrows, ncols, at);
        let all = csr_entries(&a);
        let coo = Coo::from_csr(&a, &Limits::NONE).unwrap();
        prop_assert_eq!(&coo_entries(&coo), &all);
        let ell = Ell::from_csr(&a, &Limits::NONE).unwrap();
        prop_assert_eq!(&ell_entries(&ell), &all);
        prop_assert_eq!(ell.nnz(), a.nnz());
        let hyb = Hyb::from_csr(&a, &Limits::NONE).unwrap();
        let both = in_order([ell_entries(hyb.ell()), coo_entries(hyb.coo())].concat());
        prop_assert_eq!(&both, &all);
        let jad = Jad::from_csr(&a, &Limits::NONE).unwrap();
        prop_assert_eq!(&jad_entries(&jad), &all);
        for shape in sell_shapes() {
            let sell = Sell::from_csr(&a, shape, &Limits::NONE).unwrap();
            prop_assert_eq!(&sell_entries(&sell), &all, "{}", shape);
        }
        for slice in [1, 3, 32, 256] {
            let bro = BroEll::from_csr(&a, BroEllShape { slice }, &Limits::NONE).unwrap();
            prop_assert_eq!(&bro_ell_entries(&bro), &all);
            let held = bro.values().iter().filter(|v| **v != 0.0).count();
            prop_assert_eq!(held, a.nnz());
        }
    }

    #[test]
    fn bro_ell_holds_columns_anywhere_in_the_range_of_an_index(
        rows in prop::collection::vec(prop::collection::btree_set(0..u32::MAX - 1, 0..40), 0..80),
    ) {
        let row_ptr = rows.iter().scan(0, |end, row| { *end += row.len() as u64; Some(*end) });
        let row_ptr = std::iter::once(0).chain(row_ptr).collect();
        let cols: Vec<u32> = rows.iter().flatten().copied().collect();
        let values = (1..=cols.len()).map(|v| v as f64).collect();
        let a = Csr::try_new(rows.len(), u32::MAX as usize - 1, row_ptr, cols, values).unwrap();
        for shape in BroEllShape::ALL {
            let bro = BroEll::from_csr(&a, shape, &Limits::NONE).unwrap();
            prop_assert_eq!(bro_ell_entries(&bro), csr_entries(&a));
        }
    }

    #[test]
    fn sizes_known_before_are_the_sizes_after(
        nrows in 0_usize..70,
        at in prop::collection::vec((0_usize..70, 0_usize..70), 0..400),
    ) {
        let a = matrix(nrows, 70, at);
        let f = Features::of(&a);
        let size = |cols: usize, values: usize| Bytes(4 * cols as u64 + 8 * values as u64);
        let coo = Coo::from_csr(&a, &Limits::NONE).unwrap();
        prop_assert_eq!(
            Coo::<f64>::device_bytes(f.nnz, Dtype::F64),
            size(coo.col_idx().len() + coo.row_idx().len(), coo.values().len())
        );
        let ell = Ell::from_csr(&a, &Limits::NONE).unwrap();
        prop_assert_eq!(
            Ell::<f64>::device_bytes(f.nrows, f.row_max, Dtype::F64),
            size(ell.col_idx().len(), ell.values().len())
        );
        let hyb = Hyb::from_csr(&a, &Limits::NONE).unwrap();
        prop_assert_eq!(hyb.coo().nnz() as u64, f.hyb.coo_nnz);
        prop_assert_eq!(hyb.ell().width() as u64, f.hyb.width);
        let jad = Jad::from_csr(&a, &Limits::NONE).unwrap();
        let pointers = |words: &[u64]| Bytes(8 * words.len() as u64);
        prop_assert_eq!(
            Jad::<f64>::device_bytes(f.nrows, f.nnz, f.row_max, Dtype::F64).0,
            size(jad.col_idx().len() + jad.permutation().len(), jad.values().len()).0
                + pointers(jad.diagonal_ptr()).0
        );
        for shape in SellShape::ALL {
            let sell = Sell::from_csr(&a, shape, &Limits::NONE).unwrap();
            let entries = f.padded.sell(shape).unwrap();
            prop_assert_eq!(sell.values().len() as u64, entries, "{}", shape);
            prop_assert_eq!(
                Sell::<f64>::device_bytes(f.nrows, shape, entries, Dtype::F64).0,
                size(sell.col_idx().len() + sell.permutation().len(), sell.values().len()).0
                    + pointers(sell.slice_ptr()).0
            );
        }
        for shape in BroEllShape::ALL {
            let bro = BroEll::from_csr(&a, shape, &Limits::NONE).unwrap();
            prop_assert_eq!(
                BroEll::<f64>::device_bytes(f.nrows, shape, f.padded.bro_ell(shape).unwrap(), Dtype::F64),
                Bytes(Stored::<f64>::bytes(&bro))
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_row_and_entry_is_in_one_tile_or_one_segment(lengths in row_lengths()) {
        let row_ptr = offsets(&lengths);
        let (nrows, nnz) = (lengths.len() as u64, row_ptr[lengths.len()]);
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let small = [1, 2, 3, 16, 100].map(|items| TileShape { items });
        for shape in TileShape::ALL.into_iter().chain(small) {
            let (table, items) = (TileTable::of(&row_ptr, shape), u64::from(shape.items));
            prop_assert_eq!(table.tiles().len() as u64, TileTable::tile_count(nrows, nnz, shape));
            let mut rows = Vec::new();
            let mut entries = segment_entries(table.segments());
            let long: std::collections::BTreeSet<u32> = entries.iter().map(|e| e.0).collect();
            for (place, tile) in table.tiles().iter().enumerate() {
                prop_assert!(u64::from(tile.rows) <= items && u64::from(tile.non_zeros) <= 2 * items);
                let of_tile = tile.first_row..tile.first_row + tile.rows;
                prop_assert_eq!(row_ptr[of_tile.start as usize], tile.start);
                prop_assert_eq!(row_ptr[of_tile.end as usize], tile.start + u64::from(tile.non_zeros));
                entries.extend(of_tile.clone().flat_map(|r| {
                    (row_ptr[r as usize]..row_ptr[r as usize + 1]).map(move |entry| (r, entry))
                }));
                rows.extend(of_tile);
                let segment = table.segments().get(place).copied().unwrap_or_default();
                prop_assert_eq!(tile.has_segment, segment.count > 0);
                prop_assert!(u64::from(segment.length) <= 2 * items, "{:?} with {}", segment, shape);
            }
            check_segments(table.segments());
            rows.extend(&long);
            rows.sort_unstable();
            prop_assert_eq!(rows, (0..nrows as u32).collect::<Vec<_>>(), "every row once: {}", shape);
            entries.sort_unstable();
            prop_assert_eq!(entries, all_entries(&row_ptr), "every entry once: {}", shape);
            let cut = |row: &u32| lengths[*row as usize] > items;
            prop_assert_eq!(long, (0..nrows as u32).filter(cut).collect());
            // The arrays as a device holds them; a partial sum of 8 bytes and a counter beside each segment.
            let words = size_of_val(&*table.tiles().iter().map(Tile::words).collect::<Vec<_>>())
                + table.segments().len() * (size_of_val(&Segment::default().words()) + 8 + 4);
            let csr = Csr::<f64>::device_bytes(nrows, nnz, Dtype::F64).0;
            prop_assert_eq!(
                TileTable::device_bytes(nrows, nnz, longest, shape, Dtype::F64),
                Bytes(csr + words as u64)
            );
        }
    }

    #[test]
    fn every_row_is_in_one_bin_and_every_entry_in_its_row_or_one_segment(lengths in row_lengths()) {
        let row_ptr = offsets(&lengths);
        let (nrows, nnz) = (lengths.len() as u64, row_ptr[lengths.len()]);
        let bins = RowBins::of(&row_ptr);
        let mut order = bins.order().to_vec();
        order.sort_unstable();
        prop_assert_eq!(order, (0..nrows as u32).collect::<Vec<_>>());
        for (place, &row) in bins.order().iter().enumerate() {
            prop_assert_eq!(bins.starts()[place], row_ptr[row as usize]);
            prop_assert_eq!(u64::from(bins.lengths()[place]), lengths[row as usize]);
        }
        let ends = bins.ends();
        prop_assert_eq!(ends[RowBins::BINS], nrows);
        for (bin, most) in BinCounts::LONGEST.into_iter().enumerate() {
            let places = ends[bin] as usize..ends[bin + 1] as usize;
            prop_assert!(bins.lengths()[places].iter().all(|&length| u64::from(length) <= most));
        }
        check_segments(bins.segments());
        let mut cut: Vec<u32> = bins.order()[..ends[0] as usize].to_vec();
        let mut found: Vec<u32> = bins.segments().iter().map(|s| s.row).collect();
        found.dedup();
        prop_assert_eq!(&found, &cut);
        cut.sort_unstable();
        let of_cut = all_entries(&row_ptr).into_iter().filter(|e| cut.binary_search(&e.0).is_ok());
        prop_assert_eq!(segment_entries(bins.segments()), of_cut.collect::<Vec<_>>());
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let places = RowBins::segment_places(nnz, longest);
        prop_assert!(bins.segments().len() as u64 <= places);
        prop_assert_eq!(
            RowBins::device_bytes(nrows, nnz, longest, Dtype::F32),
            Bytes(8 * nnz + 12 * nrows + 44 * places)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Long enough for several of the largest windows, with rows on both sides of what is counted.
    #[test]
    fn sell_stores_as_much_as_the_row_lengths_say(
        nrows in 0_usize..40_000,
        lengths in prop::collection::vec(prop_oneof![8 => 0_usize..9, 1 => 200_usize..300], 1..50),
    ) {
        let lengths = (0..nrows).map(|row| lengths[(row * row + row / 7) % lengths.len()]);
        let mut row_ptr = vec![0_u64];
        let mut col_idx = Vec::new();
        for length in lengths {
            col_idx.extend(0..length as u32);
            row_ptr.push(col_idx.len() as u64);
        }
        let values = vec![1.0_f32; col_idx.len()];
        let a = Csr::try_new(nrows, 300, row_ptr, col_idx, values).unwrap();
        let f = Features::of(&a);
        for shape in SellShape::ALL {
            let sell = Sell::from_csr(&a, shape, &Limits::NONE).unwrap();
            let ptr = sell.slice_ptr();
            prop_assert_eq!(*ptr.last().unwrap(), f.padded.sell(shape).unwrap(), "{}", shape);
            // Not a column too many: every slice has a row that fills its last one.
            let slice = shape.slice as usize;
            for s in ptr.windows(2).filter(|s| s[1] > s[0]) {
                let last = &sell.col_idx()[s[1] as usize - slice..s[1] as usize];
                prop_assert!(last.iter().any(|&col| col != Sell::<f32>::PAD), "{}", shape);
            }
        }
    }
}

#[test]
fn a_third_of_the_rows_cut_hyb_where_the_definition_says() {
    // 9,000 rows: 4,500 with 5 entries, the rest with 2. Both a third of the rows and 4,096 rows have 5.
    let at = (0..9_000).flat_map(|r| (0..if r % 2 == 0 { 5 } else { 2 }).map(move |k| (r, 3 * k))).collect();
    let a = matrix(9_000, 20, at);
    let hyb = Hyb::from_csr(&a, &Limits::NONE).unwrap();
    assert_eq!((hyb.ell().width(), hyb.coo().nnz()), (5, 0), "K = max(D): an empty COO part");
    assert_eq!(RowLengths::of(&a).hyb_split().width, 5);
}

#[test]
fn an_ell_that_would_pad_too_much_is_refused_with_the_factor() {
    // One row of 1,000 among 999 of one entry: 1,000,000 stored for 1,999.
    let at = (0..1_000).map(|c| (0, c)).chain((1..1_000).map(|r| (r, r))).collect();
    let a = matrix(1_000, 1_000, at);
    let refusal = Ell::from_csr(&a, &Limits::with_memory(Bytes(u64::MAX))).unwrap_err();
    assert_eq!(refusal.to_string(), "would pad by 500.3x, the limit is 8x");
    assert!(Coo::from_csr(&a, &Limits::with_memory(Bytes(u64::MAX))).is_ok());
    assert!(Jad::from_csr(&a, &Limits::with_memory(Bytes(u64::MAX))).is_ok(), "JAD does not pad");
    // The long row makes 32 rows long: 32 * 1,000 and 31 slices of one entry, the last with 24 places too many.
    let shape = |slice, sigma| SellShape { slice, sigma };
    let sell = |shape| Sell::from_csr(&a, shape, &Limits::with_memory(Bytes(u64::MAX)));
    assert_eq!(sell(shape(32, 1)).unwrap_err().to_string(), "would pad by 16.1x, the limit is 8x");
    assert!(sell(shape(4, 1)).is_ok());
}

#[test]
fn the_places_behind_the_last_row_are_not_held_against_sell() {
    let a = matrix(1, 50, (0..50).map(|c| (0, c)).collect());
    for shape in SellShape::ALL {
        let sell = Sell::from_csr(&a, shape, &Limits::with_memory(Bytes(u64::MAX))).unwrap();
        assert_eq!(sell.values().len(), 50 * shape.slice as usize);
    }
}

#[test]
fn rows_beyond_32_bits_are_refused_where_a_permutation_must_name_them() {
    let nrows = u64::from(u32::MAX);
    let size = MatrixSize { nrows, ncols: 9, nnz: nrows };
    let refusal = Err(Infeasible::TooManyRows { nrows });
    assert_eq!(Jad::<f32>::check(size, 1, &Limits::NONE), refusal);
    let shape = TileShape { items: 256 };
    assert_eq!(TileTable::check::<f32>(size, 1, shape, &Limits::NONE), refusal);
    assert_eq!(RowBins::check::<f32>(size, 1, &Limits::NONE), refusal);
    for shape in SellShape::ALL {
        let checked = Sell::<f32>::check(size, shape, 2 * nrows, &Limits::NONE);
        if shape.is_sorted() {
            assert_eq!(checked, refusal, "{shape}");
        } else {
            assert!(checked.is_ok(), "{shape}");
        }
    }
}

#[test]
fn a_format_that_would_need_more_than_there_is_is_refused_with_both_sizes() {
    let a = matrix(100, 100, (0..100).map(|r| (r, r)).collect());
    let limits = Limits::with_memory(Bytes(1_500));
    let refusal = Coo::from_csr(&a, &limits).unwrap_err();
    assert_eq!(refusal, Infeasible::DoesNotFit { need: Bytes(1_600 + 1_600), have: Bytes(1_500) });
    let refusal = Jad::from_csr(&a, &limits).unwrap_err();
    let need = Bytes(12 * 100 + 4 * 100 + 8 * 2 + 1_600);
    assert_eq!(refusal, Infeasible::DoesNotFit { need, have: Bytes(1_500) });
    let refusal = Sell::from_csr(&a, SellShape { slice: 50, sigma: 100 }, &limits).unwrap_err();
    let need = Bytes(12 * 100 + 4 * 100 + 8 * 3 + 1_600);
    assert_eq!(refusal, Infeasible::DoesNotFit { need, have: Bytes(1_500) });
    let need = Bytes(4 * 101 + 1_200 + 16 + 1_600);
    let refusal = TileTable::check::<f64>((&a).into(), 1, TileShape { items: 256 }, &limits);
    assert_eq!(refusal, Err(Infeasible::DoesNotFit { need, have: Bytes(1_500) }));
    let need = Bytes(12 * 100 + 1_200 + 1_600);
    let refusal = RowBins::check::<f64>((&a).into(), 1, &limits);
    assert_eq!(refusal, Err(Infeasible::DoesNotFit { need, have: Bytes(1_500) }));
    // Nothing of that size exists here: the check alone must say no, and without overflowing.
    let size = MatrixSize { nrows: 1 << 40, ncols: 1 << 20, nnz: 1 << 62 };
    let refusal = Ell::<f32>::check(size, 1 << 30, &limits).unwrap_err();
    assert!(matches!(refusal, Infeasible::Padding { .. } | Infeasible::DoesNotFit { .. }), "{refusal}");
    let shape = SellShape { slice: 512, sigma: 1 };
    let refusal = Sell::<f32>::check(size, shape, u64::MAX, &limits).unwrap_err();
    assert!(matches!(refusal, Infeasible::DoesNotFit { .. }), "{refusal}");
    let refusal = Jad::<f32>::check(MatrixSize { nrows: 1 << 31, ..size }, u64::MAX, &limits).unwrap_err();
    assert!(matches!(refusal, Infeasible::DoesNotFit { .. }), "{refusal}");
}
