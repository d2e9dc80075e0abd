//! `cusparse-csr`, `cusparse-coo`, `cusparse-sell`, `cusparse-bsr`, `cusparse-spmvop`: routines of the vendor's own library, cuSPARSE
//! (`cusparseSpMV` after `cusparseSpMV_preprocess`, the older `bsrmv`, and `cusparseSpMVOp` of newer versions). Candidates like ours, but its
//! code, its threads and its blocks.

use crate::family::{Elsewhere, Family, Run, blocks_of_threads, work_of_blocks, work_of_teams};
use crate::{StripUnit, Vendor};
use sparsight_matrix::{BLOCK_SIDES, Format, Knob};

/// The library decides.
const NO_BLOCKS: &[u32] = &[0];

/// CSR, algorithm 1, the library's default, and 2, which gives the same y bit by bit on every run.
pub(super) static CSR: Family = Family {
    name: "cusparse-csr",
    summary: "cuSPARSE on CSR",
    knobs: &[Knob { letter: 'a', meaning: "algorithm" }],
    variants: || vec![[1, 0, 0], [2, 0, 0]],
    repeatable: |[algorithm, ..]| algorithm == 2,
    format: |_| Format::csr(),
    run: |[algorithm, ..]| Run::Vendor(if algorithm == 1 { Vendor::CsrAlg1 } else { Vendor::CsrAlg2 }),
    elsewhere: &[Elsewhere {
        library: "cuSPARSE",
        name: "cusparseCreateCsr, CUSPARSE_SPMV_CSR_ALG1 (a1) and ALG2 (a2)",
    }],
    ..ROUTINE
};

/// COO, algorithm 1.
pub(super) static COO: Family = Family {
    name: "cusparse-coo",
    summary: "cuSPARSE on COO",
    format: |_| Format::of("coo", [0; 2]),
    run: |_| Run::Vendor(Vendor::Coo),
    elsewhere: &[Elsewhere { library: "cuSPARSE", name: "cusparseCreateCoo, CUSPARSE_SPMV_COO_ALG1" }],
    ..ROUTINE
};

/// Sliced ELL with slices of 32 rows, which the library does not sort.
pub(super) static SELL: Family = Family {
    name: "cusparse-sell",
    summary: "cuSPARSE on sliced ELL",
    format: |_| Format::of("sell", [32, 1]),
    // As if it had one thread a row, as lines of loads are counted too, and blocks of 128: what is large with those is large with others.
    warp_work: |_, _, f| Some(work_of_teams(1, 128, f)),
    run: |_| Run::Vendor(Vendor::Sell),
    elsewhere: &[Elsewhere { library: "cuSPARSE", name: "cusparseCreateSlicedEll, CUSPARSE_SPMV_SELL_ALG1" }],
    ..ROUTINE
};

/// BSR with square blocks: 1, the generic routine, and 2, the older `bsrmv`, which is faster for some sizes of blocks.
pub(super) static BSR: Family = Family {
    name: "cusparse-bsr",
    summary: "cuSPARSE on BSR",
    knobs: &[
        Knob { letter: 'b', meaning: "rows and columns of a block" },
        Knob { letter: 'a', meaning: "algorithm" },
    ],
    variants: || {
        BLOCK_SIDES.into_iter().flat_map(|side| [1, 2].map(|algorithm| [side, algorithm, 0])).collect()
    },
    format: |[side, ..]| Format::of("bcsr", [side, 0]),
    warp_work: |[side, ..], _, f| Some(work_of_blocks(side, 1, f)),
    run: |[_, algorithm, _]| Run::Vendor(if algorithm == 1 { Vendor::Bsr } else { Vendor::Bsrmv }),
    elsewhere: &[Elsewhere {
        library: "cuSPARSE",
        name: "cusparseCreateBsr, CUSPARSE_SPMV_BSR_ALG1 (a1); bsrmv (a2)",
    }],
    ..ROUTINE
};

/// CSR by `cusparseSpMVOp`, which cuSPARSE has since 12.8.1 (CUDA 13.3) in this form. Its version is not the one that the profiles were
/// measured with: no model has learned its times.
pub(super) static SPMVOP: Family = Family {
    name: "cusparse-spmvop",
    summary: "SpMVOp of newer cuSPARSE on CSR",
    knobs: &[Knob { letter: 'a', meaning: "algorithm" }],
    variants: || vec![[1, 0, 0], [2, 0, 0]],
    retired: |_| true,
    run: |[algorithm, ..]| Run::Vendor(if algorithm == 1 { Vendor::OpAlg1 } else { Vendor::OpAlg2 }),
    elsewhere: &[Elsewhere {
        library: "cuSPARSE",
        name: "cusparseSpMVOp, CUSPARSE_SPMVOP_ALG1 (a1) and ALG2 (a2)",
    }],
    ..ROUTINE
};

/// Answers that all routines share, also those of other makers. How they share out the work is not published: a strip of theirs counts
/// non-zeros, and no time is carried to another device.
pub(super) const ROUTINE: Family = Family {
    // Only algorithm 2 of CSR is documented to be.
    repeatable: |_| false,
    blocks: |_| NO_BLOCKS,
    run: |_| Run::Vendor(Vendor::CsrAlg1),
    thread_blocks: |_, block, f| {
        if block == 0 { 0.0 } else { blocks_of_threads(StripUnit::NonZeros, 1, block, f) }
    },
    ..Family::BY_NON_ZEROS
};
