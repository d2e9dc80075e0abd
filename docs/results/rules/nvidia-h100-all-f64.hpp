// y = A x in f64 on NVIDIA H100 80GB HBM3: which of 131 candidates to run. By its profile of 2026-11-23.
// Made by `sparsight rules profiles/nvidia-h100 --candidates all --leaves 16 --dtype f64`, from 2,640 matrices.
// On 89 matrices that it has not seen: 5.7 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 69.7 %, at worst 2.38 times as slow.

#pragma once

namespace sparsight_rules {

constexpr const char* nvidia_h100_all_f64_otherwise = "csr-binned/b256/f64";

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
inline const char* nvidia_h100_all_f64(double rows, double columns, double nnz, double row_min, double row_max, double row_std)
{
    (void)columns;
    (void)row_min;
    const double row_mean = rows > 0 ? nnz / rows : 0.0;
    const double row_std_over_mean = nnz > 0 ? row_std / row_mean : 0.0;
    const double row_max_over_mean = nnz > 0 ? row_max / row_mean : 0.0;
    if (row_max <= 60.0) {
        if (rows <= 80500.0) {
            if (row_max <= 16.0) {
                if (row_max <= 4.0) {
                    return row_max_over_mean <= 8.0 ? "ell/b256/f64" : nvidia_h100_all_f64_otherwise;
                }
                return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "sell/c32/s1/t2/b128/f64" : nvidia_h100_all_f64_otherwise;
            }
            return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "sell/c32/s1/t4/b128/f64" : nvidia_h100_all_f64_otherwise;
        }
        if (nnz <= 1100000.0) {
            if (row_max_over_mean <= 3.7) {
                return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "sell/c32/s1/b256/f64" : nvidia_h100_all_f64_otherwise;
            }
            return "csr-binned/b128/f64";
        }
        return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "bro-ell/r32/b128/f64" : nvidia_h100_all_f64_otherwise;
    }
    if (nnz <= 359000.0) {
        if (row_max <= 192.0) {
            return "csr-binned/b256/f64";
        }
        if (row_std <= 142.0) {
            return "coo/i1/b256/f64";
        }
        return "coo/i2/b128/f64";
    }
    if (rows <= 133000.0) {
        if (row_max <= 194.0) {
            return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "sell/c32/s256/t4/b128/f64" : nvidia_h100_all_f64_otherwise;
        }
        if (nnz <= 750000.0) {
            return "coo/i2/b256/f64";
        }
        if (rows <= 4000.0) {
            return "hyb/b512/f64";
        }
        return "csr-binned/b256/f64";
    }
    if (row_max_over_mean <= 5.6) {
        return row_max_over_mean <= 8.0 || row_std_over_mean <= 1.237 ? "bro-ell/r32/b64/f64" : nvidia_h100_all_f64_otherwise;
    }
    if (nnz <= 8500000.0) {
        return "hyb/b256/f64";
    }
    return "csr-segmented/b256/f64";
}

}  // namespace sparsight_rules
