// y = A x in f64 on NVIDIA H200: which of 4 candidates to run.
// Made by `sparsight rules profiles/nvidia-h200 --candidates cusparse --leaves 8 --dtype f64`, from 832 matrices.
// On 119 matrices that it has not seen: 3.1 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 88.2 %, at worst 3.13 times as slow.

#pragma once

namespace sparsight_rules {

constexpr const char* nvidia_h200_cusparse_f64_otherwise = "cusparse-coo/f64";

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// Where its format cannot hold the matrix (padding, memory), run the one that is called otherwise.
inline const char* nvidia_h200_cusparse_f64(double rows, double columns, double nnz, double row_min, double row_max, double row_std)
{
    (void)columns;
    const double row_mean = rows > 0 ? nnz / rows : 0.0;
    if (row_max <= 73.0) {
        if (rows <= 8000000.0) {
            if (row_std <= 10.6) {
                return "cusparse-sell/f64";
            }
            return "cusparse-coo/f64";
        }
        return "cusparse-coo/f64";
    }
    if (nnz <= 2092000.0) {
        if (row_mean <= 6000.0) {
            return "cusparse-coo/f64";
        }
        return "cusparse-csr/a1/f64";
    }
    if (row_max <= 388.0) {
        return "cusparse-sell/f64";
    }
    if (row_min <= 16000.0) {
        return "cusparse-csr/a1/f64";
    }
    return "cusparse-csr/a2/f64";
}

}  // namespace sparsight_rules
