//! Sentences of `advise` that stand by themselves.

use crate::reordering::Order;
use crate::text::{self, candidate, counted, grouped, not_possible, words};
use sparsight::advise::{Advised, RunNow, TIE, Verdict, Why};
use sparsight::answer::ReorderedAnswer;
use sparsight::kernels::Kernel;
use sparsight::models::ModelName;
use sparsight::profile::Nearby;
use sparsight::{Advice, Profile};
use std::collections::{BTreeMap, BTreeSet};

/// `reordered by reverse Cuthill-McKee in 258 ms: bandwidth 215,929 -> 2,730; 2.11 times as fast as 11.4 us as it is
/// (sell c32 s1 b128), pays off after 42,954 products with x and y in the new order`.
pub(super) fn what_it_brings(order: Order, reordered: &ReorderedAnswer) -> String {
    let ReorderedAnswer { reorder_s: took, speedup, pays_off_after, in_all_s, .. } = reordered;
    let [before, after] = reordered.bandwidth.map(grouped);
    let order = format!("reordered by {} in {took}: bandwidth {before} -> {after}", order.name());
    let Some((best, &speedup)) = reordered.as_it_is.as_ref().zip(speedup.as_ref()) else { return order };
    let as_it_is = format!("{} as it is ({})", best.prediction.time, candidate(&best.candidate.id));
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
        let saved = best.prediction.time.0 * (1.0 - 1.0 / speedup);
        let lost = if vectors.0 >= saved { ", more than is gained" } else { "" };
        format!("; bringing x and y there and back in every product would add about {vectors}{lost}")
    });
    format!("{order}; {compared}, {worth}{}", vectors.unwrap_or_default())
}

/// `nearest training matrices: d/brack2 (0.20), b/osm_rnv (0.25); closer to them than 40 % of the training matrices are to theirs`.
pub(super) fn what_is_nearby(nearby: &Nearby) -> String {
    let names = nearby.nearest.iter().map(|near| format!("{} ({:.2})", near.matrix, near.distance));
    let names = names.collect::<Vec<_>>().join(", ");
    let share = 100.0 * (1.0 - nearby.farther_than);
    let how_far = match nearby.farther_than {
        far if far > 0.9 => "unlike the training matrices: intervals may be too narrow".to_owned(),
        _ => format!("closer to them than {share:.0} % of the training matrices are to theirs"),
    };
    format!("nearest training matrices: {names}; {how_far}")
}

/// `3`, or `= 3` where it is as good as the first.
pub(super) fn place(rank: usize, advised: &Advised, verdict: &Verdict<'_>) -> String {
    let is_equal = rank > 1 && verdict.is_as_good(advised);
    if is_equal { format!("= {rank}") } else { rank.to_string() }
}

pub(super) fn pays_off(advised: &Advised, run_now: Option<RunNow>) -> String {
    match (advised.pays_off_after, run_now) {
        (_, Some(now)) if now.is(advised.candidate) => "run now".to_owned(),
        (Some(products), _) => counted(products, "product"),
        (None, Some(now)) if advised.preparation.is_some() && now.preparation.is_some() => "never".to_owned(),
        _ => "?".to_owned(),
    }
}

/// `predicted by the model boosting, learned from measured matrices; coo by linear; hyb by strip-cache, of which nothing was learned`:
/// what `best` asked.
/// Nothing where a model was named, or where the profile learned nothing at all.
pub(super) fn answering(advice: &Advice, profile: &Profile) -> Option<String> {
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
    let learned = if most.is_learned() { ", learned from measured matrices" } else { "" };
    let mut words = vec![format!("predicted by the model {most}{learned}")];
    for (model, of) in kernels.iter().filter(|(model, _)| **model != most) {
        let names: Vec<String> = of.iter().map(text::words).collect();
        let why = if *model == profile.strip_model() { ", of which nothing was learned" } else { "" };
        words.push(format!("{} by {model}{why}", names.join(", ")));
    }
    Some(words.join("; "))
}

/// `not possible: ell (would pad by 80.0x, the limit is 8x)`, and what nothing is known of; the vendor's routines
/// aside, whose times no profile needs to hold.
pub(super) fn refusals(advice: &Advice) -> Option<String> {
    let mut impossible = Vec::new();
    let mut unknown = BTreeSet::new();
    for r in &advice.refused {
        let kernel = r.candidate.kernel;
        match &r.why {
            // Its formats are ours, or like them.
            _ if kernel.is_vendors() => {}
            Why::Infeasible(why) => impossible.push((why.to_string(), words(kernel.format()))),
            Why::NoModel(_) | Why::Unmeasured(_) => {
                unknown.insert(words(kernel));
            }
        }
    }
    let mut lines = Vec::from_iter(not_possible(impossible));
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
pub(super) fn extrapolations(shown: &[(usize, &Advised)]) -> Option<String> {
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
