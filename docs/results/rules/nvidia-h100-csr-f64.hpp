// y = A x in f64 on NVIDIA H100 80GB HBM3: which of 30 candidates to run. By its profile of 2026-11-23.
// Made by `sparsight rules profiles/nvidia-h100 --candidates csr --leaves 8 --dtype f64`, from 2,640 matrices.
// On 89 matrices that it has not seen: 10.9 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 56.2 %, at worst 1.92 times as slow.

#pragma once

namespace sparsight_rules {

constexpr const char* nvidia_h100_csr_f64_otherwise = "csr-vector/t16/b256/f64";

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
inline const char* nvidia_h100_csr_f64(double rows, double columns, double nnz, double row_min, double row_max, double row_std)
{
    (void)columns;
    (void)nnz;
    (void)row_min;
    if (row_std <= 8.7) {
        if (rows <= 18300.0) {
            if (rows <= 6970.0) {
                return "csr-vector/t32/b256/f64";
            }
            return "csr-vector/t16/b256/f64";
        }
        if (row_max <= 7.5) {
            return "csr-scalar/b256/f64";
        }
        if (rows <= 89000.0) {
            return "csr-vector/t8/b256/f64";
        }
        return "csr-vector/t4/b256/f64";
    }
    if (row_std <= 35.77) {
        if (rows <= 8400.0) {
            return "csr-vector/t32/b256/f64";
        }
        return "csr-vector/t16/b256/f64";
    }
    return "csr-vector/t32/b256/f64";
}

}  // namespace sparsight_rules
