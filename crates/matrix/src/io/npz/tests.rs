//! Blocks and diagonals that strain memory or the value type.

#[path = "../../../tests/it/npz_writer.rs"]
mod npz_writer;

use crate::io::{self, Loaded, ReadError, ReadOptions};
use crate::{Bytes, Csr, Scalar};
use npz_writer::{Array, archive, float64, format, int64};
use std::path::Path;

fn read<T: Scalar>(arrays: &[Array<'_>], options: &ReadOptions<'_>) -> Result<Loaded<T>, ReadError> {
    io::read_npz::<T>(&archive(arrays, true), Path::new("a.npz"), options)
}

fn in_dimensions(values: &[f64], shape: &str) -> Array<'static> {
    let (name, descr, _, bytes) = float64("data", values);
    (name, descr, shape.to_owned(), bytes)
}

#[test]
fn a_block_larger_than_a_chunk_is_read_in_pieces_and_refused_where_memory_ends() {
    // Two blocks of 300 x 400 above each other, right and left: pieces end within both.
    let (high, wide) = (300, 400);
    let values: Vec<f64> = (0..2 * high * wide).map(|at| at as f64).collect();
    let arrays = [
        int64("indices", &[1, 0]),
        int64("indptr", &[0, 1, 2]),
        format("bsr"),
        int64("shape", &[2 * high, 2 * wide]),
        in_dimensions(&values, "(2, 300, 400)"),
    ];
    let row_ptr = (0..=2 * high).map(|row| (row * wide) as u64).collect();
    let starts = (0..2 * high).map(|row| if row < high { wide } else { 0 });
    let cols = starts.flat_map(|start| start..start + wide).map(|col| col as u32).collect();
    let expected = Csr::try_new(2 * high as usize, 2 * wide as usize, row_ptr, cols, values).unwrap();
    assert_eq!(read::<f64>(&arrays, &ReadOptions::default()).unwrap().matrix, expected);
    // Enough for the values, not for their triplets.
    let options = ReadOptions { memory: Some(Bytes(3 << 20)), ..ReadOptions::default() };
    let error = read::<f64>(&arrays, &options).unwrap_err();
    assert!(matches!(error, ReadError::Memory { .. }), "{error}");
}

#[test]
fn a_diagonal_has_the_same_places_in_either_type_and_without_its_values() {
    // 1e-60 is 0 in `f32`; 0 is none in either, whatever its sign.
    let data = in_dimensions(&[1.0, 1e-60, 0.0, -1e-60, -0.0, 2.0], "(1, 6)");
    let arrays = [int64("offsets", &[0]), format("dia"), int64("shape", &[6, 6]), data];
    let every = ReadOptions::default();
    let double = read::<f64>(&arrays, &every).unwrap();
    let single = read::<f32>(&arrays, &every).unwrap();
    assert_eq!(double.matrix.values(), [1.0, 1e-60, -1e-60, 2.0]);
    assert_eq!(single.matrix.values(), [1.0, 0.0, 0.0, 2.0]);
    assert!(single.matrix.values().iter().all(|value| value.is_sign_positive()), "no mark is left");
    let places = ReadOptions { places_only: true, ..ReadOptions::default() };
    let places = read::<f32>(&arrays, &places).unwrap();
    assert_eq!(double.matrix.col_idx(), [0, 1, 3, 5]);
    for (single, which) in [(&single, "values"), (&places, "places")] {
        assert_eq!(single.matrix.row_ptr(), double.matrix.row_ptr(), "{which}");
        assert_eq!(single.matrix.col_idx(), double.matrix.col_idx(), "{which}");
        assert_eq!(single.stored.entries, 4, "{which}");
    }
}
