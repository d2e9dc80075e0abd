//! Routines of the vendor's own library, cuSPARSE, as a device calls them.

/// A sparse product of cuSPARSE (`cusparseSpMV` after `cusparseSpMV_preprocess`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vendor {
    /// CSR, algorithm 1: the library's default.
    CsrAlg1,
    /// CSR, algorithm 2: the same y bit by bit on every run.
    CsrAlg2,
    /// COO, algorithm 1.
    Coo,
    /// Sliced ELL.
    Sell,
    /// BSR.
    Bsr,
    /// BSR by the older routine (`cusparseSbsrmv`, `cusparseDbsrmv`), which has no preprocess step.
    Bsrmv,
}
