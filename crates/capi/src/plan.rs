//! The candidates for a matrix, predicted and ranked.

use crate::arguments::{Out, free, held, size, write_text};
use crate::arrays::{self, Indices, no_index_type};
use crate::error::{caught, guarded};
use crate::failure::Failure;
use crate::profile::{Known, ProfileHandle};
use crate::status::{SS_F32, SS_F64, SS_I32, SS_I64, SS_INFEASIBLE, SS_NO_PROFILE};
use crate::threads;
use sparsight::advise::{Advised, Refused, Why};
use sparsight::kernels::DeviceKind;
use sparsight::matrix::{Csr, Features, Scalar};
use sparsight::{Advice, Advisor, Objective, Profile};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// The candidates for a matrix, the best first: each is a format, a kernel and a block size. It has a copy of the pattern.
pub struct PlanHandle {
    pub(crate) pattern: Pattern,
    ranked: Ranked,
}

/// Candidates, best first, and for what kind of device they are ranked.
struct Ranked {
    kind: DeviceKind,
    candidates: Vec<Advised>,
}

/// A thing of either value type.
pub(crate) enum OfType<S, D> {
    F32(S),
    F64(D),
}

/// Does the same for both value types.
macro_rules! with_type {
    ($any:expr, $one:ident => $body:expr) => {
        match $any {
            $crate::plan::OfType::F32($one) => $body,
            $crate::plan::OfType::F64($one) => $body,
        }
    };
}
pub(crate) use with_type;

/// A matrix whose values are not given yet: zeros, of which the system makes no memory until they are read.
type Pattern = OfType<Arc<Csr<f32>>, Arc<Csr<f64>>>;

impl PlanHandle {
    /// Kind of the device.
    pub(crate) fn kind(&self) -> DeviceKind {
        self.ranked.kind
    }

    pub(crate) fn candidate(&self, i: i64) -> Result<&Advised, Failure> {
        let found = usize::try_from(i).ok().and_then(|i| self.ranked.candidates.get(i));
        found.ok_or_else(|| {
            let count = self.ranked.candidates.len();
            Failure::bad_argument(format!("the plan has no candidate {i}: there are {count}, counted from 0"))
        })
    }
}

/// The arrays of a pattern, of the types that this library has.
struct Arrays {
    /// Rows and columns.
    size: (usize, usize),
    row_ptr: Vec<u64>,
    col_idx: Vec<u32>,
}

/// The pattern and what can be prepared of it, best first. The vendor's routines are left out, as everywhere where a choice is
/// carried out: the library that they come with may not be there.
fn planned<T: Scalar>(
    known: &Known,
    arrays: Arrays,
    products: Option<u64>,
) -> Result<(Arc<Csr<T>>, Ranked), Failure> {
    let Arrays { size: (nrows, ncols), row_ptr, col_idx } = arrays;
    let values = arrays::zeros(col_idx.len())?;
    let pattern = Csr::try_new(nrows, ncols, row_ptr, col_idx, values)?;
    let objective = Objective { products, ..Objective::default() };
    let features = Features::of(&pattern);
    let (name, advice) = match known {
        Known::Profile(profile) => {
            (profile.name.as_str(), Advisor::new(profile).advise(&features, T::DTYPE, &objective)?)
        }
        Known::Processor(cpu) => {
            let calibration = Profile::of_calibrated_cpu(cpu, T::DTYPE);
            ("cpu", Advice::for_processor(cpu, calibration.as_ref(), &features, T::DTYPE, &objective)?)
        }
    };
    let Advice { kind, mut ranked, refused, .. } = advice;
    ranked.retain(|advised| !advised.candidate.kernel.is_vendors());
    if ranked.is_empty() {
        return Err(nothing_ranked(name, &refused));
    }
    Ok((Arc::new(pattern), Ranked { kind, candidates: ranked }))
}

/// Why no candidate is left, the vendor's aside: the profile cannot predict one that is possible, or none is.
fn nothing_ranked(profile: &str, refused: &[Refused]) -> Failure {
    let ours = || refused.iter().filter(|refused| !refused.candidate.kernel.is_vendors());
    let said = |refused: &Refused| format!(": {} {}", refused.candidate, refused.why);
    let unknown = ours().find(|refused| !matches!(refused.why, Why::Infeasible(_)));
    if let Some(unknown) = unknown {
        let text = format!("the profile {profile} predicts no candidate that is possible{}", said(unknown));
        return Failure::new(SS_NO_PROFILE, text).hinted("take the profile of another GPU");
    }
    let first = ours().next().map(said).unwrap_or_default();
    Failure::new(SS_INFEASIBLE, format!("no candidate is possible on {profile}{first}"))
}

/// Looks at the pattern of a sparse matrix in CSR and ranks every candidate that a device of the profile's kind has for it. No GPU
/// is needed, and nothing is run. It takes some milliseconds per million non-zeros; the first plan with a profile reads models, too.
///
/// The matrix has `nrows` rows and `ncols` columns. `row_ptr` holds `nrows + 1` offsets, of which the first is 0 and the last the
/// number of non-zeros; `col_idx` holds a column for each non-zero, counted from 0, and increasing within a row. `row_ptr_type` and
/// `col_idx_type` are `SS_I32` or `SS_I64`, each by itself; `value_type` is `SS_F32` or `SS_F64`: what values, x and y will be. The
/// arrays are copied. There may be at most 2^32 - 2 columns, and as many non-zeros as there is memory for.
///
/// `products` is how many products y = A x will be computed: the candidates are ranked by what conversion, upload and so many
/// products take together; with 0 by the time of one product. Routines of the vendor's library are not among them.
///
/// `SS_BAD_MATRIX` if the arrays are no such matrix; `SS_INFEASIBLE` if the device of the profile can hold it in no format;
/// `SS_NO_PROFILE` if the profile cannot predict; `SS_DEVICE` if the system gives no threads; `SS_BAD_ARGUMENT`.
///
/// # Safety
/// `row_ptr` has `nrows + 1` entries and `col_idx` has `row_ptr[nrows]`, of the types that are named; they are not written to during
/// the call. `plan` is a place for a handle, to be freed by `ss_plan_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_plan_csr(
    profile: *const ProfileHandle,
    nrows: i64,
    ncols: i64,
    row_ptr: *const c_void,
    row_ptr_type: c_int,
    col_idx: *const c_void,
    col_idx_type: c_int,
    value_type: c_int,
    products: i64,
    plan: *mut *mut PlanHandle,
) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (plan, profile) = unsafe { (Out::of_handle("plan", plan)?, held("profile", profile)?) };
        let (nrows, ncols) = (size("nrows", nrows)?, size("ncols", ncols)?);
        let products = Some(size("products", products)? as u64).filter(|&products| products > 0);
        // Before anything is read by it.
        for (what, kind) in [("row_ptr", row_ptr_type), ("col_idx", col_idx_type)] {
            if ![SS_I32, SS_I64].contains(&kind) {
                return Err(no_index_type(what, kind));
            }
        }
        if ![SS_F32, SS_F64].contains(&value_type) {
            let text = format!("the type of the values is {value_type}, neither SS_F32 nor SS_F64");
            return Err(Failure::bad_argument(text));
        }
        threads::begin()?;
        // SAFETY: as the caller promises.
        let offsets = unsafe { Indices::of("row_ptr", row_ptr, row_ptr_type, nrows.saturating_add(1))? };
        let row_ptr = offsets.offsets()?;
        let nnz = entries(&row_ptr, (nrows, ncols))?;
        // SAFETY: as the caller promises.
        let columns = unsafe { Indices::of("col_idx", col_idx, col_idx_type, nnz)? };
        let arrays = Arrays { size: (nrows, ncols), row_ptr, col_idx: columns.columns(ncols)? };
        let (pattern, ranked) = if value_type == SS_F32 {
            let (pattern, ranked) = planned(&profile.0, arrays, products)?;
            (Pattern::F32(pattern), ranked)
        } else {
            let (pattern, ranked) = planned(&profile.0, arrays, products)?;
            (Pattern::F64(pattern), ranked)
        };
        plan.give(PlanHandle { pattern, ranked });
        Ok(())
    })
}

/// Number of non-zeros by the offsets: before as many columns are read, so that a damaged matrix is not believed.
fn entries(row_ptr: &[u64], (nrows, ncols): (usize, usize)) -> Result<usize, Failure> {
    let (first, last) = (row_ptr.first().copied().unwrap_or(0), row_ptr.last().copied().unwrap_or(0));
    if first != 0 {
        let failure = Failure::bad_matrix(format!("row_ptr[0] = {first}, where offsets begin with 0"));
        return Err(failure.hinted("offsets and columns are counted from 0"));
    }
    if let Some(row) = row_ptr.windows(2).position(|ends| ends[1] < ends[0]) {
        return Err(Failure::bad_matrix(format!("row_ptr decreases at row {row}")));
    }
    if u128::from(last) > nrows as u128 * ncols as u128 {
        let text = format!("row_ptr[{nrows}] = {last} non-zeros are more than {nrows} x {ncols} places");
        return Err(Failure::bad_matrix(text));
    }
    usize::try_from(last).map_err(|_| Failure::bad_matrix(format!("row_ptr[{nrows}] = {last} is too large")))
}

/// Writes to `count` how many candidates the plan has: at least one. They are counted from 0, the best first.
///
/// # Safety
/// `plan` is NULL or a handle, `count` NULL or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_plan_count(plan: *const PlanHandle, count: *mut i64) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (plan, count) = unsafe { (held("plan", plan)?, Out::of("count", count)?) };
        count.set(plan.ranked.candidates.len() as i64);
        Ok(())
    })
}

/// Writes the id of candidate `i`, such as "csr-vector/t8/b256/f64", to `buf`: at most `n` bytes with the NUL at the end, as
/// `snprintf` does. The id says kernel, knobs, block size and value type, and keeps its meaning for ever.
///
/// It returns the length of the id without the NUL, which is at least `n` if `buf` was too short; `buf` may be NULL if `n` is 0.
/// If it fails, it returns a code as other functions do, but negative: `-SS_BAD_ARGUMENT`.
///
/// # Safety
/// `plan` is NULL or a handle; at `buf` there is room for `n` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_plan_id(plan: *const PlanHandle, i: i64, buf: *mut c_char, n: usize) -> c_int {
    let written = caught(|| {
        // SAFETY: as the caller promises.
        let plan = unsafe { held("plan", plan)? };
        let id = plan.candidate(i)?.candidate.to_string();
        // SAFETY: as the caller promises.
        unsafe { write_text(&id, buf, n)? };
        Ok(id.len() as c_int)
    });
    written.unwrap_or_else(|code| -code)
}

/// Writes how long one product y = A x with candidate `i` is predicted to take on the device of the profile, in seconds, launches
/// included: the time, and the ends of its 90 % interval. `*low_s <= *time_s <= *high_s`, and all are above 0.
///
/// # Safety
/// `plan` is NULL or a handle, the others are NULL or places for numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_plan_predicted_s(
    plan: *const PlanHandle,
    i: i64,
    time_s: *mut f64,
    low_s: *mut f64,
    high_s: *mut f64,
) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (plan, time_s, low_s, high_s) = unsafe {
            (
                held("plan", plan)?,
                Out::of("time_s", time_s)?,
                Out::of("low_s", low_s)?,
                Out::of("high_s", high_s)?,
            )
        };
        let prediction = &plan.candidate(i)?.prediction;
        time_s.set(prediction.time.0);
        low_s.set(prediction.low.0);
        high_s.set(prediction.high.0);
        Ok(())
    })
}

/// Writes to `bytes` what the matrix takes on a device in the format of candidate `i`, in bytes, x and y not counted.
///
/// # Safety
/// `plan` is NULL or a handle, `bytes` NULL or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_plan_memory_bytes(plan: *const PlanHandle, i: i64, bytes: *mut u64) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (plan, bytes) = unsafe { (held("plan", plan)?, Out::of("bytes", bytes)?) };
        bytes.set(plan.candidate(i)?.memory.0);
        Ok(())
    })
}

/// Frees a plan. Matrices that were prepared by it do not need it.
///
/// # Safety
/// `plan` is NULL or a handle that is no longer in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ss_plan_free(plan: *mut PlanHandle) {
    // SAFETY: as the caller promises.
    unsafe { free(plan) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight::matrix::{Bytes, Infeasible};

    #[test]
    fn unpredictable_candidates_are_distinguished_from_infeasible_ones() {
        let does_not_fit = Why::Infeasible(Infeasible::DoesNotFit { need: Bytes(2), have: Bytes(1) });
        let unmeasured = Why::Unmeasured("it was not run".to_owned());
        let refused = |id: &str, why: &Why| Refused { candidate: id.parse().unwrap(), why: why.clone() };
        // Whatever is the matter with the vendor's routines: they are not asked for.
        let vendors = refused("cusparse-coo/f64", &unmeasured);
        let (ell, csr) = ("ell/b256/f64", "csr-scalar/b256/f64");
        let none_fits = [vendors.clone(), refused(ell, &does_not_fit), refused(csr, &does_not_fit)];
        let failure = nothing_ranked("a GPU", &none_fits);
        assert_eq!(failure.code, SS_INFEASIBLE);
        assert!(
            failure.text.starts_with("no candidate is possible on a GPU: ell/b256/f64 "),
            "{}",
            failure.text
        );
        let one_unknown = [vendors, refused(ell, &does_not_fit), refused(csr, &unmeasured)];
        let failure = nothing_ranked("a GPU", &one_unknown);
        assert_eq!(failure.code, SS_NO_PROFILE);
        assert!(failure.text.ends_with(": csr-scalar/b256/f64 it was not run"), "{}", failure.text);
    }
}
