//! Packing what a test reads.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
