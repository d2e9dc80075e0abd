//! Products with epilogues: y, further outputs and dot products on a CPU, on an emulated GPU by every kernel, and on a GPU where there is
//! one.
//!
//! The plain product of the same kernel gives the sums, which other tests hold to the reference; y and outputs must be what the lines
//! make of them, bit by bit where nothing contracts additions and multiplications.

use crate::emulator::matrices::{all_matrices, diagonal, matrix};
use crate::emulator::{EmulatedGpu, Order, allocated, gxx_is_missing};
use crate::gpu::gpu;
use crate::support::streams::OtherStream;
use sparsight_device::cpu::Cpu;
use sparsight_device::gpu::{DeviceArray, GpuDevice};
use sparsight_device::timing::Caches;
use sparsight_device::{
    Device, DeviceError, DeviceOperands, DeviceScalar, EpilogueVectors, HostOperands, LoadRequest,
    LoadedEpilogue, Partition, Product, Stream, random_x,
};
use sparsight_kernels::{Candidate, Epilogue, Execution, Kernel};
use sparsight_matrix::{Csr, Dtype, Features, Permutation, Scalar, mix};

/// Vectors, scalars of both kinds, an output, the old y, and dot products of all that there is but x.
pub fn rich() -> Epilogue {
    Epilogue::try_new("s * d[i] + beta * y[i] + gamma * z[i]", &["d", "z"], &["beta", "gamma"])
        .and_then(|epilogue| epilogue.with_output("w", "out * d[i] + w[i]"))
        .and_then(|epilogue| epilogue.with_dot("y", "z"))
        .and_then(|epilogue| epilogue.with_dot("w", "s"))
        .and_then(|epilogue| epilogue.with_dot("d", "d"))
        .unwrap()
}

const SCALARS: [f64; 2] = [0.3, -1.7];

/// Operands of [`rich`] for so many rows.
struct Operands<T> {
    d: Vec<T>,
    z: Vec<T>,
    y: Vec<T>,
    w: Vec<T>,
}

/// What a product with [`rich`] leaves.
#[derive(Debug, Clone, PartialEq)]
struct Left {
    y: Vec<u64>,
    w: Vec<u64>,
    dots: Vec<u64>,
}

/// NaN is NaN, whatever its bits.
fn bits<T: Scalar>(values: &[T]) -> Vec<u64> {
    values
        .iter()
        .map(|value| if value.to_f64().is_nan() { u64::MAX } else { value.to_f64().to_bits() })
        .collect()
}

impl<T: Scalar> Operands<T> {
    fn of(nrows: usize) -> Self {
        let [d, z, y, w] = [21, 22, 23, 24].map(|seed| random_x(nrows, seed));
        Self { d, z, y, w }
    }

    fn multiply(
        &self,
        loaded: &dyn LoadedEpilogue<T>,
        product: &dyn Product<T>,
        x: &[T],
    ) -> Result<Left, DeviceError> {
        let (mut y, mut w, mut dots) = (self.y.clone(), self.w.clone(), [f64::NAN; 3]);
        let operands =
            HostOperands { vectors: &[&self.d, &self.z], outputs: &mut [&mut w], scalars: &SCALARS };
        loaded.multiply(product, x, &mut y, operands, &mut dots)?;
        Ok(Left { y: bits(&y), w: bits(&w), dots: bits(&dots) })
    }

    /// What the sums of the rows make of y and w, rounded after each operation; dot products of it, and the sum of their factors' sizes.
    fn expected(&self, sums: &[T]) -> (Vec<T>, Vec<T>, [(f64, f64); 3]) {
        let [beta, gamma] = SCALARS.map(T::from_f64);
        let row = |i: usize| {
            let y = sums[i] * self.d[i] + beta * self.y[i] + gamma * self.z[i];
            (y, y * self.d[i] + self.w[i])
        };
        let (y, w): (Vec<T>, Vec<T>) = (0..sums.len()).map(row).unzip();
        let dots = [(&y, &self.z), (&w, &sums.to_vec()), (&self.d, &self.d)].map(|(a, b)| dot(a, b));
        (y, w, dots)
    }
}

/// A dot product, and the sum of the sizes of its terms.
fn dot<T: Scalar>(a: &[T], b: &[T]) -> (f64, f64) {
    let terms = a.iter().zip(b).map(|(a, b)| a.to_f64() * b.to_f64());
    terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
}

fn is_near(got: f64, (expected, size): (f64, f64)) -> bool {
    got.is_nan() && expected.is_nan()
        || got.to_bits() == expected.to_bits()
        || (got - expected).abs() <= 1e-12 * size
}

/// Runs [`rich`] and the plain product, compares them, and gives what is left.
fn hold_rich<T: Scalar>(product: &dyn Product<T>, what: &str, (nrows, x): (usize, &[T])) -> (Left, bool) {
    let operands = Operands::<T>::of(nrows);
    let loaded = product.load_epilogue(&rich()).unwrap();
    let mut sums = vec![T::from_f64(f64::NAN); nrows];
    product.multiply(1.0, x, 0.0, &mut sums).unwrap();
    let (y, w, dots) = operands.expected(&sums);
    let left = operands.multiply(loaded.as_ref(), product, x).unwrap();
    assert_eq!(left.y, bits(&y), "y of {what}");
    assert_eq!(left.w, bits(&w), "w of {what}");
    for (got, expected) in left.dots.iter().zip(dots) {
        let got = if *got == u64::MAX { f64::NAN } else { f64::from_bits(*got) };
        assert!(is_near(got, expected), "dot products of {what}: {got}, expected {expected:?}");
    }
    assert_eq!(operands.multiply(loaded.as_ref(), product, x).unwrap(), left, "{what}, again");
    (left, loaded.is_in_launch())
}

/// Matrices that are awkward for what happens behind the last entry of a row.
const CHOSEN: [&str; 10] = [
    "no rows",
    "one empty row",
    "33 rows",
    "nothing but empty rows",
    "empty rows first, last and between",
    "rows of 32 and 33",
    "giant rows side by side and short ones between",
    "rows around a tile",
    "diagonals with gaps",
    "blocks of 3",
];

fn chosen<T: Scalar>() -> impl Iterator<Item = (&'static str, Csr<T>)> {
    all_matrices::<T>().into_iter().filter(|(what, _)| CHOSEN.contains(what))
}

fn whole(a: &Csr<impl Scalar>, id: &str) -> Partition {
    Partition::whole(a.nrows(), id.parse().unwrap())
}

/// Every kernel with `rich`, on GPUs that take blocks in several orders: the same bits on all of them.
fn check_every_kernel<T: Scalar>(dtype: Dtype, block: u32, gpus: &[GpuDevice]) {
    if gxx_is_missing() {
        return;
    }
    let (mut in_launch, mut behind) = (0, 0);
    for kernel in Kernel::all().filter(|kernel| !kernel.is_vendors()) {
        let block = if kernel.blocks().contains(&block) { block } else { kernel.blocks()[0] };
        let candidate = Candidate { kernel, block, dtype };
        for (name, a) in chosen::<T>() {
            let mut x = random_x::<T>(a.ncols(), 3);
            // One of them with what spreads.
            if name == "rows of 32 and 33" {
                x[5] = T::from_f64(f64::NAN);
                x[11] = T::from_f64(f64::INFINITY);
            }
            let partition = Partition::whole(a.nrows(), candidate);
            let features = Features::of(&a);
            let mut first = None;
            for gpu in gpus {
                let product = match gpu.load(LoadRequest::Parts { a: &a, partition: &partition }) {
                    Ok(product) => product,
                    Err(DeviceError::Infeasible(_)) => break,
                    Err(error) => panic!("{candidate} on '{name}': {error}"),
                };
                let what = format!("{candidate} on '{name}'");
                let (left, is_in_launch) = hold_rich(product.as_ref(), &what, (a.nrows(), &x));
                *(if is_in_launch { &mut in_launch } else { &mut behind }) += 1;
                // As predictions price it.
                let takes = kernel.shares_a_launch() && !kernel.shares_rows(&features);
                assert!(is_in_launch == takes || a.nrows() == 0, "{what}: {is_in_launch}");
                if kernel.is_repeatable() {
                    assert_eq!(first.get_or_insert_with(|| left.clone()), &left, "{what}, in another order");
                }
            }
        }
    }
    assert!(in_launch > behind && behind > 0, "{in_launch} in the launch, {behind} behind it");
}

#[test]
fn every_kernel_takes_an_epilogue_in_every_order_of_blocks() {
    let gpus = [Order::Forwards, Order::Backwards, Order::InPieces].map(EmulatedGpu::device);
    check_every_kernel::<f64>(Dtype::F64, 64, &gpus);
}

#[test]
fn every_kernel_takes_an_epilogue_in_waves_of_64() {
    check_every_kernel::<f32>(Dtype::F32, 128, &[EmulatedGpu::with_waves_of_64(Order::Forwards)]);
}

#[test]
fn sums_of_many_blocks_are_added_up_by_the_last_or_in_a_launch_behind_them() {
    if gxx_is_missing() {
        return;
    }
    // 600 blocks of 64 rows, which run at once, and 4,240, which do not.
    for nrows in [38_400, 271_360] {
        let a = matrix::<f64>(&(0..nrows).map(|row| row % 2).collect::<Vec<_>>());
        let x = random_x::<f64>(a.ncols(), 3);
        let mut all = Vec::new();
        for gpu in [EmulatedGpu::device(Order::Forwards), EmulatedGpu::device(Order::Backwards)] {
            for id in ["csr-scalar/b64/f64", "coo/b64/f64"] {
                let product = gpu.load(LoadRequest::Parts { a: &a, partition: &whole(&a, id) }).unwrap();
                all.push(hold_rich(product.as_ref(), id, (a.nrows(), &x)).0);
            }
        }
        assert_eq!((&all[0], &all[1]), (&all[2], &all[3]));
    }
}

#[test]
fn parts_reordered_matrices_and_the_processor_take_an_epilogue_behind_the_product() {
    let a = diagonal::<f64>().into_iter().find(|(what, _)| *what == "a stencil").unwrap().1;
    let x = random_x::<f64>(a.ncols(), 3);
    let part = |rows: std::ops::Range<usize>, id: &str| (rows, id.parse::<Candidate>().unwrap());
    let parts = || {
        vec![
            part(0..300, "ell/b64/f64"),
            part(300..300, "csr-scalar/b64/f64"),
            part(300..1000, "csr-vector/t4/b64/f64"),
        ]
    };
    let order = Permutation::reverse_cuthill_mckee(&a).unwrap();
    let hold_on = |device: &dyn Device<f64>| {
        for execution in Execution::ALL {
            let partition = Partition::try_new(parts(), execution).unwrap();
            let product = device.load(LoadRequest::Parts { a: &a, partition: &partition }).unwrap();
            let (_, is_in_launch) =
                hold_rich(product.as_ref(), &format!("{execution} parts"), (a.nrows(), &x));
            assert!(!is_in_launch);
        }
        let partition = whole(&a, "csr-vector/t4/b64/f64");
        let product =
            device.load(LoadRequest::Reordered { a: &a, order: &order, partition: &partition }).unwrap();
        assert!(!hold_rich(product.as_ref(), "reordered", (a.nrows(), &x)).1);
    };
    hold_on(&Cpu::with_threads(2).unwrap());
    if !gxx_is_missing() {
        hold_on(&EmulatedGpu::device(Order::Forwards));
    }
}

#[test]
fn the_identity_with_an_epilogue_is_a_pass_over_vectors() {
    let hold_on = |device: &dyn Device<f64>, is_gpu: bool| {
        for rows in [0, 1, 1000] {
            let product = device.load(LoadRequest::Identity { rows }).unwrap();
            let x = random_x::<f64>(rows, 3);
            let (left, is_in_launch) = hold_rich(product.as_ref(), "the identity", (rows, &x));
            assert_eq!((left.y.len(), is_in_launch), (rows, is_gpu));
            let mut y = vec![2.0; rows];
            product.multiply(0.5, &x, 2.0, &mut y).unwrap();
            assert_eq!(y, x.iter().map(|x| 0.5 * x + 4.0).collect::<Vec<_>>());
            assert!(product.batch(2, Caches::Warm).unwrap().time.0 > 0.0);
        }
    };
    hold_on(&Cpu::with_threads(2).unwrap(), false);
    if !gxx_is_missing() {
        hold_on(&EmulatedGpu::device(Order::Forwards), true);
    }
}

#[test]
fn dot_products_of_a_processor_do_not_depend_on_its_threads() {
    let lengths: Vec<usize> = (0..150_000).map(|row| (mix(row) % 5) as usize).collect();
    let a = matrix::<f64>(&lengths);
    let x = random_x::<f64>(a.ncols(), 3);
    let of = |threads: usize| {
        let cpu = Cpu::with_threads(threads).unwrap();
        let product =
            cpu.load(LoadRequest::Parts { a: &a, partition: &whole(&a, "csr-scalar/b256/f64") }).unwrap();
        hold_rich(product.as_ref(), &format!("{threads} threads"), (a.nrows(), &x)).0
    };
    let one = of(1);
    assert_eq!((&of(2), &of(5)), (&one, &one));
}

/// y by an epilogue of the library, on a device.
fn built_in(device: &dyn Device<f64>, epilogue: &Epilogue, vectors: &[&[f64]], scalars: &[f64]) -> Vec<f64> {
    // Sums: 3, NaN, Inf, -Inf, 0.
    let a = Csr::try_new(
        5,
        2,
        vec![0, 1, 2, 3, 4, 4],
        vec![0, 1, 0, 0],
        vec![3.0, 1.0, f64::INFINITY, f64::NEG_INFINITY],
    )
    .unwrap();
    let x = [1.0, f64::NAN];
    let mut all = Vec::new();
    for id in ["csr-scalar/b64/f64", "coo/b64/f64"] {
        let product = device.load(LoadRequest::Parts { a: &a, partition: &whole(&a, id) }).unwrap();
        let loaded = product.load_epilogue(epilogue).unwrap();
        let mut y = vec![f64::NAN; 5];
        let operands = HostOperands { vectors, outputs: &mut [], scalars };
        loaded.multiply(product.as_ref(), &x, &mut y, operands, &mut []).unwrap();
        all.push(y);
    }
    assert_eq!(bits(&all[0]), bits(&all[1]));
    all.swap_remove(0)
}

fn hold_built_ins(device: &dyn Device<f64>) {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let z = [nan, 1.0, 2.0, 3.0, inf];
    let of = |epilogue: Epilogue, vectors: &[&[f64]], scalars: &[f64]| {
        bits(&built_in(device, &epilogue, vectors, scalars))
    };
    // With beta = 0, z is not read; y never is.
    assert_eq!(of(Epilogue::axpby(), &[&z], &[2.0, 0.0]), bits(&[6.0, nan, inf, -inf, 0.0]));
    assert_eq!(of(Epilogue::axpby(), &[&z], &[2.0, -1.0]), bits(&[nan, nan, inf, -inf, -inf]));
    assert_eq!(of(Epilogue::scale(), &[&[0.5, 1.0, -1.0, 0.0, inf]], &[]), bits(&[1.5, nan, -inf, nan, nan]));
    assert_eq!(of(Epilogue::product(), &[], &[]), bits(&[3.0, nan, inf, -inf, 0.0]));
    // z + tau (s + c), then bounds: 10 + 2 (3 - 1), NaN, Inf, -Inf, 0 + 2 (0 - 4).
    let (c, lower, upper) =
        ([-1.0, 0.0, 0.0, 0.0, -4.0], [0.0, 0.0, 0.0, -7.0, -inf], [11.0, 1.0, inf, inf, inf]);
    let start = [10.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(
        of(Epilogue::project(), &[&start, &c, &lower, &upper], &[2.0]),
        bits(&[11.0, nan, inf, -7.0, -8.0])
    );
}

#[test]
fn epilogues_of_the_library_are_right_with_infinities_and_without_numbers() {
    hold_built_ins(&Cpu::with_threads(2).unwrap());
    if !gxx_is_missing() {
        hold_built_ins(&EmulatedGpu::device(Order::Forwards));
    }
    if let Some(gpu) = gpu() {
        hold_built_ins(&*gpu);
    }
}

/// Two products of one after another: the second takes its scalar from the dot product of the first, where it lies.
fn chained(gpu: &GpuDevice, id: &str, a: &Csr<f64>) -> (Vec<f64>, [f64; 2], f64) {
    let n = a.nrows();
    let product = gpu.load(LoadRequest::Parts { a, partition: &whole(a, id) }).unwrap();
    let first = product
        .load_epilogue(&Epilogue::product().with_dot("y", "x").unwrap().with_dot("x", "x").unwrap())
        .unwrap();
    let step = Epilogue::try_new("y[i] - xx / yx * s", &[], &["yx", "xx"]).unwrap();
    let second = product.load_epilogue(&step).unwrap();
    let x = random_x::<f64>(n, 3);
    let on_gpu = gpu.upload(&x).unwrap();
    let mut y = gpu.upload(&vec![f64::NAN; n]).unwrap();
    let mut dots = gpu.upload(&[f64::NAN; 2]).unwrap();
    let none = DeviceOperands::none();
    first
        .multiply_on_device(
            product.as_ref(),
            EpilogueVectors {
                x: on_gpu.as_slice(),
                y: y.as_mut_slice(),
                operands: none,
                dots: Some(dots.as_mut_slice()),
                stream: None,
            },
        )
        .unwrap();
    let scalars = [DeviceScalar::At(dots.as_slice(), 0), DeviceScalar::At(dots.as_slice(), 1)];
    let operands = DeviceOperands { scalars: &scalars, ..DeviceOperands::none() };
    second
        .multiply_on_device(
            product.as_ref(),
            EpilogueVectors { x: on_gpu.as_slice(), y: y.as_mut_slice(), operands, dots: None, stream: None },
        )
        .unwrap();
    let mut sums = vec![0.0; n];
    product.multiply(1.0, &x, 0.0, &mut sums).unwrap();
    let (yx, xx) = (dot(&sums, &x), dot(&x, &x));
    let got: [f64; 2] = dots.read().unwrap().try_into().unwrap();
    assert!(is_near(got[0], yx) && is_near(got[1], xx), "{id}: {got:?}, expected {yx:?}, {xx:?}");
    let y = y.read().unwrap();
    let factor = got[1] / got[0];
    for (y, sum) in y.iter().zip(&sums) {
        assert!((y - (sum - factor * sum)).abs() <= 1e-13 * (1.0 + factor.abs()) * sum.abs(), "{id}: {y}");
    }
    (y, got, factor)
}

#[test]
fn a_scalar_is_read_from_where_a_product_before_has_left_it() {
    let a = diagonal::<f64>().into_iter().find(|(what, _)| *what == "a stencil").unwrap().1;
    for id in ["csr-vector/t4/b64/f64", "csr-segmented/b128/f64"] {
        if !gxx_is_missing() {
            chained(&EmulatedGpu::device(Order::Forwards), id, &a);
        }
        if let Some(gpu) = gpu() {
            chained(gpu.as_gpu(), id, &a);
        }
    }
}

#[test]
fn a_vector_may_be_y_itself_in_the_launch_and_behind_it() {
    if gxx_is_missing() {
        return;
    }
    let gpu = EmulatedGpu::device(Order::Backwards);
    let a = matrix::<f64>(&[2, 0, 5, 1, 7, 3]);
    let x = random_x::<f64>(a.ncols(), 3);
    for id in ["csr-scalar/b64/f64", "coo/b64/f64"] {
        let product = gpu.load(LoadRequest::Parts { a: &a, partition: &whole(&a, id) }).unwrap();
        let loaded = product.load_epilogue(&Epilogue::axpby()).unwrap();
        let on_gpu = gpu.upload(&x).unwrap();
        let old = random_x::<f64>(6, 9);
        let mut y = gpu.upload(&old).unwrap();
        // SAFETY: the array lives as long as the product, which reads an entry before it is written.
        let same = unsafe { sparsight_device::DeviceSlice::from_raw(y.address(), 6) };
        let scalars = [2.0, 3.0].map(DeviceScalar::Number);
        let operands = DeviceOperands { vectors: &[same], outputs: &[], scalars: &scalars };
        loaded
            .multiply_on_device(
                product.as_ref(),
                EpilogueVectors {
                    x: on_gpu.as_slice(),
                    y: y.as_mut_slice(),
                    operands,
                    dots: None,
                    stream: None,
                },
            )
            .unwrap();
        let mut sums = vec![0.0; 6];
        product.multiply(1.0, &x, 0.0, &mut sums).unwrap();
        let expected: Vec<f64> = sums.iter().zip(&old).map(|(sum, old)| 2.0 * sum + 3.0 * old).collect();
        assert_eq!(y.read().unwrap(), expected, "{id}");
    }
}

#[test]
fn what_does_not_fit_is_refused_before_anything_runs() {
    let a = matrix::<f64>(&[2, 0, 5, 1]);
    let x = random_x::<f64>(a.ncols(), 3);
    let refuse_on = |device: &dyn Device<f64>, is_gpu: bool| {
        let load = || {
            device.load(LoadRequest::Parts { a: &a, partition: &whole(&a, "csr-scalar/b64/f64") }).unwrap()
        };
        let (product, other) = (load(), load());
        let square = product.load_epilogue(&Epilogue::product().with_dot("y", "x").unwrap()).err().unwrap();
        assert_eq!(
            square.to_string(),
            "x, which the epilogue reads at the number of a row, has 12 entries instead of 4"
        );
        let loaded = product.load_epilogue(&rich()).unwrap();
        let (good, short) = ([0.0; 4], [0.0; 3]);
        let multiply = |vectors: &[&[f64]], output: usize, scalars: &[f64], dots: usize| {
            let (mut y, mut w) = (good, [0.0; 4]);
            let operands = HostOperands { vectors, outputs: &mut [&mut w[..output]], scalars };
            loaded
                .multiply(product.as_ref(), &x, &mut y, operands, &mut [0.0; 3][..dots])
                .map_err(|error| error.to_string())
        };
        assert_eq!(multiply(&[&good, &good], 4, &SCALARS, 3), Ok(()));
        for (refused, why) in [
            (
                multiply(&[&good], 4, &SCALARS, 3),
                "the list of vectors of the epilogue has 1 entries instead of 2",
            ),
            (
                multiply(&[&good, &short], 4, &SCALARS, 3),
                "a vector of the epilogue has 3 entries instead of 4",
            ),
            (
                multiply(&[&good, &good], 2, &SCALARS, 3),
                "an output of the epilogue has 2 entries instead of 4",
            ),
            (
                multiply(&[&good, &good], 4, &[1.0], 3),
                "the list of scalars of the epilogue has 1 entries instead of 2",
            ),
            (
                multiply(&[&good, &good], 4, &SCALARS, 2),
                "the array for dot products has 2 entries instead of 3",
            ),
        ] {
            assert_eq!(refused, Err(why.to_owned()));
        }
        if is_gpu {
            let refused = Operands::of(4).multiply(loaded.as_ref(), other.as_ref(), &x);
            assert_eq!(refused, Err(DeviceError::OtherEpilogue));
        }
        product.load_epilogue(&Epilogue::try_new("d[i] * t", &["d"], &[]).unwrap()).err().unwrap().to_string()
    };
    let on_cpu = refuse_on(&Cpu::with_threads(1).unwrap(), false);
    assert!(
        on_cpu.starts_with("the epilogue 'd[i] * t' needs a GPU: a processor does not know 't'"),
        "{on_cpu}"
    );
    if !gxx_is_missing() {
        let log = refuse_on(&EmulatedGpu::device(Order::Forwards), true);
        assert!(log.starts_with("the epilogue 'y[i] = d[i] * t' does not compile:\n"), "{log}");
        assert!(
            log.contains("epilogue:1:8: error: ‘t’ was not declared")
                || log.contains("epilogue:1:8: error: 't'"),
            "{log}"
        );
    }
}

#[test]
fn products_allocate_nothing_and_are_timed() {
    if gxx_is_missing() {
        return;
    }
    let name = "epilogues";
    let gpu = EmulatedGpu::linked_as(&[name], Order::Forwards).0.swap_remove(0);
    let a = matrix::<f64>(&[2, 0, 5, 1]);
    let x = random_x::<f64>(a.ncols(), 3);
    for id in ["csr-scalar/b64/f64", "coo/b64/f64"] {
        let product = gpu.load(LoadRequest::Parts { a: &a, partition: &whole(&a, id) }).unwrap();
        let loaded = product.load_epilogue(&rich()).unwrap();
        let operands = Operands::of(4);
        let left = operands.multiply(loaded.as_ref(), product.as_ref(), &x).unwrap();
        let before = allocated(name);
        assert_eq!(operands.multiply(loaded.as_ref(), product.as_ref(), &x).unwrap(), left);
        assert!(loaded.batch(product.as_ref(), 3, Caches::Warm).unwrap().time.0 > 0.0);
        assert_eq!(allocated(name), before, "{id}");
    }
    let cpu = Cpu::with_threads(1).unwrap();
    let product = cpu.load(LoadRequest::Parts { a: &a, partition: &whole(&a, "coo/b64/f64") }).unwrap();
    let loaded = product.load_epilogue(&rich()).unwrap();
    assert!(loaded.batch(product.as_ref(), 3, Caches::Warm).unwrap().time.0 > 0.0);
}

/// On a GPU: y near what the CPU computes (additions and multiplications are contracted there), the same bits each time, in streams and
/// in graphs.
#[test]
fn every_kernel_takes_an_epilogue_on_a_gpu() {
    let Some(gpu) = gpu() else { return };
    let lengths: Vec<usize> =
        (0..70_000).map(|row| if row == 7 { 20_000 } else { (mix(row) % 9) as usize }).collect();
    let a = matrix::<f64>(&lengths);
    let x = random_x::<f64>(a.ncols(), 3);
    let operands = Operands::<f64>::of(a.nrows());
    for kernel in Kernel::all() {
        let candidate = Candidate { kernel, block: kernel.blocks()[0], dtype: Dtype::F64 };
        if let Err(reason) = Device::<f64>::runs(&*gpu, kernel) {
            println!("skipped: {candidate}: {reason}");
            continue;
        }
        let partition = Partition::whole(a.nrows(), candidate);
        let product = match gpu.load(LoadRequest::Parts { a: &a, partition: &partition }) {
            Ok(product) => product,
            Err(DeviceError::Infeasible(_)) => continue,
            Err(error) => panic!("{candidate}: {error}"),
        };
        let loaded = product.load_epilogue(&rich()).unwrap();
        let mut sums = vec![f64::NAN; a.nrows()];
        product.multiply(1.0, &x, 0.0, &mut sums).unwrap();
        let (y, w, dots) = operands.expected(&sums);
        let left = operands.multiply(loaded.as_ref(), product.as_ref(), &x).unwrap();
        for (got, expected) in [(&left.y, &y), (&left.w, &w)] {
            for (row, (got, expected)) in got.iter().zip(expected).enumerate() {
                let near = (f64::from_bits(*got) - expected).abs() <= 1e-11 * (1.0 + expected.abs());
                assert!(near, "{candidate}, row {row}: {}, expected {expected}", f64::from_bits(*got));
            }
        }
        for (got, (expected, size)) in left.dots.iter().zip(dots) {
            assert!(
                (f64::from_bits(*got) - expected).abs() <= 1e-10 * size,
                "{candidate}: {} {expected}",
                f64::from_bits(*got)
            );
        }
        if kernel.is_repeatable() && !kernel.is_vendors() {
            for _ in 0..20 {
                assert_eq!(
                    operands.multiply(loaded.as_ref(), product.as_ref(), &x).unwrap(),
                    left,
                    "{candidate}, again"
                );
            }
        }
    }
}

/// 20 products in a graph, launched 100 times beside products in another stream: dot products of whole numbers, which nothing rounds.
#[test]
fn dot_products_in_a_graph_and_beside_it_are_right_each_time() {
    let Some(gpu) = gpu() else { return };
    // The first row is long enough for thread blocks to share it.
    let (n, long) = (100_000, 65_536);
    let a = ones(n, long);
    let other = OtherStream::new(&gpu);
    for id in [
        "csr-scalar/b64/f64",
        "coo/b128/f64",
        "csr-balanced/i512/b128/f64",
        "csr-binned/b128/f64",
        "csr-segmented/b128/f64",
    ] {
        let product = gpu.load(LoadRequest::Parts { a: &a, partition: &whole(&a, id) }).unwrap();
        // y = s + y, and its dot product with x: x is 1, then 2.
        let sum = Epilogue::try_new("s + y[i]", &[], &[]).unwrap().with_dot("y", "x").unwrap();
        let loaded = product.load_epilogue(&sum).unwrap();
        let made = |value: f64| {
            let vector = |value: f64| gpu.upload(&vec![value; n]).unwrap();
            [vector(value), vector(0.0), gpu.upload(&[0.0]).unwrap()]
        };
        let (mut in_graph, mut beside) = (made(1.0), made(2.0));
        let queue = |[x, y, dots]: &mut [DeviceArray<f64>; 3], stream: Option<Stream<'_>>| {
            let none = DeviceOperands::none();
            loaded
                .multiply_on_device(
                    product.as_ref(),
                    EpilogueVectors {
                        x: x.as_slice(),
                        y: y.as_mut_slice(),
                        operands: none,
                        dots: Some(dots.as_mut_slice()),
                        stream,
                    },
                )
                .unwrap();
        };
        let graph = other
            .captured_in(other.stream(), |stream| (0..20).for_each(|_| queue(&mut in_graph, Some(stream))));
        for _ in 0..100 {
            graph.launch();
            (0..20).for_each(|_| queue(&mut beside, None));
        }
        gpu.wait_for(other.stream()).unwrap();
        gpu.wait_for(gpu.stream()).unwrap();
        // y is 2,000 times x, and in the first row as often as it has entries.
        let sum = 2_000.0 * (n - 1 + long) as f64;
        assert_eq!(in_graph[2].read().unwrap(), [sum], "{id}, in a graph");
        assert_eq!(beside[2].read().unwrap(), [4.0 * sum], "{id}, beside it");
    }
}

/// The identity matrix, whose first row has ones in so many columns.
fn ones(n: usize, long: usize) -> Csr<f64> {
    let row_ptr = std::iter::once(0).chain((0..n).map(|row| (long + row) as u64)).collect();
    let columns = (0..long as u32).chain(1..n as u32).collect();
    Csr::try_new(n, n, row_ptr, columns, vec![1.0; n + long - 1]).unwrap()
}
