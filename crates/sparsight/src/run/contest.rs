//! Several plans for one matrix, timed in turn: what disturbs one of them disturbs all.

use super::measured::checked;
use super::{MeasuredPartition, Plan};
use crate::{Bench, Error};
use sparsight_device::timing::Sampling;
use sparsight_device::{Device, DeviceError, Product};
use sparsight_matrix::{Csr, Scalar, reference};

/// Tries `plans` and gives the one with the least time a product, with that time: see [`contest`].
///
/// What it takes are all their preparations, one product on the host to hold each y to, and what the rule of `how` allows for
/// each: some milliseconds with [`StoppingRule::BRISK`](sparsight_device::timing::StoppingRule::BRISK). All are on the device
/// at one time; one that does not fit beside the others is none. The winner is prepared once more by whoever uses it. It is
/// worth all that where many products are to come. On an H200 the better of two tried plans was never more than 3 % slower
/// than the best of the vendor's formats on 261 matrices (docs/results/h200-plans.md).
///
/// ```
/// use sparsight::matrix::gallery::Recipe;
/// use sparsight::{Advisor, Bench, Objective, Profile, fastest};
/// # let cpu = sparsight::device::cpu::Cpu::with_threads(1)?;
/// # use sparsight::device::timing::StoppingRule;
/// let profile = Profile::shipped("nvidia-h200")?;
/// let a = "stencil2d,n=30".parse::<Recipe>()?.generate::<f64>()?;
/// let plans = Advisor::new(&profile).plans(&a, &Objective::default(), 3.try_into()?)?;
/// let how = Bench { rule: StoppingRule::BRISK, ..Bench::default() };
/// # let gpu = cpu;
/// let (plan, measured) = fastest(&gpu, &a, plans, &how)?;
/// println!("{plan}: {}", measured.timing.time);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// That of the first plan if none could be run.
///
/// # Panics
/// Without plans.
pub fn fastest<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    plans: Vec<Plan>,
    how: &Bench,
) -> Result<(Plan, MeasuredPartition), Error> {
    let outcomes = contest(device, a, &plans, how);
    least(plans.into_iter().zip(outcomes))
}

/// The first of those with the least time; without any, why the first has none.
fn least<P, E>(
    tried: impl IntoIterator<Item = (P, Result<MeasuredPartition, E>)>,
) -> Result<(P, MeasuredPartition), E> {
    let mut failed = None;
    let mut best: Option<(P, MeasuredPartition)> = None;
    for (plan, outcome) in tried {
        match outcome {
            Ok(measured) => {
                if best.as_ref().is_none_or(|best| measured.timing.time < best.1.timing.time) {
                    best = Some((plan, measured));
                }
            }
            Err(why) => {
                failed.get_or_insert(why);
            }
        }
    }
    best.ok_or_else(|| failed.expect("at least one plan was tried"))
}

type Contestant<T> = (Box<dyn Product<T>>, Sampling);

/// Prepares every plan, holds each to the reference, and samples their times in turn, a sample of each a round, until all
/// satisfy the rule of `how`. The answers are in the order of `plans`; a plan that cannot be run or is wrong says why.
///
/// All are on the device at one time. Of `how`, [`Bench::hopeless`] is not looked at.
pub fn contest<T: Scalar>(
    device: &dyn Device<T>,
    a: &Csr<T>,
    plans: &[Plan],
    how: &Bench,
) -> Vec<Result<MeasuredPartition, Error>> {
    let x = sparsight_device::random_x(a.ncols(), how.seed);
    let expected = reference(a, &x);
    let begin = |plan: &Plan| -> Result<_, DeviceError> {
        let product = checked(device, a, plan.partition(), (&x, &expected))?;
        let sampling = Sampling::begin(|products| product.batch(products, how.caches), &how.rule)?;
        Ok((product, sampling))
    };
    let mut all: Vec<Result<Contestant<T>, DeviceError>> = plans.iter().map(begin).collect();
    loop {
        let mut sampled = false;
        for one in &mut all {
            let Ok((product, sampling)) = one else { continue };
            if sampling.is_done() {
                continue;
            }
            sampled = true;
            if let Err(why) = sampling.sample_after_others(|products| product.batch(products, how.caches)) {
                *one = Err(why);
            }
        }
        if !sampled {
            break;
        }
    }
    let measured = |(product, sampling): Contestant<T>| MeasuredPartition {
        timing: sampling.timing(),
        preparation: product.preparation(),
    };
    all.into_iter().map(|one| one.map(measured).map_err(Error::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_device::Preparation;
    use sparsight_device::timing::{Stopped, Timing};
    use sparsight_matrix::Seconds;

    fn took(time: f64) -> MeasuredPartition {
        let timing = Timing {
            time: Seconds(time),
            spread: 0.0,
            samples: 5,
            alpha: 1,
            beta: 30,
            stopped: Stopped::Spread,
            sm_mhz: None,
            throttled: 0,
        };
        MeasuredPartition { timing, preparation: Preparation::default() }
    }

    #[test]
    fn the_least_time_wins_and_of_equal_ones_the_first() {
        let won = |tried: Vec<(u32, Result<_, &'static str>)>| least(tried).map(|(plan, _)| plan);
        let all = [3.0, 2.0, 2.0, 4.0].map(|time| Ok(took(time)));
        assert_eq!(won((1..).zip(all).collect()), Ok(2));
        assert_eq!(won(vec![(1, Err("no room")), (2, Ok(took(9.0)))]), Ok(2));
        assert_eq!(won(vec![(1, Err("no room")), (2, Err("wrong"))]), Err("no room"));
    }
}
