//! The trees of each family, and the network of all kernels, over the baselines of the kernels.

use super::growth::growth;
use super::inputs::{BLOCK_INPUTS, COUNT, INPUTS, MIDDLE_BLOCK, Matrix, OF_MATRIX};
use crate::baseline::{Baseline, Terms};
use crate::network::{self, Begun, Network};
use crate::trees::{Row, ScalarForest};
use crate::{Learner, LearningSample, Term};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, DeviceFacts, Kernel};
use sparsight_matrix::{Dtype, Features};
use std::collections::BTreeSet;

/// `T = b exp(sum of the leaves + d)`, where d moves a kernel from what its trees say towards what the network says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Boosting {
    /// Baseline of each kernel; those of a family lie one behind the other.
    baselines: Vec<(Kernel, Baseline)>,
    /// The trees of each family. Stored as bytes.
    #[serde(skip)]
    families: Vec<ScalarForest>,
    /// Empty where too few matrices were measured. A class is a kernel. Stored as bytes.
    #[serde(skip)]
    network: Network,
}

/// Networks whose mean counts. Chosen: a third one takes little off the error, and each adds 2 % to the time of a ranking.
const NETWORKS: usize = 2;
/// Matrices learned from without which there is no network. Chosen; where trees are better off alone was not measured.
const NETWORK_MATRICES: usize = 200;
/// Weight of the network; the trees have the rest. Chosen by the folds of `fit` on an H200 (docs/results/h200-learned.md).
const SHARE: f64 = 0.3;

const _: () = assert!(COUNT <= ScalarForest::MOST_INPUTS);

/// Baselines, one for each kernel of the samples.
fn baselines(samples: &[LearningSample<'_>], terms: &[Terms]) -> Vec<(Kernel, Baseline)> {
    let kernels: BTreeSet<Kernel> = samples.iter().map(|s| s.candidate.kernel).collect();
    let fit = |kernel: Kernel| {
        let own = samples.iter().zip(terms).filter(|(s, _)| s.candidate.kernel == kernel);
        (kernel, Baseline::fit(own.map(|(s, terms)| (&s.candidate, terms, s.time.0))))
    };
    kernels.into_par_iter().map(fit).collect()
}

/// Kernels, one behind the other, that share their trees.
fn by_family(baselines: &[(Kernel, Baseline)]) -> impl Iterator<Item = &[(Kernel, Baseline)]> {
    baselines.chunk_by(|a, b| a.0.family().name == b.0.family().name)
}

/// A sample as trees and network learn it.
struct Taught<'a> {
    matrix: &'a str,
    inputs: [i32; COUNT],
    /// The place of its kernel among the baselines.
    class: usize,
    /// Whether it is of the kernel's middle block size.
    at_middle: bool,
    response: [f32; 1],
    weight: f32,
}

impl<'a> Taught<'a> {
    fn of(
        sample: &LearningSample<'a>,
        terms: &Terms,
        baselines: &[(Kernel, Baseline)],
        facts: &DeviceFacts,
    ) -> Option<Self> {
        let (candidate, kernel) = (&sample.candidate, sample.candidate.kernel);
        let matrix = Matrix::of(sample.features, candidate.dtype, facts)?;
        let class = baselines.iter().position(|(other, _)| *other == kernel)?;
        let (baseline_s, shares) = baselines[class].1.parts(candidate, terms);
        let inputs = matrix.inputs(candidate, terms, &shares, facts);
        let response = [(sample.time.0 / baseline_s).ln() as f32];
        let (at_middle, weight) = (candidate.block == middle(kernel), sample.weight() as f32);
        Some(Self { matrix: sample.matrix, inputs, class, at_middle, response, weight })
    }
}

/// The trees of the family that begins with `first`.
fn grown_trees(first: Kernel, rows: &[Taught<'_>], baselines: &[(Kernel, Baseline)]) -> ScalarForest {
    let own = rows.iter().filter(|row| baselines[row.class].0.family().name == first.family().name);
    let own: Vec<&Taught<'_>> = own.collect();
    // The least weight of a leaf speaks of records: weights are brought to a mean of 1.
    let mean = own.iter().map(|row| row.weight).sum::<f32>() / own.len() as f32;
    let weights: Vec<[f32; 1]> = own.iter().map(|row| [row.weight / mean]).collect();
    let rows = own.iter().zip(&weights).map(|(row, weights)| Row {
        inputs: &row.inputs,
        responses: &row.response,
        weights,
    });
    let rows: Vec<Row<'_>> = rows.collect();
    ScalarForest::grow(&rows, &growth(first))
}

/// The network of all kernels; an empty one where too few matrices were measured with middle block sizes, or a kernel with none.
fn trained_network(rows: &[Taught<'_>], kernels: usize) -> Network {
    let own = || rows.iter().filter(|row| row.at_middle);
    let matrices: BTreeSet<&str> = own().map(|row| row.matrix).collect();
    let classes: BTreeSet<usize> = own().map(|row| row.class).collect();
    if matrices.len() < NETWORK_MATRICES || classes.len() < kernels {
        return Network::default();
    }
    let own: Vec<network::Row<'_>> = own()
        .map(|row| network::Row {
            inputs: &row.inputs,
            class: row.class,
            response: row.response[0],
            weight: row.weight,
        })
        .collect();
    Network::train(&own, kernels, NETWORKS)
}

/// What a model holds of a kernel.
#[derive(Debug, Clone, Copy)]
struct OfKernel<'m> {
    /// Its place among the kernels.
    class: usize,
    baseline: &'m Baseline,
    trees: &'m ScalarForest,
}

/// The block size at which the network sees a kernel: 256, or the nearest that the kernel has.
fn middle(kernel: Kernel) -> u32 {
    let blocks = kernel.blocks().iter().copied();
    blocks.min_by_key(|block| block.abs_diff(MIDDLE_BLOCK)).unwrap_or(MIDDLE_BLOCK)
}

impl Boosting {
    fn of_kernel(&self, kernel: Kernel) -> Option<OfKernel<'_>> {
        let class = self.baselines.iter().position(|(other, _)| *other == kernel)?;
        let trees = self.families.get(by_family(&self.baselines[..=class]).count() - 1)?;
        Some(OfKernel { class, baseline: &self.baselines[class].1, trees })
    }

    /// d, from the inputs of the kernel's middle block size and what the trees say there.
    fn pull(&self, of: OfKernel<'_>, matrix: &Prepared<'_>, inputs: &[i32; COUNT], of_trees: f64) -> f64 {
        SHARE * (self.network.answer(inputs, &matrix.begun, of.class) - of_trees)
    }

    /// [`Boosting::pull`] of a candidate of any block size.
    fn pull_alone(&self, of: OfKernel<'_>, candidate: &Candidate, matrix: &Prepared<'_>) -> f64 {
        let candidate = Candidate { block: middle(candidate.kernel), ..*candidate };
        let terms = matrix.terms(&candidate);
        let (_, shares) = of.baseline.parts(&candidate, &terms);
        let inputs = matrix.own.inputs(&candidate, &terms, &shares, matrix.facts);
        self.pull(of, matrix, &inputs, of.trees.sum(&inputs))
    }
}

/// A matrix in one value type, with what the network makes of the inputs that all candidates share.
#[derive(Debug)]
pub struct Prepared<'m> {
    own: Matrix<'m>,
    features: &'m Features,
    facts: &'m DeviceFacts,
    begun: Begun,
}

impl Prepared<'_> {
    fn terms(&self, candidate: &Candidate) -> Terms {
        Terms::of(candidate, self.features, self.facts)
    }
}

impl Learner for Boosting {
    const NAME: &'static str = "boosting";
    const FORMAT: &'static str = "sparsight/boosting/13";

    fn inputs() -> Vec<String> {
        INPUTS.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    /// One for all kernels: a family shares its trees, and all share the network.
    fn group(_: Kernel) -> &'static str {
        "all kernels"
    }

    fn split(&self, body: &mut Vec<u8>) -> Self {
        self.families.iter().for_each(|trees| trees.pack(body));
        self.network.pack(body);
        Self { baselines: self.baselines.clone(), families: Vec::new(), network: Network::default() }
    }

    fn join(self, body: &mut &[u8]) -> Result<Self, String> {
        let of_family = |own: &[(Kernel, Baseline)]| {
            let named = |reason| format!("{}: {reason}", own[0].0.family().name);
            ScalarForest::unpack(COUNT, body).map_err(named)
        };
        let families = by_family(&self.baselines).map(of_family).collect::<Result<_, _>>()?;
        let network = Network::unpack(COUNT, self.baselines.len(), body)?;
        Ok(Self { families, network, ..self })
    }

    fn learn(samples: &[LearningSample<'_>], facts: &DeviceFacts) -> Self {
        let terms = samples.par_iter().map(|s| Terms::of(&s.candidate, s.features, facts));
        let terms: Vec<Terms> = terms.collect();
        let baselines = baselines(samples, &terms);
        let rows: Vec<Taught<'_>> = (samples.par_iter().zip(&terms))
            .filter_map(|(sample, terms)| Taught::of(sample, terms, &baselines, facts))
            .collect();
        let firsts: Vec<Kernel> = by_family(&baselines).map(|family| family[0].0).collect();
        let (families, network) = rayon::join(
            || firsts.into_par_iter().map(|first| grown_trees(first, &rows, &baselines)).collect(),
            || trained_network(&rows, baselines.len()),
        );
        Self { baselines, families, network }
    }

    type Matrix<'m> = Prepared<'m>;

    fn matrix<'m>(
        &'m self,
        features: &'m Features,
        dtype: Dtype,
        facts: &'m DeviceFacts,
    ) -> Option<Prepared<'m>> {
        let own = Matrix::of(features, dtype, facts)?;
        let begun = self.network.begin(OF_MATRIX, own.shared());
        Some(Prepared { own, features, facts, begun })
    }

    fn times_s(&self, blocks: &[Candidate], matrix: &Prepared<'_>) -> Vec<Option<f64>> {
        let Some(first) = blocks.first() else { return Vec::new() };
        let Some(of) = self.of_kernel(first.kernel) else { return vec![None; blocks.len()] };
        let facts = matrix.facts;
        let terms: Vec<Terms> = blocks.iter().map(|c| matrix.terms(c)).collect();
        let parts: Vec<_> = blocks.iter().zip(&terms).map(|(c, t)| of.baseline.parts(c, t)).collect();
        let of_block = |(c, (_, shares)): (&Candidate, &(f64, _))| matrix.own.block_inputs(c, shares, facts);
        let differing: Vec<_> = blocks.iter().zip(&parts).map(of_block).collect();
        let mut inputs = matrix.own.inputs(first, &terms[0], &parts[0].1, facts);
        let mut corrections = of.trees.sums(&inputs, &differing);
        if !self.network.is_empty() {
            let at_middle = blocks.iter().position(|c| c.block == middle(c.kernel));
            let pull = if let Some(at) = at_middle {
                inputs[..BLOCK_INPUTS].copy_from_slice(&differing[at]);
                self.pull(of, matrix, &inputs, corrections[at])
            } else {
                self.pull_alone(of, first, matrix)
            };
            for correction in &mut corrections {
                *correction += pull;
            }
        }
        let time = |(correction, (baseline, _)): (f64, (f64, _))| Some(baseline * correction.exp());
        corrections.into_iter().zip(parts).map(time).collect()
    }

    fn terms(&self, candidate: &Candidate, features: &Features, facts: &DeviceFacts) -> Vec<Term> {
        let Some(matrix) = self.matrix(features, candidate.dtype, facts) else { return Vec::new() };
        let Some(of) = self.of_kernel(candidate.kernel) else { return Vec::new() };
        let terms = matrix.terms(candidate);
        let (baseline, shares) = of.baseline.parts(candidate, &terms);
        let correction = of.trees.sum(&matrix.own.inputs(candidate, &terms, &shares, facts));
        let mut all = matrix.own.terms(candidate, &terms, &shares, facts);
        let whole = |name, value, unit| Term { part: "", name, value, unit };
        all.push(whole("baseline", baseline, "s"));
        all.push(whole("trees", of.trees.len() as f64, ""));
        all.push(whole("factor of the trees", correction.exp(), ""));
        if !self.network.is_empty() {
            let pull = self.pull_alone(of, candidate, &matrix);
            all.push(whole("factor of the network", pull.exp(), ""));
        }
        all
    }
}
