//! Links between GPUs: where what is known of them stands, and how it is measured.

use crate::context::Context;
use crate::device_choice::LinkedGpus;
use crate::failure::{Exit, Failure};
use crate::table::Table;
use sparsight::Profile;
use sparsight::answer::LinksAnswer;
use sparsight::device::timing::StoppingRule;
use sparsight::distributed::{MOST_GPUS, measure_links};
use sparsight::matrix::Bytes;
use sparsight::profile::{KnownLinks, ProfileFolder};
use sparsight_lab::answer::ProfileLinksAnswer;
use std::path::Path;

/// Links of a file, else of the profile, with their name in answers.
pub(crate) fn find(file: Option<&Path>, profile: &Profile) -> Result<(KnownLinks, LinksAnswer), Failure> {
    let (known, source) = if let Some(file) = file {
        (KnownLinks::read(file)?, file.display().to_string())
    } else {
        let known = profile.links()?.ok_or_else(|| {
            let text = format!("the profile {} holds no links between GPUs", profile.name);
            Failure::input(text).hinted(
                "`sparsight lab profile --links -o DIR` measures them where two GPUs are; `--links FILE` names a links.json or a TOML \
                 file (docs/gpus.md)",
            )
        })?;
        (known, profile.name.clone())
    };
    Ok((known, LinksAnswer { source, links: known.links }))
}

/// Reads a number of GPUs.
pub(crate) fn number(text: &str) -> Result<usize, String> {
    let count = text.trim().parse().ok().filter(|count| (1..=MOST_GPUS).contains(count));
    count.ok_or_else(|| format!("'{text}' is not a number of GPUs from 1 to {MOST_GPUS}"))
}

/// `sparsight lab profile --links`: measures those of the GPUs here and adds them to a profile's folder.
pub(crate) fn measure(output: &Path, context: &Context) -> Result<Exit, Failure> {
    let count = LinkedGpus::here()?;
    if count < 2 {
        return Err(Failure::device(format!("links need at least two GPUs, but this machine has {count}"))
            .hinted("`--links FILE` of advise takes links that were measured elsewhere, or a TOML file (docs/gpus.md)"));
    }
    let folder = ProfileFolder::create(output)?;
    let gpus = LinkedGpus::open(count)?;
    context.interrupt.listen();
    let sizes = if count > 2 { 16 } else { 8 };
    let bar = context.printer.progress(sizes, "exchanging");
    let mut done = 0;
    let measured = measure_links(
        &gpus.devices(),
        &LinkedGpus::library()?,
        |count| gpus.link(count),
        &StoppingRule::ACROSS_GPUS,
        |one| {
            done += 1;
            bar.at(done, format!("{} on {} GPUs", Bytes(one.bytes), one.gpus));
            Ok(())
        },
    )?;
    drop(bar);
    folder.write_links(&measured)?;
    let answer = ProfileLinksAnswer::of(output, &measured);
    context.printer.answer(&answer, || {
        let out = &context.printer;
        out.line(format_args!("{} GPUs: {}, NCCL {}\n", count, measured.gpus.join(", "), measured.nccl))?;
        let mut table = Table::new(&["GPUs", "bytes", "measured", "as the line says"]);
        for one in &measured.measured {
            let said = measured.links.host.time(one.gpus - 1, one.bytes);
            let bytes = Bytes(one.bytes).to_string();
            table.row([one.gpus.to_string(), bytes, one.time_s.to_string(), said.to_string()]);
        }
        out.line(table)?;
        let host = measured.links.host;
        out.line(format_args!(
            "\nAn exchange takes {} and {:.1} GB/s in each direction, waiting for one that has ended {}, queueing a product {}; kept \
             in {}.",
            host.latency_s,
            host.bytes_per_s / 1e9,
            measured.links.join_s,
            measured.links.queue_s,
            output.join("links.json").display()
        ))
    })
}
