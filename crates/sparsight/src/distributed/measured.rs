//! Products on several GPUs, and exchanges between them, measured.

use super::{Distributed, LINKS_SCHEMA, LinksFile, MeasuredExchange};
use crate::Error;
use crate::profile::Provenance;
use crate::right_answer::RightAnswer;
use sparsight_device::cuda::{Cuda, Nccl};
use sparsight_device::gpu::{DistributedProduct, GpuDevice, GpuShare, Link, SharePlan};
use sparsight_device::timing::{Batch, StoppingRule, Timing, measure};
use sparsight_device::{DeviceError, Partition, random_x};
use sparsight_kernels::Candidate;
use sparsight_matrix::{Csr, Distribution, Scalar, Seconds};
use sparsight_model::{LinkRate, Links};
use std::sync::Arc;

/// Bytes of the exchanges that are measured. Chosen: from less than what one call costs to far beyond the caches.
const SIZES: [u64; 8] = [64, 4 << 10, 64 << 10, 512 << 10, 2 << 20, 8 << 20, 32 << 20, 128 << 20];

impl<T: Scalar> Distributed<T> {
    /// Brings each share to a GPU of this process, in the order of `gpus`; a plan has as many shares.
    ///
    /// # Errors
    /// [`Error::Device`]: as [`DistributedProduct::load`] and [`Nccl::link`]; [`DeviceError::Link`] also for GPUs that are not alike.
    pub fn prepare(&self, size: (usize, usize), gpus: &[Cuda]) -> Result<DistributedProduct<T>, Error> {
        let name = |gpu: &Cuda| gpu.facts().name.clone();
        if let Some(other) = gpus.iter().find(|gpu| name(gpu) != name(&gpus[0])) {
            let reason = format!(
                "one is {}, another {}: the plan is for GPUs of one kind",
                name(&gpus[0]),
                name(other)
            );
            return Err(DeviceError::Link { reason }.into());
        }
        self.prepare_linked(size, gpus, Nccl::link(gpus)?)
    }

    /// The share of one rank alone, where each has a process of its own: all of them have planned the same, and joined
    /// ([`Nccl::join`]).
    ///
    /// # Errors
    /// [`Error::Device`]: as [`GpuShare::load`].
    ///
    /// # Panics
    /// If the plan has no such rank.
    pub fn prepare_rank(&self, gpu: &Cuda, link: Arc<dyn Link>) -> Result<GpuShare<T>, Error> {
        let rank = link.rank();
        let plan = self.plan.share_plans(T::DTYPE).swap_remove(rank);
        Ok(GpuShare::load(gpu.as_gpu(), &self.shares[rank], &plan, link)?)
    }

    /// The same with links that are there already.
    ///
    /// # Errors
    /// As [`Distributed::prepare`].
    pub fn prepare_linked(
        &self,
        size: (usize, usize),
        gpus: &[Cuda],
        links: Vec<Arc<dyn Link>>,
    ) -> Result<DistributedProduct<T>, Error> {
        let devices: Vec<GpuDevice> = gpus.iter().map(|gpu| gpu.as_gpu().clone()).collect();
        let plans = self.plan.share_plans(T::DTYPE);
        Ok(DistributedProduct::load(size, &devices, &self.shares, &plans, links)?)
    }
}

/// Holds a product on several GPUs to the right answer, then measures it: on the clock of the host, products back to back.
///
/// # Errors
/// [`Error::Device`]: [`DeviceError::WrongResult`] with the first wrong row, or what a rank fails with.
pub fn measure_distributed<T: Scalar>(
    product: &mut DistributedProduct<T>,
    a: &Csr<T>,
    seed: u64,
    rule: &StoppingRule,
) -> Result<Timing, Error> {
    let x = random_x::<T>(a.ncols(), seed);
    let right = RightAnswer::new(a, &x);
    let mut y = vec![T::from_f64(f64::NAN); a.nrows()];
    product.multiply(1.0, &x, 0.0, &mut y)?;
    if let Some((row, got, expected, bound)) = right.of(T::DTYPE).first_wrong(&y) {
        let candidate = format!("the product on {} GPUs", product.len());
        return Err(DeviceError::WrongResult { candidate, row, got, expected, bound }.into());
    }
    Ok(measure(|products| slowest(product.each(|share, x, y| share.time(products, x, y))?), rule)?)
}

/// Of the ranks, which work side by side.
fn slowest(times: Vec<Seconds>) -> Result<Batch, DeviceError> {
    let time = times.into_iter().fold(0.0, |most, Seconds(time)| time.max(most));
    Ok(Batch { time: Seconds(time), clock: None })
}

/// Measures what exchanges between these GPUs take, all of one host: some seconds. `each` is told every measurement and may stop by
/// an error.
///
/// # Errors
/// [`Error::Device`]: [`DeviceError::NoNccl`], [`DeviceError::Link`]; what `each` returned.
pub fn measure_links(
    gpus: &[Cuda],
    rule: &StoppingRule,
    mut each: impl FnMut(&MeasuredExchange) -> Result<(), DeviceError>,
) -> Result<LinksFile, Error> {
    let mut measured = Vec::new();
    let mut counts = vec![2];
    if gpus.len() > 2 {
        counts.push(gpus.len());
    }
    for count in counts.iter().copied().filter(|&count| count <= gpus.len()) {
        let some = &gpus[..count];
        let links = Nccl::link(some)?;
        // The first exchange makes connections.
        exchange(some, &links, SIZES[0], rule)?;
        for bytes in SIZES {
            let time_s = exchange(some, &links, bytes, rule)?;
            let one = MeasuredExchange { gpus: count, bytes, time_s };
            each(&one)?;
            measured.push(one);
        }
    }
    let of = |count: usize| -> Vec<(u64, Seconds)> {
        measured.iter().filter(|one| one.gpus == count).map(|one| (one.bytes, one.time_s)).collect()
    };
    let no_line = || DeviceError::Link { reason: "exchanges take no longer with more bytes".to_owned() };
    let mut host = LinkRate::fit(&of(2)).ok_or_else(no_line)?;
    if let Some(all) = LinkRate::fit(&of(gpus.len())).filter(|_| gpus.len() > 2) {
        let more = (all.latency_s.0 - host.latency_s.0).max(0.0);
        host.per_peer_s = Seconds(more / (gpus.len() - 2) as f64);
        host.bytes_per_s = host.bytes_per_s.min(all.bytes_per_s);
    }
    let (major, minor, patch) = Nccl::version()?;
    let driver = gpus.first().map_or("", |gpu| gpu.facts().driver.as_str());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    Ok(LinksFile {
        schema: LINKS_SCHEMA.to_owned(),
        links: Links { gpus_per_host: gpus.len(), host, network: None },
        gpus: gpus.iter().map(|gpu| gpu.facts().name.clone()).collect(),
        nccl: format!("{major}.{minor}.{patch}"),
        measured,
        provenance: Provenance::now(driver, threads),
    })
}

/// Each GPU gives every other one the same number of bytes, so many in all.
fn exchange(
    gpus: &[Cuda],
    links: &[Arc<dyn Link>],
    bytes: u64,
    rule: &StoppingRule,
) -> Result<Seconds, Error> {
    let parts = gpus.len();
    let entries = (bytes / 8).div_ceil(parts as u64 - 1).max(1) as usize;
    // Row i of each part reads entry i of each other part.
    let n = parts * entries;
    let mut row_ptr = Vec::with_capacity(n + 1);
    let mut col_idx = Vec::with_capacity(n * (parts - 1));
    row_ptr.push(0);
    for row in 0..n {
        let others = (0..parts).filter(|part| *part != row / entries);
        col_idx.extend(others.map(|part| (part * entries + row % entries) as u32));
        row_ptr.push(col_idx.len() as u64);
    }
    let values = vec![1.0_f64; col_idx.len()];
    let a = Csr::try_new(n, n, row_ptr, col_idx, values).expect("each row names an entry of each other part");
    let cuts = (0..=parts).map(|part| part * entries).collect();
    let shares = Distribution::in_order((n, n), cuts)?.shares(&a)?;
    let candidate: Candidate = "csr-scalar/b256/f64".parse().expect("a candidate");
    let plan = SharePlan {
        interior: Partition::whole(0, candidate),
        boundary: Partition::whole(entries, candidate),
    };
    let devices: Vec<GpuDevice> = gpus.iter().map(|gpu| gpu.as_gpu().clone()).collect();
    let mut product =
        DistributedProduct::load((n, n), &devices, &shares, &vec![plan; parts], links.to_vec())?;
    let batch = |exchanges| slowest(product.each(|share, x, _| share.time_exchange(exchanges, x))?);
    Ok(measure(batch, rule)?.time)
}
