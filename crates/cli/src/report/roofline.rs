//! Panel of the roofline: achieved memory rate over the bytes that a product cannot avoid moving.

use super::axis::{Axis, Frame, range};
use super::labels::Labels;
use super::reported::{ReportedAdvice, ReportedCandidate, ReportedTime};
use super::roles::{Roles, best_of_each_kernel, name};
use super::{Panel, remark};
use crate::svg::{Anchor, Svg, WIDTH, inside, text_width};
use crate::text::percent;
use sparsight::matrix::Bytes;

const FRAME: Frame = Frame::new(344.0, 24.0, (66.0, WIDTH - 8.0));
/// Largest ratio of the sizes of cache and matrix for which the cache is shown. Chosen: three powers of ten.
const FAR: f64 = 1e3;

pub(super) fn panel(advice: &ReportedAdvice, roles: &Roles<'_>) -> Option<Panel> {
    let known = |one| -> Option<(&ReportedCandidate, f64, ReportedTime)> {
        let one: &ReportedCandidate = one;
        Some((one, one.bytes.filter(|bytes| bytes.0 > 0)?.0 as f64, one.time()?))
    };
    let points: Vec<_> = best_of_each_kernel(advice, roles).into_iter().filter_map(known).collect();
    // The axes hold the candidates with a role; others are drawn if they lie within.
    let named: Vec<_> =
        roles.named().into_iter().filter_map(|(one, role, class)| Some((known(one)?, role, class))).collect();
    if named.is_empty() {
        return None;
    }
    let (fewest, most) = range(named.iter().map(|((_, bytes, _), ..)| *bytes));
    let cache = advice
        .cache()
        .map(|cache| cache.0 as f64)
        .filter(|cache| fewest / FAR < *cache && *cache < most * FAR);
    let (fewest, most) = range([fewest, most].into_iter().chain(cache));
    let x = Axis { values: (fewest / 4.0, most * 4.0), places: FRAME.x };
    let rates = named.iter().flat_map(|((_, bytes, time), ..)| [bytes / time.low.0, bytes / time.high.0]);
    let (slowest, fastest) = range(rates.chain(within(advice, x.values.1)));
    let y = Axis { values: (slowest / 3.0, fastest * 3.0), places: FRAME.y };

    let mut svg = Svg::new(FRAME.height);
    x.draw_grid(&y, &mut svg, ["B", "B/s"], "bytes that a product cannot avoid moving");
    let mut labels = Labels::default();
    if let Some(cache) = cache {
        svg.line("mark", (x.at(cache), FRAME.y.1), (x.at(cache), FRAME.y.0));
        let text = format!("cache {}", Bytes(cache as u64));
        let at = (inside(x.at(cache), &text), FRAME.y.1 - 8.0);
        labels.place(&mut svg, "note", at, Anchor::Middle, &text, (0.0, FRAME.y.1));
    }
    roof(advice, (&x, &y), &mut svg, &mut labels);
    for (one, bytes, time) in &points {
        if !x.holds(*bytes) || !y.holds(bytes / time.predicted.0) {
            continue;
        }
        let says = format!("{}: {} at {}", name(one), rate(bytes / time.predicted.0), Bytes(*bytes as u64));
        svg.dot("other", (x.at(*bytes), y.at(bytes / time.predicted.0)), 2.5, &says);
    }
    let middle = points.iter().map(|(_, bytes, _)| x.at(*bytes)).sum::<f64>() / points.len() as f64;
    let place = |bytes: f64, seconds: f64| (x.at(bytes), y.at(bytes / seconds));
    for ((_, bytes, time), ..) in &named {
        let (at, height) = place(*bytes, time.predicted.0);
        labels.keep_off([at - 5.0, height - 5.0, at + 5.0, height + 5.0]);
    }
    for ((one, bytes, time), role, class) in named {
        let (at, height) = place(bytes, time.predicted.0);
        svg.line("whisker", place(bytes, time.low.0), place(bytes, time.high.0));
        let says = |seconds: f64| format!("{role}: {}", rate(bytes / seconds));
        svg.dot(class, (at, height), 4.5, &says(time.predicted.0));
        if let Some(found) = one.measured_s {
            svg.dot("measured", place(bytes, found.0), 3.5, &format!("measured, {}", says(found.0)));
        }
        // Away from the others, if there is room.
        let width = text_width(role) + 10.0;
        let to_the_right = if at > middle { at + width < FRAME.x.1 } else { at - width < FRAME.x.0 };
        let (beside, anchor) = if to_the_right { (at + 9.0, Anchor::Start) } else { (at - 9.0, Anchor::End) };
        labels.place(
            &mut svg,
            class,
            (beside, height + 4.0),
            anchor,
            role,
            (FRAME.y.1 + 12.0, FRAME.y.0 - 4.0),
        );
    }
    let mut body = svg.finish("bytes moved in a second against bytes moved");
    body += &remark(&caption(advice, roles));
    Some(Panel { id: "roofline", title: "How near to the memory's rate", body })
}

/// Largest rate, bytes per second: bounded by the launch for few bytes and by the copy rate for many.
fn within(advice: &ReportedAdvice, bytes: f64) -> Option<f64> {
    let copy = advice.device.copy_rate()?;
    Some(advice.device.launch().map_or(copy, |launch| copy.min(bytes / launch.0)))
}

/// Draws the limit of the device: launch cost and copy rate.
fn roof(advice: &ReportedAdvice, (x, y): (&Axis, &Axis), svg: &mut Svg, labels: &mut Labels) {
    let Some(copy) = advice.device.copy_rate() else { return };
    let within = |bytes| within(advice, bytes).unwrap_or(copy);
    let (from, to) = x.values;
    let along = |step: i32| from * (to / from).powf(f64::from(step) / 60.0);
    let points = (0..=60).map(along).filter(|&bytes| y.holds(within(bytes)));
    svg.curve("roof", points.map(|bytes| (x.at(bytes), y.at(within(bytes)))));
    if within(to) >= copy {
        let text = format!("copy rate {}", rate(copy));
        let above = y.at(copy) - 6.0;
        labels.place(svg, "note", (FRAME.x.1 - 2.0, above), Anchor::End, &text, (FRAME.y.1 + 10.0, above));
    }
    // Where the slope is, if there is one.
    let Some(launch) = advice.device.launch() else { return };
    let (low, high) = ((y.values.0 * launch.0).max(from), (copy * launch.0).min(to));
    if within(to) >= copy {
        labels.keep_off([x.at(high), y.at(copy) - 4.0, FRAME.x.1, y.at(copy) + 4.0]);
    }
    if high / low > 4.0 {
        let middle = (low * high).sqrt();
        let (at, height, text) = (x.at(middle), y.at(middle / launch.0), format!("launch {launch}"));
        let (at, height, anchor) = if at + 10.0 + text_width(&text) < FRAME.x.1 {
            (at + 8.0, height + 14.0, Anchor::Start)
        } else {
            (at - 8.0, height - 2.0, Anchor::End)
        };
        labels.place(svg, "note", (at, height), anchor, &text, (FRAME.y.1 + 10.0, FRAME.y.0 - 4.0));
    }
}

/// `4.21 TB/s`.
fn rate(bytes_per_s: f64) -> String {
    format!("{}/s", Bytes(bytes_per_s as u64))
}

fn caption(advice: &ReportedAdvice, roles: &Roles<'_>) -> String {
    let mut sentences =
        vec!["Matrix without padding, x and y, moved once, over the time of a product.".to_owned()];
    let best = roles.best.and_then(|best| Some((best, best.bytes?, best.time()?.predicted)));
    if let Some((best, bytes, time)) = best {
        let achieved = bytes.0 as f64 / time.0;
        let share =
            advice.device.copy_rate().map(|copy| format!(", {} of the copy rate", percent(achieved / copy)));
        sentences.push(format!("{}: {}{}.", name(best), rate(achieved), share.unwrap_or_default()));
        if let Some(cache) = advice.cache() {
            let fit = if bytes <= cache {
                "fit into the cache, which is faster"
            } else {
                "are more than the cache holds"
            };
            sentences.push(format!("These {bytes} {fit} ({cache})."));
        }
    }
    sentences.join(" ")
}
