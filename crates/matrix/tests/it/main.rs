//! Matrices as data, through the public interface: readers, generators, formats, features.

mod archives;
mod cases;
mod conversions_keep_every_entry;
mod damage;
mod features_by_definition;
mod formats_are_described;
mod gallery;
mod hostile_files;
mod matrix_market;
mod matrix_market_faults;
mod mutations;
mod npz;
mod npz_writer;
mod packed;
mod real_matrices;
mod strips_know_their_blocks;
