//! `rules`: a few questions about a matrix, and what to run.

use crate::rules::{Guard, Rule, Rules};
use serde::Serialize;
use sparsight_kernels::Candidate;
use sparsight_matrix::Dtype;
use sparsight_model::ChoiceQuality;

/// `sparsight/rules/1`: rules, what they cost, and the text to paste.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RulesAnswer {
    /// Name of the profile that they were learned from.
    pub profile: String,
    /// The device that it is of.
    pub device: String,
    /// UTC date on which the profile was begun.
    pub profile_date: String,
    /// Value type.
    pub dtype: Dtype,
    /// Number of candidates to choose from.
    pub candidates: usize,
    /// Matrices learned from.
    pub learned_from: usize,
    /// Leaves of the tree.
    pub leaves: usize,
    /// Cost of choosing by the rules.
    pub judged: JudgedRules,
    /// Candidate where the format of the chosen one cannot hold the matrix.
    pub otherwise: Candidate,
    /// The tree.
    pub rule: Rule<GuardedCandidate>,
    /// Source code in the requested language.
    pub text: String,
}

/// Cost of rules.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct JudgedRules {
    /// True if the matrices were learned from: then the figures flatter.
    pub seen: bool,
    /// Time of the chosen candidate over the least of all.
    #[serde(flatten)]
    pub quality: ChoiceQuality,
}

/// The candidate of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GuardedCandidate {
    /// The candidate.
    pub id: Candidate,
    /// Condition for the candidate, else `otherwise` is run; absent if there is none.
    #[serde(rename = "if", skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
}

impl RulesAnswer {
    /// Answer from rules learned from the profile of a device, and their text.
    pub fn of(
        [profile, device, profile_date]: [String; 3],
        rules: &Rules,
        judged: JudgedRules,
        text: String,
    ) -> Self {
        Self {
            profile,
            device,
            profile_date,
            dtype: rules.dtype,
            candidates: rules.candidates.len(),
            learned_from: rules.matrices,
            leaves: rules.rule.leaves(),
            judged,
            otherwise: rules.otherwise,
            rule: rules.rule.map(&|id| GuardedCandidate { id, guard: Guard::of(id.format()) }),
            text,
        }
    }
}
