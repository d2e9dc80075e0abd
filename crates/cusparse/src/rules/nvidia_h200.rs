// y = A x in f32 on NVIDIA H200: which of 30 candidates to run. By its profile of 2026-11-21.
// Made by `sparsight rules profiles/nvidia-h200 --candidates csr --leaves 32 --dtype f32 --format rs`, from 1,315 matrices.
// On 119 matrices that it has not seen: 5.1 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 68.9 %, at worst 1.72 times as slow.

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
pub(crate) fn nvidia_h200_csr_f32(rows: f64, columns: f64, nnz: f64, row_min: f64, row_max: f64, row_std: f64) -> &'static str {
    let _ = row_min;
    let row_mean = if rows > 0.0 { nnz / rows } else { 0.0 };
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
        if row_max <= 14.0 {
            if rows <= 53000.0 {
                if rows <= 22000.0 {
                    return "csr-vector/t8/b512/f32";
                }
                return "csr-vector/t4/b512/f32";
            }
            if row_mean <= 6.98 {
                if row_std <= 2.5 {
                    return "csr-scalar/b256/f32";
                }
                return "csr-scalar/b1024/f32";
            }
            return "csr-vector/t2/b128/f32";
        }
        if row_mean <= 28.2 {
            if rows <= 34000.0 {
                if rows <= 15600.0 {
                    return "csr-vector/t16/b256/f32";
                }
                return "csr-vector/t8/b512/f32";
            }
            if rows <= 450000.0 {
                if row_max <= 130.0 {
                    if row_mean <= 2.35 {
                        return "csr-vector/t2/b256/f32";
                    }
                    return "csr-vector/t4/b256/f32";
                }
                if nnz <= 560000.0 {
                    return "csr-vector/t8/b256/f32";
                }
                return "csr-vector/t4/b128/f32";
            }
            if row_mean <= 19.842 {
                if columns <= 3700000.0 {
                    return "csr-vector/t2/b256/f32";
                }
                return "csr-scalar/b512/f32";
            }
            return "csr-vector/t4/b64/f32";
        }
        if row_std <= 24.0 {
            return "csr-vector/t8/b128/f32";
        }
        return "csr-vector/t16/b256/f32";
    }
    if row_std <= 49.4 {
        if rows <= 24000.0 {
            return "csr-vector/t32/b256/f32";
        }
        if columns <= 200000.0 {
            if row_max <= 2530.0 {
                if rows <= 87000.0 {
                    return "csr-vector/t16/b256/f32";
                }
                if row_max <= 660.0 {
                    return "csr-vector/t8/b128/f32";
                }
                return "csr-vector/t16/b256/f32";
            }
            return "csr-vector/t32/b256/f32";
        }
        if columns <= 1500000.0 {
            if row_max <= 2450.0 {
                return "csr-vector/t8/b256/f32";
            }
            return "csr-vector/t16/b256/f32";
        }
        return "csr-vector/t4/b128/f32";
    }
    if nnz <= 24000000.0 {
        if nnz <= 4800000.0 {
            return "csr-vector/t32/b256/f32";
        }
        if row_std <= 90.0 {
            return "csr-vector/t16/b256/f32";
        }
        return "csr-vector/t32/b128/f32";
    }
    return "csr-vector/t16/b128/f32";
}
// y = A x in f64 on NVIDIA H200: which of 30 candidates to run. By its profile of 2026-11-21.
// Made by `sparsight rules profiles/nvidia-h200 --candidates csr --leaves 32 --dtype f64 --format rs`, from 1,314 matrices.
// On 119 matrices that it has not seen: 6.8 % slower than the best of these candidates on average
// (geometric mean), within 5 % of it on 79.0 %, at worst 2.45 times as slow.

// The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.
// A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple
// of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.
pub(crate) fn nvidia_h200_csr_f64(rows: f64, columns: f64, nnz: f64, row_min: f64, row_max: f64, row_std: f64) -> &'static str {
    let _ = row_min;
    let row_mean = if rows > 0.0 { nnz / rows } else { 0.0 };
    let row_max_over_mean = if nnz > 0.0 { row_max / row_mean } else { 0.0 };
    if row_max <= 130.0 {
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
        if row_mean <= 28.2 {
            if row_max <= 14.0 {
                if rows <= 70000.0 {
                    if rows <= 22000.0 {
                        if row_max <= 5.5 {
                            return "csr-vector/t4/b256/f64";
                        }
                        return "csr-vector/t8/b512/f64";
                    }
                    return "csr-vector/t4/b512/f64";
                }
                if row_mean <= 5.4 {
                    if rows <= 128000.0 {
                        return "csr-vector/t2/b512/f64";
                    }
                    if nnz <= 530000.0 {
                        return "csr-scalar/b256/f64";
                    }
                    return "csr-scalar/b128/f64";
                }
                return "csr-vector/t2/b128/f64";
            }
            if rows <= 45000.0 {
                if rows <= 17000.0 {
                    return "csr-vector/t16/b512/f64";
                }
                if row_max_over_mean <= 1.6 {
                    return "csr-vector/t4/b256/f64";
                }
                if columns <= 26000.0 {
                    return "csr-vector/t8/b512/f64";
                }
                return "csr-vector/t8/b256/f64";
            }
            if row_mean <= 2.35 {
                return "csr-vector/t2/b256/f64";
            }
            if columns <= 6000000.0 {
                if row_mean <= 7.02 {
                    return "csr-vector/t4/b256/f64";
                }
                return "csr-vector/t4/b128/f64";
            }
            return "csr-vector/t2/b128/f64";
        }
        if row_mean <= 61.4 {
            return "csr-vector/t8/b128/f64";
        }
        return "csr-vector/t16/b128/f64";
    }
    if row_max <= 680.0 {
        if rows <= 19400.0 {
            if nnz <= 1500000.0 {
                return "csr-vector/t32/b256/f64";
            }
            return "csr-vector/t16/b256/f64";
        }
        if rows <= 100000.0 {
            if row_mean <= 130.0 {
                if row_std <= 5.0 {
                    return "csr-vector/t8/b256/f64";
                }
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
