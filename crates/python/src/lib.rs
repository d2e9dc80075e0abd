//! The part of the Python package `sparsight` that is Rust: matrices, advice, prepared products. What kinds of arrays there are in
//! Python, and what people see of advice, is Python and stands in `python/sparsight`.
//!
//! ```text
//! python/sparsight   which library is this array of, is it right, where does it lie      addresses and buffers
//!   _core            Matrix, Advice, Prepared; the interpreter is free while they work   the library sparsight
//!   program          the program, which runs in place of the interpreter                 the crate sparsight-cli
//! ```

mod addresses;
mod advice;
mod buffers;
mod devices;
mod distributed;
mod epilogue;
mod failure;
mod file_object;
mod forked;
mod linked;
mod matrix;
mod on_gpus;
mod pieces;
mod prepared;
mod program;
mod ranks;
mod resident;
mod typed;

use pyo3::prelude::*;

/// Rust part of sparsight; not for use by itself.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::advice::{Advice, advise};
    #[pymodule_export]
    use super::devices::{calibrate, gpu_of, profiles, search_libraries_in, unknown_gpu};
    #[pymodule_export]
    use super::distributed::{Distributed, prepare_distributed};
    #[pymodule_export]
    use super::epilogue::{EpilogueProduct, with_epilogue};
    #[pymodule_export]
    use super::forked::refuse_in_child;
    #[pymodule_export]
    use super::matrix::{Matrix, generate, read, read_stream};
    #[pymodule_export]
    use super::on_gpus::on_gpus;
    #[pymodule_export]
    use super::pieces::Piece;
    #[pymodule_export]
    use super::prepared::{Prepared, prepare, prepare_identity};
    #[pymodule_export]
    use super::program::run_program;
    #[pymodule_export]
    use super::ranks::{Rank, nccl_identity, prepare_rank};
    #[pymodule_export]
    use super::resident::prepare_resident;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
