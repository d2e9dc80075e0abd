//! A drop-in for the sparse product of cuSPARSE: loaded in front of it (`LD_PRELOAD`, which `sparsight run` sets), it computes products
//! of an unmodified program by the kernels of sparsight where they are faster.
//!
//! ```text
//! exports     the functions that stand in front of cuSPARSE's           real        cuSPARSE's own
//! product     a call, and the product that it asks for                  settings    what the environment asks for
//! patterns    by addresses and sizes, or by descriptor                  worker      the thread in the background
//! pattern     from the first product to a decision                      load        choice and compilation
//! gpu         GPUs and their contexts                                   rules       choice by row lengths
//! source      the arrays of a pattern, read in the background           verify      both products, compared
//! process     its end, and its children                                 totals, report   the report at the end
//! ```
//!
//! What may be kept between two calls is what cuSPARSE's own contract lets it keep: without `cusparseSpMV_preprocess` nothing, so that only
//! kernels run which read the program's arrays at each product; after it the pattern, until the descriptor is destroyed or preprocessed
//! again, so that kernels with tables of it run, too. Everything else goes to cuSPARSE untouched.
//!
//! All that is known belongs to the context of the product, by its number, which changes when the program resets the device.

mod exports;
mod gpu;
mod load;
mod pattern;
mod patterns;
mod process;
mod product;
mod real;
mod report;
mod rules;
mod settings;
mod source;
mod totals;
mod verify;
mod worker;
