//! Measurements beside advice report a lowered clock of the device, as a bench does.

use crate::support::Formula;
use sparsight::bench::Bench;
use sparsight::matrix::gallery::Recipe;
use sparsight::matrix::{Csr, Dtype, Features};
use sparsight::run::{Tries, Verified};
use sparsight::{Advisor, Objective, Profile, verify};
use std::num::NonZeroUsize;

fn verified(slowed_every: usize) -> Verified {
    let mut device = Formula::new();
    device.slowed_every = slowed_every;
    let a: Csr<f64> = "stencil2d,n=30".parse::<Recipe>().unwrap().generate().unwrap();
    let profile = Profile::shipped("nvidia-h200").unwrap();
    let features = Features::of(&a);
    let advice = Advisor::new(&profile).advise(&features, Dtype::F64, &Objective::default()).unwrap();
    let tries = Tries::Count(NonZeroUsize::new(4).unwrap());
    verify(&device, ("a", &a), &features, &advice, tries, &Bench::default(), |_| Ok(())).unwrap()
}

#[test]
fn the_clocks_of_all_runs_are_put_together() {
    let quiet = verified(0);
    assert!(quiet.measured.len() >= 4 && quiet.clock.is_none() && quiet.far == 0, "{:?}", quiet.measured);
    let slowed = verified(7);
    let clock = slowed.clock.unwrap();
    assert!(clock.throttled as usize >= slowed.measured.len() / 2, "{clock:?}");
    assert!(clock.sm_mhz[0] >= 900 && clock.sm_mhz[1] == 1900, "{clock:?}");
}
