//! `bench --compare`: what an earlier `bench --json` measured.

use crate::context::Context;
use crate::failure::Failure;
use serde_json::Value;
use sparsight::answer::{Answer, BenchAnswer, BenchedBefore, MeasuredOutcome};
use sparsight::device::timing::Caches;
use sparsight::matrix::Seconds;
use sparsight::matrix::io::read_regular_text;
use std::collections::HashMap;
use std::path::Path;

/// Times by the names of matrix and candidate.
#[derive(Debug)]
pub(crate) struct EarlierBench {
    device: String,
    caches: String,
    times: HashMap<(String, String), (f64, f64, u64)>,
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
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut times = HashMap::new();
        for matrix in list(&answer["matrices"]) {
            for candidate in list(&matrix["candidates"]) {
                let time = (candidate["measured_s"].as_f64(), candidate["spread"].as_f64());
                if let (Some(time), Some(spread)) = time {
                    let samples = candidate["samples"].as_u64().unwrap_or(1);
                    let key = (word(&matrix["matrix"]["name"]), word(&candidate["id"]));
                    times.insert(key, (time, spread, samples));
                }
            }
        }
        Ok(Self { device: word(&answer["device"]["name"]), caches: word(&answer["caches"]), times })
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
        let mut none = true;
        for matrix in &mut answer.matrices {
            for candidate in &mut matrix.candidates {
                let MeasuredOutcome::Time { measured_s, spread, samples } = candidate.outcome else {
                    continue;
                };
                let key = (matrix.matrix.name.clone(), candidate.candidate.id());
                let Some(&(before, spread_before, samples_before)) = self.times.get(&key) else { continue };
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
        if none {
            context.printer.warning("none of these candidates was measured before");
        }
    }
}
