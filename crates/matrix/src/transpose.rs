//! The transposed matrix: for products A^T x, as solvers of linear programs and least squares ask for.

use crate::{Csr, CsrError, Infeasible, Scalar, check_host_memory, numbered};

impl<T: Scalar> Csr<T> {
    /// A^T. O(nnz), in one thread; each entry is moved once.
    ///
    /// ```
    /// let a = sparsight_matrix::Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let t = a.transposed()?;
    /// assert_eq!((t.nrows(), t.ncols(), t.row(2)), (3, 2, (&[0][..], &[2.0][..])));
    /// # Ok::<(), sparsight_matrix::CsrError>(())
    /// ```
    ///
    /// # Errors
    /// [`CsrError::TooManyColumns`] if the rows are too many to be columns; [`CsrError::NoMemory`] if there is not the memory for it, of
    /// which columns without entries take some, too.
    pub fn transposed(&self) -> Result<Self, CsrError> {
        // Its offsets, and where the next entry of each row goes.
        let offsets = 16 * (self.ncols() as u128 + 1);
        let entries = self.nnz() as u128 * (4 + u128::from(T::DTYPE.bytes()));
        check_host_memory(offsets + entries)?;
        self.transposed_at_once()
    }

    /// A^T, for which memory is not asked first.
    pub(crate) fn transposed_at_once(&self) -> Result<Self, CsrError> {
        let mut row_ptr = vec![0_u64; self.ncols() + 1];
        self.col_idx().iter().for_each(|&col| row_ptr[col as usize + 1] += 1);
        (1..row_ptr.len()).for_each(|row| row_ptr[row] += row_ptr[row - 1]);
        let mut ends = row_ptr.clone();
        let (mut cols, mut values) = (vec![0_u32; self.nnz()], vec![T::default(); self.nnz()]);
        for row in 0..self.nrows() {
            let (old_cols, old_values) = self.row(row);
            for (&col, &value) in old_cols.iter().zip(old_values) {
                let end = &mut ends[col as usize];
                (cols[*end as usize], values[*end as usize]) = (row as u32, value);
                *end += 1;
            }
        }
        Self::try_new(self.ncols(), self.nrows(), row_ptr, cols, values)
    }

    /// Place in A of each entry of A^T: entry `i` of [`transposed`](Csr::transposed) is entry `order[i]` of this matrix, both
    /// counted from 0 in the order of [`Csr::values`]. O(nnz).
    ///
    /// # Errors
    /// [`Infeasible::TooManyNonZeros`] as [`numbered`]; [`Infeasible::NoHostMemory`] if there is not the memory.
    ///
    /// # Panics
    /// If the matrix cannot be [`transposed`](Csr::transposed).
    pub fn transposed_order(&self) -> Result<Vec<u64>, Infeasible> {
        let numbers = numbered(self)?.transposed().map_err(|error| match error {
            CsrError::NoMemory(reason) => Infeasible::from(reason),
            other => panic!("it can be transposed: {other}"),
        })?;
        Ok(numbers.values().iter().map(|number| number.number() - 1).collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::gallery::Recipe;
    use crate::{Csr, check_host_memory, reference};

    fn generated(recipe: &str) -> Csr<f64> {
        recipe.parse::<Recipe>().unwrap().generate().unwrap()
    }

    #[test]
    fn a_transposed_matrix_multiplies_from_the_other_side() {
        for recipe in ["arrow,n=300", "power-law,n=900", "lp,rows=200"] {
            let Ok(recipe) = recipe.parse::<Recipe>() else { continue };
            let a: Csr<f64> = recipe.generate().unwrap();
            let t = a.transposed().unwrap();
            let (x, y) = (vec![1.0; a.ncols()], vec![1.0; a.nrows()]);
            let (ax, ty) = (reference(&a, &x).y, reference(&t, &y).y);
            let (left, right): (f64, f64) = (ax.iter().sum(), ty.iter().sum());
            assert!((left - right).abs() < 1e-9 * left.abs().max(1.0));
            assert_eq!(t.transposed().unwrap(), a);
        }
    }

    #[test]
    fn the_order_says_where_values_come_from() {
        let a = generated("power-law,n=500");
        let (t, order) = (a.transposed().unwrap(), a.transposed_order().unwrap());
        let moved: Vec<f64> = order.iter().map(|&at| a.values()[at as usize]).collect();
        assert_eq!(t.values(), moved);
    }

    #[test]
    fn a_transpose_beyond_memory_is_refused_and_nothing_is_allocated() {
        // 64 GB of offsets; a machine that has them makes it.
        let wide = Csr::try_new(1, 4_000_000_000, vec![0, 1], vec![17], vec![1.0_f64]).unwrap();
        if check_host_memory(16 * 4_000_000_001).is_ok() {
            return;
        }
        for refused in [
            wide.transposed().map(drop).unwrap_err().to_string(),
            wide.transposed_order().unwrap_err().to_string(),
        ] {
            assert!(refused.starts_with("needs 64.0 GB in the host's memory, which has "), "{refused}");
        }
    }

    #[test]
    fn without_rows_or_entries_it_is_as_empty() {
        let a = Csr::<f32>::try_new(0, 3, vec![0], vec![], vec![]).unwrap();
        let t = a.transposed().unwrap();
        assert_eq!((t.nrows(), t.ncols(), t.nnz()), (3, 0, 0));
        assert_eq!(a.transposed_order().unwrap(), []);
    }
}
