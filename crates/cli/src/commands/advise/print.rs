//! Text of `advise`: the verdict, the ranking and the remarks below it.

use super::Advise;
use super::remarks::{answering, extrapolations, pays_off, place, refusals};
use crate::context::Context;
use crate::failure::Failure;
use crate::report::Sentences;
use crate::table::{Table, cell_or};
use crate::text::{self, BOLD, between, candidate, counted, heading, of_bandwidth, times_as_fast};
use sparsight::advise::{Advised, RunNowKind, Verdict};
use sparsight::answer::AdviseAnswer;
use sparsight::kernels::{Candidate, Kernel};
use sparsight::matrix::Seconds;
use sparsight::records::Outcome;
use sparsight::run::Verified;
use sparsight::{Advice, Profile};
use std::collections::BTreeSet;
use std::num::NonZeroU64;

impl Advise {
    pub(super) fn print(
        &self,
        answer: &AdviseAnswer,
        profile: &Profile,
        advice: &Advice,
        (verified, remarks): (Option<&Verified>, [Option<String>; 2]),
        context: &Context,
    ) -> Result<(), Failure> {
        let out = &context.printer;
        out.line(text::title(&answer.matrix))?;
        let products =
            self.iterations.map(|n| format!("   {}", counted(n.get(), "product"))).unwrap_or_default();
        let assumed = text::assumed(&profile.device);
        out.line(format_args!("{}{products}{assumed}", heading(profile, context.dtype())))?;
        out.line("")?;
        let mut shown = Vec::new();
        let mut legend = None;
        if let Some(verdict) = advice.verdict(self.iterations.map(NonZeroU64::get)) {
            let said = Sentences::of(answer, self.gain_over_now(&verdict));
            out.line(format_args!("{BOLD}{}{BOLD:#}", said.recommended))?;
            let next = answer.next_run.as_ref().map_or_else(String::new, |next| {
                let (name, gain) = (candidate(&next.candidate.id), next.gain_s);
                format!(" To run one more, {name}, may be expected to gain {gain} a product.")
            });
            let found = said.found.map(|found| found + &next);
            if advice.is_empty {
                return found.map_or(Ok(()), |found| out.line(found));
            }
            let reasons: Vec<&str> = answer.reasons.iter().map(|reason| reason.text.as_str()).collect();
            let reasons = Some(reasons.join(" ")).filter(|reasons| !reasons.is_empty());
            for sentences in [said.compared, reasons, found].into_iter().flatten() {
                out.line(sentences)?;
            }
            out.line("")?;
            let [first, beside] = self.shown(advice, &verdict, verified, context.top());
            out.line(self.ranking([&first, &beside], &verdict, verified))?;
            shown = [first, beside].concat();
            out.line("")?;
            legend = Some(self.legend(&verdict, advice, &shown)).filter(|legend| !legend.is_empty());
        } else {
            out.line("no candidate is possible")?;
        }
        let more = [legend, answering(advice, profile), refusals(advice), extrapolations(&shown)];
        for remark in remarks.into_iter().chain(more).flatten() {
            out.line(format_args!("  {remark}"))?;
        }
        for (name, outcome) in verified.iter().flat_map(|verified| &verified.measured) {
            if let Outcome::Failed { failed } = outcome {
                out.warning(format_args!("{}: {failed}", candidate(name)));
            }
        }
        Ok(())
    }

    /// `1.9 times as fast as scipy's CSR on one thread of this processor (1.2 ms)`: the gain over what `--from` names.
    fn gain_over_now(&self, verdict: &Verdict<'_>) -> Option<String> {
        let used = verdict.recommended();
        let now = verdict.run_now.filter(|now| matches!(now.kind, RunNowKind::Named | RunNowKind::Scipy));
        let now = now.filter(|now| !now.is(used.candidate))?;
        let speedup = now.cost(self.iterations.map(NonZeroU64::get)).0 / self.cost(used)?.0;
        let in_all = if self.iterations.is_some() { " in all" } else { "" };
        Some(format!("{} as {now} ({})", times_as_fast(speedup, in_all), now.time))
    }

    /// The rows of the table by their place in the ranking: the best block size of the first `top` kernels, or every candidate
    /// with `--all`; then what the verdict compares with and what was measured of the others.
    fn shown<'a>(
        &self,
        advice: &'a Advice,
        verdict: &Verdict<'_>,
        verified: Option<&Verified>,
        top: usize,
    ) -> [Vec<(usize, &'a Advised)>; 2] {
        let mut kernels = BTreeSet::new();
        let compared = [verdict.plain_csr, verdict.vendors_csr].into_iter().flatten().map(|a| a.candidate);
        let compared: Vec<Candidate> = compared.chain(verdict.run_now.map(|now| now.candidate)).collect();
        let (mut first, mut beside) = (Vec::new(), Vec::new());
        for (rank, advised) in (1..).zip(&advice.ranked) {
            let is_first = kernels.insert((advised.candidate.kernel, advised.candidate.dtype)) || self.all;
            let was_run = || verified.is_some_and(|v| v.measured.contains_key(&advised.candidate));
            if is_first && first.len() < top {
                first.push((rank, advised));
            } else if compared.contains(&advised.candidate) || was_run() {
                beside.push((rank, advised));
            }
        }
        [first, beside]
    }

    fn ranking(
        &self,
        [first, beside]: [&[(usize, &Advised)]; 2],
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
        for (at, &(rank, advised)) in first.iter().chain(beside).enumerate() {
            if at == first.len() {
                table.row(["", "for comparison:"]);
            }
            let prediction = &advised.prediction;
            let mut cells = vec![
                place(rank, advised, verdict),
                candidate(&advised.candidate),
                prediction.time.to_string(),
                between(prediction.low, prediction.high),
                of_bandwidth(advised.bandwidth_fraction),
                cell_or("?", advised.preparation),
                pays_off(advised, verdict.run_now),
            ];
            if self.iterations.is_some() {
                cells.push(cell_or("?", self.cost(advised)));
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

    /// The ranking criterion: one product, or with `--iterations` conversion, upload and all products, if they are known.
    fn cost(&self, advised: &Advised) -> Option<Seconds> {
        let Some(products) = self.iterations else { return Some(advised.prediction.time) };
        advised.in_all(products.get())
    }

    /// `= as good as the first, within 5 %; 33 kernels more: --top 43; every block size: --all`.
    fn legend(&self, verdict: &Verdict<'_>, advice: &Advice, shown: &[(usize, &Advised)]) -> String {
        let of = |all: &mut dyn Iterator<Item = Kernel>| all.collect::<BTreeSet<_>>().len();
        let all = of(&mut advice.ranked.iter().map(|advised| advised.candidate.kernel));
        let more = all - of(&mut shown.iter().map(|(_, advised)| advised.candidate.kernel));
        let rows = if self.all { advice.ranked.len() } else { all };
        let kernels = (more > 0).then(|| format!("{} more: `--top {rows}`", counted(more as u64, "kernel")));
        let sizes = (!self.all).then(|| "every block size: `--all`".to_owned());
        let marked = shown.iter().skip(1).any(|(_, advised)| verdict.is_as_good(advised));
        let equal = marked.then(|| "= as good as the first, within 5 %".to_owned());
        let columns = Some("columns: `sparsight advise --help`".to_owned());
        let words: Vec<String> = equal.into_iter().chain(kernels).chain(sizes).chain(columns).collect();
        words.join("; ")
    }
}
