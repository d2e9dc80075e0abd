//! Laws of the conversions: every non-zero once, sizes known before, refusals before any allocation.

use proptest::prelude::*;
use sparsight_matrix::{
    BroEll, BroEllShape, Bytes, Coo, Csr, Dtype, Ell, Features, Hyb, Infeasible, Limits, RowLengths,
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
        let mut both = ell_entries(hyb.ell());
        both.extend(coo_entries(hyb.coo()));
        both.sort_by(|x, y| x.partial_cmp(y).unwrap());
        prop_assert_eq!(&both, &all);
        for slice in [1, 3, 32, 256] {
            let bro = BroEll::from_csr(&a, BroEllShape { slice }, &Limits::NONE).unwrap();
            prop_assert_eq!(&bro_ell_entries(&bro), &all);
            let held = bro.values().iter().filter(|v| **v != 0.0).count();
            prop_assert_eq!((held, bro.nnz()), (a.nnz(), a.nnz()));
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
        for shape in BroEllShape::ALL {
            let bro = BroEll::from_csr(&a, shape, &Limits::NONE).unwrap();
            let words = bro.column_ptr().len() + bro.symbol_ptr().len() + bro.symbols().len();
            prop_assert_eq!(
                BroEll::<f64>::device_bytes(f.nrows, shape, f.padded.bro_ell(shape).unwrap(), Dtype::F64),
                Bytes((8 * (words + bro.values().len()) + bro.bits().len()) as u64)
            );
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
}

#[test]
fn a_format_that_would_need_more_than_there_is_is_refused_with_both_sizes() {
    let a = matrix(100, 100, (0..100).map(|r| (r, r)).collect());
    let limits = Limits::with_memory(Bytes(1_500));
    let refusal = Coo::from_csr(&a, &limits).unwrap_err();
    assert_eq!(refusal, Infeasible::DoesNotFit { need: Bytes(1_600 + 1_600), have: Bytes(1_500) });
    // Nothing of that size exists here: the check alone must say no, and without overflowing.
    let refusal = Ell::<f32>::check(1 << 40, 1 << 20, 1 << 62, 1 << 30, &limits).unwrap_err();
    assert!(matches!(refusal, Infeasible::Padding { .. } | Infeasible::DoesNotFit { .. }), "{refusal}");
}
