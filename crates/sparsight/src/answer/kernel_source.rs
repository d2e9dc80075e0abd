//! `kernels --source`: what a candidate is made of, for a library of one's own.

use super::NamedCandidate;
use serde::Serialize;
use sparsight_kernels::{Candidate, Elsewhere, source};

/// `sparsight/kernel-source/1`: the CUDA source of a candidate, and how it is launched.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelSourceAnswer {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: NamedCandidate,
    /// Names of the kernel in other libraries, else of its format.
    pub elsewhere: Vec<Elsewhere>,
    /// The arrays of its format: pictures, and a table of names, types and lengths, as Markdown.
    pub layout: &'static str,
    /// Definitions for the compiler, `NAME=VALUE`.
    pub definitions: Vec<String>,
    /// Kernels of a product, in the order of their launches.
    pub launches: Vec<SourceLaunch>,
    /// True if two products of one matrix must not run at the same time, since blocks share memory of the matrix.
    pub is_exclusive: bool,
    /// CUDA C++ that includes nothing: one translation unit.
    pub text: String,
}

/// A kernel of a product.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceLaunch {
    /// `extern "C"` name in the text.
    pub entry: &'static str,
    /// Names of its arguments after those of the format's arrays and numbers, 64 bits each; what the first block begins with stands before
    /// them.
    pub args: Vec<String>,
}

impl KernelSourceAnswer {
    /// Row offsets of the matrix take `offset_bytes`, 4 or 8. `None` for a routine of the vendor's library.
    pub fn of(candidate: Candidate, offset_bytes: u64) -> Option<Self> {
        let recipe = candidate.kernel.recipe()?;
        let source = source(&candidate, offset_bytes)?;
        let launch = |step: &sparsight_kernels::LaunchStep| SourceLaunch {
            entry: step.entry,
            args: recipe.args(step).into_iter().map(str::to_owned).collect(),
        };
        Some(Self {
            candidate: candidate.into(),
            elsewhere: candidate.kernel.elsewhere(),
            layout: candidate.format().family().description,
            definitions: source.definitions,
            launches: recipe.steps.iter().map(launch).collect(),
            is_exclusive: recipe.is_exclusive,
            // Positions in the files of this project are useless elsewhere.
            text: source.text.split_inclusive('\n').filter(|line| !line.starts_with("#line ")).collect(),
        })
    }
}
