//! `sparsight advise`: which format, kernel and block size will be fastest.

mod break_even;
mod gpus;
mod iteration;
mod many;
mod print;
mod remarks;

use crate::args::{ModelFlags, products};
use crate::context::{Context, command_as_typed, with_scalar};
use crate::csv::{CANDIDATE, CsvFlag, Layout, PREDICTED};
use crate::device_choice::ProfileFlags;
use crate::failure::{Exit, Failure};
use crate::matrix_source::{MatrixSource, matrices};
use crate::output_file;
use crate::reordering::OrderFlags;
use crate::report::{Page, Reported};
use crate::text::{self, candidate};
use crate::values::{ValuesFlag, what_it_changes};
use remarks::{what_is_nearby, what_it_brings};
use sparsight::advise::{RunNowName, Told};
use sparsight::answer::{AdviseAnswer, MatrixSummary, PlannedMatrix, ReorderedAnswer, Structure};
use sparsight::bench::{Bench, Noise};
use sparsight::kernels::Candidate;
use sparsight::matrix::{Csr, Dtype, Features, Narrowing, Scalar};
use sparsight::model::Iteration;
use sparsight::partition::PartitionObjective;
use sparsight::records::Outcome;
use sparsight::run::{Tries, Verified};
use sparsight::{Advice, Advisor, Error, Objective, Profile, verify};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

/// Predict the fastest format, kernel and block size of a matrix
///
/// Shows the interval of each time, and the cost of conversion and upload. Nothing is run: the times are predicted from the
/// structure of the matrix and a measured profile of the device.
#[derive(Debug, clap::Args)]
#[command(after_long_help = COLUMNS)]
#[allow(clippy::struct_excessive_bools)] // Flags of a command line.
pub(crate) struct Advise {
    #[arg(required = true, help = matrices!("; of several what to use for each"))]
    paths: Vec<String>,
    #[command(flatten)]
    profile: ProfileFlags,
    /// Products y = A x to come: rank by the total of conversion, upload and all products
    #[arg(long, value_name = "N", value_parser = products, allow_negative_numbers = true)]
    iterations: Option<NonZeroU64>,
    /// Rank by an iteration of a solver around the product: cg, bicgstab, or pdhg for linear programs, which multiplies with A^T, too;
    /// --iterations then counts these (docs/solvers.md)
    #[arg(long, value_name = "SOLVER", conflicts_with_all = ["from", "reorder", "transpose", "csv", "verify", "verify_all", "report", "gpus"])]
    iteration: Option<Iteration>,
    /// Current implementation, to which break-evens refer: cusparse-csr, csr-vector, any kernel or candidate, or scipy (CSR on one
    /// thread of this processor, once it is calibrated) [default: cuSPARSE's CSR; without a time of it, and on a processor, the best
    /// plain CSR]
    #[arg(long, value_name = "NAME")]
    from: Option<RunNowName>,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    order: OrderFlags,
    /// Advise for products with A^T, too, as a separate matrix called NAME+transpose
    #[arg(long, conflicts_with_all = ["report", "verify", "verify_all", "gpus"])]
    transpose: bool,
    #[command(flatten)]
    pub(crate) values: ValuesFlag,
    #[command(flatten)]
    csv: CsvFlag,
    /// Show every block size of a kernel, not only the best
    #[arg(long)]
    all: bool,
    /// Also measure on the device here: the first, the best CSR, the vendor's routines, and then the candidates with the largest expected
    /// gain (with --iterations while the gain exceeds the cost of a run); the rest is predicted again from these times
    #[arg(long)]
    verify: bool,
    /// Also measure all candidates
    #[arg(long)]
    verify_all: bool,
    /// Also write a page with pictures of the answer: one HTML file, without scripts (docs/report.md)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    gpus: gpus::GpusFlags,
}

/// Description of the table's columns, as in docs/start.md.
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
  pays off after  products after which that is made up for, against what is run now: cuSPARSE's
                  CSR or what --from names; 0 products: there is nothing to make up for
  in all          with --iterations: conversion, upload and all products
  an iteration    with --iteration: of the solver, products and all between them; 90 % between
                  and pays off after are of iterations then
  in products     the part of it in products
  launches        of an iteration
  a product       time of one product y = A x
  measured        with --verify: the time measured here, what it is of the predicted one, and
                  what to expect of the others now
Rows:
  the best block size of the first kernels, as many as --top says; below `for comparison:`
  what the first lines compare with, and what was measured
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
        "run_now=verdict.run_now.id",
        "best_over_run_now=verdict.run_now.speedup",
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
        let mut sources = MatrixSource::batch(&self.paths, &context.printer)?;
        output_file::check(self.report.as_deref(), ("the page", "--report"), &self.profile.inputs(&sources))?;
        let profile = self.profile.resolve(context, context.dtype())?;
        if self.gpus.asked() {
            return match sources.as_slice() {
                [one] => self.run_gpus(one, &profile, context),
                more => Err(Failure::one_matrix("--gpus", more.len())),
            };
        }
        if sources.len() != 1 || self.transpose {
            let of_one = [(self.iteration.is_some(), "--iteration"), (self.report.is_some(), "--report")];
            if let Some((_, flag)) = of_one.into_iter().find(|(is_given, _)| *is_given) {
                return Err(Failure::one_matrix(flag, sources.len()));
            }
            let profile = self.profile.at_hand(profile, None, context);
            return with_scalar!(context.dtype(), T => self.run_many::<T>(sources, &profile, context));
        }
        let source = sources.swap_remove(0);
        if let Some(iteration) = self.iteration {
            return self.run_iteration(&source, &profile, iteration, context);
        }
        with_scalar!(context.dtype(), T => self.run_one::<T>(source, profile, context))
    }

    fn run_one<T: Scalar>(
        &self,
        source: MatrixSource,
        profile: Profile,
        context: &Context,
    ) -> Result<Exit, Failure> {
        let device = if self.verify || self.verify_all { Some(self.profile.open(&profile)?) } else { None };
        let profile = self.profile.at_hand(profile, device.as_ref(), context);
        let (mut matrix, mut told) = self.load_told::<T>(&source, context)?;
        let ordered = self.order.reorder.map(|order| order.apply(&matrix, &source.title())).transpose()?;
        let (objective, narrowing) = self.objective(&matrix, &profile)?;
        let advised = |matrix: &Csr<T>| -> Result<(Features, Advice), Failure> {
            let features = Features::of(matrix);
            let mut advice = Advisor::new(&profile).advise(&features, T::DTYPE, &objective)?;
            self.count_from(&mut advice, (&profile, &features, T::DTYPE))?;
            Ok((features, advice))
        };
        let mut of_matrix = advised(&matrix)?;
        let mut reordered = None;
        if let Some((order, (ordered, took))) = self.order.reorder.zip(ordered) {
            matrix = ordered;
            told.is_reordered = true;
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
        let reasons =
            || Advisor::new(&profile).reasons(&matrix, told, (features, advice), (T::DTYPE, &objective));
        let reasons = if self.csv.csv { Vec::new() } else { reasons() };
        let source = self.order.of(source);
        let verified = match device {
            Some(device) => Some(self.verify(&source, &matrix, features, advice, device.of(), context)?),
            None => None,
        };
        let is_drawn = self.report.is_some() || context.printer.is_json();
        let is_shown = is_drawn || context.printer.shows_details();
        let nearby = if is_shown { profile.nearby(features, NEAREST)? } else { None };
        let structure = is_drawn.then(|| Structure::of(&matrix));
        // Parts keep their values in full: beside candidates that do not, a cut says nothing.
        let is_cut = self.report.is_some() && !objective.mixed_precision;
        let plan = is_cut.then(|| self.cut(&source, &matrix, &profile)).transpose()?.flatten();
        let matrix = MatrixSummary::of(source.title(), features);
        let answer = AdviseAnswer::of(matrix, &profile, T::DTYPE, &objective, advice)
            .with_verified(verified.as_ref())
            .with_reasons(reasons)
            .with_command(command_as_typed(), sparsight::device::timing::today());
        let answer = AdviseAnswer { reordered, narrowing, nearby, structure, plan, ..answer };
        self.show(&answer, &profile, (advice, verified.as_ref()), context)
    }

    /// Shows what was found, on stdout and on the page, whatever values the matrix has.
    fn show(
        &self,
        whole: &AdviseAnswer,
        profile: &Profile,
        (advice, verified): (&Advice, Option<&Verified>),
        context: &Context,
    ) -> Result<Exit, Failure> {
        let answer = whole.clone().shortened(context.top_in_json());
        // Before stdout is written to, whose reader may go away; an error comes behind the answer.
        let page = self.report.as_ref().map(|file| Page::of(&Reported::from(&answer)).write(file));
        context.printer.answer(&answer, || {
            if self.csv.csv {
                return context.printer.csv(&TABLE, std::slice::from_ref(&answer));
            }
            let brings = self.order.reorder.zip(answer.reordered.as_ref());
            let brings = brings.map(|(order, reordered)| what_it_brings(order, reordered));
            let changes = answer.narrowing.as_ref().map(what_it_changes);
            let beside = (verified, [brings, changes]);
            self.print(whole, profile, advice, beside, context)?;
            if let Some(verdict) = advice.verdict(self.iterations.map(NonZeroU64::get)) {
                let used = &verdict.recommended().candidate;
                let names = text::in_other_libraries(&used.kernel.elsewhere());
                context.printer.detail(format_args!("{} elsewhere: {names}", candidate(used)));
            }
            if let Some(nearby) = &answer.nearby {
                context.printer.detail(what_is_nearby(nearby));
            }
            Ok(())
        })?;
        page.transpose()?;
        if let Some(file) = &self.report {
            context.printer.note(format_args!("the page is {}", file.display()));
        }
        let is_failure = |outcome: &Outcome| matches!(outcome, Outcome::Failed { .. });
        let failed = verified.is_some_and(|verified| verified.measured.values().any(is_failure));
        Ok(if failed || advice.ranked.is_empty() { Exit::No } else { Exit::Done })
    }

    /// What to rank by, and what values in f32 lose where they are asked for; they are not ranked if one is too large.
    fn objective<T: Scalar>(
        &self,
        matrix: &Csr<T>,
        profile: &Profile,
    ) -> Result<(Objective, Option<Narrowing>), Failure> {
        let asked = self.values.mixed(T::DTYPE, profile.device.facts.kind)?;
        let narrowing = asked.then(|| Narrowing::of(matrix));
        let mixed_precision = narrowing.is_some_and(|narrowing| narrowing.too_large == 0);
        Ok((Objective { mixed_precision, ..self.model.objective(self.iterations) }, narrowing))
    }

    /// Counts break-evens from what `--from` names.
    fn count_from(&self, advice: &mut Advice, of: (&Profile, &Features, Dtype)) -> Result<(), Error> {
        let Some(name) = &self.from else { return Ok(()) };
        let run_now = advice.run_now_by(name, of, self.iterations.map(NonZeroU64::get))?;
        advice.count_from(Some(run_now));
        Ok(())
    }

    /// Loads the matrix, with its values where these are run or looked at.
    fn load<T: Scalar>(&self, source: &MatrixSource, context: &Context) -> Result<Csr<T>, Failure> {
        let are_values_needed = self.verify || self.verify_all || self.values.asked();
        if are_values_needed { source.load(context) } else { source.load_places(context) }
    }

    /// Loads the matrix with what else is known of it.
    fn load_told<T: Scalar>(
        &self,
        source: &MatrixSource,
        context: &Context,
    ) -> Result<(Csr<T>, Told), Failure> {
        let are_values_needed = self.verify || self.verify_all || self.values.asked();
        // With --csv there are no reasons, for which the rest is told.
        if are_values_needed || self.csv.csv {
            let told = Told { has_values: are_values_needed, ..Told::default() };
            return Ok((self.load(source, context)?, told));
        }
        source.load_told(context)
    }

    /// The best cut of the rows into parts, for a page, whether it gains or not; `None` if nothing of ours was learned.
    fn cut<T: Scalar>(
        &self,
        source: &MatrixSource,
        matrix: &Csr<T>,
        profile: &Profile,
    ) -> Result<Option<PlannedMatrix>, Failure> {
        let ours = profile.candidates(T::DTYPE).filter(|one| !one.kernel.is_vendors());
        let candidates: Vec<Candidate> = ours.collect();
        let ModelFlags { model, placement, row_length } = self.model;
        let objective = PartitionObjective {
            model,
            placement,
            row_length,
            cut_always: true,
            ..PartitionObjective::default()
        };
        match Advisor::new(profile).partition(matrix, &candidates, &objective) {
            Ok(planned) => Ok(Some(PlannedMatrix::of(source.title(), &planned))),
            // The vendor's routines alone may have been learned; the answer stands without a cut.
            Err(Error::Lacking { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
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
        context.printer.warn_of(&noise);
        Ok(verified)
    }
}
