// y = A x in f32 on NVIDIA H100 80GB HBM3: which of 30 candidates to run. By its profile of 2026-11-23.
// Made by `sparsight rules profiles/nvidia-h100 --candidates csr --leaves 8 --dtype f32`, from 948 matrices.
// On 89 matrices that it has not seen: 8.2 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 66.3 %, at worst 2.50 times as slow.

#pragma once

namespace sparsight_rules {

constexpr const char* nvidia_h100_csr_f32_otherwise = "csr-vector/t8/b256/f32";

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
inline const char* nvidia_h100_csr_f32(double rows, double columns, double nnz, double row_min, double row_max, double row_std)
{
    (void)columns;
    (void)row_min;
    const double row_mean = rows > 0 ? nnz / rows : 0.0;
    const double row_max_over_mean = nnz > 0 ? row_max / row_mean : 0.0;
    if (row_std <= 18.8) {
        if (rows <= 30000.0) {
            return "csr-vector/t16/b256/f32";
        }
        if (row_max <= 15.0) {
            return "csr-scalar/b128/f32";
        }
        if (row_mean <= 28.2) {
            if (row_max_over_mean <= 45.0) {
                return "csr-vector/t4/b256/f32";
            }
            return "csr-vector/t8/b256/f32";
        }
        return "csr-vector/t8/b128/f32";
    }
    if (row_std <= 68.0) {
        if (nnz <= 604000.0) {
            return "csr-vector/t32/b256/f32";
        }
        return "csr-vector/t16/b256/f32";
    }
    return "csr-vector/t32/b256/f32";
}

}  // namespace sparsight_rules
