//! `advise --gpus`: on how many GPUs, and what limits there.

use super::Advise;
use crate::context::{Context, with_scalar};
use crate::device_choice::LinkedGpus;
use crate::failure::{Exit, Failure};
use crate::links;
use crate::matrix_source::MatrixSource;
use crate::table::{Columns, cell_or};
use crate::text::{BOLD, assumed, between, described, heading, percent, title};
use sparsight::answer::{
    AdviseGpusAnswer, LinksAnswer, MatrixSummary, MeasuredOutcome, NumbersOfGpus, OnGpus, TooFewGpus,
};
use sparsight::bench::Bench;
use sparsight::device::DeviceError;
use sparsight::device::timing::{StoppingRule, Timing};
use sparsight::distributed::{Deal, measure_distributed, numbers_of_gpus};
use sparsight::kernels::Execution;
use sparsight::matrix::io::open_regular;
use sparsight::matrix::{Csr, Distribution, Features, Scalar};
use sparsight::profile::KnownLinks;
use sparsight::records::Outcome;
use sparsight::run::run_partition;
use sparsight::{Advisor, Error, Profile};
use std::borrow::Cow;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Flags about several GPUs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Several GPUs")]
pub(super) struct GpusFlags {
    /// Predict for N GPUs of the device's kind: time, limit, exchanged data, memory; with --verify also measure on the
    /// GPUs here
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = links::number)]
    gpus: Vec<usize>,
    /// Owner of each row: a file with the number of a part a line, as METIS and other graph partitioners write it, or metis,
    /// if the program was built with it [default: rows in order, with equal predicted times]
    #[arg(long, value_name = "FILE|metis", requires = "gpus")]
    parts: Option<PathBuf>,
    /// Find the size from which N GPUs are faster than one: the parameter of a recipe of the gallery to vary, such as n of stencil3d
    #[arg(long, value_name = "PARAMETER", requires = "gpus", conflicts_with = "verify")]
    break_even: Option<String>,
    /// Links between the GPUs: a links.json or a TOML file (docs/gpus.md) [default: those of the profile]
    #[arg(long, value_name = "FILE", requires = "gpus")]
    links: Option<PathBuf>,
}

impl GpusFlags {
    pub(super) fn asked(&self) -> bool {
        !self.gpus.is_empty()
    }

    pub(super) fn counts(&self) -> &[usize] {
        &self.gpus
    }

    /// Name in answers.
    pub(super) fn dealt(&self) -> String {
        self.parts.as_ref().map_or("in order".to_owned(), |file| file.display().to_string())
    }

    /// The way to distribute a matrix of that many rows and columns, or without a size matrices of any size.
    pub(super) fn way(&self, size: Option<(usize, usize)>) -> Result<Way, Failure> {
        match (&self.parts, size) {
            (None, _) => Ok(Way::Dealt(Deal::InOrder)),
            (Some(parts), _) if parts.as_os_str() == METIS => Ok(Way::ByMetis),
            (Some(file), Some(size)) => Ok(Way::Dealt(Deal::Given(parts(file, size)?))),
            (Some(_), None) => {
                Err(Failure::input("--break-even varies the size, and a file of parts is for one size"))
            }
        }
    }
}

impl Advise {
    pub(super) fn run_gpus(
        &self,
        source: &MatrixSource,
        profile: &Profile,
        context: &Context,
    ) -> Result<Exit, Failure> {
        let unwanted = [
            (self.report.is_some(), "--report"),
            (self.csv.csv, "--csv"),
            (self.verify_all, "--verify-all"),
            (self.values.asked(), "--values"),
            (self.iterations.is_some(), "--iterations"),
            (self.from.is_some(), "--from"),
            (self.gpus.break_even.is_some() && self.order.reorder.is_some(), "--reorder of --break-even"),
        ];
        if let Some((_, flag)) = unwanted.iter().find(|(is_given, _)| *is_given) {
            return Err(Failure::input(format!("{flag} cannot be used with --gpus")));
        }
        if !profile.device.facts.kind.is_gpu() {
            return Err(Failure::input(format!(
                "--gpus is for GPUs, and the profile is of {}",
                described(&profile.device.facts)
            )));
        }
        let (known, links) = links::find(self.gpus.links.as_deref(), profile)?;
        if let Some(parameter) = &self.gpus.break_even {
            return self.run_break_even(parameter, source, profile, (known, links), context);
        }
        let found = with_scalar!(context.dtype(), T => self.on_gpus::<T>(source, profile, &known, context));
        let (summary, all) = found?;
        let failed =
            all.iter().flatten().any(|on| matches!(on.measured, Some(MeasuredOutcome::Failed { .. })));
        let dealt = self.gpus.dealt();
        let answer = AdviseGpusAnswer::of(summary, profile, context.dtype(), dealt, links, all)?;
        context.printer.answer(&answer, || print(&answer, profile, known.measured_on, context))?;
        Ok(if failed { Exit::No } else { Exit::Done })
    }

    /// Predictions for each number of GPUs.
    fn on_gpus<T: Scalar>(
        &self,
        source: &MatrixSource,
        profile: &Profile,
        known: &KnownLinks,
        context: &Context,
    ) -> Result<(MatrixSummary, Vec<Result<OnGpus, TooFewGpus>>), Failure> {
        let source = &self.order.of(source.clone());
        let matrix: Csr<T> = if self.verify { source.load(context)? } else { source.load_places(context)? };
        let mut counts = numbers_of_gpus(&self.gpus.gpus)?;
        let deal = self.gpus.way(Some((matrix.nrows(), matrix.ncols())))?;
        if let (Way::Dealt(Deal::Given(given)), Some(file)) = (&deal, &self.gpus.parts) {
            let parts = given.parts();
            if let Some(other) = counts.iter().find(|&&count| count != 1 && count != parts) {
                return Err(Failure::input(format!(
                    "{} deals out {parts} parts, and --gpus asks for {other}",
                    file.display()
                )));
            }
            counts.retain(|&count| count == 1 || count == parts);
        }
        let most = counts.iter().copied().max().unwrap_or(1);
        let here = if self.verify { Some(LinkedGpus::of(profile, most)?) } else { None };
        let objective = self.model.objective(None);
        let features = Features::of(&matrix);
        let advisor = Advisor::new(profile);
        let advice = advisor.advise(&features, T::DTYPE, &objective)?;
        let numbers = NumbersOfGpus { matrix: &matrix, advisor, advice: &advice, objective: &objective };
        let bar = context.printer.progress(counts.len() as u64, "dealing out");
        let mut all = Vec::new();
        for (done, &count) in counts.iter().enumerate() {
            bar.at(done as u64, format!("on {count}"));
            context.interrupt.check()?;
            all.push(on(&matrix, &numbers, (&deal, known), count, here.as_ref(), context)?);
        }
        Ok((MatrixSummary::of(source.title(), &features), all))
    }
}

/// Names METIS in place of a file.
const METIS: &str = "metis";

/// Distribution of rows over any number of GPUs.
#[derive(Debug)]
pub(super) enum Way {
    Dealt(Deal),
    /// Recomputed for each number of GPUs.
    ByMetis,
}

impl Way {
    pub(super) fn to<T: Scalar>(&self, a: &Csr<T>, gpus: usize) -> Result<Cow<'_, Deal>, Failure> {
        match self {
            Self::Dealt(deal) => Ok(Cow::Borrowed(deal)),
            Self::ByMetis => Ok(Cow::Owned(Deal::Given(by_metis(a, gpus)?))),
        }
    }
}

#[cfg(feature = "metis")]
fn by_metis<T: Scalar>(a: &Csr<T>, gpus: usize) -> Result<Distribution, Failure> {
    Ok(Distribution::by_metis(a, gpus).map_err(Error::from)?)
}

#[cfg(not(feature = "metis"))]
fn by_metis<T: Scalar>(_: &Csr<T>, _: usize) -> Result<Distribution, Failure> {
    Err(Failure::input("this program was built without METIS").hinted(
        "`cargo install sparsight-cli --features metis` builds it with it; or let `gpmetis` write a file, and give that",
    ))
}

/// Prediction for `count` GPUs.
fn on<T: Scalar>(
    a: &Csr<T>,
    numbers: &NumbersOfGpus<'_, T>,
    (way, known): (&Way, &KnownLinks),
    count: usize,
    here: Option<&LinkedGpus>,
    context: &Context,
) -> Result<Result<OnGpus, TooFewGpus>, Failure> {
    if count == 1 {
        let alone = numbers.on_one();
        let gpu = here.and_then(|here| here.devices().into_iter().next());
        let (Ok(on), Some(gpu), Some(best)) = (&alone, gpu, numbers.best_on_one()) else { return Ok(alone) };
        let measured = || -> Result<_, Error> {
            let how = Bench { rule: RULE, seed: context.seed, ..Bench::default() };
            let all = [(0..a.nrows(), best.candidate)];
            Ok(run_partition(&gpu, a, &all, Execution::Sequential, &how)?.timing)
        };
        return Ok(Ok(on.clone().with_measured(&outcome(measured())?)));
    }
    let deal = way.to(a, count)?;
    let (planned, distributed) = match numbers.on(count, &deal, known)? {
        Ok(planned) => planned,
        Err(few) => return Ok(Err(few)),
    };
    let Some(here) = here else { return Ok(Ok(planned)) };
    let measured = || -> Result<_, Error> {
        let mut product =
            distributed.prepare((a.nrows(), a.ncols()), &here.devices()[..count], here.link(count)?)?;
        measure_distributed(&mut product, a, context.seed, &StoppingRule::ACROSS_GPUS)
    };
    Ok(Ok(planned.with_measured(&outcome(measured())?)))
}

/// Rule on one GPU, on its own clock.
const RULE: StoppingRule = StoppingRule::BRISK;

/// A failure concerns this number of GPUs alone, unless the user interrupts.
fn outcome(measured: Result<Timing, Error>) -> Result<Outcome, Failure> {
    match measured {
        Ok(timing) => Ok(Outcome::time(&timing)),
        Err(error @ Error::Device(DeviceError::Interrupted)) => Err(error.into()),
        Err(error) => Ok(Outcome::Failed { failed: error.to_string() }),
    }
}

/// Bytes of a line of a file of parts: a number with room around it. Chosen.
const LONGEST_LINE: u64 = 64;

fn parts(file: &Path, size: (usize, usize)) -> Result<Distribution, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::input(format!("{}: {error}", file.display()))
            .hinted("a file for --parts has a line a row, each with the number of a part, from 0 on")
    };
    let open = open_regular(file).map_err(|error| failed(&error))?;
    // However long a line pretends to be.
    let open = open.take(LONGEST_LINE * (size.0 as u64 + 1));
    Distribution::read_parts(size, BufReader::new(open)).map_err(|error| failed(&error))
}

fn print(
    answer: &AdviseGpusAnswer,
    profile: &Profile,
    measured_on: usize,
    context: &Context,
) -> Result<(), Failure> {
    let out = &context.printer;
    out.line(title(&answer.matrix))?;
    let LinksAnswer { source, links } = &answer.links;
    out.line(format_args!(
        "{}   links of {source}, rows {}{}\n",
        heading(profile, answer.dtype),
        dealt(&answer.deal),
        assumed(&profile.device)
    ))?;
    out.line(format_args!("{BOLD}{}{BOLD:#}\n", verdict(answer)))?;
    let measured = |on: &OnGpus| match &on.measured {
        Some(MeasuredOutcome::Time { measured_s, .. }) => {
            [measured_s.to_string(), format!("{:.2}", measured_s.0 / on.predicted_s.0)]
        }
        Some(MeasuredOutcome::Failed { failed }) => [failed.clone(), String::new()],
        _ => [const { String::new() }; 2],
    };
    let columns = Columns::of(&answer.gpus).with([
        ("GPUs", &|on| format!("{}{}", on.count, if on.extrapolated { " *" } else { "" })),
        ("predicted", &|on| on.predicted_s.to_string()),
        ("90 % between", &|on| between(on.low_s, on.high_s)),
        ("x one GPU", &|on| cell_or("", on.speedup.map(|speedup| format!("{speedup:.2}")))),
        ("efficiency", &|on| cell_or("", on.efficiency.map(percent))),
        ("<limit", &|on| cell_or("", on.limit)),
        ("exchanged", &|on| on.exchanged_bytes.to_string()),
        ("most of one", &|on| on.most_exchanged_bytes.to_string()),
        ("memory a GPU", &|on| on.memory_bytes.to_string()),
    ]);
    let was_measured = answer.gpus.iter().any(|on| on.measured.is_some());
    let columns = columns.with_if(
        was_measured,
        [
            ("measured", &|on| measured(on)[0].clone()),
            ("measured / predicted", &|on| measured(on)[1].clone()),
        ],
    );
    out.line(columns.table())?;
    for few in &answer.too_few {
        out.line(format_args!("\n  does not fit on {}: {}", few.counted(), few.why))?;
    }
    let known = match measured_on {
        0 | 1 => "the links are stated, not measured".to_owned(),
        count => format!("the links were measured with {count} GPUs"),
    };
    if answer.gpus.iter().any(|on| on.extrapolated) {
        out.line(format_args!("\n  * extrapolated: {known}"))?;
    }
    let host = links.host;
    out.line(format_args!(
        "\n  an exchange on a host takes {} and {:.0} GB/s; rows that need nothing of it are computed meanwhile",
        host.latency_s,
        host.bytes_per_s / 1e9
    ))
}

fn dealt(deal: &str) -> String {
    if deal == "in order" { deal.to_owned() } else { format!("dealt out by {deal}") }
}

/// The recommendation, and the number that is faster still if there is one.
fn verdict(answer: &AdviseGpusAnswer) -> String {
    let named = recommendation(answer);
    let is_other = |on: &&OnGpus| on.count == answer.fastest && on.count != answer.best;
    let Some(on) = answer.gpus.iter().find(is_other) else { return named };
    let used = on.efficiency.map_or_else(String::new, |used| format!(", {} used", percent(used)));
    format!("{named} {} GPUs are the fastest: {}{used}.", on.count, on.predicted_s)
}

fn recommendation(answer: &AdviseGpusAnswer) -> String {
    let of = |count: usize| answer.gpus.iter().find(|on| on.count == count);
    if let Some(best) = of(answer.best).filter(|best| best.count > 1) {
        let time = best.predicted_s;
        return match best.speedup {
            Some(speedup) => {
                format!("Use {} GPUs: {time} a product, {speedup:.2} times as fast as one.", best.count)
            }
            None => format!("Use {} GPUs: {time} a product; it does not fit on one GPU.", best.count),
        };
    }
    let one = of(1).map_or_else(String::new, |one| one.predicted_s.to_string());
    let others = answer.gpus.iter().filter(|on| on.count > 1);
    let nearest = others.min_by(|a, b| a.predicted_s.0.total_cmp(&b.predicted_s.0));
    match nearest {
        Some(on) => format!(
            "Stay on one GPU: {one} a product; {} GPUs would take {}, limited by {}.",
            on.count,
            on.predicted_s,
            on.limit.unwrap_or("nothing")
        ),
        None => format!("One GPU: {one} a product."),
    }
}
