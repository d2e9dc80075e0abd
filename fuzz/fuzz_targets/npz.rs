//! Any bytes give a matrix or an error, in bounded memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sparsight_matrix::Bytes;
use sparsight_matrix::io::{self, ReadOptions};
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions { memory: Some(Bytes(1 << 26)), ..ReadOptions::default() };
    if let Err(error) = io::read_npz::<f32>(bytes, Path::new("a.npz"), &options) {
        assert!(error.to_string().starts_with("a.npz:"));
    }
});
