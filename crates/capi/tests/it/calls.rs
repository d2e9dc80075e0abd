//! The functions as C calls them: what they give, and the code and the words of what is refused.

use sparsight_c::{
    DeviceHandle, EpilogueHandle, OpHandle, PlanHandle, ProfileHandle, SS_BAD_ARGUMENT, SS_BAD_MATRIX,
    SS_F32, SS_F64, SS_I32, SS_I64, SS_INFEASIBLE, SS_NO_GPU, SS_NO_PROFILE, SS_OK, ss_device_free,
    ss_device_open, ss_epilogue_free, ss_epilogue_multiply, ss_epilogue_multiply_host, ss_epilogue_prepare,
    ss_last_error, ss_last_hint, ss_memory_bytes, ss_multiply, ss_multiply_host, ss_op_free, ss_plan_count,
    ss_plan_csr, ss_plan_free, ss_plan_id, ss_plan_memory_bytes, ss_plan_predicted_s, ss_prepare,
    ss_profile_free, ss_profile_open, ss_update_values, ss_update_values_host, ss_version,
};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

/// A tridiagonal matrix of so many rows.
const ROWS: usize = 300;

struct Matrix {
    row_ptr: Vec<i64>,
    col_idx: Vec<i32>,
    values: Vec<f64>,
}

fn tridiagonal() -> Matrix {
    let (mut row_ptr, mut col_idx, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..ROWS as i32 {
        for column in [row - 1, row, row + 1].into_iter().filter(|column| (0..ROWS as i32).contains(column)) {
            col_idx.push(column);
            values.push(f64::from(column % 5 - 3 * (row % 2)));
        }
        row_ptr.push(col_idx.len() as i64);
    }
    Matrix { row_ptr, col_idx, values }
}

impl Matrix {
    /// A times these, with small whole numbers exact.
    fn times(&self, x: &[f64]) -> Vec<f64> {
        let entries = |row: usize| self.row_ptr[row] as usize..self.row_ptr[row + 1] as usize;
        let sum = |row| entries(row).map(|k| self.values[k] * x[self.col_idx[k] as usize]).sum::<f64>();
        (0..ROWS).map(sum).collect()
    }
}

fn text(at: *const c_char) -> String {
    // SAFETY: the library gives text that ends with a NUL and is there until the next failure.
    unsafe { CStr::from_ptr(at) }.to_str().unwrap().to_owned()
}

/// Holds a call to its failure, by code and words.
#[track_caller]
fn refused(code: c_int, expected: c_int, words: &str) {
    let said = text(ss_last_error());
    assert_eq!(code, expected, "{said}");
    assert!(said.contains(words), "'{said}' does not say '{words}'");
}

#[track_caller]
fn fine(code: c_int) {
    assert_eq!(code, SS_OK, "{} ({})", text(ss_last_error()), text(ss_last_hint()));
}

fn profile_named(name: &CStr) -> *mut ProfileHandle {
    let mut profile = null_mut();
    // SAFETY: text, and a place for a handle.
    fine(unsafe { ss_profile_open(name.as_ptr(), &raw mut profile) });
    profile
}

/// Profile of the processor, which the tests run on.
fn profile() -> *mut ProfileHandle {
    profile_named(c"cpu")
}

fn cpu() -> *mut DeviceHandle {
    let mut device = null_mut();
    // SAFETY: text, and a place for a handle.
    fine(unsafe { ss_device_open(c"cpu".as_ptr(), &raw mut device) });
    device
}

fn address<T>(of: &[T]) -> *const c_void {
    of.as_ptr().cast()
}

/// The code, and the plan if there is one.
fn planned(
    profile: *const ProfileHandle,
    (nrows, ncols): (i64, i64),
    (row_ptr, row_ptr_type): (*const c_void, c_int),
    (col_idx, col_idx_type): (*const c_void, c_int),
    (value_type, products): (c_int, i64),
) -> (c_int, *mut PlanHandle) {
    // It has to become NULL, whatever it was.
    let mut plan = std::ptr::dangling_mut();
    // SAFETY: the caller gives arrays that are long enough.
    let code = unsafe {
        ss_plan_csr(
            profile,
            nrows,
            ncols,
            row_ptr,
            row_ptr_type,
            col_idx,
            col_idx_type,
            value_type,
            products,
            &raw mut plan,
        )
    };
    assert_eq!(plan.is_null(), code != SS_OK);
    (code, plan)
}

fn plan_of(a: &Matrix, profile: *const ProfileHandle, value_type: c_int) -> *mut PlanHandle {
    let size = (ROWS as i64, ROWS as i64);
    let arrays = ((address(&a.row_ptr), SS_I64), (address(&a.col_idx), SS_I32));
    let (code, plan) = planned(profile, size, arrays.0, arrays.1, (value_type, 1000));
    fine(code);
    plan
}

fn count_of(plan: *const PlanHandle) -> i64 {
    let mut count = -1;
    // SAFETY: a handle, and a place for a number.
    fine(unsafe { ss_plan_count(plan, &raw mut count) });
    count
}

fn id_of(plan: *const PlanHandle, i: i64) -> String {
    let mut id = [0; 80];
    // SAFETY: a handle, and as much room as is said.
    let length = unsafe { ss_plan_id(plan, i, id.as_mut_ptr(), id.len()) };
    let id = text(id.as_ptr());
    assert_eq!(usize::try_from(length), Ok(id.len()));
    id
}

/// A candidate of the plan on the CPU, `None` if it is for GPUs alone.
fn prepared(
    plan: *const PlanHandle,
    i: i64,
    device: *const DeviceHandle,
    values: &[f64],
) -> Option<*mut OpHandle> {
    let mut op = null_mut();
    // SAFETY: handles, a value for each non-zero, and a place for a handle.
    let code = unsafe { ss_prepare(plan, i, device, address(values), &raw mut op) };
    if code == SS_INFEASIBLE {
        assert!(op.is_null() && !text(ss_last_hint()).is_empty());
        return None;
    }
    fine(code);
    Some(op)
}

/// The first that runs.
fn first_prepared(a: &Matrix, profile: *const ProfileHandle, device: *const DeviceHandle) -> *mut OpHandle {
    let plan = plan_of(a, profile, SS_F64);
    let op = (0..count_of(plan)).find_map(|i| prepared(plan, i, device, &a.values));
    // SAFETY: a handle that is no longer in use.
    unsafe { ss_plan_free(plan) };
    op.unwrap()
}

fn multiplied(op: *const OpHandle, (alpha, beta): (f64, f64), x: &[f64], y: &mut [f64]) -> c_int {
    // SAFETY: a handle or NULL; the caller gives vectors that are long enough.
    unsafe { ss_multiply_host(op, alpha, address(x), beta, y.as_mut_ptr().cast()) }
}

#[track_caller]
fn hold(y: &[f64], expected: &[f64], what: &str) {
    let differ = y.iter().zip(expected).position(|(y, expected)| (y - expected).abs() >= 1e-12 || y.is_nan());
    assert_eq!((y.len(), differ), (expected.len(), None), "{what}");
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(text(ss_version()), env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_candidate_that_runs_here_multiplies_and_takes_other_values() {
    let (a, profile, device) = (tridiagonal(), profile(), cpu());
    let plan = plan_of(&a, profile, SS_F64);
    let x: Vec<f64> = (0..ROWS).map(|i| (i % 7) as f64 - 2.0).collect();
    let tripled: Vec<f64> = a.values.iter().map(|value| 3.0 * value).collect();
    let expected = a.times(&x);
    let (count, mut ran) = (count_of(plan), 0);
    for i in 0..count {
        let id = id_of(plan, i);
        assert!(id.ends_with("/f64") && !id.starts_with("cusparse"), "{id}");
        let (mut time, mut low, mut high, mut planned_bytes, mut bytes) = (0.0, 0.0, 0.0, 0, 0);
        // SAFETY: a handle, and places for numbers.
        unsafe {
            fine(ss_plan_predicted_s(plan, i, &raw mut time, &raw mut low, &raw mut high));
            fine(ss_plan_memory_bytes(plan, i, &raw mut planned_bytes));
        }
        assert!(0.0 < low && low <= time && time <= high && high < 1.0 && planned_bytes > 0, "{id}");
        let Some(op) = prepared(plan, i, device, &a.values) else { continue };
        ran += 1;
        let mut y = vec![f64::NAN; ROWS];
        fine(multiplied(op, (1.0, 0.0), &x, &mut y));
        hold(&y, &expected, &id);
        fine(multiplied(op, (-2.0, 3.0), &x, &mut y));
        hold(&y, &expected, &id);
        // SAFETY: a handle, and a value for each non-zero; then a place for a number.
        unsafe {
            fine(ss_update_values_host(op, address(&tripled)));
            fine(ss_update_values_host(op, address(&tripled)));
            fine(ss_memory_bytes(op, &raw mut bytes));
        }
        assert!(bytes > 0, "{id}");
        fine(multiplied(op, (1.0, 0.0), &x, &mut y));
        hold(&y, &expected.iter().map(|y| 3.0 * y).collect::<Vec<_>>(), &id);
        // SAFETY: a handle that is no longer in use.
        unsafe { ss_op_free(op) };
    }
    assert!(ran > 20 && ran == count, "{ran} of {count}");
    // SAFETY: handles that are no longer in use.
    unsafe {
        ss_plan_free(plan);
        ss_profile_free(profile);
        ss_device_free(device);
    }
}

#[test]
fn values_of_either_type_and_indices_of_both_widths_give_the_same() {
    let (a, profile, device) = (tridiagonal(), profile(), cpu());
    let narrow_ptr: Vec<i32> = a.row_ptr.iter().map(|&at| i32::try_from(at).unwrap()).collect();
    let wide_idx: Vec<i64> = a.col_idx.iter().map(|&column| column.into()).collect();
    let values: Vec<f32> = a.values.iter().map(|&value| value as f32).collect();
    let (size, first) = ((ROWS as i64, ROWS as i64), plan_of(&a, profile, SS_F32));
    let arrays = ((address(&narrow_ptr), SS_I32), (address(&wide_idx), SS_I64));
    let (code, second) = planned(profile, size, arrays.0, arrays.1, (SS_F32, 1000));
    fine(code);
    assert_eq!(count_of(first), count_of(second));
    assert!((0..count_of(first)).all(|i| id_of(first, i) == id_of(second, i)));
    let mut op: *mut OpHandle = null_mut();
    let i = (0..count_of(second)).find(|&i| {
        // SAFETY: handles, a value for each non-zero, and a place for a handle.
        unsafe { ss_prepare(second, i, device, address(&values), &raw mut op) == SS_OK }
    });
    assert!(i.is_some_and(|i| id_of(second, i).ends_with("/f32")));
    let (x, mut y) = (vec![1.0_f32; ROWS], vec![f32::NAN; ROWS]);
    // SAFETY: a handle, and vectors that are long enough.
    fine(unsafe { ss_multiply_host(op, 1.0, address(&x), 0.0, y.as_mut_ptr().cast()) });
    let y: Vec<f64> = y.into_iter().map(f64::from).collect();
    hold(&y, &a.times(&[1.0; ROWS]), "f32");
    // SAFETY: handles that are no longer in use.
    unsafe {
        ss_plan_free(first);
        ss_plan_free(second);
        ss_op_free(op);
        ss_profile_free(profile);
        ss_device_free(device);
    }
}

#[test]
fn handles_are_freed_in_any_order_and_null_is_none() {
    let (a, x) = (tridiagonal(), vec![1.0; ROWS]);
    let expected = a.times(&x);
    for reversed in [false, true] {
        let (profile, device) = (profile(), cpu());
        let plan = plan_of(&a, profile, SS_F64);
        let op = (0..count_of(plan)).find_map(|i| prepared(plan, i, device, &a.values)).unwrap();
        // SAFETY: handles that are no longer in use: what was made of them does not.
        unsafe {
            if reversed {
                ss_device_free(device);
                ss_plan_free(plan);
                ss_profile_free(profile);
            } else {
                ss_profile_free(profile);
                assert!(count_of(plan) > 0);
                ss_plan_free(plan);
                ss_device_free(device);
            }
        }
        let mut y = vec![f64::NAN; ROWS];
        fine(multiplied(op, (1.0, 0.0), &x, &mut y));
        hold(&y, &expected, "after all others were freed");
        // SAFETY: a handle that is no longer in use, with the pattern of the plan that is gone.
        unsafe {
            fine(ss_update_values_host(op, address(&a.values)));
            ss_op_free(op);
        }
    }
    // SAFETY: NULL is no handle.
    unsafe {
        ss_op_free(null_mut());
        ss_plan_free(null_mut());
        ss_profile_free(null_mut());
        ss_device_free(null_mut());
    }
}

#[test]
fn null_is_refused_wherever_something_is_needed() {
    let (a, profile, device) = (tridiagonal(), profile(), cpu());
    let size = (ROWS as i64, ROWS as i64);
    let (row_ptr, col_idx) = ((address(&a.row_ptr), SS_I64), (address(&a.col_idx), SS_I32));
    let kinds = (SS_F64, 0);
    let bad = |code, words: &str| refused(code, SS_BAD_ARGUMENT, words);
    bad(planned(null(), size, row_ptr, col_idx, kinds).0, "profile is NULL");
    bad(planned(profile, size, (null(), SS_I64), col_idx, kinds).0, "row_ptr is NULL");
    bad(planned(profile, size, row_ptr, (null(), SS_I32), kinds).0, "col_idx is NULL");
    let plan = plan_of(&a, profile, SS_F64);
    let op = first_prepared(&a, profile, device);
    let (x, mut y) = ([1.0; ROWS], [0.0; ROWS]);
    let (mut number, mut count, mut bytes, mut made) = (0.0, 0, 0, null_mut());
    // SAFETY: handles, places and arrays, or NULL.
    unsafe {
        bad(ss_profile_open(c"nvidia-h200".as_ptr(), null_mut()), "profile is NULL");
        bad(ss_device_open(null(), &raw mut made), "name is NULL");
        bad(ss_device_open(c"cpu".as_ptr(), null_mut()), "device is NULL");
        bad(
            ss_plan_csr(profile, 0, 0, null(), SS_I32, null(), SS_I32, SS_F64, 0, null_mut()),
            "plan is NULL",
        );
        bad(ss_plan_count(null(), &raw mut count), "plan is NULL");
        bad(ss_plan_count(plan, null_mut()), "count is NULL");
        bad(-ss_plan_id(null(), 0, null_mut(), 0), "plan is NULL");
        bad(-ss_plan_id(plan, 0, null_mut(), 1), "buf is NULL");
        bad(ss_plan_predicted_s(plan, 0, &raw mut number, null_mut(), &raw mut number), "low_s is NULL");
        bad(ss_plan_memory_bytes(plan, 0, null_mut()), "bytes is NULL");
        bad(ss_plan_memory_bytes(null(), 0, &raw mut bytes), "plan is NULL");
        bad(ss_prepare(plan, 0, device, address(&a.values), null_mut()), "op is NULL");
        let mut made: *mut OpHandle = null_mut();
        bad(ss_prepare(null(), 0, device, address(&a.values), &raw mut made), "plan is NULL");
        bad(ss_prepare(plan, 0, null(), address(&a.values), &raw mut made), "device is NULL");
        bad(ss_prepare(plan, 0, device, null(), &raw mut made), "values is NULL");
        bad(ss_update_values_host(null_mut(), address(&a.values)), "op is NULL");
        bad(ss_update_values_host(op, null()), "values is NULL");
        bad(ss_update_values(null_mut(), address(&a.values), null_mut()), "op is NULL");
        bad(ss_update_values(op, null(), null_mut()), "values is NULL");
        bad(ss_memory_bytes(op, null_mut()), "bytes is NULL");
        bad(ss_multiply_host(op, 1.0, null(), 0.0, y.as_mut_ptr().cast()), "x is NULL");
        bad(ss_multiply_host(op, 1.0, address(&x), 0.0, null_mut()), "y is NULL");
        bad(ss_multiply(null(), 1.0, null(), 0.0, null_mut(), null_mut()), "op is NULL");
        // Both at once are not two vectors that share memory.
        bad(ss_multiply_host(op, 1.0, null(), 0.0, null_mut()), "x is NULL");
        bad(ss_multiply(op, 1.0, null(), 0.0, null_mut(), null_mut()), "x is NULL");
        bad(ss_multiply(op, 1.0, address(&x), 0.0, null_mut(), null_mut()), "y is NULL");
    }
    bad(multiplied(null(), (1.0, 0.0), &x, &mut y), "op is NULL");
    // What was refused has changed nothing.
    fine(multiplied(op, (1.0, 0.0), &x, &mut y));
    hold(&y, &a.times(&x), "after all that");
    // SAFETY: handles that are no longer in use.
    unsafe {
        ss_op_free(op);
        ss_plan_free(plan);
        ss_profile_free(profile);
        ss_device_free(device);
    }
}

#[test]
fn invalid_arrays_are_refused_before_more_is_read() {
    let profile = profile();
    // 3 x 4 with these arrays.
    let planned = |row_ptr: &[i32], col_idx: &[i32]| {
        let arrays = ((address(row_ptr), SS_I32), (address(col_idx), SS_I32));
        planned(profile, (3, 4), arrays.0, arrays.1, (SS_F64, 0))
    };
    let (code, plan) = planned(&[0, 1, 1, 3], &[3, 0, 2]);
    fine(code);
    let bad = |(code, _): (c_int, *mut PlanHandle), words: &str| refused(code, SS_BAD_MATRIX, words);
    bad(planned(&[1, 1, 1, 3], &[3, 0, 2]), "row_ptr[0] = 1");
    assert!(text(ss_last_hint()).contains("counted from 0"));
    bad(planned(&[0, 2, 1, 3], &[0, 1, 2]), "row_ptr decreases at row 1");
    bad(planned(&[0, 1, 1, -3], &[]), "row_ptr[3] = -3 is negative");
    // Columns that would be read beyond the end of the array.
    bad(planned(&[0, 1, 1, i32::MAX], &[]), "more than 3 x 4 places");
    bad(planned(&[0, 1, 1, 3], &[3, 0, 4]), "col_idx[2] = 4 is no column of a matrix with 4 columns");
    bad(planned(&[0, 1, 1, 3], &[3, -1, 2]), "col_idx[1] = -1");
    bad(planned(&[0, 1, 1, 3], &[3, 2, 2]), "not sorted");
    assert!(text(ss_last_hint()).starts_with("sort the columns"));
    // SAFETY: handles that are no longer in use.
    unsafe {
        ss_plan_free(plan);
        ss_profile_free(profile);
    }
}

#[test]
fn a_plan_for_gpus_is_refused_on_the_processor() {
    let (a, of_gpu, of_cpu, device) = (tridiagonal(), profile_named(c"nvidia-h200"), profile(), cpu());
    let plan = plan_of(&a, of_gpu, SS_F64);
    assert!(count_of(plan) > 50);
    let mut made = null_mut();
    for i in 0..count_of(plan) {
        // SAFETY: handles, a value for each non-zero, and a place for a handle.
        let code = unsafe { ss_prepare(plan, i, device, address(&a.values), &raw mut made) };
        refused(code, SS_BAD_ARGUMENT, "the plan is for a GPU, and this is a processor");
        assert!(text(ss_last_hint()).contains("ss_profile_open(\"cpu\"") && made.is_null());
    }
    let own = plan_of(&a, of_cpu, SS_F64);
    let op = prepared(own, 0, device, &a.values).unwrap();
    // SAFETY: handles that are no longer in use.
    unsafe {
        ss_op_free(op);
        ss_plan_free(own);
        ss_plan_free(plan);
        ss_profile_free(of_gpu);
        ss_profile_free(of_cpu);
        ss_device_free(device);
    }
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let (a, profile, device) = (tridiagonal(), profile(), cpu());
    let (rows, narrow) = (ROWS as i64, [0_i32; 4]);
    let (row_ptr, col_idx) = ((address(&a.row_ptr), SS_I64), (address(&a.col_idx), SS_I32));
    let bad = |code, words: &str| refused(code, SS_BAD_ARGUMENT, words);
    bad(planned(profile, (-1, rows), row_ptr, col_idx, (SS_F64, 0)).0, "nrows = -1 is negative");
    bad(planned(profile, (rows, i64::MIN), row_ptr, col_idx, (SS_F64, 0)).0, "ncols = -9223372036854775808");
    bad(planned(profile, (rows, rows), row_ptr, col_idx, (SS_F64, -5)).0, "products = -5 is negative");
    bad(planned(profile, (i64::MAX, rows), row_ptr, col_idx, (SS_F64, 0)).0, "does not fit into any memory");
    bad(
        planned(profile, (rows, rows), (row_ptr.0, SS_F64), col_idx, (SS_F64, 0)).0,
        "the type of row_ptr is 4",
    );
    bad(planned(profile, (rows, rows), row_ptr, (col_idx.0, 0), (SS_F64, 0)).0, "the type of col_idx is 0");
    bad(planned(profile, (rows, rows), row_ptr, col_idx, (SS_I64, 0)).0, "the type of the values is 2");
    let odd = narrow.as_ptr().wrapping_byte_add(1).cast::<c_void>();
    bad(planned(profile, (1, 1), (odd, SS_I32), col_idx, (SS_F64, 0)).0, "row_ptr is not aligned");

    let plan = plan_of(&a, profile, SS_F64);
    let (count, mut number, mut made) = (count_of(plan), 0, null_mut());
    let none = format!("there are {count}");
    // SAFETY: handles, places and arrays.
    unsafe {
        for i in [-1, count, i64::MAX] {
            bad(ss_plan_memory_bytes(plan, i, &raw mut number), &none);
            bad(-ss_plan_id(plan, i, null_mut(), 0), &none);
            bad(ss_prepare(plan, i, device, address(&a.values), &raw mut made), &none);
        }
    }
    assert_eq!(number, 0);

    // An id that is longer than its room is cut off, and its length is said.
    let (id, mut room) = (id_of(plan, 0), [b'x' as c_char; 8]);
    // SAFETY: a handle, and 5 of 8 bytes.
    let length = unsafe { ss_plan_id(plan, 0, room.as_mut_ptr(), 5) };
    assert_eq!((usize::try_from(length), text(room.as_ptr())), (Ok(id.len()), id[..4].to_owned()));
    assert_eq!(room[5..], [b'x' as c_char; 3]);

    let op = first_prepared(&a, profile, device);
    let mut both = [1.0; 2 * ROWS];
    let start = both.as_mut_ptr();
    let (x, second) = (start.cast_const().cast::<c_void>(), start.wrapping_add(ROWS).cast::<c_void>());
    // SAFETY: vectors inside of one array; what overlaps or is not aligned is refused before it is looked at.
    unsafe {
        let overlapping = start.wrapping_add(ROWS - 1).cast();
        bad(ss_multiply_host(op, 1.0, x, 0.0, overlapping), "y shares memory with x");
        bad(ss_multiply_host(op, 1.0, x, 0.0, second.wrapping_byte_add(3)), "y is not aligned");
        fine(ss_multiply_host(op, 1.0, x, 0.0, second));
        // Vectors of a GPU, for a matrix in the memory of the host.
        bad(ss_multiply(op, 1.0, x, 0.0, second, null_mut()), "no vectors on a device");
        assert!(text(ss_last_hint()).contains("ss_multiply_host"));
        bad(ss_update_values(op, address(&a.values), null_mut()), "no vectors on a device");
        assert!(text(ss_last_hint()).contains("ss_update_values_host"));
        ss_op_free(op);
        ss_plan_free(plan);
        ss_profile_free(profile);
        ss_device_free(device);
    }
}

#[test]
fn a_matrix_beyond_any_memory_is_infeasible() {
    let folder = tempfile::tempdir().unwrap();
    let sheet = folder.path().join("tiny.toml");
    // A GPU with 1 GB, and a matrix whose x takes 16.
    let facts = "name = \"Tiny\"\nmultiprocessors = 2\nl2_bytes = 1e6\nmemory_bytes = 1e9\ncopy_bytes_per_s = 1e11\n\
                 launch_s = 1e-6\ncompute_capability = [8, 0]\n";
    std::fs::write(&sheet, facts).unwrap();
    let (a, mut profile) = (tridiagonal(), null_mut());
    let path = std::ffi::CString::new(sheet.to_str().unwrap()).unwrap();
    // SAFETY: text, and a place for a handle.
    fine(unsafe { ss_profile_open(path.as_ptr(), &raw mut profile) });
    let arrays = ((address(&a.row_ptr), SS_I64), (address(&a.col_idx), SS_I32));
    let (code, _) = planned(profile, (ROWS as i64, 2_000_000_000), arrays.0, arrays.1, (SS_F64, 0));
    refused(code, SS_INFEASIBLE, "no candidate is possible on ");
    assert!(!text(ss_last_error()).contains("cusparse"));
    // SAFETY: a handle that is no longer in use.
    unsafe { ss_profile_free(profile) };
}

#[test]
fn nan_is_a_value_as_others_are_and_y_is_not_read_with_beta_0() {
    let (mut a, profile, device) = (tridiagonal(), profile(), cpu());
    a.values[0] = f64::NAN;
    a.values[2] = f64::INFINITY;
    let op = first_prepared(&a, profile, device);
    let (x, mut y) = ([1.0; ROWS], [f64::NAN; ROWS]);
    fine(multiplied(op, (1.0, 0.0), &x, &mut y));
    assert!(y[0].is_nan() && y[1].is_infinite() && y[2..].iter().all(|y| y.is_finite()));
    fine(multiplied(op, (f64::NAN, 0.0), &x, &mut y));
    assert!(y.iter().all(|y| y.is_nan()));
    // SAFETY: handles that are no longer in use.
    unsafe {
        ss_op_free(op);
        ss_profile_free(profile);
        ss_device_free(device);
    }
}

#[test]
fn a_matrix_without_entries_is_a_matrix() {
    let (profile, device) = (profile(), cpu());
    let (code, plan) =
        planned(profile, (2, 3), (address(&[0_i32; 3]), SS_I32), (null(), SS_I32), (SS_F64, 0));
    fine(code);
    let mut op: *mut OpHandle = null_mut();
    let (x, mut y) = ([1.0; 3], [5.0, f64::NAN]);
    // SAFETY: handles, vectors that are long enough, and places; there are no values.
    unsafe {
        assert!((0..count_of(plan)).any(|i| ss_prepare(plan, i, device, null(), &raw mut op) == SS_OK));
        fine(ss_multiply_host(op, 1.0, address(&x), 0.0, y.as_mut_ptr().cast()));
        fine(ss_update_values_host(op, null()));
        ss_op_free(op);
        ss_plan_free(plan);
        ss_profile_free(profile);
        ss_device_free(device);
    }
    hold(&y, &[0.0, 0.0], "nothing");
}

#[test]
fn unknown_profiles_and_devices_are_named_in_errors() {
    let (mut profile, mut device) = (null_mut(), null_mut());
    // SAFETY: text, and places for handles.
    unsafe {
        refused(ss_profile_open(c"nvidia-x1".as_ptr(), &raw mut profile), SS_NO_PROFILE, "'nvidia-x1'");
        assert!(text(ss_last_error()).contains("nvidia-h200") && text(ss_last_hint()).contains("cuda:N"));
        refused(ss_profile_open(c"\xff".as_ptr(), &raw mut profile), SS_BAD_ARGUMENT, "UTF-8");
        assert!(profile.is_null());
        refused(ss_device_open(c"tpu".as_ptr(), &raw mut device), SS_BAD_ARGUMENT, "'tpu' is no device");
        assert!(text(ss_last_hint()).contains("\"cuda:N\"") && device.is_null());
        refused(
            ss_device_open(c"cuda:+1".as_ptr(), &raw mut device),
            SS_BAD_ARGUMENT,
            "'cuda:+1' is no device",
        );
        // No machine has so many.
        refused(ss_device_open(c"hip:4096".as_ptr(), &raw mut device), SS_NO_GPU, "HIP");
        assert!(device.is_null());
        // Whatever is here: the default is there, too.
        fine(ss_profile_open(null(), &raw mut profile));
        ss_profile_free(profile);
    }
}

#[test]
fn several_threads_multiply_with_one_handle_while_values_are_replaced() {
    struct Shared(*mut OpHandle);
    // SAFETY: the library says that several threads may use a handle at once.
    unsafe impl Sync for Shared {}
    impl Shared {
        fn op(&self) -> *mut OpHandle {
            self.0
        }
    }
    let (a, profile, device) = (tridiagonal(), profile(), cpu());
    let shared = Shared(first_prepared(&a, profile, device));
    let x = vec![1.0; ROWS];
    let (once, tripled) = (a.times(&x), a.values.iter().map(|value| 3.0 * value).collect::<Vec<_>>());
    let largest = |values: &[f64]| values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut y = vec![0.0; ROWS];
                for _ in 0..50 {
                    fine(multiplied(shared.op(), (1.0, 0.0), &x, &mut y));
                    // All of the old values, or all of the new ones.
                    let factor = if largest(&y) > 1.5 * largest(&once) { 3.0 } else { 1.0 };
                    hold(&y, &once.iter().map(|y| factor * y).collect::<Vec<_>>(), "one of both");
                }
            });
        }
        for values in [&tripled, &a.values].into_iter().cycle().take(20) {
            // SAFETY: a handle, and a value for each non-zero.
            fine(unsafe { ss_update_values_host(shared.op(), address(values)) });
        }
    });
    // SAFETY: handles that are no longer in use.
    unsafe {
        ss_op_free(shared.op());
        ss_profile_free(profile);
        ss_device_free(device);
    }
}

/// The code, and the epilogue if there is one.
fn with_epilogue(op: *const OpHandle, words: [Option<&CStr>; 5]) -> (c_int, *mut EpilogueHandle) {
    let mut made = std::ptr::dangling_mut();
    let [line, vectors, scalars, outputs, dots] = words.map(|text| text.map_or(null(), CStr::as_ptr));
    // SAFETY: a handle, texts, and a place for a handle.
    let code = unsafe { ss_epilogue_prepare(op, line, vectors, scalars, outputs, dots, &raw mut made) };
    assert_eq!(made.is_null(), code != SS_OK);
    (code, made)
}

#[test]
fn an_epilogue_computes_y_outputs_and_dot_products_and_sees_other_values() {
    let (a, profile, device) = (tridiagonal(), profile(), cpu());
    let op = first_prepared(&a, profile, device);
    let words = [c"s * d[i] + beta * y[i]", c"d", c"beta", c"w = out - w[i]", c"y * x; w * d"];
    let (code, epilogue) = with_epilogue(op, words.map(Some));
    fine(code);
    let x: Vec<f64> = (0..ROWS).map(|i| (i % 7) as f64 - 2.0).collect();
    let d: Vec<f64> = (0..ROWS).map(|i| (i % 3) as f64).collect();
    let multiply = |epilogue, y: &mut [f64], w: *mut f64| {
        let (vectors, outputs, scalars) = ([address(&d)], [w.cast::<c_void>()], [2.0]);
        let (mut dots, y) = ([f64::NAN; 2], y.as_mut_ptr().cast::<c_void>());
        // SAFETY: a handle or NULL, and vectors that are long enough.
        let code = unsafe {
            ss_epilogue_multiply_host(
                epilogue,
                address(&x),
                y,
                vectors.as_ptr(),
                outputs.as_ptr(),
                scalars.as_ptr(),
                dots.as_mut_ptr(),
            )
        };
        (code, dots)
    };
    for factor in [1.0, 3.0] {
        let values: Vec<f64> = a.values.iter().map(|value| factor * value).collect();
        // SAFETY: a handle, and a value for each non-zero.
        fine(unsafe { ss_update_values_host(op, address(&values)) });
        let (mut y, mut w) = (vec![1.0; ROWS], vec![5.0; ROWS]);
        let (code, dots) = multiply(epilogue, &mut y, w.as_mut_ptr());
        fine(code);
        let expected: Vec<f64> = a.times(&x).iter().zip(&d).map(|(sum, d)| factor * sum * d + 2.0).collect();
        hold(&y, &expected, "y");
        hold(&w, &expected.iter().map(|y| y - 5.0).collect::<Vec<_>>(), "w");
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        hold(&dots, &[dot(&y, &x), dot(&w, &d)], "dot products");
    }
    let mut y = vec![1.0; ROWS];
    let same = y.as_mut_ptr();
    refused(multiply(epilogue, &mut y, same).0, SS_BAD_ARGUMENT, "shares memory");
    refused(multiply(epilogue, &mut y, null_mut()).0, SS_BAD_ARGUMENT, "w is NULL");
    refused(multiply(null(), &mut y, null_mut()).0, SS_BAD_ARGUMENT, "epilogue is NULL");
    let at = y.as_mut_ptr().cast::<c_void>();
    let (vectors, outputs, scalars, mut dots) = ([address(&d)], [at], [2.0], [0.0; 2]);
    // SAFETY: a handle, and vectors that are long enough.
    let code = unsafe {
        let (x, dots) = (address(&x), dots.as_mut_ptr());
        let (vectors, outputs, scalars) = (vectors.as_ptr(), outputs.as_ptr(), scalars.as_ptr());
        ss_epilogue_multiply(epilogue, x, at, vectors, outputs, scalars, null(), dots, null_mut())
    };
    refused(code, SS_BAD_ARGUMENT, "host's memory");
    // Results within a vector: from its beginning on, from its last entry on, and up to its first.
    let mut w = vec![5.0; ROWS];
    let last = x.as_ptr().cast_mut().wrapping_add(ROWS - 1);
    for dots in [w.as_mut_ptr(), at.cast(), last, d.as_ptr().cast_mut().wrapping_sub(1)] {
        let outputs = [w.as_mut_ptr().cast::<c_void>()];
        let (x, vectors, outputs, scalars) =
            (address(&x), vectors.as_ptr(), outputs.as_ptr(), scalars.as_ptr());
        // SAFETY: a handle, and vectors that are long enough; the results are refused before they are written.
        let code = unsafe { ss_epilogue_multiply_host(epilogue, x, at, vectors, outputs, scalars, dots) };
        refused(code, SS_BAD_ARGUMENT, "dots shares memory with x, y or another vector");
        // SAFETY: likewise.
        let code = unsafe {
            ss_epilogue_multiply(epilogue, x, at, vectors, outputs, scalars, null(), dots, null_mut())
        };
        refused(code, SS_BAD_ARGUMENT, "dots shares memory with x, y or another vector");
    }
    for (words, why) in [
        ([None, None, None, None, None], "line is NULL"),
        ([Some(c"s; y = 0"), None, None, None, None], "one expression of C"),
        ([Some(c"s * q"), None, None, None, None], "does not know 'q'"),
        ([Some(c"s"), Some(c"double"), None, None, None], "a word of C++"),
        ([Some(c"s"), None, None, Some(c"w"), None], "NAME = LINE"),
        ([Some(c"s"), None, None, None, Some(c"y x")], "NAME * NAME"),
        ([Some(c"s"), None, None, None, Some(c"y * r")], "a dot product is of"),
    ] {
        refused(with_epilogue(op, words).0, SS_BAD_ARGUMENT, why);
    }
    // SAFETY: handles that are no longer in use, or NULL.
    unsafe {
        ss_op_free(op);
        ss_epilogue_free(epilogue);
        ss_epilogue_free(null_mut());
        ss_device_free(device);
        ss_profile_free(profile);
    }
}
