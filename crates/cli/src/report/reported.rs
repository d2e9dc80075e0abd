//! Answers of `advise` and `plan` as a page shows them: read from JSON, or taken from an answer of this program.
//!
//! JSON comes from a file, perhaps of another version. So ids are text, and fields that no page shows are passed over. Values are checked
//! here once, and the panels rely on that: a time lies between a femtosecond and ten thousand years, an interval contains its prediction,
//! parts follow each other without a gap, and pictures are no larger than [`Structure::of`] makes them.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use sparsight::answer::{AdviseAnswer, Answer, MatrixSummary, PlanAnswer, Structure};
use sparsight::kernels::Execution;
use sparsight::matrix::{Bytes, Seconds, Spy};

/// An answer that a page can be made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reported {
    Advice(Box<ReportedAdvice>),
    Plan(Box<ReportedPlans>),
}

/// Advice on one matrix.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ReportedAdvice {
    pub(super) matrix: MatrixSummary,
    pub(super) device: ReportedDevice,
    /// Absent from older answers, as are most fields below that may be.
    pub(super) provenance: Option<ReportedProvenance>,
    pub(super) dtype: String,
    pub(super) products: Option<u64>,
    pub(super) reordered: Option<ReportedOrder>,
    pub(super) verdict: Option<ReportedVerdict>,
    pub(super) reasons: Option<Vec<ReportedSentence>>,
    #[serde(default, deserialize_with = "structure")]
    pub(super) structure: Option<Structure>,
    pub(super) plan: Option<ReportedPlan>,
    pub(super) cache_bytes: Option<Bytes>,
    /// Best first, then those that are not ranked.
    pub(super) candidates: Vec<ReportedCandidate>,
}

/// The device that an answer is for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(remote = "Self")]
pub(crate) struct ReportedDevice {
    pub(super) name: String,
    pub(super) profile: Option<String>,
    pub(super) profile_date: Option<String>,
    pub(super) rescaled_from: Option<String>,
    pub(super) noise: Option<String>,
    /// 0 if not measured, as is the next.
    copy_bytes_per_s: Option<f64>,
    launch_s: Option<Seconds>,
}

/// Origin of an answer, beside the profile.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct ReportedProvenance {
    pub(super) version: Option<String>,
    pub(super) driver: Option<String>,
    pub(super) cusparse: Option<String>,
    pub(super) command: Option<String>,
    pub(super) date: Option<String>,
}

/// Reordering of the matrix before.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ReportedOrder {
    pub(super) by: String,
}

/// A sentence of an answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ReportedSentence {
    pub(super) text: String,
}

/// Recommended candidate, by ids of candidates.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ReportedVerdict {
    pub(super) best: String,
    /// Absent from older answers, as is `run_now`.
    pub(super) recommended: Option<String>,
    #[serde(default)]
    pub(super) gains_nothing: bool,
    pub(super) equal: Vec<String>,
    pub(super) soonest_ready: String,
    pub(super) plain_csr: Option<ReportedId>,
    pub(super) vendors_csr: Option<ReportedId>,
    pub(super) run_now: Option<ReportedId>,
    pub(super) break_even: Option<String>,
}

/// A candidate by its id.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ReportedId {
    pub(super) id: String,
}

/// A candidate, ranked or not.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(remote = "Self")]
pub(crate) struct ReportedCandidate {
    pub(super) id: String,
    pub(super) format: String,
    pub(super) kernel: String,
    pub(super) threads_per_row: Option<u64>,
    predicted_s: Option<Seconds>,
    low_s: Option<Seconds>,
    high_s: Option<Seconds>,
    pub(super) bytes: Option<Bytes>,
    pub(super) conversion_s: Option<Seconds>,
    pub(super) pays_off_after: Option<u64>,
    pub(super) in_all_s: Option<Seconds>,
    pub(super) extrapolates: Option<Vec<ReportedQuantity>>,
    pub(super) measured_s: Option<Seconds>,
    /// Why it is not ranked.
    pub(super) infeasible: Option<String>,
    /// It would run, and the profile holds no time of it.
    #[serde(default)]
    pub(super) unmeasured: bool,
    pub(super) failed: Option<String>,
}

/// A quantity in which the matrix lies outside what was measured.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ReportedQuantity {
    pub(super) quantity: String,
}

/// A predicted time and its 90 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ReportedTime {
    pub(super) predicted: Seconds,
    pub(super) low: Seconds,
    pub(super) high: Seconds,
}

/// A plan for one matrix, and its origin.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ReportedPlans {
    pub(super) device: ReportedDevice,
    pub(super) provenance: Option<ReportedProvenance>,
    pub(super) dtype: String,
    #[serde(rename = "matrices", deserialize_with = "one_matrix")]
    pub(super) plan: ReportedPlan,
}

/// A plan for one matrix.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(remote = "Self")]
pub(crate) struct ReportedPlan {
    pub(super) matrix: MatrixSummary,
    #[serde(default, deserialize_with = "structure")]
    pub(super) structure: Option<Structure>,
    /// The whole matrix in the best single candidate; absent if none is possible.
    pub(super) single: Option<ReportedPart>,
    pub(super) strategies: Vec<ReportedStrategy>,
    /// Absent if nothing was run.
    pub(super) measured: Option<Vec<ReportedRun>>,
}

/// Parts, and how they are run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(remote = "Self")]
pub(crate) struct ReportedStrategy {
    pub(super) execution: Execution,
    predicted_s: Seconds,
    low_s: Seconds,
    high_s: Seconds,
    /// Parts from the first row on. They end before the last one where the answer was shortened.
    pub(super) parts: Vec<ReportedPart>,
}

/// Neighbouring rows and what to run them with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(remote = "Self")]
pub(crate) struct ReportedPart {
    /// First row, and the one behind the last.
    pub(super) rows: [u64; 2],
    pub(super) nnz: u64,
    pub(super) id: String,
    predicted_s: Seconds,
    low_s: Seconds,
    high_s: Seconds,
}

/// A plan that was run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(remote = "Self")]
pub(crate) struct ReportedRun {
    /// `single`, `sequential`, `fused`, or a routine of the vendor's library.
    pub(super) what: String,
    /// A candidate, or the parts.
    pub(super) plan: String,
    pub(super) time_s: Option<Seconds>,
    /// Why there is no time.
    pub(super) failed: Option<String>,
}

impl Reported {
    /// Parses the output of `advise --json` or `plan --json`.
    ///
    /// # Errors
    /// What is wrong, by the path of the field: no JSON, of another schema, or with a value that neither command writes.
    pub(crate) fn from_json(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
        match value.get("schema").and_then(Value::as_str) {
            Some(AdviseAnswer::SCHEMA) => fields(value).map(Self::Advice),
            Some(PlanAnswer::SCHEMA) => fields(value).map(Self::Plan),
            found => {
                let found =
                    found.map_or("JSON without a schema".to_owned(), |found| format!("schema {found}"));
                Err(format!("{found}, not {} or {}", AdviseAnswer::SCHEMA, PlanAnswer::SCHEMA))
            }
        }
    }
}

impl From<&AdviseAnswer> for Reported {
    fn from(answer: &AdviseAnswer) -> Self {
        Self::Advice(ReportedAdvice::of(answer))
    }
}

impl From<&PlanAnswer> for Reported {
    fn from(answer: &PlanAnswer) -> Self {
        Self::Plan(taken(answer))
    }
}

/// The fields of a document that a page shows; an error names the first that cannot be read.
fn fields<T: DeserializeOwned>(document: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(document).map_err(|error| error.to_string())
}

/// The fields of an answer of this program.
fn taken<T: DeserializeOwned>(answer: &impl Answer) -> T {
    let document = serde_json::to_value(answer).map_err(|error| error.to_string());
    document.and_then(fields).expect("an answer holds what its page shows")
}

impl ReportedAdvice {
    /// The fields of an answer of this program.
    pub(super) fn of(answer: &AdviseAnswer) -> Box<Self> {
        taken(answer)
    }

    /// The candidate with that id.
    pub(super) fn candidate(&self, id: &str) -> Option<&ReportedCandidate> {
        self.candidates.iter().find(|one| one.id == id)
    }

    /// Size of the last cache, if it is known.
    pub(super) fn cache(&self) -> Option<Bytes> {
        self.cache_bytes.filter(|bytes| bytes.0 > 0)
    }
}

impl ReportedDevice {
    /// Measured copy rate.
    pub(super) fn copy_rate(&self) -> Option<f64> {
        self.copy_bytes_per_s.filter(|rate| *rate > 0.0)
    }

    /// Measured time of a launch.
    pub(super) fn launch(&self) -> Option<Seconds> {
        self.launch_s.filter(|launch| launch.0 > 0.0)
    }
}

impl ReportedCandidate {
    /// Returns whether it reads CSR as it is, with a kernel of ours and in one value type.
    pub(super) fn is_plain_csr(&self) -> bool {
        self.format == "csr" && !self.kernel.starts_with("cusparse") && !self.id.ends_with("f32-f64")
    }

    /// Predicted time; `None` if it is not ranked.
    pub(super) fn time(&self) -> Option<ReportedTime> {
        let (predicted, low, high) = (self.predicted_s?, self.low_s?, self.high_s?);
        Some(ReportedTime { predicted, low, high })
    }
}

impl ReportedStrategy {
    /// Predicted time of one product.
    pub(super) fn time(&self) -> ReportedTime {
        ReportedTime { predicted: self.predicted_s, low: self.low_s, high: self.high_s }
    }
}

impl ReportedPart {
    /// Predicted time of the part by itself.
    pub(super) fn time(&self) -> ReportedTime {
        ReportedTime { predicted: self.predicted_s, low: self.low_s, high: self.high_s }
    }
}

impl ReportedPlan {
    /// Measured runs.
    pub(super) fn measured(&self) -> &[ReportedRun] {
        self.measured.as_deref().unwrap_or_default()
    }
}

/// Limits of the values of an object, and their agreement with each other.
trait Check {
    fn check(&self) -> Result<(), String>;
}

/// Reads an object by its fields, and checks it.
macro_rules! checked {
    ($($object:ty),*) => {$(
        impl<'de> Deserialize<'de> for $object {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let read = Self::deserialize(from)?;
                read.check().map_err(D::Error::custom)?;
                Ok(read)
            }
        }
    )*};
}
checked!(ReportedDevice, ReportedCandidate, ReportedPlan, ReportedStrategy, ReportedPart, ReportedRun);

/// An error unless `is_right`.
fn ensure(is_right: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if is_right { Ok(()) } else { Err(wrong()) }
}

/// A number of 0 or more, if it is there.
fn number(name: &str, number: Option<f64>) -> Result<(), String> {
    let is_right = number.is_none_or(|number| number >= 0.0);
    ensure(is_right, || format!("{name} is {}, not a number of 0 or more", number.unwrap_or_default()))
}

/// A time between a femtosecond and ten thousand years, if it is there.
fn time(name: &str, time: Option<Seconds>) -> Result<(), String> {
    let is_right = time.is_none_or(|time| (1e-15..1e12).contains(&time.0));
    ensure(is_right, || format!("{name} is {}, not a time in seconds", time.unwrap_or_default().0))
}

impl Check for ReportedTime {
    fn check(&self) -> Result<(), String> {
        let Self { predicted, low, high } = *self;
        time("predicted_s", Some(predicted))?;
        time("low_s", Some(low))?;
        time("high_s", Some(high))?;
        ensure(low <= predicted && predicted <= high, || {
            format!("predicted_s is {}, not between low_s, {}, and high_s, {}", predicted.0, low.0, high.0)
        })
    }
}

impl Check for ReportedDevice {
    fn check(&self) -> Result<(), String> {
        number("copy_bytes_per_s", self.copy_bytes_per_s)?;
        number("launch_s", self.launch_s.map(|launch| launch.0))
    }
}

impl Check for ReportedCandidate {
    fn check(&self) -> Result<(), String> {
        number("conversion_s", self.conversion_s.map(|conversion| conversion.0))?;
        number("in_all_s", self.in_all_s.map(|all| all.0))?;
        time("measured_s", self.measured_s)?;
        match self.time() {
            Some(time) => time.check(),
            None => ensure(self.predicted_s.is_none(), || {
                "predicted_s is there without low_s or high_s".to_owned()
            }),
        }
    }
}

impl Check for ReportedPart {
    fn check(&self) -> Result<(), String> {
        let [from, to] = self.rows;
        ensure(from <= to, || format!("rows go from {from} to {to}"))?;
        self.time().check()
    }
}

/// Parts of a strategy. Chosen: as many strips as can be asked for.
const MOST: usize = 4096;

impl Check for ReportedStrategy {
    fn check(&self) -> Result<(), String> {
        let follow = self.parts.windows(2).all(|pair| pair[0].rows[1] == pair[1].rows[0]);
        let begin = self.parts.first().is_none_or(|first| first.rows[0] == 0);
        ensure(follow && begin && self.parts.len() <= MOST, || {
            format!("parts is not a list of at most {MOST} parts from row 0 on without a gap between them")
        })?;
        self.time().check()
    }
}

impl Check for ReportedPlan {
    fn check(&self) -> Result<(), String> {
        let nrows = self.matrix.nrows;
        ensure(self.single.as_ref().is_none_or(|single| single.rows == [0, nrows]), || {
            "single is not a part of all rows".to_owned()
        })?;
        let mut ends = self.strategies.iter().filter_map(|strategy| strategy.parts.last());
        ensure(ends.all(|last| last.rows[1] <= nrows), || {
            "strategies have parts that end behind the last row".to_owned()
        })
    }
}

impl Check for ReportedRun {
    fn check(&self) -> Result<(), String> {
        time("time_s", self.time_s)?;
        ensure(self.time_s.is_some() || self.failed.is_some(), || {
            "neither time_s nor failed is there".to_owned()
        })
    }
}

/// The only one of a list of matrices.
fn one_matrix<'de, D: Deserializer<'de>>(from: D) -> Result<ReportedPlan, D::Error> {
    let mut all = Vec::<ReportedPlan>::deserialize(from)?;
    match (all.pop(), all.len()) {
        (Some(one), 0) => Ok(one),
        (one, more) => {
            let count = more + usize::from(one.is_some());
            Err(D::Error::invalid_length(count, &"one: a page shows one matrix"))
        }
    }
}

/// The pictures of a matrix, which are to be drawn.
fn structure<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Structure>, D::Error> {
    let Some(structure) = Option::<Structure>::deserialize(from)? else { return Ok(None) };
    let bins = &structure.row_lengths;
    let increase = bins.windows(2).all(|pair| pair[0].to < pair[1].from);
    if !increase || !bins.iter().all(|bin| bin.from <= bin.to && bin.rows > 0) {
        return Err(D::Error::custom("row_lengths is not a list of rows by increasing length"));
    }
    let cells = &structure.spy.cells;
    let width = cells.first().map_or(0, String::len);
    let is_cell = |letter: char| letter == '.' || letter.to_digit(Spy::LEVELS).is_some_and(|level| level > 0);
    if cells.len().max(width) > Structure::CELLS
        || !cells.iter().all(|row| row.len() == width && row.chars().all(is_cell))
    {
        return Err(D::Error::custom("spy.cells is not a list of at most 128 texts of as many cells each"));
    }
    Ok(Some(structure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight::answer::{MeasuredPlan, PlannedMatrix};
    use sparsight::kernels::{DeviceKind, catalogue_on};
    use sparsight::matrix::{Csr, Dtype, Features, gallery::Recipe};
    use sparsight::model::Conditioned;
    use sparsight::partition::PartitionObjective;
    use sparsight::records::Outcome;
    use sparsight::run::Verified;
    use sparsight::{Advisor, Objective, Plan, Profile};
    use std::collections::BTreeMap;

    fn arrow() -> Csr<f64> {
        "arrow,n=20000".parse::<Recipe>().unwrap().generate().unwrap()
    }

    fn value(answer: &impl Answer) -> Value {
        serde_json::from_str(&answer.to_json()).unwrap()
    }

    /// Advice on a small arrow; its second candidate was measured.
    fn advice() -> AdviseAnswer {
        let arrow = arrow();
        let (features, profile) = (Features::of(&arrow), Profile::shipped("nvidia-h200").unwrap());
        let objective = Objective { products: Some(10), ..Objective::default() };
        let advice = Advisor::new(&profile).advise(&features, Dtype::F64, &objective).unwrap();
        let ranked = advice.ranked.iter().map(|one| (one.candidate, one.prediction.clone()));
        let expected = Conditioned::new(ranked);
        let measured = BTreeMap::from([(advice.ranked[1].candidate, Outcome::once(Seconds(1e-3)))]);
        let matrix = MatrixSummary::of("arrow", &features);
        let answer = AdviseAnswer::of(matrix, &profile, Dtype::F64, &objective, &advice)
            .with_verified(Some(&Verified::new(measured, expected)))
            .with_command("sparsight advise arrow".to_owned(), "2026-01-02".to_owned());
        AdviseAnswer { structure: Some(Structure::of(&arrow)), ..answer }
    }

    /// A plan of the same arrow that is cut in any case, and failed when it was run.
    fn plan() -> PlanAnswer {
        let (arrow, profile) = (arrow(), Profile::shipped("nvidia-h200").unwrap());
        let objective = PartitionObjective { cut_always: true, ..PartitionObjective::default() };
        let fused = catalogue_on(DeviceKind::Cuda, Dtype::F64).filter(|c| c.kernel.shares_a_launch());
        let candidates: Vec<_> = fused.collect();
        let planned = Advisor::new(&profile).partition(&arrow, &candidates, &objective).unwrap();
        let run = Plan::of(&planned.strategies[0]).unwrap();
        let failed = MeasuredPlan::of("fused", &run, &Err("y[3] is wrong"));
        let matrix = PlannedMatrix {
            structure: Some(Structure::of(&arrow)),
            ..PlannedMatrix::of("arrow", &planned).with_measured(vec![failed])
        };
        PlanAnswer {
            device: (&profile).into(),
            dtype: Dtype::F64,
            placement: objective.placement,
            row_length: objective.row_length,
            provenance: (&profile).into(),
            matrices: vec![matrix],
        }
    }

    #[test]
    fn json_and_the_answer_itself_give_the_same_page() {
        let (advice, plan) = (advice(), plan());
        assert_eq!(Reported::from_json(&advice.to_json()), Ok(Reported::from(&advice)));
        assert_eq!(Reported::from_json(&plan.to_json()), Ok(Reported::from(&plan)));
    }

    #[test]
    fn advice_is_read_as_it_was_written() {
        let answer = advice();
        let Reported::Advice(read) = Reported::from(&answer) else { panic!("advice") };
        assert_eq!((&read.matrix, &read.structure), (&answer.matrix, &answer.structure));
        assert_eq!((read.device.name.as_str(), read.products), ("NVIDIA H200", Some(10)));
        assert_eq!(read.device.copy_rate(), Some(answer.device.copy_bytes_per_s));
        let provenance = read.provenance.as_ref().unwrap();
        assert_eq!((read.cache(), provenance.date.as_deref()), (answer.cache_bytes, Some("2026-01-02")));
        assert!(read.cache().is_some_and(|bytes| bytes.0 > 1 << 20) && provenance.driver.is_some());
        let (verdict, of) = (read.verdict.as_ref().unwrap(), answer.verdict.as_ref().unwrap());
        assert_eq!(verdict.best, of.best.to_string());
        assert_eq!(verdict.recommended, Some(of.recommended.to_string()));
        let plain_csr = verdict.plain_csr.as_ref().map(|csr| csr.id.clone());
        assert_eq!(plain_csr, of.plain_csr.map(|csr| csr.id.to_string()));
        assert_eq!(read.candidates.len(), answer.candidates.len());
        for (one, of) in read.candidates.iter().zip(&answer.candidates) {
            assert_eq!(one.id, of.candidate.id.to_string());
            let advised = of.advised.as_ref();
            let predicted = advised.map(|advised| advised.prediction.time);
            assert_eq!(one.time().map(|time| time.predicted), predicted);
            assert_eq!(one.bytes, advised.map(|advised| advised.bytes));
            assert_eq!(one.conversion_s, advised.and_then(|advised| advised.preparation));
            assert_eq!(one.in_all_s, of.in_all_s);
            assert!(one.time().is_some() || one.infeasible.is_some(), "{one:?}");
        }
        assert_eq!(read.candidates[1].measured_s, Some(Seconds(1e-3)));
        assert!(read.candidates.iter().filter(|one| one.time().is_none()).count() > 5);
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let answer = plan();
        let (of, Reported::Plan(read)) = (&answer.matrices[0], Reported::from(&answer)) else {
            panic!("a plan")
        };
        assert_eq!((read.device.name.as_str(), read.dtype.as_str()), ("NVIDIA H200", "f64"));
        let plan = read.plan;
        assert_eq!((&plan.matrix, &plan.structure), (&of.matrix, &of.structure));
        assert_eq!(plan.strategies.len(), of.strategies.len());
        for (one, of) in plan.strategies.iter().zip(&of.strategies) {
            assert_eq!((one.execution, one.time().predicted), (of.execution, of.predicted_s));
            assert!(one.parts.len() > 1 && one.parts.len() == of.parts.len());
            for (one, of) in one.parts.iter().zip(&of.parts) {
                assert_eq!((one.rows, one.nnz, &one.id), (of.rows, of.nnz, &of.candidate.id.to_string()));
                assert_eq!(one.time().predicted, of.prediction.time);
            }
        }
        assert_eq!(plan.measured()[0].failed.as_deref(), Some("y[3] is wrong"));
    }

    /// The error for the document `good` with another value at a place.
    fn said(good: &Value, at: &str, value: Value) -> String {
        let mut bad = good.clone();
        *bad.pointer_mut(at).unwrap_or_else(|| panic!("{at}")) = value;
        Reported::from_json(&bad.to_string()).expect_err(at)
    }

    #[test]
    fn advice_with_an_impossible_value_is_refused_by_its_path() {
        let good = value(&advice());
        let cells = |rows: usize, columns: usize| serde_json::json!(vec!["z".repeat(columns); rows]);
        for (at, value, message) in [
            (
                "/schema",
                "sparsight/info/1".into(),
                "schema sparsight/info/1, not sparsight/advise/1 or sparsight/plan/1",
            ),
            ("/schema", Value::Null, "JSON without a schema, not sparsight/advise/1"),
            (
                "/device/copy_bytes_per_s",
                (-1).into(),
                "device: copy_bytes_per_s is -1, not a number of 0 or more",
            ),
            ("/matrix", Value::Null, "matrix: invalid type: null"),
            ("/matrix/nrows", (-1).into(), "matrix.nrows: invalid value: integer `-1`, expected u64"),
            ("/candidates/3/id", 7.into(), "candidates[3].id: invalid type: integer `7`, expected a string"),
            ("/candidates/3/predicted_s", 0.into(), "candidates[3]: predicted_s is 0, not a time in seconds"),
            ("/candidates/3/predicted_s", "1 us".into(), "candidates[3].predicted_s: invalid type: string"),
            ("/candidates/3/low_s", 1.0.into(), "candidates[3]: predicted_s is "),
            (
                "/candidates/3/high_s",
                Value::Null,
                "candidates[3]: predicted_s is there without low_s or high_s",
            ),
            ("/candidates/3", 7.into(), "candidates[3]: invalid type: integer `7`"),
            ("/verdict/plain_csr/id", Value::Null, "verdict.plain_csr.id: invalid type: null"),
            ("/structure/spy/cells", cells(129, 4), "structure: spy.cells is not"),
            ("/structure/spy/cells", cells(4, 129), "structure: spy.cells is not"),
            ("/structure/spy/cells/3", "?".into(), "structure: spy.cells is not"),
            ("/structure/row_lengths/0/rows", 0.into(), "structure: row_lengths is not"),
        ] {
            let said = said(&good, at, value);
            assert!(said.starts_with(message), "{at}: {said}");
        }
        let torn = Reported::from_json("{\"schema\": ").unwrap_err();
        assert!(torn.starts_with("no JSON: EOF"), "{torn}");
        let no_object = Reported::from_json("[7]").unwrap_err();
        assert!(no_object.starts_with("JSON without a schema"), "{no_object}");
    }

    #[test]
    fn a_plan_with_an_impossible_value_is_refused_by_its_path() {
        let good = value(&plan());
        let first = &good["matrices"][0];
        for (at, value, message) in [
            (
                "/matrices",
                vec![first.clone(), first.clone()].into(),
                "matrices: invalid length 2, expected one",
            ),
            ("/matrices", Value::Array(Vec::new()), "matrices: invalid length 0, expected one"),
            ("/matrices/0/single/rows/1", 7.into(), "matrices[0]: single is not a part of all rows"),
            (
                "/matrices/0/strategies/0/execution",
                "both".into(),
                "matrices[0].strategies[0].execution: unknown",
            ),
            ("/matrices/0/strategies/0/parts/1/rows/0", 7.into(), "matrices[0].strategies[0]: parts is not"),
            (
                "/matrices/0/strategies/0/parts/0/rows",
                7.into(),
                "matrices[0].strategies[0].parts[0].rows: invalid",
            ),
            (
                "/matrices/0/strategies/0/parts/0/rows/1",
                Value::Null,
                "matrices[0].strategies[0].parts[0].rows[1]: ",
            ),
            (
                "/matrices/0/strategies/0/parts/0/low_s",
                1e3.into(),
                "matrices[0].strategies[0].parts[0]: predicted_s is ",
            ),
            (
                "/matrices/0/strategies/0/predicted_s",
                Value::Null,
                "matrices[0].strategies[0].predicted_s: invalid type: null",
            ),
            (
                "/matrices/0/measured/0/failed",
                Value::Null,
                "matrices[0].measured[0]: neither time_s nor failed",
            ),
        ] {
            let said = said(&good, at, value);
            assert!(said.starts_with(message), "{at}: {said}");
        }
        let mut beyond = good.clone();
        let parts = beyond.pointer_mut("/matrices/0/strategies/0/parts").unwrap().as_array_mut().unwrap();
        parts.last_mut().unwrap()["rows"][1] = 20_001.into();
        let said = Reported::from_json(&beyond.to_string()).unwrap_err();
        assert!(said.starts_with("matrices[0]: strategies have parts that end behind"), "{said}");
    }

    #[test]
    fn advice_of_an_older_version_is_read_without_its_missing_fields() {
        let mut older = value(&advice());
        for newer in ["structure", "cache_bytes", "provenance", "verdict", "reasons"] {
            older.as_object_mut().unwrap().remove(newer).unwrap();
        }
        let Ok(Reported::Advice(read)) = Reported::from_json(&older.to_string()) else { panic!("advice") };
        assert!(read.structure.is_none() && read.cache().is_none());
        assert!(read.verdict.is_none() && read.provenance.is_none());
    }
}
