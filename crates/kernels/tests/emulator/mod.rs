//! Runs CUDA sources on a CPU that plays a GPU warp by warp, and what its tests share: the matrices that break kernels
//! which are nearly right.

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "shared by test programs, each of which uses a part"
)]

use sparsight_kernels::{Kernel, KernelSource};
use sparsight_matrix::{Csr, Dtype, Scalar, mix};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that runs the entry points of one source.
pub struct Emulator {
    program: PathBuf,
}

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub enum Arg {
    Number(u64),
    /// Position in the list of arrays.
    Array(u64),
}

pub struct Launch {
    pub kernel: u64,
    pub grid: u64,
    pub block: u64,
    pub backwards: bool,
    pub args: Vec<Arg>,
}

pub fn gxx_is_missing() -> bool {
    let missing = Command::new("g++").arg("--version").output().is_err();
    assert!(!missing || std::env::var_os("SPARSIGHT_REQUIRE_GXX").is_none(), "no g++");
    if missing {
        println!("skipped: no g++");
    }
    missing
}

impl Emulator {
    pub fn compile(name: &str, source: &KernelSource) -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulator");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulated").join(name);
        fs::create_dir_all(&folder).unwrap();
        let mut calls = String::new();
        for (number, entry) in source.entry_points.iter().enumerate() {
            let start = source.text.find(&format!("\n{entry}(")).expect("the kernel's name starts a line");
            let parameters = source.text[start..].split_once(')').unwrap().0;
            let args: Vec<String> = if let Some((_, one)) = parameters.split_once("__grid_constant__ ") {
                vec![format!("whole<{}>(a)", one.split_once(' ').unwrap().0)]
            } else {
                (0..=parameters.matches(',').count()).map(|i| format!("a.at({i})")).collect()
            };
            let _ = write!(calls, "if (kernel == {number}) {entry}({}); ", args.join(", "));
        }
        let text = format!(
            "#include \"{0}/warp.hpp\"\n{1}\n#define DISPATCH {calls}\n#include \"{0}/main.cpp\"\n",
            here.display(),
            source.text
        );
        let (file, program) = (folder.join("emulated.cpp"), folder.join("emulated"));
        fs::write(&file, text).unwrap();
        let output = Command::new("g++")
            .args(["-std=c++17", "-O1", "-w", "-I/", "-o"])
            .args([&program, &file])
            .args(source.definitions.iter().map(|definition| format!("-D{definition}")))
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        Self { program }
    }

    /// Runs the launches and gives the arrays back.
    pub fn run(&self, arrays: &[Vec<u8>], launches: &[Launch]) -> Vec<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut number = |value: u64| bytes.extend(value.to_le_bytes());
        number(arrays.len() as u64);
        for array in arrays {
            bytes.extend((array.len() as u64).to_le_bytes());
            bytes.extend(array);
        }
        let mut number = |value: u64| bytes.extend(value.to_le_bytes());
        number(launches.len() as u64);
        for launch in launches {
            let head = [launch.kernel, launch.grid, launch.block, u64::from(launch.backwards)];
            head.into_iter().for_each(&mut number);
            number(launch.args.len() as u64);
            for arg in &launch.args {
                match *arg {
                    Arg::Number(value) => [0, value].into_iter().for_each(&mut number),
                    Arg::Array(at) => [1, at].into_iter().for_each(&mut number),
                }
            }
        }
        let (input, output) = (self.program.with_extension("in"), self.program.with_extension("out"));
        fs::write(&input, &bytes).unwrap();
        let run = Command::new(&self.program).args([&input, &output]).output().unwrap();
        assert!(run.status.success(), "{}: {}", run.status, String::from_utf8_lossy(&run.stderr));
        let result = fs::read(&output).unwrap();
        let mut rest = result.as_slice();
        arrays
            .iter()
            .map(|array| {
                let (_, tail) = rest.split_at(8);
                let (data, tail) = tail.split_at(array.len());
                rest = tail;
                data.to_vec()
            })
            .collect()
    }
}

pub fn scalars<T: Scalar>(values: &[T]) -> Vec<u8> {
    match T::DTYPE {
        Dtype::F32 => values.iter().flat_map(|v| (v.to_f64() as f32).to_le_bytes()).collect(),
        Dtype::F64 => values.iter().flat_map(|v| v.to_f64().to_le_bytes()).collect(),
    }
}

pub fn to_scalars<T: Scalar>(bytes: &[u8]) -> Vec<T> {
    match T::DTYPE {
        Dtype::F32 => {
            bytes.chunks(4).map(|b| T::from_f64(f32::from_le_bytes(b.try_into().unwrap()).into())).collect()
        }
        Dtype::F64 => {
            bytes.chunks(8).map(|b| T::from_f64(f64::from_le_bytes(b.try_into().unwrap()))).collect()
        }
    }
}

pub fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub fn offsets(values: &[u64], offset_bytes: u64) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()[..offset_bytes as usize].to_vec()).collect()
}

/// A matrix with rows of these lengths, columns and values scattered.
pub fn matrix<T: Scalar>(lengths: &[usize]) -> Csr<T> {
    let ncols = lengths.iter().copied().max().unwrap_or(0).max(1) + 7;
    let mut row_ptr = vec![0];
    let (mut col_idx, mut values) = (Vec::new(), Vec::new());
    for (row, &length) in lengths.iter().enumerate() {
        // Every column between the first and the last at most once, increasing.
        let first = (row * 31) % (ncols - length + 1);
        col_idx.extend((first..first + length).map(|col| col as u32));
        values.extend((0..length).map(|k| T::from_f64(((row * 37 + k * 11) % 101) as f64 / 50.0 - 0.99)));
        row_ptr.push(col_idx.len() as u64);
    }
    Csr::try_new(lengths.len(), ncols, row_ptr, col_idx, values).unwrap()
}

/// Row lengths that break kernels which are nearly right.
pub fn awkward() -> Vec<(&'static str, Vec<usize>)> {
    let mixed = |n: usize| (0..n).map(|i| (i * i + 3 * i) % 5).collect::<Vec<_>>();
    let run = 32 * Kernel::Coo.coo_items().unwrap() as usize;
    vec![
        ("no rows", vec![]),
        ("one empty row", vec![0]),
        ("one entry", vec![1]),
        ("nothing but empty rows", vec![0; 100]),
        ("31 rows", mixed(31)),
        ("32 rows", mixed(32)),
        ("33 rows", mixed(33)),
        ("65 rows", mixed(65)),
        ("1,000 rows", mixed(1000)),
        ("one entry in each of 300 rows", vec![1; 300]),
        (
            "empty rows first, last and between",
            [vec![0; 40], vec![3; 50], vec![0; 70], vec![2; 9], vec![0; 33]].concat(),
        ),
        ("a row of a run", vec![run]),
        ("rows of a run", vec![run; 5]),
        ("rows of half a run", vec![run / 2; 9]),
        ("a row that ends one before the run, one that ends one behind", vec![run - 1, 1, run + 1, run - 1]),
        ("a row over many runs between short ones", vec![2, 5, 7 * run + 3, 1, 0, 4]),
        ("long rows that start within a step", vec![5, 2 * run, 5, 3 * run, 1, run, 31, 33]),
        ("rows of 32 and 33", [vec![32; 10], vec![33; 10]].concat()),
        ("33 entries", vec![0, 33, 0]),
        ("dense", vec![300; 40]),
        // Diagonals that end within a warp, slices of one width and of many, more rows than the largest slice.
        ("every length up to 40", (0..1100).map(|i| (i * 17) % 41).collect()),
        ("one row longer by one", (0..600).map(|i| if i == 333 { 9 } else { 8 }).collect()),
        (
            "HYB with both parts",
            [vec![3; 4096], vec![1; 500], vec![50; 20], vec![0; 100], vec![400; 2]].concat(),
        ),
        // Long rows: over many tiles and segments, alone, beside each other, with borders at every place in a tile.
        ("a giant row alone", vec![9_011]),
        ("giant rows side by side and short ones between", vec![4_100, 5, 6_200, 4_097, 0, 0, 4_095, 1]),
        ("rows around a tile", vec![255, 256, 257, 258, 511, 512, 513, 3, 0, 1023, 1025, 2047, 2049, 2]),
        ("borders of tiles at every place", (0..30).flat_map(|i| [i % 7, 250 + 9 * i]).collect()),
        (
            "a row far longer than its neighbours",
            (0..200).map(|i| if i % 60 == 57 { 190 } else { 2 }).collect(),
        ),
        ("nothing but empty rows between two long ones", [vec![2_300], vec![0; 900], vec![2_300]].concat()),
    ]
}

/// Differences of up to 17 bits, of another width in every column of a slice; the last slice is not full.
pub fn wide_differences<T: Scalar>() -> Csr<T> {
    let mut col_idx = Vec::new();
    let mut row_ptr = vec![0];
    for row in 0..700_u64 {
        let steps = (0..row % 23).map(|k| 1 + mix(64 * row + k) % (1 << (3 + 5 * k % 14)));
        let cols = steps.scan(mix(row) % 1000, |col, step| {
            *col += step;
            Some(*col as u32)
        });
        col_idx.extend(cols);
        row_ptr.push(col_idx.len() as u64);
    }
    let ncols = 1 + *col_idx.iter().max().unwrap() as usize;
    let values = (0..col_idx.len()).map(|k| T::from_f64((k % 101) as f64 / 50.0 - 0.99)).collect();
    Csr::try_new(700, ncols, row_ptr, col_idx, values).unwrap()
}
