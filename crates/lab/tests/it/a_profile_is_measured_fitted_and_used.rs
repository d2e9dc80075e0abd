//! Instrument, stop, resume, fit, advise, bench and evaluate, on a made-up device and on the CPU.

use crate::support::{Formula, LAUNCH, PER_STRIP_AND_NON_ZERO};
use sparsight::advise::Why;
use sparsight::bench::{Bench, bench};
use sparsight::calibrate::{Grid, Point, fit, instrument};
use sparsight::device::cpu::Cpu;
use sparsight::device::timing::StoppingRule;
use sparsight::device::{Device, DeviceError};
use sparsight::kernels::{
    DeviceFacts, DeviceKind, Kernel, Placement, RowLengthDistribution, StripRule, StripUnit, catalogue,
    catalogue_on, every_candidate,
};
use sparsight::matrix::{Bytes, Dtype, Features, Scalar, gallery::Recipe};
use sparsight::model::{PlacementRule, RowLengthRule};
use sparsight::models::ModelName;
use sparsight::profile::{GridName, ProfileFolder, ProfiledDevice};
use sparsight::records::{BenchmarkOutcome, BenchmarkRecord, Journal, Outcome};
use sparsight::{Advisor, Error, Objective, Profile};
use sparsight_lab::evaluate::evaluate;
use sparsight_lab::{informative_first, quick_grid};
use std::path::Path;

const CONSTANT: &[RowLengthDistribution] = &[RowLengthDistribution::Constant];

/// Measures and fits a profile in `path`, value type `T` and these row lengths only.
fn profile<T: Scalar>(
    device: &dyn Device<T>,
    bound: Bytes,
    lengths: &[RowLengthDistribution],
    path: &Path,
) -> Profile {
    // Other tests of this program add them, too: what is fitted does not depend on which test runs first.
    sparsight_lab::add_papers_models();
    let folder = ProfileFolder::create(path).unwrap();
    let facts = device.facts().clone();
    let grid = Grid::new(&facts, &[T::DTYPE], bound).only(lengths);
    let conversion = sparsight::calibrate::measure_conversion(device).unwrap();
    let known = ProfiledDevice::now(facts, GridName::Full, String::new(), 1);
    folder.write_device(&ProfiledDevice { conversion, ..known }).unwrap();
    let mut journal = folder.benchmark().unwrap();
    let known = journal.records().to_vec();
    instrument(device, &grid, &known, appended(&mut journal)).unwrap();
    folder.write_models(&fit(&folder, &[], |_| true).unwrap().models).unwrap();
    Profile::load(path).unwrap()
}

/// Appends each new record to a journal.
fn appended(
    journal: &mut Journal<BenchmarkRecord>,
) -> impl FnMut(usize, &Point, Option<BenchmarkRecord>) -> Result<(), Error> {
    |_, _, record| record.map_or(Ok(()), |record| journal.append(record))
}

#[test]
fn on_a_device_that_follows_the_equations_every_prediction_is_exact() {
    let dir = tempfile::tempdir().unwrap();
    let device = Formula::new();
    let profile = profile::<f64>(&device, Bytes(1 << 23), CONSTANT, dir.path());
    let a = "banded,n=3000,band=3".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
    let f = Features::of(&a);
    let advisor = Advisor::new(&profile);
    for model in [ModelName::Strip, ModelName::StripCache] {
        let objective = Objective { model: Some(model), ..Objective::default() };
        let advice = advisor.advise(&f, Dtype::F64, &objective).unwrap();
        assert!(!advice.ranked.is_empty());
        for advised in &advice.ranked {
            let facts = Device::<f64>::facts(&device);
            let strips = sparsight::kernels::strip(advised.candidate.kernel, facts).strips_of(&f) as f64;
            let p = match advised.candidate.kernel.strip_rule() {
                StripRule::Ell => f.row_max as f64,
                // The made-up device is linear in I p, as ELL's equation is. That of CSR is a product of two lines,
                // and HYB a sum of two kernels: their laws are held in the model's own tests.
                _ => continue,
            };
            let expected = LAUNCH + PER_STRIP_AND_NON_ZERO * strips * p;
            let got = advised.prediction.time.0;
            // Five digits are recorded.
            assert!((got - expected).abs() <= 1e-4 * expected, "{}: {got} {expected}", advised.candidate);
        }
    }
}

#[test]
fn drawn_row_lengths_are_measured_recorded_and_fitted_to_models_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let device = Formula::new();
    let profile = profile::<f64>(&device, Bytes(1 << 21), &RowLengthDistribution::ALL, dir.path());
    let records = ProfileFolder::open(dir.path()).unwrap().benchmark().unwrap().into_records();
    let timed = records.iter().filter(|r| matches!(r.outcome, BenchmarkOutcome::Blocks(_)));
    for record in timed.filter(|r| r.lengths.is_drawn()) {
        let drawn = record.drawn.unwrap();
        // The mean of n draws is off by sigma / sqrt(n), hardly ever by four times that; sigma is that of the uniform
        // draw, the wider one. Rows are cut where twice the mean is beyond the columns, which makes it smaller.
        let p = record.p as f64;
        let off = 4.0 * (p * (p + 1.0) / 3.0 / record.nrows as f64).sqrt();
        assert!(drawn.mean < p + off, "{record:?}");
        assert!(drawn.mean > p - off || 2 * record.p > record.nrows, "{record:?}");
        assert!(drawn.max <= (2 * record.p).min(record.nrows) && drawn.mode <= drawn.max, "{record:?}");
    }
    assert!(records.iter().all(|r| !matches!(r.outcome, BenchmarkOutcome::Failed(_))), "every y is right");

    // The made-up device waits for the longest row, so where lengths are drawn around p a product takes as long as if
    // all were nearly twice that.
    let a = "banded,n=3000,band=3".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
    let f = Features::of(&a);
    let advise = |model| {
        let objective = Objective { model: Some(model), ..Objective::default() };
        Advisor::new(&profile).advise(&f, Dtype::F64, &objective).unwrap()
    };
    for model in [ModelName::StripUniform, ModelName::StripNormal] {
        let advice = advise(model);
        for advised in advice.ranked.iter().filter(|a| a.candidate.kernel == Kernel::known("ell")) {
            let strips =
                sparsight::kernels::strip(Kernel::known("ell"), &profile.device.facts).strips_of(&f) as f64;
            let per_entry = (advised.prediction.time.0 - LAUNCH) / (PER_STRIP_AND_NON_ZERO * strips);
            let ratio = per_entry / f.row_max as f64;
            assert!((1.5..2.1).contains(&ratio), "{model}: {ratio}");
        }
        let refused: Vec<_> =
            advice.refused.iter().filter(|r| r.candidate.kernel == Kernel::known("coo")).collect();
        assert_eq!(refused.len(), 5, "one a block size");
        for refused in refused {
            assert!(
                matches!(&refused.why, Why::NoModel(why) if why.contains(&model.to_string())),
                "{refused:?}"
            );
        }
        assert_eq!(advice.ranked.len() + advice.refused.len(), catalogue(Dtype::F64).count());
    }
}

#[test]
fn models_stored_before_row_lengths_were_drawn_still_load_and_say_what_they_lack() {
    let dir = tempfile::tempdir().unwrap();
    let profile = profile::<f32>(&Formula::new(), Bytes(1 << 20), CONSTANT, dir.path());
    let text = std::fs::read_to_string(dir.path().join("models/index.json")).unwrap();
    assert!(!text.contains("strip-uniform") && !text.contains("strip-normal"), "as it was stored then");
    let again = Profile::load(dir.path()).unwrap().models;
    assert_eq!(again.index, profile.models.index);
    assert_eq!(again.strips().unwrap(), profile.models.strips().unwrap());
    for model in [ModelName::StripUniform, ModelName::StripNormal] {
        let lacking = Advisor::new(&profile).predictor(model, PlacementRule::Blend, RowLengthRule::Paper);
        let error = lacking.err().unwrap().to_string();
        assert!(
            error.contains(&format!("holds no {model} model, which takes benchmark matrices")),
            "{error}"
        );
    }
}

#[test]
fn rows_of_one_length_are_run_before_drawn_ones_and_a_coarse_grid_has_no_others() {
    let device = Formula::new();
    let facts: &DeviceFacts = Device::<f32>::facts(&device);
    let grid = Grid::new(facts, &Dtype::ALL, Bytes(1 << 20));
    let lengths: Vec<_> = grid.points.iter().map(|p| p.matrix.lengths).collect();
    assert!(lengths.is_sorted() && lengths.len() > 4_000);
    let count = |of| lengths.iter().filter(|l| **l == of).count();
    let by_non_zeros = grid.points.iter().filter(|p| p.kernel.unit() != StripUnit::Rows).count();
    assert_eq!(count(RowLengthDistribution::Uniform), count(RowLengthDistribution::Constant) - by_non_zeros);
    assert_eq!(count(RowLengthDistribution::Uniform), count(RowLengthDistribution::Normal));
    // Cut into calls of `instrument`, the order is the same.
    let parts: Vec<_> = grid.parts().flat_map(|part| part.points).collect();
    assert_eq!(parts, grid.points);
    assert_eq!(grid.parts().count(), 2 * RowLengthDistribution::ALL.len());
    let coarse = grid.coarse();
    assert!(coarse.points.iter().all(|p| !p.matrix.lengths.is_drawn()));
    assert!(coarse.points.iter().any(|p| p.matrix.placement == Placement::Scattered));
}

#[test]
fn a_quick_grid_is_the_handful_of_a_transfer_and_part_of_the_larger_grids() {
    let device = Formula::new();
    let gpu: &DeviceFacts = Device::<f32>::facts(&device);
    let cpu = Cpu::with_threads(2).unwrap();
    // A CPU has no threshold: five matrices instead of nine for each of five teams.
    // Three of each of COO (a GPU has shorter runs, too) and four sizes of tiles.
    for (facts, count) in [(gpu, 5 * 9 + 3 * 5 + 7 * 3), (cpu.facts(), 5 * 5 + 3 * 5 + 5 * 3)] {
        let quick = quick_grid(facts, &Dtype::ALL, Bytes(1 << 30));
        assert_eq!(quick.points.len(), 2 * 2 * count, "two placements, two value types");
        let full = Grid::new(facts, &Dtype::ALL, Bytes(1 << 30));
        let coarse = full.clone().coarse();
        let cut_short = informative_first(full.clone(), facts);
        let (first, rest) = cut_short.points.split_at(quick.points.len());
        assert!(first.iter().all(|point| quick.points.contains(point)));
        assert_eq!(cut_short.points.len(), full.points.len());
        for kernel in Kernel::all().filter(|k| k.runs_on(facts.kind) && k.has_benchmark_matrices()) {
            let eighth = &rest[..rest.len() / 8];
            assert!(eighth.iter().any(|point| point.kernel == kernel), "{kernel} is in the first round");
        }
        for point in &quick.points {
            assert!(full.points.contains(point) && coarse.points.contains(point), "{point:?}");
        }
        assert!([GridName::Quick, GridName::Coarse, GridName::Full].is_sorted());
    }
}

#[test]
fn an_interrupted_run_keeps_what_was_measured_and_goes_on_from_there() {
    let dir = tempfile::tempdir().unwrap();
    let device = Formula::new();
    let folder = ProfileFolder::create(dir.path()).unwrap();
    let grid = Grid::new(Device::<f32>::facts(&device), &[Dtype::F32], Bytes(1 << 20));
    let mut journal = folder.benchmark().unwrap();
    let mut append = appended(&mut journal);
    let stopped = instrument::<f32>(&device, &grid, &[], |done, point, record| {
        append(done, point, record)?;
        if done < 10 { Ok(()) } else { Err(DeviceError::Interrupted.into()) }
    });
    drop(append);
    assert!(matches!(stopped, Err(Error::Device(DeviceError::Interrupted))));
    assert_eq!(folder.benchmark().unwrap().records().len(), 10);

    drop(journal);
    let before = device.generated.get();
    let mut journal = folder.benchmark().unwrap();
    let known = journal.records().to_vec();
    instrument::<f32>(&device, &grid, &known, appended(&mut journal)).unwrap();
    let records = folder.benchmark().unwrap().into_records();
    assert_eq!(records.len(), grid.points.len());
    let run = |r: &&sparsight::records::BenchmarkRecord| matches!(r.outcome, BenchmarkOutcome::Blocks(_));
    assert_eq!(device.generated.get() - before, records[10..].iter().filter(run).count());
    let beyond = records.iter().filter(|r| matches!(r.outcome, BenchmarkOutcome::Beyond(_))).count();
    assert!(beyond > 0, "points beyond the bound are records");
    assert_eq!(records.iter().filter(run).count() + beyond, records.len(), "and nothing failed");

    drop(journal);
    let mut journal = folder.benchmark().unwrap();
    let wider = Grid::new(Device::<f32>::facts(&device), &[Dtype::F32], Bytes(1 << 21));
    let before = device.generated.get();
    instrument::<f32>(&device, &wider, &records, appended(&mut journal)).unwrap();
    let more = folder.benchmark().unwrap().into_records();
    let timed = |records: &[sparsight::records::BenchmarkRecord]| records.iter().filter(run).count();
    assert!(timed(&more) > timed(&records), "a wider bound lets more through");
    assert_eq!(
        device.generated.get() - before,
        timed(&more) - timed(&records),
        "and nothing is measured twice"
    );
}

#[test]
fn the_cpu_is_profiled_advised_and_verified() {
    let dir = tempfile::tempdir().unwrap();
    // Two workers: strips, and with them the matrices that the bound must let through, grow with the workers.
    let mut cpu = Cpu::with_threads(2).unwrap();
    cpu.measure_rates();
    let profile = profile::<f64>(&cpu, Bytes(7_000_000), CONSTANT, dir.path());
    let a = "stencil2d,n=120".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
    let f = Features::of(&a);
    let advice = Advisor::new(&profile).advise(&f, Dtype::F64, &Objective::default()).unwrap();
    // What a CPU does not have is left out, and nothing fails for it.
    let whole: Vec<_> = every_candidate(Dtype::F64).collect();
    let candidates: Vec<_> = catalogue_on(DeviceKind::Cpu, Dtype::F64).collect();
    let how = Bench { rule: StoppingRule::BRISK, ..Bench::default() };
    let record = bench(&cpu, ("stencil", &a), &f, &whole, &how, |_| Ok(())).unwrap();
    assert!(record.results.iter().all(|m| !matches!(m.outcome, Outcome::Failed { .. })), "{record:?}");
    assert_eq!(record.times().count() + count_infeasible(&record), candidates.len());
    for advised in &advice.ranked {
        let p = &advised.prediction;
        assert!(p.time.0 > 0.0 && p.low.0 <= p.time.0 && p.time.0 <= p.high.0, "{advised:?}");
    }
    assert_eq!(advice.ranked.len() + advice.refused.len(), candidates.len());

    let accuracy =
        evaluate(&profile, &[record], &[PlacementRule::Blend], &[RowLengthRule::Paper], 3).unwrap();
    let kernels: std::collections::BTreeSet<_> = accuracy.rows.iter().map(|r| r.of).collect();
    // Strip models predict what has benchmark matrices, and HYB.
    let predicted = |kernel: &Kernel| {
        kernel.runs_on(DeviceKind::Cpu)
            && (kernel.has_benchmark_matrices() || *kernel == Kernel::known("hyb"))
    };
    assert_eq!(kernels.len(), Kernel::all().filter(predicted).count());
    assert!(accuracy.rows.iter().all(|r| r.error.mean.is_finite()));
}

fn count_infeasible(record: &sparsight::records::CorpusRecord) -> usize {
    record.results.iter().filter(|m| matches!(m.outcome, Outcome::Infeasible { .. })).count()
}
