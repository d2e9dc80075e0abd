//! Kernels as the papers see them, by the name of their family: the equations that carry their times to another device, and the
//! features that `linear` and `neighbours` look at.
//!
//! | kernel | equations of Guo and Wang 2013 | benchmark matrices |
//! |---|---|---|
//! | `csr-vector`, any team | CSR | its own |
//! | `csr-scalar`, `ell`, `jad` | ELL | its own |
//! | `coo`, `csr-balanced` | COO | its own |
//! | `csr-segmented` | COO | those of `coo` |
//! | `csr-binned` | COO | those of `csr-balanced` with tiles of 1,024 |
//! | `hyb` | HYB | those of `ell` and `coo` |
//! | `sell`, `bro-ell`, `dia`, `bsr` | ELL | those of `ell` |
//!
//! The paper has CSR with one warp per row, ELL, COO and HYB. What is added follows the strip models: a team of t threads is a
//! warp with another strip, and one thread per row is ELL. SELL-C-sigma and BRO-ELL have no benchmark matrices of their own; on
//! rows of one length SELL is ELL slice by slice, and what packing saves BRO-ELL is in the time on the reference: only
//! the ratio of the two devices is borrowed. This assumes that unpacking costs as much, beside memory, on the one device as on
//! the other. csr-binned gives threads to non-zeros in proportion, as csr-balanced does. A kernel that is not in the table is not
//! carried over, as the vendor's routines, whose distribution of work is not known.
//!
//! The formats are columns of Table 2 of Lehnert et al. 2016, k is that of its nearest neighbours.

use sparsight_kernels::Kernel;

/// The formats of Table 2, in its order.
pub(super) const FORMATS: [&str; 5] = ["COO", "CSR", "ELL", "SELL-C-sigma", "BRO-ELL"];

/// A kernel as the papers see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct KernelInPapers {
    name: &'static str,
    rule: Rule,
    /// Columns of Table 2.
    pub(super) table_2: &'static [&'static str],
    /// k of `neighbours`.
    pub(super) neighbours: usize,
}

/// Transfer of a kernel's times, with the id of the kernel whose benchmark matrices stand for it; `None`: its own.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Csr,
    Ell(Option<&'static str>),
    Coo(Option<&'static str>),
    Hyb,
    None,
}

const fn row(name: &'static str, rule: Rule, table_2: &'static [&'static str]) -> KernelInPapers {
    KernelInPapers { name, rule, table_2, neighbours: 4 }
}

const fn row_2(name: &'static str, rule: Rule, table_2: &'static [&'static str]) -> KernelInPapers {
    KernelInPapers { neighbours: 2, ..row(name, rule, table_2) }
}

static KERNELS: [KernelInPapers; 17] = [
    row("csr-vector", Rule::Csr, &["CSR", "ELL"]),
    row("csr-scalar", Rule::Ell(None), &["CSR", "ELL"]),
    row("csr-balanced", Rule::Coo(None), &["CSR", "COO"]),
    row("csr-binned", Rule::Coo(Some("csr-balanced/i1024")), &["CSR", "COO"]),
    row("csr-segmented", Rule::Coo(Some("coo")), &["CSR", "COO"]),
    row("coo", Rule::Coo(None), &["COO"]),
    row("ell", Rule::Ell(None), &["ELL"]),
    row("jad", Rule::Ell(None), &["ELL"]),
    row("dia", Rule::Ell(Some("ell")), &["ELL"]),
    row("hyb", Rule::Hyb, &["COO", "ELL"]),
    row("bro-ell", Rule::Ell(Some("ell")), &["BRO-ELL"]),
    row_2("sell", Rule::Ell(Some("ell")), &["SELL-C-sigma"]),
    row_2("bsr", Rule::Ell(Some("ell")), &["SELL-C-sigma"]),
    row("cusparse-csr", Rule::None, &["CSR", "COO"]),
    row("cusparse-coo", Rule::None, &["COO"]),
    row("cusparse-sell", Rule::None, &["SELL-C-sigma"]),
    row("cusparse-bsr", Rule::None, &["SELL-C-sigma"]),
];

impl KernelInPapers {
    /// The row of a kernel; of one that the table lacks, a row that carries nothing over and has the features of all formats.
    pub(super) fn of(kernel: Kernel) -> Self {
        let found = KERNELS.iter().find(|known| known.name == kernel.name());
        found.copied().unwrap_or(row("", Rule::None, &FORMATS))
    }
}

/// Transfer of a kernel.
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
        /// Kernel of the part with rows of equal length.
        ell: Kernel,
        /// Kernel of the rest.
        coo: Kernel,
    },
    /// None: the vendor's routines.
    None,
}

impl TransferRule {
    /// The rule of `kernel`.
    pub fn of(kernel: Kernel) -> Self {
        let measured = |id: Option<&str>| id.map_or(kernel, Kernel::known);
        match KernelInPapers::of(kernel).rule {
            Rule::Csr => Self::Csr,
            Rule::Ell(id) => Self::Ell { measured: measured(id) },
            Rule::Coo(id) => Self::Coo { measured: measured(id) },
            Rule::Hyb => kernel.parts().map_or(Self::None, |[ell, coo]| Self::Hyb { ell, coo }),
            Rule::None => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_kernel_family_and_every_measured_kernel_measures_itself() {
        for known in &KERNELS {
            assert!(Kernel::all().any(|kernel| kernel.name() == known.name), "{}", known.name);
        }
        for kernel in Kernel::all() {
            if let TransferRule::Ell { measured } | TransferRule::Coo { measured } = TransferRule::of(kernel)
            {
                assert!(measured.has_benchmark_matrices(), "{kernel}");
                assert_eq!(TransferRule::of(measured), TransferRule::of(kernel), "{kernel}");
            }
        }
    }
}
