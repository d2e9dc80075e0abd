//! `sparsight devices`: what is here.

use crate::context::Context;
use crate::cpu_profile;
use crate::device_choice::{DeviceName, OpenDevice, described, dotted, shipped_for_gpu};
use crate::failure::{Exit, Failure};
use crate::json::{DeviceJson, Document};
use crate::printer::BOLD;
use crate::table::Table;
use serde::Serialize;
use sparsight::Profile;
use sparsight::device::DeviceError;
use sparsight::device::cuda::{Cuda, cusparse_version};
use sparsight::kernels::DeviceFacts;

#[derive(Serialize)]
struct DevicesJson {
    here: Vec<HereJson>,
    /// Why there is no CUDA device, if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_cuda: Option<NoCudaJson>,
    /// Version of the vendor's library, where there is a CUDA device to run it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cusparse: Option<String>,
    profiles: Vec<DeviceJson>,
}

#[derive(Serialize)]
struct HereJson {
    id: String,
    #[serde(flatten)]
    facts: DeviceFacts,
    /// Profile that `--device` finds for it.
    profile: Option<String>,
    /// Of a GPU, multiprocessors that a part of it can have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<u32>,
    /// The same in words.
    #[serde(skip)]
    parts_in_words: Option<String>,
}

#[derive(Serialize)]
struct NoCudaJson {
    why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(crate) fn run(context: &Context) -> Result<Exit, Failure> {
    let cpu = OpenDevice::open(&DeviceName::Cpu)?.facts().clone();
    let cached = cpu_profile::folder_of(&cpu).ok().filter(|folder| Profile::load(folder).is_ok());
    let mut here = vec![HereJson {
        id: DeviceName::Cpu.to_string(),
        facts: cpu,
        profile: cached.map(|folder| folder.display().to_string()),
        parts: Vec::new(),
        parts_in_words: None,
    }];
    let cuda = Cuda::count().and_then(|count| (0..count).map(Cuda::open).collect::<Result<Vec<_>, _>>());
    let no_cuda = match cuda {
        Ok(devices) => {
            let none = devices
                .is_empty()
                .then(|| NoCudaJson { why: "the driver sees no device".to_owned(), hint: None });
            here.extend(devices.iter().enumerate().map(|(index, cuda)| {
                let parts = Cuda::parts(index);
                let words = parts.as_ref().map_or_else(|why| format!("none ({why})"), ToString::to_string);
                HereJson {
                    id: DeviceName::Cuda(index).to_string(),
                    facts: cuda.facts().clone(),
                    profile: shipped_for_gpu(&cuda.facts().name).map(|profile| profile.name),
                    parts: parts.map_or_else(|_| Vec::new(), |sizes| sizes.as_slice().to_vec()),
                    parts_in_words: Some(words),
                }
            }));
            none
        }
        Err(error) => Some(NoCudaJson { why: error.to_string(), hint: error.hint().map(ToOwned::to_owned) }),
    };
    let cusparse = no_cuda.is_none().then(cusparse_version);
    let profiles: Vec<Profile> = Profile::shipped_names().map(Profile::shipped).collect::<Result<_, _>>()?;
    if context.printer.is_json() {
        let profiles = profiles.iter().map(DeviceJson::profiled).collect();
        let cusparse = cusparse.and_then(Result::ok).map(dotted);
        let body = DevicesJson { here, no_cuda, cusparse, profiles };
        context.printer.object(&Document::new("sparsight/devices/1", body))?;
    } else {
        print(&here, no_cuda.as_ref(), cusparse, &profiles, context)?;
    }
    Ok(Exit::Done)
}

fn print(
    here: &[HereJson],
    no_cuda: Option<&NoCudaJson>,
    cusparse: Option<Result<(u32, u32, u32), DeviceError>>,
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
    for HereJson { id, parts_in_words, .. } in here {
        if let Some(sizes) = parts_in_words {
            out.line(format_args!("  parts of {id}: {id}/smM with M multiprocessors, {sizes}"))?;
        }
    }
    if let Some(NoCudaJson { why, hint }) = no_cuda {
        out.line(format_args!("  cuda: {why}"))?;
        if let Some(hint) = hint {
            out.line(format_args!("        {hint}"))?;
        }
    }
    match cusparse {
        None => {}
        Some(Ok(version)) => out.line(format_args!("  cuSPARSE {}", dotted(version)))?,
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
