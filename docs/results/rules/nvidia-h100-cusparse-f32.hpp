// y = A x in f32 on NVIDIA H100 80GB HBM3: which of 4 candidates to run. By its profile of 2026-11-23.
// Made by `sparsight rules profiles/nvidia-h100 --candidates cusparse --leaves 8 --dtype f32`, from 2,640 matrices.
// On 89 matrices that it has not seen: 0.2 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 97.8 %, at worst 1.10 times as slow.

#pragma once

namespace sparsight_rules {

constexpr const char* nvidia_h100_cusparse_f32_otherwise = "cusparse-coo/f32";

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
inline const char* nvidia_h100_cusparse_f32(double rows, double columns, double nnz, double row_min, double row_max, double row_std)
{
    (void)columns;
    (void)row_min;
    const double row_mean = rows > 0 ? nnz / rows : 0.0;
    const double row_std_over_mean = nnz > 0 ? row_std / row_mean : 0.0;
    const double row_max_over_mean = nnz > 0 ? row_max / row_mean : 0.0;
    if (row_max <= 67.5) {
        if (nnz <= 13100000.0) {
            if (rows <= 1700000.0) {
                if (row_max_over_mean <= 15.4) {
                    return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "cusparse-sell/f32" : nvidia_h100_cusparse_f32_otherwise;
                }
                return "cusparse-coo/f32";
            }
            if (nnz <= 4700000.0) {
                return "cusparse-coo/f32";
            }
            return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "cusparse-sell/f32" : nvidia_h100_cusparse_f32_otherwise;
        }
        return "cusparse-csr/a1/f32";
    }
    if (nnz <= 2900000.0) {
        return "cusparse-coo/f32";
    }
    if (row_max <= 355000.0) {
        return "cusparse-csr/a1/f32";
    }
    return "cusparse-csr/a2/f32";
}

}  // namespace sparsight_rules
