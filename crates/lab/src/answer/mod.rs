//! Answers of the laboratory's commands as plain data: see [`sparsight::answer`].
//!
//! | command | answer |
//! |---|---|
//! | `lab predict` | [`PredictAnswer`] |
//! | `lab predict`, several matrices | [`PredictManyAnswer`] |
//! | `lab transfer` | [`TransferAnswer`] |
//! | `lab transfer`, several matrices | [`TransferManyAnswer`] |
//! | `lab profile --links` | [`ProfileLinksAnswer`] |
//! | `lab measure` | [`MeasureAnswer`] |
//! | `lab fit` | [`FitAnswer`] |
//! | `lab foreign` | [`ForeignAnswer`] |
//! | `lab repair` | [`RepairAnswer`] |
//! | `lab evaluate` | [`EvaluateAnswer`] |
//! | `lab evaluate --from` | [`EvaluateTransferAnswer`] |
//! | `lab evaluate --without-each` | [`EvaluateWithoutAnswer`] |
//! | `rules` | [`RulesAnswer`] |
//! | `profiles add` | [`ProfilesAddAnswer`] |
//! | `profiles index` | [`ProfilesIndexAnswer`] |

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

sparsight::answers_with_schemas! {
    EvaluateAnswer = "sparsight/evaluate/1",
    EvaluateTransferAnswer = "sparsight/evaluate-transfer/1",
    EvaluateWithoutAnswer = "sparsight/evaluate-without/1",
    FitAnswer = "sparsight/fit/1",
    ForeignAnswer = "sparsight/foreign/1",
    MeasureAnswer = "sparsight/measure/1",
    PredictAnswer = "sparsight/predict/1",
    PredictManyAnswer = "sparsight/predict-many/1",
    ProfileLinksAnswer = "sparsight/profile-links/1",
    ProfilesAddAnswer = "sparsight/profiles-add/1",
    ProfilesIndexAnswer = "sparsight/profiles-index/1",
    RepairAnswer = "sparsight/repair/1",
    RulesAnswer = "sparsight/rules/1",
    TransferAnswer = "sparsight/transfer/2",
    TransferManyAnswer = "sparsight/transfer-many/2",
}
