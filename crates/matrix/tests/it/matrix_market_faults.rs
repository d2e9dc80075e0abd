//! Every fixture is a broken Matrix Market file named by its fault; the table says what its reader must say.

use sparsight_matrix::io::{self, ReadOptions};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Fixture, then place and text of the error.
const FAULTS: &[(&str, &str)] = &[
    ("empty", "1:1: the file is empty"),
    ("banner_only", "1:1: the file ends before the size line"),
    ("header_only", "3:1: the file ends before the size line"),
    ("not_matrix_market", "1:1: expected '%%MatrixMarket matrix ...', found 'A'"),
    ("object_vector", "1:16: expected 'matrix', found 'vector'"),
    ("unknown_format", "1:23: expected 'coordinate' or 'array', found 'elemental'"),
    ("unknown_field", "1:34: expected 'real', 'double', 'integer' or 'pattern', found 'quaternion'"),
    (
        "unknown_symmetry",
        "1:39: expected 'general', 'symmetric', 'skew-symmetric' or 'hermitian', found 'antisymmetric'",
    ),
    (
        "missing_symmetry",
        "1:38: expected 'general', 'symmetric', 'skew-symmetric' or 'hermitian', found the end of the line",
    ),
    ("complex", "1:34: complex values cannot be read"),
    ("array_pattern", "1:29: 'array' cannot be combined with 'pattern'"),
    (
        "size_without_entries",
        "2:4: expected the number of entries in the size line, found the end of the line",
    ),
    ("size_with_extra_number", "2:7: expected nothing more in the size line, found '1'"),
    ("size_negative", "2:3: expected the number of columns in the size line, found '-3'"),
    (
        "size_beyond_64_bits",
        "2:5: expected the number of entries in the size line, found '99999999999999999999999'",
    ),
    ("symmetric_not_square", "2:1: a symmetric matrix must be square, this one is 3 x 4"),
    (
        "declared_1e15_rows",
        "2:1: 1000000000000000 rows are more than 32-bit indices are used for, 4294967294",
    ),
    ("declared_4e9_columns", "2:3: 4294967295 columns are more than 32-bit indices are used for, 4294967294"),
    ("declared_1e18_entries", "2:5: declared 1000000000000000000 entries, the file holds 2"),
    ("too_few_entries", "2:5: declared 3 entries, the file holds 2"),
    ("too_many_entries", "2:5: declared 1 entries, the file holds more"),
    ("row_zero", "4:1: row index 0 is below 1"),
    ("index_zero", "4:3: column index 0 is below 1"),
    ("row_beyond_declared", "5:3: row index 4 is outside the declared 3 rows"),
    ("column_beyond_declared", "4:3: column index 5001 is outside the declared 5000 columns"),
    ("index_beyond_64_bits", "3:3: column index 99999999999999999999 is outside the declared 3 columns"),
    ("index_negative", "3:1: expected a row index, found '-1'"),
    ("index_with_fraction", "3:1: expected a row index, found '1.0'"),
    ("missing_column", "3:2: expected a column index, found the end of the line"),
    ("missing_value", "3:4: expected a value, found the end of the line"),
    ("value_garbage", "4:5: expected a value, found 'abc'"),
    ("value_half_number", "3:5: expected a value, found '1.5x'"),
    ("value_nan", "3:5: value 'NaN' is not a finite number that fits the value type"),
    ("value_infinite", "3:5: value '-inf' is not a finite number that fits the value type"),
    ("value_overflows", "3:5: value '1e400' is not a finite number that fits the value type"),
    ("fraction_in_integer", "3:5: value '2.5' is no whole number, the header says integer"),
    ("value_in_pattern", "3:5: unexpected '1' after the entry"),
    ("two_entries_on_a_line", "3:9: unexpected '2' after the entry"),
    ("complex_values_in_real", "3:9: unexpected '0.5' after the entry"),
    ("array_too_short", "2:1: declared 4 entries, the file holds 3"),
    ("array_too_long", "2:1: declared 3 entries, the file holds more"),
    ("array_two_values_on_a_line", "3:3: unexpected '3' after the entry"),
    ("nul_bytes", "3:3: expected a column index, found '\\0'"),
    ("invalid_utf8", "3:3: expected a column index, found '\u{FFFD}\u{FFFD}'"),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

#[test]
fn every_fixture_gives_its_error_at_its_place() {
    for (name, expected) in FAULTS {
        let path = fixtures().join(format!("{name}.mtx"));
        let error = io::read::<f64>(&path, &ReadOptions::default()).expect_err(name);
        let text = error.to_string();
        let text = text.strip_prefix(&path.display().to_string()).expect("an error starts with the path");
        assert_eq!(text, format!(":{expected}"), "{name}");
    }
}

#[test]
fn the_table_names_every_fixture() {
    let in_table: BTreeSet<String> = FAULTS.iter().map(|(name, _)| format!("{name}.mtx")).collect();
    let in_folder: BTreeSet<String> = std::fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(in_table, in_folder);
}

#[test]
fn hints_are_apart_from_errors() {
    let hint = |name: &str| {
        let path = fixtures().join(format!("{name}.mtx"));
        io::read::<f64>(&path, &ReadOptions::default()).unwrap_err().hint()
    };
    assert_eq!(hint("index_zero"), Some("the file may count from 0; Matrix Market counts from 1"));
    assert!(hint("too_few_entries").is_some_and(|hint| hint.starts_with("the file may have been cut off")));
    assert!(hint("complex").is_some() && hint("value_in_pattern").is_some());
    assert_eq!(hint("value_garbage"), None);
}

#[test]
fn what_follows_an_entry_is_explained_by_the_kind_of_the_file() {
    for (name, expected) in [
        ("value_in_pattern", "'real', not 'pattern'"),
        ("two_entries_on_a_line", "row, column and one value"),
        ("complex_values_in_real", "two numbers a value need 'complex'"),
        ("array_two_values_on_a_line", "an array has one value a line"),
    ] {
        let path = fixtures().join(format!("{name}.mtx"));
        for places_only in [false, true] {
            let options = ReadOptions { places_only, ..ReadOptions::default() };
            let hint = io::read::<f64>(&path, &options).unwrap_err().hint().unwrap();
            assert!(hint.contains(expected), "{name}: {hint}");
        }
    }
}

#[test]
fn lines_that_end_with_cr_alone_are_told() {
    let text = "%%MatrixMarket matrix coordinate real general\r2 2 1\r1 1 1\r";
    let long = format!("{text}{}", "% a comment\r".repeat(200_000));
    for text in [text, long.as_str()] {
        let error =
            io::read_matrix_market::<f64>(text.as_bytes(), Path::new("a.mtx"), &ReadOptions::default())
                .unwrap_err();
        assert_eq!(error.to_string(), "a.mtx:1:1: lines end with CR alone, LF is needed");
        assert_eq!(error.hint(), Some("convert it: tr '\\r' '\\n' < A.mtx > A.lf.mtx"));
    }
}

#[test]
fn a_value_too_large_for_f32_is_refused_only_there() {
    let text = b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1e39\n";
    let options = ReadOptions::default();
    assert!(io::read_matrix_market::<f64>(text, Path::new("a.mtx"), &options).is_ok());
    let error = io::read_matrix_market::<f32>(text, Path::new("a.mtx"), &options).unwrap_err();
    assert_eq!(error.to_string(), "a.mtx:3:5: value '1e39' is not a finite number that fits the value type");
}

#[test]
fn a_fault_deep_in_a_large_file_is_reported_at_its_line() {
    // 5 MB of text, several blocks; the first of two faults counts.
    let lines = 400_000;
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n% a\n% b\n9 9 {lines}\n");
    for k in 0..lines {
        text += match k {
            250_000 => "7 x 1.0\n",
            390_000 => "99 1 1.0\n",
            _ => "3 4 0.12345\n",
        };
    }
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let read =
            || io::read_matrix_market::<f64>(text.as_bytes(), Path::new("a.mtx"), &ReadOptions::default());
        let error = pool.install(read).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.mtx:250005:3: expected a column index, found 'x'",
            "{threads} threads"
        );
    }
}

#[test]
fn a_line_without_end_is_refused_and_not_searched() {
    let mut text = b"%%MatrixMarket matrix coordinate real general\n1 1 1\n".to_vec();
    text.resize(3 << 20, b' ');
    let read = |text: &[u8]| io::read_matrix_market::<f64>(text, Path::new("a.mtx"), &ReadOptions::default());
    assert_eq!(read(&text).unwrap_err().to_string(), "a.mtx:3:1: the line is longer than 1048576 bytes");
    let zeros = vec![0; 3 << 20];
    assert_eq!(read(&zeros).unwrap_err().to_string(), "a.mtx:1:1: the line is longer than 1048576 bytes");
}

#[test]
fn rows_that_do_not_fit_into_memory_are_refused_before_anything_is_allocated() {
    let text = b"%%MatrixMarket matrix coordinate real general\n4000000000 1 1\n1 1 1\n";
    let options = ReadOptions { memory: Some(sparsight_matrix::Bytes(1 << 30)), ..ReadOptions::default() };
    let error = io::read_matrix_market::<f64>(text, Path::new("a.mtx"), &options).unwrap_err();
    assert_eq!(error.to_string(), "a.mtx: the matrix needs 32.0 GB of memory, 1.07 GB may be used");
}

#[test]
fn a_missing_file_and_an_unknown_content_are_told_apart() {
    let error = |path: &str| {
        let error = io::read::<f64>(Path::new(path), &ReadOptions::default()).unwrap_err();
        (error.to_string(), error.hint().is_some())
    };
    let (text, _) = error("no/such.mtx");
    assert!(text.starts_with("no/such.mtx: ") && text.contains("No such file"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mat");
    std::fs::write(&path, [0; 9]).unwrap();
    let (text, is_hinted) = error(path.to_str().unwrap());
    assert!(text.ends_with("a.mat: this is no matrix file that is known"), "{text}");
    assert!(is_hinted);
}

#[test]
fn the_declared_size_is_reported_once_before_allocation() {
    let told = std::sync::Mutex::new(Vec::new());
    let declared = |size: [u64; 3]| told.lock().unwrap().push(size);
    let memory = Some(sparsight_matrix::Bytes(1 << 20));
    let options = ReadOptions { declared: Some(&declared), memory, ..ReadOptions::default() };
    let text = b"%%MatrixMarket matrix coordinate real general\n2000000000 7 1\n1 1 1\n";
    assert!(io::read_matrix_market::<f64>(text, Path::new("a.mtx"), &options).is_err(), "too large");
    assert_eq!(*told.lock().unwrap(), [[2_000_000_000, 7, 1]]);
}
