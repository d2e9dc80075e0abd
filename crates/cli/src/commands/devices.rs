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
            profile: Profile::shipped_for_gpu(&facts.name).map(|profile| profile.name),
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
    let mut table = Table::new(&["<id", "<device", "memory", "cache", "<driver", "~profile"]);
    for device in here {
        let facts = &device.facts;
        table.row([
            device.id.clone(),
            described(facts),
            facts.memory_bytes.to_string(),
            facts.l2_bytes.to_string(),
            facts.driver.clone(),
            device.profile.clone().unwrap_or_else(|| "none yet".to_owned()),
        ]);
    }
    out.line(table)?;
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
    let mut table = Table::new(&["<name", "<device", "memory", "cache", "copies", "launch", "<measured"]);
    for profile in profiles {
        let facts = &profile.device.facts;
        table.row([
            profile.name.clone(),
            described(facts),
            facts.memory_bytes.to_string(),
            facts.l2_bytes.to_string(),
            format!("{}/s", sparsight::matrix::Bytes(facts.copy_bytes_per_s as u64)),
            facts.launch_s.to_string(),
            profile.device.provenance.date.clone(),
        ]);
    }
    out.line(table)
}
