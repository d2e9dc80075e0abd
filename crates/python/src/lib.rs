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
mod freeable;
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
    use super::{
        advice::{Advice, advise},
        devices::{calibrate, gpu_of, profiles, search_libraries_in, unknown_gpu},
        distributed::{Distributed, prepare_distributed},
        epilogue::{EpilogueProduct, with_epilogue},
        forked::refuse_in_child,
        matrix::{Matrix, generate, read, read_stream},
        on_gpus::on_gpus,
        pieces::Piece,
        prepared::{Prepared, prepare, prepare_identity},
        program::run_program,
        ranks::{Rank, nccl_identity, prepare_rank},
        resident::prepare_resident,
    };

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
