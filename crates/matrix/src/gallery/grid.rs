//! Points of a rectangular grid, their neighbours, and their numbering.

use super::random::permutation;

/// A grid of `n[0] x n[1] x n[2]` points; the first coordinate runs fastest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    pub(super) n: [u64; 3],
}

impl Grid {
    /// Coordinates of point `point`.
    pub(super) const fn coordinates(&self, point: u64) -> [u64; 3] {
        let [nx, ny, _] = self.n;
        [point % nx, point / nx % ny, point / (nx * ny)]
    }

    /// Calls `visit(point, steps)` for `point` itself and the up to 26 points around it, in increasing order;
    /// `steps` is the number of coordinates that differ.
    pub(super) fn around(&self, point: u64, mut visit: impl FnMut(u64, usize)) {
        let [nx, ny, _] = self.n;
        let here = self.coordinates(point);
        let near = |axis: usize| here[axis].saturating_sub(1)..(here[axis] + 2).min(self.n[axis]);
        for z in near(2) {
            for y in near(1) {
                for x in near(0) {
                    let steps =
                        usize::from(x != here[0]) + usize::from(y != here[1]) + usize::from(z != here[2]);
                    visit((z * ny + y) * nx + x, steps);
                }
            }
        }
    }
}

/// Numbers of the points.
#[derive(Debug)]
pub(super) enum Numbering {
    /// Natural order of the grid.
    Natural,
    /// A random one.
    Shuffled {
        /// Number of each point.
        numbers: Vec<u32>,
        /// Point of each number.
        points: Vec<u32>,
    },
}

impl Numbering {
    /// Numbers `count` points. O(1), or O(count) if shuffled.
    pub(super) fn new(shuffle: bool, seed: u64, count: u64) -> Self {
        if !shuffle {
            return Self::Natural;
        }
        let numbers = permutation(seed, count);
        let mut points = vec![0; numbers.len()];
        for (point, &number) in numbers.iter().enumerate() {
            points[number as usize] = point as u32;
        }
        Self::Shuffled { numbers, points }
    }

    /// The point of a number.
    pub(super) fn point(&self, number: u64) -> u64 {
        match self {
            Self::Natural => number,
            Self::Shuffled { points, .. } => u64::from(points[number as usize]),
        }
    }

    /// The number of a point.
    pub(super) fn number(&self, point: u64) -> u64 {
        match self {
            Self::Natural => point,
            Self::Shuffled { numbers, .. } => u64::from(numbers[point as usize]),
        }
    }
}
