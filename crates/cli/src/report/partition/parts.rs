//! The parts of the best cut, in words.

use super::super::reported::{ReportedPart, ReportedStrategy};
use super::super::roles::name_of;
use super::super::{Panel, remark};
use super::in_words;
use crate::svg::escaped;
use crate::text::{between, counted, grouped};
use std::fmt::Write;

/// Most parts that are listed. Chosen: readable at a glance.
const MOST: usize = 48;

pub(super) fn panel(strategy: &ReportedStrategy) -> Panel {
    let mut body = "<dl>\n".to_owned();
    for part in strategy.parts.iter().take(MOST) {
        let (ReportedPart { rows: [from, to], nnz, id, .. }, time) = (part, part.time());
        let rows = format!("{} to {}", grouped(*from), grouped(to.saturating_sub(1)));
        let what = format!(
            "{}: {} ({}), {}",
            name_of(id),
            time.predicted,
            between(time.low, time.high),
            counted(*nnz, "non-zero")
        );
        // Writing to a String does not fail.
        let _ = writeln!(body, "<dt>{rows}</dt><dd>{}</dd>", escaped(&what));
    }
    body += "</dl>\n";
    let more = match strategy.parts.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" And {}.", counted(more as u64, "more part")),
    };
    let what = in_words(strategy);
    body += &remark(&format!("Rows from 0, of {what}; the time of each part by itself.{more}"));
    Panel { id: "parts", title: "The parts", body }
}
