// y = A x in f32 on NVIDIA H200: which of 131 candidates to run. By its profile of 2026-11-21.
// Made by `sparsight rules profiles/nvidia-h200 --candidates all --leaves 16 --dtype f32`, from 832 matrices.
// On 119 matrices that it has not seen: 6.9 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 53.8 %, at worst 1.47 times as slow.

#pragma once

namespace sparsight_rules {

constexpr const char* nvidia_h200_all_f32_otherwise = "csr-binned/b256/f32";

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
inline const char* nvidia_h200_all_f32(double rows, double columns, double nnz, double row_min, double row_max, double row_std)
{
    (void)columns;
    const double row_mean = rows > 0 ? nnz / rows : 0.0;
    const double row_std_over_mean = nnz > 0 ? row_std / row_mean : 0.0;
    const double row_max_over_mean = nnz > 0 ? row_max / row_mean : 0.0;
    if (rows <= 190000.0) {
        if (row_max <= 32.0) {
            if (row_max <= 8.0) {
                return row_max_over_mean <= 8.0 ? "ell/b256/f32" : nvidia_h200_all_f32_otherwise;
            }
            if (rows <= 29000.0) {
                return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "sell/c32/s1/t4/b128/f32" : nvidia_h200_all_f32_otherwise;
            }
            return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "sell/c32/s1/t2/b128/f32" : nvidia_h200_all_f32_otherwise;
        }
        if (nnz <= 79400.0) {
            if (row_max <= 59.0) {
                return "csr-vector/t32/b256/f32";
            }
            return "coo/i1/b512/f32";
        }
        if (row_max <= 82.0) {
            if (row_std_over_mean <= 0.6) {
                return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "sell/c32/s1/t4/b128/f32" : nvidia_h200_all_f32_otherwise;
            }
            return "csr-binned/b256/f32";
        }
        if (nnz <= 740000.0) {
            if (row_std_over_mean <= 1.63) {
                return "csr-binned/b512/f32";
            }
            if (nnz <= 270000.0) {
                return "coo/i2/b512/f32";
            }
            return "csr-binned/b512/f32";
        }
        return "csr-binned/b128/f32";
    }
    if (nnz <= 20000000.0) {
        if (row_min <= 4.0) {
            if (row_mean <= 0.8) {
                return "coo/i1/b1024/f32";
            }
            return "hyb/b512/f32";
        }
        return row_max_over_mean <= 8.0 || row_std_over_mean <= 0.437 ? "bro-ell/r256/b128/f32" : nvidia_h200_all_f32_otherwise;
    }
    if (row_std_over_mean <= 0.3) {
        return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "bro-ell/r32/b64/f32" : nvidia_h200_all_f32_otherwise;
    }
    return "csr-segmented/b256/f32";
}

}  // namespace sparsight_rules
