//! Files of `scipy.sparse.save_npz`, whole and broken.

use crate::npz_writer::{Array, archive, float64, format, int64};
use sparsight_matrix::io::{self, Field, Layout, Loaded, ReadError, ReadOptions};
use sparsight_matrix::{Csr, Scalar};
use std::path::Path;

fn read<T: Scalar>(arrays: &[Array<'_>]) -> Result<Loaded<T>, ReadError> {
    let options = ReadOptions::default();
    let plain = io::read_npz::<T>(&archive(arrays, false), Path::new("a.npz"), &options);
    let compressed = io::read_npz::<T>(&archive(arrays, true), Path::new("a.npz"), &options);
    match (&plain, &compressed) {
        (Ok(a), Ok(b)) => assert_eq!(a, b),
        (a, b) => assert_eq!(a.is_ok(), b.is_ok()),
    }
    plain
}

fn error(arrays: &[Array<'_>]) -> String {
    read::<f64>(arrays).unwrap_err().to_string()
}

/// ```text
/// | 1 . 2 . |
/// | . . . . |
/// | . 3 . 4 |
/// ```
fn expected() -> Csr<f64> {
    Csr::try_new(3, 4, vec![0, 2, 2, 4], vec![0, 2, 1, 3], vec![1.0, 2.0, 3.0, 4.0]).unwrap()
}

fn csr() -> Vec<Array<'static>> {
    vec![
        int64("indices", &[0, 2, 1, 3]),
        int64("indptr", &[0, 2, 2, 4]),
        format("csr"),
        int64("shape", &[3, 4]),
        float64("data", &[1.0, 2.0, 3.0, 4.0]),
    ]
}

/// COO of a matrix of 3 x 4, its entries in no order.
pub fn coo() -> [Array<'static>; 5] {
    [
        int64("row", &[2, 0, 2, 0]),
        int64("col", &[3, 2, 1, 0]),
        format("coo"),
        int64("shape", &[3, 4]),
        float64("data", &[4.0, 2.0, 3.0, 1.0]),
    ]
}

/// The arrays of `csr()` with one of them replaced.
fn csr_with(array: Array<'static>) -> Vec<Array<'static>> {
    let mut arrays = csr();
    let same = arrays.iter().position(|a| a.0 == array.0).unwrap();
    arrays[same] = array;
    arrays
}

#[test]
fn csr_csc_and_coo_of_one_matrix_are_the_same() {
    let loaded = read::<f64>(&csr()).unwrap();
    assert_eq!(loaded.matrix, expected());
    assert_eq!((loaded.stored.layout, loaded.stored.field), (Layout::NpzCsr, Field::Real));
    let csc = [
        int64("indices", &[0, 2, 0, 2]),
        int64("indptr", &[0, 1, 2, 3, 4]),
        format("csc"),
        int64("shape", &[3, 4]),
        float64("data", &[1.0, 3.0, 2.0, 4.0]),
    ];
    assert_eq!(read::<f64>(&csc).unwrap().matrix, expected());
    let coo = coo();
    assert_eq!(read::<f64>(&coo).unwrap().matrix, expected());
    assert_eq!(read::<f64>(&coo).unwrap().stored.entries, 4);
}

#[test]
fn indices_and_values_may_have_any_numeric_type() {
    for (descr, bytes) in [
        ("|i1", vec![0, 2, 1, 3]),
        ("|u1", vec![0, 2, 1, 3]),
        (">u2", vec![0, 0, 0, 2, 0, 1, 0, 3]),
        ("<i4", [0_i32, 2, 1, 3].iter().flat_map(|v| v.to_le_bytes()).collect()),
        (">u4", [0_u32, 2, 1, 3].iter().flat_map(|v| v.to_be_bytes()).collect()),
        ("<u8", [0_u64, 2, 1, 3].iter().flat_map(|v| v.to_le_bytes()).collect()),
    ] {
        let arrays = csr_with(("indices", descr, "(4,)".to_owned(), bytes));
        assert_eq!(read::<f64>(&arrays).unwrap().matrix, expected(), "{descr}");
    }
    for (descr, bytes) in [
        ("|u1", vec![1, 2, 3, 4]),
        ("<f4", [1_f32, 2.0, 3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect()),
        ("<f2", vec![0x00, 0x3C, 0x00, 0x40, 0x00, 0x42, 0x00, 0x44]),
        (">i8", [1_i64, 2, 3, 4].iter().flat_map(|v| v.to_be_bytes()).collect()),
    ] {
        let arrays = csr_with(("data", descr, "(4,)".to_owned(), bytes));
        assert_eq!(read::<f64>(&arrays).unwrap().matrix, expected(), "{descr}");
    }
    let unicode = "csr".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    assert_eq!(
        read::<f64>(&csr_with(("format", "<U3", "()".to_owned(), unicode))).unwrap().matrix,
        expected()
    );
}

#[test]
fn stored_ones_are_values_of_any_type() {
    for (descr, bytes) in [
        ("|b1", vec![1; 4]),
        ("|i1", vec![1; 4]),
        ("<u2", [1, 0].repeat(4)),
        ("<i8", [1, 0, 0, 0, 0, 0, 0, 0].repeat(4)),
    ] {
        let loaded = read::<f64>(&csr_with(("data", descr, "(4,)".to_owned(), bytes))).unwrap();
        assert_eq!((loaded.stored.field, loaded.matrix.values()), (Field::Integer, &[1.0; 4][..]), "{descr}");
    }
    let reals = csr_with(float64("data", &[1.0; 4]));
    assert_eq!(read::<f64>(&reals).unwrap().stored.field, Field::Real);
    // As in scipy, duplicates of whole numbers add up, beyond what their type holds, too.
    let coo = [
        int64("row", &[2, 0, 2, 0, 0]),
        int64("col", &[3, 2, 1, 0, 0]),
        format("coo"),
        int64("shape", &[3, 4]),
        ("data", "|i1", "(5,)".to_owned(), vec![1, 1, 1, 100, 100]),
    ];
    let loaded = read::<f64>(&coo).unwrap();
    assert_eq!((loaded.matrix.row(0).1, loaded.stored.duplicates), (&[200.0, 1.0][..], 1));
}

#[test]
fn arrays_without_the_name_of_a_format_are_read_where_they_leave_no_doubt() {
    let without = |arrays: &[Array<'static>], more: &[Array<'static>]| -> Vec<Array<'static>> {
        arrays.iter().filter(|(name, ..)| *name != "format").chain(more).cloned().collect()
    };
    let whole = read::<f64>(&csr()).unwrap();
    let plain = read::<f64>(&without(&csr(), &[])).unwrap();
    assert_eq!(
        (&plain.matrix, plain.stored.layout, &plain.remarks[..]),
        (&whole.matrix, Layout::NpzCsr, &[][..])
    );
    // The offsets of columns are told by their number, and of a square matrix by what stands beside them.
    let columns = [
        int64("indptr", &[0, 1, 1, 3]),
        int64("indices", &[1, 0, 1]),
        float64("data", &[1.0, 2.0, 3.0]),
        int64("shape", &[2, 3]),
    ];
    let loaded = read::<f64>(&columns).unwrap();
    assert_eq!((loaded.stored.layout, loaded.matrix.row(0)), (Layout::NpzCsc, (&[2][..], &[2.0][..])));
    let square = |more: &[Array<'static>]| {
        let arrays = [
            int64("indptr", &[0, 0, 2]),
            int64("indices", &[0, 1]),
            float64("data", &[1.0, 2.0]),
            int64("shape", &[2, 2]),
        ];
        read::<f64>(&without(&arrays, more))
    };
    let rows = square(&[]).unwrap();
    assert_eq!((rows.matrix.row(1).1.len(), &rows.remarks[..]), (2, &[io::Remark::TakenForRows][..]));
    let by_columns = square(&[int64("compressed_axes", &[1]), int64("fill_value", &[0])]).unwrap();
    assert_eq!((by_columns.matrix.row(1).1.len(), by_columns.remarks.len()), (1, 0));
    let filled = square(&[float64("fill_value", &[7.0])]).unwrap_err().to_string();
    assert!(filled.ends_with("array 'fill_value': what is not stored is 7, not 0"), "{filled}");
    // Coordinates of the Python package `sparse`: one array of two rows.
    let (name, descr, _, bytes) = int64("coords", &[0, 1, 1, 2, 0, 1]);
    let coords = [
        (name, descr, "(2, 3)".to_owned(), bytes),
        float64("data", &[1.0, 2.0, 3.0]),
        int64("shape", &[2, 3]),
    ];
    let loaded = read::<f64>(&coords).unwrap();
    assert_eq!(
        (loaded.stored.layout, loaded.matrix.row(1)),
        (Layout::NpzCoo, (&[0, 1][..], &[2.0, 3.0][..]))
    );
    let turned = [
        (coords[0].0, coords[0].1, "(3, 2)".to_owned(), coords[0].3.clone()),
        coords[1].clone(),
        coords[2].clone(),
    ];
    assert!(error(&turned).contains("it is no array of 2 x 3 in C order"), "{}", error(&turned));
    let narrow = [coords[0].clone(), coords[1].clone(), int64("shape", &[2, 2])];
    assert!(
        error(&narrow).contains("array 'coords': entry 3 is 2, which is not below 2"),
        "{}",
        error(&narrow)
    );
}

#[test]
fn rows_are_sorted_duplicates_summed_and_trailing_entries_ignored() {
    let arrays = [
        int64("indices", &[2, 0, 3, 1, 3, 0]),
        int64("indptr", &[0, 2, 2, 5]),
        format("csr"),
        int64("shape", &[3, 4]),
        float64("data", &[2.0, 1.0, 1.5, 3.0, 2.5, 99.0]),
    ];
    let loaded = read::<f64>(&arrays).unwrap();
    assert_eq!(loaded.matrix, expected());
    assert_eq!((loaded.stored.entries, loaded.stored.duplicates), (5, 1));
}

#[test]
fn matrices_without_entries_are_read() {
    for (shape, indptr) in [([0, 0], &[0][..]), ([2, 0], &[0, 0, 0]), ([0, 5], &[0])] {
        let arrays = [
            int64("indices", &[]),
            int64("indptr", indptr),
            format("csr"),
            int64("shape", &shape),
            float64("data", &[]),
        ];
        assert_eq!(read::<f64>(&arrays).unwrap().matrix.nnz(), 0);
    }
    let coo =
        [int64("row", &[]), int64("col", &[]), format("coo"), int64("shape", &[0, 0]), float64("data", &[])];
    assert_eq!(read::<f32>(&coo).unwrap().matrix.nnz(), 0);
}

/// What `bsr_array` of blocks of 2 x 3 writes.
/// ```text
/// | . . . 1 2 0 |
/// | . . . 3 4 5 |
/// | . . . . . . |
/// | . . . . . . |
/// | 6 0 7 . . . |
/// | 0 8 9 . . . |
/// ```
fn bsr(data: (&'static str, &'static str, String, Vec<u8>)) -> Vec<Array<'static>> {
    let arrays =
        [int64("indices", &[1, 0]), int64("indptr", &[0, 1, 1, 2]), format("bsr"), int64("shape", &[6, 6])];
    arrays.into_iter().chain([data]).collect()
}

const BLOCKS: [f64; 12] = [1.0, 2.0, 0.0, 3.0, 4.0, 5.0, 6.0, 0.0, 7.0, 0.0, 8.0, 9.0];

fn in_dimensions(values: &[f64], shape: &str) -> Array<'static> {
    let (name, descr, _, bytes) = float64("data", values);
    (name, descr, shape.to_owned(), bytes)
}

#[test]
fn every_place_of_a_block_is_an_entry() {
    let loaded = read::<f64>(&bsr(in_dimensions(&BLOCKS, "(2, 2, 3)"))).unwrap();
    let cols = vec![3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2];
    let expected = Csr::try_new(6, 6, vec![0, 3, 6, 6, 6, 9, 12], cols, BLOCKS.to_vec()).unwrap();
    assert_eq!(loaded.matrix, expected);
    assert_eq!((loaded.stored.layout, loaded.stored.entries), (Layout::NpzBsr, 12));
    // The same with the first index running fastest.
    let fortran: Vec<f64> =
        (0..12).map(|at| (at % 2, at / 2 % 2, at / 4)).map(|(k, i, j)| BLOCKS[6 * k + 3 * i + j]).collect();
    let (name, _, _, bytes) = float64("data", &fortran);
    // Of two that say so the first counts.
    let descr = "<f8', 'fortran_order': True, 'again': '";
    let arrays = bsr((name, descr, "(2, 2, 3)".to_owned(), bytes));
    assert_eq!(read::<f64>(&arrays).unwrap().matrix, expected);
    for (shape, complaint) in [
        ("(12,)", "it has 1 dimensions, 3 are needed"),
        ("(2, 3, 2)", "array 'indptr' holds 4 entries, 3 are needed"),
        ("(3, 4, 1)", "6 x 6 cannot be cut into blocks of 4 x 1"),
        ("(12, 1, 1)", "array 'indptr' holds 4 entries, 7 are needed"),
    ] {
        let error = error(&bsr(in_dimensions(&BLOCKS, shape)));
        assert!(error.contains(complaint), "{shape}: {error}");
    }
}

#[test]
fn diagonals_hold_the_non_zeros_inside_the_matrix() {
    // As dia_array lays it down: the value for column j stands at j, whatever the diagonal.
    let dia = |data: Array<'static>, offsets: &[i64]| {
        [int64("offsets", offsets), format("dia"), int64("shape", &[3, 4]), data]
    };
    let values = [1.0, 0.0, 3.0, 99.0, 98.0, 97.0, 4.0, 5.0, 6.0, 7.0, 96.0, 95.0];
    let arrays = dia(in_dimensions(&values, "(3, 4)"), &[0, 2, -1]);
    let loaded = read::<f64>(&arrays).unwrap();
    let (row_ptr, cols) = (vec![0, 2, 4, 6], vec![0, 2, 0, 3, 1, 2]);
    let expected = Csr::try_new(3, 4, row_ptr, cols, vec![1.0, 4.0, 6.0, 5.0, 7.0, 3.0]).unwrap();
    assert_eq!(loaded.matrix, expected);
    assert_eq!((loaded.stored.layout, loaded.stored.entries), (Layout::NpzDia, 6));
    let options = ReadOptions { places_only: true, ..ReadOptions::default() };
    let places = io::read_npz::<f64>(&archive(&arrays, true), Path::new("a.npz"), &options).unwrap().matrix;
    assert_eq!((places.row_ptr(), places.col_idx()), (expected.row_ptr(), expected.col_idx()));
    // Of complex values a part other than 0 is enough.
    let complex = [0.0, 1.0, 0.0, 0.0, 1.0, 0.0];
    let (_, _, _, bytes) = float64("data", &complex);
    let arrays = dia(("data", "<c16", "(1, 3)".to_owned(), bytes), &[0]);
    let places = io::read_npz::<f64>(&archive(&arrays, true), Path::new("a.npz"), &options).unwrap().matrix;
    assert_eq!((places.row_ptr(), places.col_idx()), (&[0, 1, 1, 2][..], &[0, 2][..]));
    // Shorter and longer than there are columns, and beyond the matrix.
    let short = dia(in_dimensions(&[1.0, 2.0], "(2, 1)"), &[0, -2]);
    assert_eq!(read::<f64>(&short).unwrap().matrix.values(), [1.0, 2.0]);
    let beyond = dia(in_dimensions(&[1.0; 12], "(2, 6)"), &[i64::MIN, 9]);
    assert_eq!(read::<f64>(&beyond).unwrap().matrix.nnz(), 0);
    let none = dia(in_dimensions(&[], "(0, 0)"), &[]);
    assert_eq!(read::<f64>(&none).unwrap().matrix.nnz(), 0);
    let twice = error(&dia(in_dimensions(&[1.0; 8], "(2, 4)"), &[1, 1]));
    assert!(twice.contains("diagonal 1 is there twice"), "{twice}");
    let few = error(&dia(in_dimensions(&[1.0; 8], "(2, 4)"), &[1]));
    assert!(few.contains("array 'offsets' holds 1 entries, 2 are needed"), "{few}");
}

#[test]
fn each_broken_array_has_its_own_error() {
    let unsupported = |name: &str| csr_with(format(name));
    assert_eq!(error(&unsupported("dok")), "a.npz: format 'dok' is not read: csr, csc, coo, bsr or dia");
    assert!(read::<f64>(&unsupported("lil")).unwrap_err().hint().unwrap().contains("tocsr"));
    assert_eq!(error(&csr()[1..]), "a.npz: the archive holds no array 'indices'");
    assert_eq!(error(&csr()[..2]), "a.npz: the archive holds no array 'format'");
    assert_eq!(
        error(&csr_with(int64("indices", &[0, 4, 1, 3]))),
        "a.npz: array 'indices': entry 1 is 4, which is not below 4"
    );
    assert_eq!(
        error(&csr_with(int64("indices", &[0, 2, -1, 3]))),
        "a.npz: array 'indices': entry 2 is -1, which is not below 4"
    );
    assert_eq!(
        error(&csr_with(int64("indices", &[0, 2]))),
        "a.npz: array 'indices' holds 2 entries, 4 are needed"
    );
    assert_eq!(
        error(&csr_with(int64("indptr", &[0, 3, 2, 4]))),
        "a.npz: array 'indptr': entry 2 is 2, offsets must start at 0 and never decrease"
    );
    assert_eq!(
        error(&csr_with(int64("indptr", &[1, 2, 2, 4]))),
        "a.npz: array 'indptr': entry 0 is 1, offsets must start at 0 and never decrease"
    );
    assert_eq!(
        error(&csr_with(int64("indptr", &[0, 2, 2, 5]))),
        "a.npz: array 'indptr': entry 3 is 5, which is not below 5"
    );
    assert_eq!(
        error(&csr_with(int64("indptr", &[0, 4]))),
        "a.npz: array 'indptr' holds 2 entries, 4 are needed"
    );
    assert_eq!(
        error(&csr_with(float64("indices", &[0.0, 2.0, 1.0, 3.0]))),
        "a.npz: array 'indices': it does not hold whole numbers"
    );
    assert_eq!(
        error(&csr_with(float64("data", &[1.0, f64::NAN, 3.0, 4.0]))),
        "a.npz: array 'data': entry 1 is NaN, not a finite number that fits the value type"
    );
    assert_eq!(
        error(&csr_with(("data", "<c16", "(4,)".to_owned(), vec![0; 64]))),
        "a.npz: complex values cannot be read"
    );
    assert_eq!(error(&csr_with(int64("shape", &[3, -4]))), "a.npz: array 'shape': -4 columns");
    assert_eq!(
        error(&csr_with(int64("shape", &[3, 4_294_967_295]))),
        "a.npz: 4294967295 columns are more than 32-bit indices are used for, 4294967294"
    );
    assert_eq!(
        error(&csr_with(float64("shape", &[3.0, 4.0]))),
        "a.npz: array 'shape': it is not two whole numbers"
    );
    let lying = ("data", "<f8", "(1000000000000000000,)".to_owned(), vec![0; 8]);
    assert!(
        error(&csr_with(lying)).contains("array 'indices' holds 4 entries, 1000000000000000000 are needed")
    );
    let short = ("data", "<f8", "(4,)".to_owned(), vec![0; 24]);
    assert!(error(&csr_with(short)).starts_with("a.npz: array 'data': reading the last 4 of 4 elements"));
}

#[test]
fn what_python_opens_and_is_not_read_is_named_with_what_to_do() {
    let fault = |array: Array<'static>| {
        let error = read::<f64>(&csr_with(array)).unwrap_err();
        (error.to_string(), error.hint().unwrap_or_default())
    };
    let (text, hint) = fault(("data", "|O", "(4,)".to_owned(), vec![0; 32]));
    assert_eq!(text, "a.npz: array 'data' holds objects of Python (dtype 'object')");
    assert!(hint.contains("allow_pickle=True") && hint.contains(".astype('float64')"), "{hint}");
    for (descr, name) in [("<f16", "longdouble"), ("<c32", "clongdouble")] {
        let (text, hint) = fault(("data", descr, "(4,)".to_owned(), vec![0; 128]));
        assert_eq!(text, format!("a.npz: array 'data' is of dtype '{descr}' ({name}), which is not read"));
        assert!(hint.contains("A.astype('float64')"), "{hint}");
    }
    let (text, hint) = fault(int64("shape", &[3]));
    assert_eq!(text, "a.npz: the sparse array has one dimension, a matrix has two");
    assert!(hint.contains("A.reshape(1, -1)"), "{hint}");
    assert_eq!(
        fault(int64("shape", &[3, 4, 5])).0,
        "a.npz: the sparse array has 3 dimensions, a matrix has two"
    );
}

/// `zip` with `change` made to each member's flags and compression, in its header and in the directory.
fn with_members(mut zip: Vec<u8>, change: impl Fn(&mut u8, &mut u8)) -> Vec<u8> {
    for at in 0..zip.len() - 12 {
        let flags = match &zip[at..at + 4] {
            b"PK\x03\x04" => at + 6,
            b"PK\x01\x02" => at + 8,
            _ => continue,
        };
        let (before, method) = zip.split_at_mut(flags + 2);
        change(&mut before[flags], &mut method[0]);
    }
    zip
}

#[test]
fn compressions_and_passwords_of_archives_are_named() {
    let read = |bytes: &[u8]| io::read_npz::<f64>(bytes, Path::new("a.npz"), &ReadOptions::default());
    let of_text = || {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let stored =
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        zip.start_file("a.mtx", stored).unwrap();
        let text = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n";
        std::io::Write::write_all(&mut zip, text).unwrap();
        zip.finish().unwrap().into_inner()
    };
    for zip in [archive(&csr(), false), of_text()] {
        assert!(read(&zip).is_ok());
        for (number, name) in [(12, "bzip2"), (14, "LZMA"), (93, "Zstandard")] {
            let error = read(&with_members(zip.clone(), |_, method| *method = number)).unwrap_err();
            let expected =
                format!("a.npz: a member of the archive is compressed by {name}, which is not read");
            assert_eq!(error.to_string(), expected);
            assert!(error.hint().unwrap().contains("scipy.sparse.save_npz"));
        }
        let error = read(&with_members(zip, |flags, _| *flags |= 1)).unwrap_err();
        assert_eq!(error.to_string(), "a.npz: the archive is encrypted");
        assert!(error.hint().unwrap().contains("password"));
    }
}

#[test]
fn an_archive_cut_off_or_no_archive_is_an_error() {
    let whole = archive(&csr(), true);
    let read = |bytes: &[u8]| io::read_npz::<f64>(bytes, Path::new("a.npz"), &ReadOptions::default());
    for len in 0..whole.len() {
        let text = read(&whole[..len]).unwrap_err().to_string();
        assert!(text.starts_with("a.npz: "), "{text}");
    }
}

#[test]
fn reading_only_places_ignores_the_values_of_an_archive() {
    let options = ReadOptions { places_only: true, ..ReadOptions::default() };
    let read = |array| io::read_npz::<f64>(&archive(&csr_with(array), true), Path::new("a.npz"), &options);
    let whole = read(int64("data", &[1, 1, 1, 1])).unwrap().matrix;
    let (row_ptr, col_idx) = (expected().row_ptr().to_vec(), expected().col_idx().to_vec());
    assert_eq!((whole.row_ptr(), whole.col_idx()), (&row_ptr[..], &col_idx[..]));
    assert!(whole.values().iter().all(|value| value.is_finite() && *value != 0.0));
    let complex: Vec<u8> = [1.0_f64; 8].iter().flat_map(|x| x.to_le_bytes()).collect();
    let pairs = ("data", "<c16", "(4,)".to_owned(), complex);
    for (array, field) in
        [(float64("data", &[f64::NAN, 1.0, f64::INFINITY, 0.0]), Field::Real), (pairs, Field::Complex)]
    {
        let loaded = read(array).unwrap();
        assert_eq!((loaded.matrix, loaded.stored.field), (whole.clone(), field));
    }
}
