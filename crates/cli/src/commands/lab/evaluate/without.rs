//! `sparsight lab evaluate DIR --without-each`: gain by each part of the catalogue.

use super::Evaluate;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::table::{Columns, Table, cell_or};
use crate::text::{BOLD, described, matrices, words};
use sparsight::answer::DeviceSummary;
use sparsight::profile::ProfileFolder;
use sparsight_lab::answer::EvaluateWithoutAnswer;
use sparsight_lab::evaluate::{TimeClass, WithoutRow, without_each};

impl Evaluate {
    /// Evaluates by the times of the corpus alone: the profile needs no models.
    pub(super) fn without(&self, context: &Context) -> Result<Exit, Failure> {
        let folder = ProfileFolder::open(&self.folder)?;
        let (device, corpus) = (folder.device()?, self.corpus(&folder, context)?);
        let without = without_each(device.facts.kind, &corpus);
        if without.is_empty() {
            let text =
                format!("{}: no matrix was measured with all kernels of the corpus", self.folder.display());
            return Err(Failure::input(text)
                .hinted("`sparsight lab measure MATRICES -o DIR` without --kernel measures all"));
        }
        let answer = EvaluateWithoutAnswer {
            device: DeviceSummary::profiled(&folder.name(), &device),
            test: self.test.clone(),
            without,
        };
        context.printer.answer(&answer, || {
            let out = self.output(context);
            let device = described(&device.facts);
            for dtype in context.dtypes() {
                let rows: Vec<&WithoutRow> = answer.without.iter().filter(|row| row.dtype == dtype).collect();
                let Some(most) = rows.iter().map(|row| row.gain.count).max() else { continue };
                let title = format!("{device}, {dtype}, {}: what each part brings", matrices(most));
                out.table(&title, &table(&rows))?;
            }
            out.line(format!(
                "{BOLD}brings{BOLD:#}: fastest time without the part over that with it, geometric mean over all matrices and by \
                 the time of the fastest"
            ))?;
            out.line(
                "needed: all others take over 3 % longer; near: the part takes at most 3 % longer than the fastest",
            )
        })
    }
}

/// A part a line.
fn table(rows: &[&WithoutRow]) -> Table {
    let in_class = |of: &[&WithoutRow], class| of.iter().find(|row| row.class == class).map(|row| row.gain);
    let parts = rows.chunk_by(|a, b| a.part == b.part);
    let parts = parts.filter_map(|of| Some((of[0], of, in_class(of, TimeClass::All)?)));
    let mut columns = Columns::of(parts).with([
        ("<without", &|(first, ..)| words(first.part)),
        ("<kind", &|(first, ..)| first.kind.to_owned()),
    ]);
    for class in TimeClass::EACH {
        let mean = |of| cell_or("-", in_class(of, class).map(|gain| format!("{:.4}", gain.mean)));
        columns = columns.with([(&class.to_string(), &|(_, of, _)| mean(of))]);
    }
    columns
        .with([
            ("timed", &|(.., all)| all.timed.to_string()),
            ("near", &|(.., all)| all.near.to_string()),
            ("fastest", &|(.., all)| all.fastest.to_string()),
            ("needed", &|(.., all)| all.needed.to_string()),
            ("largest", &|(.., all)| format!("{:.2}", all.largest)),
        ])
        .table()
}
