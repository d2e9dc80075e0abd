//! Products on several GPUs, and exchanges between them, measured.

use super::Distributed;
use crate::Error;
use crate::bench::RightAnswer;
use crate::profile::{LINKS_SCHEMA, LinksFile, MeasuredExchange, Provenance};
use rayon::prelude::*;
use sparsight_device::gpu::{DistributedProduct, GpuDevice, GpuShare, Link, PlanDigest, SharePlan};
use sparsight_device::timing::{Batch, StoppingRule, Timing, measure};
use sparsight_device::{DeviceError, Partition, random_x_for};
use sparsight_kernels::Candidate;
use sparsight_matrix::{Csr, Distribution, Scalar, Seconds, Share, mix};
use sparsight_model::{LinkRate, Links};
use std::sync::Arc;

/// Bytes of the exchanges that are measured. Chosen: from less than what one call costs to far beyond the caches.
const SIZES: [u64; 8] = [64, 4 << 10, 64 << 10, 512 << 10, 2 << 20, 8 << 20, 32 << 20, 128 << 20];

impl<T: Scalar> Distributed<T> {
    /// Brings each share of a matrix of `size` to a GPU of this process, in the order of `devices`; `links` are their ends. A plan has
    /// as many shares.
    ///
    /// # Errors
    /// [`Error::Device`]: as [`DistributedProduct::load`]; [`DeviceError::Link`] also for GPUs that are not alike.
    pub fn prepare(
        &self,
        size: (usize, usize),
        devices: &[GpuDevice],
        links: Vec<Arc<dyn Link>>,
    ) -> Result<DistributedProduct<T>, Error> {
        alike(devices.iter().map(|device| device.facts().name.as_str()))?;
        let plans = self.plan.share_plans(T::DTYPE);
        Ok(DistributedProduct::load(size, devices, &self.shares, &plans, links)?)
    }

    /// Digest of the plan that all ranks must share if they are processes of their own, on GPUs called `gpu`: a few words and hashes,
    /// which are compared where the ranks meet ([`Ranks::identity`](sparsight_device::cuda::Ranks::identity)). O(nnz), in parallel.
    pub fn digest(&self, gpu: &str) -> PlanDigest {
        let sum = |of: fn(&Share<T>) -> usize| self.shares.iter().map(of).sum::<usize>();
        let (rows, columns) = (sum(|share| share.rows().len()), sum(|share| share.columns().len()));
        let nnz = sum(|share| share.interior().nnz() + share.boundary().nnz());
        let hashed = |hash: fn(&Share<T>) -> u64| {
            let all: Vec<u64> = self.shares.par_iter().map(hash).collect();
            format!("{:016x}", hash_of(all))
        };
        let plans = self.plan.share_plans(T::DTYPE);
        PlanDigest::default()
            .with("the version of sparsight", env!("CARGO_PKG_VERSION"))
            .with("the kind of GPU", gpu)
            .with("the value type", T::DTYPE)
            .with("the matrix", format_args!("{rows} x {columns} with {nnz} non-zeros"))
            .with("the number of parts", self.shares.len())
            .with("the hash of which rows are whose", hashed(hash_of_rows))
            .with("the hash of the matrix' places and values", hashed(hash_of_entries))
            .with("the hash of what computes them", {
                let text = format!("{plans:?}");
                format!("{:016x}", hash_of(text.bytes().map(u64::from)))
            })
    }

    /// The share of one rank alone, where each has a process of its own: all of them have planned the same, as they have told each other
    /// by [`Distributed::digest`], and have been linked.
    ///
    /// # Errors
    /// [`Error::Device`]: as [`GpuShare::load`].
    ///
    /// # Panics
    /// If the plan has no such rank.
    pub fn prepare_rank(&self, device: &GpuDevice, link: Arc<dyn Link>) -> Result<GpuShare<T>, Error> {
        let rank = link.rank();
        let plan = self.plan.share_plans(T::DTYPE).swap_remove(rank);
        Ok(GpuShare::load(device, &self.shares[rank], &plan, link)?)
    }
}

/// GPUs of one kind, by their names.
fn alike<'a>(mut names: impl Iterator<Item = &'a str>) -> Result<(), DeviceError> {
    let Some(one) = names.next() else { return Ok(()) };
    let Some(other) = names.find(|other| *other != one) else { return Ok(()) };
    let reason = format!("one is {one}, another {other}: the plan is for GPUs of one kind");
    Err(DeviceError::Link { reason })
}

/// Hash of a sequence of numbers, which depends on their order.
fn hash_of(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(1, |hash, number| mix(hash ^ number))
}

/// Hash of the owners of rows and columns in a share.
fn hash_of_rows<T: Scalar>(share: &Share<T>) -> u64 {
    let of = |numbers: &[u32]| hash_of(numbers.iter().copied().map(u64::from));
    hash_of([of(share.rows()), of(share.columns()), of(share.halo())])
}

/// Hash of the entries of a share.
fn hash_of_entries<T: Scalar>(share: &Share<T>) -> u64 {
    let of = |a: &Csr<T>| {
        let places = hash_of(a.col_idx().iter().copied().map(u64::from));
        let values = hash_of(a.values().iter().map(|value| value.to_f64().to_bits()));
        hash_of([hash_of(a.row_ptr().iter().copied()), places, values])
    };
    hash_of([of(share.interior()), of(share.boundary())])
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
    let x = random_x_for(a, seed)?;
    let right = RightAnswer::new(a, &x);
    let mut y = vec![T::from_f64(f64::NAN); a.nrows()];
    product.multiply(1.0, &x, 0.0, &mut y)?;
    if let Some((row, got, expected, bound)) = right.of(T::DTYPE).first_wrong(&y) {
        let candidate = format!("the product on {} GPUs", product.len());
        return Err(DeviceError::WrongResult { candidate, row, got, expected, bound }.into());
    }
    timing(product, rule)
}

/// Times of the slowest rank; all ranks work side by side.
fn slowest(times: Vec<Seconds>) -> Batch {
    let time = times.into_iter().fold(0.0, |most, Seconds(time)| time.max(most));
    Batch { time: Seconds(time), clock: None }
}

/// Measures what exchanges between these GPUs take, all of one host: some seconds. `link` links the first of them, so many;
/// `library` says what does that. `each` is told every measurement and may stop by an error.
///
/// # Errors
/// [`Error::Device`]: [`DeviceError::Link`]; what `link` and `each` returned.
pub fn measure_links(
    devices: &[GpuDevice],
    library: &str,
    mut link: impl FnMut(usize) -> Result<Vec<Arc<dyn Link>>, DeviceError>,
    rule: &StoppingRule,
    mut each: impl FnMut(&MeasuredExchange) -> Result<(), DeviceError>,
) -> Result<LinksFile, Error> {
    let mut measured = Vec::new();
    let mut counts = vec![2];
    if devices.len() > 2 {
        counts.push(devices.len());
    }
    for count in counts.iter().copied().filter(|&count| count <= devices.len()) {
        let some = &devices[..count];
        let links = link(count)?;
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
    if let Some(all) = LinkRate::fit(&of(devices.len())).filter(|_| devices.len() > 2) {
        let more = (all.latency_s.0 - host.latency_s.0).max(0.0);
        host.per_peer_s = Seconds(more / (devices.len() - 2) as f64);
        host.bytes_per_s = host.bytes_per_s.min(all.bytes_per_s);
    }
    let pair = link(2)?;
    let queue_s = chain(devices, &pair, FEW, true, rule)?;
    // With a boundary row each, which takes a launch, and an exchange that has ended long before.
    let with = chain(devices, &pair, MANY, true, rule)?;
    let without = chain(devices, &pair, MANY, false, rule)?;
    let launch = chain(devices, &pair, FEW, false, rule)?;
    let join_s = Seconds((with.0 - without.0 - launch.0).max(0.0));
    let driver = devices.first().map_or("", |device| device.facts().driver.as_str());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    Ok(LinksFile {
        schema: LINKS_SCHEMA.to_owned(),
        links: Links { gpus_per_host: devices.len(), host, network: None, join_s, queue_s },
        gpus: devices.iter().map(|device| device.facts().name.clone()).collect(),
        nccl: library.to_owned(),
        measured,
        provenance: Provenance::now(driver, threads),
    })
}

/// Rows of each part of a chain: a product takes next to nothing, or far longer than an exchange. Chosen.
const FEW: usize = 1 << 10;
const MANY: usize = 1 << 22;

/// A product of a tridiagonal matrix on two GPUs, of which the parts read an entry of each other, or do not.
fn chain(
    devices: &[GpuDevice],
    links: &[Arc<dyn Link>],
    rows: usize,
    are_joined: bool,
    rule: &StoppingRule,
) -> Result<Seconds, Error> {
    let n = 2 * rows;
    let (mut row_ptr, mut col_idx) = (vec![0], Vec::new());
    for row in 0..n {
        let is_read = |col: usize| are_joined || col / rows == row / rows;
        let cols = (row.saturating_sub(1)..(row + 2).min(n)).filter(|&col| is_read(col));
        col_idx.extend(cols.map(|col| col as u32));
        row_ptr.push(col_idx.len() as u64);
    }
    let mut product = prepared(devices, links, rows, (row_ptr, col_idx))?;
    Ok(timing(&mut product, rule)?.time)
}

/// Timing of products back to back, of the slowest rank.
fn timing<T: Scalar>(product: &mut DistributedProduct<T>, rule: &StoppingRule) -> Result<Timing, Error> {
    Ok(measure(|products| product.each(|share, x, y| share.time(products, x, y)).map(slowest), rule)?)
}

/// Each GPU gives every other one the same number of bytes, so many in all.
fn exchange(
    devices: &[GpuDevice],
    links: &[Arc<dyn Link>],
    bytes: u64,
    rule: &StoppingRule,
) -> Result<Seconds, Error> {
    let parts = devices.len();
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
    let mut product = prepared(devices, links, entries, (row_ptr, col_idx))?;
    let batch = |exchanges| product.each(|share, x, _| share.time_exchange(exchanges, x)).map(slowest);
    Ok(measure(batch, rule)?.time)
}

/// A square matrix of this pattern on the first of `devices`, as many as there are links: so many rows each, a thread a row.
fn prepared(
    devices: &[GpuDevice],
    links: &[Arc<dyn Link>],
    rows: usize,
    (row_ptr, col_idx): (Vec<u64>, Vec<u32>),
) -> Result<DistributedProduct<f64>, Error> {
    let (parts, n) = (links.len(), links.len() * rows);
    let values = vec![1.0; col_idx.len()];
    let a = Csr::try_new(n, n, row_ptr, col_idx, values).expect("columns of a row increase");
    let cuts = (0..=parts).map(|part| part * rows).collect();
    let shares = Distribution::in_order((n, n), cuts)?.shares(&a)?;
    let candidate: Candidate = "csr-scalar/b256/f64".parse().expect("a candidate");
    let plan = |share: &Share<f64>| SharePlan {
        interior: Partition::whole(share.interior().nrows(), candidate),
        boundary: Partition::whole(share.boundary().nrows(), candidate),
    };
    let plans: Vec<SharePlan> = shares.iter().map(plan).collect();
    Ok(DistributedProduct::load((n, n), &devices[..parts], &shares, &plans, links.to_vec())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::Deal;
    use crate::{Advisor, Objective, Profile};
    use sparsight_matrix::gallery::Recipe;

    #[test]
    fn gpus_of_two_kinds_are_refused_by_name() {
        assert_eq!(alike(["NVIDIA H200"; 4].into_iter()), Ok(()));
        let two = alike(["NVIDIA H200", "NVIDIA H200", "NVIDIA H100"].into_iter()).unwrap_err().to_string();
        assert!(two.contains("one is NVIDIA H200, another NVIDIA H100"), "{two}");
    }

    #[test]
    fn ranks_that_planned_otherwise_are_told_what_differs() {
        let profile = Profile::shipped_for_gpu("NVIDIA H200").unwrap().unwrap();
        let rate = LinkRate { latency_s: Seconds(1e-5), per_peer_s: Seconds(0.0), bytes_per_s: 1e11 };
        let links = Links {
            gpus_per_host: 2,
            host: rate,
            network: None,
            join_s: Seconds(0.0),
            queue_s: Seconds(0.0),
        };
        let digest = |recipe: &str, value: f64, parts: &[u32], gpu: &str| {
            let a: Csr<f64> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
            let mut values = a.values().to_vec();
            values[0] = value;
            let a = a.with_values(values).unwrap();
            let (n, count) = (a.nrows(), *parts.iter().max().unwrap() as usize + 1);
            let parts = (0..n).map(|row| parts[row * parts.len() / n]).collect();
            let deal = Deal::Given(Distribution::of_parts((n, n), count, parts).unwrap());
            let advisor = Advisor::new(&profile);
            advisor.distribute(&a, count, &deal, &links, &Objective::default()).unwrap().digest(gpu)
        };
        let first = digest("stencil2d,n=20", 1.0, &[0, 1], "NVIDIA H200");
        assert_eq!(first.differs(&digest("stencil2d,n=20", 1.0, &[0, 1], "NVIDIA H200")), None);
        for (other, what) in [
            (digest("stencil2d,n=20", 1.0, &[0, 1], "NVIDIA H100"), "the kind of GPU is NVIDIA H100"),
            (digest("stencil2d,n=21", 1.0, &[0, 1], "NVIDIA H200"), "the matrix is 441 x 441"),
            (digest("stencil2d,n=20", 1.5, &[0, 1], "NVIDIA H200"), "the hash of the matrix' places and"),
            (digest("stencil2d,n=20", 1.0, &[0, 1, 2], "NVIDIA H200"), "the number of parts is 3"),
            (digest("stencil2d,n=20", 1.0, &[1, 0], "NVIDIA H200"), "the hash of which rows are whose"),
        ] {
            let differs = first.differs(&other).unwrap();
            assert!(differs.starts_with(what), "{differs}");
        }
    }
}
