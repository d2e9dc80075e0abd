//! `sparsight devices`: what is here, and with `--report` whether it computes what it should.

use crate::context::Context;
use crate::device_choice::{GpuHere, LinkedGpus, gpus_here, hip_gpus_here, nvrtc, vendors_library};
use crate::failure::{Exit, Failure};
use crate::table::Table;
use crate::text::{BOLD, described};
use sparsight::Profile;
use sparsight::answer::{DeviceHere, DeviceSummary, DevicesAnswer, KernelTrial, NoCuda};
use sparsight::calibrate::{CalibrationTarget, OpenDevice, cpu_calibration_folder};
use sparsight::device::{Device, DeviceError, check, random_x};
use sparsight::kernels::{Candidate, Format, Kernel, every_candidate};
use sparsight::matrix::gallery::Recipe;
use sparsight::matrix::{Bytes, Csr, Dtype, Narrowing, Scalar, reference};
use std::collections::BTreeMap;

/// Flags of `devices`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run every kernel on the GPUs here, each product compared with the reference: what to send in from a GPU on which this program
    /// has not run yet (docs/hip.md)
    #[arg(long)]
    report: bool,
    /// Report on these kernels alone, by the beginning of their names: csr-vector, rocsparse
    #[arg(long = "kernel", value_name = "NAME", requires = "report")]
    kernels: Vec<String>,
}

/// Matrices of a report: rows of one length, of many, some that thread blocks share; and blocks of 2, 3 and 6.
const REPORTED: [&str; 4] =
    ["stencil2d,n=60", "power-law,n=3000", "long-rows,n=1000,long=3,length=900", "fem,n=8,unknowns=6"];

impl Args {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let cpu = OpenDevice::open(CalibrationTarget::Processor)?.facts().clone();
        let cached = cpu_calibration_folder(&cpu).filter(|folder| Profile::load(folder).is_ok());
        let mut here = vec![DeviceHere {
            id: CalibrationTarget::Processor.to_string(),
            facts: cpu,
            profile: cached.map(|folder| folder.display().to_string()),
            parts: Vec::new(),
        }];
        let mut remarks = Vec::new();
        let mut names = Vec::new();
        let gpus = gpus_here();
        let no_cuda = match &gpus {
            Ok(gpus) if gpus.is_empty() => {
                Some(NoCuda { why: "the driver sees no device".to_owned(), hint: None })
            }
            Ok(_) => None,
            Err(error) => Some(NoCuda::from(error)),
        };
        for GpuHere { name, facts, parts } in gpus.into_iter().flatten() {
            let sizes = parts.as_ref().map_or_else(|why| format!("none ({why})"), ToString::to_string);
            remarks.push(format!("parts of {name}: {name}/smM with M multiprocessors, {sizes}"));
            here.push(DeviceHere {
                id: name.to_string(),
                profile: Profile::shipped_for_gpu(&facts.name)?.map(|profile| profile.name),
                facts,
                parts: parts.map_or_else(|_| Vec::new(), |sizes| sizes.as_slice().to_vec()),
            });
            names.push(name);
        }
        match hip_gpus_here() {
            Ok(gpus) => {
                for (index, facts) in gpus.into_iter().enumerate() {
                    let name = CalibrationTarget::Hip(index);
                    match facts {
                        Ok(facts) => {
                            let id = name.to_string();
                            here.push(DeviceHere { id, facts, profile: None, parts: Vec::new() });
                            names.push(name);
                        }
                        Err(error) => remarks.push(format!("{name} cannot be used: {error}")),
                    }
                }
            }
            // Who asks for a report wants to know.
            Err(error) if self.report => remarks.push(format!("hip: {error}")),
            Err(_) => {}
        }
        let libraries =
            [("NVRTC", nvrtc()), ("cuSPARSE", vendors_library()), ("NCCL", LinkedGpus::library())];
        let [nvrtc, cusparse, nccl] = libraries.each_ref().map(|(_, found)| found.as_ref().ok().cloned());
        let profiles: Vec<Profile> =
            Profile::shipped_names().map(Profile::shipped).collect::<Result<_, _>>()?;
        let trials = if self.report { trials(&names, &self.kernels)? } else { Vec::new() };
        let answer = DevicesAnswer {
            here,
            no_cuda,
            nvrtc,
            cusparse,
            nccl,
            trials,
            profiles: profiles.iter().map(DeviceSummary::from).collect(),
        };
        context.printer.answer(&answer, || print(&answer, &remarks, &libraries, &profiles, context))?;
        let is_wrong = answer.trials.iter().any(|trial| trial.failure.is_some());
        if self.report && names.is_empty() {
            return Err(Failure::device("there is no GPU here to report on".to_owned()));
        }
        if self.report && answer.trials.is_empty() {
            return Err(Failure::input(format!(
                "--kernel {}: no GPU here runs such a kernel",
                self.kernels.join(" ")
            ))
            .hinted("`sparsight kernels` lists them; without --kernel all are tried"));
        }
        Ok(if is_wrong { Exit::No } else { Exit::Done })
    }
}

/// Trials on these GPUs of every kernel whose name begins with one of `kernels`; of all if that is empty.
fn trials(gpus: &[CalibrationTarget], kernels: &[String]) -> Result<Vec<KernelTrial>, Failure> {
    let mut all = Vec::new();
    for name in gpus {
        let device = OpenDevice::open(*name)?;
        let matrices: Vec<Csr<f64>> = REPORTED
            .iter()
            .map(|recipe| recipe.parse::<Recipe>().expect("a recipe").generate().expect("a small matrix"))
            .collect();
        let mut by_kernel = BTreeMap::new();
        let named = |kernel: Kernel| {
            kernels.is_empty() || kernels.iter().any(|name| kernel.id().starts_with(name.as_str()))
        };
        for a in &matrices {
            try_kernels::<f32>(device.of(), &a.to_dtype(), Dtype::F32, &named, &mut by_kernel);
            try_kernels::<f64>(device.of(), a, Dtype::F64, &named, &mut by_kernel);
            try_kernels::<f64>(device.of(), a, Dtype::Mixed, &named, &mut by_kernel);
        }
        all.extend(by_kernel.into_iter().map(|((kernel, dtype), (right, failure))| KernelTrial {
            id: name.to_string(),
            kernel,
            dtype,
            right,
            failure,
        }));
    }
    Ok(all)
}

/// Products that were right, and the first failure, of each kernel and value type.
type Tried = BTreeMap<(Kernel, Dtype), (usize, Option<String>)>;

/// Runs every kernel that the device has for a value type on one matrix, in its smallest and its largest block size: others would be
/// compiled for minutes. A format that cannot hold it is passed over, and so is a matrix that a vendor's routine does not take.
fn try_kernels<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    dtype: Dtype,
    named: &dyn Fn(Kernel) -> bool,
    tried: &mut Tried,
) {
    let x = random_x::<T>(a.ncols(), 1);
    let expected =
        if dtype == Dtype::Mixed { reference(&Narrowing::rounded(a), &x) } else { reference(a, &x) };
    for format in Format::all() {
        let is_wanted = |c: &Candidate| {
            let blocks = c.kernel.blocks();
            c.format() == format
                && named(c.kernel)
                && (blocks.first() == Some(&c.block) || blocks.last() == Some(&c.block))
                && device.runs(c.kernel).is_ok()
        };
        let mut candidates = every_candidate(dtype).filter(is_wanted).peekable();
        if candidates.peek().is_none() {
            continue;
        }
        let mut operand = match device.operand(a, format, dtype) {
            Ok(operand) => Ok(operand),
            Err(DeviceError::Infeasible(_)) => continue,
            Err(error) => Err(error),
        };
        for candidate in candidates {
            let (right, failure) = tried.entry((candidate.kernel, dtype)).or_default();
            let result = match &mut operand {
                Ok(operand) => {
                    operand.set_x(&x).and_then(|()| check(operand.as_mut(), &candidate, &expected))
                }
                Err(error) => Err(error.clone()),
            };
            match result {
                Ok(_) => *right += 1,
                Err(DeviceError::CannotRun { .. }) => {}
                Err(error) => *failure = failure.take().or_else(|| Some(format!("{candidate}: {error}"))),
            }
        }
    }
}

/// The answer, with remarks on the devices here.
fn print(
    DevicesAnswer { here, no_cuda, trials, .. }: &DevicesAnswer,
    remarks: &[String],
    libraries: &[(&str, Result<String, DeviceError>)],
    profiles: &[Profile],
    context: &Context,
) -> Result<(), Failure> {
    let out = &context.printer;
    out.line(format_args!("{BOLD}Here{BOLD:#}"))?;
    out.line(Table::of(
        here,
        [
            ("<id", &|one| one.id.clone()),
            ("<device", &|one| described(&one.facts)),
            ("memory", &|one| one.facts.memory_bytes.to_string()),
            ("cache", &|one| one.facts.l2_bytes.to_string()),
            ("<driver", &|one| one.facts.driver.clone()),
            ("~profile", &|one| one.profile.clone().unwrap_or_else(|| "none yet".to_owned())),
        ],
    ))?;
    for remark in remarks {
        out.line(format_args!("  {remark}"))?;
    }
    if let Some(NoCuda { why, hint }) = no_cuda {
        out.line(format_args!("  cuda: {why}"))?;
        if let Some(hint) = hint {
            out.line(format_args!("        {hint}"))?;
        }
    }
    let found = libraries.iter().filter_map(|(name, found)| Some(format!("{name} {}", found.as_ref().ok()?)));
    let found: Vec<String> = found.collect();
    if !found.is_empty() {
        out.line(format_args!("  libraries: {}", found.join(", ")))?;
    }
    // What a GPU here lacks. NCCL is for several of them, and is asked for when they are.
    let missing = libraries.iter().filter(|(name, _)| no_cuda.is_none() && *name != "NCCL");
    for error in missing.filter_map(|(_, found)| found.as_ref().err()) {
        out.line(format_args!("  {error}"))?;
        if let Some(hint) = error.hint() {
            out.line(format_args!("        {hint}"))?;
        }
    }
    if !trials.is_empty() {
        out.line("")?;
        out.line(format_args!(
            "{BOLD}Kernels on the GPUs here, version {}{BOLD:#}",
            env!("CARGO_PKG_VERSION")
        ))?;
        out.line(Table::of(
            trials,
            [
                ("<id", &|trial| trial.id.clone()),
                ("<kernel", &|trial| trial.kernel.to_string()),
                ("<values", &|trial| trial.dtype.to_string()),
                ("right", &|trial| trial.right.to_string()),
                ("~failure", &|trial| trial.failure.clone().unwrap_or_else(|| "none".to_owned())),
            ],
        ))?;
    }
    out.line("")?;
    out.line(format_args!("{BOLD}Profiles in the program{BOLD:#}"))?;
    out.line(Table::of(
        profiles.iter().map(|profile| (profile, &profile.device.facts)),
        [
            ("<name", &|(profile, _)| profile.name.clone()),
            ("<device", &|(_, facts)| described(facts)),
            ("memory", &|(_, facts)| facts.memory_bytes.to_string()),
            ("cache", &|(_, facts)| facts.l2_bytes.to_string()),
            ("copies", &|(_, facts)| format!("{}/s", Bytes(facts.copy_bytes_per_s as u64))),
            ("launch", &|(_, facts)| facts.launch_s.to_string()),
            ("<measured", &|(profile, _)| profile.device.provenance.date.clone()),
        ],
    ))
}
