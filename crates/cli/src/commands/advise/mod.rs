//! `sparsight advise`: which format, kernel and block size will be fastest.

mod break_even;
mod gpus;
mod many;

use crate::args::ModelFlags;
use crate::command_line;
use crate::context::Context;
use crate::csv::{CANDIDATE, CsvFlag, Layout, PREDICTED};
use crate::device_choice::ProfileFlags;
use crate::failure::{Exit, Failure};
use crate::matrix_source::{MatrixSource, matrices};
use crate::noise::Noise;
use crate::printer::BOLD;
use crate::products::products;
use crate::reordering::{Order, OrderFlags};
use crate::report::Page;
use crate::table::Table;
use crate::text::{
    self, AS_GOOD, NOTHING_TO_MULTIPLY, STAY, between, candidate, counted, grouped, heading, of_bandwidth,
    others_as_good, sooner_ready, times_as_fast, words,
};
use crate::values::{ValuesFlag, narrowing, what_it_changes};
use sparsight::answer::{AdviseAnswer, Answer, MatrixSummary, ReorderedAnswer, Structure};
use sparsight::kernels::{Candidate, Kernel};
use sparsight::matrix::{Csr, Dtype, Features, Scalar, Seconds};
use sparsight::model::NextRun;
use sparsight::records::Outcome;
use sparsight::{
    Advice, Advised, Advisor, Bench, ModelName, Nearby, Profile, TIE, Tries, Verdict, Verified, Why, verify,
};
use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

/// Which format, kernel and block size will be fastest, how sure that is, and what it costs to get there
///
/// Nothing is run: the times are predicted from the matrix' structure and a measured profile of the device.
#[derive(Debug, clap::Args)]
#[command(after_long_help = COLUMNS)]
pub(crate) struct Advise {
    #[arg(required = true, help = matrices!("; of several what to use for each"))]
    paths: Vec<String>,
    #[command(flatten)]
    profile: ProfileFlags,
    /// Products y = A x to come: rank by conversion, upload and all of them together
    #[arg(long, value_name = "N", value_parser = products)]
    iterations: Option<NonZeroU64>,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    order: OrderFlags,
    #[command(flatten)]
    values: ValuesFlag,
    #[command(flatten)]
    csv: CsvFlag,
    /// Show every block size of a kernel, and not the best alone
    #[arg(long)]
    all: bool,
    /// Also measure on the device here: the first, the best CSR, the vendor's, and of the others what may gain most by what these took
    /// (with --iterations while a run may be expected to gain more than it costs), then say what to expect of the rest
    #[arg(long)]
    verify: bool,
    /// Also measure all of them
    #[arg(long)]
    verify_all: bool,
    /// Also write a page with pictures of the answer: one HTML file, without scripts (docs/report.md)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    gpus: gpus::GpusFlags,
}

/// What the table says, for whoever has the program alone; docs/start.md has it, too.
const COLUMNS: &str = "\
Columns:
  (first)         place among all candidates; = is as good as the first, within 5 %
  candidate       kernel, its parameters and threads a block (b256); `sparsight kernels` lists
                  them, `sparsight kernels NAME` says what other libraries call them
  predicted       time of one product y = A x
  90 % between    nine of ten measured times lie there
  of bandwidth    what a product cannot avoid moving over its time, as a share of what copies
                  reach; above 1 part of it came from the cache
  convert         conversion from CSR and upload
  pays off after  products after which that is made up for, against the fastest candidate in
                  CSR; 0 products: there is nothing to make up for
  in all          with --iterations: conversion, upload and all products
  measured        with --verify: the time measured here, what it is of the predicted one, and
                  what to expect of the others now
Lines below it:
  less sure       the matrix lies beyond what the models have seen. A strip is what the device
                  works on at one moment with every thread busy; I is the number of strips, p
                  the row length that stands for the matrix
  not possible    a format takes too much memory or padding";

/// A row a candidate, best first; of several matrices the best of each.
const TABLE: Layout = Layout {
    rows: &["candidates"],
    outer: &[
        "device=device.name",
        "profile=device.profile",
        "products",
        "recommended=verdict.recommended",
        "best=verdict.best",
        "best_over_plain_csr=verdict.plain_csr.speedup",
        "best_over_vendors_csr=verdict.vendors_csr.speedup",
    ],
    inner: &[
        &CANDIDATE,
        &PREDICTED,
        &[
            "bytes",
            "memory_bytes",
            "bandwidth_fraction",
            "conversion_s",
            "pays_off_after",
            "in_all_s",
            "measured_s",
            "spread",
            "infeasible",
        ],
    ],
};

/// Matrices that were learned from and are named as the nearest.
const NEAREST: usize = 3;

/// Candidates that `--verify` measures, two of CSR among them. Chosen: four runs found the best but for one percent.
const VERIFIED: NonZeroUsize = NonZeroUsize::new(5).expect("not 0");

impl Advise {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        match context.dtype() {
            Dtype::F32 => self.run_as::<f32>(context),
            Dtype::F64 | Dtype::Mixed => self.run_as::<f64>(context),
        }
    }

    fn run_as<T: Scalar>(&self, context: &Context) -> Result<Exit, Failure> {
        let mut sources = MatrixSource::batch(&self.paths)?;
        let profile = self.profile.resolve(context, T::DTYPE)?;
        if self.gpus.asked() {
            return match sources.as_slice() {
                [one] => self.run_gpus::<T>(one, &profile, context),
                more => Err(Failure::input(format!("--gpus takes one matrix, and here are {}", more.len()))),
            };
        }
        if sources.len() != 1 {
            if self.report.is_some() {
                return Err(Failure::input(format!(
                    "--report takes one matrix, and here are {}",
                    sources.len()
                )));
            }
            return self.run_many::<T>(sources, &profile, context);
        }
        let source = sources.swap_remove(0);
        let device = if self.verify || self.verify_all { Some(self.profile.open(&profile)?) } else { None };
        let mut matrix = self.load::<T>(&source, context)?;
        let ordered = self.order.reorder.map(|order| order.apply(&matrix, &source.title())).transpose()?;
        let mut objective = self.model.objective(self.iterations);
        objective.mixed_precision = self.values.mixed(T::DTYPE, profile.device.facts.kind)?;
        let narrowing = objective.mixed_precision.then(|| narrowing(&matrix));
        objective.mixed_precision &= narrowing.is_none_or(|narrowing| narrowing.too_large == 0);
        let advised = |matrix: &Csr<T>| -> Result<(Features, Advice), Failure> {
            let features = Features::of(matrix);
            let advice = Advisor::new(&profile).advise(&features, T::DTYPE, &objective)?;
            Ok((features, advice))
        };
        let mut of_matrix = advised(&matrix)?;
        let mut reordered = None;
        if let Some((order, (ordered, took))) = self.order.reorder.zip(ordered) {
            matrix = ordered;
            let as_it_is = std::mem::replace(&mut of_matrix, advised(&matrix)?);
            let products = objective.products;
            reordered = Some(ReorderedAnswer::of(
                order.id(),
                took,
                &as_it_is,
                &of_matrix,
                products,
                &profile.device.facts,
            ));
        }
        let (features, advice) = &of_matrix;
        let source = self.order.of(source);
        let verified = match device {
            Some(device) => Some(self.verify(&source, &matrix, features, advice, device.of(), context)?),
            None => None,
        };
        let is_drawn = self.report.is_some() || context.printer.is_json();
        let is_shown = is_drawn || context.printer.shows_details();
        let nearby = if is_shown { profile.nearby(features, NEAREST)? } else { None };
        let structure = is_drawn.then(|| Structure::of(&matrix));
        let matrix = MatrixSummary::of(source.title(), features);
        let answer = AdviseAnswer::of(matrix, &profile, T::DTYPE, &objective, advice)
            .with_verified(verified.as_ref())
            .with_reordered(reordered)
            .with_narrowing(narrowing)
            .with_nearby(nearby.clone())
            .with_structure(structure)
            .with_command(command_line::as_typed(), sparsight::device::today())
            .shortened(context.top_in_json());
        context.printer.answer(&answer, || {
            if self.csv.csv {
                return context.printer.csv(&TABLE, std::slice::from_ref(&answer));
            }
            let brings = self.order.reorder.zip(answer.reordered.as_ref());
            let brings = brings.map(|(order, reordered)| what_it_brings(order, reordered));
            let changes = narrowing.as_ref().map(what_it_changes);
            self.print(&source, &profile, &of_matrix, verified.as_ref(), [brings, changes], context)?;
            if let Some(verdict) = of_matrix.1.verdict(self.iterations.map(NonZeroU64::get)) {
                let used = &verdict.recommended().candidate;
                let names = text::in_other_libraries(&used.kernel.elsewhere());
                context.printer.detail(format_args!("{} elsewhere: {names}", candidate(used)));
            }
            if let Some(nearby) = &nearby {
                context.printer.detail(what_is_nearby(nearby));
            }
            Ok(())
        })?;
        if let Some(file) = &self.report {
            // From what --json writes, so that `report` makes the same page of it.
            Page::of_json(&answer.to_json()).write(file)?;
            context.printer.note(format_args!("the page is {}", file.display()));
        }
        let is_failure = |outcome: &Outcome| matches!(outcome, Outcome::Failed { .. });
        let failed = verified.as_ref().is_some_and(|verified| verified.measured.values().any(is_failure));
        Ok(if failed || advice.ranked.is_empty() { Exit::No } else { Exit::Done })
    }

    /// With its values where these are run or looked at.
    fn load<T: Scalar>(&self, source: &MatrixSource, context: &Context) -> Result<Csr<T>, Failure> {
        let are_values_needed = self.verify || self.verify_all || self.values.asked();
        if are_values_needed { source.load(context) } else { source.load_places(context) }
    }

    /// The first and what it is compared with, as many more as [`VERIFIED`] or --iterations say, or all.
    fn verify<T: Scalar>(
        &self,
        source: &MatrixSource,
        matrix: &Csr<T>,
        features: &Features,
        advice: &Advice,
        device: &dyn sparsight::device::Device<T>,
        context: &Context,
    ) -> Result<Verified, Failure> {
        let tries = match self.iterations {
            _ if self.verify_all => Tries::Count(NonZeroUsize::MAX),
            Some(products) => Tries::WorthIt { products: products.get() },
            None => Tries::Count(VERIFIED),
        };
        let most = if self.verify_all { advice.ranked.len() } else { VERIFIED.get() };
        let bar = context.printer.progress(most as u64, "measuring");
        let mut done = 0;
        let mut noise = Noise::before(device.facts().kind);
        let how = Bench { seed: context.seed, ..Bench::default() };
        let verified =
            verify(device, (&source.record_name(), matrix), features, advice, tries, &how, |result| {
                done += 1;
                noise.saw(&result.outcome);
                bar.at(done, candidate(&result.id));
                Ok(())
            })?;
        drop(bar);
        noise.clocked(verified.clock);
        noise.strayed(verified.far);
        noise.warn(&context.printer);
        Ok(verified)
    }

    fn print(
        &self,
        source: &MatrixSource,
        profile: &Profile,
        (features, advice): &(Features, Advice),
        verified: Option<&Verified>,
        [reordered, narrowed]: [Option<String>; 2],
        context: &Context,
    ) -> Result<(), Failure> {
        let out = &context.printer;
        out.line(format_args!("{BOLD}{}{BOLD:#}   {}", source.title(), text::shape(features)))?;
        let products = self.iterations.map(|n| format!("   {}", counted(n.get(), "product")));
        out.line(format_args!("{}{}", heading(profile, context.dtype()), products.unwrap_or_default()))?;
        out.line("")?;
        let mut shown = Vec::new();
        let mut legend = None;
        if let Some(verdict) = advice.verdict(self.iterations.map(NonZeroU64::get)) {
            let found = verified.and_then(|verified| what_was_found(verified, &verdict));
            if advice.is_empty {
                out.line(format_args!("{BOLD}{NOTHING_TO_MULTIPLY}{BOLD:#}"))?;
                return found.map_or(Ok(()), |found| out.line(found));
            }
            out.line(format_args!("{BOLD}{}{BOLD:#}", self.use_of(&verdict)))?;
            let reasons = self.reasons(&verdict);
            if !reasons.is_empty() {
                out.line(reasons)?;
            }
            if let Some(found) = found {
                out.line(found)?;
            }
            out.line("")?;
            shown = self.shown(advice, &verdict, verified, context.top());
            out.line(self.ranking(&shown, &verdict, verified))?;
            out.line("")?;
            legend = Some(self.legend(&verdict, advice, &shown)).filter(|legend| !legend.is_empty());
        } else {
            out.line("no candidate is possible")?;
        }
        let remarks = [
            reordered,
            narrowed,
            legend,
            answering(advice, profile),
            refusals(advice),
            extrapolations(&shown),
        ];
        for remark in remarks.into_iter().flatten() {
            out.line(format_args!("  {remark}"))?;
        }
        for (name, outcome) in verified.iter().flat_map(|verified| &verified.measured) {
            if let Outcome::Failed { failed } = outcome {
                out.warning(format_args!("{}: {failed}", candidate(name)));
            }
        }
        Ok(())
    }

    /// `Use bsr b3 t4 b128: 7.33 us a product, 6.34 to 8.43 us.`
    fn use_of(&self, verdict: &Verdict<'_>) -> String {
        let words = match verdict.gains_nothing() {
            true if verdict.stays_in_csr() => STAY,
            true => AS_GOOD,
            false => "Use",
        };
        let used = verdict.recommended();
        let (prediction, name) = (&used.prediction, candidate(&used.candidate));
        let all = self.iterations.map_or_else(String::new, |n| {
            let products = counted(n.get(), "product");
            format!("; {} in all for {products} with conversion and upload", self.cost(used))
        });
        let (time, sure) = (prediction.time, between(prediction.low, prediction.high));
        let colon = if verdict.gains_nothing() { "," } else { ":" };
        format!("{words} {name}{colon} {time} a product, {sure}{all}.")
    }

    /// The rows of the table by their place in the ranking: the best block size of the first `top` kernels, or every candidate
    /// with `--all`; what the verdict compares with, and what was measured.
    fn shown<'a>(
        &self,
        advice: &'a Advice,
        verdict: &Verdict<'_>,
        verified: Option<&Verified>,
        top: usize,
    ) -> Vec<(usize, &'a Advised)> {
        let mut kernels = BTreeSet::new();
        let compared: Vec<Candidate> =
            [verdict.plain_csr, verdict.vendors_csr].into_iter().flatten().map(|a| a.candidate).collect();
        let mut taken = 0;
        let mut is_shown = |advised: &Advised| {
            let is_first = kernels.insert((advised.candidate.kernel, advised.candidate.dtype)) || self.all;
            taken += usize::from(is_first);
            let was_run = verified.is_some_and(|v| v.measured.contains_key(&advised.candidate));
            is_first && taken <= top || compared.contains(&advised.candidate) || was_run
        };
        (1..).zip(&advice.ranked).filter(|(_, advised)| is_shown(advised)).collect()
    }

    fn ranking(
        &self,
        shown: &[(usize, &Advised)],
        verdict: &Verdict<'_>,
        verified: Option<&Verified>,
    ) -> Table {
        let mut columns =
            vec!["", "<candidate", "predicted", "90 % between", "of bandwidth", "convert", "pays off after"];
        if self.iterations.is_some() {
            columns.push("in all");
        }
        if verified.is_some() {
            columns.extend(["measured", "measured / predicted", "expected now"]);
        }
        let mut table = Table::new(&columns);
        for &(rank, advised) in shown {
            let prediction = &advised.prediction;
            let is_equal = rank > 1 && verdict.speedup(advised) <= 1.0 + TIE;
            let mut cells = vec![
                if is_equal { format!("= {rank}") } else { rank.to_string() },
                candidate(&advised.candidate),
                prediction.time.to_string(),
                between(prediction.low, prediction.high),
                of_bandwidth(advised.bandwidth_fraction),
                advised.preparation.map_or_else(|| "?".to_owned(), |s| s.to_string()),
                pays_off(advised),
            ];
            if self.iterations.is_some() {
                cells.push(self.cost(advised).to_string());
            }
            let outcome = verified.and_then(|verified| verified.measured.get(&advised.candidate));
            cells.extend(match outcome {
                Some(Outcome::Time { time_s, .. }) => {
                    vec![time_s.to_string(), format!("{:.2}", time_s.0 / prediction.time.0)]
                }
                Some(Outcome::Failed { .. }) => vec!["failed".to_owned()],
                Some(Outcome::Infeasible { .. }) => vec!["not possible".to_owned()],
                None => {
                    let expected = verified.and_then(|v| v.expected.expected(&advised.candidate));
                    let expected = expected.map(|prediction| prediction.time.to_string());
                    expected.map_or(vec![], |expected| vec![String::new(), String::new(), expected])
                }
            });
            table.row(cells);
        }
        table
    }

    /// What candidates are ranked by: one product, or with `--iterations` conversion, upload and all products.
    fn cost(&self, advised: &Advised) -> Seconds {
        self.iterations.map_or(advised.prediction.time, |products| advised.in_all(products.get()))
    }

    /// What the verdict rests on: what is gained over plain CSR and the vendor's, after how many products, and what else would do.
    fn reasons(&self, verdict: &Verdict<'_>) -> String {
        let mut sentences = Vec::new();
        let used = verdict.recommended();
        let in_all = if self.iterations.is_some() { " in all" } else { "" };
        let faster = |what: &str, other: &Advised| {
            let (speedup, time) = (self.cost(other).0 / self.cost(used).0, other.prediction.time);
            format!("{} as {what} ({time})", times_as_fast(speedup, in_all))
        };
        let is_other = |other: &&Advised| other.candidate != used.candidate;
        let vendors = verdict.vendors_csr.filter(is_other).map(|csr| faster("cuSPARSE's CSR", csr));
        let plain = verdict.plain_csr.filter(is_other).map(|csr| faster("the best plain CSR", csr));
        let gains: Vec<String> = vendors.into_iter().chain(plain).collect();
        if !gains.is_empty() {
            sentences.push(format!("Predicted {}.", gains.join(", ")));
        }
        if let Some(products) =
            used.pays_off_after.filter(|&products| products > 0 && !verdict.gains_nothing())
        {
            sentences.push(format!("Worth converting from {} on.", counted(products, "product")));
        }
        let first = (!verdict.gains_nothing()).then_some(verdict.best).filter(is_other);
        sentences.extend(first.map(|first| {
            let ready = [used.preparation, first.preparation];
            sooner_ready(&candidate(&first.candidate), first.prediction.time, ready)
        }));
        sentences.extend(others_as_good(verdict.equal.len() - usize::from(first.is_some())));
        sentences.join(" ")
    }

    /// `= as good as the first, within 5 %; 33 kernels more: --top 43; every block size: --all`.
    fn legend(&self, verdict: &Verdict<'_>, advice: &Advice, shown: &[(usize, &Advised)]) -> String {
        let of = |all: &mut dyn Iterator<Item = Kernel>| all.collect::<BTreeSet<_>>().len();
        let all = of(&mut advice.ranked.iter().map(|advised| advised.candidate.kernel));
        let more = all - of(&mut shown.iter().map(|(_, advised)| advised.candidate.kernel));
        let kernels = (more > 0).then(|| format!("{} more: `--top {all}`", counted(more as u64, "kernel")));
        let sizes = (!self.all).then(|| "every block size: `--all`".to_owned());
        let marked = shown.iter().skip(1).any(|(_, advised)| verdict.speedup(advised) <= 1.0 + TIE);
        let equal = marked.then(|| "= as good as the first, within 5 %".to_owned());
        let columns = Some("columns: `sparsight advise --help`".to_owned());
        let words: Vec<String> = equal.into_iter().chain(kernels).chain(sizes).chain(columns).collect();
        words.join("; ")
    }
}

/// `reordered by reverse Cuthill-McKee in 258 ms: bandwidth 215,929 -> 2,730; 2.11 times as fast as 11.4 us as it is
/// (sell c32 s1 b128), pays off after 42,954 products with x and y in the new order`.
fn what_it_brings(order: Order, reordered: &ReorderedAnswer) -> String {
    let ReorderedAnswer { reorder_s: took, speedup, pays_off_after, in_all_s, .. } = reordered;
    let [before, after] = reordered.bandwidth.map(grouped);
    let order = format!("reordered by {} in {took}: bandwidth {before} -> {after}", order.name());
    let Some((best, &speedup)) = reordered.as_it_is.as_ref().zip(speedup.as_ref()) else { return order };
    let as_it_is = format!("{} as it is ({})", best.prediction.predicted_s, candidate(&best.candidate.id));
    let compared = match speedup {
        _ if speedup > 1.0 + TIE => format!("{speedup:.2} times as fast as {as_it_is}"),
        _ if speedup < 1.0 - TIE => format!("slower than {as_it_is}"),
        _ => format!("no more than a tie with {as_it_is}"),
    };
    let worth = match (in_all_s, pays_off_after) {
        (Some([before, after]), _) if after.0 < before.0 => format!("{after} in all in place of {before}"),
        (Some([before, after]), _) => format!("{after} in all in place of {before}: leave it"),
        (None, _) if speedup <= 1.0 + TIE => "leave it".to_owned(),
        (None, Some(products)) => {
            format!("pays off after {} with x and y in the new order", counted(*products, "product"))
        }
        (None, None) => "after how many products it pays is not known".to_owned(),
    };
    // Said where it is about keeping vectors in the new order or not.
    let vectors = reordered.vectors_s.filter(|_| speedup > 1.0 + TIE).map(|vectors| {
        let saved = best.prediction.predicted_s.0 * (1.0 - 1.0 / speedup);
        let lost = if vectors.0 >= saved { ", more than is gained" } else { "" };
        format!("; bringing x and y there and back in every product would add about {vectors}{lost}")
    });
    format!("{order}; {compared}, {worth}{}", vectors.unwrap_or_default())
}

/// `Measured: hyb b128 is the fastest of 5, 6.70 us; 1.9 times as fast as cuSPARSE's CSR (12.8 us). To run one more, ell b256, may be
/// expected to gain 12.0 ns a product.`
fn what_was_found(verified: &Verified, verdict: &Verdict<'_>) -> Option<String> {
    let time = |candidate: &Candidate| match verified.measured.get(candidate) {
        Some(Outcome::Time { time_s, .. }) => Some(*time_s),
        _ => None,
    };
    let timed = verified.measured.keys().filter_map(|candidate| Some((candidate, time(candidate)?)));
    let (fastest, least) = timed.clone().min_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let compared = [("cuSPARSE's CSR", verdict.vendors_csr), ("the best plain CSR", verdict.plain_csr)];
    let beside = compared.into_iter().filter_map(|(what, csr)| {
        let csr = csr.filter(|csr| csr.candidate != *fastest)?;
        let time = time(&csr.candidate)?;
        Some(format!("{:.1} times as fast as {what} ({time})", time.0 / least.0))
    });
    let beside: Vec<String> = beside.collect();
    let beside = if beside.is_empty() { String::new() } else { format!(", {}", beside.join(", ")) };
    let next = verified.next.map(|NextRun { candidate: next, gain }| {
        format!(" To run one more, {}, may be expected to gain {gain} a product.", candidate(&next))
    });
    let of = timed.count();
    let (name, next) = (candidate(fastest), next.unwrap_or_default());
    Some(format!("Measured: {name} is the fastest of {of}, {least}{beside}.{next}"))
}

/// `nearest of the matrices learned from: d/brack2 (0.20), b/osm_rnv (0.25); 40 % of them are farther from the nearest other one`.
fn what_is_nearby(nearby: &Nearby) -> String {
    let names = nearby.nearest.iter().map(|(name, distance)| format!("{name} ({distance:.2})"));
    let names = names.collect::<Vec<_>>().join(", ");
    let share = 100.0 * (1.0 - nearby.farther_than);
    let how_far = match nearby.farther_than {
        far if far > 0.9 => "far from all of them: intervals hold less often than they say".to_owned(),
        _ => format!("{share:.0} % of them are farther from the nearest other one"),
    };
    format!("nearest of the matrices learned from: {names}; {how_far}")
}

fn pays_off(advised: &Advised) -> String {
    match advised.pays_off_after {
        Some(0) => counted(0, "product"),
        Some(products) => counted(products, "product"),
        None if advised.preparation.is_none() => "?".to_owned(),
        None => "never".to_owned(),
    }
}

/// `predicted by boosting; coo by linear; hyb by strip-cache, since nothing was learned of it`: what `best` asked.
/// Nothing where a model was named, or where the profile learned nothing at all.
fn answering(advice: &Advice, profile: &Profile) -> Option<String> {
    let mut kernels: BTreeMap<ModelName, BTreeSet<Kernel>> = BTreeMap::new();
    for advised in &advice.ranked {
        kernels.entry(advised.model).or_default().insert(advised.candidate.kernel);
    }
    let learned = kernels.keys().any(|model| model.is_learned());
    if advice.model != ModelName::Best || !learned {
        return None;
    }
    // The one with most kernels stands for all that are not named.
    let most = kernels.iter().max_by_key(|(_, of)| of.len()).map(|(model, _)| *model)?;
    let mut words = vec![format!("predicted by {most}")];
    for (model, of) in kernels.iter().filter(|(model, _)| **model != most) {
        let names: Vec<String> = of.iter().map(text::words).collect();
        let why = if *model == profile.strip_model() { ", of which nothing was learned" } else { "" };
        words.push(format!("{} by {model}{why}", names.join(", ")));
    }
    Some(words.join("; "))
}

/// `not possible: ell (would pad by 80.0x, the limit is 8x)`, and what nothing is known of; the vendor's routines
/// aside, whose times no profile needs to hold.
fn refusals(advice: &Advice) -> Option<String> {
    let mut impossible = BTreeSet::new();
    let mut unknown = BTreeSet::new();
    for r in &advice.refused {
        let kernel = r.candidate.kernel;
        match &r.why {
            // Its formats are ours, or like them.
            _ if kernel.is_vendors() => false,
            Why::Infeasible(why) => impossible.insert(format!("{} ({why})", words(kernel.format()))),
            Why::NoModel(_) | Why::Unmeasured(_) => unknown.insert(words(kernel)),
        };
    }
    let mut lines = Vec::new();
    if !impossible.is_empty() {
        lines.push(format!("not possible: {}", impossible.into_iter().collect::<Vec<_>>().join(", ")));
    }
    if !unknown.is_empty() {
        let kernels: Vec<String> = unknown.into_iter().collect();
        let why = match advice.model {
            ModelName::Best => "not measured on this device, so not ranked".to_owned(),
            model => format!("not ranked, since {model} knows nothing of them"),
        };
        lines.push(format!("{why}: {}", kernels.join(", ")));
    }
    (!lines.is_empty()).then(|| lines.join("\n  "))
}

/// `less sure, beyond what was measured: strips (I) = 1,489 (measured 1 to 10)`.
fn extrapolations(shown: &[(usize, &Advised)]) -> Option<String> {
    let mut furthest: BTreeMap<&str, (f64, f64, f64)> = BTreeMap::new();
    for e in shown.iter().flat_map(|(_, advised)| &advised.prediction.extrapolates) {
        let distance = |value: f64, from: f64, to: f64| (value / to).max(from / value.max(1.0));
        let known = furthest.entry(e.quantity).or_insert((e.value, e.from, e.to));
        if distance(e.value, e.from, e.to) > distance(known.0, known.1, known.2) {
            *known = (e.value, e.from, e.to);
        }
    }
    let number = |value: f64| grouped(value.round() as u64);
    let words: Vec<String> = furthest
        .iter()
        .map(|(quantity, (value, from, to))| {
            format!(
                "{} = {} (measured {} to {})",
                text::quantity(quantity),
                number(*value),
                number(*from),
                number(*to)
            )
        })
        .collect();
    (!words.is_empty()).then(|| format!("less sure, beyond what was measured: {}", words.join(", ")))
}
