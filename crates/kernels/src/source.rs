//! The CUDA C++ source of each kernel and the definitions that specialise it.
//!
//! The files under `cuda/` are joined with `#line` directives, so that the compiler names positions in them.
//! They include nothing. Every kernel parameter is 64 bits wide: a pointer, an `unsigned long long`
//! or a `double`. Kernels that multiply end with `x, y, alpha, beta` and compute `y = alpha A x + beta y`.
//! What compilers for AMD's GPUs lack of CUDA C++ stands in `cuda/hip.cu`, in front of every text that they are given.

use crate::Candidate;
use crate::recipe::kernels_in;
use sparsight_matrix::Dtype;

/// Threads a block of the kernels that generate, convert, fill and flush; they take any number of blocks.
pub const HELPER_BLOCK: u32 = 256;

/// Threads a block of the small product of [`timing_source`].
pub const SMALL_BLOCK: u32 = 32;

/// The text of a CUDA source that belongs to no family.
macro_rules! helper {
    ($file:literal) => {
        concat!("#line 1 \"", $file, "\"\n", include_str!(concat!("../cuda/", $file)))
    };
}

pub(crate) use helper;

const BENCHMARK_MATRIX: &str = helper!("benchmark_matrix.cu");
const CONVERT: &str = helper!("convert.cu");
pub(crate) const EPILOGUE: &str = helper!("epilogue.cu");
pub(crate) const DOTS: &str = helper!("dots.cu");
pub(crate) const DOTS_PASS: &str = helper!("dots_pass.cu");
const HIP: &str = helper!("hip.cu");
const ROW_LENGTHS: &str = helper!("row_lengths.cu");
const SPIN: &str = helper!("spin.cu");
const VECTORS: &str = helper!("vectors.cu");

/// Sums that a dot product is made of on a GPU. Chosen: four warps for each slot of a multiprocessor's schedulers on the largest
/// GPUs.
pub const DOT_PIECES: usize = 4096;

/// Input of a run-time compiler: one translation unit, its definitions, and the names of its entry points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSource {
    /// Complete CUDA C++ text; `#line` directives give positions in the files under `cuda/`.
    pub text: String,
    /// Definitions as `NAME=VALUE`, given to the compiler as `-D`.
    pub definitions: Vec<String>,
    /// `extern "C"` kernels in it.
    pub entry_points: Vec<String>,
}

impl KernelSource {
    /// The same kernels for a compiler of HIP: what it lacks of CUDA C++ stands in front of them, and the definitions, since not every
    /// such compiler takes values of several words.
    #[must_use]
    pub fn for_hip(self) -> Self {
        let define = |definition: &String| format!("#define {}\n", definition.replacen('=', " ", 1));
        let definitions: String = self.definitions.iter().map(define).collect();
        Self { text: [HIP, &definitions, &self.text].concat(), definitions: Vec::new(), ..self }
    }
}

/// Source of `candidate`, `None` for what the vendor's library runs; `offset_bytes` (4 or 8) is the width of row offsets, of
/// no meaning to kernels that read none. The entry points are those of the [recipe](crate::Recipe), in its order.
pub fn source(candidate: &Candidate, offset_bytes: u64) -> Option<KernelSource> {
    let recipe = candidate.kernel.recipe()?;
    let mut definitions = vec![stored(candidate.dtype), vectors(candidate.dtype)];
    definitions.push(format!("BLOCK={}", candidate.block));
    if recipe.reads_offsets {
        definitions.push(offset(offset_bytes));
    }
    let knobs = (recipe.definitions)(candidate.kernel.knobs());
    definitions.extend(knobs.into_iter().map(|(name, value)| format!("{name}={value}")));
    let entry_points = recipe.steps.iter().map(|step| step.entry.to_owned()).collect();
    Some(KernelSource { text: recipe.sources.concat(), definitions, entry_points })
}

/// Source of the kernels that generate benchmark matrices and fill vectors of `dtype`.
pub fn benchmark_matrix_source(dtype: Dtype, offset_bytes: u64) -> KernelSource {
    KernelSource {
        text: BENCHMARK_MATRIX.to_owned(),
        definitions: vec![vectors(dtype), format!("BLOCK={HELPER_BLOCK}"), offset(offset_bytes)],
        entry_points: entry_points(BENCHMARK_MATRIX),
    }
}

/// Source of the kernels that lay a CSR matrix of `dtype` out in other formats; in mixed precision its values are `f32`, and those
/// that replace them `f64`.
pub fn conversion_source(dtype: Dtype, offset_bytes: u64) -> KernelSource {
    KernelSource {
        text: CONVERT.to_owned(),
        definitions: vec![
            format!("VALUE={}", c_type(dtype.of_values())),
            format!("ENTRY={}", c_type(dtype.of_vectors())),
            format!("BLOCK={HELPER_BLOCK}"),
            offset(offset_bytes),
        ],
        entry_points: entry_points(CONVERT),
    }
}

/// Names of the parameters of a routine of [`conversion_source`], in order.
///
/// # Panics
/// If there is no such routine.
pub fn conversion_parameters(routine: &str) -> Vec<&'static str> {
    let found = kernels_in(CONVERT).find(|(name, _)| *name == routine);
    found.expect("a layout names routines of the source").1
}

/// Source of the kernels that timing needs: one that waits for the host, one that does nothing, a product of a small matrix, and one
/// that empties the L2 cache.
pub fn timing_source() -> KernelSource {
    KernelSource {
        text: SPIN.to_owned(),
        definitions: vec![format!("BLOCK={HELPER_BLOCK}"), format!("SMALL_BLOCK={SMALL_BLOCK}")],
        entry_points: entry_points(SPIN),
    }
}

/// Source of the kernel that counts row lengths.
pub fn row_lengths_source() -> KernelSource {
    KernelSource {
        text: ROW_LENGTHS.to_owned(),
        definitions: vec![format!("BLOCK={HELPER_BLOCK}")],
        entry_points: entry_points(ROW_LENGTHS),
    }
}

/// Source of the kernels that combine vectors of `dtype`, and sum over them.
pub fn vector_source(dtype: Dtype) -> KernelSource {
    KernelSource {
        text: VECTORS.to_owned(),
        definitions: vec![vectors(dtype), format!("BLOCK={HELPER_BLOCK}"), format!("PIECES={DOT_PIECES}")],
        entry_points: entry_points(VECTORS),
    }
}

fn entry_points(text: &'static str) -> Vec<String> {
    kernels_in(text).map(|(name, _)| name.to_owned()).collect()
}

/// Type of the values of the matrix.
pub(crate) fn stored(dtype: Dtype) -> String {
    format!("STORED={}", c_type(dtype.of_values()))
}

/// Type of the entries of x and y, and of sums.
pub(crate) fn vectors(dtype: Dtype) -> String {
    format!("VALUE={}", c_type(dtype.of_vectors()))
}

pub(crate) fn c_type(dtype: Dtype) -> &'static str {
    if dtype == Dtype::F32 { "float" } else { "double" }
}

/// Definition of the type of row offsets of that many bytes.
pub(crate) fn offset(offset_bytes: u64) -> String {
    match offset_bytes {
        4 => "OFFSET=unsigned int".to_owned(),
        8 => "OFFSET=unsigned long long".to_owned(),
        other => unreachable!("row offsets have 4 or 8 bytes, not {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kernel, every_candidate};

    /// Source without comments.
    fn code(text: &str) -> String {
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
    }

    fn is_used(name: &str, code: &str) -> bool {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        code.match_indices(name)
            .any(|(at, _)| !code[..at].ends_with(is_word) && !code[at + name.len()..].starts_with(is_word))
    }

    #[test]
    fn sources_contain_their_entry_points_and_use_every_definition() {
        let sources = [Dtype::F32, Dtype::F64, Dtype::Mixed]
            .into_iter()
            .flat_map(every_candidate)
            .flat_map(|candidate| [4, 8].into_iter().filter_map(move |bytes| source(&candidate, bytes)))
            .chain([
                benchmark_matrix_source(Dtype::F32, 4),
                conversion_source(Dtype::F64, 8),
                timing_source(),
                vector_source(Dtype::F64),
                row_lengths_source(),
            ]);
        for source in sources {
            let code = code(&source.text);
            for entry in &source.entry_points {
                assert!(code.contains(&format!("\n{entry}(")) || code.contains(&format!(" {entry}(")));
            }
            for definition in &source.definitions {
                let (name, _) = definition.split_once('=').unwrap();
                assert!(is_used(name, &code), "{name} of {:?}", source.entry_points);
            }
        }
        assert!(
            !is_used("BLOCK", &code("int x; // Knobs BLOCK\nint BLOCKS;")),
            "comments and other words do not count"
        );
    }

    /// Names of the parameters of an entry point, in order.
    fn parameters<'t>(text: &'t str, entry: &str) -> Vec<&'t str> {
        let start = text.find(&format!("\n{entry}(")).expect("the kernel's name starts a line");
        let list = text[start..].split_once('(').unwrap().1.split_once(')').unwrap().0;
        list.split(',').map(|p| p.rsplit([' ', '*', '\n']).next().unwrap()).collect()
    }

    #[test]
    fn the_arguments_of_every_recipe_are_the_parameters_of_its_kernel_in_their_order() {
        for kernel in Kernel::all() {
            let Some(recipe) = kernel.recipe() else { continue };
            let text = code(&recipe.sources.concat());
            for step in recipe.steps {
                let all = parameters(&text, step.entry);
                assert!(all[0].starts_with("first_"), "{kernel}: {all:?}");
                assert_eq!(all[1..], recipe.args(step), "{kernel}: {}", step.entry);
            }
        }
    }

    #[test]
    fn the_kernels_include_nothing_and_have_no_macro_bodies() {
        let recipes = Kernel::all().filter_map(Kernel::recipe);
        let texts = recipes.flat_map(|recipe| recipe.sources).copied();
        for text in texts.chain([BENCHMARK_MATRIX, CONVERT, DOTS, DOTS_PASS, EPILOGUE, ROW_LENGTHS, SPIN]) {
            assert!(!text.contains("#include") && !text.contains("#define"));
            assert!(text.starts_with("#line 1 \""));
        }
    }
}
