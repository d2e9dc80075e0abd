//! Nearest strip model of each matrix: the question of Wang, Gu and Li 2017 about three models of
//! the row lengths.

use super::Samples;
use serde::Serialize;
use sparsight::models::ModelName;
use sparsight_kernels::Kernel;
use sparsight_matrix::Dtype;
use std::collections::BTreeMap;

/// The strip models on one kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WinsRow {
    /// Kernel with its knobs.
    pub kernel: Kernel,
    /// Value type.
    pub dtype: Dtype,
    /// Matrices on which every model predicts the kernel: all that is counted.
    pub matrices: usize,
    /// Matrices on which two or more models share the least error; they count for none.
    pub tied: usize,
    /// Wins of each model.
    pub models: Vec<ModelWins>,
}

/// A strip model on one kernel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModelWins {
    /// Model.
    pub model: ModelName,
    /// Mean over the matrices of the matrix' mean error over block sizes.
    pub mean_error: f64,
    /// Matrices on which it alone has the least error.
    pub wins: usize,
}

/// The errors of one matrix, one a block size, by model.
type MatrixErrors = BTreeMap<ModelName, Vec<f64>>;

/// Gathers the errors of one strip model after the other.
#[derive(Default)]
pub(super) struct Wins {
    models: Vec<ModelName>,
    errors: BTreeMap<(Dtype, Kernel), BTreeMap<usize, MatrixErrors>>,
}

impl Wins {
    pub(super) fn add(&mut self, model: ModelName, samples: &Samples<'_>) {
        self.models.push(model);
        for (&of, samples) in samples {
            let matrices = self.errors.entry(of).or_default();
            for s in samples {
                matrices.entry(s.of.at).or_default().entry(model).or_default().push(s.error());
            }
        }
    }

    pub(super) fn rows(&self) -> Vec<WinsRow> {
        self.errors.iter().filter_map(|(&of, m)| WinsRow::of(of, &self.models, m.values())).collect()
    }
}

impl WinsRow {
    /// Counts the wins of `models` over matrices; `None` with fewer than two models or without a matrix on which all of
    /// them predict.
    fn of<'e>(
        (dtype, kernel): (Dtype, Kernel),
        models: &[ModelName],
        matrices: impl IntoIterator<Item = &'e MatrixErrors>,
    ) -> Option<Self> {
        let mean = |errors: &Vec<f64>| errors.iter().sum::<f64>() / errors.len() as f64;
        let complete = |m: &MatrixErrors| -> Option<Vec<f64>> {
            models.iter().map(|model| m.get(model).map(mean)).collect()
        };
        let errors: Vec<Vec<f64>> = matrices.into_iter().filter_map(complete).collect();
        if models.len() < 2 || errors.is_empty() {
            return None;
        }
        let winner = |errors: &Vec<f64>| {
            let least = errors.iter().copied().min_by(f64::total_cmp)?;
            let mut with_least = (0..errors.len()).filter(|&k| errors[k] <= least);
            with_least.next().filter(|_| with_least.next().is_none())
        };
        let winners: Vec<Option<usize>> = errors.iter().map(winner).collect();
        let row = |(k, &model): (usize, &ModelName)| ModelWins {
            model,
            mean_error: errors.iter().map(|e| e[k]).sum::<f64>() / errors.len() as f64,
            wins: winners.iter().filter(|w| **w == Some(k)).count(),
        };
        Some(Self {
            kernel,
            dtype,
            matrices: errors.len(),
            tied: winners.iter().filter(|w| w.is_none()).count(),
            models: models.iter().enumerate().map(row).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODELS: [ModelName; 2] = [ModelName::Strip, ModelName::StripCache];

    fn matrix(strip: &[f64], cache: &[f64]) -> MatrixErrors {
        MODELS.into_iter().zip([strip.to_vec(), cache.to_vec()]).filter(|m| !m.1.is_empty()).collect()
    }

    #[test]
    fn wins_are_those_worked_by_hand() {
        // By mean over block sizes: 0.25 against 0.5, 0.5 against 0.125, a tie at 1; the last lacks one model.
        let matrices = [
            matrix(&[0.0, 0.5], &[0.5, 0.5]),
            matrix(&[0.5], &[0.0, 0.25]),
            matrix(&[1.0, 1.0], &[0.5, 1.5]),
            matrix(&[9.0], &[]),
        ];
        let row = WinsRow::of((Dtype::F32, Kernel::known("ell")), &MODELS, &matrices).unwrap();
        assert_eq!((row.matrices, row.tied), (3, 1));
        let [strip, cache] = row.models[..] else { panic!("{row:?}") };
        assert_eq!((strip.wins, cache.wins), (1, 1));
        assert!((strip.mean_error - 1.75 / 3.0).abs() < 1e-15, "(0.25 + 0.5 + 1) / 3");
        assert!((cache.mean_error - 1.625 / 3.0).abs() < 1e-15, "(0.5 + 0.125 + 1) / 3");
    }

    #[test]
    fn a_single_model_has_no_wins() {
        let matrices = [matrix(&[0.5], &[])];
        assert_eq!(WinsRow::of((Dtype::F32, Kernel::known("ell")), &MODELS[..1], &matrices), None);
        assert_eq!(WinsRow::of((Dtype::F32, Kernel::known("ell")), &MODELS, &matrices), None);
    }
}
