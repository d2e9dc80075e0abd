//! Reordering: other numbers for the rows and columns of a square matrix, so that neighbouring rows read neighbouring entries of x.
//!
//! Sources: Cuthill and `McKee`, ACM 1969 (levels, neighbours by degree); George, 1971 (reversed); George and Liu, ACM TOMS 5,
//! 1979 (where to begin).

use crate::io::memory::{Refused, make_room, zeroed};
use crate::row_fill::renumbered;
use crate::{Bytes, Csr, Scalar, mix};
use rayon::prelude::*;
use thiserror::Error;

/// Times a better place to begin is looked for in a component; George and Liu find one after two or three. Chosen.
const MOST_STARTS: usize = 8;

/// Reasons why a matrix cannot be reordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReorderError {
    /// Rows and columns are not the same unknowns.
    #[error("the matrix is {nrows} x {ncols}: only a square one has rows and columns of the same numbers")]
    NotSquare {
        /// Rows.
        nrows: usize,
        /// Columns.
        ncols: usize,
    },
    /// The system refused the memory.
    #[error("needs {need} of memory, which the system did not give")]
    OutOfMemory {
        /// Bytes asked for at once.
        need: Bytes,
    },
}

impl From<Refused> for ReorderError {
    fn from(Refused { need }: Refused) -> Self {
        Self::OutOfMemory { need }
    }
}

/// An order of the rows and columns of a square matrix.
///
/// # Invariants
/// Held by construction: every number below its length comes once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permutation {
    old_of_new: Vec<u32>,
}

impl Permutation {
    /// Reverse Cuthill-McKee: a small bandwidth of the pattern of A + A^T, component by component, those of nodes of high
    /// degree first. The same order whatever the threads. O(nnz log(largest degree) + rows log(rows)), mostly in one thread;
    /// takes up to 12 bytes a non-zero and 40 a row for a while.
    ///
    /// ```
    /// use sparsight_matrix::{Features, Permutation, gallery::Recipe};
    /// let shuffled = "gallery:stencil2d,n=30,shuffle=1".parse::<Recipe>()?.generate::<f64>()?;
    /// let order = Permutation::reverse_cuthill_mckee(&shuffled)?;
    /// let ordered = order.of_matrix(&shuffled)?;
    /// assert!(Features::of(&ordered).bandwidth < 40 && Features::of(&shuffled).bandwidth > 800);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ReorderError::NotSquare`], [`ReorderError::OutOfMemory`].
    pub fn reverse_cuthill_mckee<T: Scalar>(a: &Csr<T>) -> Result<Self, ReorderError> {
        let (nrows, ncols) = (a.nrows(), a.ncols());
        if nrows != ncols {
            return Err(ReorderError::NotSquare { nrows, ncols });
        }
        let need = Bytes(12 * a.nnz() as u64 + 40 * nrows as u64);
        if crate::available_memory().is_some_and(|have| need.0 > have.0) {
            return Err(ReorderError::OutOfMemory { need });
        }
        let graph = Graph::of(a)?;
        let most = (0..nrows as u32).map(|node| graph.degree(node)).max().unwrap_or(0);
        let mut walk =
            Walk { seen: zeroed(nrows)?, round: 0, order: room(nrows)?, next: room(most as usize)? };
        // Components in the order of their nodes of least degree.
        let mut nodes: Vec<u32> = room(nrows)?;
        nodes.extend(0..nrows as u32);
        nodes.sort_unstable_by_key(|&node| (graph.degree(node), node));
        let mut is_placed = zeroed::<u8>(nrows)?;
        let mut old_of_new: Vec<u32> = room(nrows)?;
        for node in nodes {
            if is_placed[node as usize] == 0 {
                walk.start_afar(&graph, node);
                walk.order.iter().for_each(|&node| is_placed[node as usize] = 1);
                old_of_new.extend_from_slice(&walk.order);
            }
        }
        old_of_new.reverse();
        Ok(Self { old_of_new })
    }

    /// A random order that follows from `seed`.
    ///
    /// # Panics
    /// If there are 2^32 rows or more.
    pub fn shuffled(rows: usize, seed: u64) -> Self {
        let rows = u32::try_from(rows).expect("rows are named with 32 bits");
        let mut old_of_new: Vec<u32> = (0..rows).collect();
        old_of_new.par_sort_unstable_by_key(|&row| (mix(seed ^ mix(u64::from(row))), row));
        Self { old_of_new }
    }

    /// The row, counted in the old order, of each row in the new one.
    pub fn old_of_new(&self) -> &[u32] {
        &self.old_of_new
    }

    /// The row, counted in the new order, of each row in the old one. O(rows).
    ///
    /// # Errors
    /// [`ReorderError::OutOfMemory`].
    pub fn new_of_old(&self) -> Result<Vec<u32>, ReorderError> {
        let mut new_of_old = zeroed(self.old_of_new.len())?;
        self.old_of_new.iter().zip(0..).for_each(|(&old, new)| new_of_old[old as usize] = new);
        Ok(new_of_old)
    }

    /// The matrix with rows and columns in the new order, P A P^T. O(nnz log(longest row)), in parallel.
    ///
    /// # Errors
    /// [`ReorderError::OutOfMemory`].
    ///
    /// # Panics
    /// If the matrix has not as many rows and columns as were ordered.
    pub fn of_matrix<T: Scalar>(&self, a: &Csr<T>) -> Result<Csr<T>, ReorderError> {
        let n = self.old_of_new.len();
        assert!(a.nrows() == n && a.ncols() == n, "an order of {n} rows and columns");
        let new_of_old = self.new_of_old()?;
        Ok(renumbered(a, &self.old_of_new, n, |col| new_of_old[col as usize])?)
    }
}

/// The pattern of A + A^T without its diagonal.
pub(crate) struct Graph {
    pub(crate) ptr: Vec<u64>,
    pub(crate) neighbours: Vec<u32>,
}

impl Graph {
    pub(crate) fn of<T: Scalar>(a: &Csr<T>) -> Result<Self, Refused> {
        let n = a.nrows();
        // Who is named in which rows: A^T, whose rows come out sorted.
        let mut starts: Vec<u64> = zeroed(n + 1)?;
        a.col_idx().iter().for_each(|&col| starts[col as usize + 1] += 1);
        (0..n).for_each(|row| starts[row + 1] += starts[row]);
        let mut above: Vec<u32> = zeroed(a.nnz())?;
        let mut ends = room(n)?;
        ends.extend_from_slice(&starts[..n]);
        for row in 0..n {
            for &col in a.row(row).0 {
                let end: &mut u64 = &mut ends[col as usize];
                above[*end as usize] = row as u32;
                *end += 1;
            }
        }
        let transposed = |row: usize| &above[starts[row] as usize..starts[row + 1] as usize];
        let of_row =
            |row: usize| Union(a.row(row).0, transposed(row)).filter(move |&col| col as usize != row);
        let mut ptr: Vec<u64> = zeroed(n + 1)?;
        ptr[1..].par_iter_mut().enumerate().for_each(|(row, degree)| *degree = of_row(row).count() as u64);
        (0..n).for_each(|row| ptr[row + 1] += ptr[row]);
        let mut neighbours = room(ptr[n] as usize)?;
        (0..n).for_each(|row| neighbours.extend(of_row(row)));
        Ok(Self { ptr, neighbours })
    }

    fn of_node(&self, node: u32) -> &[u32] {
        &self.neighbours[self.ptr[node as usize] as usize..self.ptr[node as usize + 1] as usize]
    }

    fn degree(&self, node: u32) -> u64 {
        self.ptr[node as usize + 1] - self.ptr[node as usize]
    }
}

/// Numbers of two sorted lists, each once.
struct Union<'a>(&'a [u32], &'a [u32]);

impl Iterator for Union<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let least = match (self.0.first(), self.1.first()) {
            (Some(&a), Some(&b)) => a.min(b),
            (Some(&one), None) | (None, Some(&one)) => one,
            (None, None) => return None,
        };
        for list in [&mut self.0, &mut self.1] {
            *list = &list[usize::from(list.first() == Some(&least))..];
        }
        Some(least)
    }
}

/// Walks through a component level by level.
struct Walk {
    /// The round in which each node was last seen.
    seen: Vec<u32>,
    round: u32,
    /// Nodes of this round's component, in the order of Cuthill and `McKee`.
    order: Vec<u32>,
    next: Vec<u32>,
}

impl Walk {
    /// Fills `order` beginning with a node of the component of `node` from which many levels are seen.
    fn start_afar(&mut self, graph: &Graph, node: u32) {
        let (mut most, mut last) = self.from(graph, node);
        for _ in 0..MOST_STARTS {
            let farthest = self.order[last..].iter().copied().min_by_key(|&node| graph.degree(node));
            let Some(farthest) = farthest.filter(|&farthest| farthest != self.order[0]) else { return };
            let (levels, its_last) = self.from(graph, farthest);
            if levels <= most {
                return;
            }
            (most, last) = (levels, its_last);
        }
    }

    /// Fills `order`. Gives the number of levels and the place of the first node of the last one.
    fn from(&mut self, graph: &Graph, start: u32) -> (usize, usize) {
        if self.round == u32::MAX {
            self.seen.fill(0);
            self.round = 0;
        }
        self.round += 1;
        self.order.clear();
        self.order.push(start);
        self.seen[start as usize] = self.round;
        let (mut levels, mut level, mut last) = (0, 0..1, 0);
        while !level.is_empty() {
            levels += 1;
            for at in level.clone() {
                self.next.clear();
                for &node in graph.of_node(self.order[at]) {
                    if self.seen[node as usize] != self.round {
                        self.seen[node as usize] = self.round;
                        self.next.push(node);
                    }
                }
                self.next.sort_unstable_by_key(|&node| (graph.degree(node), node));
                self.order.extend_from_slice(&self.next);
            }
            last = level.start;
            level = level.end..self.order.len();
        }
        (levels, last)
    }
}

/// Room for `n` elements.
fn room<E>(n: usize) -> Result<Vec<E>, Refused> {
    let mut room = Vec::new();
    make_room(&mut room, n)?;
    Ok(room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Recipe;
    use crate::{Features, reference};

    fn generated(recipe: &str) -> Csr<f64> {
        recipe.parse::<Recipe>().unwrap().generate().unwrap()
    }

    fn is_permutation(order: &Permutation) -> bool {
        let mut all = order.old_of_new().to_vec();
        all.sort_unstable();
        all.into_iter().eq(0..order.old_of_new().len() as u32)
    }

    #[test]
    fn a_shuffled_chain_becomes_a_chain() {
        // 0 - 3 - 1 - 4 - 2
        let cols = vec![3, 3, 4, 4, 0, 1, 1, 2];
        let a = Csr::try_new(5, 5, vec![0, 1, 3, 4, 6, 8], cols, vec![1.0; 8]).unwrap();
        let order = Permutation::reverse_cuthill_mckee(&a).unwrap();
        assert_eq!(Features::of(&order.of_matrix(&a).unwrap()).bandwidth, 1);
    }

    #[test]
    fn products_in_the_new_order_are_those_of_the_old_one() {
        for recipe in ["circuit,n=3000", "web,n=2000", "rmat,scale=10", "fem,n=6,shuffle=1", "arrow,n=500"] {
            let a = generated(recipe);
            let order = Permutation::reverse_cuthill_mckee(&a).unwrap();
            assert!(is_permutation(&order), "{recipe}");
            let x: Vec<f64> = (0..a.ncols() as u64).map(|i| (crate::mix(i) % 1000) as f64 - 500.0).collect();
            let ordered_x: Vec<f64> = order.old_of_new().iter().map(|&at| x[at as usize]).collect();
            let (old, new) = (reference(&a, &x), reference(&order.of_matrix(&a).unwrap(), &ordered_x));
            for (&at, new) in order.old_of_new().iter().zip(&new.y) {
                let old = old.y[at as usize];
                assert!((old - new).abs() <= 1e-9 * (1.0 + old.abs()), "{recipe}: {old} {new}");
            }
            let back = order.new_of_old().unwrap();
            assert!(order.old_of_new().iter().zip(0..).all(|(&old, new)| back[old as usize] == new));
        }
    }

    #[test]
    fn a_shuffled_mesh_gets_at_most_twice_its_own_bandwidth() {
        let (ordered, shuffled) = (generated("stencil3d,n=12"), generated("stencil3d,n=12,shuffle=1"));
        let order = Permutation::reverse_cuthill_mckee(&shuffled).unwrap();
        let bandwidth = |a: &Csr<f64>| Features::of(a).bandwidth;
        assert!(bandwidth(&shuffled) > 1_500);
        assert!(bandwidth(&order.of_matrix(&shuffled).unwrap()) <= 2 * bandwidth(&ordered));
    }

    #[test]
    fn components_rows_without_entries_and_one_sided_patterns_are_ordered_too() {
        let a = Csr::try_new(6, 6, vec![0, 1, 1, 1, 2, 2, 2], vec![5, 3], vec![1.0, 2.0]).unwrap();
        let order = Permutation::reverse_cuthill_mckee(&a).unwrap();
        assert!(is_permutation(&order));
        assert_eq!(
            Features::of(&order.of_matrix(&a).unwrap()).bandwidth,
            1,
            "0 and 5 are neighbours though 5 does not name 0"
        );
        let none = Csr::<f32>::try_new(0, 0, vec![0], vec![], vec![]).unwrap();
        assert_eq!(Permutation::reverse_cuthill_mckee(&none).unwrap().old_of_new(), []);
    }

    #[test]
    fn a_matrix_that_is_not_square_is_refused() {
        let a = Csr::<f32>::try_new(1, 2, vec![0, 1], vec![1], vec![1.0]).unwrap();
        let refused = Permutation::reverse_cuthill_mckee(&a).unwrap_err();
        assert_eq!(refused, ReorderError::NotSquare { nrows: 1, ncols: 2 });
    }
}
