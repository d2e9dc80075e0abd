//! The top of the page: which matrix on which device, what to use, and why. The words are those of `advise`.

use super::roles::{Roles, measured, name};
use super::{escaped, remark};
use crate::text::{between, counted, grouped, quantity};
use sparsight::TIE;
use sparsight::answer::{MatrixSummary, ReportedAdvice, ReportedCandidate, ReportedTime, ReportedVerdict};
use sparsight::matrix::Seconds;
use std::fmt::Write;

pub(super) fn header(advice: &ReportedAdvice, roles: &Roles<'_>) -> String {
    let products = advice.products.map(|n| format!(", {}", counted(n, "product"))).unwrap_or_default();
    let device = format!("{}, {}{products}", advice.source.device, advice.dtype);
    let sentences = [reasons(advice, roles), what_was_found(advice, roles), less_sure(roles)];
    top(&advice.matrix, &device, &what_to_use(advice, roles), sentences.into_iter().flatten())
}

/// The top of a page: which matrix, where, what to use, and sentences on it.
pub(super) fn top(
    m: &MatrixSummary,
    device: &str,
    what_to_use: &str,
    sentences: impl Iterator<Item = String>,
) -> String {
    let shape = format!(
        "{} x {}, {}, {:.1} a row ({} to {})",
        grouped(m.nrows),
        grouped(m.ncols),
        counted(m.nnz, "non-zero"),
        m.row_mean,
        grouped(m.row_min),
        grouped(m.row_max)
    );
    let mut html = format!("<header id=\"verdict\">\n<h1>{}</h1>\n", escaped(&m.name));
    // Writing to a String does not fail.
    let _ = writeln!(html, "<p class=\"shape\">{}<br>{}</p>", escaped(&shape), escaped(device));
    let _ = writeln!(html, "<p class=\"use\">{}</p>", escaped(what_to_use));
    sentences.for_each(|sentence| html += &remark(&sentence));
    html + "</header>\n"
}

/// A time of one product with its interval; a number and its unit stay in one line.
pub(super) fn a_product(ReportedTime { predicted, low, high }: ReportedTime) -> String {
    let time = predicted.to_string().replace(' ', "\u{a0}");
    format!("{time} a product (90\u{a0}%:\u{a0}{})", between(low, high))
}

/// What a candidate is ranked by: one product, or all of them with conversion and upload.
fn cost(advice: &ReportedAdvice, candidate: &ReportedCandidate) -> Option<Seconds> {
    match (advice.products, candidate.in_all) {
        (Some(_), Some(in_all)) => Some(in_all),
        _ => candidate.time.map(|time| time.predicted),
    }
}

fn what_to_use(advice: &ReportedAdvice, roles: &Roles<'_>) -> String {
    let gains_nothing = advice.verdict.as_ref().is_some_and(|verdict| verdict.gains_nothing);
    let (words, chosen) = match roles.plain_csr.filter(|_| gains_nothing) {
        Some(csr) => ("CSR as it is is as good as anything:", Some(csr)),
        None => ("Use", roles.best),
    };
    let Some((chosen, time)) = chosen.and_then(|one| Some((one, one.time?))) else {
        return "No candidate is possible.".to_owned();
    };
    let all = advice.products.zip(chosen.in_all).map_or_else(String::new, |(n, in_all)| {
        format!("; {in_all} in all for {} with conversion and upload", counted(n, "product"))
    });
    let colon = if gains_nothing { "," } else { ":" };
    format!("{words} {}{colon} {}{all}.", name(chosen), a_product(time))
}

fn reasons(advice: &ReportedAdvice, roles: &Roles<'_>) -> Option<String> {
    let (verdict, best) = (advice.verdict.as_ref()?, roles.best?);
    let mut sentences = Vec::new();
    let in_all = if advice.products.is_some() { " in all" } else { "" };
    let faster = |what: &str, csr: Option<&ReportedCandidate>, compared: &Option<(String, f64)>| {
        let (csr, (_, speedup)) = csr.filter(|csr| csr.id != best.id).zip(compared.as_ref())?;
        let time = csr.time?.predicted;
        Some(if *speedup <= 1.0 + TIE {
            format!("as fast{in_all} as {what} ({time})")
        } else {
            format!("{speedup:.1} times as fast{in_all} as {what} ({time})")
        })
    };
    let vendors = faster("cuSPARSE's CSR", roles.vendors_csr, &verdict.vendors_csr);
    let plain = faster("the best plain CSR", roles.plain_csr, &verdict.plain_csr);
    let gains: Vec<String> = vendors.into_iter().chain(plain.filter(|_| !verdict.gains_nothing)).collect();
    if !gains.is_empty() {
        sentences.push(format!("Predicted {}.", gains.join(", ")));
    }
    if let Some(products) = best.pays_off_after.filter(|&n| n > 0 && !verdict.gains_nothing) {
        sentences.push(format!("Worth converting from {} on.", counted(products, "product")));
    }
    sentences.extend(as_good(verdict, roles));
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn as_good(verdict: &ReportedVerdict, roles: &Roles<'_>) -> Option<String> {
    let soonest = roles.soonest_ready.filter(|soonest| soonest.id != verdict.best && !verdict.gains_nothing);
    let ready = soonest.zip(roles.best).and_then(|(soonest, best)| {
        let (soon, best) = (soonest.conversion?, best.conversion?);
        (soon.0 < 0.9 * best.0).then(|| format!("; {} is the soonest ready, in {soon}", name(soonest)))
    });
    let ready = ready.unwrap_or_default();
    match verdict.equal.len() {
        0 => None,
        1 => Some(format!("One other kernel is as good{ready}.")),
        more => Some(format!("{more} other kernels are as good{ready}.")),
    }
}

/// Of what was measured.
fn what_was_found(advice: &ReportedAdvice, roles: &Roles<'_>) -> Option<String> {
    let timed = || advice.candidates.iter().filter_map(|one| Some((one, measured(one)?)));
    let (fastest, least) = timed().min_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let compared = [("cuSPARSE's CSR", roles.vendors_csr), ("the best plain CSR", roles.plain_csr)];
    let beside = compared
        .into_iter()
        .filter_map(|(what, csr)| Some((what, measured(csr.filter(|csr| csr.id != fastest.id)?)?)))
        .fold(String::new(), |mut text, (what, time)| {
            // A string takes everything.
            let _ = write!(text, ", {:.1} times as fast as {what} ({time})", time.0 / least.0);
            text
        });
    Some(format!("Measured: {} is the fastest of {}, {least}{beside}.", name(fastest), timed().count()))
}

fn less_sure(roles: &Roles<'_>) -> Option<String> {
    let words: Vec<&str> = roles.best?.extrapolates.iter().map(|name| quantity(name)).collect();
    (!words.is_empty())
        .then(|| format!("Less sure: the matrix lies beyond what was measured in {}.", words.join(", ")))
}

/// How long candidates are at work in all, and by which they are ranked: for the caption of times.
pub(super) fn ranked_by(advice: &ReportedAdvice, roles: &Roles<'_>) -> Option<String> {
    let in_all = cost(advice, roles.best?)?;
    advice.products.map(|n| {
        format!(
            "Ranked by {} with conversion and upload: the first takes {in_all} in all.",
            counted(n, "product")
        )
    })
}
