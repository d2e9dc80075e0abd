//! Choice of the kernels that are tried for a pattern, and their compilation: what the worker does.

use crate::gpu::Gpu;
use crate::settings::Settings;
use crate::source::Source;
use crate::worker;
use sparsight::device::cuda::RowLengthSummary;
use sparsight::device::gpu::InPlace;
use sparsight::kernels::Candidate;
use sparsight::matrix::Features;
use sparsight::{Advisor, Csr, Objective};
use std::sync::Arc;

/// Kernels that are tried.
const TRIED: usize = 3;
/// Non-zeros above which columns are not read: the pattern would take a gigabyte of the program's memory.
const MOST_READ: u64 = 100 << 20;

/// A kernel that may be used for a pattern.
pub(crate) type Entrant = (Candidate, Arc<InPlace>);

/// The kernels to be tried, loaded; those that cannot be loaded are left out. `lengths`: of the rows, where they were counted.
pub(crate) fn entrants(source: &Source, gpu: &Gpu, lengths: Option<&RowLengthSummary>) -> Vec<Entrant> {
    match lengths {
        Some(lengths) => in_place(source, gpu, lengths),
        None => beside_tables(source, gpu),
    }
}

/// Kernels that need nothing but CSR, by the rules.
fn in_place(source: &Source, gpu: &Gpu, lengths: &RowLengthSummary) -> Vec<Entrant> {
    if Settings::get().reports()
        && let Some(row_ptr) = source.row_offsets(gpu)
    {
        let _ = advised(source, gpu, &row_ptr);
    }
    let chosen = gpu.rules.choose(source.key.size(), lengths, source.key.dtype());
    loaded(source, gpu, chosen, None)
}

/// Kernels for CSR with or without a table, by the models; by the rules where the columns cannot be read.
fn beside_tables(source: &Source, gpu: &Gpu) -> Vec<Entrant> {
    let Some(row_ptr) = source.row_offsets(gpu) else { return Vec::new() };
    let chosen = advised(source, gpu, &row_ptr).unwrap_or_else(|| {
        let lengths = row_ptr.windows(2).map(|ends| ends[1] - ends[0]);
        let lengths = RowLengthSummary {
            min: lengths.clone().min().unwrap_or(0),
            max: lengths.clone().max().unwrap_or(0),
            squares: lengths.map(|length| length * length).sum(),
        };
        gpu.rules.choose(source.key.size(), &lengths, source.key.dtype())
    });
    loaded(source, gpu, chosen, Some(&row_ptr))
}

/// The best kernels for CSR as it lies, by the models, whose predictions are kept for the report. `None` if the columns cannot be read or
/// are none.
fn advised(source: &Source, gpu: &Gpu, row_ptr: &[u64]) -> Option<Vec<Candidate>> {
    let (size, dtype) = (source.key.size(), source.key.dtype());
    if size.nnz > MOST_READ {
        return None;
    }
    let values = vec![0.0_f32; size.nnz as usize];
    let (nrows, ncols) = (size.nrows as usize, size.ncols as usize);
    let a = Csr::try_new(nrows, ncols, row_ptr.to_vec(), source.columns(gpu)?, values).ok()?;
    let features = Features::of(&a);
    drop(a);
    let advice = Advisor::new(&gpu.profile).advise(&features, dtype, &Objective::default()).ok()?;
    let in_csr = |candidate: &Candidate| candidate.format().stays_in_csr();
    let times = advice.ranked.iter().map(|advised| (advised.candidate, advised.prediction.time.0));
    let kept = times.enumerate().filter(|(at, (candidate, _))| *at == 0 || in_csr(candidate));
    source.totals.tell(|told| told.predicted = kept.map(|(_, time)| time).collect());
    let ranked = advice.ranked.iter().map(|advised| advised.candidate);
    let ours = ranked.filter(|candidate| in_csr(candidate) && !candidate.kernel.is_vendors());
    Some(ours.take(TRIED).collect())
}

fn loaded(source: &Source, gpu: &Gpu, chosen: Vec<Candidate>, row_ptr: Option<&[u64]>) -> Vec<Entrant> {
    let (device, key) = (gpu.cuda.as_gpu(), &source.key);
    let load = |candidate: Candidate| {
        if worker::is_stopped() {
            return None;
        }
        let loaded = if key.is_double {
            device.in_place::<f64>(&candidate, key.size(), key.offset_bytes, row_ptr)
        } else {
            device.in_place::<f32>(&candidate, key.size(), key.offset_bytes, row_ptr)
        };
        Some((candidate, Arc::new(loaded.ok()?)))
    };
    chosen.into_iter().filter_map(load).collect()
}
