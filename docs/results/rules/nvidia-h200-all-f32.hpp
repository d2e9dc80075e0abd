// y = A x in f32 on NVIDIA H200: which of 131 candidates to run. By its profile of 2026-11-21.
// Made by `sparsight rules profiles/nvidia-h200 --candidates all --leaves 16 --dtype f32`, from 2,984 matrices.
// On 119 matrices that it has not seen: 6.2 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 58.8 %, at worst 1.84 times as slow.

#pragma once

namespace sparsight_rules {

constexpr const char* nvidia_h200_all_f32_otherwise = "csr-binned/b256/f32";

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
inline const char* nvidia_h200_all_f32(double rows, double columns, double nnz, double row_min, double row_max, double row_std)
{
    (void)columns;
    (void)row_min;
    const double row_mean = rows > 0 ? nnz / rows : 0.0;
    const double row_std_over_mean = nnz > 0 ? row_std / row_mean : 0.0;
    const double row_max_over_mean = nnz > 0 ? row_max / row_mean : 0.0;
    if (row_max <= 45.5) {
        if (row_max <= 8.0) {
            return row_max_over_mean <= 8.0 ? "ell/b256/f32" : nvidia_h200_all_f32_otherwise;
        }
        if (rows <= 28600.0) {
            return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "sell/c32/s1/t4/b128/f32" : nvidia_h200_all_f32_otherwise;
        }
        if (rows <= 433000.0) {
            return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "sell/c32/s1/t2/b128/f32" : nvidia_h200_all_f32_otherwise;
        }
        return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "sell/c32/s256/b128/f32" : nvidia_h200_all_f32_otherwise;
    }
    if (rows <= 190300.0) {
        if (row_max <= 101.5) {
            if (nnz <= 734000.0) {
                return "csr-binned/b256/f32";
            }
            return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "sell/c32/s256/t4/b128/f32" : nvidia_h200_all_f32_otherwise;
        }
        if (nnz <= 270000.0) {
            if (row_std <= 105.0) {
                if (row_max <= 244.0) {
                    return "csr-binned/b256/f32";
                }
                return "coo/i1/b512/f32";
            }
            return "coo/i2/b512/f32";
        }
        if (nnz <= 1367000.0) {
            if (row_max <= 4100.0) {
                return "csr-binned/b256/f32";
            }
            return "coo/b256/f32";
        }
        if (row_max <= 220.0) {
            return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "sell/c32/s256/t4/b128/f32" : nvidia_h200_all_f32_otherwise;
        }
        return "csr-binned/b128/f32";
    }
    if (row_max_over_mean <= 8.5) {
        return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "sell/c32/s256/t4/b128/f32" : nvidia_h200_all_f32_otherwise;
    }
    if (nnz <= 9000000.0) {
        return "hyb/b256/f32";
    }
    return "csr-segmented/b512/f32";
}

}  // namespace sparsight_rules
