//! A GPU that has no profile: calibrated when that is first asked for, into the folder where the program and the Python package look.

use crate::failure::Failure;
use crate::status::SS_NO_PROFILE;
use crate::{device, threads};
use sparsight::Profile;
use sparsight::calibrate::{CALIBRATION_BUDGET, may_calibrate};
use sparsight::profile::{ProfileFolder, calibration_folder};
use std::io::{self, Write};
use std::path::Path;

/// The profile of the GPU with that number, which its driver calls `gpu` and of which nothing is known yet. Takes some 20 s, and says
/// so on standard error.
pub(crate) fn of_unknown(index: usize, gpu: &str) -> Result<Profile, Failure> {
    let why = format!("{gpu} has no profile and was not calibrated yet");
    if !may_calibrate() {
        return Err(Failure::new(SS_NO_PROFILE, why).hinted(format!(
            "without SPARSIGHT_CALIBRATE=0 it is calibrated now, and at any time by `SPARSIGHT_CALIBRATE=1 sparsight advise --device \
             cuda:{index} A.mtx`, once; or take the profile of another GPU, such as {}",
            Profile::DEFAULT
        )));
    }
    let path = calibration_folder(gpu, &device::driver()?).ok_or_else(|| {
        Failure::new(SS_NO_PROFILE, format!("{why}, and there is no folder to keep a calibration in"))
            .hinted("set SPARSIGHT_CACHE to one")
    })?;
    threads::begin()?;
    kept_in(&path, index, &why)
}

/// What whoever looks at the program is told of its wait, as Python warns; it is no answer of a call.
fn say(text: &str) {
    // Where nobody can be told, the wait is the same.
    _ = writeln!(io::stderr(), "sparsight: {text}");
}

/// The calibration in that folder, measured now unless another process or thread has done so meanwhile; `why` is said before.
fn kept_in(path: &Path, index: usize, why: &str) -> Result<Profile, Failure> {
    let mut is_said = false;
    let mut wait = || {
        if !is_said {
            say("another process or thread calibrates this GPU: waiting for it");
            is_said = true;
        }
        Ok(())
    };
    // Before the GPU is opened, which measures its rates.
    let (folder, _alone) = ProfileFolder::alone(path, &mut wait)?;
    if let Ok(found) = Profile::load(path) {
        return Ok(found);
    }
    say(&format!("{why}: it is calibrated now, once, in about {:.0} s", CALIBRATION_BUDGET.0));
    let kept_elsewhere = |failure: Failure| match failure.code {
        SS_NO_PROFILE => failure.hinted(format!(
            "remove {}, or set SPARSIGHT_CACHE to another folder: what is measured of this GPU is kept there",
            path.display()
        )),
        _ => failure,
    };
    device::calibrate(index, &folder).map_err(kept_elsewhere)?;
    Ok(Profile::load(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{env, thread};

    // Without a GPU it says that it is skipped; `SPARSIGHT_REQUIRE_GPU=1` turns that into a failure.
    #[test]
    fn of_two_threads_one_calibrates_and_the_other_has_the_same_profile() {
        if let Err(error) = device::gpu_name(0) {
            assert!(env::var_os("SPARSIGHT_REQUIRE_GPU").is_none(), "{error}");
            eprintln!("skipped: {error}");
            return;
        }
        let cache = tempfile::tempdir().unwrap();
        let path = cache.path().join("profiles/cuda-some-gpu");
        let both = thread::scope(|scope| {
            let one = || kept_in(&path, 0, "a test").unwrap().rescaled.unwrap().rescaling;
            [scope.spawn(one), scope.spawn(one)].map(|thread| thread.join().unwrap())
        });
        assert_eq!(both[0], both[1]);
        assert!((4..=10).contains(&both[0].matrices), "{:?}", both[0]);
    }
}
