// y = A x in f32 on NVIDIA H200: which of 4 candidates to run. By its profile of 2026-11-21.
// Made by `sparsight rules profiles/nvidia-h200 --candidates cusparse --leaves 8 --dtype f32`, from 2,984 matrices.
// On 119 matrices that it has not seen: 1.5 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 87.4 %, at worst 1.26 times as slow.

#pragma once

namespace sparsight_rules {

constexpr const char* nvidia_h200_cusparse_f32_otherwise = "cusparse-coo/f32";

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
inline const char* nvidia_h200_cusparse_f32(double rows, double columns, double nnz, double row_min, double row_max, double row_std)
{
    (void)row_min;
    const double row_mean = rows > 0 ? nnz / rows : 0.0;
    const double row_std_over_mean = nnz > 0 ? row_std / row_mean : 0.0;
    const double row_max_over_mean = nnz > 0 ? row_max / row_mean : 0.0;
    if (row_max <= 67.5) {
        if (row_max_over_mean <= 15.4) {
            if (rows <= 1700000.0) {
                return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "cusparse-sell/f32" : nvidia_h200_cusparse_f32_otherwise;
            }
            if (row_mean <= 2.0) {
                return "cusparse-coo/f32";
            }
            if (columns <= 3260000.0) {
                return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "cusparse-sell/f32" : nvidia_h200_cusparse_f32_otherwise;
            }
            return "cusparse-csr/a1/f32";
        }
        return "cusparse-coo/f32";
    }
    if (nnz <= 2980000.0) {
        return "cusparse-coo/f32";
    }
    if (row_mean <= 30000.0) {
        return "cusparse-csr/a1/f32";
    }
    return "cusparse-csr/a2/f32";
}

}  // namespace sparsight_rules
