//! Which equations of the paper stand for which kernel, and whose benchmark matrices.
//!
//! | kernel | equations | benchmark matrices |
//! |---|---|---|
//! | `csr-vector`, any team | CSR | its own |
//! | `csr-scalar`, `ell`, `jad` | ELL | its own |
//! | `coo`, `csr-balanced` | COO | its own |
//! | `csr-binned` | COO | those of `csr-balanced` with tiles of 1,024 |
//! | `hyb` | HYB | those of `ell` and `coo` |
//! | `sell`, `bro-ell` | ELL | those of `ell` |
//!
//! The paper has CSR with one warp per row, ELL, COO and HYB. What is added follows the strip models: a team of t threads is a
//! warp with another strip, and one thread per row is ELL. SELL-C-sigma and BRO-ELL have no benchmark matrices of their own; on
//! rows of one length SELL is ELL slice by slice, and what packing saves BRO-ELL is in the time on the reference: only
//! the ratio of the two devices is borrowed. That takes it for granted that unpacking costs as much, beside
//! memory, on the one device as on the other. csr-binned gives threads to non-zeros in proportion, as csr-balanced does.
//! The vendor's routines are not carried over: nobody knows how they share out the work.

use sparsight_kernels::Kernel;

/// How a kernel is transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferRule {
    /// Section 4.1, one team of threads per row.
    Csr,
    /// Section 4.2, one thread per row.
    Ell {
        /// Kernel whose benchmark matrices stand for it.
        measured: Kernel,
    },
    /// Section 4.3, one thread per non-zero, or a row or non-zero.
    Coo {
        /// Kernel whose benchmark matrices stand for it.
        measured: Kernel,
    },
    /// Section 4.4, of the parts of the same block size and value type.
    Hyb {
        /// Of the part with rows of equal length.
        ell: Kernel,
        /// Of the rest.
        coo: Kernel,
    },
    /// None: the vendor's routines.
    None,
}

impl TransferRule {
    /// That of `kernel`, as its family says.
    pub fn of(kernel: Kernel) -> Self {
        let measured = |id: Option<&str>| id.map_or(kernel, Kernel::known);
        match kernel.transfer_rule() {
            sparsight_kernels::TransferRule::Csr => Self::Csr,
            sparsight_kernels::TransferRule::Ell { measured: id } => Self::Ell { measured: measured(id) },
            sparsight_kernels::TransferRule::Coo { measured: id } => Self::Coo { measured: measured(id) },
            sparsight_kernels::TransferRule::Parts => match kernel.parts() {
                Some([ell, coo]) => Self::Hyb { ell, coo },
                None => Self::None,
            },
            sparsight_kernels::TransferRule::None => Self::None,
        }
    }
}
