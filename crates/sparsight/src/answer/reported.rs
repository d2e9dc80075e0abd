//! What `advise --json` wrote, read again: as much as a page about it shows.
//!
//! What comes from a file may be anything. So everything is looked at here, once: times are above 0, an interval is around its
//! prediction, and pictures are no larger than [`Structure::of`] makes them. Whoever draws can rely on that.
//!
//! Deliberately absent: fields that no page shows. They may be there and are passed over, as are those that a later version adds.

use super::fields::{self, ABOVE_0, Fields, NotReported};
use super::{
    AdviseAnswer, Answer, MatrixSummary, PlanAnswer, ReportedPlan, RowsOfLength, SpyCells, Structure,
};
use serde_json::Value;
use sparsight_matrix::{Bytes, Seconds, Spy};

/// Advice as it was written down.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedAdvice {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// Where the answer comes from.
    pub source: ReportedSource,
    /// Measured copy rate; `None` if not measured.
    pub copy_bytes_per_s: Option<f64>,
    /// Time of a launch; `None` if not measured.
    pub launch: Option<Seconds>,
    /// Value type.
    pub dtype: String,
    /// Products to come.
    pub products: Option<u64>,
    /// How the matrix was reordered beforehand.
    pub reordered_by: Option<String>,
    /// What it comes down to.
    pub verdict: Option<ReportedVerdict>,
    /// Why a product takes as long as it does, a sentence each; none in older answers.
    pub reasons: Vec<String>,
    /// How long rows are, and where the non-zeros lie.
    pub structure: Option<Structure>,
    /// The best cut of its rows into parts.
    pub plan: Option<ReportedPlan>,
    /// Size of the last cache.
    pub cache: Option<Bytes>,
    /// Best first, then those that are not ranked.
    pub candidates: Vec<ReportedCandidate>,
}

/// Where an answer comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedSource {
    /// The device's own name.
    pub device: String,
    /// Name or folder of the profile.
    pub profile: Option<String>,
    /// Its date.
    pub profile_date: Option<String>,
    /// The profile that its predictions are carried over from.
    pub rescaled_from: Option<String>,
    /// What was not quiet while that was measured.
    pub noise: Option<String>,
    /// Version of the program.
    pub version: Option<String>,
    /// Driver when the profile was measured.
    pub driver: Option<String>,
    /// The vendor's library, likewise.
    pub cusparse: Option<String>,
    /// The command line.
    pub command: Option<String>,
    /// The day.
    pub date: Option<String>,
}

/// What advice comes down to: ids.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedVerdict {
    /// The first.
    pub best: String,
    /// What to use; `None` in older answers.
    pub recommended: Option<String>,
    /// Whether plain CSR is as good as anything.
    pub gains_nothing: bool,
    /// What is as good.
    pub equal: Vec<String>,
    /// Of the best and these the soonest ready.
    pub soonest_ready: String,
    /// The fastest plain CSR, and how many times as fast the best is.
    pub plain_csr: Option<(String, f64)>,
    /// The same of the vendor's.
    pub vendors_csr: Option<(String, f64)>,
    /// What is run now; `None` in older answers.
    pub run_now: Option<(String, f64)>,
    /// From how many products on it pays to change, as a sentence; `None` in older answers.
    pub break_even: Option<String>,
}

/// A candidate, ranked or not.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedCandidate {
    /// As it is written.
    pub id: String,
    /// What it reads.
    pub format: String,
    /// Its kernel.
    pub kernel: String,
    /// Threads that share a row, where that has a number.
    pub threads_per_row: Option<u64>,
    /// Whether it is a routine of the vendor's library.
    pub vendor: bool,
    /// What is predicted; `None` if it is not ranked.
    pub time: Option<ReportedTime>,
    /// What one product cannot avoid moving.
    pub bytes: Option<Bytes>,
    /// Conversion and upload.
    pub conversion: Option<Seconds>,
    /// Products after which that has paid.
    pub pays_off_after: Option<u64>,
    /// Conversion and all products.
    pub in_all: Option<Seconds>,
    /// Quantities in which the matrix lies outside what was measured.
    pub extrapolates: Vec<String>,
    /// What was measured, or why it is not ranked.
    pub outcome: Option<ReportedOutcome>,
}

/// A predicted time and its 90 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReportedTime {
    /// As predicted.
    pub predicted: Seconds,
    /// Lower end.
    pub low: Seconds,
    /// Upper end.
    pub high: Seconds,
}

/// What became of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub enum ReportedOutcome {
    /// It took so long.
    Measured(Seconds),
    /// Its format cannot hold the matrix, or it is not predicted: why.
    Infeasible(String),
    /// The profile knows nothing of it: why.
    Unmeasured(String),
    /// It failed or was wrong: why.
    Failed(String),
}

impl ReportedAdvice {
    /// From what [`AdviseAnswer::to_json`](Answer::to_json) gives.
    ///
    /// # Errors
    /// If it is not that, or holds a number that cannot be.
    pub fn from_json(text: &str) -> Result<Self, NotReported> {
        Self::of(&fields::parsed(text, &[AdviseAnswer::SCHEMA])?)
    }

    fn of(value: &Value) -> Result<Self, NotReported> {
        let all = Fields::of(value);
        let (matrix, source, dtype) =
            (matrix_of(&all)?, ReportedSource::of(&all)?, all.needed_text("dtype")?);
        let plan =
            all.object("plan")?.map(|plan| ReportedPlan::of_matrix(&plan, source.clone(), dtype.clone()));
        let device = all.needed_object("device")?;
        let measured = |name| Ok(device.number(name)?.filter(|rate| *rate > 0.0));
        Ok(Self {
            matrix,
            source,
            plan: plan.transpose()?,
            copy_bytes_per_s: measured("copy_bytes_per_s")?,
            launch: measured("launch_s")?.map(Seconds),
            dtype,
            products: all.count("products")?,
            reordered_by: all
                .object("reordered")?
                .map(|reordered| reordered.needed_text("by"))
                .transpose()?,
            verdict: all.object("verdict")?.map(|verdict| ReportedVerdict::of(&verdict)).transpose()?,
            reasons: match all.value("reasons") {
                Some(_) => {
                    let reasons = all.list("reasons")?;
                    reasons.iter().map(|reason| reason.needed_text("text")).collect::<Result<_, _>>()?
                }
                None => Vec::new(),
            },
            structure: all.object("structure")?.map(|structure| structure_of(&structure)).transpose()?,
            cache: all.count("cache_bytes")?.filter(|bytes| *bytes > 0).map(Bytes),
            candidates: all
                .list("candidates")?
                .iter()
                .map(ReportedCandidate::of)
                .collect::<Result<_, _>>()?,
        })
    }

    /// The candidate with that id.
    pub fn candidate(&self, id: &str) -> Option<&ReportedCandidate> {
        self.candidates.iter().find(|one| one.id == id)
    }
}

/// An answer that a page can be made of.
#[derive(Debug, Clone, PartialEq)]
pub enum Reported {
    /// Of `advise`.
    Advice(Box<ReportedAdvice>),
    /// Of `plan`.
    Plan(Box<ReportedPlan>),
}

impl Reported {
    /// From what `advise --json` or `plan --json` wrote.
    ///
    /// # Errors
    /// If it is neither, or holds a number that cannot be.
    pub fn from_json(text: &str) -> Result<Self, NotReported> {
        let value = fields::parsed(text, &[AdviseAnswer::SCHEMA, PlanAnswer::SCHEMA])?;
        Ok(if value["schema"] == PlanAnswer::SCHEMA {
            Self::Plan(ReportedPlan::of(&value)?.into())
        } else {
            Self::Advice(ReportedAdvice::of(&value)?.into())
        })
    }
}

impl ReportedSource {
    pub(super) fn of(all: &Fields<'_>) -> Result<Self, NotReported> {
        let device = all.needed_object("device")?;
        let provenance = all.object("provenance")?.unwrap_or_default();
        Ok(Self {
            device: device.needed_text("name")?,
            profile: device.text("profile")?,
            profile_date: device.text("profile_date")?,
            rescaled_from: device.text("rescaled_from")?,
            noise: device.text("noise")?,
            version: provenance.text("version")?,
            driver: provenance.text("driver")?,
            cusparse: provenance.text("cusparse")?,
            command: provenance.text("command")?,
            date: provenance.text("date")?,
        })
    }
}

/// The field `matrix` of an object.
pub(super) fn matrix_of(fields: &Fields<'_>) -> Result<MatrixSummary, NotReported> {
    let matrix = fields.needed_object("matrix")?;
    Ok(MatrixSummary {
        name: matrix.needed_text("name")?,
        nrows: matrix.needed_count("nrows")?,
        ncols: matrix.needed_count("ncols")?,
        nnz: matrix.needed_count("nnz")?,
        row_mean: matrix.number("row_mean")?.unwrap_or_default(),
        row_min: matrix.needed_count("row_min")?,
        row_max: matrix.needed_count("row_max")?,
    })
}

impl ReportedVerdict {
    fn of(fields: &Fields<'_>) -> Result<Self, NotReported> {
        let compared = |name| -> Result<_, NotReported> {
            let Some(csr) = fields.object(name)? else { return Ok(None) };
            let speedup = csr.number("speedup")?.filter(|speedup| *speedup > 0.0);
            Ok(Some((csr.needed_text("id")?, speedup.ok_or_else(|| csr.wrong("speedup", ABOVE_0))?)))
        };
        Ok(Self {
            best: fields.needed_text("best")?,
            recommended: fields.text("recommended")?,
            gains_nothing: fields.flag("gains_nothing")?,
            equal: fields.texts("equal")?,
            soonest_ready: fields.needed_text("soonest_ready")?,
            plain_csr: compared("plain_csr")?,
            vendors_csr: compared("vendors_csr")?,
            run_now: compared("run_now")?,
            break_even: fields.text("break_even")?,
        })
    }
}

impl ReportedCandidate {
    fn of(fields: &Fields<'_>) -> Result<Self, NotReported> {
        let outcome = match (fields.time("measured_s")?, fields.text("infeasible")?, fields.text("failed")?) {
            (Some(measured), ..) => Some(ReportedOutcome::Measured(measured)),
            (None, Some(why), _) if fields.flag("unmeasured")? => Some(ReportedOutcome::Unmeasured(why)),
            (None, Some(why), _) => Some(ReportedOutcome::Infeasible(why)),
            (None, None, failed) => failed.map(ReportedOutcome::Failed),
        };
        Ok(Self {
            id: fields.needed_text("id")?,
            format: fields.needed_text("format")?,
            kernel: fields.needed_text("kernel")?,
            threads_per_row: fields.count("threads_per_row")?,
            vendor: fields.flag("vendor")?,
            time: ReportedTime::of(fields)?,
            bytes: fields.count("bytes")?.map(Bytes),
            conversion: fields.number("conversion_s")?.map(Seconds),
            pays_off_after: fields.count("pays_off_after")?,
            in_all: fields.time("in_all_s")?,
            extrapolates: match fields.value("extrapolates") {
                Some(_) => fields
                    .list("extrapolates")?
                    .iter()
                    .map(|e| e.needed_text("quantity"))
                    .collect::<Result<_, _>>()?,
                None => Vec::new(),
            },
            outcome,
        })
    }
}

impl ReportedTime {
    pub(super) fn of(fields: &Fields<'_>) -> Result<Option<Self>, NotReported> {
        let Some(predicted) = fields.time("predicted_s")? else { return Ok(None) };
        let end = |name| fields.time(name)?.ok_or_else(|| fields.missing(name, ABOVE_0));
        let (low, high) = (end("low_s")?, end("high_s")?);
        if low <= predicted && predicted <= high {
            Ok(Some(Self { predicted, low, high }))
        } else {
            Err(fields.wrong("predicted_s", "a time between low_s and high_s"))
        }
    }
}

pub(super) fn structure_of(fields: &Fields<'_>) -> Result<Structure, NotReported> {
    let rows = |bin: &Fields<'_>| {
        let (from, to) = (bin.needed_count("from")?, bin.needed_count("to")?);
        Ok(RowsOfLength { from, to, rows: bin.needed_count("rows")? })
    };
    let row_lengths = fields.list("row_lengths")?.iter().map(rows).collect::<Result<Vec<_>, _>>()?;
    let increase = row_lengths.windows(2).all(|pair| pair[0].to < pair[1].from);
    if !increase || !row_lengths.iter().all(|bin| bin.from <= bin.to && bin.rows > 0) {
        return Err(fields.wrong("row_lengths", "a list of rows by increasing length"));
    }
    let spy = fields.needed_object("spy")?;
    let cells = spy.texts("cells")?;
    let width = cells.first().map_or(0, String::len);
    let is_cell = |letter: char| letter == '.' || letter.to_digit(Spy::LEVELS).is_some_and(|level| level > 0);
    if cells.len().max(width) > Structure::CELLS
        || !cells.iter().all(|row| row.len() == width && row.chars().all(is_cell))
    {
        return Err(spy.wrong("cells", "a list of at most 128 texts of as many cells each"));
    }
    Ok(Structure {
        row_lengths,
        spy: SpyCells { densest: spy.number("densest")?.unwrap_or_default(), cells },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::MeasuredOutcome;
    use crate::records::Outcome;
    use crate::run::Verified;
    use crate::{Advisor, Objective, Profile};
    use sparsight_matrix::{Csr, Dtype, Features, gallery::Recipe};
    use sparsight_model::Conditioned;
    use std::collections::BTreeMap;

    /// Advice on a small arrow, and what is written of it; its second candidate was measured.
    fn written() -> (AdviseAnswer, Value) {
        let arrow: Csr<f64> = "arrow,n=20000".parse::<Recipe>().unwrap().generate().unwrap();
        let (features, profile) = (Features::of(&arrow), Profile::shipped("nvidia-h200").unwrap());
        let objective = Objective { products: Some(10), ..Objective::default() };
        let advice = Advisor::new(&profile).advise(&features, Dtype::F64, &objective).unwrap();
        let expected =
            Conditioned::new(advice.ranked.iter().map(|one| (one.candidate, one.prediction.clone())));
        let measured = BTreeMap::from([(advice.ranked[1].candidate, Outcome::once(Seconds(1e-3)))]);
        let answer = AdviseAnswer::of(
            MatrixSummary::of("arrow", &features),
            &profile,
            Dtype::F64,
            &objective,
            &advice,
        )
        .with_verified(Some(&Verified { measured, expected, next: None, clock: None, far: 0 }))
        .with_structure(Some(Structure::of(&arrow)))
        .with_command("sparsight advise arrow".to_owned(), "2026-01-02".to_owned());
        let value = serde_json::from_str(&answer.to_json()).unwrap();
        (answer, value)
    }

    #[test]
    fn what_advise_writes_is_read_as_it_was_written() {
        let (answer, value) = written();
        let read = ReportedAdvice::from_json(&value.to_string()).unwrap();
        assert_eq!((&read.matrix, &read.structure), (&answer.matrix, &answer.structure));
        assert_eq!((read.source.device.as_str(), read.products), ("NVIDIA H200", Some(10)));
        assert_eq!(read.copy_bytes_per_s, Some(answer.device.copy_bytes_per_s));
        assert_eq!((read.cache, read.source.date.as_deref()), (answer.cache_bytes, Some("2026-01-02")));
        assert!(read.cache.is_some_and(|bytes| bytes.0 > 1 << 20) && read.source.driver.is_some());
        let verdict = answer.verdict.unwrap();
        let read_verdict = read.verdict.as_ref().unwrap();
        assert_eq!(read_verdict.best, verdict.best.to_string());
        assert_eq!(read_verdict.recommended, Some(verdict.recommended.to_string()));
        let plain_csr = verdict.plain_csr.map(|csr| (csr.id.to_string(), csr.speedup));
        assert_eq!(read_verdict.plain_csr, plain_csr);
        assert_eq!(read.candidates.len(), answer.candidates.len());
        for (one, of) in read.candidates.iter().zip(&answer.candidates) {
            assert_eq!(one.id, of.candidate.id.to_string());
            let predicted = of.prediction.as_ref().map(|prediction| prediction.predicted_s);
            assert_eq!(one.time.map(|time| time.predicted), predicted);
            assert_eq!((one.bytes, one.conversion, one.in_all), (of.bytes, of.conversion_s, of.in_all_s));
        }
        assert_eq!(read.candidates[1].outcome, Some(ReportedOutcome::Measured(Seconds(1e-3))));
        let refused = answer.candidates.iter().zip(&read.candidates).filter(|(_, one)| one.time.is_none());
        assert!(refused.clone().count() > 5);
        for (of, one) in refused {
            let Some(MeasuredOutcome::Infeasible { infeasible }) = &of.outcome else { panic!("{of:?}") };
            assert_eq!(one.outcome, Some(ReportedOutcome::Infeasible(infeasible.clone())));
        }
    }

    #[test]
    fn what_advise_never_writes_is_refused_and_named() {
        let (_, good) = written();
        let cells = |rows: usize, columns: usize| serde_json::json!(vec!["z".repeat(columns); rows]);
        let says = |at: &str, value: Value| {
            let mut bad = good.clone();
            *bad.pointer_mut(at).unwrap() = value;
            ReportedAdvice::from_json(&bad.to_string()).unwrap_err().to_string()
        };
        for (at, value, message) in [
            ("/schema", "sparsight/info/1".into(), "schema sparsight/info/1, not sparsight/advise/1"),
            ("/schema", Value::Null, "JSON without a schema, not sparsight/advise/1"),
            ("/matrix", Value::Null, "matrix is missing, not an object"),
            ("/matrix/nrows", (-1).into(), "matrix.nrows is something else, not a whole number"),
            (
                "/candidates/3/predicted_s",
                0.into(),
                "candidates[3].predicted_s is something else, not a time in seconds",
            ),
            (
                "/candidates/3/low_s",
                1.0.into(),
                "candidates[3].predicted_s is something else, not a time between",
            ),
            ("/candidates/3/high_s", Value::Null, "candidates[3].high_s is missing, not a number above 0"),
            ("/candidates/3", 7.into(), "candidates is something else, not a list of objects"),
            ("/verdict/plain_csr/speedup", 0.into(), "verdict.plain_csr.speedup is something else"),
            ("/structure/spy/cells", cells(129, 4), "structure.spy.cells is something else"),
            ("/structure/spy/cells", cells(4, 129), "structure.spy.cells is something else"),
            ("/structure/spy/cells/3", "?".into(), "structure.spy.cells is something else"),
            ("/structure/row_lengths/0/rows", 0.into(), "structure.row_lengths is something else"),
        ] {
            let said = says(at, value);
            assert!(said.contains(message), "{said}");
        }
        let torn = ReportedAdvice::from_json("{\"schema\": ").unwrap_err();
        assert!(torn.to_string().starts_with("no JSON: EOF"), "{torn}");
    }

    #[test]
    fn what_an_older_version_wrote_is_read_without_what_it_lacks() {
        let (_, mut value) = written();
        for newer in ["structure", "cache_bytes", "provenance", "verdict"] {
            value.as_object_mut().unwrap().remove(newer).unwrap();
        }
        let read = ReportedAdvice::from_json(&value.to_string()).unwrap();
        assert!(
            read.structure.is_none()
                && read.cache.is_none()
                && read.verdict.is_none()
                && read.source.driver.is_none()
        );
    }
}
