//! The fitted strip models of one device: what a profile stores and a predictor reads.
//!
//! One fit stands for one candidate (kernel, knobs, block size, value type) and one placement of the columns;
//! each is the papers' model by itself. HYB has none: it is put together from ELL and COO of the same block size
//! and value type when it is asked for.

use crate::baseline::positive_or;
use crate::observation::Point;
use crate::regime::working_sets;
use crate::{Extent, LogInterval, Observation, PredictError, Regimes};
use serde::{Deserialize, Deserializer, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts, Placement, RowLengthDistribution, StripRule, StripUnit};
use sparsight_matrix::Seconds;
use std::collections::BTreeMap;

/// Variant of the strip model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// The papers' model: one fit for all sizes.
    Strip,
    /// The same equations, fitted apart on both sides of a border in the working set (L2) and in x (L1), where
    /// the benchmark matrices ask for one.
    StripCache,
    /// The papers' model, fitted to benchmark matrices with uniform row lengths (Wang, Gu and Li 2017).
    StripUniform,
    /// The strip model with normally distributed row lengths.
    StripNormal,
}

impl Variant {
    /// All, in the order in which tables list them.
    pub const ALL: [Self; 4] = [Self::Strip, Self::StripCache, Self::StripUniform, Self::StripNormal];

    /// The one name used in flags and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strip => "strip",
            Self::StripCache => "strip-cache",
            Self::StripUniform => "strip-uniform",
            Self::StripNormal => "strip-normal",
        }
    }

    /// Row lengths of the benchmark matrices that it is fitted to; the equations are the same for all.
    pub const fn lengths(self) -> RowLengthDistribution {
        match self {
            Self::Strip | Self::StripCache => RowLengthDistribution::Constant,
            Self::StripUniform => RowLengthDistribution::Uniform,
            Self::StripNormal => RowLengthDistribution::Normal,
        }
    }
}

/// A candidate at one placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedCandidate {
    /// Candidate that was run.
    pub candidate: Candidate,
    /// Placement of the columns of its benchmark matrices.
    pub placement: Placement,
    /// The equations.
    pub regimes: Regimes,
    /// Working sets of its benchmark matrices, bytes.
    pub working_sets: Extent,
    /// Shortest measured time: the floor on a device whose launch cost is unknown.
    pub least: Seconds,
    /// 90 % of `ln(measured / predicted)` over its benchmark matrices.
    pub interval: LogInterval,
    /// Number of observations.
    pub observations: usize,
}

/// A candidate whose benchmark matrices were too few.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfittedCandidate {
    /// Candidate that was run.
    pub candidate: Candidate,
    /// Placement of the columns.
    pub placement: Placement,
    /// Usable benchmark matrices.
    pub observations: usize,
}

impl UnfittedCandidate {
    /// Data that a fit needs, in words.
    pub fn needed(&self) -> &'static str {
        match (self.candidate.kernel.strip_rule(), self.candidate.kernel.unit()) {
            (StripRule::Csr, _) => "two row lengths and two numbers of strips that share a matrix",
            (StripRule::Coo, StripUnit::Items) => "two numbers of strips of rows and non-zeros",
            (StripRule::Coo, _) => "two numbers of strips of non-zeros",
            _ => "two row lengths at each of two numbers of strips",
        }
    }
}

/// All fits of one device.
///
/// Invariant, made by [`StripModel::fit`] and restored when read: `fitted` is sorted by candidate and placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StripModel {
    variant: Variant,
    #[serde(deserialize_with = "sorted")]
    fitted: Vec<FittedCandidate>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unfitted: Vec<UnfittedCandidate>,
}

/// Reads stored fits in any order.
fn sorted<'de, D: Deserializer<'de>>(stored: D) -> Result<Vec<FittedCandidate>, D::Error> {
    let mut fitted = Vec::<FittedCandidate>::deserialize(stored)?;
    fitted.sort_by_key(FittedCandidate::key);
    Ok(fitted)
}

impl FittedCandidate {
    fn key(&self) -> (Candidate, Placement) {
        (self.candidate, self.placement)
    }

    /// Lower bound of any product: the launch cost of the device, or where that is unknown the shortest time
    /// measured with this candidate.
    pub fn floor_s(&self, facts: &DeviceFacts) -> f64 {
        positive_or(facts.launch_s.0, self.least.0)
    }

    fn fit(
        variant: Variant,
        facts: &DeviceFacts,
        (candidate, placement): (Candidate, Placement),
        points: &[Point],
    ) -> Option<Self> {
        let regimes = match variant {
            Variant::StripCache => Regimes::split(candidate.kernel, facts, points),
            Variant::Strip | Variant::StripUniform | Variant::StripNormal => {
                Regimes::single(candidate.kernel, facts, points)
            }
        }?;
        let least = points.iter().map(|p| p.time_s).min_by(f64::total_cmp)?;
        let mut fitted = Self {
            candidate,
            placement,
            regimes,
            working_sets: working_sets(points)?,
            least: Seconds(least),
            interval: LogInterval::new(0.0, 0.0),
            observations: points.len(),
        };
        let floor = fitted.floor_s(facts);
        let residual = |p: &Point| {
            let equation = fitted.regimes.of(&p.footprint, p.strips, p.row_length, floor);
            (p.time_s / equation.time_s(p.strips, p.row_length).max(floor)).ln()
        };
        fitted.interval = LogInterval::of_residuals(points.iter().map(residual).collect());
        Some(fitted)
    }
}

impl StripModel {
    /// Fits every candidate and placement that has enough observations; the others are listed in
    /// [`StripModel::unfitted`]. Observations without a positive time are left out, and so are those of HYB and those
    /// whose row lengths are not the variant's.
    ///
    /// O(n^2) for n observations of a candidate, for `strip-cache` O(n^3).
    ///
    /// # Errors
    /// [`PredictError::NothingFitted`] if not one candidate could be fitted.
    pub fn fit(
        facts: &DeviceFacts,
        observations: &[Observation],
        variant: Variant,
    ) -> Result<Self, PredictError> {
        let mut groups: BTreeMap<(Candidate, Placement), Vec<Point>> = BTreeMap::new();
        let counts =
            |o: &&Observation| o.candidate.kernel.has_benchmark_matrices() && o.lengths == variant.lengths();
        for observation in observations.iter().filter(counts) {
            let group = groups.entry((observation.candidate, observation.placement)).or_default();
            group.extend(Point::of(observation, facts));
        }
        let got = groups.values().map(Vec::len).sum();
        let (mut fitted, mut unfitted) = (Vec::new(), Vec::new());
        for (key, points) in groups {
            match FittedCandidate::fit(variant, facts, key, &points) {
                Some(fit) => fitted.push(fit),
                None => unfitted.push(UnfittedCandidate {
                    candidate: key.0,
                    placement: key.1,
                    observations: points.len(),
                }),
            }
        }
        if fitted.is_empty() {
            return Err(PredictError::NothingFitted { model: variant.name(), got });
        }
        Ok(Self { variant, fitted, unfitted })
    }

    /// Variant of the model.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// All fits, sorted by candidate and placement.
    pub fn fitted(&self) -> &[FittedCandidate] {
        &self.fitted
    }

    /// Candidates that had observations, but too few.
    pub fn unfitted(&self) -> &[UnfittedCandidate] {
        &self.unfitted
    }

    /// The fit of a candidate at a placement. O(log fits).
    pub fn find(&self, candidate: &Candidate, placement: Placement) -> Option<&FittedCandidate> {
        let at = self.fitted.binary_search_by_key(&(*candidate, placement), FittedCandidate::key);
        at.ok().map(|at| &self.fitted[at])
    }
}
