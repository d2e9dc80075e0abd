//! Where the numbers come from, so that they can be asked for again.

use super::{Panel, escaped};
use sparsight::answer::ReportedSource;
use std::fmt::Write;

pub(super) fn panel(source: &ReportedSource, reordered_by: Option<&String>) -> Panel {
    let of = |text: &Option<String>| text.clone();
    let profile = source.profile.as_ref().map(|profile| match &source.profile_date {
        Some(date) => format!("{profile}, of {date}"),
        None => profile.clone(),
    });
    let rows = [
        ("command", of(&source.command)),
        ("date", of(&source.date)),
        ("program", source.version.as_ref().map(|version| format!("sparsight {version}"))),
        ("device", Some(source.device.clone())),
        ("driver", of(&source.driver)),
        ("cuSPARSE", of(&source.cusparse)),
        ("profile", profile),
        ("carried from", of(&source.rescaled_from)),
        ("not quiet then", of(&source.noise)),
        ("reordered by", reordered_by.cloned()),
    ];
    let mut body = "<dl>\n".to_owned();
    for (what, text) in rows.into_iter().filter_map(|(what, text)| Some((what, text?))) {
        // Writing to a String does not fail.
        let _ = writeln!(body, "<dt>{what}</dt><dd>{}</dd>", escaped(&text));
    }
    body += "</dl>\n";
    Panel { id: "provenance", title: "Where this comes from", body }
}
