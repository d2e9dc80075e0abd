//! A GPU without a profile of its own: the predictions for one that has, carried over.
//!
//! ```text
//! CALIBRATION_MATRICES, each with every kernel in one block size, f32 and f64     measured on both devices
//!   -> Rescaling::fit                                                             three weights and what is left unexplained
//! profile of the reference + Rescaling + facts of the device -> Profile
//! ```
//! Which matrices: found among 92 generated ones that two GPUs have measured, by what is known of them on one alone: those
//! that leave the three weights least open (the largest determinant of the normal equations, one after another, up to
//! 20 million non-zeros). In which order: again so among the ten, as estimated from what the H100 and the H200 measured, which give
//! the same one; but the small second goes first, since on the first most kernels are compiled. After a launch (a few thousand rows),
//! memory (10 million), and the rest of a time (a mesh, a web) each further one adds less, and is left out where time is short
//! ([`CALIBRATION_BUDGET`]).
//!
//! ```text
//! device                 a device of this machine, opened for a calibration; a Watcher shows its progress and may end it
//! gpu, processor         the calibration of each; budget: the matrices for which there is time
//! cached                 found in the user's cache, or measured once, while other processes wait
//! instrument, benchmark  benchmark matrices, run one after another
//! fit                    models from what a profile holds
//! ```

mod benchmark;
mod budget;
mod cached;
mod device;
mod fit;
mod gpu;
mod instrument;
mod processor;

pub use benchmark::{Benchmarked, run_benchmark};
pub use budget::CALIBRATION_BUDGET;
pub use cached::calibrated_profile;
pub use device::{Calibrated, CalibratedDevice, CalibrationTarget, Event, OpenDevice, Watcher};
pub use fit::{Fitted, fit, write_fitted};
pub use gpu::carry_calibration;
pub use instrument::{Grid, Point, instrument, measure_conversion, measure_conversion_threshold};
pub use processor::{complete_device, cpu_calibration_folder};

use crate::Profile;
use crate::profile::{GridName, ProfiledDevice, Rescaled};
use crate::records::{CorpusRecord, Measured, Outcome};
use sparsight_kernels::{Candidate, DeviceFacts, DeviceKind, catalogue_on};
use sparsight_matrix::{Dtype, Seconds, gallery};
use sparsight_model::accuracy::geometric_mean;
use sparsight_model::{Between, OnBoth, Rescaling};
use std::collections::HashMap;
use std::env;
use std::sync::Arc;

/// The generated matrices with which a GPU is calibrated, the most informative first: recipes of the gallery.
pub const CALIBRATION_MATRICES: [&str; 10] = [
    "tall,rows=1534,cols=423,row=1,seed=522",
    "block-diagonal,n=10000000,block=1,seed=449",
    "trimesh,n=191,unknowns=3,shuffle=0,seed=106",
    "web,n=702342,host=57,links=7,inside=0.39,seed=218",
    "hypersparse,n=7421,filled=0.0621,row=3,seed=576",
    "hypersparse,n=8884934,filled=0.0753,row=2,seed=600",
    "power-law,n=140,degree=5,exponent=2.55,seed=115",
    "random,rows=212346,cols=4262170,row=2,spread=0,seed=502",
    "long-rows,n=742331,long=194,length=2240,seed=373",
    "random,rows=88076,cols=4127438,row=4,spread=0,seed=501",
];

/// Rows and non-zeros of each together: what making, converting and checking it goes by.
const CALIBRATION_SIZES: [u64; 10] =
    [3_068, 20_000_000, 2_394_012, 10_954_073, 8_855, 10_226_464, 1_518, 637_038, 1_919_218, 440_380];

/// The generated matrices that a processor is calibrated with, a recipe of the gallery a line: its models learn from them. As many different structures as the
/// gallery has, in sizes for caches of each level and beyond, 1,800 to 11 million non-zeros; many with rows of differing lengths
/// in a random order and in runs, since a mispredicted branch a row is what CSR loses by. Chosen by hand, judged on real matrices
/// (docs/results/cpu-calibration.md).
pub static CPU_CALIBRATION_MATRICES: &str = include_str!("processor_matrices.txt");

/// Block size with which they are run.
const BLOCK: u32 = 256;

/// Candidates that a calibration runs on each matrix: every kernel of ours, in one block size.
pub fn calibration_candidates(kind: DeviceKind, dtype: Dtype) -> Vec<Candidate> {
    catalogue_on(kind, dtype).filter(is_calibrated).collect()
}

impl Profile {
    /// Candidates that are ranked in `dtype`: those of the device's kind; for a calibrated processor only the block size that its
    /// matrices were run in, since no other one was measured.
    pub fn candidates(&self, dtype: Dtype) -> impl Iterator<Item = Candidate> + use<> {
        let ProfiledDevice { facts, grid, .. } = &self.device;
        let is_learned = !self.models.index.trained_on.is_empty();
        let in_one_size = !facts.kind.is_gpu() && *grid == GridName::Coarse && is_learned;
        catalogue_on(facts.kind, dtype).filter(move |candidate| !in_one_size || is_calibrated(candidate))
    }
}

fn is_calibrated(candidate: &Candidate) -> bool {
    candidate.block == BLOCK && !candidate.kernel.is_vendors()
}

/// Permission to calibrate a device without a profile because it was named: false if the environment variable `SPARSIGHT_CALIBRATE` is
/// `0`, for programs that must not wait.
pub fn may_calibrate() -> bool {
    env::var_os("SPARSIGHT_CALIBRATE").is_none_or(|value| value != "0")
}

/// Records of a corpus that belong to a calibration; the rest is not needed to carry its predictions to another device.
pub fn calibration_of(corpus: &[CorpusRecord]) -> Vec<CorpusRecord> {
    let named =
        |name: &str| CALIBRATION_MATRICES.iter().any(|m| name.strip_prefix(gallery::PREFIX) == Some(*m));
    let wanted = corpus.iter().filter(|record| named(&record.matrix));
    let mut records: Vec<CorpusRecord> = wanted.cloned().collect();
    for record in &mut records {
        let timed = |m: &Measured| matches!(m.outcome, Outcome::Time { .. });
        record.results.retain(|measured| is_calibrated(&measured.id) && timed(measured));
        record.preparation.clear();
        record.preprocess.clear();
        record.clock = None;
    }
    records
}

/// Rescaling of times from the device `from` to `to`, by matrices that both have measured; `None` if there are none.
pub fn calibrated(
    from: (&DeviceFacts, &[CorpusRecord]),
    to: (&DeviceFacts, &[CorpusRecord]),
) -> Option<Rescaling> {
    Rescaling::fit(&on_both(from.1, to.1), Between { from: from.0, to: to.0 })
}

/// The geometric mean of how many times as long the same takes on `to`: what a calibration gives that knows no parts of a time.
pub fn one_factor(from: &[CorpusRecord], to: &[CorpusRecord]) -> Option<f64> {
    let times = on_both(from, to);
    geometric_mean(times.iter().map(|both| both.times[1].0 / both.times[0].0))
}

/// Times that both devices have measured.
fn on_both<'r>(from: &[CorpusRecord], to: &'r [CorpusRecord]) -> Vec<OnBoth<'r>> {
    let known: HashMap<(&str, Candidate), Seconds> =
        from.iter().flat_map(|r| r.times().map(|(id, time)| ((r.matrix.as_str(), id), time))).collect();
    let mut times = Vec::new();
    for record in to {
        let CorpusRecord { matrix, features, .. } = record;
        for (candidate, time) in record.times() {
            if let Some(&before) = known.get(&(matrix.as_str(), candidate)) {
                times.push(OnBoth { matrix, candidate, features, times: [before, time] });
            }
        }
    }
    times
}

impl Profile {
    /// The predictions of `reference`, carried to another device of its kind.
    #[must_use]
    pub fn carried_to(self, device: ProfiledDevice, name: &str, rescaling: Rescaling) -> Self {
        let models = self.models.clone();
        let rescaled = Some(Arc::new(Rescaled { reference: self, rescaling }));
        Self { name: name.to_owned(), folder: None, device, models, rescaled, launch_here: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::CalibrationFile;

    #[test]
    fn the_sizes_are_those_that_were_measured() {
        let measured = CalibrationFile::find(Profile::DEFAULT).unwrap().unwrap().records;
        for (recipe, size) in CALIBRATION_MATRICES.iter().zip(CALIBRATION_SIZES) {
            let name = format!("{}{recipe}", gallery::PREFIX);
            let record = measured.iter().find(|record| record.matrix == name);
            let features = &record.unwrap_or_else(|| panic!("{name} was not measured")).features;
            assert_eq!(features.nrows + features.nnz, size, "{name}");
        }
    }
}
