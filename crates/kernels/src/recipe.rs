//! Recipes: the launches of a kernel as data, with entry points, numbers of thread blocks, and arguments in their order.
//!
//! ```text
//! csr_vector(first_row, nrows, row_ptr, col_idx, values, x, y, alpha, beta)
//! ```
//! The arguments are the kernel's parameters by name. A name is one of the matrix' numbers or arrays ([`sparsight_matrix::Stored`]),
//! or of the product: `x`, `y`, `alpha`, `beta`. The first argument is the row, tile or run that the first block starts with: cutting
//! a product into launches and launches into parts of a larger one takes nothing but another first argument.
//!
//! Every device that launches kernels runs the same recipe: a GPU, and the emulator of the tests.

use sparsight_matrix::{Dtype, NumberOf};

/// The values of a kernel's knobs, in their order; 0 where a variant lacks a knob.
pub type Knobs = [u32; 3];

/// Compilation and launches of a kernel.
#[derive(Debug)]
pub struct Recipe {
    /// CUDA C++ texts, joined in this order.
    pub sources: &'static [&'static str],
    /// Definitions of the knobs, beside `VALUE` and `BLOCK`.
    pub definitions: fn(Knobs) -> Vec<(&'static str, u32)>,
    /// True if `OFFSET`, the type of row offsets, is defined, too.
    pub reads_offsets: bool,
    /// Launches, in order.
    pub steps: &'static [LaunchStep],
    /// Static shared memory of the largest thread block, bytes.
    pub shared_bytes: fn(Knobs, Dtype) -> u64,
    /// True if two products of one matrix must not run at the same time, since they share memory between blocks.
    pub is_exclusive: bool,
}

/// Arrays of formats that kernels write to, for threads of the same product: room for partial sums and counters.
pub const SHARED_ROOM: [&str; 3] = ["partials", "counters", "heads"];

/// A launch of a product.
#[derive(Debug)]
pub struct LaunchStep {
    /// `extern "C"` kernel.
    pub entry: &'static str,
    /// Prefix of the names of the numbers and arrays of its part of the matrix: `coo.`; empty for all of it.
    pub part: &'static str,
    /// Number and size of the teams of threads; `number` looks up a number of the matrix.
    pub teams: fn(number: &NumberOf<'_>, knobs: Knobs, block: u32) -> Teams,
    /// True if it is written to begin before the launch in front of it has ended.
    pub may_overlap: bool,
}

/// Teams of threads that a launch consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Teams {
    /// Count.
    pub count: u64,
    /// Threads of each; a divisor of the block size.
    pub threads: u32,
}

impl LaunchStep {
    /// One thread per row of the whole matrix, after the launch in front of it. A family states the entry, and what else differs.
    pub const BASE: Self = Self {
        entry: "",
        part: "",
        teams: |number, _, _| Teams { count: number("nrows"), threads: 1 },
        may_overlap: false,
    };
}

impl Recipe {
    /// No definitions, no shared memory, and row offsets that are not read. A family states the sources and steps, and what else
    /// differs.
    pub const BASE: Self = Self {
        sources: &[],
        definitions: |_| Vec::new(),
        reads_offsets: false,
        steps: &[],
        shared_bytes: |_, _| 0,
        is_exclusive: false,
    };
}

/// A launch of a product on a matrix, before it is known where its arrays lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedLaunch {
    /// Number of the step.
    pub step: usize,
    /// Thread blocks.
    pub grid: u32,
    /// Step of the first argument from block to block.
    pub stride: u64,
    /// All arguments, in order.
    pub args: Vec<LaunchArg>,
    /// True if it may begin before the launch in front of it has ended.
    pub may_overlap: bool,
}

/// An argument of a [`PlannedLaunch`]; 64 bits each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchArg {
    /// A number.
    Number(u64),
    /// Address of an array of the matrix: the beginning and the rest of its name.
    Array(&'static str, &'static str),
    /// Address of x.
    X,
    /// Address of y.
    Y,
    /// The bits of alpha, a double.
    Alpha,
    /// The bits of beta, a double.
    Beta,
}

impl Recipe {
    /// Names of the arguments of a step behind the first: the parameters of its kernel.
    ///
    /// # Panics
    /// If the sources lack the kernel.
    pub fn args(&self, step: &LaunchStep) -> Vec<&'static str> {
        let mut kernels = self.sources.iter().flat_map(|text| kernels_in(text));
        let kernel = kernels.find(|(name, _)| *name == step.entry);
        kernel.expect("the sources have the kernels of the steps").1.split_off(1)
    }

    /// The launches of a kernel with these knobs and threads a block on a matrix whose numbers `number` knows: nearly always
    /// one a step; none for a step without anything to do, more where a step needs more than `most_blocks`.
    ///
    /// # Panics
    /// If `number` does not know a number that the recipe counts its threads by, which every layout of its format has.
    pub fn launches(
        &self,
        knobs: Knobs,
        block: u32,
        most_blocks: u32,
        number: impl Fn(&str) -> Option<u64>,
    ) -> Vec<PlannedLaunch> {
        let mut launches = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let of_part = |name: &str| number(&[step.part, name].concat()).or_else(|| number(name));
            let known = |name: &str| of_part(name).expect("a recipe names numbers of its format");
            let teams = (step.teams)(&known, knobs, block);
            let args: Vec<LaunchArg> = self
                .args(step)
                .into_iter()
                .map(|name| match name {
                    "x" => LaunchArg::X,
                    "y" => LaunchArg::Y,
                    "alpha" => LaunchArg::Alpha,
                    "beta" => LaunchArg::Beta,
                    name => of_part(name).map_or(LaunchArg::Array(step.part, name), LaunchArg::Number),
                })
                .collect();
            let stride = u64::from(block / teams.threads);
            let blocks = teams.count.div_ceil(stride);
            // Only over the launch that it was written to follow.
            let follows =
                |launches: &[PlannedLaunch]| launches.last().is_some_and(|before| before.step + 1 == at);
            for first in (0..blocks).step_by(most_blocks as usize) {
                let args = std::iter::once(LaunchArg::Number(first * stride)).chain(args.iter().copied());
                launches.push(PlannedLaunch {
                    step: at,
                    grid: (blocks - first).min(most_blocks.into()) as u32,
                    stride,
                    args: args.collect(),
                    may_overlap: step.may_overlap && first == 0 && follows(&launches),
                });
            }
        }
        launches
    }
}

/// Names of the kernels in CUDA source of this crate, and of their parameters.
pub(crate) fn kernels_in(text: &'static str) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let last_word = move |text: &'static str| text.rsplit(|c| !is_of_name(c)).find(|word| !word.is_empty());
    text.split("__global__ void").skip(1).filter_map(move |kernel| {
        let head = kernel.trim_start();
        let behind = if head.starts_with("__launch_bounds__") { head.split_once(')')?.1 } else { head };
        let (name, rest) = behind.split_once('(')?;
        Some((name.trim(), rest.split_once(')')?.0.split(',').filter_map(last_word).collect()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u32 = (1 << 31) - 1;

    static BY_ROWS: Recipe = Recipe {
        sources: &[
            "__global__ void __launch_bounds__(BLOCK)\nk(unsigned long long first_row, unsigned long long nrows,\n\
            unsigned long long width, const VALUE* __restrict__ values, const VALUE* x, VALUE *y, double alpha, double beta)\n{}",
        ],
        steps: &[LaunchStep {
            entry: "k",
            part: "ell.",
            teams: |number, knobs, _| Teams { count: number("nrows"), threads: knobs[0] },
            ..LaunchStep::BASE
        }],
        ..Recipe::BASE
    };

    fn launches(nrows: u64, threads: u32, block: u32) -> Vec<(LaunchArg, u32)> {
        let number = |name: &str| match name {
            "nrows" => Some(nrows),
            "ell.width" => Some(7),
            _ => None,
        };
        let all = BY_ROWS.launches([threads, 0, 0], block, MOST, number);
        for launch in &all {
            use LaunchArg::{Alpha, Array, Beta, Number, X, Y};
            assert_eq!(
                launch.args[1..],
                [Number(nrows), Number(7), Array("ell.", "values"), X, Y, Alpha, Beta]
            );
            assert_eq!(launch.stride, u64::from(block / threads));
        }
        all.iter().map(|launch| (launch.args[0], launch.grid)).collect()
    }

    #[test]
    fn kernels_write_to_y_and_to_shared_room_alone() {
        for kernel in crate::Kernel::all() {
            let Some(recipe) = kernel.recipe() else { continue };
            let text = recipe.sources.concat();
            let heads = text.split("__global__ void").skip(1).filter_map(|kernel| {
                let behind = kernel.trim_start().strip_prefix("__launch_bounds__(BLOCK")?.split_once('(')?.1;
                Some(behind.split_once(')')?.0)
            });
            let mut written: Vec<&str> = heads
                .flat_map(|head| head.split(','))
                .filter(|one| one.contains('*') && !one.contains("const"))
                .filter_map(|one| one.rsplit([' ', '*']).next())
                .filter(|name| *name != "y")
                .collect();
            written.dedup();
            assert!(written.iter().all(|name| SHARED_ROOM.contains(name)), "{kernel}: {written:?}");
            assert_eq!(recipe.is_exclusive, !written.is_empty(), "{kernel}: {written:?}");
        }
    }

    #[test]
    fn rows_beyond_one_grid_continue_in_the_next_launch() {
        assert_eq!(launches(0, 1, 64), []);
        assert_eq!(launches(1, 32, 64), [(LaunchArg::Number(0), 1)]);
        assert_eq!(launches(1000, 2, 64), [(LaunchArg::Number(0), 32)]);
        // A warp per row in blocks of 64: 2 rows a block, so 2^32 + 6 rows need 2^31 + 3 blocks.
        let wanted = [(LaunchArg::Number(0), MOST), (LaunchArg::Number(2 * u64::from(MOST)), 4)];
        assert_eq!(launches((1 << 32) + 6, 32, 64), wanted);
    }
}
