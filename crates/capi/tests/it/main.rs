//! The C library: called from Rust, and by programs in C.

mod c_program;
mod calls;
mod compile;
mod packages;
mod plug_ins;
