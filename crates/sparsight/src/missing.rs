//! Missing parts of a profile, with the command that makes each.

use crate::model_name::ModelName;
use sparsight_matrix::Dtype;
use sparsight_model::{MIN_MATRICES, Variant};
use thiserror::Error;

/// Content that a profile lacks. Its text is the end of the sentence "the profile NAME holds no ...".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Missing {
    /// Any model: it was never fitted.
    #[error("fitted models")]
    Models,
    /// Any model, and it holds what models are fitted to.
    #[error("fitted models, but measurements to fit them to")]
    Fit,
    /// Any model, of a GPU without benchmark matrices to fit them to, as a calibration that did not end leaves it.
    #[error("models: what was measured serves `transfer` alone")]
    ModelsOfQuick,
    /// Models and times: its numbers were taken from elsewhere, and nothing can be measured into it.
    #[error("models and no times: what is in it was taken from elsewhere, not measured by this program")]
    OfElsewhere,
    /// The parameters of a transfer by the model of Guo and Wang 2013.
    #[error("transfer.json, the parameters of a transfer by the model guo-wang-2013")]
    TransferParameters,
    /// The copy rate or the cost of a launch, without which no time is carried over part by part.
    #[error("copy rate and launch cost, which it takes to carry times over part by part")]
    Rates,
    /// Benchmark matrices with times, to fit models to.
    #[error("benchmark matrices")]
    BenchmarkMatrices,
    /// A model that knows any of the candidates asked about.
    #[error("{model} model for {dtype}")]
    Model {
        /// The model asked for.
        model: ModelName,
        /// The value type asked for.
        dtype: Dtype,
    },
    /// A strip model of benchmark matrices whose row lengths are drawn.
    #[error("{} model, which takes benchmark matrices with {} row lengths", .0.name(), .0.lengths())]
    StripModel(Variant),
    /// A model that is learned from measured matrices, by its name.
    #[error("{0} model, which takes a corpus of at least {least} matrices", least = MIN_MATRICES)]
    LearnedModel(&'static str),
    /// A measured time of any matrix of the corpus.
    #[error("time of a matrix")]
    Times,
    /// A measured time of any of these kernels, of a corpus that holds times of others.
    #[error("time in {dtype} of {}", kernels.join(", "))]
    TimesOf {
        /// Names of the kernels.
        kernels: Vec<&'static str>,
        /// The value type asked for.
        dtype: Dtype,
    },
    /// A candidate that was measured on all matrices of the corpus that others were measured on.
    #[error("candidate with a time on each of its matrices, to fall back on")]
    TimesOnEach,
    /// A measured time of any of the matrices that every GPU is calibrated with.
    #[error("time of any of the matrices of a calibration")]
    Calibration,
}

impl Missing {
    /// The command that adds it to the profile called `profile`.
    pub(crate) fn hint(&self, profile: &str) -> String {
        match self {
            Self::Fit => format!("`sparsight lab fit {profile}` fits them, and nothing is measured again"),
            Self::ModelsOfQuick => format!(
                "`sparsight lab transfer A.mtx --from nvidia-h200 --to {profile}` predicts with it; with the --device that it \
                 was made for, `sparsight calibrate -o {profile}` lets it answer, and `sparsight lab profile -o {profile}` measures \
                 the rest"
            ),
            Self::OfElsewhere => format!(
                "it can be the target of a transfer: `sparsight lab transfer A.mtx --from nvidia-h200 --to {profile} --model \
                 guo-wang-2013 --dtype f32`"
            ),
            Self::TransferParameters => format!(
                "`sparsight lab profile --budget 1min -o {profile}` on a machine with the device measures what it takes, and \
                 `sparsight lab fit {profile}` makes it of what is measured already"
            ),
            Self::Rates => format!(
                "on a machine with the device `sparsight calibrate -o DIR` measures them; for a device that you do not have, \
                 write them into a data sheet, `--to my-gpu.toml`; with transfer.json, `--to {profile} --model guo-wang-2013` \
                 does without"
            ),
            Self::Times => {
                format!("`sparsight lab measure MATRICES -o {profile}` on a machine with the device measures some; to compare two devices, the same on both")
            }
            Self::TimesOf { kernels, dtype } => format!(
                "`sparsight lab measure MATRICES --kernel {} --dtype {dtype} -o {profile}` on a machine with the device measures some",
                kernels.join(",")
            ),
            Self::TimesOnEach => format!(
                "`sparsight lab measure MATRICES -o {profile}` on a machine with the device measures the rest; `--train` leaves \
                 matrices out"
            ),
            Self::Calibration => {
                "give the name or folder of a GPU's profile that holds calibration.json, which `sparsight lab fit` writes".to_owned()
            }
            Self::Models
            | Self::BenchmarkMatrices
            | Self::Model { .. }
            | Self::StripModel(_)
            | Self::LearnedModel(_) => {
                format!("`sparsight lab profile -o {profile}` measures, `sparsight lab fit {profile}` fits")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    fn lacking(missing: Missing) -> Error {
        Error::Lacking { profile: "here".to_owned(), missing }
    }

    #[test]
    fn missing_content_completes_the_error_sentence() {
        let model = Missing::Model { model: ModelName::StripCache, dtype: Dtype::F32 };
        for (missing, text) in [
            (Missing::Models, "fitted models"),
            (Missing::Fit, "fitted models, but measurements to fit them to"),
            (Missing::TimesOf { kernels: vec!["coo", "ell"], dtype: Dtype::F32 }, "time in f32 of coo, ell"),
            (model, "strip-cache model for f32"),
            (
                Missing::StripModel(Variant::StripNormal),
                "strip-normal model, which takes benchmark matrices with normal row lengths",
            ),
            (
                Missing::LearnedModel("boosting"),
                "boosting model, which takes a corpus of at least 20 matrices",
            ),
        ] {
            assert_eq!(lacking(missing).to_string(), format!("the profile here holds no {text}"));
        }
    }

    #[test]
    fn a_calibration_that_did_not_end_is_told_what_it_is_for_and_a_profile_how_to_fit_it() {
        let hint = |missing| lacking(missing).hint().unwrap();
        assert!(hint(Missing::ModelsOfQuick).starts_with("`sparsight lab transfer A.mtx --from"));
        assert_eq!(
            hint(Missing::Models),
            "`sparsight lab profile -o here` measures, `sparsight lab fit here` fits"
        );
        assert!(hint(Missing::Fit).starts_with("`sparsight lab fit here` fits them"));
        let times = Missing::TimesOf { kernels: vec!["coo", "ell"], dtype: Dtype::F32 };
        assert!(
            hint(times).starts_with("`sparsight lab measure MATRICES --kernel coo,ell --dtype f32 -o here`")
        );
    }
}
