//! `bench --compare`: what an earlier `bench --json` measured.

use crate::context::Context;
use crate::failure::Failure;
use serde_json::Value;
use sparsight::answer::{Answer, BenchAnswer, BenchedBefore, MatrixSummary, MeasuredOutcome};
use sparsight::device::timing::Caches;
use sparsight::matrix::Seconds;
use sparsight::matrix::io::read_regular_text;
use std::collections::HashMap;
use std::path::Path;

/// Times of an earlier run.
#[derive(Debug)]
pub(crate) struct EarlierBench {
    device: String,
    caches: String,
    matrices: Vec<EarlierMatrix>,
}

/// Times of a matrix. Its name is that of a file, and may be that of other matrices, too.
#[derive(Debug)]
struct EarlierMatrix {
    name: String,
    /// Rows, columns and non-zeros; `None` where the file does not say.
    size: [Option<u64>; 3],
    /// Time, spread and samples by the id of the candidate.
    times: HashMap<String, (f64, f64, u64)>,
}

impl EarlierMatrix {
    /// What an answer says of a matrix.
    fn of(matrix: &Value) -> Self {
        let about = &matrix["matrix"];
        let candidates = matrix["candidates"].as_array().into_iter().flatten();
        let times = candidates.filter_map(|candidate| {
            let time = (candidate["measured_s"].as_f64()?, candidate["spread"].as_f64()?);
            Some((word(&candidate["id"]), (time.0, time.1, candidate["samples"].as_u64().unwrap_or(1))))
        });
        Self {
            name: word(&about["name"]),
            size: ["nrows", "ncols", "nnz"].map(|name| about[name].as_u64()),
            times: times.collect(),
        }
    }
}

/// Text of JSON; empty for anything else.
fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl EarlierBench {
    /// # Errors
    /// If the file cannot be read, or is no answer of `bench --json`.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let fault = |why: String| Failure::input(format!("{}: {why}", path.display()));
        let text = read_regular_text(path).map_err(|error| fault(error.to_string()))?;
        let answer: Value = serde_json::from_str(&text).map_err(|error| {
            fault(format!("not JSON: {error}"))
                .hinted("`sparsight bench A.mtx --json > before.json` writes one")
        })?;
        if answer["schema"] != BenchAnswer::SCHEMA {
            let text = format!("not an answer of `bench --json` ({})", BenchAnswer::SCHEMA);
            return Err(fault(text).hinted("`sparsight bench A.mtx --json > before.json` writes one"));
        }
        let matrices = answer["matrices"].as_array().into_iter().flatten().map(EarlierMatrix::of).collect();
        Ok(Self { device: word(&answer["device"]["name"]), caches: word(&answer["caches"]), matrices })
    }

    /// The matrices of this name.
    fn called<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'b EarlierMatrix> {
        self.matrices.iter().filter(move |before| before.name == name)
    }

    /// Writes beside each time of `answer` what it was before. Says so if the two can hardly be compared.
    pub(crate) fn put_beside(&self, answer: &mut BenchAnswer, context: &Context) {
        let caches = match answer.caches {
            Caches::Warm => "warm".to_owned(),
            Caches::Cold => "cold".to_owned(),
        };
        for (what, before, now) in
            [("device", &self.device, &answer.device.name), ("caches", &self.caches, &caches)]
        {
            if before != now {
                context
                    .printer
                    .warning(format_args!("compared with times of another {what}: {before}, now {now}"));
            }
        }
        let (mut none, mut is_said) = (true, false);
        for matrix in &mut answer.matrices {
            let MatrixSummary { name, nrows, ncols, nnz, .. } = &matrix.matrix;
            let size = [*nrows, *ncols, *nnz].map(Some);
            let Some(earlier) = self.called(name).find(|before| before.size == size) else {
                if self.called(name).next().is_some() {
                    is_said = true;
                    let text =
                        "another matrix of this name was measured before, of another size: not compared";
                    context.printer.warning(format_args!("{name}: {text}"));
                }
                continue;
            };
            for candidate in &mut matrix.candidates {
                let MeasuredOutcome::Time { measured_s, spread, samples } = candidate.outcome else {
                    continue;
                };
                let Some(&(before, spread_before, samples_before)) =
                    earlier.times.get(&candidate.candidate.id())
                else {
                    continue;
                };
                none = false;
                let apart = (measured_s.0 - before).abs();
                let known = samples > 1 && samples_before > 1;
                candidate.before = Some(BenchedBefore {
                    before_s: Seconds(before),
                    over_before: measured_s.0 / before,
                    beyond_spread: known && apart > spread * measured_s.0 + spread_before * before,
                });
            }
        }
        if none && !is_said {
            context.printer.warning("none of these candidates was measured before");
        }
    }
}
