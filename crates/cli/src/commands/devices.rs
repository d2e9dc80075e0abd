//! `sparsight devices`: what is here.

use crate::context::Context;
use crate::device_choice::{DeviceName, GpuHere, OpenDevice, gpus_here, vendors_library};
use crate::failure::{Exit, Failure};
use crate::table::Table;
use crate::text::{BOLD, described};
use sparsight::Profile;
use sparsight::answer::{DeviceHere, DeviceSummary, DevicesAnswer, NoCuda};
use sparsight::calibrate::cpu_calibration_folder;
use sparsight::device::DeviceError;
use sparsight::matrix::Bytes;

pub(crate) fn run(context: &Context) -> Result<Exit, Failure> {
    let cpu = OpenDevice::open(&DeviceName::Cpu)?.facts().clone();
    let cached = cpu_calibration_folder(&cpu).filter(|folder| Profile::load(folder).is_ok());
    let mut here = vec![DeviceHere {
        id: DeviceName::Cpu.to_string(),
        facts: cpu,
        profile: cached.map(|folder| folder.display().to_string()),
        parts: Vec::new(),
    }];
    let mut remarks = Vec::new();
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
    }
    let library = no_cuda.is_none().then(vendors_library);
    let profiles: Vec<Profile> = Profile::shipped_names().map(Profile::shipped).collect::<Result<_, _>>()?;
    let answer = DevicesAnswer {
        here,
        no_cuda,
        cusparse: library.as_ref().and_then(|found| found.as_ref().ok()).cloned(),
        profiles: profiles.iter().map(DeviceSummary::from).collect(),
    };
    context.printer.answer(&answer, || print(&answer, &remarks, library.as_ref(), &profiles, context))
}

/// The answer, with remarks on the devices here.
fn print(
    DevicesAnswer { here, no_cuda, .. }: &DevicesAnswer,
    remarks: &[String],
    library: Option<&Result<String, DeviceError>>,
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
    match library {
        None => {}
        Some(Ok(version)) => out.line(format_args!("  cuSPARSE {version}"))?,
        Some(Err(error)) => {
            out.line(format_args!("  {error}"))?;
            if let Some(hint) = error.hint() {
                out.line(format_args!("        {hint}"))?;
            }
        }
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
