//! Matrices that kernels trip over, and the judgement over a device that runs them.

pub mod streams;

use sparsight_device::gpu::DeviceArray;
use sparsight_device::{Device, DeviceError, DeviceVectors, Operand, Product, Stream, check, random_x};
use sparsight_kernels::{Format, every_candidate};
use sparsight_matrix::gallery::Recipe;
use sparsight_matrix::{Csr, Dtype, Features, Narrowing, Reference, Scalar, io, mix, reference};
use std::path::PathBuf;

/// The product with arrays of a GPU, queued in `stream`.
///
/// # Errors
/// As [`Product::multiply_on_device`].
pub fn queue<T: Scalar>(
    product: &dyn Product<T>,
    (alpha, x): (f64, &DeviceArray<T>),
    (beta, y): (f64, &mut DeviceArray<T>),
    stream: Option<Stream<'_>>,
) -> Result<(), DeviceError> {
    product.multiply_on_device(DeviceVectors { alpha, x: x.as_slice(), beta, y: y.as_mut_slice(), stream })
}

/// Calls `hold` with every real matrix in the folder that `SPARSIGHT_MATRICES` names, else the one beside the
/// checkout; says so where there is none.
///
/// # Panics
/// If the folder that was named is not there, or one that is there holds no matrix.
pub fn for_each_real_matrix(mut hold: impl FnMut(&str, &Csr<f64>)) {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/matrices/small");
    let folder = std::env::var_os("SPARSIGHT_MATRICES").map_or(beside, PathBuf::from);
    let files = match std::fs::read_dir(&folder) {
        Ok(files) => files,
        Err(error) => {
            let is_named = std::env::var_os("SPARSIGHT_MATRICES").is_some();
            assert!(!is_named, "SPARSIGHT_MATRICES: {}: {error}", folder.display());
            eprintln!("skipped: no folder {}", folder.display());
            return;
        }
    };
    let mut count = 0;
    for path in files.map(|f| f.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "npz")) {
        let a = io::read::<f64>(&path, &io::ReadOptions::default()).unwrap().matrix;
        hold(&path.display().to_string(), &a);
        count += 1;
    }
    assert!(count > 0, "no .npz in {}", folder.display());
    eprintln!("{count} matrices of {}", folder.display());
}

/// Checks every candidate of the catalogue for `T` that the device runs on every awkward matrix.
///
/// # Panics
/// On a wrong result, a failure, or a refusal on which device and catalogue disagree.
pub fn hold_to_reference<T: Scalar>(device: &dyn Device<T>) {
    for (name, a) in awkward_matrices::<T>() {
        hold_matrix_to_reference(device, &name, &a);
    }
}

/// Checks every candidate of the catalogue for `T` that the device runs on one matrix.
///
/// # Panics
/// As [`hold_to_reference`].
pub fn hold_matrix_to_reference<T: Scalar>(device: &dyn Device<T>, name: &str, a: &Csr<T>) {
    let x = random_x::<T>(a.ncols(), 5);
    let expected = reference(a, &x);
    let features = Features::of(a);
    let mut held = Vec::new();
    for format in Format::all() {
        let candidates =
            || every_candidate(T::DTYPE).filter(|c| c.format() == format && device.runs(c.kernel).is_ok());
        // Of a format that no kernel of this device reads the features still know whether it can be held.
        let Some(mut operand) = operand_with_x(device, name, a, (&features, &x), (format, T::DTYPE)) else {
            continue;
        };
        held.push(format);
        for candidate in candidates() {
            if let Err(error) = check(operand.as_mut(), &candidate, &expected) {
                panic!("{name}: {error}");
            }
        }
    }
    // Otherwise a test without any kernel on blocks would pass.
    assert!(
        !name.ends_with("unknowns a node") || held.iter().any(|format| format.name() == "bcsr"),
        "{name}"
    );
}

/// Checks every candidate in mixed precision on one matrix, whose values `f32` cannot hold: y is right for the rounded matrix, with
/// the rounding errors of `f64`.
///
/// # Panics
/// As [`hold_to_reference`].
pub fn hold_matrix_in_mixed_precision(device: &dyn Device<f64>, name: &str, a: &Csr<f64>) {
    let a = thirds(a);
    let x = random_x::<f64>(a.ncols(), 5);
    let expected = reference(&Narrowing::rounded(&a), &x);
    let features = Features::of(&a);
    for format in Format::all() {
        let candidates: Vec<_> = every_candidate(Dtype::Mixed).filter(|c| c.format() == format).collect();
        let Some(mut operand) = operand_with_x(device, name, &a, (&features, &x), (format, Dtype::Mixed))
        else {
            continue;
        };
        for candidate in &candidates {
            if let Err(error) = check(operand.as_mut(), candidate, &expected) {
                panic!("{name}: {error}");
            }
        }
    }
}

/// A matrix on a device in a format, with its x; `None` if it cannot be held in that, on which its features and the device have to agree.
fn operand_with_x<T: Scalar>(
    device: &dyn Device<T>,
    name: &str,
    a: &Csr<T>,
    (features, x): (&Features, &[T]),
    (format, dtype): (Format, Dtype),
) -> Option<Box<dyn Operand<T>>> {
    let possible = format.check(features, dtype, &device.limits()).is_ok();
    match device.operand(a, format, dtype) {
        Ok(mut operand) => {
            assert!(possible, "{name}: {format} was accepted though it is infeasible");
            operand.set_x(x).unwrap();
            Some(operand)
        }
        Err(DeviceError::Infeasible(why)) => {
            assert!(!possible, "{name}: {format} was refused though it is feasible: {why}");
            None
        }
        Err(error) => panic!("{name}: {format} could not be loaded: {error}"),
    }
}

/// A copy with values that `f32` cannot hold, in place of others that it can.
///
/// # Panics
/// Never: there is a value for each entry.
pub fn thirds<T: Scalar>(a: &Csr<T>) -> Csr<T> {
    let thirds = a.values().iter().map(|value| T::from_f64(value.to_f64() / 3.0));
    a.with_values(thirds.collect()).expect("a value for each entry")
}

/// A x, and -2 A x + 8 (A x / 2) = 2 A x: powers of two scale without rounding.
///
/// # Panics
/// On a wrong result or a failure.
pub fn hold<T: Scalar>(product: &dyn Product<T>, what: &str, x: &[T], expected: &Reference) {
    let mut y = vec![T::from_f64(f64::NAN); expected.y.len()];
    product.multiply(1.0, x, 0.0, &mut y).unwrap();
    assert_eq!(expected.first_wrong(&y), None, "{what}");
    product.multiply(0.5, x, 0.0, &mut y).unwrap();
    product.multiply(-2.0, x, 8.0, &mut y).unwrap();
    let half: Vec<T> = y.iter().map(|y| T::from_f64(y.to_f64() / 2.0)).collect();
    assert_eq!(expected.first_wrong(&half), None, "{what}, scaled");
}

/// Named matrices with the shapes at which kernels go wrong.
pub fn awkward_matrices<T: Scalar>() -> Vec<(String, Csr<T>)> {
    let mut all = vec![
        ("0 x 0".to_owned(), from_lengths(0, &[])),
        ("0 x 9".to_owned(), from_lengths(9, &[])),
        ("9 x 0".to_owned(), from_lengths(0, &[0; 9])),
        ("no entries".to_owned(), from_lengths(70, &[0; 1000])),
        ("1 x 1".to_owned(), from_lengths(1, &[1])),
        ("1 x n, full".to_owned(), from_lengths(100_003, &[100_003])),
        ("1 x n, one entry".to_owned(), from_lengths(100_003, &[1])),
        ("n x 1".to_owned(), from_lengths(1, &[1; 10_007])),
        ("n x 1, every third".to_owned(), from_lengths(1, &every(10_007, |i| usize::from(i % 3 == 0)))),
        ("dense".to_owned(), from_lengths(65, &[65; 67])),
        ("every row of one entry".to_owned(), from_lengths(5_000, &[1; 5_001])),
        ("empty rows in front and behind".to_owned(), {
            from_lengths(500, &every(9_000, |i| if (3_000..3_100).contains(&i) { 40 } else { 0 }))
        }),
        ("a huge row among short ones".to_owned(), {
            from_lengths(150_000, &every(6_000, |i| if i == 3_001 { 120_001 } else { 1 + i % 4 }))
        }),
        ("huge rows first and last".to_owned(), {
            from_lengths(150_000, &every(40, |i| if i == 0 || i == 39 { 110_000 } else { i % 2 }))
        }),
        ("rows around a warp".to_owned(), {
            let around = [31, 32, 33, 63, 64, 65, 0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 127, 128, 129];
            from_lengths(300, &every(5_000, |i| around[i % around.len()]))
        }),
        ("rows around a tile".to_owned(), {
            let around = [255, 256, 257, 511, 513, 3, 0, 1023, 1025, 2, 2047, 2049, 4095, 4097, 9];
            from_lengths(5_000, &every(60, |i| around[i * 7 % around.len()]))
        }),
        ("giant rows side by side".to_owned(), {
            from_lengths(150_000, &every(30, |i| if (10..13).contains(&i) { 70_000 + i } else { i % 3 }))
        }),
        ("borders of tiles at every place".to_owned(), {
            from_lengths(3_000, &every(2_000, |i| if i % 2 == 0 { i % 7 } else { 300 + i % 251 }))
        }),
        ("long tail".to_owned(), {
            from_lengths(3_000, &every(9_001, |i| if i % 100 == 7 { 700 } else { 3 + i % 5 }))
        }),
    ];
    let recipes = [
        ("a stencil", "stencil3d,n=23"),
        ("a band", "banded,n=3001"),
        // Whole blocks, several warps of rows of blocks: what every format of blocks holds.
        ("two unknowns a node", "fem,n=9,unknowns=2"),
        ("three unknowns a node", "fem,n=9,unknowns=3"),
        ("four unknowns a node", "fem,n=7,unknowns=4"),
        ("six unknowns a node", "fem,n=7,unknowns=6"),
    ];
    for (name, recipe) in recipes {
        let a = recipe.parse::<Recipe>().expect("a recipe").generate().expect("a small matrix");
        all.push((name.to_owned(), a));
    }
    for (seed, nrows, ncols) in [(1, 1, 77), (2, 77, 3), (3, 1_025, 999), (4, 4_097, 130), (5, 255, 20_000)] {
        let lengths = every(nrows, |i| (mix(seed * 1_000_003 + i as u64) % 20) as usize * ncols / 40);
        all.push((format!("random {nrows} x {ncols}"), from_lengths(ncols, &lengths)));
    }
    all
}

/// `length(row)` of `nrows` rows.
fn every(nrows: usize, length: impl Fn(usize) -> usize) -> Vec<usize> {
    (0..nrows).map(length).collect()
}

/// A matrix with rows of these lengths, their columns scattered over `ncols`, values in [-1, 1).
fn from_lengths<T: Scalar>(ncols: usize, lengths: &[usize]) -> Csr<T> {
    let mut row_ptr = vec![0];
    let mut col_idx = Vec::new();
    for (row, &length) in lengths.iter().enumerate() {
        for k in 0..length {
            // One column in each of `length` equal parts.
            let (start, end) = (k * ncols / length, (k + 1) * ncols / length);
            let r = mix((row * 1_000_003 + k) as u64) as usize;
            col_idx.push((start + r % (end - start)) as u32);
        }
        row_ptr.push(col_idx.len() as u64);
    }
    let values = random_x(col_idx.len(), 11);
    Csr::try_new(lengths.len(), ncols, row_ptr, col_idx, values).expect("one column in each part")
}
