// y = A x in f32 on NVIDIA H100 80GB HBM3: which of 30 candidates to run. By its profile of 2026-11-23.
// Made by `sparsight rules profiles/nvidia-h100 --candidates csr --leaves 32 --dtype f32 --format rs`, from 381 matrices.
// On 89 matrices that it has not seen: 4.6 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 75.3 %, at worst 1.60 times as slow.

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
pub(crate) fn nvidia_h100_csr_f32(rows: f64, columns: f64, nnz: f64, row_min: f64, row_max: f64, row_std: f64) -> &'static str {
    let _ = columns;
    let row_mean = if rows > 0.0 { nnz / rows } else { 0.0 };
    let row_std_over_mean = if nnz > 0.0 { row_std / row_mean } else { 0.0 };
    let row_max_over_mean = if nnz > 0.0 { row_max / row_mean } else { 0.0 };
    if row_std <= 18.5 {
        if rows <= 30000.0 {
            if rows <= 10500.0 {
                if row_max <= 18.0 {
                    return "csr-vector/t16/b256/f32";
                }
                if rows <= 5600.0 {
                    if row_min <= 10.0 {
                        return "csr-vector/t32/b512/f32";
                    }
                    return "csr-vector/t32/b256/f32";
                }
                return "csr-vector/t16/b256/f32";
            }
            if row_std <= 4.3 {
                if row_min <= 1.5 {
                    return "csr-vector/t4/b256/f32";
                }
                return "csr-vector/t8/b512/f32";
            }
            return "csr-vector/t16/b256/f32";
        }
        if row_max <= 106.0 {
            if row_max <= 8.0 {
                if rows <= 70000.0 {
                    return "csr-vector/t4/b256/f32";
                }
                if nnz <= 1300000.0 {
                    return "csr-scalar/b256/f32";
                }
                return "csr-scalar/b128/f32";
            }
            if row_mean <= 28.2 {
                if rows <= 570000.0 {
                    if rows <= 43000.0 {
                        return "csr-vector/t4/b512/f32";
                    }
                    if row_min <= 5.5 {
                        if rows <= 150000.0 {
                            return "csr-vector/t4/b256/f32";
                        }
                        return "csr-vector/t2/b256/f32";
                    }
                    if row_max_over_mean <= 1.8 {
                        return "csr-vector/t4/b256/f32";
                    }
                    return "csr-vector/t4/b128/f32";
                }
                if row_mean <= 8.9 {
                    return "csr-vector/t2/b128/f32";
                }
                return "csr-vector/t2/b256/f32";
            }
            if nnz <= 4400000.0 {
                return "csr-vector/t8/b256/f32";
            }
            return "csr-vector/t8/b128/f32";
        }
        if row_max <= 400.0 {
            if row_std_over_mean <= 0.538 {
                return "csr-vector/t8/b128/f32";
            }
            return "csr-vector/t8/b256/f32";
        }
        return "csr-vector/t16/b256/f32";
    }
    if nnz <= 50000000.0 {
        if row_std <= 49.4 {
            if nnz <= 620000.0 {
                return "csr-vector/t32/b256/f32";
            }
            if nnz <= 3750000.0 {
                return "csr-vector/t16/b256/f32";
            }
            return "csr-vector/t8/b256/f32";
        }
        if rows <= 2000.0 {
            return "csr-vector/t32/b512/f32";
        }
        if nnz <= 13000000.0 {
            if row_std <= 202.0 {
                if row_mean <= 74.0 {
                    return "csr-vector/t32/b256/f32";
                }
                return "csr-vector/t32/b128/f32";
            }
            return "csr-vector/t32/b512/f32";
        }
        return "csr-vector/t16/b128/f32";
    }
    return "csr-vector/t8/b128/f32";
}
// y = A x in f64 on NVIDIA H100 80GB HBM3: which of 30 candidates to run. By its profile of 2026-11-23.
// Made by `sparsight rules profiles/nvidia-h100 --candidates csr --leaves 32 --dtype f64 --format rs`, from 381 matrices.
// On 89 matrices that it has not seen: 5.3 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 76.4 %, at worst 1.68 times as slow.

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
pub(crate) fn nvidia_h100_csr_f64(rows: f64, columns: f64, nnz: f64, row_min: f64, row_max: f64, row_std: f64) -> &'static str {
    let row_mean = if rows > 0.0 { nnz / rows } else { 0.0 };
    let row_std_over_mean = if nnz > 0.0 { row_std / row_mean } else { 0.0 };
    if row_std <= 10.433 {
        if row_max <= 41.5 {
            if rows <= 7300.0 {
                if row_max <= 16.0 {
                    return "csr-vector/t16/b256/f64";
                }
                if row_std_over_mean <= 0.24 {
                    return "csr-vector/t32/b256/f64";
                }
                return "csr-vector/t32/b512/f64";
            }
            if row_max <= 6.0 {
                if rows <= 50000.0 {
                    return "csr-vector/t4/b256/f64";
                }
                if nnz <= 400000.0 {
                    return "csr-vector/t2/b512/f64";
                }
                return "csr-scalar/b128/f64";
            }
            if rows <= 38000.0 {
                if nnz <= 90000.0 {
                    return "csr-vector/t8/b512/f64";
                }
                return "csr-vector/t8/b256/f64";
            }
            if row_max <= 15.0 {
                return "csr-vector/t2/b128/f64";
            }
            if rows <= 185000.0 {
                if nnz <= 1300000.0 {
                    return "csr-vector/t4/b256/f64";
                }
                return "csr-vector/t4/b128/f64";
            }
            return "csr-vector/t4/b128/f64";
        }
        if rows <= 8000.0 {
            return "csr-vector/t32/b256/f64";
        }
        if rows <= 50000.0 {
            if row_std <= 5.0 {
                return "csr-vector/t8/b256/f64";
            }
            return "csr-vector/t16/b128/f64";
        }
        if row_std <= 2.1 {
            return "csr-vector/t4/b256/f64";
        }
        if row_mean <= 5.0 {
            return "csr-vector/t8/b256/f64";
        }
        if row_min <= 5.5 {
            return "csr-vector/t4/b256/f64";
        }
        return "csr-vector/t8/b128/f64";
    }
    if row_std <= 24.63 {
        if rows <= 56000.0 {
            if row_min <= 9.0 {
                return "csr-vector/t32/b256/f64";
            }
            return "csr-vector/t16/b256/f64";
        }
        if columns <= 500000.0 {
            if row_max <= 144.0 {
                return "csr-vector/t8/b128/f64";
            }
            return "csr-vector/t16/b256/f64";
        }
        return "csr-vector/t8/b128/f64";
    }
    if nnz <= 45000000.0 {
        if row_std <= 400.0 {
            if nnz <= 3600000.0 {
                if row_std <= 200.0 {
                    if nnz <= 90000.0 {
                        return "csr-vector/t32/b128/f64";
                    }
                    return "csr-vector/t32/b256/f64";
                }
                return "csr-vector/t32/b128/f64";
            }
            if row_std <= 82.0 {
                return "csr-vector/t16/b128/f64";
            }
            return "csr-vector/t32/b128/f64";
        }
        return "csr-vector/t32/b512/f64";
    }
    return "csr-vector/t16/b128/f64";
}
