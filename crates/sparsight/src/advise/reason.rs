//! A reason with its numbers, and the one sentence that is made of it.

use serde::Serialize;
use sparsight_matrix::{Seconds, grouped};
use std::fmt;

/// Why a product takes as long as it does. `cost_s` of `of_s`: seconds that this costs, of the time that is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// A few rows are far longer than the rest: beside the same matrix with these rows as long as the median one.
    LongRows {
        /// Long rows.
        rows: u64,
        /// Non-zeros of the longest.
        longest: u64,
        /// Time of a product that is due to their length.
        cost_s: Seconds,
        /// Time of one product.
        of_s: Seconds,
    },
    /// Entries are stored that are 0: beside the matrix without them.
    StoredZeros {
        /// Zeros.
        zeros: u64,
        /// Stored entries.
        entries: u64,
        /// Time of a product that is due to them.
        cost_s: Seconds,
        /// Time of one product.
        of_s: Seconds,
    },
    /// Rows have no entry: beside the matrix without them.
    EmptyRows {
        /// Empty rows.
        empty: u64,
        /// All rows.
        rows: u64,
        /// Time of a product that is due to them.
        cost_s: Seconds,
        /// Time of one product.
        of_s: Seconds,
    },
    /// Rows and columns are numbered badly: beside the order of reverse Cuthill-McKee.
    Numbering {
        /// Number of times that x is fetched in a product.
        fetched: f64,
        /// Number of times in the other order.
        fetched_reordered: f64,
        /// Time of a product that is due to the numbering.
        cost_s: Seconds,
        /// Time of one product.
        of_s: Seconds,
    },
    /// Entries of the file stood on places already taken and were added up.
    Duplicates {
        /// Number of such entries.
        duplicates: u64,
        /// Bytes that a product would move with them, over those that it cannot avoid.
        bytes_factor: f64,
    },
    /// The matrix is too small for a GPU: the launch takes most of the time.
    Launch {
        /// A launch of an empty kernel.
        cost_s: Seconds,
        /// Time of one product.
        of_s: Seconds,
    },
    /// Preparation takes most of the time in all.
    Upload {
        /// The larger part of the preparation.
        of: Before,
        /// Products.
        products: u64,
        /// Conversion and upload.
        cost_s: Seconds,
        /// Sum of these and all products.
        of_s: Seconds,
    },
    /// The values of the file are complex, and products are predicted for real ones.
    Complex {
        /// Bytes that a complex product cannot avoid moving, over those of the real one.
        bytes_factor: f64,
    },
}

/// A part of the preparation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Before {
    /// CSR is brought to a GPU as it is.
    Upload,
    /// Conversion, and upload to a GPU.
    ConversionAndUpload,
    /// Conversion on a processor.
    Conversion,
}

/// `4 rows of up to 42,254 non-zeros cost 21.0 of 105 us.`
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::LongRows { rows: 1, longest, cost_s, of_s } => {
                write!(f, "1 row of {} non-zeros costs {}.", grouped(longest), part(cost_s, of_s))
            }
            Self::LongRows { rows, longest, cost_s, of_s } => {
                let (rows, longest) = (grouped(rows), grouped(longest));
                write!(f, "{rows} rows of up to {longest} non-zeros cost {}.", part(cost_s, of_s))
            }
            Self::StoredZeros { zeros, entries, cost_s, of_s } => {
                let (zeros, entries) = (grouped(zeros), grouped(entries));
                write!(
                    f,
                    "{zeros} of the {entries} stored entries are zeros and cost {}.",
                    part(cost_s, of_s)
                )
            }
            Self::EmptyRows { empty, rows, cost_s, of_s } => {
                let (empty, rows) = (grouped(empty), grouped(rows));
                write!(f, "{empty} of the {rows} rows are empty and cost {}.", part(cost_s, of_s))
            }
            Self::Numbering { fetched, fetched_reordered, cost_s, of_s } => write!(
                f,
                "Rows and columns are numbered so that x is fetched {fetched:.1} times in a product; numbered by reverse \
                 Cuthill-McKee, {fetched_reordered:.1} times, it would take {} in place of {of_s}.",
                Seconds(of_s.0 - cost_s.0)
            ),
            Self::Duplicates { duplicates, bytes_factor } => write!(
                f,
                "{} entries stand on places that others have and are added up: kept as they are, a product would move {:.0} % \
                 more bytes.",
                grouped(duplicates),
                100.0 * (bytes_factor - 1.0)
            ),
            Self::Launch { cost_s, of_s } => {
                write!(f, "The matrix is small for a GPU: a launch alone takes {}.", part(cost_s, of_s))
            }
            Self::Upload { of, products, cost_s, of_s } => {
                let what = match of {
                    Before::Upload => "Upload takes",
                    Before::ConversionAndUpload => "Conversion and upload take",
                    Before::Conversion => "Conversion takes",
                };
                let share = 100.0 * cost_s.0 / of_s.0;
                let products = if products == 1 {
                    "one product".to_owned()
                } else {
                    format!("{} products", grouped(products))
                };
                write!(f, "{what} {share:.0} % of the time in all: {} with {products}.", part(cost_s, of_s))
            }
            Self::Complex { bytes_factor } => write!(
                f,
                "The values are complex and the times are for real ones: a complex product moves {bytes_factor:.1} times as many \
                 bytes."
            ),
        }
    }
}

/// `21.0 of 105 us`; both units where they differ.
fn part(cost: Seconds, of: Seconds) -> String {
    let (cost, of) = (cost.to_string(), of.to_string());
    match (cost.split_once(' '), of.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} of {of}"),
        _ => format!("{cost} of {of}"),
    }
}
