// y = A x in f32 on NVIDIA H200: which of 4 candidates to run.
// Made by `sparsight rules profiles/nvidia-h200 --candidates cusparse --leaves 8 --dtype f32`, from 832 matrices.
// On 119 matrices that it has not seen: 2.8 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 89.9 %, at worst 3.03 times as slow.

#pragma once

namespace sparsight_rules {

constexpr const char* nvidia_h200_cusparse_f32_otherwise = "cusparse-coo/f32";

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// Where its format cannot hold the matrix (padding, memory), run the one that is called otherwise.
inline const char* nvidia_h200_cusparse_f32(double rows, double columns, double nnz, double row_min, double row_max, double row_std)
{
    (void)columns;
    (void)row_std;
    const double row_mean = rows > 0 ? nnz / rows : 0.0;
    const double row_max_over_mean = nnz > 0 ? row_max / row_mean : 0.0;
    if (row_max <= 80.0) {
        if (nnz <= 20000000.0) {
            if (row_max_over_mean <= 13.0) {
                return "cusparse-sell/f32";
            }
            return "cusparse-coo/f32";
        }
        if (row_min <= 5.5) {
            return "cusparse-csr/a1/f32";
        }
        return "cusparse-sell/f32";
    }
    if (nnz <= 6760000.0) {
        return "cusparse-coo/f32";
    }
    if (row_max <= 388.0) {
        return "cusparse-sell/f32";
    }
    if (row_max <= 180000.0) {
        return "cusparse-csr/a1/f32";
    }
    return "cusparse-csr/a2/f32";
}

}  // namespace sparsight_rules
