//! The CPU: every kernel of the catalogue on a pool of worker threads.
//!
//! Each kernel's product stands in the file of its family in `sparsight_kernels`.

mod benchmark;
mod epilogue;
mod facts;
mod identity;
mod operand;
mod partitioned;
mod rates;
mod reordered;

use crate::timing::{Batch, Caches, took, try_took};
use crate::{
    Device, DeviceError, LoadRequest, Operand, Preparation, Product, check_runs, no_mixed_precision,
};
use identity::CpuIdentity;
use operand::CpuOperand;
use partitioned::CpuPartitioned;
use rates::EvictionBuffer;
use rayon::{ThreadPool, ThreadPoolBuilder};
use reordered::CpuReordered;
use sparsight_kernels::{BenchmarkMatrix, DeviceFacts, Format};
use sparsight_matrix::{Bytes, Csr, Dtype, Limits, Scalar, Seconds, available_memory};
use std::sync::{Arc, OnceLock};

/// A matrix of so many bytes is multiplied by the calling thread alone. Measured on two threads of an EPYC that had other work, too: waking
/// the pool takes some 5 us, and gains from between 1.2 and 1.8 MB on; on a machine that has nothing else to do it gains sooner.
const ALONE: u64 = 1_000_000;

/// This machine's processor with a number of worker threads.
///
/// ```
/// use sparsight_device::timing::Caches;
/// use sparsight_device::{Device, cpu::Cpu};
/// use sparsight_matrix::{Csr, Dtype};
/// let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
/// let candidate = "csr-scalar/b64/f64".parse()?;
/// let cpu = Cpu::with_threads(2)?;
/// let mut operand = cpu.operand(&a, sparsight_kernels::Format::csr(), Dtype::F64)?;
/// operand.set_x(&[1.0, 10.0, 100.0])?;
/// operand.batch(&candidate, 1, Caches::Warm)?;
/// assert_eq!(operand.read_y()?, [201.0, 30.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cpu(Arc<Workers>);

/// State shared by a CPU and everything loaded on it.
#[derive(Debug)]
struct Workers {
    /// `None`: rayon's global pool.
    pool: Option<ThreadPool>,
    facts: DeviceFacts,
    eviction: OnceLock<EvictionBuffer>,
}

impl Cpu {
    /// The CPU with rayon's global pool: a worker a logical CPU unless `RAYON_NUM_THREADS` says otherwise.
    pub fn new() -> Self {
        Self::of(None, rayon::current_num_threads())
    }

    /// The CPU with `threads` workers of its own, 0 for as many as there are logical CPUs.
    ///
    /// # Errors
    /// [`DeviceError::Driver`] if the operating system does not give the threads.
    pub fn with_threads(threads: usize) -> Result<Self, DeviceError> {
        let failed = |error: rayon::ThreadPoolBuildError| DeviceError::Driver {
            call: format!("starting {threads} worker threads"),
            reason: error.to_string(),
        };
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(failed)?;
        let threads = pool.current_num_threads();
        Ok(Self::of(Some(pool), threads))
    }

    fn of(pool: Option<ThreadPool>, threads: usize) -> Self {
        Self(Arc::new(Workers { pool, facts: facts::read(threads), eviction: OnceLock::new() }))
    }

    /// Attributes and measured rates. As [`Device::facts`], without naming a value type.
    pub fn facts(&self) -> &DeviceFacts {
        &self.0.facts
    }

    /// Measures `copy_bytes_per_s` and `launch_s` of the facts, which are 0 until then. Takes about half a
    /// second and, for that time, eight times the last-level caches in memory.
    ///
    /// # Panics
    /// If something was loaded already, or this was cloned.
    pub fn measure_rates(&mut self) {
        let (copy_bytes_per_s, launch_s) = self.run(|| (rates::copy_bytes_per_s(), rates::launch()));
        let workers = Arc::get_mut(&mut self.0).expect("rates are measured before anything is loaded");
        workers.facts.copy_bytes_per_s = copy_bytes_per_s;
        workers.facts.launch_s = launch_s;
    }

    /// Runs a product with a matrix of so many bytes. `work` is told how many workers it may ask: all of them on one of theirs, or, of
    /// one worker and where waking others takes longer than it saves, 1 on the calling thread.
    pub(crate) fn multiply<R: Send>(&self, bytes: u64, work: impl FnOnce(usize) -> R + Send) -> R {
        match self.facts().multiprocessors as usize {
            workers if workers > 1 && bytes > ALONE => self.run(|| work(workers)),
            _ => work(1),
        }
    }

    /// Runs `work` on a worker of the pool, where starting a parallel loop is cheapest.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0.pool {
            Some(pool) => pool.install(work),
            None => rayon::scope(|_| work()),
        }
    }

    /// Time of `products` calls of `product`, which wakes workers itself, as when it is called for y. With [`Caches::Cold`] it is the
    /// sum over the calls, without what emptying the caches takes.
    ///
    /// # Errors
    /// Those of `product`, which ends with the first.
    pub(crate) fn time(
        &self,
        products: u32,
        caches: Caches,
        mut product: impl FnMut() -> Result<(), DeviceError>,
    ) -> Result<Batch, DeviceError> {
        let mut timed = |count: u32| {
            let (done, time) = took(|| (0..count).try_for_each(|_| product()));
            done.map(|()| time.0)
        };
        let cold = |_| {
            self.evict_caches();
            timed(1)
        };
        let time = match caches {
            Caches::Warm => timed(products),
            Caches::Cold => (0..products).map(cold).sum(),
        };
        Ok(Seconds(time?).into())
    }

    /// Streams through more memory than all caches hold.
    fn evict_caches(&self) {
        self.run(|| self.0.eviction.get_or_init(EvictionBuffer::new).stream());
    }
}

impl Default for Cpu {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Scalar> Device<T> for Cpu {
    fn facts(&self) -> &DeviceFacts {
        self.facts()
    }

    fn limits(&self) -> Limits {
        Limits::with_memory(available_memory().unwrap_or(Bytes(u64::MAX)))
    }

    /// CSR is copied, not converted: `preparation().convert` is 0 then.
    fn operand(&self, a: &Csr<T>, format: Format, dtype: Dtype) -> Result<Box<dyn Operand<T>>, DeviceError> {
        if dtype == Dtype::Mixed {
            return Err(no_mixed_precision(self.facts()));
        }
        let limits = Device::<T>::limits(self);
        let (matrix, convert) = self.run(|| {
            let (matrix, took) = try_took(|| format.convert(a, &limits))?;
            Ok::<_, DeviceError>((matrix, if format.is_csr() { Seconds(0.0) } else { took }))
        })?;
        let preparation = Preparation { convert, ..Preparation::default() };
        let x = vec![T::default(); a.ncols()];
        Ok(Box::new(CpuOperand::new(self, (format, matrix), a.nrows(), x, preparation)))
    }

    fn load(&self, request: LoadRequest<'_, T>) -> Result<Box<dyn Product<T>>, DeviceError> {
        check_runs::<T>(self, request.partition())?;
        if request.partition().is_some_and(|partition| partition.dtype() == Dtype::Mixed) {
            return Err(no_mixed_precision(self.facts()));
        }
        match request {
            LoadRequest::Parts { a, partition } => Ok(Box::new(CpuPartitioned::load(self, a, partition)?)),
            LoadRequest::Reordered { a, order, partition } => {
                Ok(Box::new(CpuReordered::load(self, a, order, partition)?))
            }
            LoadRequest::Identity { rows } => Ok(Box::new(CpuIdentity { cpu: self.clone(), rows })),
            LoadRequest::Resident { .. } => Err(DeviceError::NoDeviceVectors),
            LoadRequest::Own(own) => Err(own.needs_cuda(self.facts())),
        }
    }

    fn generate(&self, matrix: &BenchmarkMatrix, format: Format) -> Result<Box<dyn Operand<T>>, DeviceError> {
        let limits = Device::<T>::limits(self);
        let made = self.run(|| benchmark::generate(matrix, format, &limits))?;
        let nrows = matrix.nrows as usize;
        let x = crate::random_x(nrows, matrix.seed);
        Ok(Box::new(CpuOperand::new(self, (format, made), nrows, x, Preparation::default())))
    }
}
