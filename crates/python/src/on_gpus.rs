//! A matrix on several GPUs: how its rows are dealt out, by which links the GPUs are joined, and how long a product takes.

use crate::advice::Advice;
use crate::buffers::Indices;
use crate::failure::{Failure, Kind};
use crate::forked;
use crate::matrix::Matrix;
use crate::typed::with_typed;
use pyo3::prelude::*;
use sparsight::answer::{AdviseGpusAnswer, Answer, LinksAnswer, NumbersOfGpus, OnGpus, TooFewGpus};
use sparsight::distributed::{Deal, numbers_of_gpus};
use sparsight::matrix::{Csr, Distribution, Scalar};
use sparsight::profile::KnownLinks;
use sparsight::{Advisor, Profile};
use std::path::{Path, PathBuf};

/// Distribution of rows: in their order, or by an array of Python that has a part for each row.
pub(crate) struct Parts(Option<Vec<u64>>);

impl Parts {
    pub(crate) fn read(array: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self(array.map(|array| Indices::read("parts", array)).transpose()?.map(|parts| parts.offsets())))
    }

    /// Distributes over `gpus` GPUs, of which some may get nothing.
    pub(crate) fn deal(&self, size: (usize, usize), gpus: usize) -> Result<Deal, Failure> {
        let Some(parts) = &self.0 else { return Ok(Deal::InOrder) };
        // The package has looked at them: none is negative, or beyond what can be named.
        let parts = parts.iter().map(|&part| u32::try_from(part).unwrap_or(u32::MAX)).collect();
        Ok(Deal::Given(Distribution::of_parts(size, gpus, parts)?))
    }

    /// Name in answers.
    fn name(&self) -> &'static str {
        if self.0.is_some() { "parts" } else { "in order" }
    }
}

/// The links in a file, else those of the profile, and how answers name them.
pub(crate) fn links_of(file: Option<&Path>, profile: &Profile) -> Result<(KnownLinks, LinksAnswer), Failure> {
    if !profile.device.facts.kind.is_gpu() {
        let text = format!("rows are dealt out to GPUs, and the profile is of {}", profile.device.facts.name);
        return Err(Failure::new(Kind::NoProfile, text).hinted("plan(A, device=\"nvidia-h200\") is for GPUs"));
    }
    let (known, source) = if let Some(file) = file {
        (KnownLinks::read(file)?, file.display().to_string())
    } else {
        let known = profile.links()?.ok_or_else(|| {
            let text = format!("the profile {} holds no links between GPUs", profile.name);
            Failure::new(Kind::NoProfile, text).hinted(
                "links= names a links.json, which `sparsight lab profile --links -o DIR` measures where two GPUs are, or a TOML \
                 file (docs/gpus.md)",
            )
        })?;
        (known, profile.name.clone())
    };
    Ok((known, LinksAnswer { source, links: known.links }))
}

/// Prediction for `count` GPUs, or the reason why they cannot hold it.
fn on<T: Scalar>(
    a: &Csr<T>,
    advice: &Advice,
    count: usize,
    parts: &Parts,
    known: &KnownLinks,
) -> Result<Result<OnGpus, TooFewGpus>, Failure> {
    let advisor = Advisor::new(&advice.profile);
    let numbers = NumbersOfGpus { matrix: a, advisor, advice: &advice.ranking, objective: &advice.objective };
    if count == 1 {
        return Ok(numbers.on_one());
    }
    let deal = parts.deal((a.nrows(), a.ncols()), count)?;
    Ok(numbers.on(count, &deal, known)?.map(|(on, _)| on))
}

/// Predicts a product on each number of GPUs like that of the advice. As `sparsight advise --gpus --json` answers: schema
/// sparsight/advise-gpus/1.
#[pyfunction]
#[pyo3(signature = (matrix, advice, counts, parts, links))]
#[allow(clippy::needless_pass_by_value)] // Python gives a list and a path, which become ours.
pub(crate) fn on_gpus(
    py: Python<'_>,
    matrix: &Matrix,
    advice: &Advice,
    counts: Vec<usize>,
    parts: Option<&Bound<'_, PyAny>>,
    links: Option<PathBuf>,
) -> PyResult<String> {
    forked::refuse()?;
    let parts = Parts::read(parts)?;
    let (known, links) = links_of(links.as_deref(), &advice.profile)?;
    numbers_of_gpus(&counts).map_err(Failure::from)?;
    let mut all = Vec::with_capacity(counts.len());
    for count in counts {
        py.check_signals()?;
        all.push(forked::work(py, || with_typed!(&matrix.csr, a => on(a, advice, count, &parts, &known)))??);
    }
    Ok(forked::work(py, || answer(matrix, advice, &parts, links, all))??)
}

/// The answer as JSON.
pub(crate) fn answer(
    matrix: &Matrix,
    advice: &Advice,
    parts: &Parts,
    links: LinksAnswer,
    all: Vec<Result<OnGpus, TooFewGpus>>,
) -> Result<String, Failure> {
    let (summary, deal) = (advice.matrix.clone(), parts.name().to_owned());
    let profile = &advice.profile;
    Ok(AdviseGpusAnswer::of(summary, profile, matrix.csr.dtype(), deal, links, all)?.to_json())
}
