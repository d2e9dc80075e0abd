//! Answers of the laboratory's commands as plain data: see [`sparsight::answer`].
//!
//! | command | answer | schema |
//! |---|---|---|
//! | `lab predict` | [`PredictAnswer`] | `sparsight/predict/1` |
//! | `lab predict`, several matrices | [`PredictManyAnswer`] | `sparsight/predict-many/1` |
//! | `lab transfer` | [`TransferAnswer`] | `sparsight/transfer/1` |
//! | `lab transfer`, several matrices | [`TransferManyAnswer`] | `sparsight/transfer-many/1` |
//! | `lab profile --links` | [`ProfileLinksAnswer`] | `sparsight/profile-links/1` |
//! | `lab measure` | [`MeasureAnswer`] | `sparsight/measure/1` |
//! | `lab fit` | [`FitAnswer`] | `sparsight/fit/1` |
//! | `lab foreign` | [`ForeignAnswer`] | `sparsight/foreign/1` |
//! | `lab repair` | [`RepairAnswer`] | `sparsight/repair/1` |
//! | `lab evaluate` | [`EvaluateAnswer`] | `sparsight/evaluate/1` |
//! | `lab evaluate --from` | [`EvaluateTransferAnswer`] | `sparsight/evaluate-transfer/1` |
//! | `lab evaluate --without-each` | [`EvaluateWithoutAnswer`] | `sparsight/evaluate-without/1` |
//! | `rules` | [`RulesAnswer`] | `sparsight/rules/1` |
//! | `profiles add` | [`ProfilesAddAnswer`] | `sparsight/profiles-add/1` |
//! | `profiles index` | [`ProfilesIndexAnswer`] | `sparsight/profiles-index/1` |

mod evaluate;
mod fit;
mod foreign;
mod measure;
mod predict;
mod profile_links;
mod profiles;
mod repair;
mod rules;
mod transfer;

pub use evaluate::{EvaluateAnswer, EvaluateTransferAnswer, EvaluateWithoutAnswer};
pub use fit::{FitAnswer, FittedModel, LearnedErrors};
pub use foreign::ForeignAnswer;
pub use measure::{MeasureAnswer, UnreadableMatrix};
pub use predict::{PredictAnswer, PredictManyAnswer, PredictedCandidate};
pub use profile_links::ProfileLinksAnswer;
pub use profiles::{ProfilesAddAnswer, ProfilesIndexAnswer};
pub use repair::RepairAnswer;
pub use rules::{GuardedCandidate, JudgedRules, RulesAnswer};
pub use transfer::{TransferAnswer, TransferManyAnswer, TransferOutcome, TransferredCandidate};
