//! A user's own kernel, from a file: given the arrays that it names, held to the reference, timed; on emulated warps, and on
//! a GPU where there is one. The kernels are those that docs/own-kernel.md shows.

use crate::emulator::matrices::all_matrices;
use crate::emulator::{EmulatedGpu, Order, gxx_is_missing};
use crate::gpu::gpu;
use sparsight_device::cuda::{compile, supported_archs};
use sparsight_device::timing::{Caches, StoppingRule, measure};
use sparsight_device::{Device, DeviceError, LoadRequest, OwnRequest, check_product, random_x};
use sparsight_kernels::{Candidate, OwnKernel, source};
use sparsight_matrix::gallery::Recipe;
use sparsight_matrix::{Csr, Dtype, Scalar, reference};

/// The CUDA files that the page shows, by their names.
fn of_the_page() -> Vec<(String, String)> {
    let page = include_str!("../../../../docs/own-kernel.md");
    let blocks = page.split("\n```cuda\n").skip(1).map(|block| block.split_once("\n```").unwrap().0);
    let named = |text: &str| {
        let name = text.lines().next().unwrap().trim_start_matches("// ").split([':', ' ']).next().unwrap();
        (name.to_owned(), format!("{text}\n"))
    };
    let all: Vec<(String, String)> = blocks.map(named).collect();
    assert!(
        all.len() >= 2
            && all.iter().all(|(name, _)| name.rsplit_once('.').is_some_and(|(_, end)| end == "cu")),
        "{all:?}"
    );
    all
}

fn read(name: &str, text: &str, dtype: Dtype) -> OwnKernel {
    OwnKernel::read(name, text, dtype).unwrap()
}

/// The kernel on `a`, held to the right y.
fn hold<T: Scalar>(
    device: &dyn Device<T>,
    kernel: &OwnKernel,
    block: u32,
    a: &Csr<T>,
) -> Result<(), DeviceError> {
    // SAFETY: the kernels of these tests stay within their arrays.
    let product = device.load(LoadRequest::Own(unsafe { OwnRequest::new(a, kernel, block) }))?;
    let x = random_x(a.ncols(), 7);
    check_product(product.as_ref(), kernel.name(), &x, &reference(a, &x))?;
    assert!(product.batch(2, Caches::Warm)?.time.0 > 0.0);
    Ok(())
}

fn hold_all<T: Scalar>(device: &dyn Device<T>, matrices: &[(&str, Csr<T>)]) {
    for (name, text) in of_the_page() {
        let kernel = read(&name, &text, T::DTYPE);
        let mut held = 0;
        for (what, a) in matrices {
            for &block in kernel.blocks() {
                match hold(device, &kernel, block, a) {
                    Ok(()) => held += 1,
                    Err(DeviceError::Infeasible(_)) => {}
                    Err(error) => panic!("{name}, {what}, {}: {error}", T::DTYPE),
                }
            }
        }
        assert!(held > 10, "{name}: {held}");
    }
}

#[test]
fn the_kernels_of_the_page_are_right_on_emulated_warps() {
    if gxx_is_missing() {
        return;
    }
    hold_all::<f64>(&EmulatedGpu::device(Order::Forwards), &all_matrices());
    hold_all::<f32>(&EmulatedGpu::device(Order::Backwards), &all_matrices()[..12]);
    hold_all::<f64>(&EmulatedGpu::with_wide_offsets(Order::Forwards), &all_matrices()[..12]);
}

#[test]
fn the_kernels_of_the_page_are_right_on_a_gpu() {
    let Some(gpu) = gpu() else { return };
    hold_all::<f64>(&*gpu, &all_matrices());
    hold_all::<f32>(&*gpu, &all_matrices());
    let (name, text) = &of_the_page()[0];
    let a = "stencil2d,n=100".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
    let kernel = read(name, text, Dtype::F64);
    // SAFETY: the kernel stays within its arrays.
    let product = gpu.load(LoadRequest::Own(unsafe { OwnRequest::new(&a, &kernel, 128) })).unwrap();
    let timing = measure(|products| product.batch(products, Caches::Warm), &StoppingRule::BRISK).unwrap();
    // 40,000 non-zeros: more than a launch, less than a hundred of them.
    assert!((1e-6..1e-3).contains(&timing.time.0), "{}", timing.time);
    let broken = text.replace("sum +=", "sum = no_such_word +");
    let kernel = read(name, &broken, Dtype::F64);
    let error = hold(&*gpu, &kernel, 128, &a).unwrap_err().to_string();
    assert!(error.contains(&format!("{name}(")) && error.contains("no_such_word"), "{error}");
}

#[test]
fn the_kernels_of_the_page_compile_for_a_gpu() {
    if let Err(error @ (DeviceError::NoNvrtc { .. } | DeviceError::LoaderPath { .. })) = supported_archs() {
        assert!(std::env::var_os("SPARSIGHT_REQUIRE_NVRTC").is_none(), "{error}");
        println!("skipped: {error}");
        return;
    }
    for (name, text) in of_the_page() {
        for dtype in [Dtype::F32, Dtype::F64] {
            let kernel = read(&name, &text, dtype);
            for (&block, offset_bytes) in
                kernel.blocks().iter().flat_map(|block| [4, 8].map(|bytes| (block, bytes)))
            {
                let source = kernel.source(block, offset_bytes);
                compile(&source, (9, 0)).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
        // What the compiler has to say is said with the line of the file.
        let lines = text.lines().count();
        let source = read(&name, &format!("{text}int broken(\n"), Dtype::F64).source(128, 4);
        let Err(DeviceError::Compile { log, .. }) = compile(&source, (9, 0)) else { panic!("it is broken") };
        let places = [lines + 1, lines + 2].map(|line| format!("{name}({line})"));
        assert!(places.iter().any(|place| log.contains(place)), "{log}");
    }
}

#[test]
fn a_kernel_that_is_wrong_is_named_with_the_first_wrong_row() {
    if gxx_is_missing() {
        return;
    }
    let (name, text) = &of_the_page()[0];
    let device = EmulatedGpu::device(Order::Forwards);
    let a = crate::emulator::matrices::matrix::<f64>(&[3, 4, 2, 9, 1]);
    // It forgets a row, whose y stays unwritten.
    let forgetful = text.replace("row < nrows", "row < nrows && row != 2");
    assert_ne!(*text, forgetful);
    let error = hold(&device, &read(name, &forgetful, Dtype::F64), 128, &a).unwrap_err();
    assert!(matches!(error, DeviceError::WrongResult { row: 2, .. }), "{error}");
    assert!(error.to_string().starts_with(&format!("{name} computes y[2]")), "{error}");
    // Factors that it does not take.
    let kernel = read(name, text, Dtype::F64);
    // SAFETY: it stays within its arrays.
    let product = device.load(LoadRequest::Own(unsafe { OwnRequest::new(&a, &kernel, 128) })).unwrap();
    let mut y = vec![1.0; 5];
    let error = product.multiply(2.0, &random_x(a.ncols(), 7), 0.0, &mut y).unwrap_err();
    assert!(error.to_string().contains("no alpha and beta"), "{error}");
}

#[test]
fn our_kernels_pass_as_own_kernels() {
    if gxx_is_missing() {
        return;
    }
    let device = EmulatedGpu::device(Order::Forwards);
    for (id, threads) in
        [("csr-scalar/b64/f64", 1), ("csr-vector/t8/b64/f64", 8), ("sell/c32/s1/t4/b128/f64", 4)]
    {
        let candidate: Candidate = id.parse().unwrap();
        let ours = source(&candidate, 4).unwrap();
        // As docs/own-kernel.md says: without what is given, and with what the text does not say.
        let given = ["STORED", "VALUE", "OFFSET", "BLOCK"];
        let (format, block) = (candidate.format(), candidate.block);
        let mut text = format!(
            "// sparsight: format {format}\n// sparsight: blocks {block}\n// sparsight: threads nrows * {threads}\n"
        );
        for definition in ours.definitions.iter().filter(|d| !given.contains(&d.split('=').next().unwrap())) {
            text += "#define ";
            text += &definition.replacen('=', " ", 1);
            text += "\n";
        }
        text += &ours.text;
        let kernel = read("pasted.cu", &text, Dtype::F64);
        assert!(kernel.scales() && kernel.blocks() == [block], "{id}");
        for (what, a) in &all_matrices::<f64>()[..20] {
            hold(&device, &kernel, block, a).unwrap_or_else(|error| panic!("{id}, {what}: {error}"));
        }
    }
}

#[test]
fn a_cpu_runs_no_cuda() {
    let kernel = read("my.cu", "extern \"C\" __global__ void f(int nrows) {}", Dtype::F64);
    let a = crate::emulator::matrices::matrix::<f64>(&[3]);
    let error = hold(&sparsight_device::cpu::Cpu::new(), &kernel, 128, &a).unwrap_err();
    assert!(matches!(error, DeviceError::CannotRun { .. }), "{error}");
    assert!(error.to_string().contains("it is CUDA, and this is"), "{error}");
}
