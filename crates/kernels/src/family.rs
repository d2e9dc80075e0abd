//! Kernel families: everything that the rest of the program asks about kernels, answered by their files.
//!
//! A family is some kernels that differ in the values of their knobs. Each has one file in `families/` with one `static`
//! [`Family`], beside its CUDA source. Nothing outside of these files asks which kernel it has before it.

use crate::cpu::CpuProducts;
use crate::recipe::{Knobs, Recipe};
use crate::{DeviceKind, StripUnit};
pub use sparsight_matrix::Elsewhere;
use sparsight_matrix::{Features, Format, Knob, Locality, THREAD_BLOCKS, TeamBlocks};
use std::fmt;

/// Kernels that differ in their knobs, as data: a table of everything that is asked about them.
pub struct Family {
    /// The one name used in the `.cu` file, ids and reports.
    pub name: &'static str,
    /// Mapping of threads in a few words: "one thread per row of CSR".
    pub summary: &'static str,
    /// Knobs that its variants differ in. An id names those that are not 0.
    pub knobs: &'static [Knob],
    /// Variants of the catalogue, in the order in which tables list them.
    pub variants: fn() -> Vec<Knobs>,
    /// True if a variant is ranked on no GPU: on none of 951 matrices on an H200 and 353 on an H100 it was more than 3 % faster than all that are
    /// left (docs/results/h200-large.md), or it is a vendor's routine that no model has learned. It can still be named, for the
    /// tables of the papers, for other GPUs, and to be compared with.
    pub retired: fn(Knobs) -> bool,
    /// True if a product on a GPU gives the same y bit by bit each time: each sum has one order, whichever threads come first.
    pub repeatable: fn(Knobs) -> bool,
    /// True if several thread blocks share a row of a matrix with these features: which of them ends it differs from run to run, so no
    /// dot products are added up in the launch.
    pub shares_rows: fn(Knobs, &Features) -> bool,
    /// Format that a variant reads.
    pub format: fn(Knobs) -> Format,
    /// True if a CPU runs a variant, if it runs the family at all ([`Family::cpu`]).
    pub on_cpu: fn(Knobs) -> bool,
    /// Threads a block that it can be run with; 0 alone where the vendor's library decides.
    pub blocks: fn(Knobs) -> &'static [u32],
    /// Launches or vendor's routine with which a GPU runs it.
    pub run: fn(Knobs) -> Run,
    /// Product on a CPU; `None` if no CPU runs it.
    pub cpu: Option<CpuProducts>,
    /// Unit of a strip: what threads are given to.
    pub unit: StripUnit,
    /// Threads that work on one row; `None` where threads are given to non-zeros, or not all rows get as many.
    pub threads_per_row: fn(Knobs) -> Option<u32>,
    /// Work of warps with thread blocks of so many threads, as models count it; `None` where threads are given to non-zeros alone.
    pub warp_work: fn(Knobs, u32, &Features) -> Option<WarpWork>,
    /// Thread blocks of a launch on a matrix with these features, as models count them.
    pub thread_blocks: fn(Knobs, u32, &Features) -> f64,
    /// The papers' strip model that describes it.
    pub strip_rule: StripRule,
    /// Names of the kernel in other libraries; those of its format stand with the format: [`Kernel::elsewhere`](crate::Kernel::elsewhere).
    pub elsewhere: &'static [Elsewhere],
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Work of warps on a matrix, in steps: a step takes each thread of a warp to the next entry of its row. Where warps add to y by atomics it
/// is in additions, for which they wait as for the slowest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarpWork {
    /// Steps of the warp that works longest.
    pub longest: f64,
    /// Steps of all warps; 0 where the order of the rows is not known, and where every warp takes the same number of them.
    pub steps: f64,
    /// Steps of all warps of the thread block that has most of them, or all additions over what they are shared out to; 0 if not counted.
    pub heaviest: f64,
    /// Steps that the places of all warps are kept for: of each thread block its warps times the steps of the slowest; 0 if not
    /// counted.
    pub kept: f64,
}

impl WarpWork {
    /// Work of which that of thread blocks is not counted.
    pub(crate) fn of_warps(longest: f64, steps: f64) -> Self {
        Self { longest, steps, heaviest: 0.0, kept: 0.0 }
    }
}

/// Way in which a GPU runs a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Run {
    /// Launches of our own.
    Launches(&'static Recipe),
    /// A routine of the vendor's library.
    Vendor(Vendor),
}

/// A sparse product of a GPU maker's library. Of cuSPARSE, `cusparseSpMV` after `cusparseSpMV_preprocess`, where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vendor {
    /// CSR, algorithm 1: the library's default.
    CsrAlg1,
    /// CSR, algorithm 2: the same y bit by bit on every run.
    CsrAlg2,
    /// COO, algorithm 1.
    Coo,
    /// Sliced ELL.
    Sell,
    /// BSR.
    Bsr,
    /// BSR by the older routine (`cusparseSbsrmv`, `cusparseDbsrmv`), which has no preprocess step.
    Bsrmv,
    /// CSR by `cusparseSpMVOp` of newer libraries, algorithm 1.
    OpAlg1,
    /// CSR by `cusparseSpMVOp`, algorithm 2: its default.
    OpAlg2,
    /// `rocsparse_spmv` of rocSPARSE, its preprocess stage before the first product.
    Rocsparse(Rocsparse),
}

/// Matrix and algorithm of a `rocsparse_spmv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rocsparse {
    /// CSR, the algorithm that the library chooses.
    Csr,
    /// CSR, groups of rows by their lengths, which the preprocess stage finds.
    CsrAdaptive,
    /// CSR, as many threads for every row: the same y bit by bit on every run.
    CsrStream,
    /// CSR, rows binned by the logarithm of their length, since 3.1.
    CsrLrb,
    /// COO, sums by segments: the same y bit by bit on every run.
    Coo,
    /// ELL.
    Ell,
    /// BSR: what `rocsparse_sbsrmv` and `rocsparse_dbsrmv` do, too.
    Bsr,
}

impl Vendor {
    /// Kind of the devices that have it.
    pub const fn kind(self) -> DeviceKind {
        if matches!(self, Self::Rocsparse(_)) { DeviceKind::Hip } else { DeviceKind::Cuda }
    }

    /// Maker of its library.
    pub const fn maker(self) -> &'static str {
        if matches!(self, Self::Rocsparse(_)) { "AMD" } else { "NVIDIA" }
    }
}

/// The papers' strip model that describes a kernel. Kernels are named by their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StripRule {
    /// `T = E(p) / T_2 * E'(I)`: teams of threads, with a threshold on p (Guo, Wang and Chen 2014).
    Csr,
    /// `T = f(I) p + g(I)`: one thread per row.
    Ell,
    /// `T = E(I)`: one thread per non-zero, or per row or non-zero.
    Coo,
    /// The sum of two kernels on two parts of the matrix, as HYB has them.
    Parts {
        /// Kernel of the part with rows of equal length.
        ell: &'static str,
        /// Kernel of the rest.
        coo: &'static str,
    },
    /// None: it has no benchmark matrices and is learned alone.
    None,
}

/// Threads a block of the catalogue, for kernels of our own.
pub const BLOCKS: [u32; 5] = THREAD_BLOCKS;

impl Family {
    /// One thread per row, in launches of our own and on a CPU, with one variant; no strip model describes it. The
    /// file of a family states its name, summary, format, launches and product on a CPU, and what else differs.
    pub const BASE: Self = Self {
        name: "",
        summary: "",
        knobs: &[],
        variants: || vec![[0; 3]],
        retired: |_| false,
        repeatable: |_| true,
        shares_rows: |_, _| false,
        format: |_| Format::csr(),
        on_cpu: |_| true,
        blocks: |_| &BLOCKS,
        run: |_| Run::Launches(&Recipe::BASE),
        cpu: None,
        unit: StripUnit::Rows,
        threads_per_row: |_| Some(1),
        warp_work: |_, block, f| Some(work_of_teams(1, block, f)),
        thread_blocks: |_, block, f| blocks_of_threads(StripUnit::Rows, 1, block, f),
        strip_rule: StripRule::None,
        elsewhere: &[],
    };

    /// One thread per non-zero, else as [`Family::BASE`].
    pub(crate) const BY_NON_ZEROS: Self = Self {
        unit: StripUnit::NonZeros,
        threads_per_row: |_| None,
        warp_work: |_, _, _| None,
        thread_blocks: |_, block, f| blocks_of_threads(StripUnit::NonZeros, 1, block, f),
        ..Self::BASE
    };
}

/// Steps where each row gets a team of `threads`, a power of two, in the order that the matrix has.
pub(crate) fn work_of_teams(threads: u32, block: u32, f: &Features) -> WarpWork {
    let team = Locality::team(threads);
    let steps = f.locality.as_ref().map_or(0, |locality| locality.team_steps[team]);
    let size = TeamBlocks::BLOCKS.iter().position(|known| *known == block);
    let of_blocks =
        f.team_blocks.zip(size).map(|(all, size)| (all.heaviest[team][size], all.dragged[team][size]));
    let (heaviest, dragged) = of_blocks.unwrap_or((0, 0));
    WarpWork {
        longest: f.row_max as f64 / f64::from(threads),
        steps: steps as f64,
        heaviest: heaviest as f64,
        kept: dragged as f64 * f64::from(block) / 32.0,
    }
}

/// Steps of rows of blocks, each of which takes a thread along `side` entries of its row. If they were not counted, as many blocks
/// as the longest row needs at least.
pub(crate) fn work_of_blocks(side: u32, threads: u32, f: &Features) -> WarpWork {
    let count = f.blocks_of(side);
    let longest = count.map_or(0, |count| count.longest * u64::from(side)).max(f.row_max);
    // A slice of 32 rows of blocks is worked on by as many warps as a block has rows.
    let steps = count.map_or(0, |count| count.stored / 32 * u64::from(side * side));
    WarpWork::of_warps(longest as f64 / f64::from(threads), steps as f64)
}

/// Thread blocks where each of `unit` gets `threads` threads.
pub(crate) fn blocks_of_threads(unit: StripUnit, threads: u32, block: u32, f: &Features) -> f64 {
    unit.count(f.nrows, f.nnz) as f64 * f64::from(threads) / f64::from(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kernel;

    #[test]
    fn every_family_states_what_the_base_leaves_open() {
        for kernel in Kernel::all() {
            let family = kernel.family();
            assert!(!family.name.is_empty() && !family.summary.is_empty(), "{kernel:?}");
            let launches = |recipe: &Recipe| {
                recipe.steps.iter().all(|step| !step.entry.is_empty() && !recipe.args(step).is_empty())
            };
            let is_stated =
                |recipe: &Recipe| !recipe.sources.is_empty() && !recipe.steps.is_empty() && launches(recipe);
            assert!(kernel.recipe().is_none_or(is_stated), "{kernel}");
        }
    }

    #[test]
    fn a_kernel_is_repeatable_unless_threads_add_to_y_as_they_come() {
        let mut as_they_come = 0;
        for kernel in Kernel::all() {
            let Some(recipe) = kernel.recipe() else { continue };
            // Counting who has ended is no sum.
            let is_sum =
                |call: &str| call.starts_with(char::is_uppercase) && !call.starts_with("Inc(counters");
            let adds = recipe.sources.iter().any(|text| text.split("atomic").skip(1).any(is_sum));
            assert_eq!((kernel.family().repeatable)(kernel.knobs()), !adds, "{kernel}");
            as_they_come += usize::from(adds);
        }
        assert!(as_they_come > 0);
    }
}
