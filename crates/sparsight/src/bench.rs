//! Every feasible candidate on one matrix: checked against the reference, then timed.

use crate::records::{CorpusRecord, Measured, Outcome};
use sparsight_device::timing::{Caches, StoppingRule, measure};
use sparsight_device::{Device, DeviceError, check, random_x};
use sparsight_kernels::{Candidate, Format, feasible};
use sparsight_matrix::{Csr, Features, Reference, Scalar, reference};
use std::collections::BTreeMap;

/// How to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bench {
    /// When a time is good enough.
    pub rule: StoppingRule,
    /// Warm or cold.
    pub caches: Caches,
    /// Seed of x.
    pub seed: u64,
}

impl Default for Bench {
    fn default() -> Self {
        Self { rule: StoppingRule::CAREFUL, caches: Caches::Warm, seed: 1 }
    }
}

/// Runs `candidates` on `a`; candidates that cannot be held, fail or compute a wrong y are recorded with the
/// reason. `each` is told every result as soon as it is known and may stop the run by returning an error.
///
/// # Errors
/// What `each` returned, or a failure of the device that concerns no single candidate.
pub fn bench<T: Scalar>(
    device: &dyn Device<T>,
    (name, a): (&str, &Csr<T>),
    features: &Features,
    candidates: &[Candidate],
    how: &Bench,
    mut each: impl FnMut(&Measured) -> Result<(), DeviceError>,
) -> Result<CorpusRecord, DeviceError> {
    let x = random_x(a.ncols(), how.seed);
    let expected = reference(a, &x);
    let mut record = CorpusRecord {
        matrix: name.to_owned(),
        dtype: T::DTYPE,
        caches: how.caches,
        features: features.clone(),
        preparation: BTreeMap::new(),
        results: Vec::new(),
    };
    for format in Format::ALL {
        let ours: Vec<Candidate> = candidates.iter().copied().filter(|c| c.format() == format).collect();
        let Some(first) = ours.first() else { continue };
        let loaded = match feasible(first, features, &device.limits()) {
            Ok(_) => device.load(a, format),
            Err(reason) => Err(reason.into()),
        };
        let mut operand = match loaded {
            Ok(operand) => operand,
            Err(reason) => {
                let outcome = refused(&reason)?;
                for id in ours {
                    let measured = Measured { id, outcome: outcome.clone() };
                    each(&measured)?;
                    record.results.push(measured);
                }
                continue;
            }
        };
        operand.set_x(&x)?;
        record.preparation.insert(format, operand.preparation().into());
        for id in ours {
            let outcome = one(operand.as_mut(), &id, &expected, how).or_else(|reason| refused(&reason))?;
            let measured = Measured { id, outcome };
            each(&measured)?;
            record.results.push(measured);
        }
    }
    Ok(record)
}

fn one<T: Scalar>(
    operand: &mut (dyn sparsight_device::Operand<T> + '_),
    id: &Candidate,
    expected: &Reference,
    how: &Bench,
) -> Result<Outcome, DeviceError> {
    check(operand, id, expected)?;
    let timing = measure(|products| operand.batch(id, products, how.caches), &how.rule)?;
    Ok(Outcome::time(&timing))
}

/// A reason as a result; an interruption stays an error.
fn refused(reason: &DeviceError) -> Result<Outcome, DeviceError> {
    match reason {
        DeviceError::Interrupted => Err(DeviceError::Interrupted),
        DeviceError::Infeasible(infeasible) => Ok(Outcome::Infeasible { infeasible: infeasible.clone() }),
        other => Ok(Outcome::Failed { failed: other.to_string() }),
    }
}
