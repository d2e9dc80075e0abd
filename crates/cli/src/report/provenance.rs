//! Where the numbers come from, so that they can be asked for again.

use super::{Panel, escaped};
use sparsight::answer::ReportedAdvice;
use std::fmt::Write;

pub(super) fn panel(advice: &ReportedAdvice) -> Panel {
    let of = |text: &Option<String>| text.clone();
    let profile = advice.profile.as_ref().map(|profile| match &advice.profile_date {
        Some(date) => format!("{profile}, of {date}"),
        None => profile.clone(),
    });
    let rows = [
        ("command", of(&advice.command)),
        ("date", of(&advice.date)),
        ("program", advice.version.as_ref().map(|version| format!("sparsight {version}"))),
        ("device", Some(advice.device.clone())),
        ("driver", of(&advice.driver)),
        ("cuSPARSE", of(&advice.cusparse)),
        ("profile", profile),
        ("carried from", of(&advice.rescaled_from)),
        ("reordered by", of(&advice.reordered_by)),
    ];
    let mut body = "<dl>\n".to_owned();
    for (what, text) in rows.into_iter().filter_map(|(what, text)| Some((what, text?))) {
        // Writing to a String does not fail.
        let _ = writeln!(body, "<dt>{what}</dt><dd>{}</dd>", escaped(&text));
    }
    body += "</dl>\n";
    Panel { id: "provenance", title: "Where this comes from", body }
}
