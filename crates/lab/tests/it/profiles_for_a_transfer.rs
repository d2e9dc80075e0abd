//! The profiles in this repository, as devices of a transfer.

use sparsight::kernels::{Candidate, Kernel, Placement, catalogue, feasible};
use sparsight::matrix::gallery::Recipe;
use sparsight::matrix::{Dtype, Features, Limits, Seconds};
use sparsight::profile::{GridName, Missing, ProfileFolder};
use sparsight::{Error, Profile};
use sparsight_lab::fit_transfer;
use sparsight_lab::papers::guo_wang_2013::Transfer;
use sparsight_lab::transfer::{CrossArchitecture, ReferenceOrigin, TransferProfile};
use std::fs;
use std::path::{Path, PathBuf};

fn profiles() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles")
}

fn features(recipe: &str) -> Features {
    Features::of(&recipe.parse::<Recipe>().unwrap().generate::<f64>().unwrap())
}

#[test]
fn the_shipped_parameters_are_those_of_the_benchmark_matrices_beside_them() {
    let folder = ProfileFolder::open(&profiles().join("nvidia-h200")).unwrap();
    let shipped = TransferProfile::find("nvidia-h200").unwrap();
    assert_eq!(
        shipped.parameters,
        Some(fit_transfer(&folder).unwrap()),
        "`sparsight lab fit` writes them again"
    );
    assert_eq!(shipped.device.grid, GridName::Full, "a file that does not say");
}

#[test]
fn the_parts_of_an_h200_are_quick_profiles_of_so_many_multiprocessors() {
    for multiprocessors in [16, 40, 72, 104] {
        let path = profiles().join(format!("nvidia-h200-sm{multiprocessors}"));
        let part = TransferProfile::load(&path).unwrap();
        assert_eq!((part.device.grid, part.device.facts.multiprocessors), (GridName::Quick, multiprocessors));
        let folder = ProfileFolder::open(&path).unwrap();
        assert_eq!(part.parameters, Some(fit_transfer(&folder).unwrap()));
        let measured = folder.measured().unwrap();
        assert_eq!(measured.len(), 2 * 261, "every real matrix in f32 and f64");
        assert!(
            measured.iter().all(|record| record.times().count() >= 8),
            "eight kernels, and ELL where it fits"
        );
    }
}

#[test]
fn a_part_of_an_h200_is_fitted_to_what_it_holds_and_a_device_alone_is_a_target_of_transfers() {
    let missing = |folder: &Path| match Profile::load(folder) {
        Err(Error::Lacking { missing, .. }) => missing,
        other => panic!("{other:?}"),
    };
    let part = profiles().join("nvidia-h200-sm16");
    assert_eq!(missing(&part), Missing::Fit);
    let alone = tempfile::tempdir().unwrap();
    fs::copy(part.join("device.json"), alone.path().join("device.json")).unwrap();
    assert_eq!(missing(alone.path()), Missing::ModelsOfQuick);
}

#[test]
fn an_h200_transferred_to_itself_keeps_the_times_of_every_candidate() {
    let h200 = TransferProfile::find("nvidia-h200").unwrap();
    let models = Profile::shipped("nvidia-h200").unwrap();
    let across = CrossArchitecture { reference: &h200, models: Some(&models), measured: None, target: &h200 };
    // It is unknown how the vendor's routines share out the work.
    let known = |kernel: Kernel| !kernel.is_vendors();
    for recipe in ["stencil2d,n=300", "power-law,n=20000"] {
        let features = features(recipe);
        // What has too many diagonals or blocks is never predicted.
        let is_asked = |c: &Candidate| known(c.kernel) && feasible(c, &features, &Limits::NONE).is_ok();
        for candidate in Dtype::ALL.into_iter().flat_map(catalogue).filter(is_asked) {
            let (transferred, origin) = across.time(&candidate, &features).unwrap();
            let ratio = transferred.time.0 / transferred.reference.0;
            assert!((ratio - 1.0).abs() < 1e-12, "{candidate}: {transferred:?}");
            assert!(matches!(origin, ReferenceOrigin::Predicted(_)));
        }
    }
}

#[test]
fn the_c2050_of_the_paper_is_a_profile_that_says_where_it_is_from() {
    let c2050 = TransferProfile::load(&profiles().join("tesla-c2050-paper")).unwrap();
    let source = c2050.device.provenance.source.as_deref().unwrap();
    assert!(source.contains("Guo") && source.contains("nothing here was measured"), "{source}");
    assert_eq!(c2050.device.grid, GridName::Quick);
    for known in c2050.parameters.as_ref().unwrap().candidates() {
        assert_eq!((known.placement, known.candidate.block), (Placement::Banded, 256));
        let h200 = TransferProfile::find("nvidia-h200").unwrap();
        let transfer = Transfer { reference: c2050.side().unwrap(), target: h200.side().unwrap() };
        let features = features("stencil2d,n=900");
        match transfer.time(&known.candidate, &features, Seconds(1e-3)) {
            // A chip thirteen years younger is no slower.
            Ok(transferred) => assert!(transferred.time < Seconds(1e-3), "{transferred:?}"),
            Err(why) => assert!(why.to_string().contains("smallest benchmark matrix of coo"), "{why}"),
        }
    }
}
