//! Fusion of several kernels: each part of a matrix in its own format, all in one launch.
//!
//! ```text
//! variants    csr-scalar    namespace variant_0 { csr_scalar.cu with its definitions, as a device function }
//!             ell           namespace variant_1 { ell.cu ... }
//!                           fused.cu: the kernel, in which each block finds its part and calls its variant
//! blocks      0 1 2 3 4 5 6 | 7 8 | 9 ...
//! part        0               1     2          FusedParts: end_block, variant and arguments of each
//! ```
//! The kernels work on `first + blockIdx.x step` (rows, mostly). A part that starts at block b is given
//! `first - b step` for `first`, modulo 2^64 as the kernels compute: none of them has to know that others run beside it.

use crate::source::{helper, stored, vectors};
use crate::{Candidate, Kernel, KernelSource, source};
use sparsight_matrix::Dtype;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Most parts of a fused launch. Chosen: all of them, 192 bytes each, are one parameter, which may have 4 KiB, and a
/// block that looks for its part makes that many comparisons at most.
pub const FUSED_PARTS: usize = 16;

/// Most arguments of a kernel in a fused launch. Chosen: as many as still fit beside 16 parts with some room.
pub const FUSED_ARGS: usize = 22;

/// 64-bit words of a part in front of its arguments.
const HEAD: usize = 2;
const PART: usize = HEAD + FUSED_ARGS;

const FUSED: &str = helper!("fused.cu");

/// Static shared memory that a thread block may have. A property of all CUDA devices so far; more would have to be asked
/// for at each launch.
const SHARED_BYTES: u64 = 48 << 10;

/// Returns whether the kernels fit into one launch together: the shared memory of csr-balanced's tiles and of long rows' sums is
/// there once for each variant, as are the sums of teams of SELL-C-sigma.
pub fn fits_one_launch(kernels: impl IntoIterator<Item = Kernel>, dtype: Dtype) -> bool {
    let variants: BTreeSet<Kernel> = kernels.into_iter().collect();
    let bytes =
        |kernel: &Kernel| kernel.recipe().map_or(0, |recipe| (recipe.shared_bytes)(kernel.knobs(), dtype));
    variants.iter().map(bytes).sum::<u64>() <= SHARED_BYTES
}

/// Beginning of every kernel that multiplies, and its replacement where another kernel calls it.
pub(crate) const KERNEL: &str = "extern \"C\" __global__ void __launch_bounds__(BLOCK)";
pub(crate) const FUNCTION: &str = "static __device__ __forceinline__ void";

/// The one entry point and its number of arguments, if they can be part of a fused launch.
fn entry_point(kernel: Kernel) -> Option<(&'static str, usize)> {
    let recipe = kernel.recipe()?;
    let [step] = recipe.steps else { return None };
    let args = 1 + recipe.args(step).len();
    (args <= FUSED_ARGS).then_some((step.entry, args))
}

/// Source of the kernel `fused`, in which variant i is `variants[i]`: a kernel and the width of its row offsets, 4 or 8.
/// Its one parameter is [`FusedParts::words`].
///
/// `None` if one of them [shares no launch](Kernel::shares_a_launch).
pub fn fused_source(variants: &[(Kernel, u64)], dtype: Dtype, block: u32) -> Option<KernelSource> {
    let mut text = String::new();
    let mut cases = String::new();
    for (number, &(kernel, offset_bytes)) in variants.iter().enumerate() {
        let own = source(&Candidate { kernel, block, dtype }, offset_bytes)?;
        let (entry, args) = entry_point(kernel)?;
        let definitions: Vec<(&str, &str)> = own
            .definitions
            .iter()
            .filter_map(|definition| definition.split_once('='))
            .filter(|(name, _)| !["STORED", "VALUE", "BLOCK"].contains(name))
            .collect();
        let _ = writeln!(text, "namespace variant_{number} {{");
        for (name, value) in &definitions {
            let _ = writeln!(text, "#define {name} {value}");
        }
        text.push_str(&own.text.replace(KERNEL, FUNCTION));
        for (name, _) in &definitions {
            let _ = writeln!(text, "#undef {name}");
        }
        text.push_str("}\n");
        let args: Vec<String> = (0..args).map(|i| format!("parts.part[p].args[{i}]")).collect();
        let _ = write!(cases, " case {number}: variant_{number}::{entry}({}); break;", args.join(", "));
    }
    let _ = writeln!(text, "#define VARIANTS{cases}");
    text.push_str(FUSED);
    let definitions = vec![
        stored(dtype),
        vectors(dtype),
        format!("BLOCK={block}"),
        format!("PARTS={FUSED_PARTS}"),
        format!("ARGS={FUSED_ARGS}"),
    ];
    Some(KernelSource { text, definitions, entry_points: vec!["fused".to_owned()] })
}

/// The parts of one fused launch: the parameter of the kernel `fused`, its grid, and where arguments lie in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FusedParts {
    words: Vec<u64>,
    count: usize,
    blocks: u64,
}

impl FusedParts {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self { words: vec![0; FUSED_PARTS * PART], count: 0, blocks: 0 }
    }

    /// Adds a part that by itself would be `grid` blocks of `variant` with `args`, of which the first advances by
    /// `step` a block. The place of its first argument in [`FusedParts::words`].
    ///
    /// # Panics
    /// If there are [`FUSED_PARTS`] already, or more than [`FUSED_ARGS`] arguments.
    pub fn push(&mut self, variant: usize, grid: u32, step: u64, args: &[u64]) -> usize {
        assert!(self.count < FUSED_PARTS && args.len() <= FUSED_ARGS, "part {} with {args:?}", self.count);
        let at = self.count * PART;
        let first = args.first().copied().unwrap_or_default();
        let before = self.blocks;
        self.count += 1;
        self.blocks += u64::from(grid);
        self.words[at] = self.blocks;
        self.words[at + 1] = variant as u64;
        let place = at + HEAD;
        self.words[place..place + args.len()].copy_from_slice(args);
        self.words[place] = first.wrapping_sub(before.wrapping_mul(step));
        place
    }

    /// Blocks of the launch.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The parameter, 64 bits a word.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

impl Default for FusedParts {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::TileShape;

    #[test]
    fn each_variant_has_a_namespace_its_definitions_and_a_case_with_all_arguments() {
        let variants = ["csr-vector/t8", "sell/c32/s1"].map(|id| (Kernel::known(id), 4));
        let fused = fused_source(&variants, Dtype::F64, 256).unwrap();
        for part in [
            "namespace variant_0 {\n#define OFFSET unsigned int\n#define THREADS_PER_ROW 8\n",
            "#undef THREADS_PER_ROW\n}\nnamespace variant_1 {\n#define SLICE ",
            "case 0: variant_0::csr_vector(parts.part[p].args[0], ",
            "parts.part[p].args[8]); break; case 1: variant_1::sell(",
        ] {
            assert!(fused.text.contains(part), "{part} in\n{}", fused.text);
        }
        // The kernel itself is the only one left.
        assert_eq!(fused.text.matches("__global__").count(), 1);
        assert_eq!(fused.definitions, ["STORED=double", "VALUE=double", "BLOCK=256", "PARTS=16", "ARGS=22"]);
    }

    #[test]
    fn kernels_of_two_launches_and_of_the_vendor_cannot_be_fused() {
        for kernel in ["coo", "hyb", "cusparse-csr/a1"].map(Kernel::known) {
            assert!(!kernel.shares_a_launch());
            assert_eq!(fused_source(&[(Kernel::known("ell"), 4), (kernel, 4)], Dtype::F32, 64), None);
        }
        for kernel in Kernel::all() {
            assert_eq!(entry_point(kernel).is_some(), kernel.shares_a_launch(), "{kernel}");
        }
    }

    #[test]
    fn tiles_of_many_sizes_are_too_much_for_one_launch() {
        let all = TileShape::ALL.map(|shape| Kernel::known(&format!("csr-balanced/{shape}")));
        let binned = Kernel::known("csr-binned");
        assert!(all.into_iter().all(|kernel| fits_one_launch([kernel, kernel, binned], Dtype::F64)));
        assert!(fits_one_launch(all, Dtype::F32), "256 + 512 + 1,024 + 2,048 items, twice, of 4 bytes");
        assert!(!fits_one_launch(all, Dtype::F64));
    }

    #[test]
    fn the_first_argument_makes_up_for_the_blocks_before_the_part() {
        let mut parts = FusedParts::new();
        assert_eq!(parts.push(1, 7, 64, &[0, 400, 11]), 2);
        assert_eq!(parts.push(0, 3, 32, &[0, 70, 22]), 26);
        assert_eq!(parts.blocks(), 10);
        assert_eq!(parts.words()[..5], [7, 1, 0, 400, 11]);
        assert_eq!(parts.words()[24..26], [10, 0]);
        // Block 7 of the launch is block 0 of the second part.
        assert_eq!(parts.words()[26].wrapping_add(7 * 32), 0);
        assert_eq!(parts.words().len() * 8, 16 * 192);
    }
}
