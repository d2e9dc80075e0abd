//! Every kernel in every variant compiles for the oldest generation of GPUs and for Hopper, and every kernel for the others. Needs NVRTC,
//! but no GPU.

use sparsight_device::DeviceError;
use sparsight_device::cuda::{Arch, compile, supported_archs};
use sparsight_kernels::{
    Candidate, Epilogue, Kernel, KernelSource, benchmark_matrix_source, conversion_source, dots_pass_source,
    epilogue_pass_source, epilogue_source, every_candidate, fused_source, row_lengths_source, source,
    timing_source, vector_source,
};
use sparsight_matrix::Dtype;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Turing, Ampere, Hopper, Blackwell. Those that the NVRTC at hand does not know are left out.
const ARCHS: [Arch; 4] = [(7, 5), (8, 0), HOPPER, (10, 0)];

/// The generation for which `kernels_are_as_measured` compiles every candidate with offsets of 4 bytes, by the compiler of that test.
const HOPPER: Arch = (9, 0);

const DTYPES: [Dtype; 3] = [Dtype::F32, Dtype::F64, Dtype::Mixed];

/// Candidates with the smallest and the largest block of each kernel: what depends on the block, such as shared memory, is at its limit
/// at one of them, and `kernels_are_as_measured` compiles every block for one generation. In mixed precision with the smallest alone:
/// the loaded type is the only difference to `f64`.
fn candidates(dtype: Dtype) -> impl Iterator<Item = Candidate> {
    every_candidate(dtype).filter(move |c| {
        let blocks = c.kernel.blocks();
        blocks.first() == Some(&c.block) || dtype != Dtype::Mixed && blocks.last() == Some(&c.block)
    })
}

/// Everything that is ever compiled, with these candidates.
pub fn sources() -> Vec<(String, KernelSource)> {
    [sources_without_candidates(), sources_of_candidates(4), sources_of_candidates(8)].concat()
}

fn sources_without_candidates() -> Vec<(String, KernelSource)> {
    let mut sources =
        vec![("timing".to_owned(), timing_source()), ("row lengths".to_owned(), row_lengths_source())];
    for dtype in DTYPES {
        sources.push((format!("vectors, {dtype}"), vector_source(dtype)));
        for offset_bytes in [4, 8] {
            let name = format!("benchmark matrix {dtype}, offsets of {offset_bytes} bytes");
            sources.push((name, benchmark_matrix_source(dtype, offset_bytes)));
            let name = format!("conversions, {dtype}, offsets of {offset_bytes} bytes");
            sources.push((name, conversion_source(dtype, offset_bytes)));
        }
    }
    sources
}

/// Of 8 bytes those that read offsets.
fn sources_of_candidates(offset_bytes: u64) -> Vec<(String, KernelSource)> {
    let differs = |candidate: &Candidate| {
        offset_bytes == 4 || candidate.kernel.recipe().is_some_and(|recipe| recipe.reads_offsets)
    };
    let named = |candidate: Candidate| {
        let name = format!("{candidate}, offsets of {offset_bytes} bytes");
        source(&candidate, offset_bytes).map(|source| (name, source))
    };
    DTYPES.into_iter().flat_map(candidates).filter(differs).filter_map(named).collect()
}

/// Every kernel in `f32` and `f64`, with its largest block and the offsets that nearly all matrices have, and what is no candidate. What
/// a generation lacks shows here: what the width of offsets, the block and mixed precision change is text that all have in common.
pub fn sources_of_every_kernel() -> Vec<(String, KernelSource)> {
    let largest = |c: &Candidate| c.kernel.blocks().last() == Some(&c.block);
    let candidates = [Dtype::F32, Dtype::F64].into_iter().flat_map(every_candidate).filter(largest);
    let named = candidates.filter_map(|c| source(&c, 4).map(|source| (c.to_string(), source)));
    sources_without_candidates().into_iter().chain(named).collect()
}

/// Fused launches of several formats, of one kernel with different knobs, and with row offsets of both widths.
pub fn fused_sources() -> Vec<(String, KernelSource)> {
    let [narrow, wide] = [4, 8];
    let of =
        |ids: &[(&str, u64)]| ids.iter().map(|&(id, bytes)| (Kernel::known(id), bytes)).collect::<Vec<_>>();
    let combinations = [
        of(&[("csr-scalar", narrow)]),
        of(&[
            ("csr-vector/t2", narrow),
            ("csr-vector/t32", narrow),
            ("csr-vector/t32", wide),
            ("csr-scalar", wide),
        ]),
        of(&[("ell", narrow), ("sell/c32/s1", narrow), ("sell/c512/s2048", narrow), ("jad", narrow)]),
        of(&[("bro-ell/r32", narrow), ("csr-vector/t8", wide), ("ell", narrow), ("jad", narrow)]),
        of(&[
            ("csr-balanced/i256", narrow),
            ("csr-binned", narrow),
            ("csr-balanced/i256", wide),
            ("csr-binned", wide),
        ]),
    ];
    let mut sources = Vec::new();
    for dtype in DTYPES {
        for (variants, block) in combinations.iter().zip([64, 256, 512, 1024, 128]) {
            let source = fused_source(variants, dtype, block).expect("each is one launch");
            sources.push((format!("fused {variants:?}, {block} threads, {dtype}"), source));
        }
    }
    sources
}

/// An epilogue in the launch of every kernel that takes one, of `f64` with the largest block and of `f32` with the smallest, and behind
/// products.
pub fn epilogue_sources() -> Vec<(String, KernelSource)> {
    let epilogue = crate::epilogues::rich();
    let mut sources = Vec::new();
    for kernel in Kernel::all().filter(|kernel| kernel.shares_a_launch()) {
        let blocks = kernel.blocks();
        for (dtype, block, offset_bytes) in
            [(Dtype::F64, blocks[blocks.len() - 1], 8), (Dtype::F32, blocks[0], 4)]
        {
            let candidate = Candidate { kernel, block, dtype };
            let source = epilogue_source(&candidate, offset_bytes, &epilogue).expect("it is one launch");
            sources.push((format!("{candidate} with an epilogue"), source));
        }
    }
    for (dtype, epilogue) in [(Dtype::F64, epilogue), (Dtype::F32, Epilogue::project())] {
        sources.push((
            format!("an epilogue of {dtype} behind products"),
            epilogue_pass_source(dtype, &epilogue),
        ));
    }
    sources.push(("sums of blocks".to_owned(), dots_pass_source(3)));
    sources
}

/// True if NVRTC is missing and a skip is allowed.
fn skipped() -> bool {
    match supported_archs() {
        Err(error @ (DeviceError::NoNvrtc { .. } | DeviceError::LoaderPath { .. })) => {
            assert!(std::env::var_os("SPARSIGHT_REQUIRE_NVRTC").is_none(), "{error}");
            println!("skipped: {error}");
            true
        }
        other => {
            other.expect("NVRTC says what it supports");
            false
        }
    }
}

#[test]
fn every_variant_compiles_for_the_oldest_generation_and_for_hopper() {
    if skipped() {
        return;
    }
    let known = known_archs();
    compile_all(&sources(), &known[..1]);
    // With offsets of 4 bytes in every block by `kernels_are_as_measured`.
    if sparsight_device::cuda::nvrtc_version() == Ok(crate::kernels_are_as_measured::NVRTC) {
        compile_all(&[sources_without_candidates(), sources_of_candidates(8)].concat(), &[HOPPER]);
    } else {
        compile_all(&sources(), &[HOPPER]);
    }
}

#[test]
fn every_kernel_compiles_for_every_generation() {
    if !skipped() {
        let others: Vec<Arch> = known_archs().into_iter().skip(1).filter(|&arch| arch != HOPPER).collect();
        compile_all(&sources_of_every_kernel(), &others);
    }
}

#[test]
fn fused_launches_compile_for_every_generation() {
    if !skipped() {
        compile_all(&fused_sources(), &known_archs());
    }
}

#[test]
fn epilogues_compile_in_the_launches_of_all_kernels() {
    if !skipped() {
        compile_all(&epilogue_sources(), &[HOPPER]);
    }
}

/// Those of [`ARCHS`] that the compiler knows, the oldest first.
fn known_archs() -> Vec<Arch> {
    let supported = supported_archs().unwrap();
    let known: Vec<Arch> = ARCHS.into_iter().filter(|a| supported.contains(&(a.0 * 10 + a.1))).collect();
    assert!(known.contains(&HOPPER), "{supported:?}");
    known
}

/// Compiles each source for each of these generations.
///
/// # Panics
/// If one does not compile, or if there is none.
fn compile_all(sources: &[(String, KernelSource)], archs: &[Arch]) {
    assert!(!archs.is_empty(), "no generation to compile for");
    let jobs: Vec<_> = archs.iter().flat_map(|arch| sources.iter().map(move |s| (*arch, s))).collect();

    let start = Instant::now();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut failures = Vec::new();
        while let Some((arch, (name, source))) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            match compile(source, *arch) {
                Ok(image) => {
                    for entry in &source.entry_points {
                        let found = image.windows(entry.len()).any(|bytes| bytes == entry.as_bytes());
                        assert!(found && image.starts_with(b"\x7fELF"), "{name}: no {entry} in the CUBIN");
                    }
                }
                Err(error) => failures.push(format!("{name}, sm_{}{}: {error}", arch.0, arch.1)),
            }
        }
        failures
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let count = std::thread::available_parallelism().map_or(2, usize::from);
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker does not panic")).collect()
    });
    println!("{} compilations in {:.1} s", jobs.len(), start.elapsed().as_secs_f64());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_compile_error_names_the_file_and_the_line() {
    if skipped() {
        return;
    }
    let mut source = timing_source();
    source.text.push_str("\n#line 7 \"broken.cu\"\nint broken(\n");
    let Err(DeviceError::Compile { kernel, log }) = compile(&source, (9, 0)) else {
        panic!("a syntax error is an error")
    };
    assert!(kernel.contains("spin") && log.contains("broken.cu("), "{kernel}: {log}");
}

#[test]
fn a_wrong_line_of_an_epilogue_is_named_with_its_place() {
    if skipped() {
        return;
    }
    let epilogue = Epilogue::try_new("s * d[i] + q", &["d"], &[]).unwrap();
    let log = |source: &KernelSource| match compile(source, (9, 0)) {
        Err(DeviceError::Compile { log, .. }) => log,
        other => panic!("q is unknown: {other:?}"),
    };
    let candidate = "csr-vector/t8/b128/f64".parse().unwrap();
    for source in
        [epilogue_source(&candidate, 4, &epilogue).unwrap(), epilogue_pass_source(Dtype::F64, &epilogue)]
    {
        let log = log(&source);
        assert!(
            log.contains("epilogue(1): error: identifier \"q\" is undefined") && log.contains("s * d[i] + q"),
            "{log}"
        );
    }
    let output = Epilogue::product().with_output("w", "out + q").unwrap();
    let log = log(&epilogue_pass_source(Dtype::F64, &output));
    assert!(log.contains("epilogue of w(1): error"), "{log}");
}

#[test]
fn a_gpu_newer_than_the_compiler_gets_ptx_that_its_driver_can_translate() {
    if skipped() {
        return;
    }
    let image = compile(&timing_source(), (99, 0)).unwrap();
    assert!(image.ends_with(&[0]) && String::from_utf8_lossy(&image).contains(".version"));
}

#[test]
fn fused_launches_and_epilogues_are_parameters_and_matrices_in_global_memory() {
    if skipped() {
        return;
    }
    for (name, source) in fused_sources().into_iter().chain(epilogue_sources()) {
        // An architecture beyond the compiler's own gives text.
        let ptx = compile(&source, (99, 0)).unwrap();
        let ptx = String::from_utf8_lossy(&ptx);
        assert!(!ptx.contains(".local"), "{name}: parameters are copied to each thread's own memory");
        let generic = ptx.lines().find(|line| {
            let instruction = line.split_whitespace().next().unwrap_or_default();
            let spaces = [".global", ".shared", ".param", ".const"];
            (instruction.starts_with("ld.") || instruction.starts_with("st."))
                && !spaces.iter().any(|space| instruction.contains(space))
        });
        assert_eq!(generic, None, "{name}: the compiler does not know what memory an address is of");
    }
}
