//! A device made of recorded measurements: what ran once elsewhere can be ranked and evaluated here again.
//!
//! It answers for one matrix, the one whose times it was given. It computes nothing: y is not recorded, so
//! [`Operand::read_y`] is refused.

use crate::timing::{Caches, Timing};
use crate::{Device, DeviceError, Operand, Preparation};
use sparsight_kernels::{BenchmarkMatrix, Candidate, DeviceFacts, Format};
use sparsight_matrix::{Csr, Limits, Scalar, Seconds};
use std::collections::HashMap;

/// Recorded warm times of one matrix on one device.
#[derive(Debug, Clone)]
pub struct Replay {
    facts: DeviceFacts,
    times: HashMap<Candidate, Timing>,
}

impl Replay {
    /// A device with `facts` on which each candidate takes the time recorded for it.
    pub fn new(facts: DeviceFacts, times: impl IntoIterator<Item = (Candidate, Timing)>) -> Self {
        Self { facts, times: times.into_iter().collect() }
    }
}

impl<T: Scalar> Device<T> for Replay {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn limits(&self) -> Limits {
        Limits::with_memory(self.facts.memory_bytes)
    }

    fn load<'d>(&'d self, _: &Csr<T>, format: Format) -> Result<Box<dyn Operand<T> + 'd>, DeviceError> {
        if self.times.keys().any(|c| c.format() == format && c.dtype == T::DTYPE) {
            return Ok(Box::new(Recorded { device: self }));
        }
        Err(DeviceError::NotRecorded { what: format!("{format} times in {}", T::DTYPE) })
    }

    fn generate<'d>(
        &'d self,
        _: &BenchmarkMatrix,
        _: Format,
    ) -> Result<Box<dyn Operand<T> + 'd>, DeviceError> {
        Err(DeviceError::NotRecorded { what: "benchmark matrices to run again".to_owned() })
    }
}

struct Recorded<'d> {
    device: &'d Replay,
}

impl<T: Scalar> Operand<T> for Recorded<'_> {
    fn preparation(&self) -> Preparation {
        Preparation::default()
    }

    fn set_x(&mut self, _: &[T]) -> Result<(), DeviceError> {
        Ok(())
    }

    fn poison_y(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn read_y(&mut self) -> Result<Vec<T>, DeviceError> {
        Err(DeviceError::NotRecorded { what: "y".to_owned() })
    }

    fn batch(
        &mut self,
        candidate: &Candidate,
        products: u32,
        caches: Caches,
    ) -> Result<Seconds, DeviceError> {
        match self.device.times.get(candidate) {
            Some(timing) if caches == Caches::Warm => Ok(Seconds(timing.time.0 * f64::from(products))),
            _ => Err(DeviceError::NotRecorded {
                what: format!("{caches:?} time of {candidate}").to_lowercase(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::{Stopped, StoppingRule, measure};
    use sparsight_kernels::DeviceKind;
    use sparsight_matrix::Bytes;

    #[test]
    fn a_recorded_time_is_measured_again_exactly_and_others_are_refused() {
        let facts = DeviceFacts {
            name: "recorded".to_owned(),
            kind: DeviceKind::Cuda,
            multiprocessors: 1,
            warps_per_multiprocessor: 64,
            threads_per_multiprocessor: 2048,
            max_threads_per_block: Some(1024),
            l2_bytes: Bytes(1 << 20),
            memory_bytes: Bytes(1 << 30),
            compute_capability: Some((9, 0)),
            driver: String::new(),
            copy_bytes_per_s: 0.0,
            launch_s: Seconds(0.0),
            upload_bytes_per_s: None,
        };
        let known: Candidate = "csr-scalar/b64/f32".parse().unwrap();
        let timing = Timing {
            time: Seconds(4e-6),
            spread: 0.0,
            samples: 5,
            alpha: 1,
            beta: 4,
            stopped: Stopped::Spread,
        };
        let device = Replay::new(facts, [(known, timing)]);
        let a = Csr::<f32>::try_new(1, 1, vec![0, 0], vec![], vec![]).unwrap();
        let mut operand = device.load(&a, Format::Csr).unwrap();
        let again = measure(|n| operand.batch(&known, n, Caches::Warm), &StoppingRule::BRISK).unwrap();
        assert!((again.time.0 - 4e-6).abs() < 1e-18);
        let other = "csr-scalar/b128/f32".parse().unwrap();
        assert!(matches!(operand.batch(&other, 1, Caches::Warm), Err(DeviceError::NotRecorded { .. })));
        assert!(matches!(device.load(&a, Format::Ell), Err(DeviceError::NotRecorded { .. })));
    }
}
