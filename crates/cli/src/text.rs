//! Formatting of numbers and names for people.

use anstyle::Style;
use sparsight::Profile;
use sparsight::advise::TIE;
use sparsight::answer::MatrixSummary;
use sparsight::kernels::{Candidate, DeviceFacts, Elsewhere};
pub(crate) use sparsight::matrix::grouped;
use sparsight::matrix::{Bytes, Dtype, Seconds};
use sparsight::profile::{GridName, ProfiledDevice};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// Style of headings.
pub(crate) const BOLD: Style = Style::new().bold();
/// Style of labels and asides.
pub(crate) const DIM: Style = Style::new().dimmed();

/// A name from outside in one line, with control characters escaped as in a string of Rust: those that move a cursor, change
/// a colour or turn the direction of writing.
pub(crate) fn shown(name: &str) -> String {
    name.chars().map(|c| if acts(c) { c.escape_debug().to_string() } else { c.to_string() }).collect()
}

/// [`shown`] for text of several lines; lines are indented, so that they cannot pass for lines of this program.
pub(crate) fn shown_lines(text: &str) -> String {
    let mut lines = text.lines();
    let mut out = shown(lines.next().unwrap_or_default());
    for line in lines {
        out += if line.starts_with(' ') { "\n" } else { "\n    " };
        out += &shown(line);
    }
    out
}

/// Returns whether a terminal acts on the character instead of showing it.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A device in words: `Some CPU, 8 threads`, `NVIDIA H200`, `NVIDIA H200, 40 of 132 multiprocessors`.
pub(crate) fn described(facts: &DeviceFacts) -> String {
    shown(&facts.described())
}

/// `count` of `noun`, with an s unless it is one.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// `1 matrix`, `256 matrices`.
pub(crate) fn matrices(count: usize) -> String {
    if count == 1 { "1 matrix".to_owned() } else { format!("{} matrices", grouped(count as u64)) }
}

/// `11.5 to 12.9 us`; both units where they differ.
pub(crate) fn between(low: Seconds, high: Seconds) -> String {
    let (low, high) = (low.to_string(), high.to_string());
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// A fraction as `6.3 %`.
pub(crate) fn percent(fraction: f64) -> String {
    let percent = 100.0 * fraction;
    if percent < 99.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// Name and shape of a matrix: `cant   62,451 x 62,451   4,007,383 non-zeros   64.2 a row (1 to 78)`.
pub(crate) fn title(m: &MatrixSummary) -> String {
    format!("{BOLD}{}{BOLD:#}   {}", m.name, shape(m, "   "))
}

/// `62,451 x 62,451, 4,007,383 non-zeros, 64.2 a row (1 to 78)`, with `between` in place of the commas.
pub(crate) fn shape(m: &MatrixSummary, between: &str) -> String {
    format!(
        "{} x {}{between}{}{between}{:.1} a row ({} to {})",
        grouped(m.nrows),
        grouped(m.ncols),
        counted(m.nnz, "non-zero"),
        m.row_mean,
        grouped(m.row_min),
        grouped(m.row_max)
    )
}

/// Best candidate of a matrix, with its time and its memory on the device.
pub(crate) type Best = (Candidate, Seconds, Bytes);

/// A line for each matrix that its transpose follows, with the time of a product with each of both. One of a pair may have been skipped.
pub(crate) fn pairs<'m>(all: impl Iterator<Item = (&'m MatrixSummary, Option<Best>)>) -> Vec<String> {
    let all: Vec<_> = all.collect();
    let line = |pair: &[(&MatrixSummary, Option<Best>)]| {
        let (a, transposed) = (pair[0].0, pair[1].0);
        let ((one, time, bytes), (other, more_time, more_bytes)) = (pair[0].1?, pair[1].1?);
        (transposed.name == format!("{}+transpose", a.name)).then(|| {
            format!(
                "\n{BOLD}A and A^T{BOLD:#}   {}   {} and {}: {} for a product with each, {} on the device",
                a.name,
                candidate(&one),
                candidate(&other),
                Seconds(time.0 + more_time.0),
                Bytes(bytes.0 + more_bytes.0)
            )
        })
    };
    all.windows(2).filter_map(line).collect()
}

/// A kernel or a format as text shows it: `csr-vector t16`. Its id has slashes.
pub(crate) fn words(id: impl Display) -> String {
    id.to_string().replace('/', " ")
}

/// `not possible: ell (would pad by 80.0x, the limit is 8x)`, from reasons and the formats that they are about; `None` without any.
pub(crate) fn not_possible(reasons: impl IntoIterator<Item = (String, String)>) -> Option<String> {
    let mut formats: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (why, format) in reasons {
        formats.entry(why).or_default().insert(format);
    }
    let in_words =
        |(why, of): (String, BTreeSet<String>)| format!("{} ({why})", Vec::from_iter(of).join(", "));
    let reasons: Vec<String> = formats.into_iter().map(in_words).collect();
    (!reasons.is_empty()).then(|| format!("not possible: {}", reasons.join(", ")))
}

/// A candidate without its value type, which stands above the table: `csr-vector t16 b128`, `cusparse-csr a1 (vendor)`.
pub(crate) fn candidate(candidate: &Candidate) -> String {
    candidate.in_words()
}

/// `cuSPARSE: cusparseCreateCsr; SciPy: csr_array`.
pub(crate) fn in_other_libraries(names: &[Elsewhere]) -> String {
    let names: Vec<String> = names.iter().map(|one| format!("{}: {}", one.library, one.name)).collect();
    if names.is_empty() { "no equivalent is known".to_owned() } else { names.join("; ") }
}

/// A quantity that a model looks at: where the papers have a letter, in words, too. JSON keeps the letter.
pub(crate) fn quantity(name: &str) -> &str {
    match name {
        "I" => "strips (I)",
        "I of COO" => "strips of the COO part (I)",
        "p" => "row length (p)",
        other => other,
    }
}

/// `as fast in all` within 5 %, else `1.9 times as fast in all`, also where that is less than 1.
pub(crate) fn times_as_fast(speedup: f64, in_all: &str) -> String {
    let is_tied = (1.0 / (1.0 + TIE)..=1.0 + TIE).contains(&speedup);
    if is_tied { format!("as fast{in_all}") } else { format!("{speedup:.1} times as fast{in_all}") }
}

/// A fraction of the copy bandwidth; above 1 caches have helped, and that is said.
pub(crate) fn of_bandwidth(fraction: Option<f64>) -> String {
    match fraction {
        None => "?".to_owned(),
        Some(fraction) if fraction > 1.0 => format!("{fraction:.2} (cache)"),
        Some(fraction) => format!("{fraction:.2}"),
    }
}

/// `NVIDIA H200   f64   profile of 2026-11-22`.
pub(crate) fn heading(profile: &Profile, dtype: Dtype) -> String {
    let device = described(&profile.device.facts);
    format!("{BOLD}{device}{BOLD:#}   {dtype}   {}", known_from(profile))
}

/// Origin of a profile's predictions: `profile of 2026-11-22`; if the machine was busy meanwhile, with the command that measures
/// it again.
pub(crate) fn known_from(profile: &Profile) -> String {
    let from = measured_on(profile);
    if profile.device.provenance.noise.is_none() {
        return from;
    }
    let again = match (profile.device.facts.kind.is_gpu(), profile.device.grid) {
        (false, GridName::Coarse) => "`sparsight calibrate --device cpu -o quiet`, then `--profile quiet`",
        _ => "`sparsight lab profile -o quiet`, then `--profile quiet`",
    };
    format!("{from}; the machine was busy then and times may be off, to measure again: {again}")
}

/// Assumptions about a device beyond its data sheet, a line each; empty for a measured device.
pub(crate) fn assumed(device: &ProfiledDevice) -> String {
    let line = |assumption: &String| format!("\n  assumed: {}", shown(assumption));
    device.provenance.assumptions.iter().map(line).collect()
}

fn measured_on(profile: &Profile) -> String {
    let date = &profile.device.provenance.date;
    let Some(rescaled) = &profile.rescaled else {
        // A processor that was asked about without a profile.
        let learned_from = profile.models.index.trained_on.len();
        return match (profile.device.grid, learned_from) {
            (GridName::Coarse, 1..) => format!(
                "calibrated {date} with {}, not profiled: intervals are wider",
                matrices(learned_from)
            ),
            _ => format!("profile of {date}"),
        };
    };
    let reference = shown(&rescaled.reference.name);
    let how = match rescaled.rescaling.matrices {
        0 => format!("from its data sheet and the profile {reference}, not measured"),
        _ => format!("calibrated {date} from the profile {reference}, not profiled"),
    };
    let sure = if profile.device.facts.is_of_one_architecture(&rescaled.reference.device.facts) {
        "intervals are wider".to_owned()
    } else {
        format!("of another architecture: intervals are wider{}", held_elsewhere(rescaled.rescaling.matrices))
    };
    format!("{how}: {sure}")
}

/// The share of times that 90 % intervals of a rescaling held on each of six GPUs of five architectures, carried there from another one by
/// the facts alone, or by four or ten matrices measured on both (docs/results/nine-gpus.md).
pub(crate) const fn held_elsewhere(matrices: usize) -> &'static str {
    match matrices {
        0 => ", and held 79 to 94 % of the times on each of six other GPUs",
        1..4 => ", and unproven with so few matrices",
        _ => ", and held 87 to 92 % of the times on each of six other GPUs",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_text_is_shown_with_control_characters_escaped() {
        assert_eq!(shown("a\u{1b}[2J\nerror: \u{202e}b é"), "a\\u{1b}[2J\\nerror: \\u{202e}b é");
        assert_eq!(shown_lines("one\nerror: two\n  three\u{7}"), "one\n    error: two\n  three\\u{7}");
        assert_eq!(shown_lines(""), "");
    }

    #[test]
    fn nouns_are_singular_or_plural() {
        assert_eq!(counted(1, "row"), "1 row");
        assert_eq!(counted(1000, "row"), "1,000 rows");
    }

    #[test]
    fn an_interval_names_its_unit_once_unless_its_ends_differ() {
        assert_eq!(between(Seconds(11.5e-6), Seconds(12.9e-6)), "11.5 to 12.9 us");
        assert_eq!(between(Seconds(900e-6), Seconds(1.2e-3)), "900 us to 1.20 ms");
    }

    #[test]
    fn the_vendors_routines_are_marked_and_have_no_block_size() {
        let shown = |id: &str| {
            let id: Candidate = id.parse().unwrap();
            candidate(&id)
        };
        assert_eq!(shown("csr-vector/t8/b64/f32"), "csr-vector t8 b64");
        assert_eq!(shown("cusparse-csr/a2/f32"), "cusparse-csr a2 (vendor)");
        assert_eq!(words("sell/c32/s1"), "sell c32 s1");
    }

    #[test]
    fn fractions_become_percent() {
        assert_eq!(percent(0.063), "6.3 %");
        assert_eq!(percent(12.0), "1200 %");
    }
}
