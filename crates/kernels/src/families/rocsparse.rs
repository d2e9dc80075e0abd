//! `rocsparse-csr`, `rocsparse-coo`, `rocsparse-ell`, `rocsparse-bsr`: routines of AMD's own library, rocSPARSE (`rocsparse_spmv`, its
//! preprocess stage before the first product). They have not run on a GPU, and no model has learned their times: each is run where it is
//! named, on devices of HIP.

use super::cusparse::ROUTINE;
use crate::family::{Elsewhere, Family, Run};
use crate::{Rocsparse, Vendor};
use sparsight_matrix::{BLOCK_SIDES, Format, Knob};

/// CSR. An algorithm has its number in `rocsparse_spmv_alg`; without one it is the library's choice.
pub(super) static CSR: Family = Family {
    name: "rocsparse-csr",
    summary: "rocSPARSE on CSR",
    knobs: &[Knob { letter: 'a', meaning: "algorithm: 2 adaptive, 3 stream, 7 LRB" }],
    variants: || vec![[0; 3], [2, 0, 0], [3, 0, 0], [7, 0, 0]],
    repeatable: |[algorithm, ..]| algorithm == 3,
    run: |[algorithm, ..]| {
        Run::Vendor(Vendor::Rocsparse(match algorithm {
            2 => Rocsparse::CsrAdaptive,
            3 => Rocsparse::CsrStream,
            7 => Rocsparse::CsrLrb,
            _ => Rocsparse::Csr,
        }))
    },
    elsewhere: &[Elsewhere {
        library: "rocSPARSE",
        name: "rocsparse_spmv, rocsparse_spmv_alg_csr_adaptive (a2), csr_stream (a3), csr_lrb (a7)",
    }],
    ..UNLEARNED
};

/// COO, sorted by rows.
pub(super) static COO: Family = Family {
    name: "rocsparse-coo",
    summary: "rocSPARSE on COO",
    repeatable: |_| true,
    format: |_| Format::of("coo", [0; 2]),
    run: |_| Run::Vendor(Vendor::Rocsparse(Rocsparse::Coo)),
    elsewhere: &[Elsewhere { library: "rocSPARSE", name: "rocsparse_spmv, rocsparse_spmv_alg_coo" }],
    ..UNLEARNED
};

/// ELL of a matrix whose number of rows is a multiple of 32: the library's columns lie without gaps.
pub(super) static ELL: Family = Family {
    name: "rocsparse-ell",
    summary: "rocSPARSE on ELL",
    repeatable: |_| true,
    format: |_| Format::of("ell", [0; 2]),
    run: |_| Run::Vendor(Vendor::Rocsparse(Rocsparse::Ell)),
    elsewhere: &[Elsewhere { library: "rocSPARSE", name: "rocsparse_spmv, rocsparse_spmv_alg_ell" }],
    ..UNLEARNED
};

/// BSR with square blocks.
pub(super) static BSR: Family = Family {
    name: "rocsparse-bsr",
    summary: "rocSPARSE on BSR",
    knobs: &[Knob { letter: 'b', meaning: "rows and columns of a block" }],
    variants: || BLOCK_SIDES.into_iter().map(|side| [side, 0, 0]).collect(),
    repeatable: |_| true,
    format: |[side, ..]| Format::of("bcsr", [side, 0]),
    run: |_| Run::Vendor(Vendor::Rocsparse(Rocsparse::Bsr)),
    elsewhere: &[Elsewhere {
        library: "rocSPARSE",
        name: "rocsparse_spmv, rocsparse_spmv_alg_bsr; rocsparse_sbsrmv, rocsparse_dbsrmv",
    }],
    ..UNLEARNED
};

/// Answers that all of these share.
const UNLEARNED: Family = Family { retired: |_| true, ..ROUTINE };
