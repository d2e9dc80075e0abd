//! A matrix with its x and y in main memory, and the timing of products with it.

use super::Cpu;
use crate::timing::{Batch, Caches};
use crate::{Device, DeviceError, Operand, Preparation};
use sparsight_kernels::{Candidate, CpuScratch, Format};
use sparsight_matrix::{Scalar, Stored};

/// [`Operand`] of [`Cpu`].
///
/// # Invariants
/// `x` has `ncols` entries and `y` has `nrows`: by construction and in [`CpuOperand::set_x`].
pub(super) struct CpuOperand<T: Scalar> {
    cpu: Cpu,
    format: Format,
    matrix: Box<dyn Stored<T>>,
    x: Vec<T>,
    y: Vec<T>,
    scratch: CpuScratch<T>,
    preparation: Preparation,
}

impl<T: Scalar> CpuOperand<T> {
    pub(super) fn new(
        cpu: &Cpu,
        (format, matrix): (Format, Box<dyn Stored<T>>),
        nrows: usize,
        x: Vec<T>,
        preparation: Preparation,
    ) -> Self {
        let scratch = CpuScratch::of(matrix.as_ref());
        Self { cpu: cpu.clone(), format, matrix, x, y: vec![T::default(); nrows], scratch, preparation }
    }
}

impl<T: Scalar> Operand<T> for CpuOperand<T> {
    fn preparation(&self) -> Preparation {
        self.preparation
    }

    fn set_x(&mut self, x: &[T]) -> Result<(), DeviceError> {
        assert_eq!(x.len(), self.x.len(), "x must have one entry a column");
        self.x.copy_from_slice(x);
        Ok(())
    }

    fn poison_y(&mut self) -> Result<(), DeviceError> {
        self.y.fill(T::from_f64(f64::NAN));
        self.scratch.poison();
        Ok(())
    }

    fn read_y(&mut self) -> Result<Vec<T>, DeviceError> {
        Ok(self.y.clone())
    }

    fn look_at_y(&mut self, look: &mut dyn FnMut(&[T])) -> Result<(), DeviceError> {
        look(&self.y);
        Ok(())
    }

    fn batch(&mut self, candidate: &Candidate, products: u32, caches: Caches) -> Result<Batch, DeviceError> {
        let Candidate { kernel, block, dtype } = *candidate;
        assert_eq!(dtype, T::DTYPE, "{candidate} has another value type than this operand");
        let Self { cpu, format, matrix, x, y, scratch, .. } = self;
        Device::<T>::runs(cpu, kernel)?;
        assert_eq!(kernel.format(), *format, "{candidate} does not read the format of this operand");
        let bytes = matrix.bytes();
        cpu.time(products, caches, || {
            cpu.multiply(bytes, |workers| {
                kernel.multiply_on_cpu(matrix.as_ref(), block, (x, y), scratch, workers);
            });
            Ok(())
        })
    }
}
