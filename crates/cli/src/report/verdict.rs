//! Top of the page: matrix, device, the candidate to use, and the reasons, in the words of `advise`.

use super::remark;
use super::reported::{ReportedAdvice, ReportedCandidate, ReportedTime, ReportedVerdict};
use super::roles::{Roles, name};
use crate::svg::escaped;
use crate::text::{between, counted, quantity, shape, times_as_fast};
use sparsight::answer::{AdviseAnswer, MatrixSummary};
use sparsight::matrix::{Format, Seconds};
use std::fmt::Write;

/// Sentences about an answer of `advise`, on its page and in a terminal.
pub(crate) struct Sentences {
    /// The candidate to use.
    pub(crate) recommended: String,
    /// Its gain, when converting pays off, and what is as good.
    pub(crate) compared: Option<String>,
    /// The fastest of the measured candidates.
    pub(crate) found: Option<String>,
}

impl Sentences {
    /// For a terminal. `now`: the gain over what is run now, if that is named.
    pub(crate) fn of(answer: &AdviseAnswer, now: Option<String>) -> Self {
        let advice = &*ReportedAdvice::of(answer);
        let roles = Roles::of(advice);
        let time = |ReportedTime { predicted, low, high }: ReportedTime| {
            format!("{predicted} a product, {}", between(low, high))
        };
        Self {
            recommended: what_to_use(advice, &roles, time),
            compared: compared(advice, &roles, now),
            found: what_was_found(advice, &roles),
        }
    }
}

pub(super) fn header(advice: &ReportedAdvice, roles: &Roles<'_>) -> String {
    let products = advice.products.map(|n| format!(", {}", counted(n, "product"))).unwrap_or_default();
    let device = format!("{}, {}{products}", advice.device.name, advice.dtype);
    let reasons: Vec<&str> = advice.reasons.iter().flatten().map(|reason| reason.text.as_str()).collect();
    let why = (!reasons.is_empty()).then(|| reasons.join(" "));
    let now = roles.run_now.filter(|now| roles.role(now) == Some("run now"));
    let now = now.and_then(|now| faster(advice, roles, "what is run now", Some(now)));
    let sentences = [compared(advice, roles, now), why, what_was_found(advice, roles), less_sure(roles)];
    top(&advice.matrix, &device, &what_to_use(advice, roles, a_product), sentences.into_iter().flatten())
}

/// Top of a page: matrix, device, the candidate to use, and sentences.
pub(super) fn top(
    m: &MatrixSummary,
    device: &str,
    what_to_use: &str,
    sentences: impl Iterator<Item = String>,
) -> String {
    let shape = shape(m, ", ");
    let mut html = format!("<header id=\"verdict\">\n<h1>{}</h1>\n", escaped(&m.name));
    // Writing to a String does not fail.
    let _ = writeln!(html, "<p class=\"shape\">{}<br>{}</p>", escaped(&shape), escaped(device));
    let _ = writeln!(html, "<p class=\"use\">{}</p>", escaped(what_to_use));
    sentences.for_each(|sentence| html += &remark(&sentence));
    html + "</header>\n"
}

/// Time of one product with its interval, in words; a number and its unit stay on one line.
pub(super) fn a_product(ReportedTime { predicted, low, high }: ReportedTime) -> String {
    let time = predicted.to_string().replace(' ', "\u{a0}");
    format!("{time} a product (90\u{a0}%:\u{a0}{})", between(low, high))
}

/// Time by which a candidate is ranked: of one product, or of all of them with conversion and upload.
fn cost(advice: &ReportedAdvice, candidate: &ReportedCandidate) -> Option<Seconds> {
    match (advice.products, candidate.in_all_s) {
        (Some(_), Some(in_all)) => Some(in_all),
        _ => candidate.time().map(|time| time.predicted),
    }
}

fn what_to_use(
    advice: &ReportedAdvice,
    roles: &Roles<'_>,
    a_product: impl Fn(ReportedTime) -> String,
) -> String {
    if advice.matrix.nnz == 0 && roles.best.is_some() {
        return "CSR is as good as anything: there are no non-zeros to multiply.".to_owned();
    }
    let gains_nothing = advice.verdict.as_ref().is_some_and(|verdict| verdict.gains_nothing);
    let words = match gains_nothing {
        true if stays_in_csr(advice) => "Stay with CSR:",
        true => "CSR is as good as anything:",
        false => "Use",
    };
    let Some((chosen, time)) = roles.recommended.and_then(|one| Some((one, one.time()?))) else {
        return "No candidate is possible.".to_owned();
    };
    let all = advice.products.zip(chosen.in_all_s).map_or_else(String::new, |(n, in_all)| {
        format!("; {in_all} in all for {} with conversion and upload", counted(n, "product"))
    });
    let colon = if gains_nothing { "," } else { ":" };
    format!("{words} {}{colon} {}{all}.", name(chosen), a_product(time))
}

/// True if only CSR is the best or as good.
fn stays_in_csr(advice: &ReportedAdvice) -> bool {
    let reads_csr =
        |id: &String| advice.candidate(id).is_some_and(|one| one.format == Format::csr().to_string());
    advice
        .verdict
        .as_ref()
        .is_some_and(|verdict| reads_csr(&verdict.best) && verdict.equal.iter().all(reads_csr))
}

/// Gain of the recommended candidate over another one.
fn faster(
    advice: &ReportedAdvice,
    roles: &Roles<'_>,
    what: &str,
    other: Option<&ReportedCandidate>,
) -> Option<String> {
    let (used, in_all) = (roles.recommended?, if advice.products.is_some() { " in all" } else { "" });
    let other = other.filter(|other| other.id != used.id)?;
    let (speedup, time) = (cost(advice, other)?.0 / cost(advice, used)?.0, other.time()?.predicted);
    Some(format!("{} as {what} ({time})", times_as_fast(speedup, in_all)))
}

fn compared(advice: &ReportedAdvice, roles: &Roles<'_>, now: Option<String>) -> Option<String> {
    let verdict = advice.verdict.as_ref().filter(|_| advice.matrix.nnz > 0)?;
    roles.recommended?;
    let mut sentences = Vec::new();
    let vendors = faster(advice, roles, "cuSPARSE's CSR", roles.vendors_csr);
    let plain = faster(advice, roles, "the best plain CSR", roles.plain_csr);
    let gains: Vec<String> = now.into_iter().chain(vendors).chain(plain).collect();
    if !gains.is_empty() {
        sentences.push(format!("Predicted {}.", gains.join(", ")));
    }
    sentences.extend(verdict.break_even.clone());
    sentences.extend(as_good(verdict, roles));
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// `Within 5 % of the fastest, hyb b256 (3.19 us), and sooner ready: in 1.04 ms, not 1.45 ms. One other kernel is as good.`
fn as_good(verdict: &ReportedVerdict, roles: &Roles<'_>) -> Option<String> {
    let (used, best) = (roles.recommended?, roles.best?);
    let is_sooner = used.id != best.id && !verdict.gains_nothing;
    let first = best.time().zip(used.conversion_s).filter(|_| is_sooner).map(|(time, ready)| {
        let later = best.conversion_s.map_or_else(String::new, |later| format!(", not {later}"));
        let (first, time) = (name(best), time.predicted);
        format!("Within 5 % of the fastest, {first} ({time}), and sooner ready: in {ready}{later}.")
    });
    let more = match verdict.equal.len().saturating_sub(usize::from(first.is_some())) {
        0 => None,
        1 => Some("One other kernel is as good.".to_owned()),
        more => Some(format!("{more} other kernels are as good.")),
    };
    let sentences: Vec<String> = first.into_iter().chain(more).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// The fastest of the measured candidates, in words.
fn what_was_found(advice: &ReportedAdvice, roles: &Roles<'_>) -> Option<String> {
    let timed = || advice.candidates.iter().filter_map(|one| Some((one, one.measured_s?)));
    let (fastest, least) = timed().min_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    // Which plain CSR is the best is known better now than when it was predicted.
    let plain = timed().filter(|(one, _)| one.is_plain_csr()).min_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let plain_csr = plain.map(|(one, _)| one);
    let compared = [("cuSPARSE's CSR", roles.vendors_csr), ("the best plain CSR", plain_csr)];
    let beside = compared
        .into_iter()
        .filter_map(|(what, csr)| Some((what, csr.filter(|csr| csr.id != fastest.id)?.measured_s?)))
        .fold(String::new(), |mut text, (what, time)| {
            // A string takes everything.
            let _ = write!(text, ", {:.1} times as fast as {what} ({time})", time.0 / least.0);
            text
        });
    Some(format!("Measured: {} is the fastest of {}, {least}{beside}.", name(fastest), timed().count()))
}

fn less_sure(roles: &Roles<'_>) -> Option<String> {
    let words: Vec<&str> =
        roles.best?.extrapolates.iter().flatten().map(|beyond| quantity(&beyond.quantity)).collect();
    (!words.is_empty())
        .then(|| format!("Less sure: the matrix lies beyond what was measured in {}.", words.join(", ")))
}

/// The first candidate by all products, in words, since the picture is sorted by one.
pub(super) fn ranked_by(advice: &ReportedAdvice, roles: &Roles<'_>) -> Option<String> {
    let best = roles.best?;
    let in_all = cost(advice, best)?;
    advice.products.map(|n| {
        format!(
            "Sorted by one product. With conversion, upload and {} the first is {}: {in_all} in all.",
            counted(n, "product"),
            name(best)
        )
    })
}
