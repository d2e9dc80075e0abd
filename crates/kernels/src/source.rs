//! The CUDA C++ source of each kernel and the definitions that specialise it.
//!
//! The files under `cuda/` are joined with `#line` directives, so that the compiler names positions in them.
//! They include nothing. Every kernel parameter is 64 bits wide: a pointer, an `unsigned long long`
//! or a `double`. Kernels that multiply end with `x, y, alpha, beta` and compute `y = alpha A x + beta y`.

use crate::{Candidate, Kernel};
use sparsight_matrix::Dtype;

/// Threads a block of the kernels that generate, convert, fill and flush; they take any number of blocks.
pub const HELPER_BLOCK: u32 = 256;

macro_rules! cuda {
    ($file:literal) => {
        concat!("#line 1 \"", $file, "\"\n", include_str!(concat!("../cuda/", $file)))
    };
}

pub(crate) use cuda;

const STORE: &str = cuda!("store.cu");
const OVERLAP: &str = cuda!("overlap.cu");
const TEAM: &str = cuda!("team.cu");
const SEGMENT: &str = cuda!("segment.cu");
const CSR_SCALAR: &str = cuda!("csr_scalar.cu");
const CSR_VECTOR: &str = cuda!("csr_vector.cu");
const CSR_BALANCED: &str = cuda!("csr_balanced.cu");
const CSR_BINNED: &str = cuda!("csr_binned.cu");
const CLEAR: &str = cuda!("clear.cu");
const COO: &str = cuda!("coo.cu");
const ELL: &str = cuda!("ell.cu");
const JAD: &str = cuda!("jad.cu");
const SELL: &str = cuda!("sell.cu");
const SELL_TEAM: &str = cuda!("sell_team.cu");
const BRO_ELL: &str = cuda!("bro_ell.cu");
const BENCHMARK_MATRIX: &str = cuda!("benchmark_matrix.cu");
const CONVERT: &str = cuda!("convert.cu");
const SPIN: &str = cuda!("spin.cu");

/// What NVRTC compiles: one translation unit, its definitions, and the names of its entry points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSource {
    /// Complete CUDA C++ text; `#line` directives give positions in the files under `cuda/`.
    pub text: String,
    /// Definitions as `NAME=VALUE`, given to the compiler as `-D`.
    pub definitions: Vec<String>,
    /// `extern "C"` kernels in it.
    pub entry_points: &'static [&'static str],
}

/// Source of `candidate`, `None` for what the vendor's library runs; `offset_bytes` (4 or 8) is the width of CSR's row offsets, of no meaning to the others.
///
/// The entry points are launched in their order, each once a [`row_chunks`](crate::row_chunks) chunk:
///
/// | kernel | entry points | what a chunk counts |
/// |---|---|---|
/// | csr-scalar | `csr_scalar` | rows, 1 thread each |
/// | csr-vector | `csr_vector` | rows, `threads_per_row` threads each |
/// | csr-balanced | `csr_balanced` | tiles, a block each |
/// | csr-binned | `csr_binned` | blocks, as [`BinEnds`](crate::BinEnds) deals them out |
/// | ell | `ell` | rows, 1 thread each |
/// | coo | `clear`, `coo` | rows, 1 thread each; runs of 32 [`Kernel::coo_items`] non-zeros, 32 threads each |
/// | hyb | `ell`, `coo` | as in ell and coo |
/// | jad | `jad` | rows, 1 thread each |
/// | sell | `sell`; with several threads a row `sell_team` | rows, 1 thread each; `threads_per_row` threads each |
/// | bro-ell | `bro_ell` | rows, 1 thread each |
///
/// The second of two may be launched so that it overlaps with the first (`cuda/overlap.cu`).
pub fn source(candidate: &Candidate, offset_bytes: u64) -> Option<KernelSource> {
    let mut definitions =
        vec![format!("VALUE={}", c_type(candidate.dtype)), format!("BLOCK={}", candidate.block)];
    let (files, entry_points): (&[&str], &'static [&'static str]) = match candidate.kernel {
        Kernel::CsrScalar => (&[STORE, CSR_SCALAR], &["csr_scalar"]),
        Kernel::CsrVector { .. } => (&[STORE, TEAM, CSR_VECTOR], &["csr_vector"]),
        Kernel::CsrBalanced(_) => (&[STORE, TEAM, SEGMENT, CSR_BALANCED], &["csr_balanced"]),
        Kernel::CsrBinned => (&[STORE, TEAM, SEGMENT, CSR_BINNED], &["csr_binned"]),
        Kernel::Vendor(_) => return None,
        Kernel::Coo | Kernel::CooShort { .. } => (&[OVERLAP, CLEAR, COO], &["clear", "coo"]),
        Kernel::Ell => (&[STORE, OVERLAP, ELL], &["ell"]),
        Kernel::Hyb => (&[STORE, OVERLAP, ELL, COO], &["ell", "coo"]),
        Kernel::Jad => (&[STORE, JAD], &["jad"]),
        Kernel::Sell(_) => (&[STORE, SELL], &["sell"]),
        Kernel::SellTeam { .. } => (&[STORE, SELL_TEAM], &["sell_team"]),
        Kernel::BroEll(_) => (&[STORE, BRO_ELL], &["bro_ell"]),
    };
    match candidate.kernel {
        Kernel::CsrScalar | Kernel::CsrBinned => definitions.push(offset(offset_bytes)),
        Kernel::CsrBalanced(shape) => {
            definitions.push(offset(offset_bytes));
            definitions.push(format!("ITEMS={}", shape.items));
        }
        Kernel::CsrVector { threads_per_row } => {
            definitions.push(offset(offset_bytes));
            definitions.push(format!("THREADS_PER_ROW={threads_per_row}"));
        }
        Kernel::Coo | Kernel::CooShort { .. } | Kernel::Hyb => {
            definitions.extend(candidate.kernel.coo_items().map(|items| format!("ITEMS={items}")));
            definitions.push(format!("ACCUMULATE={}", u32::from(candidate.kernel == Kernel::Hyb)));
            if candidate.kernel == Kernel::Hyb {
                definitions.push("FOLLOWED=1".to_owned());
            }
        }
        Kernel::Ell => definitions.push("FOLLOWED=0".to_owned()),
        Kernel::Jad | Kernel::Vendor(_) => {}
        Kernel::Sell(shape) => {
            definitions.push(format!("SLICE={}", shape.slice));
            definitions.push(format!("SORTED={}", u32::from(shape.is_sorted())));
        }
        Kernel::SellTeam { shape, threads_per_row } => {
            definitions.push(format!("TEAM={threads_per_row}"));
            definitions.push(format!("SORTED={}", u32::from(shape.is_sorted())));
        }
        Kernel::BroEll(shape) => definitions.push(format!("SLICE={}", shape.slice)),
    }
    Some(KernelSource { text: files.concat(), definitions, entry_points })
}

/// Source of the kernels that generate benchmark matrices and fill vectors of `dtype`.
pub fn benchmark_matrix_source(dtype: Dtype, offset_bytes: u64) -> KernelSource {
    KernelSource {
        text: BENCHMARK_MATRIX.to_owned(),
        definitions: vec![
            format!("VALUE={}", c_type(dtype)),
            format!("BLOCK={HELPER_BLOCK}"),
            offset(offset_bytes),
        ],
        entry_points: &[
            "generate_row_ptr",
            "generate_row_idx",
            "generate_entries",
            "generate_ell",
            "generate_jad",
            "random_x",
            "poison",
        ],
    }
}

/// Source of the kernels that lay a CSR matrix of `dtype` out in other formats.
pub fn conversion_source(dtype: Dtype, offset_bytes: u64) -> KernelSource {
    KernelSource {
        text: CONVERT.to_owned(),
        definitions: vec![
            format!("VALUE={}", c_type(dtype)),
            format!("BLOCK={HELPER_BLOCK}"),
            offset(offset_bytes),
        ],
        entry_points: &["lay_slices", "lay_diagonals", "lay_coo", "bro_widths", "bro_pack"],
    }
}

/// Source of the kernels that timing needs: one that waits for the host, one that does nothing, and one that
/// empties the L2 cache.
pub fn timing_source() -> KernelSource {
    KernelSource {
        text: SPIN.to_owned(),
        definitions: vec![format!("BLOCK={HELPER_BLOCK}")],
        entry_points: &["spin", "empty", "flush_l2"],
    }
}

pub(crate) const fn c_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "float",
        Dtype::F64 => "double",
    }
}

fn offset(offset_bytes: u64) -> String {
    match offset_bytes {
        4 => "OFFSET=unsigned int".to_owned(),
        8 => "OFFSET=unsigned long long".to_owned(),
        other => unreachable!("row offsets have 4 or 8 bytes, not {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn every_entry_point_stands_in_its_source_and_every_definition_is_used() {
        let sources = Dtype::ALL
            .into_iter()
            .flat_map(catalogue)
            .flat_map(|candidate| [4, 8].into_iter().filter_map(move |bytes| source(&candidate, bytes)))
            .chain([
                benchmark_matrix_source(Dtype::F32, 4),
                conversion_source(Dtype::F64, 8),
                timing_source(),
            ]);
        for source in sources {
            for entry in source.entry_points {
                assert!(
                    source.text.contains(&format!("\n{entry}("))
                        || source.text.contains(&format!(" {entry}("))
                );
            }
            for definition in &source.definitions {
                let (name, _) = definition.split_once('=').unwrap();
                assert!(source.text.contains(name), "{name}");
            }
        }
    }

    #[test]
    fn the_kernels_include_nothing_and_have_no_macro_bodies() {
        for text in [
            STORE,
            TEAM,
            SEGMENT,
            CSR_SCALAR,
            CSR_VECTOR,
            CSR_BALANCED,
            CSR_BINNED,
            CLEAR,
            COO,
            ELL,
            JAD,
            SELL,
            SELL_TEAM,
            BRO_ELL,
            BENCHMARK_MATRIX,
            CONVERT,
            SPIN,
        ] {
            assert!(!text.contains("#include") && !text.contains("#define"));
            assert!(text.starts_with("#line 1 \""));
        }
    }
}
