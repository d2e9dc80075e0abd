//! Share of one part: what it holds, computes, gives and gets.

use super::{Distribution, DistributionError};
use crate::io::memory::{Refused, make_room, zeroed};
use crate::row_fill::renumbered;
use crate::{Csr, Scalar};
use rayon::prelude::*;

/// The share of one part in a distributed matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Share<T: Scalar> {
    rows: Vec<u32>,
    /// `None`: those of the rows.
    columns: Option<Vec<u32>>,
    halo: Vec<u32>,
    interior: Csr<T>,
    boundary: Csr<T>,
    exchange: Exchange,
}

/// Entries of x that a part gives to others and gets from them in each product.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exchange {
    gets: Vec<(usize, usize)>,
    gives: Vec<(usize, Vec<u32>)>,
}

impl Exchange {
    /// Ranks that send entries, each with their number, in the order of the halo.
    pub fn gets(&self) -> &[(usize, usize)] {
        &self.gets
    }

    /// Own entries that go to each receiver, named in the own order and increasing; receivers increase.
    pub fn gives(&self) -> &[(usize, Vec<u32>)] {
        &self.gives
    }

    /// Entries that come.
    pub fn got(&self) -> usize {
        self.gets.iter().map(|(_, entries)| entries).sum()
    }

    /// Entries that go.
    pub fn given(&self) -> usize {
        self.gives.iter().map(|(_, entries)| entries.len()).sum()
    }
}

impl<T: Scalar> Share<T> {
    /// The rows, as the whole matrix numbers them, in the order that they have here.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The own entries of x, as the whole matrix numbers them, in the order that they have here.
    pub fn columns(&self) -> &[u32] {
        self.columns.as_deref().unwrap_or(&self.rows)
    }

    /// Entries of x that others own and that are read here, by owner and there in the owner's order: columns behind the own
    /// ones of [`boundary`](Share::boundary).
    pub fn halo(&self) -> &[u32] {
        &self.halo
    }

    /// The first rows: as wide as there are own entries of x.
    pub fn interior(&self) -> &Csr<T> {
        &self.interior
    }

    /// The other rows: as wide as there are entries of x, own ones and then the halo's.
    pub fn boundary(&self) -> &Csr<T> {
        &self.boundary
    }

    /// Entries that are given and got.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }
}

impl Distribution {
    /// The share of each part in `a`. O(nnz log), in parallel; takes as much memory as the matrix for the shares, and some bytes a
    /// row and column.
    ///
    /// ```
    /// use sparsight_matrix::{Csr, Distribution};
    /// // 0 - 1 - 2 - 3 in two parts
    /// let cols = vec![0, 1, 0, 1, 2, 1, 2, 3, 2, 3];
    /// let a = Csr::try_new(4, 4, vec![0, 2, 5, 8, 10], cols, vec![1.0; 10])?;
    /// let shares = Distribution::in_order((4, 4), vec![0, 2, 4]).unwrap().shares(&a).unwrap();
    /// assert_eq!((shares[0].rows(), shares[0].halo()), (&[0, 1][..], &[2][..]));
    /// assert_eq!((shares[1].rows(), shares[1].halo()), (&[3, 2][..], &[1][..]), "interior rows first");
    /// assert_eq!(shares[1].exchange().gives(), &[(0, vec![1])]);
    /// # Ok::<(), sparsight_matrix::CsrError>(())
    /// ```
    ///
    /// # Errors
    /// [`DistributionError::OutOfMemory`].
    ///
    /// # Panics
    /// If it is not a distribution of a matrix of this size.
    pub fn shares<T: Scalar>(&self, a: &Csr<T>) -> Result<Vec<Share<T>>, DistributionError> {
        assert_eq!(self.size(), (a.nrows(), a.ncols()), "a distribution of this matrix");
        let owner_of_column = owners(a.ncols(), |col| self.owner_of_column(col))?;
        let mut is_boundary: Vec<u8> = zeroed(a.nrows())?;
        is_boundary.par_iter_mut().enumerate().for_each(|(row, is_boundary)| {
            let own = self.owner_of_row(row);
            *is_boundary = a.row(row).0.iter().any(|&col| owner_of_column[col as usize] != own).into();
        });
        // Interior rows first.
        let mut rows = self.rows()?;
        let interior: Vec<usize> = rows
            .par_iter_mut()
            .map(|rows| {
                rows.par_sort_by_key(|&row| is_boundary[row as usize]);
                rows.partition_point(|&row| is_boundary[row as usize] == 0)
            })
            .collect();
        let columns = self.columns().transpose()?;
        let mut local: Vec<u32> = zeroed(a.ncols())?;
        for numbers in columns.as_ref().unwrap_or(&rows) {
            numbers.iter().zip(0..).for_each(|(&col, at)| local[col as usize] = at);
        }
        let numbering = Numbering { owner_of_column: &owner_of_column, local: &local };
        let columns: Vec<Option<Vec<u32>>> = match columns {
            Some(columns) => columns.into_iter().map(Some).collect(),
            None => vec![None; self.parts()],
        };
        let parts = rows.into_par_iter().zip(columns).zip(interior).enumerate();
        let share =
            |(part, ((rows, columns), interior))| numbering.share(a, part as u32, (rows, interior), columns);
        let mut shares: Vec<Share<T>> = parts.map(share).collect::<Result<_, Refused>>()?;
        // What one gets another gives.
        for part in 0..shares.len() {
            let (mut first, gets) = (0, std::mem::take(&mut shares[part].exchange.gets));
            for &(owner, count) in &gets {
                let wanted = &shares[part].halo[first..first + count];
                let given = wanted.iter().map(|&col| local[col as usize]).collect();
                shares[owner].exchange.gives.push((part, given));
                first += count;
            }
            shares[part].exchange.gets = gets;
        }
        Ok(shares)
    }
}

/// The part that owns each of `n`.
fn owners(n: usize, of: impl Fn(usize) -> u32 + Sync) -> Result<Vec<u32>, Refused> {
    let mut owners: Vec<u32> = zeroed(n)?;
    owners.par_iter_mut().enumerate().for_each(|(number, owner)| *owner = of(number));
    Ok(owners)
}

/// Numbers of columns on a part.
struct Numbering<'a> {
    owner_of_column: &'a [u32],
    /// The place of each column with its owner.
    local: &'a [u32],
}

impl Numbering<'_> {
    /// Sorted by owner, and there in the owner's order.
    fn key(&self, col: u32) -> (u32, u32) {
        (self.owner_of_column[col as usize], self.local[col as usize])
    }

    fn share<T: Scalar>(
        &self,
        a: &Csr<T>,
        part: u32,
        (rows, interior): (Vec<u32>, usize),
        columns: Option<Vec<u32>>,
    ) -> Result<Share<T>, Refused> {
        let own = columns.as_ref().unwrap_or(&rows).len();
        let is_foreign = |col: &&u32| self.owner_of_column[**col as usize] != part;
        let mut halo: Vec<u32> = Vec::new();
        let foreign = |row: &u32| a.row(*row as usize).0.iter().filter(is_foreign).count();
        make_room(&mut halo, rows[interior..].par_iter().map(foreign).sum())?;
        for &row in &rows[interior..] {
            halo.extend(a.row(row as usize).0.iter().filter(is_foreign));
        }
        halo.par_sort_unstable_by_key(|&col| self.key(col));
        halo.dedup();
        halo.shrink_to_fit();
        let mut gets: Vec<(usize, usize)> = Vec::new();
        for owner in halo.chunk_by(|&a, &b| self.key(a).0 == self.key(b).0) {
            gets.push((self.key(owner[0]).0 as usize, owner.len()));
        }
        let place = |col: u32| {
            let key = self.key(col);
            if key.0 == part {
                return key.1;
            }
            let at = halo.binary_search_by_key(&key, |&col| self.key(col));
            (own + at.expect("what a row reads is in the halo")) as u32
        };
        let renumbered = |rows: &[u32], width| renumbered(a, rows, width, place);
        let (inner, outer) =
            (renumbered(&rows[..interior], own)?, renumbered(&rows[interior..], own + halo.len())?);
        let exchange = Exchange { gets, gives: Vec::new() };
        Ok(Share { rows, columns, halo, interior: inner, boundary: outer, exchange })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Recipe;
    use crate::{mix, reference};

    fn x_of(n: usize) -> Vec<f64> {
        (0..n as u64).map(|i| (mix(i) % 1000) as f64 - 500.0).collect()
    }

    /// y as the parts compute it, each with what it was given.
    fn multiplied(shares: &[Share<f64>], size: (usize, usize), x: &[f64]) -> Vec<f64> {
        let own: Vec<Vec<f64>> =
            shares.iter().map(|s| s.columns().iter().map(|&col| x[col as usize]).collect()).collect();
        let mut y = vec![f64::NAN; size.0];
        for (part, share) in shares.iter().enumerate() {
            let mut all = own[part].clone();
            for &(owner, count) in share.exchange().gets() {
                let given = &shares[owner].exchange().gives();
                let (_, given) = given.iter().find(|(to, _)| *to == part).unwrap();
                assert_eq!(given.len(), count);
                assert!(given.is_sorted());
                all.extend(given.iter().map(|&at| own[owner][at as usize]));
            }
            let interior = reference(share.interior(), &own[part]).y;
            let boundary = reference(share.boundary(), &all).y;
            for (&row, y_of_row) in share.rows().iter().zip(interior.iter().chain(&boundary)) {
                assert!(y[row as usize].is_nan(), "a row is computed once");
                y[row as usize] = *y_of_row;
            }
        }
        y
    }

    #[test]
    fn parts_compute_what_the_whole_does() {
        let recipes = [
            "stencil2d,n=20",
            "circuit,n=800,rail=100",
            "rmat,scale=9",
            "arrow,n=200",
            "lp,rows=120,cols=300",
            "tall,rows=400,cols=30",
        ];
        for recipe in recipes {
            let a: Csr<f64> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
            let size = (a.nrows(), a.ncols());
            let x = x_of(a.ncols());
            let right = reference(&a, &x).y;
            for parts in [1, 2, 3, 8] {
                let each = (0..a.nrows() as u64).map(|row| (mix(row) % parts as u64) as u32).collect();
                let ways = [
                    Distribution::balanced(&a, parts, |_, length| length as f64).unwrap(),
                    Distribution::of_parts(size, parts, each).unwrap(),
                ];
                for way in ways {
                    let shares = way.shares(&a).unwrap();
                    let y = multiplied(&shares, size, &x);
                    let close = |(y, right): (&f64, &f64)| (y - right).abs() <= 1e-9 * (1.0 + right.abs());
                    assert!(y.iter().zip(&right).all(close), "{recipe} in {parts} parts");
                    let nnz: usize = shares.iter().map(|s| s.interior().nnz() + s.boundary().nnz()).sum();
                    assert_eq!(nnz, a.nnz());
                    if parts == 1 {
                        assert_eq!(shares[0].interior(), &a);
                        assert_eq!(shares[0].exchange(), &Exchange::default());
                    }
                }
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_square_has_its_entries_of_x_dealt_out_apart() {
        let a = Csr::try_new(2, 5, vec![0, 3, 4], vec![0, 3, 4, 4], vec![1.0; 4]).unwrap();
        let dealt = Distribution::balanced(&a, 2, |_, _| 1.0).unwrap();
        assert!(!dealt.is_square());
        let shares = dealt.shares(&a).unwrap();
        assert_eq!((shares[0].columns(), shares[0].halo()), (&[0, 1][..], &[3, 4][..]));
        assert_eq!((shares[1].columns(), shares[1].interior().nrows()), (&[2, 3, 4][..], 1));
        let x = x_of(5);
        assert_eq!(multiplied(&shares, (2, 5), &x), reference(&a, &x).y);
    }
}
