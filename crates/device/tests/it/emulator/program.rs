//! A CUDA source compiled as C++ and run by a CPU that plays a GPU warp by warp.

use sparsight_kernels::KernelSource;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A program that runs the entry points of one source.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
}

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Arg {
    Number(u64),
    /// Position in the list of arrays, and bytes from the array's beginning.
    Array(usize, u64),
}

#[derive(Debug)]
pub struct Launch {
    pub kernel: usize,
    pub grid: u32,
    pub block: u32,
    /// Takes blocks and warps in the opposite order, which a right kernel survives.
    pub backwards: bool,
    pub args: Vec<Arg>,
}

/// Tells files of one test program, and of one process, from those of others.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn unique(folder: &Path, what: &str) -> PathBuf {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    folder.join(format!("{what}-{}-{number}", std::process::id()))
}

/// Folder of the emulator's text.
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/emulator");

/// True if the text is there.
pub(super) fn is_here() -> bool {
    Path::new(HERE).join("main.cpp").is_file()
}

impl Program {
    /// Compiled for warps of 32 threads as CUDA, for waves of 64 as HIP, unless an earlier run has done that.
    ///
    /// # Errors
    /// What the compiler says.
    pub fn compile(source: &KernelSource, wave: u32) -> Result<Self, String> {
        let mut source = if wave == 64 { source.clone().for_hip() } else { source.clone() };
        source.definitions.push(format!("WAVE={wave}"));
        let here = Path::new(HERE);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulated");
        fs::create_dir_all(&folder).unwrap();
        let mut calls = String::new();
        for (number, entry) in source.entry_points.iter().enumerate() {
            let starts = [format!("\n{entry}("), format!(" {entry}(")];
            let start = starts.iter().find_map(|start| source.text.find(start)).expect("the kernel is there");
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
        let machine = ["warp.hpp", "main.cpp"].map(|file| fs::read(here.join(file)).unwrap());
        let mut hasher = DefaultHasher::new();
        (&text, &source.definitions, machine).hash(&mut hasher);
        let path = folder.join(format!("{:016x}", hasher.finish()));
        if path.is_file() {
            return Ok(Self { path });
        }
        // Finished beside its place, so that another test never runs half of it.
        let unfinished = unique(&folder, "unfinished");
        let file = unfinished.with_extension("cpp");
        fs::write(&file, text).unwrap();
        let output = Command::new("g++")
            // Some systems fortify by default, and their longjmp refuses to change to another stack.
            .args(["-U_FORTIFY_SOURCE", "-std=c++17", "-O1", "-w", "-I/", "-o"])
            .args([&unfinished, &file])
            .args(source.definitions.iter().map(|definition| format!("-D{definition}")))
            .output()
            .unwrap();
        fs::remove_file(&file).unwrap();
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        fs::rename(&unfinished, &path).unwrap();
        Ok(Self { path })
    }

    /// Runs the launches and gives the arrays back.
    ///
    /// # Errors
    /// What the emulated GPU has to complain of.
    pub fn run(&self, arrays: &[&[u8]], launches: &[Launch]) -> Result<Vec<Vec<u8>>, String> {
        let mut bytes = Vec::new();
        let mut number = |value: u64| bytes.extend(value.to_le_bytes());
        number(arrays.len() as u64);
        for array in arrays {
            bytes.extend((array.len() as u64).to_le_bytes());
            bytes.extend(*array);
        }
        let mut number = |value: u64| bytes.extend(value.to_le_bytes());
        number(launches.len() as u64);
        for launch in launches {
            let head =
                [launch.kernel as u64, launch.grid.into(), launch.block.into(), launch.backwards.into()];
            head.into_iter().for_each(&mut number);
            number(launch.args.len() as u64);
            for arg in &launch.args {
                match *arg {
                    Arg::Number(value) => [0, value, 0].into_iter().for_each(&mut number),
                    Arg::Array(at, offset) => [1, at as u64, offset].into_iter().for_each(&mut number),
                }
            }
        }
        let folder = self.path.parent().unwrap();
        let (input, output) = (unique(folder, "in"), unique(folder, "out"));
        fs::write(&input, &bytes).unwrap();
        let run = Command::new(&self.path).args([&input, &output]).output().unwrap();
        fs::remove_file(&input).unwrap();
        if !run.status.success() {
            return Err(format!("{}: {}", run.status, String::from_utf8_lossy(&run.stderr)));
        }
        let result = fs::read(&output).unwrap();
        fs::remove_file(&output).unwrap();
        let mut rest = result.as_slice();
        let back = arrays.iter().map(|array| {
            let (data, tail) = rest[8..].split_at(array.len());
            rest = tail;
            data.to_vec()
        });
        Ok(back.collect())
    }
}
