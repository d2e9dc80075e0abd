//! `info`: the structure of a matrix and its size in every format.

use super::{MatrixSummary, Structure};
use serde::Serialize;
use serde_with::skip_serializing_none;
use sparsight_kernels::{Candidate, Format, device_bytes, every_candidate, feasible, stored_entries};
use sparsight_matrix::{Bytes, Dtype, Features, Limits};

/// `sparsight/info/1`: what the models know of a matrix, and what each format would take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InfoAnswer {
    /// The matrix.
    pub matrix: MatrixSummary,
    /// Value type that sizes are of.
    pub dtype: Dtype,
    /// Structural features.
    pub features: Features,
    /// Row lengths and positions of the non-zeros; absent if not computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structure: Option<Structure>,
    /// Every format of the catalogue, with each of its shapes.
    pub formats: Vec<FormatSize>,
}

impl InfoAnswer {
    /// Answer for the matrix called `name` on a device with `limits`. O(1) in the matrix.
    pub fn of(name: impl Into<String>, features: Features, dtype: Dtype, limits: &Limits) -> Self {
        // The vendor's routines read formats of ours.
        let mut representatives: Vec<Candidate> =
            every_candidate(dtype).filter(|c| !c.kernel.is_vendors()).collect();
        representatives.dedup_by_key(|c| c.format());
        let csr = representatives.first().map_or(Bytes(0), |c| device_bytes(c, &features));
        let formats = representatives.iter().map(|c| FormatSize::of(c, csr, &features, limits)).collect();
        let matrix = MatrixSummary::of(name, &features);
        Self { matrix, dtype, features, structure: None, formats }
    }
}

/// A matrix in one format, before it is converted.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FormatSize {
    /// Format with its shape: `sell/c32/s1024`.
    pub format: Format,
    /// Size in this format; absent if it is far too large to be counted.
    #[serde(flatten)]
    pub size: Option<StoredSize>,
    /// Bits that hold one column index; absent where indices are not compressed.
    pub bits_a_column: Option<f64>,
    /// Why the format cannot hold the matrix on the device; absent if it can.
    pub infeasible: Option<String>,
}

/// Size of a matrix in a format.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StoredSize {
    /// Size on a device, bytes.
    pub bytes: Bytes,
    /// Bytes per non-zero of the matrix; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_a_non_zero: Option<f64>,
    /// Stored bytes over those of CSR.
    pub of_csr: f64,
    /// Entries stored, padding included.
    pub stored: u64,
    /// Stored entries per non-zero; 1 without any.
    pub stored_of_nnz: f64,
}

impl FormatSize {
    /// Size in the format that `candidate` reads; `csr` is the size in CSR.
    fn of(candidate: &Candidate, csr: Bytes, features: &Features, limits: &Limits) -> Self {
        let format = candidate.format();
        let (bytes, stored) = (device_bytes(candidate, features), stored_entries(format, features));
        let size = StoredSize {
            bytes,
            bytes_a_non_zero: (features.nnz > 0).then(|| bytes.0 as f64 / features.nnz as f64),
            of_csr: bytes.0 as f64 / csr.0.max(1) as f64,
            stored,
            stored_of_nnz: if features.nnz == 0 { 1.0 } else { stored as f64 / features.nnz as f64 },
        };
        Self {
            format,
            size: (stored < u64::MAX).then_some(size),
            bits_a_column: format.bits_per_column(features),
            infeasible: feasible(candidate, features, limits).err().map(|why| why.to_string()),
        }
    }
}
