//! `rules`: a few questions about a matrix, and what to run.

use super::Answer;
use crate::rules::{Rule, Rules};
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
    /// Value type.
    pub dtype: Dtype,
    /// How many candidates are chosen from.
    pub candidates: usize,
    /// Matrices learned from.
    pub learned_from: usize,
    /// Leaves of the tree.
    pub leaves: usize,
    /// What choosing by it costs.
    pub judged: JudgedRules,
    /// What to run where the format of the chosen one cannot hold the matrix.
    pub otherwise: Candidate,
    /// The tree.
    pub rule: RuleAnswer,
    /// The same in the language that was asked for.
    pub text: String,
}

/// What rules cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct JudgedRules {
    /// Whether the matrices were learned from: then the figures flatter.
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
        /// Which.
        id: Candidate,
    },
    /// Look at a number.
    Ask {
        /// Its name.
        quantity: &'static str,
        /// Held against this.
        threshold: f64,
        /// What follows if it is at most that.
        at_most: Box<RuleAnswer>,
        /// What follows if it is more.
        more: Box<RuleAnswer>,
    },
}

impl From<&Rule<Candidate>> for RuleAnswer {
    fn from(rule: &Rule<Candidate>) -> Self {
        match rule {
            Rule::Take(id) => Self::Take { id: *id },
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
    /// Of rules learned from the profile of a device, and their text.
    pub fn of((profile, device): (String, String), rules: &Rules, judged: JudgedRules, text: String) -> Self {
        Self {
            profile,
            device,
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
