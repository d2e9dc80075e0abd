//! `advise --iteration cg`: candidates ranked by an iteration of a solver.

use super::Advise;
use super::remarks::{answering, extrapolations, pays_off, place, refusals};
use crate::context::{Context, command_as_typed, with_scalar};
use crate::failure::{Exit, Failure};
use crate::matrix_source::MatrixSource;
use crate::table::{Columns, cell_or};
use crate::text::{self, BOLD, between, candidate, counted, heading, times_as_fast};
use sparsight::advise::Advised;
use sparsight::answer::{AdviseAnswer, MatrixSummary};
use sparsight::matrix::{Csr, Features, Scalar};
use sparsight::model::{Iteration, IterationTime, Step};
use sparsight::{Advice, Advisor, Profile};
use std::collections::BTreeSet;
use std::num::NonZeroU64;

impl Advise {
    pub(super) fn run_iteration(
        &self,
        source: &MatrixSource,
        profile: &Profile,
        iteration: Iteration,
        context: &Context,
    ) -> Result<Exit, Failure> {
        let found = with_scalar!(context.dtype(), T => {
            self.advise_iteration::<T>(source, profile, iteration, context)
        });
        let (answer, advice) = found?;
        context.printer.answer(&answer.clone().shortened(context.top_in_json()), || {
            self.print_iteration(&answer, profile, &advice, iteration, context)
        })?;
        Ok(if advice.ranked.is_empty() { Exit::No } else { Exit::Done })
    }

    fn advise_iteration<T: Scalar>(
        &self,
        source: &MatrixSource,
        profile: &Profile,
        iteration: Iteration,
        context: &Context,
    ) -> Result<(AdviseAnswer, Advice), Failure> {
        let matrix: Csr<T> = self.load(source, context)?;
        let features = Features::of(&matrix);
        let turned = iteration.needs_transpose().then(|| matrix.transposed()).transpose();
        let turned = turned.map_err(|error| Failure::input(format!("{}: {error}", source.title())))?;
        let turned = turned.as_ref().map(Features::of);
        let (objective, narrowing) = self.objective(&matrix, profile)?;
        let of = (&features, turned.as_ref());
        let advice = Advisor::new(profile).advise_iteration(of, T::DTYPE, &objective, iteration)?;
        let summary = MatrixSummary::of(source.title(), &features);
        let answer = AdviseAnswer::of(summary, profile, T::DTYPE, &objective, &advice)
            .with_command(command_as_typed(), sparsight::device::timing::today());
        Ok((AdviseAnswer { narrowing, ..answer }, advice))
    }

    fn print_iteration(
        &self,
        answer: &AdviseAnswer,
        profile: &Profile,
        advice: &Advice,
        iteration: Iteration,
        context: &Context,
    ) -> Result<(), Failure> {
        let out = &context.printer;
        let title = iteration.title();
        out.line(text::title(&answer.matrix))?;
        let many =
            self.iterations.map(|n| format!("   {}", counted(n.get(), "iteration"))).unwrap_or_default();
        let assumed = text::assumed(&profile.device);
        out.line(format_args!("{}   {title}{many}{assumed}\n", heading(profile, context.dtype())))?;
        let products = self.iterations.map(NonZeroU64::get);
        let used = advice.verdict(products).and_then(|verdict| {
            let used = verdict.recommended();
            Some((verdict.clone(), used.candidate, used.iteration?))
        });
        let Some((verdict, used, time)) = used else {
            return out.line("no candidate is possible");
        };
        let transposed = advice.iteration.as_ref().and_then(|by| by.transposed.as_ref());
        let with =
            transposed.map_or_else(String::new, |one| format!(" and, for A^T, {}", candidate(&one.id)));
        let total = products.and_then(|n| Some((n, verdict.recommended().in_all(n)?)));
        let in_all = total.map_or_else(String::new, |(n, total)| {
            format!("; {total} in all for {} with conversion and upload", counted(n, "iteration"))
        });
        let name = candidate(&used);
        out.line(format_args!(
            "{BOLD}Use {name}{with}: {}{in_all}.{BOLD:#}",
            an_iteration(iteration, &time)
        ))?;
        let in_all = if products.is_some() { " in all" } else { "" };
        let faster = |csr: Option<&Advised>, what| {
            let csr = csr.filter(|csr| csr.candidate != used)?;
            let speedup = verdict.speedup(csr) / verdict.speedup(verdict.recommended());
            Some(format!("{} as with {what} ({})", times_as_fast(speedup, in_all), csr.iteration?.time))
        };
        let gains =
            [faster(verdict.vendors_csr, "cuSPARSE's CSR"), faster(verdict.plain_csr, "the best plain CSR")];
        let gains: Vec<String> = gains.into_iter().flatten().collect();
        if !gains.is_empty() {
            out.line(format_args!("Predicted {}.", gains.join(", ")))?;
        }
        out.line("")?;
        let mut kernels = BTreeSet::new();
        let named = [verdict.plain_csr, verdict.vendors_csr, Some(verdict.recommended())];
        let named: BTreeSet<_> = named.into_iter().flatten().map(|one| one.candidate).collect();
        let shown: Vec<(usize, &Advised)> = (1..)
            .zip(&advice.ranked)
            .filter(|(_, one)| {
                let kernel = (one.candidate.kernel, one.candidate.dtype);
                let is_first = kernels.len() < context.top() && (kernels.insert(kernel) || self.all);
                is_first || named.contains(&one.candidate)
            })
            .collect();
        let timed = shown.iter().filter_map(|&(rank, one)| Some((rank, one, one.iteration?)));
        let columns = Columns::of(timed).with([
            ("", &|(rank, one, _)| place(*rank, one, &verdict)),
            ("<candidate", &|(_, one, _)| candidate(&one.candidate)),
            ("an iteration", &|(.., time)| time.time.to_string()),
            ("90 % between", &|(.., time)| between(time.low, time.high)),
            ("in products", &|(.., time)| time.in_products.to_string()),
            ("launches", &|(.., time)| time.launches.to_string()),
            ("a product", &|(_, one, _)| one.prediction.time.to_string()),
            ("convert", &|(_, one, _)| cell_or("?", one.preparation)),
            ("pays off after", &|(_, one, _)| pays_off(one, verdict.run_now).replace("product", "iteration")),
        ]);
        let in_all = |one: &Advised| cell_or("?", products.and_then(|n| one.in_all(n)));
        out.line(columns.with_if(products.is_some(), [("in all", &|(_, one, _)| in_all(one))]).table())?;
        out.line("")?;
        let graph = if profile.device.facts.kind.is_gpu() { ", captured in a CUDA graph" } else { "" };
        let of_it = format!(
            "an iteration of {title} in {} launches{graph} (docs/solvers.md); = as good as the first, within 5 %",
            time.launches
        );
        let remarks = [Some(of_it), answering(advice, profile), refusals(advice), extrapolations(&shown)];
        remarks.into_iter().flatten().try_for_each(|remark| out.line(format_args!("  {remark}")))
    }
}

/// `78.0 us an iteration of CG, 61.2 to 95.1 us, 62.0 us of it in the product`.
fn an_iteration(iteration: Iteration, time: &IterationTime) -> String {
    let products = iteration.steps().iter().filter(|step| matches!(step, Step::Product(_))).count();
    let (title, within) = (iteration.title(), between(time.low, time.high));
    let what = if products == 1 { "the product" } else { "products" };
    format!("{} an iteration of {title}, {within}, {} of it in {what}", time.time, time.in_products)
}
