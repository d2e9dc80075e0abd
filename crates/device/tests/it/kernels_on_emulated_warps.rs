//! Every kernel, conversion and generator on an emulated GPU, through the very code that drives a real one: recipes,
//! layouts, arguments in their order. Without g++ it is skipped; `SPARSIGHT_REQUIRE_GXX=1` turns that into a failure.

use crate::emulator::matrices::{all_matrices, awkward, matrix, wide_differences};
use crate::emulator::{EmulatedGpu, Order, gxx_is_missing};
use crate::support::{hold, thirds};
use sparsight_device::cpu::Cpu;
use sparsight_device::gpu::{ConvertOn, DeviceMatrix, GpuDevice, LaunchShape};
use sparsight_device::{Device, DeviceError, LoadRequest, Partition, random_x};
use sparsight_kernels::{
    BenchmarkMatrix, Candidate, Execution, FUSED_PARTS, Format, Kernel, KernelSource, Placement,
    RowLengthDistribution,
};
use sparsight_matrix::{Csr, Dtype, HostArray, Limits, Narrowing, Scalar, Stored, mix, reference};

fn check_all<T: Scalar>(dtype: Dtype, block: u32, order: Order, gpu: impl Fn(Order) -> GpuDevice) {
    if gxx_is_missing() {
        return;
    }
    let mut gpu = gpu(order);
    // The conversions on the device are held to the host's below.
    gpu.convert_on(ConvertOn::Host);
    for kernel in Kernel::all().filter(|kernel| !kernel.is_vendors()) {
        // The smallest that it has where it does not have this one.
        let block = if kernel.blocks().contains(&block) { block } else { kernel.blocks()[0] };
        let candidate = Candidate { kernel, block, dtype };
        for (what, mut a) in all_matrices::<T>() {
            let x = random_x::<T>(a.ncols(), 3);
            let mut expected = reference(&a, &x);
            if dtype == Dtype::Mixed {
                a = thirds(&a);
                expected = reference(&Narrowing::rounded(&a), &x);
            }
            let product = match gpu
                .load(LoadRequest::Parts { a: &a, partition: &Partition::whole(a.nrows(), candidate) })
            {
                Ok(product) => product,
                Err(DeviceError::Infeasible(_)) => continue,
                Err(error) => panic!("{candidate} on '{what}': {error}"),
            };
            hold(product.as_ref(), &format!("{candidate} on '{what}', {order:?}"), &x, &expected);
        }
    }
}

#[test]
fn every_kernel_in_mixed_precision_matches_the_reference_of_the_rounded_matrix() {
    check_all::<f64>(Dtype::Mixed, 128, Order::Forwards, EmulatedGpu::device);
}

#[test]
fn every_kernel_in_single_precision_matches_the_reference() {
    check_all::<f32>(Dtype::F32, 128, Order::Forwards, EmulatedGpu::device);
}

#[test]
fn kernels_with_wide_offsets_match_the_reference_in_reverse_block_order() {
    check_all::<f64>(Dtype::F64, 64, Order::Backwards, EmulatedGpu::with_wide_offsets);
}

#[test]
fn every_kernel_matches_the_reference_with_a_launch_for_each_block() {
    check_all::<f64>(Dtype::F64, 64, Order::InPieces, EmulatedGpu::with_wide_offsets);
}

#[test]
fn every_kernel_matches_the_reference_in_waves_of_64() {
    check_all::<f32>(Dtype::F32, 128, Order::Forwards, EmulatedGpu::with_waves_of_64);
}

/// A block is a wave: nothing waits at a barrier for another.
#[test]
fn every_kernel_with_wide_offsets_matches_the_reference_in_blocks_of_one_wave() {
    check_all::<f64>(Dtype::F64, 64, Order::Backwards, EmulatedGpu::with_waves_of_64_and_wide_offsets);
}

/// Two warps in one wave may be at different places; what one of them must not do is found.
#[test]
fn in_waves_of_64_a_warp_votes_alone_and_reads_from_no_other() {
    if gxx_is_missing() {
        return;
    }
    let run = |value: &str| {
        let text = format!(
            "extern \"C\" __global__ void\nk(unsigned int* out)\n{{\n    const unsigned int i = threadIdx.x;\n    \
             out[i] = {value};\n}}\n"
        );
        let source = KernelSource { text, definitions: Vec::new(), entry_points: vec!["k".to_owned()] };
        let gpu = EmulatedGpu::with_waves_of_64(Order::Forwards);
        let module = gpu.gpu().load(&source).unwrap();
        let out = gpu.upload(&[0_u32; 64]).unwrap();
        // SAFETY: the kernel's one parameter, with an element for each thread.
        unsafe { module.queue(0, LaunchShape::linear(1, 64), &[out.address()], None).unwrap() };
        out.read().map(|out| [out[0], out[63]]).map_err(|error| error.to_string())
    };
    let vote = "i < 32 ? 5 : __ballot_sync(0xffffffffu, i % 4 == 3)";
    assert_eq!(run(vote), Ok([5, 0x8888_8888]));
    assert_eq!(run("__all_sync(0xffffffffu, i >= 32) ? __shfl_sync(0xffffffffu, i, 1) : 2"), Ok([2, 33]));
    for (wrong, fault) in [
        ("i < 32 ? __shfl(i, 40, 64) : 0", "reads from a thread that is not there"),
        ("i < 16 ? __ballot_sync(0xffffffffu, true) : 0", "a vote without all 32 threads"),
        ("i == 40 ? __shfl_up_sync(0xffffffffu, i, 1) : 0", "reads from a thread that is not there"),
    ] {
        assert!(run(wrong).unwrap_err().contains(fault), "{wrong}: {:?}", run(wrong));
    }
}

/// Adds a kernel as a contributor does: a `Family`, and nothing else.
#[test]
fn a_kernel_family_outside_the_catalogue_runs() {
    let kernel = crate::toy::kernel();
    assert!(Kernel::all().all(|known| known != kernel) && "toy".parse::<Kernel>().is_err());
    let candidate = Candidate { kernel, block: 64, dtype: Dtype::F64 };
    assert_eq!(candidate.to_string(), "toy/b64/f64");
    let hold_on = |device: &dyn Device<f64>, where_: &str| {
        for (what, lengths) in awkward() {
            let a = matrix::<f64>(&lengths);
            let x = random_x::<f64>(a.ncols(), 3);
            let product = device
                .load(LoadRequest::Parts { a: &a, partition: &Partition::whole(a.nrows(), candidate) })
                .unwrap();
            hold(product.as_ref(), &format!("{candidate} on '{what}', {where_}"), &x, &reference(&a, &x));
        }
    };
    hold_on(&Cpu::with_threads(2).unwrap(), "on the CPU");
    if !gxx_is_missing() {
        hold_on(&EmulatedGpu::device(Order::Backwards), "emulated");
    }
}

/// `count` parts of `nrows` rows at places that follow from `seed`: equal ones where there are rows enough, so that few
/// programs have to be compiled; of few rows some parts are empty.
fn random_cuts(nrows: usize, count: usize, seed: u64) -> Vec<usize> {
    if nrows >= 4 * count {
        let shift = mix(seed) as usize % 3;
        return (0..=count)
            .map(|i| (i * nrows / count + usize::from(0 < i && i < count) * shift).min(nrows))
            .collect();
    }
    let mut cuts: Vec<usize> =
        (1..count as u64).map(|i| mix(seed * 1000 + i) as usize % (nrows + 1)).chain([0, nrows]).collect();
    cuts.sort_unstable();
    cuts
}

fn check_fused<T: Scalar>(block: u32, order: Order, gpu: impl Fn(Order) -> GpuDevice) {
    if gxx_is_missing() {
        return;
    }
    let kernels = [
        "csr-scalar",
        "csr-vector/t8",
        "csr-vector/t32",
        "sell/c512/s2048",
        "jad",
        "bro-ell/r32",
        "csr-balanced/i256",
        "csr-binned",
        "sell/c32/s1/t2",
    ]
    .map(Kernel::known);
    let gpu = gpu(order);
    for (seed, (what, lengths)) in awkward().into_iter().enumerate() {
        let a = matrix::<T>(&lengths);
        let x = random_x::<T>(a.ncols(), 3);
        let expected = reference(&a, &x);
        for count in [5, FUSED_PARTS] {
            let cuts = random_cuts(a.nrows(), count, seed as u64);
            let part = |(at, rows): (usize, &[usize])| {
                let kernel = kernels[at % kernels.len()];
                (rows[0]..rows[1], Candidate { kernel, block, dtype: T::DTYPE })
            };
            let parts = cuts.windows(2).enumerate().map(part).collect();
            let partition = Partition::try_new(parts, Execution::Fused).unwrap();
            let product = match gpu.load(LoadRequest::Parts { a: &a, partition: &partition }) {
                Ok(product) => product,
                Err(DeviceError::Infeasible(_)) => continue,
                Err(error) => panic!("'{what}' in {count} parts: {error}"),
            };
            hold(product.as_ref(), &format!("'{what}' in {count} parts, {order:?}"), &x, &expected);
        }
    }
}

#[test]
fn parts_in_different_formats_run_in_one_launch() {
    check_fused::<f32>(128, Order::Forwards, EmulatedGpu::device);
    check_fused::<f64>(64, Order::Backwards, EmulatedGpu::device);
    check_fused::<f64>(128, Order::Forwards, EmulatedGpu::with_waves_of_64);
}

#[test]
fn bro_ell_reads_differences_that_straddle_two_symbols() {
    if gxx_is_missing() {
        return;
    }
    let a = wide_differences::<f32>();
    let x = random_x::<f32>(a.ncols(), 3);
    let expected = reference(&a, &x);
    let gpu = EmulatedGpu::device(Order::Forwards);
    // Blocks of fewer and of more rows than a slice.
    for id in
        ["bro-ell/r32/b64/f32", "bro-ell/r32/b1024/f32", "bro-ell/r256/b64/f32", "bro-ell/r256/b1024/f32"]
    {
        let product = gpu
            .load(LoadRequest::Parts { a: &a, partition: &Partition::whole(a.nrows(), id.parse().unwrap()) })
            .unwrap();
        hold(product.as_ref(), id, &x, &expected);
    }
}

/// The bytes of an array as they lie on a device whose row offsets have `offset_bytes`; `None` where nothing is promised.
fn expected_bytes<T: Scalar>(array: &HostArray<'_, T>, offset_bytes: u64) -> Option<Vec<u8>> {
    let scalar = |v: &T| match size_of::<T>() {
        4 => (v.to_f64() as f32).to_le_bytes().to_vec(),
        _ => v.to_f64().to_le_bytes().to_vec(),
    };
    match array {
        HostArray::U8(data) => Some(data.to_vec()),
        HostArray::U32(data) => Some(data.iter().flat_map(|v| v.to_le_bytes()).collect()),
        HostArray::U64(data) => Some(data.iter().flat_map(|v| v.to_le_bytes()).collect()),
        HostArray::Values(data) => Some(data.iter().flat_map(scalar).collect()),
        HostArray::Offsets { offsets, .. } => {
            Some(offsets.iter().flat_map(|v| v.to_le_bytes()[..offset_bytes as usize].to_vec()).collect())
        }
        HostArray::Room { zeroed: true, len, .. } => Some(vec![0; 4 * *len as usize]),
        HostArray::Room { .. } => None,
    }
}

/// Every array and number of a matrix on the device is what the host's conversion gives.
fn same<T: Scalar>(made: &DeviceMatrix, host: &dyn Stored<T>, what: &str) {
    for (name, number) in host.numbers() {
        assert_eq!(made.number(name), Some(number), "{name} of {what}");
    }
    for (name, array) in host.arrays() {
        if let Some(expected) = expected_bytes(&array, made.offset_bytes()) {
            assert!(made.bytes_of(name).unwrap() == expected, "{name} of {what}");
        }
    }
}

fn converted_is_what_the_host_makes<T: Scalar>(gpu: &GpuDevice, a: &Csr<T>, what: &str) {
    for format in Format::all() {
        let (made, preparation) = match gpu.store(a, format) {
            Ok(made) => made,
            Err(DeviceError::Infeasible(_)) => continue,
            Err(error) => panic!("{format} of '{what}': {error}"),
        };
        assert_eq!(preparation.on_device, !format.stays_in_csr(), "{format} of '{what}'");
        let host = format.convert(a, &Limits::NONE).unwrap();
        same(&made, host.as_ref(), &format!("{format} of '{what}'"));
    }
}

fn check_conversions<T: Scalar>(mut gpu: GpuDevice) {
    if gxx_is_missing() {
        return;
    }
    gpu.convert_on(ConvertOn::Device);
    for (what, a) in all_matrices::<T>() {
        converted_is_what_the_host_makes(&gpu, &a, what);
    }
    converted_is_what_the_host_makes(&gpu, &wide_differences::<T>(), "wide differences");
}

#[test]
fn formats_in_single_precision_are_laid_out_as_on_the_host() {
    check_conversions::<f32>(EmulatedGpu::device(Order::Forwards));
}

#[test]
fn formats_in_double_precision_with_wide_offsets_are_laid_out_as_on_the_host() {
    check_conversions::<f64>(EmulatedGpu::with_wide_offsets(Order::Forwards));
}

#[test]
fn formats_are_laid_out_as_on_the_host_in_waves_of_64() {
    check_conversions::<f32>(EmulatedGpu::with_waves_of_64(Order::Forwards));
    check_conversions::<f64>(EmulatedGpu::with_waves_of_64_and_wide_offsets(Order::Backwards));
}

fn generated_is_the_formula<T: Scalar>(gpu: &GpuDevice) {
    if gxx_is_missing() {
        return;
    }
    for (placement, lengths) in
        Placement::ALL.into_iter().flat_map(|p| RowLengthDistribution::ALL.map(|d| (p, d)))
    {
        for (nrows, row_length, seed) in
            [(1_u64, 1_u64, 0_u64), (33, 33, 5), (1000, 7, u64::MAX), (64, 32, 9), (40, 30, 3)]
        {
            let m = BenchmarkMatrix { nrows, row_length, lengths, placement, seed };
            let a = m.to_csr::<T>();
            for format in Format::all() {
                let made = gpu.store_benchmark::<T>(&m, format);
                match format.convert(&a, &Limits::NONE) {
                    Ok(converted) => same(&made.unwrap(), converted.as_ref(), &format!("{format} of {m:?}")),
                    // Too many diagonals, whatever the limits.
                    Err(refused) => assert_eq!(made.unwrap_err(), refused.into()),
                }
            }
            // The x that comes with it.
            let mut operand = Device::<T>::generate(gpu, &m, Format::csr()).unwrap();
            let candidate = Candidate { kernel: Kernel::known("csr-scalar"), block: 64, dtype: T::DTYPE };
            let expected = reference(&a, &random_x::<T>(nrows as usize, seed));
            sparsight_device::check(operand.as_mut(), &candidate, &expected).unwrap();
        }
    }
}

#[test]
fn generated_matrices_equal_the_host_formula() {
    generated_is_the_formula::<f32>(&EmulatedGpu::device(Order::Forwards));
    generated_is_the_formula::<f64>(&EmulatedGpu::with_wide_offsets(Order::Forwards));
    generated_is_the_formula::<f64>(&EmulatedGpu::with_waves_of_64(Order::Forwards));
}
