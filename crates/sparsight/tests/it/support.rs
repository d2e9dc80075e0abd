//! A made-up device whose times follow a formula, so that what is measured is known exactly.

use sparsight::device::timing::{Batch, Caches, Clock};
use sparsight::device::{Device, DeviceError, LoadRequest, Operand, Preparation, Product};
use sparsight::kernels::{BenchmarkMatrix, Candidate, DeviceFacts, Format, strip};
use sparsight::matrix::{Bytes, Csr, Dtype, Features, Limits, Scalar, Seconds, reference};
use std::cell::Cell;
use std::rc::Rc;

/// Launch cost, seconds a strip and non-zero of its rows, for every kernel.
pub const LAUNCH: f64 = 2e-6;
pub const PER_STRIP_AND_NON_ZERO: f64 = 3e-8;

/// A device with 4 multiprocessors of 64 warps, whose times are exactly linear.
#[derive(Clone)]
pub struct Formula {
    facts: DeviceFacts,
    /// Matrices generated so far.
    pub generated: Rc<Cell<usize>>,
    /// Batches run so far, and the time that they took.
    pub batches: Rc<Cell<usize>>,
    pub busy_s: Rc<Cell<f64>>,
    /// Every so many batches its clock is slowed down, which takes no longer here; 0: never, and no clock is known.
    pub slowed_every: usize,
}

impl Formula {
    pub fn new() -> Self {
        let facts = DeviceFacts {
            l2_bytes: Bytes(1 << 20),
            memory_bytes: Bytes(1 << 26),
            compute_capability: Some((9, 0)),
            copy_bytes_per_s: 1e12,
            launch_s: Seconds(1e-6),
            upload_bytes_per_s: Some(1e10),
            ..DeviceFacts::of_gpu("made up", 1, 256)
        };
        Self {
            facts,
            generated: Rc::default(),
            batches: Rc::default(),
            busy_s: Rc::default(),
            slowed_every: 0,
        }
    }
}

impl<T: Scalar> Device<T> for Formula {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn limits(&self) -> Limits {
        Limits::with_memory(self.facts.memory_bytes)
    }

    fn operand(&self, a: &Csr<T>, _: Format, _: Dtype) -> Result<Box<dyn Operand<T>>, DeviceError> {
        let (features, x) = (Features::of(a), vec![T::default(); a.ncols()]);
        Ok(Box::new(Made { device: self.clone(), features, a: a.clone(), x, y: Vec::new() }))
    }

    fn load(&self, _: LoadRequest<'_, T>) -> Result<Box<dyn Product<T>>, DeviceError> {
        unreachable!("nothing here prepares a product")
    }

    fn generate(&self, matrix: &BenchmarkMatrix, _: Format) -> Result<Box<dyn Operand<T>>, DeviceError> {
        self.generated.set(self.generated.get() + 1);
        let a = matrix.to_csr();
        let x = sparsight::device::random_x(a.ncols(), matrix.seed);
        Ok(Box::new(Made { device: self.clone(), features: Features::of(&a), a, x, y: Vec::new() }))
    }
}

struct Made<T> {
    device: Formula,
    features: Features,
    a: Csr<T>,
    x: Vec<T>,
    y: Vec<T>,
}

impl<T: Scalar> Operand<T> for Made<T> {
    fn preparation(&self) -> Preparation {
        Preparation { convert: Seconds(1e-4), upload: Seconds(1e-4), on_device: false }
    }

    fn set_x(&mut self, x: &[T]) -> Result<(), DeviceError> {
        self.x = x.to_vec();
        Ok(())
    }

    fn poison_y(&mut self) -> Result<(), DeviceError> {
        self.y = vec![T::from_f64(f64::NAN); self.a.nrows()];
        Ok(())
    }

    fn read_y(&mut self) -> Result<Vec<T>, DeviceError> {
        Ok(self.y.clone())
    }

    /// `LAUNCH + PER_STRIP_AND_NON_ZERO * I * p` a product, with p the longest row; COO: the same a strip.
    fn batch(&mut self, candidate: &Candidate, products: u32, _: Caches) -> Result<Batch, DeviceError> {
        if self.y.first().is_some_and(|y| y.to_f64().is_nan()) {
            self.y = reference(&self.a, &self.x).y.into_iter().map(T::from_f64).collect();
        }
        self.device.batches.update(|n| n + 1);
        let f = &self.features;
        let strips = strip(candidate.kernel, &self.device.facts).strips_of(f) as f64;
        let p = if candidate.format() == Format::known("coo") { 1.0 } else { f.row_max as f64 };
        let time = f64::from(products) * (LAUNCH + PER_STRIP_AND_NON_ZERO * strips * p);
        self.device.busy_s.update(|s| s + time);
        let every = self.device.slowed_every;
        let is_throttled = every > 0 && self.device.batches.get().is_multiple_of(every);
        let clock = Clock { sm_mhz: if is_throttled { 900 } else { 1900 }, is_throttled };
        Ok(Batch { time: Seconds(time), clock: (every > 0).then_some(clock) })
    }
}
