//! Arrays in memory that C has: looked at before they are believed, and never longer than the caller says.

use crate::failure::Failure;
use crate::status::{SS_I32, SS_I64};
use bytemuck::allocation::try_zeroed_vec;
use rayon::prelude::*;
use sparsight::matrix::Scalar;
use std::ffi::{c_int, c_void};
use std::ops::Range;

/// Refuses an address at which there cannot be `len` numbers, of whatever memory. With `len` 0 any address will do.
pub(crate) fn check<T>(what: &str, at: *const T, len: usize) -> Result<(), Failure> {
    if len == 0 {
        return Ok(());
    }
    if at.is_null() {
        return Err(Failure::null(what));
    }
    if !at.is_aligned() {
        let text = format!("{what} is not aligned to the {} bytes of its entries", align_of::<T>());
        return Err(Failure::bad_argument(text));
    }
    if len > isize::MAX as usize / size_of::<T>() {
        return Err(Failure::bad_argument(format!("{what} of {len} entries does not fit into any memory")));
    }
    Ok(())
}

/// Numbers to be read.
///
/// # Safety
/// `at` is NULL, or there are `len` numbers, which are not written to as long as `'a`.
pub(crate) unsafe fn read<'a, T>(what: &str, at: *const T, len: usize) -> Result<&'a [T], Failure> {
    check(what, at, len)?;
    if len == 0 {
        return Ok(&[]);
    }
    // SAFETY: as the caller promises; it is neither NULL nor too long, and it is aligned.
    Ok(unsafe { std::slice::from_raw_parts(at, len) })
}

/// Numbers to be written.
///
/// # Safety
/// `at` is NULL, or there are `len` numbers, which nothing else reads or writes as long as `'a`.
pub(crate) unsafe fn write<'a, T>(what: &str, at: *mut T, len: usize) -> Result<&'a mut [T], Failure> {
    check(what, at.cast_const(), len)?;
    if len == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as the caller promises; it is neither NULL nor too long, and it is aligned.
    Ok(unsafe { std::slice::from_raw_parts_mut(at, len) })
}

/// Refuses vectors that share memory, of whatever device.
pub(crate) fn disjoint<T>(
    (x, x_len): (*const T, usize),
    (y, y_len): (*const T, usize),
) -> Result<(), Failure> {
    let end = |at: *const T, len: usize| at.addr().saturating_add(len.saturating_mul(size_of::<T>()));
    let is_shared = x_len > 0 && y_len > 0 && x.addr() < end(y, y_len) && y.addr() < end(x, x_len);
    if is_shared { Err(Failure::bad_argument("y shares memory with x")) } else { Ok(()) }
}

/// Indices of 32 or 64 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Indices<'a> {
    I32(&'a [i32]),
    I64(&'a [i64]),
}

impl Indices<'_> {
    /// # Safety
    /// `at` is NULL, or there are `len` indices of the type that `kind` names, which are not written to as long as this lives.
    pub(crate) unsafe fn of(what: &str, at: *const c_void, kind: c_int, len: usize) -> Result<Self, Failure> {
        // SAFETY: as the caller promises.
        unsafe {
            match kind {
                SS_I32 => Ok(Self::I32(read(what, at.cast(), len)?)),
                SS_I64 => Ok(Self::I64(read(what, at.cast(), len)?)),
                _ => Err(no_index_type(what, kind)),
            }
        }
    }

    /// All of them as offsets into the entries of a matrix.
    pub(crate) fn offsets(self) -> Result<Vec<u64>, Failure> {
        let of = |at: usize, i: i64| Failure::bad_matrix(format!("row_ptr[{at}] = {i} is negative"));
        self.converted(&(0..i64::MAX), |i| i as u64, of)
    }

    /// All of them as columns of a matrix that has `ncols`.
    pub(crate) fn columns(self, ncols: usize) -> Result<Vec<u32>, Failure> {
        let of = |at: usize, i: i64| {
            let text = format!("col_idx[{at}] = {i} is no column of a matrix with {ncols} columns");
            Failure::bad_matrix(text).hinted("columns are counted from 0")
        };
        let most = ncols.min(u32::MAX as usize) as i64;
        self.converted(&(0..most), |i| i as u32, of)
    }

    fn converted<N: Send>(
        self,
        right: &Range<i64>,
        to: impl Fn(i64) -> N + Sync + Send,
        of: impl Fn(usize, i64) -> Failure,
    ) -> Result<Vec<N>, Failure> {
        match self {
            Self::I32(all) => converted(all, right, to, of),
            Self::I64(all) => converted(all, right, to, of),
        }
    }
}

/// Refuses what stands for no type of indices.
pub(crate) fn no_index_type(what: &str, kind: c_int) -> Failure {
    Failure::bad_argument(format!("the type of {what} is {kind}, neither SS_I32 nor SS_I64"))
}

/// All of them in another type, or the failure `of` the first that is not right, with its place.
fn converted<I: Copy + Into<i64> + Sync, N: Send>(
    all: &[I],
    right: &Range<i64>,
    to: impl Fn(i64) -> N + Sync + Send,
    of: impl Fn(usize, i64) -> Failure,
) -> Result<Vec<N>, Failure> {
    let is_right = |&i: &I| {
        let i: i64 = i.into();
        right.contains(&i)
    };
    if let Some(at) = all.par_iter().position_first(|i| !is_right(i)) {
        return Err(of(at, all[at].into()));
    }
    let mut made = room("a copy of the indices", all.len())?;
    all.par_iter().map(|&i| to(i.into())).collect_into_vec(&mut made);
    Ok(made)
}

/// An empty vector that so many entries are put into without asking the system again.
fn room<N>(what: &str, len: usize) -> Result<Vec<N>, Failure> {
    let mut made = Vec::new();
    let bytes = len.saturating_mul(size_of::<N>());
    made.try_reserve_exact(len).map_err(|_| Failure::no_memory(what, bytes))?;
    Ok(made)
}

/// A copy of all values.
pub(crate) fn copied<T: Scalar>(values: &[T]) -> Result<Vec<T>, Failure> {
    let mut made = room("a copy of the values", values.len())?;
    values.par_iter().copied().collect_into_vec(&mut made);
    Ok(made)
}

/// Allocates `len` zeros, of which the system makes no memory until they are read.
pub(crate) fn zeros<T: Scalar>(len: usize) -> Result<Vec<T>, Failure> {
    try_zeroed_vec(len).map_err(|()| {
        let bytes = len.saturating_mul(size_of::<T>());
        Failure::no_memory("the values of the pattern", bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{SS_BAD_ARGUMENT, SS_BAD_MATRIX, SS_INFEASIBLE};

    #[test]
    fn indices_of_either_type_are_converted_and_the_first_wrong_one_is_named() {
        let columns = |all: &[i32], ncols| Indices::I32(all).columns(ncols);
        assert_eq!(columns(&[0, 3, 1], 4).unwrap(), [0, 3, 1]);
        let wrong = columns(&[0, 4, -1], 4).unwrap_err();
        assert_eq!(wrong.code, SS_BAD_MATRIX);
        assert_eq!(wrong.text, "col_idx[1] = 4 is no column of a matrix with 4 columns");
        assert!(Indices::I64(&[1 << 40]).columns(usize::MAX).is_err());
        assert_eq!(Indices::I64(&[0, 1 << 40]).offsets().unwrap(), [0, 1_u64 << 40]);
        assert_eq!(Indices::I64(&[0, -2]).offsets().unwrap_err().text, "row_ptr[1] = -2 is negative");
    }

    #[test]
    fn memory_that_the_system_does_not_give_is_an_error() {
        let too_many = isize::MAX as usize / size_of::<f64>();
        for failure in [zeros::<f64>(too_many).unwrap_err(), room::<f64>("a copy", too_many).unwrap_err()] {
            assert_eq!(failure.code, SS_INFEASIBLE);
            assert!(failure.text.contains(&format!("no {} bytes", 8 * too_many)), "{}", failure.text);
        }
        assert_eq!(zeros::<f32>(3).unwrap(), [0.0; 3]);
        assert_eq!(copied(&[1.0, f64::INFINITY]).unwrap(), [1.0, f64::INFINITY]);
    }

    #[test]
    fn invalid_arrays_are_refused() {
        let numbers = [1.0, 2.0];
        let at = numbers.as_ptr();
        assert!(check("x", at, 2).is_ok());
        assert!(check("x", std::ptr::null::<f64>(), 0).is_ok());
        assert_eq!(check("x", std::ptr::null::<f64>(), 2).unwrap_err().text, "x is NULL");
        let odd = at.wrapping_byte_add(1);
        assert_eq!(check("x", odd, 1).unwrap_err().code, SS_BAD_ARGUMENT);
        assert!(check("x", at, usize::MAX).is_err());
        assert!(disjoint((at, 1), (at.wrapping_add(1), 1)).is_ok());
        assert!(disjoint((at, 2), (at.wrapping_add(1), 1)).is_err());
        assert!(disjoint((at, 0), (at, 2)).is_ok());
    }
}
