use super::*;
use crate::recipe::LaunchArg::{Alpha, Array, Beta, Number, X, Y};

const HEAD: &str = "extern \"C\" __global__ void mine(";
const CSR: &str = "unsigned int nrows, const OFFSET* row_ptr, const unsigned int* __restrict__ col_idx, const VALUE* values, const VALUE* x, VALUE* y) { }\n";

fn read(text: &str) -> Result<OwnKernel, String> {
    OwnKernel::read("my.cu", text, Dtype::F64).map_err(|error| error.to_string())
}

/// Numbers of a matrix with 1,000 rows.
fn launches(kernel: &OwnKernel, block: u32, nnz: u64) -> Result<Vec<PlannedLaunch>, String> {
    let number = |name: &str| match name {
        "nrows" => Some(1000),
        "nnz" => Some(nnz),
        _ => None,
    };
    kernel.launches(block, 4, (1 << 31) - 1, number).map_err(|error| error.to_string())
}

#[test]
fn parameters_are_given_what_their_names_say() {
    let kernel = read(&format!("{HEAD}{CSR}")).unwrap();
    assert_eq!((kernel.format(), kernel.blocks(), kernel.scales()), (Format::csr(), &[256][..], false));
    let launches = launches(&kernel, 256, 5000).unwrap();
    let args = vec![Number(1000), Array("", "row_ptr"), Array("", "col_idx"), Array("", "values"), X, Y];
    assert_eq!(launches, [PlannedLaunch { step: 0, grid: 4, stride: 256, args, may_overlap: false }]);
    assert_eq!(kernel.id(128), "my.cu/b128/f64");
    let source = kernel.source(128, 8);
    assert!(source.text.starts_with("#line 1 \"my.cu\"\nextern"), "{}", source.text);
    assert_eq!(
        source.definitions,
        ["STORED=double", "VALUE=double", "BLOCK=128", "OFFSET=unsigned long long"]
    );
    assert_eq!(source.entry_points, ["mine"]);
}

#[test]
fn directives_say_format_blocks_and_how_many_threads() {
    let text = "// sparsight: format ell\n// sparsight: blocks 64 512\n\n// sparsight: threads nrows * 32\n\
        extern \"C\" __global__ void __launch_bounds__(BLOCK) first(unsigned int nrows, unsigned int stride,\n    \
        const unsigned int* col_idx, double alpha, double beta, double* y) {}\n\
        // sparsight: threads nnz / 4\n__global__ void declared(int);\n\
        extern \"C\" __global__\nvoid second(double beta, double alpha, const double2* values) {}\n\
        // sparsight: threads 4096\nextern \"C\" __global__ void third(void) {}\n\
        extern \"C\" __global__ void fourth() {}\n";
    let kernel = read(text).unwrap();
    assert_eq!((kernel.format().to_string().as_str(), kernel.blocks()), ("ell", &[64, 512][..]));
    for id in ["sell c32 s1", "sell/c32/s1"] {
        let kernel =
            read(&format!("// sparsight: format {id}\nextern \"C\" __global__ void one() {{}}\n")).unwrap();
        assert_eq!(kernel.format().to_string(), "sell/c32/s1");
    }
    assert_eq!(kernel.source(64, 4).entry_points, ["first", "second", "third", "fourth"]);
    let number = |name: &str| {
        Some(match name {
            "nrows" => 1000,
            "nnz" => 4001,
            _ => 7,
        })
    };
    let launches = kernel.launches(512, 4, 1 << 30, number).unwrap();
    let grids: Vec<u32> = launches.iter().map(|launch| launch.grid).collect();
    assert_eq!(grids, [63, 2, 8, 2], "the last has a thread for each row, as nothing is said of it");
    assert_eq!(launches[0].args[3..], [Alpha, Beta, Y]);
    assert!(!kernel.scales(), "the third takes none");
}

#[test]
fn a_printed_kernel_source_can_be_pasted_and_changed() {
    for candidate in crate::catalogue(Dtype::F64).filter(|c| c.block == 128 && c.kernel.recipe().is_some()) {
        let recipe = candidate.kernel.recipe().unwrap();
        let text = format!("// sparsight: format {}\n{}", candidate.format(), recipe.sources.concat());
        let kernel = match read(&text) {
            Ok(kernel) => kernel,
            // Its first step is ELL's kernel, with ELL's names: the error lists those of HYB.
            Err(error) if error.contains("nothing of hyb is called width: there are") => continue,
            Err(error) => panic!("{candidate}: {error}"),
        };
        assert!(kernel.steps.len() >= recipe.steps.len(), "{candidate}");
        assert!(kernel.scales() || recipe.steps.len() > 1, "{candidate}");
    }
}

#[test]
fn faults_of_a_kernel_file_are_reported_with_their_line() {
    let of = |text: &str, wanted: &str| {
        let error = read(text).unwrap_err();
        assert!(error.contains(wanted), "{text}\n{error}");
    };
    of("int f();\n", "my.cu:1: there is no kernel");
    of("// extern \"C\" __global__ void f() {}\n/* __global__ */", "my.cu:1: there is no kernel");
    of(
        &format!("\n// sparsight: grid 5\n{HEAD}{CSR}"),
        "my.cu:2: 'grid' is none of format, blocks and threads",
    );
    of(&format!("// sparsight: format crs\n{HEAD}{CSR}"), "my.cu:1: 'crs' is no format");
    of(
        &format!("// sparsight: blocks 100\n{HEAD}{CSR}"),
        "my.cu:1: '100' is no number of threads of a block",
    );
    of(
        &format!("// sparsight: threads rows * 2\n{HEAD}{CSR}"),
        "my.cu:1: 'rows * 2' is no number of threads such as",
    );
    of(&format!("{HEAD}{CSR}// sparsight: threads nnz\n"), "my.cu:2: no kernel follows");
    of("/* a\n */\n__global__ void f(int nrows) {}", "my.cu:3: the kernel is not declared extern \"C\"");
    of("template <int T>\n__global__ void f(int nrows) {}", "my.cu:2: the kernel is a template");
    of(
        &format!("{HEAD}\n  int nrows,\n  const float* rowptr) {{}}"),
        "my.cu:3: nothing of csr is called rowptr: there are the arrays row_ptr, col_idx, values, x and y, and the numbers nrows, ncols, nnz",
    );
    of(
        &format!("{HEAD}const float* x) {{}}"),
        "my.cu:1: x points at float; it has to be VALUE, which is double here",
    );
    of(
        &format!("{HEAD}const short* col_idx) {{}}"),
        "my.cu:1: col_idx points at short; it has to be unsigned int",
    );
    of(
        &format!("{HEAD}const double* row_ptr) {{}}"),
        "my.cu:1: row_ptr points at double; it has to be OFFSET",
    );
    of(&format!("{HEAD}double nrows) {{}}"), "my.cu:1: nrows is a whole number");
    of(&format!("{HEAD}float alpha) {{}}"), "my.cu:1: alpha is a double, not float");
    of(&format!("{HEAD}int) {{}}"), "my.cu:1: 'int' is no parameter with a type and a name");
    of(&format!("{HEAD}int nrows"), "my.cu:1: a parenthesis of the kernel is not closed");
}

#[test]
fn a_kernel_that_does_not_fit_the_matrix_is_refused() {
    let kernel = read(&format!("{HEAD}const long long* row_ptr, int nnz) {{}}")).unwrap();
    let error = launches(&kernel, 64, 5000).unwrap_err();
    assert!(
        error.contains("my.cu:1: row_ptr has entries of 4 bytes for this matrix, not 8: write OFFSET"),
        "{error}"
    );
    let kernel = read(&format!("{HEAD}int nnz) {{}}")).unwrap();
    let error = launches(&kernel, 64, 1 << 33).unwrap_err();
    assert!(error.contains("nnz is 8589934592 here, more than 32 bits hold"), "{error}");
    let kernel = read(&format!("// sparsight: threads nnz * 100\n{HEAD}int nrows) {{}}")).unwrap();
    let error = launches(&kernel, 32, 1 << 40).unwrap_err();
    assert!(error.contains("thread blocks are more than a launch has"), "{error}");
}
