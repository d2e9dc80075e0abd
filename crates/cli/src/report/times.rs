//! Panel of the times of one product: a bar for the best block size of each kernel, its 90 % interval, and the measured time.

use super::reported::{ReportedAdvice, ReportedCandidate, ReportedTime};
use super::roles::{Roles, best_of_each_kernel, name};
use super::{Panel, remark, verdict};
use crate::svg::{Anchor, Svg, WIDTH, cut, text_width};
use crate::text::{between, counted};
use sparsight::matrix::Seconds;
use std::collections::HashSet;

/// Height of a row: a name and a time, and the bar below.
pub(super) const ROW: f64 = 31.0;
const BAR: f64 = 7.0;
/// Width of a time.
const NUMBER: f64 = 66.0;
/// Most kernels without a role or a measured time. Chosen: as high as two pictures beside it.
const KERNELS: usize = 22;
/// Largest time over the fastest: slower kernels are left out, and longer bars are cut off. Chosen.
const FULL: f64 = 6.0;

pub(super) fn panel(advice: &ReportedAdvice, roles: &Roles<'_>) -> Option<Panel> {
    let mut all: Vec<_> =
        best_of_each_kernel(advice, roles).into_iter().filter_map(|one| Some((one, one.time()?))).collect();
    // By what is drawn: with a number of products they are ranked by the time in all.
    all.sort_by(|(_, a), (_, b)| a.predicted.0.total_cmp(&b.predicted.0));
    let fastest = all.iter().map(|(_, time)| time.predicted.0).min_by(f64::total_cmp)?;
    let kept = all.iter().skip(KERNELS).filter(|(one, _)| is_kept(one, roles)).count();
    let is_shown = |&(place, (one, time)): &(usize, &(&ReportedCandidate, ReportedTime))| {
        let is_near = place + kept < KERNELS && time.predicted.0 <= FULL * fastest;
        is_near || is_kept(one, roles)
    };
    let shown: Vec<_> = all.iter().enumerate().filter(is_shown).map(|(_, one)| *one).collect();
    let slowest = |(one, time): &(&ReportedCandidate, ReportedTime)| {
        let whisker = time.high.0.min(2.0 * time.predicted.0);
        one.measured_s.map_or(whisker, |time| time.0.max(whisker))
    };
    let longest = shown.iter().map(slowest).fold(fastest, f64::max).min(FULL * fastest);
    let equal: HashSet<&str> =
        advice.verdict.iter().flat_map(|verdict| verdict.equal.iter().map(String::as_str)).collect();
    let mut svg = Svg::new(ROW * shown.len() as f64);
    for (row, &(one, time)) in shown.iter().enumerate() {
        let class = match () {
            () if roles.best.is_some_and(|best| best.id == one.id) => "best",
            () if roles.role(one).is_some() => "plain",
            () if equal.contains(one.id.as_str()) => "equal",
            () => "other",
        };
        let top = ROW * row as f64;
        let bare = name(one).replace(" (vendor)", "");
        let called = roles.role(one).map(|role| format!("{bare} \u{b7} {role}"));
        let timed = Timed { says: &bare, time: Some(time), measured: one.measured_s, class };
        words(&mut svg, top + 13.0, called.iter().chain([&bare]), &timed);
        bar(&mut svg, top + 19.0, &timed, longest);
    }
    let mut body = svg.finish("predicted times of one product, a bar for each kernel");
    let is_cut = shown.iter().any(|(_, time)| time.predicted.0 > longest);
    body += &remark(&caption(&shown, !equal.is_empty(), is_cut));
    body += &verdict::ranked_by(advice, roles).map(|text| remark(&text)).unwrap_or_default();
    let left = all.len() - shown.len();
    if left > 0 {
        let slowest = all.iter().map(|(_, time)| time.predicted.0).fold(fastest, f64::max) / fastest;
        let kernels = counted(left as u64, "kernel");
        body += &remark(&format!("Not shown: {kernels}, up to {slowest:.0} times as slow as the fastest."));
    }
    Some(Panel { id: "times", title: "One product, kernel by kernel", body })
}

/// A row of the picture.
pub(super) struct Timed<'a> {
    /// Tooltip of the bar.
    pub(super) says: &'a str,
    /// Predicted time; `None` if there is only a measured one.
    pub(super) time: Option<ReportedTime>,
    pub(super) measured: Option<Seconds>,
    pub(super) class: &'static str,
}

/// Draws the first of `names` that fits, or the beginning of the last, and the times.
pub(super) fn words<'n>(
    svg: &mut Svg,
    base: f64,
    names: impl Iterator<Item = &'n String>,
    timed: &Timed<'_>,
) {
    let mut right = WIDTH;
    if let Some(found) = timed.measured {
        svg.text("measured", (right, base), Anchor::End, &found.to_string());
        right -= NUMBER;
    }
    let number = if right < WIDTH { "tick" } else { "number" };
    if let Some(time) = timed.time {
        svg.text(number, (right, base), Anchor::End, &time.predicted.to_string());
    }
    let room = right - NUMBER;
    let mut called = "";
    for name in names {
        called = name;
        if text_width(called) <= room {
            break;
        }
    }
    let class = if timed.class == "best" { "strong" } else { "" };
    svg.text(class, (0.0, base), Anchor::Start, &cut(called, room));
}

/// Draws the bar, its interval and the measured time.
pub(super) fn bar(svg: &mut Svg, top: f64, timed: &Timed<'_>, longest: f64) {
    let place = |seconds: f64| (seconds / longest).min(1.0) * WIDTH;
    let middle = top + BAR / 2.0;
    if let Some(time) = timed.time {
        let says = format!("{}: {}, {}", timed.says, time.predicted, between(time.low, time.high));
        svg.rect(timed.class, (0.0, top), (place(time.predicted.0).max(1.0), BAR), &says);
        if time.predicted.0 > longest {
            svg.rect("cut", (WIDTH - 12.0, top), (3.0, BAR), "longer than is drawn");
        } else {
            let (low, high) = (place(time.low.0), place(time.high.0));
            svg.line("whisker", (low, middle), (high, middle));
            svg.line("whisker", (low, middle - 3.0), (low, middle + 3.0));
            if time.high.0 <= longest {
                svg.line("whisker", (high, middle - 3.0), (high, middle + 3.0));
            }
        }
    }
    if let Some(found) = timed.measured {
        let at = place(found.0).clamp(4.0, WIDTH - 4.0);
        svg.dot("measured", (at, middle), 4.0, &format!("measured: {found}"));
    }
}

fn is_kept(candidate: &ReportedCandidate, roles: &Roles<'_>) -> bool {
    candidate.measured_s.is_some() || roles.role(candidate).is_some()
}

fn caption(shown: &[(&ReportedCandidate, ReportedTime)], has_equal: bool, is_cut: bool) -> String {
    let mut text =
        "Bar: predicted, at the best block size. Line over it: where nine of ten times lie.".to_owned();
    if shown.iter().any(|(one, _)| one.measured_s.is_some()) {
        text += " Dot, and the number in its colour: measured.";
    }
    if has_equal {
        text += " Light blue: as good as the best, within 5 %.";
    }
    if is_cut {
        text += " A bar with a gap near its end is longer than is drawn.";
    }
    text
}
