//! The present implementation: the break-even of every candidate is counted against it.
//!
//! ```text
//! products = (P - P0) / (t0 - t), rounded up      P, t: preparation and one product of a candidate; P0, t0: of what is run now
//! ```
//! Both start from the matrix in CSR on the host. Unless something is named ([`RunNowName`](crate::advise::RunNowName)) it is the vendor's CSR,
//! which most people call; without a model of it, and on a processor, our fastest kernel for plain CSR.

use sparsight_kernels::Candidate;
use sparsight_matrix::Seconds;
use std::fmt;

/// Kind of present implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunNowKind {
    /// The vendor's CSR, the faster of its algorithms.
    VendorsCsr,
    /// Our fastest kernel for plain CSR, on a processor.
    PlainCsr,
    /// Our fastest kernel for plain CSR, on a GPU without times of the vendor's routines.
    WithoutVendors,
    /// CSR of scipy, for which our CSR with one thread stands.
    Scipy,
    /// A candidate that was named.
    Named,
}

impl RunNowKind {
    /// Name in answers: `vendors-csr`, `plain-csr`, `scipy` or `named`.
    pub fn id(self) -> &'static str {
        match self {
            Self::VendorsCsr => "vendors-csr",
            Self::PlainCsr | Self::WithoutVendors => "plain-csr",
            Self::Scipy => "scipy",
            Self::Named => "named",
        }
    }
}

/// The present implementation, with its predicted time.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RunNow {
    /// Kind of implementation.
    pub kind: RunNowKind,
    /// The candidate, or the one that stands for it.
    pub candidate: Candidate,
    /// Time of one product, or of an iteration where candidates are ranked by these.
    pub time: Seconds,
    /// Time until its first product; `None` if not measured. Of scipy 0: the matrix is where it is multiplied.
    pub preparation: Option<Seconds>,
}

impl RunNow {
    /// Returns whether it is this candidate of the ranking.
    pub fn is(&self, candidate: Candidate) -> bool {
        self.kind != RunNowKind::Scipy && candidate == self.candidate
    }

    /// The fewest products for which a candidate takes no longer, both with what it takes to prepare them; `None` if it is never
    /// faster, or a preparation was not measured.
    pub fn caught_up_after(
        &self,
        candidate: Candidate,
        time: Seconds,
        preparation: Option<Seconds>,
    ) -> Option<u64> {
        if self.is(candidate) {
            return Some(0);
        }
        let saved_s = self.time.0 - time.0;
        let extra_s = preparation?.0 - self.preparation?.0;
        // A float beyond u64 saturates.
        (saved_s > 0.0).then(|| (extra_s.max(0.0) / saved_s).ceil() as u64)
    }

    /// Time of one product, or of all `products` with preparation where it was measured.
    pub fn cost(&self, products: Option<u64>) -> Seconds {
        products.map_or(self.time, |products| {
            Seconds(self.preparation.unwrap_or_default().0 + products as f64 * self.time.0)
        })
    }
}

/// `cuSPARSE's CSR`, `the best plain CSR`, `csr-scalar b256`.
impl fmt::Display for RunNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            RunNowKind::VendorsCsr => f.write_str("cuSPARSE's CSR"),
            RunNowKind::PlainCsr | RunNowKind::WithoutVendors => f.write_str("the best plain CSR"),
            RunNowKind::Scipy => f.write_str("scipy's CSR"),
            RunNowKind::Named => f.write_str(&self.candidate.in_words()),
        }
    }
}
