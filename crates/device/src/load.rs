//! Requests to prepare a matrix on a device.

use crate::{DeviceCsr, DeviceError, Partition};
use sparsight_kernels::{DeviceFacts, OwnKernel};
use sparsight_matrix::{Csr, Permutation};

/// A matrix to be prepared on a device, and what multiplies with it there: see [`Device::load`](crate::Device::load).
#[derive(Debug, Clone, Copy)]
pub enum LoadRequest<'a, T> {
    /// A matrix of the host, cut into row blocks with a format and a kernel each.
    Parts {
        /// The matrix.
        a: &'a Csr<T>,
        /// Row blocks.
        partition: &'a Partition,
    },
    /// Row blocks of a matrix in another order: `partition` is one of the reordered matrix, while vectors, and values that
    /// replace others, keep their order. Moving x there and y back costs two passes over vectors in every product.
    Reordered {
        /// The matrix in its own order.
        a: &'a Csr<T>,
        /// The other order.
        order: &'a Permutation,
        /// Row blocks of the reordered matrix.
        partition: &'a Partition,
    },
    /// A matrix that lies on the device already. Its columns are checked; it may be freed when [`Device::load`](crate::Device::load)
    /// returns.
    Resident {
        /// The matrix.
        a: DeviceCsr<'a, T>,
        /// Row blocks.
        partition: &'a Partition,
    },
    /// The identity matrix, which takes no memory: with an [epilogue](crate::Product::load_epilogue) its product is what a solver does
    /// with vectors between two others, in one launch.
    Identity {
        /// Rows and columns.
        rows: usize,
    },
    /// All rows of a matrix of the host by kernels of the user's own.
    Own(OwnRequest<'a, T>),
}

/// Kernels of the user's own, and the matrix and block size to prepare them for. Products are y = A x; other factors are refused unless
/// [`OwnKernel::scales`].
#[derive(Debug, Clone, Copy)]
pub struct OwnRequest<'a, T> {
    pub(crate) a: &'a Csr<T>,
    pub(crate) kernel: &'a OwnKernel,
    pub(crate) block: u32,
}

impl<'a, T> OwnRequest<'a, T> {
    /// A request to compile `kernel` for blocks of `block` threads and to bring `a` to the device in the format that it reads.
    ///
    /// # Safety
    /// The kernels must stay within the arrays that they are given, and must end.
    pub unsafe fn new(a: &'a Csr<T>, kernel: &'a OwnKernel, block: u32) -> Self {
        Self { a, kernel, block }
    }

    /// The refusal of a device that runs no CUDA.
    pub(crate) fn needs_cuda(&self, facts: &DeviceFacts) -> DeviceError {
        let reason = format!("it is CUDA, and this is {}", facts.name);
        DeviceError::CannotRun { kernel: self.kernel.name().to_owned(), reason }
    }
}

impl<T> LoadRequest<'_, T> {
    /// The row blocks; `None` for the identity and for kernels of the user's own.
    pub(crate) fn partition(&self) -> Option<&Partition> {
        match self {
            Self::Parts { partition, .. }
            | Self::Reordered { partition, .. }
            | Self::Resident { partition, .. } => Some(partition),
            Self::Identity { .. } | Self::Own(_) => None,
        }
    }
}
