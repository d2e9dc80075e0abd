//! Launches of an iteration, and the vectors that they move.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// A solver whose iteration is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Iteration {
    /// Conjugate gradients.
    Cg,
    /// Stabilised biconjugate gradients.
    Bicgstab,
    /// Primal-dual hybrid gradient for linear programs: a product with A^T and one with A.
    Pdhg,
}

/// A product with what comes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductStep {
    /// A^T in place of A.
    pub is_transposed: bool,
    /// Vectors that the epilogue and the dot products read at the row, the old y and x among them.
    pub reads: u32,
    /// Vectors that the epilogue writes beside y.
    pub writes: u32,
    /// Dot products.
    pub dots: u32,
}

/// A launch of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A product with what comes after it; where its kernel takes no epilogue, two launches.
    Product(ProductStep),
    /// Updates of vectors of a row's length by each other.
    Update {
        /// Vectors that are read.
        reads: u32,
        /// Vectors that are written.
        writes: u32,
    },
}

const fn product(reads: u32, dots: u32) -> Step {
    Step::Product(ProductStep { is_transposed: false, reads, writes: 0, dots })
}

const fn update(reads: u32, writes: u32) -> Step {
    Step::Update { reads, writes }
}

impl Iteration {
    /// All, in the order in which help lists them.
    pub const ALL: [Self; 3] = [Self::Cg, Self::Bicgstab, Self::Pdhg];

    /// Name of the method: `CG`.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Cg => "CG",
            Self::Bicgstab => "BiCGStab",
            Self::Pdhg => "PDHG",
        }
    }

    /// The launches of an iteration.
    ///
    /// ```text
    /// cg         w = A r with (w, r), (r, r), (w, p)      p = r + b p, q = w + b q, x += a p, r -= a q
    /// bicgstab   v = A p with (v, r0)                     r -= a v
    ///            t = A r with (t, r), (t, t), (t, r0)     x += a p + o r, r -= o t, p = r + b (p - o v)
    /// pdhg       x' = clamp(x - tau (c - A^T y), l, u), v = 2 x' - x
    ///            y = max(y + sigma (b - A v), l_y)
    /// ```
    pub const fn steps(self) -> &'static [Step] {
        match self {
            Self::Cg => const { &[product(2, 3), update(5, 4)] },
            Self::Bicgstab => const { &[product(1, 1), update(2, 1), product(2, 3), update(5, 3)] },
            Self::Pdhg => {
                const {
                    &[
                        Step::Product(ProductStep { is_transposed: true, reads: 4, writes: 1, dots: 0 }),
                        product(3, 0),
                    ]
                }
            }
        }
    }

    /// Products with A, without those with A^T.
    pub fn products_with_a(self) -> u32 {
        let is_of_a = |step: &&Step| matches!(step, Step::Product(step) if !step.is_transposed);
        self.steps().iter().filter(is_of_a).count() as u32
    }

    /// Vectors of a row's and of a column's length that an iteration touches.
    pub(super) const fn vectors(self) -> [u64; 2] {
        match self {
            // x, r, w, p, q
            Self::Cg => [5, 0],
            // x, r, r0, p, v, t
            Self::Bicgstab => [6, 0],
            // y, b, l_y; x, v, c, l, u
            Self::Pdhg => [3, 5],
        }
    }

    /// True if it multiplies with A^T, too.
    pub const fn needs_transpose(self) -> bool {
        matches!(self, Self::Pdhg)
    }
}

/// The one name used in flags and answers: `cg`, `bicgstab`, `pdhg`.
impl fmt::Display for Iteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for Iteration {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|iteration| iteration.to_string() == text);
        found.ok_or_else(|| format!("unknown iteration '{text}': cg, bicgstab or pdhg"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_with_a_are_those_of_the_steps() {
        assert_eq!(Iteration::ALL.map(Iteration::products_with_a), [1, 2, 1]);
    }

    #[test]
    fn names_read_back() {
        assert_eq!(Iteration::ALL.map(|one| one.to_string().parse()), Iteration::ALL.map(Ok));
        assert!("gmres".parse::<Iteration>().unwrap_err().contains("cg, bicgstab or pdhg"));
    }
}
