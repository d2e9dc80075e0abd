// y = A x in f32 on NVIDIA H200: which of 131 candidates to run.
// Made by `sparsight rules profiles/nvidia-h200 --candidates all --leaves 16 --dtype f32`, from 832 matrices.
// On 119 matrices that it has not seen: 8.2 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 52.1 %, at worst 3.17 times as slow.

#pragma once

namespace sparsight_rules {

constexpr const char* nvidia_h200_all_f32_otherwise = "csr-binned/b256/f32";

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// Where its format cannot hold the matrix (padding, memory), run the one that is called otherwise.
inline const char* nvidia_h200_all_f32(double rows, double columns, double nnz, double row_min, double row_max, double row_std)
{
    (void)columns;
    const double row_mean = rows > 0 ? nnz / rows : 0.0;
    const double row_std_over_mean = nnz > 0 ? row_std / row_mean : 0.0;
    if (rows <= 190000.0) {
        if (row_max <= 32.0) {
            if (row_max <= 8.0) {
                return "ell/b256/f32";
            }
            if (rows <= 29000.0) {
                return "sell/c32/s1/t4/b128/f32";
            }
            return "sell/c32/s1/t2/b128/f32";
        }
        if (nnz <= 79400.0) {
            if (row_max <= 59.0) {
                return "csr-vector/t32/b256/f32";
            }
            return "coo/i1/b512/f32";
        }
        if (row_max <= 82.0) {
            if (row_std_over_mean <= 0.6) {
                return "sell/c32/s1/t4/b128/f32";
            }
            return "csr-binned/b256/f32";
        }
        if (nnz <= 740000.0) {
            if (row_std_over_mean <= 1.63) {
                return "csr-binned/b512/f32";
            }
            return "coo/i2/b512/f32";
        }
        return "csr-binned/b128/f32";
    }
    if (nnz <= 20000000.0) {
        if (row_std <= 200.0) {
            if (row_min <= 7.5) {
                if (row_mean <= 0.8) {
                    return "coo/i1/b1024/f32";
                }
                return "hyb/b512/f32";
            }
            return "bro-ell/r32/b128/f32";
        }
        return "csr-balanced/i1024/b128/f32";
    }
    if (row_std_over_mean <= 0.3) {
        return "bro-ell/r32/b64/f32";
    }
    return "csr-segmented/b256/f32";
}

}  // namespace sparsight_rules
