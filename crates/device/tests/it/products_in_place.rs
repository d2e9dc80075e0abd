//! Products with a CSR that stays where its owner has it, and the count of its row lengths, on an emulated GPU. Without g++ they are
//! skipped; `SPARSIGHT_REQUIRE_GXX=1` turns that into a failure.

use crate::emulator::matrices::{awkward, matrix};
use crate::emulator::{EmulatedGpu, Order, gxx_is_missing};
use sparsight_device::gpu::{CsrAddresses, DeviceArray, GpuDevice, LaunchShape, Vectors};
use sparsight_device::{DeviceError, Stream, random_x};
use sparsight_kernels::{Candidate, HELPER_BLOCK, Kernel, row_lengths_source};
use sparsight_matrix::{Csr, MatrixSize, Scalar};

/// The matrices, by what they are in [`awkward`]: no more, since each product of each kernel is a process.
const CHOSEN: [&str; 6] = [
    "one entry",
    "33 rows",
    "empty rows first, last and between",
    "every length up to 40",
    "giant rows side by side and short ones between",
    "rows around a tile",
];

fn chosen<T: Scalar>() -> Vec<(&'static str, Csr<T>)> {
    let known: Vec<_> = awkward().into_iter().filter(|(what, _)| CHOSEN.contains(what)).collect();
    assert_eq!(known.len(), CHOSEN.len());
    known.into_iter().map(|(what, lengths)| (what, matrix(&lengths))).collect()
}

/// A CSR in the memory of a GPU, with indices from `base` on.
struct Owned<T> {
    row_ptr: (DeviceArray<u64>, DeviceArray<u32>),
    col_idx: DeviceArray<u32>,
    values: DeviceArray<T>,
    offset_bytes: u64,
}

impl<T: Scalar> Owned<T> {
    fn of(gpu: &GpuDevice, a: &Csr<T>, offset_bytes: u64, base: u64) -> Self {
        let offsets: Vec<u64> = a.row_ptr().iter().map(|offset| offset + base).collect();
        let narrow: Vec<u32> = offsets.iter().map(|offset| *offset as u32).collect();
        // Entries in front of the first, which nothing reads: addresses of entries from 1 on begin there.
        let in_front = vec![u32::MAX; base as usize];
        let columns = a.col_idx().iter().map(|column| column + base as u32);
        let columns: Vec<u32> = in_front.into_iter().chain(columns).collect();
        let nans = vec![T::from_f64(f64::NAN); base as usize];
        let values: Vec<T> = nans.into_iter().chain(a.values().iter().copied()).collect();
        Self {
            row_ptr: (gpu.upload(&offsets).unwrap(), gpu.upload(&narrow).unwrap()),
            col_idx: gpu.upload(&columns).unwrap(),
            values: gpu.upload(&values).unwrap(),
            offset_bytes,
        }
    }

    fn row_ptr(&self) -> u64 {
        if self.offset_bytes == 8 { self.row_ptr.0.address() } else { self.row_ptr.1.address() }
    }

    fn addresses(&self) -> CsrAddresses {
        let [col_idx, values] = [self.col_idx.address(), self.values.address()];
        CsrAddresses { row_ptr: self.row_ptr(), col_idx, values }
    }
}

/// The emulated GPU has one stream.
fn stream() -> Stream<'static> {
    // SAFETY: it is not used.
    unsafe { Stream::from_raw(std::ptr::null_mut()) }
}

/// A product and its y before.
struct Asked<'a, T> {
    a: &'a Csr<T>,
    /// In the place of those of `a`.
    values: &'a [T],
    x: &'a [T],
    factors: (f64, f64),
    before: &'a [T],
}

/// Compares y with alpha A x + beta y, row by row.
fn check<T: Scalar>(what: &str, asked: &Asked<'_, T>, y: &[T]) {
    let Asked { a, values, x, factors: (alpha, beta), before } = *asked;
    for row in 0..a.nrows() {
        let entries = a.row_ptr()[row] as usize..a.row_ptr()[row + 1] as usize;
        let term = |k: usize| values[k].to_f64() * x[a.col_idx()[k] as usize].to_f64();
        let sum: f64 = entries.clone().map(term).sum();
        let size: f64 = entries.clone().map(|k| term(k).abs()).sum();
        let before = if beta == 0.0 { 0.0 } else { beta * before[row].to_f64() };
        let bound = (entries.len() as f64 + 4.0) * T::EPSILON.to_f64() * (alpha.abs() * size + before.abs());
        let (wanted, got) = (alpha * sum + before, y[row].to_f64());
        assert!((got - wanted).abs() <= bound, "{what}: row {row} is {got} in place of {wanted}");
    }
}

/// Kernels of ours that leave the entries where CSR has them.
fn in_csr() -> impl Iterator<Item = Kernel> {
    Kernel::all().filter(|kernel| kernel.format().stays_in_csr() && !kernel.is_vendors())
}

fn check_all<T: Scalar>(offset_bytes: u64, block: u32, order: Order) {
    if gxx_is_missing() {
        return;
    }
    let gpu = EmulatedGpu::device(order);
    for (what, a) in chosen::<T>() {
        let size = MatrixSize { nrows: a.nrows() as u64, ncols: a.ncols() as u64, nnz: a.nnz() as u64 };
        let owned = Owned::of(&gpu, &a, offset_bytes, 0);
        let other_values: Vec<T> = a.values().iter().map(|v| T::from_f64(0.5 - v.to_f64())).collect();
        let other = gpu.upload(&other_values).unwrap();
        let vector = random_x::<T>(a.ncols(), 3);
        let x = gpu.upload(&vector).unwrap();
        let nan = vec![T::from_f64(f64::NAN); a.nrows()];
        let some = random_x::<T>(a.nrows(), 4);
        for kernel in in_csr() {
            let block = if kernel.blocks().contains(&block) { block } else { kernel.blocks()[0] };
            let candidate = Candidate { kernel, block, dtype: T::DTYPE };
            let loaded = gpu.in_place::<T>(&candidate, size, offset_bytes, Some(a.row_ptr())).unwrap();
            assert_eq!(loaded.has_table(), !kernel.format().is_csr(), "{candidate}");
            // One after another without waiting: with other factors, then with other values and another y.
            let products = [(1.0, 0.0, false), (-1.5, 0.25, false), (1.0, 1.0, true)];
            let ys = products.map(|(alpha, beta, other_values)| {
                let y = gpu.upload(if beta == 0.0 { &nan } else { &some }).unwrap();
                let mut csr = owned.addresses();
                if other_values {
                    csr.values = other.address();
                }
                assert!(loaded.takes(&csr), "{candidate}");
                let v = Vectors { x: x.address(), y: y.address(), alpha, beta };
                // SAFETY: the arrays are those of the matrix that it was loaded for.
                unsafe { loaded.queue(&csr, &v, stream()).unwrap() };
                y
            });
            for ((alpha, beta, has_other), y) in products.into_iter().zip(ys) {
                let values = if has_other { &other_values } else { a.values() };
                let asked = Asked { a: &a, values, x: &vector, factors: (alpha, beta), before: &some };
                let what = format!("{candidate} on '{what}', {offset_bytes} bytes, {order:?}");
                check(&what, &asked, &y.read().unwrap());
            }
        }
    }
}

#[test]
fn products_in_single_precision_are_right() {
    check_all::<f32>(4, 128, Order::Forwards);
}

#[test]
fn products_in_single_precision_with_wide_offsets_are_right() {
    check_all::<f32>(8, 128, Order::Backwards);
}

#[test]
fn products_in_double_precision_are_right() {
    check_all::<f64>(4, 64, Order::Backwards);
}

#[test]
fn products_in_double_precision_with_wide_offsets_are_right() {
    check_all::<f64>(8, 64, Order::InPieces);
}

#[test]
fn plain_csr_with_indices_from_1_on_is_multiplied_through_shifted_addresses() {
    if gxx_is_missing() {
        return;
    }
    let gpu = EmulatedGpu::device(Order::Forwards);
    for (what, a) in chosen::<f64>() {
        let size = MatrixSize { nrows: a.nrows() as u64, ncols: a.ncols() as u64, nnz: a.nnz() as u64 };
        let owned = Owned::of(&gpu, &a, 8, 1);
        let vector = random_x::<f64>(a.ncols(), 3);
        let x = gpu.upload(&[vec![f64::NAN], vector.clone()].concat()).unwrap();
        let nan = vec![f64::NAN; a.nrows()];
        for kernel in in_csr().filter(|kernel| kernel.format().is_csr()) {
            let candidate = Candidate { kernel, block: 64, dtype: f64::DTYPE };
            let loaded = gpu.in_place::<f64>(&candidate, size, 8, None).unwrap();
            let y = gpu.upload(&nan).unwrap();
            let v = Vectors { x: x.address(), y: y.address(), alpha: 1.0, beta: 0.0 };
            // SAFETY: row offsets lead to entries behind the one in front, and columns to entries of x behind its first.
            unsafe { loaded.queue(&owned.addresses(), &v, stream()).unwrap() };
            let asked = Asked { a: &a, values: a.values(), x: &vector, factors: (1.0, 0.0), before: &nan };
            check(&format!("{candidate} on '{what}'"), &asked, &y.read().unwrap());
        }
    }
}

#[test]
fn kernels_with_tables_need_row_offsets_and_aligned_arrays() {
    if gxx_is_missing() {
        return;
    }
    let gpu = EmulatedGpu::device(Order::Forwards);
    let a = matrix::<f64>(&[3, 0, 7, 2]);
    let size = MatrixSize { nrows: 4, ncols: a.ncols() as u64, nnz: 12 };
    for kernel in in_csr() {
        let block = kernel.blocks()[0];
        let candidate = Candidate { kernel, block, dtype: f64::DTYPE };
        let without = gpu.in_place::<f64>(&candidate, size, 8, None);
        assert_eq!(without.is_ok(), kernel.format().is_csr(), "{candidate}");
        let loaded = gpu.in_place::<f64>(&candidate, size, 8, Some(a.row_ptr())).unwrap();
        for shifted in [
            CsrAddresses { row_ptr: 256, col_idx: 260, values: 256 },
            CsrAddresses { row_ptr: 256, col_idx: 256, values: 264 },
        ] {
            assert_eq!(loaded.takes(&shifted), kernel.format().is_csr(), "{candidate}");
        }
        assert!(loaded.takes(&CsrAddresses { row_ptr: 264, col_idx: 272, values: 256 }), "{candidate}");
    }
    for id in ["ell/b64/f64", "cusparse-csr/f64", "csr-scalar/b64/f32"] {
        let Ok(candidate) = id.parse::<Candidate>() else { continue };
        let refused = gpu.in_place::<f64>(&candidate, size, 8, Some(a.row_ptr()));
        assert!(matches!(refused, Err(DeviceError::CannotRun { .. })), "{id}");
    }
}

#[test]
fn row_lengths_are_counted_again_and_again() {
    if gxx_is_missing() {
        return;
    }
    for (gpu, order) in [
        (EmulatedGpu::device(Order::Forwards), Order::Forwards),
        (EmulatedGpu::device(Order::Backwards), Order::Backwards),
        (EmulatedGpu::with_waves_of_64(Order::Forwards), Order::Forwards),
    ] {
        let module = gpu.gpu().load(&row_lengths_source()).unwrap();
        let sums = gpu.upload(&[u64::MAX, 0, 0, 0]).unwrap();
        for (what, a) in chosen::<f64>() {
            for offset_bytes in [4, 8] {
                let owned = Owned::of(&gpu, &a, offset_bytes, offset_bytes / 8);
                let answer = gpu.upload(&[0_u32; 8]).unwrap();
                let wide = u64::from(offset_bytes == 8);
                let args = [a.nrows() as u64, owned.row_ptr(), wide, sums.address(), answer.address()];
                // SAFETY: they are the kernel's parameters.
                unsafe { module.queue(0, LaunchShape::linear(3, HELPER_BLOCK), &args, None).unwrap() };
                let lengths = || a.row_ptr().windows(2).map(|ends| ends[1] - ends[0]);
                let (min, max) = (lengths().min().unwrap(), lengths().max().unwrap());
                let squares: u64 = lengths().map(|length| length * length).sum();
                let words = |number: u64| [number as u32, (number >> 32) as u32];
                let wanted = [&words(min)[..], &words(max), &words(squares), &[1, 0]].concat();
                assert_eq!(answer.read().unwrap(), wanted, "'{what}', {offset_bytes} bytes, {order:?}");
                assert_eq!(sums.read().unwrap(), [u64::MAX, 0, 0, 0], "as before the launch");
            }
        }
    }
}
