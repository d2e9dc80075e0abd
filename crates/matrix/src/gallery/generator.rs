//! A generator as data: its name, its parameters and their ranges, and the functions that make rows.

use super::rows::RowMaker;
use serde::Serialize;
use std::fmt;

/// A kind of matrix that the gallery makes.
#[derive(Debug, Serialize)]
pub struct Generator {
    /// The name written in recipes.
    pub name: &'static str,
    /// Structure of the matrix and where such matrices come from, in one line.
    pub summary: &'static str,
    /// Parameters, in the order of the canonical text.
    pub parameters: &'static [Parameter],
    /// Size of the matrix with these arguments. O(1).
    #[serde(skip)]
    pub(super) size: fn(&Arguments) -> Size,
    /// Makes what all rows share; gives the function that makes one row.
    #[serde(skip)]
    pub(super) rows: fn(&Arguments) -> RowMaker,
}

/// Something that can be set.
#[derive(Debug, Serialize)]
pub struct Parameter {
    /// The key written in recipes.
    pub name: &'static str,
    /// Value if it is not written.
    pub default: Value,
    /// Accepted values.
    pub accepts: Accepts,
    /// Effect in a few words.
    pub meaning: &'static str,
}

impl Parameter {
    /// Rows, columns or grid points: what a 32-bit index can name.
    pub(super) const fn dimension(name: &'static str, default: u64, meaning: &'static str) -> Self {
        Self::count(name, default, 1, u32::MAX as u64 - 1, meaning)
    }

    /// A whole number in a range.
    pub(super) const fn count(
        name: &'static str,
        default: u64,
        min: u64,
        max: u64,
        meaning: &'static str,
    ) -> Self {
        Self { name, default: Value::Whole(default), accepts: Accepts::Whole { min, max }, meaning }
    }

    /// A parameter with one of a few whole numbers; the first is the default.
    pub(super) const fn choice(name: &'static str, of: &'static [u64], meaning: &'static str) -> Self {
        Self { name, default: Value::Whole(of[0]), accepts: Accepts::Choice(of), meaning }
    }

    /// A number in a range.
    pub(super) const fn real(
        name: &'static str,
        default: f64,
        min: f64,
        max: f64,
        meaning: &'static str,
    ) -> Self {
        Self { name, default: Value::Real(default), accepts: Accepts::Real { min, max }, meaning }
    }

    /// The seed that every generator has.
    pub(super) const SEED: Self = Self::count("seed", 1, 0, u64::MAX, "seed of all that is random");

    /// Renumbering, for structures whose natural numbering hides how scattered they could be.
    pub(super) const SHUFFLE: Self =
        Self::choice("shuffle", &[0, 1], "1 numbers the points at random, which strews the columns");
}

/// The value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A whole number.
    Whole(u64),
    /// Any number.
    Real(f64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
        }
    }
}

serialize_as_text!(Value, Accepts);

/// Accepted values of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Accepts {
    /// A whole number from `min` to `max`.
    Whole {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A value among these.
    Choice(&'static [u64]),
    /// A number from `min` to `max`.
    Real {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
}

impl Accepts {
    /// The value that `text` writes, if it is accepted.
    pub(super) fn parse(self, text: &str) -> Option<Value> {
        match self {
            Self::Whole { min, max } => {
                text.parse().ok().filter(|value| (min..=max).contains(value)).map(Value::Whole)
            }
            Self::Choice(of) => text.parse().ok().filter(|value| of.contains(value)).map(Value::Whole),
            Self::Real { min, max } => {
                text.parse().ok().filter(|value| (min..=max).contains(value)).map(Value::Real)
            }
        }
    }
}

impl fmt::Display for Accepts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole { min: 0, max: u64::MAX } => write!(f, "a whole number below 2^64"),
            Self::Whole { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Choice(of) => {
                let of: Vec<String> = of.iter().map(ToString::to_string).collect();
                write!(f, "{}", of.join(" or "))
            }
            Self::Real { min, max } => write!(f, "a number from {min} to {max}"),
        }
    }
}

/// The size of a matrix before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Rows.
    pub nrows: u128,
    /// Columns.
    pub ncols: u128,
    /// Non-zeros: exact where the structure fixes them; where chance does, what is expected before entries that
    /// fell on the same column are merged.
    pub nnz: u128,
}

/// The values of all parameters of a generator.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    pub(super) parameters: &'static [Parameter],
    pub(super) values: &'a [Value],
}

impl Arguments<'_> {
    fn value(&self, name: &str) -> Value {
        let at = self.parameters.iter().position(|parameter| parameter.name == name);
        self.values[at.expect("a generator asks for the parameters that it declares")]
    }

    /// A whole number.
    pub(super) fn whole(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Whole(value) => value,
            Value::Real(_) => unreachable!("{name} is declared as a real number"),
        }
    }

    /// A real number.
    pub(super) fn real(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Real(value) => value,
            Value::Whole(_) => unreachable!("{name} is declared as a whole number"),
        }
    }
}
