//! What `plan --json` wrote of one matrix, read again: as much as a page about it shows.
//!
//! As in [`ReportedAdvice`](super::ReportedAdvice) everything is looked at once: parts follow each other without a gap from the
//! first row on, and none ends behind the last.

use super::fields::{self, ABOVE_0, Fields, NotReported};
use super::reported::{matrix_of, structure_of};
use super::{Answer, MatrixSummary, PlanAnswer, ReportedSource, ReportedTime, Structure};
use serde_json::Value;
use sparsight_kernels::Execution;
use sparsight_matrix::Seconds;

/// A plan as it was written down.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedPlan {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// Where the answer comes from.
    pub source: ReportedSource,
    /// Value type.
    pub dtype: String,
    /// How long rows are, and where the non-zeros lie.
    pub structure: Option<Structure>,
    /// The whole matrix in the best single candidate; `None` if none is possible.
    pub single: Option<ReportedPart>,
    /// The best of each execution.
    pub strategies: Vec<ReportedStrategy>,
    /// What was run.
    pub measured: Vec<ReportedRun>,
    /// Whether to cut, as a sentence; `None` in older answers.
    pub verdict: Option<String>,
}

/// Parts, and how they are run.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedStrategy {
    /// How.
    pub execution: Execution,
    /// What one product takes.
    pub time: ReportedTime,
    /// From the first row on. They end before the last one where the answer was shortened.
    pub parts: Vec<ReportedPart>,
}

/// Neighbouring rows and what to run them with.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedPart {
    /// First row, and the one behind the last.
    pub rows: [u64; 2],
    /// Non-zeros in them.
    pub nnz: u64,
    /// The candidate, as it is written.
    pub id: String,
    /// What it takes by itself.
    pub time: ReportedTime,
}

/// A plan that was run.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedRun {
    /// `single`, `sequential`, `fused`, or a routine of the vendor's library.
    pub what: String,
    /// A candidate, or the parts.
    pub plan: String,
    /// Seconds a product, or why there is no time.
    pub outcome: Result<Seconds, String>,
}

/// Parts of a strategy. Chosen: as many strips as can be asked for.
const MOST: usize = 4096;

impl ReportedPlan {
    /// From what [`PlanAnswer::to_json`](Answer::to_json) gives.
    ///
    /// # Errors
    /// If it is not that, holds a number that cannot be, or speaks of several matrices.
    pub fn from_json(text: &str) -> Result<Self, NotReported> {
        Self::of(&fields::parsed(text, &[PlanAnswer::SCHEMA])?)
    }

    pub(super) fn of(value: &Value) -> Result<Self, NotReported> {
        let all = Fields::of(value);
        let matrices = all.list("matrices")?;
        let [one] = matrices.as_slice() else {
            return Err(all.wrong("matrices", "a list of one: a page shows one matrix"));
        };
        Self::of_matrix(one, ReportedSource::of(&all)?, all.needed_text("dtype")?)
    }

    /// Of the entry of one matrix.
    pub(super) fn of_matrix(
        one: &Fields<'_>,
        source: ReportedSource,
        dtype: String,
    ) -> Result<Self, NotReported> {
        let matrix = matrix_of(one)?;
        let single = one.object("single")?.map(|part| ReportedPart::of(&part)).transpose()?;
        if single.as_ref().is_some_and(|single| single.rows != [0, matrix.nrows]) {
            return Err(one.wrong("single", "a part of all rows"));
        }
        let strategy = |fields: &Fields<'_>| ReportedStrategy::of(fields, matrix.nrows);
        Ok(Self {
            source,
            dtype,
            structure: one.object("structure")?.map(|structure| structure_of(&structure)).transpose()?,
            single,
            strategies: one.list("strategies")?.iter().map(strategy).collect::<Result<_, _>>()?,
            verdict: one.object("verdict")?.map(|verdict| verdict.needed_text("text")).transpose()?,
            measured: match one.value("measured") {
                Some(_) => one.list("measured")?.iter().map(ReportedRun::of).collect::<Result<_, _>>()?,
                None => Vec::new(),
            },
            matrix,
        })
    }
}

impl ReportedStrategy {
    fn of(fields: &Fields<'_>, nrows: u64) -> Result<Self, NotReported> {
        let execution = fields.needed_text("execution")?.parse();
        let parts: Vec<ReportedPart> =
            fields.list("parts")?.iter().map(ReportedPart::of).collect::<Result<_, _>>()?;
        let follow = parts.windows(2).all(|pair| pair[0].rows[1] == pair[1].rows[0]);
        let begin = parts.first().is_none_or(|first| first.rows[0] == 0);
        if !follow || !begin || parts.last().is_some_and(|last| last.rows[1] > nrows) || parts.len() > MOST {
            return Err(fields.wrong("parts", "a list of parts without a gap between them"));
        }
        Ok(Self {
            execution: execution.map_err(|_: String| fields.wrong("execution", "sequential or fused"))?,
            time: needed_time(fields)?,
            parts,
        })
    }
}

impl ReportedPart {
    fn of(fields: &Fields<'_>) -> Result<Self, NotReported> {
        let rows = fields.array("rows")?;
        let rows: Option<Vec<u64>> = rows.iter().map(Value::as_u64).collect();
        let rows = rows.and_then(|rows| <[u64; 2]>::try_from(rows).ok()).filter(|[from, to]| from <= to);
        Ok(Self {
            rows: rows.ok_or_else(|| fields.wrong("rows", "two row numbers"))?,
            nnz: fields.needed_count("nnz")?,
            id: fields.needed_text("id")?,
            time: needed_time(fields)?,
        })
    }
}

impl ReportedRun {
    fn of(fields: &Fields<'_>) -> Result<Self, NotReported> {
        let outcome = match (fields.time("time_s")?, fields.text("failed")?) {
            (Some(time), _) => Ok(time),
            (None, Some(why)) => Err(why),
            (None, None) => return Err(fields.missing("time_s", ABOVE_0)),
        };
        Ok(Self { what: fields.needed_text("what")?, plan: fields.needed_text("plan")?, outcome })
    }
}

fn needed_time(fields: &Fields<'_>) -> Result<ReportedTime, NotReported> {
    ReportedTime::of(fields)?.ok_or_else(|| fields.missing("predicted_s", ABOVE_0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{MeasuredPlan, PlannedMatrix, Reported};
    use crate::partition::PartitionObjective;
    use crate::{Advisor, Plan, Profile};
    use sparsight_kernels::{DeviceKind, catalogue_on};
    use sparsight_matrix::{Csr, Dtype, gallery::Recipe};

    /// A plan of a small arrow, cut in any case, and what is written of it.
    fn written() -> (PlanAnswer, Value) {
        let arrow: Csr<f64> = "arrow,n=20000".parse::<Recipe>().unwrap().generate().unwrap();
        let profile = Profile::shipped("nvidia-h200").unwrap();
        let objective = PartitionObjective { cut_always: true, ..PartitionObjective::default() };
        let fused = catalogue_on(DeviceKind::Cuda, Dtype::F64).filter(|c| c.kernel.shares_a_launch());
        let candidates: Vec<_> = fused.collect();
        let planned = Advisor::new(&profile).partition(&arrow, &candidates, &objective).unwrap();
        let run = Plan::of(&planned.strategies[0]).unwrap();
        let matrix = PlannedMatrix {
            structure: Some(Structure::of(&arrow)),
            ..PlannedMatrix::of("arrow", &planned).with_measured(vec![MeasuredPlan::of(
                "fused",
                &run,
                &Err("y[3] is wrong"),
            )])
        };
        let answer = PlanAnswer {
            device: (&profile).into(),
            dtype: Dtype::F64,
            placement: objective.placement,
            row_length: objective.row_length,
            provenance: (&profile).into(),
            matrices: vec![matrix],
        };
        let value = serde_json::from_str(&answer.to_json()).unwrap();
        (answer, value)
    }

    #[test]
    fn what_plan_writes_is_read_as_it_was_written() {
        let (answer, value) = written();
        let read = ReportedPlan::from_json(&value.to_string()).unwrap();
        assert_eq!(Reported::from_json(&value.to_string()), Ok(Reported::Plan(read.clone().into())));
        let of = &answer.matrices[0];
        assert_eq!((&read.matrix, &read.structure), (&of.matrix, &of.structure));
        assert_eq!((read.source.device.as_str(), read.dtype.as_str()), ("NVIDIA H200", "f64"));
        assert_eq!(read.strategies.len(), of.strategies.len());
        for (one, of) in read.strategies.iter().zip(&of.strategies) {
            assert_eq!((one.execution, one.time.predicted), (of.execution, of.predicted_s));
            assert!(one.parts.len() > 1 && one.parts.len() == of.parts.len());
            for (one, of) in one.parts.iter().zip(&of.parts) {
                assert_eq!((one.rows, one.nnz, &one.id), (of.rows, of.nnz, &of.candidate.id.to_string()));
                assert_eq!(one.time.predicted, of.prediction.predicted_s);
            }
        }
        assert_eq!(read.measured[0].outcome, Err("y[3] is wrong".to_owned()));
    }

    #[test]
    fn what_plan_never_writes_is_refused_and_named() {
        let (_, good) = written();
        let first = &good["matrices"][0];
        for (at, value, message) in [
            (
                "/schema",
                "sparsight/info/1".into(),
                "schema sparsight/info/1, not sparsight/advise/1 or sparsight/plan/1",
            ),
            (
                "/matrices",
                vec![first.clone(), first.clone()].into(),
                "matrices is something else, not a list of one",
            ),
            ("/matrices", Value::Array(Vec::new()), "matrices is something else, not a list of one"),
            (
                "/matrices/0/single/rows/1",
                7.into(),
                "matrices[0].single is something else, not a part of all rows",
            ),
            (
                "/matrices/0/strategies/0/execution",
                "both".into(),
                "execution is something else, not sequential",
            ),
            ("/matrices/0/strategies/0/parts/1/rows/0", 7.into(), "strategies[0].parts is something else"),
            (
                "/matrices/0/strategies/0/parts/0/rows",
                7.into(),
                "parts[0].rows is something else, not a list",
            ),
            (
                "/matrices/0/strategies/0/parts/0/rows/1",
                Value::Null,
                "parts[0].rows is something else, not two",
            ),
            ("/matrices/0/strategies/0/parts/0/low_s", 1e3.into(), "parts[0].predicted_s is something else"),
            ("/matrices/0/strategies/0/predicted_s", Value::Null, "strategies[0].predicted_s is missing"),
            ("/matrices/0/measured/0/failed", Value::Null, "measured[0].time_s is missing"),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(at).unwrap() = value;
            let said = Reported::from_json(&bad.to_string()).unwrap_err().to_string();
            assert!(said.contains(message), "{at}: {said}");
        }
    }
}
