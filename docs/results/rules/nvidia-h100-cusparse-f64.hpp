// y = A x in f64 on NVIDIA H100 80GB HBM3: which of 4 candidates to run. By its profile of 2026-11-23.
// Made by `sparsight rules profiles/nvidia-h100 --candidates cusparse --leaves 8 --dtype f64`, from 2,640 matrices.
// On 89 matrices that it has not seen: 0.8 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 92.1 %, at worst 1.15 times as slow.

#pragma once

namespace sparsight_rules {

constexpr const char* nvidia_h100_cusparse_f64_otherwise = "cusparse-coo/f64";

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
inline const char* nvidia_h100_cusparse_f64(double rows, double columns, double nnz, double row_min, double row_max, double row_std)
{
    (void)columns;
    (void)row_min;
    const double row_mean = rows > 0 ? nnz / rows : 0.0;
    const double row_std_over_mean = nnz > 0 ? row_std / row_mean : 0.0;
    const double row_max_over_mean = nnz > 0 ? row_max / row_mean : 0.0;
    if (row_max <= 64.0) {
        if (rows <= 1980000.0) {
            return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "cusparse-sell/f64" : nvidia_h100_cusparse_f64_otherwise;
        }
        if (row_std_over_mean <= 0.16) {
            return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "cusparse-sell/f64" : nvidia_h100_cusparse_f64_otherwise;
        }
        return "cusparse-coo/f64";
    }
    if (nnz <= 7400000.0) {
        if (row_mean <= 232.0) {
            if (row_max <= 83232.0) {
                return "cusparse-coo/f64";
            }
            return "cusparse-csr/a1/f64";
        }
        if (nnz <= 800000.0) {
            return "cusparse-coo/f64";
        }
        return "cusparse-csr/a1/f64";
    }
    return "cusparse-csr/a1/f64";
}

}  // namespace sparsight_rules
