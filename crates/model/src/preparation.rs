//! Time until the first product: converting and uploading a format, and preprocessing by the vendor's library,
//! learned from measurements of both.
//!
//! ```text
//! T = a + b B_CSR + c B      B_CSR, B: bytes of the matrix in CSR and in the format
//! ```
//! a is what every matrix pays: allocations, waking the host's threads, launches. b stands for what is done with the CSR
//! (read by a conversion on the host, uploaded for one on the device), c for what is done with the format (written, or
//! uploaded). One law for what the host converts and one for what the device does, since these are other things. None is
//! negative. Fitted so that the squares of relative errors are least, since matrices differ by factors
//! of a thousand. This project's own.

use crate::{Accuracy, PredictError, non_negative};
use serde::{Deserialize, Serialize};
use sparsight_kernels::{Candidate, Format, Kernel};
use sparsight_matrix::{Bytes, Seconds};
use std::collections::BTreeMap;

/// Preparations that are needed before they are learned from. Chosen: the papers fit their lines to no fewer, and there
/// are three numbers here.
const LEAST: usize = 12;

/// A preparation that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredPreparation {
    /// The matrix in CSR.
    pub csr: Bytes,
    /// The matrix in the format.
    pub held: Bytes,
    /// Measured time.
    pub time: Seconds,
}

/// T, learned, with its errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PreparationCost {
    /// a.
    pub fixed_s: f64,
    /// b.
    pub s_per_csr_byte: f64,
    /// c.
    pub s_per_byte: f64,
    /// Accuracy on the preparations that it was fitted to.
    pub error: Accuracy,
}

impl PreparationCost {
    /// `None` for fewer than a dozen.
    pub fn fit(measured: &[MeasuredPreparation]) -> Option<Self> {
        let usable = |m: &&MeasuredPreparation| m.time.0.is_finite() && m.time.0 > 0.0;
        let measured: Vec<&MeasuredPreparation> = measured.iter().filter(usable).collect();
        if measured.len() < LEAST {
            return None;
        }
        let samples = measured.iter().map(|m| (inputs(m.csr, m.held), m.time.0));
        let [fixed_s, s_per_csr_byte, s_per_byte] = non_negative::fit(samples)?;
        let [s_per_csr_byte, s_per_byte] = [s_per_csr_byte / UNIT, s_per_byte / UNIT];
        let time =
            |m: &MeasuredPreparation| Seconds(line([fixed_s, s_per_csr_byte, s_per_byte], m.csr, m.held));
        let error = Accuracy::of(measured.iter().map(|m| (time(m), m.time)))?;
        Some(Self { fixed_s, s_per_csr_byte, s_per_byte, error })
    }

    /// T.
    pub fn at(&self, csr: Bytes, held: Bytes) -> Seconds {
        Seconds(line([self.fixed_s, self.s_per_csr_byte, self.s_per_byte], csr, held))
    }
}

/// `a + b B_CSR + c B`.
fn line([a, b, c]: [f64; 3], csr: Bytes, held: Bytes) -> f64 {
    a + b * csr.0 as f64 + c * held.0 as f64
}

/// Bytes are counted in these, so that the equations are about as large as each other.
const UNIT: f64 = 1e6;

fn inputs(csr: Bytes, held: Bytes) -> [f64; 3] {
    [1.0, csr.0 as f64 / UNIT, held.0 as f64 / UNIT]
}

/// The costs of all formats of a device and of the routines of the vendor's library.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PreparationModel {
    /// Conversion and upload, where the host converts or it is not known who did.
    pub formats: BTreeMap<Format, PreparationCost>,
    /// Upload and conversion on the device.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub on_device: BTreeMap<Format, PreparationCost>,
    /// Additional work of the vendor's library before the first product.
    preprocess: Vec<Preprocess>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Preprocess {
    kernel: Kernel,
    cost: PreparationCost,
}

impl PreparationModel {
    /// Learns from preparations of formats, on the host and on the device, and from preprocess steps of the vendor's routines;
    /// those with too few are left out.
    ///
    /// # Errors
    /// [`PredictError::TooFewMatrices`] if no format has enough.
    pub fn fit(
        formats: &BTreeMap<Format, Vec<MeasuredPreparation>>,
        on_device: &BTreeMap<Format, Vec<MeasuredPreparation>>,
        preprocess: &BTreeMap<Kernel, Vec<MeasuredPreparation>>,
    ) -> Result<Self, PredictError> {
        let learned = |formats: &BTreeMap<Format, Vec<MeasuredPreparation>>| -> BTreeMap<_, _> {
            let fitted =
                |(&format, measured): (&Format, &Vec<_>)| Some((format, PreparationCost::fit(measured)?));
            formats.iter().filter_map(fitted).collect()
        };
        let most = formats.values().chain(on_device.values()).map(Vec::len).max();
        let (on_host, on_device) = (learned(formats), learned(on_device));
        if on_host.is_empty() && on_device.is_empty() {
            let got = most.unwrap_or(0);
            return Err(PredictError::TooFewMatrices { model: "preparation", got, needed: LEAST });
        }
        let of_routine = |(kernel, measured): (&Kernel, &Vec<MeasuredPreparation>)| {
            Some(Preprocess { kernel: *kernel, cost: PreparationCost::fit(measured)? })
        };
        let preprocess = preprocess.iter().filter_map(of_routine).collect();
        Ok(Self { formats: on_host, on_device, preprocess })
    }

    /// Time until `candidate` can run, its own library's preprocess step included, if the conversion is done `on_device` or on the host;
    /// `None` where that was not learned. No format takes less than CSR, in which the matrix is: a smaller value would be an error of
    /// one of the two fits.
    pub fn time(&self, candidate: &Candidate, on_device: bool, csr: Bytes, held: Bytes) -> Option<Seconds> {
        let format = candidate.format();
        let (device, host) = (self.on_device.get(&format), self.formats.get(&format));
        let cost = if on_device { device.or(host) } else { host.or(device) };
        let own = cost?.at(csr, held);
        let of_csr = self.formats.get(&Format::csr()).map_or(own, |cost| cost.at(csr, csr));
        let brought = Seconds(own.0.max(of_csr.0));
        if !candidate.kernel.is_vendors() {
            return Some(brought);
        }
        let own = self.preprocess.iter().find(|p| p.kernel == candidate.kernel)?.cost.at(csr, held);
        Some(Seconds(brought.0 + own.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes over six orders of magnitude; formats that pad by up to a half.
    fn made(a: f64, b: f64, c: f64) -> Vec<MeasuredPreparation> {
        let one = |i: u32| {
            let csr = 1e3 * 2_f64.powi(i as i32);
            let held = csr * (1.0 + f64::from(i * i % 5) / 8.0);
            let time = Seconds(a + b * csr + c * held);
            MeasuredPreparation { csr: Bytes(csr as u64), held: Bytes(held as u64), time }
        };
        (0..20).map(one).collect()
    }

    #[test]
    fn the_cost_that_times_were_made_with_is_found() {
        for (a, b, c) in
            [(1e-4, 1e-10, 2e-10), (0.0, 1e-10, 0.0), (3e-5, 0.0, 5e-11), (1e-4, 0.0, 0.0), (0.0, 2e-9, 1e-9)]
        {
            let cost = PreparationCost::fit(&made(a, b, c)).unwrap();
            assert!(cost.error.worst < 1e-3, "{cost:?}");
            let near = |got: f64, made: f64, one: f64| (got - made).abs() < 1e-3 * one;
            assert!(near(cost.fixed_s, a, 1e-4), "{cost:?}");
            assert!(near(cost.s_per_csr_byte, b, 1e-9) && near(cost.s_per_byte, c, 1e-9), "{cost:?}");
        }
    }

    #[test]
    fn preparation_costs_are_never_negative() {
        // Larger formats that take less time: the best of these models cannot follow, and says so in its error.
        let mut measured = made(1e-4, 1e-10, 0.0);
        for m in &mut measured {
            m.time.0 -= 5e-11 * (m.held.0 - m.csr.0) as f64;
        }
        let cost = PreparationCost::fit(&measured).unwrap();
        assert!(cost.fixed_s >= 0.0 && cost.s_per_csr_byte >= 0.0 && cost.s_per_byte >= 0.0);
        assert!(cost.error.worst > 0.01);
    }

    fn candidate(kernel: Kernel) -> Candidate {
        Candidate { kernel, block: 0, dtype: sparsight_matrix::Dtype::F64 }
    }

    #[test]
    fn conversion_on_the_device_is_fitted_separately() {
        let (host, device) = (made(1e-4, 1e-9, 2e-9), made(3e-4, 1e-10, 0.0));
        let model = PreparationModel::fit(
            &[(Format::known("coo"), host.clone())].into(),
            &[(Format::known("coo"), device.clone()), (Format::known("ell"), device.clone())].into(),
            &BTreeMap::new(),
        )
        .unwrap();
        let time = |kernel, on_device| {
            model.time(&candidate(kernel), on_device, host[9].csr, host[9].held).unwrap().0
        };
        let near = |got: f64, made: Seconds| assert!((got / made.0 - 1.0).abs() < 1e-3, "{got} for {made}");
        near(time(Kernel::known("coo"), false), host[9].time);
        near(time(Kernel::known("coo"), true), device[9].time);
        near(time(Kernel::known("ell"), false), device[9].time);
    }

    #[test]
    fn few_or_equal_measurements_do_not_panic() {
        let all = made(1e-4, 1e-10, 1e-10);
        assert_eq!(PreparationCost::fit(&all[..LEAST - 1]), None);
        let same = vec![all[5]; LEAST];
        let cost = PreparationCost::fit(&same).unwrap();
        assert!((cost.at(all[5].csr, all[5].held).0 / all[5].time.0 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_routine_of_the_vendors_pays_for_its_look_at_the_matrix() {
        let all = made(1e-4, 1e-10, 1e-10);
        let csr: Kernel = Kernel::known("csr-scalar");
        let vendors = Kernel::all().find(|k| k.is_vendors() && k.format() == Format::csr()).unwrap();
        let model = PreparationModel::fit(
            &[(Format::csr(), all.clone())].into(),
            &BTreeMap::new(),
            &[(vendors, made(5e-5, 0.0, 0.0))].into(),
        )
        .unwrap();
        let time = |kernel| model.time(&candidate(kernel), false, all[9].csr, all[9].held);
        let more = time(vendors).unwrap().0 - time(csr).unwrap().0;
        assert!((more / 5e-5 - 1.0).abs() < 1e-3, "{more}");
        assert_eq!(time(Kernel::known("ell")), None);
        let text = serde_json::to_string(&model).unwrap();
        assert_eq!(serde_json::from_str::<PreparationModel>(&text).unwrap(), model);
    }
}
