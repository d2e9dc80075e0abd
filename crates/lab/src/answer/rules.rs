//! `rules`: a few questions about a matrix, and what to run.

use crate::rules::{Guard, Rule, Rules};
use serde::Serialize;
use sparsight::answer::Answer;
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
    pub rule: RuleAnswer,
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

/// A question or an end.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RuleAnswer {
    /// Run this.
    Take {
        /// The candidate.
        id: Candidate,
        /// Condition for the candidate; absent if there is none.
        #[serde(rename = "if", skip_serializing_if = "Option::is_none")]
        guard: Option<RuleGuard>,
    },
    /// Look at a number.
    Ask {
        /// Name of the quantity.
        quantity: &'static str,
        /// Held against this.
        threshold: f64,
        /// Branch for values up to that.
        at_most: Box<RuleAnswer>,
        /// Node for larger values.
        more: Box<RuleAnswer>,
    },
}

/// Either has to hold, else `otherwise` is run: with it no format stores more than 8 times the non-zeros, besides rows that fill up
/// its last slice (ELL: to a multiple of 32).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RuleGuard {
    /// Longest row over mean, at most.
    pub row_max_over_mean: f64,
    /// Standard deviation of the row lengths over their mean, at most; absent where that guarantees nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_std_over_mean: Option<f64>,
}

impl From<Guard> for RuleGuard {
    fn from(guard: Guard) -> Self {
        let Guard { row_max_over_mean, row_std_over_mean } = guard;
        Self { row_max_over_mean, row_std_over_mean }
    }
}

impl From<&Rule<Candidate>> for RuleAnswer {
    fn from(rule: &Rule<Candidate>) -> Self {
        match rule {
            Rule::Take(id) => Self::Take { id: *id, guard: Guard::of(id.format()).map(Into::into) },
            Rule::Ask { quantity, threshold, at_most, more } => Self::Ask {
                quantity: quantity.name(),
                threshold: *threshold,
                at_most: Box::new(at_most.as_ref().into()),
                more: Box::new(more.as_ref().into()),
            },
        }
    }
}

impl Answer for RulesAnswer {
    const SCHEMA: &'static str = "sparsight/rules/1";
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
            rule: (&rules.rule).into(),
            text,
        }
    }
}
