//! Rows dealt out by METIS, so that few entries of x are exchanged.
//!
//! Source: Karypis and Kumar, SIAM J. Sci. Comput. 20(1), 1998 (multilevel k-way partitioning).

use super::{Distribution, DistributionError};
use crate::reorder::Graph;
use crate::{Csr, Scalar};

/// Weight of a row beside its non-zeros: entries of vectors that it reads and writes, counted in non-zeros. Chosen.
const ROW: u64 = 2;

impl Distribution {
    /// Parts of about the same number of non-zeros whose rows are joined by few others', in the graph of A + A^T. In one thread: some
    /// seconds for ten million non-zeros.
    ///
    /// # Errors
    /// [`DistributionError::Parts`]; [`DistributionError::Partitioner`] if the matrix is not square, has 2^31 pairs of neighbours
    /// or more, or METIS fails; [`DistributionError::OutOfMemory`].
    pub fn by_metis<T: Scalar>(a: &Csr<T>, parts: usize) -> Result<Self, DistributionError> {
        let size = (a.nrows(), a.ncols());
        super::distribution::checked_parts(parts)?;
        let failed = |reason: &str| DistributionError::Partitioner { reason: reason.to_owned() };
        if size.0 != size.1 {
            return Err(failed("the matrix is not square"));
        }
        if parts == 1 || size.0 == 0 {
            return Self::of_parts(size, parts, vec![0; size.0]);
        }
        let graph = Graph::of(a)?;
        let narrow =
            |at: u64| i32::try_from(at).map_err(|_| failed("it takes 2^31 pairs of neighbours at most"));
        let starts: Vec<i32> = graph.ptr.iter().map(|&at| narrow(at)).collect::<Result<_, _>>()?;
        let neighbours: Vec<i32> = graph.neighbours.iter().map(|&node| node.cast_signed()).collect();
        let weight = |row: usize| (a.row_ptr()[row + 1] - a.row_ptr()[row] + ROW).min(1 << 20) as i32;
        let weights: Vec<i32> = (0..size.0).map(weight).collect();
        let mut part = vec![0_i32; size.0];
        let count = i32::try_from(parts).map_err(|_| DistributionError::Parts { parts })?;
        let graph = metis::Graph::new(1, count, &starts, &neighbours);
        let graph = graph.map_err(|error| failed(&error.to_string()))?.set_vwgt(&weights);
        graph.part_kway(&mut part).map_err(|error| failed(&error.to_string()))?;
        Self::of_parts(size, parts, part.into_iter().map(i32::cast_unsigned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Recipe;

    #[test]
    fn a_shuffled_grid_is_cut_where_it_is_thin() {
        let a: Csr<f64> = "stencil2d,n=60,shuffle=1".parse::<Recipe>().unwrap().generate().unwrap();
        let got = |way: &Distribution| -> usize {
            way.shares(&a).unwrap().iter().map(|share| share.exchange().got()).sum()
        };
        let by_metis = Distribution::by_metis(&a, 4).unwrap();
        let in_order = Distribution::balanced(&a, 4, |_, length| length as f64).unwrap();
        // Four squares of 30 have 4 x 60 neighbours; a shuffled grid in order has about all rows.
        assert!(got(&by_metis) < 400 && got(&in_order) > 5_000, "{} {}", got(&by_metis), got(&in_order));
        let rows: Vec<usize> = by_metis.shares(&a).unwrap().iter().map(|share| share.rows().len()).collect();
        assert!(rows.iter().all(|&rows| (800..1_000).contains(&rows)), "{rows:?}");
    }

    #[test]
    fn matrices_that_metis_cannot_take_are_refused() {
        let a = Csr::try_new(1, 2, vec![0, 1], vec![1], vec![1.0]).unwrap();
        let refused = Distribution::by_metis(&a, 2).unwrap_err();
        assert_eq!(refused.to_string(), "the rows cannot be partitioned: the matrix is not square");
        assert_eq!(Distribution::by_metis(&a, 0), Err(DistributionError::Parts { parts: 0 }));
    }
}
