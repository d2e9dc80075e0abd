//! A matrix on several GPUs of one process: a thread a GPU.

use super::link::Link;
use super::share::{GpuShare, SharePlan};
use super::{DeviceArray, GpuDevice};
use crate::lengths::check_lengths;
use crate::{DeviceError, Preparation};
use sparsight_matrix::{Scalar, Share};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;

/// All shares of a matrix, each on a GPU of this process.
///
/// ```text
/// multiply     vectors on the host, in the matrix' own order: dealt out, multiplied, gathered
/// each         a function on all ranks at one time, each in a thread of its own, with vectors that stay on the GPUs
/// ```
#[derive(Debug)]
pub struct DistributedProduct<T: Scalar> {
    ranks: Vec<RankState<T>>,
    size: (usize, usize),
}

/// State of a rank: its share, room for vectors, and its own rows and entries of x.
#[derive(Debug)]
struct RankState<T: Scalar> {
    share: GpuShare<T>,
    x: DeviceArray<T>,
    y: DeviceArray<T>,
    rows: Vec<u32>,
    columns: Vec<u32>,
    /// Part of a vector on the host.
    buffer: Vec<T>,
}

impl<T: Scalar> RankState<T> {
    fn load(
        device: &GpuDevice,
        share: &Share<T>,
        plan: &SharePlan,
        link: Arc<dyn Link>,
    ) -> Result<Self, DeviceError> {
        let on_gpu = GpuShare::load(device, share, plan, link)?;
        let (x, y) = (on_gpu.zeroed(on_gpu.width())?, on_gpu.zeroed(on_gpu.rows())?);
        let (rows, columns) = (share.rows().to_vec(), share.columns().to_vec());
        Ok(Self { share: on_gpu, x, y, rows, columns, buffer: Vec::new() })
    }

    /// Copies its entries of x, and those of y if they count.
    fn take(&mut self, x: &[T], y: Option<&[T]>) -> Result<(), DeviceError> {
        let Self { columns, buffer, share, rows, .. } = self;
        buffer.clear();
        buffer.extend(columns.iter().map(|&col| x[col as usize]));
        // Room for the others' stays what it is.
        buffer.resize(share.width(), T::default());
        self.x.write(buffer)?;
        if let Some(y) = y {
            buffer.clear();
            buffer.extend(rows.iter().map(|&row| y[row as usize]));
            self.y.write(buffer)?;
        }
        Ok(())
    }
}

impl<T: Scalar> DistributedProduct<T> {
    /// Brings share `i` to `devices[i]` as `plans[i]` says; `links[i]` is its end. The shares are those of a matrix of `size`.
    ///
    /// # Errors
    /// As [`GpuShare::load`]; [`DeviceError::Link`] if there is not a device, a plan and a link for each share.
    pub fn load(
        size: (usize, usize),
        devices: &[GpuDevice],
        shares: &[Share<T>],
        plans: &[SharePlan],
        links: Vec<Arc<dyn Link>>,
    ) -> Result<Self, DeviceError> {
        let parts = shares.len();
        if [devices.len(), plans.len(), links.len()] != [parts; 3] || parts == 0 {
            let reason = format!("{parts} shares for {} devices", devices.len());
            return Err(DeviceError::Link { reason });
        }
        let all: Vec<_> = devices.iter().zip(shares).zip(plans).zip(links).collect();
        // Side by side: conversions on several GPUs do not wait for each other.
        let ranks = thread::scope(|scope| {
            let begin = |(((device, share), plan), link)| {
                scope.spawn(move || RankState::load(device, share, plan, link))
            };
            let threads: Vec<_> = all.into_iter().map(begin).collect();
            threads.into_iter().map(joined).collect::<Result<Vec<_>, DeviceError>>()
        })?;
        Ok(Self { ranks, size })
    }

    /// Ranks.
    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    /// Never: there is a rank at least.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// Rows of each rank in the order of its y, and the entries of x that it owns.
    pub fn owned(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        self.ranks.iter().map(|rank| (rank.rows.as_slice(), rank.columns.as_slice()))
    }

    /// The share of each rank, for calls without communication.
    pub fn shares(&self) -> impl Iterator<Item = &GpuShare<T>> {
        self.ranks.iter().map(|rank| &rank.share)
    }

    /// Time of conversion and upload on each rank.
    pub fn preparation(&self) -> Vec<Preparation> {
        self.ranks.iter().map(|rank| rank.share.preparation()).collect()
    }

    /// Bytes of the matrix on each GPU, x and y not counted.
    pub fn memory_bytes(&self) -> Vec<u64> {
        self.ranks.iter().map(|rank| rank.share.memory_bytes()).collect()
    }

    /// y = alpha A x + beta y, vectors on the host in the order of the matrix; with `beta = 0`, y may hold anything.
    ///
    /// # Errors
    /// [`DeviceError::Length`], or what a rank fails with.
    pub fn multiply(&mut self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) -> Result<(), DeviceError> {
        check_lengths(self.size, x.len(), y.len())?;
        let old = (beta != 0.0).then_some(&*y);
        self.on_each(|rank| {
            rank.take(x, old)?;
            rank.share.multiply(alpha, &mut rank.x, beta, &mut rank.y)?;
            rank.share.wait()?;
            rank.y.read_into(&mut rank.buffer)
        })?;
        for rank in &self.ranks {
            rank.rows.iter().zip(&rank.buffer).for_each(|(&row, &value)| y[row as usize] = value);
        }
        Ok(())
    }

    /// Calls `work` for all ranks at one time, each with its share and with room for an x and a y. If one fails, the others are
    /// told; the first error in the order of the ranks that is not about that is returned.
    ///
    /// # Errors
    /// What `work` returned, [`DeviceError::Link`].
    pub fn each<R: Send>(
        &mut self,
        work: impl Fn(&mut GpuShare<T>, &mut DeviceArray<T>, &mut DeviceArray<T>) -> Result<R, DeviceError> + Sync,
    ) -> Result<Vec<R>, DeviceError> {
        self.on_each(|rank| work(&mut rank.share, &mut rank.x, &mut rank.y))
    }

    fn on_each<R: Send>(
        &mut self,
        work: impl Fn(&mut RankState<T>) -> Result<R, DeviceError> + Sync,
    ) -> Result<Vec<R>, DeviceError> {
        let work = &work;
        let one = move |rank: &mut RankState<T>| {
            // Also where `work` panics: the others would wait.
            let done = catch_unwind(AssertUnwindSafe(|| work(rank)));
            if !matches!(done, Ok(Ok(_))) {
                rank.share.link().abort();
            }
            done.unwrap_or_else(|panic| resume_unwind(panic))
        };
        let done: Vec<Result<R, DeviceError>> = match self.ranks.as_mut_slice() {
            [alone] => vec![one(alone)],
            ranks => thread::scope(|scope| {
                let threads: Vec<_> = ranks.iter_mut().map(|rank| scope.spawn(move || one(rank))).collect();
                threads.into_iter().map(joined).collect()
            }),
        };
        let is_cause = |done: &Result<R, DeviceError>| matches!(done, Err(error) if !matches!(error, DeviceError::Link { .. }));
        if let Some(cause) = done.iter().position(is_cause) {
            return done.into_iter().nth(cause).map_or(Ok(Vec::new()), |done| done.map(|done| vec![done]));
        }
        done.into_iter().collect()
    }
}

/// The result of a thread; a panic is resumed.
fn joined<R>(thread: thread::ScopedJoinHandle<'_, R>) -> R {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
