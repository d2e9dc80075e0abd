//! Panel of the break-even: time of all products, conversion and upload included, over their number.

use super::axis::{Axis, Frame, range};
use super::labels::Labels;
use super::reported::{ReportedAdvice, ReportedCandidate};
use super::roles::{Roles, name};
use super::{Panel, remark};
use crate::svg::{Anchor, Svg, WIDTH, inside};
use crate::text::counted;

/// The names of the lines stand right of it.
const FRAME: Frame = Frame::new(268.0, 20.0, (52.0, WIDTH - 112.0));
/// Products that are always shown. Chosen: three powers of ten.
const LEAST: f64 = 1e3;
/// Largest number of products: beyond it all lines are parallel. Chosen.
const MOST: f64 = 1e9;

/// Seconds of conversion, upload and `products`.
fn in_all(candidate: &ReportedCandidate, products: f64) -> f64 {
    let of_one = candidate.time().map_or(0.0, |time| time.predicted.0);
    candidate.conversion_s.map_or(0.0, |conversion| conversion.0) + products * of_one
}

pub(super) fn panel(advice: &ReportedAdvice, roles: &Roles<'_>) -> Option<Panel> {
    let mut lines = roles.named();
    let best = roles.best?;
    if let Some(soonest) =
        roles.soonest_ready.filter(|one| lines.iter().all(|(other, ..)| other.id != one.id))
    {
        lines.insert(0, (soonest, "soonest ready", "equal"));
    }
    lines.retain(|(one, ..)| one.conversion_s.is_some());
    if lines.is_empty() {
        return None;
    }
    let even = best.pays_off_after.filter(|&products| products > 0);
    let asked = advice.products;
    let far = even.into_iter().chain(asked).map(|products| 30.0 * products as f64).fold(LEAST, f64::max);
    let x = Axis { values: (1.0, far.min(MOST)), places: FRAME.x };
    let times = lines.iter().flat_map(|(one, ..)| [1.0, x.values.1].map(|products| in_all(one, products)));
    let (least, most) = range(times);
    let y = Axis { values: (least / 1.5, most * 1.5), places: FRAME.y };

    let mut svg = Svg::new(FRAME.height);
    x.draw_grid(&y, &mut svg, ["", "s"], "products");
    let mut labels = Labels::default();
    let mut mark = |svg: &mut Svg, products: u64, class: &str, text: &str| {
        let at = x.at(products as f64);
        svg.line(class, (at, FRAME.y.1), (at, FRAME.y.0));
        let place = (inside(at, text), FRAME.y.1 - 6.0);
        labels.place(svg, "note", place, Anchor::Middle, text, (12.0, FRAME.y.1 - 6.0));
    };
    if let Some(products) = even.filter(|&products| (products as f64) < MOST) {
        mark(&mut svg, products, "mark", &format!("pays from {} on", counted(products, "product")));
    }
    if let Some(products) = asked {
        mark(&mut svg, products, "mark", &format!("{} asked for", counted(products, "product")));
    }
    // Enough points for the bend.
    let along = |step: i32| x.values.1.powf(f64::from(step) / 40.0);
    for (one, _, class) in &lines {
        let points = (0..=40).map(along).map(|products| (x.at(products), y.at(in_all(one, products))));
        svg.curve(&format!("curve {class}"), points);
    }
    let mut names = Labels::default();
    for (one, role, class) in lines.iter().rev() {
        let at = y.at(in_all(one, x.values.1)) + 4.0;
        names.place(&mut svg, class, (FRAME.x.1 + 6.0, at), Anchor::Start, role, (FRAME.y.1, FRAME.y.0));
    }
    let mut body = svg.finish("time in all against the number of products");
    let named: Vec<String> =
        lines.iter().rev().map(|(one, role, _)| format!("{role}: {}", name(one))).collect();
    let now = roles.run_now.and_then(|now| roles.role(now)).filter(|_| even.is_some());
    let pays = now.map_or_else(String::new, |now| format!("; it pays once that is less than of {now}"));
    body += &remark(&format!("Time in all, conversion and upload included{pays}. {}.", named.join("; ")));
    Some(Panel { id: "break-even", title: "When conversion pays", body })
}
