//! Panel of the candidates that are not ranked, with the reasons.

use super::reported::ReportedAdvice;
use super::{Panel, remark};
use crate::svg::escaped;
use crate::text::words;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Most reasons that are listed. Chosen: readable at a glance.
const MOST: usize = 24;

pub(super) fn panel(advice: &ReportedAdvice) -> Panel {
    // By reason; all unmeasured kernels share one.
    let mut refused: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in &advice.candidates {
        let (why, what) = match (one.measured_s, &one.infeasible, &one.failed) {
            (None, Some(_), _) if one.unmeasured => {
                ("would run, but was not measured on this device", &one.kernel)
            }
            (None, Some(why), _) => (why.as_str(), &one.format),
            (None, None, Some(why)) => (why.as_str(), &one.id),
            (Some(_), ..) | (None, None, None) => continue,
        };
        let all = refused.entry(why).or_default();
        if !all.contains(&what.as_str()) {
            all.push(what);
        }
    }
    let mut body = String::new();
    if refused.is_empty() {
        body += &remark("Nothing: every format can hold this matrix, and every kernel is ranked.");
    } else {
        body += "<dl>\n";
        for (why, what) in refused.iter().take(MOST) {
            // Writing to a String does not fail.
            let _ = writeln!(
                body,
                "<dt>{}</dt><dd>{}</dd>",
                escaped(&words(what.join(", "))),
                escaped(&why.replace(" x ", "\u{a0}x\u{a0}"))
            );
        }
        body += "</dl>\n";
    }
    if refused.len() > MOST {
        body += &remark(&format!("And {} reasons more.", refused.len() - MOST));
    }
    Panel { id: "refused", title: "Not ranked, and why", body }
}
