//! A CUDA source compiled as C++ and run by a CPU that plays a GPU warp by warp.

use sparsight_kernels::KernelSource;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
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
        let mut running = self.running();
        let Ok(back) = answer(&mut running, &bytes, arrays) else {
            let ended = running.wait_with_output().unwrap();
            return Err(format!("{}: {}", ended.status, String::from_utf8_lossy(&ended.stderr)));
        };
        let mut waiting = WAITING.lock().unwrap();
        waiting.push((self.path.clone(), running));
        let longest = (waiting.len() > MOST_WAITING).then(|| waiting.remove(0));
        drop(waiting);
        if let Some((_, longest)) = longest {
            // It ends with its stdin.
            longest.wait_with_output().unwrap();
        }
        Ok(back)
    }

    /// Its process that waits for launches, or else a new one.
    fn running(&self) -> Child {
        let mut waiting = WAITING.lock().unwrap();
        if let Some(at) = waiting.iter().rposition(|(path, _)| *path == self.path) {
            return waiting.remove(at).1;
        }
        drop(waiting);
        let mut command = Command::new(&self.path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

/// Processes that wait for launches, with their programs: to begin one takes longer than most products. They end with this process,
/// as their stdin does.
static WAITING: Mutex<Vec<(PathBuf, Child)>> = Mutex::new(Vec::new());
/// Each holds three files, of which some systems allow 1,024, and megabytes of stacks. Chosen: tests cycle through more programs than that
/// hardly anywhere.
const MOST_WAITING: usize = 200;

/// The arrays behind the launches that `bytes` describe.
fn answer(running: &mut Child, bytes: &[u8], arrays: &[&[u8]]) -> io::Result<Vec<Vec<u8>>> {
    running.stdin.as_mut().unwrap().write_all(bytes)?;
    let back = running.stdout.as_mut().unwrap();
    // The number of arrays.
    back.read_exact(&mut [0; 8])?;
    let array = |array: &&[u8]| {
        let mut data = vec![0; 8 + array.len()];
        back.read_exact(&mut data)?;
        Ok(data.split_off(8))
    };
    arrays.iter().map(array).collect()
}
