//! Matrix Market files that are well formed, against an assembly in three plain loops.

use proptest::prelude::*;
use sparsight_matrix::io::{self, Field, Layout, Loaded, PatternValues, ReadOptions, Symmetry};
use sparsight_matrix::{Csr, Scalar};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

fn read<T: Scalar>(text: &str) -> Loaded<T> {
    io::read_matrix_market(text.as_bytes(), Path::new("a.mtx"), &ReadOptions::default()).unwrap()
}

fn read_with_threads<T: Scalar>(text: &str, threads: usize) -> Loaded<T> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| read(text))
}

/// Every entry as `(row, column, value)`.
fn entries<T: Scalar>(a: &Csr<T>) -> Vec<(usize, u32, T)> {
    (0..a.nrows())
        .flat_map(|row| {
            let (cols, values) = a.row(row);
            cols.iter().zip(values).map(move |(&col, &value)| (row, col, value))
        })
        .collect()
}

#[test]
fn a_small_general_matrix_is_what_its_text_says() {
    let loaded = read::<f64>(
        "%%MatrixMarket matrix coordinate real general\n3 4 4\n3 4 -2.5e-1\n1 1 1\n3 1 0\n1 3 .5\n",
    );
    assert_eq!(entries(&loaded.matrix), [(0, 0, 1.0), (0, 2, 0.5), (2, 0, 0.0), (2, 3, -0.25)]);
    assert_eq!(loaded.matrix.ncols(), 4);
    let stored = loaded.stored;
    assert_eq!((stored.layout, stored.field), (Layout::MatrixMarketCoordinate, Field::Real));
    assert_eq!((stored.symmetry, stored.entries, stored.duplicates), (Symmetry::General, 4, 0));
}

#[test]
fn a_stored_zero_stays_in_coordinates_and_goes_from_an_array() {
    assert_eq!(
        read::<f64>("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 0.0\n").matrix.nnz(),
        1
    );
    let array = read::<f64>("%%MatrixMarket matrix array real general\n2 2\n1\n0\n-0.0\n4\n");
    assert_eq!(entries(&array.matrix), [(0, 0, 1.0), (1, 1, 4.0)]);
    assert_eq!((array.stored.layout, array.stored.entries), (Layout::MatrixMarketArray, 4));
}

#[test]
fn trailing_comments_and_padding_are_skipped() {
    let text = "%%MatrixMarket matrix coordinate real general\n2 2 2 % size\n1 1 1.5 % first\n2 1 3 # second\n\x1a\0\0";
    assert_eq!(entries(&read::<f64>(text).matrix), [(0, 0, 1.5), (1, 0, 3.0)]);
    let text = "%%MatrixMarket matrix array real general\n2 1\n1 % one\n2\n\0\0\0\n\0";
    assert_eq!(entries(&read::<f64>(text).matrix), [(0, 0, 1.0), (1, 0, 2.0)]);
    let text = "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 2 %\n";
    assert_eq!(entries(&read::<f64>(text).matrix), [(1, 1, 1.0)]);
}

#[test]
fn unusual_but_allowed_text_is_read() {
    let text = "\u{FEFF}%%matrixmarket Matrix COORDINATE Double General \r\n%\r\n\r\n\t 3  3\t 6 \r\n\
        1 1 +3\r\n  % between entries\n\n 2\t2   1D5\r\n3 3 1d-2\n1 2 5. \t\n00000000001 3 1E2\r\n\
        3 1 123456789012345678901234567890e-30";
    let a = read::<f64>(text).matrix;
    let expected = [
        (0, 0, 3.0),
        (0, 1, 5.0),
        (0, 2, 100.0),
        (1, 1, 1e5),
        (2, 0, 0.123_456_789_012_345_68),
        (2, 2, 0.01),
    ];
    assert_eq!(entries(&a), expected);
}

#[test]
fn symmetric_storage_is_expanded_and_an_entry_above_the_diagonal_is_mirrored_too() {
    let text = "%%MatrixMarket matrix coordinate integer symmetric\n3 3 4\n1 1 4\n2 1 -1\n2 3 7\n3 3 5\n";
    let loaded = read::<f32>(text);
    let expected = [(0, 0, 4.0), (0, 1, -1.0), (1, 0, -1.0), (1, 2, 7.0), (2, 1, 7.0), (2, 2, 5.0)];
    assert_eq!(entries(&loaded.matrix), expected);
    assert_eq!((loaded.stored.entries, loaded.stored.duplicates), (4, 0));
    let both = "%%MatrixMarket matrix coordinate real hermitian\n2 2 2\n2 1 1.5\n1 2 2.0\n";
    let loaded = read::<f64>(both);
    assert_eq!(entries(&loaded.matrix), [(0, 1, 3.5), (1, 0, 3.5)]);
    assert_eq!((loaded.stored.symmetry, loaded.stored.duplicates), (Symmetry::Hermitian, 2));
}

#[test]
fn both_triangles_of_a_symmetric_matrix_are_remarked_upon() {
    let remarks = |kind: &str, body: &str| -> Vec<String> {
        let loaded = read::<f64>(&format!("%%MatrixMarket matrix coordinate {kind}\n{body}"));
        loaded.remarks.iter().map(ToString::to_string).collect()
    };
    let both = "2 2 3\n1 2 5\n2 1 5\n2 2 1\n";
    let said = remarks("real symmetric", both);
    assert!(
        said[0].starts_with(
            "each entry off the diagonal of the symmetric matrix is there twice, and their values"
        ),
        "{said:?}"
    );
    let said = remarks("pattern symmetric", "3 3 4\n1 1\n2 1\n1 2\n3 3\n");
    assert_eq!(
        said,
        [
            "each entry off the diagonal of the symmetric matrix is there twice: if both triangles are stored, the first line should say 'general'"
        ]
    );
    assert_eq!(remarks("real general", both), [""; 0]);
    for one in ["2 2 2\n1 2 5\n2 2 1\n", "2 2 3\n2 1 5\n2 2 1\n2 2 3\n", "3 3 3\n2 1 5\n1 2 5\n3 1 4\n"] {
        assert_eq!(remarks("real symmetric", one), [""; 0], "{one}");
    }
}

#[test]
fn skew_storage_is_expanded_with_the_opposite_sign() {
    let text = "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 1.5\n3 2 -4\n";
    let expected = [(0, 1, -1.5), (1, 0, 1.5), (1, 2, 4.0), (2, 1, -4.0)];
    assert_eq!(entries(&read::<f64>(text).matrix), expected);
}

#[test]
fn arrays_store_columns_and_symmetric_ones_their_lower_triangle() {
    let general = read::<f64>("%%MatrixMarket matrix array integer general\n2 3\n1\n2\n3\n4\n5\n6\n");
    let rows: Vec<_> = entries(&general.matrix).into_iter().map(|e| e.2).collect();
    assert_eq!(rows, [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    let symmetric = read::<f64>("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n");
    let rows: Vec<_> = entries(&symmetric.matrix).into_iter().map(|e| e.2).collect();
    assert_eq!(rows, [1.0, 2.0, 3.0, 2.0, 4.0, 5.0, 3.0, 5.0, 6.0]);
    let skew = read::<f64>("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n\n% x\n3\n");
    let expected = [(0, 1, -1.0), (0, 2, -2.0), (1, 0, 1.0), (1, 2, -3.0), (2, 0, 2.0), (2, 1, 3.0)];
    assert_eq!(entries(&skew.matrix), expected);
}

#[test]
fn matrices_without_entries_or_rows_are_read() {
    let text = "%%MatrixMarket matrix coordinate real general\n4 5 0\n";
    let a = read::<f64>(text).matrix;
    assert_eq!((a.nrows(), a.ncols(), a.nnz()), (4, 5, 0));
    for size in ["0 0 0", "0 7 0", "7 0 0"] {
        let a = read::<f64>(&format!("%%MatrixMarket matrix coordinate pattern general\n{size}")).matrix;
        assert_eq!(a.nnz(), 0);
    }
    for symmetry in ["general", "symmetric", "skew-symmetric"] {
        assert_eq!(
            read::<f32>(&format!("%%MatrixMarket matrix array real {symmetry}\n0 0\n")).matrix.nnz(),
            0
        );
    }
}

#[test]
fn pattern_values_depend_on_seed_and_place_only() {
    let head = "%%MatrixMarket matrix coordinate pattern";
    let forwards = format!("{head} general\n3 3 3\n1 1\n2 3\n3 1\n");
    let backwards = format!("{head} general\n3 3 4\n3 1\n2 3\n1 1\n2 3\n");
    let with = |text: &str, pattern| {
        let options = ReadOptions { pattern, ..ReadOptions::default() };
        io::read_matrix_market::<f64>(text.as_bytes(), Path::new("a.mtx"), &options).unwrap()
    };
    let seeded = |text: &str, seed| with(text, PatternValues::Seeded(seed));
    let (a, b) = (seeded(&forwards, 0), seeded(&backwards, 0));
    assert_eq!(a.matrix, b.matrix, "a pattern is a set of places: order and repetition change nothing");
    assert_eq!(b.stored.duplicates, 1);
    let options = ReadOptions { pattern: PatternValues::Seeded(0), ..ReadOptions::default() };
    let single = io::read_matrix_market::<f32>(forwards.as_bytes(), Path::new("a.mtx"), &options).unwrap();
    assert_eq!(single.matrix.to_dtype(), a.matrix, "f32 and f64 hold the same values");
    assert_ne!(seeded(&forwards, 1).matrix, a.matrix);

    let symmetric = seeded(&format!("{head} symmetric\n3 3 2\n3 1\n2 2\n"), 0).matrix;
    assert_eq!(symmetric.row(0).1, symmetric.row(2).1);
    let skew = format!("{head} skew-symmetric\n3 3 1\n3 1\n");
    let made_up = seeded(&skew, 0).matrix;
    assert_eq!(made_up.row(0).1, [-made_up.row(2).1[0]]);

    // Unless they are asked for, values are ones.
    for text in [&forwards, &backwards] {
        assert_eq!(read::<f64>(text).matrix.values(), [1.0; 3]);
    }
    assert_eq!(read::<f32>(&skew).matrix.values(), [-1.0, 1.0]);
}

#[test]
fn progress_never_decreases_and_ends_at_the_size_of_the_file() {
    let mut text = "%%MatrixMarket matrix coordinate real general\n9 9 300000\n".to_owned();
    text += &"3 4 0.12345\n".repeat(300_000);
    let seen = std::sync::Mutex::new(Vec::new());
    let progress = |p: io::Progress| seen.lock().unwrap().push(p);
    let options = ReadOptions { progress: Some(&progress), ..ReadOptions::default() };
    io::read_matrix_market::<f64>(text.as_bytes(), Path::new("a.mtx"), &options).unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() > 2 && seen.is_sorted_by_key(|p| p.done));
    assert_eq!(seen.last().unwrap().done.0, text.len() as u64);
}

#[test]
fn a_matrix_of_many_blocks_is_the_same_with_any_number_of_threads() {
    // Values whose sum depends on the order of addition; 300 000 lines over 70 000 rows, every place twice.
    let mut text = "%%MatrixMarket matrix coordinate real general\n70000 1000 300000\n".to_owned();
    for k in 0_u64..300_000 {
        let place = k % 150_000;
        let (row, col) = (place * 48_271 % 70_000 + 1, place * 69_621 % 1000 + 1);
        writeln!(text, "{row} {col} {}", 1.0 / (k + 3) as f64).unwrap();
    }
    let one = read_with_threads::<f64>(&text, 1);
    assert!(one.stored.duplicates >= 150_000);
    for threads in [2, 5] {
        assert_eq!(read_with_threads::<f64>(&text, threads), one);
    }
}

/// Assembly in plain loops, with the sums in the order of the file.
fn naive(symmetry: &str, triplets: &[(usize, u32, f64)]) -> Vec<(usize, u32, f64)> {
    let mut places = BTreeMap::new();
    let mut add = |row: usize, col: u32, value: f64| {
        places.entry((row, col)).and_modify(|v| *v += value).or_insert(value);
    };
    for &(row, col, value) in triplets {
        add(row, col, value);
        if symmetry != "general" && row != col as usize {
            add(col as usize, row as u32, if symmetry == "skew-symmetric" { -value } else { value });
        }
    }
    places.into_iter().map(|((row, col), value)| (row, col, value)).collect()
}

fn triplets() -> impl Strategy<Value = (usize, usize, Vec<(usize, u32, f64)>)> {
    (1..40_usize, 1..40_usize).prop_flat_map(|(nrows, ncols)| {
        // So small that no sum of those in one place is infinite, which is refused.
        let value = any::<f64>().prop_filter("finite", |v| v.is_finite()).prop_map(|v| v / 512.0);
        let entry = (0..nrows, 0..ncols as u32, value);
        (Just(nrows), Just(ncols), prop::collection::vec(entry, 0..200))
    })
}

/// Spacings and ends of lines.
const SPACINGS: [[&str; 4]; 4] =
    [["", " ", " ", "\n"], ["  ", "\t", "  ", "\r\n"], ["", " ", " ", "  \n"], ["\n% c\n", " ", " ", "\n\n"]];

proptest! {
    #[test]
    fn entries_in_any_order_read_back(
        (nrows, ncols, triplets) in triplets(),
        symmetry in prop::sample::select(vec!["general", "symmetric", "skew-symmetric", "hermitian"]),
        spacing in prop::sample::select(SPACINGS.to_vec()),
    ) {
        let square = symmetry != "general";
        let n = nrows.min(ncols);
        let (nrows, ncols) = if square { (n, n) } else { (nrows, ncols) };
        let fits = |&(row, col, _): &(usize, u32, f64)| row < nrows && (col as usize) < ncols
            && !(symmetry == "skew-symmetric" && row == col as usize);
        let triplets: Vec<_> = triplets.into_iter().filter(fits).collect();
        let mut text = format!("%%MatrixMarket matrix coordinate real {symmetry}\n");
        writeln!(text, "{nrows} {ncols} {}", triplets.len()).unwrap();
        for (row, col, value) in &triplets {
            let [before, a, b, end] = spacing;
            write!(text, "{before}{}{a}{}{b}{value:e}{end}", row + 1, col + 1).unwrap();
        }
        let expected = naive(symmetry, &triplets);
        for threads in [1, 3] {
            let loaded = read_with_threads::<f64>(&text, threads);
            prop_assert_eq!(entries(&loaded.matrix), expected.clone());
            prop_assert_eq!(loaded.stored.entries, triplets.len() as u64);
        }
    }
}

#[test]
fn reading_only_places_accepts_complex_and_infinite_values() {
    let options = ReadOptions { places_only: true, ..ReadOptions::default() };
    let read = |text: &str| io::read_matrix_market::<f32>(text.as_bytes(), Path::new("a.mtx"), &options);
    let pattern = read("%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n2 1\n2 2\n").unwrap();
    for (field, values) in [
        ("real", ["nan", "-inf", "1e300"]),
        ("real", ["0", "-0.5E+02", "1d5"]),
        ("complex", ["1.0 -2", "nan 0", "0 1d5"]),
        ("integer", ["1", "-2", "+3"]),
    ] {
        let [a, b, c] = values;
        let text =
            format!("%%MatrixMarket matrix coordinate {field} general\n2 2 3\n1 1 {a}\n2 1 {b}\n2 2 {c}\n");
        let loaded = read(&text).unwrap();
        assert_eq!(loaded.matrix, pattern.matrix, "{field} {values:?}");
        assert_eq!(loaded.stored.field.to_string(), field);
    }
    let array =
        read("%%MatrixMarket matrix array complex general\n2 2\n1 0\n0.0e+00 nan\n0e5 0\n0 0.5\n").unwrap();
    assert_eq!(array.matrix, pattern.matrix, "places of zeros do not count");
    let hermitian = "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 0 1\n";
    assert_eq!(read(hermitian).unwrap().matrix.nnz(), 3);
    for (text, expected) in [
        ("real general\n2 2 1\n1 1 1 2\n", "a.mtx:3:7: unexpected '2' after the entry"),
        ("real general\n2 2 1\n1 1 abc\n", "a.mtx:3:5: expected a value, found 'abc'"),
        ("real general\n2 2 1\n1 1\n", "a.mtx:3:4: expected a value, found the end of the line"),
        ("complex general\n2 2 1\n1 1 2.0\n", "a.mtx:3:8: expected a value, found the end of the line"),
    ] {
        let error = read(&format!("%%MatrixMarket matrix coordinate {text}")).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
