//! Where a CSR becomes another format.

/// Non-zeros from which a GPU converts faster than the host beside it: measured on an H200 beside 16 cores, with `cargo bench
/// -p sparsight --bench conversion` (docs/results/h200-conversion.md). Formats that keep the entries where CSR has them are
/// made by the host whatever their size.
pub const DEVICE_CONVERSION_NNZ: u64 = 1 << 16;
