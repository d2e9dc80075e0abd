//! Writes what `scipy.sparse.save_npz` writes, and what it never would.

use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// An array: name, numpy type, shape as numpy prints it, bytes.
pub type Array<'a> = (&'a str, &'a str, String, Vec<u8>);

/// A 1-D array of 8-byte integers.
pub fn int64<'a>(name: &'a str, values: &[i64]) -> Array<'a> {
    (name, "<i8", format!("({},)", values.len()), values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

/// A 1-D array of doubles.
pub fn float64<'a>(name: &'a str, values: &[f64]) -> Array<'a> {
    (name, "<f8", format!("({},)", values.len()), values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

/// The scalar that names the format.
pub fn format(text: &str) -> Array<'static> {
    ("format", "|S3", "()".to_owned(), text.as_bytes().to_vec())
}

/// An archive of `arrays`.
pub fn archive(arrays: &[Array<'_>], compressed: bool) -> Vec<u8> {
    let method = if compressed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, descr, shape, bytes) in arrays {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default().compression_method(method))
            .unwrap();
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let padding = 63 - (10 + text.len()) % 64;
        let header = format!("{text}{}\n", " ".repeat(padding));
        zip.write_all(b"\x93NUMPY\x01\x00").unwrap();
        zip.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
        zip.write_all(header.as_bytes()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}
