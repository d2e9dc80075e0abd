//! CUDA text of products with an epilogue: a kernel of the catalogue whose sums go through the lines in place of `store.cu`, and the
//! launch behind kernels that do not write each row once.
//!
//! ```text
//! line_0, line_1      the lines, each a function of what it may name
//! Epilogue            where the operands are, and a thread's share of the dot products
//! finish_row          the lines of one row: y and the outputs stored, products added
//! epilogue.cu         store
//! dots.cu             add_up, where there are dot products
//! csr_vector.cu       as it is, a device function whose y is the Epilogue
//! with_epilogue       the kernel: its parameters, then those of the epilogue
//! ```
//! Names of a user are parameters of the functions of lines alone, where they hide everything else of that name.

use super::{DotOf, Epilogue, Output};
use crate::families::CUDA_STORE;
use crate::fused::{FUNCTION, KERNEL};
use crate::source::{DOTS, DOTS_PASS, EPILOGUE, vectors};
use crate::{Candidate, HELPER_BLOCK, KernelSource, source};
use sparsight_matrix::Dtype;
use std::fmt::Write as _;

/// Source of the kernel `with_epilogue`: all launches of `candidate` with the lines in place of the last step, in which it stores the
/// sum of a row. Its parameters are those of the candidate's kernel, with alpha = 1 and beta = 0, and then, 64 bits each:
///
/// ```text
/// if there are dot products    blocks before this launch, blocks of all launches, addresses of partial sums and of a counter
/// the operands                 addresses of the vectors, and of the outputs; scalars
/// if there are scalars         a word whose bit k is set if scalar k is an address
/// if there are dot products    the address of their results
/// ```
/// Partial sums: one for each block and dot product. The counter, of 32 bits, is 0 before the first product. Where the word for it is 0,
/// the partial sums are what is left, for [`dots_pass_source`]: of more threads than [`THREADS_AT_ONCE`].
///
/// `None` for what has several launches, which add to rows or come back to them, and for the vendor's routines.
///
/// # Panics
/// If a kernel of one launch stores its rows by other means than `store.cu`.
pub fn epilogue_source(
    candidate: &Candidate,
    offset_bytes: u64,
    epilogue: &Epilogue,
) -> Option<KernelSource> {
    if !candidate.kernel.shares_a_launch() {
        return None;
    }
    let mut own = source(candidate, offset_bytes)?;
    let entry = own.entry_points.pop()?;
    let (before, behind) = own.text.split_once(&format!("\n{entry}("))?;
    // As the sources are written: parameters hold no parentheses.
    let parameters = behind.split_once(')')?.0.replace(RESTRICTED_Y, Y);
    let names: Vec<&str> =
        parameters.split(',').filter_map(|one| one.rsplit([' ', '*', '\n']).next()).collect();
    let call =
        names.iter().map(|&name| if name == "y" { "epilogue" } else { name }).collect::<Vec<_>>().join(", ");
    assert!(before.contains(CUDA_STORE), "a kernel of one launch stores its rows by store.cu");
    let function = own
        .text
        .replacen(CUDA_STORE, "", 1)
        .replace(KERNEL, FUNCTION)
        .replace(RESTRICTED_Y, "Epilogue& y")
        .replace(Y, "Epilogue& y");
    let text = format!(
        "{}{function}{}",
        shared(epilogue),
        kernel(epilogue, "with_epilogue", &parameters, &format!("{entry}({call});"))
    );
    own.definitions.push(dots(epilogue));
    Some(KernelSource { text, definitions: own.definitions, entry_points: vec!["with_epilogue".to_owned()] })
}

/// Source of the kernel `epilogue_pass`: the lines for sums that a product has left in memory. Its parameters are the number of rows,
/// the addresses of the sums, x and y, and then as of [`epilogue_source`]; any number of blocks of [`HELPER_BLOCK`] threads.
pub fn epilogue_pass_source(dtype: Dtype, epilogue: &Epilogue) -> KernelSource {
    let parameters = "unsigned long long nrows, const VALUE* sums, const VALUE* x, VALUE* y";
    let text = shared(epilogue)
        + &kernel(epilogue, "epilogue_pass", parameters, "finish_all(epilogue, nrows, sums);");
    KernelSource {
        text,
        definitions: vec![vectors(dtype), format!("BLOCK={HELPER_BLOCK}"), dots(epilogue)],
        entry_points: vec!["epilogue_pass".to_owned()],
    }
}

/// Source of the kernel `dots_pass`: adds up the partial sums of so many dot products. Its parameters are the addresses of these sums and
/// their number for one dot product; of own partial sums, one for each block and dot product, and of a counter; of the results. Any
/// number of blocks of [`HELPER_BLOCK`] threads.
pub fn dots_pass_source(count: usize) -> KernelSource {
    KernelSource {
        text: [DOTS, DOTS_PASS].concat(),
        definitions: vec![format!("BLOCK={HELPER_BLOCK}"), format!("DOTS={count}")],
        entry_points: vec!["dots_pass".to_owned()],
    }
}

/// Threads of a product from which on its blocks do not wait for each other. Chosen: as many as the largest GPUs so far hold at once; the
/// same on all GPUs, and with it the order of sums.
pub const THREADS_AT_ONCE: u64 = 132 * 2048;

/// How kernels declare y.
const RESTRICTED_Y: &str = "VALUE* __restrict__ y";
const Y: &str = "VALUE* y";

fn dots(epilogue: &Epilogue) -> String {
    format!("DOTS={}", epilogue.dots().len())
}

/// Everything in front of the kernel.
fn shared(epilogue: &Epilogue) -> String {
    let operands: Vec<&String> =
        epilogue.vectors().iter().chain(epilogue.outputs().iter().map(|o| &o.name)).collect();
    let mut parameters = "VALUE s, long long i, const VALUE* x, const VALUE* y".to_owned();
    let mut arguments = "s, i, epilogue.x, epilogue.y".to_owned();
    let mut members = "    const VALUE* x;\n    VALUE* y;\n".to_owned();
    for (at, name) in operands.iter().enumerate() {
        let is_read = at < epilogue.vectors().len();
        let _ = write!(parameters, ", const VALUE* {name}");
        let _ = write!(arguments, ", epilogue.vector_{at}");
        let _ = writeln!(members, "    {}VALUE* vector_{at};", if is_read { "const " } else { "" });
    }
    for (at, name) in epilogue.scalars().iter().enumerate() {
        let _ = write!(parameters, ", VALUE {name}");
        let _ = write!(arguments, ", epilogue.scalar_{at}");
        let _ = writeln!(members, "    VALUE scalar_{at};");
    }
    let mut functions = String::new();
    let mut row = String::new();
    let mut stores = "    epilogue.y[i] = out_0;\n".to_owned();
    let function = |functions: &mut String, at: usize, out: &str, line: &str, file: &str| {
        let _ = write!(
            functions,
            "static __device__ __forceinline__ VALUE line_{at}({out}{parameters})\n{{\n    return (VALUE)(\n\
             #line 1 \"{file}\"\n{line}\n#line 1 \"line_{at}\"\n    );\n}}\n"
        );
    };
    function(&mut functions, 0, "", epilogue.line(), "epilogue");
    let _ = writeln!(row, "    const VALUE out_0 = line_0({arguments});");
    for (at, Output { name, line }) in epilogue.outputs().iter().enumerate() {
        let number = at + 1;
        function(&mut functions, number, "VALUE out, ", line, &format!("epilogue of {name}"));
        let _ = writeln!(row, "    const VALUE out_{number} = line_{number}(out_0, {arguments});");
        let _ = writeln!(stores, "    epilogue.vector_{}[i] = out_{number};", epilogue.vectors().len() + at);
    }
    for (at, factors) in epilogue.dots().iter().enumerate() {
        let [first, second] = factors.map(|factor| match factor {
            DotOf::Y => "out_0".to_owned(),
            DotOf::Output(output) => format!("out_{}", output + 1),
            DotOf::X => "epilogue.x[i]".to_owned(),
            DotOf::S => "s".to_owned(),
            DotOf::Vector(vector) => format!("epilogue.vector_{vector}[i]"),
        });
        let _ = writeln!(row, "    epilogue.dots[{at}] += (double)({first}) * (double)({second});");
    }
    if !epilogue.dots().is_empty() {
        members.push_str("    double dots[DOTS];\n");
    }
    format!(
        "{functions}#line 1 \"epilogue of a row\"\nstruct Epilogue {{\n{members}}};\n\
         static __device__ __forceinline__ void finish_row(Epilogue& epilogue, unsigned long long row, VALUE s)\n{{\n    \
         const long long i = (long long)row;\n{row}{stores}}}\n{EPILOGUE}{}",
        if epilogue.dots().is_empty() { "" } else { DOTS }
    )
}

/// The kernel: `parameters` and those of the epilogue; `body` brings rows to it.
fn kernel(epilogue: &Epilogue, name: &str, parameters: &str, body: &str) -> String {
    let has_dots = !epilogue.dots().is_empty();
    let mut head = parameters.to_owned();
    let mut filled = "x, y".to_owned();
    if has_dots {
        head.push_str(
            ", unsigned long long blocks_before, unsigned long long all_blocks, double* dot_partials, unsigned int* dot_counter",
        );
    }
    let vectors = epilogue.vectors().len();
    for at in 0..vectors + epilogue.outputs().len() {
        let _ = write!(head, ", {}VALUE* vector_{at}", if at < vectors { "const " } else { "" });
        let _ = write!(filled, ", vector_{at}");
    }
    for at in 0..epilogue.scalars().len() {
        let _ = write!(head, ", unsigned long long scalar_{at}");
        let _ = write!(filled, ", scalar_of(scalar_{at}, scalar_addresses >> {at} & 1)");
    }
    if !epilogue.scalars().is_empty() {
        head.push_str(", unsigned long long scalar_addresses");
    }
    let mut end = String::new();
    if has_dots {
        head.push_str(", double* dot_results");
        filled.push_str(", {}");
        end.push_str(
            "    add_up(epilogue.dots, blocks_before, all_blocks, dot_partials, dot_counter, dot_results);\n",
        );
    }
    format!(
        "#line 1 \"{name}\"\nextern \"C\" __global__ void __launch_bounds__(BLOCK)\n{name}({head})\n{{\n    \
         Epilogue epilogue = {{{filled}}};\n    {body}\n{end}}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::every_candidate;

    fn epilogue() -> Epilogue {
        Epilogue::try_new("s * d[i] + beta * y[i]", &["d"], &["beta"])
            .and_then(|epilogue| epilogue.with_output("w", "out - w[i]"))
            .and_then(|epilogue| epilogue.with_dot("y", "d"))
            .unwrap()
    }

    #[test]
    fn every_kernel_of_one_launch_takes_an_epilogue_and_stores_nothing_beside_it() {
        for candidate in every_candidate(Dtype::F64) {
            let made = epilogue_source(&candidate, 8, &epilogue());
            assert_eq!(made.is_some(), candidate.kernel.shares_a_launch(), "{candidate}");
            let Some(made) = made else { continue };
            // Without comments, as none of them is told where y is.
            let code: Vec<&str> = made.text.lines().filter_map(|line| line.split("//").next()).collect();
            let code = code.join("\n");
            assert_eq!(code.matches("__global__").count(), 1, "{candidate}");
            assert_eq!(
                code.matches("VALUE* y").count() - code.matches("const VALUE* y").count(),
                1 + 1,
                "{candidate}"
            );
            assert!(!code.contains(RESTRICTED_Y) && !code.contains(" y[row]"), "{candidate}");
        }
    }

    #[test]
    fn lines_stand_alone_in_a_file_of_their_own() {
        let text = epilogue_pass_source(Dtype::F32, &epilogue()).text;
        for part in [
            "\n#line 1 \"epilogue\"\ns * d[i] + beta * y[i]\n",
            "\n#line 1 \"epilogue of w\"\nout - w[i]\n",
            "line_1(VALUE out, VALUE s, long long i, const VALUE* x, const VALUE* y, const VALUE* d, const VALUE* w, VALUE beta)",
            "epilogue.dots[0] += (double)(out_0) * (double)(epilogue.vector_0[i]);",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
}
