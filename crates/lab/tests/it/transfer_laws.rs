//! Laws of a transfer between any devices.

use crate::made_up::{candidate, gpu, hyb_matrix, matrix};
use sparsight_kernels::{
    Candidate, DeviceFacts, DeviceKind, Kernel, Placement, RowLengthDistribution, StripRule, StripUnit, strip,
};
use sparsight_lab::papers::guo_wang_2013::{
    Role, Transfer, TransferError, TransferParameters, TransferSide, Transferred, handful,
};
use sparsight_matrix::{Dtype, Features, Seconds, mix};
use sparsight_model::Observation;

/// Seconds of a benchmark matrix: kernel, placement, I, p.
type Time<'a> = &'a dyn Fn(Kernel, Placement, f64, f64) -> f64;

struct Device {
    facts: DeviceFacts,
    parameters: TransferParameters,
}

impl Device {
    /// Measured with the handful of every kernel, block 128 and f32.
    fn measured(facts: DeviceFacts, time: Time) -> Self {
        let parameters = TransferParameters::fit(&facts, &observe(&facts, time));
        Self { facts, parameters }
    }

    fn side(&self) -> TransferSide<'_> {
        TransferSide { facts: &self.facts, parameters: &self.parameters }
    }

    fn to<'a>(&'a self, target: &'a Self) -> Transfer<'a> {
        Transfer { reference: self.side(), target: target.side() }
    }
}

fn observe(facts: &DeviceFacts, time: Time) -> Vec<Observation> {
    let threshold = facts.max_threads_per_block.map(u64::from);
    let mut all = Vec::new();
    for kernel in Kernel::all() {
        for point in handful(kernel, threshold) {
            // Strips of non-zeros, or of rows and non-zeros, are made of one strip of rows.
            let by_rows = kernel.unit() == StripUnit::Rows;
            let strips_of_rows = if by_rows { point.strips } else { 1 };
            all.extend(Placement::ALL.map(|placement| Observation {
                candidate: candidate(kernel),
                placement,
                lengths: RowLengthDistribution::Constant,
                row_length: point.row_length,
                strips: point.strips,
                nrows: strip(kernel, facts).size * strips_of_rows,
                time: Seconds(time(kernel, placement, point.strips as f64, point.row_length as f64)),
            }));
        }
    }
    all
}

/// 2 multiprocessors with this many threads each.
fn device(threads: u32, threshold: Option<u32>) -> DeviceFacts {
    DeviceFacts { max_threads_per_block: threshold, ..gpu("made up", 2, threads) }
}

/// Without any start-up cost: twice the strips are twice the time, and so are twice the non-zeros a row; a team of
/// threads is three times as slow a non-zero above its threshold.
fn no_start_up(threshold: Option<u32>, speed: f64) -> impl Fn(Kernel, Placement, f64, f64) -> f64 {
    let threshold = threshold.map_or(f64::INFINITY, f64::from);
    move |kernel, placement, i, p| {
        let scattered = if placement == Placement::Scattered { 2.5 } else { 1.0 };
        let a_strip = match kernel.strip_rule() {
            StripRule::Coo => 1.0,
            StripRule::Csr => p + 2.0 * (p - threshold).max(0.0),
            _ => p,
        };
        let knob = 1.0 + f64::from(kernel.threads_per_row().unwrap_or(7)) / 100.0;
        1e-8 * speed * knob * scattered * a_strip * i
    }
}

#[test]
fn without_start_up_cost_p_is_exact_in_all_cases_of_the_thresholds() {
    // Strips of 2,048 and 3,072 threads: any multiple of 6,144 rows fills both, with any team.
    let devices = [(1024, Some(256), 1.0), (1536, Some(512), 0.3), (1536, Some(256), 1.9), (1024, None, 0.7)];
    let times = devices.map(|(_, threshold, speed)| no_start_up(threshold, speed));
    let measured: Vec<Device> = devices
        .iter()
        .zip(&times)
        .map(|(&(threads, threshold, _), time)| Device::measured(device(threads, threshold), time))
        .collect();
    for ((from, time_ref), (to, time_tar)) in
        measured.iter().zip(&times).flat_map(|from| measured.iter().zip(&times).map(move |to| (from, to)))
    {
        let transfer = from.to(to);
        for (p, reuse) in [(3, 1.0), (100, 0.0), (256, 0.4), (300, 0.4), (512, 1.0), (700, 0.4)] {
            let features = Features { x_reuse: reuse, ..matrix(5 * 6_144, p, p) };
            for kernel in Kernel::all().filter(|kernel| kernel.has_benchmark_matrices()) {
                let on = |facts: &DeviceFacts, time: Time| {
                    let count = kernel.unit().count(features.nrows, features.nnz);
                    let i = count as f64 / strip(kernel, facts).size as f64;
                    let at = |placement| time(kernel, placement, i, p as f64);
                    reuse * at(Placement::Banded) + (1.0 - reuse) * at(Placement::Scattered)
                };
                let (reference, target) = (on(&from.facts, time_ref), on(&to.facts, time_tar));
                let relative = transfer.relative(&candidate(kernel), &features).unwrap();
                let thresholds = [from, to].map(|device| device.facts.max_threads_per_block);
                let what = format!("{kernel} {thresholds:?} p {p}");
                // CSR and COO call the smallest matrix initialization, even where it is none: P alone is exact. For a
                // thread a row the intercept is 0, and so the whole equation is.
                let whole = kernel.threads_per_row() == Some(1);
                let got = if whole {
                    relative.time_s(Seconds(reference))
                } else {
                    relative.performance() * reference
                };
                assert!((got / target - 1.0).abs() < 1e-9, "{what}: {got:e}, exact {target:e}");
            }
        }
    }
}

/// Measurements of a device with start-up costs and noise of 20 %.
fn noisy(kernel: Kernel, placement: Placement, i: f64, p: f64) -> f64 {
    let place = (i as u64) << 32 | (p as u64) << 8 | u64::from(kernel.threads_per_row().unwrap_or(9));
    let noise = 0.9 + 0.2 * (mix(place) >> 40) as f64 / f64::from(1 << 24);
    2e-6 + noise * no_start_up(Some(256), 1.0)(kernel, placement, i, p) + 3e-7 * i
}

fn cpu() -> DeviceFacts {
    DeviceFacts { kind: DeviceKind::Cpu, threads_per_multiprocessor: 1, ..device(1, None) }
}

fn transferred(
    from: &Device,
    to: &Device,
    kernel: Kernel,
    features: &Features,
    reference: f64,
) -> Transferred {
    from.to(to).time(&candidate(kernel), features, Seconds(reference)).unwrap()
}

#[test]
fn a_device_transferred_to_itself_gives_the_time_it_was_given_with_every_kernel() {
    for facts in [device(1024, Some(256)), device(1536, Some(1024)), cpu()] {
        let device = Device::measured(facts, &noisy);
        for (nrows, p, width, coo) in [(100, 0, 0, 50), (70_000, 40, 12, 9_000), (9_000, 2_000, 2_000, 0)] {
            let hyb = hyb_matrix(nrows, width, coo, 0.3).hyb;
            let features = Features { hyb, x_reuse: 0.3, ..matrix(nrows, p, p) };
            for kernel in Kernel::all().filter(|kernel| !kernel.is_vendors()) {
                let got = transferred(&device, &device, kernel, &features, 3.5e-4);
                assert!((got.relative.performance() - 1.0).abs() < 1e-12, "{kernel}: {got:?}");
                assert!((got.time.0 / 3.5e-4 - 1.0).abs() < 1e-12, "{kernel}: {got:?}");
                assert!(!got.at_launch_cost);
            }
        }
    }
}

#[test]
fn no_time_is_zero_or_below_the_launch_cost_of_the_target() {
    let slower = |kernel, placement, i, p| 5e-5 + noisy(kernel, placement, i, p);
    for launch in [0.0, 1.5e-6] {
        let from = Device::measured(device(1024, Some(256)), &slower);
        let to =
            Device::measured(DeviceFacts { launch_s: Seconds(launch), ..device(1536, Some(256)) }, &noisy);
        let mut at_launch_cost = 0;
        for kernel in Kernel::all().filter(|kernel| !kernel.is_vendors()) {
            for reference in [1e-12, 1e-6, 1e-3, 1.0] {
                let got = transferred(&from, &to, kernel, &matrix(50_000, 9, 9), reference);
                assert!(got.time.0 > 0.0 && got.time.0.is_finite() && got.time.0 >= launch, "{got:?}");
                let equation = got.relative.time_s(Seconds(reference));
                assert_eq!(got.at_launch_cost, equation < got.time.0, "{kernel} {got:?}");
                at_launch_cost += usize::from(got.at_launch_cost);
            }
        }
        assert!(at_launch_cost > 0, "a matrix that takes no time at all is far below T_init");
    }
}

#[test]
fn sell_and_bro_ell_take_the_parameters_of_ell() {
    let (from, to) = (
        Device::measured(device(1024, Some(256)), &noisy),
        Device::measured(device(1536, Some(256)), &no_start_up(Some(256), 0.4)),
    );
    let features = matrix(50_000, 9, 9);
    let of = |kernel| transferred(&from, &to, kernel, &features, 1e-4);
    for kernel in Kernel::all().filter(|k| ["sell", "bro-ell"].contains(&k.name())) {
        assert_eq!(of(kernel), of(Kernel::known("ell")), "{kernel}");
    }
}

#[test]
fn a_full_grid_gives_the_parameters_of_the_handful_in_it() {
    let facts = device(1024, Some(256));
    let handful = observe(&facts, &noisy);
    let more = |o: &Observation| {
        let again = Observation { lengths: RowLengthDistribution::Normal, time: Seconds(1.0), ..*o };
        let between = Observation { row_length: o.row_length + 1, time: Seconds(1.0), ..*o };
        [again, between, *o]
    };
    let mut full: Vec<Observation> = handful.iter().flat_map(more).collect();
    // COO looks at strips alone, and these are new ones of it.
    full.retain(|o| o.candidate.kernel != Kernel::known("coo") || handful.contains(o));
    assert_eq!(TransferParameters::fit(&facts, &full), TransferParameters::fit(&facts, &handful));
}

#[test]
fn parameters_read_back_are_the_same() {
    let device = Device::measured(device(1024, Some(256)), &noisy);
    let text = serde_json::to_string(&device.parameters).unwrap();
    assert_eq!(serde_json::from_str::<TransferParameters>(&text).unwrap(), device.parameters);
    assert_eq!(device.parameters.candidates().len(), 2 * 15, "two placements of what has benchmark matrices");
}

#[test]
fn a_missing_placement_falls_back_to_the_other_one() {
    let facts = device(1024, Some(256));
    let whole = Device::measured(facts.clone(), &noisy);
    let features = Features { x_reuse: 1.0, ..matrix(50_000, 9, 9) };
    let only = |keep: &dyn Fn(&Observation) -> bool| {
        let kept: Vec<Observation> = observe(&facts, &noisy).into_iter().filter(|o| keep(o)).collect();
        Device { facts: facts.clone(), parameters: TransferParameters::fit(&facts, &kept) }
    };
    let scattered = only(&|o| o.placement == Placement::Scattered);
    let t = transferred(&scattered, &whole, Kernel::known("ell"), &features, 1e-4);
    assert!((t.relative.performance() - 1.0).abs() < 1e-12, "strewn against strewn");

    let team = Kernel::known("csr-vector/t8");
    let refused = |from: &Device, to: &Device, candidate: Candidate, p: u64| {
        from.to(to).relative(&candidate, &matrix(50_000, p, p)).unwrap_err().to_string()
    };
    let no_ell = only(&|o| o.candidate.kernel != Kernel::known("ell"));
    for kernel in [Kernel::known("ell"), Kernel::known("bro-ell/r32")] {
        assert_eq!(
            refused(&whole, &no_ell, candidate(kernel), 9),
            "the target holds no benchmark matrices of ell/b128/f32 (non-zeros a row x strips: \
             4 x 1, 4 x 4, 4 x 8, 64 x 1, 256 x 1)"
        );
    }
    let f64 = Candidate { dtype: Dtype::F64, ..candidate(team) };
    assert_eq!(refused(&whole, &whole, f64, 9), "the reference holds no benchmark matrices in f64");
    let short = only(&|o| o.row_length < 512);
    let wanted = "the target holds no benchmark matrices of csr-vector/t8 f32 with rows above the largest thread block";
    assert_eq!(refused(&whole, &short, candidate(team), 700), wanted);
    assert!(whole.to(&short).relative(&candidate(team), &matrix(50_000, 200, 200)).is_ok());
}

#[test]
fn times_that_fall_with_the_size_are_refused_and_not_extrapolated() {
    let falling = |_: Kernel, _: Placement, i: f64, p: f64| 1e-5 / (i + p);
    let facts = device(1024, Some(256));
    let (good, bad) = (Device::measured(facts.clone(), &noisy), Device::measured(facts, &falling));
    for kernel in Kernel::all().filter(|kernel| !kernel.is_vendors()) {
        let error = good.to(&bad).relative(&candidate(kernel), &hyb_matrix(50_000, 9, 100, 0.5)).unwrap_err();
        assert!(matches!(error, TransferError::Useless { role: Role::Target, .. }), "{kernel}: {error}");
    }
}

#[test]
fn a_damaged_file_with_a_strip_of_nothing_is_refused() {
    let whole = Device::measured(device(1024, Some(256)), &noisy);
    let mut read = serde_json::to_value(&whole.parameters).unwrap();
    for candidate in read["candidates"].as_array_mut().unwrap() {
        for equation in ["csr", "ell", "coo"] {
            if candidate[equation].is_object() {
                candidate[equation]["strip"] = 0.into();
            }
        }
    }
    let bad = Device { facts: whole.facts.clone(), parameters: serde_json::from_value(read).unwrap() };
    for kernel in Kernel::all() {
        let features = hyb_matrix(50_000, 9, 100, 0.5);
        for transfer in [whole.to(&bad), bad.to(&whole)] {
            assert!(transfer.relative(&candidate(kernel), &features).is_err(), "{kernel}");
        }
    }
}
