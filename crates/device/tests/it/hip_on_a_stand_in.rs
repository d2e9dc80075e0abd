//! The backend of HIP on libraries that stand in for AMD's: `hip/runtime.cpp` for libamdhip64 and `hip/hiprtc.cpp` for libhiprtc, with the
//! emulator behind both, and `hip/rocsparse.cpp` for librocsparse, which computes on the host. It shows that the backend packs arguments, orders streams, gives memory back and reports failures as it should
//! by the runtime's rules, and the kernels right in waves of 64 through it. It shows nothing of AMD's own libraries.
//!
//! Each case is a process of its own, since a program looks for a library once. Without g++ all are skipped;
//! `SPARSIGHT_REQUIRE_GXX=1` turns that into a failure.

use crate::emulator::gxx_is_missing;
use crate::emulator::matrices::{awkward, matrix};
use crate::support::{hold, queue, thirds};
use sparsight_device::gpu::{ConvertOn, DeviceArray, GpuDevice};
use sparsight_device::hip::{Hip, compile, hiprtc_version};
use sparsight_device::timing::Caches;
use sparsight_device::{Device, DeviceError, LoadRequest, Partition, check, random_x};
use sparsight_kernels::{Candidate, DeviceKind, Execution, Format, Kernel, timing_source};
use sparsight_matrix::gallery::Recipe;
use sparsight_matrix::{Csr, Dtype, Infeasible, Narrowing, Scalar, reference};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");

/// A folder with the libraries of a stand-in, made once by these tests.
///
/// # Panics
/// If one does not compile.
fn libraries(name: &str, files: &[(&str, &str, &[&str])]) -> PathBuf {
    static MAKING: Mutex<()> = Mutex::new(());
    let _alone = MAKING.lock().unwrap();
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hip-{}", std::process::id())).join(name);
    let folder = root.join("lib");
    fs::create_dir_all(&folder).unwrap();
    for (library, source, options) in files {
        let path = folder.join(library);
        if path.is_file() {
            continue;
        }
        // Several stand-ins have some libraries in common.
        let made_at = root.with_file_name(format!("{library}{}", options.concat()));
        if made_at.is_file() {
            fs::hard_link(&made_at, &path).unwrap();
            continue;
        }
        let made = Command::new("g++")
            .args(["-shared", "-fPIC", "-std=c++17", "-O1"])
            .args([format!("-DEMULATOR=\"{HERE}/emulator\""), format!("-DHERE=\"{HERE}/hip\"")])
            .args(*options)
            // By this name the loader knows it once it is open.
            .arg(format!("-Wl,-soname,{library}"))
            .arg("-o")
            .arg(&path)
            .arg(format!("{HERE}/hip/{source}"))
            .args(["-ldl", "-lpthread"])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::hard_link(&path, &made_at).unwrap();
    }
    root
}

const RUNTIME: (&str, &str, &[&str]) = ("libamdhip64.so.7", "runtime.cpp", &[]);
const COMPILER: (&str, &str, &[&str]) = ("libhiprtc.so.7", "hiprtc.cpp", &[]);
const ROCSPARSE: (&str, &str, &[&str]) = ("librocsparse.so.1", "rocsparse.cpp", &[]);

/// Runs one of the ignored tests below with libraries in that folder, and gives what it prints.
///
/// # Panics
/// If it fails.
fn child(test: &str, libraries: &Path, settings: &[(&str, &str)]) -> String {
    let test = format!("hip_on_a_stand_in::{test}");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test.as_str(), "--exact", "--ignored", "--nocapture"]);
    // Before libraries that the machine has of its own.
    command.env("LD_LIBRARY_PATH", libraries.join("lib")).env("ROCM_PATH", libraries);
    command.env("SPARSIGHT_CACHE", libraries.join("cache")).envs(settings.iter().copied());
    let output = command.output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{test}: {said}");
    said
}

/// The second of two devices: what forgets to make it the current one is found.
fn opened() -> Hip {
    let hip = Hip::open_without_rates(1).unwrap();
    let facts = hip.as_gpu().facts();
    assert_eq!((facts.kind, facts.name.as_str()), (DeviceKind::Hip, "AMD Stand-in 1"));
    assert_eq!((facts.warps_per_multiprocessor, facts.max_threads_per_block), (2048 / 64, Some(1024)));
    assert_eq!(facts.driver, "HIP 6.2.41134");
    hip
}

/// Matrices, by what they are in [`awkward`].
const CHOSEN: [&str; 4] = [
    "33 rows",
    "empty rows first, last and between",
    "giant rows side by side and short ones between",
    "rows around a tile",
];

fn chosen<T: Scalar>() -> impl Iterator<Item = (&'static str, Csr<T>)> {
    awkward()
        .into_iter()
        .filter(|(what, _)| CHOSEN.contains(what))
        .map(|(what, lengths)| (what, matrix(&lengths)))
}

#[test]
fn products_are_right_and_values_are_replaced() {
    if !gxx_is_missing() {
        child("products", &libraries("whole", &[RUNTIME, COMPILER, ROCSPARSE]), &[]);
    }
}

#[test]
#[ignore = "run by another test, with libraries that stand in"]
fn products() {
    let hip = opened();
    let mut gpu: GpuDevice = hip.as_gpu().clone();
    for kernel in Kernel::all().filter(|kernel| kernel.is_vendors()) {
        let runs = Device::<f64>::runs(&gpu, kernel);
        let is_here = kernel.runs_on(DeviceKind::Hip);
        assert!(
            if is_here { runs.is_ok() } else { matches!(runs, Err(DeviceError::CannotRun { .. })) },
            "{kernel}: {runs:?}"
        );
    }
    let mut right = 0;
    for (kernel, place) in [
        ("csr-scalar", ConvertOn::Host),
        ("csr-vector/t32", ConvertOn::Host),
        ("csr-balanced/i256", ConvertOn::Host),
        ("csr-segmented", ConvertOn::Device),
        ("coo", ConvertOn::Device),
        ("hyb", ConvertOn::Device),
        ("bro-ell/r32", ConvertOn::Device),
        ("sell/c32/s1/t2", ConvertOn::Host),
    ] {
        gpu.convert_on(place);
        for dtype in [Dtype::F64, Dtype::Mixed] {
            let candidate = Candidate { kernel: Kernel::known(kernel), block: 128, dtype };
            for (what, a) in chosen::<f64>() {
                let a = thirds(&a);
                let x = random_x::<f64>(a.ncols(), 3);
                let stored =
                    |a: &Csr<f64>| if dtype == Dtype::Mixed { Narrowing::rounded(a) } else { a.clone() };
                let partition = Partition::whole(a.nrows(), candidate);
                let mut product = match gpu.load(LoadRequest::Parts { a: &a, partition: &partition }) {
                    Ok(product) => product,
                    Err(DeviceError::Infeasible(_)) => continue,
                    Err(error) => panic!("{candidate} on '{what}': {error}"),
                };
                let what = format!("{candidate} on '{what}'");
                hold(product.as_ref(), &what, &x, &reference(&stored(&a), &x));
                product.allow_updates(&a).unwrap();
                let new = a.with_values(a.values().iter().map(|value| 0.5 - value).collect()).unwrap();
                product.update_values(new.values()).unwrap();
                hold(product.as_ref(), &what, &x, &reference(&stored(&new), &x));
                right += 1;
            }
        }
    }
    assert!(right > 50, "{right} products were right, some were infeasible");
}

#[test]
fn parts_run_in_one_launch_and_products_in_two_streams() {
    if !gxx_is_missing() {
        child("streams", &libraries("whole", &[RUNTIME, COMPILER, ROCSPARSE]), &[]);
    }
}

#[test]
#[ignore = "run by another test, with libraries that stand in"]
fn streams() {
    let (hip, other) = (opened(), Hip::open_without_rates(1).unwrap());
    let gpu = hip.as_gpu();
    let (_, a) = chosen::<f64>().last().unwrap();
    let half = a.nrows() / 2;
    let part =
        |rows, kernel| (rows, Candidate { kernel: Kernel::known(kernel), block: 128, dtype: Dtype::F64 });
    let parts = vec![part(0..half, "csr-vector/t8"), part(half..a.nrows(), "sell/c32/s1")];
    let fused = Partition::try_new(parts, Execution::Fused).unwrap();
    let product = gpu.load(LoadRequest::Parts { a: &a, partition: &fused }).unwrap();
    let x = random_x::<f64>(a.ncols(), 3);
    hold(product.as_ref(), "two parts in one launch", &x, &reference(&a, &x));

    // Blocks of this kernel share memory, so products in two streams wait for each other.
    let whole = Partition::whole(a.nrows(), "csr-balanced/i256/b128/f64".parse().unwrap());
    let product = gpu.load(LoadRequest::Parts { a: &a, partition: &whole }).unwrap();
    let upload = |seed| {
        let x = random_x::<f64>(a.ncols(), seed);
        (gpu.upload(&x).unwrap(), gpu.upload(&vec![f64::NAN; a.nrows()]).unwrap(), reference(&a, &x))
    };
    let (one_x, mut one_y, one) = upload(1);
    let (two_x, mut two_y, two) = upload(2);
    for _ in 0..20 {
        queue(product.as_ref(), (1.0, &one_x), (0.0, &mut one_y), None).unwrap();
        let stream = Some(other.stream());
        queue(product.as_ref(), (1.0, &two_x), (0.0, &mut two_y), stream).unwrap();
    }
    hip.wait_for_all().unwrap();
    assert_eq!(one.first_wrong(&one_y.read().unwrap()), None);
    assert_eq!(two.first_wrong(&two_y.read().unwrap()), None);
    let refused =
        queue(product.as_ref(), (1.0, &other.as_gpu().upload(&x).unwrap()), (0.0, &mut one_y), None);
    assert!(matches!(refused, Err(DeviceError::OtherDevice { vector: "x" })), "{refused:?}");
}

#[test]
fn rates_and_batches_are_timed() {
    if !gxx_is_missing() {
        child("batches", &libraries("whole", &[RUNTIME, COMPILER, ROCSPARSE]), &[]);
    }
}

#[test]
#[ignore = "run by another test, with libraries that stand in"]
fn batches() {
    let hip = Hip::open(0).unwrap();
    let facts = hip.as_gpu().facts();
    assert!(facts.launch_s.0 > 0.0 && facts.copy_bytes_per_s > 0.0, "{facts:?}");
    assert!(facts.small_product_s.is_some_and(|time| time.0 > 0.0), "{facts:?}");
    assert!(facts.upload_bytes_per_s.is_some_and(|rate| rate > 0.0) && facts.check().is_ok(), "{facts:?}");
    let (_, a) = chosen::<f64>().next().unwrap();
    let mut operand = hip.as_gpu().operand(&a, Format::csr(), Dtype::F64).unwrap();
    let x = random_x::<f64>(a.ncols(), 3);
    operand.set_x(&x).unwrap();
    let candidate = "csr-vector/t2/b64/f64".parse().unwrap();
    for caches in [Caches::Warm, Caches::Cold] {
        operand.poison_y().unwrap();
        assert!(operand.batch(&candidate, 3, caches).unwrap().time.0 > 0.0);
        assert_eq!(reference(&a, &x).first_wrong(&operand.read_y().unwrap()), None);
    }
}

#[test]
fn a_matrix_that_does_not_fit_is_refused_before_the_runtime_is_asked_and_by_it() {
    if !gxx_is_missing() {
        child(
            "memory",
            &libraries("whole", &[RUNTIME, COMPILER, ROCSPARSE]),
            &[("HIP_STAND_IN_MEMORY", "1000000")],
        );
    }
}

#[test]
#[ignore = "run by another test, with libraries that stand in"]
fn memory() {
    let hip = opened();
    let gpu = hip.as_gpu();
    assert_eq!(gpu.limits().memory.0, 0, "the reserve is larger than all of it");
    let refused = gpu.upload(&vec![0_u8; 2_000_000]).unwrap_err();
    let DeviceError::Infeasible(Infeasible::DoesNotFit { need, have }) = refused else { panic!("{refused}") };
    assert_eq!((need.0, have.0), (2_000_000, 1_000_000));
    // What is given back can be had again.
    let upload = || gpu.upload(&vec![7_u8; 900_000]);
    let first: DeviceArray<u8> = upload().unwrap();
    assert!(
        matches!(upload(), Err(DeviceError::Infeasible(Infeasible::DoesNotFit { have, .. })) if have.0 == 100_000)
    );
    drop(first);
    assert_eq!(upload().unwrap().read().unwrap(), vec![7; 900_000]);
}

#[test]
fn a_kernel_that_does_not_compile_is_an_error_with_the_compilers_log() {
    if !gxx_is_missing() {
        child("broken_source", &libraries("whole", &[RUNTIME, COMPILER, ROCSPARSE]), &[]);
    }
}

#[test]
#[ignore = "run by another test, with libraries that stand in"]
fn broken_source() {
    let mut source = timing_source();
    source.text.push_str("\n#line 7 \"broken.cu\"\nint broken(\n");
    let Err(DeviceError::Compile { kernel, log }) = compile(&source, Some("gfx90a")) else {
        panic!("it is broken")
    };
    assert!(kernel.contains("spin") && log.contains("broken.cu:"), "{kernel}: {log}");
    assert!(hiprtc_version().unwrap() == (6, 2) && compile(&timing_source(), None).is_ok());
}

/// What is said where something is missing.
#[test]
#[ignore = "run by other tests, each time with other libraries"]
fn what_is_here() {
    for error in [
        Hip::count().map(|count| println!("{count} devices")).err(),
        Hip::open_without_rates(7).map(drop).err(),
        hiprtc_version().map(|version| println!("{version:?}")).err(),
    ] {
        println!(
            "{} {:?}",
            error.as_ref().map_or("fine".to_owned(), ToString::to_string),
            error.and_then(|e| e.hint())
        );
    }
}

#[test]
fn missing_and_old_libraries_are_errors_that_say_what_to_do() {
    if gxx_is_missing() {
        return;
    }
    let none = libraries("none", &[]);
    let said = child("what_is_here", &none, &[]);
    if !said.contains("no HIP runtime") {
        return println!("skipped: this machine has a HIP of its own");
    }
    let searched = format!(
        "no HIP runtime (libamdhip64) was found (looked in: the loader's path, {}",
        none.join("lib").display()
    );
    assert!(said.contains(&searched) && said.contains("install ROCm 6.0 or newer"), "{said}");
    assert!(said.contains("no HIPRTC library was found"), "{said}");

    let whole = libraries("whole", &[RUNTIME, COMPILER, ROCSPARSE]);
    let said = child("what_is_here", &whole, &[("HIP_STAND_IN_DEVICES", "0")]);
    assert!(
        said.contains("0 devices") && said.contains("there is no HIP device 7: the driver reports 0"),
        "{said}"
    );
    let said = child("what_is_here", &whole, &[("HIP_STAND_IN_VERSION", "50221153")]);
    assert!(
        said.contains("opening HIP failed: it is HIP 5.2.21153, ROCm 6.0 is the oldest that works"),
        "{said}"
    );

    let said = child("what_is_here", &libraries("runtime-alone", &[RUNTIME]), &[]);
    assert!(said.contains("2 devices") && said.contains("no HIPRTC library was found"), "{said}");
    let lacking = ("libamdhip64.so.7", "runtime.cpp", &["-DLACKS_ELAPSED_TIME"][..]);
    let said = child("what_is_here", &libraries("lacking", &[lacking, COMPILER]), &[]);
    assert!(said.contains("libamdhip64 lacks hipEventElapsedTime, which ROCm 6.0 and newer have"), "{said}");
}

/// Routines of rocSPARSE.
fn of_rocsparse() -> impl Iterator<Item = Kernel> {
    Kernel::all().filter(|kernel| kernel.is_vendors() && kernel.runs_on(DeviceKind::Hip))
}

#[test]
fn products_of_rocsparse_are_right() {
    if !gxx_is_missing() {
        child("vendors_products", &libraries("whole", &[RUNTIME, COMPILER, ROCSPARSE]), &[]);
    }
}

#[test]
#[ignore = "run by another test, with libraries that stand in"]
fn vendors_products() {
    fn of<T: Scalar>(gpu: &GpuDevice, right: &mut BTreeMap<Kernel, usize>) {
        let recipes =
            ["fem,n=8,unknowns=2", "fem,n=8,unknowns=3", "fem,n=8,unknowns=4", "fem,n=8,unknowns=6"];
        let generated = recipes.map(|recipe| recipe.parse::<Recipe>().unwrap().generate::<T>().unwrap());
        for a in generated.iter().chain(&chosen::<T>().map(|(_, a)| a).collect::<Vec<_>>()) {
            let x = random_x::<T>(a.ncols(), 3);
            for kernel in of_rocsparse() {
                let what = format!("{kernel} on {} rows", a.nrows());
                let partition = Partition::whole(a.nrows(), Candidate { kernel, block: 0, dtype: T::DTYPE });
                let mut product = match gpu.load(LoadRequest::Parts { a, partition: &partition }) {
                    Ok(product) => product,
                    Err(DeviceError::Infeasible(_)) => continue,
                    // Its columns have no gaps.
                    Err(DeviceError::CannotRun { kernel, .. }) if a.nrows() % 32 != 0 => {
                        assert_eq!(kernel, "rocSPARSE on ell");
                        continue;
                    }
                    Err(error) => panic!("{what}: {error}"),
                };
                hold(product.as_ref(), &what, &x, &reference(a, &x));
                product.allow_updates(a).unwrap();
                let new = a.values().iter().map(|value| T::from_f64(0.5 - value.to_f64())).collect();
                let new = a.with_values(new).unwrap();
                product.update_values(new.values()).unwrap();
                hold(product.as_ref(), &what, &x, &reference(&new, &x));
                *right.entry(kernel).or_default() += 1;
            }
        }
    }
    let hip = opened();
    let mut right = BTreeMap::new();
    of::<f32>(hip.as_gpu(), &mut right);
    of::<f64>(hip.as_gpu(), &mut right);
    assert!(right.len() == of_rocsparse().count() && right.values().all(|&count| count >= 2), "{right:?}");

    // An operand whose candidates are timed.
    let (_, a) = chosen::<f64>().last().unwrap();
    let x = random_x::<f64>(a.ncols(), 3);
    let mut operand = hip.as_gpu().operand(&a, Format::csr(), Dtype::F64).unwrap();
    operand.set_x(&x).unwrap();
    for kernel in of_rocsparse().filter(|kernel| kernel.format().is_csr()) {
        assert_eq!(operand.preprocess(kernel), None);
        let candidate = Candidate { kernel, block: 0, dtype: Dtype::F64 };
        check(operand.as_mut(), &candidate, &reference(&a, &x)).unwrap();
        assert!(operand.preprocess(kernel).is_some_and(|took| took.0 > 0.0), "{kernel}");
    }

    // In a stream of another owner, and without non-zeros, where the library is not asked.
    let other = Hip::open_without_rates(1).unwrap();
    let whole = Partition::whole(a.nrows(), "rocsparse-csr/a2/f64".parse().unwrap());
    let product = hip.as_gpu().load(LoadRequest::Parts { a: &a, partition: &whole }).unwrap();
    let (on_device, mut y) =
        (hip.as_gpu().upload(&x).unwrap(), hip.as_gpu().upload(&vec![f64::NAN; a.nrows()]).unwrap());
    for _ in 0..20 {
        let stream = Some(other.stream());
        queue(product.as_ref(), (1.0, &on_device), (0.0, &mut y), stream).unwrap();
        queue(product.as_ref(), (1.0, &on_device), (0.0, &mut y), None).unwrap();
    }
    hip.wait_for_all().unwrap();
    assert_eq!(reference(&a, &x).first_wrong(&y.read().unwrap()), None);
    let empty = matrix::<f64>(&[0; 64]);
    let x = random_x::<f64>(empty.ncols(), 3);
    let mut operand = hip.as_gpu().operand(&empty, Format::csr(), Dtype::F64).unwrap();
    operand.set_x(&x).unwrap();
    check(operand.as_mut(), &"rocsparse-csr/f64".parse().unwrap(), &reference(&empty, &x)).unwrap();
}

/// What is said of rocSPARSE where it is missing, old or without memory.
#[test]
#[ignore = "run by another test, each time with other libraries"]
fn what_rocsparse_says() {
    let hip = opened();
    let gpu = hip.as_gpu();
    let (_, a) = chosen::<f64>().next().unwrap();
    for kernel in [Kernel::known("rocsparse-csr/a2"), Kernel::known("rocsparse-csr/a7")] {
        let whole = Partition::whole(a.nrows(), Candidate { kernel, block: 0, dtype: Dtype::F64 });
        let error = gpu.load(LoadRequest::Parts { a: &a, partition: &whole }).err();
        println!(
            "{kernel}: {} {:?}",
            error.as_ref().map_or("fine".to_owned(), ToString::to_string),
            error.and_then(|e| e.hint())
        );
    }
}

#[test]
fn a_missing_old_or_full_rocsparse_is_an_error_that_says_what_to_do() {
    if gxx_is_missing() {
        return;
    }
    let whole = libraries("whole", &[RUNTIME, COMPILER, ROCSPARSE]);
    let said = |settings: &[(&str, &str)]| child("what_rocsparse_says", &whole, settings);
    let fine = said(&[]);
    assert!(fine.contains("rocsparse-csr/a2: fine") && fine.contains("rocsparse-csr/a7: fine"), "{fine}");
    let old = said(&[("ROCSPARSE_STAND_IN_VERSION", "200303")]);
    assert!(
        old.contains(
            "opening rocSPARSE failed: it is rocSPARSE 2.3, 3.0 of ROCm 6.0 is the oldest that works"
        ),
        "{old}"
    );
    let older = said(&[("ROCSPARSE_STAND_IN_VERSION", "300002")]);
    assert!(older.contains("rocsparse-csr/a2: fine"), "{older}");
    assert!(
        older.contains(
            "rocsparse-csr/a7 does not run here: rocSPARSE 3.0 has no LRB algorithm; 3.1 of ROCm 6.1 has it"
        ),
        "{older}"
    );
    let full = said(&[("ROCSPARSE_STAND_IN_FULL", "1")]);
    assert!(full.contains("rocsparse_spmv failed: rocsparse_status_memory_error"), "{full}");
    let large = said(&[("ROCSPARSE_STAND_IN_BUFFER", "2000000000")]);
    assert!(large.contains("rocsparse-csr/a2: needs 2.00 GB, the device has "), "{large}");

    let lacking = ("librocsparse.so.1", "rocsparse.cpp", &["-DLACKS_SPMV"][..]);
    let said =
        child("what_rocsparse_says", &libraries("rocsparse-lacking", &[RUNTIME, COMPILER, lacking]), &[]);
    assert!(
        said.contains("librocsparse lacks rocsparse_spmv, which rocSPARSE 3.0 (ROCm 6.0) and newer have"),
        "{said}"
    );
    let none = libraries("no-rocsparse", &[RUNTIME, COMPILER]);
    let said = child("what_rocsparse_says", &none, &[]);
    if said.contains("rocsparse-csr/a2: fine") {
        return println!("skipped: this machine has a rocSPARSE of its own");
    }
    assert!(
        said.contains("no rocSPARSE library of ROCm 6.0 or newer was found (looked in: the loader's path, "),
        "{said}"
    );
    assert!(said.contains("install the package rocsparse of ROCm 6.0 or newer"), "{said}");
}
