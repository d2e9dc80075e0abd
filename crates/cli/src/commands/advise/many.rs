//! `advise` for several matrices: a line each, and what is gained over all of them.

use super::{Advise, TABLE};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::many::one_by_one;
use crate::matrix_source::MatrixSource;
use crate::table::{Table, cell_or};
use crate::text::{assumed, between, candidate, counted, grouped, heading, matrices, pairs};
use crate::values::what_it_changes;
use sparsight::advise::RunNowName;
use sparsight::answer::{AdviseAnswer, AdviseManyAnswer, AdvisedMatrix, MatrixSummary, VerdictAnswer};
use sparsight::matrix::{Csr, Features, Scalar};
use sparsight::{Advisor, Error, Profile};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::num::NonZeroU64;

impl Advise {
    /// Skips what cannot be read, and says so.
    pub(super) fn run_many<T: Scalar>(
        &self,
        sources: Vec<MatrixSource>,
        profile: &Profile,
        context: &Context,
    ) -> Result<Exit, Failure> {
        if self.verify || self.verify_all {
            let text = format!(
                "--verify runs the candidates of one matrix, and these are {}",
                matrices(sources.len())
            );
            return Err(Failure::input(text).hinted("`sparsight lab measure` runs them for many"));
        }
        let mut sources = self.order.of_all(sources);
        if self.transpose {
            sources = sources.into_iter().flat_map(|a| [a.clone(), a.transposed()]).collect();
        }
        let products = self.iterations.map(NonZeroU64::get);
        // Before the first matrix is read.
        self.values.mixed(T::DTYPE, profile.device.facts.kind)?;
        let (mut advised, mut rows) = (Vec::new(), Vec::new());
        // What was transposed is there already.
        let turned: Cell<Option<Csr<T>>> = Cell::default();
        let load = |source: &_| turned.take().map_or_else(|| self.load::<T>(source, context), Ok);
        let looked = one_by_one(&sources, "advising", context, load, |at, matrix| {
            let source = &sources[at];
            let (objective, lost) = self.objective(&matrix, profile)?;
            if let Some(lost) = lost.as_ref().filter(|lost| lost.too_large > 0) {
                // It is ranked without.
                context.printer.warning(format_args!("{}: {}", source.title(), what_it_changes(lost)));
            }
            let features = Features::of(&matrix);
            if self.transpose && at % 2 == 0 {
                turned.set(Some(sources[at + 1].derived_from(&matrix)?));
            }
            drop(matrix);
            let mut advice = Advisor::new(profile).advise(&features, T::DTYPE, &objective)?;
            if let Err(unknown) = self.count_from(&mut advice, (profile, &features, T::DTYPE)) {
                match unknown {
                    // Of this matrix; others may be possible.
                    Error::NotRunNow { .. } if sources.len() > 1 => {
                        context.printer.warning(format_args!("{}: {unknown}", source.title()));
                        advice.count_from(None);
                    }
                    other => return Err(other.into()),
                }
            }
            let summary = MatrixSummary::of(source.title(), &features);
            if self.csv.csv {
                let answer = AdviseAnswer::of(summary.clone(), profile, T::DTYPE, &objective, &advice);
                let mut answer = answer.shortened(context.top_or(1));
                answer.candidates.truncate(context.top_or(1));
                rows.push(answer);
            }
            advised.push(AdvisedMatrix { narrowing: lost, ..AdvisedMatrix::of(summary, &advice, products) });
            Ok(())
        });
        let looked = looked.unless_failed()?;
        let answer = AdviseManyAnswer::of(profile, T::DTYPE, products, advised);
        context.printer.answer(&answer, || {
            if self.csv.csv {
                return context.printer.csv(&TABLE, &rows);
            }
            print(&answer, profile, (self.iterations, self.from.as_ref()), context)?;
            let best = |one: &AdvisedMatrix| {
                Some((one.verdict.as_ref()?.best, one.prediction.as_ref()?.time, one.memory_bytes?))
            };
            let all = answer.matrices.iter().filter(|_| self.transpose).map(|one| (&one.matrix, best(one)));
            pairs(all).iter().try_for_each(|pair| context.printer.line(pair))
        })?;
        looked.exit(answer.matrices.iter().all(|one| one.verdict.is_some()), "advised")
    }
}

fn print(
    answer: &AdviseManyAnswer,
    profile: &Profile,
    (products, from): (Option<NonZeroU64>, Option<&RunNowName>),
    context: &Context,
) -> Result<(), Failure> {
    let out = &context.printer;
    let products = products.map(|n| format!("   {}", counted(n.get(), "product"))).unwrap_or_default();
    let assumed = assumed(&profile.device);
    out.line(format_args!("{}{products}{assumed}\n", heading(profile, context.dtype())))?;
    let columns = [
        "<matrix",
        "non-zeros",
        "<fastest",
        "predicted",
        "90 % between",
        "x cuSPARSE's CSR",
        "x best plain CSR",
        "worth from",
    ];
    let mut table = Table::new(&columns);
    for one in &answer.matrices {
        let (name, nnz) = (one.matrix.name.clone(), grouped(one.matrix.nnz));
        let (Some(verdict), Some(prediction)) = (&one.verdict, &one.prediction) else {
            table.row([name, nnz, "not possible".to_owned()]);
            continue;
        };
        let times = |csr: Option<f64>| cell_or("-", csr.map(|speedup| format!("{speedup:.2}")));
        table.row([
            name,
            nnz,
            candidate(&verdict.best),
            prediction.time.to_string(),
            between(prediction.low, prediction.high),
            times(verdict.vendors_csr.map(|csr| csr.speedup)),
            times(verdict.plain_csr.map(|csr| csr.speedup)),
            match (&verdict.run_now, one.pays_off_after) {
                _ if verdict.gains_nothing => "nothing to gain".to_owned(),
                (Some(now), _) if now.compared.id == verdict.best => "run now".to_owned(),
                (_, Some(products)) => counted(products, "product"),
                (Some(_), None) if one.conversion_s.is_some() => "never".to_owned(),
                _ => "?".to_owned(),
            },
        ]);
    }
    out.line(table)?;
    let runs = answer.matrices.iter().filter_map(|one| one.verdict.as_ref()?.run_now.as_ref());
    let kinds: BTreeSet<&str> = runs.map(|now| now.kind).collect();
    if !kinds.is_empty() {
        let named = from.map(ToString::to_string).unwrap_or_default();
        let name = |kind| match kind {
            "vendors-csr" => "cuSPARSE's CSR",
            "plain-csr" => "the best plain CSR",
            "scipy" => "scipy's CSR on one thread of this processor",
            _ => named.as_str(),
        };
        let names: Vec<&str> = kinds.into_iter().map(name).collect();
        out.line(format_args!("\nWorth from so many products on, against {}.", names.join(" or ")))?;
    }
    let lost = answer.matrices.iter().filter_map(|one| one.narrowing.as_ref());
    let lost = lost.filter(|lost| lost.too_large == 0);
    let most = lost.map(|lost| lost.relative_error).reduce(f64::max);
    if let Some(most) = most {
        out.line(format_args!(
            "\nWhere the values are stored in f32 (f32-f64), y changes by at most {most:.1e} |A| |x| in each row."
        ))?;
    }
    for (count, means) in means(answer) {
        let all = answer.matrices.len();
        let over = if count == all {
            format!("all {}", matrices(all))
        } else {
            format!("{} of {}", grouped(count as u64), matrices(all))
        };
        out.line(format_args!("\nPredicted over {over} (geometric mean): {}.", means.join(", ")))?;
    }
    Ok(())
}

/// The means over matrices, with the number of these; one matrix has none. Those over as many stand together.
fn means(answer: &AdviseManyAnswer) -> Vec<(usize, Vec<String>)> {
    // As the means are taken: of a matrix without non-zeros nothing is gained.
    let verdicts = answer.matrices.iter().filter(|one| one.matrix.nnz > 0);
    let verdicts: Vec<&VerdictAnswer> = verdicts.filter_map(|one| one.verdict.as_ref()).collect();
    let count = |has: fn(&VerdictAnswer) -> bool| verdicts.iter().filter(|verdict| has(verdict)).count();
    let mut lines: Vec<(usize, Vec<String>)> = Vec::new();
    for (mean, count, what) in [
        (answer.over_vendors_csr, count(|verdict| verdict.vendors_csr.is_some()), "cuSPARSE's CSR"),
        (answer.over_plain_csr, count(|verdict| verdict.plain_csr.is_some()), "the best plain CSR"),
    ] {
        let Some(mean) = mean.filter(|_| count > 1) else { continue };
        let text = format!("{mean:.2} times as fast as {what}");
        match lines.last_mut() {
            Some((same, texts)) if *same == count => texts.push(text),
            _ => lines.push((count, vec![text])),
        }
    }
    lines
}
