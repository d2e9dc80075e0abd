//! Choice of the kernels that are tried for a pattern, and their compilation: what the worker does.

use crate::gpu::Gpu;
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

/// Copies of the arrays of a pattern.
#[derive(Debug)]
pub(crate) struct Arrays {
    /// From 0 on.
    row_ptr: Vec<u64>,
    /// From 0 on; `None` if there are too many.
    columns: Option<Vec<u32>>,
}

impl Arrays {
    /// Reads them. `None` if they cannot be read, or the row offsets are none.
    pub(crate) fn read(source: &Source, gpu: &Gpu) -> Option<Self> {
        let row_ptr = source.row_offsets(gpu)?;
        let columns = (source.key.nnz <= MOST_READ).then(|| source.columns(gpu));
        Some(Self { row_ptr, columns: columns.flatten() })
    }
}

/// The kernels to be tried, loaded; those that cannot be loaded are left out. `lengths`: of the rows, where they were counted; `arrays`:
/// where they were read.
pub(crate) fn entrants(
    source: &Source,
    gpu: &Gpu,
    lengths: Option<&RowLengthSummary>,
    arrays: Option<Arrays>,
) -> Vec<Entrant> {
    match (lengths, arrays) {
        (Some(lengths), arrays) => in_place(source, gpu, lengths, arrays),
        (None, Some(arrays)) => beside_tables(source, gpu, arrays),
        (None, None) => Vec::new(),
    }
}

/// Kernels that need nothing but CSR, by the rules.
fn in_place(source: &Source, gpu: &Gpu, lengths: &RowLengthSummary, arrays: Option<Arrays>) -> Vec<Entrant> {
    if let Some(Arrays { row_ptr, columns }) = arrays {
        let _ = advised(source, gpu, &row_ptr, columns);
    }
    let chosen = gpu.rules.choose(source.key.size(), lengths, source.key.dtype());
    loaded(source, gpu, chosen, None)
}

/// Kernels for CSR with or without a table, by the models; by the rules where the columns are not known.
fn beside_tables(source: &Source, gpu: &Gpu, Arrays { row_ptr, columns }: Arrays) -> Vec<Entrant> {
    let chosen = advised(source, gpu, &row_ptr, columns).unwrap_or_else(|| {
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

/// The best kernels for CSR as it lies, by the models, whose predictions are kept for the report. `None` if the columns are not known or
/// are none.
fn advised(source: &Source, gpu: &Gpu, row_ptr: &[u64], columns: Option<Vec<u32>>) -> Option<Vec<Candidate>> {
    let (size, dtype) = (source.key.size(), source.key.dtype());
    let values = vec![0.0_f32; size.nnz as usize];
    let (nrows, ncols) = (size.nrows as usize, size.ncols as usize);
    let a = Csr::try_new(nrows, ncols, row_ptr.to_vec(), columns?, values).ok()?;
    let features = Features::of(&a);
    drop(a);
    if worker::is_stopped() {
        return None;
    }
    let advice = Advisor::new(&gpu.profile).advise(&features, dtype, &Objective::default()).ok()?;
    let in_csr = |candidate: &Candidate| candidate.format().stays_in_csr();
    let times = advice.ranked.iter().map(|advised| (advised.candidate, advised.prediction.time.0));
    let kept = times.enumerate().filter(|(at, (candidate, _))| *at == 0 || in_csr(candidate));
    source.totals.record(|record| record.predicted = kept.map(|(_, time)| time).collect());
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
