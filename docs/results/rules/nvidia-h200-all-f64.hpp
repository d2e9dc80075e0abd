// y = A x in f64 on NVIDIA H200: which of 131 candidates to run.
// Made by `sparsight rules profiles/nvidia-h200 --candidates all --leaves 16 --dtype f64`, from 832 matrices.
// On 119 matrices that it has not seen: 9.0 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 57.1 %, at worst 2.44 times as slow.

#pragma once

namespace sparsight_rules {

constexpr const char* nvidia_h200_all_f64_otherwise = "csr-binned/b256/f64";

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// Where its format cannot hold the matrix (padding, memory), run the one that is called otherwise.
inline const char* nvidia_h200_all_f64(double rows, double columns, double nnz, double row_min, double row_max, double row_std)
{
    (void)row_min;
    const double row_mean = rows > 0 ? nnz / rows : 0.0;
    if (columns <= 40000.0) {
        if (row_max <= 90.0) {
            if (row_max <= 16.0) {
                if (row_max <= 4.0) {
                    return "ell/b256/f64";
                }
                return "sell/c32/s1/t2/b128/f64";
            }
            if (rows <= 3700.0) {
                return "csr-vector/t32/b256/f64";
            }
            return "sell/c32/s1/t4/b128/f64";
        }
        if (row_mean <= 134.0) {
            if (nnz <= 580000.0) {
                return "coo/i1/b256/f64";
            }
            return "csr-binned/b512/f64";
        }
        return "coo/b128/f64";
    }
    if (row_max <= 32.0) {
        if (row_max <= 8.0) {
            return "ell/b256/f64";
        }
        return "sell/c32/s1/t2/b128/f64";
    }
    if (row_max <= 98.0) {
        if (rows <= 110000.0) {
            return "sell/c32/s1/t4/b128/f64";
        }
        return "bro-ell/r256/b64/f64";
    }
    if (nnz <= 10000000.0) {
        if (row_max <= 400.0) {
            return "csr-binned/b256/f64";
        }
        if (row_std <= 440.0) {
            return "hyb/b256/f64";
        }
        return "csr-binned/b512/f64";
    }
    if (row_max <= 400.0) {
        return "bro-ell/r32/b64/f64";
    }
    return "csr-segmented/b256/f64";
}

}  // namespace sparsight_rules
