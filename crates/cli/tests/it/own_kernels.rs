//! `bench --kernel-file`: a CUDA file of the user's own is read, refused with its line, and timed beside the catalogue.

use crate::support::{assert_exit, json, run, sparsight};
use std::fs;

const KERNEL: &str = r#"// sparsight: blocks 64 256
extern "C" __global__ void mine(unsigned int nrows, const OFFSET* row_ptr, const unsigned int* col_idx,
                                const VALUE* values, const VALUE* x, VALUE* y)
{
    const unsigned int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row < nrows) {
        VALUE sum = 0;
        for (OFFSET k = row_ptr[row]; k < row_ptr[row + 1]; ++k)
            sum += values[k] * x[col_idx[k]];
        y[row] = sum;
    }
}
"#;

const BENCH: [&str; 4] = ["bench", "gallery:stencil2d,n=40", "--kernel-file", "my.cu"];

#[test]
fn a_header_mistake_is_reported_with_its_line_without_a_gpu() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("my.cu");
    fs::write(&file, KERNEL.replace("* col_idx", "* columns")).unwrap();
    let out = run(dir.path(), &BENCH);
    assert!(out.starts_with("exit code: 2"), "{out}");
    assert!(
        out.contains("error: my.cu:2: nothing of csr is called columns: there are the arrays row_ptr"),
        "{out}"
    );
    assert!(out.contains("hint: docs/own-kernel.md"), "{out}");
    fs::write(&file, KERNEL.replace("VALUE", "float")).unwrap();
    let out = run(dir.path(), &BENCH);
    assert!(
        out.contains("my.cu:3: values points at float; it has to be VALUE, which is double here"),
        "{out}"
    );
    let out = run(dir.path(), &[&BENCH[..], &["--dtype", "f32", "--device", "cpu"]].concat());
    assert_exit(&out, 3, "my.cu is a CUDA kernel, which");
    fs::remove_file(&file).unwrap();
    let out = run(dir.path(), &BENCH);
    assert_exit(&out, 2, "my.cu: No such file");
}

#[test]
fn a_kernel_is_timed_beside_ours_on_a_gpu() {
    let dir = tempfile::tempdir().unwrap();
    let has_gpu =
        !json(dir.path(), &["devices"])["here"].as_array().unwrap().iter().all(|here| here["kind"] == "cpu");
    if !has_gpu {
        assert!(std::env::var_os("SPARSIGHT_REQUIRE_GPU").is_none(), "no GPU");
        println!("skipped: no GPU");
        return;
    }
    let file = dir.path().join("my.cu");
    fs::write(&file, KERNEL).unwrap();
    let flags = ["--device", "cuda:0", "--quick", "--kernel", "csr-scalar", "--block", "64"];
    let answer = json(dir.path(), &[&BENCH[..], &flags].concat());
    let candidates = answer["matrices"][0]["candidates"].as_array().unwrap();
    let of = |id: &str| {
        candidates.iter().find(|c| c["id"] == id).unwrap_or_else(|| panic!("{id}: {candidates:?}"))
    };
    for id in ["my.cu/b64/f64", "my.cu/b256/f64"] {
        assert!(of(id)["measured_s"].as_f64().unwrap() > 0.0 && of(id)["own"] == true, "{}", of(id));
    }
    assert!(of("csr-scalar/b64/f64")["own"].is_null());
    let times: Vec<f64> = candidates.iter().filter_map(|c| c["measured_s"].as_f64()).collect();
    assert!(times.is_sorted(), "{times:?}");
    let out = run(dir.path(), &[&BENCH[..], &flags].concat());
    assert!(out.contains("my.cu b64") && out.contains("csr-scalar b64"), "{out}");
    // Wrong in one row: no time, and the exit code says so.
    fs::write(&file, KERNEL.replace("y[row] = sum", "y[row] = row == 7 ? 5 : sum")).unwrap();
    let out = run(dir.path(), &[&BENCH[..], &flags].concat());
    assert!(out.starts_with("exit code: 1"), "{out}");
    assert!(out.contains("failed: my.cu/b64/f64: my.cu computes y[7] = 5, expected"), "{out}");
    // The compiler's words, with the line of the file.
    fs::write(&file, KERNEL.replace("sum += values", "total += values")).unwrap();
    let output = sparsight(dir.path()).current_dir(dir.path()).args(BENCH).args(flags).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("my.cu does not compile:\nmy.cu(9): error: identifier \"total\" is undefined"),
        "{text}"
    );
}
