//! Fits on a device whose times obey a model's equation exactly: every line passes through its measurements.

use crate::made_up::*;
use sparsight_kernels::{Kernel, Placement};
use sparsight_model::{Along, Bound, FittedLine, StripModel, Variant};

fn lines(kernel: Kernel, variant: Variant) -> Vec<FittedLine> {
    let facts = device();
    let observations = observe_all(&facts);
    let model = StripModel::fit(&facts, &observations, variant).unwrap();
    model.lines(&facts, &candidate(kernel), &observations)
}

#[test]
fn every_line_passes_through_the_measurements_beside_it() {
    for kernel in [
        Kernel::known("csr-vector/t8"),
        Kernel::known("csr-scalar"),
        Kernel::known("ell"),
        Kernel::known("coo"),
    ] {
        let lines = lines(kernel, Variant::Strip);
        assert!(!lines.is_empty());
        for FittedLine { line, measured, along, held, .. } in lines {
            assert!(measured.len() >= 2);
            for (x, time) in measured {
                assert_close(line.at(x as f64), time.0, &format!("{kernel} {along:?} {held:?} at {x}"));
            }
        }
    }
}

#[test]
fn csr_has_a_line_of_each_kind_on_each_side_and_coo_one_in_all() {
    let of = |kernel, along| -> Vec<FittedLine> {
        let banded = |l: &FittedLine| l.placement == Placement::Banded && l.along == along;
        lines(kernel, Variant::Strip).into_iter().filter(banded).collect()
    };
    for along in [Along::RowLength, Along::Strips] {
        let csr = of(Kernel::known("csr-vector/t8"), along);
        let bounds: Vec<&[Bound]> = csr.iter().map(|l| &l.bounds[..]).collect();
        assert_eq!(bounds, [&[Bound::UpTo(256)], &[Bound::Beyond(256)]]);
    }
    let over_p: Vec<_> = of(Kernel::known("ell"), Along::RowLength).iter().map(|l| l.held).collect();
    assert_eq!(over_p, [STRIPS.first().copied(), STRIPS.last().copied()], "at both ends of I");
    assert!(of(Kernel::known("coo"), Along::RowLength).is_empty());
    let coo = of(Kernel::known("coo"), Along::Strips);
    assert_eq!((coo.len(), coo[0].held), (1, None));
    assert_eq!(coo[0].measured.len(), STRIPS.len() * ROW_LENGTHS.len());
}

#[test]
fn a_regime_is_drawn_with_its_own_measurements_only() {
    // Times that double beyond a working set of 1 MB: one border, and a line on either side of it.
    let facts = device();
    let candidate = candidate(Kernel::known("coo"));
    let time = |i: f64, _: f64, bytes: u64| if bytes > 1 << 20 { 2.0 * coo_time(i) } else { coo_time(i) };
    let observations = observe(&facts, candidate, Placement::Banded, time);
    let model = StripModel::fit(&facts, &observations, Variant::StripCache).unwrap();
    let lines = model.lines(&facts, &candidate, &observations);
    assert!(
        matches!(lines[0].bounds[..], [Bound::Below(..)])
            && matches!(lines[1].bounds[..], [Bound::Above(..)])
    );
    for FittedLine { line, measured, .. } in &lines {
        for &(x, time) in measured {
            assert_close(line.at(x as f64), time.0, "beside its border");
        }
    }
    assert_eq!(lines.iter().map(|l| l.measured.len()).sum::<usize>(), observations.len());
}
