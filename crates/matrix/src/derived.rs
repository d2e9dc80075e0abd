//! Matrices made from others, written as `derived:STEP[,STEP...]:SOURCE`: larger ones with the structure of a real one, for
//! tests and measurements that need many of a kind.
//!
//! | step | matrix | like |
//! |---|---|---|
//! | `unknowns=B` | A (x) ones(B, B), off the diagonal of a block halved | several unknowns a node |
//! | `layers=L` | L copies of A, each entry of a layer coupled to its own in the next ones | a mesh that is extruded |
//! | `transpose` | A^T | |
//! | `rcm` | P A P^T in the order of reverse Cuthill-McKee | a mesh that was numbered well |
//! | `shuffle=SEED` | P A P^T in a random order | a mesh that was numbered badly |
//! | `rows=K` | the middle one of K equal slices of rows, with the columns that occur in it | what one of K processes holds |
//!
//! ```
//! use sparsight_matrix::{derived::{Derivation, origin}, gallery::Recipe};
//! let grid = "stencil2d,n=10".parse::<Recipe>()?.generate::<f64>()?;
//! let steps: Derivation = "layers=4,unknowns=3".parse()?;
//! let a = steps.apply(&grid)?;
//! assert_eq!((a.nrows(), a.nnz()), (100 * 4 * 3, (460 * 4 + 2 * 300) * 9));
//! assert_eq!(origin("a/cube+layers=4,unknowns=3"), "a/cube");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::csr::offsets;
use crate::gallery::{self, MAX_DIMENSION, Size};
use crate::io::memory::{Refused, zeroed};
use crate::row_fill::{fill_rows, renumbered};
use crate::{Bytes, Csr, CsrError, NoHostMemory, Permutation, ReorderError, Scalar};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Prefix of a derived matrix, which a path of a file does not have.
pub const PREFIX: &str = "derived:";

/// The name of the matrix that a derived one was made from; of any other its own. A derived matrix is called
/// `NAME+STEP[,STEP...]`.
pub fn origin(name: &str) -> &str {
    match name.rsplit_once('+') {
        Some((origin, steps)) if steps.parse::<Derivation>().is_ok() => origin,
        _ => name,
    }
}

/// A matrix' name without its seed, if a recipe is what it is, and that of a derived matrix' [`origin`].
/// Matrices that differ by the seed alone are as alike as two draws from one distribution: a test set must not hold one whose like is
/// in the training set.
///
/// ```
/// use sparsight_matrix::derived::instance;
/// assert_eq!(instance("gallery:arrow,n=9,width=2,seed=7"), "gallery:arrow,n=9,width=2");
/// assert_eq!(instance("a/arrow,seed=7"), "a/arrow,seed=7");
/// assert_eq!(instance("a/arrow+layers=4"), "a/arrow");
/// ```
pub fn instance(name: &str) -> &str {
    let name = origin(name);
    // The seed is the last parameter of every generator, and a record has the canonical text.
    let recipe = name.starts_with(gallery::PREFIX).then(|| name.rsplit_once(",seed=")).flatten();
    recipe.map_or(name, |(without_seed, _)| without_seed)
}

/// A step of the derivation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Unknowns(u32),
    Layers(u32),
    Transpose,
    Rcm,
    Shuffle(u64),
    Rows(u32),
}

impl FromStr for Step {
    type Err = DeriveError;

    fn from_str(text: &str) -> Result<Self, DeriveError> {
        let unknown = || DeriveError::UnknownStep { text: text.to_owned() };
        let count = |value: &str| value.parse().ok().filter(|&count: &u32| count > 0).ok_or_else(unknown);
        match text.split_once('=') {
            Some(("unknowns", value)) => Ok(Self::Unknowns(count(value)?)),
            Some(("layers", value)) => Ok(Self::Layers(count(value)?)),
            Some(("rows", value)) => Ok(Self::Rows(count(value)?)),
            Some(("shuffle", value)) => Ok(Self::Shuffle(value.parse().map_err(|_| unknown())?)),
            None if text == "transpose" => Ok(Self::Transpose),
            None if text == "rcm" => Ok(Self::Rcm),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknowns(count) => write!(f, "unknowns={count}"),
            Self::Layers(count) => write!(f, "layers={count}"),
            Self::Transpose => f.write_str("transpose"),
            Self::Rcm => f.write_str("rcm"),
            Self::Shuffle(seed) => write!(f, "shuffle={seed}"),
            Self::Rows(slices) => write!(f, "rows={slices}"),
        }
    }
}

/// Reasons why a matrix cannot be derived.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeriveError {
    /// No step.
    #[error("\"{text}\" is no step; steps are unknowns=B, layers=L, transpose, rcm, shuffle=SEED and rows=K")]
    UnknownStep {
        /// The text as written.
        text: String,
    },
    /// Rows or columns that a 32-bit index cannot name.
    #[error("the derived matrix would have {count} rows or columns, the limit is {MAX_DIMENSION}")]
    TooLarge {
        /// The more of both.
        count: u128,
    },
    /// More memory than there is.
    #[error("the derived matrix needs {need} of memory, {have} are free")]
    Memory {
        /// Bytes of the matrix.
        need: Bytes,
        /// Bytes that may be used.
        have: Bytes,
    },
    /// Layers and orders of a matrix that is not square; memory that the system refused.
    #[error(transparent)]
    Reorder(#[from] ReorderError),
}

/// The steps from one matrix to another, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derivation {
    first: Step,
    rest: Vec<Step>,
}

impl FromStr for Derivation {
    type Err = DeriveError;

    fn from_str(text: &str) -> Result<Self, DeriveError> {
        let (first, rest) = text.split_once(',').map_or((text, None), |(first, rest)| (first, Some(rest)));
        let rest = rest.into_iter().flat_map(|rest| rest.split(',')).map(str::parse);
        Ok(Self { first: first.parse()?, rest: rest.collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for Derivation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)?;
        self.rest.iter().try_for_each(|step| write!(f, ",{step}"))
    }
}

impl Derivation {
    /// Rows, columns and non-zeros of the derived matrix; with `rows=K`, at most so many columns and non-zeros.
    pub fn size(&self, of: Size) -> Size {
        std::iter::once(&self.first).chain(&self.rest).fold(
            of,
            |Size { nrows, ncols, nnz }, step| match *step {
                Step::Unknowns(count) => {
                    let count = u128::from(count);
                    Size { nrows: nrows * count, ncols: ncols * count, nnz: nnz * count * count }
                }
                Step::Layers(count) => {
                    let count = u128::from(count);
                    let couplings = 2 * nrows * (count - 1);
                    Size { nrows: nrows * count, ncols: ncols * count, nnz: nnz * count + couplings }
                }
                Step::Transpose => Size { nrows: ncols, ncols: nrows, nnz },
                Step::Rcm | Step::Shuffle(_) => Size { nrows, ncols, nnz },
                Step::Rows(slices) => Size { nrows: nrows.div_ceil(slices.into()), ncols, nnz },
            },
        )
    }

    /// The derived matrix. O(its non-zeros), mostly in parallel; holds two matrices for a moment.
    ///
    /// # Errors
    /// [`DeriveError::TooLarge`], [`DeriveError::Memory`]; [`DeriveError::Reorder`] for layers and orders of a matrix that is
    /// not square.
    pub fn apply<T: Scalar>(&self, a: &Csr<T>) -> Result<Csr<T>, DeriveError> {
        let of = Size { nrows: a.nrows() as u128, ncols: a.ncols() as u128, nnz: a.nnz() as u128 };
        let Size { nrows, ncols, nnz } = self.size(of);
        if nrows.max(ncols) > u128::from(MAX_DIMENSION) {
            return Err(DeriveError::TooLarge { count: nrows.max(ncols) });
        }
        let need = nnz.saturating_mul(4 + u128::from(T::DTYPE.bytes())) + 8 * (nrows + 1);
        if let Some(have) = crate::available_memory().filter(|have| need > u128::from(have.0)) {
            return Err(DeriveError::Memory { need: Bytes(u64::try_from(need).unwrap_or(u64::MAX)), have });
        }
        self.rest.iter().try_fold(self.first.apply(a)?, |a, step| step.apply(&a))
    }
}

impl Step {
    fn apply<T: Scalar>(self, a: &Csr<T>) -> Result<Csr<T>, DeriveError> {
        match self {
            Self::Unknowns(count) => with_unknowns(a, count as usize),
            Self::Layers(count) => with_layers(a, count as usize),
            Self::Transpose => a.transposed().map_err(|error| match error {
                CsrError::NoMemory(NoHostMemory { need, have }) => DeriveError::Memory { need, have },
                other => unreachable!("rows and columns are within the limit for both: {other}"),
            }),
            Self::Rcm => Ok(Permutation::reverse_cuthill_mckee(a)?.of_matrix(a)?),
            Self::Shuffle(seed) => {
                square(a)?;
                Ok(Permutation::shuffled(a.nrows(), seed).of_matrix(a)?)
            }
            Self::Rows(slices) => slice_of_rows(a, slices as usize),
        }
    }
}

fn square<T: Scalar>(a: &Csr<T>) -> Result<(), ReorderError> {
    let (nrows, ncols) = (a.nrows(), a.ncols());
    if nrows == ncols { Ok(()) } else { Err(ReorderError::NotSquare { nrows, ncols }) }
}

fn built<T: Scalar>(shape: (usize, usize), row_ptr: Vec<u64>, entries: (Vec<u32>, Vec<T>)) -> Csr<T> {
    Csr::try_new(shape.0, shape.1, row_ptr, entries.0, entries.1)
        .expect("rows are sorted and within the columns")
}

fn refused(refused: Refused) -> DeriveError {
    ReorderError::from(refused).into()
}

fn with_unknowns<T: Scalar>(a: &Csr<T>, count: usize) -> Result<Csr<T>, DeriveError> {
    let nrows = a.nrows() * count;
    let row_ptr = offsets((0..nrows).map(|row| (a.row(row / count).0.len() * count) as u64));
    let entries = fill_rows(&row_ptr, |row, (): &mut (), cols: &mut [u32], values: &mut [T]| {
        let (old_cols, old_values) = a.row(row / count);
        let blocks =
            cols.chunks_mut(count).zip(values.chunks_mut(count)).zip(old_cols.iter().zip(old_values));
        for ((cols, values), (&old, &value)) in blocks {
            for (unknown, (col, to)) in cols.iter_mut().zip(values).enumerate() {
                *col = old * count as u32 + unknown as u32;
                let factor = if unknown == row % count { 1.0 } else { 0.5 };
                *to = T::from_f64(factor * value.to_f64());
            }
        }
    });
    Ok(built((nrows, a.ncols() * count), row_ptr, entries.map_err(refused)?))
}

fn with_layers<T: Scalar>(a: &Csr<T>, count: usize) -> Result<Csr<T>, DeriveError> {
    square(a)?;
    let n = a.nrows();
    let nrows = n * count;
    let couplings = |layer: usize| usize::from(layer > 0) + usize::from(layer + 1 < count);
    let row_ptr = offsets((0..nrows).map(|row| (a.row(row % n).0.len() + couplings(row / n)) as u64));
    let entries = fill_rows(&row_ptr, |row, (): &mut (), cols: &mut [u32], values: &mut [T]| {
        let (layer, own) = (row / n, row % n);
        let (old_cols, old_values) = a.row(own);
        let first = usize::from(layer > 0);
        let (last, shift) = (first + old_cols.len(), (layer * n) as u32);
        values.fill(T::from_f64(-1.0));
        if layer > 0 {
            cols[0] = (row - n) as u32;
        }
        cols[first..last].iter_mut().zip(old_cols).for_each(|(col, old)| *col = old + shift);
        values[first..last].copy_from_slice(old_values);
        if layer + 1 < count {
            cols[last] = (row + n) as u32;
        }
    });
    Ok(built((nrows, nrows), row_ptr, entries.map_err(refused)?))
}

fn slice_of_rows<T: Scalar>(a: &Csr<T>, slices: usize) -> Result<Csr<T>, DeriveError> {
    let end = |slice: usize| slice * a.nrows() / slices;
    let rows = end(slices / 2)..end(slices / 2 + 1);
    // First 1 for each column that occurs, then how many occur up to it.
    let mut place: Vec<u32> = zeroed(a.ncols()).map_err(refused)?;
    let entries = a.row_ptr()[rows.start] as usize..a.row_ptr()[rows.end] as usize;
    a.col_idx()[entries].iter().for_each(|&col| place[col as usize] = 1);
    let mut width = 0;
    for place in &mut place {
        width += *place;
        *place = width;
    }
    let rows: Vec<u32> = rows.map(|row| row as u32).collect();
    renumbered(a, &rows, width as usize, |col| place[col as usize] - 1).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Recipe;
    use crate::{Features, reference};

    fn small() -> Csr<f64> {
        Csr::try_new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![2.0, 4.0, 6.0]).unwrap()
    }

    fn derived(steps: &str, a: &Csr<f64>) -> Csr<f64> {
        let derivation: Derivation = steps.parse().unwrap();
        let of = Size { nrows: a.nrows() as u128, ncols: a.ncols() as u128, nnz: a.nnz() as u128 };
        let (size, made) = (derivation.size(of), derivation.apply(a).unwrap());
        assert_eq!(
            (size.nrows, size.ncols, size.nnz),
            (made.nrows() as u128, made.ncols() as u128, made.nnz() as u128)
        );
        assert_eq!(derivation.to_string(), steps);
        made
    }

    #[test]
    fn every_entry_becomes_a_full_block_of_unknowns() {
        let a = derived("unknowns=2", &small());
        assert_eq!(a.row(0), (&[0, 1, 2, 3][..], &[2.0, 1.0, 4.0, 2.0][..]));
        assert_eq!(a.row(3), (&[2, 3][..], &[3.0, 6.0][..]));
        let counts = Features::of(&derived("unknowns=3", &small())).blocks.unwrap();
        assert_eq!(
            counts.iter().filter(|count| count.blocks == 3).count(),
            1,
            "blocks of 3 x 3 fit: {counts:?}"
        );
    }

    #[test]
    fn a_slice_of_rows_has_the_columns_that_occur_in_it() {
        let grid = "stencil2d,n=30".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        let slice = "rows=3".parse::<Derivation>().unwrap().apply(&grid).unwrap();
        // Rows 300 to 599 of 900, and a line of the grid beside them on either side.
        assert_eq!((slice.nrows(), slice.ncols()), (300, 360));
        for row in 0..300 {
            let (cols, values) = grid.row(300 + row);
            let shifted: Vec<u32> = cols.iter().map(|col| col - 270).collect();
            assert_eq!(slice.row(row), (&shifted[..], values));
        }
        // Of the second row of two, the first column does not occur.
        let slice = "rows=2".parse::<Derivation>().unwrap().apply(&small()).unwrap();
        assert_eq!((slice.nrows(), slice.ncols(), slice.row(0)), (1, 1, (&[0][..], &[6.0][..])));
        assert_eq!(derived("rows=1", &grid), grid);
    }

    #[test]
    fn layers_are_coupled_to_their_neighbours() {
        let a = derived("layers=3", &small());
        assert_eq!((a.nrows(), a.nnz()), (6, 3 * 3 + 2 * 4));
        assert_eq!(a.row(0), (&[0, 1, 2][..], &[2.0, 4.0, -1.0][..]));
        assert_eq!(a.row(2), (&[0, 2, 3, 4][..], &[-1.0, 2.0, 4.0, -1.0][..]));
        assert_eq!(a.row(5), (&[3, 5][..], &[-1.0, 6.0][..]));
        assert_eq!(derived("layers=1", &small()), small());
    }

    #[test]
    fn the_transpose_multiplies_from_the_left() {
        let a = "tall,rows=300,cols=40".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        let transposed = derived("transpose", &a);
        let x: Vec<f64> = (0..300).map(f64::from).collect();
        let mut y = vec![0.0; 40];
        for (row, x) in x.iter().enumerate() {
            let (cols, values) = a.row(row);
            cols.iter().zip(values).for_each(|(&col, value)| y[col as usize] += value * x);
        }
        let expected = reference(&transposed, &x).y;
        assert!(y.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + a.abs())));
        assert_eq!(derived("transpose,transpose", &a), a);
    }

    #[test]
    fn an_order_is_found_again_after_a_shuffle() {
        let grid = "stencil2d,n=30".parse::<Recipe>().unwrap().generate::<f64>().unwrap();
        let bandwidth = |a: &Csr<f64>| Features::of(a).bandwidth;
        let shuffled = derived("shuffle=7", &grid);
        assert!(bandwidth(&shuffled) > 700);
        assert!(bandwidth(&derived("rcm", &shuffled)) < 60);
    }

    #[test]
    fn impossible_derivations_are_refused_with_a_reason() {
        for text in ["", "unknowns", "unknowns=0", "layers=-1", "cubed", "rcm=1", "unknowns=2,,rcm"] {
            assert!(matches!(text.parse::<Derivation>(), Err(DeriveError::UnknownStep { .. })), "{text}");
        }
        let wide = || Csr::<f32>::try_new(1, 2, vec![0, 1], vec![1], vec![1.0]).unwrap();
        for steps in ["layers=2", "rcm", "shuffle=1"] {
            let refused = steps.parse::<Derivation>().unwrap().apply(&wide()).unwrap_err();
            assert_eq!(
                refused,
                DeriveError::Reorder(ReorderError::NotSquare { nrows: 1, ncols: 2 }),
                "{steps}"
            );
        }
        let large = "unknowns=4000000000".parse::<Derivation>().unwrap().apply(&wide()).unwrap_err();
        assert!(matches!(large, DeriveError::TooLarge { count: 8_000_000_000 }), "{large}");
        let much = "unknowns=4000000".parse::<Derivation>().unwrap().apply(&wide()).unwrap_err();
        assert!(matches!(much, DeriveError::Memory { .. }), "{much}");
    }

    #[test]
    fn only_derived_matrices_have_another_origin() {
        assert_eq!(origin("a/b+rcm"), "a/b");
        assert_eq!(
            origin("gallery:fem,n=3,unknowns=1,shuffle=0,seed=1+layers=2,unknowns=3"),
            "gallery:fem,n=3,unknowns=1,shuffle=0,seed=1"
        );
        for own in ["a/c++", "a/b+c", "a/b"] {
            assert_eq!(origin(own), own);
        }
    }
}
