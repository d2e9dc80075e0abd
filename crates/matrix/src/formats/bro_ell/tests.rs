//! BRO-ELL by hand, and where its bits run out.

use super::*;
use crate::Features;

fn converted(a: &Csr<f64>, slice: u32) -> BroEll<f64> {
    BroEll::from_csr(a, BroEllShape { slice }, &Limits::NONE).unwrap()
}

/// Rows of these columns; the values count the entries, from 1.
fn matrix(ncols: usize, rows: &[&[u32]]) -> Csr<f64> {
    let row_ptr = offsets(rows.iter().map(|row| row.len() as u64));
    let cols = rows.concat();
    let values = (1..=cols.len()).map(|v| v as f64).collect();
    Csr::try_new(rows.len(), ncols, row_ptr, cols, values).unwrap()
}

fn holds_exactly(bro: &BroEll<f64>, a: &Csr<f64>) {
    for row in 0..a.nrows() {
        let (cols, values) = a.row(row);
        let expected = cols.iter().copied().zip(values.iter().copied());
        assert!(bro.row(row).eq(expected), "row {row}");
    }
}

#[test]
fn the_picture_in_the_documentation_is_what_is_stored() {
    let a = matrix(8, &[&[0, 2], &[], &[0, 6], &[7]]);
    let bro = converted(&a, 3);
    // Column 7 is difference 8, of four bits, in a slice of one row.
    assert_eq!((&bro.column_ptr[..], &bro.bits[..]), (&[0, 2, 3][..], &[1, 3, 4][..]));
    assert_eq!((&bro.symbol_ptr[..], &bro.symbols[..]), (&[0, 3, 4][..], &[0b0101, 0, 0b1101, 0b1000][..]));
    assert_eq!(bro.values(), [1.0, 0.0, 3.0, 2.0, 0.0, 4.0, 5.0]);
    holds_exactly(&bro, &a);
}

#[test]
fn the_last_columns_that_an_index_can_name_fit_their_32_bits() {
    // With u32::MAX - 1 columns, the most there can be: differences of 32 bits in every place.
    let last = u32::MAX - 2;
    let middle = last / 2 + 7;
    let rows: [&[u32]; 5] = [&[last], &[0, last], &[], &[5, middle, last], &[0, 1, middle, last]];
    let a = matrix(last as usize + 1, &rows);
    for slice in [1, 2, 32, 256] {
        let bro = converted(&a, slice);
        assert_eq!(bro.bits.iter().max(), Some(&32));
        holds_exactly(&bro, &a);
    }
}

#[test]
fn a_difference_may_straddle_two_symbols_at_any_bit() {
    // A second entry shifts the rest of the stream by its own width.
    for width in 1..=32 {
        let mut rows = [vec![0_u32, 1 << (width - 1)]];
        let step = 1_u32 << 19;
        let next = rows[0][1];
        rows[0].extend((1..40).map(|k| next + k * step + k));
        let rows: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
        let a = matrix(u32::MAX as usize - 1, &rows);
        holds_exactly(&converted(&a, 32), &a);
    }
}

#[test]
fn slices_without_entries_take_two_offsets_and_nothing_else() {
    let rows = [&[][..]; 70];
    let bro = converted(&matrix(9, &rows), 32);
    assert_eq!((&bro.column_ptr[..], &bro.symbol_ptr[..]), (&[0; 4][..], &[0; 4][..]));
    assert!(bro.bits.is_empty() && bro.symbols.is_empty() && bro.values().is_empty());
    let (shape, none) = (bro.shape, BroEllSize::default());
    assert_eq!(BroEll::<f64>::device_bytes(70, shape, none, Dtype::F64), Bytes(64));
    assert!(bro.row(69).next().is_none());
}

#[test]
fn both_shapes_are_sized_in_one_sweep_as_each_is_converted() {
    // Rows longer than a strip, short and none, over slices of both shapes and a last one that is not full.
    let lengths = (0..600_usize).map(|row| if row % 97 == 3 { 700 } else { row * row % 6 });
    let rows: Vec<Vec<u32>> = lengths
        .enumerate()
        .map(|(row, length)| (0..length).map(|k| ((row % 5 + 1) * k * k + row * k) as u32).collect())
        .collect();
    let rows: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
    let a = matrix(10_000_000, &rows);
    let padded = Features::of(&a).padded;
    for shape in BroEllShape::ALL {
        let size = padded.bro_ell(shape).unwrap();
        let bro = BroEll::from_csr(&a, shape, &Limits::NONE).unwrap();
        let stored = [bro.values().len(), bro.symbols.len(), bro.bits.len()].map(|len| len as u64);
        assert_eq!([size.entries, size.symbols, size.columns], stored, "{shape}");
        holds_exactly(&bro, &a);
    }
}

#[test]
fn padding_counts_the_rows_that_there_are() {
    // One row: nothing is stored for the 255 that would complete the slice.
    let cols: Vec<u32> = (0..1000).collect();
    let a = matrix(1000, &[&cols]);
    let limits = Limits::with_memory(Bytes(u64::MAX));
    assert_eq!(BroEll::from_csr(&a, BroEllShape::ALL[1], &limits).unwrap().values().len(), 1000);
    // That row among 99 empty ones pads a hundredfold in a slice of 256, and 32-fold in one of 32.
    let mut rows = vec![&[][..]; 100];
    rows[0] = &cols;
    let a = matrix(1000, &rows);
    let refusal = |shape| BroEll::from_csr(&a, shape, &limits).unwrap_err().to_string();
    assert_eq!(refusal(BroEllShape::ALL[1]), "would pad by 100.0x, the limit is 8x");
    assert_eq!(refusal(BroEllShape::ALL[0]), "would pad by 32.0x, the limit is 8x");
}

#[test]
fn neighbouring_columns_take_few_bits() {
    // A tridiagonal matrix: a first column of up to 8 bits, and two differences of 1 bit.
    let rows: Vec<[u32; 3]> = (0..200).map(|row| [row, row + 1, row + 2]).collect();
    let rows: Vec<&[u32]> = rows.iter().map(<[u32; 3]>::as_slice).collect();
    let a = matrix(202, &rows);
    let size = Features::of(&a).padded.bro_ell(BroEllShape::ALL[1]).unwrap();
    assert_eq!(size, BroEllSize { entries: 600, symbols: 200, columns: 3 });
    let bits = size.bits_a_column(600);
    assert!((bits - (64.0 * 200.0 + 8.0 * 3.0) / 600.0).abs() < 1e-12, "{bits}");
}
