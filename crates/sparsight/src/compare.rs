//! Comparison of one matrix on several devices, from their profiles alone: the time of the best candidate of each, its limiting
//! resource, and its value for the price.
//!
//! ```text
//! profiles, features -> Advice of each -> the first few of each, and one candidate that all are asked for
//! speed              = time of the best candidate of the first device / time here
//! products a joule   = 1 / (time * watts)
//! ```
//! Time is that of one product, or, where a number of products to come is given, its share of conversion, upload and
//! all of them. No device is asked for anything.

use crate::advise::{Advised, Why};
use crate::{Advice, Advisor, Error, Objective, Profile};
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_kernels::{Candidate, DeviceFacts, strip};
use sparsight_matrix::{Dtype, Features, Seconds};
use std::fmt;

/// A device to be compared, and what is known of it beside its profile.
#[derive(Debug, Clone, Copy)]
pub struct Contender<'p> {
    /// The device as it was measured.
    pub profile: &'p Profile,
    /// Price, in a unit of the caller's.
    pub price: Option<f64>,
    /// Power at work, in watts.
    pub power_w: Option<f64>,
}

/// Comparison of one matrix on several devices.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// Devices in the order of the contenders.
    pub devices: Vec<ComparedDevice>,
    /// The candidate that all devices were asked for; `None` if none was wanted, or no device can predict one.
    pub common: Option<Candidate>,
}

/// A device of a [`Comparison`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ComparedDevice {
    /// Every candidate, best first; empty if none is possible. Speeds are against the best of the first device.
    pub ranked: Vec<Compared>,
    /// The common candidate, or why there is none here. Speeds are against the same candidate on the first device.
    pub common: Option<Result<Compared, Why>>,
}

/// A candidate on a device, beside others.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Compared {
    /// The candidate with its prediction; answers hold it before.
    #[serde(skip)]
    pub advised: Advised,
    /// Limit of the time.
    pub limit: Limit,
    /// Seconds a product, its share of conversion and upload in it where products are counted; `None` if what these
    /// take was not measured.
    #[serde(skip)]
    pub time: Option<Span>,
    /// Speedup over the first device, 1 for that itself. The ends are those of both times' intervals, as
    /// if both devices went wrong in opposite directions: where they enclose 1, the order is not known.
    #[serde(flatten)]
    pub speed: Option<Speed>,
    /// Products a second; `None` as [`Compared::time`].
    pub products_per_s: Option<f64>,
    /// Products a second for each unit of price.
    pub products_per_s_per_price: Option<f64>,
    /// Products a joule.
    pub products_per_joule: Option<f64>,
}

impl Compared {
    /// Conversion, upload and all `products`, as many as the comparison was asked for; `None` if what the first two take
    /// was not measured.
    pub fn in_all(&self, products: u64) -> Option<Seconds> {
        Some(Seconds(products as f64 * self.time?.time.0))
    }
}

/// A time with its 90 % interval, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Span {
    /// Predicted value.
    pub time: Seconds,
    /// Lower end.
    pub low: Seconds,
    /// Upper end.
    pub high: Seconds,
}

/// A ratio of two times with the ends that their intervals give.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Speed {
    /// Predicted value.
    #[serde(rename = "speed")]
    pub ratio: f64,
    /// Lower end.
    #[serde(rename = "speed_low")]
    pub low: f64,
    /// Upper end.
    #[serde(rename = "speed_high")]
    pub high: f64,
}

/// Limiting resource of a product, as far as its predicted time and the device's rates show. The first that applies,
/// in this order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "by", content = "fraction", rename_all = "lowercase")]
pub enum Limit {
    /// Launch: an empty kernel takes at least half of the time, this fraction of it.
    Launch(f64),
    /// The matrix fills less than one strip of a GPU, whose threads have too few others to hide their waiting behind:
    /// this fraction of a strip.
    Occupancy(f64),
    /// Cache: the bytes that a product cannot avoid moving come faster than the device copies, this many times the
    /// copy rate.
    Cache(f64),
    /// It comes at this fraction of the copy rate, at least half.
    Bandwidth(f64),
    /// None of these: it comes at this fraction of the copy rate, less than half. Threads wait for entries of x, or for
    /// the longest rows.
    Latency(f64),
    /// The profile holds no copy rate to compare with.
    Unknown,
}

/// A part that is at least this much of the whole counts as its limit. Chosen: the larger half.
const MOST: f64 = 0.5;

impl Limit {
    /// Limit of a candidate on the device with `facts`, for the matrix with `features`.
    pub fn of(advised: &Advised, facts: &DeviceFacts, features: &Features) -> Self {
        let launch = facts.launch_s.0 / advised.prediction.time.0;
        let filled = filled(advised.candidate, facts, features);
        match advised.bandwidth_fraction {
            _ if launch >= MOST => Self::Launch(launch),
            // On a CPU a strip is a unit of work and says nothing of what the hardware can hold.
            _ if facts.kind.is_gpu() && filled < 1.0 => Self::Occupancy(filled),
            None => Self::Unknown,
            Some(rate) if rate > 1.0 => Self::Cache(rate),
            Some(rate) if rate >= MOST => Self::Bandwidth(rate),
            Some(rate) => Self::Latency(rate),
        }
    }
}

/// `launch, 83 % of the time`; `too small, 21 % of the threads busy`; `memory, 75 % of the copy rate`.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, fraction, of) = match self {
            Self::Launch(fraction) => ("launch", fraction, "of the time"),
            Self::Occupancy(fraction) => ("too small", fraction, "of the threads busy"),
            Self::Cache(fraction) => ("cache", fraction, "of the copy rate"),
            Self::Bandwidth(fraction) => ("memory", fraction, "of the copy rate"),
            Self::Latency(fraction) => ("waiting", fraction, "of the copy rate"),
            Self::Unknown => return f.write_str("?"),
        };
        write!(f, "{what}, {:.0} % {of}", 100.0 * fraction)
    }
}

/// Fraction of one strip that the matrix fills; above 1 it fills several.
fn filled(candidate: Candidate, facts: &DeviceFacts, features: &Features) -> f64 {
    let strip = strip(candidate.kernel, facts);
    let count = strip.unit.count(features.nrows, features.nnz);
    count as f64 / strip.size as f64
}

impl Span {
    /// Seconds a product; see [`Compared::time`].
    fn of(advised: &Advised, products: Option<u64>) -> Option<Self> {
        let share = match products {
            None => 0.0,
            Some(products) => advised.preparation?.0 / products as f64,
        };
        let with = |time: Seconds| Seconds(time.0 + share);
        let prediction = &advised.prediction;
        Some(Self { time: with(prediction.time), low: with(prediction.low), high: with(prediction.high) })
    }

    /// Speedup of this over `other`.
    fn against(&self, other: &Self) -> Speed {
        Speed {
            ratio: other.time.0 / self.time.0,
            low: other.low.0 / self.high.0,
            high: other.high.0 / self.low.0,
        }
    }
}

impl Speed {
    /// Returns whether the intervals leave open which is faster.
    pub fn is_open(&self) -> bool {
        self.low <= 1.0 && self.high >= 1.0
    }
}

/// Compares devices on a matrix with `features`. Of the candidates `common`, the fastest on the first device that can
/// predict one of them is asked of all.
///
/// # Errors
/// [`Error::Lacking`] with the name of the first profile that does not hold the model or predicts no candidate with it.
pub fn compare(
    contenders: &[Contender<'_>],
    features: &Features,
    dtype: Dtype,
    objective: &Objective,
    common: &[Candidate],
) -> Result<Comparison, Error> {
    let advise = |c: &Contender<'_>| Advisor::new(c.profile).advise(features, dtype, objective);
    let advice: Vec<Advice> = contenders.iter().map(advise).collect::<Result<_, _>>()?;
    Ok(line_up(contenders, &advice, features, objective.products, common))
}

/// Puts the advice for each contender side by side.
fn line_up(
    contenders: &[Contender<'_>],
    advice: &[Advice],
    features: &Features,
    products: Option<u64>,
    common: &[Candidate],
) -> Comparison {
    let span = |advised: &Advised| Span::of(advised, products);
    // Ranked by the very time that is compared.
    let fastest = |advice: &Advice| advice.ranked.iter().find(|a| common.contains(&a.candidate)).cloned();
    let common = advice.iter().find_map(fastest).map(|advised| advised.candidate);
    let of = |advice: &Advice, wanted| advice.ranked.iter().find(|a| a.candidate == wanted).cloned();

    let first = advice.first();
    let best_of_first = first.and_then(|advice| span(advice.ranked.first()?));
    let common_of_first = first.zip(common).and_then(|(advice, wanted)| span(&of(advice, wanted)?));
    let devices = contenders.iter().zip(advice).map(|(contender, advice)| {
        let facts = contender.profile.facts_here();
        let compared = |advised: &Advised, first: Option<Span>| {
            let time = span(advised);
            let rate = time.map(|span| 1.0 / span.time.0);
            Compared {
                limit: Limit::of(advised, &facts, features),
                time,
                speed: time.zip(first).map(|(own, first)| own.against(&first)),
                products_per_s: rate,
                products_per_s_per_price: rate.zip(contender.price).map(|(rate, price)| rate / price),
                products_per_joule: rate.zip(contender.power_w).map(|(rate, watts)| rate / watts),
                advised: advised.clone(),
            }
        };
        let refusal = |wanted| {
            let refused = advice.refused.iter().find(|refused| refused.candidate == wanted);
            refused.map_or_else(|| Why::NoModel(format!("{wanted} is unknown here")), |r| r.why.clone())
        };
        ComparedDevice {
            ranked: advice.ranked.iter().map(|advised| compared(advised, best_of_first)).collect(),
            common: common.map(|wanted| {
                let found = of(advice, wanted).map(|advised| compared(&advised, common_of_first));
                found.ok_or_else(|| refusal(wanted))
            }),
        }
    });
    Comparison { devices: devices.collect(), common }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::Refused;
    use crate::model_name::ModelName;
    use sparsight_kernels::DeviceKind;
    use sparsight_matrix::gallery::Recipe;
    use sparsight_matrix::{Bytes, Infeasible};
    use sparsight_model::Prediction;

    fn features() -> Features {
        Features::of(&"stencil2d,n=300".parse::<Recipe>().unwrap().generate::<f64>().unwrap())
    }

    fn advised(id: &str, microseconds: f64, bandwidth_fraction: Option<f64>) -> Advised {
        let time = |factor: f64| Seconds(factor * microseconds * 1e-6);
        Advised {
            candidate: id.parse().unwrap(),
            prediction: Prediction {
                time: time(1.0),
                low: time(0.9),
                high: time(1.2),
                extrapolates: Vec::new(),
            },
            model: ModelName::Strip,
            bytes: Bytes(1000),
            memory: Bytes(900),
            bandwidth_fraction,
            preparation: Some(Seconds(10e-6)),
            pays_off_after: None,
            iteration: None,
        }
    }

    fn advice(ranked: Vec<Advised>) -> Advice {
        Advice {
            kind: DeviceKind::Cuda,
            model: ModelName::Best,
            ranked,
            refused: Vec::new(),
            is_empty: false,
            run_now: None,
            iteration: None,
        }
    }

    const ELL: &str = "ell/b256/f64";
    const CSR: &str = "csr-scalar/b256/f64";

    /// Exact in binary as far as the tests need it.
    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-12
    }

    #[test]
    fn speeds_are_relative_to_the_best_of_the_first_device() {
        let profile = &Profile::shipped("nvidia-h200").unwrap();
        let contenders = [
            Contender { profile, price: Some(4.0), power_w: None },
            Contender { profile, price: None, power_w: Some(500.0) },
        ];
        let all = [
            advice(vec![advised(ELL, 10.0, None)]),
            advice(vec![advised(CSR, 20.0, None), advised(ELL, 40.0, None)]),
        ];
        let compared = line_up(&contenders, &all, &features(), None, &[]);
        assert_eq!(compared.common, None);
        let [one, other] = &compared.devices[..] else { panic!("two devices") };
        assert!(close(one.ranked[0].speed.unwrap().ratio, 1.0));
        let speed = other.ranked[0].speed.unwrap();
        assert!(close(speed.ratio, 0.5) && close(speed.low, 9.0 / 24.0) && close(speed.high, 12.0 / 18.0));
        assert!(!speed.is_open() && one.ranked[0].speed.unwrap().is_open());
        assert!(
            close(other.ranked[1].speed.unwrap().ratio, 0.25),
            "the second is against the first's best, too"
        );
        // 100,000 products a second for 4; 50,000 a second from 500 W.
        assert!(close(one.ranked[0].products_per_s_per_price.unwrap(), 25_000.0));
        assert!(close(other.ranked[0].products_per_joule.unwrap(), 100.0));
        assert_eq!(
            (one.ranked[0].products_per_joule, other.ranked[0].products_per_s_per_price),
            (None, None)
        );
    }

    #[test]
    fn a_common_candidate_is_the_fastest_on_the_first_device() {
        let profile = &Profile::shipped("nvidia-h200").unwrap();
        let contender = Contender { profile, price: None, power_w: None };
        let mut without = advice(vec![advised(ELL, 5.0, None)]);
        let candidate: Candidate = CSR.parse().unwrap();
        let why = Why::Infeasible(Infeasible::DoesNotFit { need: Bytes(2), have: Bytes(1) });
        without.refused.push(Refused { candidate, why: why.clone() });
        let all = [
            advice(vec![advised(ELL, 10.0, None), advised(CSR, 30.0, None)]),
            without,
            advice(vec![advised(CSR, 15.0, None)]),
        ];
        let wanted = ["csr-scalar/b64/f64", CSR].map(|id| id.parse().unwrap());
        let compared = line_up(&[contender; 3], &all, &features(), None, &wanted);
        assert_eq!(compared.common, Some(candidate));
        let common: Vec<_> = compared.devices.into_iter().map(|device| device.common.unwrap()).collect();
        assert!(close(common[0].as_ref().unwrap().speed.unwrap().ratio, 1.0), "against itself, not the best");
        assert_eq!(common[1], Err(why));
        assert!(close(common[2].as_ref().unwrap().speed.unwrap().ratio, 2.0));
    }

    #[test]
    fn products_to_come_share_what_preparing_takes() {
        let one = advised(ELL, 10.0, None);
        let time = |products| Span::of(&one, products).unwrap().time.0;
        assert!(close(time(None), 10e-6) && close(time(Some(1)), 20e-6) && close(time(Some(10)), 11e-6));
        let unknown = Advised { preparation: None, ..one };
        assert_eq!(Span::of(&unknown, Some(10)), None);
        assert!(Span::of(&unknown, None).is_some());
    }

    #[test]
    fn the_limit_is_the_first_that_applies() {
        let features = features();
        let mut facts = Profile::shipped("nvidia-h200").unwrap().device.facts;
        // 90,000 rows in strips of 2,048.
        (facts.multiprocessors, facts.threads_per_multiprocessor) = (1, 2048);
        facts.launch_s = Seconds(6e-6);
        let limit = |facts: &DeviceFacts, rate| Limit::of(&advised(CSR, 10.0, rate), facts, &features);
        assert!(matches!(limit(&facts, Some(0.9)), Limit::Launch(fraction) if close(fraction, 0.6)));
        facts.launch_s = Seconds(1e-6);
        assert_eq!(limit(&facts, Some(1.5)), Limit::Cache(1.5));
        assert_eq!(limit(&facts, Some(0.5)), Limit::Bandwidth(0.5));
        assert_eq!(limit(&facts, Some(0.49)), Limit::Latency(0.49));
        assert_eq!(limit(&facts, None), Limit::Unknown);
        facts.multiprocessors = 100;
        let filled = features.nrows as f64 / 204_800.0;
        assert_eq!(limit(&facts, Some(1.5)), Limit::Occupancy(filled));
        assert_eq!(limit(&facts, Some(1.5)).to_string(), "too small, 44 % of the threads busy");
        facts.kind = DeviceKind::Cpu;
        facts.multiprocessors = 1_000_000;
        assert_eq!(limit(&facts, Some(0.7)), Limit::Bandwidth(0.7), "a CPU has no thread slots to fill");
    }
}
