// y = A x in f32 on NVIDIA H200: which of 30 candidates to run. By its profile of 2026-11-21.
// Made by `sparsight rules profiles/nvidia-h200 --candidates csr --leaves 32 --dtype f32 --format rs`, from 1,230 matrices.
// On 119 matrices that it has not seen: 7.6 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 63.9 %, at worst 2.66 times as slow.

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
pub(crate) fn nvidia_h200_csr_f32(rows: f64, columns: f64, nnz: f64, row_min: f64, row_max: f64, row_std: f64) -> &'static str {
    let _ = columns;
    let _ = row_min;
    let row_mean = if rows > 0.0 { nnz / rows } else { 0.0 };
    let row_max_over_mean = if nnz > 0.0 { row_max / row_mean } else { 0.0 };
    if row_max <= 220.0 {
        if rows <= 8760.0 {
            if row_max <= 16.0 {
                if row_max <= 7.5 {
                    return "csr-vector/t8/b256/f32";
                }
                return "csr-vector/t16/b256/f32";
            }
            if rows <= 5800.0 {
                return "csr-vector/t32/b256/f32";
            }
            return "csr-vector/t16/b512/f32";
        }
        if row_max <= 13.5 {
            if rows <= 53000.0 {
                if rows <= 22000.0 {
                    return "csr-vector/t8/b512/f32";
                }
                return "csr-vector/t4/b512/f32";
            }
            if row_mean <= 6.98 {
                if row_std <= 2.5 {
                    if nnz <= 1000000.0 {
                        return "csr-scalar/b256/f32";
                    }
                    return "csr-scalar/b128/f32";
                }
                return "csr-scalar/b1024/f32";
            }
            return "csr-vector/t2/b128/f32";
        }
        if rows <= 46000.0 {
            if rows <= 15700.0 {
                return "csr-vector/t16/b256/f32";
            }
            if row_max <= 130.0 {
                return "csr-vector/t8/b256/f32";
            }
            return "csr-vector/t16/b256/f32";
        }
        if row_mean <= 30.2 {
            if rows <= 450000.0 {
                if row_max_over_mean <= 36.0 {
                    if row_mean <= 2.6 {
                        return "csr-vector/t2/b256/f32";
                    }
                    return "csr-vector/t4/b256/f32";
                }
                return "csr-vector/t8/b256/f32";
            }
            if row_mean <= 16.7 {
                if rows <= 3500000.0 {
                    return "csr-vector/t2/b256/f32";
                }
                return "csr-scalar/b512/f32";
            }
            return "csr-vector/t4/b128/f32";
        }
        return "csr-vector/t8/b128/f32";
    }
    if row_max <= 680.0 {
        if rows <= 30000.0 {
            if rows <= 19000.0 {
                return "csr-vector/t32/b256/f32";
            }
            return "csr-vector/t16/b256/f32";
        }
        if rows <= 70000.0 {
            return "csr-vector/t16/b256/f32";
        }
        if rows <= 270000.0 {
            return "csr-vector/t8/b128/f32";
        }
        return "csr-vector/t4/b256/f32";
    }
    if nnz <= 32000000.0 {
        if row_mean <= 1.998 {
            if row_max <= 8000.0 {
                return "csr-vector/t8/b256/f32";
            }
            return "csr-vector/t32/b256/f32";
        }
        if nnz <= 4300000.0 {
            if nnz <= 3860000.0 {
                return "csr-vector/t32/b256/f32";
            }
            return "csr-vector/t16/b256/f32";
        }
        return "csr-vector/t32/b128/f32";
    }
    if row_max <= 40000.0 {
        return "csr-vector/t8/b128/f32";
    }
    return "csr-vector/t32/b128/f32";
}
// y = A x in f64 on NVIDIA H200: which of 30 candidates to run. By its profile of 2026-11-21.
// Made by `sparsight rules profiles/nvidia-h200 --candidates csr --leaves 32 --dtype f64 --format rs`, from 1,229 matrices.
// On 119 matrices that it has not seen: 6.8 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 75.6 %, at worst 2.45 times as slow.

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
pub(crate) fn nvidia_h200_csr_f64(rows: f64, columns: f64, nnz: f64, row_min: f64, row_max: f64, row_std: f64) -> &'static str {
    let _ = columns;
    let row_mean = if rows > 0.0 { nnz / rows } else { 0.0 };
    if row_max <= 124.0 {
        if rows <= 8750.0 {
            if row_max <= 16.0 {
                if row_max <= 8.0 {
                    return "csr-vector/t8/b256/f64";
                }
                return "csr-vector/t16/b256/f64";
            }
            if rows <= 2600.0 {
                return "csr-vector/t32/b256/f64";
            }
            return "csr-vector/t32/b512/f64";
        }
        if row_mean <= 1.1 {
            return "csr-scalar/b256/f64";
        }
        if row_std <= 6.0 {
            if rows <= 33000.0 {
                if row_max <= 26.0 {
                    if row_max <= 5.5 {
                        return "csr-vector/t4/b256/f64";
                    }
                    return "csr-vector/t8/b512/f64";
                }
                if rows <= 18600.0 {
                    return "csr-vector/t16/b512/f64";
                }
                return "csr-vector/t8/b256/f64";
            }
            if row_max <= 15.5 {
                if rows <= 70000.0 {
                    return "csr-vector/t4/b512/f64";
                }
                if row_mean <= 5.6 {
                    if nnz <= 330000.0 {
                        return "csr-vector/t2/b256/f64";
                    }
                    return "csr-scalar/b128/f64";
                }
                return "csr-vector/t2/b128/f64";
            }
            if row_min <= 16.0 {
                if nnz <= 736000.0 {
                    if row_max <= 75.0 {
                        return "csr-vector/t4/b256/f64";
                    }
                    return "csr-vector/t8/b256/f64";
                }
                return "csr-vector/t4/b128/f64";
            }
            return "csr-vector/t8/b128/f64";
        }
        if rows <= 17800.0 {
            return "csr-vector/t16/b512/f64";
        }
        if row_max <= 34.0 {
            return "csr-vector/t4/b256/f64";
        }
        if row_mean <= 54.0 {
            return "csr-vector/t8/b128/f64";
        }
        return "csr-vector/t16/b128/f64";
    }
    if row_max <= 680.0 {
        if rows <= 19400.0 {
            if nnz <= 1000000.0 {
                return "csr-vector/t32/b256/f64";
            }
            return "csr-vector/t16/b256/f64";
        }
        if rows <= 100000.0 {
            if row_std <= 4.0 {
                return "csr-vector/t8/b256/f64";
            }
            if row_mean <= 100.0 {
                return "csr-vector/t16/b256/f64";
            }
            return "csr-vector/t32/b128/f64";
        }
        return "csr-vector/t8/b128/f64";
    }
    if nnz <= 32000000.0 {
        if nnz <= 2570000.0 {
            if rows <= 400000.0 {
                return "csr-vector/t32/b256/f64";
            }
            return "csr-vector/t16/b256/f64";
        }
        return "csr-vector/t32/b128/f64";
    }
    if row_max <= 25000.0 {
        return "csr-vector/t16/b128/f64";
    }
    return "csr-vector/t32/b128/f64";
}
