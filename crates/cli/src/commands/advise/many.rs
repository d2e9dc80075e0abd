//! `advise` for several matrices: a line each, and what is gained over all of them.

use super::{Advise, TABLE};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::matrix_source::MatrixSource;
use crate::table::Table;
use crate::text::{BOLD, assumed, between, candidate, counted, grouped, heading, matrices};
use crate::values::what_it_changes;
use sparsight::advise::RunNowName;
use sparsight::answer::{AdviseAnswer, AdviseManyAnswer, AdvisedMatrix, MatrixSummary};
use sparsight::matrix::{Bytes, Csr, Features, Narrowing, Scalar, Seconds};
use sparsight::{Advisor, Error, Profile};
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
        let mut objective = self.model.objective(self.iterations);
        objective.mixed_precision = self.values.mixed(T::DTYPE, profile.device.facts.kind)?;
        let products = objective.products;
        context.interrupt.listen();
        let bar = context.printer.progress(sources.len() as u64, "advising");
        let (mut advised, mut rows, mut unreadable, mut ended) = (Vec::new(), Vec::new(), 0, Ok(()));
        let mut turned: Option<Csr<T>> = None;
        for (at, source) in (0..).zip(&sources) {
            bar.at(at, source.title());
            ended = context.interrupt.check();
            if ended.is_err() {
                break;
            }
            let mut objective = objective;
            // What was transposed is there already.
            let loaded = turned.take().map_or_else(|| self.load::<T>(source, context), Ok);
            let (features, lost) = match loaded {
                Ok(matrix) => {
                    let lost = objective.mixed_precision.then(|| Narrowing::of(&matrix));
                    if let Some(lost) = lost.as_ref().filter(|lost| lost.too_large > 0) {
                        // It is ranked without.
                        objective.mixed_precision = false;
                        context.printer.warning(format_args!(
                            "{}: {}",
                            source.title(),
                            what_it_changes(lost)
                        ));
                    }
                    let features = Features::of(&matrix);
                    if self.transpose && at % 2 == 0 {
                        turned = Some(sources[at as usize + 1].derived_from(&matrix)?);
                    }
                    (features, lost)
                }
                Err(Failure::Reported { message, .. }) => {
                    context.printer.warning(format_args!("skipped: {message}"));
                    unreadable += 1;
                    continue;
                }
                Err(other) => return Err(other),
            };
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
        }
        drop(bar);
        let answer = AdviseManyAnswer::of(profile, T::DTYPE, products, advised);
        context.printer.answer(&answer, || {
            if self.csv.csv {
                return context.printer.csv(&TABLE, &rows);
            }
            print(&answer, profile, (self.iterations, self.from.as_ref()), context)?;
            // One of a pair may have been skipped.
            let is_pair = |pair: &&[AdvisedMatrix]| {
                self.transpose && pair[1].matrix.name == format!("{}+transpose", pair[0].matrix.name)
            };
            for pair in answer.matrices.windows(2).filter(is_pair) {
                print_pair(&pair[0], &pair[1], context)?;
            }
            Ok(())
        })?;
        ended.map_err(|failure| failure.keeping(|| "what was advised is shown above".to_owned()))?;
        let impossible = answer.matrices.iter().any(|one| one.verdict.is_none());
        Ok(if unreadable > 0 || impossible { Exit::No } else { Exit::Done })
    }
}

/// Time of a matrix and its transpose together, each with its best candidate.
fn print_pair(a: &AdvisedMatrix, transposed: &AdvisedMatrix, context: &Context) -> Result<(), Failure> {
    let known = |of: &AdvisedMatrix| {
        Some((of.verdict.as_ref()?.best, of.prediction.as_ref()?.time.0, of.memory_bytes?.0))
    };
    let (Some((one, time, bytes)), Some((other, more_time, more_bytes))) = (known(a), known(transposed))
    else {
        return Ok(());
    };
    context.printer.line(format_args!(
        "\n{BOLD}A and A^T{BOLD:#}   {}   {} and {}: {} for a product with each, {} on the device",
        a.matrix.name,
        candidate(&one),
        candidate(&other),
        Seconds(time + more_time),
        Bytes(bytes + more_bytes)
    ))
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
        let times = |csr: Option<f64>| csr.map_or_else(|| "-".to_owned(), |speedup| format!("{speedup:.2}"));
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
    let most = lost.map(|lost| lost.relative_error).reduce(f64::max);
    if let Some(most) = most {
        out.line(format_args!(
            "\nWhere the values are stored in f32 (f32-f64), y changes by at most {most:.1e} |A| |x| in each row."
        ))?;
    }
    let means = [(answer.over_vendors_csr, "cuSPARSE's CSR"), (answer.over_plain_csr, "the best plain CSR")];
    let means: Vec<String> = means
        .iter()
        .filter_map(|(mean, what)| mean.map(|mean| format!("{mean:.2} times as fast as {what}")))
        .collect();
    if means.is_empty() {
        return Ok(());
    }
    out.line(format_args!(
        "\nPredicted over all {} (geometric mean): {}.",
        matrices(answer.matrices.len()),
        means.join(", ")
    ))
}
