//! Generated matrices with the structure of real ones, written as `gallery:NAME[,key=value...]`.
//!
//! A [`Generator`] is a function from a row's number to the row's entries; all that is random in a row follows
//! from the seed and the row, so rows are made in parallel and a [`Recipe`] always gives the same matrix.
//! A recipe knows the matrix' [`Size`] without making it.
//!
//! ```
//! use sparsight_matrix::gallery::Recipe;
//! let recipe: Recipe = "gallery:stencil2d,n=10".parse()?;
//! let a = recipe.generate::<f32>()?;
//! assert_eq!((a.nrows(), a.nnz()), (100, 5 * 100 - 4 * 10));
//! assert_eq!(recipe.to_string(), "gallery:stencil2d,n=10,points=5,shuffle=0,seed=1");
//! # Ok::<(), sparsight_matrix::gallery::GalleryError>(())
//! ```

mod arrow;
mod banded;
mod block_diagonal;
mod circuit;
mod constraints;
mod dense;
mod error;
mod fem;
mod generator;
mod grid;
mod kkt;
mod long_rows;
mod lp;
mod power_law;
mod random;
mod recipe;
mod rmat;
mod rows;
mod stencil;
mod uniform;
mod web;

pub use error::{GalleryError, suggested};
pub use generator::{Accepts, Generator, Parameter, Size, Value};
pub use random::mix;
pub(crate) use recipe::MAX_DIMENSION;
pub use recipe::Recipe;

/// Prefix of a recipe, which a path of a file does not have.
pub const PREFIX: &str = "gallery:";

/// All generators, in the order in which tables list them.
pub fn generators() -> &'static [Generator] {
    &GENERATORS
}

static GENERATORS: [Generator; 20] = [
    stencil::STENCIL_2D,
    stencil::STENCIL_3D,
    fem::FEM,
    fem::TRIMESH,
    power_law::POWER_LAW,
    rmat::RMAT,
    web::WEB,
    circuit::CIRCUIT,
    lp::LP,
    constraints::CONSTRAINTS,
    kkt::KKT,
    arrow::ARROW,
    long_rows::LONG_ROWS,
    banded::BANDED,
    block_diagonal::BLOCK_DIAGONAL,
    uniform::RANDOM,
    uniform::TALL,
    uniform::WIDE,
    uniform::HYPERSPARSE,
    dense::DENSE,
];
