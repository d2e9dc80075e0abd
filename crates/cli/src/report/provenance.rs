//! Panel of the origin of the numbers.

use super::Panel;
use super::reported::{ReportedDevice, ReportedOrder, ReportedProvenance};
use crate::svg::escaped;
use std::fmt::Write;

pub(super) fn panel(
    device: &ReportedDevice,
    provenance: Option<&ReportedProvenance>,
    reordered: Option<&ReportedOrder>,
) -> Panel {
    let ReportedProvenance { version, driver, cusparse, command, date } =
        provenance.cloned().unwrap_or_default();
    let profile = device.profile.as_ref().map(|profile| match &device.profile_date {
        Some(date) => format!("{profile}, of {date}"),
        None => profile.clone(),
    });
    let rows = [
        ("command", command),
        ("date", date),
        ("program", version.map(|version| format!("sparsight {version}"))),
        ("device", Some(device.name.clone())),
        ("driver", driver),
        ("cuSPARSE", cusparse),
        ("profile", profile),
        ("carried from", device.rescaled_from.clone()),
        ("not quiet then", device.noise.clone()),
        ("reordered by", reordered.map(|reordered| reordered.by.clone())),
    ];
    let mut body = "<dl>\n".to_owned();
    for (what, text) in rows.into_iter().filter_map(|(what, text)| Some((what, text?))) {
        // Writing to a String does not fail.
        let _ = writeln!(body, "<dt>{what}</dt><dd>{}</dd>", escaped(&text));
    }
    body += "</dl>\n";
    Panel { id: "provenance", title: "Where this comes from", body }
}
