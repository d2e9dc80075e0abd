// y = A x in f32 on NVIDIA H100 80GB HBM3: which of 30 candidates to run. By its profile of 2026-11-23.
// Made by `sparsight rules profiles/nvidia-h100 --candidates csr --leaves 32 --dtype f32 --format rs`, from 296 matrices.
// On 89 matrices that it has not seen: 5.8 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 65.2 %, at worst 1.60 times as slow.

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
pub(crate) fn nvidia_h100_csr_f32(rows: f64, columns: f64, nnz: f64, row_min: f64, row_max: f64, row_std: f64) -> &'static str {
    let _ = row_min;
    let row_mean = if rows > 0.0 { nnz / rows } else { 0.0 };
    if row_std <= 9.9 {
        if rows <= 8000.0 {
            if row_max <= 18.0 {
                return "csr-vector/t16/b256/f32";
            }
            if nnz <= 30000.0 {
                return "csr-vector/t32/b512/f32";
            }
            return "csr-vector/t32/b256/f32";
        }
        if row_max <= 103.5 {
            if rows <= 6000000.0 {
                if row_max <= 6.0 {
                    if rows <= 50000.0 {
                        return "csr-vector/t4/b256/f32";
                    }
                    return "csr-scalar/b256/f32";
                }
                if rows <= 33000.0 {
                    if row_max <= 20.0 {
                        return "csr-vector/t8/b256/f32";
                    }
                    return "csr-vector/t16/b256/f32";
                }
                if nnz <= 1500000.0 {
                    if rows <= 120000.0 {
                        if rows <= 50000.0 {
                            return "csr-vector/t4/b512/f32";
                        }
                        return "csr-vector/t4/b256/f32";
                    }
                    return "csr-vector/t2/b256/f32";
                }
                if row_mean <= 19.0 {
                    return "csr-vector/t2/b128/f32";
                }
                return "csr-vector/t4/b128/f32";
            }
            return "csr-scalar/b128/f32";
        }
        return "csr-vector/t8/b128/f32";
    }
    if nnz <= 23000000.0 {
        if row_std <= 18.0 {
            if nnz <= 140000.0 {
                return "csr-vector/t32/b256/f32";
            }
            return "csr-vector/t16/b256/f32";
        }
        if rows <= 2000.0 {
            if columns <= 1700.0 {
                return "csr-vector/t32/b256/f32";
            }
            return "csr-vector/t32/b512/f32";
        }
        if row_max <= 454.0 {
            return "csr-vector/t16/b256/f32";
        }
        if row_std <= 202.0 {
            if row_mean <= 58.0 {
                if row_max <= 700.0 {
                    return "csr-vector/t16/b256/f32";
                }
                return "csr-vector/t32/b256/f32";
            }
            return "csr-vector/t32/b128/f32";
        }
        return "csr-vector/t32/b512/f32";
    }
    if row_std <= 70.0 {
        return "csr-vector/t8/b128/f32";
    }
    return "csr-vector/t16/b128/f32";
}
// y = A x in f64 on NVIDIA H100 80GB HBM3: which of 30 candidates to run. By its profile of 2026-11-23.
// Made by `sparsight rules profiles/nvidia-h100 --candidates csr --leaves 32 --dtype f64 --format rs`, from 296 matrices.
// On 89 matrices that it has not seen: 6.4 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 71.9 %, at worst 1.92 times as slow.

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
pub(crate) fn nvidia_h100_csr_f64(rows: f64, columns: f64, nnz: f64, row_min: f64, row_max: f64, row_std: f64) -> &'static str {
    let row_mean = if rows > 0.0 { nnz / rows } else { 0.0 };
    let row_std_over_mean = if nnz > 0.0 { row_std / row_mean } else { 0.0 };
    if row_std <= 6.4 {
        if rows <= 24900.0 {
            if row_max <= 8.0 {
                return "csr-vector/t4/b256/f64";
            }
            if rows <= 2300.0 {
                if row_mean <= 20.0 {
                    return "csr-vector/t16/b256/f64";
                }
                return "csr-vector/t32/b256/f64";
            }
            return "csr-vector/t16/b256/f64";
        }
        if row_max <= 8.0 {
            if rows <= 48200.0 {
                return "csr-vector/t4/b512/f64";
            }
            if rows <= 120000.0 {
                return "csr-vector/t2/b512/f64";
            }
            return "csr-scalar/b256/f64";
        }
        if nnz <= 270000.0 {
            if row_std_over_mean <= 0.85 {
                return "csr-vector/t8/b512/f64";
            }
            return "csr-vector/t8/b256/f64";
        }
        if row_min <= 15.5 {
            if rows <= 300000.0 {
                return "csr-vector/t4/b256/f64";
            }
            return "csr-vector/t4/b128/f64";
        }
        return "csr-vector/t8/b128/f64";
    }
    if row_std <= 18.0 {
        if columns <= 7000.0 {
            if nnz <= 40000.0 {
                return "csr-vector/t32/b512/f64";
            }
            return "csr-vector/t32/b256/f64";
        }
        if columns <= 400000.0 {
            return "csr-vector/t16/b256/f64";
        }
        return "csr-vector/t8/b128/f64";
    }
    if nnz <= 50000000.0 {
        if row_mean <= 270.0 {
            if nnz <= 3000000.0 {
                if nnz <= 90000.0 {
                    return "csr-vector/t32/b128/f64";
                }
                if row_std <= 165.0 {
                    return "csr-vector/t32/b256/f64";
                }
                return "csr-vector/t32/b128/f64";
            }
            return "csr-vector/t32/b128/f64";
        }
        return "csr-vector/t32/b512/f64";
    }
    return "csr-vector/t16/b128/f64";
}
